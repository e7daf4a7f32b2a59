"""torch's `distributed.fsdp`: parameters that are split over the devices of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jaxvjp.library.sharding import DeviceMesh, Placement, current_mesh
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.parallel import distribute_parameters, split_batches
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "jax.sharding.NamedSharding of each parameter"

__all__ = ["fully_shard"]


def fully_shard(
    module: Module,
    *,
    mesh: DeviceMesh | None = None,
    shard_placement_fn: Callable[[Tensor], Placement | None] | None = None,
    ignored_params: Iterable[Tensor] | None = None,
    **ignored: Any,
) -> Module:
    """Splits each parameter of a module over the devices of a mesh, and with it its gradient and what an optimizer
    keeps for it. Returns the module, which from then on splits its inputs along their first dimension.

    Args:
        module: whose parameters are replaced; what is on a mesh already stays.
        mesh: one of all devices if None. On one with two dimensions parameters are split over the last, and
            replicated over the first.
        shard_placement_fn: gives the placement of a parameter, or None for the usual one: along its first dimension,
            else along the first that divides into equal shards, else replicated.
        ignored_params: parameters to leave alone.
        ignored: torch's `reshard_after_forward`, `mp_policy`, `offload_policy`: XLA decides when shards are gathered.
    """
    over = current_mesh() if mesh is None else mesh
    distribute_parameters(module, over, shard_placement_fn or (lambda _: None), ignored_params or ())
    split_batches(module, over)
    return module


complete_all(globals(), __all__, "distributed.fsdp")
