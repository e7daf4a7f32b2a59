"""Graphs that are partly freed, and graphs whose leaves were written after recording."""

from __future__ import annotations

from functions import leaf
from oracle import agreement_of, programs_of


def outcomes(torch, *attempts):
    found = []
    for attempt in attempts:
        try:
            found.append(attempt())
        except RuntimeError as error:
            found.append(str(error).partition("\n")[0])
    return found


def a_freed_graph_is_no_unused_input(torch):
    x = leaf(torch)
    held, grad = x * x, torch.autograd.grad
    z = held.sum()
    z.backward()
    w = (x * x).sum()
    w.backward()
    return outcomes(
        torch,
        lambda: grad(z, x, allow_unused=True),
        lambda: grad(z, x),
        lambda: grad(w, x, allow_unused=True),
        lambda: grad(held.sum(), x, materialize_grads=True),
        lambda: grad(held.sum(), [x, held], allow_unused=True),
        lambda: grad(held.sum(), held),
        lambda: grad(z, leaf(torch), allow_unused=True),
    )


def a_value_that_one_walk_had_and_the_next_has_not(torch):
    w = torch.nn.Parameter(torch.arange(6.0).view(2, 3).t())
    sums = []
    for _ in range(4):
        pulled = torch.func.vjp(lambda x: x * w, w)[1](torch.ones(3, 2))[0]
        sums.append(torch.autograd.grad(pulled.sum(), pulled)[0])
        (pulled * 0.5 * pulled).sum().backward()
        sums.append(w.grad.clone())
        w.register_post_accumulate_grad_hook(lambda leaf: (leaf.data.sub_(leaf.grad), None)[1])
    return sums, w


def part_of_the_way_is_freed(torch):
    a, b, c = leaf(torch), leaf(torch), leaf(torch)
    inner = a.exp() * b
    outer = inner * 2
    outer.sum().backward()
    loss, grad = (outer * c + b).sum(), torch.autograd.grad
    return outcomes(
        torch,
        lambda: grad(loss, c, retain_graph=True),
        lambda: grad(loss, b, retain_graph=True),
        lambda: grad(loss, a, retain_graph=True),
        lambda: grad(loss, [a, c], retain_graph=True, allow_unused=True),
        lambda: grad(loss, inner, retain_graph=True, allow_unused=True),
        lambda: grad(loss, leaf(torch), retain_graph=True, allow_unused=True),
        lambda: loss.backward(inputs=[b], retain_graph=True),
        lambda: loss.backward(inputs=[c]),
        lambda: c.grad.clone(),
    )


def freed_by_a_walk_to_one_input(torch):
    a, b = leaf(torch), leaf(torch)
    inner = a * b
    grad = torch.autograd.grad
    return outcomes(
        torch,
        lambda: grad(inner.sum(), a),
        lambda: grad((inner * 2 + b).sum(), b),
        lambda: grad((inner * 2 + b).sum(), b, allow_unused=True),
    )


def two_heads_on_one_body(torch):
    """What was freed does not matter to who asks only for what lies before it."""
    body, first, second = leaf(torch), leaf(torch), leaf(torch)
    features = body.exp()
    (features * first).sum().backward()
    return outcomes(
        torch,
        lambda: torch.autograd.grad((features * second).sum(), second),
        lambda: (features * second).sum().backward(inputs=[second]),
        lambda: second.grad.clone(),
        lambda: (features * second).sum().backward(),
    )


def a_leaf_written_after_it_was_used(torch):
    found = []
    for write in (
        lambda w: w.add_(1),
        lambda w: w.detach().add_(1),
        lambda w: w.data.add_(1),
        lambda w: setattr(w, "data", torch.tensor([5.0, 5.0])),
        lambda w: w.requires_grad_(False).requires_grad_(True),
    ):
        w = leaf(torch)
        before = (w * 2).sum()
        with torch.no_grad():
            write(w)
        w.register_hook(lambda gradient: gradient * 10)
        both = before + (w * 3).sum()
        found.append(torch.autograd.grad(before, w, retain_graph=True))
        found.append(torch.autograd.grad(both, w, retain_graph=True))
        both.backward(inputs=[w], retain_graph=True)
        both.backward()
        found.append((w, w.grad))
    return found


def a_leaf_that_requires_no_gradient_any_more(torch):
    w = leaf(torch)
    y = (w * 2).sum()
    w.requires_grad_(False)
    y.backward()
    return w.grad


def an_intermediate_written_past_its_graph(torch):
    found = []
    for write in (lambda h: h.detach().add_(1), lambda h: h.data.mul_(3), lambda h: h.data.__setitem__(0, 7.0)):
        w = leaf(torch)
        h = w * 2
        y = h.sum()
        write(h)
        h.retain_grad()
        h.register_hook(lambda gradient: gradient * 10)
        z = y + (h * 3).sum()
        found.append((torch.autograd.grad(z, h, retain_graph=True), h.retains_grad, h.grad_fn.name()))
        z.backward()
        found.append((h, h.grad, w.grad))
    return found


def an_intermediate_behind_which_a_long_graph_goes_on(torch):
    found = []
    for _ in range(3):
        x = leaf(torch)
        y = x
        for _ in range(30):
            y = y * 1.01 + 0.1
        a = y.sin()
        h = a * 2
        b = h.cos()
        c = b + 1
        found.append(torch.autograd.grad((c * 3).sum(), [x, h]))
    return found


def a_gradient_kept_of_one_of_several_views_asked_for_again(torch):
    part = leaf(torch).unbind(0)[1]
    part.retain_grad()
    part.detach().mul_(-1)
    part.retain_grad()
    return part.retains_grad


def the_gradients_of_one_loss_one_after_the_other(torch):
    """What the first walk freed leads to a and not to b; so it goes for backward, and for several results of one op."""
    a, b, c = torch.ones(2, 3, requires_grad=True), leaf(torch), leaf(torch)
    grad = torch.autograd.grad
    sums = (a * a).sum() + (b * b).sum()
    highest = (a * a).max(0)[0].sum() + (b * b).sum() + a.exp().cumsum(0)[0].mean()
    shared = c * 2
    products = ((a * a) @ torch.ones(3) + shared * b + shared.tanh()).sum()
    parts = ((a * a) @ torch.ones(3) + c.sin() * b).sum()
    return outcomes(
        torch,
        *[lambda: grad(sums, a), lambda: grad(sums, b), lambda: grad(sums, b)],
        *[lambda: grad(highest, a), lambda: grad(highest, b), lambda: grad(highest, b)],
        *[lambda: grad(products, a), lambda: grad(products, shared), lambda: grad(products, b)],
        *[lambda: grad(products, b), lambda: grad(products, c)],
        *[lambda: parts.backward(inputs=[a]), lambda: parts.backward(inputs=[c])],
        *[lambda: (a.grad.clone(), c.grad.clone()), lambda: parts.backward(inputs=[b])],
    )


def the_gradients_of_pieces_in_shards(torch):
    leaves = [leaf(torch) for _ in range(6)]
    pieces = [each * at + each * each for at, each in enumerate(leaves)]
    loss = sum(each * at for at, each in enumerate(pieces)).sum()
    found = [each for at in (0, 2, 4) for each in torch.autograd.grad(loss, pieces[at : at + 2])]
    torch.autograd.backward(pieces, found)
    return [each.grad for each in leaves], outcomes(torch, lambda: torch.autograd.grad(loss, leaves[0]))


test_agrees_with_torch = agreement_of(programs_of(globals(), leaf))
