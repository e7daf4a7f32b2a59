"""`Distribution`, which says of all distributions what does not depend on their formulas.

A distribution is a row: `__settings__` are the parameters of its constructor, which broadcasts them, `arg_constraints`
says what they have to be, `support` where values lie, and `__formulas__` are formulas. From these follow here the
methods, the shapes, `expand`, the printed text, what is checked and the errors. In a staged step (`jit`), which reads
no values, parameters and values are not checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property, wraps
from operator import attrgetter
from typing import Any, Self, TypeVar

import jaxvjp as torch
from jaxvjp.core.record.modes import staging
from jaxvjp.distributions import constraints
from jaxvjp.library.alike import compute
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.constructors import add_constructor
from jaxvjp.types.size import Size
from jaxvjp.types.user_code import warn_user

F = TypeVar("F", bound=Callable[..., Any])
Formulas = dict[str, Callable[..., Any]]
Value = float | Tensor
Shape = Sequence[int]
AS_GIVEN = ("_unbroadcasted_scale_tril", "temperature")
"""Attributes that are not expanded with the others."""
ONE_OF_TWO = "Either `probs` or `logits` must be specified, but not both."
EITHER = "probs: Value | None = None, logits: Value | None = None"
"""The settings of distributions of one of these."""


class lazy_property(cached_property[Any]):  # noqa: N801 - torch's name
    """A property that is computed once, with gradients, whatever the mode at its first use."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        with torch.enable_grad():
            return super().__get__(instance, owner)


def checked(method: F) -> F:
    """A method of a value, which is checked to be in the support, where arguments are validated."""

    @wraps(method)
    def call(self: Distribution, *value: Tensor, **named: Tensor) -> Any:
        if self._validate_args:
            for each in (*value, *named.values()):
                self._validate_sample(each)
        return method(self, *value, **named)

    return call  # type: ignore[return-value]


def formulas(**given: Callable[..., Any]) -> Formulas:
    """What the methods and properties of these names give: functions of the distribution's attributes, by their names.

    Before these comes the value of `log_prob`, `cdf` and `icdf`, the whole shape of what `sample` and `rsample` draw,
    and what else the method takes. `self` is the distribution.
    """
    return given


TAKEN = dict.fromkeys(("log_prob", "cdf", "icdf", "sample", "rsample", "enumerate_support"), 1) | {"_log_normalizer": 9}
"""How many arguments a formula has before the attributes, by the method's name."""


def _method(owner: type, name: str, formula: Any) -> Any:
    """The method, or the property, that gives what a formula says; the rest is as in the base class."""
    told, code = getattr(owner, name), formula.__code__
    wanted = code.co_varnames[TAKEN.get(name, 0) : code.co_argcount]

    def call(self: Distribution, *given: Any) -> Any:
        return formula(*given, *[self if each == "self" else getattr(self, each) for each in wanted])

    def draw(self: Distribution, sample_shape: Shape = ()) -> Any:
        with torch.no_grad() if name == "sample" else nullcontext():
            return call(self, self._extended_shape(sample_shape))

    def of_value(self: Distribution, value: Tensor) -> Any:
        return call(self, value)

    def of_all(self: Distribution, expand: bool = True) -> Any:
        return call(self, expand)

    def whole(self: Distribution) -> Any:
        return call(self)

    if isinstance(told, property):
        return property(call, doc=told.__doc__)
    forms = {"sample": draw, "rsample": draw, "enumerate_support": of_all, "entropy": whole, "_log_normalizer": call}
    made: Any = forms.get(name, of_value)
    made.__name__, made.__qualname__ = name, f"{owner.__qualname__}.{name}"
    made.__annotations__, made.__doc__ = told.__annotations__, told.__doc__
    return checked(made) if name in ("log_prob", "cdf") else made


