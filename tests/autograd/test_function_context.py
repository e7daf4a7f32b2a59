"""A custom Function's `ctx`: saved tensors, attributes, and lifetime.

A `case` (`functions.py`) is one call of a Function with a given `forward` and `backward`, and code between the two.
"""

from __future__ import annotations

import gc
import weakref
from functools import partial

import pytest
from functions import case, computed, constant, custom, exponentiates, leaf, matrix, saves, times_saved, unseen
from oracle import agreement_of, live_nodes, programs_of, raises

import jaxvjp


def saves_result(ctx, x):
    y = x.exp()
    ctx.save_for_backward(y)
    return y


def saves_intermediate(ctx, x):
    ctx.t = x + 1
    ctx.save_for_backward(ctx.t)
    return x * 2


def reads_saved_twice(ctx, gradient):
    (a,) = ctx.saved_tensors
    return gradient * a * len(ctx.saved_tensors)


def counts(ctx, gradient):
    ctx.a += 1
    return gradient * ctx.a


saving = partial(case, forward=saves, backward=times_saved)

SAVED = [
    saving("saved_tensors_after_the_graph_is_freed", after=lambda s: s.ctx.saved_tensors, raises=RuntimeError),
    case(
        "nothing_is_saved_yet_in_forward",
        lambda ctx, x: (ctx.save_for_backward(x), setattr(ctx, "early", ctx.saved_tensors), x * 2)[-1],
        after=lambda s: s.ctx.early,
    ),
    case(
        "the_last_call_of_save_for_backward_counts",
        lambda ctx, x: (ctx.save_for_backward(x), ctx.save_for_backward(x * 2, None), x * 2)[-1],
        lambda ctx, gradient: gradient * ctx.saved_tensors[0] + len(ctx.saved_tensors),
    ),
    saving("a_saved_input_was_written", at=computed, then=lambda s: s.h.mul_(2), raises=RuntimeError),
    saving("a_saved_leaf_was_written", then=lambda s: unseen(s, lambda: s.x.mul_(2).add_(1)), raises=RuntimeError),
    case(
        "a_saved_output_was_written",
        saves_result,
        times_saved,
        x=lambda torch: torch.ones(2, 3, dtype=torch.float64, requires_grad=True),
        then=lambda s: s.y.mul_(2),
        raises=RuntimeError,
    ),
    saving("a_write_through_data_is_not_counted", then=lambda s: s.x.data.mul_(10)),
    saving("a_write_through_detach_is_counted", then=lambda s: s.x.detach().mul_(10), raises=RuntimeError),
    case(
        "a_saved_intermediate_was_written",
        saves_intermediate,
        times_saved,
        then=lambda s: s.ctx.t.mul_(10),
        raises=RuntimeError,
    ),
    case(
        "the_base_of_a_saved_view_was_written",
        lambda ctx, a, b: (ctx.save_for_backward(a), a * b)[1],
        lambda ctx, gradient: (None, gradient * ctx.saved_tensors[0]),
        at=lambda s: (s.torch.tensor([[1.0, 2.0], [3.0, 4.0]])[0], s.x),
        then=lambda s: s.h[0]._base[1].mul_(5),
        raises=RuntimeError,
    ),
    case(
        "a_write_inside_forward_is_before_the_saving",
        lambda ctx, x: (saves_intermediate(ctx, x), ctx.t.mul_(2))[0],
        times_saved,
    ),
    case(
        "a_saved_leaf_is_the_leaf",
        lambda ctx, x: (setattr(ctx, "x", x), saves(ctx, x))[1],
        lambda ctx, gradient: gradient * (7 if ctx.saved_tensors[0] is ctx.x else 0),
    ),
    case("an_input_returned_and_saved", lambda ctx, x: (saves(ctx, x), x)[1], times_saved, twice=True),
    case("double_backward_of_what_was_saved", saves, times_saved, twice=True),
    case(
        "double_backward_past_a_saved_intermediate",
        lambda ctx, x: saves_result(ctx, x) * 2,
        lambda ctx, gradient: gradient * ctx.saved_tensors[0] * 2,
        losses=lambda s: (s.y * s.y).sum(),
        twice=True,
    ),
    case(
        "a_saved_output_that_is_a_view",
        lambda ctx, x: (ctx.save_for_backward(y := x.t()), y)[1],
        lambda ctx, gradient: gradient.t() * ctx.saved_tensors[0].t(),
        x=matrix,
        twice=True,
    ),
    case("saving_text", lambda ctx, x: (ctx.save_for_backward(x, "a"), x)[1], raises=TypeError),
    case("saving_a_list", lambda ctx, x: (ctx.save_for_backward([x]), x * 2)[1], raises=TypeError),
    case(
        "saving_a_number_where_nothing_is_recorded", lambda ctx, x: (ctx.save_for_backward(x, 4), x * 2)[1], at=constant
    ),
    case(
        "saving_none",
        lambda ctx, x: (ctx.save_for_backward(None, x, None), x * 2)[1],
        lambda ctx, gradient: gradient * len(ctx.saved_tensors) * (1 if ctx.saved_tensors[0] is None else 3),
    ),
    case(
        "saving_after_forward",
        lambda ctx, x: x * 2,
        lambda ctx, gradient: (gradient, ctx.saved_tensors)[0],
        then=lambda s: s.ctx.save_for_backward(s.x),
        after=lambda s: s.ctx.saved_tensors,
        raises=RuntimeError,
    ),
    case("saving_a_number_for_forward_mode", lambda ctx, x: (ctx.save_for_forward(3), x)[1], raises=AssertionError),
    case(
        "what_is_saved_for_forward_mode_only",
        lambda ctx, x: (ctx.save_for_forward(x), x * 2)[1],
        lambda ctx, gradient: gradient * len(ctx.saved_tensors),
    ),
    saving("nothing_is_kept_where_nothing_is_recorded", at=constant, after=lambda s: s.ctx.saved_tensors),
    saving(
        "saved_tensors_cleared_on_access",
        backward=reads_saved_twice,
        clear_saved_tensors_on_access=True,
        raises=RuntimeError,
    ),
    case(
        "a_saved_tensor_of_inference_mode",
        lambda ctx, x, w: (ctx.save_for_backward(w), x * 2)[1],
        lambda ctx, gradient: (gradient, None),
        at=lambda s: (s.x, s.torch.inference_mode()(s.torch.ones)(2)),
        raises=RuntimeError,
    ),
]

