"""`autograd.forward_ad`: every program gives the same under torch and under jaxvjp."""

from __future__ import annotations

import pytest
from oracle import agree

import jaxvjp
from jaxvjp.core.run.compilation import counters

PROGRAMS = []
ERRORS = []


def program(function):
    """The program, inside a level."""

    def run(torch):
        with torch.autograd.forward_ad.dual_level():
            return function(torch, torch.autograd.forward_ad, *start(torch))

    run.__name__ = function.__name__
    PROGRAMS.append(run)
    return function


def error(function):
    def run(torch):
        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            function(torch, forward_ad, *start(torch))

    run.__name__ = function.__name__
    ERRORS.append(run)
    return function


def start(torch):
    return torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 10.0, 100.0])


@program
def a_tangent(torch, fw, x, t):
    return fw.unpack_dual(fw.make_dual(x, t) ** 2), fw.unpack_dual(fw.make_dual(x, t))


@program
def in_float64(torch, fw, x, t):
    return fw.unpack_dual(torch.sin(fw.make_dual(x.double(), t.double())))


@program
def it_is_a_named_tuple(torch, fw, x, t):
    unpacked = fw.unpack_dual(fw.make_dual(x, t) * 2)
    return type(unpacked).__name__, unpacked._fields, unpacked.tangent, unpacked.primal, isinstance(unpacked, tuple)


@program
def two_duals(torch, fw, x, t):
    a, b = fw.make_dual(x, t), fw.make_dual(x + 1, t * 2)
    return fw.unpack_dual(a * b), fw.unpack_dual(a * x), fw.unpack_dual((a @ b) * a[0])


@program
def none_where_nothing_depends(torch, fw, x, t):
    d = fw.make_dual(x, t)
    results = [x * 2, d.detach() * 2, d > 1, d.long(), d.data, torch.zeros_like(d)]
    return [fw.unpack_dual(each).tangent for each in results]


@program
def detach_stops_tangents(torch, fw, x, t):
    d = fw.make_dual(x, t)
    with torch.no_grad():
        inside = d.detach() * d
    return fw.unpack_dual(d * d.detach()), fw.unpack_dual(inside)


@program
def no_grad_does_not_stop_tangents(torch, fw, x, t):
    with torch.no_grad():
        y = fw.make_dual(x, t) * 2
        return y.requires_grad, fw.unpack_dual(y)


@program
def what_is_unpacked_has_no_tangent(torch, fw, x, t):
    primal, tangent = fw.unpack_dual(fw.make_dual(x, t) ** 2)
    return fw.unpack_dual(primal * 2).tangent, fw.unpack_dual(tangent * 2).tangent, primal * tangent


@program
def values_may_be_read(torch, fw, x, t):
    d = fw.make_dual(x, t)
    y = d * 2
    if y.sum() > 1:
        y = y * d
    total = y.sum().item()
    return total, fw.unpack_dual(y.sum())


@program
def a_dual_made_again_of_the_primal(torch, fw, x, t):
    primal, tangent = fw.unpack_dual(fw.make_dual(x, t) ** 2)
    return fw.unpack_dual(fw.make_dual(primal, tangent) ** 2)


@program
def in_place_on_a_dual(torch, fw, x, t):
    d = fw.make_dual(x, t)
    y = d * 3
    d.mul_(2)
    y += d
    y[0] = y[1] * 2
    return fw.unpack_dual(d), fw.unpack_dual(y), fw.unpack_dual(d * d)


@program
def in_place_on_a_dual_writes_the_tensor(torch, fw, x, t):
    d = fw.make_dual(x, t.clone())
    d.mul_(2)
    d[0] = 7.0
    return x, fw.unpack_dual(x).tangent, fw.unpack_dual(d)


@program
def in_place_on_the_tensor_keeps_the_tangent(torch, fw, x, t):
    d = fw.make_dual(x, t)
    x.mul_(2)
    x[0] = -1.0
    return fw.unpack_dual(d), fw.unpack_dual(d * d)


