"""Names of torch's that libraries need to be imported, and what those of them do that are real."""

from __future__ import annotations

import copy
import importlib
import sys
import textwrap

import numpy as np
import pytest
from test_answers import raised, same

import jaxvjp


def test_an_operator_of_ones_own():
    def program(torch):
        def scaled(x, by=3.0):
            return x * by

        schema = "(Tensor x, float by=3.0) -> Tensor"
        own = torch.library.custom_op("jaxvjp_own::scaled", scaled, mutates_args=(), schema=schema)
        own.register_fake(lambda x, by=3.0: torch.empty_like(x))
        by_name, x = torch.ops.jaxvjp_own.scaled, torch.tensor([1.0, 2.0], requires_grad=True)
        results = [own(x), own(x, 2.0), by_name(x, by=4.0), by_name.default(x)]
        refused = raised(lambda: by_name(x).sum().backward())

        def setup_context(ctx, inputs, output):
            ctx.by = inputs[1]

        own.register_autograd(lambda ctx, g: (g * ctx.by, None), setup_context=setup_context)
        by_name(x, by=5.0).sum().backward()
        first = x.grad.clone()
        torch.library.register_autograd(
            "jaxvjp_own::scaled", lambda ctx, g: (g * ctx.by * 10, None), setup_context=setup_context
        )
        (own(x * 2) ** 2).sum().backward()
        return [each.detach() for each in results], results[0].requires_grad, refused, first, x.grad, repr(own)

    same(program)


def test_an_operator_with_several_results_and_a_schema():
    def program(torch):
        @torch.library.custom_op(
            "jaxvjp_own::both", mutates_args=(), schema="(Tensor x, int[] sizes) -> (Tensor, Tensor)"
        )
        def both(x, sizes):
            return x.exp(), x.sum() * sizes[0]

        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output[0])
            ctx.size = inputs[1][0]

        both.register_autograd(
            lambda ctx, a, b: (a * ctx.saved_tensors[0] + b * ctx.size, None), setup_context=setup_context
        )
        x = torch.tensor([0.5, -1.0], requires_grad=True)
        a, b = torch.ops.jaxvjp_own.both(x, [2, 3])
        (a.sum() * b).backward()
        return a.detach(), b.detach(), x.grad

    same(program)


def test_the_step_of_an_optimizer_is_recorded_only_where_it_is_differentiable():
    def program(torch):
        from torch.optim.optimizer import _default_to_fused_or_foreach, _use_grad_for_differentiable

        class Own(torch.optim.Optimizer):
            @_use_grad_for_differentiable
            def step(self, closure=None):
                """One step."""
                return torch.is_grad_enabled(), closure

        p = torch.nn.Parameter(torch.ones(2))
        told = [Own([p], {"differentiable": each}).step(3) for each in (False, True)]
        return told, torch.is_grad_enabled(), Own.step.__doc__, _default_to_fused_or_foreach([p], False)

    same(program)


def test_a_counter_of_operations_that_is_not_entered():
    def program(torch):
        counter = importlib.import_module("torch.utils.flop_counter").FlopCounterMode(display=False, depth=2)
        return counter.get_total_flops(), dict(counter.get_flop_counts())

    same(program)
    with jaxvjp.as_torch():
        counter = importlib.import_module("torch.utils.flop_counter").FlopCounterMode()
    with pytest.raises(NotImplementedError, match="FlopCounterMode is not available"), counter:
        pass


