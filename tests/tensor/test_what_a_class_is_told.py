"""The functions and attributes that a class with `__torch_function__` is told of, and operands that are no tensors."""

import operator
import pickle
from copy import deepcopy
from typing import ClassVar

import pytest
from oracle import agree

OPERATORS = "add sub mul truediv floordiv mod pow matmul lt le gt ge eq ne iadd isub imul itruediv ifloordiv imod ipow"


def telling(torch):
    """A class that notes what it is told of."""

    class Telling(torch.Tensor):
        told: ClassVar = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.told.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Telling


@pytest.mark.parametrize("name", OPERATORS.split())
def test_operators(name):
    def program(torch):
        kind, given = telling(torch), []
        for other in [torch.full((2,), 2.0), 2][: 1 if name == "matmul" else 2]:
            x = torch.ones(2).as_subclass(kind)
            kind.told.clear()
            found = getattr(operator, name)(x, other)
            given += [list(kind.told), type(found).__name__, found.tolist()]
        return given

    assert agree(program).error is None


def test_reflected_operators():
    def program(torch):
        kind, given = telling(torch), []
        for name in ("add", "sub", "mul", "truediv", "pow", "lt"):
            kind.told.clear()
            found = getattr(operator, name)(2, torch.full((2,), 4.0).as_subclass(kind))
            given += [list(kind.told)[:1], found.tolist()]
        return given

    assert agree(program).error is None


def test_special_methods():
    def program(torch):
        kind, given = telling(torch), []
        calls = {
            "getitem": lambda x: x[0],
            "setitem": lambda x: operator.setitem(x, 0, 1.0),
            "len": len,
            "bool": lambda x: bool(x.sum()),
            "reversed": reversed,
            "clone": lambda x: x.clone(),
            "select": lambda x: x.select(0, 0),
            "where": lambda x: torch.where(torch.tensor([True, False]), x, x),
            "index_put": lambda x: x.index_put((torch.tensor([0]),), torch.tensor([2.0])),
            "repeat": lambda x: x.repeat_interleave(2),
            "none": lambda x: x == None,  # noqa: E711
            "text": lambda x: x == "a",
        }
        for name, call in calls.items():
            x = torch.ones(2).as_subclass(kind)
            kind.told.clear()
            call(x)
            given.append((name, list(kind.told)))
        return given

    assert agree(program).error is None


def test_attributes_that_are_set():
    def program(torch):
        kind, given = telling(torch), []
        x = torch.ones(2).as_subclass(kind)
        for name, value in (("requires_grad", True), ("data", torch.full((2,), 3.0))):
            kind.told.clear()
            setattr(x, name, value)
            given.append((name, list(kind.told)))
        kind.told.clear()
        x.backward(torch.ones(2))
        return given, list(kind.told), x.tolist(), x.grad.tolist()

    assert agree(program).error is None


def beside(torch, wants=True):
    """A class of no tensors that takes any function."""

    class Beside:
        def __init__(self, value):
            self.value = value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if not wants:
                return NotImplemented
            args = [each.value if isinstance(each, cls) else each for each in args]
            named = {key: each.value if isinstance(each, cls) else each for key, each in (kwargs or {}).items()}
            return cls((func.__name__, func(*args, **named)))

    return Beside


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "pow", "matmul", "lt", "eq", "mod"])
def test_operands_that_are_no_tensors(name):
    def program(torch):
        other = beside(torch)(torch.full((2,), 2.0))
        said, value = getattr(operator, name)(torch.tensor([3.0, 5.0]), other).value
        return said.strip("_"), value

    assert agree(program).error is None


def test_arguments_that_are_no_tensors():
    def program(torch):
        x, kind = torch.tensor([3.0, 5.0]), beside(torch)
        other = kind(torch.full((2,), 2.0))
        calls = [x.mul(other), x.add(other=other), x.lerp(other, 0.5), x.dot(other)]
        return [each.value for each in calls]

    assert agree(program).error is None


def test_an_operand_that_wants_nothing():
    def program(torch):
        return torch.ones(1) + beside(torch, wants=False)(1)

    agree(program, raises=TypeError)


def test_formats_and_layouts_are_copied_as_themselves():
    def program(torch):
        names = ["strided", "sparse_coo", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]
        given = [getattr(torch, each) for each in names]
        return [
            [deepcopy(each) is each for each in given],
            [pickle.loads(pickle.dumps(each)) is each for each in given],
        ]

    assert agree(program).error is None
