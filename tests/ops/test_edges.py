"""Values, first and second derivatives at edges: poles, ties, overflow, branch cuts, empty tensors, 16 bits."""

from __future__ import annotations

import operator
from itertools import product
from math import inf, nan

import pytest
from oracle import agree

import jaxvjp

POLES = [-inf, -3.0, -2.5, -1.0, -1e-30, -0.0, 0.0, 1e-30, 0.004, 0.5, 1.0, 100.0, inf, nan]
"""None of them is so near to a pole that torch's own formula is off: its slope of `digamma` at -1.0 is just large."""
TIES = [-inf, -1e30, -2.0, -0.0, 0.0, 3.0, 1e30, nan]
COMPLEX = [-1j, -2.5 - 0.5j, -2 + 0j, complex(-2, -0.0), 0.5 + 0j, 3 + 1j, 1j]


def derived(torch, function, *leaves):
    """The value of a function and its gradients."""
    result = function(*leaves)
    return result, torch.autograd.grad(result, leaves, torch.ones_like(result))


@pytest.mark.parametrize("name", ["exp2", "sinc", "special.ndtr", "special.logit", "rad2deg", "erf"])
def test_functions_of_one(name):
    # The slope of logit at -0.0 is minus infinity, or infinity where torch's kernel is not vectorised.
    numbers = [each for each in POLES if (name, str(each)) != ("special.logit", "-0.0")]

    def program(torch):
        x = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
        function = torch
        for part in name.split("."):
            function = getattr(function, part)
        return derived(torch, function, x)

    agree(program, 1e-9, 1e-9)


def test_poles_of_the_gamma_functions():
    def program(torch):
        x = torch.tensor([-inf, -2.0, -1.5, -0.0, 0.0, 0.5, 30.0], dtype=torch.float64, requires_grad=True)
        zeros = torch.tensor([-0.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
        values = torch.lgamma(x), torch.digamma(x[1:]), torch.polygamma(1, x[2:]), torch.polygamma(2, x[1:])
        integers = torch.tensor([-2, 0, 1, 3])
        zeta = torch.special.zeta(torch.tensor([0.5, 1.0, 2.0, 2.5]), torch.tensor([2.0, 3.0, -1.0, -0.5]))
        slopes = [derived(torch, each, zeros) for each in (torch.lgamma, torch.digamma)]
        return values, torch.digamma(integers), torch.polygamma(2, integers), zeta, slopes

    agree(program, 1e-6, 1e-6)


@pytest.mark.parametrize("name", ["maximum", "minimum", "hypot", "logaddexp", "logaddexp2", "remainder", "fmod"])
def test_functions_of_two(name):
    def program(torch):
        remainders = name in ("remainder", "fmod")
        kept = [each for each in TIES if each == each or name not in ("hypot", "remainder", "fmod")]
        x = torch.tensor(kept[remainders:], requires_grad=True)
        y = torch.tensor([3.0, -0.0, 3.0, 3.0, 3.0, 3.0, 1e30, 3.0][: len(x)], requires_grad=True)
        return derived(torch, getattr(torch, name), x, y)

    agree(program, 1e-5, 1e-6)


def test_a_quotient_of_equals_is_one():
    """Where the divisor is repeated, XLA would multiply by its reciprocal: 5.125 * (1 / 5.125) is less than 1."""

    def program(torch):
        x = torch.full((3, 1, 2), 5.125)
        y = torch.full((4, 2), 5.125, requires_grad=True)
        slope = torch.autograd.grad(torch.remainder(x, y).sum(), y)
        y = y.detach()
        return [torch.div(x, y, rounding_mode=mode) for mode in ("trunc", "floor")], x // y, slope

    agree(program, 0.0, 0.0)


@pytest.mark.parametrize("name", ["acosh", "acos", "asin", "sqrt", "exp2"])
def test_cuts_of_the_complex_plane(name):
    def program(torch):
        z = torch.tensor(COMPLEX, dtype=torch.complex128, requires_grad=True)
        inside = torch.tensor([each for each in COMPLEX if each.real != -2], dtype=torch.complex128, requires_grad=True)
        return getattr(torch, name)(z), derived(torch, getattr(torch, name), inside)

    agree(program, 1e-9, 1e-9)


def test_extremes_that_are_not_finite_share_the_gradient():
    def program(torch):
        results = []
        for numbers in ([inf, 1.0, inf], [-inf, -inf], [2.0, nan, 5.0]):
            for name in ("max", "min"):
                x = torch.tensor(numbers, requires_grad=True)
                results.append(derived(torch, getattr(torch, name), x))
        return results

    agree(program)


FACTORS = [[2.0, 3, 4], [0, 3, 4], [2, 0, 0], [nan, 3, 4], [inf, 3, 4], [inf, -inf, 1], [2, -inf, 3], [1e200, 1e200, 2]]
EXPONENTS = [[2.0, 3, 0], [inf, 3, 4], [2, inf, 0], [inf, inf, -inf], [-inf, -inf, 2], [2, -inf, 3], [nan, inf, 0]]
NUMBERS = [*EXPONENTS, [2.0, nan, 0], [1, nan, nan], [0, 0, 0], [3, 0.1, 0]]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (FACTORS, "x.prod()"),
        (FACTORS, "x.prod(0, keepdim=True)"),
        (FACTORS, "x.cumprod(0)"),
        # Of a complex infinity XLA has another real part where it computes that alone.
        ([row for row in FACTORS if inf not in row and -inf not in row], "(x * (1 + 0j))[:2].cumprod(0).real"),
        (EXPONENTS, "x.logcumsumexp(0)"),
        (NUMBERS, "x.quantile(0.3)"),
        (NUMBERS, "x.reshape(1, 3).renorm(2, 0, 1.5)"),
        (NUMBERS[:2] + NUMBERS[3:6], "x.norm(0.5)"),
        (NUMBERS[:6], "x.norm(-1)"),
        (NUMBERS[2:3] + NUMBERS[-4:], "x.mode(0).values"),
    ],
)
def test_slopes_among_zeros_infinities_and_nan(rows, line):
    def program(torch):
        results = []
        for row in rows:
            x = torch.tensor(row, dtype=torch.float64, requires_grad=True)
            result = eval(line, {"x": x})
            weights = torch.tensor([1.5, -2.0, 3.0], dtype=torch.float64)[: result.numel()].reshape(result.shape)
            results.append((result, torch.autograd.grad(result, x, weights)))
        return results

    agree(program, 1e-9, 1e-9)