def parts_of(path: str, *names: str) -> list[Any]:
    """Properties that are attributes of something that a distribution has: `parts_of("base_dist", "loc", "scale")`."""
    return [property(attrgetter(f"{path}.{name}")) for name in names]


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers take the dtype of the first tensor."""
    if not all(isinstance(value, Tensor | float | int) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    own = next((value.dtype for value in values if isinstance(value, Tensor)), torch.get_default_dtype())
    tensors = [value if isinstance(value, Tensor) else torch.tensor(value, dtype=own) for value in values]
    return tuple(torch.broadcast_tensors(*tensors))


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sums over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities moved away from 0 and 1 by what their dtype tells from 1."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logarithms of probabilities; with `is_binary` those of their odds."""
    kept = clamp_probs(probs)
    return kept.log() - (-kept).log1p() if is_binary else kept.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from logarithms of them; with `is_binary` from those of their odds."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of matrices, `[..., D, D]`, row by row as vectors; counterpart of torch's.

    Args:
        mat: the matrices.
        diag: the highest diagonal of the triangle.
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    rows, columns = torch.tril_indices(size, size, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangles of matrices, `[..., D, D]`, of their entries row by row; counterpart of torch's.

    Args:
        vec: the entries. Where no triangle has as many, a ValueError is raised.
        diag: the highest diagonal of the triangle.
    """
    count = vec.shape[-1]
    size = (-(1 + 2 * diag) + math.sqrt((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1))) / 2
    if abs(size - round(size)) > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a square "
            "D x D matrix."
        )
    rows, columns = torch.tril_indices(round(size), round(size), diag)
    matrix = torch.zeros((*vec.shape[:-1], round(size), round(size)), dtype=vec.dtype)
    matrix[..., rows, columns] = vec
    return matrix


class Distribution:
    """A probability distribution, of samples of the shape `batch_shape + event_shape`.

    Counterpart of `torch.distributions.Distribution`.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__
    __formulas__: Formulas = {}  # noqa: RUF012 - none of its own
    _batch_shape: Size
    _event_shape: Size

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        for name, formula in cls.__dict__.get("__formulas__", {}).items():
            setattr(cls, name, _method(cls, name, formula))
        if "__settings__" in cls.__dict__:
            add_constructor(cls, f"{cls.__dict__['__settings__']}, validate_args: bool | None = None", globals())

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments are checked where a distribution is not told."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args and staging().journal is None:
            _check_parameters(self)

    def __construct__(self, given: dict[str, Any]) -> None:
        """Broadcasts the parameters, but for the last dimensions of events, keeps them, and checks them."""
        validate_args = given.pop("validate_args")
        shown = broadcast_all(*given.values())
        self.__dict__.update(zip(given, shown, strict=True))
        Distribution.__init__(self, shown[0].shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self:
        """The same distribution with its parameters expanded to another batch shape."""
        origin = next(base for base in type(self).__mro__ if base.__module__.startswith(__package__))
        if origin is Distribution:
            raise NotImplementedError
        new: Any = self._get_checked_instance(origin, _instance)
        shape, own = Size(batch_shape), len(self._batch_shape)
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                value = value if name in AS_GIVEN else value.expand(shape + value.shape[own:])
            elif isinstance(value, Distribution):
                value = value.expand(shape + value.batch_shape[own:])
            new.__dict__.setdefault(name, value)
        new._batch_shape, new._event_shape = shape, self._event_shape
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    batch_shape = property(lambda self: self._batch_shape, doc="The shape over which parameters are batched.")
    event_shape = property(lambda self: self._event_shape, doc="The shape of one sample of one distribution.")

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """What each parameter has to be."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """Where samples lie."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples without gradients, of the shape `sample_shape + batch_shape + event_shape`."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples as a function of the parameters, through which gradients flow."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Deprecated: `sample((n,))`."""
        message = "`sample_n(n)` will be deprecated. Use `sample((n,))` instead."
        warn_user(message, FutureWarning)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, of a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of less than a value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which that probability lies."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along the first dimension."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """`exp` of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, own = value.shape, self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        if any(1 not in (i, j) and i != j for i, j in zip(reversed(shape), reversed(own), strict=False)):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {own}.")
        try:
            support = self.support
        except NotImplementedError:
            warn_user(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
            )
            return
        if staging().journal is None and not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        given = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        told = [f"{name}: {value if value.numel() == 1 else value.shape}" for name, value in given.items()]
        return f"{type(self).__name__}({', '.join(told)})"


def _check_parameters(distribution: Distribution) -> None:
    try:
        listed = distribution.arg_constraints
    except NotImplementedError:
        listed = {}
        warn_user(
            f"{distribution.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
            "initialize the distribution with `validate_args=False` to turn off validation.",
        )
    found = []
    for name, constraint in listed.items():
        lazy = name not in vars(distribution) and isinstance(getattr(type(distribution), name, None), lazy_property)
        if not lazy and not constraints.is_dependent(constraint):
            value = getattr(distribution, name)
            found.append((name, constraint, value, constraint.check(value).all()))
    compute([valid for *_, valid in found])
    for name, constraint, value, valid in found:
        if not valid:
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{distribution!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
            )


def listed(distribution: Distribution, values: Tensor, expand: bool) -> Tensor:
    """`values` along the first dimension, the same for the whole batch."""
    column = values.view((-1,) + (1,) * len(distribution._batch_shape))
    return column.expand((-1, *distribution._batch_shape)) if expand else column


class ExponentialFamily(Distribution):
    """A distribution with the density `exp(t(x) · θ - F(θ) + k(x))`, of which F says the entropy and divergences.

    Counterpart of `torch.distributions.ExponentialFamily`.
    """

    _mean_carrier_measure: float

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        parameters = [each.detach().requires_grad_() for each in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        result = normalizer - self._mean_carrier_measure
        for each, gradient in zip(
            parameters, torch.autograd.grad(normalizer.sum(), parameters, create_graph=True), strict=True
        ):
            result = result - (each * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return result


class Binary(Distribution):
    """What distributions of `probs` or `logits`, the log-odds, share."""

    __settings__ = EITHER

    def __construct__(self, given: dict[str, Any]) -> None:
        """Keeps `probs` or `logits`, whichever is given, and others of their shape and dtype."""
        validate_args, *either = (given.pop(each) for each in ("validate_args", "probs", "logits"))
        if (either[0] is None) == (either[1] is None):
            raise ValueError(ONE_OF_TWO)
        name, known = ("logits", either[1]) if either[0] is None else ("probs", either[0])
        *others, own = broadcast_all(*given.values(), known)
        kept = {key: each.to(own.dtype) for key, each in zip(given, others, strict=True)}
        self.__dict__.update(kept | {name: own})
        Distribution.__init__(self, own.shape, validate_args=validate_args)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, True)


class WithParam(Distribution):
    """A distribution that shows which of its two parameters was given."""

    @property
    def _param(self) -> Tensor:
        """Whichever of `probs` and `logits` was given."""
        return next(vars(self)[name] for name in vars(self) if name in ("probs", "logits"))

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape
