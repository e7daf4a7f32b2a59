"""What a tensor holds: contents, in a storage that other tensors may share, and a node of the graph of its own.

`docs/storage.md` has the model in full.

* A `Storage` is the memory: a node with the present contents, and a count of changes. A write puts another node there;
  tensors that share the storage notice when they are next read. Arrays never change.
* A tensor has a `path`, the view steps from the whole memory to its elements; a count of writes, which it shares with
  its views and its `detach()`; and a node that its gradient arrives at. A write under `no_grad`, or by `.data`, changes
  the contents and not that node.
* A view, `x[0]`, also has its base and the steps from there. A recorded write to one is recorded for the other, too.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from jaxvjp.core.record.collector import let_collector_visit
from jaxvjp.core.record.graph import Holder, LeafIdentity, Node, hold, leaf_identity_of
from jaxvjp.core.record.lifetime import original_of
from jaxvjp.core.record.modes import count_change, grad_mode, listening, staging, tangents_stop, tracking, transforming
from jaxvjp.core.record.observers import GradSet, tell
from jaxvjp.core.record.record import constant, detached, node_of_value, record, separate, tracers, variable_of
from jaxvjp.core.record.user_lines import UserLine, located, user_line
from jaxvjp.core.record.versions import OwnVersions, Versions
from jaxvjp.core.run.evaluation import evaluate, heavy
from jaxvjp.core.run.transfer import moved
from jaxvjp.ops.complex import view_as_real
from jaxvjp.ops.identity import rebind, variable
from jaxvjp.ops.layouts import Layout
from jaxvjp.ops.op import Aval
from jaxvjp.ops.strided import WHERE_STRIDES_ALLOW, view_dtype
from jaxvjp.ops.view import OVERLAPPING, alias, expand, function_view
from jaxvjp.tensor.view_steps import Step, Steps, has_layout, laid_out, memory_of, put_back, read
from jaxvjp.types.compiled import CYTHONIZED
from jaxvjp.types.user_code import own_name, users_name

UNRECORDED = (
    "{} created in {} mode and {} {}. Given that this use case is ambiguous and error-prone, it is forbidden. You can "
    "clarify your code by moving both the view and the inplace either both inside the {} block (if you don't want the "
    "inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
NO_GRAD = ("no_grad", "with grad mode enabled", "no_grad")
INFERENCE = ("inference", "in normal mode", "inference_mode")
PIECE = ("", "", "")

SEVERAL_VIEWS = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one."
)
SINGLE_FUNCTION_VIEW = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
    "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)


OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)


def written_in_trace(what: str) -> str:
    """The error where a function that JAX traces writes to its argument, or to what it did not make."""
    return (
        f"a function that JAX traces writes to {what} in place: the write would be lost\nWrite to a clone, `x = "
        f"x.clone()`, and return it. In `{own_name()}.functional(f)`, which JAX can transform, too, an argument may be "
        "written and returned."
    )


INCOMPATIBLE = (
    "vmap: inplace {0}(self, *extra_args) is not possible because there exists a Tensor `other` in "
    "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` "
    "not being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace {0}. "
    "If said operator is being called inside the PyTorch framework, please file a bug report instead.\n"
    "The tensor is one for all examples and cannot hold a value for each. Make a new one of an example: "
    "`y = y + x` instead of `y += x`."
)


class Storage:
    """The memory that tensors share.

    Attributes:
        contents: a node with the contents, in the shape that the memory was made with. Only its value is read, not its
            gradient.
        version: how often the contents changed, also by writes that torch does not count.
        address: the number that `data_ptr()` gives; 0 until somebody asks.
        shared: the `SharedMemory` that NumPy's arrays have of it; None if there are none.
    """

    shared: Any

    def __init__(self, contents: Node) -> None:
        self.contents = contents
        self.version = 0
        self.address = 0
        self.shared = None

    def __call__(self) -> Any:
        """What `x.storage()` gives: torch's `TypedStorage`."""
        return typed(self)

    def look(self, path: Steps, picks: tuple[Any, ...] = ()) -> None:
        """Takes over what NumPy has written to memory that is `shared`, if it differs where `path` leads to, and there
        where an index of NumPy's, `picks`, does."""
        shared = self.shared
        if staging().journal is None:
            if shared.owner.alone():
                shared.owner.end(self)
                path = picks = ()
            contents = shared.renewed(self.contents, path, picks)
            if contents is not self.contents:
                self.contents = contents
                self.version += 1

    def current(self) -> Node:
        """All its contents, after what NumPy has written."""
        if self.shared is not None:
            self.look(())
        return self.contents


