"""`autograd.functional`: every program of `PROGRAMS` gives the same under torch and under jaxvjp."""

from __future__ import annotations

import pytest
from oracle import agree

import jaxvjp
from jaxvjp.core.run.compilation import counters
from jaxvjp.core.run.history import history

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def vector(torch, dtype=None):
    return torch.tensor([1.0, 2.0, 3.0], dtype=dtype)


def pair(torch):
    return vector(torch), torch.tensor([[0.5, -1.0]])


def cubes(x):
    return x**3


def two_of_one(x):
    return x**2 * x[0], x.sum()


def two_of_two(x, y):
    return x * y.sum(), (x[:2] * y) ** 2


def scalar(x):
    return (x**3).sum() * x[0]


def scalar_of_two(x, y):
    return (x**2).sum() * (y**3).sum()


def crooked(torch):
    class Crooked(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * 100 * float(x.detach().sum())

    return Crooked.apply


# vjp and jvp


@program
def vjp_of_one(torch):
    return torch.autograd.functional.vjp(cubes, vector(torch), torch.tensor([1.0, 10.0, 100.0]))


@program
def vjp_in_float64(torch):
    x = vector(torch, torch.float64)
    return torch.autograd.functional.vjp(cubes, x, x), torch.autograd.functional.jvp(cubes, x, x)


@program
def vjp_of_tuples(torch):
    return (
        torch.autograd.functional.vjp(two_of_one, vector(torch), (vector(torch), torch.tensor(2.0))),
        torch.autograd.functional.vjp(two_of_two, pair(torch), (vector(torch), torch.tensor([[2.0, 3.0]]))),
        torch.autograd.functional.vjp(lambda x: (x * 2,), (vector(torch),), (vector(torch),)),
    )


@program
def v_may_be_left_out_for_one_element(torch):
    x = torch.tensor(2.0)
    return (
        torch.autograd.functional.vjp(scalar, vector(torch)),
        torch.autograd.functional.jvp(lambda x: torch.sin(x) * vector(torch), x),
        torch.autograd.functional.hvp(lambda x: x**3, x),
        torch.autograd.functional.vhp(lambda x: x**3, x),
    )


@program
def jvp_of_tuples(torch):
    return (
        torch.autograd.functional.jvp(cubes, vector(torch), vector(torch)),
        torch.autograd.functional.jvp(two_of_one, vector(torch), torch.tensor([1.0, 10.0, 100.0])),
        torch.autograd.functional.jvp(two_of_two, pair(torch), (vector(torch), torch.tensor([[2.0, 3.0]]))),
    )


@program
def jacobian_of_a_matrix_with_a_hook_on_the_way(torch):
    def f(x, w):
        y = torch.tanh(w @ x / 2)
        y.register_hook(lambda gradient: gradient * 3)
        return y[:, :1].exp(), (y * y).sum()

    inputs = torch.tensor([[0.5, 1.0], [-1.0, 2.0], [0.0, 0.25]]), torch.tensor([[1.0, -0.5, 0.25], [0.5, 2.0, -1.0]])
    once = torch.autograd.functional.jacobian(f, inputs)
    w = torch.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True)
    again = torch.autograd.functional.jacobian(lambda x: torch.sin(w @ x), torch.eye(2) / 2, create_graph=True)
    return once, again, torch.autograd.grad((again**2).sum(), w)


@program
def zeros_where_nothing_depends(torch):
    def f(x, y):
        return x * 2, torch.ones(2)

    x = pair(torch)
    v = vector(torch), torch.ones(2)
    return (
        torch.autograd.functional.vjp(f, x, v),
        torch.autograd.functional.jvp(f, x, x),
        torch.autograd.functional.jacobian(f, x),
        torch.autograd.functional.hvp(lambda x, y: (x**2).sum(), x, x),
        torch.autograd.functional.vhp(lambda x, y: (x**2).sum(), x, x),
        torch.autograd.functional.hessian(lambda x, y: (x**2).sum(), x),
        torch.autograd.functional.hvp(lambda x, y: torch.tensor(1.0), x, x),
        torch.autograd.functional.vhp(lambda x, y: x.sum() + y.sum(), x, x),
    )


@program
def results_with_a_graph(torch):
    results = []
    for name in ("vjp", "jvp", "hvp", "vhp"):
        x, v = vector(torch).requires_grad_(), vector(torch).requires_grad_()
        f = cubes if name in ("vjp", "jvp") else scalar
        value, derivative = getattr(torch.autograd.functional, name)(f, x, v, create_graph=True)
        results += [value, derivative, torch.autograd.grad(derivative.sum(), [x, v], retain_graph=True)]
        results += torch.autograd.grad(value.sum(), x)
    return results


