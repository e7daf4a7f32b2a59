"""Inputs and outputs of a custom Function's `forward` that are returned, written or marked.

A `case` (`functions.py`) is one call of a Function with a given `forward` and `backward`, and code between the two.
"""

from __future__ import annotations

from collections import namedtuple
from functools import partial

from functions import case, computed, constant, custom, exponentiates, itself, leaf, matrix, saves, times_saved, unseen
from oracle import agreement_of, programs_of, raises


def doubles(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


def same(ctx, x):
    return x


def twice_thrice(ctx, x):
    return x * 2, x * 3


def adds_one(ctx, x, i):
    i.add_(1)
    ctx.mark_dirty(i)
    return x * 2, i


def doubles_and_adds_one(ctx, a, b):
    ctx.mark_dirty(a.mul_(2), b.add_(1))
    return a, b, a * b


def row(s):
    """A view of what was computed: the first row."""
    return (s.x * 1)[0]


def second(s):
    return s.y[1].sum()


def with_input(s):
    return (s.y + s.h).sum()


def marking(marked):
    """A `forward` of two outputs that marks the second, or a number or the input, as not differentiable."""
    return lambda ctx, x: (y := (x * 2, x * 3), ctx.mark_non_differentiable(marked(x, y)))[0]


NON_DIFFERENTIABLE = [
    case("an_output_marked_non_differentiable", marking(lambda x, y: y[1])),
    case(
        "a_non_differentiable_output_without_zeros",
        lambda ctx, x: (ctx.set_materialize_grads(False), marking(lambda x, y: y[1])(ctx, x))[1],
    ),
    case("an_integer_output", lambda ctx, x: (x * 2, (x > 1).long())),
    case("a_number_marked_non_differentiable", marking(lambda x, y: 3), raises=RuntimeError),
    case(
        "a_number_marked_non_differentiable_where_nothing_is_recorded",
        marking(lambda x, y: 3),
        at=constant,
        raises=RuntimeError,
    ),
    case("an_input_marked_non_differentiable", lambda ctx, x: (ctx.mark_non_differentiable(x), x)[1]),
    case(
        "a_written_input_marked_non_differentiable",
        lambda ctx, x: (doubles(ctx, x), ctx.mark_non_differentiable(x))[0],
        at=computed,
    ),
    case(
        "none_instead_of_zeros",
        lambda ctx, x: (ctx.set_materialize_grads(False), twice_thrice(ctx, x))[1],
        losses=lambda s: (s.y[0].sum(), second(s)),
    ),
    case("zeros_where_none_is_given", twice_thrice, losses=lambda s: (s.y[0].sum(), second(s))),
    case(
        "set_materialize_grads_of_a_number", lambda ctx, x: (ctx.set_materialize_grads(3), x * 2)[1], raises=TypeError
    ),
]

Pair = namedtuple("Pair", "a b")

OUTPUTS = [
    case("outputs_that_are_no_tensors", lambda ctx, x: (None, x * 2, "text", 3, [x])),
    case("none_alone", lambda ctx, x: None),
    case("text_alone", lambda ctx, x: "a"),
    case("a_list_is_no_tuple_of_outputs", lambda ctx, x: [x * 2, x * 3]),
    case("a_tuple_of_one", lambda ctx, x: (x * 2,)),
    case("a_named_tuple_becomes_a_tuple", lambda ctx, x: Pair(x * 2, x * 3)),
    case("one_tensor_returned_twice", lambda ctx, x: (x * 2,) * 2),
    case("one_tensor_returned_twice_and_used_once", lambda ctx, x: (x * 2,) * 2, losses=lambda s: s.y[0].sum()),
    case("an_input_returned_twice", lambda ctx, x: (x, x)),
    case("an_input_returned_as_it_is", same),
    case("an_input_returned_under_no_grad", same, under="no_grad"),
    case("an_input_without_gradient_returned", same, at=constant, then=lambda s: s.y.mul_(2)),
    case("a_detached_input_returned", lambda ctx, x: x.detach(), at=computed, after=lambda s: s.y.mul_(2)),
]


def returned(ctx, x, held):
    """What `forward` finds elsewhere: a Function does not look for tensors in lists."""
    return held[0]


def found_elsewhere(name, make, at=itself):
    return case(
        name,
        returned,
        lambda ctx, gradient: (gradient * 2, None),
        at=lambda s: (at(s), [make(s.torch.ones(2, requires_grad=True))]),
        after=lambda s: (
            s.y is (held := s.h[1][0]),
            held.requires_grad,
            held.is_leaf,
            held.grad if held.is_leaf else 0,
        ),
    )


GLOBAL = [
    found_elsewhere("returning_a_global_leaf", lambda w: w, constant),
    found_elsewhere("returning_a_global_leaf_as_an_output", lambda w: w),
    found_elsewhere("returning_a_global_computed_tensor", lambda w: w * 2),
]


refused = partial(case, at=computed, raises=RuntimeError)

WRITTEN = [
    refused("writing_an_input_returned_as_it_is", same, then=lambda s: s.y.mul_(2)),
    refused("writing_the_input_of_an_output_that_is_it", same, then=lambda s: unseen(s, s.h.mul_, 2)),
    refused("writing_the_input_of_an_output_that_is_it_and_recording", same, then=lambda s: s.h.mul_(2)),
    refused("writing_an_input_returned_as_it_is_under_no_grad", same, then=lambda s: unseen(s, s.y.mul_, 2)),
    refused("writing_a_view_that_forward_made", lambda ctx, x: x[0], then=lambda s: s.y.mul_(2)),
    refused("writing_a_view_of_a_view_that_forward_made", same, then=lambda s: s.y[0].mul_(2)),
    refused(
        "writing_a_view_of_what_forward_made",
        lambda ctx, x: (x * 2)[0],
        lambda ctx, gradient: gradient.expand(2) * 5,
        then=lambda s: s.y.mul_(2),
    ),
    refused(
        "writing_one_of_two_views",
        lambda ctx, x: (x[0], x[1]),
        lambda ctx, gradient, h: gradient.expand(2),
        then=lambda s: s.y[0].mul_(2),
    ),
    refused(
        "an_input_and_a_new_tensor_returned",
        lambda ctx, x: (x, x * 2),
        after=lambda s: (s.y[1].mul_(3), s.y[0].mul_(2)),
    ),
    case(
        "an_input_and_a_new_tensor_that_is_written",
        lambda ctx, x: (x, x * 2),
        at=computed,
        then=lambda s: s.y[1].mul_(3),
    ),
    case("writing_one_of_two_outputs", twice_thrice, at=computed, then=lambda s: s.y[0].mul_(2)),
    case("writing_an_output", lambda ctx, x: x * 2, at=computed, then=lambda s: s.y.mul_(2)),
    case("a_write_that_is_not_marked", lambda ctx, x: x.mul_(2) * 3, at=computed, losses=with_input),
    case("a_write_that_is_not_marked_returned", lambda ctx, x: x.mul_(2), at=computed, losses=with_input),
]

DIRTY = [
    case(
        "a_dirty_input_becomes_the_output",
        doubles,
        at=computed,
        losses=lambda s: (s.y * s.torch.tensor([1.0, 2.0])).sum(),
        after=lambda s: repr(s.h),
    ),
    case("a_dirty_input_counts_a_write", lambda ctx, x: (ctx.mark_dirty(x), x)[1], at=computed),
    case("a_dirty_leaf", doubles, raises=RuntimeError),
    case("a_dirty_leaf_under_no_grad", doubles, under="no_grad"),
    case("a_dirty_input_where_nothing_is_recorded", doubles, at=constant, then=lambda s: s.y.add_(1)),
    refused("a_dirty_input_that_is_not_returned", lambda ctx, x: doubles(ctx, x) * 3),
    refused("a_dirty_input_without_gradient_that_is_not_returned", lambda ctx, x: doubles(ctx, x) * 3, at=constant),
    case("a_dirty_tensor_that_is_no_input", lambda ctx, x: doubles(ctx, x * 1), at=computed),
    refused("a_number_marked_dirty", lambda ctx, x: (ctx.mark_dirty(3), x * 2)[1]),
    refused(
        "a_number_marked_dirty_where_nothing_is_recorded", lambda ctx, x: (ctx.mark_dirty(3), x * 2)[1], at=constant
    ),
    case(
        "a_dirty_input_without_gradient_gets_one",
        lambda ctx, a, x: (ctx.mark_dirty(a.add_(x)), a)[1],
        lambda ctx, gradient: (gradient, gradient * 5),
        at=lambda s: (s.torch.ones(2), s.x),
    ),
    case("a_dirty_view_of_a_computed_tensor", doubles, x=matrix, at=row, losses=lambda s: (s.h._base**2).sum()),
    case("a_dirty_view_of_a_leaf", doubles, x=matrix, at=lambda s: s.x[0], raises=RuntimeError),
    refused(
        "a_dirty_view_and_another_output",
        lambda ctx, x: (doubles(ctx, x), x * 2),
        x=matrix,
        at=row,
        losses=lambda s: s.h._base.sum(),
    ),
    case(
        "two_dirty_inputs",
        doubles_and_adds_one,
        lambda ctx, gradient, h, k: (gradient * 5 + k, h * 7),
        at=lambda s: (s.x * 1, s.x * 2),
    ),
    case("a_dirty_input_may_be_saved", exponentiates, times_saved, at=computed),
    case("double_backward_through_a_dirty_input", exponentiates, times_saved, at=computed, twice=True),
    case(
        "a_dirty_integer_input",
        adds_one,
        lambda ctx, gradient, h: (gradient * 2, None),
        at=lambda s: (s.x, s.torch.tensor([1, 2])),
    ),
    case(
        "a_dirty_input_marked_non_differentiable",
        lambda ctx, x, i: (adds_one(ctx, x, i), ctx.mark_non_differentiable(i))[0],
        lambda ctx, gradient, h: (gradient * 2, None),
        at=lambda s: (s.x, s.torch.tensor([1.0, 2.0])),
    ),
]


def what_read_a_dirty_input_before(torch):
    x = leaf(torch)
    h = x * 1
    z = h * 3
    custom(torch, doubles, lambda ctx, gradient: gradient * 2).apply(h)
    (z + h).sum().backward()
    return x.grad


@raises(RuntimeError)
def a_dirty_input_saved_before(torch):
    h = leaf(torch) * 1
    y = custom(torch, saves, times_saved).apply(h)
    custom(torch, doubles).apply(h)
    y.sum().backward()


def a_function_behind_none_gets_zeros(torch):
    given = []

    def backward(ctx, gradient):
        given.append(gradient)
        return gradient

    x = leaf(torch)
    h = custom(torch, lambda ctx, x: x * 2, backward).apply(x)
    custom(torch, lambda ctx, x: x * 2, lambda ctx, gradient: None).apply(h).sum().backward()
    return given, x.grad


TABLES = NON_DIFFERENTIABLE, OUTPUTS, GLOBAL, WRITTEN, DIRTY


def hooks_of_both_outputs(torch):
    seen = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 3

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    first, second = Both.apply(x)
    first.register_hook(lambda gradient: seen.append(gradient * 1))
    second.register_hook(lambda gradient: seen.append(gradient * 1))
    (first + second * 5).sum().backward()
    return sorted(each.tolist() for each in seen), x.grad


def a_jvp_that_is_wrong(torch):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, right):
            ctx.right = right
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, tangent, _):
            return tangent.mul_(2) if ctx.right else tangent * 2

    fw, told = torch.autograd.forward_ad, []
    for right in (True, False):
        with fw.dual_level():
            x = fw.make_dual(torch.ones(2), torch.ones(2))
            try:
                told.append(fw.unpack_dual(Doubled.apply(x, right)).tangent)
            except RuntimeError as error:
                told.append(str(error).split(".")[0])
    return told


def what_backward_gets_without_a_gradient(torch):
    seen = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, filled):
            second = x.clone()
            ctx.mark_non_differentiable(second)
            ctx._materialize_non_diff_grads = filled
            return x.clone(), second

        @staticmethod
        def backward(ctx, first, second):
            seen.append(second if second is None else second * 1)
            return first, None

    for filled in (True, False):
        Two.apply(torch.tensor(1.0, requires_grad=True), filled)[0].backward()
    return seen


test_agrees_with_torch = agreement_of([*(each for table in TABLES for each in table), *programs_of(globals())])
