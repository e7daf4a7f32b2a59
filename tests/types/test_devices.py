"""Devices: torch's API on a CPU, and moves between two devices."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest
from oracle import agree, agreement_of, programs_of

import jaxvjp


def naming_a_device(torch):
    named = [
        torch.device("cpu"),
        torch.device("cuda:0"),
        torch.device("cuda", 1),
        torch.device(type="cuda"),
        torch.device("cpu", 1),
        torch.device(torch.device("xla:3")),
    ]
    said = [(repr(each), str(each), each.type, each.index, pickle.loads(pickle.dumps(each)) == each) for each in named]
    return said, torch.device("cuda:0") == torch.device("cuda", 0), torch.device("cpu") == "cpu", len({*named, *named})


def where_tensors_are(torch):
    x = torch.ones(2, device="cpu:0", requires_grad=True)
    made = [
        torch.tensor([1.0], device=torch.device("cpu")),
        torch.full((2,), 1.0, device="cpu"),
        torch.zeros_like(x, device="cpu"),
        torch.tensor(x),
        x * 2,
        torch.rand(2, device="cpu"),
    ]
    return [(repr(each.device), each.is_cuda, each.is_cpu, each.get_device()) for each in [x, *made]]


def to_in_all_its_forms(torch):
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    other = torch.zeros(1, dtype=torch.float64)
    moved = [
        x.to("cpu"),
        x.to(torch.float64),
        x.to(other),
        x.to(tensor=other),
        x.to("cpu", torch.float16),
        x.to(device="cpu", dtype=torch.float64, non_blocking=True),
        x.to(torch.float32, copy=True),
        x.to("cpu", torch.float32, True, True),
        x.to(),
        x.cpu(),
    ]
    sum((each * 2).sum().double() for each in moved).backward()
    return moved, [each is x for each in moved], [str(each.grad_fn)[:5] for each in moved], x.grad


def the_default_device(torch):
    before = torch.get_default_device()
    torch.set_default_device("cpu")
    with torch.device("cpu") as entered:
        inside = torch.zeros(1).device
    torch.set_default_device(None)
    return repr(before), repr(entered), repr(inside), repr(torch.get_default_device())


def cuda_is_asked_for_first(torch):
    return torch.cuda.is_available(), torch.cuda.device_count()


def what_else_is_asked_of_cuda(torch):
    torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    with torch.cuda.stream(None):
        told = dict(torch.cuda.memory_stats()), torch.cuda.get_arch_list()
    return [str(each) for each in (*told, torch.cuda.get_rng_state_all())]


test_agrees_with_torch = agreement_of(programs_of(globals()))


@pytest.mark.parametrize(
    "expression",
    [
        "torch.device('tensor')",
        "torch.device('cuda:x')",
        "torch.device('cuda', -1)",
        "torch.device('cuda:0', 1)",
        "torch.device(0)",
        "torch.device(1.5)",
        "torch.ones(2, device='cuda')",
        "torch.ones(2).cuda()",
        "torch.ones(2).cuda('cpu')",
        "torch.nn.Linear(1, 1).cuda(torch.device('meta'))",
        "torch.ones(2).to('cuda:0')",
        "torch.ones(2).to('nowhere')",
        "torch.set_default_device('nowhere')",
        "torch.cuda.current_device()",
        "torch.cuda.current_stream()",
        "torch.cuda.default_stream()",
        "torch.cuda.get_rng_state()",
        "torch.cuda.Stream()",
        "setattr(torch.ones(2), 'grad', torch.ones(2, dtype=torch.float64))",
    ],
)
def test_raises_as_torch(expression):
    assert agree(lambda torch: eval(expression, {"torch": torch})).error is not None


@pytest.mark.parametrize("arguments", [("cpu", "cpu"), (3.5,), ("cpu", jaxvjp.float32, True, True, True)])
def test_to_refuses_what_it_does_not_know(arguments):
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        jaxvjp.ones(2).to(*arguments)


TWO_DEVICES = """
import jax
import numpy as np
from jaxvjp.types import devices
host, other = jax.devices("cpu")  # the second plays the GPU
devices._all = lambda type: {"cpu": [host], "cuda": [other]}.get(type, [])
devices.home = lambda: devices._device(HOME, 0 if HOME == "cuda" else None)
jax.config.update("jax_default_device", other if HOME == "cuda" else host)
import jaxvjp as torch

def on(tensor, jax_device):
    assert tensor.value.devices() == {jax_device} == {devices.jax_device(tensor.__shown__.device)}, tensor.device
    return tensor.tolist()

def refused(function, *sentence):
    try:
        function()
    except RuntimeError as error:
        assert all(each in str(error) for each in sentence), error
    else:
        raise AssertionError(function)

