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
from jaxvjp.core.record.modes import count_change, grad_mode, staging, tracking, transforming
from jaxvjp.core.record.observers import GradSet, observers, tell
from jaxvjp.core.record.record import constant, detached, node_of_value, record, separate, variable_of
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.record.versions import OwnVersions, Versions
from jaxvjp.core.run.evaluation import evaluate, heavy
from jaxvjp.core.run.transfer import moved
from jaxvjp.ops.complex import view_as_real
from jaxvjp.ops.identity import rebind, variable
from jaxvjp.ops.layouts import Layout
from jaxvjp.ops.op import Aval
from jaxvjp.ops.strided import WHERE_STRIDES_ALLOW, view_dtype
from jaxvjp.ops.view import OVERLAPPING, alias, expand, function_view
from jaxvjp.tensor.view_steps import Step, Steps, has_layout, memory_of, put_back, read
from jaxvjp.types.compiled import CYTHONIZED

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

    def look(self) -> None:
        """Takes over what NumPy has written to memory that is `shared`."""
        if staging().journal is None and not transforming().depth:
            contents = self.shared.renewed(self.contents)
            if contents is None:
                self.shared = None
            elif contents is not self.contents:
                self.contents = contents
                self.version += 1


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


class Stored(Holder):
    """The base class of `Tensor`: the node that a tensor shows, the memory that it shares, and what a write does.

    Attributes:
        _node: the node that it shows. It is up to date if `_seen` is the version of `_storage`.
        _storage: the memory. None while the tensor is alone and was never written: then it is the value of `_node`.
        _base_tensor, _steps: of a view, what it is a view of, and the steps from there.
        _path: the steps from the whole storage, where those are others than `_steps`.
        _unrecorded: of a view that was taken under `no_grad` or in inference mode, torch's words for that mode, NO_GRAD
            or INFERENCE; PIECE of one of several views of such a view that was taken while gradients are recorded, and
            is refused as such; else None.
        _seen: the version of `_storage` when `_node` was made.
        _counted: of a view, the count of writes when `_node` was computed from its base.
        _leaf: the `LeafIdentity` that all nodes share that it has shown as a leaf; None until it is needed.
        _retained: whether it retained its gradient when `detach_()` made it a leaf; `retains_grad` goes on saying so.
    """

    # A tensor without aliases, such as each operation makes, sets none of these: see UNLESS_SET.
    _storage: Storage | None
    _seen: int
    _base_tensor: Any  # another tensor
    _steps: Steps
    _path: Steps | None
    _unrecorded: tuple[str, str, str] | None
    _counted: int
    _versions: Versions | None
    _leaf: LeafIdentity | None
    _retained: bool
    # What the subclass `Tensor` keeps.
    _grad: Any  # a tensor, too
    _after_accumulation: dict[int, Callable[[Any], None]] | None

    def __cinit__(self) -> None:  # called instead of `__new__` where it is compiled
        self._steps = ()

    # The node that this tensor shows.

    @property
    def node(self) -> Node:
        """The node of the current contents, after any write through an alias."""
        return shown(self)

    @property
    def gradient_node(self) -> Node:
        """The node that the gradient of this tensor arrives at; a write under `no_grad` does not change it."""
        return made_by(self.node)

    def _show(self, node: Node) -> None:
        count_change()
        if staging().journal is not None:
            staging().journal.note_node(self)
        old = self._node
        if old.requires_grad and old.is_leaf:
            old.stale = True  # a gradient that arrives there belongs to the new node
        self._node = node
        if node.inference != old.inference:  # a tensor that was made in inference mode stays one
            node.inference = old.inference
        if node.stale:
            node.stale = False
        hold(node, self)
        self._count_for(node)

    def _count_for(self, node: Node) -> None:
        """Notes the count of writes in `node`, if this tensor counts them already."""
        versions = self._versions if self._base_tensor is None else self._base_tensor._versions
        if versions is not None:
            node.versions, node.version = versions, versions.count

    def replace_node(self, node: Node) -> None:
        """Shows another node with the same value. This is no write."""
        if not self.path and self._storage is not None:
            self._storage.contents = node
        self._show(node)

    def _reread(self, storage: Storage) -> None:
        """Shows what another tensor has written to the storage."""
        base, node = self._base_tensor, self._node
        recorded = base is not None and (base.node.requires_grad or (node.requires_grad and not node.is_leaf))
        anew = recorded and base.versions.count != self._counted
        marked = anew and self._marked
        self.begin_count()  # the node of before counts the writes from here on, too
        if anew and not marked and base._storage is storage:
            self._recompute_from_base(base)
        else:
            values = self._with_gradient(self._values())
            values.outdated = marked
            if values is node:  # as after `t_()` of an alias: what was recorded before saved it with another count
                values = separate(node)
            self._show(values)
        if not marked:  # a marked view is checked each time that it is read
            self._seen = storage.version

    @property
    def _marked(self) -> bool:
        """Whether it is a view that torch does not compute again after a write: it was taken under `no_grad`, by a
        custom Function, or by a function that returns several views, such as `unbind`."""
        kinds = [step.operation for step in self._steps]
        return self._unrecorded is not None or any(each.one_of_several or each is function_view for each in kinds)

    def check_current(self) -> None:
        """RuntimeError, in torch's words, for a `_marked` view whose base was written since."""
        base, node = self._base_tensor, self._node
        if base is None or base.versions.count == self._counted or not self._marked:
            return
        if base.requires_grad or (node.requires_grad and not node.is_leaf):
            self._refuse("its base or another view of its base has been modified inplace")

    def _refuse(self, happened: str) -> None:
        """Raises torch's error for a `_marked` view; `happened` says what was done to it."""
        node = made_by(self._node)
        while node.in_place and isinstance(node.inputs[0], Node):
            node = node.inputs[0]  # for torch, `t_()` under `no_grad` leaves its `grad_fn` as it was
        name, number = node.forward_name, node.output_number
        if self._unrecorded not in (None, PIECE):
            view = "A view was" if self._node.is_leaf else f"Output {number} of {name} is a view of a view which was"
            mode, now, block = self._unrecorded
            raise RuntimeError(UNRECORDED.format(view, mode, happened, now, block))
        made = next((step for step in self._steps if step.operation is function_view), None)
        if made is None:
            cut = [step for step in self._steps if step.operation.one_of_several]
            number = int(cut[-1].operands[0].value.real) if name in ("Unbind", "Split") and cut else 0
            if name == "Split":  # of a last piece that is shorter it cannot be told which one it is
                number //= max(node.aval.shape[cut[-1].static[0]], 1) if cut else 1
        why = SINGLE_FUNCTION_VIEW if made is not None and not made.static[0] else SEVERAL_VIEWS
        view = f"Output {number} of {name} is a view and {happened}."
        if self._node.is_leaf:  # torch has these words here, although the view may not be made in no_grad mode
            view = f"A view was created in no_grad mode and {happened} with grad mode enabled."
        raise RuntimeError(f"{view} {why}")

    def _recompute_from_base(self, base: Stored) -> None:
        """Computes the view again from its base, which was written, maybe through another view."""
        old = self._node
        with tracking(True):
            node = (
                read(base.node, self._steps)
                if self.follows_base
                else read(base.differentiable_contents(base.node), self.path)
            )
            if not node.requires_grad:  # in torch it still says that it does; its gradient is added to no `grad`
                node = Step(alias, ()).read(leaf_without_grad(node))
        node.retaken = len(self._steps)
        if made_by(old).retains:
            node.retains, made_by(old).retains = True, False
        self._counted = base.versions.count
        self._show(node)

    def _values(self) -> Node:
        """A node with the contents as they are now, through which no gradient flows."""
        if self.follows_base:
            node, steps = self._base_tensor.node, self._steps
        else:
            node, steps = self.storage.contents, self.path
        if not steps:
            return detached(node)
        with tracking(False):
            return read(node, steps)

    def _with_gradient(self, values: Node) -> Node:
        """`values`, written under `no_grad`, as a node whose gradient arrives where this tensor's did before."""
        if not self._node.requires_grad or self._node.lost:
            return self._as_its_base(values)
        if self._node.is_leaf:
            return self._as_leaf(values)
        before = made_by(self._node)
        if before.value is None and before.original is not None:  # a copy by `copy_without_inputs`, which has no value
            evaluate((zeros := constant(0, before.aval),))
            before.value = zeros.value
        with tracking(True):
            rebound = record(rebind, (before, values))
        rebound.aval = values.aval  # it lies in memory as the values do
        return rebound

    def _as_its_base(self, values: Node) -> Node:
        """`values`; for a view whose base requires a gradient, as a leaf that says it requires one, as in torch."""
        base = self._base_tensor
        if base is None or not base._node.requires_grad or not values.aval.dtype.differentiable:
            return values
        return leaf_without_grad(values)

    def _as_leaf(self, contents: Node) -> Node:
        """A node with these contents that is the same leaf (`LeafIdentity`) as the node of before."""
        leaf_ = self._leaf
        if leaf_ is None:
            before = self._node
            leaf_ = self._leaf = leaf_identity_of(before) if before.requires_grad and before.is_leaf else LeafIdentity()
        node = variable_of(contents)
        node.leaf = leaf_
        if leaf_.hooks is not None or leaf_.step_hooks is not None:  # to an empty dict more hooks may be added
            node.special = True
        if node.special or leaf_.tensor is not None:
            let_collector_visit(node, node.inputs)
        return node

    def _take_grad(self, value: Any) -> None:
        """Sets `grad` to `value`, a tensor or None."""
        if staging().journal is not None:
            staging().journal.note_new_grad(self)
        self._grad = value
        count_change()
        if observers.listening:
            tell(GradSet(self, None if value is None else value.node))

    @property
    def storage(self) -> Storage:
        if self._storage is None:
            self._storage = new_storage(self._node)
            count_change()
        return self._storage

    @property
    def contents(self) -> Node:
        """What is in the whole storage."""
        return shown(self) if self._storage is None else self._storage.contents

    @property
    def path(self) -> Steps:
        """The view steps from the whole storage to this tensor."""
        return self._steps if self._path is None else self._path

    def count_write(self, where: UserLine) -> None:
        """Counts a write in place by the user's line `where` that changes no contents, such as `x.t_()`."""
        if staging().journal is not None:
            staging().journal.note_count(self.versions)
        self.versions.written(where)

    @property
    def follows_base(self) -> bool:
        """Whether it is a view that shows part of what its base shows. `x.data = ...` on one of them ends that."""
        base = self._base_tensor
        if base is None or base._storage is not self._storage:
            return False
        return self._path == (None if base._path is None else base._path + self._steps)

    def write(self, new: Node) -> None:
        """Replaces the contents by `new`, a node of the same shape and dtype, for this tensor and all its aliases."""
        for batch in transforming().batches:
            _check_batched(batch, self, new)
        base = self._base_tensor
        if base is not None and base._storage is self._storage:
            if new.requires_grad and self._marked:
                self._refuse("is being modified inplace")
            old = self._node
            if new.requires_grad and self._watched():  # in torch the write takes the view anew, without what watches it
                anew = _unwatched(old, len(self._steps))
                new.inputs = tuple([anew if each is old else each for each in new.inputs])
            if self.follows_base:
                whole = put_back(base.node, self._steps, new)
            else:
                whole = read(put_back(base.differentiable_contents(base.node), self.path, new), base.path)
            base._written(whole, None if base._path is None else self.contents_with(new))
            self._count_for(new)  # a step that saves its result, `relu_`, has saved it as it is now
            if (
                self._node.requires_grad
                and self._node.is_leaf
                and not (base._node.requires_grad or self._unrecorded is not None)
            ):
                self._show(self._as_leaf(new))
                self._seen = self.storage.version
            return
        self._written(new, self.contents_with(new) if self.path else None)
        if base is not None and self._marked:
            self._seen = -1  # it is checked when it is read

    def _watched(self) -> bool:
        """Whether hooks or a retained gradient wait on the way from its base to this view."""
        node: Any = self._node
        for _ in self._steps:
            if type(node) is not Node:
                return False
            if node.special and (node.hooks or node.retains):
                return True
            node = node.inputs[0] if node.inputs else None
        return False

    def contents_with(self, new: Node) -> Node:
        """The contents of the storage, with `new` where this tensor's elements are."""
        with tracking(False):
            return put_back(self.storage.contents, self.path, new)

    def differentiable_contents(self, new: Node) -> Node:
        """The same, but a gradient flows through `new` only, not through the other elements."""
        if not self.path:
            return new
        contents = detached(self.storage.contents)
        if not (new.requires_grad or transforming().forward):
            return contents
        path = tuple([step.plain() for step in self.path])  # not to take the tangent off `new`
        return put_back(contents, path, new, beside=has_layout(path))

    def _written(self, new: Node, contents: Node | None) -> None:
        """`write` for a tensor that is no view. `contents` are the new contents of its storage; None, if `new` is."""
        storage = self.storage
        old = self.node  # after what others have written
        recorded = new.requires_grad
        if new.aval is not old.aval:  # what is written lies as what was there
            if new.value is not None and new.device is not old.device:
                new = moved(new, old.device)
            new.aval = old.aval
        if contents is not None and contents.aval is not storage.contents.aval:
            contents.aval = storage.contents.aval
        if not recorded:
            new = self._with_gradient(new)
        elif self._retained or made_by(old).retains:
            new.retains, made_by(old).retains, self._retained = True, False, False
        if new.value is None and new.operation is variable:
            heavy.add(new)
        if staging().journal is not None:
            staging().journal.note_write(self)
        versions, path = self.versions, self.path
        storage.contents = new if contents is None else contents
        storage.version += 1
        try:
            versions.written(new.where)
            if storage.shared is not None and staging().journal is None and not transforming().depth:
                storage.shared.take(storage.contents)
            if path and contents is not None and expand in [step.operation for step in path]:
                # Elements that share a place in memory are written together.
                if not recorded:
                    return
                with tracking(True):
                    new = record(rebind, (new, self._values()))
            self._seen = storage.version
            self._show(new)
        except BaseException:  # an interrupt: the tensor shows what was written, as its aliases will
            versions.written(new.where)
            self._seen = storage.version
            self._show(new)
            raise

    @property
    def versions(self) -> Versions:
        """The count of in-place writes that this tensor shares with its views and with `detach()`."""
        if self._base_tensor is not None:
            shared: Versions = self._base_tensor.versions
            return shared
        if self._versions is None:
            self._versions = Versions()
            self._count_for(self._node)
        return self._versions

    def begin_count(self) -> None:
        """Begins to count writes, so that its node and those of its views notice them."""
        self.versions  # noqa: B018

    def check_writable(self) -> None:
        """RuntimeError, in torch's words, where an in-place change would bypass the gradient of a leaf."""
        if self._node.inference and not grad_mode().inference and type(self._versions) is not OwnVersions:
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
                "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more "
                "details."
            )
        if not grad_mode().enabled:
            return
        tensor: Any = self
        base = self._base_tensor
        if base is not None and self._marked and (base.requires_grad or self._node.requires_grad):
            self._refuse("is being modified inplace")
        for each, what in ((base, "a view of a leaf Variable"), (tensor, "a leaf Variable")):
            if each is not None and tensor.requires_grad and each.is_leaf:
                raise RuntimeError(
                    f"{what} that requires grad is being used in an in-place operation.\n"
                    "Its gradient would be that of the value before the change. To update a parameter, switch "
                    "recording off; to compute with a changed value, make a new tensor:\n"
                    "    with torch.no_grad():\n"
                    "        x -= 0.1 * x.grad\n"
                    "    y = x + 1          # instead of x += 1"
                )

    def check_overlap(self, other: Stored) -> None:
        """RuntimeError, in torch's words, where a write into this tensor would change part of `other` meanwhile."""
        if self.storage is not other.storage or not (self.path or other.path):
            return
        if not (self._has_layout and other._has_layout):
            return
        own, others = self._layout(), other._layout()
        # Of what has gaps torch finds it too hard to tell.
        same = (own.reach, own.taken) == (others.reach, others.taken)
        if own.dense and others.dense and own.meets(others) and not same:
            raise RuntimeError(OVERLAP)

    @property
    def _has_layout(self) -> bool:
        """Whether torch's strides are known: not for an example of a batch, nor for a dual tensor."""
        return has_layout(self.path)

    def storage_offset(self) -> int:
        """How many elements lie before the first one in the storage.

        Returns an int. Counterpart of `torch.Tensor.storage_offset`. Underneath: the layouts of the views on the way.
        """
        return self._layout().offset

    def overlaps_itself(self) -> bool:
        """Whether several elements share a place in memory, as those of an expanded tensor do."""
        return self._layout().overlapping

    def check_apart(self) -> None:
        """RuntimeError, in torch's words, where several elements share a place in memory."""
        if self.overlaps_itself():
            raise RuntimeError(OVERLAPPING)

    def shares_memory(self, other: Stored) -> bool:
        """Whether writing to one may change the other."""
        return self.storage is other.storage and self._layout().meets(other._layout())

    def _layout(self) -> Layout:
        """Where its elements are in the storage: its shape, and as torch has them its strides and offset."""
        layout = memory_of(self._node if self._storage is None else self._storage.contents)
        for step in self.path:
            layout = step.layout(layout)
        return layout

    def move(self, storage: Storage, path: Steps) -> None:
        """Takes its contents from `path` of `storage` from now on: `x.data = ...`. Its gradient still arrives where it
        did."""
        contents = storage.contents
        with tracking(False):
            values = read(contents, path) if path else detached(contents)
        if values.aval.shape != self._node.aval.shape and self._node.requires_grad and not self._node.is_leaf:
            raise RuntimeError(
                f"data of shape {list(values.aval.shape)} for a tensor of shape {list(self._node.aval.shape)} whose "
                "gradient goes on to what it was computed from\nDetach it first: `x = x.detach(); x.data = ...`."
            )
        self.versions.spread(self.storage, storage)
        self.place(storage, path)
        self._show(self._with_gradient(values))

    def place(self, storage: Storage, path: Steps) -> None:
        """Notes that its contents are at `path` of `storage`. If that is another storage, it is no longer a view of its
        base."""
        if staging().journal is not None:
            staging().journal.note_place(self)
        if storage is not self._storage and self._base_tensor is not None:
            self._versions, self._base_tensor, self._steps = self.versions, None, ()
            self._unrecorded = None
        self._storage, self._path = storage, path if path or self._steps else None
        self._seen = storage.version


