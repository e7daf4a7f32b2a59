"""Random matrices that tests of linear algebra are written with, from NumPy's generator; `shape` has the batch first
for `*shape`, and last for `size, *batch`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from tools.conformance import samples
from tools.conformance.comparing import name_of


def _normal(*shape: int, dtype: Any) -> Any:
    parts = [samples.generator().standard_normal(shape) for _ in range(2 if dtype.is_complex else 1)]
    return parts[0] + 1j * parts[1] if len(parts) == 2 else parts[0]


def _tensor(values: Any, dtype: Any, device: Any, requires_grad: bool = False) -> Any:
    tensor = torch.tensor(np.ascontiguousarray(values.astype(name_of(dtype))), dtype=dtype, device=device)
    return tensor.requires_grad_() if requires_grad else tensor


def _with_values(values: Any, *shape: int, dtype: Any) -> Any:
    """Matrices with these singular values, and random singular vectors."""
    u, _, v = np.linalg.svd(_normal(*shape, dtype=dtype), full_matrices=False)
    return (u * values) @ v


def _adjoint(values: Any) -> Any:
    return np.conj(np.swapaxes(values, -1, -2))


def with_distinct_singular_values(*shape: int, device: Any, dtype: Any, requires_grad: bool = False) -> Any:
    """Matrices with the singular values 1 + 1/2, 1 - 1/3, 1 + 1/4 and so on."""
    places = np.arange(min(shape[-2:]))
    values = 1 + (-1.0) ** places / (places + 2)
    return _tensor(_with_values(values, *shape, dtype=dtype), dtype, device, requires_grad)


def well_conditioned(*shape: int, dtype: Any, device: Any, mean: float = 1.0, sigma: float = 0.001) -> Any:
    """Matrices whose singular values are nearly `mean`."""
    values = mean + sigma * samples.generator().standard_normal((*shape[:-2], 1, min(shape[-2:])))
    return _tensor(_with_values(values, *shape, dtype=dtype), dtype, device)


def of_rank(size: int, rank: int, dtype: Any = torch.double, device: Any = "cpu") -> Any:
    """A square matrix with `rank` singular values that are not zero."""
    drawn = samples.generator().uniform(0.5, 1, size) * (np.arange(size) < rank)
    return _tensor(_with_values(drawn, size, size, dtype=dtype), dtype, device)


def symmetric(size: int, *batch: int, dtype: Any = torch.double, device: Any = "cpu") -> Any:
    """Symmetric matrices; complex ones equal their conjugate transposes."""
    values = _normal(*batch, size, size, dtype=dtype)
    return _tensor((values + _adjoint(values)) / 2, dtype, device)


def positive(size: int, *batch: int, least: float = 0.0, dtype: Any = torch.double, device: Any = "cpu") -> Any:
    """`A @ A.mH / size + least * I` of random matrices."""
    values = _normal(*batch, size, size, dtype=dtype)
    return _tensor(values @ _adjoint(values) / max(size, 1) + least * np.eye(size), dtype, device)


def general(
    rows: int,
    columns: int,
    *batch: int,
    dtype: Any = torch.double,
    device: Any = "cpu",
    singular: bool = False,
    silent: bool = False,
) -> Any:
    """Matrices with singular values evenly between 0 and 1, the last of them 0 where they are to be singular."""
    count = min(rows, columns)
    values = np.arange(count, 0, -1) / (count + 1)
    values = values * (np.arange(count) < count - 1) if singular else values
    return _tensor(_with_values(values, *batch, rows, columns, dtype=dtype), dtype, device)


def low_rank(rank: int, rows: int, columns: int, *batch: int, **options: Any) -> Any:
    """Products of matrices with `rank` columns and such with `rank` rows."""
    return general(rows, rank, *batch, **options).matmul(general(rank, columns, *batch, **options))


NAMES: dict[str, Callable[..., Any]] = {
    "make_fullrank_matrices_with_distinct_singular_values": with_distinct_singular_values,
    "random_well_conditioned_matrix": well_conditioned,
    "random_square_matrix_of_rank": of_rank,
    "random_matrix": general,
    "random_lowrank_matrix": low_rank,
    **dict.fromkeys(("random_symmetric_matrix", "random_hermitian_matrix"), symmetric),
    **dict.fromkeys(("random_symmetric_psd_matrix", "random_hermitian_psd_matrix"), positive),
    **dict.fromkeys(("random_symmetric_pd_matrix", "random_hermitian_pd_matrix"), partial(positive, least=1.0)),
}
