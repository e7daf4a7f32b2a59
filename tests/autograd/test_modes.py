"""Grad modes, inference mode and anomaly mode, under torch and under jaxvjp."""

from __future__ import annotations

import warnings

import pytest
from oracle import agreement_of, programs_of, raises

import jaxvjp


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


def setting_and_unsetting(torch):
    x = leaf(torch, 1.0)
    seen = []
    torch.set_grad_enabled(False)
    seen.append((x * 2).requires_grad)
    torch.set_grad_enabled(True)
    seen.append((x * 2).requires_grad)
    with torch.set_grad_enabled(False):
        seen.append((x * 2).requires_grad)
        with torch.set_grad_enabled(True):
            seen.append((x * 2).requires_grad)
    seen.append(torch.is_grad_enabled())
    return seen


def as_decorators(torch):
    x = leaf(torch, 1.0)

    @torch.set_grad_enabled(False)
    def without(x):
        return x * 2

    @torch.enable_grad()
    def with_gradients(x):
        return x * 2

    @torch.no_grad()
    def recursive(n):
        return [torch.is_grad_enabled()] if n == 0 else [torch.is_grad_enabled(), *recursive(n - 1)]

    after_decorating = torch.is_grad_enabled()
    with torch.no_grad():
        inside = with_gradients(x)
    return after_decorating, without(x).requires_grad, inside.requires_grad, recursive(2), torch.is_grad_enabled()


def one_mode_object_nests(torch):
    mode = torch.no_grad()
    seen = []
    with mode:
        with torch.enable_grad(), mode:
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
    return seen, torch.is_grad_enabled()


def restored_after_an_exception(torch):
    try:
        with torch.no_grad():
            raise KeyError
    except KeyError:
        return torch.is_grad_enabled()


def inference(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.inference_mode():
        y = x * 2
        inside = torch.is_inference_mode_enabled(), y.is_inference(), y.requires_grad
        y.add_(1)
        with torch.inference_mode(False):
            z = x * 3
    normal = y.clone()
    (x * normal).sum().backward()
    added = (x + y).requires_grad
    return inside, y, z.requires_grad, z.is_inference(), x.grad, added


@raises(RuntimeError)
def inference_saved_for_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.inference_mode():
        y = torch.ones(2)
    return x * y


def inference_read_where_no_gradient_is_recorded(torch):
    with torch.inference_mode():
        x = torch.arange(1.0, 4.0)
    w, told = torch.ones(3, requires_grad=True), []
    for call in (x.sin, x.log, lambda: x**2, x.prod, lambda: torch.atan2(x, x), lambda: w.detach() * x):
        told.append(call())
    with torch.no_grad():
        told += [w * x, (w * x).exp() / x]
    return told, [each.requires_grad for each in told]


def inference_read_by_a_transform(torch):
    w, func, said = torch.ones(3, requires_grad=True), torch.func, []
    with torch.inference_mode():
        read = torch.ones(3) * 2
    for attempt in (
        lambda: func.vjp(lambda x: x * read, read)[1](torch.ones(3)),
        lambda: func.grad(lambda x: (x * read).sum())(torch.ones(3)),
        lambda: func.vjp(lambda x: x * read, w)[1](torch.ones(3)),
        lambda: func.vjp(lambda x: x * (read * w), torch.ones(3))[1](torch.ones(3)),
    ):
        try:
            said.append(attempt())
        except RuntimeError as error:
            said.append(str(error).partition(".")[0])
    return said


@raises(RuntimeError)
def inference_changed_outside(torch):
    with torch.inference_mode():
        y = torch.ones(2)
    y.add_(1)


@raises(RuntimeError)
def inference_requiring_a_gradient(torch):
    with torch.inference_mode():
        y = torch.ones(2)
    y.requires_grad_()


@raises(RuntimeError)
def inference_has_no_version(torch):
    with torch.inference_mode():
        y = torch.ones(2)
    return y._version


@raises(RuntimeError)
def the_first_nan_is_named(torch):
    x = leaf(torch, 0.0, 4.0)
    with torch.autograd.detect_anomaly():
        y = (x.sqrt() * torch.tensor([0.0, 1.0])).sum()
        y.backward()


def nan_that_is_not_looked_for(torch):
    x = leaf(torch, 0.0, 4.0)
    with torch.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * torch.tensor([0.0, 1.0])).sum().backward()
    return x.grad