UNLESS_SET = {
    **dict.fromkeys(("_storage", "_base_tensor", "_path", "_versions", "_leaf", "_grad", "_after_accumulation")),
    **dict.fromkeys(("_seen", "_counted"), 0),
    "_unrecorded": None,
    "_retained": False,
    "_steps": (),
}
"""Attributes that few tensors set, with the value that all others have (see `graph.UNLESS_SET`)."""
if not CYTHONIZED:
    for _name, _value in UNLESS_SET.items():
        setattr(Stored, _name, _value)


def holding(node: Node, kind: type[Stored]) -> Any:
    """A new tensor of class `kind` that shows `node`."""
    tensor: Stored = bare(Stored, kind) if CYTHONIZED else Stored.__new__(kind)  # type: ignore[name-defined]  # noqa: F821
    tensor._node = node
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
        made = holding(tensor._node, kind)
        for name in UNLESS_SET:
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
    if (source.path or source._node.aval.strides) and _where_strides_allow(steps):
        tensor: Any = source
        asked = steps[0].static[0] if steps[0].operation is view_dtype else tensor.dtype
        if asked is not tensor.dtype and tensor._conjugated():
            bits = "conjugate view tensors" if tensor.dtype.is_complex else "tensors with negative bit set"
            raise RuntimeError(
                f"torch.Tensor.view is not supported for {bits} when converting to a different dtype.\n"
                "A copy has its numbers in memory as they are: `x.resolve_conj().resolve_neg()`."
            )
        if steps[0].operation is view_as_real and tensor._conjugated():
            raise RuntimeError(
                "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you "
                "can view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT "
                "alias the original."
            )
        layout = source._layout()
        if not layout.contiguous or layout.offset:
            for each in steps:
                layout = each.layout(layout)
    return view_by(read(shown(source), steps), source, steps, kind)


