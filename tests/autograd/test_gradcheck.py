"""`gradcheck` and `gradgradcheck`: they pass right gradients and, above all, reject wrong ones, as torch does."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from oracle import agreement_of, live, raises

import jaxvjp
from jaxvjp.autograd import gradcheck, gradgradcheck
from jaxvjp.autograd.gradcheck import GradcheckError

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def leaf(torch, *values, dtype="float64"):
    return torch.tensor(list(values), dtype=getattr(torch, dtype), requires_grad=True)


def squaring(torch, backward):
    """A Function that squares, with a backward step of one's own."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

    Square.backward = staticmethod(backward)
    return Square.apply


def checked(torch, function, *inputs, second=False, **named):
    check = torch.autograd.gradgradcheck if second else torch.autograd.gradcheck
    try:
        return check(function, inputs, **named)
    except RuntimeError as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


@program
def what_ops_compute(torch):
    x, m = leaf(torch, 0.5, -1.5, 2.0), torch.tensor([[0.2, 0.3, 1.0]], dtype=torch.float64, requires_grad=True)
    f = lambda x, m: ((m @ x).sin() * x.exp(), (m * m).sum() / x)  # noqa: E731
    return checked(torch, f, x, m), checked(torch, f, x, m, second=True), checked(torch, f, x, m, fast_mode=True)


@program
def a_right_function(torch):
    right = squaring(torch, lambda ctx, g: 2 * ctx.saved_tensors[0] * g)
    x = leaf(torch, 1.0, -2.0)
    return checked(torch, right, x), checked(torch, right, x, second=True)


@program
@raises(RuntimeError)
def a_wrong_function(torch):
    return checked(torch, squaring(torch, lambda ctx, g: 3 * ctx.saved_tensors[0] * g), leaf(torch, 1.0, -2.0))


@program
@raises(RuntimeError)
def a_wrong_function_in_fast_mode(torch):
    wrong = squaring(torch, lambda ctx, g: 3 * ctx.saved_tensors[0] * g)
    return checked(torch, wrong, leaf(torch, 1.0, -2.0), fast_mode=True)


@program
@raises(RuntimeError)
def a_gradient_that_is_slightly_wrong(torch):
    return checked(torch, squaring(torch, lambda ctx, g: 2.01 * ctx.saved_tensors[0] * g), leaf(torch, 1.0, -2.0))


@program
def one_that_rtol_lets_pass(torch):
    nearly = squaring(torch, lambda ctx, g: 2.01 * ctx.saved_tensors[0] * g)
    return checked(torch, nearly, leaf(torch, 1.0, -2.0), rtol=0.1)


@program
def a_wrong_function_without_an_exception(torch):
    wrong = squaring(torch, lambda ctx, g: 3 * ctx.saved_tensors[0] * g)
    return checked(torch, wrong, leaf(torch, 1.0), raise_exception=False)


@program
@raises(RuntimeError)
def a_right_gradient_with_a_wrong_second_one(torch):
    half = squaring(torch, lambda ctx, g: 2 * ctx.saved_tensors[0].detach() * g)
    x = leaf(torch, 1.0, -2.0)
    return checked(torch, half, x), checked(torch, half, x, second=True)


@program
@raises(RuntimeError)
def the_second_output_is_wrong_in_its_second_input(torch):
    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w, x + w

        @staticmethod
        def backward(ctx, g, h):
            x, w = ctx.saved_tensors
            return g * w + h, g * x - h

    return checked(torch, Pair.apply, leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0))


@program
@raises(RuntimeError)
def a_backward_that_forgets_its_argument(torch):
    return checked(torch, squaring(torch, lambda ctx, g: 2 * ctx.saved_tensors[0]), leaf(torch, 1.0))


@program
@raises(RuntimeError)
def a_backward_that_differs_from_call_to_call(torch):
    calls = []

    def backward(ctx, g):
        calls.append(1)
        return 2 * ctx.saved_tensors[0] * g * (1 + 1e-7 * len(calls))

    return checked(torch, squaring(torch, backward), leaf(torch, 1.0, -2.0))


@program
def one_that_nondet_tol_lets_pass(torch):
    calls = []

    def backward(ctx, g):
        calls.append(1)
        return 2 * ctx.saved_tensors[0] * g * (1 + 1e-7 * len(calls))

    return checked(torch, squaring(torch, backward), leaf(torch, 1.0, -2.0), nondet_tol=1e-4)


@program
@raises(RuntimeError)
def a_function_whose_values_differ_from_call_to_call(torch):
    calls = []

    def drifting(x):
        calls.append(1)
        return x * x * (1 + 1e-3 * len(calls))

    return checked(torch, drifting, leaf(torch, 1.0, -2.0))


@program
def an_input_that_requires_no_gradient_is_left_alone(torch):
    constant = torch.tensor([2.0, 3.0], dtype=torch.float64)
    return checked(torch, lambda c, x: c * x, constant, leaf(torch, 1.0, 2.0)), constant


