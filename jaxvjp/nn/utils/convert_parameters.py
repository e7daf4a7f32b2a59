"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxvjp.nn.modules.module import typename
from jaxvjp.ops.joining import cat
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "`jnp.concatenate` of views, and views of the vector"


def _on_one_device(parameters: Iterable[Tensor]) -> Iterator[Tensor]:
    devices = set()
    for parameter in parameters:
        devices.add(parameter.get_device())
        if len(devices) > 1:
            raise TypeError("Found two parameters on different devices, this is currently not supported.")
        yield parameter


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All numbers of the parameters as one vector, through which gradients flow."""
    return apply(cat, (tuple(each.view(-1) for each in _on_one_device(parameters)),), (0,))


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters show the parts of a vector, as `parameters_to_vector` joins them."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for each in _on_one_device(parameters):
        end = start + each.numel()
        each.data = vec[start:end].view_as(each).data
        start = end
