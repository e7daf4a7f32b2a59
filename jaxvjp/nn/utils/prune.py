"""Pruning: a parameter times a mask of zeros and ones, computed before each call of its module."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from jaxvjp.library.creation import ones_like, zeros_like
from jaxvjp.library.random_tensors import rand, rand_like
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.utils.convert_parameters import parameters_to_vector
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "operations on the parameter, recorded at each call of the module"


class BasePruningMethod(ABC):
    """A way to prune; a subclass writes `compute_mask(t, default_mask)` and says its `PRUNING_TYPE`."""

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for the importances `t`, of what `default_mask` keeps."""

    def apply_mask(self, module: Any) -> Tensor:
        """The parameter times its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prunes a parameter of a module, which from then on has `name + "_orig"` and `name + "_mask"`.

        The other arguments are those of the class.
        """
        hooks = module._forward_pre_hooks
        mine = [number for number, each in hooks.items() if _prunes(each, name)]
        if len(mine) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                "PruningContainer."
            )
        before = hooks.pop(mine[0]) if mine else None
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if before is not None:
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs "
                f"{original.shape}"
            )
        if before is None:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            mask = ones_like(original)
        else:
            mask = getattr(module, name + "_mask").detach().clone()
        try:
            module.register_buffer(name + "_mask", method.compute_mask(scores, default_mask=mask))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if before is None:
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned copy of a tensor."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}"
            )
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Makes the parameter an ordinary one, which stays pruned."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _prunes(hook: Any, name: str) -> bool:
    return isinstance(hook, BasePruningMethod) and hook._tensor_name == name


class PruningContainer(BasePruningMethod):
    """Several ways to prune, one after the other."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for argument in args:
            self.add_pruning_method(argument)

    def add_pruning_method(self, method: Any) -> None:
        """Adds another one, of the same parameter."""
        if not isinstance(method, BasePruningMethod | None):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last one, on what the others have kept."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype).clone()
        kept: Any = (slice(None),) * t.ndim
        if method.PRUNING_TYPE == "unstructured":
            kept = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
                )
            dim = method.dim + t.ndim if method.dim < 0 else method.dim
            if dim < 0:
                raise IndexError(f"Index is out of bounds for tensor with dimensions {t.ndim}")
            channels = default_mask.sum(dim=[each for each in range(t.ndim) if each != dim]) != 0
            kept = (*kept[:dim], channels, *kept[dim + 1 :])
        elif method.PRUNING_TYPE != "global":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask[kept] = method.compute_mask(t[kept], default_mask=default_mask[kept]).to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but gives the module the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask as it is."""
        return default_mask


class _OfAmount(BasePruningMethod):
    """Prunes an amount: a number, or a fraction from 0 to 1."""

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def __count__(self, size: int) -> int:
        """How many of `size` that is."""
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        return count


class _Unstructured(_OfAmount):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        super().__init__(amount)

    def __scores__(self, t: Tensor) -> Tensor:
        """What the least of is pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the numbers with the least scores."""
        count, mask = self.__count__(t.numel()), default_mask.clone()
        if count:
            mask.view(-1)[self.__scores__(t).reshape(-1).topk(k=count, largest=False).indices] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes numbers at random."""

    def __scores__(self, t: Tensor) -> Tensor:
        """Random numbers."""
        return -rand_like(t)


class L1Unstructured(_Unstructured):
    """Prunes the numbers with the least magnitude."""

    def __scores__(self, t: Tensor) -> Tensor:
        """The magnitudes."""
        return t.abs()


class _Structured(_OfAmount):
    PRUNING_TYPE = "structured"

    def __kept__(self, t: Tensor, size: int, count: int) -> Tensor:
        """Which places along the dimension are kept."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without some places along the dimension."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = self.__count__(size)
        if not count:
            return default_mask
        mask = zeros_like(t)
        at: list[Any] = [slice(None)] * t.ndim
        at[self.dim] = self.__kept__(t, size, count)
        mask[tuple(at)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask


class RandomStructured(_Structured):
    """Prunes places along a dimension at random."""

    def __kept__(self, t: Tensor, size: int, count: int) -> Tensor:
        """Those with the greater random numbers."""
        numbers = rand(size)
        return numbers > numbers.kthvalue(k=count).values


class LnStructured(_Structured):
    """Prunes the places along a dimension with the least norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def __kept__(self, t: Tensor, size: int, count: int) -> Tensor:
        """Those with the greater norms."""
        return _compute_norm(t, self.n, self.dim).topk(k=size - count, largest=True).indices


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """What both masks keep."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Gives the module a mask for a parameter and prunes nothing."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prunes an amount of the numbers of a parameter at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Tensor | None = None) -> Module:
    """Prunes an amount of the numbers of a parameter, those with the least magnitude."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prunes an amount of the places along a dimension of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prunes an amount of the places along a dimension of a parameter, those with the least norm of order `n`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: dict[Any, Tensor] | None = None, **kwargs: Any
) -> None:
    """Prunes several parameters as if they were one vector.

    Args:
        parameters: pairs of a module and the name of a parameter.
        pruning_method: an unstructured method, which `kwargs` are the arguments of.
        importance_scores: scores for such pairs, in the place of the parameters.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs: list[Any] = [*parameters]
    tensors = [getattr(module, name) for module, name in pairs]
    masks = [getattr(pair[0], pair[1] + "_mask", None) for pair in pairs]
    together = parameters_to_vector([scores.get(pair, each) for pair, each in zip(pairs, tensors, strict=True)])
    before = parameters_to_vector(
        [ones_like(each) if mask is None else mask for each, mask in zip(tensors, masks, strict=True)]
    )
    container = PruningContainer()
    method = pruning_method(**kwargs)
    container._tensor_name = method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    mask = container.compute_mask(together, before)
    parts = mask.split([tensor.numel() for tensor in tensors])
    for (module, name), each, part in zip(pairs, tensors, parts, strict=True):
        custom_from_mask(module, name, mask=part.view_as(each))


def remove(module: Any, name: str) -> Any:
    """Makes a pruned parameter an ordinary one, which stays pruned."""
    for number, hook in module._forward_pre_hooks.items():
        if _prunes(hook, name):
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a module, or one of its modules, has a pruned parameter."""
    hooks = (hook for each in module.modules() for hook in each._forward_pre_hooks.values())
    return any(isinstance(each, BasePruningMethod) for each in hooks)


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if amount < 0 or (not whole and float(amount) > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _validate_structured_pruning(t: Tensor) -> None:
    if t.ndim <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.ndim} dims"
        )


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.ndim:
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    return t.norm(p=n, dim=[each for each in range(t.ndim) if each != dim % t.ndim])