@program
def an_output_that_requires_none_is_left_out(torch):
    return checked(torch, lambda x: (x.detach() * 2, x * x), leaf(torch, 1.0, 2.0))


@program
@raises(RuntimeError)
def an_output_that_is_cut_off(torch):
    return checked(torch, lambda x: x.detach() * 2, leaf(torch, 1.0, 2.0))


@program
def an_unused_input(torch):
    return checked(torch, lambda x, w: x * x, leaf(torch, 1.0), leaf(torch, 2.0))


@program
def a_tensor_that_the_function_holds_on_to(torch):
    w = leaf(torch, 3.0, 4.0)
    result = checked(torch, lambda _: w * w, w)
    return result, w, w.grad


@program
def numbers_and_several_dimensions(torch):
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    return checked(torch, lambda x, m: (x * m, x * m.sum()), x, m)


@program
@raises(RuntimeError)
def float32_is_too_coarse(torch):
    return checked(torch, lambda x: x * x, leaf(torch, 1.0, 1000.0, dtype="float32"))


@program
def a_single_tensor_as_inputs(torch):
    return torch.autograd.gradcheck(lambda x: x * x, leaf(torch, 1.0))


@program
@raises(ValueError)
def nothing_to_check(torch):
    return checked(torch, lambda x: x * x, torch.tensor([1.0], dtype=torch.float64))


@program
@raises(AssertionError)
def no_direction_to_check(torch):
    return checked(torch, lambda x: x * x, leaf(torch, 1.0), check_backward_ad=False)


@program
def given_cotangents(torch):
    x, v = leaf(torch, 1.0, 2.0), leaf(torch, 0.5, -1.0)
    return torch.autograd.gradgradcheck(lambda x: x**3, x, v)


