"""`nn.DataParallel`, and `DistributedDataParallel`: a model over the devices of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from jaxvjp.library.sharding import (
    DeviceMesh,
    DTensor,
    Placement,
    Replicate,
    Shard,
    current_mesh,
    distribute,
    distribute_tensor,
    place_on,
)
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.parameter import Parameter
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tensor.trees import mapped

UNDERNEATH = "no JAX: the module is called as it is"

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls `module`, with the whole batch, on the device where it is.

    torch splits the batch over all GPUs that it has, and does this where it has none. The names of parameters begin
    with `module.`, as in torch.

    Args:
        module: what is called.
        device_ids, output_device, dim: no effect, as one program here runs on one device.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """`module` of the whole batch: what `DataParallel(module)` gives. `inputs` is one argument, or a tuple of them.

    Counterpart of `torch.nn.parallel.data_parallel`. Underneath: no JAX.
    """
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*given, **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """Replicates a module over the devices of a mesh, and splits each batch over them.

    The result is that of the whole batch: a tensor on the mesh, of which XLA computes a part on each device. Gradients
    are those of the whole batch, too; XLA adds the parts up. With several processes all give the same batch, and not,
    as in torch, each its own, which is a RuntimeError: `DTensor.from_local` makes one batch of several.

    Args:
        module: its parameters and buffers are put on the mesh; their names begin with `module.`, as in torch.
        device_mesh: the mesh; one of all devices if None.
        dim: along which inputs are split. One that does not divide into equal parts is replicated.
        device_ids, output_device, further, ignored: torch's further arguments, without effect.

    Raises:
        RuntimeError: no parameter of the module requires a gradient.

    Counterpart of `torch.nn.parallel.DistributedDataParallel`.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        *further: Any,
        device_mesh: DeviceMesh | None = None,
        **ignored: Any,
    ) -> None:
        super().__init__()
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient.\nCall the module itself."
            )
        mesh = current_mesh() if device_mesh is None else device_mesh
        distribute_parameters(module, mesh, None)
        self.module = module
        split_batches(self, mesh, dim)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    def no_sync(self) -> Any:
        """A context manager without effect: gradients are those of whole batches."""
        return nullcontext()


def distribute_parameters(
    module: Module,
    mesh: DeviceMesh,
    placement_of: Callable[[Tensor], Placement | None] | None,
    ignored: Iterable[Tensor] = (),
) -> None:
    """Puts the parameters and buffers of a module on a mesh, all or none.

    `placement_of` gives a parameter's placement over the last dimension of the mesh, None for the usual one of
    `fully_shard`; without it all are replicated. What is on a mesh stays; a tensor that is there twice stays one.
    """
    left = {id(each) for each in ignored}
    made: dict[int, Any] = {}
    for each in module.parameters():
        if not (isinstance(each, DTensor) or id(each) in left):
            placements: list[Placement] = [Replicate()] * mesh.ndim
            if placement_of is not None:
                placements[-1] = placement_of(each) or _split(each, mesh.shape[-1])
            made[id(each)] = Parameter(distribute_tensor(each.detach(), mesh, placements), each.requires_grad)
    for buffer in module.buffers():
        if not isinstance(buffer, DTensor):
            made[id(buffer)] = distribute_tensor(buffer.detach(), mesh)
    for part in module.modules():
        for tensors in (part._parameters, part._buffers):
            tensors.update({name: made[id(each)] for name, each in tensors.items() if id(each) in made})


def _split(tensor: Tensor, count: int) -> Placement:
    return next((Shard(dim) for dim, size in enumerate(tensor.shape) if size and size % count == 0), Replicate())


def split_batches(module: Module, mesh: DeviceMesh, dim: int = 0) -> None:
    """Has a module split those inputs over the mesh that are on none: along `dim`, if that gives equal parts."""
    count = mesh.size()

    def put(each: Any) -> Any:
        if not isinstance(each, Tensor) or isinstance(each, DTensor):
            return each
        splits = each.ndim > dim and each.shape[dim] and each.shape[dim] % count == 0
        placement = Shard(dim) if splits else Replicate()
        return distribute(each, place_on(each.shape, mesh, [placement] * mesh.ndim))

    module.register_forward_pre_hook(
        lambda _, inputs, named: (mapped(put, inputs), mapped(put, named)), prepend=True, with_kwargs=True
    )


complete_all(globals(), __all__, "nn")
