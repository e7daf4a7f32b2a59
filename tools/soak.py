"""Runs small programs for very many steps, and says whether memory, nodes, caches, files and threads stay flat.

    python tools/soak.py                                 # every loop, 100,000 steps each
    python tools/soak.py --steps 20000 plain hooks       # some of them
    python tools/soak.py --steps 10 leaves operations nested   # large steps: see `LARGE`

Each loop has a process of its own. It is measured ten times, at equal distances, after `gc.collect()`: the memory that
the process holds (RSS), the nodes of graphs that live, the entries of all of jaxvjp's caches, the open files and the
threads. A loop is flat if none of these grew from its first half to its end by more than `SLACK`, nodes and
caches also by a tenth.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import gc
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jaxvjp as torch
from jaxvjp.core.record.graph import Node
from jaxvjp.core.run.memory import Memory

POINTS = 10
COLUMNS = ("MB", "nodes", "caches", "files", "threads")
SLACK = (8, 16, 16, 1, 2)
"""By column, by how much a flat loop may grow: what is kept at random varies, and XLA starts threads."""
Step = Callable[[int], None]


def plain() -> Step:
    """A model, a loss, an optimizer with momentum."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(16, 4), torch.randn(16, 1)

    def step(_: int) -> None:
        optimizer.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        optimizer.step()

    return step


def shapes() -> Step:
    """64 shapes, in an order that is random."""
    chance, w = random.Random(0), torch.ones(3, requires_grad=True)

    def step(_: int) -> None:
        x = torch.ones(chance.randint(1, 64), 3)
        w.grad = None
        ((x * w).tanh().sum(0) ** 2).sum().backward()
        w.grad.tolist()

    return step


def unseen() -> Step:
    """A shape that no step before had: (1, 1), (2, 1) and so on to (317, 1), then (1, 2)."""
    w = torch.ones(1, requires_grad=True)

    def step(number: int) -> None:
        x = torch.ones(1 + number % 317, 1 + number // 317)
        w.grad = None
        (x * w).sum().backward()
        w.grad.item()

    return step


def hooks() -> Step:
    """Hooks of tensors, of steps, of leaves and of saved tensors, registered and removed."""
    w, seen = torch.ones(3, requires_grad=True), []

    def step(number: int) -> None:
        del seen[:]
        handles = [w.register_hook(lambda g: g * 2), w.register_post_accumulate_grad_hook(seen.append)]
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
            y = w * w
        y.register_hook(lambda g: g + number % 2)
        handles.append(y.grad_fn.register_hook(lambda given, received: seen.append(received[0])))
        y.sum().backward()
        w.grad.tolist()
        w.grad = None
        for each in handles:
            each.remove()

    return step


class Fails(torch.autograd.Function):
    """Fails in its forward or in its backward, where it is told to."""

    @staticmethod
    def forward(ctx, x, where):  # type: ignore[no-untyped-def]
        ctx.where = where
        ctx.save_for_backward(x)
        if where == "forward":
            raise ValueError(where)
        return x * 2

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        if ctx.where == "backward":
            raise ValueError(ctx.where)
        return g * ctx.saved_tensors[0], None


def _raise(_: object) -> None:
    raise ValueError("hook")


def exceptions() -> Step:
    """Exceptions in a hook, in a Function's forward, in its backward, and an error of torch's; each fourth step."""
    w = torch.ones(3, requires_grad=True)

    def step(number: int) -> None:
        try:
            y = Fails.apply(w * 2, ("forward", "backward", "", "")[number % 4])
            if number % 4 == 2:
                y.register_hook(_raise)
            (y if number % 4 == 3 else y.sum()).backward()
        except (ValueError, RuntimeError):
            return
        raise AssertionError("each step has to fail")

    return step


def staged() -> Step:
    """`jit` with numbers, shapes and texts that change, and a leaf that it writes."""
    w = torch.ones(3, requires_grad=True)

    @torch.jit
    def compiled(x: torch.Tensor, scale: float, name: str) -> torch.Tensor:
        loss = ((x * w).tanh() * scale).sum() if name == "tanh" else ((x * w) * scale).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.01 * w.grad)
        w.grad = None
        return loss.detach()

    def step(number: int) -> None:
        compiled(torch.ones(1 + number % 3, 3), (0.5, 1.0, 2.0)[number % 5 % 3], ("tanh", "product")[number % 2]).item()

    return step


def dropped() -> Step:
    """Tensors, views and graphs that are kept for a while and dropped in an order that is random."""
    chance, kept = random.Random(0), [torch.ones(4, requires_grad=True)] * 50

    def step(_: int) -> None:
        place, other = chance.randrange(50), kept[chance.randrange(50)]
        action = chance.randrange(6)
        if action == 0:
            kept[place] = torch.randn(4, requires_grad=True)
        elif action == 1 and other.grad_fn is None:
            kept[place] = other * 2
        elif action == 2:
            kept[place] = other.detach().clone().requires_grad_()
        elif action == 3:
            kept[place] = other.detach()[:]
        elif action == 4 and other.requires_grad:
            other.sum().backward(retain_graph=True)
        elif other.is_leaf:
            other.grad = None
        kept[place].tolist()

    return step