typed: Any = None
"""What `x.storage()` gives; `library.storages` sets it."""
kind_of_storage: Any = Storage
"""The class of all storages: `UntypedStorage`, which `library.storages` sets."""


def new_storage(contents: Node) -> Storage:
    """The memory of these contents, which is what `x.untyped_storage()` gives."""
    kind = kind_of_storage
    made: Storage = bare(Storage, kind) if CYTHONIZED else Storage.__new__(kind)  # type: ignore[name-defined]  # noqa: F821
    made.contents = contents
    made.version = made.address = 0
    made.shared = None
    return made


FIELDS = [
    "__storage__",
    "__base_tensor__",
    "__own_path__",
    "__own_versions__",
    "__leaf__",
    "_grad",
    "__after_accumulation__",
    "__seen__",
    "__counted__",
    "__unrecorded__",
    "__retained__",
    "__steps__",
]
"""What a tensor keeps beside the node that it shows. It is in slots: `tensor.__dict__` is the user's."""


class Stored(Holder):
    """The base class of `Tensor`: the node that a tensor shows, the memory that it shares, and what a write does.

    What torch's tensors do not have is named `__like_this__`: Python keeps such names from programs, so that no
    attribute of one's own, `x.path = "cat.png"`, and no method of a subclass meets it.

    Attributes:
        __shown__: the node that it shows. It is up to date if `__seen__` is the version of `__storage__`.
        __storage__: the memory. None while the tensor is alone and was never written: then it is the value of
            `__shown__`.
        __base_tensor__, __steps__: of a view, what it is a view of, and the steps from there.
        __own_path__: the steps from the whole storage, where those are others than `__steps__`.
        __unrecorded__: of a view that was taken under `no_grad` or in inference mode, torch's words for that mode,
            NO_GRAD or INFERENCE; PIECE of one of several views of such a view that was taken while gradients are
            recorded, and is refused as such; else None.
        __seen__: the version of `__storage__` when `__shown__` was made.
        __counted__: of a view, the count of writes when `__shown__` was computed from its base.
        __leaf__: the `LeafIdentity` that all nodes share that it has shown as a leaf; None until it is needed.
        __retained__: whether it retained its gradient when `detach_()` made it a leaf; `retains_grad` goes on saying
            so.
    """

    __slots__ = FIELDS

    __storage__: Storage | None
    __seen__: int
    __base_tensor__: Any  # another tensor
    __steps__: Steps
    __own_path__: Steps | None
    __unrecorded__: tuple[str, str, str] | None
    __counted__: int
    __own_versions__: Versions | None
    __leaf__: LeafIdentity | None
    __retained__: bool
    # What the subclass `Tensor` keeps.
    _grad: Any  # a tensor, too
    __after_accumulation__: dict[int, Callable[[Any], None]] | None

    def __cinit__(self) -> None:  # called instead of `__new__` where it is compiled
        self.__steps__ = ()

    # The node that this tensor shows.

    @property
    def __node__(self) -> Node:
        """The node of the current contents, after any write through an alias."""
        return shown(self)

    @property
    def __gradient_node__(self) -> Node:
        """The node that the gradient of this tensor arrives at; a write under `no_grad` does not change it."""
        return made_by(self.__node__)

    def __show__(self, node: Node) -> None:
        count_change()
        if staging().journal is not None:
            staging().journal.note_node(self)
        old = self.__shown__
        if old.requires_grad and old.is_leaf:
            old.stale = True  # a gradient that arrives there belongs to the new node
        self.__shown__ = node
        if node.inference != old.inference:  # a tensor that was made in inference mode stays one
            node.inference = old.inference
        if node.stale:
            node.stale = False
        hold(node, self)
        self.__count_for__(node)

    def __count_for__(self, node: Node) -> None:
        """Notes the count of writes in `node`, if this tensor counts them already."""
        versions = self.__own_versions__ if self.__base_tensor__ is None else self.__base_tensor__.__own_versions__
        if versions is not None:
            node.versions, node.version = versions, versions.count

    def __replace_node__(self, node: Node) -> None:
        """Shows another node with the same value. This is no write."""
        if not self.__view_path__ and self.__storage__ is not None:
            self.__storage__.contents = node
        self.__show__(node)

    def __reread__(self, storage: Storage) -> None:
        """Shows what another tensor has written to the storage."""
        base, node = self.__base_tensor__, self.__shown__
        recorded = base is not None and (base.__node__.requires_grad or (node.requires_grad and not node.is_leaf))
        anew = recorded and base.__versions__.count != self.__counted__
        marked = anew and self.__marked__
        self.__begin_count__()  # the node of before counts the writes from here on, too
        if anew and not marked and base.__storage__ is storage:
            self.__recompute_from_base__(base)
        else:
            values = self.__with_gradient__(self.__values__())
            values.outdated = marked
            if values is node:  # as after `t_()` of an alias: what was recorded before saved it with another count
                values = separate(node)
            self.__show__(values)
        if not marked:  # a marked view is checked each time that it is read
            self.__seen__ = storage.version

    @property
    def __marked__(self) -> bool:
        """Whether it is a view that torch does not compute again after a write: it was taken under `no_grad`, by a
        custom Function, or by a function that returns several views, such as `unbind`."""
        kinds = [step.operation for step in self.__steps__]
        return self.__unrecorded__ is not None or any(kind.one_of_several or kind is function_view for kind in kinds)

    def __check_current__(self) -> None:
        """RuntimeError, in torch's words, for a `_marked` view whose base was written since."""
        base, node = self.__base_tensor__, self.__shown__
        if base is None or base.__versions__.count == self.__counted__ or not self.__marked__:
            return
        if base.requires_grad or (node.requires_grad and not node.is_leaf):
            self.__refuse__("its base or another view of its base has been modified inplace")

    def __refuse__(self, happened: str) -> None:
        """Raises torch's error for a `_marked` view; `happened` says what was done to it."""
        node = made_by(self.__shown__)
        while node.in_place and isinstance(node.inputs[0], Node):
            node = node.inputs[0]  # for torch, `t_()` under `no_grad` leaves its `grad_fn` as it was
        name, number = node.forward_name, node.output_number
        if self.__unrecorded__ not in (None, PIECE):
            view = (
                "A view was" if self.__shown__.is_leaf else f"Output {number} of {name} is a view of a view which was"
            )
            mode, now, block = self.__unrecorded__
            raise RuntimeError(UNRECORDED.format(view, mode, happened, now, block))
        made = next((step for step in self.__steps__ if step.operation is function_view), None)
        if made is None:
            cut = [step for step in self.__steps__ if step.operation.one_of_several]
            number = int(cut[-1].operands[0].value.real) if cut and name in ("Unbind", "Split") else 0
            if cut and name == "Split":  # of a last piece that is shorter it cannot be told which one it is
                number //= max(node.aval.shape[cut[-1].static[0]], 1)
        why = SINGLE_FUNCTION_VIEW if made is not None and not made.static[0] else SEVERAL_VIEWS
        view = f"Output {number} of {name} is a view and {happened}."
        if self.__shown__.is_leaf:  # torch has these words here, although the view may not be made in no_grad mode
            view = f"A view was created in no_grad mode and {happened} with grad mode enabled."
        raise RuntimeError(f"{view} {why}")

    def __recompute_from_base__(self, base: Stored) -> None:
        """Computes the view again from its base, which was written, maybe through another view."""
        old = self.__shown__
        with tracking(True):
            node = (
                read(base.__node__, self.__steps__)
                if self.__follows_base__
                else read(base.__differentiable_contents__(base.__node__), self.__view_path__)
            )
            if not node.requires_grad:  # in torch it still says that it does; its gradient is added to no `grad`
                node = Step(alias, ()).read(leaf_without_grad(node))
        node.retaken = len(self.__steps__)
        if made_by(old).retains:
            node.retains, made_by(old).retains = True, False
        self.__counted__ = base.__versions__.count
        self.__show__(node)

    def __values__(self) -> Node:
        """A node with the contents as they are now, through which no gradient flows."""
        if self.__follows_base__:
            node, steps = self.__base_tensor__.__node__, self.__steps__
        else:
            node, steps = self.__contents__, self.__view_path__
        if not steps:
            return detached(node)
        with tracking(False):
            return read(node, steps)

    def __with_gradient__(self, values: Node) -> Node:
        """`values`, written under `no_grad`, as a node whose gradient arrives where this tensor's did before."""
        if not self.__shown__.requires_grad or self.__shown__.lost:
            return self.__as_its_base__(values)
        if self.__shown__.is_leaf:
            return self.__as_leaf__(values)
        before = made_by(self.__shown__)
        if before.value is None and before.original is not None:  # a copy by `copy_without_inputs`, which has no value
            evaluate((zeros := constant(0, before.aval),))
            before.value = zeros.value
        with tracking(True):
            rebound = record(rebind, (before, values))
        rebound.aval = values.aval  # it lies in memory as the values do
        return rebound

    def __as_its_base__(self, values: Node) -> Node:
        """`values`; for a view whose base requires a gradient, as a leaf that says it requires one, as in torch."""
        base = self.__base_tensor__
        if base is None or not base.__shown__.requires_grad or not values.aval.dtype.differentiable:
            return values
        return leaf_without_grad(values)

    def __as_leaf__(self, contents: Node) -> Node:
        """A node with these contents that is the same leaf (`LeafIdentity`) as the node of before."""
        leaf_ = self.__leaf__
        if leaf_ is None:
            before = self.__shown__
            leaf_ = self.__leaf__ = (
                leaf_identity_of(before) if before.requires_grad and before.is_leaf else LeafIdentity()
            )
        node = variable_of(contents)
        node.leaf = leaf_
        if leaf_.hooks is not None or leaf_.step_hooks is not None:  # to an empty dict more hooks may be added
            node.special = True
        if node.special or leaf_.tensor is not None:
            let_collector_visit(node, node.inputs)
        return node

    def __take_grad__(self, value: Any) -> None:
        """Sets `grad` to `value`, a tensor or None."""
        if staging().journal is not None:
            staging().journal.note_new_grad(self)
        self._grad = value
        count_change()
        if listening():
            tell(GradSet(self, None if value is None else value.__node__))

    @property
    def storage(self) -> Storage:
        if self.__storage__ is None:
            self.__storage__ = new_storage(self.__shown__)
            count_change()
        return self.__storage__

    @property
    def __contents__(self) -> Node:
        """What is in the whole storage."""
        return self.__shown__ if self.__storage__ is None else self.__storage__.current()

    @property
    def __view_path__(self) -> Steps:
        """The view steps from the whole storage to this tensor."""
        return self.__steps__ if self.__own_path__ is None else self.__own_path__

    def __count_write__(self, where: UserLine) -> None:
        """Counts a write in place by the user's line `where` that changes no contents, such as `x.t_()`."""
        if staging().journal is not None:
            staging().journal.note_count(self.__versions__)
        self.__versions__.written(where)

    @property
    def __follows_base__(self) -> bool:
        """Whether it is a view that shows part of what its base shows. `x.data = ...` on one of them ends that."""
        base = self.__base_tensor__
        if base is None or base.__storage__ is not self.__storage__:
            return False
        return self.__own_path__ == (None if base.__own_path__ is None else base.__own_path__ + self.__steps__)

    def __write__(self, new: Node) -> None:
        """Replaces the contents by `new`, a node of the same shape and dtype, for this tensor and all its aliases."""
        for batch in transforming().batches:
            _check_batched(batch, self, new)
        if self.__storage__ is not None and self.__storage__.shared is not None:
            self.__storage__.look(())
        base = self.__base_tensor__
        if base is not None and base.__storage__ is self.__storage__:
            if new.requires_grad and self.__marked__:
                self.__refuse__("is being modified inplace")
            old = self.__shown__
            if (
                new.requires_grad and self.__watched__()
            ):  # in torch the write takes the view anew, without what watches it
                anew = _unwatched(old, len(self.__steps__))
                new.inputs = tuple([anew if operand is old else operand for operand in new.inputs])
            if self.__follows_base__:
                whole = put_back(base.__node__, self.__steps__, new)
            else:
                whole = read(
                    put_back(base.__differentiable_contents__(base.__node__), self.__view_path__, new),
                    base.__view_path__,
                )
            base.__written__(whole, None if base.__own_path__ is None else self.__contents_with__(new))
            self.__count_for__(new)  # a step that saves its result, `relu_`, has saved it as it is now
            if (
                self.__shown__.requires_grad
                and self.__shown__.is_leaf
                and not (base.__shown__.requires_grad or self.__unrecorded__ is not None)
            ):
                self.__show__(self.__as_leaf__(new))
                self.__seen__ = self.storage.version
            return
        self.__written__(new, self.__contents_with__(new) if self.__view_path__ else None)
        if base is not None and self.__marked__:
            self.__seen__ = -1  # it is checked when it is read

    def __watched__(self) -> bool:
        """Whether hooks or a retained gradient wait on the way from its base to this view."""
        node: Any = self.__shown__
        for _ in self.__steps__:
            if type(node) is not Node:
                return False
            if node.special and (node.hooks or node.retains):
                return True
            node = node.inputs[0] if node.inputs else None
        return False

    def __contents_with__(self, new: Node) -> Node:
        """The contents of the storage, with `new` where this tensor's elements are."""
        with tracking(False):
            return put_back(self.__contents__, self.__view_path__, new)

    def __differentiable_contents__(self, new: Node) -> Node:
        """The same, but a gradient flows through `new` only, not through the other elements."""
        if not self.__view_path__:
            return new
        contents = detached(self.__contents__)
        if not (new.requires_grad or transforming().forward):
            return contents
        path = tuple([step.plain() for step in self.__view_path__])  # not to take the tangent off `new`
        return put_back(contents, path, new, beside=has_layout(path))

    def __written__(self, new: Node, contents: Node | None) -> None:
        """`write` for a tensor that is no view. `contents` are the new contents of its storage; None, if `new` is."""
        storage = self.storage
        old = self.__node__  # after what others have written
        recorded = new.requires_grad
        if new.aval is not old.aval:  # what is written lies as what was there
            if new.value is not None and new.device is not old.device:
                new = moved(new, old.device)
            new.aval = old.aval
        if contents is not None and contents.aval is not storage.contents.aval:
            contents.aval = storage.contents.aval
        if not recorded:
            new = self.__with_gradient__(new)
            if transforming().forward and tangents_stop():
                new = record(rebind, (old, new))
        elif self.__retained__ or made_by(old).retains:
            new.retains, made_by(old).retains, self.__retained__ = True, False, False
        if new.value is None and new.operation is variable:
            heavy.add(new)
        if staging().journal is not None:
            staging().journal.note_write(self)
        versions, path = self.__versions__, self.__view_path__
        storage.contents = new if contents is None else contents
        storage.version += 1
        try:
            versions.written(new.where)
            if storage.shared is not None and staging().journal is None:
                storage.shared.take(storage.contents)
            if path and contents is not None and expand in [step.operation for step in path]:
                # Elements that share a place in memory are written together.
                if not recorded:
                    return
                with tracking(True):
                    new = record(rebind, (new, self.__values__()))
            self.__seen__ = storage.version
            self.__show__(new)
        except BaseException:  # an interrupt: the tensor shows what was written, as its aliases will
            versions.written(new.where)
            self.__seen__ = storage.version
            self.__show__(new)
            raise

    @property
    def __versions__(self) -> Versions:
        """The count of in-place writes that this tensor shares with its views and with `detach()`."""
        if self.__base_tensor__ is not None:
            shared: Versions = self.__base_tensor__.__versions__
            return shared
        if self.__own_versions__ is None:
            self.__own_versions__ = Versions()
            self.__count_for__(self.__shown__)
        return self.__own_versions__

    def __begin_count__(self) -> None:
        """Begins to count writes, so that its node and those of its views notice them."""
        self.__versions__  # noqa: B018

    def __check_writable__(self) -> None:
        """RuntimeError, in torch's words, where an in-place change would bypass the gradient of a leaf."""
        if self.__shown__.inference and not grad_mode().inference and type(self.__own_versions__) is not OwnVersions:
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
                "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more "
                "details."
            )
        if not grad_mode().enabled:
            return
        tensor: Any = self
        base = self.__base_tensor__
        if base is not None and self.__marked__ and (base.requires_grad or self.__shown__.requires_grad):
            self.__refuse__("is being modified inplace")
        for each, what in ((base, "a view of a leaf Variable"), (tensor, "a leaf Variable")):
            if each is not None and tensor.requires_grad and each.is_leaf:
                if each.__node__ in tracers:
                    raise RuntimeError(written_in_trace("its argument"))
                where = located(user_line())
                raise RuntimeError(
                    f"{what} that requires grad is being used in an in-place operation.\n"
                    "Its gradient would be that of the value before the change. To update a parameter, switch "
                    "recording off; to compute with a changed value, change a copy:\n"
                    f"    with {own_name()}.no_grad():\n"
                    f"        {(where and where.text) or 'x -= 0.1 * x.grad'}\n"
                    f"    y = {users_name(each, 'x')}.clone()  # and change y"
                )

    def __check_overlap__(self, other: Stored) -> None:
        """RuntimeError, in torch's words, where a write into this tensor would change part of `other` meanwhile."""
        if self.storage is not other.storage or not (self.__view_path__ or other.__view_path__):
            return
        if not (self.__has_layout__ and other.__has_layout__):
            return
        own, others = self.__layout__(), other.__layout__()
        # Of what has gaps torch finds it too hard to tell.
        same = (own.reach, own.taken) == (others.reach, others.taken)
        if own.dense and others.dense and own.meets(others) and not same:
            raise RuntimeError(OVERLAP)

    @property
    def __has_layout__(self) -> bool:
        """Whether torch's strides are known: not for an example of a batch, nor for a dual tensor."""
        return has_layout(self.__view_path__)

    def storage_offset(self) -> int:
        """How many elements lie before the first one in the storage.

        Returns an int. Counterpart of `torch.Tensor.storage_offset`. Underneath: the layouts of the views on the way.
        """
        return self.__layout__().offset

    def __check_apart__(self) -> None:
        """RuntimeError, in torch's words, where several elements share a place in memory, as those of an expanded
        tensor do."""
        if self.__layout__().overlapping:
            raise RuntimeError(OVERLAPPING)

    def __shares_memory__(self, other: Stored) -> bool:
        """Whether writing to one may change the other."""
        return self.storage is other.storage and self.__layout__().meets(other.__layout__())

    def __layout__(self) -> Layout:
        """Where its elements are in the storage: its shape, and as torch has them its strides and offset."""
        contents = self.__shown__ if self.__storage__ is None else self.__storage__.contents
        return laid_out(memory_of(contents), self.__view_path__)

    def __move__(self, storage: Storage, path: Steps) -> None:
        """Takes its contents from `path` of `storage` from now on: `x.data = ...`. Its gradient still arrives where it
        did."""
        contents = storage.contents
        with tracking(False):
            values = read(contents, path) if path else detached(contents)
        if (
            values.aval.shape != self.__shown__.aval.shape
            and self.__shown__.requires_grad
            and not self.__shown__.is_leaf
        ):
            raise RuntimeError(
                f"data of shape {list(values.aval.shape)} for a tensor of shape "
                f"{list(self.__shown__.aval.shape)} whose gradient goes on to what it was computed from\n"
                "Detach it first: `x = x.detach(); x.data = ...`."
            )
        self.__versions__.spread(self.storage, storage)
        self.__place__(storage, path)
        self.__show__(self.__with_gradient__(values))

    def __place__(self, storage: Storage, path: Steps) -> None:
        """Notes that its contents are at `path` of `storage`. If that is another storage, it is no longer a view of its
        base."""
        if staging().journal is not None:
            staging().journal.note_place(self)
        if storage is not self.__storage__ and self.__base_tensor__ is not None:
            self.__own_versions__, self.__base_tensor__, self.__steps__ = self.__versions__, None, ()
            self.__unrecorded__ = None
        self.__storage__, self.__own_path__ = storage, path if path or self.__steps__ else None
        self.__seen__ = storage.version