@program
def outputs_without_a_gradient_count_as_zeros(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            return g + 2 * h

    return checked(torch, Two.apply, leaf(torch, 1.0))


@program
def a_kink(torch):
    return checked(torch, lambda x: x.abs(), leaf(torch, 0.0))


@program
@raises(ValueError)
def forward_mode_and_batches(torch):
    def f(x, w):
        return (x * w).exp(), (x @ w).sin()

    x, w = leaf(torch, 0.5, -1.0), leaf(torch, 1.5, 2.0)
    return checked(torch, f, (x, w), check_forward_ad=True, check_batched_grad=True)


@program
def forward_mode_alone(torch):
    return checked(
        torch, lambda x: x.tanh() * x[0], leaf(torch, 0.5, -1.0), check_forward_ad=True, check_backward_ad=False
    )


@program
@raises(RuntimeError)
def a_wrong_forward_mode(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

        @staticmethod
        def jvp(ctx, tangent):
            return 3 * ctx.saved_tensors[0] * tangent

    checked(torch, Wrong.apply, leaf(torch, 0.5, -1.0), check_forward_ad=True, check_undefined_grad=False)


@program
def complex_inputs_and_outputs(torch):
    z, x = leaf(torch, 1 + 2j, -0.5j, dtype="complex128"), leaf(torch, 0.5, 2.0)
    f = lambda z, x: (z * z * x + z.exp(), z.abs(), x * 1j, x.sin())  # noqa: E731
    every = {"check_batched_grad": True, "check_forward_ad": True, "check_batched_forward_grad": True}
    return (
        checked(torch, lambda z: z * z * 1j, z, **every),
        checked(torch, f, z, x, check_batched_grad=True),
        checked(torch, f, z, x, fast_mode=True, check_forward_ad=True),
        checked(torch, f, z, x, second=True),
        checked(torch, f, z, x, second=True, check_fwd_over_rev=True, check_batched_grad=True),
    )


def conj(torch, z):
    return torch.tensor(np.conj(z.detach().numpy()))


def twice_conjugated(torch, backward, jvp):
    """A Function that doubles a complex tensor."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            return z * 2

    Double.backward, Double.jvp = staticmethod(backward), staticmethod(jvp)
    return Double.apply


@program
@raises(RuntimeError)
def a_conjugate_forgotten_backward(torch):
    wrong = twice_conjugated(torch, lambda ctx, g: 2 * conj(torch, g), lambda ctx, t: 2 * t)
    checked(torch, wrong, leaf(torch, 1 + 2j, 3j, dtype="complex128"))


@program
@raises(RuntimeError)
def a_conjugate_forgotten_backward_in_fast_mode(torch):
    wrong = twice_conjugated(torch, lambda ctx, g: 2 * conj(torch, g), lambda ctx, t: 2 * t)
    checked(torch, wrong, leaf(torch, 1 + 2j, 3j, dtype="complex128"), fast_mode=True)


@program
@raises(RuntimeError)
def a_conjugate_forgotten_forward(torch):
    wrong = twice_conjugated(torch, lambda ctx, g: 2 * g, lambda ctx, t: 2 * conj(torch, t))
    z = leaf(torch, 1 + 2j, 3j, dtype="complex128")
    assert torch.autograd.gradcheck(wrong, z)
    checked(torch, wrong, z, check_forward_ad=True, check_undefined_grad=False)


@program
@raises(RuntimeError)
def a_real_part_that_is_wrong(torch):
    wrong = twice_conjugated(torch, lambda ctx, g: g * 2 + (g + conj(torch, g)), lambda ctx, t: 2 * t)
    checked(torch, wrong, leaf(torch, 1 + 2j, dtype="complex128"))


@program
def forward_over_reverse(torch):
    x, m = leaf(torch, 0.5, -1.5), leaf(torch, 1.0, 2.0)
    f = lambda x, m: (x.exp() * m, (x * m).sum())  # noqa: E731
    return (
        checked(torch, f, x, m, second=True, check_fwd_over_rev=True),
        checked(
            torch, f, x, m, second=True, check_fwd_over_rev=True, check_rev_over_rev=False, check_undefined_grad=False
        ),
        checked(torch, f, x, m, second=True, gen_non_contig_grad_outputs=True, check_undefined_grad=False),
    )


@program
@raises(AssertionError)
def no_second_direction(torch):
    checked(torch, lambda x: x * x, leaf(torch, 1.0), second=True, check_rev_over_rev=False)


@program
@raises(AssertionError)
def undefined_gradients_of_a_direction_that_is_not_checked(torch):
    checked(torch, lambda x: x * x, leaf(torch, 1.0), second=True, check_rev_over_rev=False, check_fwd_over_rev=True)


@program
@raises(AssertionError)
def batches_of_a_direction_that_is_not_checked(torch):
    checked(torch, lambda x: x * x, leaf(torch, 1.0), check_batched_forward_grad=True)


@program
@raises(AssertionError)
def batches_of_the_other_direction(torch):
    named = {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True}
    checked(torch, lambda x: x * x, leaf(torch, 1.0), **named)


@program
@raises(RuntimeError)
def an_undefined_tangent_that_is_not_zero(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.set_materialize_grads(False)
            return x + w

        @staticmethod
        def jvp(ctx, t, u):
            return t + u if t is not None and u is not None else 5 * (t if u is None else u)

    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    try:
        torch.autograd.gradcheck(Wrong.apply, (x, w), check_forward_ad=True, check_backward_ad=False)
    except RuntimeError as error:
        raise RuntimeError("".join(map(str, error.args))[:50]) from error


def an_output_whose_shape_changes(torch):
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    try:
        torch.autograd.gradcheck(lambda x: torch.cat([x, x]) if x.item() >= 1 else x, (x,))
    except AssertionError as error:
        return "with the same shape when inputs are perturbed" in str(error)


def how_often_a_jvp_is_called(torch):
    calls = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x, y):
            calls.append((x.requires_grad, y.requires_grad))
            return x, y

    x, y = (torch.ones(1, dtype=torch.float64, requires_grad=True) for _ in range(2))
    counts = []
    for batched in (False, True):
        torch.autograd.gradcheck(
            Both.apply,
            (x, y),
            check_forward_ad=True,
            check_backward_ad=False,
            check_batched_forward_grad=batched,
        )
        counts.append(len(calls))
    return counts


test_agrees_with_torch = agreement_of(PROGRAMS)


def test_float32_is_warned_of():
    x = jaxvjp.tensor([1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        gradcheck(lambda x: 2 * x, x, atol=0.1)


def test_the_message_shows_both_jacobians():
    wrong = squaring(jaxvjp, lambda ctx, g: 3 * ctx.saved_tensors[0] * g)
    with pytest.raises(GradcheckError, match=r"(?s)numerical:.*2\..*-4\..*analytical:.*3\..*-6\."):
        gradcheck(wrong, leaf(jaxvjp, 1.0, -2.0))


def test_the_input_is_as_before_also_after_an_error():
    x = leaf(jaxvjp, 0.1, 0.2)

    def fails(x):
        if x[0].item() > 0.1:
            raise KeyError("inside")
        return x * x

    before = x.tolist()
    with pytest.raises(KeyError, match="inside"):
        gradcheck(fails, x)
    assert x.tolist() == before
    assert x.is_leaf
    assert x.requires_grad


def test_numpy_inside_a_function_is_checked():
    class Cube(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.array = np.array(x.detach().numpy())
            return jaxvjp.tensor(ctx.array**3)

        @staticmethod
        def backward(ctx, g):
            return g * jaxvjp.tensor(3 * ctx.array**2)

    assert gradcheck(Cube.apply, leaf(jaxvjp, 1.0, 2.0))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(Cube.apply, leaf(jaxvjp, 1.0, 2.0))


def test_the_function_and_its_module_share_a_name():
    assert callable(jaxvjp.autograd.gradcheck)
    assert importlib.import_module("jaxvjp.autograd.gradcheck").GradcheckError is GradcheckError
    assert issubclass(GradcheckError, RuntimeError)
    assert live is None or callable(live.autograd.gradcheck)