def test_a_batch_of_indices_is_looked_up():
    def program(torch):
        mode = importlib.import_module("torch._dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex
        table = torch.tensor([[True, False, True], [False, True, True]])
        pairs = torch.func.vmap(lambda i: torch.func.vmap(lambda j: table[i, j])(torch.arange(3)))
        with mode():
            return pairs(torch.arange(2))

    same(program)


def test_compiling_is_supported():
    def program(torch):
        return importlib.import_module("torch._dynamo.utils").is_compile_supported("cpu")

    same(program)


def test_placements_and_keys():
    def program(torch):
        placements = importlib.import_module("torch.distributed.tensor.placement_types")
        pytree = importlib.import_module("torch.utils._pytree")
        values, keys = pytree._dict_flatten({"b": 1, "a": 2})
        return (
            placements.Shard is importlib.import_module("torch.distributed.tensor").Shard,
            placements.Shard(1).dim,
            isinstance(placements.Shard(1), placements._StridedShard),
            (values, keys, pytree._dict_unflatten(values, keys)),
        )

    same(program)


def test_the_memory_of_a_tensor_for_safetensors():
    def program(torch):
        storage = importlib.import_module("safetensors.torch")
        x = torch.ones(4, 3)
        row = x[1:3]
        return (
            storage.storage_ptr(row) == storage.storage_ptr(x) == x.data_ptr(),
            storage.storage_ptr(x.clone()) == storage.storage_ptr(x),
            storage.storage_size(row),
            storage.storage_size(row.double()),
            storage.storage_size(torch.ones(0)),
        )

    same(program)


LIBRARY = {
    "used.py": """
        import torch
        from torch.distributed.nn import all_gather
        from torch.utils._of_a_later_torch import anything
        import torch.utils._no_such_module as no_such_module

        LATER = torch.distributed.AllreduceOptions.LATER
        def is_own(value):
            return isinstance(value, torch.nn.CrossMapLRN2d)
    """,
    "asks.py": """
        import importlib.util
        import torch
        try:
            from torch.distributed.nn import all_gather
        except ImportError:
            all_gather = "gathered here"
        try:
            from lib_of_names import part
        except (RuntimeError, ImportError):
            part = "no part"
        FOUND = hasattr(torch, "hash_tensor"), getattr(torch, "hash_tensor", 3)
        FOUND += (importlib.util.find_spec("torch.utils._no_such_name"),)
    """,
    "part.py": """
        from torch.distributed.nn import all_gather
    """,
    "fails.py": """
        import torch
        def use():
            return torch.hash_tensor(torch.ones(2))
    """,
    "misspelt.py": """
        from torch import Tensr
    """,
    "__init__.py": "",
}


@pytest.fixture
def library(tmp_path, monkeypatch):
    """What imports one module of a library that somebody else wrote."""
    (tmp_path / "lib_of_names").mkdir()
    for name, text in LIBRARY.items():
        (tmp_path / "lib_of_names" / name).write_text(textwrap.dedent(text), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda name: importlib.import_module(f"lib_of_names.{name}")
    for name in [each for each in sys.modules if each.startswith("lib_of_names")]:
        del sys.modules[name]


def test_a_name_that_a_library_only_mentions_fails_when_it_is_used(library):
    with jaxvjp.as_torch():
        used = library("used")
        for value in (used.all_gather, used.anything, used.LATER, used.no_such_module.function):
            with pytest.raises(NotImplementedError, match=r"torch\.\S+ is not available\.\n.*jaxvjp does not"):
                value(1)
            with pytest.raises(NotImplementedError):
                bool(value)
        assert not used.is_own(jaxvjp.nn.ReLU())
        assert importlib.import_module("torch").jit.ScriptModule  # a class is true

        class Own(used.anything, jaxvjp.nn.Module):
            pass

        with pytest.raises(NotImplementedError, match=r"torch\.utils\._of_a_later_torch\.anything is not available"):
            Own()


def test_a_library_that_asks_for_a_name_is_told_the_truth(library):
    with jaxvjp.as_torch():
        asks = library("asks")
        assert (asks.all_gather, asks.part) == ("gathered here", "no part")
        assert asks.FOUND == (False, 3, None)
        with pytest.raises(AttributeError, match="hash_tensor"):
            library("fails").use()
        with pytest.raises(ImportError, match="Tensr"):
            library("misspelt")


def test_attributes_of_ones_own_are_copied_as_a_dict():
    def program(torch):
        class Described:
            def __init__(self):
                self.meta = {"origin": 1}

        class Image(Described, torch.Tensor):
            pass

        x = torch.ones(2, requires_grad=True)
        y = (x * 2).as_subclass(Image)
        y.meta = {"origin": 2}
        z = torch.zeros(3).as_subclass(Image)
        z.__dict__ = copy.deepcopy(y.__dict__)
        y.meta["origin"] = 3
        y.sum().backward()
        return vars(z), vars(y), vars(x), z * 1, x.grad, x._backward_hooks

    same(program)


def test_losses_are_instances_of_torchs_base_class():
    def program(torch):
        losses = importlib.import_module("torch.nn.modules.loss")

        class Own(losses._WeightedLoss):
            def forward(self, x):
                return (x * self.weight).sum()

        own = Own(torch.tensor([1.0, 2.0]), reduction="sum")
        kinds = [torch.nn.MSELoss(), torch.nn.CrossEntropyLoss(), own, torch.nn.ReLU()]
        told = [(isinstance(each, losses._Loss), isinstance(each, losses._WeightedLoss)) for each in kinds]
        return told, own.reduction, losses._Loss(reduce=False).reduction, own(torch.ones(2)), own.state_dict()

    same(program)


def test_a_loader_of_ones_own_is_read_by_torchs_iterators():
    def program(torch):
        loaders = importlib.import_module("torch.utils.data.dataloader")

        class Own:
            dataset, drop_last, _auto_collation, num_workers, timeout = [1, 2, 3], False, False, 0, 0
            generator = prefetch_factor = _IterableDataset_len_called = worker_init_fn = multiprocessing_context = None
            pin_memory, pin_memory_device, persistent_workers, in_order = False, "", False, True
            _dataset_kind, _index_sampler = loaders._DatasetKind.Iterable, range(3)

            def collate_fn(self, sample):
                return sample * 2

            def _get_shared_seed(self):
                return 0

        loader = torch.utils.data.DataLoader([1, 2])
        told = loader._dataset_kind, loader._auto_collation
        return list(loaders._SingleProcessDataLoaderIter(Own())), told

    same(program)


def test_what_runs_on_other_machines_and_devices_is_named():
    def program(torch):
        foreach = importlib.import_module("torch.utils._foreach_utils")
        x, y, z = torch.ones(2), torch.zeros(3, dtype=torch.float64), torch.full((1,), 2.0)
        groups = foreach._group_tensors_by_device_and_dtype([[x, y, z], [z, y, x]], True)
        backend, kinds = torch.distributed.Backend, torch.distributed.ReduceOp

        @torch.profiler.record_function("twice")
        def twice(value):
            return value * 2

        return sorted(groups.values(), key=str), backend.GLOO, kinds.BAND != kinds.BOR, twice(twice(x))

    same(program)


def test_a_function_that_is_replaced_is_what_modules_call():
    def program(torch):
        functional, called = importlib.import_module("torch.nn.functional"), []
        names = ("conv2d", "relu", "max_pool2d", "linear", "layer_norm", "cross_entropy")
        kept = {name: getattr(functional, name) for name in names}

        def counting(name):
            def count(*given, **named):
                called.append(name)
                return kept[name](*given, **named)

            return count

        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 2),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(2, 3),
            torch.nn.LayerNorm(3),
        )
        try:
            for name in names:
                setattr(functional, name, counting(name))
            torch.nn.CrossEntropyLoss()(model(torch.ones(1, 1, 3, 3)), torch.tensor([1]))
        finally:
            for name, function in kept.items():
                setattr(functional, name, function)
        model(torch.ones(1, 1, 3, 3))
        return called

    same(program)


