"""How functions that make tensors are made: `factory` from one that gives an array, and their `_like` and `new_` forms.

Each returns a leaf.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, get_overloads

import jax
import numpy as np

from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.run.transfer import moved
from jaxvjp.ops.layouts import Layout, contiguous_strides, memory_format, preserve_format, strided
from jaxvjp.ops.op import Aval
from jaxvjp.tensor.batched_randomness import per_example
from jaxvjp.tensor.out_argument import COUNTED, write_out
from jaxvjp.tensor.published import public
from jaxvjp.tensor.refusals import advice_on
from jaxvjp.tensor.signatures import fits_at
from jaxvjp.tensor.tensor import NUMBERS, Tensor, wrap
from jaxvjp.types.devices import META, Device, place, put
from jaxvjp.types.dtypes import Dtype, check_usable, python_number, taken, typename, within_64_bits
from jaxvjp.types.meshes import OnMesh

UNDERNEATH = "a NumPy array that becomes a leaf; on another device than JAX's own, `jax.device_put`"

KEPT_AS_NUMPY = 1 << 16
"""Up to this many bytes the value of a new tensor stays a NumPy array (`core.record.graph.Value`)."""

COUNTING = frozenset(["arange", "linspace", "logspace", "range"])
"""Functions that fill an `out` of any shape that has as many elements as they give."""


FILLED = frozenset(["empty", "ones", "zeros"])
"""Functions whose array only has a shape, given by `fill`."""


def nothing(shape: tuple[int, ...], kind: Any = np.uint8) -> Any:
    """An array of that shape that takes no memory, for a tensor on `meta`."""
    return np.broadcast_to(np.zeros((), kind), shape)


def new_leaf(array: Any, own: Dtype, requires_grad: bool = False, device: Any = None) -> Tensor:
    if requires_grad and not own.differentiable:
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients\n"
            f"The data is torch.{own.name}; write the numbers with a point, [1., 2.], or pass dtype=torch.float32."
        )
    check_usable(own)
    where = place(device)
    value: Any = array
    if type(array) is not np.ndarray or array.dtype != own.numpy:
        with np.errstate(all="ignore"):
            value = np.asarray(array, own.numpy)
    if value.nbytes > KEPT_AS_NUMPY or where is not None:
        with jax.enable_x64(True):
            value = put(value, where)
    return wrap(node_of_value(value, Aval(np.shape(array), own, place=where), requires_grad))


def sizes(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that `size` means, whether spread out or in one sequence."""
    if len(size) == 1 and isinstance(size[0], Sequence) and not isinstance(size[0], str):
        for position, each in enumerate(size[0]):
            if not fits_at(position, each):
                raise TypeError(
                    f"{name}(): argument 'size' (position 1) must be tuple of ints, but found element of type "
                    f"{typename(each)} at pos {position}"
                )
        size = tuple(size[0])
    for position, each in enumerate(size, 1):
        if not fits_at(position - 1, each):
            raise TypeError(
                f"{name}(): argument 'size' (position {position}) must be tuple of ints, not {typename(each)}\n"
                + (advice_on(each) if isinstance(each, jax.Array) else f"Such as `{name}(2, 3)`.")
                if position == 1
                else f"{name}(): argument 'size' failed to unpack the object at pos {position} with error "
                f'"type must be tuple of ints,but got {typename(each)}"'
            )
        if each < 0 and name == "zeros":
            raise RuntimeError(f"zeros: Dimension size must be non-negative.\nThe sizes are {list(size)}.")
        if each < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {each}: {list(size)}")
    return tuple(int(each) for each in size)


def show_signature(front: Any, outer: Callable[..., Any], inner: Callable[..., Any], *without: str) -> None:
    """Sets the signature of `front`: the parameters of `outer`, and those of `inner`, to which `outer` passes the
    rest, such as its `*arguments`. It takes no others."""
    own = inspect.signature(outer, eval_str=True)
    known = [each for each in own.parameters.values() if each.name != "arguments" and each.kind is not each.VAR_KEYWORD]
    names = {*without, *[each.name for each in known]}
    inside = [each for each in inspect.signature(inner, eval_str=True).parameters.values() if each.name not in names]
    further = [each for each in inside if each.kind is not each.VAR_KEYWORD]
    front.__signature__ = own.replace(parameters=sorted([*known, *further], key=lambda each: each.kind))


def factory(make: Callable[..., tuple[Any, Dtype]], of: str = "function") -> Callable[..., Tensor]:
    """Makes a public function that returns a leaf from `make`, which returns an array and its dtype.

    The function also takes what all of torch's of this kind do: `out`, `device`, `requires_grad`, and, accepted and
    without effect, `layout` and `pin_memory`. `memory_format` says how it is laid out.
    """

    def create(
        *arguments: Any,
        out: Tensor | None = None,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Device | str | int | None = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = None,
        **named: Any,
    ) -> Tensor:
        asked = taken(make.__name__, dtype)
        if layout not in (None, strided):
            raise NotImplementedError(f"{layout} is only a name here: every tensor is strided\nLeave `layout` out.")
        if isinstance(out, Tensor):
            if asked is not None and asked is not out.dtype:
                raise RuntimeError(
                    f"dtype {asked.legacy} does not match dtype of out parameter ({out.dtype.legacy})\n"
                    "Leave out `dtype`: it is that of `out`."
                )
            asked, device = out.dtype, out.device if device is None else device
        if make.__name__ in FILLED and place(device) is META:
            named["fill"] = nothing
        array, own = make(*arguments, dtype=asked, **named)
        if isinstance(out, Tensor) and make.__name__ in COUNTING and np.size(array) == out.numel():
            array = np.reshape(array, out.shape)
        made = new_leaf(array, own, requires_grad, device)
        if memory_format is not None:
            laid(made, memory_format.strides(made.__layout__()))
        return made if out is None else write_out(out, made, COUNTED if make.__name__ == "arange" else "")

    create.__name__ = create.__qualname__ = make.__name__
    create.__module__ = make.__module__  # where its overloads are found
    for each in [*get_overloads(make), make]:
        show_signature(create if each is make else each, create, each)
    create.__wrapped__ = make  # type: ignore[attr-defined]
    module = "torch" if of == "function" else f"torch.{of}"
    create.__doc__ = f"{make.__doc__}\n\nCounterpart of `{module}.{make.__name__}`."
    return public(of, make.__name__)(create)