@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_curvatures_of_products(name):
    def program(torch):
        results = []
        for row in FACTORS[:3]:
            x = torch.tensor(row, dtype=torch.float64, requires_grad=True)
            (slope,) = torch.autograd.grad(getattr(x, name)(0).sum(), x, create_graph=True)
            results.append((slope, torch.autograd.grad(slope, x, torch.tensor(FACTORS[0], dtype=torch.float64))))
        return results

    agree(program, 1e-9, 1e-9)


def test_integers():
    def program(torch):
        x, small = torch.tensor([-3, -1, 0, 1, 2, 7]), torch.tensor([250, 3], dtype=torch.uint8)
        table = torch.arange(6, dtype=torch.int32).reshape(2, 3)
        return [
            x**300,
            x[3:] ** torch.tensor([-2, -1, 70]),
            torch.tensor([-1, 1, 5]) ** torch.tensor([-3, -1, -1]),
            small + 300,
            small * -3,
            small == 506,
            x + 2**63,
            x.unsqueeze(1).div(torch.tensor([[2], [-2]]).reshape(1, 2), rounding_mode="trunc"),
            torch.arange(-0.9, 2.1, 2.0, dtype=torch.int32),
            torch.linspace(4.3, -3, 50, dtype=torch.int64),
            torch.logspace(0, 1.2, 4, dtype=torch.int64),
            torch.addmv(x[:2], torch.ones(2, 3, dtype=torch.int64), x[:3], beta=0.2, alpha=2.6),
            torch.einsum("ij->i", table),
            [torch.prod(table + 50000, 1, dtype=each) for each in (torch.int32, torch.uint8, torch.bool)],
            torch.cumprod(table + 50000, 1, dtype=torch.int32),
            table.sum_to_size(2, 3),
            table.sum_to_size(1, 3),
            torch.nn.functional.softmin(small, 0, dtype=torch.float64),
            torch.trapezoid(torch.tensor([200, 100], dtype=torch.uint8)),
            torch.gradient(table)[0],
            torch.nn.functional.margin_ranking_loss(x, x + 1, x.sign(), margin=0.5),
            torch.nn.functional.interpolate(small.reshape(1, 1, 1, 2), (2, 5), mode="bilinear"),
        ]

    agree(program)


