"""The class `Tensor`, with torch's attributes: shape, `requires_grad`, `grad`, `data`, hooks, reading of values.

What a tensor holds is in its base class, `storage.Stored`; what torch refuses to do with it, in `refusals`. Most
methods follow from the rows of `ops`; `bindings` adds them to the class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from textwrap import indent
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxvjp.core.record.graph import Node, hold, leaf_identity_of
from jaxvjp.core.record.modes import count_change, grad_mode, listening, staging, transforming
from jaxvjp.core.record.observers import Read, tell
from jaxvjp.core.record.record import detached, node_of_value, record
from jaxvjp.core.record.steps import hook_of_level
from jaxvjp.core.record.versions import OwnVersions, latest, next_serial
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.values import array_of, readonly_array_of
from jaxvjp.ops.arguments import size as size_argument
from jaxvjp.ops.arguments import wrap as wrap_dim
from jaxvjp.ops.complex import conjugate, real_part
from jaxvjp.ops.identity import TRACED
from jaxvjp.ops.view import alias, permute, reshape_alias, reshaped_copy
from jaxvjp.ops.view import view as VIEW  # noqa: N812 - the op; `view` is here what makes the tensor
from jaxvjp.tensor import printing, storage
from jaxvjp.tensor.refusals import (
    CONTROL_FLOW,
    NO_STORAGE,
    NUMBER_REVERSED,
    REVERSED,
    advice_on_array,
    advice_on_update,
    check_data,
    check_grad,
    check_not_outside,
    convert_first,
    inside,
    is_traced,
    refuse_tangent,
    unreadable,
)
from jaxvjp.tensor.shared_memory import new_memory
from jaxvjp.tensor.storage import Stored, holding, made_by
from jaxvjp.tensor.view_steps import Step, has_layout
from jaxvjp.types.devices import META, device, of
from jaxvjp.types.dtypes import dtype
from jaxvjp.types.hooks import RemovableHandle
from jaxvjp.types.settings import warn_once
from jaxvjp.types.size import Size
from jaxvjp.types.user_code import warn_user

Array = np.ndarray[Any, Any]
NUMBERS = (int, float, complex)  # and bool, which is an int


if TYPE_CHECKING:
    from jaxvjp.tensor.methods import Methods  # the stub of methods added to `Tensor`, from `tools.stubs`
else:
    Methods = Stored


REQUIRING = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)


class Shadowed:
    """A property that an attribute of the same name of one's own hides: `x.value = 3`, as torch lets one say."""

    def __init__(self, fget: Any) -> None:
        self.fget = fget
        self.__doc__, self.__qualname__, self.__module__ = fget.__doc__, fget.__qualname__, fget.__module__

    def __get__(self, tensor: Any, kind: Any = None) -> Any:
        return self if tensor is None else self.fget(tensor)