@program
def in_place_with_a_dual(torch, fw, x, t):
    d = fw.make_dual(x, t)
    a, b = torch.ones(3), torch.ones(3)
    a.mul_(d)
    b[1:] = d[:2]
    return fw.unpack_dual(a), fw.unpack_dual(b)


@program
def a_dual_of_a_view(torch, fw, x, t):
    d = fw.make_dual(x[1:], t[1:].clone())
    d.mul_(2)
    return fw.unpack_dual(d), x, fw.unpack_dual(x).tangent, fw.unpack_dual(d[0])


@program
def reverse_over_forward(torch, fw, x, t):
    x, t = x.requires_grad_(), t.requires_grad_()
    d = fw.make_dual(x, t)
    primal, tangent = fw.unpack_dual(d**3)
    of_tangent = torch.autograd.grad(tangent.sum(), [x, t], retain_graph=True)
    primal.sum().backward()
    return d.requires_grad, d.is_leaf, primal, tangent, of_tangent, x.grad, t.grad


@program
def a_tangent_differentiated_with_respect_to_an_intermediate(torch, fw, x, t):
    h = fw.make_dual(x.requires_grad_(), t) * 2
    tangent = fw.unpack_dual(h**3).tangent
    return torch.autograd.grad(tangent.sum(), [h, x])


@program
def a_tangent_that_requires_a_gradient(torch, fw, x, t):
    t = t.requires_grad_()
    d = fw.make_dual(x, t)
    primal, tangent = fw.unpack_dual(d**3)
    tangent.sum().backward()
    return d.requires_grad, primal.requires_grad, tangent.requires_grad, t.grad


@program
def forward_over_reverse(torch, fw, x, t):
    d = fw.make_dual(x.requires_grad_(), t)
    (g,) = torch.autograd.grad((d**3).sum(), d, create_graph=True)
    return fw.unpack_dual(g)


@program
def forward_over_reverse_without_a_graph(torch, fw, x, t):
    d = fw.make_dual(x.requires_grad_(), t)
    h = torch.sin(d)
    (g,) = torch.autograd.grad((h * h * d).sum(), d)
    return fw.unpack_dual(g)


@program
def requires_grad_of_a_dual(torch, fw, x, t):
    d = fw.make_dual(x, t).requires_grad_()
    y = d**2
    primal, tangent = fw.unpack_dual(y)
    return primal, tangent, torch.autograd.grad(y.sum(), d)


@program
def backward_inside_a_level(torch, fw, x, t):
    w = x.clone().requires_grad_()
    (fw.make_dual(x, t) * w).sum().backward()
    return w.grad.detach()


@program
def it_is_printed(torch, fw, x, t):
    d = fw.make_dual(x, t)
    return repr(d), repr(d.double()), repr(d[0] * 2), repr(x), repr(fw.make_dual(x[:, None] * x, x[:, None] * t))


@program
def a_level_given(torch, fw, x, t):
    return fw.unpack_dual(fw.make_dual(x, t, level=0), level=0), fw.unpack_dual(x, level=3)


@program
def func_grad_inside_a_level(torch, fw, x, t):
    d = fw.make_dual(x, t)
    return fw.unpack_dual(torch.func.grad(lambda x: (x**3).sum())(d))


@program
def func_vmap_inside_a_level(torch, fw, x, t):
    d = fw.make_dual(x, t)
    return fw.unpack_dual(torch.func.vmap(lambda a: a**2)(d))


@error
def another_shape(torch, fw, x, t):
    fw.make_dual(x, t[:1])


@error
def an_integer_tensor(torch, fw, x, t):
    fw.make_dual(x.long(), t)


@error
def an_integer_tangent(torch, fw, x, t):
    fw.make_dual(x, t.long())


@error
def a_dual_of_a_dual(torch, fw, x, t):
    fw.make_dual(fw.make_dual(x, t), t)


@error
def a_dual_of_what_depends_on_one(torch, fw, x, t):
    fw.make_dual(fw.make_dual(x, t) * 2, t)


