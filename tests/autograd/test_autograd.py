"""`backward` and `grad`: every program of `PROGRAMS` gives the same under torch and under jaxvjp."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import agreement_of, raises, theirs

import jaxvjp
from jaxvjp.core.run.compilation import counters

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


@program
def a_scalar_root_needs_no_gradient(torch):
    x = leaf(torch, 1.0, 2.0)
    (x**2).sum().backward()
    return x.grad


@program
def a_root_of_one_element_needs_no_gradient(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    loss = (2 * x.unsqueeze(0)).sum(dim=1)
    loss.backward()
    return loss, x.grad


@program
def the_gradient_weights_rows(torch):
    x = leaf(torch, 1.0, 2.0)
    (3 * x**2).backward(torch.tensor([1.0, 10.0]))
    return x.grad


@program
def a_gradient_of_another_dtype_is_converted(torch):
    x = leaf(torch, 1.0, 2.0)
    (2 * x).backward(torch.tensor([1, 2]))
    y = 2 * x
    y.backward(torch.tensor([1.0, 2.0], dtype=torch.float64))
    return x.grad


@program
def gradients_accumulate_in_place(torch):
    x = leaf(torch, 1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    first = x.grad
    y.backward()
    return first, x.grad is first


@program
def zeroing_the_data_of_a_gradient_zeroes_it(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    y.backward(torch.ones_like(y), retain_graph=True)
    x.grad.data.zero_()
    zeroed = x.grad.clone()
    y.backward(torch.ones_like(y))
    return zeroed, x.grad


@program
def setting_the_gradient_to_none_starts_over(torch):
    x = leaf(torch, 3.0)
    for _ in range(3):
        x.grad = None
        (x * x).backward(torch.ones(1))
    return x.grad


@program
@raises(RuntimeError)
def a_complex_root_needs_a_gradient(torch):
    leaf(torch, 1 + 2j).prod().backward()


@program
@raises(RuntimeError)
def data_of_another_shape_than_the_gradient(torch):
    x = leaf(torch, 1.0, 2.0)
    (x * 2).sum().backward()
    x.data = torch.ones(3, 2)
    (x * 2).sum().backward()


@program
def several_roots(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    y = x * w
    torch.autograd.backward([y.sum(), y * 2], [None, torch.tensor([1.0, 10.0])])
    return x.grad, w.grad


@program
def two_roots_share_a_graph(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x.exp()
    a, b = (h * 2).sum(), (h * h).sum()
    a.backward(retain_graph=True)
    b.backward()
    return x.grad


@program
def a_root_that_is_a_leaf(torch):
    x = torch.tensor(2.0, requires_grad=True)
    x.backward()
    return x.grad


@program
def a_root_used_by_another_root(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 3
    z = (y * y).sum()
    torch.autograd.backward([y, z], [torch.tensor([1.0, 1.0]), None])
    return x.grad


@program
def inputs_picks_the_receivers(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    y = (x * w).sum()
    y.backward(inputs=[x])
    return x.grad, w.grad


@program
def inputs_may_be_intermediate(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x * x
    (h * 3).sum().backward(inputs=[h, x])
    return h.grad, x.grad


@program
def a_leaf_that_was_not_reached_has_none(torch):
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    x.sum().backward()
    return x.grad, w.grad


@program
def grad_returns_and_leaves_grad_alone(torch):
    x = leaf(torch, 1.0, 2.0)
    return torch.autograd.grad((x**3).sum(), x), x.grad


@program
def grad_of_several_outputs(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    return torch.autograd.grad([x * w, w.sum()], [x, w], [torch.tensor([1.0, 2.0]), None])


@program
def grad_with_respect_to_an_intermediate(torch):
    x = leaf(torch, 1.0, 2.0)
    h = torch.log(x) + 1
    y = (h * h * x).sum()
    return torch.autograd.grad(y, [h, x])


@program
def an_unused_input_is_none_when_allowed(torch):
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    return torch.autograd.grad(x.sum(), [x, w], allow_unused=True)


@program
@raises(RuntimeError)
def an_unused_input_is_an_error(torch):
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    torch.autograd.grad(x.sum(), [x, w])


@program
def second_derivatives(torch):
    x = leaf(torch, 1.0, 2.0)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    return first, second, third


@program
def a_backward_through_a_gradient(torch):
    x = leaf(torch, 1.0, 2.0)
    (x**3).sum().backward(create_graph=True)
    penalty = (x.grad**2).sum()
    x.grad = None
    penalty.backward()
    return penalty, x.grad


@program
def a_created_graph_is_kept_and_adds_to_a_new_gradient(torch):
    x = leaf(torch, 1.0, 2.0)
    x.sum().backward()
    first = x.grad
    y = (x**3).sum()
    y.backward(create_graph=True)
    second = x.grad
    y.backward()
    return first, second, x.grad is second


@program
def which_gradients_of_choices_depend_on_anything(torch):
    x = leaf(torch, 1.0, 3.0, 2.0)
    chosen = [x.max(), x.amax(), x.sort()[0].sum(), x.cummax(0)[0].sum(), x.nan_to_num().sum(), x.relu().sum()]
    return [torch.autograd.grad(each, x, create_graph=True)[0].requires_grad for each in chosen]


@program
def a_second_derivative_with_respect_to_an_intermediate(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x * 2
    y = (h**3).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad((first + h).sum(), h)


@program
@raises(RuntimeError)
def a_linear_function_has_no_second_derivative(torch):
    x = leaf(torch, 1.0, 2.0)
    (first,) = torch.autograd.grad((2 * x).sum(), x, create_graph=True)
    return first.requires_grad, first.sum().backward()


@program
def a_gradient_depends_only_on_what_it_is_made_from(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    y = (2 * x + w**2).sum()
    of_x, of_w = torch.autograd.grad(y, [x, w], create_graph=True)
    return of_x.requires_grad, of_w.requires_grad, torch.autograd.grad(of_w.sum(), [x, w], allow_unused=True)


@program
def the_gradient_argument_is_differentiable(torch):
    x, v = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    (first,) = torch.autograd.grad(x**2, x, v, create_graph=True)
    return torch.autograd.grad(first.sum(), [x, v])


@program
def a_hessian_vector_product(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = (x[0] * x[1] ** 2 * x[2] ** 3).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad(first, x, torch.tensor([1.0, -1.0, 2.0]))


@program
def no_grad_records_nothing(torch):
    x = leaf(torch, 1.0)
    with torch.no_grad():
        y = x * 2
    return y.requires_grad, y.is_leaf, y.grad_fn is None


@program
def no_grad_as_a_decorator_and_enable_grad_inside(torch):
    @torch.no_grad()
    def double(x):
        with torch.enable_grad():
            inside = x * 3
        return x * 2, inside

    x = leaf(torch, 1.0)
    outside, inside = double(x)
    again, _ = double(x)
    return outside.requires_grad, inside.requires_grad, again.requires_grad, (x * 2).requires_grad


@program
def detach_stops_the_gradient(torch):
    x = leaf(torch, 1.0, 2.0)
    (x * x.detach()).sum().backward()
    return x.grad


@program
def a_training_loop(torch):
    w = leaf(torch, 1.0, 2.0)
    losses = []
    for _ in range(5):
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad.zero_()
        losses.append(loss.item())
    return losses, w, w.is_leaf


@program
def a_loop_on_a_value(torch):
    x = leaf(torch, -1.2, 0.2, 1.8)
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    y.backward(torch.tensor([0.1, 1.0, 0.0001]))
    return y, x.grad


@program
def a_gradient_through_every_element(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    total = 0
    for row in x:
        for element in row:
            total = total + element**2
    total.backward()
    return total, x.grad, len(x)


@program
def where_integers_and_floats_meet(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * torch.tensor([2, 3]) + torch.tensor(1, dtype=torch.float64)
    y.sum().backward()
    return y, x.grad


@program
def the_gradient_of_a_float64_through_a_float32(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    w = leaf(torch, 3.0, 4.0)
    (x * w).sum().backward()
    return x.grad, w.grad


@program
def a_batch_of_gradients(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    h = x * w
    y = h * h + x
    v = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]])
    return torch.autograd.grad(y, [x, w, h], v, is_grads_batched=True)


@program
def a_batch_of_gradients_asked_for_again(torch):
    found = []
    for _ in range(3):  # from the second time on the walk is remembered
        x = leaf(torch, 1.0, 2.0)
        v = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
        (rows,) = torch.autograd.grad(x * 3, x, v, is_grads_batched=True)
        found += [rows, rows.sum(0)]
    return found


@program
@raises(RuntimeError)
def a_batch_of_gradients_of_the_wrong_shape(torch):
    x = leaf(torch, 1.0, 2.0)
    torch.autograd.grad(x * x, x, torch.ones(2, 3), is_grads_batched=True)


@program
def materialized_gradients(torch):
    x, w = leaf(torch, 1.0, 2.0), torch.ones(2, 2, requires_grad=True)
    return torch.autograd.grad((x * x).sum(), [x, w], materialize_grads=True)


@program
@raises(ValueError)
def materialized_but_not_allowed(torch):
    x = leaf(torch, 1.0)
    torch.autograd.grad(x.sum(), x, materialize_grads=True, allow_unused=False)


@program
def complex_gradients_are_conjugated_as_in_torch(torch):
    z = torch.tensor([1 + 2j, -0.5 + 1j], requires_grad=True)
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    y = z * z * w + z.exp() * (1 - 2j)
    y.backward(torch.tensor([1 + 1j, 2 - 1j]))
    first = z.grad.clone(), w.grad.clone()
    (z.abs() ** 2).sum().backward()
    return y, first, z.grad


@program
@raises(RuntimeError)
def a_saved_operand_that_was_changed(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 1
    z = y * y
    y.add_(1)
    z.sum().backward()


@program
@raises(RuntimeError)
def a_saved_result_that_was_changed(torch):
    z = leaf(torch, 1.0, 2.0).exp()
    z.add_(1)
    z.sum().backward()


@program
@raises(RuntimeError)
def a_saved_leaf_that_was_changed(torch):
    x = leaf(torch, 1.0, 2.0)
    z = (x * x).sum()
    with torch.no_grad():
        x.add_(1)
        x.mul_(2)
    z.backward()


@program
@raises(RuntimeError)
def a_saved_leaf_that_was_changed_through_detach(torch):
    x = leaf(torch, 1.0, 2.0)
    z = (x * x).sum()
    x.detach().add_(1)
    z.backward()


@program
@raises(RuntimeError)
def a_saved_view_whose_base_was_changed(torch):
    y = leaf(torch, 1.0, 2.0) * 1
    z = y[0] * y[1]
    y[0] = 5.0
    z.backward()


@program
@raises(RuntimeError)
def a_saved_base_of_which_a_view_was_changed(torch):
    y = leaf(torch, 1.0, 2.0) * 1
    z = y * y
    y[0].add_(1)
    z.sum().backward()


@program
@raises(RuntimeError)
def a_saved_constant_that_was_changed(torch):
    x, c = leaf(torch, 1.0, 2.0), torch.tensor([3.0, 4.0])
    z = x * c
    c.detach()[0] = 9.0
    z.sum().backward()


@program
@raises(RuntimeError)
def two_saved_results_that_were_changed(torch):
    first = leaf(torch, 1.0, 2.0, 3.0).exp()
    second = first[:2].clone().exp()
    first.add_(1), second.add_(1)
    (first.sum() + second.sum()).backward()


@program
def changes_that_matter_to_nobody(torch):
    x, c = leaf(torch, 1.0, 2.0), torch.tensor([3.0, 4.0])
    y = x + c
    c.zero_()
    y.mul_(2)
    z = x.sum() * 3
    z.add_(1)
    w = x * 2
    w.add_(1)
    (y.sum() + z + w.sum()).backward()
    return x.grad


@program
def the_graph_is_walked_by_grad_fn(torch):
    x = leaf(torch, 1.0, 2.0)
    y = torch.log(x * 3) + x.sum()
    names, level = [], [y.grad_fn]
    while level:
        names.append([each and each.name() for each in level])
        level = [each for step in level if step for each, _ in step.next_functions]
    return names


@program
def grad_fn_names(torch):
    x, m = leaf(torch, 1.0, 2.0), torch.ones(2, 2, requires_grad=True)
    results = [x + 1, x - 1, 1 - x, x * 2, x / 2, 1 / x, -x, x**2, x**2.5, 2**x, x**x, x @ x, m @ x, m @ m]
    results += [x.sum(), x.sum(0), x.mean(), x.norm(), x.log(), x.exp(), x[0], x[:1], x[None], x[...], x.clone()]
    results += [m.t(), m.permute(1, 0), m.transpose(0, 1), m.squeeze(), x.double(), next(iter(x))]
    results += [m[:1].squeeze(0), m[:1].squeeze((0,)), m[:1].squeeze(dim=0), m.squeeze(0, -1), m.sum(0, True)]
    return [repr(each).partition("grad_fn=")[2] for each in results]


test_agrees_with_torch = agreement_of(PROGRAMS)


def test_the_jacobian_of_what_is_already_there_is_that_of_the_function():
    x_data, w_data = [[1.0, 2.0], [3.0, 4.0]], [[0.5], [-1.0]]

    def f(x, w):
        return (x @ w).exp() * x

    x, w = (jaxvjp.tensor(each, requires_grad=True) for each in (x_data, w_data))
    y = f(x, w)
    dispatches = counters.dispatches
    of_x, of_w = jaxvjp.autograd.jacobian(y, [x, w])
    assert counters.dispatches == dispatches + 1
    expected = theirs(lambda torch: torch.autograd.functional.jacobian(f, (torch.tensor(x_data), torch.tensor(w_data))))
    for given, wanted in zip((of_x, of_w), expected.value, strict=True):
        np.testing.assert_allclose(given.numpy(), wanted[-1], rtol=1e-5)
    assert jaxvjp.autograd.jacobian(y[0, 0], w).shape == (2, 1)
    with pytest.raises(TypeError, match=r"`jaxvjp.autograd.functional.jacobian\(f, x\)`"):
        jaxvjp.autograd.jacobian(lambda each: each**2, x)
    y.sum().backward()  # the graph is still there
    assert w.grad is not None


def test_per_sample_gradients_of_recorded_losses():
    w = jaxvjp.tensor([1.0, -2.0], requires_grad=True)
    inputs = jaxvjp.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    losses = (inputs @ w) ** 2
    of_each = jaxvjp.autograd.jacobian(losses, w)
    for sample, row in zip(inputs, of_each, strict=True):
        (alone,) = jaxvjp.autograd.grad((sample @ w) ** 2, w)
        jaxvjp.testing.assert_close(row, alone)
