"""Hooks that write to the gradient that they are given, and return nothing: what they wrote goes on."""

from __future__ import annotations

from itertools import product

import pytest
from functions import custom, leaf
from oracle import agree

WRITES = {
    "by an index": lambda torch, g: g.__setitem__(0, 0),
    "mul_": lambda torch, g: g.mul_(3),
    "clamp_": lambda torch, g: g.clamp_(max=0.5),
    "through data": lambda torch, g: g.data.mul_(3),
    "a part of data": lambda torch, g: g.data.__setitem__(0, 0),
    "out": lambda torch, g: torch.add(g, 1, out=g),
    "NumPy": lambda torch, g: g.detach().numpy().__setitem__(1, 7),
    "a view": lambda torch, g: g.view(-1)[1:].add_(1),
    "nothing": lambda torch, g: None,
}


def of_a_leaf(torch, write, note, **more):
    x = leaf(torch)
    x.register_hook(write)
    x.register_hook(note)
    for _ in range(2):
        (x * 2).sum().backward(**more)
    return x.grad


def with_a_second_derivative(torch, write, note, create_graph):
    x = leaf(torch)
    x.register_hook(write)
    (x * x * x).sum().backward(create_graph=create_graph)
    return x.grad, *(torch.autograd.grad(x.grad.sum(), [x]) if create_graph else ())


def of_an_intermediate(torch, write, note, **more):
    x = leaf(torch)
    y = x * 3
    y.register_hook(write)
    y.register_hook(note)
    y.retain_grad()
    (y * y).sum().backward(**more)
    return x.grad, y.grad


def by_autograd_grad(torch, write, note, **more):
    x = leaf(torch)
    y = x * 3
    y.register_hook(write)
    y.register_hook(note)
    loss = (y * y).sum()
    both = torch.autograd.grad(loss, [x, y], retain_graph=True, **more)
    return both, torch.autograd.grad(loss, [y], **more)


def of_the_root(torch, write, note, **more):
    x = leaf(torch)
    y, v = x * 3, torch.tensor([1.0, 5.0])
    y.register_hook(write)
    y.backward(v, **more)
    return x.grad, v


def before_a_step(torch, write, note, **more):
    x = leaf(torch)
    y = (x * 3).sin()
    y.grad_fn.register_prehook(lambda gradients: write(gradients[0]))
    y.grad_fn.register_prehook(lambda gradients: note(gradients[0]))
    (y * y).sum().backward(**more)
    return x.grad


def after_a_step(torch, write, note, **more):
    x = leaf(torch)
    y = (x * 3).sin()
    y.grad_fn.register_hook(lambda inputs, outputs: write(inputs[0]))
    y.grad_fn.register_hook(lambda inputs, outputs: note(inputs[0]))
    y.grad_fn.register_hook(lambda inputs, outputs: write(outputs[0]))
    y.grad_fn.register_hook(lambda inputs, outputs: note(outputs[0]))
    (y * y).sum().backward(**more)
    return x.grad


def around_the_accumulation(torch, write, note, **more):
    x, z = leaf(torch), leaf(torch)
    steps = [each.view_as(each).grad_fn.next_functions[0][0] for each in (x, z)]
    steps[0].register_prehook(lambda gradients: write(gradients[0]))
    steps[1].register_hook(lambda inputs, outputs: write(outputs[0]))
    (x * 2 + z.sin()).sum().backward(**more)
    return x.grad, z.grad


def of_several(torch, write, note, **more):
    x, z = leaf(torch), leaf(torch, 3.0, 4.0)
    torch.autograd.graph.register_multi_grad_hook(
        [x, z], lambda gradients: [write(each) for each in gradients] and None
    )
    (x * z * 2).sum().backward(**more)
    w = leaf(torch)
    torch.autograd.graph.register_multi_grad_hook([w, w * 2], write, mode="any")
    (w * w).sum().backward(**more)
    return x.grad, z.grad, w.grad


def of_a_custom_function(torch, write, note, **more):
    x = leaf(torch)
    y = custom(torch, lambda ctx, x: x * 2, lambda ctx, gradient: gradient * 2).apply(x)
    y.register_hook(write)
    y.register_hook(note)
    (y * y).sum().backward(**more)
    return x.grad


def of_modules(torch, write, note, **more):
    told = []
    for register, hook in (
        ("register_full_backward_hook", lambda module, inputs, outputs: write(inputs[0])),
        ("register_full_backward_pre_hook", lambda module, outputs: write(outputs[0])),
        ("register_backward_hook", lambda module, inputs, outputs: write(inputs[0])),
    ):
        layer, x = torch.nn.LeakyReLU(0.5), leaf(torch)
        getattr(layer, register)(hook)
        (layer(x) * 2).sum().backward(**more)
        told.append(x.grad)
    return told


def after_accumulation(torch, write, note, **more):
    x = leaf(torch)
    x.register_post_accumulate_grad_hook(lambda x: write(x.grad))
    (x * 2).sum().backward(**more)
    return x.grad


PLACES = [
    of_a_leaf,
    with_a_second_derivative,
    of_an_intermediate,
    by_autograd_grad,
    of_the_root,
    before_a_step,
    after_a_step,
    around_the_accumulation,
    of_several,
    of_a_custom_function,
    of_modules,
    after_accumulation,
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("written", WRITES)
def test_what_a_hook_writes_goes_on(written, place):
    for create_graph in (False, True):

        def program(torch, create_graph=create_graph):
            seen = []

            def write(gradient):
                WRITES[written](torch, gradient)

            given = place(
                torch, write, lambda gradient: seen.append(gradient.detach().clone()), create_graph=create_graph
            )
            return given, seen

        agree(program)


def test_a_hook_that_writes_and_returns():
    for first, second in product(range(3), repeat=2):
        hooks = (lambda g: g.mul_(2), lambda g: g + 1, lambda g: (g.add_(5), g * 3)[1])

        def program(torch, pair=(hooks[first], hooks[second])):
            x = leaf(torch)
            y = x * 3
            for each in pair:
                y.register_hook(each)
            return torch.autograd.grad((y * y).sum(), [x, y])

        agree(program)


def test_inside_of_transforms():
    def batched(torch):
        x = leaf(torch)
        y = x * 3
        y.register_hook(lambda g: (g.mul_(2), None)[1])
        return torch.autograd.grad(y * y, [x], torch.eye(2), is_grads_batched=True)

    def transformed(torch):
        def f(x):
            y = x * 3
            y.register_hook(lambda g: (g.mul_(2), None)[1])
            return (y * y).sum()

        return torch.func.grad(f)(torch.tensor([1.0, 2.0]))

    for each in (batched, transformed):
        agree(each)