@program
def results_without_a_graph(torch):
    x, w = vector(torch).requires_grad_(), vector(torch).requires_grad_()
    f = torch.autograd.functional
    return f.vjp(lambda x: x * w, x, x), f.jvp(lambda x: x * w, x, x), f.jacobian(lambda x: x * w, x), x.grad


@program
def a_graph_of_inputs_that_require_none(torch):
    x = vector(torch)
    f = torch.autograd.functional
    return f.vjp(cubes, x, x, create_graph=True), f.jvp(cubes, x, x, create_graph=True)


@program
def under_no_grad(torch):
    f, x = torch.autograd.functional, vector(torch)
    with torch.no_grad():
        return f.vjp(cubes, x, x), f.jvp(cubes, x, x), f.jacobian(cubes, x), f.hessian(scalar, x), f.hvp(scalar, x, x)


# Jacobians and Hessians


@program
def jacobians(torch):
    f = torch.autograd.functional
    return [
        f.jacobian(function, inputs, vectorize=vectorize, strategy=strategy)
        for function, inputs in ((cubes, vector(torch)), (two_of_one, vector(torch)), (two_of_two, pair(torch)))
        for vectorize, strategy in ((False, "reverse-mode"), (True, "reverse-mode"), (True, "forward-mode"))
    ]


@program
def jacobian_of_in_place_and_indexed_functions(torch):
    def f(x):
        y = torch.zeros(4)
        y[1:] = x * x
        y[0] = x[0] * x[2]
        y *= 2
        y[1] += x[1]
        return y

    each = torch.autograd.functional.jacobian
    return each(f, vector(torch)), each(f, vector(torch), vectorize=True, strategy="forward-mode")


@program
def jacobian_with_a_graph(torch):
    x = vector(torch).requires_grad_()
    j = torch.autograd.functional.jacobian(cubes, x, create_graph=True)
    linear = torch.autograd.functional.jacobian(lambda x: x * 2, x, create_graph=True)
    j.sum().backward()
    return j, linear, x.grad


@program
def jacobian_with_a_graph_to_a_closed_over_tensor(torch):
    w = vector(torch).requires_grad_()
    j = torch.autograd.functional.jacobian(lambda x: w * x**2, vector(torch), create_graph=True)
    return j, torch.autograd.grad(j.sum(), w)


@program
def jacobian_of_a_python_backward(torch):
    function = crooked(torch)
    f = torch.autograd.functional
    return f.jacobian(lambda x: function(x) * x, vector(torch)), f.vjp(function, vector(torch), vector(torch))


