"""Hooks on tensors and on steps of the backward graph, under torch and under jaxvjp."""

from __future__ import annotations

import gc
from itertools import product

from functions import module
from oracle import agreement_of, programs_of, raises

import jaxvjp
from jaxvjp.autograd import backward_pass
from jaxvjp.core.run.compilation import counters


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


def a_hook_sees_the_gradient(torch):
    x = leaf(torch, 1.0, 2.0)
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient.clone()))
    (x * x).sum().backward()
    (x * 3).sum().backward()
    return seen, x.grad


def a_hook_of_a_leaf_written_before_backward_is_called_once_beside_a_hook_of_a_step(torch):
    a, seen = leaf(torch, 1.0, 2.0), []
    a.register_hook(seen.append)
    y = a + torch.ones(2)
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    with torch.no_grad():
        a.add_(2.0)
    y.sum().backward()
    return seen, a.grad


def a_hook_replaces_the_gradient(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x * 2
    h.register_hook(lambda gradient: gradient * 10)
    x.register_hook(lambda gradient: gradient + 1)
    (h * h).sum().backward()
    return x.grad


def hooks_of_leaves_run_as_soon_as_their_gradients_are_complete(torch):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            order.append("Doubled")
            return gradient * 2

    order = []
    x, w, b = [torch.tensor([1.0, n], requires_grad=True) for n in (2.0, 3.0, 4.0)]
    h = Doubled.apply(x)
    p = h * w
    for name, each in {"x": x, "w": w, "b": b, "h": h, "p": p}.items():
        each.register_hook(lambda gradient, name=name: order.append(name))
    (p * h + b).sum().backward()
    (x + w).sum().backward()
    return order, x.grad, w.grad


def hooks_run_in_order_and_can_be_removed(torch):
    x = leaf(torch, 1.0)
    order = []
    handles = [
        x.register_hook(lambda gradient, n=n: order.append((n, gradient.item())) or gradient * 2) for n in (1, 2, 3)
    ]
    (x * 1).backward()
    handles[1].remove()
    handles[1].remove()
    (x * 1).backward()
    with x.register_hook(lambda gradient: order.append("inside")):
        (x * 1).backward()
    (x * 1).backward()
    return order, x.grad


def an_intermediate_hook_sees_the_sum(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x.exp()
    seen = []
    h.register_hook(lambda gradient: seen.append(gradient.clone()))
    (h * 2 + h * h).sum().backward()
    return seen, x.grad


def a_hook_on_the_root(torch):
    x = leaf(torch, 3.0)
    y = x * x
    y.register_hook(lambda gradient: gradient * 5)
    y.backward()
    return x.grad


def a_hook_and_grad(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x * 3
    h.register_hook(lambda gradient: gradient * 10)
    x.register_hook(lambda gradient: gradient * 100)
    return torch.autograd.grad((h * h).sum(), [h, x])


def hooks_under_create_graph(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x * x
    h.register_hook(lambda gradient: gradient * h)
    (first,) = torch.autograd.grad((h * h).sum(), x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), x)


def a_hook_stays_with_the_value_before_an_in_place_change(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x * 3
    seen = []
    h.register_hook(lambda gradient: seen.append(gradient.clone()))
    h.mul_(2)
    h.sum().backward()
    return seen, x.grad


def a_leafs_hook_survives_an_update(torch):
    x = leaf(torch, 1.0, 2.0)
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient.clone()))
    with torch.no_grad():
        x -= 0.5
    (x * x).sum().backward()
    return seen, x.grad


def retained_gradients(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x * 2
    h.retain_grad()
    x.retain_grad()
    k = h * h
    k.retain_grad()
    k.sum().backward(retain_graph=True)
    k.sum().backward()
    return h.grad, k.grad, x.grad, h.retains_grad, x.retains_grad


def a_retained_gradient_is_after_the_hooks(torch):
    x = leaf(torch, 1.0)
    h = x * 2
    h.retain_grad()
    h.register_hook(lambda gradient: gradient * 7)
    h.backward()
    return h.grad, x.grad


def after_accumulation(torch):
    x = leaf(torch, 1.0, 2.0)
    seen = []

    def update(leaf):
        seen.append(leaf.grad.clone())
        with torch.no_grad():
            leaf -= leaf.grad
        leaf.grad = None

    handle = x.register_post_accumulate_grad_hook(update)
    (x * x).sum().backward()
    (x * x).sum().backward()
    handle.remove()
    (x * 3).sum().backward()
    return seen, x, x.grad


def step_hooks_see_both_sides(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    y = x * w
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    (y * 2).sum().backward()
    return seen, x.grad, w.grad


def step_hooks_replace(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    y = x * w
    before = y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 3,))
    after = y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, inputs[1] + outputs[0]))
    y.sum().backward(retain_graph=True)
    first = x.grad.clone(), w.grad.clone()
    before.remove()
    after.remove()
    y.sum().backward()
    return first, x.grad, w.grad


def a_step_with_the_same_input_twice(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x + x
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 3,))
    y.sum().backward()
    return x.grad


