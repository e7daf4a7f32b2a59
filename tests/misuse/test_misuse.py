"""Wrong uses of public functions: torch's class and first sentence, and nothing in scope is changed.

The programs are the lines of the text files beside this one. `names` defines what they may read. After `~` only the
class of the error is compared. What torch leaves changed itself, such as a module after half a `load_state_dict`, may
be changed here, too; nothing else.
"""

from __future__ import annotations

import importlib
import io
import pathlib
import tempfile

import pytest
from oracle import Outcome, theirs

import jaxvjp
from tools.fuzz.outcomes import of_any_python

LINES = [
    pytest.param(line, id=f"{file.stem}: {line}")
    for file in sorted(pathlib.Path(__file__).parent.glob("*.txt"))
    for line in file.read_text().splitlines()
    if line and not line.startswith("#")
]


def names(torch, folder):
    """What a program may read: tensors of every kind, a module and its optimizer, Functions that are wrong, files."""
    torch.manual_seed(0)
    importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    function = torch.autograd.Function

    def made(forward, backward=None, **more):
        methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        return type("Made", (function,), {name: each for name, each in {**methods, **more}.items() if each})

    class Uninitialised(torch.nn.Module):
        def __init__(self, size):
            self.layer = torch.nn.Linear(size, size)

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(3))

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    m.grad = torch.ones(2, 2)
    infinite = torch.tensor([1.0, 2.0], requires_grad=True)
    infinite.grad = torch.tensor([1.0, float("inf")])
    net = torch.nn.Linear(2, 2)
    (net(torch.ones(2))).sum().backward()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    opt.step()
    torch.save({"weight": torch.ones(3)}, folder / "model.pt")

    def entered(context):
        with context:
            return torch.ones(2)

    def saved_hooks(*hooks):
        with torch.autograd.graph.saved_tensors_hooks(*hooks):
            z = x * x
        z.sum().backward()
        return x.grad

    def disabled_hooks(message):
        with torch.autograd.graph.disable_saved_tensors_hooks(message):
            saved_hooks(lambda t: t, lambda t: t)

    def dual(value, tangent):
        with torch.autograd.forward_ad.dual_level():
            return torch.autograd.forward_ad.make_dual(value, tangent)

    def hooked(hook):
        z = x * 3
        z.register_hook(hook)
        z.sum().backward()

    def node_hook(hook):
        z = x * 3
        z.grad_fn.register_hook(hook)
        z.sum().backward()

    def node_prehook(hook):
        z = x * 3
        z.grad_fn.register_prehook(hook)
        z.sum().backward()

    def same(ctx, x, *others):
        return x * 2

    return {
        "torch": torch,
        "x": x,
        "m": m,
        "y": x * 2,
        "plain": torch.tensor([1.0, 2.0]),
        "integers": torch.tensor([1, 2, 3]),
        "inferred": entered(torch.inference_mode()),
        "leaf64": torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True),
        "infinite": infinite,
        "net": net,
        "opt": opt,
        "other": torch.optim.SGD([x], lr=0.1),
        "constant": torch.optim.lr_scheduler.ConstantLR,
        "closure": lambda: x.sum(),
        "data": torch.utils.data.TensorDataset(torch.ones(3)),
        "Stream": Stream,
        "Uninitialised": Uninitialised,
        "Doubled": made(same, lambda ctx, g: g * 2),
        "Few": made(same, lambda ctx, g: g),
        "Many": made(same, lambda ctx, g: (g, g)),
        "Wrong": made(same, lambda ctx, g: g[:1]),
        "Text": made(same, lambda ctx, g: "g"),
        "Nothing": made(lambda ctx, x: None, lambda ctx, g: g),
        "Listed": made(lambda ctx, x: 3.0, lambda ctx, g: g),
        "Saved": made(lambda ctx, x: ctx.save_for_backward(3.0), lambda ctx, g: g),
        "Marked": made(lambda ctx, x: (ctx.mark_dirty(3.0), x)[1], lambda ctx, g: g),
        "NoBackward": made(same),
        "NoForward": type("NoForward", (function,), {}),
        "entered": entered,
        "saved_hooks": saved_hooks,
        "disabled_hooks": disabled_hooks,
        "dual": dual,
        "hooked": hooked,
        "node_hook": node_hook,
        "node_prehook": node_prehook,
        "path": folder,
        "empty": io.BytesIO(),
    }


def state(torch, scope):
    """All that a wrong use has to leave as it was."""
    tensors = {name: each for name, each in scope.items() if isinstance(each, torch.Tensor)}
    tensors |= dict(scope["net"].named_parameters())
    return {
        name: (
            each.tolist(),
            each.requires_grad,
            each.is_leaf,
            None if not each.is_leaf or each.grad is None else each.grad.tolist(),
            None if each.is_inference() else each._version,
        )
        for name, each in tensors.items()
    } | {
        "modes": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype()),
        "anomaly": torch.is_anomaly_enabled(),
        "module": (list(scope["net"].state_dict()), scope["net"].training, list(scope["net"]._modules)),
        "optimizer": str(scope["opt"].state_dict()),
        "files": {each.name: each.read_bytes() for each in scope["path"].iterdir() if each.name == "model.pt"},
    }


def wrong(line):
    """The program that runs a line: its error, and the names of what it changed."""

    def program(torch):
        with tempfile.TemporaryDirectory() as folder:
            scope = names(torch, pathlib.Path(folder))
            before = state(torch, scope)
            try:
                exec(line.removeprefix("~ "), scope)
            except Exception as error:
                after = state(torch, scope)
                changed = [name for name in before if before[name] != after[name]]
                text = str(error).replace(folder, "FOLDER").replace("jaxvjp", "torch").partition("\n")[0].rstrip(". ")
                return type(error).__name__, "" if line.startswith("~") else of_any_python(text), changed
            finally:
                torch.set_grad_enabled(True)
                torch.autograd.set_detect_anomaly(False)
                torch.autograd.set_multithreading_enabled(True)
        return "accepted", "", []

    return program


@pytest.mark.parametrize("line", LINES)
def test_is_refused_and_changes_nothing(line):
    kind, text, changed = theirs(wrong(line)).value
    assert kind != "accepted", "this is no wrong use: torch takes it"
    own_kind, own_text, own_changed = Outcome(wrong(line), jaxvjp).value
    assert (own_kind, own_text) == (kind, text)
    assert set(own_changed) <= set(changed)


def test_there_are_hundreds_and_each_only_once():
    lines = [each.values[0] for each in LINES]
    assert len(lines) == len(set(lines)) > 700