@error
def a_level_in_a_level(torch, fw, x, t):
    fw.enter_dual_level()


@error
def another_level_to_exit(torch, fw, x, t):
    fw.exit_dual_level(level=3)


@error
def another_level_to_make(torch, fw, x, t):
    fw.make_dual(x, t, level=3)


def without_a_level(torch):
    torch.autograd.forward_ad.make_dual(*start(torch))


def no_level_to_exit(torch):
    torch.autograd.forward_ad.exit_dual_level()


ERRORS += [without_a_level, no_level_to_exit]


def after_the_level(torch):
    fw, (x, t) = torch.autograd.forward_ad, start(torch)
    with fw.dual_level():
        d = fw.make_dual(x, t)
        y = d * 2
        tangent = fw.unpack_dual(y).tangent
    outside = fw.unpack_dual(y)
    with fw.dual_level():
        return outside, fw.unpack_dual(y), fw.unpack_dual(d), y, tangent


def entered_and_left_by_hand(torch):
    fw, (x, t) = torch.autograd.forward_ad, start(torch)
    level = fw.enter_dual_level()
    unpacked = fw.unpack_dual(fw.make_dual(x, t) * 3)
    return level, unpacked, fw.exit_dual_level(level=level), fw.unpack_dual(x)


def as_a_decorator(torch):
    fw, (x, t) = torch.autograd.forward_ad, start(torch)

    @fw.dual_level()
    def tangent_of(f):
        return fw.unpack_dual(f(fw.make_dual(x, t))).tangent

    return tangent_of(lambda x: x**2), tangent_of(lambda x: x**3)


PROGRAMS += [after_the_level, entered_and_left_by_hand, as_a_decorator]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_agrees_with_torch(function):
    given = agree(function)
    assert given.error is None


@pytest.mark.parametrize("function", ERRORS, ids=lambda function: function.__name__)
def test_refuses_as_torch_does(function):
    given = agree(function)
    assert given.error is not None


@pytest.mark.compiled
def test_a_tangent_is_compiled_once():
    fw = jaxvjp.autograd.forward_ad

    def tangent_of(value):
        with fw.dual_level():
            x = fw.make_dual(jaxvjp.tensor([1.0, value]), jaxvjp.tensor([1.0, 10.0]))
            return fw.unpack_dual(jaxvjp.sin(x) * x).tangent.tolist()

    tangent_of(2.0)
    before = counters.compiles, counters.dispatches
    tangent_of(3.0)
    assert (counters.compiles, counters.dispatches) == (before[0], before[1] + 1)


