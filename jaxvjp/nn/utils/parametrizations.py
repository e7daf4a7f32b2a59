"""The usual parametrizations: `orthogonal`, `weight_norm` and `spectral_norm`."""

from __future__ import annotations

from typing import Any

from jaxvjp import linalg
from jaxvjp.autograd.modes import no_grad
from jaxvjp.library.creation import eye, zeros_like
from jaxvjp.library.properties import finfo
from jaxvjp.library.random_tensors import randn
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.utils.old_norms import as_matrix, check_iterations, default_dim, drawn_units, norm_except, scaled, unit
from jaxvjp.nn.utils.parametrize import register_parametrization
from jaxvjp.ops.joining import cat
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "operations on the parameter, recorded when it is read"

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _joined(*tensors: Tensor) -> Tensor:
    return apply(cat, (tensors,), (-1,))


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows if it is wide, of any matrix.

    `base`, where it is used, is multiplied from the left; so assigning needs no logarithm.
    """

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:  # noqa: N803 - a matrix
        transposed = X.shape[-2] < X.shape[-1]
        tall = X.mT if transposed else X
        rows, columns = tall.shape[-2:]
        if self.orthogonal_map == "householder":
            lower = tall.tril(diagonal=-1)
            made = linalg.householder_product(lower, 2.0 / (1.0 + (lower * lower).sum(dim=-2)))
            made = made * tall.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            square = tall.tril()
            if rows != columns:
                rest = square.new_zeros(rows, rows - columns).expand(*square.shape[:-2], -1, -1)
                square = _joined(square, rest)
            skew = square - square.mH
            if self.orthogonal_map == "matrix_exp":
                made = skew.matrix_exp()
            else:
                identity = eye(rows, dtype=skew.dtype, device=skew.device)
                made = linalg.solve(identity.add(skew, alpha=-0.5), identity.add(skew, alpha=0.5))
            made = made[..., :columns] if rows != columns else made
        made = self.base @ made if hasattr(self, "base") else made
        return made.mT if transposed else made

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:  # noqa: N803 - a matrix
        """What `forward` makes this orthogonal matrix of, after setting `base` if there is one."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        transposed = Q.shape[-2] < Q.shape[-1]
        tall = Q.mT if transposed else Q
        rows, columns = tall.shape[-2:]
        if hasattr(self, "base"):
            if rows != columns:
                more = randn(*tall.shape[:-2], rows, rows - columns, dtype=Q.dtype, device=Q.device)
                tall = _orthonormal(_joined(tall, more))
            else:
                tall = tall.clone() if _is_orthogonal(tall) else _orthonormal(tall)
            self.base = tall
            minus = zeros_like(Q)
            minus.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return minus
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        reflectors, scales = tall.geqrf()
        diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[scales == 0.0] *= -1
        return reflectors.mT if transposed else reflectors


def _is_orthogonal(matrix: Tensor) -> bool:
    rows, columns = matrix.shape[-2:]
    identity = eye(columns, dtype=matrix.dtype, device=matrix.device)
    limits: Any = finfo(matrix.dtype)
    return bool((matrix.mH @ matrix).allclose(identity, atol=10.0 * rows * limits.eps))


def _orthonormal(matrix: Tensor) -> Tensor:
    reflectors, scales = matrix.geqrf()
    made: Tensor = linalg.householder_product(reflectors, scales)
    return made * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _tensor(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Has a matrix of a module be orthogonal: its columns, or its rows if it is wide, orthonormal.

    Args:
        orthogonal_map: "matrix_exp", "cayley" or "householder": how it is computed.
        use_trivialization: whether any orthogonal matrix can be assigned, by a matrix that is multiplied with.
    """
    weight = _tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    register_parametrization(module, name, made, unsafe=True)
    return module


class _WeightNorm(Module):
    """A tensor of its norms and its direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The norms and the tensor."""
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Has a tensor of a module computed from its norms, `original0`, and its direction, `original1`."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state: Any, prefix: str, *_: Any) -> None:
        """Takes what the old `nn.utils.weight_norm` wrote, too."""
        old = [f"{prefix}{name}{each}" for each in ("_g", "_v")]
        if all(each in state for each in old):
            for number, each in enumerate(old):
                state[f"{prefix}parametrizations.{name}.original{number}"] = state.pop(each)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A tensor over its greatest singular value, as a matrix; of a vector, over its length."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        check_iterations(n_power_iterations)
        self.dim, self.eps = dim % weight.ndim, eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for name, each in zip(("_u", "_v"), drawn_units(matrix, eps), strict=True):
                self.register_buffer(name, each)
            self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(unit(matrix.mv(self._v), self.eps))
            self._v.copy_(unit(matrix.mH.mv(self._u), self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return unit(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        return weight / self._u.clone().vdot(matrix.mv(self._v.clone()))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The tensor itself, which is assumed to be divided already."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Has a tensor of a module divided by its greatest singular value, as a matrix."""
    weight = _tensor(module, name)
    along = default_dim(module) if dim is None else dim
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, along, eps))
    return module


complete_all(globals(), __all__, "nn.utils.parametrizations")
