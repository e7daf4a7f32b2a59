"""Leaves stay leaves and keep their hooks when their storage is written, under torch and under jaxvjp.

`docs/storage.md` has the model; each program tests one of its sentences, in several rounds, as in a training loop.
"""

from __future__ import annotations

import copy
import gc
from itertools import product

from oracle import agreement_of, live_nodes, programs_of, raises

import jaxvjp
from jaxvjp.types.compiled import CYTHONIZED


def trained(torch, w, rounds=4):
    losses = []
    for _ in range(rounds):
        loss = ((w - 1) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.2 * w.grad
        w.grad = None
        losses.append(loss.item())
    return losses, w.requires_grad, w.is_leaf, w._version


VIEWS = {
    "reshape": lambda x: x.reshape(3, 2),
    "view": lambda x: x.view(6),
    "t": lambda x: x.t(),
    "slice": lambda x: x[:, 1:],
    "chunk": lambda x: x.chunk(2)[0],
    "unsqueeze": lambda x: x.unsqueeze(0),
}


def a_parameter_of_a_view_is_trained(torch):
    x = torch.zeros(2, 3)
    return trained(torch, torch.nn.Parameter(x.view(3, 2))), x


def a_view_made_a_leaf_is_trained(torch):
    found = {}
    for name, view in VIEWS.items():
        x = torch.zeros(2, 3)
        found[name] = trained(torch, view(x).requires_grad_()), x, x._version
    return found


def a_detached_view_made_a_leaf_is_trained(torch):
    found = {}
    for name, view in VIEWS.items():
        x = torch.zeros(2, 3)
        found[name] = trained(torch, view(x).detach().requires_grad_()), x, x._version
    return found


def an_expanded_leaf_follows_what_it_repeats(torch):
    x = torch.ones(3)
    w = x.expand(2, 3).requires_grad_()
    found = []
    for _ in range(3):
        w.sum().backward()
        with torch.no_grad():
            x -= 0.5 * w.grad[0]
        found.append((w, w.is_leaf, w.grad))
        w.grad = None
    return found


def a_leaf_over_what_is_written(torch):
    x = torch.zeros(2, 3)
    t = x.detach().requires_grad_()
    x.add_(1)
    (t * 2).sum().backward()
    return t, t.is_leaf, t.grad, t._version


def a_leaf_written_through_detach(torch):
    a = torch.zeros(3).requires_grad_()
    found = []
    for number in range(3):
        a.detach()[0] = 7.0 + number
        (a * a).sum().backward()
        found.append((a, a.grad.clone(), a.is_leaf, a._version))
    return found


def hooks_stay_with_the_leaf(torch):
    seen = []

    def clamped(grad):
        seen.append(grad.tolist())
        return grad.clamp(-1, 1)

    w = torch.ones(3, requires_grad=True)
    w.register_hook(clamped)
    w.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    for number in range(4):
        ((w * 10) ** 2).sum().backward()
        if number % 2:
            w.data -= 0.5 * w.grad
        else:
            w.detach().sub_(0.5 * w.grad)
        w.grad = None
    return seen, w


def a_hook_registered_before_a_graph_of_old_contents(torch):
    seen = []
    w = torch.ones(2, requires_grad=True)
    y = (w * 3).sum()
    w.data -= 0.5
    w.register_hook(lambda grad: seen.append(grad.tolist()))
    y.backward()
    return seen, w.grad


def a_leaf_that_is_gone_has_its_hook_called_once(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    y = (x * 2).sum()
    with torch.no_grad():
        x.mul_(3)
    z = (x * 3).sum()
    del x
    (y + z).backward()
    return seen


def data_written_twice_reaches_every_alias(torch):
    w = torch.zeros(4, requires_grad=True)
    v, d = w.view(2, 2), w.detach()
    found = []
    for _ in range(3):
        w.data -= 1.0
        found.append((v.tolist(), d.tolist(), w.tolist(), w._version))
    return found


def data_of_another_tensor_is_shared_with_it(torch):
    b = torch.arange(6.0)
    w = torch.zeros(2, 3, requires_grad=True)
    w.data = b.view(2, 3)
    b[0] = 100.0
    (w * w).sum().backward()
    same = w.data_ptr() == b.data_ptr()
    w.data = torch.arange(6.0).view(2, 3).t()
    return w.grad, same, w, w.stride(), w.is_contiguous(), w._version


def data_of_an_intermediate_leaves_its_graph(torch):
    x = torch.ones(2, requires_grad=True)
    t = x * 2
    t.data = torch.full((2,), 5.0)
    (t * t).sum().backward()
    return t, t.is_leaf, x.grad


def a_step_with_hooks_after_a_write_reaches_the_leaf(torch):
    a = torch.ones(3, 2, requires_grad=True)
    b = a.tanh()
    a.data = torch.zeros(3, 2)
    seen = []
    b.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append(grad_outputs[0].tolist()))
    b.sum().backward()
    return seen, a.grad is not None


@raises(RuntimeError)
def what_an_in_place_operation_changed_is_said_after_a_look(torch):
    x = torch.ones(3, requires_grad=True)
    z = x * 2
    y = z * z
    z.tolist()
    z.mul_(2)
    z.tolist()
    y.sum().backward()


@raises(RuntimeError)
def a_saved_leaf_was_written(torch):
    w = torch.ones(3, requires_grad=True)
    y = (w * w).sum()
    with torch.no_grad():
        w.add_(1)
    y.backward()


def requires_grad_off_and_on_again(torch):
    found = []
    for again in (False, True):
        x = torch.ones(2, requires_grad=True)
        y = (x * 2).sum()
        x.requires_grad_(False)
        if again:
            x.requires_grad_()
        y.backward()
        found.append(x.grad)
    return found


def a_gradient_is_retained_past_writes_and_backwards(torch):
    x = torch.arange(3.0, requires_grad=True)
    found = []
    for y in (x.sum(), (x * 1)[1:][0]):
        y.retain_grad()
        y.detach().copy_(2.0)
        (y * y).backward(retain_graph=True)
        found += [y.retains_grad, y.grad]
        y.data.mul_(3.0)
        found.append(y.retains_grad)
        (y * y).backward()
        y.detach().mul_(2.0)
        found += [y.retains_grad, y.grad]
    return found, x.grad


def a_deep_copy_is_not_written_by_writes_to_others(torch):
    x = torch.ones(2, 3, requires_grad=True)
    copied, y = copy.deepcopy(x), x.clone()
    y[0] = 0.5
    (copied * y).sum().backward()
    return x.grad, copied.grad


def the_hash_of_a_tensor_is_its_id(torch):
    x, p = torch.ones(2), torch.nn.Parameter(torch.ones(1))
    return hash(x) == id(x), hash(p) == id(p), {id(x): 1}.get(hash(x))


def a_freed_tensor_written_through_data_is_read(torch):
    x = torch.arange(3.0, requires_grad=True)
    y, found = x * x, []
    y.data[0] = 7.0
    (y * y).sum().backward()
    y.data.mul_(2.0)
    found.append(y.tolist())
    y.data.copy_(x)
    return found, y, y.requires_grad, x.grad


@raises(RuntimeError)
def the_last_use_of_what_was_written_is_told(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.tanh()
    y.unsqueeze_(0)
    z = y.tanh()
    z.unsqueeze_(0)
    (z * z).sum().backward()


def set_shows_another_storage(torch):
    x = torch.zeros(3)
    v, y = x[1:], torch.arange(5.0)
    x.set_(y)
    y[0] = 9.0
    w = torch.zeros(3, requires_grad=True)
    with torch.no_grad():
        w.set_(torch.ones(4))
    return x, v, x._version, v._version, w, w.is_leaf, w._version


@raises(RuntimeError)
def set_of_a_leaf_is_refused(torch):
    torch.zeros(3, requires_grad=True).set_(torch.ones(3))


def what_set_refuses_first(torch):
    """Another dtype, before it looks whether the tensor may be written."""
    x, told = torch.zeros(3), []
    leaf, inferred = torch.zeros(3, requires_grad=True), torch.inference_mode()(lambda: torch.zeros(3))()
    with torch.no_grad():
        hidden = leaf[1:]
    for target, source in product(
        (x, leaf, leaf * 2, leaf[1:], (leaf * 2).split(1)[0], hidden, inferred),
        (torch.ones(3).double(), torch.ones(3).double().storage()),
    ):
        try:
            target.set_(source)
        except RuntimeError as error:
            told.append(str(error).partition("\n")[0])
    for target in leaf, leaf[1:], (leaf * 2).split(1)[0], hidden, inferred:
        try:
            target.set_(torch.ones(3))
        except RuntimeError as error:
            told.append(str(error).partition("\n")[0])
    return told


def hooks_of_a_leaf_that_shows_another_storage(torch):
    """Those of the tensor are called for graphs of before and after, those of its step for graphs of theirs."""
    told = []
    for early, late, step_early, step_late in product((False, True), repeat=4):
        x, seen = torch.arange(3.0).requires_grad_(), []
        hooks = [lambda gradient, name=name, seen=seen: seen.append((name, gradient)) for name in ("early", "late")]
        prehooks = [lambda given, hook=hook: hook(given[0]) for hook in hooks]
        before = x * 2
        if early:
            x.register_hook(hooks[0])
        if step_early:
            before.grad_fn.next_functions[0][0].register_prehook(prehooks[0])
        with torch.no_grad():
            x.set_(torch.ones(3))
        if late:
            x.register_hook(hooks[1])
        after = x * 3
        if step_late:
            after.grad_fn.next_functions[0][0].register_prehook(prehooks[1])
        before.sum().backward()
        after.sum().backward()
        told.append((seen, x.grad))
    return told


def shapes_changed_in_place(torch):
    x = torch.zeros(2, 3)
    v = x.view(3, 2)
    x.t_()
    x[0, 1] = 5.0
    p = torch.arange(6.0).view(2, 3).requires_grad_()
    i = p * 1
    j = i.view(3, 2)
    i.t_()
    i.mul_(2)
    j.sum().backward()
    return v, v._version, x.stride(), x.shape, p.grad, j


def resized_within_the_storage(torch):
    x = torch.arange(6.0)
    v = x[1:]
    x.resize_(3)
    x[1] = 9.0
    smaller = x.clone()
    x.resize_(2, 2)
    return smaller, v, x, x._version, torch.arange(6.0).resize_(8).untyped_storage().nbytes()


def deep_copies_share_what_they_shared(torch):
    whole = torch.arange(6.0)
    a, b = copy.deepcopy([whole, whole[2:]])
    a[2] = 50.0
    turned = copy.deepcopy(torch.arange(6.0).view(2, 3).t().requires_grad_())
    return b, whole, turned.stride(), turned.requires_grad, turned._is_view(), turned.untyped_storage().nbytes()


def layouts(torch):
    x = torch.arange(96.0).view(2, 3, 4, 4)
    last = x.contiguous(memory_format=torch.channels_last)
    turned = torch.arange(6.0).view(2, 3).t()
    return (
        (last.stride(), last.is_contiguous(), last.is_contiguous(memory_format=torch.channels_last), last),
        (x.to(memory_format=torch.channels_last).stride(), last.contiguous().stride()),
        (turned.clone().stride(), turned.clone(memory_format=torch.contiguous_format).stride()),
        (x[1, 1].data_ptr() - x.data_ptr(), x[1, 1].untyped_storage().nbytes(), x.nbytes, x.is_set_to(x.view_as(x))),
    )


@raises(RuntimeError)
def a_clone_that_is_not_contiguous_has_no_view(torch):
    return torch.arange(6.0).view(2, 3).t().clone().view(-1)


def hooks_of_leaves_come_in_the_order_in_which_gradients_are_complete(torch):
    called = []
    leaves = [torch.ones(2, requires_grad=True) for _ in range(5)]
    for number, each in enumerate(leaves):
        each.register_post_accumulate_grad_hook(lambda leaf, number=number: called.append(number))
    for _ in range(3):
        x = leaves[3] * 1
        for number in (1, 4, 0, 2, 1):
            x = x * leaves[number]
        x.sum().backward()
        (leaves[2] * leaves[3] * leaves[0]).sum().backward()
    return called, [each.grad for each in leaves]


def gradients_asked_for_call_hooks_in_that_order(torch):
    called = []
    leaves = [torch.ones(2, requires_grad=True) for _ in range(3)]
    for number, each in enumerate(leaves):
        each.register_hook(lambda grad, number=number: called.append(number))
    torch.autograd.grad((leaves[0] * 2 * leaves[2] * leaves[1]).sum(), leaves, create_graph=True)
    return called


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_detaching_in_a_loop_keeps_nothing():
    w = jaxvjp.ones(3, requires_grad=True)

    def detached_often():
        for _ in range(50):
            w.detach()
        return live_nodes()

    assert detached_often() == detached_often()


def test_a_cycle_through_a_hook_is_collected():
    def made():
        x = jaxvjp.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(lambda grad: grad * y)
        x.register_hook(lambda grad: grad * x)

    made()
    before = live_nodes()
    for _ in range(20):
        made()
    assert live_nodes() <= before


def test_a_cycle_through_what_was_recorded_on_a_hooked_tensor_is_collected():
    def made():
        later = []
        h = jaxvjp.ones(3, requires_grad=True) * 2
        h.register_hook(lambda grad: grad * later[0])
        later.append((h + 1) * 3)

    made()
    before = live_nodes()
    for _ in range(20):
        made()
    assert live_nodes() <= before


def test_the_collector_visits_recorded_nodes_where_code_may_lead_back_to_them():
    x = jaxvjp.ones(3, requires_grad=True)
    for _ in range(2):  # the second time the call is remembered
        y = x + 1
    assert gc.is_tracked(y.__node__) != CYTHONIZED
    y.register_hook(lambda grad: grad)
    assert gc.is_tracked(y.__node__)
    assert gc.is_tracked((y + 1).__node__)


def test_a_staged_step_writes_data():
    def step(torch, w, target):
        ((w - target) ** 2).sum().backward()
        w.data -= 0.1 * w.grad
        w.grad = None

    eager, staged = (jaxvjp.zeros(3, requires_grad=True) for _ in range(2))
    jitted = jaxvjp.jit(lambda target: step(jaxvjp, staged, target))
    seen = staged.view(3)
    for number in range(24):
        target = jaxvjp.tensor([1.0, 2.0, float(number)])
        step(jaxvjp, eager, target)
        jitted(target)
        assert jaxvjp.allclose(staged, eager)
        assert jaxvjp.allclose(seen, eager)
        assert staged.is_leaf
        assert staged._version == eager._version


def test_a_staged_step_trains_a_leaf_that_is_a_view():
    def step(w):
        loss = ((w - 1) ** 2).sum()
        loss.backward()
        with jaxvjp.no_grad():
            w -= 0.2 * w.grad
        w.grad = None
        return loss.detach()

    x, y = jaxvjp.zeros(2, 3), jaxvjp.zeros(2, 3)
    eager, staged = x.view(3, 2).requires_grad_(), jaxvjp.nn.Parameter(y.view(3, 2))
    jitted = jaxvjp.jit(lambda: step(staged))
    for _ in range(24):
        assert jaxvjp.allclose(step(eager), jitted())
        assert jaxvjp.allclose(x, y)
        assert staged.is_leaf
        assert staged.requires_grad
