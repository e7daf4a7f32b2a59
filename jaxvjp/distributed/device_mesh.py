"""torch's `distributed.device_mesh`: devices in a grid, by JAX's `Mesh`."""

from __future__ import annotations

from jaxvjp.library.sharding import DeviceMesh as DeviceMesh
from jaxvjp.library.sharding import init_device_mesh as init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
