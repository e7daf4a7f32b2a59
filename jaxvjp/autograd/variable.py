"""`Variable`: the name, before torch 0.4, of a tensor that records gradients."""

from __future__ import annotations

from typing import Any

from jaxvjp.library.creation import empty
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "a leaf: what `jax.grad` calls an argument"


class VariableMeta(type):
    """Has `isinstance(x, Variable)` hold for every tensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """torch's old wrapper: `Variable(x)` is a leaf that shares the storage of `x`; `isinstance` sees every tensor as
    one. Today `tensor(..., requires_grad=True)`. Counterpart of `torch.autograd.Variable`."""

    def __new__(  # type: ignore[misc]
        cls, data: Tensor | None = None, requires_grad: bool = False, volatile: bool | None = None
    ) -> Tensor:
        if data is None:
            return empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Variable data has to be a tensor, but got {type(data).__name__}\n`Variable(tensor({data!r}))`, or "
                f"today `tensor({data!r}, requires_grad=True)`."
            )
        if volatile:
            warn_user(
                "volatile was removed (Variable.volatile is always False). Use `with torch.no_grad():` instead.",
            )
        return data.detach().requires_grad_(requires_grad)