@pytest.mark.parametrize(
    "line",
    [
        "x // 0",
        "x % 0",
        "torch.fmod(x, 0)",
        "x**-1",
        "x.bool() // x.bool()",
        "x // (x - 3)",
        "x.remainder_(x - 4)",
        "torch.fmod(x.int(), torch.tensor(False))",
        "torch.div(x, x.byte() - 4, rounding_mode='floor')",
        "5 % x.sub(4)",
        "[x // (x - each) for each in (1, 2, 3)]",
        "[operator.imod(x, x.new_tensor([each, each])) for each in (3, 2, 0)]",
        "torch.diff(x, prepend=x.reshape(1, 2))",
        "torch.diff(x.reshape(1, 2), n=0, append=x.reshape(2, 1))",
    ],
)
def test_integers_refused(line):
    assert agree(lambda torch: eval(line, {"torch": torch, "operator": operator, "x": torch.tensor([3, 4])})).error


REFUSED = """
torch.lerp(x, x, i); torch.lerp(x, x, 1j); torch.lerp(x.half(), x, 0.5); torch.lerp(x.bool(), x.bool(), 0.5)
torch.fft.rfftn(x + 0j); torch.fft.ihfft2(x.reshape(1, 2) + 0j); torch.fft.irfft2(x.reshape(2, 1))
torch.fft.fft2(x.reshape(1, 2), out=x); torch.fft.irfft(x, out=x + 0j); torch.fft.fftfreq(4, dtype=torch.int64)
torch.fft.rfftfreq(4, dtype=torch.bool); torch.fft.fftfreq(-1); torch.cat([x, i], out=i); torch.stack([x, x], out=i)
i.bitwise_and_(x); operator.iand(i, 1.5); operator.ilshift(i, x); i.gcd_(x); ~x; operator.iand(x, 1); +i.bool()
"""


@pytest.mark.parametrize("line", [each.strip() for each in REFUSED.replace("\n", ";").split(";") if each.strip()])
def test_refused(line):
    def program(torch):
        x, i = torch.tensor([1.5, 2.0]), torch.tensor([3, 4])
        return eval(line, {"torch": torch, "operator": operator, "x": x, "i": i})

    assert agree(program).error is not None


def test_a_weight_of_another_type():
    """A tensor without dimensions is promoted like any other operand."""

    def program(torch):
        x, i = torch.tensor([1.5, 2.0], requires_grad=True), torch.tensor([3, 4])
        weight = torch.tensor(0.25, dtype=torch.float64, requires_grad=True)
        result = torch.lerp(x, x + 1, weight)
        none = torch.fft.fftfreq(0), torch.fft.rfftfreq(0), torch.fft.fftfreq(4, 0.0)
        return (
            result,
            torch.autograd.grad(result.sum(), (x, weight)),
            torch.lerp(i, i + 2, weight.detach()),
            +x,
            ~i,
            none,
        )

    agree(program)


def test_zero_divides_nothing_and_what_is_no_integer():
    def program(torch):
        x, none = torch.tensor([3, 4]), torch.tensor([], dtype=torch.int64)
        return x // torch.tensor(0.0), 5.0 // (x - 3), x / (x - 3), none // 0, none % torch.tensor([0])

    agree(program)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
def test_norms_of_nothing(shape):
    for order, dim in product([inf, -inf, -1.5, 2, 3], [None, (), 0, -2, (0, -1)]):
        agree(lambda torch, order=order, dim=dim: torch.linalg.vector_norm(torch.ones(shape), order, dim))
        agree(lambda torch, order=order, dim=dim: torch.ones(shape).norm(order, dim))
    for order, dims, keepdim in product([1, -1, inf, -inf, 2, -2, "nuc", "fro"], [(-2, -1), (1, 0)], [False, True]):
        agree(lambda torch, it=(order, dims, keepdim): torch.linalg.matrix_norm(torch.ones(shape), *it))
    for name, order in product(["normalize", "dist", "pairwise_distance"], [inf, -1.0, 2.0]):

        def program(torch, name=name, order=order):
            x = torch.ones(shape)
            where = torch if name == "dist" else torch.nn.functional
            return getattr(where, name)(*[x] * (1 + (name != "normalize")), p=order)

        agree(program)


