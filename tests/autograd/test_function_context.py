"""A custom Function's `ctx`, and what becomes of the inputs and outputs of `forward`."""

from __future__ import annotations

import gc
import weakref
from collections import namedtuple

import pytest
from functions import custom, leaf
from oracle import agreement_of, live_nodes, programs_of, raises

import jaxvjp


@raises(RuntimeError)
def saved_tensors_after_the_graph_is_freed(torch):
    contexts = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        contexts.append(ctx)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient)
    x = leaf(torch)
    function.apply(x).sum().backward()
    return contexts[0].saved_tensors


def nothing_is_saved_yet_in_forward(torch):
    given = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        given.append(ctx.saved_tensors)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient)
    function.apply(leaf(torch))
    return given


def the_last_call_of_save_for_backward_counts(torch):

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 2, None)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0] + len(ctx.saved_tensors))
    x = leaf(torch)
    function.apply(x).sum().backward()
    return x.grad


@raises(RuntimeError)
def a_saved_input_was_written(torch):

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    h.mul_(2)
    y.sum().backward()
    return x.grad


@raises(RuntimeError)
def a_saved_leaf_was_written(torch):

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    y = function.apply(x)
    with torch.no_grad():
        x.mul_(2)
        x.add_(1)
    y.sum().backward()
    return x.grad


@raises(RuntimeError)
def a_saved_output_was_written(torch):

    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    y = function.apply(x)
    y.mul_(2)
    y.sum().backward()
    return x.grad


def a_write_through_data_is_not_counted(torch):

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    y = function.apply(x)
    x.data.mul_(10)
    y.sum().backward()
    return x.grad


@raises(RuntimeError)
def a_write_through_detach_is_counted(torch):

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    y = function.apply(x)
    x.detach().mul_(10)
    y.sum().backward()
    return x.grad


@raises(RuntimeError)
def a_saved_intermediate_was_written(torch):
    keep = []

    def forward(ctx, x):
        t = x + 1
        keep.append(t)
        ctx.save_for_backward(t)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    y = function.apply(x)
    keep[0].mul_(10)
    y.sum().backward()
    return x.grad


@raises(RuntimeError)
def the_base_of_a_saved_view_was_written(torch):
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x = leaf(torch)
    function = custom(
        torch,
        lambda ctx, a, b: (ctx.save_for_backward(a), a * b)[1],
        lambda ctx, gradient: (None, gradient * ctx.saved_tensors[0]),
    )
    v = w[0]
    y = function.apply(v, x)
    w[1].mul_(5)
    y.sum().backward()
    return x.grad


def a_write_inside_forward_is_before_the_saving(torch):

    def forward(ctx, x):
        t = x + 1
        ctx.save_for_backward(t)
        t.mul_(2)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    y = function.apply(x)
    y.sum().backward()
    return x.grad


def needs_input_grad_says_which_require(torch):
    out = []

    def forward(ctx, x, w, n):
        out.append(ctx.needs_input_grad)
        return x * w

    def backward(ctx, gradient):
        out.append(ctx.needs_input_grad)
        return (gradient, gradient, None)

    function = custom(torch, forward, backward)
    x, w = (leaf(torch), leaf(torch))
    y = function.apply(x, w, 3)
    torch.autograd.grad(y.sum(), x)
    function.apply(x.detach(), w, [x])
    with torch.no_grad():
        function.apply(x, w, None)
    return out


def needs_input_grad_may_be_set(torch):

    def forward(ctx, x):
        ctx.needs_input_grad = (False,)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient)
    x = leaf(torch)
    function.apply(x).sum().backward()
    return x.grad


def an_output_marked_non_differentiable(torch):
    given = []

    def forward(ctx, x):
        a, b = (x * 2, x * 3)
        ctx.mark_non_differentiable(b)
        return (a, b)

    def backward(ctx, gradient, h):
        given.append((gradient, h))
        return gradient

    function = custom(torch, forward, backward)
    x = leaf(torch)
    a, b = function.apply(x)
    a.sum().backward()
    return (a.requires_grad, b.requires_grad, given, x.grad)


