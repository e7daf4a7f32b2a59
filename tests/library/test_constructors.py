"""torch's types of numbers: old constructors, Python's types as dtypes, NumPy's numbers beside tensors, settings."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import agree

CONSTRUCTED = """
torch.LongTensor([1, 2]); torch.LongTensor([1.5]); torch.LongTensor((1, 2)); torch.LongTensor(range(3))
torch.LongTensor([[1, 2], [3, 4]]); torch.LongTensor(np.array([1.0, 2.0])); torch.LongTensor(torch.tensor([1, 2]))
torch.LongTensor(2, 3).shape; torch.LongTensor(torch.Size([2, 3])).shape; torch.LongTensor(size=(2,)).shape
torch.LongTensor(); torch.FloatTensor([True]); torch.FloatTensor(torch.ones(2, requires_grad=True))
torch.ByteTensor([1, 255]); torch.ByteTensor([-1]); torch.BoolTensor([1, 0, 2]); torch.CharTensor([1])
torch.ShortTensor([1]); torch.IntTensor([1]); torch.HalfTensor([1]); torch.BFloat16Tensor([1]); torch.DoubleTensor([1])
isinstance(torch.ones(2), torch.FloatTensor); isinstance(torch.ones(2), torch.DoubleTensor)
isinstance(torch.ones(2), (torch.DoubleTensor, torch.FloatTensor)); isinstance(3, torch.LongTensor)
issubclass(torch.FloatTensor, torch.Tensor); repr(torch.FloatTensor); torch.FloatTensor.__name__
repr(torch.FloatTensor.dtype); repr(torch.FloatTensor.layout); torch.LongTensor.is_cuda
torch.Tensor([1, 2]); torch.Tensor(2, 3).shape; torch.Tensor(torch.Size([2])).shape; torch.Tensor()
torch.Tensor((1, 2))
torch.Tensor(torch.tensor([1, 2])); torch.Tensor(np.array([1, 2])); torch.Tensor([1, 2], device='cpu')
torch.Tensor(data=[1, 2]); torch.Tensor(torch.ones(2, requires_grad=True)); torch.tensor([1]).new([1, 2])
torch.tensor([1]).new(2, 3).shape; torch.tensor([1]).new(); torch.tensor([1]).new([1.5])
torch.ones(2).type(torch.LongTensor)
torch.ones(2).type(torch.Tensor); torch.asarray([1.0, 2.0], requires_grad=True); torch.asarray([1, 2], copy=True)
torch.asarray(b'abcd', dtype=torch.int16); torch.asarray(np.float32(2))
torch.asarray([torch.tensor(1), torch.tensor(2)])
torch.asarray(torch.ones(2, requires_grad=True), requires_grad=False)
torch.asarray(torch.ones(2, requires_grad=True), copy=True).is_leaf
torch.frombuffer(bytearray(b'abcd'), dtype=torch.int16)
torch.frombuffer(b'abcdef', dtype=torch.int16, count=2, offset=2)
torch.range(1, 4); torch.range(1, 4, 0.5); torch.range(4, 1, -1); torch.range(1, 4, dtype=torch.int64)
torch.tensor([1, np.float64(2)]); torch.tensor([np.int32(1), np.int32(2)]); torch.tensor([np.float16(1), np.int64(2)])
torch.tensor([torch.tensor([1.0]), torch.tensor([2.0])]); torch.tensor([torch.tensor(2, dtype=torch.int8), True])
torch.tensor([torch.tensor(2), 3.5]); torch.tensor([[], [1]]); torch.tensor([range(2), range(2)])
torch.tensor([1, 2], dtype=int); torch.tensor([1, 2], dtype=float); torch.tensor([1, 2], dtype=bool)
torch.tensor([1, 2], dtype=complex); torch.ones(2).to(float); torch.ones(2).to(int); torch.ones(2).to(dtype=bool)
torch.zeros(2, dtype=int); torch.arange(3, dtype=float); torch.ones_like(torch.ones(2), dtype=int)
torch.ones(2).new_zeros(2, dtype=int); torch.ones(2).sum(dtype=float)
torch.randn(2, dtype=float).dtype == torch.float64
torch.full((2,), 1.5, dtype=int); torch.full((2,), np.bool_(True)); torch.full((2,), torch.tensor(3))
torch.promote_types(int, float) == torch.float64; torch.can_cast(int, float); str(torch.finfo(float))
str(torch.iinfo(int))
str(torch.finfo(torch.bfloat16)); torch.finfo() == torch.finfo(torch.float32); torch.iinfo(torch.int8).bits
torch.ones(2, 3, 4).ndimension(); torch.ones(2).itemsize; torch.ones(2).is_sparse; repr(torch.ones(2).layout)
torch.ones(2).dense_dim(); torch.is_inference(torch.ones(2)); torch.typename(torch.ones(2)); torch.typename(1)
torch.tensor([1j]).conj().is_conj(); torch.tensor([1j]).conj().conj().is_conj(); torch.tensor([1j]).conj().imag.is_neg()
torch.tensor([1j]).conj().resolve_conj().is_conj(); torch.tensor([1j]).conj()[0].is_conj(); torch.is_neg(torch.ones(2))
torch.clamp_(torch.ones(2), max=0.5); torch.clip_(torch.ones(2), 0, 0.5); torch.get_device(torch.ones(2))
torch.ones(2, 2).t().apply_(lambda v: v + 1); torch.tensor([1, 2]).apply_(lambda v: v * 2.5)
torch.ones(2).map_(torch.tensor(2.0), lambda a, b: a + b)
torch.ones(2).map2_(torch.ones(2), torch.tensor([2.0, 3.0]), lambda a, b, c: a + b * c)
"""
REFUSED = """
torch.LongTensor(torch.tensor([1.0, 2.0])); torch.LongTensor(2.5); torch.LongTensor('a'); torch.LongTensor(None)
torch.LongTensor([[1, 2], [3]]); torch.LongTensor(-1); torch.ByteTensor([1, 300]); torch.Tensor(2.5); torch.Tensor(True)
torch.Tensor(dtype=torch.int32); torch.Tensor([1j]); torch.Tensor(2, 2.5); torch.ones(2).type('torch.FooTensor')
torch.ones(2).type(int); torch.ones(2).type(1); torch.asarray([1, 2], requires_grad=True); torch.asarray(None)
torch.asarray(torch.ones(2), dtype=torch.int32, copy=False); torch.asarray([1, 2], copy=False)
torch.frombuffer(bytearray(b''), dtype=torch.uint8); torch.frombuffer(bytearray(b'abc'), dtype=torch.int16)
torch.frombuffer(bytearray(b'abcd'), dtype=torch.int16, offset=5); torch.frombuffer(3, dtype=torch.int16)
torch.range(1, 4, 0); torch.range(4, 1); torch.tensor(b"ab"); torch.tensor(["ab"]); torch.tensor(None)
torch.tensor([None], dtype=torch.float32); torch.tensor([None], dtype=torch.int32); torch.tensor({}); torch.tensor([{}])
torch.tensor([torch.tensor([1, 2]), torch.tensor([1, 2])]); torch.tensor([torch.tensor([1.0, 2.0])])
torch.tensor([1, [1]]); torch.tensor([[1], 1]); torch.tensor([1.0, [2]])
torch.tensor([float('nan')], dtype=torch.int32)
torch.tensor([-1.5], dtype=torch.uint8); torch.tensor([1j], dtype=torch.float32); torch.tensor([1j], dtype=torch.int64)
torch.tensor([np.float32(1.5)], dtype=torch.int32); torch.tensor([1, 2], dtype=str); torch.tensor([1], dtype='float32')
torch.tensor([1, 2], dtype=np.float32); torch.ones(2).to(str); torch.zeros(2, dtype=str); torch.full((2,), None)
torch.full((2,), 'a'); torch.full((2,), torch.tensor([3])); torch.scalar_tensor('a'); torch.arange('a'); torch.eye(2.5)
torch.zeros(2, 2.5); torch.promote_types(1, torch.int8); torch.finfo('x'); torch.iinfo(torch.bool)
int(torch.tensor([1, 2])); float(torch.tensor(1j)); int(torch.tensor(1j)); complex(torch.tensor([1, 2]))
'a' in torch.tensor([1, 2]); [1] in torch.tensor([1, 2]); torch.ones(2, requires_grad=True).apply_(lambda v: v + 1)
torch.ones(2).apply_(3); torch.ones(2).map_(torch.ones(2, dtype=torch.int32), lambda a, b: a + b)
torch.ones(2).map_(torch.ones(3), lambda a, b: a + b); torch.ones(2).map_(3, lambda a, b: a + b)
torch.ones(2).is_coalesced(); torch.ones(2).resize(3); torch.symeig(torch.ones(2, 2)); torch.ones(2).pin_memory()
torch.add(torch.ones(2), np.ones(2)); torch.set_num_threads(0); torch.set_num_threads('a'); torch.set_warn_always(1)
torch.use_deterministic_algorithms(1); torch.set_deterministic_debug_mode('x'); torch.set_deterministic_debug_mode(5)
torch.set_deterministic_debug_mode(None)
torch.ones((torch.tensor(2.0), torch.tensor(3))); torch.ones((np.array(2.0), 3)); torch.ones((2.0, torch.tensor(3)))
torch.zeros(2, 3).index_select(1, torch.tensor([0, 5])); torch.zeros(2, 3).index_select(0, torch.tensor([5]))
torch.zeros(3).index_select(0, torch.tensor([-1])); torch.zeros(2, 0, 3).index_select(0, torch.tensor([2]))
"""
OUT = """
torch.full((2,), 3.0, out=torch.ones(2, dtype=torch.int64)); torch.eye(2, out=torch.ones(2, 2, dtype=torch.uint8))
torch.arange(3, out=torch.empty(3)); torch.linspace(0, 4, 3, out=torch.zeros(3, dtype=torch.int64))
torch.zeros(2, dtype=torch.float32, out=torch.ones(2, dtype=torch.float64))
torch.zeros(2, dtype=torch.float64, out=torch.ones(2, dtype=torch.float64))
torch.tensor(type('Bad', (), {'__len__': lambda self: 2, '__getitem__': lambda self, at: {}[at]})())
torch.tensor(type('Good', (), {'__len__': lambda self: 2, '__getitem__': lambda self, at: (1.0, 2.0)[at]})())
"""
UNSIGNED = """
torch.ones((torch.tensor(2), np.array(3))); torch.ones(np.int64(2), torch.tensor(3))
torch.tensor([1, 2], dtype=torch.uint16); torch.tensor([2**64 - 1], dtype=torch.uint64)
torch.tensor([-1], dtype=torch.uint16)
torch.tensor([70000], dtype=torch.uint16)
torch.tensor([1, 2], dtype=torch.uint16) + torch.tensor([1, 2])
torch.tensor([1, 2], dtype=torch.uint16) + torch.tensor([1.0, 2]); torch.tensor([1, 2], dtype=torch.uint16) * 2
torch.tensor([1, 2], dtype=torch.uint16).sum(); torch.tensor([1, 2], dtype=torch.uint16) == 1
torch.tensor([1, 2], dtype=torch.uint32)[0]; torch.tensor([1, 2], dtype=torch.uint16).to(torch.int64)
torch.tensor([1, -2]).to(torch.uint16); torch.ones(2, dtype=torch.uint64).type(); str(torch.iinfo(torch.uint64))
torch.promote_types(torch.uint16, torch.int8); torch.promote_types(torch.int8, torch.uint16)
str(torch.promote_types(torch.uint16, torch.float32)); torch.can_cast(torch.uint16, torch.int64)
torch.tensor(np.array([1, 2], np.uint32)); torch.from_numpy(np.array([1, 2], np.uint16))
str(torch.promote_types(torch.chalf, torch.half)); str(torch.promote_types(torch.chalf, torch.float32))
str(torch.float32.to_complex()); str(torch.complex128.to_real()); torch.int32.to_complex()
torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)));  torch.ones(2).__dlpack__(stream=1)
torch.autograd.grad_mode.no_grad is torch.no_grad
"""
MIXED = """
torch.ones(2) + np.ones(2); torch.ones(2) * np.ones(2); np.array([1.0, 2.0]) / torch.ones(2); np.sin(torch.zeros(2))
torch.ones(2) == np.ones(2); np.ones(2) == torch.ones(2); torch.ones(2, 2) @ np.ones((2, 2)); np.isnan(torch.ones(2))
torch.ones(2) < np.ones(2); np.ones(2) * torch.ones(2); torch.ones(2, requires_grad=True) + np.ones(2)
torch.tensor([1, 2]) & np.array([1, 2]); torch.tensor([2.0]) == np.float32(2.0); torch.tensor([2.0]) * np.float32(2.0)
np.float32(2.0) * torch.tensor([2.0]); np.float64(2.0) + torch.tensor([2]); np.int64(2) * torch.tensor([2.0])
np.int32(2) - torch.tensor([2]); np.bool_(True) * torch.tensor([2]); np.bool_(True) & torch.tensor([2])
np.float32(2.0) / torch.tensor([2.0]); np.float32(2.0) ** torch.tensor([2.0]); np.float32(2.0) < torch.tensor([2.0])
np.float32(7.0) // torch.tensor([2.0]); np.float32(7.0) % torch.tensor([2.0]); torch.tensor([2]) * np.float32(2.0)
torch.tensor([2]) ** np.int8(2); torch.tensor([2]) >> np.int64(1)
torch.tensor([2.0], requires_grad=True) * np.float32(2)
torch.ones(2) == 'a'; torch.ones(2) == [1, 1]; complex(torch.tensor(1j)); 1.5 in torch.tensor([1, 2])
list(reversed(torch.tensor([1, 2])))
torch.result_type(torch.tensor([1], dtype=torch.int8), np.float32(1.5)) == torch.float32
"""


def lines(text):
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


@pytest.mark.parametrize("line", lines(CONSTRUCTED))
def test_what_is_constructed(line):
    assert agree(lambda torch: eval(line, {"torch": torch, "np": np})).error is None


@pytest.mark.parametrize("line", lines(REFUSED))
def test_what_is_refused(line):
    assert agree(lambda torch: eval(line, {"torch": torch, "np": np})).error is not None


@pytest.mark.parametrize("line", [*lines(MIXED), *lines(UNSIGNED), *lines(OUT)])
def test_numpy_beside_tensors(line):
    agree(lambda torch: eval(line, {"torch": torch, "np": np}))


def test_an_old_constructor_of_a_tensor_shares_its_memory():
    def program(torch):
        x = torch.ones(2, requires_grad=True)
        y = torch.Tensor(x)
        (y * 3).sum().backward()
        with torch.no_grad():
            torch.FloatTensor(x.detach()).fill_(5)
        return x, x.grad, y.is_leaf

    agree(program)


def test_a_complex_result_needs_a_gradient():
    def program(torch, y):
        x = torch.ones(1, requires_grad=True)
        return y(torch, x).backward(), x.grad

    agree(lambda torch: program(torch, lambda torch, x: x * 0.5j), raises=RuntimeError)
    agree(lambda torch: program(torch, lambda torch, x: (x * 0.5j).sum()), raises=RuntimeError)
    assert agree(lambda torch: program(torch, lambda torch, x: (x * 0.5j).sum().abs())).error is None


def test_settings_are_told_as_they_were_set():
    def program(torch):
        told = []
        for mode, warn_only in ((True, False), (True, True), (False, True), (False, False)):
            torch.use_deterministic_algorithms(mode, warn_only=warn_only)
            told += [torch.are_deterministic_algorithms_enabled(), torch.get_deterministic_debug_mode()]
            told.append(torch.is_deterministic_algorithms_warn_only_enabled())
        for mode in ("warn", 2, "default"):
            torch.set_deterministic_debug_mode(mode)
            told += [torch.get_deterministic_debug_mode(), torch.is_deterministic_algorithms_warn_only_enabled()]
        threads = torch.get_num_threads()
        torch.set_num_threads(3)
        told.append(torch.get_num_threads())
        torch.set_num_threads(threads)
        torch.set_default_tensor_type(torch.DoubleTensor)
        told.append(torch.ones(1))
        torch.set_default_tensor_type("torch.FloatTensor")
        return told, torch.ones(1)

    assert agree(program).error is None