x = torch.tensor([1.0, 2.0], requires_grad=True)
assert str(x.device) == str(torch.get_default_device()) == ("cuda:0" if HOME == "cuda" else "cpu")
c = torch.tensor([1.0, 2.0], requires_grad=True, device="cpu")
g = (c * 3).cuda()
assert (g.device, g.is_cuda, g.get_device()) == (torch.device("cuda:0"), True, 0)
w = torch.tensor([2.0, 5.0], device="cuda", requires_grad=True)
y = (g * w) ** 2  # pending on one device while z is on the other
z = (c * 2).sum()
assert on(y, other) == [36.0, 900.0] and on(z, host) == 6.0
(y.sum() + z.cuda()).backward()  # gradients on both devices
assert on(c.grad, host) == [74.0, 902.0] and on(w.grad, other) == [36.0, 360.0]

# second derivatives, forward mode and step by step
c.grad = None
(first,) = torch.autograd.grad((c.cuda() ** 3).sum(), c, create_graph=True)
(second,) = torch.autograd.grad(first.cuda().sum(), c)
assert on(first, host) == [3.0, 12.0] and on(second, host) == [6.0, 12.0]
with torch.autograd.forward_ad.dual_level():
    dual = torch.autograd.forward_ad.make_dual(c.detach(), torch.ones(2, device="cpu"))
    pushed = torch.autograd.forward_ad.unpack_dual(dual.cuda() ** 2)
    assert on(pushed.tangent, other) == [2.0, 4.0]

# what may mix: a CPU number, positions, copies; and a number in a program of its own
assert on(w.detach() * torch.tensor(2.0, device="cpu"), other) == [4.0, 10.0]
assert on(torch.tensor(2.0, device="cpu") * w.detach(), other) == [4.0, 10.0]
assert on(w.detach()[torch.tensor([1], device="cpu")], other) == [5.0]
assert on(c.detach()[[True, False]], host) == [1.0]
d = torch.zeros(2, device="cpu")
assert on(d.copy_(w.detach()), host) == [2.0, 5.0]
d[0] = w.detach()[1]
d[[1]] = 7.0
assert on(d, host) == [5.0, 7.0]
assert on(torch.zeros_like(w), other) == [0.0, 0.0] and on(torch.tensor(w), other) == [2.0, 5.0]
assert on(torch.autograd.grad(c.sum(), w, allow_unused=True, materialize_grads=True)[0], other) == [0.0, 0.0]
assert on(torch.autograd.jacobian(c * 6, c), host) == [[6.0, 0.0], [0.0, 6.0]]
states = torch.cuda.get_rng_state(), torch.cuda.get_rng_state_all()
drawn = torch.rand(2, device="cuda")
torch.cuda.set_rng_state_all(states[1])
assert len(states[1]) == 1 and on(torch.rand(2, device="cuda"), other) == drawn.tolist()
torch.cuda.set_rng_state(states[0])
with torch.cuda.stream(torch.cuda.Stream()) as nothing:
    torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
    assert torch.cuda.current_stream().record_event().query() and torch.cuda.current_stream().query()
assert on(torch.rand(2, device="cuda"), other) == drawn.tolist() and torch.cuda.initial_seed() == torch.initial_seed()
for place, where in (("cpu", host), ("cuda", other)):
    assert on(torch.func.jacrev(lambda x: x * x)(torch.ones(2, device=place)), where) == [[2.0, 0.0], [0.0, 2.0]]
    assert on(torch.func.hessian(lambda x: (x**3).sum())(torch.ones(1, device=place)), where) == [[6.0]]
    with torch.device(place):
        assert on(torch.ones(1) + 1, where) == [2.0]
refused(lambda: c + w, "Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0!")
refused(lambda: c @ w, "Expected all tensors to be on the same device")
refused(lambda: d.add_(w), "Expected all tensors to be on the same device")
refused(lambda: w.index_select(0, torch.tensor(1, device="cpu")), "Expected all tensors to be on the same device")
refused(lambda: (w * 2).backward(c), "invalid gradient at index 0 - expected device cuda:0 but got cpu")
refused(lambda: setattr(w, "grad", c), "attempting to assign a gradient with device type 'cpu' to a tensor with device")
refused(lambda: torch.ones(1, device="cuda:1"), "invalid device ordinal")
assert on(torch.ones(2, device="cpu").to(torch.ones(1, device="cuda", dtype=torch.float64)), other) == [1.0, 1.0]
"""


@pytest.mark.parametrize("home", ["cpu", "cuda"])
def test_moves_between_two_devices(home):
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    program = f"HOME = {home!r}\n" + TWO_DEVICES
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
