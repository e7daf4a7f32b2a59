"""Saved-tensor hooks, under torch and under jaxvjp."""

from __future__ import annotations

import pytest
from oracle import agree, agreement_of, programs_of, raises

import jaxvjp

RECORDED = [
    "x * 2", "x * w", "w * c", "x / w", "c / w", "x + w", "x ** 2", "x ** w", "x.exp()", "x.log()", "x.tanh()",
    "x @ w", "m @ x", "m @ m", "torch.mm(m, m)", "x.norm()", "x.sum()", "x[torch.tensor([0])]", "x.sqrt()",
    "x.relu()", "x.sin()", "x.sigmoid()", "x.reciprocal()", "x.abs()", "x.clamp(0.5, 1.5)",
    "x.masked_fill(c > 5, 0.0)", "x[0] * w[1]", "-x",
]  # fmt: skip


def variables(torch):
    return {
        "torch": torch,
        "x": torch.tensor([1.0, 2.0], requires_grad=True),
        "w": torch.tensor([3.0, 4.0], requires_grad=True),
        "m": torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
        "c": torch.tensor([5.0, 6.0]),
    }


@pytest.mark.parametrize("recorded", RECORDED)
def test_what_is_packed_and_unpacked(recorded):
    def program(torch):
        names, log = variables(torch), []

        def pack(saved):
            log.append(("pack", saved.tolist()))
            return saved

        def unpack(kept):
            log.append(("unpack", kept.tolist()))
            return kept

        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = eval(recorded, names)
        y.sum().backward()
        return log, [names[name].grad for name in "xwm"]

    agree(program)


def what_is_unpacked_is_differentiated_at(torch):
    x, w = (variables(torch)[name] for name in "xw")
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved * 2, lambda kept: kept * 10):
        y = x * x * w
    y.sum().backward()
    return x.grad, w.grad


def any_object_can_be_kept(torch):
    x, w = (variables(torch)[name] for name in "xw")
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved.tolist(), torch.tensor):
        y = (x * w).exp() * x
    y.sum().backward()
    return x.grad, w.grad


def hooks_nest(torch):
    x, log = variables(torch)["x"], []
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda saved: log.append("outer") or saved, lambda kept: kept):
        y = x * x
        with hooks(lambda saved: log.append("inner") or saved, lambda kept: kept):
            y = y * x
        y = y * y
    y.sum().backward()
    return log, x.grad


def second_derivatives(torch):
    x = variables(torch)["x"]
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda kept: kept):
        y = x**3 * x
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), x)


def on_the_host(torch):
    x, w = (variables(torch)[name] for name in "xw")
    with torch.autograd.graph.save_on_cpu():
        y = (x * w).sin()
    y.sum().backward()
    return x.grad, w.grad


@raises(RuntimeError)
def disabled(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda kept: kept).__enter__()


@raises(RuntimeError)
def disabled_inside(torch):
    with (
        torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda kept: kept),
        torch.autograd.graph.disable_saved_tensors_hooks("not here"),
    ):
        pass


@raises(TypeError)
def a_number_is_unpacked(torch):
    x = variables(torch)["x"]
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda kept: 3):
        y = x * x
    y.sum().backward()


@raises(RuntimeError)
def a_pack_hook_that_writes(torch):
    x, w = (variables(torch)[name] for name in "xw")
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved.add_(1), lambda kept: kept):
        return (x * 1) * (w * 1)


def each_look_at_what_was_saved_unpacks_it(torch):
    x, unpacked = torch.tensor([2.0, 3.0], requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved * 2, lambda kept: (unpacked.append(1), kept)[1]):
        y = x * x
    return y.grad_fn._saved_self, y.grad_fn._saved_other, len(unpacked)


def a_saved_result_shows_what_is_written_to_it(torch):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x.exp()
    saved = y.grad_fn._saved_result
    before = saved._version
    with torch.no_grad():
        y.add_(1)
    return saved, before, saved._version, saved.grad_fn is y.grad_fn


@raises(RuntimeError)
def a_saved_operand_that_was_written(torch):
    x = torch.tensor([2.0, 3.0], requires_grad=True) * 1
    y = x**2
    x.add_(1)
    return y.grad_fn._saved_self


def interpolation_by_a_number_saves_nothing(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.lerp(x, torch.ones(2), 0.25).sum()
    y.backward()
    y.backward()
    return x.grad


def hooks_of_one_saved_tensor(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda saved: saved, lambda kept: kept)
    z = x.sin()
    z.grad_fn._raw_saved_self.register_hooks(lambda saved: saved * 2, lambda kept: kept)
    shown = z.grad_fn._saved_self
    (y.sum() + z.sum()).backward()
    return shown, x.grad


@raises(RuntimeError)
def hooks_of_one_saved_tensor_are_set_once(torch):
    y = torch.tensor([1.0, 2.0], requires_grad=True).sin()
    y.grad_fn._raw_saved_self.register_hooks(lambda saved: saved, lambda kept: kept)
    y.grad_fn._raw_saved_self.register_hooks(lambda saved: saved, lambda kept: kept)


@raises(TypeError)
def hooks_of_one_saved_tensor_are_two_functions(torch):
    torch.tensor([1.0, 2.0], requires_grad=True).sin().grad_fn._raw_saved_self.register_hooks(1, 1)


@raises(RuntimeError)
def hooks_of_a_freed_saved_tensor(torch):
    y = torch.tensor([1.0, 2.0], requires_grad=True).sin()
    saved = y.grad_fn._raw_saved_self
    y.sum().backward()
    saved.register_hooks(lambda saved: saved, lambda kept: kept)


@raises(RuntimeError)
def a_saved_tensor_is_made_by_nobody(torch):
    torch.autograd.SavedTensor()


def the_hooks_of_a_blocks_end(torch):
    seen = []
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda saved: seen.append(1) or saved, lambda kept: kept)
    with hooks, hooks:
        torch.ones(1, requires_grad=True).sin()
    torch.ones(1, requires_grad=True).sin()
    return len(seen)