class Tensor(Methods):
    """A multi-dimensional array that records what is done with it; counterpart of `torch.Tensor`.

    Underneath it shows one node of the recorded graph. Reading the value (`print`, `item`, `if`, `numpy`) computes
    it; `backward` runs `jax.vjp` of the program that the graph is.

    Args:
        arguments: of torch's old constructor: sizes, `Tensor(2, 3)`, or one sequence of numbers, array or tensor.
    """

    __module__ = "jaxvjp"
    __array_priority__ = 1000

    _grad: Tensor | None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Most methods are added by `library.attach_methods`; a name that is not found there does not exist.
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __init__(self, *data: Any, **named: Any) -> None:
        """`Tensor([1, 2])` of data, `Tensor(2, 3)` of sizes; what makes it is `library.constructors`."""

    # Properties.

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return tuple.__new__(Size, self.__shown__.aval.shape)  # without checks: the sizes are integers already

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else self.shape[wrap_dim(dim, self.ndim)]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.__shown__.aval.shape)

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    def numel(self) -> int:
        """The number of elements."""
        return self.shape.numel()

    @property
    def dtype(self) -> dtype:
        """The type of the elements. `x.to(...)` and `x.double()` give another."""
        own: dtype = self.__shown__.aval.dtype
        return own

    @property
    def device(self) -> device:
        """Where it is. `x.to(...)`, `x.cpu()` and `x.cuda()` move it."""
        return of(self.__shown__.device)

    @property
    def is_cpu(self) -> bool:
        """Whether it is in the host's memory."""
        return self.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU."""
        return self.device.type == "cuda"

    def get_device(self) -> int:
        """The number of its device; -1 on the CPU."""
        index = self.device.index
        return -1 if index is None else index

    def stride(self, dim: int | None = None) -> Any:
        """How many elements apart neighbours are, per dimension or along `dim`."""
        strides = self.__layout__().strides
        return strides if dim is None else strides[wrap_dim(dim, len(strides))]

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """The same elements, in order, in another shape: a view where torch has one, else a copy.

        Raises:
            RuntimeError: a shape of another number of elements.

        Underneath: `jnp.reshape`.
        """
        sizes = size_argument(shape[0] if len(shape) == 1 else shape)
        try:
            return view(self, Step(reshape_alias if self.__apart__() else VIEW, (sizes,)))
        except ValueError:
            return wrap(record(reshaped_copy, (self.__node__,), (sizes,)))

    def __apart__(self) -> bool:
        """Whether its elements do not lie in their order."""
        return self.__node__.aval.strides is not None and not self.__layout__().contiguous

    @property
    def _base(self) -> Tensor | None:
        base: Tensor | None = None if self.__shown__.inference else self.__base_tensor__
        return base

    @property
    def _cdata(self) -> int:
        """What tells tensors apart. In torch it is an address."""
        return id(self)

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self.__shown__.inference

    @property
    def _version(self) -> int:
        if self.is_inference() and type(self.__own_versions__) is not OwnVersions:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.__versions__.count

    @property
    def T(self) -> Tensor:  # noqa: N802 - torch's name
        """The dimensions in reverse order, as a view. Underneath: the op `permute`, which is `jnp.transpose`."""
        ndim = self.ndim
        if ndim != 2:
            warn_once(f"T of {ndim > 0}", REVERSED if ndim else NUMBER_REVERSED)
        return view(self, Step(permute, (tuple(reversed(range(ndim))),)))

    @property
    def is_leaf(self) -> bool:
        """Whether the user made it, or nothing that requires a gradient went into it."""
        self.__check_current__()
        return self.__node__.is_leaf

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded for `backward`, and a leaf gets a `grad`."""
        node = self.__node__
        if self.__base_tensor__ is not None and (not node.requires_grad or self.__shown__.lost):
            kept = self.dtype.differentiable and all(step.operation.differentiable for step in self.__steps__)
            return kept and bool(self.__base_tensor__.requires_grad)  # a view's is that of its base
        return node.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is not bool:
            raise RuntimeError(f"requires_grad must be a bool\nIt was given {value!r}.")
        if not self.__node__.is_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables."
                + " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()." * (not value)
            )
        if value and not self.dtype.differentiable:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients\n" + convert_first(self.dtype)
            )
        if value:
            self.__check_no_inference__()
        if bool(value) != self.requires_grad or (value and self.__shown__.lost):
            if self.__base_tensor__ is not None:
                self.__versions__  # noqa: B018 - of a leaf, the node itself has to know whether it was written
            shared = self.__shown__.leaf
            if shared is not None and shared.lost:
                self.__leaf__ = shared.found_again()
            if self.__leaf__ is None and not value:  # asked for a gradient again later, it is the same leaf
                self.__leaf__ = leaf_identity_of(self.__shown__)
            self.__show__(self.__as_leaf__(self.__shown__) if value else self.__as_its_base__(detached(self.__shown__)))
            self.__update_views__()

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    @property
    def _backward_hooks(self) -> Any:
        """The hooks of its gradient by their numbers; None without any."""
        return self.__gradient_node__.hooks

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

    def __update_views__(self) -> None:
        """Updates `requires_grad` of views taken under `no_grad`, which is that of this tensor."""
        if self.__storage__ is not None:
            self.__storage__.version += 1
            self.__seen__ = self.__storage__.version

    def __check_no_inference__(self) -> None:
        if self.__shown__.inference and not grad_mode().inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.\n"
                "`x.clone().requires_grad_()` makes a normal tensor of it."
            )

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Makes a leaf require a gradient (or not) and returns it; RuntimeError for an integer tensor."""
        if type(requires_grad) is not bool:
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        if requires_grad:
            self.__check_no_inference__()
        if requires_grad and not self.dtype.differentiable:
            raise RuntimeError(
                "only Tensors of floating point dtype can require gradients\n" + convert_first(self.dtype)
            )
        if transforming().depth:
            raise RuntimeError(inside("requires_grad_()", " (or perhaps using torch.autograd.functional.* APIs)"))
        if not requires_grad or self.__node__.is_leaf:
            self.requires_grad = requires_grad
        return self

    @property
    def grad(self) -> Tensor | None:
        """What `backward` has accumulated here: None until it reached this tensor, then of its shape and dtype."""
        if self._grad is None and not (self.__node__.is_leaf or self.retains_grad):
            line = self.__node__.location
            update = "" if line is None else advice_on_update(line.text)
            if line is not None and update:
                update = f"\nLine {line.number} made a new tensor. Under no_grad(), {update}, with a .grad."
            warn_user(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor." + update
            )
        if staging().journal is not None:
            staging().journal.note_read_grad(self)
        return self._grad

    @grad.deleter
    def grad(self) -> None:
        self.__take_grad__(None)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            check_grad(self, value)
            check_not_outside(self, "grad")
        self.__take_grad__(value)

    @property
    def data(self) -> Tensor:
        """The same storage without the gradient: a write to it changes this tensor, unrecorded and uncounted."""
        check_data(self, "accessing `data` under vmap transform is not allowed")
        return self.__alias__(counted=False)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            told = f"Variable data has to be a tensor, but got {type(value).__name__}"
            raise TypeError(told + advice_on_array(value))
        check_data(self, "mutating directly with `.data` under vmap transform is not allowed.")
        if self.requires_grad and not value.dtype.differentiable:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        check_not_outside(self, "data")
        self.__move__(value.storage, value.__view_path__)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def detach(self) -> Tensor:
        """The same storage as a tensor that requires no gradient; underneath `jax.lax.stop_gradient`."""
        return self.__alias__(counted=True)

    def __alias__(self, counted: bool) -> Tensor:
        """Another tensor on the same storage, without the gradient; `counted` says whether it shares the versions."""
        node = self.__node__
        plain = detached(node)
        if plain is node and not counted:  # one node cannot have two counts of writes
            if node.value is None or staging().journal is not None:  # a staged step reads the value of each call
                plain = record(alias, (node,))
            else:
                plain = node_of_value(node.value, node.aval)
        made = wrap_unlinked(plain)
        if plain is not node:
            plain.inference = node.inference
            hold(plain, made)
        made.__storage__ = self.storage
        made.__seen__ = made.__storage__.version
        if self.__steps__ or self.__own_path__ is not None:
            made.__own_path__ = tuple([step.plain() for step in self.__view_path__])
        if node.inference and not grad_mode().inference:
            made.__own_versions__ = OwnVersions()
        elif counted:
            made.__own_versions__ = self.__versions__
            made.__count_for__(plain)
        return made

    def detach_(self) -> Tensor:
        """Cuts this tensor off from its graph and makes it a leaf; RuntimeError for a view."""
        if self.__base_tensor__ is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        self.__retained__ = self.retains_grad
        before = self.__node__
        if not before.is_leaf:  # of a leaf, torch's saved tensors are the tensor itself
            before.detached_in_place = True
            latest.detach = next_serial()
        self.__show__(detached(before))
        self.__update_views__()
        return self

    # Hooks.

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Calls `hook` with this tensor's gradient once it is complete in a backward; a tensor that it returns replaces
        it.

        The gradient is lazy: a hook that only computes is part of the one compiled program; one that reads values
        splits it. Returns a handle whose `remove()` undoes it. RuntimeError where no gradient can come.
        """
        node = self.__gradient_node__
        if not node.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if node.hooks is None:
            self.__check_current__()  # as in torch, which asks for the step that made it once
            node.hooks = {}
        return RemovableHandle(node.hooks, partial(_called, hook_of_level(node, hook)))

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Calls `hook` with this leaf after a backward has added to its `grad`. RuntimeError for a non-leaf."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self.__after_accumulation__ is None:
            self.__after_accumulation__ = {}
            leaf_identity_of(self.__node__).tensor = self
            count_change()
        return RemovableHandle(self.__after_accumulation__, hook)

    def retain_grad(self) -> None:
        """Lets `backward` fill in the `grad` of this intermediate tensor too; a leaf has it anyway."""
        node = made_by(self.__node__)
        if transforming().variables:
            raise RuntimeError(inside("retain_grad()"))
        if not node.is_leaf and not node.retains:
            self.__check_current__()
        if not node.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if not node.is_leaf:
            node.retains = True
            hold(node, self)  # after a backward it may be a copy by `copy_without_inputs`, which nobody holds

    @property
    def retains_grad(self) -> bool:
        """Whether `backward` fills in the `grad` of this intermediate tensor, as `retain_grad` has it."""
        return self.__retained__ or made_by(self.__node__).retains

    # Reading the value computes it.

    def __evaluated__(self) -> Node:
        """The node that it shows, with its value."""
        node = self.__node__
        if node.value is None:
            evaluate((node,))
        elif staging().journal is not None:
            staging().journal.refuse("reads the value of a tensor")
        if listening():
            tell(Read(node))
        return node

    @Shadowed
    def value(self) -> jax.Array:
        """The value.

        Returns a `jax.Array` of the tensor's shape and dtype. No counterpart in torch: an attribute of that name of
        one's own hides it. Underneath: the recorded program is computed, by `jax.jit`.
        """
        value: jax.Array = array_of(self.__evaluated__())
        return value

    __value__: jax.Array = property(value.fget)  # type: ignore[assignment]

    def __numbers__(self) -> np.ndarray[Any, Any]:
        """The value as a read-only NumPy array, without a round trip to the device if NumPy computed it."""
        return readonly_array_of(self.__evaluated__())

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The value as a NumPy array; RuntimeError where a gradient would be lost unnoticed.

        On a CPU it shares the tensor's memory, in both directions (`shared_memory`); elsewhere it is a read-only copy.

        Args:
            force: whether to give the value also of a tensor that requires a gradient or is a conjugate view.
        """
        if force:
            return self.detach().resolve_conj().resolve_neg().numpy()
        if grad_mode().enabled and self.requires_grad:
            if is_traced(self.__node__):
                self.__evaluated__()  # RuntimeError
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        unreadable(self.__node__, NO_STORAGE)
        refuse_tangent(self.__node__, NO_STORAGE, of_function=True)
        if self.__shown__.device is META:
            raise TypeError(
                "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                "first."
            )
        values = self.__numbers__()
        if self.__conjugated__():
            bit = "conjugate" if self.dtype.is_complex else "negative"
            resolve = f"resolve_{bit[:4] if self.dtype.is_complex else bit[:3]}"
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.{resolve}().numpy() instead."
            )
        if not (self.is_cpu and has_layout(self.__view_path__)) or values.dtype.kind == "V":
            return values
        memory = self.storage
        if memory.shared is None:
            new_memory(memory)
        shared: np.ndarray[Any, Any] = memory.shared.array(self.__layout__(), values.dtype)
        return shared

    def __conjugated__(self) -> bool:
        """Whether its memory has the conjugates of its elements, or its imaginary parts with the other sign."""
        bit = False
        for step in self.__view_path__:
            if step.operation is conjugate or (step.operation is real_part and bit):
                bit = not bit
        return bit

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def item(self) -> Any:
        """The one element, as a Python number."""
        if math.prod(self.__shown__.aval.shape) != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar\n"
                f"Its shape is {list(self.shape)}; `.tolist()` gives all elements, `x[0].item()` one of them."
            )
        if self.__shown__.device is META:
            raise RuntimeError("Tensor.item() cannot be called on meta tensors\nSuch a tensor has no data.")
        return self.__numbers__().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        unreadable(self.__node__, NO_STORAGE)
        return self.__numbers__().tolist()

    def __bool__(self) -> bool:
        if self.numel() != 1:
            many = "more than one value" if self.numel() else "no values"
            raise RuntimeError(
                f"Boolean value of Tensor with {many} is ambiguous\n"
                f"Its shape is {list(self.shape)}; say what is meant: `(x > 0).all()`, `(x > 0).any()`."
            )
        unreadable(self.__node__, CONTROL_FLOW)
        return bool(self.item())

    def __scalar__(self, word: str) -> Any:
        """The one element as a real number; an error where there are others or, of type `word`, it is not real."""
        if self.numel() != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars\n"
                f"Its shape is {list(self.shape)}; `.tolist()` gives all elements, `x[0]` one of them."
            )
        if word != "int64_t" and grad_mode().enabled and self.requires_grad and not is_traced(self.__node__):
            warn_once("scalar", REQUIRING)
        value = self.item()
        if isinstance(value, complex) and word:
            if value.imag:
                raise RuntimeError(f"value cannot be converted to type {word} without overflow")
            return value.real
        return value

    def __float__(self) -> float:
        return float(self.__scalar__("double"))

    def __int__(self) -> int:
        return int(self.__scalar__("int64_t"))

    __long__ = __int__

    def __complex__(self) -> complex:
        return complex(self.__scalar__(""))

    def __index__(self) -> int:
        if self.dtype.differentiable or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __format__(self, spec: str) -> str:
        if (
            self.ndim == 0 and type(self) is Tensor and self.__shown__.device is not META
        ):  # a Parameter is printed in full, in torch too
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self) -> str:
        if transforming().depth:
            levels = [*transforming().batches, *transforming().variables]
            return _wrapped(self.__node__, sorted(levels, key=lambda each: each.depth), self)
        return f"Parameter({self.__text__()})" if getattr(self, "_is_param", False) else self.__text__()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        plain = transforming().depth or self.__shown__.device is META or self.numel() > printing.CELLS
        return printing.as_html(repr(self), None if plain else self.tolist())

    def __text__(self) -> str:
        node = self.__node__
        suffixes = []
        if self.__storage__ is not None and self.__seen__ != self.__storage__.version:
            suffixes.append("grad_fn=<Invalid>")
        elif not node.is_leaf:
            suffixes.append(f"grad_fn=<{node.gradient_name}>")
        elif node.requires_grad:
            suffixes.append("requires_grad=True")
        tangent = None if transforming().level is None else transforming().level.tangents_of([node])[0]
        if tangent is not None:
            suffixes.append(f"tangent={wrap_unlinked(tangent)}")
        device = None if node.device is None else str(node.device)
        kind = type(self)
        name = "tensor" if kind.__module__.partition(".")[0] in ("jaxvjp", "torch") else kind.__name__
        if node.device is META:
            return printing.without_data(tuple(self.shape), self.dtype, ["device='meta'"], suffixes, name)
        try:
            return printing.tensor(self.__numbers__(), self.dtype, suffixes, device, name)
        except RuntimeError as error:
            if TRACED not in str(error):
                raise
        return printing.without_data(tuple(self.shape), self.dtype, ["traced by JAX"], [], name)

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        length: int = self.shape[0]
        return length

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, (Tensor, *NUMBERS)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.\n"
                "Make a tensor of it, or compare: `(x == value).any()`."
            )
        return bool((self.__numbers__() == np.asarray(element)).any())


def _wrapped(node: Node, levels: list[Any], shown: Tensor | None = None) -> str:
    """A tensor inside of a transform: what the innermost level calls it, and what it is outside of that."""
    while levels:
        peeled = levels.pop().peeled(node)
        if peeled is not None:
            name, outer = peeled
            return f"{name}value=\n{indent(_wrapped(outer, levels), '    ')}\n)"
    return (users_tensor(node) if shown is None else shown).__text__()


def _called(hook: Callable[[Tensor | None], Any], cotangent: Node | None) -> tuple[Node, Node] | None:
    """Calls a hook of the user's as `core.record.steps.Hook` says."""
    if cotangent is None:
        hook(None)
        return None
    given = users_tensor(cotangent)
    returned = hook(given)
    if given.shape != cotangent.aval.shape:  # reshaped in place
        given = given.sum_to_size(cotangent.aval.shape)
    written = given.__node__
    return written, written if returned is None else checked_replacement(hook, returned, cotangent)


