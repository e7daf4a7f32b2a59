"""What torch refuses to do with a tensor: sentences of its errors, and the checks that raise them."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np

from jaxvjp.core.record.graph import Node, reachable
from jaxvjp.core.record.modes import Transforming, transforming
from jaxvjp.core.record.record import tracers
from jaxvjp.ops.identity import NO_VALUE, traced
from jaxvjp.tensor.storage import Stored, written_in_trace
from jaxvjp.types.dtypes import CTYPES, dtype
from jaxvjp.types.user_code import own_name, users_name

ARRAYS = np.ndarray | jax.Array
NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"
REVERSED = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
    "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - "
    "1, -1, -1))` to reverse the dimensions of a tensor."
)
NUMBER_REVERSED = "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)


def advice_on_update(line: str) -> str:
    """What to write in place of `w = w - 0.1 * w.grad`, which makes a new tensor; "" for another line."""
    update = re.search(r"^\s*(\S+) = \1 ([-+*/]) (.+)$", line, re.MULTILINE)
    return f"`{update[1]} {update[2]}= {update[3]}` changes {update[1]} in place, and it stays a leaf" if update else ""


def advice_on_tracers() -> str:
    """What to write where JAX traces a function that is written in torch's words."""
    own = own_name()
    return (
        f"JAX traces here, and passed a tracer, which has no value. Write `@{own}.functional` over the function "
        "that JAX is given: it gets tensors then, and JAX can transform it. In it JAX's functions are called as "
        f"`{own}.wrap(jnp.sin)(x)`."
    )


def is_key(value: Any) -> bool:
    """Whether a value is an array of keys of `jax.random`."""
    return isinstance(value, jax.Array) and jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key)


def advice_on(value: Any) -> str:
    """What to write in place of a value that is no tensor where one belongs."""
    if isinstance(value, jax.core.Tracer):
        return advice_on_tracers()
    if is_key(value):
        own = own_name()
        return (
            f"A key of `jax.random` is for JAX's functions: `{own}.wrap(jax.random.normal)(key)`. torch's draw from a "
            f"generator, `{own}.manual_seed(0)`. The key's numbers are `{own}.from_jax(jax.random.key_data(key))`."
        )
    if isinstance(value, np.ndarray | jax.Array):
        library = "numpy" if isinstance(value, np.ndarray) else "jax"
        written = f"from_{library}({users_name(value, 'array')})"
    else:
        written = (
            f"tensor({value!r})" if isinstance(value, int | float | complex | list | tuple) else "tensor([1., 2.])"
        )
    return f"Make one of it first: `{own_name()}.{written}`."


def advice_on_array(value: Any) -> str:
    """`advice_on` an array of JAX or NumPy, after a line break; nothing for another value."""
    return f"\n{advice_on(value)}" if isinstance(value, ARRAYS) else ""


def check_grad(tensor: Any, value: Any) -> None:
    """TypeError or RuntimeError if `value` cannot be the `grad` of `tensor`: it needs its shape, dtype and device."""
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad\nA copy can be: `x.grad = x.detach().clone()`.")
    if not issubclass(type(value), Stored):
        told = f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
        raise TypeError(told + advice_on_array(value))
    if value.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
            f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
    if value.dtype is not tensor.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{CTYPES[value.dtype.name]}' to a tensor with "
            f"grad_dtype '{tensor.dtype.legacy}'. The gradient must match the tensor's grad_dtype (defaults to "
            "the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None "
            "to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its "
            "gradient may break downstream systems that assume they match.\n"
            "There is no grad_dtype here; convert it first: `x.grad = g.to(x.dtype)`."
        )
    if value.device != tensor.device:
        raise RuntimeError(
            f"attempting to assign a gradient located on device with index '{value.get_device()}' to a tensor "
            f"located on device with index '{tensor.get_device()}'. Please ensure that the gradient and the "
            "tensor are on the same device\nMove it first: `x.grad = g.to(x.device)`."
            if value.device.type == tensor.device.type
            else f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with "
            f"device type '{tensor.device.type}'. Please ensure that the gradient and the tensor are on the same "
            "device\nMove it first: `x.grad = g.to(x.device)`."
        )


