"""Python functions called with each element in turn: `x.apply_(lambda each: each + 1)`. Slow, here as in torch."""

from collections.abc import Callable
from typing import Any

from jaxvjp.library.creation import tensor
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import NUMBERS, Tensor

UNDERNEATH = "elements read, a Python function called with each, and what it returns written; no gradient"


@public("method")
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """In place: each element becomes what a function gives for it. Counterpart of `torch.Tensor.apply_`.

    Args:
        callable: takes a Python number and returns one.
    """
    return _written("apply_", self, callable)


@public("method")
def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """In place: each element becomes what a function gives for it and that of another. As `torch.Tensor.map_`.

    Args:
        other: of the same dtype, and of a shape that expands to this one.
        callable: takes two Python numbers and returns one.
    """
    return _written("map_", self, callable, other=other)


@public("method")
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """In place: each element becomes what a function gives for it and those of two others. As `torch.Tensor.map2_`.

    Args:
        x: of the same dtype, and of a shape that expands to this one.
        y: another such.
        callable: takes three Python numbers and returns one.
    """
    return _written("map2_", self, callable, x=x, y=y)


def _written(function: str, self: Tensor, call: Callable[..., Any], **others: Tensor) -> Tensor:
    for position, (name, each) in enumerate(others.items(), 1):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(each).__name__}"
            )
    if any(each.requires_grad for each in (self, *others.values())):
        raise RuntimeError(
            f"Can't call {function}() on Variable that requires grad. Use var.detach().{function}() instead."
        )
    for name, each in others.items():
        if each.dtype is not self.dtype:
            what = f"'{name}'" if function == "map_" else f"argument '{name}'"
            raise TypeError(f"{function}: expected {self.type()} for {what} (got {each.type()})")
    columns = [each.expand(self.shape).flatten().tolist() for each in (self, *others.values())]
    made = [call(*elements) for elements in zip(*columns, strict=True)]
    for each in made:
        if not isinstance(each, NUMBERS):
            kind = type(each).__name__
            wanted = f"must be real number, not {kind}"
            raise TypeError(
                wanted if self.dtype.differentiable else f"'{kind}' object cannot be interpreted as an integer"
            )
    self.copy_(tensor(made, dtype=self.dtype).reshape(self.shape))
    return self