if not CYTHONIZED:

    def _new(kind: type[Stored], *data: Any, **named: Any) -> Stored:
        made: Stored = object.__new__(kind)
        made.__storage__ = made.__base_tensor__ = made.__own_path__ = made.__own_versions__ = made.__leaf__ = None
        made._grad = made.__after_accumulation__ = made.__unrecorded__ = None
        made.__seen__ = made.__counted__ = 0
        made.__retained__ = False
        made.__steps__ = ()
        return made

    Stored.__new__ = _new  # type: ignore[method-assign, assignment]


def holding(node: Node, kind: type[Stored]) -> Any:
    """A new tensor of class `kind` that shows `node`."""
    tensor: Stored = bare(Stored, kind) if CYTHONIZED else Stored.__new__(kind)  # type: ignore[name-defined]  # noqa: F821
    tensor.__shown__ = node
    hold(node, tensor)
    return tensor


def _unwatched(node: Node, count: int) -> Node:
    """A copy of a node, and of the views it was taken from, that has no hooks and retains no gradient."""
    anew = copy(node)
    anew.hooks, anew.retains = None, False
    if count > 1 and isinstance(node.inputs[0], Node):
        anew.inputs = (_unwatched(node.inputs[0], count - 1), *node.inputs[1:])
    return anew