@raises(RuntimeError)
def detached_in_place_after_it_was_saved(torch):
    x = torch.tensor(1.0, requires_grad=True).clone()
    y = x.sin()
    x.detach_()
    y.backward()


def a_result_detached_in_place(torch):
    x = torch.tensor(1.0, requires_grad=True)
    z = x.clone()
    y = z.exp()
    z.detach_()
    y.backward()
    return x.grad


@raises(RuntimeError)
def written_after_an_alias_was(torch):
    a = torch.tensor(2.0, requires_grad=True)
    b = a.data
    y = a * 0.5 * b
    with torch.no_grad():
        a.mul_(0.5)
        b.add_(1.0)
    y.backward()


@raises(RuntimeError)
def filled_after_it_was_saved(torch):
    b = torch.tensor([2.0, 1.0], requires_grad=True)
    c = b * 2
    y = c * b
    c.fill_(0.5)
    y.sum().backward()


@raises(RuntimeError)
def a_view_written_after_it_was_saved(torch):
    b, c = torch.ones(3, 2).t(), torch.ones(2, 3, requires_grad=True)
    y = b * c
    b.mul_(y)
    y.sum().backward()


def a_view_taken_without_gradients_that_gets_its_own(torch):
    a = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        view = a.t()
    seen = []
    view.register_hook(lambda g: seen.append(g))
    view.requires_grad = True
    (view * 2).sum().backward()
    return view.is_leaf, view.grad, a.grad, seen


def a_leaf_detached_in_place(torch):
    a = torch.tensor(2.0, requires_grad=True)
    y = a * 0.5 * a
    a.detach_()
    y.backward()
    return a.requires_grad


def hooks_of_a_view_in_the_second_of_two_graphs(torch):
    a, seen = torch.ones(3, requires_grad=True), []
    view = a.narrow(0, 0, 1)
    a.data.add_(-0.5)
    view.register_hook(lambda g: seen.append(g.detach().clone()))
    (view * 0.5 * view).sum().backward()
    (view * view).sum().backward()
    return seen, a.grad


def hooks_after_accumulation_of_a_leaf_that_was_written(torch):
    a, seen = torch.ones(3, requires_grad=True), []
    a.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.clone()))
    view = a.narrow(0, 0, 1)
    a.data.add_(-0.5)
    (view * view).sum().backward()
    return seen


def retains_grad_of_what_was_detached_in_place(torch):
    found = []
    for change in (lambda b: b.detach(), lambda b: b.mul_(2.0), lambda b: b.set_(torch.ones(2))):
        b = torch.ones(3, requires_grad=True) * 2
        b.retain_grad()
        b.detach_()
        found.append((b.retains_grad, change(b).retains_grad, b.retains_grad))
    return found


def retains_grad_is_not_shared_by_tensors_of_one_memory(torch):
    b = torch.ones(3, requires_grad=True) * 2
    b.retain_grad()
    alias, other = b.data, torch.zeros(3)
    b.detach_()
    other.data = b
    found = [b.retains_grad, alias.retains_grad, other.retains_grad]
    b[0] = 5.0
    found += [b.retains_grad, alias.retains_grad, other.retains_grad, b.view(3).retains_grad]
    b.requires_grad_().retain_grad()
    with torch.no_grad():
        b.mul_(2.0)
    (b * 3.0).sum().backward()
    return found, b.retains_grad, b.grad, alias


def retain_grad_after_a_backward_of_a_view_written_through_data(torch):
    a = torch.ones(3, requires_grad=True)
    c = a.expand(2, -1)
    a.data.add_(1.0)
    c.backward(torch.ones(2, 3))
    c.retain_grad()
    c.backward(torch.full((2, 3), 2.0))
    return c.retains_grad, c.grad, a.grad


def a_step_of_a_recurrence_detached_in_place(torch):
    w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
    for _ in range(3):
        h = (w * h).tanh()
        h.backward()
        h.detach_()
    return w.grad, h


@raises(AssertionError)
def mutation_allowed_where_it_was_recorded_only(torch):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = (torch.ones(2, requires_grad=True) ** 2).sum()
    y.backward()


def values_that_hooks_change_in_second_derivatives(torch):
    def doubling():
        return torch.autograd.graph.saved_tensors_hooks(lambda saved: saved * 2, lambda kept: kept)

    def keeping():
        return torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda kept: kept)

    found = []
    for function in (lambda x: x**3, lambda x: x * x, torch.sin):
        for forward in (doubling, keeping):
            for backward in (doubling, keeping):
                x = torch.tensor([1.0, 2.0], requires_grad=True)
                with forward():
                    y = function(x).sum()
                with backward():
                    (gradient,) = torch.autograd.grad(y, x, create_graph=True)
                    gradient.sum().backward()
                found += [gradient.detach(), x.grad]
    return found


def hooks_for_one_of_two_equal_operands(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda saved: saved * 2, lambda kept: kept)
    y.sum().backward()
    return x.grad


test_agrees_with_torch = agreement_of(programs_of(globals(), variables))


def test_a_changed_result_is_refused():
    x = variables(jaxvjp)["x"]
    with jaxvjp.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda kept: kept * 2):
        y = x.exp()
    with pytest.raises(RuntimeError, match="changed the saved result of ExpBackward0"):
        y.sum().backward()
    assert x.grad is None
