"""Overload resolution: argument forms, `out=`, named tuples, torch's errors for calls that fit no signature."""

from __future__ import annotations

import sys
import warnings

import pytest
from oracle import agree, agreement_of, programs_of, raises

import jaxvjp

CALLS = """
torch.max(m); torch.max(m, 1); torch.max(m, dim=0, keepdim=True); torch.max(m, m.t()); m.max(1)[0]; m.max(-1).indices
m.max(1).values; torch.max(input=m, dim=1); torch.max(m, axis=1); torch.sum(m, axis=0, keepdims=True)
torch.sum(x=m, axis=0); torch.add(m, 1, alpha=0.5); torch.add(m, m, alpha=2); m.add(m, alpha=2); i.add(i, alpha=2)
i.add(m, alpha=0.5); torch.clamp(m, min=m.t()); m.clamp(max=2); torch.pow(2, m); torch.pow(m, 2.0)
torch.where(m > 2, m, 0); torch.where(m > 2, 1.0, m); m.where(m > 2, 0); torch.where(m > 2, i, m)
torch.stack([m, m]); torch.stack((m, m), 1); torch.stack(tensors=[m, m], dim=-1); m.permute(1, 0)
m.view(4); m.view((2, 2)); m.reshape(shape=(4,)); m.sum(dtype=float); m.to(float); torch.zeros(2, dtype=float)
torch.full((2,), torch.tensor(3.0)); torch.linspace(torch.tensor(0.0), 1, 3); torch.zeros(size=(2, 3))
torch.arange(0, end=3); torch.randint(3, 4, (2,), device='cpu'); torch.randperm(1, device='cpu')
torch.rand_like(m, memory_format=torch.preserve_format) > 2
torch.sum(m, (0, 1)); torch.mean(m, dtype=torch.float64); torch.maximum(m, m.t())
m.sum((0, True)); m.mean([0, True], True); torch.std(m, (0, True)); m.permute(0, True)
m.view(4, True); m.reshape((4, True)); m.repeat(1, True); torch.zeros(2, True); torch.full((2, True), 3.0)
m.roll((1, True), (0, True)); m.norm(2, (0, True)); torch.tensordot(m, m, ([0, True], [0, True])); m.split([1, True])
m.as_strided((2, True), (1, True)); m.tensor_split((1, True)); torch.fft.fftn(m, dim=(0, True)).real
torch.nn.functional.pad(m, (1, True)); torch.nn.functional.adaptive_avg_pool2d(m[None], (2, True))
torch.nn.functional.interpolate(m[None, None], (4, True)); torch.hamming_window(3, True, 0.5, 0.25)
"""

MISTAKES = """
torch.max(); torch.max(m, 'a'); torch.max(m, 1, 2); torch.max(m, dim='a'); torch.max(m, foo=1); torch.max([1.0])
m.max(dim=1.5); torch.add(m, 'a'); torch.add(m, m, beta=1); torch.log(m, m); torch.log()
torch.log(input='a'); torch.log(m, input=m)
torch.stack(m); torch.stack([m, 1]); torch.stack([]); torch.stack([m, m], 1.5)
m.log(1); torch.maximum(m, 2); torch.where(m > 2, 'a', m); m.transpose(0); m.transpose(0, 1, 2); m.transpose(0, 'a')
m.unsqueeze(); m.unsqueeze(dim=[1]); m.unsqueeze(dim=True); torch.mean(m, dtype=3)
m.sum(dtype='float'); torch.pow(2, 3); torch.max(m, 5); torch.max(m, 1, keepdim=1); m.clamp('a'); torch.mm(m, 2)
torch.flatten(m, 1.5); torch.flatten(3); torch.flatten(); m.flatten(bogus=1); m.flatten(input=1); torch.reshape(m, 4)
torch.reshape(m, 's'); torch.reshape(m, (2, 2.0)); m.reshape(4.0); m.reshape(None); torch.zeros('s')
torch.zeros(2, dtype=3)
torch.ones(2, device=1.5); torch.arange(None); torch.arange(1, 2, 3, 4); torch.full(2, 3.0); torch.full((2,), None)
torch.tensor(); torch.tensor(1.0, requires_grad=1); torch.eye(2.5); m.chunk(2, 's'); m.narrow(0, 0, 1.5); m.unbind('s')
torch.linspace(0, 1, 's'); torch.where(m > 2, m, 's'); torch.equal(m, 3); m.view_as(3); torch.numel(3); m.abs(bogus=1)
torch.quantile(m, 's'); torch.tensor_split(m, 's'); m.repeat_interleave('s'); m.bernoulli_('s'); m.size(5)
m.add(input=1)
torch.abs(m, out=3); torch.max(m, 1, out=3); torch.add(m, m, alpha=m); m.clone(3); m.new_full(2, 3)
m.allclose(m, rtol='s')
m.sum((True, 0)); m.sum((0, True, 1)); m.sum((0, 1.0)); torch.std(m, (0, None)); m.view(True, 4); m.reshape(True, 4)
torch.zeros(True); torch.zeros(True, 2); torch.zeros((2, 1.0)); m.flip(False, True); m.split(True)
torch.split(m, [True, 1]); torch.hann_window(True); torch.hann_window(4.0); torch.hamming_window('s')
m.expand(2, -1, -1, 2); m.expand(-1, -1, 2, 2); m.sum().expand(2, -1); m.expand(-2, 2, 2); m.expand(-3, 3)
torch.mm(m); torch.mm(m, m, m); torch.mm(m, other=m); m.mm(mat2='a'); m.mul_('a'); m.mul_(); torch.exp(3)
"""


