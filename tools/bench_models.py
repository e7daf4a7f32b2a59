"""A training step of five of `examples/training_scripts`, beside the same model in flax.nnx with optax.

`python -m tools.bench_models`, where flax is installed. The models, batches and optimizers are those of the scripts.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.tools import bench
from jaxvjp.tools.bench.workloads import Step, Workload, _normal
from tools import command


def trained(optimizers: Sequence[Any], *losses: Callable[[], Any]) -> Step:
    """A step that has each optimizer follow its loss."""

    def step() -> Any:
        for optimizer, loss in zip(optimizers, losses, strict=True):
            optimizer.zero_grad()
            value = loss()
            value.backward()
            optimizer.step()
        return value.detach()

    return step


def by_flax(make: Callable[..., tuple[Any, Any, Callable[..., Any]]]) -> Callable[..., Step]:
    """The step of a model, a transform of optax and a loss of the model and the data, as flax's guide has it."""

    def made(*data: Any) -> Step:
        nnx: Any = importlib.import_module("flax.nnx")
        optax = importlib.import_module("optax")
        model, transform, loss = make(nnx, optax)
        optimizer = nnx.Optimizer(model, transform, wrt=nnx.Param)

        @nnx.jit  # type: ignore[untyped-decorator]
        def step(model: Any, optimizer: Any, *data: Any) -> Any:
            value, gradients = nnx.value_and_grad(loss)(model, *data)
            optimizer.update(model, gradients)
            return value

        arrays, known = [jax.device_put(each) for each in data], nnx.cached_partial(step, model, optimizer)
        return lambda: known(*arrays)

    return made


# Convolutions with batch norm and dropout, SGD with momentum.


def convolutional(torch: Any, images: Any, labels: Any) -> Step:
    nn, F = torch.nn, torch.nn.functional  # noqa: N806
    model = nn.Sequential(
        *(nn.Conv2d(1, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Dropout(0.1), nn.Linear(8 * 3 * 3, 3)),
    )
    x, y = torch.tensor(images), torch.tensor(labels)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return trained([optimizer], lambda: F.cross_entropy(model(x), y))


def convolutional_by_hand(nnx: Any, optax: Any) -> Any:
    rngs = nnx.Rngs(0)

    def pooled(x: Any) -> Any:
        return nnx.max_pool(nnx.relu(x), (2, 2), (2, 2))

    model = nnx.Sequential(
        *(nnx.Conv(1, 6, (3, 3), use_bias=False, rngs=rngs), nnx.BatchNorm(6, rngs=rngs), pooled),
        *(nnx.Conv(6, 8, (3, 3), use_bias=False, rngs=rngs), nnx.BatchNorm(8, rngs=rngs), pooled),
        *(lambda x: x.reshape(len(x), -1), nnx.Dropout(0.1, rngs=rngs), nnx.Linear(8 * 3 * 3, 3, rngs=rngs)),
    )

    def loss(model: Any, x: Any, y: Any) -> Any:
        logits = model(x.transpose(0, 2, 3, 1))
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    return model, optax.sgd(0.05, 0.9), loss


# A variational autoencoder, Adam.


def variational(torch: Any, data: Any) -> Step:
    nn, F, d = torch.nn, torch.nn.functional, importlib.import_module(f"{torch.__name__}.distributions")  # noqa: N806
    encoder = nn.Sequential(nn.Linear(16, 24), nn.Tanh())
    mean, variance = nn.Linear(24, 2), nn.Linear(24, 2)
    decoder = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 16))
    x = torch.tensor(data)
    model = nn.ModuleList([encoder, mean, variance, decoder])

    def loss() -> Any:
        hidden = encoder(x)
        posterior = d.Normal(mean(hidden), (0.5 * variance(hidden)).exp())
        logits = decoder(posterior.rsample())
        reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
        return reconstruction + d.kl_divergence(posterior, d.Normal(0.0, 1.0)).sum(1).mean()

    return trained([torch.optim.Adam(model.parameters(), lr=1e-2)], loss)


