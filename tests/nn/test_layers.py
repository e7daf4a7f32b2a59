"""Every layer of `nn` against torch: initial parameters, printed text, results and gradients."""

from __future__ import annotations

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
