"""What NumPy writes to a tensor's memory is there, also if the array is gone before the tensor is next read."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from oracle import agreement_of, programs_of

import jaxvjp
from jaxvjp.tensor import shared_memory


def an_array_that_dies_at_once(torch):
    t = torch.zeros(2)
    t.numpy()[0] = 7
    np.asarray(t)[1] = 8
    return t


def a_function_that_returns_the_tensor(torch):
    def loaded(array):
        t = torch.from_numpy(array)
        array[:] = 3
        return t

    return loaded(np.zeros(2)), loaded(np.empty(2)), loaded(np.empty((2, 3), order="F")), loaded(np.zeros(())[None])


def read_in_between(torch):
    def loaded():
        array = np.zeros((3, 4))
        t, u = torch.asarray(array)[1:, ::2], torch.from_dlpack(array)
        array[:] = np.arange(12).reshape(3, 4)
        row = u[0].clone()
        array[1, 1], array[2, 2] = 50, 60
        return row, t, u

    return loaded()


def of_every_kind_of_alias(torch):
    x = torch.ones(3, requires_grad=True)
    x.data.numpy()[0] = 5
    x.detach().numpy()[1] = 6
    (x * x).sum().backward()
    x.grad.numpy()[2] = 9
    v = torch.zeros(2, 3)
    w = v[0]
    v[1].numpy()[:] = 4
    v.T.numpy()[0] = 2
    v[:, 1].numpy()[...] = 8
    layer = torch.nn.Linear(2, 2)
    layer.weight.data.numpy()[:] = 1
    layer.bias.detach().numpy()[:] = 0
    layer.register_buffer("count", torch.zeros(2))
    layer.count.numpy()[0] = 3
    return x, x.grad, v, w, layer(torch.ones(1, 2)), layer.state_dict()


def what_was_recorded_before_keeps_the_old_value(torch):
    x = torch.zeros(2)
    x.numpy().fill(3)
    y = x * 2
    x.numpy().fill(4)
    return y, x


def two_tensors_on_one_array(torch):
    array = np.zeros(4)
    first, last, bits = torch.from_numpy(array[:2]), torch.from_numpy(array[2:]), torch.from_numpy(array.view(np.int64))
    array[:] = [1, 2, 3, 4]
    del array
    last.add_(1)
    return first, last, bits


def buffers_that_outlive_the_array(torch):
    array = np.zeros(3)
    view, x = memoryview(array), torch.from_numpy(array)
    del array
    before = x.tolist()
    view[1] = 5.0
    data = bytearray(8)
    y = torch.frombuffer(data, dtype=torch.float32)
    data[3] = 64
    own = y.tolist()
    data[7] = 65
    del data
    return before, x, own, y


def parts_that_are_read(torch):
    x = torch.zeros(6, 2)
    array = x.numpy()
    array[2] = 5
    first = x[torch.tensor([0, 2])]
    array[3] = 6
    second = x[torch.tensor([[0], [3]]), torch.tensor([0, 1])]
    array[4] = 7
    third = x[torch.tensor([0, 0, 0, 0, 1, 1]).bool()]
    array[5] = 8
    fourth = x.index_select(0, torch.tensor([5])), x[5], x[-1, 1], x[4:, torch.tensor([1])]
    array[0] = 1
    row = x[1]
    row.add_(1)
    array[1, 0] = 9
    x[2:4] += 1
    return first, second, third, fourth, x, array, row


def complex_numbers(torch):
    x = torch.zeros(2, dtype=torch.complex128)
    array = x.numpy()
    array[1] = 3j
    parts = x.real.clone(), x[1].clone()
    array[0] = 5j
    conjugate = x.conj().resolve_conj()
    array[1] = 7
    return parts, conjugate, x.imag, x.conj().resolve_conj(), torch.zeros(2, dtype=torch.complex64).numpy()


def other_dtypes_and_no_dimensions(torch):
    told = []
    for dtype in (torch.bool, torch.uint8, torch.int16, torch.int64, torch.float16):
        x = torch.zeros(3, dtype=dtype)
        x.numpy()[1] = True
        told.append(x)
    x = torch.zeros(())
    x.numpy()[...] = 3
    return told, x


def copies(torch):
    x = torch.zeros(2)
    array = x.numpy()
    array[0] = 4
    storage, part = copy.deepcopy(x.untyped_storage()), copy.deepcopy(x[1:])
    array[1] = 3
    return list(storage), part, x.clone(), x.untyped_storage().clone().tolist()


def functions_of_numpy_with_out(torch):
    tensors = [torch.zeros(2) for _ in range(3)]
    for each in tensors:
        np.add(each.numpy(), 1, out=each.numpy())
    np.multiply(tensors[0], 5, out=tensors[0].numpy())
    return tensors


def parameters_of_an_optimizer(torch):
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], 0.5, momentum=0.5)
    for step in range(3):
        (w * w).sum().backward()
        w.grad.numpy()[0] += step
        optimizer.step()
        optimizer.zero_grad()
        w.detach().numpy()[1] *= 2
    return w


def captured_by_functions_that_are_transformed(torch):
    x, y = torch.ones(2), torch.tensor([1.0, 2.0])
    array = x.numpy()
    told = []
    for number, transform in enumerate((
        lambda f: torch.func.grad(lambda y: f(y).sum())(y),
        lambda f: torch.func.vmap(f)(torch.ones(2, 2)),
        lambda f: torch.func.jvp(f, (y,), (y,)),
        lambda f: torch.func.hessian(lambda y: f(y).sum())(y),
        lambda f: torch.func.vjp(f, y)[1](y),
        lambda f: torch.func.jacfwd(f)(y),
        lambda f: torch.func.vmap(torch.func.jacrev(f))(torch.ones(2, 2)),
    )):  # fmt: skip
        array[0] = number
        told.append(transform(lambda y: x * y * y))

    def counts(y):
        array[1] += 1
        return (x * y * y).sum()

    return told, torch.func.grad(counts)(y), x, array


def captured_and_written_by_both(torch):
    x = torch.ones(2)
    array = x.numpy()

    def writes(y):
        array[1] = 3
        x.mul_(2)
        return (x * y).sum()

    try:
        torch.func.grad(writes)(torch.ones(2))
    except RuntimeError as error:
        return str(error).partition("\n")[0], x


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_nothing_is_held_once_nobody_has_the_array():
    x = jaxvjp.zeros(8)
    array = x.numpy()
    array[0] = 1
    assert x[0].item() == 1
    assert x.storage.shared is not None
    del array
    assert x[0].item() == 1
    assert x.storage.shared is None


@pytest.mark.parametrize("other", [memoryview, lambda array: array[1:], lambda array: array.__dlpack__()])
def test_what_else_has_the_memory_keeps_it_shared(other):
    array = np.zeros(4, np.float32)
    x = jaxvjp.from_numpy(array)
    kept = other(array)
    del array
    assert x.sum().item() == 0
    assert x.storage.shared is not None
    del kept
    assert x.sum().item() == 0
    assert x.storage.shared is None


def test_memory_that_is_never_read_again_is_not_held(monkeypatch):
    """The outputs of a loop, of each of which NumPy took the mean, for example."""
    monkeypatch.setattr(shared_memory._shared, "limit", 8_000)
    monkeypatch.setattr(shared_memory, "SWEPT", 8_000)
    outputs = []
    for number in range(40):
        outputs.append(jaxvjp.full((10,), float(number)))
        outputs[-1].numpy()[1] += 1
    assert sum(each.storage.shared is not None for each in outputs) < 10
    assert [each[1].item() for each in outputs] == [number + 1 for number in range(40)]


def test_a_part_is_compared_as_a_part(monkeypatch):
    """Reading a sample of a data set costs what the sample does, not what the data set does."""
    array = np.zeros((1000, 8), np.float32)
    x = jaxvjp.from_numpy(array)
    compared = []
    words = shared_memory._words
    monkeypatch.setattr(shared_memory, "_words", lambda *given: compared.append(given[1].size) or words(*given))
    assert x[3].sum().item() == 0
    assert x[5, 2].item() == 0
    assert x[10:12].sum().item() == 0
    assert max(compared) == 16
    gathered = x[jaxvjp.tensor([7, 9])]
    compared.clear()
    array[9] = 1
    assert gathered.sum().item() == 0
    assert x[jaxvjp.tensor([7, 9])].sum().item() == 8


def test_a_step_under_jit_sees_what_an_array_wrote_that_is_gone():
    for kept in (False, True):
        x = jaxvjp.ones(2)
        array = x.numpy() if kept else None

        @jaxvjp.jit
        def step(y):
            return x * y  # noqa: B023 - called in this round

        for number in range(6):
            x.numpy()[0] = number
            assert step(jaxvjp.full((2,), 2.0)).tolist() == [2.0 * number, 2.0]
        assert array is None or array[0] == 5