def test_a_custom_function_without_a_jvp_is_refused():
    fw = jaxvjp.autograd.forward_ad

    class Double(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    with fw.dual_level():
        assert not Double.apply(jaxvjp.ones(2)).requires_grad
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            Double.apply(fw.make_dual(jaxvjp.ones(2), jaxvjp.ones(2)))


def test_a_tangent_of_another_dtype_is_refused():
    fw = jaxvjp.autograd.forward_ad
    with fw.dual_level(), pytest.raises(RuntimeError, match="Convert it"):
        fw.make_dual(jaxvjp.ones(2), jaxvjp.ones(2, dtype=jaxvjp.float64))


def test_a_tangent_is_written_with_its_primal():
    def program(torch):
        ad = torch.autograd.forward_ad
        x, t, found = torch.zeros(2), torch.ones(2), []

        def look():
            found.extend([x.clone(), t.clone(), ad.unpack_dual(dual).tangent is t, t._version])

        with ad.dual_level():
            dual = ad.make_dual(x, t)
            for write in (lambda: dual.mul_(2), lambda: dual[0].mul_(5), lambda: dual.copy_(dual.exp()), dual.zero_):
                write()
                look()
        return found

    agree(program)


def test_rows_brought_down_keep_their_tangents():
    def program(torch):
        ad = torch.autograd.forward_ad
        weight, t = torch.full((3, 2), 4.0), torch.ones(3, 2)
        with ad.dual_level():
            rows = torch.nn.functional.embedding(torch.tensor([0, 1]), ad.make_dual(weight, t), max_norm=1.0)
            return list(ad.unpack_dual(rows)), weight, t

    agree(program)


def test_forward_mode_can_be_switched_off():
    def program(torch):
        ad = torch.autograd.forward_ad
        x, t = torch.tensor(3.0), torch.tensor(1.0)

        def function(x):
            with ad._set_fwd_grad_enabled(False):
                constant = x**2
            return x**2 - constant

        with ad.dual_level():
            with ad._set_fwd_grad_enabled(False):
                dual = ad.make_dual(x, t)
                inside = ad.unpack_dual(dual).tangent, ad._is_fwd_grad_enabled()
            outside = ad.unpack_dual(dual * 2).tangent, ad._is_fwd_grad_enabled()
        with ad._set_fwd_grad_enabled(False):
            again = torch.func.jvp(torch.sin, (x,), (t,))
        nested = torch.func.jvp(lambda x: torch.func.jvp(function, (x,), (t,))[1], (x,), (t,))
        return inside, outside, again, torch.func.jvp(function, (x,), (t,)), nested

    agree(program)


@pytest.mark.parametrize("name", ["out", "tangent with a tangent", "unpacked"])
def test_refused(name):
    def program(torch):
        ad = torch.autograd.forward_ad
        with ad.dual_level():
            dual = ad.make_dual(torch.zeros(2), torch.ones(2))
            {
                "out": lambda: torch.add(dual, dual, out=torch.zeros(2)),
                "tangent with a tangent": lambda: ad.make_dual(torch.ones(2), dual),
                "unpacked": lambda: ad.unpack_dual("s"),
            }[name]()

    assert agree(program).error is not None


def test_the_tangent_unpacked_is_the_one_given():
    def program(torch):
        ad = torch.autograd.forward_ad
        found = []
        with ad.dual_level():
            for requires_grad in (False, True):
                p = torch.ones(2, requires_grad=requires_grad)
                t = torch.ones(2, requires_grad=requires_grad)
                dual = ad.make_dual(p, t)
                primal, tangent = ad.unpack_dual(dual)
                found += [tangent is t, ad.unpack_dual(dual).tangent is t, primal is p, primal is dual]
        return found

    agree(program)


def test_tangents_lie_as_their_tensors():
    def program(torch):
        ad = torch.autograd.forward_ad
        found = []
        shapes = [lambda x: x, lambda x: x.conj(), lambda x: x.t(), lambda x: x[:1].expand(2, 2), lambda x: x.flatten()]
        with ad.dual_level():
            for one in shapes:
                for other in shapes:
                    primal, tangent = (each(torch.ones(2, 2, dtype=torch.complex64)) for each in (one, other))
                    if primal.shape == tangent.shape and one is not shapes[3]:
                        shown = ad.unpack_dual(ad.make_dual(primal, tangent)).tangent
                        found += [shown is tangent, shown.stride(), shown.is_conj(), shown]
            part, tangent = torch.arange(6.0)[1:5], torch.ones(4)
            shown = ad.unpack_dual(ad.make_dual(part, tangent)).tangent
            shown *= 2
            found += [shown.storage_offset(), shown.untyped_storage().nbytes(), tangent]
        return found

    agree(program)


def test_a_tangent_that_is_written():
    def program(torch):
        ad = torch.autograd.forward_ad
        with ad.dual_level():
            dual = ad.make_dual(torch.ones(2), torch.ones(2))
            dual *= 2
            primal, tangent = ad.unpack_dual(dual)
            primal *= 2
            tangent *= 3
            return [each.clone() for each in ad.unpack_dual(dual)]

    agree(program)


def test_views_in_inference_mode():
    def program(torch):
        ad = torch.autograd.forward_ad
        with torch.inference_mode():
            x = torch.ones(2)
            with ad.dual_level():
                dual = ad.make_dual(x, x.clone())
                dual += 1
            return x.clone(), [each._is_view() for each in (dual, x.view(2), x.detach())], x.view(2)._base

    agree(program)