def an_integer_output(torch):
    given = []

    def forward(ctx, x):
        return (x * 2, (x > 1).to(torch.int64))

    def backward(ctx, gradient, h):
        given.append((gradient, h))
        return gradient

    function = custom(torch, forward, backward)
    x = leaf(torch)
    a, b = function.apply(x)
    a.sum().backward()
    return (b, given, x.grad)


def a_non_differentiable_output_without_zeros(torch):
    given = []

    def forward(ctx, x):
        a, b = (x * 2, x * 3)
        ctx.mark_non_differentiable(b)
        ctx.set_materialize_grads(False)
        return (a, b)

    def backward(ctx, gradient, h):
        given.append((gradient, h))
        return gradient

    function = custom(torch, forward, backward)
    x = leaf(torch)
    a, b = function.apply(x)
    a.sum().backward()
    return (a.requires_grad, b.requires_grad, given, x.grad)


@raises(RuntimeError)
def a_number_marked_non_differentiable(torch):

    def forward(ctx, x):
        ctx.mark_non_differentiable(3)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient)
    return function.apply(leaf(torch))


def an_input_marked_non_differentiable(torch):

    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient)
    x = leaf(torch)
    y = function.apply(x)
    return (y, y is x, x.requires_grad)


def a_written_input_marked_non_differentiable(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient)
    x = leaf(torch) * 1
    y = function.apply(x)
    return (y, y is x, x.requires_grad)


def none_instead_of_zeros(torch):
    given = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return (x * 2, x * 3)

    def backward(ctx, gradient, h):
        given.append((gradient, h))
        return gradient if h is None else h

    function = custom(torch, forward, backward)
    x = leaf(torch)
    a, b = function.apply(x)
    a.sum().backward(retain_graph=True)
    b.sum().backward()
    return (given, x.grad)


@raises(TypeError)
def set_materialize_grads_of_a_number(torch):

    def forward(ctx, x):
        ctx.set_materialize_grads(3)
        return (x * 2, x * 3)

    function = custom(torch, forward, lambda ctx, gradient, h: gradient)
    return function.apply(leaf(torch))


def outputs_that_are_no_tensors(torch):
    given = []

    def forward(ctx, x):
        return (None, x * 2, "text", 3, [x])

    def backward(ctx, *gradient):
        given.append(gradient)
        return gradient[1]

    function = custom(torch, forward, backward)
    x = leaf(torch)
    found = function.apply(x)
    found[1].sum().backward()
    return (found, type(found).__name__, given, x.grad)


def none_alone(torch):
    function = custom(torch, lambda ctx, x: None, lambda ctx, gradient: gradient)
    return function.apply(leaf(torch))


def text_alone(torch):
    function = custom(torch, lambda ctx, x: "a", lambda ctx, gradient: gradient)
    return function.apply(leaf(torch))


def a_list_is_no_tuple_of_outputs(torch):
    function = custom(torch, lambda ctx, x: [x * 2, x * 3], lambda ctx, gradient, h: gradient)
    x = leaf(torch)
    found = function.apply(x)
    return (found, type(found).__name__)


def a_tuple_of_one(torch):
    function = custom(torch, lambda ctx, x: (x * 2,), lambda ctx, gradient: gradient)
    x = leaf(torch)
    found = function.apply(x)
    return (found, type(found).__name__)


def a_named_tuple_becomes_a_tuple(torch):
    P = namedtuple("P", "a b")
    function = custom(torch, lambda ctx, x: P(x * 2, x * 3), lambda ctx, gradient, h: gradient)
    x = leaf(torch)
    found = function.apply(x)
    return (found, type(found).__name__)


def one_tensor_returned_twice(torch):
    given = []

    def forward(ctx, x):
        y = x * 2
        return (y, y)

    def backward(ctx, gradient, h):
        given.append((gradient, h))
        return gradient + h * 10

    function = custom(torch, forward, backward)
    x = leaf(torch)
    a, b = function.apply(x)
    (a * 1 + b * 2).sum().backward()
    return (a is b, given, x.grad)


