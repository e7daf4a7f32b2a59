"""Every layer of `nn` against torch: initial parameters, printed text, results and gradients."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from layers import ROWS, named
from oracle import agree

Names = dict[str, Any]


class Given(ast.NodeTransformer):
    """Turns shapes among the inputs into random tensors, and lists of integers into tensors of them."""

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        if all(isinstance(each, ast.Constant) for each in node.elts):
            return ast.Call(ast.Name("drawn", ast.Load()), [node], [])
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func) in ("torch.ones", "list"):
            return node
        return self.generic_visit(node)

    def visit_List(self, node: ast.List) -> ast.AST:
        return ast.Call(ast.Name("whole", ast.Load()), [node], [])


def inputs(torch: Any, text: str, names: Names, leaves: list[Any]) -> list[Any]:
    def drawn(shape: Any) -> Any:
        leaves.append(torch.randn(shape, requires_grad=True))
        return leaves[-1]

    tree = ast.parse(f"[{text}]", mode="eval")
    tree.body.elts = [Given().visit(each) for each in tree.body.elts]
    return eval(compile(ast.fix_missing_locations(tree), "", "eval"), names | {"drawn": drawn, "whole": torch.tensor})


def flat(result: Any) -> list[Any]:
    if isinstance(result, tuple):
        return [each for part in result for each in flat(part)]
    return [] if result is None else [result]


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
