"""Conversion from and to torch, NumPy and DLPack; copies and pickles; `Parameter`."""

from __future__ import annotations

import copy
import pickle
import sys

import jax
import numpy as np
import pytest
from oracle import agree, agreement_of, live, needs_torch, programs_of, raises

import jaxvjp

DTYPES = [each.name for each in jaxvjp.types.dtypes.ALL]


def aligned(*shape):
    """Zeros that JAX would read in place: at a multiple of 64 bytes."""
    count = int(np.prod(shape))
    buffer = np.zeros(4 * count + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + 4 * count].view(np.float32).reshape(shape)


@needs_torch
@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_crosses_to_torch_and_back_in_place(name):
    there = live.ones(4, 16).to(getattr(live, name))
    here = jaxvjp.from_torch(there)
    assert repr(here) == repr(there)
    assert here.value.unsafe_buffer_pointer() == there.data_ptr()
    back = here.to_torch()
    assert repr(back) == repr(there)
    assert back.data_ptr() == there.data_ptr()
    for copied in (jaxvjp.from_torch(there, copy=True), jaxvjp.tensor(there.tolist(), dtype=here.dtype)):
        assert copied.value.unsafe_buffer_pointer() != there.data_ptr()
        assert copied.to_torch(copy=True).data_ptr() != copied.value.unsafe_buffer_pointer()


@needs_torch
@pytest.mark.parametrize(
    "make",
    [
        lambda: live.arange(12.0).reshape(3, 4).t(),
        lambda: live.arange(12.0).reshape(3, 4)[:, 1:],
        lambda: live.arange(12.0).reshape(3, 4).bfloat16()[:, 1:],
        lambda: live.arange(12.0)[1:],
        lambda: live.ones(3, 1).expand(3, 4),
        lambda: live.empty(0, 3),
        lambda: live.tensor(2.5),
    ],
)
def test_any_layout_crosses(make):
    assert jaxvjp.from_torch(make()).tolist() == make().tolist()


@needs_torch
def test_gradients_cross_as_values_and_graphs_do_not():
    there = live.tensor([1.0, 2.0], requires_grad=True)
    (there**2).sum().backward()
    here = jaxvjp.from_torch(there)
    assert here.is_leaf
    assert here.requires_grad
    assert here.grad.tolist() == [2.0, 4.0]
    (3 * here).sum().backward()
    assert here.grad.tolist() == [5.0, 7.0]
    assert there.grad.tolist() == [2.0, 4.0]
    assert here.to_torch().grad.tolist() == [5.0, 7.0]
    for crossing in (lambda: jaxvjp.from_torch(there * 2), lambda: (here * 2).to_torch()):
        with pytest.raises(RuntimeError, match=r"Only a leaf can cross"):
            crossing()
    assert (here * 2).detach().to_torch().tolist() == [2.0, 4.0]


def test_wrong_types_are_refused(monkeypatch):
    with pytest.raises(TypeError, match="expected torch"):
        jaxvjp.from_torch(np.zeros(2))
    with pytest.raises(TypeError, match="__dlpack__"):
        jaxvjp.from_dlpack([1.0])
    with pytest.raises(TypeError, match=r"type numpy\.str_"):
        jaxvjp.from_numpy(np.array(["a"]))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install"):
        jaxvjp.ones(2).to_torch()


def test_a_tensor_is_dlpack_and_an_array():
    x = jaxvjp.tensor([[1.0, 2.0]])
    assert np.from_dlpack(x).tolist() == [[1.0, 2.0]]
    assert jax.dlpack.from_dlpack(x).tolist() == [[1.0, 2.0]]
    assert jaxvjp.from_dlpack(x).tolist() == [[1.0, 2.0]]
    assert np.array(x, dtype=np.int32).tolist() == [[1, 2]]
    assert np.asarray(x).dtype == np.float32
    assert np.asarray(x).flags.writeable


def a_later_write_to_the_array_is_seen(torch):
    arrays = [aligned(64, 64) for _ in range(5)]
    tensors = [
        torch.tensor(arrays[0]),
        torch.from_numpy(arrays[1]),
        torch.as_tensor(arrays[2]),
        torch.from_dlpack(arrays[3]),
        torch.as_tensor(arrays[4], dtype=torch.float64),
    ]
    twice = [each * 2 for each in tensors]
    for each in arrays:
        each[3] = 5
    return [each.sum() for each in (*tensors, *twice)]


