"""torch's `distributed.tensor`: tensors over the devices of a mesh, by `jax.sharding` (`library.sharding`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxvjp.library import creation, random_tensors
from jaxvjp.library.creation import full as full_of
from jaxvjp.library.sharding import DeviceMesh, current_mesh
from jaxvjp.library.sharding import DTensor as DTensor
from jaxvjp.library.sharding import Partial as Partial
from jaxvjp.library.sharding import Placement as Placement
from jaxvjp.library.sharding import Replicate as Replicate
from jaxvjp.library.sharding import Shard as Shard
from jaxvjp.library.sharding import distribute_tensor as distribute_tensor
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.parallel import distribute_parameters
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "jax.sharding.NamedSharding"
MADE = ("empty", "full", "ones", "rand", "randn", "zeros")

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    *MADE,
]


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
) -> Module:
    """Puts all parameters and buffers of a module on a mesh, and returns the module.

    Args:
        module: whose parameters are replaced.
        device_mesh: the mesh; one of all devices if None.
        partition_fn: is called for each submodule with its name, itself and the mesh, and may replace parameters by
            those that `distribute_tensor` gives. What it leaves is replicated.
        input_fn: is called with the module, its inputs and the mesh; gives the inputs to use.
        output_fn: the same for outputs.
    """
    mesh = current_mesh() if device_mesh is None else device_mesh
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, mesh)
    distribute_parameters(module, mesh, None)
    if input_fn is not None:
        given = input_fn
        module.register_forward_pre_hook(lambda each, inputs: given(each, inputs, mesh))
    if output_fn is not None:
        taken = output_fn
        module.register_forward_hook(lambda each, inputs, outputs: taken(each, outputs, mesh))
    return module


def _made(create: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def make(
        *size: Any,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        **named: Any,
    ) -> Tensor:
        return distribute_tensor(create(*size, **named), device_mesh, placements)

    name = create.__name__
    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"`torch.{name}(...)` on the mesh `device_mesh`, one of all devices if None, laid out by `placements`.\n\n"
        f"Counterpart of `torch.distributed.tensor.{name}`."
    )
    return make


empty = _made(creation.empty)
full = _made(full_of)
ones = _made(creation.ones)
rand = _made(random_tensors.rand)
randn = _made(random_tensors.randn)
zeros = _made(creation.zeros)

complete_all(globals(), ("distribute_module",), "distributed.tensor")
