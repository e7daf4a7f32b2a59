"""Python numbers as operands: beside 16-bit tensors, and integers of more than 64 bits."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Outcome, agree, theirs

import jaxvjp
from jaxvjp.ops.arguments import EITHER, SCALAR
from jaxvjp.ops.op import ARITHMETIC, FLOAT, REGISTRY

NUMBERS = [0.1, 1 / 3, -1.3, 65504.5, 1e-8, 2**20 + 1, 4097]
"""Of which 16 bits hold none; float16 has neither the large ones nor the small one."""
EXACT = {
    "add": "x + n; n + x; x.clone().add_(n); torch.add(x, n, alpha=2); x + t; t + x",
    "add.scaled": "torch.add(x, y, alpha=n); torch.add(x, 0.3, alpha=n); x.clone().add_(y, alpha=n)",
    "sub": "x - n; x.clone().sub_(n); x - t",
    "sub.scaled": "torch.sub(x, y, alpha=n); torch.sub(x, 0.3, alpha=n)",
    "rsub": "n - x; torch.rsub(x, n); t - x",
    "rsub.scaled": "torch.rsub(x, y, alpha=n); torch.rsub(x, 0.3, alpha=n)",
    "mul": "x * n; n * x; torch.mul(x, n); x.clone().mul_(n); x[0] * n; x * n * 0.3 * n; (x + n) * n",
    "mul by a tensor without dimensions": "x * t; t * x; x * s; x * i; x * v; x.clone().mul_(t); x[:1] * t; x[0] * t",
    "div": "x / n; torch.div(x, n); x.clone().div_(n); x[0] / n; x / t; t / x; x / s; x / i; x / v; x.clone().div_(t)",
    "rdiv": "n / x",
    "div.rounded": "x.div(n, rounding_mode='floor'); x.div(n, rounding_mode='trunc'); x.div(t, rounding_mode='trunc')",
    "floor_divide": "x // n; x // t; x.clone().floor_divide_(n)",
    "remainder": "x % n; n % x; x % t; x.clone().remainder_(n)",
    "fmod": "torch.fmod(x, n); torch.fmod(x, t); x.clone().fmod_(n)",
    "pow": "z ** n; n ** x; z ** t; z.clone().pow_(n)",
    "clamp": "x.clamp(n, 2 * n); x.clamp(min=n); x.clamp(max=n); x.clone().clamp_(min=n); x.clamp(min=t)",
    "clamp_min": "x.clamp_min(n)",
    "clamp_max": "x.clamp_max(n)",
    "copysign": "torch.copysign(x, n)",
    "where": "torch.where(x > 0, x, n); torch.where(x > 0, n, x); torch.where(x > 0, x, t)",
    "addcmul": "torch.addcmul(x, y, z, value=n); x.clone().addcmul_(y, z, value=n); torch.addcmul(x, y, t)",
    "addcdiv": "torch.addcdiv(x, y, z, value=n); x.clone().addcdiv_(y, z, value=n)",
    "lerp": "torch.lerp(x, y, n); x.clone().lerp_(y, n)",
    "lerp.promoting": "torch.lerp(x, y, t)",
    "comparisons": "x == n; x != n; x < n; x <= n; x > n; x >= n; x == t; x < t; x.clone().eq_(n); torch.isin(x, n)",
    "fill": "x.masked_fill(x > 0, n); x.clone().fill_(n); x.index_fill(0, p[:5], n); x.scatter(0, p[:5], n)",
    "pad": "torch.nn.functional.pad(x, (1, 1), value=n)",
    "index_add": "x.index_add(0, p, y, alpha=n)",
}
"""By row what torch's kernels give to the last digit. Where they refuse a number here is torch's error."""
ROUGH = {
    "xlogy": "torch.xlogy(z, n); torch.xlogy(n, z)",
    "special_xlog1py": "torch.special.xlog1py(z, abs(n)); torch.special.xlog1py(n, z)",
    "addr": "torch.addr(m, y[:16], z[:20], beta=n); torch.addr(m, y[:16], z[:20], alpha=n)",
    "addmm": "torch.addmm(m, m @ m.mT / 99, m, beta=n); torch.addmm(m, m @ m.mT / 99, m, alpha=n)",
    "gaussian_nll_loss": "torch.nn.functional.gaussian_nll_loss(x, y, abs(n) + 0.5, reduction='none')",
    "trapezoid": "torch.trapezoid(m * m, dx=n); torch.cumulative_trapezoid(m * m, dx=n)",
}
"""By row what torch itself rounds in the middle of the formula."""
WITHOUT_16_BITS = ("bitwise_", "special_zeta", "_polynomial_", ".integers")
"""Of what there is no such op in 16 bits."""
VALUES = [np.random.RandomState(seed).randn(320) for seed in range(3)]  # torch's kernels round otherwise at an odd end


def run(torch, name, line, number):
    own = getattr(torch, name)
    x, y, z = [torch.tensor(each, dtype=own) for each in VALUES]
    scope = {"torch": torch, "x": x, "y": y, "z": z.abs() + 0.5, "m": x.reshape(16, 20), "n": number}
    other = torch.bfloat16 if own is torch.float16 else torch.float16
    for letter, dtype in (("t", torch.float64), ("s", torch.float32), ("i", torch.int64), ("v", other)):
        scope[letter] = torch.tensor(int(number) if letter == "i" else number, dtype=dtype)
    return eval(line, {**scope, "p": torch.arange(319, -1, -1)})


def compared(name, line, numbers, units, exact):
    """How many units in the last place of the largest the results are off at most, and how many are `exact`."""
    unit = units * {"float16": 2.0**-10, "bfloat16": 2.0**-7}[name]
    for number in numbers:

        def program(torch, number=number):
            return run(torch, name, line, number)

        expected, ours = theirs(program, 2 * unit, 2 * unit), Outcome(program, jaxvjp)
        assert ours.raised == expected.raised, (line, number)
        if expected.raised is None:
            assert ours.value[:4] == expected.value[:4], (line, number)
            a, b = np.asarray(expected.value[-1], float), np.asarray(ours.value[-1], float)
            largest = np.abs(a[np.isfinite(a)]).max(initial=0)
            assert np.allclose(b, a, unit, 0 if exact else 2 * unit * largest, equal_nan=True), (line, number)
            assert np.isclose(b, a, 0, 0, equal_nan=True).mean() >= exact, (line, number)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("row", EXACT)
def test_beside_16_bits_to_the_last_digit(row, name):
    """All but a few at most, which a fused multiplication and addition rounds otherwise; of numbers that are rounded
    themselves a third would be another."""
    for line in EXACT[row].split("; "):
        compared(name, line, NUMBERS, 1, exact=0.97)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("row", ROUGH)
def test_beside_16_bits(row, name):
    for line in ROUGH[row].split("; "):
        compared(name, line, (0.1, 1 / 3, -1.3, 4097), 4, exact=0)


def test_every_row_that_takes_numbers_is_compared():
    rows = {row.name for row in REGISTRY.values() if row.promotion in (ARITHMETIC, FLOAT)}
    taking = {name for name in rows if {EITHER, SCALAR} & set(REGISTRY[name].roles)}
    assert {each for each in taking if not any(part in each for part in WITHOUT_16_BITS)} <= {*EXACT, *ROUGH}


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_gradients_beside_16_bits(name):
    """Of 16 bits, and those of what is computed with the number in float32; of a tensor without dimensions, too."""

    def program(torch, own=None):
        own = getattr(torch, name)
        x, y, z = [torch.tensor(each, dtype=own, requires_grad=True) for each in VALUES]
        t = torch.tensor(1 / 3, requires_grad=True)
        for part in (x * 0.1 / 3, torch.lerp(x, y, 0.3), torch.addcmul(x, y, z, value=0.1), torch.add(x, y, alpha=0.1)):
            part.backward(torch.tensor(VALUES[0], dtype=own))
        (x * t)[:3].backward(torch.tensor([0.1, 1.0, 3.0], dtype=own))
        return x.grad, y.grad, z.grad, repr(t.grad.dtype), round(t.grad.item(), 1)

    agree(program, 0.0, 2.0**-9 if name == "float16" else 2.0**-6)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_a_staged_step_has_its_numbers_in_float32_too(name):
    expected = [theirs(lambda torch, n=n: run(torch, name, "x * n / 0.7", n)).value[-1] for n in NUMBERS]
    step = jaxvjp.jit(lambda x, factor: x * factor / 0.7)
    alike = jaxvjp.jit(lambda x: x * 0.1 / 0.7)
    for number, each in zip(NUMBERS, expected, strict=True):
        assert step(run(jaxvjp, name, "x", 1), number).tolist() == each
    for _ in range(12):  # from the ninth call on the numbers are constants of the program
        assert alike(run(jaxvjp, name, "x", 1)).tolist() == expected[0]


SCALARS = """
torch.add(x, y, alpha=t); torch.sub(x, y, alpha=t); torch.rsub(x, y, alpha=t); x.detach().clone().add_(y, alpha=t)
torch.addcmul(x, y, y, value=t); torch.addmv(x, m, y, beta=t, alpha=t * 2); x.index_add(0, i, y, alpha=t)
x.add(i, alpha=t); torch.add(x, y, alpha=t.double()); torch.add(x, y, alpha=t.long()); torch.add(x, y, alpha=t > 0)
torch.add(x, y, alpha=w); torch.add(x, y, alpha=x); torch.add(i, i, alpha=t); torch.add(i, i, alpha=t.long())
torch.add(x, y, alpha=t + 1j)
torch.add(x.double(), y.double(), alpha=t.double()); torch.add(2, y, alpha=t)
torch.autograd.forward_ad.unpack_dual(torch.add(dual, dual, alpha=dual.detach().sum())).tangent
"""


@pytest.mark.parametrize("line", [each.strip() for each in SCALARS.replace("\n", ";").split(";") if each.strip()])
def test_a_tensor_for_a_number(line):
    """It has no derivative, is no edge of the graph, and is checked at each call."""

    def program(torch):
        x, y = torch.tensor([1.5, 2.0], requires_grad=True), torch.tensor([0.25, -3.0])
        own = {"x": x, "y": y, "m": torch.tensor([[1.0, 2.0], [-1.0, 0.5]]), "i": torch.tensor([0, 1]), "torch": torch}
        w = torch.tensor(0.3, requires_grad=True)
        with torch.autograd.forward_ad.dual_level():
            own["dual"] = torch.autograd.forward_ad.make_dual(y, torch.ones(2))
            for t in (w.detach(), torch.tensor(0.7)):
                found = eval(line, {**own, "w": w, "t": t})
        if found.requires_grad:
            found.sum().backward()
            return found, x.grad, len(found.grad_fn.next_functions)
        return found

    agree(program, 1e-6, 1e-6)


def test_a_tensor_for_a_number_is_not_read():
    x, t = jaxvjp.ones(3), jaxvjp.ones(()) * 0.5
    computed = jaxvjp.add(x, x, alpha=t)
    assert t.__node__.value is None
    assert computed.tolist() == [1.5, 1.5, 1.5]


def test_tensors_of_another_type_are_no_numbers():
    def program(torch):
        x = torch.ones(2, dtype=torch.float16)
        return torch.lerp(x, torch.tensor(2.0), 0.5)

    assert agree(program).error is not None


@pytest.mark.compiled
def test_other_numbers_are_no_other_program():
    x = run(jaxvjp, "float16", "x", 1)
    (x * 0.5).tolist()
    compiled = jaxvjp.counters.compiles
    for number in NUMBERS:
        (x * number).tolist()
    assert jaxvjp.counters.compiles == compiled


LARGE = """
x + n; x - n; n - x; x * n; n * x; x / n; n / x; x ** n; n ** x; x // n; x % n; n % x; x == n; x < n; n <= x
x.add_(n); x.mul_(n); x.sub_(n); x.div_(n); x.pow_(n); x.fill_(n); x.eq_(n); torch.add(x, n); torch.mul(n, x)
torch.rsub(x, n); torch.add(x, x, alpha=n); torch.full((2,), n); torch.full((2,), n, dtype=torch.float32)
torch.full_like(x, n); x.new_full((2,), n); torch.scalar_tensor(n); torch.arange(n, n + 2); torch.linspace(0, n, 2)
x.clamp(max=n); x.clamp_min(n); torch.where(x > 0, x, n); torch.where(x > 0, n, 1.0); x.masked_fill_(x > 0, n)
torch.lerp(x, x, n); x.addcmul_(x, x, value=n); x.index_fill(0, torch.tensor([0]), n)
x.scatter(0, torch.tensor([0]), n); torch.fmod(x, n); torch.xlogy(x, n); i / n; torch.float_power(n, x)
torch.isin(x, n); torch.bucketize(n, x); torch.trapezoid(x, dx=n); torch.result_type(x, n); i + n; x.sum() * n; c * n
h * n; h + n; torch.nn.functional.leaky_relu(x, n); torch.nn.functional.elu(x, n); x.norm(n); x.relu_() * n
torch.nn.functional.threshold_(x, 0, n); torch.dist(x, x, n); torch.var(x, correction=n)
torch.tensor(n, dtype=torch.float32); x.__setitem__(0, n); x.__setitem__(slice(None), n); x.__setitem__(x > 0, n)
i.__setitem__(0, n); x.__setitem__(0, n // 128)
"""


@pytest.mark.parametrize("line", [each.strip() for each in LARGE.replace("\n", ";").split(";") if each.strip()])
def test_integers_of_more_than_64_bits(line):
    """torch's error for those of more, nothing changed, and no memory of calls with smaller ones that knows better."""

    def program(torch):
        found = []
        for number in (3, 2**63 - 1, 2**64 - 1, 2**64, 2**70, -(2**70)):
            x, i = torch.tensor([1.5, -2.0, 3.0]), torch.tensor([1, 2])
            scope = {"torch": torch, "i": i, "c": torch.tensor([1j]), "h": x.half(), "n": number}
            for operand in (x.clone(), x.clone(), x):
                try:
                    eval(line, {**scope, "x": operand})
                except Exception as error:
                    found.append((number, type(error).__name__, str(error).partition("\n")[0], operand.tolist()))
        return found

    agree(program)


def test_explained_they_are_what_the_line_says():
    x = run(jaxvjp, "bfloat16", "x[:2]", 1).requires_grad_()
    t = jaxvjp.tensor(3.5)
    y = (0.1 * x / 3 + 1 / x + x * t).sum()
    assert "0.1 * x / 3 + jnp.reciprocal(x) * 1 + x * t.astype(jnp.bfloat16)" in str(jaxvjp.explain(y))