def memory_is_shared_with_numpy_both_ways(torch):
    x = torch.zeros(2, 3)
    row, turned = x[1].numpy(), x.t().numpy()
    row += 2
    x.add_(1)
    turned[0, 1] = 8
    weight = torch.ones(3, requires_grad=True)
    shown = weight.detach().numpy()
    shown[0] = 3
    (weight**2).sum().backward()
    with torch.no_grad():
        weight -= 0.5 * weight.grad
    kept = shown.tolist()
    del shown
    weight.data[1] = 7
    return x, row, turned, turned.strides, kept, weight, weight.grad, x.detach().numpy()[:, 1:].tolist()


def numpy_arrays_keep_their_strides(torch):
    array = np.arange(12.0).reshape(3, 4)
    parts = [torch.from_numpy(each) for each in (array, array.T, array[:, ::2], array[1:, 1:].T)]
    array[1, 2] = -1
    parts[3][0, 0] = 50
    return array, [(each, each.stride(), each.is_contiguous()) for each in parts]


@raises(ValueError)
def from_numpy_refuses_negative_strides(torch):
    torch.from_numpy(np.arange(3.0)[::-1])


@raises(RuntimeError)
def numpy_refuses_a_conjugate_view(torch):
    torch.ones(2, dtype=torch.complex64).conj().numpy()


def numpy_by_force(torch):
    z = torch.tensor([1 + 2j], requires_grad=True).conj()
    kept = z.detach()
    return z.numpy(force=True), z.imag.numpy(force=True), kept.resolve_conj().numpy(), kept.imag.resolve_neg().numpy()


def test_sharing_ends_with_the_array():
    x = jaxvjp.zeros(3)
    array = x.numpy()
    assert x.storage.shared is not None
    del array
    x.add_(1)
    assert x.tolist() == [1.0] * 3
    assert x.storage.shared is None


@raises(TypeError)
def from_numpy_refuses_lists(torch):
    torch.from_numpy([1.0])


def from_numpy_keeps_the_dtype(torch):
    return [torch.from_numpy(np.ones((2, 1), each)) for each in ("f4", "f8", "i2", "?", "c8", "u1")]


def as_tensor_takes_anything(torch):
    x = torch.ones(2, requires_grad=True)
    y = torch.as_tensor(x, dtype=torch.float64)
    y.sum().backward()
    return (
        torch.as_tensor(x) is x,
        y,
        x.grad,
        torch.as_tensor([1, 2.5]),
        torch.as_tensor(np.ones(2)),
        torch.as_tensor(3),
    )


@raises(TypeError)
def as_tensor_refuses_text(torch):
    torch.as_tensor("a")


@raises(BufferError)
def dlpack_refuses_gradients(torch):
    torch.ones(2, requires_grad=True).__dlpack__()


@raises(RuntimeError)
def array_refuses_gradients(torch):
    np.asarray(torch.ones(2, requires_grad=True))


def copies(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    deep, shallow, twice = copy.deepcopy(x), copy.copy(x), copy.deepcopy([x, x])
    with torch.no_grad():
        x *= 3
    (deep * 5).sum().backward()
    return x, x.grad, deep, deep.grad, shallow, shallow.is_leaf, twice[0] is twice[1]


@raises(RuntimeError)
def deepcopy_refuses_graphs(torch):
    copy.deepcopy(torch.ones(2, requires_grad=True) * 2)


def pickles(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    loaded = pickle.loads(pickle.dumps([x, x * 2, torch.ones(2, dtype=torch.bfloat16), torch.tensor([True])]))
    types = pickle.loads(pickle.dumps([torch.bool, torch.float32])) == [torch.bool, torch.float32]
    return loaded, loaded[0].grad, loaded[1].is_leaf, types


def parameter(torch):
    data = torch.tensor([1.0, 2.0])
    p = torch.nn.Parameter(data)
    with torch.no_grad():
        p += 1
    (p * p).sum().backward()
    fixed = torch.nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False)
    kept = [copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p)), p.requires_grad_(), torch.nn.Parameter(p)]
    kinds = [type(each) is torch.nn.Parameter for each in (*kept, p * 2, p.data, p.clone(), p[0], p.detach(), p.grad)]
    return repr(p), data, p.grad, repr([fixed]), f"{torch.nn.Parameter()}", kinds, isinstance(p, torch.Tensor), kept


@raises(AttributeError)
def parameter_of_a_list(torch):
    torch.nn.Parameter([1.0])


@raises(RuntimeError)
def parameter_of_integers(torch):
    torch.nn.Parameter(torch.ones(2, dtype=torch.int64))


@raises(TypeError)
def parameter_with_a_format(torch):
    return f"{torch.nn.Parameter(torch.tensor(1.0)):.2f}"


test_agrees_with_torch = agreement_of(programs_of(globals(), agree))