def lines(text):
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


def call(line):
    def program(torch):
        m = torch.tensor([[1.0, 3.0], [3.0, 2.0]], requires_grad=True)
        result = eval(line, {"torch": torch, "m": m, "i": torch.tensor([[1, 2], [3, 4]])})
        first = result[0] if isinstance(result, tuple) else result
        gradient = torch.autograd.grad(first.sum(), m)[0] if first.requires_grad else None
        return result, gradient, str(first.grad_fn).partition(" object")[0].partition(".")[0] == "" or None

    return program


@pytest.mark.parametrize("line", lines(CALLS))
def test_the_call_is_torchs(line):
    assert agree(call(line)).error is None


@pytest.mark.parametrize("line", lines(MISTAKES))
def test_the_error_is_torchs(line):
    assert agree(call(line)).error is not None


def out_of_its_shape(torch):
    x, out = torch.tensor([1.0, 2.0]), torch.zeros(2)
    same = torch.add(x, 1, out=out)
    return same is out, out


def out_of_another_dtype(torch):
    out = torch.zeros(2, dtype=torch.float64)
    return torch.add(torch.tensor([1, 2]), 1, out=out)


def out_that_is_empty(torch):
    out = torch.empty(0)
    torch.exp(torch.tensor([1.0, 2.0]), out=out)
    return out


@raises(RuntimeError)
def out_that_cannot_hold_it(torch):
    return torch.add(torch.tensor([1.5]), 1, out=torch.zeros(1, dtype=torch.int64))


def out_of_several(torch):
    values, indices = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    result = torch.max(torch.tensor([[1.0, 3.0], [4.0, 2.0]]), 1, out=(values, indices))
    return result.values is values, values, indices


@raises(RuntimeError)
def out_beside_a_gradient(torch):
    return torch.add(torch.tensor([1.0], requires_grad=True), 1, out=torch.zeros(1))


@raises(RuntimeError)
def out_that_requires_a_gradient(torch):
    return torch.add(torch.tensor([1.0]), 1, out=torch.zeros(1, requires_grad=True))


def out_of_a_view(torch):
    base = torch.zeros(2, 2)
    torch.add(torch.tensor([1.0, 2.0]), 1, out=base[0])
    return base


test_out_agrees_with_torch = agreement_of(programs_of(globals(), lines, call))


def test_out_is_resized_with_torchs_warning():
    def program(torch):
        out = torch.zeros(3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.exp(torch.tensor([0.0, 0.0]), out=out)
        return out, str(caught[0].message).partition(".")[0]

    assert agree(program).value[0][-1] == [1.0, 1.0]


def test_a_named_tuple_prints_as_torchs():
    agree(lambda torch: repr(torch.max(torch.tensor([[1.0, 3.0]]), 1)))


def test_integer_results_require_no_gradient():
    found = jaxvjp.tensor([1.0, 3.0], requires_grad=True).max(0)
    assert found.values.requires_grad
    assert not found.indices.requires_grad
    assert found.indices.grad_fn is None


def calls_of_python(program):
    """How many functions a program calls, once it is known; the least of several runs, as garbage may be collected."""

    def counted():
        calls = []
        sys.setprofile(lambda frame, event, argument: calls.append(event) if event.endswith("call") else None)
        try:
            program()
        finally:
            sys.setprofile(None)
        return len(calls)

    return min(counted() for _ in range(10))


@pytest.mark.usefixtures("one_device")
def test_a_call_with_parameters_is_as_short_as_one_with_tensors():
    # Shapes that no other test has: what could not be remembered once is not tried again.
    x, w, b = jaxvjp.ones(2, 83), jaxvjp.ones(79, 83, requires_grad=True), jaxvjp.ones(79, requires_grad=True)
    v, c = jaxvjp.nn.Parameter(w.detach()), jaxvjp.nn.Parameter(b.detach())
    linear = jaxvjp.nn.functional.linear
    # Once a class has `__torch_function__`, each call looks for it in classes other than `Tensor`: two calls more.
    assert calls_of_python(lambda: linear(x, v, c)) <= calls_of_python(lambda: linear(x, w, b)) + 2
    assert calls_of_python(lambda: (v * 2).sum()) <= calls_of_python(lambda: (w * 2).sum()) + 2