def what_anomaly_mode_warns_of(torch):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return NotNumber.apply(gradient)

    class NotNumber(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * float("nan")

    def doubled_twice():
        (gradient,) = torch.autograd.grad((Doubled.apply(x) * x).sum(), x, create_graph=True)
        gradient.sum().backward()

    def written():
        y = x + 1
        z = y**2
        y += 1
        z.sum().backward()

    def freed():
        y = (x * x).sum()
        y.backward()
        y.backward()

    x, told = leaf(torch, 1.0, 2.0), []
    y = NotNumber.apply(x).sum()
    for program in (doubled_twice, written, freed, y.backward):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.autograd.detect_anomaly():
                try:
                    program()
                except RuntimeError as error:
                    told.append(str(error)[:50])
        told.append([str(each.message).strip().partition(":")[0][:90] for each in caught])
    return told


def no_nan_no_error(torch):
    x = leaf(torch, 1.0, 4.0)
    with torch.autograd.set_detect_anomaly(True):
        (x.sqrt() * x.log() + x[0]).sum().backward()
    return x.grad, torch.is_anomaly_enabled()


def without_parentheses(torch):
    @torch.no_grad
    def off():
        return torch.is_grad_enabled()

    @torch.inference_mode
    def inferring():
        return torch.is_inference_mode_enabled()

    return off(), inferring(), off.__name__, torch.is_grad_enabled()


def generators_are_in_the_mode_while_they_run(torch):
    @torch.no_grad()
    def counting():
        seen = [torch.is_grad_enabled()]
        while len(seen) < 5:
            try:
                sent = yield torch.is_grad_enabled()
                seen.append((sent, torch.is_grad_enabled()))
            except ValueError as thrown:
                seen.append((str(thrown), torch.is_grad_enabled()))
            except GeneratorExit:
                closed.append((seen, torch.is_grad_enabled()))
                raise
        return seen

    closed = []
    closing, running = counting(), counting()
    given = [next(closing), torch.is_grad_enabled(), closing.send(3), closing.throw(ValueError("thrown"))]
    closing.close()
    next(running)
    for number in range(3):
        given.append(running.send(number))
    try:
        running.send(3)
    except StopIteration as end:
        given.append(end.value)
    return given, closed, torch.is_grad_enabled()


def a_decorated_class(torch):
    @torch.no_grad()
    class Module:
        def __init__(self):
            self.enabled = torch.is_grad_enabled()

        def later(self):
            return torch.is_grad_enabled()

    made = Module()
    return made.enabled, made.later()


@raises(TypeError)
def a_mode_that_is_no_bool(torch):
    torch.set_grad_enabled(None)


@raises(TypeError)
def an_anomaly_mode_that_is_no_bool(torch):
    torch.autograd.set_detect_anomaly(1)


def views_are_inference_tensors_as_their_bases_are(torch):
    normal = torch.ones(2, 3, requires_grad=True)
    with torch.inference_mode():
        made = torch.ones(2, 3)
        inside = [made.view(6), made[0], normal.view(6), normal.detach(), normal[0], normal * 2]
    outside = [made.view(3, 2), made[1], made.detach(), made + 1]
    return [(each.is_inference(), each.requires_grad) for each in inside + outside]


def normal_tensors_written_in_inference_mode(torch):
    leaf_, out = leaf(torch, 1.0, 2.0), torch.empty(2)
    y = leaf_ * 2
    with torch.inference_mode():
        y.add_(1)
        torch.add(y, y, out=out)
    return y, y.is_inference(), y._version, out, out.is_inference(), out._version


@raises(RuntimeError)
def an_inference_tensor_as_out(torch):
    with torch.inference_mode():
        out = torch.empty(2)
    torch.add(torch.ones(2), torch.ones(2), out=out)


@raises(RuntimeError)
def a_view_of_an_inference_tensor_written_outside(torch):
    with torch.inference_mode():
        made = torch.ones(2)
    made.view(2, 1).add_(1)


@raises(RuntimeError)
def a_view_taken_in_inference_mode_written_outside(torch):
    with torch.inference_mode():
        view = (y := leaf(torch, 1.0, 2.0) * 2)[:1]
    view.add_(1)
    return y


@raises(RuntimeError)
def a_view_taken_in_inference_mode_of_what_is_written_outside(torch):
    y = leaf(torch, 1.0, 2.0) * 2
    with torch.inference_mode():
        view = y[:1]
    y.add_(1)
    return view.grad_fn


test_agrees_with_torch = agreement_of(programs_of(globals()))


def test_the_forward_line_of_the_first_nan():
    x = leaf(jaxvjp, 0.0)
    root = x.sqrt()
    y = (root * 0).sum()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with (
            jaxvjp.autograd.detect_anomaly(),
            pytest.raises(RuntimeError, match=r"(?s)Sqrt.*test_modes\.py.*root = x"),
        ):
            y.backward()
    assert "root = x.sqrt()" in str(caught[1].message)
    assert x.grad is None


def test_decorating_a_class_warns():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        jaxvjp.no_grad()(type("Module", (), {}))
