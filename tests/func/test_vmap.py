"""`vmap`, under torch and under jaxvjp: dimensions, chunks, transforms inside and outside, and in-place writes."""

from __future__ import annotations

from oracle import agreement_of, programs_of
from vectors import matrix, vector, weights


def batches(torch):
    return (
        torch.vmap(lambda x: x.sum())(matrix(torch)),
        torch.func.vmap(lambda x: x.sum(), in_dims=1)(matrix(torch)),
        torch.func.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(matrix(torch)),
        torch.func.vmap(torch.dot)(matrix(torch), matrix(torch) + 1),
    )


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


def what_is_not_batched_is_repeated(torch):
    w = vector(torch)
    return torch.func.vmap(lambda x: (w * 2, x))(matrix(torch)), torch.func.vmap(lambda x: torch.ones(2))(w)


def chunks(torch):
    x = torch.tensor([[float(i), float(i * i)] for i in range(7)])
    return [
        torch.func.vmap(lambda x, w: x * w.sum(), (0, None), chunk_size=each)(x, vector(torch)) for each in (1, 3, 7, 9)
    ]


def batch_of_batches(torch):
    x, y = vector(torch), torch.tensor([1.0, 10.0])
    outer = torch.func.vmap(torch.func.vmap(lambda a, b: a * b, (None, 0)), (0, None))
    swapped = torch.func.vmap(torch.func.vmap(lambda a, b: a * b, (None, 0)), (0, None), out_dims=1)
    both = torch.func.vmap(torch.func.vmap(lambda a: a * 2 + 1, in_dims=1, out_dims=1))
    return outer(x, y), swapped(x, y), both(x[:, None, None] * matrix(torch))


def an_inner_batch_closes_over_an_outer_example(torch):
    def f(row):
        return torch.func.vmap(lambda a: a * row)(vector(torch))

    return torch.func.vmap(f)(matrix(torch))


def per_sample_gradients(torch):
    def loss(p, x, y):
        return ((torch.tanh(x @ p["w"]) - y) ** 2).sum()

    p, x, y = {"w": weights(torch)}, matrix(torch), torch.tensor([0.5, -0.5])
    one = torch.func.grad(loss)
    return torch.func.vmap(one, in_dims=(None, 0, 0))(p, x, y), [one(p, a, b) for a, b in zip(x, y, strict=True)]


def gradient_through_vmap_to_parameters(torch):
    w = weights(torch).requires_grad_()
    y = torch.func.vmap(lambda x: torch.tanh(x @ w).sum())(matrix(torch))
    y.backward(torch.tensor([1.0, 10.0]))
    return y, w.grad


def gradient_through_vmap_to_its_input(torch):
    x = matrix(torch).requires_grad_()
    y, z = torch.func.vmap(lambda x: ((x**2).sum(), torch.ones(2)))(x)
    y.backward(torch.tensor([1.0, 10.0]))
    return y, z, x.grad


def no_grad_inside_vmap(torch):
    def f(row):
        with torch.no_grad():
            c = row**2
        return c * row, c

    x = matrix(torch).requires_grad_()
    y, c = torch.func.vmap(f)(x)
    y.sum().backward()
    return y, c, x.grad


def gradient_of_batch_of_gradient(torch):
    def f(x):
        return torch.func.vmap(torch.func.grad(lambda r: (r**3).sum()))(x).sum()

    return torch.func.grad(f)(matrix(torch)), torch.func.hessian(f)(matrix(torch))


def batch_of_hessians(torch):
    return torch.func.vmap(torch.func.hessian(lambda x: (x**3).sum() * x[0]))(matrix(torch))


def batch_of_jacobians(torch):
    return [torch.func.vmap(t(lambda x: x**2 * x[0]))(matrix(torch)) for t in (torch.func.jacrev, torch.func.jacfwd)]


def jacobians_of_batches(torch):
    f = torch.func.vmap(lambda x: x**2 * x[0])
    return torch.func.jacrev(f)(matrix(torch)), torch.func.jacfwd(f)(matrix(torch))


def batch_of_pushforwards(torch):
    def f(t):
        return torch.func.jvp(lambda x: x**2, (vector(torch),), (t,))[1]

    m = matrix(torch)
    return torch.func.vmap(f)(m), torch.func.jvp(torch.func.vmap(torch.sin), (m,), (m,))


def shapes_inside(torch):
    seen = []

    def f(x):
        seen.append((tuple(x.shape), x.ndim, x.dim(), len(x), x.dtype == torch.float32, x.is_leaf))
        return x

    torch.func.vmap(f, in_dims=1)(torch.ones(2, 3, 4))
    return seen


def a_batched_argument_may_be_written(torch):
    def f(x):
        x += 1
        x[0] = 5
        return x * 2

    m, n = matrix(torch), matrix(torch)
    return torch.func.vmap(f)(m), m, torch.func.vmap(torch.func.vmap(lambda x: x.mul_(3)), in_dims=1)(n), n


def a_tensor_without_batch_may_be_written_once(torch):
    y = torch.zeros(3)

    def f(x):
        y.add_(1)
        return x + y

    return torch.func.vmap(f)(matrix(torch)), y


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


def reading_what_has_no_batch(torch):
    w = vector(torch)
    return torch.func.vmap(lambda x: x * w.sum().item() if w[0] > 0 else x)(matrix(torch))


def integers_and_booleans(torch):
    x = torch.tensor([[1, 2], [3, 4]])
    return torch.func.vmap(lambda x: (x.sum(), x > 2, x.double()))(x)


def an_empty_batch(torch):
    return torch.func.vmap(lambda x: x * 2)(torch.zeros(0, 3))


def random_numbers(torch):
    x = vector(torch)
    results = []
    for kind in ("same", "different"):
        for draw in (torch.rand, torch.randn):
            torch.manual_seed(1)
            results.append(torch.func.vmap(lambda x, draw=draw: x * 0 + draw(2), randomness=kind)(x))
    return results


def new_tensors_are_written_by_examples(torch):
    m, v = matrix(torch), vector(torch)[:2]

    def of(make):
        def function(y, x):
            return (make(x).copy_(y) * y).sum()

        return torch.vmap(torch.func.grad(function))(m, v), torch.vmap(lambda y, x: make(x).add_(y))(m, v)

    size = m.shape[1]
    return (
        of(lambda x: x.new_zeros((size,))),
        of(lambda x: x.new_ones(size)),
        of(lambda x: x.new_full((size,), 2.0)),
        of(lambda x: torch.zeros_like(x).expand(size).clone()),
    )


def what_tensors_inside_look_like(torch):
    m, told = matrix(torch), []

    def seen(x):
        told.append(repr(x))
        told.append(repr(x * 2))
        return x.sum()

    torch.func.grad(seen)(m)
    torch.func.grad(torch.func.grad(seen))(m[0, 0])
    torch.vmap(seen, in_dims=1)(m)
    torch.vmap(torch.func.grad(seen))(m)
    torch.func.grad(lambda x: torch.vmap(seen)(x).sum())(m)
    torch.vmap(torch.vmap(seen))(m)
    return told


def the_name_is_kept(torch):
    def named(x):
        """Its words."""
        return x

    return [
        (each(named).__name__, each(named).__doc__)
        for each in (torch.vmap, torch.func.grad, torch.func.jacrev, torch.func.jacfwd, torch.func.grad_and_value)
    ]


test_agrees_with_torch = agreement_of(programs_of(globals()), rtol=5e-6, atol=2e-6)