@program
def pushforwards_through_a_python_backward(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * 30 * x**2

    f, function, x = torch.autograd.functional, crooked(torch), vector(torch)
    return (
        f.jvp(lambda x: (function(x) * x, x.sum()), x, x),
        f.hvp(lambda x: (Cube.apply(x) * x).sum(), x, x),
        f.vhp(lambda x: (Cube.apply(x) * x).sum(), x, x),
        f.hessian(lambda x: (Cube.apply(x) * x).sum(), x),
        f.jvp(lambda x: Cube.apply(x) * x, x.requires_grad_(), x, create_graph=True),
    )


@program
def hessians(torch):
    f = torch.autograd.functional
    return [
        f.hessian(function, inputs, vectorize=vectorize)
        for function, inputs in ((scalar, vector(torch)), (scalar_of_two, pair(torch)))
        for vectorize in (False, True)
    ]


@program
def hessian_forward_over_reverse(torch):
    f = torch.autograd.functional.hessian
    found = f(scalar, vector(torch), vectorize=True, outer_jacobian_strategy="forward-mode")
    both = f(scalar_of_two, pair(torch), vectorize=True, outer_jacobian_strategy="forward-mode")
    return found.detach(), [[each.detach() for each in row] for row in both]


@program
def hessian_with_a_graph(torch):
    x = vector(torch).requires_grad_()
    h = torch.autograd.functional.hessian(scalar, x, create_graph=True)
    return h, torch.autograd.grad(h.sum(), x)


@program
def hessian_of_one_element_in_a_vector(torch):
    return torch.autograd.functional.hessian(lambda x: scalar(x)[None], vector(torch))


@program
def products_with_the_hessian(torch):
    f = torch.autograd.functional
    v = torch.tensor([1.0, 10.0, 100.0])
    two = (vector(torch), torch.tensor([[2.0, 3.0]]))
    return (
        f.hvp(scalar, vector(torch), v),
        f.vhp(scalar, vector(torch), v),
        f.hvp(scalar_of_two, pair(torch), two),
        f.vhp(scalar_of_two, pair(torch), two),
    )


@program
def strict_and_fine(torch):
    f, x = torch.autograd.functional, vector(torch)
    return (
        f.vjp(cubes, x, x, strict=True),
        f.jvp(cubes, x, x, strict=True),
        f.jacobian(cubes, x, strict=True),
        f.hessian(scalar, x, strict=True),
        f.hvp(scalar, x, x, strict=True),
        f.vhp(scalar, x, x, strict=True),
    )


@program
def the_form_of_results(torch):
    def kinds(value):
        return [kinds(each) for each in value] + ["tuple"] if isinstance(value, tuple) else type(value).__name__

    f, v = torch.autograd.functional, vector(torch)
    several = pair(torch)
    # torch's forward mode gives lists for several inputs, where its documentation and its reverse mode say tuples.
    forward = [f.jacobian(each, v, vectorize=True, strategy="forward-mode") for each in (cubes, two_of_one)]
    reverse = [(cubes, v), (cubes, (v,)), (two_of_one, v), (two_of_two, several)]
    return (
        [kinds(each) for each in forward]
        + [
            kinds(f.jacobian(function, inputs, vectorize=vectorize))
            for function, inputs in reverse
            for vectorize in (False, True)
        ]
        + [kinds(f.hessian(scalar_of_two, several)), kinds(f.vjp(cubes, (v,), v)), kinds(f.hessian(scalar, (v,)))]
    )


# What is refused: each call with `functional` and a vector.


REFUSED = {
    "a list": lambda torch, f, x: f.vjp(cubes, [x], x),
    "a number": lambda torch, f, x: f.jvp(cubes, 3.0, x),
    "a number in a tuple": lambda torch, f, x: f.jacobian(cubes, (x, 3.0)),
    "a number returned": lambda torch, f, x: f.jacobian(lambda x: 3.0, x),
    "a number returned in a tuple": lambda torch, f, x: f.vjp(lambda x: (x, 3.0), x, (x, x)),
    "a list returned": lambda torch, f, x: f.jvp(lambda x: [x], x, x),
    "v that is a list": lambda torch, f, x: f.vjp(cubes, x, [x]),
    "v of two": lambda torch, f, x: f.vjp(cubes, x, (x, x)),
    "v too short": lambda torch, f, x: f.vjp(two_of_one, x, (x,)),
    "v of another shape": lambda torch, f, x: f.vjp(cubes, x, x[:2]),
    "an entry of v of another shape": lambda torch, f, x: f.vjp(two_of_one, x, (x, x)),
    "v of the outputs for jvp": lambda torch, f, x: f.jvp(lambda x: x.sum(), x, torch.tensor(1.0)),
    "no v for vjp": lambda torch, f, x: f.vjp(cubes, x),
    "no v for jvp": lambda torch, f, x: f.jvp(scalar, x),
    "no v for hvp": lambda torch, f, x: f.hvp(scalar, x),
    "no v for vhp": lambda torch, f, x: f.vhp(scalar, x),
    "integers": lambda torch, f, x: f.vjp(cubes, x.long(), x),
    "hvp of a vector": lambda torch, f, x: f.hvp(cubes, x, x),
    "vhp of a tuple": lambda torch, f, x: f.vhp(two_of_one, x, x),
    "hessian of a vector": lambda torch, f, x: f.hessian(cubes, x),
    "hessian of a tuple": lambda torch, f, x: f.hessian(two_of_one, x),
    "hessian of a number": lambda torch, f, x: f.hessian(lambda x: 3.0, x),
    "a strategy": lambda torch, f, x: f.jacobian(cubes, x, strategy="sideways"),
    "an outer strategy": lambda torch, f, x: f.hessian(scalar, x, outer_jacobian_strategy="sideways"),
    "forward with a graph": lambda torch, f, x: f.jacobian(cubes, x, create_graph=True, strategy="forward-mode"),
    "forward and strict": lambda torch, f, x: f.jacobian(cubes, x, strict=True, strategy="forward-mode"),
    "forward, not vectorized": lambda torch, f, x: f.jacobian(cubes, x, strategy="forward-mode"),
    "vectorized and strict": lambda torch, f, x: f.jacobian(cubes, x, strict=True, vectorize=True),
    "strict vjp": lambda torch, f, x: f.vjp(lambda x: torch.ones(3), x, x, strict=True),
    "strict vjp, unused input": lambda torch, f, x: f.vjp(lambda x, y: x, (x, x), x, strict=True),
    "strict vjp with a graph": lambda torch, f, x: f.vjp(lambda x: 2 * x, x, x, create_graph=True, strict=True),
    "strict jvp": lambda torch, f, x: f.jvp(lambda x: torch.ones(3), x, x, strict=True),
    "strict jvp, unused input": lambda torch, f, x: f.jvp(lambda x, y: x, (x, x), (x, x), strict=True),
    "strict jvp with a graph": lambda torch, f, x: f.jvp(lambda x: 2 * x, x, x, create_graph=True, strict=True),
    "strict jacobian": lambda torch, f, x: f.jacobian(lambda x: torch.ones(3), x, strict=True),
    "strict jacobian, unused input": lambda torch, f, x: f.jacobian(lambda x, y: (x, y), (x, x), strict=True),
    "strict jacobian with a graph": lambda torch, f, x: f.jacobian(lambda x: 2 * x, x, create_graph=True, strict=True),
    "strict hessian": lambda torch, f, x: f.hessian(lambda x: torch.tensor(1.0), x, strict=True),
    "strict hessian of a linear function": lambda torch, f, x: f.hessian(lambda x: x.sum(), x, strict=True),
    "strict hessian with a graph": lambda torch, f, x: f.hessian(
        lambda x: (x * x).sum(), x, strict=True, create_graph=True
    ),
    "strict hvp of a linear function": lambda torch, f, x: f.hvp(lambda x: x.sum(), x, x, strict=True),
    "strict hvp, unused input": lambda torch, f, x: f.hvp(lambda x, y: scalar(x), (x, x), (x, x), strict=True),
    "strict hvp with a graph": lambda torch, f, x: f.hvp(lambda x: x @ x, x, x, strict=True, create_graph=True),
    "strict vhp of a linear function": lambda torch, f, x: f.vhp(lambda x: x.sum(), x, x, strict=True),
    "strict vhp, unused input": lambda torch, f, x: f.vhp(lambda x, y: scalar(x), (x, x), (x, x), strict=True),
    "strict vhp with a graph": lambda torch, f, x: f.vhp(lambda x: x @ x, x, x, strict=True, create_graph=True),
    "strict vhp of a separate constant": lambda torch, f, x: f.vhp(
        lambda x, y: scalar(x) + y.sum(), (x, x), (x, x), strict=True
    ),
}


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_agrees_with_torch(function):
    given = agree(function, rtol=5e-6)
    assert given.error is None


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_as_torch_does(name):
    given = agree(lambda torch: REFUSED[name](torch, torch.autograd.functional, vector(torch)))
    assert given.error is not None


def tangled(x):
    return (x[:, None] * x).sin()


def derivatives(x):
    """What gives derivatives at `x`, each in its own way."""
    functional, v = jaxvjp.autograd.functional, jaxvjp.tensor([1.0, 2.0])
    yield lambda: [functional.jacobian(cubes, x, vectorize=True, strategy="forward-mode")]
    yield lambda: [functional.jacobian(cubes, x)]
    yield lambda: [functional.jacobian(tangled, x)]
    yield lambda: [functional.hessian(scalar, x)]
    yield lambda: functional.vjp(cubes, x, v)
    yield lambda: functional.jvp(cubes, x, v)
    yield lambda: functional.hvp(scalar, x, v)


@pytest.mark.parametrize("number", range(7))
@pytest.mark.compiled
def test_a_derivative_is_compiled_once_and_is_one_dispatch(number):
    def read(value):
        derivative = list(derivatives(jaxvjp.tensor([1.0, value])))[number]
        before = counters.compiles, counters.dispatches
        given = [each.tolist() for each in derivative()]
        return given, counters.compiles - before[0], counters.dispatches - before[1]

    first, *_ = read(2.0)
    read(2.5)
    given, *counted = read(3.0)
    assert counted == [0, 1]
    assert given != first


@pytest.mark.compiled
def test_beside_a_jacobian_nothing_is_computed():
    history.programs.clear()
    jaxvjp.autograd.functional.jacobian(lambda x: (x * 5 - 2).tanh(), jaxvjp.tensor([0.5, 3.0]))
    assert [len(each.program.outputs) for _, each in history.programs] == [1]
