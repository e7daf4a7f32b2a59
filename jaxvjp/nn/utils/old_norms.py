"""`weight_norm` and `spectral_norm` by hooks before `forward`, as they were before `nn.utils.parametrizations`."""

from __future__ import annotations

from typing import Any

from jaxvjp.autograd.modes import no_grad
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.parameter import Parameter, is_lazy
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "operations on the weight, recorded at each call of the module"


def norm_except(weight: Tensor, dim: int) -> Tensor:
    """The norms of what `weight` has at each place of a dimension; -1 is for the norm of all, as in torch."""
    if dim == -1:
        return weight.norm(2)
    return weight.norm(2, dim=[each for each in range(weight.ndim) if each != dim], keepdim=True)


def scaled(weight_v: Tensor, weight_g: Tensor, dim: int) -> Tensor:
    """`weight_v` with the norms `weight_g`."""
    return weight_v * (weight_g / norm_except(weight_v, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """`weight` as a matrix with a row for each place of a dimension."""
    if dim != 0:
        weight = weight.permute(dim, *[each for each in range(weight.ndim) if each != dim])
    return weight.reshape(weight.shape[0], -1)


def unit(vector: Tensor, eps: float) -> Tensor:
    """`vector`, of length 1."""
    return vector / vector.norm(2, dim=0, keepdim=True).clamp_min(eps)


def check_iterations(count: int) -> None:
    """ValueError unless the power method takes a step."""
    if count <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={count}")


@no_grad()
def drawn_units(matrix: Tensor, eps: float) -> list[Tensor]:
    """Vectors of length 1 to begin the power method with, one as long as a column and one as long as a row."""
    return [unit(matrix.new_empty(each).normal_(0, 1), eps) for each in matrix.shape]


def default_dim(module: Any) -> int:
    """The dimension of the outputs in a module's weight."""
    return int(any(base.__name__.startswith("ConvTranspose") for base in type(module).__mro__))


class _OfWeight:
    """A hook before `forward` that computes a parameter of a module from others, and keeps it as an attribute."""

    title = ""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def compute_weight(self, module: Any, training: bool) -> Tensor:
        """The parameter as the module is to have it."""
        raise NotImplementedError

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def hang(self, module: Any) -> Any:
        """Registers it, unless the module has one for this parameter."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, type(self)) and hook.name == self.name:
                raise RuntimeError(f"Cannot register two {self.title} hooks on the same parameter {self.name}")
        weight = getattr(module, self.name)
        if weight is None:
            raise ValueError(f"`{type(self).__name__}` cannot be applied as parameter `{self.name}` is None")
        if is_lazy(weight):
            full = self.title.replace("norm", "normalization").replace("_", " ")
            raise ValueError(
                f"The module passed to `{type(self).__name__}` can't have uninitialized parameters. Make sure to run "
                f"the dummy forward before applying {full}"
            )
        delattr(module, self.name)
        self.split(module, weight)
        module.register_forward_pre_hook(self)
        return module

    def split(self, module: Any, weight: Parameter) -> None:
        """Gives the module the parameters and buffers that the parameter is computed from."""
        raise NotImplementedError

    @classmethod
    def remove(cls, module: Any, name: str, suffixes: str) -> Any:
        """Takes the hook out and gives the module the parameter as it is."""
        for number, hook in module._forward_pre_hooks.items():
            if isinstance(hook, cls) and hook.name == name:
                with no_grad():
                    weight = hook.compute_weight(module, False)
                for each in ("", *suffixes.split()):
                    delattr(module, name + each)
                module.register_parameter(name, Parameter(weight.detach()))
                del module._forward_pre_hooks[number]
                return module
        raise ValueError(f"{cls.title} of '{name}' not found in {module}")


class WeightNorm(_OfWeight):
    """`weight_norm` of one parameter."""

    title = "weight_norm"

    def compute_weight(self, module: Any, training: bool = False) -> Tensor:
        """The direction `weight_v` with the norm `weight_g`."""
        return scaled(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    def split(self, module: Any, weight: Parameter) -> None:
        """Gives the module the norm and the direction."""
        module.register_parameter(self.name + "_g", Parameter(norm_except(weight, self.dim).data))
        module.register_parameter(self.name + "_v", Parameter(weight.data))
        setattr(module, self.name, self.compute_weight(module))


class SpectralNorm(_OfWeight):
    """`spectral_norm` of one parameter."""

    title = "spectral_norm"
    _version = 1

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        check_iterations(n_power_iterations)
        super().__init__(name, dim)
        self.n_power_iterations, self.eps = n_power_iterations, eps

    def compute_weight(self, module: Any, training: bool) -> Tensor:
        """The weight over its greatest singular value, which a few steps of the power method improve in training."""
        weight, u, v = [getattr(module, self.name + each) for each in ("_orig", "_u", "_v")]
        matrix = as_matrix(weight, self.dim)
        if training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(unit(matrix.t().mv(u), self.eps))
                    u.copy_(unit(matrix.mv(v), self.eps))
                u, v = u.clone(), v.clone()
        return weight / u.dot(matrix.mv(v))

    def split(self, module: Any, weight: Parameter) -> None:
        """Gives the module the weight as it was and, as buffers, the vectors of the power method."""
        u, v = drawn_units(as_matrix(weight, self.dim), self.eps)
        module.register_parameter(self.name + "_orig", weight)
        setattr(module, self.name, weight.data)
        module.register_buffer(self.name + "_u", u)
        module.register_buffer(self.name + "_v", v)
        module._register_state_dict_hook(self._tell_version)
        module._register_load_state_dict_pre_hook(self._read_first_version)

    def _tell_version(self, module: Any, state: Any, prefix: str, about: dict[str, Any]) -> None:
        about.setdefault("spectral_norm", {})[f"{self.name}.version"] = self._version

    def _read_first_version(
        self, state: Any, prefix: str, about: dict[str, Any], strict: bool, missing_keys: list[str], *_: Any
    ) -> None:
        """Completes what torch saved before version 1: the weight that was computed, and no `v`.

        With `weight_orig = sigma * weight` and `u` the direction of `weight_orig @ v`, such a `v` is solved for.
        """
        version, key = about.get("spectral_norm", {}).get(f"{self.name}.version"), prefix + self.name
        if version is not None and version >= 1:
            return
        if version is None and key not in state and all(key + each in state for each in ("_orig", "_u", "_v")):
            return  # one of today that has only lost its version
        missing = [key + each for each in ("_orig", "", "_u") if key + each not in state]
        if missing:
            missing_keys += missing if strict else []
            return
        with no_grad():
            original, u = state[key + "_orig"], state[key + "_u"]
            matrix = as_matrix(original, self.dim)
            v = (matrix.t() @ matrix).pinverse() @ (matrix.t() @ u)
            sigma = (original / state.pop(key)).mean()
            state[key + "_v"] = v * (sigma / u.dot(matrix.mv(v)))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Has a parameter of a module computed from its norms, `name + "_g"`, and its direction, `name + "_v"`."""
    warn_user(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    return WeightNorm(name, -1 if dim is None else dim).hang(module)


def remove_weight_norm(module: Module, name: str = "weight") -> Any:
    """Undoes `weight_norm`; the parameter keeps its numbers."""
    return WeightNorm.remove(module, name, "_g _v")


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Has a parameter of a module divided by its greatest singular value, as a matrix."""
    return SpectralNorm(name, n_power_iterations, default_dim(module) if dim is None else dim, eps).hang(module)


def remove_spectral_norm(module: Module, name: str = "weight") -> Any:
    """Undoes `spectral_norm`; the parameter keeps the numbers that were computed."""
    for kept in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for number, hook in [*kept.items()]:
            owner = getattr(hook, "__self__", None)
            if isinstance(owner, SpectralNorm) and owner.name == name:
                del kept[number]
    return SpectralNorm.remove(module, name, "_u _v _orig")
