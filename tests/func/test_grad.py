"""`func` and `vmap`: every program of `PROGRAMS` gives the same under torch and under jaxvjp."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from oracle import agree, live_nodes

import jaxvjp
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.run.compilation import counters

PROGRAMS = []
ERRORS = []


def program(function):
    PROGRAMS.append(function)
    return function


def error(function):
    ERRORS.append(function)
    return function


def vector(torch, dtype=None):
    return torch.tensor([1.0, 2.0, 3.0], dtype=dtype)


def matrix(torch):
    return torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.5]])


def weights(torch):
    return torch.tensor([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]])


# grad


def parameters(torch, kind=dict):
    given = {"weight": vector(torch), "bias": vector(torch) * 2, 3: vector(torch) + 1, ("a", 1): vector(torch)}
    return kind(given)


def kinds():
    return dict, OrderedDict, functools.partial(defaultdict, list)


def squares(p):
    return sum((each**2).sum() * place for place, each in enumerate(p.values(), 1))


def two(p):
    return {"z": p["weight"].sum(), "nested": OrderedDict([("y", p["bias"] * p[3]), ("x", p["weight"])])}


@program
def dicts_keep_their_order(torch):
    given = [parameters(torch, kind) for kind in kinds()]
    found = [torch.func.grad(squares)(p) for p in given]
    kept = [type(each).__name__ for each in found], repr(found[2].default_factory)
    return found, kept, [list(each) for each in found]


@program
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


@error
def cotangents_in_another_order(torch):
    _, pull = torch.func.vjp(lambda p: {"z": p["weight"], "a": p["bias"]}, parameters(torch))
    return pull({"a": vector(torch), "z": vector(torch)})


@program
def a_staged_step_keeps_the_order_of_dicts(torch):
    staged = jaxvjp.jit if torch is jaxvjp else lambda function: function
    step = staged(lambda p, **rest: ({"first": next(iter(p.values())) * 1, 3: p["bias"]}, list(rest)))
    x, y = parameters(torch), parameters(torch)
    y["weight"] = y.pop("weight") * 5
    return [[step(x, b=1, a=2), step(y, b=1, a=2), step(x, a=2, b=1)] for _ in range(3)]


@program
def gradient(torch):
    return torch.func.grad(lambda x: (x**3).sum())(vector(torch))


@program
def gradient_in_float64(torch):
    return torch.func.grad(lambda x: (x**3).sum())(vector(torch, torch.float64))


@program
def gradient_of_gradient(torch):
    f = torch.func.grad(lambda x: torch.sin(x) * x)
    return [torch.func.grad(f)(torch.tensor(0.5)), torch.func.grad(torch.func.grad(f))(torch.tensor(0.5))]


@program
def gradient_and_value(torch):
    return torch.func.grad_and_value(lambda x: (x**2).sum())(vector(torch))


@program
def gradient_with_aux(torch):
    def f(x):
        y = x**2
        return y.sum(), {"y": y, "n": [x.sum()]}

    return (
        torch.func.grad(f, has_aux=True)(vector(torch)),
        torch.func.grad_and_value(f, has_aux=True)(vector(torch)),
    )


@program
def argnums(torch):
    def f(x, y, z):
        return (x * y**2 * z).sum()

    x, y, z = vector(torch), vector(torch) + 1, vector(torch) * 2
    results = [torch.func.grad(f, argnums=each)(x, y, z) for each in (0, 1, -1, (0,), (2, 0), (-1, 1))]
    return results, torch.func.grad_and_value(f, argnums=(1, 2))(x, y, z)


@program
def gradient_of_trees(torch):
    def f(parameters, x, scale=1.0):
        (w, b), rest = parameters["layer"], parameters["rest"]
        return ((x @ w + b) * rest[0]).sum() * scale

    parameters = {"layer": (weights(torch), torch.tensor([1.0, -1.0])), "rest": [torch.tensor(2.0)]}
    return torch.func.grad(f)(parameters, vector(torch)), torch.func.grad(f)(parameters, vector(torch), scale=3.0)


@program
def what_is_not_used_has_a_zero_gradient(torch):
    return (
        torch.func.grad(lambda x, y: (x * x).sum(), argnums=(0, 1))(vector(torch), matrix(torch)),
        torch.func.grad(lambda x: torch.tensor(1.0))(vector(torch)),
    )


@program
def results_require_no_gradient(torch):
    x = vector(torch)
    g, value = torch.func.grad_and_value(lambda x: (x**3).sum())(x)
    return g.requires_grad, value.requires_grad, x.requires_grad


@program
def results_require_a_gradient_where_the_input_does(torch):
    x = vector(torch).requires_grad_()
    g, value = torch.func.grad_and_value(lambda x: (x**3).sum())(x)
    (g.sum() + value).backward()
    linear = torch.func.grad(lambda x: (2 * x).sum())(x)
    return g.requires_grad, value.requires_grad, x.grad, linear


@program
def results_require_a_gradient_where_a_closed_over_tensor_does(torch):
    w, v = vector(torch).requires_grad_(), vector(torch).requires_grad_()
    g, value = torch.func.grad_and_value(lambda x: (x**2 * w + v).sum())(vector(torch))
    g.sum().backward()
    first = w.grad.clone()
    value.backward()
    return g.requires_grad, first, w.grad, v.grad


@program
def under_no_grad(torch):
    x = vector(torch).requires_grad_()
    with torch.no_grad():
        g = torch.func.grad(lambda x: (x**3).sum())(x)
        h = torch.func.hessian(lambda x: (x**3).sum())(x)
        output, pullback = torch.func.vjp(lambda x: x**2, x)
        pulled = pullback(vector(torch))
    return g, h, output, pulled


@program
def no_grad_inside(torch):
    def f(x):
        with torch.no_grad():
            c = x**2
        return (x - c).sum()

    x = vector(torch)
    return torch.func.grad(f)(x), torch.func.jvp(f, (x,), (x,)), torch.func.vmap(torch.func.grad(f))(matrix(torch))


@program
def detach_inside(torch):
    def f(x):
        return (x * x.detach()).sum()

    x = vector(torch)
    return (
        torch.func.grad(f)(x),
        torch.func.jvp(f, (x,), (x,)),
        torch.func.grad(lambda x: torch.func.vmap(f)(x).sum())(matrix(torch)),
        torch.func.jacfwd(torch.func.vmap(f))(matrix(torch)),
    )


@program
def grad_of_autograd_grad(torch):
    def f(x):
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return g.sum()

    return torch.func.grad(f)(vector(torch))


@program
def a_leaf_inside(torch):
    def f(x):
        return x.is_leaf, x.requires_grad, (x * 2).is_leaf

    seen = []

    def g(x):
        seen.append(f(x))
        return x.sum()

    torch.func.grad(g)(vector(torch))
    return seen


@program
def in_place_inside(torch):
    def f(x):
        y = x * 1
        y[0] = x[1] * x[2]
        y[1:] *= x[:2]
        y += x
        return y

    x = vector(torch)
    return (
        torch.func.jacrev(f)(x),
        torch.func.jacfwd(f)(x),
        torch.func.grad(lambda x: f(x).sum())(x),
        torch.func.hessian(lambda x: (f(x) ** 2).sum())(x),
        torch.func.vmap(f)(matrix(torch)),
        torch.func.vmap(torch.func.jacrev(f))(matrix(torch)),
    )


@program
def indexed_writes_into_a_new_tensor(torch):
    def f(x):
        y = torch.zeros(4)
        y[1:] = x * x
        y[0] = x[0] * x[2]
        return y

    x = vector(torch)
    return torch.func.jacrev(f)(x), torch.func.jacfwd(f)(x), torch.func.jvp(f, (x,), (x,))


@program
def an_argument_that_is_not_differentiated_may_be_written(torch):
    def f(x, y):
        y.add_(1)
        return (x * y).sum()

    x, y = vector(torch), vector(torch)
    return torch.func.grad(f)(x, y), y


# vjp


@program
def pullback(torch):
    output, pull = torch.func.vjp(lambda x: x**2, vector(torch))
    return output, pull(torch.tensor([1.0, 10.0, 100.0])), pull(torch.ones(3))


@program
def pullback_of_trees(torch):
    def f(x, p):
        return {"a": x * p["w"], "b": (p["w"].sum(), x)}, x.sum()

    output, pull, aux = torch.func.vjp(f, vector(torch), {"w": vector(torch) + 1}, has_aux=True)
    return output, aux, pull({"a": torch.ones(3), "b": (torch.tensor(2.0), vector(torch))})


@program
def pullback_differentiated(torch):
    def f(x, v):
        _, pull = torch.func.vjp(lambda x: x**3, x)
        return pull(v)[0].sum()

    x = vector(torch)
    return torch.func.grad(f, argnums=(0, 1))(x, x + 1)


@program
def pullback_to_a_closed_over_tensor(torch):
    w = vector(torch).requires_grad_()
    output, pull = torch.func.vjp(lambda x: x**2 * w, vector(torch))
    (pulled,) = pull(torch.ones(3))
    return output.requires_grad, torch.autograd.grad(pulled.sum() + output.sum(), w)


@program
def pullback_of_vmap_and_vmap_of_pullback(torch):
    x = matrix(torch)
    _, pull = torch.func.vjp(torch.func.vmap(lambda row: (row**2).sum()), x)
    _, rows = torch.func.vjp(lambda v: v**2, vector(torch))
    return pull(torch.tensor([1.0, 10.0])), torch.func.vmap(rows)(matrix(torch))


# jvp


@program
def pushforward(torch):
    x, t = vector(torch), torch.tensor([1.0, 10.0, 100.0])
    return torch.func.jvp(lambda x: x**2, (x,), (t,))


@program
def pushforward_of_trees(torch):
    def f(x, p):
        return {"a": x * p["w"], "b": [p["w"].sum()]}, x * 2

    primals, tangents = (vector(torch), {"w": vector(torch)}), (vector(torch), {"w": torch.ones(3)})
    return torch.func.jvp(f, primals, tangents), torch.func.jvp(f, primals, tangents, has_aux=True)


@program
def pushforward_of_pushforward(torch):
    def directional(f):
        return lambda x: torch.func.jvp(f, (x,), (torch.ones(3),))[1]

    x = vector(torch)
    return directional(lambda x: x**4)(x), directional(directional(lambda x: x**4))(x)


@program
def perturbations_are_not_confused(torch):
    def inner(x):
        return torch.func.jvp(lambda y: x * y, (torch.tensor(2.0),), (torch.tensor(1.0),))[1]

    one = torch.tensor(1.0)
    return (
        torch.func.jvp(lambda x: x * inner(x), (one,), (one,)),
        torch.func.grad(lambda x: x * torch.func.grad(lambda y: x + y)(one))(one),
    )


@program
def pushforward_of_gradient(torch):
    x = vector(torch)
    return torch.func.jvp(torch.func.grad(lambda x: (x**3).sum() * x[0]), (x,), (torch.ones(3),))


@program
def gradient_of_pushforward(torch):
    def f(x, t):
        return torch.func.jvp(lambda x: x**3, (x,), (t,))[1].sum()

    return torch.func.grad(f, argnums=(0, 1))(vector(torch), vector(torch))


@program
def pushforward_through_autograd_grad(torch):
    def f(x):
        x = x * 1
        y = x if x.requires_grad else x.clone()
        return torch.func.grad(lambda z: (z**3).sum())(y)

    return torch.func.jvp(f, (vector(torch),), (torch.ones(3),))


@program
def an_output_that_does_not_depend_has_a_zero_tangent(torch):
    x = vector(torch)
    return torch.func.jvp(lambda x: (torch.ones(2), x > 1, x.long(), x), (x,), (x,))


@program
def values_may_be_read_in_forward_mode(torch):
    def f(x):
        with torch.no_grad():
            h = x * 3
        if h.sum() > 1:
            return h * x
        return x

    x = vector(torch)
    return torch.func.jvp(f, (x,), (torch.ones(3),)), torch.func.jacfwd(f)(x)


@program
def an_argument_written_in_forward_mode(torch):
    def f(x):
        x.mul_(2)
        x[0] = x[1]
        return x * x

    x = vector(torch)
    return torch.func.jvp(f, (x,), (torch.ones(3),)), x


@program
def linearized(torch):
    x = vector(torch)
    output, push = torch.func.linearize(lambda x: {"s": x.sum(), "y": x**2}, x)
    return output, push(torch.ones(3)), push(x)


@program
def linearized_after_reading(torch):
    output, push = torch.func.linearize(lambda x: x**2 * 3, vector(torch))
    return output.tolist(), push(torch.ones(3))


# Jacobians


@program
def jacobians(torch):
    def f(x, y):
        return torch.sin(x) * y.sum(), {"m": x[:, None] * y[None]}

    x, y = vector(torch), torch.tensor([0.5, -0.5])
    return [
        transform(f, argnums=each)(x, y)
        for transform in (torch.func.jacrev, torch.func.jacfwd)
        for each in (0, 1, (0, 1), (1,))
    ]


@program
def jacobians_of_trees(torch):
    def f(p):
        return p["w"] @ p["x"][0], p["x"][0].sum()

    p = {"w": matrix(torch), "x": [vector(torch)]}
    return torch.func.jacrev(f)(p), torch.func.jacfwd(f)(p)


@program
def jacobians_with_aux(torch):
    def f(x):
        return x**2, {"s": x.sum()}

    return torch.func.jacrev(f, has_aux=True)(vector(torch)), torch.func.jacfwd(f, has_aux=True)(vector(torch))


@program
def jacobian_in_chunks(torch):
    return [torch.func.jacrev(lambda x: x**2 * x[0], chunk_size=each)(vector(torch)) for each in (1, 2, 3, 5)]


@program
def jacobians_of_jacobians(torch):
    def f(x):
        return torch.exp(x[0]) * x**3

    rev, fwd = torch.func.jacrev, torch.func.jacfwd
    return [outer(inner(f))(vector(torch, torch.float64)) for outer in (rev, fwd) for inner in (rev, fwd)]


@program
def hessians(torch):
    def f(x, y):
        return (x**2 * y.sum()).sum() * y[0]

    x, y = vector(torch), torch.tensor([0.5, -0.5])
    return torch.func.hessian(f)(x, y), torch.func.hessian(f, argnums=(0, 1))(x, y)


@program
def jacobian_that_requires_a_gradient(torch):
    x = vector(torch).requires_grad_()
    cubic, linear = torch.func.jacrev(lambda x: x**3)(x), torch.func.jacrev(lambda x: 2 * x)(x)
    forward = torch.func.jacfwd(lambda x: x**3)(x)
    return cubic, linear, forward, torch.autograd.grad(cubic.sum(), x), torch.autograd.grad(forward.sum(), x)


@program
def jacobian_of_what_does_not_depend(torch):
    def f(x, y):
        return x * 2, y * 1

    return [t(f, argnums=(0, 1))(vector(torch), vector(torch)) for t in (torch.func.jacrev, torch.func.jacfwd)]


# vmap


@program
def batches(torch):
    return (
        torch.vmap(lambda x: x.sum())(matrix(torch)),
        torch.func.vmap(lambda x: x.sum(), in_dims=1)(matrix(torch)),
        torch.func.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(matrix(torch)),
        torch.func.vmap(torch.dot)(matrix(torch), matrix(torch) + 1),
    )


@program
def in_dims(torch):
    m, v = matrix(torch), vector(torch)
    f = torch.func.vmap
    return (
        f(lambda x, y: x * y, in_dims=(0, None))(m, v),
        f(lambda x, y: x * y, in_dims=(None, 0))(m, v),
        f(lambda x, y: x + y.sum(), in_dims=(1, 0))(m, v),
        f(lambda p, y: p["a"] @ p["b"][0] + y, in_dims=({"a": 0, "b": [None]}, None))({"a": m, "b": [v]}, v[0]),
        f(lambda p: p["a"] * p["b"], in_dims=({"a": 1, "b": 0},))({"a": m, "b": v}),
        f(lambda p, n: p[0] * p[1] * n, in_dims=(0, None))((m, m), 3),
    )


@program
def out_dims(torch):
    m = matrix(torch)
    f = torch.func.vmap
    return (
        f(lambda x: x * 2, out_dims=1)(m),
        f(lambda x: (x * 2, x.sum()), out_dims=(1, 0))(m),
        f(lambda x: {"a": x, "b": [x.sum()]}, out_dims={"a": -1, "b": [0]})(m),
        f(lambda x: x[:, None] * x, out_dims=-2)(m),
        f(lambda x: (x, 3.0), out_dims=(0, None))(m),
        f(lambda x: x * 2, out_dims=(1,))(m),
    )


@program
def what_is_not_batched_is_repeated(torch):
    w = vector(torch)
    return torch.func.vmap(lambda x: (w * 2, x))(matrix(torch)), torch.func.vmap(lambda x: torch.ones(2))(w)


@program
def chunks(torch):
    x = torch.tensor([[float(i), float(i * i)] for i in range(7)])
    return [
        torch.func.vmap(lambda x, w: x * w.sum(), (0, None), chunk_size=each)(x, vector(torch)) for each in (1, 3, 7, 9)
    ]


@program
def batch_of_batches(torch):
    x, y = vector(torch), torch.tensor([1.0, 10.0])
    outer = torch.func.vmap(torch.func.vmap(lambda a, b: a * b, (None, 0)), (0, None))
    swapped = torch.func.vmap(torch.func.vmap(lambda a, b: a * b, (None, 0)), (0, None), out_dims=1)
    both = torch.func.vmap(torch.func.vmap(lambda a: a * 2 + 1, in_dims=1, out_dims=1))
    return outer(x, y), swapped(x, y), both(x[:, None, None] * matrix(torch))


@program
def an_inner_batch_closes_over_an_outer_example(torch):
    def f(row):
        return torch.func.vmap(lambda a: a * row)(vector(torch))

    return torch.func.vmap(f)(matrix(torch))


@program
def per_sample_gradients(torch):
    def loss(p, x, y):
        return ((torch.tanh(x @ p["w"]) - y) ** 2).sum()

    p, x, y = {"w": weights(torch)}, matrix(torch), torch.tensor([0.5, -0.5])
    one = torch.func.grad(loss)
    return torch.func.vmap(one, in_dims=(None, 0, 0))(p, x, y), [one(p, a, b) for a, b in zip(x, y, strict=True)]


@program
def gradient_through_vmap_to_parameters(torch):
    w = weights(torch).requires_grad_()
    y = torch.func.vmap(lambda x: torch.tanh(x @ w).sum())(matrix(torch))
    y.backward(torch.tensor([1.0, 10.0]))
    return y, w.grad


@program
def gradient_through_vmap_to_its_input(torch):
    x = matrix(torch).requires_grad_()
    y, z = torch.func.vmap(lambda x: ((x**2).sum(), torch.ones(2)))(x)
    y.backward(torch.tensor([1.0, 10.0]))
    return y, z, x.grad


@program
def no_grad_inside_vmap(torch):
    def f(row):
        with torch.no_grad():
            c = row**2
        return c * row, c

    x = matrix(torch).requires_grad_()
    y, c = torch.func.vmap(f)(x)
    y.sum().backward()
    return y, c, x.grad


@program
def gradient_of_batch_of_gradient(torch):
    def f(x):
        return torch.func.vmap(torch.func.grad(lambda r: (r**3).sum()))(x).sum()

    return torch.func.grad(f)(matrix(torch)), torch.func.hessian(f)(matrix(torch))


@program
def batch_of_hessians(torch):
    return torch.func.vmap(torch.func.hessian(lambda x: (x**3).sum() * x[0]))(matrix(torch))


@program
def batch_of_jacobians(torch):
    return [torch.func.vmap(t(lambda x: x**2 * x[0]))(matrix(torch)) for t in (torch.func.jacrev, torch.func.jacfwd)]


@program
def jacobians_of_batches(torch):
    f = torch.func.vmap(lambda x: x**2 * x[0])
    return torch.func.jacrev(f)(matrix(torch)), torch.func.jacfwd(f)(matrix(torch))


@program
def batch_of_pushforwards(torch):
    def f(t):
        return torch.func.jvp(lambda x: x**2, (vector(torch),), (t,))[1]

    m = matrix(torch)
    return torch.func.vmap(f)(m), torch.func.jvp(torch.func.vmap(torch.sin), (m,), (m,))


@program
def shapes_inside(torch):
    seen = []

    def f(x):
        seen.append((tuple(x.shape), x.ndim, x.dim(), len(x), x.dtype == torch.float32, x.is_leaf))
        return x

    torch.func.vmap(f, in_dims=1)(torch.ones(2, 3, 4))
    return seen


@program
def a_batched_argument_may_be_written(torch):
    def f(x):
        x += 1
        x[0] = 5
        return x * 2

    m, n = matrix(torch), matrix(torch)
    return torch.func.vmap(f)(m), m, torch.func.vmap(torch.func.vmap(lambda x: x.mul_(3)), in_dims=1)(n), n


@program
def a_tensor_without_batch_may_be_written_once(torch):
    y = torch.zeros(3)

    def f(x):
        y.add_(1)
        return x + y

    return torch.func.vmap(f)(matrix(torch)), y


@program
def a_tensor_like_an_example_may_be_written(torch):
    def f(x):
        y, z = torch.zeros_like(x), torch.ones_like(x)
        y[1:] = x[:2]
        z *= y
        return y, z + torch.empty_like(x).fill_(2) if hasattr(z, "fill_") else z

    def nested(a, b):
        return torch.func.vmap(lambda b: torch.zeros_like(a * b).copy_(b))(b)

    v = vector(torch)
    return torch.func.vmap(f)(matrix(torch)), torch.func.vmap(nested, (0, None))(v, v), torch.func.jacfwd(f)(v)


@program
def tensors_made_inside_and_arguments_may_be_written(torch):
    def f(x, buffers):
        y = torch.zeros(3)
        y.add_(x)
        buffers["count"].add_(1)
        buffers["count"][0].mul_(2)
        inner = torch.func.grad(lambda z: (torch.ones(3).mul_(z) * x).sum())(x)
        return (y * x * buffers["count"] + inner).sum()

    buffers = {"count": vector(torch)}
    return torch.func.grad(f)(vector(torch), buffers), torch.func.jacfwd(f)(vector(torch), buffers), buffers


@program
def reading_what_has_no_batch(torch):
    w = vector(torch)
    return torch.func.vmap(lambda x: x * w.sum().item() if w[0] > 0 else x)(matrix(torch))


@program
def integers_and_booleans(torch):
    x = torch.tensor([[1, 2], [3, 4]])
    return torch.func.vmap(lambda x: (x.sum(), x > 2, x.double()))(x)


@program
def an_empty_batch(torch):
    return torch.func.vmap(lambda x: x * 2)(torch.zeros(0, 3))


@program
def random_numbers(torch):
    x = vector(torch)
    results = []
    for kind in ("same", "different"):
        for draw in (torch.rand, torch.randn):
            torch.manual_seed(1)
            results.append(torch.func.vmap(lambda x, draw=draw: x * 0 + draw(2), randomness=kind)(x))
    return results


@program
def the_name_is_kept(torch):
    def named(x):
        """Its words."""
        return x

    return [
        (each(named).__name__, each(named).__doc__)
        for each in (torch.vmap, torch.func.grad, torch.func.jacrev, torch.func.jacfwd, torch.func.grad_and_value)
    ]


@program
def a_function_that_returns_its_argument(torch):
    def f(x):
        return x

    x, rev, fwd = vector(torch), torch.func.jacrev, torch.func.jacfwd
    return (
        [transform(f)(x) for transform in (rev, fwd, torch.vmap)],
        [torch.vmap(transform(f))(matrix(torch)) for transform in (rev, fwd)],
        torch.func.jvp(f, (x,), (x + 1,)),
        torch.func.vjp(f, x)[1](x + 1),
        torch.func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, x),
    )


@program
def conversions_and_mixed_dtypes(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)

    def f(x, w):
        return (x * w).sum()

    return torch.func.grad(f, argnums=(0, 1))(x, torch.tensor([3.0, 4.0])), torch.func.jacfwd(lambda x: x.float())(x)


# functional_call


def affine(torch):
    base = torch.nn if hasattr(torch.nn, "Module") else None
    Base = base.Module if base else object  # noqa: N806 - a class

    def parameter(value):
        return base.Parameter(value) if base else value.requires_grad_()

    class Inner(Base):
        def __init__(self):
            super().__init__()
            self.weight = parameter(torch.tensor([1.0, 2.0, 3.0]))

    class Affine(Base):
        def __init__(self):
            super().__init__()
            self.inner = Inner()
            self.bias = parameter(torch.tensor(0.5))

        def __call__(self, x, scale=1.0):
            if scale == 0:
                raise KeyError("mine")
            return (x * self.inner.weight + self.bias) * scale

    return Affine()


@program
def call_with_other_parameters(torch):
    module = affine(torch)
    x = vector(torch)
    new = {"inner.weight": torch.ones(3), "bias": torch.tensor(2.0)}
    call = torch.func.functional_call
    return (
        call(module, new, (x,)),
        call(module, new, x, {"scale": 2.0}),
        call(module, {"bias": torch.tensor(2.0)}, (x,)),
        call(module, ({"inner.weight": torch.ones(3)}, {"bias": torch.tensor(2.0)}), (x,)),
        module.bias.tolist(),
        module.inner.weight.tolist(),
    )


@program
def gradient_with_respect_to_parameters(torch):
    module = affine(torch)
    p = {"inner.weight": torch.ones(3), "bias": torch.tensor(2.0)}

    def loss(p, x):
        return (torch.func.functional_call(module, p, (x,)) ** 2).sum()

    x = matrix(torch)
    return torch.func.grad(loss)(p, x), torch.func.vmap(torch.func.grad(loss), (None, 0))(p, x)


@program
def parameters_come_back_after_an_exception(torch):
    module = affine(torch)
    before = module.bias
    try:
        torch.func.functional_call(module, {"bias": torch.tensor(2.0)}, (vector(torch),), {"scale": 0})
    except KeyError as mine:
        return module.bias is before, str(mine)


@error
def repeated_names(torch):
    one = {"bias": torch.tensor(1.0)}
    torch.func.functional_call(affine(torch), (one, one), (vector(torch),))


@error
def no_dicts(torch):
    torch.func.functional_call(affine(torch), [1], (vector(torch),))


# What is refused


@error
def gradient_of_a_vector(torch):
    torch.func.grad(lambda x: x * 2)(vector(torch))


@error
def gradient_of_a_number(torch):
    torch.func.grad(lambda x: 3.0)(vector(torch))


@error
def gradient_without_aux(torch):
    torch.func.grad(lambda x: x.sum(), has_aux=True)(vector(torch))


@error
def gradient_of_integers(torch):
    torch.func.grad(lambda x: x.sum())(torch.tensor([1, 2]))


@error
def gradient_of_no_tensor(torch):
    torch.func.grad(lambda x: x)(3.0)


@error
def aux_that_is_no_tensor(torch):
    torch.func.grad(lambda x: (x.sum(), 3.0), has_aux=True)(vector(torch))


@error
def aux_of_a_pushforward_that_is_no_tensor(torch):
    torch.func.jvp(lambda x: (x, 3.0), (vector(torch),), (vector(torch),), has_aux=True)


@error
def a_captured_tensor_written_in_reverse_mode(torch):
    w = vector(torch)
    torch.func.grad(lambda x: (w.add_(1) * x).sum())(vector(torch))


@error
def a_captured_tensor_written_in_forward_mode(torch):
    w = vector(torch)
    torch.func.jvp(lambda x: w.mul_(x), (vector(torch),), (vector(torch),))


@error
def an_element_of_a_captured_tensor_written(torch):
    w = vector(torch)

    def f(x):
        w[0] = 3.0
        return w * x

    torch.func.jacrev(f)(vector(torch))


@error
def argnum_out_of_range(torch):
    torch.func.grad(lambda x: x.sum(), argnums=1)(vector(torch))


@error
def argnums_twice(torch):
    torch.func.grad(lambda x: x.sum(), argnums=(0, 0))(vector(torch))


@error
def argnums_empty(torch):
    torch.func.grad(lambda x: x.sum(), argnums=())(vector(torch))


@error
def argnums_of_another_type(torch):
    torch.func.grad(lambda x: x.sum(), argnums="x")(vector(torch))


@error
def in_place_on_a_differentiated_argument(torch):
    torch.func.grad(lambda x: x.add_(1).sum())(vector(torch))


@error
def requires_grad_inside(torch):
    torch.func.grad(lambda x: x.requires_grad_().sum())(vector(torch))


@error
def backward_inside(torch):
    w = vector(torch).requires_grad_()
    torch.func.grad(lambda x: ((x * w).sum().backward(), x.sum())[1])(vector(torch))


@error
def backward_inside_vmap(torch):
    w = vector(torch).requires_grad_()
    torch.func.vmap(lambda x: (x * w).sum().backward())(vector(torch))


@error
def backward_inside_jvp(torch):
    w = vector(torch).requires_grad_()
    torch.func.jvp(lambda x: ((x * w).sum().backward(), x)[1], (vector(torch),), (vector(torch),))


@error
def pullback_of_another_shape(torch):
    torch.func.vjp(lambda x: x * 2, vector(torch))[1](torch.ones(2))


@error
def pullback_of_integers(torch):
    torch.func.vjp(lambda x: x.long(), vector(torch))


@error
def pullback_of_nothing(torch):
    torch.func.vjp(lambda x: None, vector(torch))


@error
def pullback_of_a_number(torch):
    torch.func.vjp(lambda x: (x, 3.0), vector(torch))


@error
def tangents_of_another_shape(torch):
    torch.func.jvp(lambda x: x, (vector(torch),), (torch.ones(2),))


@error
def tangents_of_integers(torch):
    torch.func.jvp(lambda x: x, (vector(torch),), (torch.tensor([1, 2, 3]),))


@error
def primals_of_integers(torch):
    torch.func.jvp(lambda x: x, (torch.tensor([1, 2, 3]),), (vector(torch),))


@error
def primals_that_are_no_tuple(torch):
    torch.func.jvp(lambda x: x, vector(torch), vector(torch))


@error
def primals_that_are_empty(torch):
    torch.func.jvp(lambda: torch.ones(1), (), ())


@error
def primals_that_are_numbers(torch):
    torch.func.jvp(lambda x: x, (1.0,), (1.0,))


@error
def strict_pushforward(torch):
    torch.func.jvp(lambda x: torch.ones(2), (vector(torch),), (vector(torch),), strict=True)


@error
def linearized_on_another_shape(torch):
    torch.func.linearize(lambda x: x * 2, vector(torch))[1](torch.ones(2))


@error
def linearized_on_another_dtype(torch):
    torch.func.linearize(lambda x: x * 2, vector(torch))[1](torch.ones(3, dtype=torch.float64))


@error
def jacobian_of_complex(torch):
    torch.func.jacrev(lambda x: x * 2)(torch.tensor([1j]))


@error
def jacobian_to_complex(torch):
    torch.func.jacfwd(lambda x: x * 1j)(vector(torch))


@error
def jacobian_in_no_chunks(torch):
    torch.func.jacrev(lambda x: x * 2, chunk_size=0)


@error
def item_in_vmap(torch):
    torch.func.vmap(lambda x: x * x.item())(vector(torch))


@error
def float_in_vmap(torch):
    torch.func.vmap(lambda x: x * float(x * 2))(vector(torch))


@error
def if_in_vmap(torch):
    torch.func.vmap(lambda x: x if x > 1 else -x)(vector(torch))


@error
def numpy_in_vmap(torch):
    torch.func.vmap(lambda x: x.numpy())(vector(torch))


@error
def tolist_in_vmap(torch):
    torch.func.vmap(lambda x: (x * 2).tolist())(matrix(torch))


@error
def a_batch_into_a_closed_over_tensor(torch):
    y = torch.zeros(())
    torch.func.vmap(lambda x: y.copy_(x))(vector(torch))


@error
def a_batch_into_an_element(torch):
    def f(x):
        y = torch.zeros(3)
        y[0] = x
        return y

    torch.func.vmap(f)(vector(torch))


@error
def vmap_of_no_inputs(torch):
    torch.func.vmap(lambda: torch.ones(1))()


@error
def vmap_over_none(torch):
    torch.func.vmap(lambda x: x, in_dims=(None,))(vector(torch))


@error
def vmap_of_different_sizes(torch):
    torch.func.vmap(lambda x, y: x)(vector(torch), torch.ones(2))


@error
def vmap_in_dims_type(torch):
    torch.func.vmap(lambda x: x, in_dims=None)(vector(torch))


@error
def vmap_in_dims_of_floats(torch):
    torch.func.vmap(lambda x: x, in_dims=(0.5,))(vector(torch))


@error
def vmap_of_a_number(torch):
    torch.func.vmap(lambda x: x)(3.0)


@error
def vmap_in_dims_out_of_range(torch):
    torch.func.vmap(lambda x: x, in_dims=1)(vector(torch))


@error
def vmap_out_dims_type(torch):
    torch.func.vmap(lambda x: x, out_dims="first")(vector(torch))


@error
def vmap_out_dims_out_of_range(torch):
    torch.func.vmap(lambda x: x * 2, out_dims=2)(vector(torch))


@error
def vmap_returns_a_number(torch):
    torch.func.vmap(lambda x: 3.0)(vector(torch))


@error
def vmap_returns_none(torch):
    torch.func.vmap(functools.partial(lambda x, y: None, vector(torch)))(vector(torch))


@error
def vmap_returns_a_batch_where_none_is_wanted(torch):
    torch.func.vmap(lambda x: x, out_dims=None)(vector(torch))


@error
def vmap_randomness(torch):
    torch.func.vmap(lambda x: x, randomness="some")


@error
def vmap_chunk_size(torch):
    torch.func.vmap(lambda x: x, chunk_size=0)


@error
def random_in_vmap(torch):
    torch.func.vmap(lambda x: x + torch.rand(2))(vector(torch))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_agrees_with_torch(function):
    given = agree(function, rtol=5e-6, atol=2e-6)
    assert given.error is None


@pytest.mark.parametrize("function", ERRORS, ids=lambda function: function.__name__)
def test_refuses_as_torch_does(function):
    given = agree(function)
    assert given.error is not None


# What torch cannot be asked


def seen(work):
    before = counters.compiles, counters.dispatches
    result = work()
    return result, counters.compiles - before[0], counters.dispatches - before[1]


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: jaxvjp.func.grad(lambda x: f(x).sum()),
        jaxvjp.func.jacrev,
        jaxvjp.func.jacfwd,
        jaxvjp.vmap,
        lambda f: jaxvjp.vmap(jaxvjp.func.grad(f)),
        lambda f: jaxvjp.func.hessian(lambda x: f(x).sum()),
        lambda f: lambda x: jaxvjp.func.jvp(f, (x,), (x,))[1],
    ],
)
def test_a_transform_is_compiled_once_and_is_one_dispatch(transform):
    transformed = transform(lambda x: jaxvjp.sin(x) * x * 2)
    first, compiles, dispatches = seen(lambda: transformed(jaxvjp.tensor([1.0, 2.0])).tolist())
    assert (compiles, dispatches) == (1, 1)
    for value in (3.0, 4.0):
        again, compiles, dispatches = seen(lambda value=value: transformed(jaxvjp.tensor([1.0, value])).tolist())
        assert (compiles, dispatches) == (0, 1)
        assert again != first


def test_a_custom_function_goes_no_way_that_it_has_no_rule_for():
    class Crooked(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 100

    x = jaxvjp.tensor([1.0, 2.0])
    assert jaxvjp.func.grad(lambda x: Crooked.apply(x).sum())(x).tolist() == [100.0, 100.0]
    assert jaxvjp.func.jacrev(lambda x: Crooked.apply(x) * x)(x).tolist() == [[102.0, 0.0], [0.0, 204.0]]
    for refused in (
        lambda: jaxvjp.func.jvp(Crooked.apply, (x,), (x,)),
        lambda: jaxvjp.func.jacfwd(Crooked.apply)(x),
        lambda: jaxvjp.no_grad()(jaxvjp.func.jvp)(Crooked.apply, (x,), (x,)),
    ):
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            refused()
    with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
        jaxvjp.func.grad(lambda x: jaxvjp.vmap(Crooked.apply)(x).sum())(x)


def test_an_example_that_escapes_has_no_value():
    escaped = []
    jaxvjp.vmap(lambda x: (escaped.append(x * 2), x)[1])(jaxvjp.tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match=r"calling \.item\(\)"):
        escaped[0].tolist()
    with pytest.raises(RuntimeError, match=r"calling \.item\(\)"):
        repr(escaped[0] + 1)
    with pytest.raises(RuntimeError, match=r"calling \.item\(\)"):
        jaxvjp.vmap(jaxvjp.func.grad(lambda x: x * x.item()))(jaxvjp.ones(3))


def test_a_function_runs_once():
    runs = []

    def f(x):
        runs.append(x)
        return (x**2).sum()

    x = jaxvjp.ones(7)
    jaxvjp.func.hessian(f)(x).tolist()
    jaxvjp.vmap(f, chunk_size=2)(jaxvjp.ones(5, 2)).tolist()
    jaxvjp.func.jacrev(lambda x: (f(x), x), chunk_size=2)(x)
    assert len(runs) == 3


def test_a_long_function():
    def f(x):
        for _ in range(400):
            x = x * 0.99 + 0.01
        return x

    x = jaxvjp.tensor([1.0, 2.0])
    np.testing.assert_allclose(jaxvjp.func.grad(lambda x: f(x).sum())(x).numpy(), 0.99**400, rtol=1e-4)
    np.testing.assert_allclose(jaxvjp.func.jvp(f, (x,), (jaxvjp.ones(2),))[1].numpy(), 0.99**400, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("missing", 1.0, AttributeError), ("inner.missing", 1.0, AttributeError), ("none.weight", 1.0, AttributeError)],
)
def test_functional_call_says_what_is_missing(name, value, expected):
    with pytest.raises(expected, match="has no attribute"):
        jaxvjp.func.functional_call(affine(jaxvjp), {name: jaxvjp.tensor(value)}, jaxvjp.ones(3))


def test_functional_call_replaces_tensors_only():
    module = affine(jaxvjp)
    module.rate = 3.0
    with pytest.raises(TypeError, match="not an instance"):
        jaxvjp.func.functional_call(module, {"rate": jaxvjp.tensor(1.0)}, jaxvjp.ones(3))
    with pytest.raises(RuntimeError, match="Missing key"):
        jaxvjp.func.functional_call(module, {"bias": jaxvjp.tensor(1.0)}, jaxvjp.ones(3), strict=True)


def test_functional_call_replaces_a_shared_tensor_everywhere():
    module = affine(jaxvjp)
    module.inner.shift = module.bias
    seen = []
    type(module).__call__ = lambda self, x: seen.append((self.bias.item(), self.inner.shift.item()))
    jaxvjp.func.functional_call(module, {"bias": jaxvjp.tensor(7.0)}, jaxvjp.ones(3))
    jaxvjp.func.functional_call(module, {"bias": jaxvjp.tensor(7.0)}, jaxvjp.ones(3), tie_weights=False)
    assert seen == [(7.0, 7.0), (7.0, 0.5)]
    assert module.inner.shift.item() == 0.5


def test_a_transform_that_fails_leaves_nothing_behind():
    def fails(x):
        raise KeyError("mine")

    x = jaxvjp.ones(2)
    for work in (
        lambda: jaxvjp.func.grad(fails)(x),
        lambda: jaxvjp.func.jacfwd(fails)(x),
        lambda: jaxvjp.vmap(fails)(x),
        lambda: jaxvjp.func.linearize(fails, x),
    ):
        with pytest.raises(KeyError, match="mine"):
            work()
        assert (transforming().depth, transforming().forward, transforming().batches) == (0, 0, [])


def test_threads_transform_on_their_own():
    failures = []

    def work(number):
        try:
            for _ in range(5):
                x = jaxvjp.tensor([1.0 * number, 2.0])
                assert jaxvjp.func.jacfwd(jaxvjp.func.grad(lambda x: (x**3).sum()))(x).tolist() == [
                    [6.0 * number, 0.0],
                    [0.0, 12.0],
                ]
                assert jaxvjp.vmap(lambda x: x * 2)(x).tolist() == [2.0 * number, 4.0]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("name", ["grad", "jacfwd", "vmap", "hessian", "dual_level"])
def test_a_loop_of_transforms_does_not_grow(name):
    def f(x):
        return (x**3).sum()

    def tangent_of(x):
        with jaxvjp.autograd.forward_ad.dual_level():
            return jaxvjp.autograd.forward_ad.unpack_dual(f(jaxvjp.autograd.forward_ad.make_dual(x, x))).tangent

    transformed = tangent_of if name == "dual_level" else getattr(jaxvjp.func, name)(f)

    def nodes_after(count):
        x = jaxvjp.ones(2, 2)
        for _ in range(count):
            x = x * 0.5 + transformed(x).sum()
            x.tolist()
        return live_nodes()

    nodes_after(3)
    assert nodes_after(4) == nodes_after(20)
