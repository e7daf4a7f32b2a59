"""`Parameter`: a leaf tensor that is to be trained."""

from __future__ import annotations

from typing import Any

from jaxvjp.library.creation import empty
from jaxvjp.tensor.overriding import disabled
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "a leaf: what `jax.grad` calls an argument"


class Parameter(Tensor):
    """A leaf that shares the storage of `data` and, unless told otherwise, requires a gradient.

    Any operation on it gives an ordinary tensor. AttributeError where `data` is no tensor, RuntimeError where it has a
    dtype that cannot require a gradient. Counterpart of `torch.nn.Parameter`.
    """

    __slots__ = ()
    __torch_function__ = staticmethod(disabled)

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        source = empty(0) if data is None else data
        if not isinstance(source, Tensor):
            raise AttributeError(
                f"'{type(source).__name__}' object has no attribute 'detach'\n"
                f"A parameter is made of a tensor: `Parameter(jaxvjp.tensor({source!r}))`."
            )
        if requires_grad and not source.dtype.differentiable:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients\n"
                f"This one is torch.{source.dtype.name}; convert it first, or say `requires_grad=False`."
            )
        return as_parameter(source.detach().requires_grad_(requires_grad), cls)

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        pass

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        copied: Parameter = memo[id(self)]
        return copied

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def as_parameter(tensor: Tensor, kind: type[Parameter] = Parameter) -> Parameter:
    """Turns `tensor`, which must be new and held by nobody else, into a parameter."""
    tensor.__class__ = kind
    assert isinstance(tensor, Parameter)
    return tensor