def of_class(tensor: Stored, kind: type[Stored]) -> Any:
    """A tensor that nobody else has yet, as one of another class."""
    try:
        tensor.__class__ = kind
    except TypeError:  # the class has `__slots__`, so it is another object
        made = holding(tensor.__shown__, kind)
        for name in FIELDS:
            setattr(made, name, getattr(tensor, name))
        return made
    return tensor


def holding_value(value: Any, aval: Aval, where: UserLine, kind: type[Stored]) -> Any:
    """A new tensor of class `kind` with this value."""
    return holding(node_of_value(value, aval, False, where), kind)


def view(source: Stored, steps: Steps, kind: type[Stored]) -> Any:
    """A view of `source` by `steps`, of class `kind`: it shares the storage, in both directions.

    ValueError where torch cannot make it without a copy.
    """
    if (source.__view_path__ or source.__shown__.aval.strides) and _where_strides_allow(steps):
        tensor: Any = source
        asked = steps[0].static[0] if steps[0].operation is view_dtype else tensor.dtype
        if asked is not tensor.dtype and tensor.__conjugated__():
            bits = "conjugate view tensors" if tensor.dtype.is_complex else "tensors with negative bit set"
            raise RuntimeError(
                f"torch.Tensor.view is not supported for {bits} when converting to a different dtype.\n"
                "A copy has its numbers in memory as they are: `x.resolve_conj().resolve_neg()`."
            )
        if steps[0].operation is view_as_real and tensor.__conjugated__():
            raise RuntimeError(
                "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you "
                "can view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT "
                "alias the original."
            )
        layout = source.__layout__()
        if not layout.contiguous or layout.offset:
            laid_out(layout, steps)
    return view_by(read(shown(source, steps), steps), source, steps, kind)