def a_hook_inside_a_loop_of_training(torch):
    w = leaf(torch, 1.0, 2.0)
    norms = []
    w.register_hook(lambda gradient: norms.append(gradient.norm().item()))
    for _ in range(4):
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    return norms, w


@raises(KeyError)
def an_exception_in_a_hook_is_the_users_and_changes_nothing(torch):
    x = leaf(torch, 1.0)
    x.register_hook(lambda gradient: {}["missing"])
    try:
        (x * 2).backward()
    finally:
        assert x.grad is None


@raises(TypeError)
def a_hook_that_returns_a_number(torch):
    x = leaf(torch, 1.0)
    x.register_hook(lambda gradient: 3)
    (x * 2).backward()


@raises(RuntimeError)
def a_hook_that_changes_the_shape(torch):
    x = leaf(torch, 1.0)
    x.register_hook(lambda gradient: torch.ones(3))
    (x * 2).backward()


@raises(RuntimeError)
def a_step_hook_that_returns_too_few(torch):
    y = leaf(torch, 1.0) * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0],))
    y.backward()


@raises(RuntimeError)
def a_hook_where_no_gradient_comes(torch):
    torch.ones(2).register_hook(print)


@raises(RuntimeError)
def a_post_accumulate_hook_that_returns_something(torch):
    x = leaf(torch, 1.0)
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.zero_())
    (x * 2).sum().backward()


@raises(RuntimeError)
def a_post_accumulate_hook_on_a_result(torch):
    (leaf(torch, 1.0) * 2).register_post_accumulate_grad_hook(print)


@raises(RuntimeError)
def retaining_where_no_gradient_comes(torch):
    torch.ones(2).retain_grad()


def the_variable_of_a_leafs_step(torch):
    x = leaf(torch, 1.0)
    step = (x * 2).grad_fn.next_functions[0][0]
    return step.name(), step.variable is x, step.next_functions


def a_hook_inside_a_transform_is_of_that_transform(torch):
    grad, leaf_ = torch.func.grad, leaf(torch, 0.5, -1.5, 2.0)
    x = leaf_.detach()

    def on_a_result(x):
        h = x * x
        h.register_hook(lambda gradient: gradient * 2)
        return (h * x).sum()

    def on_an_argument(x):
        x.register_hook(lambda gradient: gradient * 3)
        return (x * x * x).sum()

    def on_a_step(x):
        h = x * x
        h.grad_fn.register_prehook(lambda gradients: tuple(each * 2 for each in gradients))
        h.grad_fn.register_hook(lambda gradients, _: tuple(None if each is None else each * 3 for each in gradients))
        return (h * x).sum()

    def on_what_is_outside(x):
        h = x * x

        def inner(y):
            h.register_hook(lambda gradient: gradient * 5)
            return (y * y * h).sum()

        return grad(inner)(x).sum() + (h * x).sum()

    def handed_out(x):
        gradient, h = grad(lambda x: (on_a_result(x), x * x), has_aux=True)(x)
        return (gradient * h).sum()

    seen = [grad(on_what_is_outside)(x), grad(handed_out)(x)]
    for function in (on_a_result, on_an_argument, on_a_step):
        pullback = torch.func.vjp(function, x)[1]
        seen += [pullback(torch.tensor(each))[0] for each in (1.0, 2.0)]
        seen += [grad(function)(x), grad(lambda x, f=function: grad(f)(x).sum())(x)]
        seen += [torch.func.jacrev(grad(function))(x), torch.func.hessian(function)(x)]
        grad(function)(leaf_).sum().backward()
    return [each.detach() for each in (*seen, leaf_.grad)]


def post_accumulate_hooks_that_write_to_the_leaf(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.sub_(leaf.grad))
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.mul_(4.0))
    (x * 3).sum().backward()
    return x, x.grad


def hooks_around_the_accumulation(torch):
    x = torch.ones(3, requires_grad=True)
    step = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda gradient: gradient.sub(2.0))
    step.register_prehook(lambda gradients: (gradients[0].div(5.0),))
    x.register_post_accumulate_grad_hook(lambda leaf: (leaf.grad.add_(0.5), None)[1])
    step.register_hook(lambda below, above: setattr(x, "grad", above[0].mul(10)))
    x.sum().backward()
    return x.grad


