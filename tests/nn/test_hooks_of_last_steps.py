"""`register_backward_hook`, which sees the inputs and outputs of the last step that torch has of a layer."""

from __future__ import annotations

import warnings

import pytest
from oracle import agree

import jaxvjp

LAYERS = {
    "linear": ("Linear(3, 2)", (4, 3)),
    "linear of more dims": ("Linear(3, 2)", (2, 4, 3)),
    "linear of a vector": ("Linear(3, 2)", (3,)),
    "no bias": ("Linear(3, 2, bias=False)", (4, 3)),
    "no bias, more dims": ("Linear(3, 2, bias=False)", (2, 4, 3)),
    "no bias, a vector": ("Linear(3, 2, bias=False)", (3,)),
    "conv": ("Conv1d(2, 3, 2)", (2, 2, 5)),
    "conv, no bias": ("Conv2d(2, 3, 2, bias=False)", (2, 2, 5, 4)),
    "conv, no batch": ("Conv2d(2, 3, 2)", (2, 5, 4)),
    "transposed": ("ConvTranspose1d(2, 3, 2, bias=False)", (2, 2, 5)),
    "batch norm": ("BatchNorm1d(3)", (4, 3)),
    "in eval": ("BatchNorm1d(3).eval()", (4, 3)),
    "not affine": ("BatchNorm1d(3, affine=False)", (4, 3)),
    "instance norm": ("InstanceNorm1d(3, affine=True)", (2, 3, 4)),
    "group norm": ("GroupNorm(1, 3)", (4, 3, 2)),
    "group norm, not affine": ("GroupNorm(1, 3, affine=False)", (4, 3, 2)),
    "layer norm": ("LayerNorm(3)", (4, 3)),
    "layer norm, not affine": ("LayerNorm(3, elementwise_affine=False)", (4, 3)),
    "bags": ("EmbeddingBag(4, 3)", None),
    "relu": ("ReLU()", (4, 3)),
    "several": ("Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())", (4, 3)),
    "flat": ("Flatten()", (2, 3, 2)),
    "pooled": ("MaxPool2d(2)", (2, 3, 4, 4)),
    "padded": ("ZeroPad2d(1)", (2, 3, 4)),
}


def made(torch, layer, shape):
    made = eval(f"torch.nn.{layer}", {"torch": torch})
    for at, each in enumerate(made.parameters()):
        torch.nn.init.constant_(each, 0.5 * at - 0.7)
    made = made.double()
    if shape is None:
        return made, torch.tensor([[1, 2], [0, 1]])
    return made, torch.linspace(-1, 1, int(torch.tensor(shape).prod()), dtype=torch.float64).sin().reshape(shape)


def weighted(torch, result):
    return (result * torch.linspace(1, 3, result.numel()).square().reshape(result.shape)).sum()


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_what_it_sees(name, tracked):
    def program(torch):
        layer, x = made(torch, *LAYERS[name])
        if not tracked and not list(layer.parameters()):
            return None
        seen = []
        layer.register_backward_hook(lambda _, inputs, outputs: seen.append((inputs, outputs)))
        weighted(torch, layer(x.requires_grad_(tracked and x.is_floating_point()))).backward()
        return [[each if each is None else each.clone() for each in side] for side in seen[0]]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(program, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_what_it_returns(name):
    def program(torch):
        layer, x = made(torch, *LAYERS[name])

        def hook(_, inputs, outputs):
            return tuple([each if each is None else each * (at + 2) for at, each in enumerate(inputs)])

        layer.register_backward_hook(hook)
        weighted(torch, layer(x.requires_grad_(x.is_floating_point()))).backward()
        return x.grad, [each.grad for each in layer.parameters()]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(program, rtol=1e-4, atol=2e-5)


def test_of_a_step_itself():
    def program(torch):
        layer, x = made(torch, *LAYERS["linear"])
        seen = []
        y = layer(x.requires_grad_())
        handle = y.grad_fn.register_hook(lambda *sides: seen.append([[each.shape for each in side] for side in sides]))
        y.sum().backward(retain_graph=True)
        handle.remove()
        y.sum().backward()
        return seen, type(layer(x[0]).grad_fn).__name__

    agree(program)


def test_a_hook_that_returns_too_few():
    def program(torch):
        layer, x = made(torch, *LAYERS["linear"])
        layer.register_backward_hook(lambda _, inputs, outputs: inputs[:1])
        layer(x).sum().backward()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(program, raises=RuntimeError)


def test_layers_of_several_steps():
    """What torch has several steps for, and jaxvjp one, has the gradients of all that goes in; torch's last step has
    others."""
    layer, seen = jaxvjp.nn.Bilinear(3, 3, 2), []
    layer.register_backward_hook(lambda _, inputs, outputs: seen.append([each.shape for each in inputs]))
    x, y = (jaxvjp.ones(4, 3, requires_grad=True) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer(x, y).sum().backward()
    assert seen == [[(4, 3), (4, 3), (2, 3, 3), (2,)]]