ATTRIBUTES = [
    case("needs_input_grad_may_be_set", lambda ctx, x: (setattr(ctx, "needs_input_grad", (False,)), x * 2)[1]),
    case(
        "attributes_of_ctx",
        lambda ctx, x: (setattr(ctx, "a", 3), setattr(ctx, "b", [x]), x * 2)[-1],
        counts,
        losses=lambda s: (s.y.sum(), s.y.sum()),
    ),
    case(
        "an_attribute_that_is_missing",
        lambda ctx, x: x * 2,
        lambda ctx, gradient: gradient * ctx.zzz,
        raises=AttributeError,
    ),
    case(
        "an_output_kept_as_an_attribute",
        lambda ctx, x: (setattr(ctx, "y", x.exp()), ctx.y)[1],
        lambda ctx, gradient: gradient * ctx.y,
        twice=True,
    ),
]


def needs_input_grad_says_which_require(torch):
    out = []

    def forward(ctx, x, w, n):
        out.append(ctx.needs_input_grad)
        return x * w

    def backward(ctx, gradient):
        out.append(ctx.needs_input_grad)
        return gradient, gradient, None

    function = custom(torch, forward, backward)
    x, w = leaf(torch), leaf(torch)
    torch.autograd.grad(function.apply(x, w, 3).sum(), x)
    function.apply(x.detach(), w, [x])
    with torch.no_grad():
        function.apply(x, w, None)
    return out


