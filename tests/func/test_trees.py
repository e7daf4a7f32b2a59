"""`func` on dicts, lists and tuples: arguments and results keep their types and order."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict

from oracle import agreement_of, programs_of, raises
from vectors import matrix, vector, weights

import jaxvjp


def parameters(torch, kind=dict):
    given = {"weight": vector(torch), "bias": vector(torch) * 2, 3: vector(torch) + 1, ("a", 1): vector(torch)}
    return kind(given)


def kinds():
    return dict, OrderedDict, functools.partial(defaultdict, list)


def squares(p):
    return sum((each**2).sum() * place for place, each in enumerate(p.values(), 1))


def two(p):
    return {"z": p["weight"].sum(), "nested": OrderedDict([("y", p["bias"] * p[3]), ("x", p["weight"])])}


def dicts_keep_their_order(torch):
    given = [parameters(torch, kind) for kind in kinds()]
    found = [torch.func.grad(squares)(p) for p in given]
    kept = [type(each).__name__ for each in found], repr(found[2].default_factory)
    return found, kept, [list(each) for each in found]


def each_transform_keeps_the_order_of_dicts(torch):
    f, p = torch.func, parameters(torch)
    output, pull = f.vjp(two, p)
    value, push = f.linearize(two, p)
    return (
        f.jacrev(two)(p),
        f.jacfwd(two)(p),
        f.hessian(squares)(p),
        (output, pull(output)),
        f.jvp(two, (p,), (p,)),
        (value, push(p)),
        f.vmap(lambda p: {"z": p["weight"], "a": [p["bias"]], 3: {"y": p[3], "x": 1 * p[3]}})(p),
        f.vmap(lambda w, p: {"z": p["b"] * w, "a": p["a"]}, (0, {"b": 0, "a": None}), {"z": 0, "a": None})(
            vector(torch), {"b": vector(torch), "a": vector(torch)}
        ),
        f.grad(lambda p: (squares(p), p), has_aux=True)(p)[1],
        f.vjp(lambda p: (squares(p), {"z": p["weight"], "a": p["bias"]}), p, has_aux=True)[2],
    )


def a_staged_step_keeps_the_order_of_dicts(torch):
    staged = jaxvjp.jit if torch is jaxvjp else lambda function: function
    step = staged(lambda p, **rest: ({"first": next(iter(p.values())) * 1, 3: p["bias"]}, list(rest)))
    x, y = parameters(torch), parameters(torch)
    y["weight"] = y.pop("weight") * 5
    return [[step(x, b=1, a=2), step(y, b=1, a=2), step(x, a=2, b=1)] for _ in range(3)]


def gradient_of_trees(torch):
    def f(parameters, x, scale=1.0):
        (w, b), rest = parameters["layer"], parameters["rest"]
        return ((x @ w + b) * rest[0]).sum() * scale

    parameters = {"layer": (weights(torch), torch.tensor([1.0, -1.0])), "rest": [torch.tensor(2.0)]}
    return torch.func.grad(f)(parameters, vector(torch)), torch.func.grad(f)(parameters, vector(torch), scale=3.0)


def pullback_of_trees(torch):
    def f(x, p):
        return {"a": x * p["w"], "b": (p["w"].sum(), x)}, x.sum()

    output, pull, aux = torch.func.vjp(f, vector(torch), {"w": vector(torch) + 1}, has_aux=True)
    return output, aux, pull({"a": torch.ones(3), "b": (torch.tensor(2.0), vector(torch))})


def pushforward_of_trees(torch):
    def f(x, p):
        return {"a": x * p["w"], "b": [p["w"].sum()]}, x * 2

    primals, tangents = (vector(torch), {"w": vector(torch)}), (vector(torch), {"w": torch.ones(3)})
    return torch.func.jvp(f, primals, tangents), torch.func.jvp(f, primals, tangents, has_aux=True)


def jacobians_of_trees(torch):
    def f(p):
        return p["w"] @ p["x"][0], p["x"][0].sum()

    p = {"w": matrix(torch), "x": [vector(torch)]}
    return torch.func.jacrev(f)(p), torch.func.jacfwd(f)(p)


@raises(RuntimeError)
def cotangents_in_another_order(torch):
    _, pull = torch.func.vjp(lambda p: {"z": p["weight"], "a": p["bias"]}, parameters(torch))
    return pull({"a": vector(torch), "z": vector(torch)})


test_agrees_with_torch = agreement_of(programs_of(globals()), rtol=5e-6, atol=2e-6)
