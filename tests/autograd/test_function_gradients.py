"""What the `backward` of a custom Function may return: how many gradients, of which shapes and dtypes, or None."""

from __future__ import annotations

from functools import partial

import numpy as np
from functions import case, computed, custom, leaf
from oracle import agreement_of, programs_of, raises

import jaxvjp
from jaxvjp.core.record.versions import next_serial


def twice(ctx, x):
    return x * 2


def product(ctx, x, w):
    return x * w


def first_only(ctx, gradient):
    return gradient, None


def both(ctx, gradient):
    return gradient, gradient


def and_ones(s):
    return s.x, s.torch.ones(2)


def and_integers(s):
    return s.x, s.torch.tensor([1, 2])


def and_computed(s):
    return s.x, s.x * 1


def itself_twice(s):
    return s.x, s.x


def fails(ctx, gradient):
    raise KeyError("mine")


def complex_leaf(torch):
    return torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)


def complex_loss(s):
    return (s.y * s.torch.tensor([1 + 0j, -1j])).real.sum()


def made(*numbers):
    """A `backward` that gives a tensor of these numbers."""
    return lambda ctx, gradient: gradient.new_tensor(numbers)


refused = partial(case, raises=RuntimeError)
of_complex = partial(case, x=complex_leaf, losses=complex_loss)

CASES = [
    # How many.
    refused("too_many_gradients", twice, both),
    refused("too_few_gradients", product, lambda ctx, gradient: gradient, at=and_computed),
    case("more_gradients_that_are_none", twice, lambda ctx, gradient: (gradient, None, None)),
    refused("more_gradients_that_are_not_none", twice, lambda ctx, gradient: (gradient, None, 3)),
    case("one_input_given_twice", product, lambda ctx, g: (g * 2, g * 3), at=itself_twice),
    case("one_computed_input_given_twice", product, lambda ctx, g: (g * 2, g * 3), at=lambda s: (computed(s),) * 2),
    case("gradients_in_one_list", twice, lambda ctx, gradients: gradients.pop() * 2, boxed_grads_call=True),
    case("what_saves_nothing_goes_back_twice", twice, losses=lambda s: (s.y.sum(), s.y.sum())),
    # Of what type.
    refused("a_list_of_gradients", product, lambda ctx, gradient: [gradient, gradient], at=itself_twice),
    refused("a_gradient_for_a_number", product, both, at=lambda s: (s.x, 3)),
    refused("a_gradient_that_is_a_number", twice, lambda ctx, gradient: 3.0),
    refused("a_number_for_a_tensor_without_gradient", product, lambda ctx, g: (g, 3.0), at=and_ones),
    refused("a_list_in_a_list_of_gradients", twice, lambda ctx, gradient: [[gradient]]),
    refused("a_gradient_that_is_an_array", twice, lambda ctx, gradient: np.ones(2)),
    case("an_exception_inside_is_the_users", twice, fails, raises=KeyError),
    case("a_condition_inside_backward", twice, lambda ctx, g: g * 2 if float(g.sum()) > 1 else g * 3),
    # Of which dtype.
    case("a_gradient_of_another_precision", twice, lambda ctx, gradient: gradient.double()),
    case("an_integer_gradient", twice, lambda ctx, gradient: gradient.long() * 2),
    case("a_boolean_gradient", twice, lambda ctx, gradient: gradient > 0),
    refused("a_complex_gradient_of_a_real_input", twice, lambda ctx, gradient: gradient * (1 + 1j)),
    of_complex("a_real_gradient_of_a_complex_input", twice, lambda ctx, gradient: gradient.real + 1),
    of_complex("a_complex_function", twice, lambda ctx, gradient: gradient * (1 + 2j)),
    of_complex("an_integer_gradient_of_a_complex_input", twice, lambda ctx, g: g.real.long() + 1, raises=RuntimeError),
    case("an_output_of_another_precision", lambda ctx, x: x.double(), lambda ctx, gradient: gradient),
    case("an_integer_tensor_argument", product, first_only, at=and_integers),
    case("a_gradient_for_an_integer_tensor", product, both, at=and_integers),
    # Of which shape.
    refused("a_gradient_of_the_wrong_shape", twice, made(1.0, 1.0, 1.0)),
    refused("a_gradient_that_is_too_small", twice, made(1.0)),
    case("a_gradient_is_summed_to_its_input", twice, lambda ctx, gradient: gradient.expand(3, 2)),
    case("any_shape_for_a_tensor_without_gradient", product, lambda ctx, g: (g, g.new_tensor([1.0] * 7)), at=and_ones),
    refused(
        "the_index_of_a_wrong_gradient_counts_tensors",
        lambda ctx, n, x: x * 2,
        lambda ctx, gradient: (None, gradient.new_tensor([1.0] * 5)),
        at=lambda s: (3, s.x),
    ),
    refused(
        "the_index_of_a_wrong_gradient_counts_all_tensors",
        lambda ctx, w, n, x: x * 2,
        lambda ctx, gradient: (None, None, gradient.new_tensor([1.0] * 5)),
        at=lambda s: (s.torch.ones(2), 3, s.x),
    ),
    # None, and which methods there are.
    case("none_for_a_leaf", twice, lambda ctx, gradient: None),
    case("no_backward", twice, None, raises=NotImplementedError),
    case("vjp_instead_of_backward", twice, None, vjp=lambda ctx, gradient: gradient * 7),
    refused("both_backward_and_vjp", twice, vjp=lambda ctx, gradient: gradient),
]


def none_stops_the_gradient(torch):
    """The second input of a product gets no gradient, whether a leaf, computed, or what the first depends on too."""
    function = custom(torch, product, first_only)
    found = []
    for work in (
        lambda x, w, u: function.apply(x, w),
        lambda x, w, u: function.apply(x * 2, w * 3),
        lambda x, w, u: function.apply(x * 2, w * 3) + x * 5,
        lambda x, w, u: function.apply(x * u, w * u),
    ):
        leaves = leaf(torch), leaf(torch), leaf(torch)
        work(*leaves).sum().backward()
        found.append([each.grad for each in leaves])
    return found


def behind_none(torch, **options):
    x, w = leaf(torch), leaf(torch)
    y = custom(torch, product, first_only).apply(x * 2, w * 3).sum()
    return torch.autograd.grad(y, (x, w), **options)


def grad_of_what_lies_behind_none(torch):
    return behind_none(torch, allow_unused=True)


@raises(RuntimeError)
def grad_of_what_lies_behind_none_must_be_allowed(torch):
    return behind_none(torch)


test_agrees_with_torch = agreement_of([*CASES, *programs_of(globals(), complex_leaf)])


def test_gradients_that_nobody_asks_for_are_not_summed():
    def recorded_for(backward):
        x, w = leaf(jaxvjp), leaf(jaxvjp)
        function = custom(jaxvjp, product, backward)
        y = (function.apply(x, w) + function.apply(x, w)).sum()
        begin = next_serial()
        jaxvjp.autograd.grad(y, x)
        return next_serial() - begin

    assert recorded_for(both) == recorded_for(first_only)