def checked_replacement(hook: Callable[..., Any], replaced: Any, cotangent: Node) -> Node:
    """The node of `replaced`, which a hook returned in place of `cotangent`; torch's error if it does not fit."""
    if not isinstance(replaced, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(replaced).__name__}'")
    if replaced.__node__.aval is cotangent.aval:
        return replaced.__node__
    name = getattr(hook, "__name__", type(hook).__name__)
    if replaced.shape != cotangent.aval.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    if replaced.dtype is not cotangent.aval.dtype:
        kinds = [f"torch.{each.dtype.legacy}Tensor" for each in (cotangent.aval, replaced)]
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {kinds[0]} got {kinds[1]})")
    return replaced.__node__


ORDINARY: set[type[Tensor]] = {Tensor}
"""The classes that have the methods of `Tensor`, and say nothing of torch's functions: `nn.Parameter` is one."""


def wrap_unlinked(node: Node) -> Tensor:
    """A tensor that shows `node` but is not noted in it as its tensor: another one may be."""
    tensor: Tensor = Stored.__new__(Tensor)
    tensor.__shown__ = node
    return tensor


def wrap(node: Node) -> Tensor:
    """The tensor through which the user holds `node`."""
    tensor: Tensor = holding(node, Tensor)
    return tensor


def users_tensor(node: Node) -> Tensor:
    """The tensor that shows `node`: the user's own, where there is one."""
    held: Tensor = node.tensor if node.held() else wrap(node)
    return held


def view(source: Tensor, *steps: Step) -> Tensor:
    """A view of `source` by `steps`: it shares the storage, in both directions.

    ValueError where torch cannot make it without a copy.
    """
    viewed: Tensor = storage.view(source, steps, Tensor)
    return viewed