def test_nothing():
    def program(torch):
        none = torch.ones(3, 0)
        inner, edge = torch.ones(2, 3, requires_grad=True), torch.ones(2, 1, requires_grad=True)
        return [
            torch.trapezoid(none, dim=1),
            torch.cumulative_trapezoid(none),
            torch.diff(torch.ones(2, 3), n=0, prepend=edge),
            torch.autograd.grad(torch.diff(inner, n=0, prepend=edge).sum(), (inner, edge), allow_unused=True),
            torch.amax(none, 0),
            torch.nn.functional.batch_norm(torch.ones(0), torch.ones(0), torch.ones(0)),
            torch.nn.functional.local_response_norm(torch.ones(0, 1, 2, dtype=torch.int64), 1),
            torch.cov(torch.ones(1, 3)),
            torch.fft.fftfreq(0),
            torch.fft.rfftfreq(0),
            torch.fft.fftfreq(4, 0.0),
            torch.std_mean(torch.tensor([1.0, 2.0]), dim=None, correction=None),
        ]

    agree(program)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_sixteen_bits_are_summed_up_in_more(name):
    """A sum of ones in bfloat16 never gets beyond 256; torch's kernels sum up in float32 and round once."""

    def program(torch):
        own, functional = getattr(torch, name), torch.nn.functional
        ones, many = torch.ones(700, 2, dtype=own), torch.full((1, 1, 700), 0.3, dtype=own)
        row = torch.zeros(2, dtype=own, requires_grad=True)
        line = torch.ones(30, 2, 40, dtype=own)
        kernel, bias = torch.ones(2, 1, 3, dtype=own), torch.zeros(2, dtype=own, requires_grad=True)
        sums = (ones + row).sum() + (ones * row).sum() + functional.linear(ones, torch.ones(2, 2, dtype=own), row).sum()
        convolved = functional.conv1d(line, kernel, bias, groups=2).sum()
        small = torch.arange(7, dtype=own) / 3
        return [
            torch.autograd.grad(sums, row),
            torch.autograd.grad(convolved, bias),
            functional.avg_pool1d(many, 700),
            many.mean(),
            many.var(),
            many.cumsum(-1)[..., -1],
            functional.softmax(small, 0),
            functional.gelu(small),
            functional.silu(small),
            torch.logaddexp(small, small.flip(0)),
        ]

    agree(program, 1e-2 if name == "bfloat16" else 2e-3, 1e-6)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_a_kernels_gradient_is_summed_up_in_more(name):
    """By itself, as torch's depends on the CPU: without AVX-512 it gives 1168 in bfloat16."""
    own = getattr(jaxvjp, name)
    kernel = jaxvjp.ones(2, 1, 3, dtype=own, requires_grad=True)
    jaxvjp.nn.functional.conv1d(jaxvjp.ones(30, 2, 40, dtype=own), kernel, groups=2).sum().backward()
    assert (kernel.grad == jaxvjp.tensor(30 * 38, dtype=own)).all()


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_signs_of_zeros(name):
    """Told by the infinities that divisions by them give."""

    def program(torch):
        own, functional = getattr(torch, name), torch.nn.functional
        zeros = torch.tensor([0.0, -0.0], dtype=own, requires_grad=True)
        found = [torch.sign(zeros), torch.sgn(zeros), torch.special.i1(zeros), torch.special.i1e(zeros)]
        found += [functional.tanhshrink(zeros), functional.logsigmoid(zeros + 800)]
        found += [torch.nextafter(zeros, zeros.detach().flip(0)), torch.nextafter(zeros, zeros.detach() + 1)]
        slopes = [torch.autograd.grad(each.sum(), zeros, retain_graph=True)[0] + zeros.detach() for each in found]
        return [1 / each for each in found], slopes

    agree(program)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_where_functions_of_gamma_are_nearly_zero_and_where_they_end(name):
    def program(torch):
        own = getattr(torch, name)
        unit = torch.finfo(own).eps
        numbers = [1 - unit, 1, 1 + unit, 1.0625, 0.75, 2 - unit, 2, 2 + 2 * unit]
        numbers += [1.9375, 2.5, 3, 3.4375, -1e38, -2, 40]
        x = torch.tensor(numbers, dtype=own, requires_grad=True)
        y, z = torch.lgamma(x), torch.digamma(x)
        order, start = torch.tensor([1e38, inf, 3, 1e4, 60], dtype=own), torch.tensor([1, 1, 1e-38, 3, 1.5], dtype=own)
        return y, z, torch.autograd.grad(y.sum() * 1, x), torch.special.zeta(order, start)

    agree(program, 4e-6 if name == "float32" else 1e-14, 0.0)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_tails_of_the_normal_distribution(name):
    """XLA takes `erfc` of 9.2 in float32, and of 26.6 in float64, as 0."""

    def program(torch):
        x = torch.tensor([-5.0, 8.9, 9.1, 9.2, 9.3, 9.5, 26.0, 26.5, 26.6, 26.7, 1e4, 1e30], dtype=getattr(torch, name))
        x.requires_grad_()
        y = torch.special.erfcx(x)
        z = torch.special.log_ndtr(torch.tensor([-12.9, -13.0, -13.1, -37.6, -40], dtype=x.dtype))
        return y, torch.autograd.grad(y[:9].sum(), x), z

    agree(program, 1e-3 if name == "float32" else 1e-9, 0.0)