def differentiating_by_a_saved_tensor(torch):
    kept = []

    def backward(ctx, gradient):
        kept.extend(ctx.saved_tensors)
        return gradient * 2 * kept[0]

    x = leaf(torch)
    function = custom(torch, lambda ctx, x: saves(ctx, x) * x / 2, backward)
    (gradient,) = torch.autograd.grad(function.apply(x * 3).sum(), x, create_graph=True)
    return gradient, torch.autograd.grad(gradient.sum(), kept[0])


def saved_tensor_hooks_of_a_function(torch):
    calls = []

    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y, x.detach() * 2)
        return y

    def pack(saved):
        calls.append(saved.detach().clone())
        return saved.detach().numpy()

    def unpack(kept):
        calls.append("unpack")
        return torch.tensor(kept) * 10

    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = custom(torch, forward, lambda ctx, gradient: gradient * sum(ctx.saved_tensors)).apply(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return calls, first, torch.autograd.grad(first.sum(), x)


class Token:
    pass


def remembering(forward, alive):
    """`forward` with a context that holds a token, and the token's weak reference added to `alive`."""

    def remembered(ctx, x):
        ctx.token = Token()
        alive.append(weakref.ref(ctx.token))
        return forward(ctx, x)

    return remembered


def a_step_lives_no_longer_than_in_torch(torch):
    gc.disable()
    x, found = leaf(torch), []
    for forward in (saves_result, exponentiates):
        alive = []
        function = custom(torch, remembering(forward, alive), times_saved)
        y = function.apply(x * 1)
        y.sum().backward()
        found.append(alive[0]() is None)
        del y
        found.append(alive[0]() is None)
        y = function.apply(x * 1)
        del y
        found.append(alive[1]() is None)
        y = function.apply(x * 1)
        (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        del y
        found.append(alive[2]() is None)
        del gradient
        found.append(alive[2]() is None)
    gc.enable()
    return found


def what_was_saved_is_released_with_the_graph(torch):
    alive = []

    def forward(ctx, x):
        t = x.detach() * 3
        alive.append(weakref.ref(t))
        ctx.save_for_backward(t)
        return x * 2

    y = custom(torch, forward, times_saved).apply(leaf(torch))
    found = [alive[0]() is None]
    for retained in (True, False):
        y.sum().backward(retain_graph=retained)
        found.append(alive[0]() is None)
    return found


@raises(RuntimeError)
def what_two_steps_saved_is_written(torch):
    """The error is that of the step that is walked back first, the Function."""
    y = leaf(torch).log_softmax(-1)
    z = custom(torch, saves, lambda ctx, g: g * ctx.saved_tensors[0]).apply(y)
    y.fill_(0.5)
    (z * z).sum().backward()


test_agrees_with_torch = agreement_of([*SAVED, *ATTRIBUTES, *programs_of(globals())])


def test_a_written_saved_tensor_is_named_with_the_line_that_wrote_it():
    h = leaf(jaxvjp) * 1
    y = custom(jaxvjp, saves, times_saved).apply(h)
    h.mul_(2)
    with pytest.raises(RuntimeError, match=r"changed in place by line \d+ of .*test_function_context.py:\n    h.mul_"):
        y.sum().backward()


@pytest.mark.parametrize("forward", [saves_result, exponentiates])
def test_a_freed_graph_leaves_no_node_behind(forward):
    function, x = custom(jaxvjp, forward, times_saved), leaf(jaxvjp)

    def run():
        y = function.apply(x * 1)
        y.sum().backward()
        x.grad = None

    run()
    before = live_nodes()
    gc.disable()
    try:
        for _ in range(20):
            run()
        after = live_nodes(collected=False)
    finally:
        gc.enable()
    assert after <= before + 3