def one_tensor_returned_twice_and_used_once(torch):
    given = []

    def forward(ctx, x):
        y = x * 2
        return (y, y)

    def backward(ctx, gradient, h):
        given.append((gradient, h))
        return gradient + h * 10

    function = custom(torch, forward, backward)
    x = leaf(torch)
    a, b = function.apply(x)
    (a * 1).sum().backward()
    return (a is b, given, x.grad)


def an_input_returned_as_it_is(torch):
    function = custom(torch, lambda ctx, x: x, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    y = function.apply(x)
    y.sum().backward()
    return (y is x, y.requires_grad, y.is_leaf, x.grad, y._is_view() if hasattr(y, "_is_view") else True)


def an_input_returned_under_no_grad(torch):
    function = custom(torch, lambda ctx, x: x, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    with torch.no_grad():
        y = function.apply(x)
    return (y is x, y.requires_grad, y.is_leaf, x.requires_grad)


def an_input_without_gradient_returned(torch):
    function = custom(torch, lambda ctx, x: x, lambda ctx, gradient: gradient * 5)
    x = leaf(torch).detach()
    y = function.apply(x)
    y.mul_(2)
    return (y is x, y.requires_grad, x, y)


@raises(RuntimeError)
def writing_an_input_returned_as_it_is(torch):
    function = custom(torch, lambda ctx, x: x, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    y = function.apply(x * 1)
    y.mul_(2)
    return y


@raises(RuntimeError)
def writing_the_input_of_an_output_that_is_it(torch):
    function = custom(torch, lambda ctx, x: x, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    with torch.no_grad():
        h.mul_(2)
    y.sum().backward()
    return (y, h, x.grad)


@raises(RuntimeError)
def writing_the_input_of_an_output_that_is_it_and_recording(torch):
    function = custom(torch, lambda ctx, x: x, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    h.mul_(2)
    y.sum().backward()
    return (y, h, x.grad)


@raises(RuntimeError)
def writing_an_input_returned_as_it_is_under_no_grad(torch):
    function = custom(torch, lambda ctx, x: x, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    with torch.no_grad():
        y.mul_(2)
    y.sum().backward()
    return (y, h, x.grad)


@raises(RuntimeError)
def writing_a_view_that_forward_made(torch):
    function = custom(torch, lambda ctx, x: x[0], lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    y = function.apply(x * 1)
    y.mul_(2)
    return y


@raises(RuntimeError)
def writing_a_view_of_a_view_that_forward_made(torch):
    function = custom(torch, lambda ctx, x: x, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    y = function.apply(x * 1)
    y[0].mul_(2)
    return y


@raises(RuntimeError)
def writing_a_view_of_what_forward_made(torch):
    function = custom(torch, lambda ctx, x: (x * 2)[0], lambda ctx, gradient: torch.ones(2) * gradient * 5)
    x = leaf(torch)
    y = function.apply(x * 1)
    y.mul_(2)
    y.backward()
    return (y, x.grad)


def writing_one_of_two_outputs(torch):
    function = custom(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, gradient, h: gradient * 5 + h)
    x = leaf(torch)
    y, _ = function.apply(x * 1)
    y.mul_(2)
    y.sum().backward()
    return (y, x.grad)


@raises(RuntimeError)
def writing_one_of_two_views(torch):
    function = custom(torch, lambda ctx, x: (x[0], x[1]), lambda ctx, gradient, h: torch.ones(2))
    x = leaf(torch)
    y, _ = function.apply(x * 1)
    y.mul_(2)
    y.sum().backward()
    return (y, x.grad)


def writing_an_output(torch):
    function = custom(torch, lambda ctx, x: x * 2, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    y = function.apply(x * 1)
    y.mul_(2)
    y.sum().backward()
    return (y, x.grad)


def a_dirty_input_becomes_the_output(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    (y * torch.tensor([1.0, 2.0])).sum().backward()
    return (y is h, y, h.requires_grad, x.grad, repr(h))


def a_dirty_input_counts_two_writes(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    return y._version


def a_dirty_input_counts_a_write(torch):

    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    return y._version


@raises(RuntimeError)
def a_dirty_leaf(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    function.apply(x)


def a_dirty_leaf_under_no_grad(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    with torch.no_grad():
        y = function.apply(x)
    return (y is x, x, x.is_leaf)


@raises(RuntimeError)
def a_dirty_input_that_is_not_returned(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x * 3

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    x = leaf(torch) * 1
    function.apply(x)


@raises(RuntimeError)
def a_dirty_input_without_gradient_that_is_not_returned(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x * 3

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    x = torch.ones(2)
    return (function.apply(x), x)


def a_dirty_tensor_that_is_no_input(torch):

    def forward(ctx, x):
        t = x * 2
        ctx.mark_dirty(t)
        return t

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    y = function.apply(x * 1)
    y.sum().backward()
    return (y, x.grad)


@raises(RuntimeError)
def a_number_marked_dirty(torch):

    def forward(ctx, x):
        ctx.mark_dirty(3)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    function.apply(leaf(torch))


def a_dirty_input_without_gradient_gets_one(torch):

    def forward(ctx, a, x):
        a.add_(x)
        ctx.mark_dirty(a)
        return a

    function = custom(torch, forward, lambda ctx, gradient: (gradient, gradient * 5))
    x = leaf(torch)
    a = torch.ones(2)
    y = function.apply(a, x)
    y.sum().backward()
    return (y is a, a, a.is_leaf, x.grad)


def a_dirty_view_of_a_computed_tensor(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    h = x * 1
    v = h[0]
    y = function.apply(v)
    (h * h).sum().backward()
    return (y is v, y, h, x.grad)


@raises(RuntimeError)
def a_dirty_view_of_a_leaf(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * 5)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    function.apply(x[0])


@raises(RuntimeError)
def a_dirty_view_and_another_output(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return (x, x * 2)

    function = custom(torch, forward, lambda ctx, gradient, h: gradient * 5)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    h = x * 1
    v = h[0]
    function.apply(v)
    h.sum().backward()
    return x.grad


def two_dirty_inputs(torch):

    def forward(ctx, a, b):
        a.mul_(2)
        b.add_(1)
        ctx.mark_dirty(a, b)
        return (a, b, a * b)

    function = custom(torch, forward, lambda ctx, gradient, h, k: (gradient * 5 + k, h * 7))
    x = leaf(torch)
    a, b = (x * 1, x * 2)
    p, q, results = function.apply(a, b)
    (p + 2 * q + results).sum().backward()
    return (p is a, q is b, x.grad)


def a_dirty_input_may_be_saved(torch):

    def forward(ctx, x):
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    y.sum().backward()
    return x.grad


def what_read_a_dirty_input_before(torch):

    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * 2)
    x = leaf(torch)
    h = x * 1
    z = h * 3
    function.apply(h)
    (z + h).sum().backward()
    return x.grad


def double_backward_through_a_dirty_input(torch):

    def forward(ctx, x):
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return (gradient, torch.autograd.grad(gradient.sum(), x))


def a_write_that_is_not_marked(torch):

    def forward(ctx, x):
        x.mul_(2)
        return x * 3

    function = custom(torch, forward, lambda ctx, gradient: gradient * 2)
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    (y + h).sum().backward()
    return (y, h, x.grad)


def a_write_that_is_not_marked_returned(torch):

    def forward(ctx, x):
        x.mul_(2)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * 2)
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    (y + h).sum().backward()
    return (y is h, y, h, x.grad)


def a_function_behind_none_gets_zeros(torch):
    given = []
    function = custom(torch, lambda ctx, x: x * 2, lambda ctx, gradient: None)
    x = leaf(torch)

    def backward(ctx, gradient):
        given.append(gradient)
        return gradient

    other = custom(torch, lambda ctx, x: x * 2, backward)
    function.apply(other.apply(x)).sum().backward()
    return (given, x.grad)


def an_input_returned_and_saved(torch):

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    y = function.apply(x)
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return (gradient, torch.autograd.grad(gradient.sum(), x))


@raises(TypeError)
def saving_text(torch):

    def forward(ctx, x):
        ctx.save_for_backward(x, "a")
        return x

    function = custom(torch, forward)
    function.apply(leaf(torch))


def saving_a_number_where_nothing_is_recorded(torch):

    def forward(ctx, x):
        ctx.save_for_backward(x, 4)
        return x * 2

    function = custom(torch, forward)
    return function.apply(torch.ones(2))


@raises(TypeError)
def saving_a_list(torch):

    def forward(ctx, x):
        ctx.save_for_backward([x])
        return x * 2

    function = custom(torch, forward)
    function.apply(leaf(torch))


def saving_none(torch):

    def forward(ctx, x):
        ctx.save_for_backward(None, x, None)
        return x * 2

    function = custom(
        torch,
        forward,
        lambda ctx, gradient: gradient * len(ctx.saved_tensors) * (1 if ctx.saved_tensors[0] is None else 3),
    )
    x = leaf(torch)
    function.apply(x).sum().backward()
    return x.grad


@raises(RuntimeError)
def saving_after_forward(torch):
    contexts = []

    def forward(ctx, x):
        contexts.append(ctx)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: (gradient, ctx.saved_tensors)[0])
    x = leaf(torch)
    y = function.apply(x)
    contexts[0].save_for_backward(x)
    y.sum().backward()
    return (x.grad, contexts[0].saved_tensors)


@raises(AssertionError)
def saving_a_number_for_forward_mode(torch):

    def forward(ctx, x):
        ctx.save_for_forward(3)
        return x

    function = custom(torch, forward)
    function.apply(leaf(torch))


def what_is_saved_for_forward_mode_only(torch):

    def forward(ctx, x):
        ctx.save_for_forward(x)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * len(ctx.saved_tensors))
    x = leaf(torch)
    function.apply(x).sum().backward()
    return x.grad


def attributes_of_ctx(torch):

    def forward(ctx, x):
        ctx.a = 3
        ctx.b = [x]
        return x * 2

    def backward(ctx, gradient):
        ctx.a += 1
        return gradient * ctx.a

    function = custom(torch, forward, backward)
    x = leaf(torch)
    y = function.apply(x)
    y.sum().backward()
    y.sum().backward()
    return x.grad


@raises(AttributeError)
def an_attribute_that_is_missing(torch):
    function = custom(torch, lambda ctx, x: x * 2, lambda ctx, gradient: gradient * ctx.zzz)
    x = leaf(torch)
    function.apply(x).sum().backward()


def nothing_is_kept_where_nothing_is_recorded(torch):
    contexts = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        contexts.append(ctx)
        return x * 2

    function = custom(torch, forward)
    y = function.apply(torch.ones(2))
    return (contexts[0].saved_tensors, y)


def returning_a_global_leaf(torch):
    w = torch.ones(2, requires_grad=True)
    function = custom(torch, lambda ctx, x: w, lambda ctx, gradient: gradient)
    y = function.apply(torch.ones(2))
    return (y is w, y.requires_grad, w.requires_grad)


def returning_a_global_leaf_as_an_output(torch):
    w = torch.ones(2, requires_grad=True)
    function = custom(torch, lambda ctx, x: w, lambda ctx, gradient: gradient * 2)
    x = leaf(torch)
    y = function.apply(x)
    y.sum().backward()
    return (y is w, y.requires_grad, w.is_leaf, x.grad)


def returning_a_global_computed_tensor(torch):
    w = torch.ones(2, requires_grad=True)
    h = w * 2
    function = custom(torch, lambda ctx, x: h, lambda ctx, gradient: gradient * 2)
    x = leaf(torch)
    y = function.apply(x)
    y.sum().backward()
    return (y is h, x.grad, w.grad)


@raises(RuntimeError)
def saved_tensors_cleared_on_access(torch):

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, gradient):
        (a,) = ctx.saved_tensors
        return gradient * a * len(ctx.saved_tensors)

    function = custom(torch, forward, backward, clear_saved_tensors_on_access=True)
    x = leaf(torch)
    function.apply(x).sum().backward()
    return x.grad


def a_step_lives_no_longer_than_in_torch(torch):
    gc.disable()

    class Token:
        pass

    alive = []

    def forward(ctx, x):
        ctx.token = Token()
        alive.append(weakref.ref(ctx.token))
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[1])
    x = leaf(torch)
    y = function.apply(x)
    y.sum().backward()
    found = [alive[0]() is None]
    del y
    found.append(alive[0]() is None)
    y = function.apply(x)
    del y
    found.append(alive[1]() is None)
    y = function.apply(x)
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    del y
    found.append(alive[2]() is None)
    del gradient
    found.append(alive[2]() is None)
    gc.enable()
    return found


def a_step_with_a_dirty_input_lives_no_longer_than_in_torch(torch):
    gc.disable()

    class Token:
        pass

    alive = []

    def forward(ctx, x):
        ctx.token = Token()
        alive.append(weakref.ref(ctx.token))
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    y = function.apply(x * 1)
    y.sum().backward()
    found = [alive[0]() is None]
    del y
    found.append(alive[0]() is None)
    y = function.apply(x * 1)
    del y
    found.append(alive[1]() is None)
    gc.enable()
    return found


def what_was_saved_is_released_with_the_graph(torch):
    alive = []

    def forward(ctx, x):
        t = x.detach() * 3
        alive.append(weakref.ref(t))
        ctx.save_for_backward(t)
        return x * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    y = function.apply(x)
    found = [alive[0]() is None]
    y.sum().backward(retain_graph=True)
    found.append(alive[0]() is None)
    y.sum().backward()
    found.append(alive[0]() is None)
    return found


def a_saved_leaf_is_the_leaf(torch):
    found = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    x = leaf(torch)

    def backward(ctx, gradient):
        found.append(ctx.saved_tensors[0] is x)
        return gradient

    function = custom(torch, forward, backward)
    function.apply(x).sum().backward()
    return found


def an_output_kept_as_an_attribute(torch):

    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.y)
    x = leaf(torch)
    y = function.apply(x)
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return (gradient, torch.autograd.grad(gradient.sum(), x))


def double_backward_past_a_saved_intermediate(torch):

    def forward(ctx, x):
        t = x.exp()
        ctx.save_for_backward(t)
        return t * 2

    function = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0] * 2)
    x = leaf(torch)
    y = function.apply(x)
    (gradient,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    return (gradient, torch.autograd.grad(gradient.sum(), x))


def an_input_returned_twice(torch):
    given = []

    def b(ctx, gradient, h):
        given.append((gradient, h))
        return gradient + 10 * h

    function = custom(torch, lambda ctx, x: (x, x), b)
    x = leaf(torch)
    a, c = function.apply(x)
    (a + 2 * c).sum().backward()
    return (a is c, given, x.grad)


@raises(RuntimeError)
def an_input_and_a_new_tensor_returned(torch):
    function = custom(torch, lambda ctx, x: (x, x * 2), lambda ctx, gradient, h: gradient + 10 * h)
    x = leaf(torch)
    a, c = function.apply(x * 1)
    (a + 2 * c).sum().backward()
    c.mul_(3)
    results = [x.grad, c]
    a.mul_(2)
    return results


def a_dirty_input_where_nothing_is_recorded(torch):

    def f(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    function = custom(torch, f)
    x = torch.ones(2)
    y = function.apply(x)
    y.add_(1)
    return (y is x, x)


@raises(RuntimeError)
def a_number_marked_dirty_where_nothing_is_recorded(torch):

    def f(ctx, x):
        ctx.mark_dirty(3)
        return x * 2

    function = custom(torch, f)
    return function.apply(torch.ones(2))


@raises(RuntimeError)
def a_number_marked_non_differentiable_where_nothing_is_recorded(torch):

    def f(ctx, x):
        ctx.mark_non_differentiable(3)
        return x * 2

    function = custom(torch, f)
    return function.apply(torch.ones(2))


def a_detached_input_returned(torch):
    function = custom(torch, lambda ctx, x: x.detach(), lambda ctx, gradient: gradient * 5)
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    y.sum().backward()
    results = x.grad
    y.mul_(2)
    return results


def a_saved_output_that_is_a_view(torch):

    def f(ctx, x):
        y = x.t()
        ctx.save_for_backward(y)
        return y

    function = custom(torch, f, lambda ctx, gradient: gradient.t() * ctx.saved_tensors[0].t())
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = function.apply(x)
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return (gradient, torch.autograd.grad(gradient.sum(), x))


def differentiating_by_a_saved_tensor(torch):
    kept = []

    def f(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    def b(ctx, gradient):
        (a,) = ctx.saved_tensors
        kept.append(a)
        return gradient * 2 * a

    function = custom(torch, f, b)
    x = leaf(torch)
    (gradient,) = torch.autograd.grad(function.apply(x * 3).sum(), x, create_graph=True)
    return (gradient, torch.autograd.grad(gradient.sum(), kept[0]))


def a_dirty_integer_input(torch):

    def f(ctx, x, i):
        i.add_(1)
        ctx.mark_dirty(i)
        return (x * 2, i)

    function = custom(torch, f, lambda ctx, gradient, h: (gradient * 2, None))
    x = leaf(torch)
    i = torch.tensor([1, 2])
    a, j = function.apply(x, i)
    a.sum().backward()
    return (j is i, i, x.grad)


def a_dirty_input_marked_non_differentiable(torch):

    def f(ctx, x, i):
        i.add_(1)
        ctx.mark_dirty(i)
        ctx.mark_non_differentiable(i)
        return (x * 2, i)

    function = custom(torch, f, lambda ctx, gradient, h: (gradient * 2, None))
    x = leaf(torch)
    i = torch.tensor([1.0, 2])
    a, j = function.apply(x, i)
    a.sum().backward()
    return (j is i, i, x.grad)


@raises(RuntimeError)
def a_dirty_input_saved_before(torch):

    def f(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def keeps(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    function = custom(torch, f, lambda ctx, gradient: gradient * 2)
    other = custom(torch, keeps, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(torch)
    h = x * 1
    y = other.apply(h)
    function.apply(h)
    y.sum().backward()


def saved_tensor_hooks_of_a_function(torch):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y, x.detach() * 2)
        return y

    def backward(ctx, gradient):
        x, y, doubled = ctx.saved_tensors
        return gradient * (y + x + doubled)

    function = custom(torch, forward, backward)
    x = leaf(torch)
    calls = []

    def pack(saved):
        calls.append(saved.detach().clone())
        return saved.detach().numpy()

    def unpack(kept):
        calls.append("unpack")
        return torch.tensor(kept) * 10

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = function.apply(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return calls, first, torch.autograd.grad(first.sum(), x)


@raises(RuntimeError)
def a_saved_tensor_of_inference_mode(torch):
    with torch.inference_mode():
        w = torch.ones(2)

    def forward(ctx, x, w):
        ctx.save_for_backward(w)
        return x * 2

    custom(torch, forward, lambda ctx, gradient: (gradient, None)).apply(leaf(torch), w)


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_a_written_saved_tensor_is_named_with_the_line_that_wrote_it():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    h = leaf(jaxvjp) * 1
    y = custom(jaxvjp, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0]).apply(h)
    h.mul_(2)
    with pytest.raises(RuntimeError, match=r"changed in place by line \d+ of .*test_function_context.py:\n    h.mul_"):
        y.sum().backward()


@pytest.mark.parametrize("dirty", [False, True])
def test_a_freed_graph_leaves_no_node_behind(dirty):
    def forward(ctx, x):
        y = x.exp_() if dirty else x.exp()
        if dirty:
            ctx.mark_dirty(x)
        ctx.save_for_backward(y)
        return y

    function = custom(jaxvjp, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0])
    x = leaf(jaxvjp)

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