def _where_strides_allow(steps: Steps) -> bool:
    """Whether torch can take such a view only of tensors with certain strides, as with `view`."""
    return any(step.operation in WHERE_STRIDES_ALLOW for step in steps)


def view_by(node: Node, source: Stored, steps: Steps, kind: type[Stored]) -> Any:
    """The view of `source`, of class `kind`, that `steps` lead to and `node` shows."""
    if source._node.inference and has_layout(steps):  # as in torch another tensor on that memory, and no view
        alone: Stored = holding(detached(node), kind)
        alone._node.inference = True
        alone._path = source.path + steps
        alone._storage = source.storage
        alone._seen = alone._storage.version
        return alone
    unrecorded = source._unrecorded is not None or not (node.requires_grad or grad_mode().enabled)
    if unrecorded:  # False for examples and duals, and inside a transform, which records what it needs
        unrecorded = has_layout(steps) and not (transforming().depth or transforming().forward)
    base: Stored = source if source._base_tensor is None else source._base_tensor
    taken: Stored = holding(node, kind)
    taken._base_tensor = base
    if unrecorded and not node.requires_grad:
        taken._node = node = taken._as_its_base(node)
        hold(node, taken)
    taken._steps = source._steps + steps
    if source._path is not None:
        taken._path = source._path + steps
    if unrecorded:
        if not grad_mode().enabled:
            taken._unrecorded = INFERENCE if grad_mode().inference else NO_GRAD
        else:
            several = [step for step in steps if step.operation.one_of_several]
            taken._unrecorded = PIECE if several else source._unrecorded
    taken._node.inference = source._node.inference
    if base._versions is not None:
        taken._counted = base._versions.count
    taken._storage = source.storage if source._storage is None else source._storage
    taken._seen = taken._storage.version
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


def shown(tensor: Stored) -> Node:
    """`tensor.node`, as a function: faster where it is compiled."""
    storage = tensor._storage
    if storage is not None:
        if storage.shared is not None:
            storage.look()
        if storage.version != tensor._seen:
            tensor._reread(storage)
    return tensor._node


def _check_batched(batch: Any, tensor: Stored, new: Node) -> None:
    if batch.holds(new) and not batch.holds(tensor.node):
        raise RuntimeError(INCOMPATIBLE.format("arithmetic"))
