"""Storages as objects, and small rules of `out=`, overlaps and creation: the same under torch and here."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from oracle import agree

STORAGES = """
torch.empty(0, dtype=torch.int64).set_(x.storage())
torch.tensor(x.storage(), dtype=torch.int64)
torch.tensor(x.storage())
torch.tensor(x.untyped_storage(), dtype=torch.float32)
torch.empty(0, dtype=torch.int32).set_(x.untyped_storage(), 1, (2,))
torch.empty(0, dtype=torch.uint8).set_(x.untyped_storage())
list(x.untyped_storage()[0:4])
x.storage()[0:2]
x.storage()[7]
x.untyped_storage() is x.untyped_storage()
[isinstance(x.storage(), each) for each in (torch.UntypedStorage, torch.TypedStorage, torch.FloatStorage)]
torch.FloatStorage([1, 2]).tolist()
torch.FloatStorage(2, dtype=torch.int64)
torch.FloatStorage(1.5)
[torch.TypedStorage([1, 2], dtype=torch.int16).type(), torch.UntypedStorage([1, 2]).tolist()]
torch.ShortStorage.from_buffer(bytearray([1, 2]), "big").tolist()
torch.ShortStorage.from_buffer(bytearray([1, 2]))
[x.storage().complex_double().tolist(), x.storage().byte().type(), x.storage_type().__name__]
[x.storage().fill_(3.0).tolist(), x]
[copy.deepcopy([x, x.storage()])[1].tolist(), torch.Storage.__name__]
""".strip().splitlines()

OTHERS = """
torch.float_power(x, 2, out=torch.empty(2, 3))
x.float_power_(2)
torch.isposinf(x, out=torch.empty(2, 3))
torch.frexp(x, out=(torch.empty(2, 3), torch.empty(2, 3).long()))
torch.mode(x, out=(torch.empty(2).double(), torch.empty(2).long()))
torch.median(x, 0, out=(torch.empty(3), torch.empty(3).int()))
torch.all(x, dim=0, out=torch.empty(3, dtype=torch.uint8))
torch.histogram(x, 2, out=(torch.empty(2).double(), torch.empty(3)))
torch.arange(6, out=torch.zeros(3, 3)[:, :2])
torch.bernoulli(torch.ones(2), out=torch.empty(2, dtype=torch.bool))
i.index_add_(0, i, i.clone())
i.put_(i.clone(), i)
x[0].index_put_((i,), x[0, 0])
i.scatter_(0, i, i.clone())
torch.zeros(0, 3).t().numpy().shape
torch.linspace(0, 1j, 5, dtype=torch.float32)
torch.cat([torch.ones(0), torch.ones(0)], 1)
torch.block_diag()
x.expand(-1, 2, 3)
torch.empty(()).resize_([8, 8, 2**29, 2**29])
torch.normal(torch.ones(4), torch.ones(2, 3))
torch.normal(torch.ones(2), -torch.ones(2))
torch.ones(2, requires_grad=True).view(torch.float32).requires_grad
torch.tensor([1 + 2j]).conj().view(torch.float64)
torch.gradient(x, spacing=1j)
torch.heaviside(x, x, out=torch.empty(2, 3) * 1j)
torch.cumulative_trapezoid(x, dx=1j)
torch.igamma(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.001, 0.0, 2.0]))
torch.index_select(torch.ones(0, 3), 0, i)
torch.cummax(x[0, 0], 3)
x.uniform_(torch.finfo(torch.float32).min, torch.finfo(torch.float32).max)
torch.asarray(np.float64(0.5), copy=False)
x.t().dim_order()
torch.ones(1, 2, 2, 1).dim_order(ambiguity_check=True)
torch.Size([1]) + [1]
""".strip().splitlines()


@pytest.mark.parametrize("line", [*STORAGES, *OTHERS])
def test_agrees_with_torch(line):
    def program(torch):
        names = {"torch": torch, "np": np, "copy": copy, "x": torch.ones(2, 3), "i": torch.tensor([2, 1, 0])}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(line, names)

    agree(program)


def test_memory_asked_for_under_deterministic_algorithms_is_filled():
    def program(torch):
        torch.use_deterministic_algorithms(True)
        try:
            made = [torch.empty(2), torch.empty(2, dtype=torch.int8), torch.zeros(2).resize_(4)]
            torch.utils.deterministic.fill_uninitialized_memory = False
            return [*made, torch.zeros(2).resize_(1)]
        finally:
            torch.utils.deterministic.fill_uninitialized_memory = True
            torch.use_deterministic_algorithms(False)

    agree(program)


def test_a_generator_goes_back_to_a_state_and_crosses_by_pickle():
    def program(torch):
        source = torch.Generator(device="cpu").manual_seed(3)
        state = source.get_state()
        first = torch.rand(2, generator=source)
        source.set_state(state)
        other = pickle.loads(pickle.dumps(source))
        return first, torch.rand(2, generator=source), torch.rand(2, generator=other), str(other.device)

    agree(program)


@pytest.mark.parametrize(
    "given", [(4, (2,)), (1, (2, 3)), (0, (2, 2), (1, 2)), (1 << 30, (2, 3)), (2, (1,)), (0, (3,))]
)
def test_another_part_of_a_storage_may_be_beyond_its_end(given):
    def program(torch):
        x = torch.arange(3.0)
        x.set_(x.untyped_storage(), *given)
        facts = x.storage_offset(), x.untyped_storage().nbytes(), x.stride()
        return facts, x.fill_(3) if given[0] < 9 else None

    agree(program)


def test_a_storage_is_one_object_for_as_long_as_a_tensor_has_it():
    def program(torch):
        class Counted(torch.UntypedStorage):
            ended = 0

            def __del__(self):
                Counted.ended += 1

        x = torch.ones(3)
        x.untyped_storage().note = "kept"
        seen = [x[1:].untyped_storage().note, x.storage().untyped().note, x.untyped_storage() is x.untyped_storage()]
        memory = Counted(16)
        memory.note = 3
        y = torch.tensor(memory, dtype=torch.float32)
        del memory
        seen += [Counted.ended, type(y.untyped_storage()).__name__, y.untyped_storage().note]
        memory = y.untyped_storage()
        del y
        seen.append(Counted.ended)
        del memory
        both = copy.deepcopy([x, x.untyped_storage()])
        return seen, Counted.ended, both[0].untyped_storage() is both[1], both[0], hasattr(both[1], "note")

    agree(program)


@pytest.mark.parametrize(
    "line", ["torch.meshgrid(x)", "x.addcmul(2, x, x)", "float(x)", "torch.empty(2).random_(0, (1 << 24) + 5)"]
)
def test_what_torch_warns_of_each_time_if_asked_to(line):
    def program(torch):
        names = {"torch": torch, "x": torch.ones(1, requires_grad=True)}
        torch.set_warn_always(True)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                eval(line, names)
        torch.set_warn_always(False)
        return [str(each.message).partition("\n")[0].partition(" (Triggered")[0] for each in told]

    agree(program)