def variational_by_hand(nnx: Any, optax: Any) -> Any:
    class Model(nnx.Module):  # type: ignore[misc]
        def __init__(self, rngs: Any) -> None:
            self.encoder, self.mean, self.variance, self.first, self.last = [
                nnx.Linear(*sizes, rngs=rngs) for sizes in ((16, 24), (24, 2), (24, 2), (2, 24), (24, 16))
            ]
            self.rngs = rngs

    def loss(model: Any, x: Any) -> Any:
        hidden = jnp.tanh(model.encoder(x))
        mean, half = model.mean(hidden), 0.5 * model.variance(hidden)
        drawn = mean + jnp.exp(half) * jax.random.normal(model.rngs.noise(), mean.shape)
        logits = model.last(jnp.tanh(model.first(drawn)))
        reconstruction = optax.sigmoid_binary_cross_entropy(logits, x).sum(1).mean()
        return reconstruction + 0.5 * (jnp.exp(2 * half) + mean**2 - 1 - 2 * half).sum(1).mean()

    return Model(nnx.Rngs(0, noise=1)), optax.adam(1e-2), loss


# A GPT on characters: AdamW in two groups, clipped gradients.

WIDTH, HEADS, LETTERS, BLOCK = 32, 4, 28, 16


def language(torch: Any, codes: Any) -> Step:
    nn, F = torch.nn, torch.nn.functional  # noqa: N806

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
            self.register_buffer("mask", torch.tril(torch.ones(BLOCK, BLOCK)))

        def forward(self, x: Any) -> Any:
            B, T, C = x.size()  # noqa: N806
            parts = self.qkv(self.before(x)).split(C, dim=2)
            q, k, v = [part.view(B, T, HEADS, C // HEADS).transpose(1, 2) for part in parts]
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(C // HEADS)
            weights = F.softmax(scores.masked_fill(self.mask == 0, float("-inf")), dim=-1)
            x = x + self.proj((weights @ v).transpose(1, 2).contiguous().view(B, T, C))
            return x + self.mlp(self.between(x))

    table, places = nn.Embedding(LETTERS, WIDTH), nn.Embedding(BLOCK, WIDTH)
    rest = nn.Sequential(Block(), Block(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, LETTERS, bias=False))
    model, data = nn.ModuleList([table, places, rest]), torch.tensor(codes)
    groups = [
        {"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))

    def step() -> Any:
        x, y = data[:, :-1], data[:, 1:]
        logits = rest(table(x) + places(torch.arange(BLOCK)))
        loss = F.cross_entropy(logits.reshape(-1, LETTERS), y.reshape(-1))
        model.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step


def language_by_hand(nnx: Any, optax: Any) -> Any:
    class Block(nnx.Module):  # type: ignore[misc]
        def __init__(self, rngs: Any) -> None:
            self.before, self.between = [nnx.LayerNorm(WIDTH, epsilon=1e-5, rngs=rngs) for _ in range(2)]
            self.qkv, self.proj, self.up, self.down = [
                nnx.Linear(*sizes, rngs=rngs)
                for sizes in ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))
            ]

        def __call__(self, x: Any) -> Any:
            B, T, C = x.shape  # noqa: N806
            parts = jnp.split(self.qkv(self.before(x)), 3, axis=2)
            q, k, v = [part.reshape(B, T, HEADS, C // HEADS).transpose(0, 2, 1, 3) for part in parts]
            scores = jnp.where(jnp.tril(jnp.ones((T, T), bool)), q @ k.mT / math.sqrt(C // HEADS), -jnp.inf)
            x = x + self.proj((nnx.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(B, T, C))
            return x + self.down(nnx.gelu(self.up(self.between(x)), approximate=False))

    class Model(nnx.Module):  # type: ignore[misc]
        def __init__(self, rngs: Any) -> None:
            self.table, self.places = nnx.Embed(LETTERS, WIDTH, rngs=rngs), nnx.Embed(BLOCK, WIDTH, rngs=rngs)
            self.first, self.second = Block(rngs), Block(rngs)
            self.norm = nnx.LayerNorm(WIDTH, epsilon=1e-5, rngs=rngs)
            self.head = nnx.Linear(WIDTH, LETTERS, use_bias=False, rngs=rngs)

    def loss(model: Any, data: Any) -> Any:
        x = model.table(data[:, :-1]) + model.places(jnp.arange(BLOCK))
        logits = model.head(model.norm(model.second(model.first(x))))
        return optax.softmax_cross_entropy_with_integer_labels(logits, data[:, 1:]).mean()

    def decays(parameters: Any) -> Any:
        return jax.tree.map(lambda each: each.ndim >= 2, parameters)

    adam = optax.adamw(3e-3, 0.9, 0.95, weight_decay=0.1, mask=decays)
    return Model(nnx.Rngs(0)), optax.chain(optax.clip_by_global_norm(1.0), adam), loss


# Graph convolutions, Adam.


def graph(torch: Any, features: Any, adjacent: Any, labels: Any) -> Step:
    nn, F = torch.nn, torch.nn.functional  # noqa: N806
    first, second = nn.Linear(6, 8), nn.Linear(8, 3)
    x, near, y = torch.tensor(features), torch.tensor(adjacent), torch.tensor(labels)
    model = nn.ModuleList([first, second])

    def loss() -> Any:
        hidden = F.dropout(F.relu(near @ first(x)), 0.3)
        return F.nll_loss(F.log_softmax(near @ second(hidden), dim=1)[::2], y[::2])

    return trained([torch.optim.Adam(model.parameters(), lr=0.05)], loss)


def graph_by_hand(nnx: Any, optax: Any) -> Any:
    class Model(nnx.Module):  # type: ignore[misc]
        def __init__(self, rngs: Any) -> None:
            self.first, self.second = nnx.Linear(6, 8, rngs=rngs), nnx.Linear(8, 3, rngs=rngs)
            self.dropout = nnx.Dropout(0.3, rngs=rngs)

    def loss(model: Any, x: Any, near: Any, y: Any) -> Any:
        hidden = model.dropout(nnx.relu(near @ model.first(x)))
        logits = near @ model.second(hidden)
        return optax.softmax_cross_entropy_with_integer_labels(logits[::2], y[::2]).mean()

    return Model(nnx.Rngs(0)), optax.adam(0.05), loss


# A recurrent tagger, SGD with momentum.


def recurrent(torch: Any, codes: Any, tags: Any) -> Step:
    nn = torch.nn
    table, cells, out = nn.Embedding(20, 12), nn.GRU(12, 10, batch_first=True), nn.Linear(10, 3)
    x, y = torch.tensor(codes), torch.tensor(tags)
    model, criterion = nn.ModuleList([table, cells, out]), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    return trained([optimizer], lambda: criterion(out(cells(table(x))[0]).reshape(-1, 3), y.reshape(-1)))


def recurrent_by_hand(nnx: Any, optax: Any) -> Any:
    class Model(nnx.Module):  # type: ignore[misc]
        def __init__(self, rngs: Any) -> None:
            self.table, self.out = nnx.Embed(20, 12, rngs=rngs), nnx.Linear(10, 3, rngs=rngs)
            self.cells = nnx.RNN(nnx.GRUCell(12, 10, rngs=rngs))

    def loss(model: Any, x: Any, y: Any) -> Any:
        logits = model.out(model.cells(model.table(x)))
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    return Model(nnx.Rngs(0)), optax.sgd(0.3, 0.9), loss


def workloads() -> list[Workload]:
    """All of them, with their data."""
    numbers = np.random.default_rng(0)
    classes, codes = numbers.integers(0, 3, 24), numbers.integers(0, LETTERS, (8, BLOCK + 1))
    near = (classes[:, None] == classes).astype(np.float32)
    words = numbers.integers(1, 20, (4, 7))
    rows: list[tuple[str, tuple[Any, ...], Any, Any]] = [
        ("convnet", (_normal(12, 1, 12, 12), classes[:12]), convolutional, convolutional_by_hand),
        ("variational autoencoder", (np.abs(np.tanh(_normal(64, 16))),), variational, variational_by_hand),
        ("character GPT", (codes,), language, language_by_hand),
        ("graph convolutions", (_normal(24, 6), near / near.sum(1, keepdims=True), classes), graph, graph_by_hand),
        ("recurrent tagger", (words, words % 3), recurrent, recurrent_by_hand),
    ]
    return [Workload(name, data, imperative, by_flax(hand)) for name, data, imperative, hand in rows]


def main(arguments: Sequence[str]) -> int:
    """Prints what a warm training step of a model takes; by hand is flax.nnx with optax."""
    if importlib.util.find_spec("flax") is None or importlib.util.find_spec("optax") is None:
        print("The models by hand need flax and optax: `pip install flax optax`.")
        return 2
    return bench.main(arguments, workloads)


if __name__ == "__main__":
    command(main)