def _where_strides_allow(steps: Steps) -> bool:  # apart, as Cython has no generator in what C calls
    """Whether torch can take such a view only of tensors with certain strides, as with `view`."""
    return any(step.operation in WHERE_STRIDES_ALLOW for step in steps)


def view_by(node: Node, source: Stored, steps: Steps, kind: type[Stored]) -> Any:
    """The view of `source`, of class `kind`, that `steps` lead to and `node` shows."""
    if source.__shown__.inference and has_layout(steps):  # as in torch another tensor on that memory, and no view
        alone: Stored = holding(detached(node), kind)
        alone.__shown__.inference = True
        alone.__own_path__ = source.__view_path__ + steps
        alone.__storage__ = source.storage
        alone.__seen__ = alone.__storage__.version
        return alone
    unrecorded = source.__unrecorded__ is not None or not (node.requires_grad or grad_mode().enabled)
    if unrecorded:  # False for examples and duals, and inside a transform, which records what it needs
        unrecorded = has_layout(steps) and not (transforming().depth or transforming().forward)
    base: Stored = source if source.__base_tensor__ is None else source.__base_tensor__
    taken: Stored = holding(node, kind)
    taken.__base_tensor__ = base
    if unrecorded and not node.requires_grad:
        taken.__shown__ = node = taken.__as_its_base__(node)
        hold(node, taken)
    taken.__steps__ = source.__steps__ + steps
    if source.__own_path__ is not None:
        taken.__own_path__ = source.__own_path__ + steps
    if unrecorded:
        if not grad_mode().enabled:
            taken.__unrecorded__ = INFERENCE if grad_mode().inference else NO_GRAD
        else:
            several = [step for step in steps if step.operation.one_of_several]
            taken.__unrecorded__ = PIECE if several else source.__unrecorded__
    taken.__shown__.inference = source.__shown__.inference
    if base.__own_versions__ is not None:
        taken.__counted__ = base.__own_versions__.count
    taken.__storage__ = source.storage if source.__storage__ is None else source.__storage__
    taken.__seen__ = taken.__storage__.version
    return taken


def leaf_without_grad(node: Node) -> Node:
    """A leaf with the value of `node` that requires a gradient, which is added to no `grad`."""
    made = variable_of(node)
    made.leaf = LeafIdentity(lost=True)
    return made


def made_by(node: Node) -> Node:
    """The node that made what `node` shows, before writes under `no_grad` (`rebind`): the gradient arrives there."""
    while node.operation is rebind and isinstance(node.inputs[0], Node):
        node = original_of(node.inputs[0])
    return node


def shown(tensor: Stored, steps: Steps = (), picks: tuple[Any, ...] = ()) -> Node:
    """`tensor.__node__`, as a function: faster where it is compiled.

    `steps` and `picks`: for who reads only the view by these steps, or what an index of NumPy's picks.
    """
    storage = tensor.__storage__
    if storage is not None:
        if storage.shared is not None:
            storage.look(tensor.__view_path__ + steps, picks)
        if storage.version != tensor.__seen__:
            tensor.__reread__(storage)
    return tensor.__shown__


def _check_batched(batch: Any, tensor: Stored, new: Node) -> None:
    if batch.holds(new) and not batch.holds(tensor.__node__):
        raise RuntimeError(INCOMPATIBLE.format("arithmetic"))