def _in_batch(state: Transforming) -> bool:
    """Whether the innermost transform is `vmap`."""
    return bool(state.batches) and state.batches[-1].depth == state.depth


def check_data(tensor: Stored, sentence: str) -> None:
    """RuntimeError for `data` of what differs from example to example of the innermost transform."""
    state = transforming()
    if _in_batch(state) and state.batches[-1].holds(tensor.__node__):
        raise RuntimeError(f"{sentence}\nTake `x.detach()` to read it without its gradient; `x.copy_(y)` writes it.")


def check_not_outside(tensor: Stored, name: str) -> None:
    """RuntimeError in a pure function, if it did not make this tensor: what is set would be a value of a trace; of
    `data` in a function of a derivative's transform, too."""
    state = transforming()
    if name == "data" and state.depth > state.pure and not _in_batch(state):
        raise RuntimeError(
            "mutating directly with `.data` inside functorch transform is not allowed.\n"
            "Compute a new tensor, or write a copy: `x = x.clone()`."
        )
    if state.pure and not all(each.owns(tensor) for each in state.guards):
        raise RuntimeError(
            f"A pure function that JAX traces, or the body of a loop, must not set the attribute `{name}` of a "
            "tensor that it has not made: it would have no value outside.\nReturn the value, and set it outside."
        )


def inside(call: str, others: str = "") -> str:
    """What torch says of a call that no function may make which is being transformed."""
    return (
        f"You are attempting to call Tensor.{call}{others} inside of a function being transformed by a functorch "
        "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, "
        f"jacfwd, hessian) or call {call} outside of a function being transformed instead."
    )


def differs(node: Node) -> bool:
    """Whether `node` differs from example to example of a `vmap` under way."""
    return any(batch.holds(node) for batch in transforming().batches)


def waiting_behind(node: Node) -> list[Node]:
    """`node`, and what it is computed from as far as that has no value yet, with what that needs."""
    return reachable([node], lambda each: each.inputs if each.value is None else ())


def check_traced(tensor: Stored, result: Node) -> None:
    """RuntimeError where a function that JAX traces writes `result` to an argument, or to what was made before: the
    write would be lost, or leave a tracer behind."""
    if transforming().pure:  # see `levels.Guard`
        return
    base = tensor if tensor.__base_tensor__ is None else tensor.__base_tensor__
    starts = [node for node in waiting_behind(result) if node in tracers]
    first = min([node.serial for node in starts], default=0)
    if base.__node__ in tracers or base.storage.contents.serial < first:
        raise RuntimeError(written_in_trace("its argument" if base.__node__ in tracers else "what it did not make"))


def is_traced(node: Node) -> bool:
    """Whether `node` is computed from what JAX traces, and so has no value (`pure.arrays`)."""
    return any(each.operation is traced for each in waiting_behind(node))


def unreadable(node: Node, sentence: str) -> None:
    """RuntimeError with `sentence` if `node` differs from example to example of a `vmap` under way."""
    if differs(node):
        raise RuntimeError(f"{sentence}\n{NO_VALUE.partition(chr(10))[2]}")


def refuse_tangent(node: Node, sentence: str, of_function: bool = False) -> None:
    """RuntimeError with `sentence` if `node` has a tangent, of a function's transform where `of_function`, which would
    be lost."""
    if any(each.carries(node) for each in transforming().duals if each.of_function or not of_function):
        raise RuntimeError(f"{sentence}\nIts tangent would be lost: this is forward mode. `x.detach()` has none.")


def convert_first(own: dtype) -> str:
    return f"This one is torch.{own.name}; convert it first, `x.float().requires_grad_()`."