def test_operators_by_a_schema_and_what_computes_them():
    def program(torch):
        own = torch.library.Library("jaxvjp_library", "DEF")
        name = own.define("doubled(Tensor x) -> Tensor")
        own.define("halved(Tensor x) -> Tensor")
        own.impl("doubled", lambda x: x * 2, "CompositeImplicitAutograd")
        own.impl("halved", lambda x: x / 2, "CPU")
        own.impl("halved", lambda x: x, "AutocastCPU")
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        space = torch.ops.jaxvjp_library
        space.doubled(x).sum().backward()
        return name, x.grad, space.doubled.default(x).detach(), space.halved(x.detach())

    same(program)


def test_boxes_that_a_better_one_covers_are_left_out():
    numbers = np.random.RandomState(0)
    corners = numbers.rand(40, 2).astype("float32") * 30
    boxes, scores = np.hstack([corners, corners + numbers.rand(40, 2) * 20]), numbers.rand(40).round(1)

    def shared(a, b):
        width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        both = max(width, 0) * max(height, 0)
        return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)

    kept = []
    for k in sorted(range(40), key=lambda k: -scores[k]):
        if all(shared(boxes[k], boxes[j]) <= 0.3 for j in kept):
            kept.append(k)
    with jaxvjp.as_torch() as torch:
        operators = torch.ops.torchvision
        found = operators.nms(torch.tensor(boxes), torch.tensor(scores), 0.3)
        assert (found.tolist(), found.dtype) == (kept, torch.int64)
        assert 0 < len(kept) < 40
        assert operators.nms(torch.ones(0, 4), torch.ones(0), 0.5).tolist() == []
        with pytest.raises(NotImplementedError, match=r"torch\.ops\.torchvision\.roi_pool is not available"):
            operators.roi_pool(1)