def laid(made: Tensor, strides: tuple[int, ...]) -> Tensor:
    """`made`, a new leaf, as if its elements lay in memory by these strides, which leave no gaps."""
    made.__node__.aval = made.__node__.aval.laid(strides)
    return made


def drawn_by(input: Tensor, form: memory_format) -> dict[str, Any]:
    """The argument `strides` for a function that draws random numbers like `input`: torch draws them in the order in
    which they lie in memory, that of `input` in the memory format `form`. Nothing, if that is the usual order.

    Inside a `vmap` that draws other numbers for each example, the order is that of the whole batch.
    """
    if transforming().batches:
        batch = transforming().batches[-1]
        if len(transforming().batches) > 1 or not batch.holds(input.__node__) or not batch.random_differs():
            return {}
        input = batch.whole(input)
    strides = form.strides(input.__layout__())
    return {} if strides == contiguous_strides(tuple(input.shape)) else {"strides": strides}


def like(create: Callable[..., Tensor], random: bool = False) -> Callable[..., Tensor]:
    """The `_like` form of such a function: shape, dtype and device of another tensor."""
    name = f"{create.__name__}_like"

    def create_like(
        input: Tensor,
        *arguments: Any,
        dtype: Dtype | None = None,
        device: Device | str | int | None = None,
        memory_format: memory_format | None = None,
        **named: Any,
    ) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        where = input.device if device is None else device
        dtype = taken(name, dtype)

        def filled(shape: tuple[int, ...]) -> Tensor:
            return create(shape, *arguments, dtype=dtype or input.dtype, device=where, **named)

        form = memory_format or preserve_format
        otherwise = input.__node__.aval.strides or form is not preserve_format
        strides = form.strides(input.__layout__()) if otherwise else None
        if random:  # which `create` itself makes per example
            named |= drawn_by(input, form)
            made = filled(input.shape)
        else:
            made = per_example(input.shape, filled, lambda batch: batch.holds(input.__node__))
        if strides is not None and made.__node__.operation is None:
            laid(made, strides)
        if type(input.__node__.device) is OnMesh and device is None:  # laid out as `input` is
            made = wrap(moved(made.detach().__node__, input.__node__.device)).requires_grad_(made.requires_grad)
        return made

    create_like.__name__ = create_like.__qualname__ = name
    show_signature(create_like, create_like, create, "size", "named")
    create_like.__doc__ = f"As `{create.__name__}`, with the shape, dtype and device of `input`, unless told otherwise."
    return public("function", name)(create_like)


def _stacked(shape: tuple[int, ...], stride: Sequence[int]) -> tuple[int, ...]:
    """The strides of a batch of this shape, whose examples have `stride` and lie one behind the other."""
    batch, own = shape[: len(shape) - len(stride)], shape[len(shape) - len(stride) :]
    length = Layout(own, tuple(stride)).reach[1]
    return (*[each * length for each in contiguous_strides(batch)], *stride)


def new_method(create: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    """The `new_` method of such a function: dtype and device of another tensor."""

    def method(self: Tensor, *arguments: Any, dtype: Dtype | None = None, device: Any = None, **named: Any) -> Tensor:
        where = self.device if device is None else device
        own = taken(f"new_{name}", dtype) or self.dtype

        def made(shape: Any) -> Tensor:
            further = (_stacked(shape, *arguments[1:]),) if name == "empty_strided" else arguments[1:]
            return create(shape, *further, dtype=own, device=where, **named)

        if not transforming().batches or not arguments:
            return create(*arguments, dtype=own, device=where, **named)
        if name not in ("full", "empty_strided"):
            arguments = (sizes(name, arguments),)
        copied = name != "empty_strided"  # which would not keep the strides
        return per_example(tuple(arguments[0]), made, lambda batch: batch.holds(self.__node__), copied=copied)

    method.__name__ = method.__qualname__ = f"new_{name}"
    show_signature(method, method, create)
    method.__doc__ = f"As `{name}`, with the dtype and device of this tensor. Counterpart of `torch.Tensor.new_{name}`."
    return public("method", f"new_{name}")(method)


def number(value: Any, argument: str = "") -> Any:
    """A Python number, of one of NumPy's or a tensor without dimensions; TypeError, about `argument`, for others."""
    if isinstance(value, Tensor) and not value.ndim:
        return value.item()
    if argument and not isinstance(value, (*NUMBERS, np.number, np.bool_)):
        advice = "\nThe number of an array is `a.item()`." if isinstance(value, jax.Array) else ""
        raise TypeError(f"{argument} must be Number, not {typename(value)}{advice}")
    return within_64_bits(value.item() if isinstance(value, Tensor) else python_number(value))


def refuse_type(kernel: str, own: Dtype, unfit: bool) -> None:
    """torch's NotImplementedError for a dtype that does not fit its kernel."""
    if unfit:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{own.legacy}'")
