"""Typical training steps: under `jaxvjp.jit` they give the results of torch's eager ones."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import theirs

import jaxvjp
from tools.fuzz.outcomes import same

CALLS = 14
"""From the ninth on a staged step takes its warm path."""


def numbers(*shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def integers(low, high, *shape, seed=0):
    return np.random.default_rng(seed).integers(low, high, shape)


def parameters(torch, *shapes):
    """One per shape, all different."""
    return [
        torch.tensor(numbers(*shape, seed=seed, scale=0.3), requires_grad=True) for seed, shape in enumerate(shapes)
    ]


def descend(torch, loss, weights, rate=0.1):
    loss.backward()
    with torch.no_grad():
        for each in weights:
            each.sub_(rate * each.grad)
            each.grad = None
    return loss.detach()


def language_model(torch):
    functional = torch.nn.functional
    weights = parameters(torch, (50, 16), (16, 16), (16, 16), (16, 16), (16, 16), (16,))
    table, queries, keys, values, out, gain = weights

    def step(words):
        x = functional.embedding(words[:, :-1], table)
        h = functional.layer_norm(x, (16,), gain)[:, None]
        attended = functional.scaled_dot_product_attention(h @ queries, h @ keys, h @ values, is_causal=True)
        logits = (x + attended[:, 0] @ out) @ table.t()
        targets = words[:, 1:].reshape(-1)
        loss = functional.cross_entropy(logits.reshape(-1, 50), targets, ignore_index=0, label_smoothing=0.1)
        return descend(torch, loss, weights)

    return step, lambda call: [integers(0, 50, 4, 9, seed=call)]


def images(torch):
    functional = torch.nn.functional
    weights = parameters(torch, (8, 1, 3, 3), (8,), (128, 10))
    kernel, shift, head = weights
    mean, variance = torch.zeros(8), torch.ones(8)

    def step(x, y):
        h = functional.conv2d(x, kernel, shift, padding=1)
        h = functional.max_pool2d(functional.relu(functional.batch_norm(h, mean, variance, training=True)), 2)
        scores = functional.dropout(h.flatten(1), 0.2) @ head
        loss = descend(torch, functional.cross_entropy(scores, y), weights)
        right = (scores.argmax(1) == y).float().mean()
        return loss, right, mean * 1, variance * 1

    return step, lambda call: [numbers(5, 1, 8, 8, seed=call), integers(0, 10, 5, seed=call)]


def autoencoder(torch):
    weights = parameters(torch, (8, 6), (3, 8))
    encoder, decoder = weights

    def step(x):
        mean, spread = (x @ encoder).chunk(2, -1)
        code = mean + torch.randn_like(mean) * (spread * 0.5).exp()
        divergence = -0.5 * (1 + spread - mean**2 - spread.exp()).mean()
        return descend(torch, torch.nn.functional.mse_loss(code @ decoder, x) + divergence, weights)

    return step, lambda call: [numbers(5, 8, seed=call)]


def contrast(torch):
    functional = torch.nn.functional
    (weight,), momentum = parameters(torch, (8, 8)), torch.zeros(8, 8)

    def step(x):
        z = functional.normalize(x @ weight, dim=-1)
        loss = functional.cross_entropy(z @ z.t() / 0.1, torch.arange(x.shape[0]))
        loss.backward()
        with torch.no_grad():
            weight.grad.mul_(torch.clamp(1 / (weight.grad.norm() + 1e-6), max=1.0))
            momentum.mul_(0.9).add_(weight.grad)
            weight.sub_(0.1 * momentum)
            weight.grad = None
        return loss.detach()

    return step, lambda call: [numbers(5, 8, seed=call)]


def sequences(torch):
    functional = torch.nn.functional
    weights = parameters(torch, (8, 8), (4, 8), (8, 3))
    hidden, input, head = weights

    def step(x, lengths, y):
        h = torch.zeros(x.shape[1], 8)
        inside = torch.arange(x.shape[0])[:, None] < lengths[None]
        for time in range(x.shape[0]):
            h = torch.where(inside[time][:, None], torch.tanh(x[time] @ input + h @ hidden), h)
        return descend(torch, functional.nll_loss(functional.log_softmax(h @ head, -1), y), weights)

    return step, lambda call: [numbers(6, 5, 4, seed=call), integers(1, 7, 5, seed=call), integers(0, 3, 5, seed=call)]


def experts(torch):
    functional = torch.nn.functional
    weights = parameters(torch, (8, 4), (4, 8, 8))
    gate, layers = weights

    def step(x):
        chances = torch.softmax(x @ gate, -1)
        best, which = chances.topk(2, -1)
        mixed = torch.zeros_like(chances).scatter(1, which, best)
        y = torch.einsum("be,ebo->bo", mixed, torch.einsum("bi,eio->ebo", x, layers))
        load = functional.one_hot(which[:, 0], 4).float().mean(0)
        return descend(torch, (y**2).mean() + (load * chances.mean(0)).sum(), weights)

    return step, lambda call: [numbers(5, 8, seed=call)]


def adam(torch):
    (weight,) = parameters(torch, (8, 1))
    first, second, count = torch.zeros(8, 1), torch.zeros(8, 1), torch.zeros(())

    def step(x, y):
        loss = torch.nn.functional.huber_loss(x @ weight, y)
        loss.backward()
        with torch.no_grad():
            count.add_(1)
            first.lerp_(weight.grad, 0.1)
            second.mul_(0.999).addcmul_(weight.grad, weight.grad, value=0.001)
            scale = (second / (1 - 0.999**count)).sqrt() + 1e-8
            weight.addcdiv_(first / (1 - 0.9**count), scale, value=-0.01)
        weight.grad = None
        return loss.detach()

    return step, lambda call: [numbers(5, 8, seed=call), numbers(5, 1, seed=call + 1)]


def graph(torch):
    weights = parameters(torch, (8, 4))

    def step(x, source, target):
        summed = torch.zeros(x.shape[0], 4).index_add(0, target, (x @ weights[0])[source])
        return descend(torch, summed.relu().sum(), weights, 0.01)

    return step, lambda call: [numbers(5, 8, seed=call), integers(0, 5, 7, seed=call), integers(0, 5, 7, seed=call + 9)]


def penalty(torch):
    weights = parameters(torch, (8, 1))

    def step(x):
        x = x.detach().requires_grad_()
        y = torch.tanh(x @ weights[0]).sum()
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        return descend(torch, ((slope.norm(dim=1) - 1) ** 2).mean() - y, weights, 0.01)

    return step, lambda call: [numbers(5, 8, seed=call)]


STEPS = [language_model, images, autoencoder, contrast, sequences, experts, adam, graph, penalty]


def results(torch, make, staged):
    torch.manual_seed(0)
    step, data = make(torch)
    step = jaxvjp.jit(step) if staged else step
    found = []
    for call in range(CALLS):
        result = step(*[torch.tensor(each) for each in data(call)])
        found.append([each.tolist() for each in (result if isinstance(result, tuple) else (result,))])
    return found, step


@pytest.mark.parametrize("make", STEPS, ids=lambda make: make.__name__)
def test_a_staged_training_step_does_what_torchs_does(make):
    expected = theirs(lambda torch: results(torch, make, staged=False)[0], rtol=2e-3, atol=2e-4).value
    found, step = results(jaxvjp, make, staged=True)
    for call, (ours, wanted) in enumerate(zip(found, expected, strict=True)):
        assert same(ours, wanted, rtol=2e-3, atol=2e-4), f"call {call}: {ours}, torch's {wanted}"
    begin = jaxvjp.counters.compiles
    _, data = make(jaxvjp)
    step(*[jaxvjp.tensor(each) for each in data(CALLS)])
    assert jaxvjp.counters.compiles == begin
