"""Every layer of `nn` against torch: initial parameters, printed text, results and gradients."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from layers import ROWS, flat, inputs, named
from oracle import agree


@pytest.mark.parametrize(("layer", "text"), ROWS, ids=[f"{layer}-{text}".replace(" ", "") for layer, text in ROWS])
def test_layer(layer: str, text: str) -> None:
    def program(torch: Any) -> Any:
        torch.manual_seed(3)
        names = named(torch, layer) | {"layer": layer}
        module = eval(layer, names)
        told: list[Any] = [repr(module), list(module.state_dict())]
        if not layer.startswith("Lazy"):
            told.append({name: (str(each.dtype), repr(each.tolist())) for name, each in module.state_dict().items()})
        told.append(torch.rand(2))  # the random stream has come as far
        for training in (True, False, True):
            if not text:
                continue
            module.train(training)
            leaves: list[Any] = []
            given = inputs(torch, text, names, leaves)
            results = flat(module(*given))
            told.append([each.detach().clone() for each in results])
            total = sum((each * each).sum() for each in results if each.dtype.is_floating_point)
            if getattr(total, "requires_grad", False):
                total.backward()
            told.append([each.grad for each in leaves])
            told.append({name: each.grad for name, each in module.named_parameters()})
            told.append({name: each.clone() for name, each in module.named_buffers()})
            told.append(repr(module))
            module.zero_grad()
        return told

    agree(program, rtol=2e-5, atol=1e-5)


def test_a_row_is_a_layer() -> None:
    program = """
import jaxvjp as torch
import jaxvjp.nn.modules.rows as rows
rows.ROWS["activation"]["Scaled"] = rows.Row("F.relu(input) * self.scale", "scale: float = 2.0", "scale")

layer = torch.nn.Scaled(3.0)
x = torch.tensor([-1.0, 2.0], requires_grad=True)
layer(x).sum().backward()
print(layer, x.grad.tolist())
assert torch.nn.modules.activation.Scaled is torch.nn.Scaled
for names in (torch.nn, torch.nn.modules):
    assert "Scaled" in dir(names) and "Scaled" in names.__all__

from tools import catalogue, stubs
print(*[line for line in catalogue.document().splitlines() if "Scaled" in line])
print(*sorted(path.parent.name + "/" + path.name for path, text in stubs.texts().items() if "Scaled" in text))
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == [
        "Scaled(scale=3.0) [0.0, 3.0]",
        "| `Scaled` | `scale=2.0` | `F.relu(input) * scale`. |",
        "modules/__init__.pyi modules/activation.pyi nn/__init__.pyi",
    ]