def whether_hooks_record(torch):
    x, seen = torch.tensor([1.0, 2.0], requires_grad=True), []

    def hook(*_):
        seen.append(torch.is_grad_enabled())

    y = x * 3
    step = y.grad_fn.next_functions[0][0]
    for register in (
        x.register_post_accumulate_grad_hook,
        x.register_hook,
        y.register_hook,
        y.grad_fn.register_hook,
        y.grad_fn.register_prehook,
        step.register_hook,
        step.register_prehook,
    ):
        register(hook)
    y.sum().backward(retain_graph=True)
    y.sum().backward(create_graph=True)
    return seen


@raises(TypeError)
def a_post_accumulate_hook_that_returns_a_number(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: 3)
    x.sum().backward()


def hooks_of_a_view_that_is_written(torch):
    base = torch.tensor([1.0], requires_grad=True).clone()
    view, other, log = base[:], base[:], []
    view.register_hook(lambda gradient: log.append("before"))
    before = view * 3
    view.mul_(2)
    other.grad_fn  # noqa: B018 - which takes it anew
    other.register_hook(lambda gradient: log.append(gradient))
    (view + other).sum().backward(retain_graph=True)
    before.sum().backward()
    return log


def one_for_the_first_of_tensors_some_of_which_require_no_gradient(torch):
    a, log = torch.ones(2, requires_grad=True), []
    for tensors in ((a.detach(), a), (a.detach(),)):
        module(torch, "autograd.graph").register_multi_grad_hook(tensors, log.append, mode="any")
    (a * 2).sum().backward()
    return log


def a_post_accumulate_hook_of_a_leaf_that_only_the_graph_has(torch):
    seen, x = [], leaf(torch, 1.0, 2.0)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.clone()))
    x = x * 3
    (x * x).sum().backward()
    return seen


def a_hook_of_a_parameter_that_is_shown_anew_after_another_was_removed(torch):
    seen, x = [], leaf(torch, 1.0, 2.0)
    for _ in range(4):
        handle = x.register_hook(lambda grad: seen.append(grad))
        x.sum().backward()
        handle.remove()
        x.data.view(2).requires_grad_()
    return len(seen)


def a_piece_that_may_not_be_read_takes_more_hooks(torch):
    """It is checked for its first hook only, as that asks for the step that made it."""
    told = []
    for cut, of_a_leaf, first in product(("split(2)", "unbind()"), (True, False), ("kept", "removed", "none")):
        x = torch.arange(4.0).requires_grad_()
        x = x if of_a_leaf else x * 2
        piece = eval(f"x.{cut}", {"x": x})[0]
        used = piece * 5
        if first != "none":
            handle = piece.register_hook(lambda gradient: told.append(("first", gradient)))
        if first == "removed":
            handle.remove()
        with torch.set_grad_enabled(not of_a_leaf):
            x.mul_(3)
        try:
            for name in "second", "third":
                piece.register_hook(lambda gradient, name=name: told.append((name, gradient)))
        except RuntimeError as error:
            told.append(str(error))
        (x.sum() + used.sum()).backward()
    return told


def hooks_of_a_view_whose_gradient_is_added_to_nothing(torch):
    """They are not called, until the view is asked for a gradient of its own."""
    told = []
    for view in (lambda x: x.t(), lambda x: x[1:], lambda x: x.view(3, 2)):
        x = torch.nn.Parameter(torch.arange(6.0).view(2, 3).t())
        with torch.no_grad():
            y = view(x)
        told.append((y.requires_grad, y.is_leaf))
        y.register_hook(told.append)
        (y * 0.5 * y).sum().backward()
        told.append((x.grad, y.grad))
        y.requires_grad_()
        (y * 0.5 * y).sum().backward()
        told.append((x.grad, y.grad))
    return told


test_agrees_with_torch = agreement_of(programs_of(globals()))


def dispatches_of(hook):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    h.register_hook(hook)
    before = counters.dispatches
    (h * h).sum().backward()
    return counters.dispatches - before


def test_a_hook_that_only_computes_is_no_cut_and_one_that_reads_is():
    assert dispatches_of(lambda gradient: gradient * 2) == 1
    assert dispatches_of(lambda gradient: print(end="" if gradient.sum().item() else " ")) == 2


def test_a_graph_without_hooks_is_one_program():
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    before = counters.dispatches
    (x.exp() * x).sum().backward()
    assert counters.dispatches == before + 1


def test_a_tensor_that_retains_its_gradient_may_end_while_that_is_computed(monkeypatch):
    computed = backward_pass.evaluate

    def after_a_collection(*given):
        gc.collect()
        return computed(*given)

    monkeypatch.setattr(backward_pass, "evaluate", after_a_collection)
    x = jaxvjp.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.itself = y  # a cycle
    z = y.sum()
    del y
    z.backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
