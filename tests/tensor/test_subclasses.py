"""Classes that inherit from `Tensor`, and `__torch_function__`."""

from __future__ import annotations

import copy
from typing import ClassVar

from oracle import agree, needs_torch

import jaxvjp


def test_results_are_of_the_class():
    def program(torch):
        class Named(torch.Tensor):
            pass

        x = torch.ones(2, 2, requires_grad=True).as_subclass(Named)
        made = [x + 1, 1 + x, torch.ones(2) + x, x.sum(), torch.add(x, x), x[0], x.detach(), x.data, x.T, x == x, -x]
        made += [torch.stack([x, x]), torch.zeros_like(x), *x.split(1), x.max(0).values, x.new_ones(2), Named([1, 2])]
        made += [Named(2, 3), Named(torch.ones(2)), torch.linalg.norm(x), torch.nn.functional.relu(x)]
        plain = [torch.ones(2) + 1, x.tolist(), x.shape, torch.nn.Parameter(torch.ones(2)) + 1]
        names = [type(each).__name__ for each in [*made, *plain]]
        return names, made[:3], repr(x.detach()), isinstance(x, torch.Tensor)

    assert agree(program).error is None


def test_a_class_may_have_slots():
    def program(torch):
        class Kept(torch.Tensor):
            __slots__ = ["kept"]

        class Weight(torch.nn.Parameter):
            __slots__ = ["kept"]

        base = torch.zeros(2)
        made = [Kept([1.0, 2.0]), Kept(base), base.as_subclass(Kept), Weight(torch.ones(2))]
        for number, each in enumerate(made):
            each.kept = number
        made[1].add_(1)
        made[2][0] = 5
        (made[3] * 2).sum().backward()
        names = [(type(each).__name__, each.kept) for each in made]
        return names, base, made[3].grad, made[3].is_leaf, type(copy.copy(made[0])).__name__

    assert agree(program).error is None


def test_gradients_go_through_it():
    def program(torch):
        class Named(torch.Tensor):
            pass

        x = torch.ones(2, requires_grad=True)
        (x.as_subclass(Named) * 3).sum().backward()
        return x.grad

    assert agree(program).error is None


def test_a_class_says_what_becomes_of_functions():
    def program(torch):
        called = []

        class Logging(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                called.append((func.__name__, [each.__name__ for each in types]))
                return super().__torch_function__(func, types, args, kwargs or {})

        class Doubling(Logging):
            def double_it(self):
                return self.mul(2)

            def sum(self):
                return "own"

        x, y = torch.ones(2).as_subclass(Logging), torch.ones(2).as_subclass(Doubling)
        made = [type(each).__name__ for each in (torch.add(x, y), x.mul(y), torch.cat([x, y]), y.double_it(), x.exp())]
        return made, called, y.sum(), x.shape

    assert agree(program).error is None


def test_nobody_wants_it():
    def program(torch):
        class Refusing(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        return torch.add(torch.ones(2).as_subclass(Refusing), 1)

    agree(program, raises=TypeError)


def test_who_has_one_to_ask():
    def program(torch):
        class Named(torch.Tensor):
            pass

        x = torch.ones(2).as_subclass(Named)
        asked = [torch.overrides.has_torch_function((each,)) for each in (x, torch.ones(2), 3)]
        with torch.DisableTorchFunctionSubclass():
            inside = [type(x + 1).__name__, torch.overrides.has_torch_function((x,))]
        return asked, inside, torch.overrides.is_tensor_like(x), torch.overrides.is_tensor_like(3)

    assert agree(program).error is None


def test_what_is_no_subclass():
    agree(lambda torch: torch.ones(2).as_subclass(int), raises=TypeError)
    agree(lambda torch: torch.ones(2).as_subclass(3), raises=TypeError)


@needs_torch
def test_tensors_of_real_torch_are_no_such_class():
    import torch

    class Mine(jaxvjp.Tensor):
        pass

    assert jaxvjp.from_torch(torch.ones(2)).tolist() == [1, 1]
    assert type(jaxvjp.from_torch(torch.ones(2)).as_subclass(Mine) + 1) is Mine


def test_functions_that_were_taken_before_ask_a_class_too():
    def program(torch):
        functional = torch.nn.functional
        taken = [torch.exp, torch.flatten, torch.einsum, functional.relu, functional.dropout, torch.linalg.norm]

        class Asked(torch.Tensor):
            asked: ClassVar = []

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                cls.asked.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})

        x = torch.ones(2, 2).as_subclass(Asked)
        calls = [torch.exp(x), torch.flatten(x), taken[2]("ij->i", x), taken[3](x), taken[4](x, 0.0), taken[5](x)]
        now = [torch.exp, torch.flatten, torch.einsum, functional.relu, functional.dropout, torch.linalg.norm]
        same = [before is after for before, after in zip(taken, now, strict=True)]
        return [type(each).__name__ for each in calls], same, [each in Asked.asked for each in taken]

    assert agree(program).error is None


def test_what_is_no_tensor_is_asked_as_well():
    def program(torch):
        handled = {}

        class Diagonal:
            def __init__(self, size, value):
                self.size, self.value = size, value

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return handled[func](*args, **(kwargs or {})) if func in handled else NotImplemented

        handled[torch.mean] = lambda x: x.value / x.size
        handled[torch.cat] = lambda several: len(several)
        handled[torch.flatten] = lambda x: [x.value] * x.size
        handled[torch.nn.functional.cross_entropy] = lambda x, y, **named: x.value - y.value
        x = Diagonal(5, 2)
        torch.cat([torch.ones(2), torch.ones(2)])
        told = [torch.mean(x), torch.cat([torch.ones(2), x]), torch.flatten(x)]
        told.append(torch.nn.functional.cross_entropy(x, x))
        for call in (lambda: torch.add(x, 1), lambda: torch.add(torch.ones(2), x), lambda: torch.exp(x)):
            try:
                call()
            except TypeError as error:
                told.append(str(error).partition("\n")[0])
        return told

    assert agree(program).error is None