def leaves(size: int = 10_000) -> Step:
    """So many leaves in one backward pass, as many as a step makes anew."""

    def step(number: int) -> None:
        made = [torch.tensor(float(each), requires_grad=True) for each in range(size)]
        total = torch.tensor(0.0)
        for each in made:
            total = total + each * each
        total.backward()
        assert all(each.grad.item() == 2 * each.item() for each in made)

    return step


def operations(size: int = 200_000) -> Step:
    """So many operations, one after the other, and the backward pass through them all."""

    def step(number: int) -> None:
        x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        y = x
        for _ in range(size // 2):
            y = y * 1.00001 + 0.5
        y.backward()
        assert abs(x.grad.item() - 1.00001 ** (size // 2)) < 1e-6

    return step


def nested(size: int = 1_000) -> Step:
    """So many calls, each within the one before: of a function, of a module, of a staged step, of `backward` in a
    hook."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 50 * size))
    module = torch.nn.Identity()
    compiled: Callable[[torch.Tensor], torch.Tensor] = torch.sin
    for _ in range(size):
        module = torch.nn.Sequential(module)
        compiled = torch.jit(lambda x, inner=compiled: inner(x) * 1.0)

    def call(x: torch.Tensor, depth: int) -> torch.Tensor:
        if not depth:
            return x
        with torch.enable_grad():
            return call(x, depth - 1) + x

    def step(number: int) -> None:
        w, left = torch.ones(2, requires_grad=True), [size]

        def hook(gradient: torch.Tensor) -> None:
            left[0] -= 1
            if left[0]:
                backward()

        def backward() -> None:
            with torch.enable_grad():
                y = w * 2
                y.register_hook(hook)
                y.sum().backward()

        call(module(w), size).sum().backward()
        backward()
        assert w.grad.tolist() == [3.0 * size + 1] * 2
        assert compiled(torch.zeros(2)).tolist() == [0.0, 0.0]

    return step


LOOPS: dict[str, Callable[[], Step]] = {
    each.__name__: each for each in (plain, shapes, unseen, hooks, exceptions, staged, dropped)
}
LARGE: dict[str, Callable[..., Step]] = {each.__name__: each for each in (leaves, operations, nested)}
"""Loops of which one step takes seconds: they run only where they are named."""


def cached() -> int:
    """How many entries jaxvjp's caches have: every `Memory` and every `lru_cache` in its modules."""
    found = {
        id(each): each
        for name, module in list(sys.modules.items())
        if name.startswith("jaxvjp")
        for each in vars(module).values()
        if isinstance(each, Memory | functools._lru_cache_wrapper)
    }
    return sum(len(each.known) if isinstance(each, Memory) else each.cache_info().currsize for each in found.values())


def return_free_memory() -> None:
    """Calls glibc's `malloc_trim`; does nothing with another C library."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def measured() -> list[int]:
    """The numbers of `COLUMNS`, now. Memory that C's allocator holds free is returned to the system first: in a loop
    whose arrays have ever other sizes up to 400 kB it is some 60 MB, in pieces."""
    gc.collect()
    return_free_memory()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    nodes = sum(type(each) is Node for each in gc.get_objects())
    files = len(os.listdir("/proc/self/fd"))
    return [pages * os.sysconf("SC_PAGE_SIZE") >> 20, nodes, cached(), files, threading.active_count()]


def soaked(name: str, steps: int) -> list[list[int]]:
    """Runs a loop; the numbers at its ten points."""
    step, points = (LOOPS | LARGE)[name](), []
    for number in range(steps):
        step(number)
        if (number + 1) * POINTS // steps > len(points):
            points.append(measured())
    return points


def flat(points: Sequence[Sequence[int]]) -> bool:
    """Whether nothing grew from the first half to the end."""
    first = [max(each) for each in zip(*points[: POINTS // 2], strict=True)]
    shares = (0, 10, 10, 0, 0)
    return all(
        end <= before + before * share // 100 + slack
        for end, before, share, slack in zip(points[-1], first, shares, SLACK, strict=True)
    )


def main(arguments: Sequence[str]) -> int:
    """Runs loops in processes of their own and prints a table; 1 if one is not flat."""
    parser = argparse.ArgumentParser(prog="python tools/soak.py", description=main.__doc__)
    parser.add_argument("--steps", type=int, default=100_000, help="how many steps each loop takes")
    parser.add_argument("--here", action="store_true", help="run one loop in this process and print its numbers")
    parser.add_argument("names", nargs="*", choices=[*LOOPS, *LARGE, []], help="which loops")
    options = parser.parse_args(arguments)
    if options.steps < POINTS:
        parser.error(f"a loop has at least {POINTS} steps")
    if options.here:
        print(json.dumps([soaked(each, options.steps) for each in options.names]))
        return 0
    print(f"{'loop':<12}{'steps':>8}{'seconds':>9}  {'at the middle: ' + ', '.join(COLUMNS):<48}{'at the end':<32}flat")
    grew = 0
    for name in options.names or LOOPS:
        begin = time.monotonic()
        command = [sys.executable, __file__, "--here", "--steps", str(options.steps), name]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        points = json.loads(ran.stdout)[0]
        grew += not flat(points)
        middle, end = (", ".join(map(str, points[place])) for place in (POINTS // 2 - 1, -1))
        seconds, verdict = f"{time.monotonic() - begin:.0f}", "yes" if flat(points) else f"NO: {points}"
        print(f"{name:<12}{options.steps:>8}{seconds:>9}  {middle:<48}{end:<32}{verdict}", flush=True)
    return 1 if grew else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
