"""A staged step notices every change of what it reads. The oracle is the same step, not staged, under torch.

A case makes a number that a step multiplies by, and a function that changes it later; or something that is refused.
"""

from __future__ import annotations

import argparse
import array
import collections
import configparser
import contextvars
import dataclasses
import enum
import functools
import io
import itertools
import math
import operator
import os
import queue
import random
import re
import sys
import threading
import time
import types
import weakref

import jax
import numpy as np
import pytest
from oracle import agreement_of, programs_of
from steps import staged

import jaxvjp
from jaxvjp.staging import surroundings

CALLS = 24
CHANGES = (3, 14, 20)
"""Before a step is hot, and afterwards."""


def followed(torch, number, change, *types_of_error):
    """The results of a step that multiplies by what `number()` gives, with changes in between."""
    step = staged(torch, lambda x: x * number())
    results = []
    for call in range(CALLS):
        if call in CHANGES:
            change(float(call))
        try:
            results.append(step(torch.tensor([1.0, 2.0])))
        except types_of_error as error:
            results.append(type(error).__name__)
    return results


class Plain:
    lr = 0.5


class Slots:
    __slots__ = ("lr", "other")


class Reading:
    def __getattr__(self, name):
        return self.__dict__["values"][name]


class Intercepting:
    def __getattribute__(self, name):
        return object.__getattribute__(self, "values")[name]


class Descriptor:
    def __get__(self, instance, owner):
        return instance.hidden * self.scale

    def __set__(self, instance, value):
        instance.hidden = value


class Described:
    lr = Descriptor()
    Descriptor.scale = 1.0

    @property
    def twice(self):
        return self.lr * 2


class Meta(type):
    def __getattr__(cls, name):
        return cls.values[name]


class Adding:
    def __radd__(self, other):
        return other + self.value

    def __eq__(self, other):
        raise AssertionError("no comparison is the user's")

    __hash__ = None


class Mapping(dict):
    def __getitem__(self, key):
        return dict.__getitem__(self, key) * self.scale


class Mode(enum.Enum):
    SLOW = 0.5
    FAST = 2.0


@dataclasses.dataclass
class Data:
    lr: float


def attributes(of):
    of.lr = 1.0
    return lambda value: setattr(of, "lr", value)


def attributes_of_objects(torch):
    results, name = [], "lr"
    for of in (argparse.Namespace(), types.SimpleNamespace(), Plain(), Slots(), Data(1.0), Plain):
        change = attributes(of)
        results.append(followed(torch, lambda of=of: of.lr, change))
        results.append(followed(torch, lambda of=of: getattr(of, name), change))
        results.append(followed(torch, lambda of=of: operator.attrgetter("l" + name[1])(of), change))
        if type(of) is not Slots and of is not Plain:
            results.append(followed(torch, lambda of=of: vars(of)["lr"], change))
            results.append(followed(torch, lambda of=of: sum(vars(of).values()), change))
    Plain.lr = 0.5
    return results


def attributes_that_come_and_go(torch):
    of, other = Plain(), types.SimpleNamespace()

    def come(value):
        of.lr = other.lr = value

    results = [followed(torch, lambda: of.lr, come), followed(torch, lambda: getattr(other, "lr", 3.0), come)]
    other, tried = Plain(), Plain()
    results.append(followed(torch, lambda: 2.0 if hasattr(other, "more") else 1.0, lambda _: setattr(other, "more", 1)))

    def trying():
        try:
            return tried.more
        except AttributeError:
            return 1.0

    return results, followed(torch, trying, lambda value: setattr(tried, "more", value))


def containers(torch):
    cases = [
        ([1.0], 0),
        ([1.0] * 2000, 1500),
        ({"lr": 1.0}, "lr"),
        (collections.deque([1.0]), 0),
        (collections.OrderedDict(lr=1.0), "lr"),
        (collections.defaultdict(float, lr=1.0), "lr"),
        (collections.UserDict(lr=1.0), "lr"),
        (collections.ChainMap({"lr": 1.0}), "lr"),
        (collections.UserList([1.0]), 0),
        (collections.Counter(lr=1), "lr"),
        (array.array("d", [1.0]), 0),
        (np.ones(3), 1),
        (bytearray(b"123"), 1),
        (memoryview(bytearray(b"123")), 1),
    ]
    results = []
    for of, key in cases:
        change = (lambda value, of=of: operator.setitem(of, 1, int(value))) if key == 1 else None
        change = change or (lambda value, of=of, key=key: operator.setitem(of, key, value))
        results.append(followed(torch, lambda of=of, key=key: float(of[key]), change))
    mapping = Mapping(lr=1.0)
    mapping.scale = 1.0
    results.append(followed(torch, lambda: mapping["lr"], lambda value: setattr(mapping, "scale", value)))
    return results, followed(torch, lambda: mapping["lr"], lambda value: mapping.update(lr=value))


def what_containers_hold(torch):
    few, keys, numbers, order = [[1.0]], {"a": 1.0, "b": 2.0}, {1.0}, {"a": 0.5, "b": 3.0}
    odd = Adding()
    odd.value = 1.0
    queue_of = collections.deque([1.0], 3)
    results = [
        followed(torch, lambda: len(few[0]), lambda value: few[0].append(value)),
        followed(torch, lambda: sum(numbers), numbers.add),
        followed(torch, lambda: 2.0 if 14.0 in numbers else 1.0, lambda value: numbers.clear() or numbers.add(value)),
        followed(torch, lambda: sum(queue_of), queue_of.append),
        followed(torch, lambda: next(iter(order.values())), lambda _: order.update(a=order.pop("a"))),
        followed(torch, lambda: len(keys) + ("c" in keys), lambda value: keys.update({f"{value}": 1.0, "c": 2.0})),
        followed(torch, lambda: 1.0 + odd, lambda value: setattr(odd, "value", value)),
    ]
    held, default = [1.0], [1.0]

    def defaults(values=default):
        return values[0]

    part = functools.partial(sum, held)
    results += [
        followed(torch, part, lambda value: held.append(value)),
        followed(torch, defaults, lambda value: default.insert(0, value)),
        followed(torch, lambda: defaults(), lambda value: setattr(defaults, "__defaults__", ([value],))),
    ]
    many = [Plain() for _ in range(1200)]
    return results, followed(torch, lambda: many[1100].lr, lambda value: setattr(many[1100], "lr", value))


def code_of_the_users(torch):
    results = []
    reading, intercepting, described = Reading(), Intercepting(), Described()
    reading.values, described.hidden = {"lr": 1.0}, 1.0
    object.__setattr__(intercepting, "values", {"lr": 1.0})
    values = object.__getattribute__(intercepting, "values")
    has = Meta("Has", (), {"values": {"lr": 1.0}})
    for number, change in (
        (lambda: reading.lr, lambda value: reading.values.update(lr=value)),
        (lambda: reading.lr, lambda value: setattr(reading, "lr", value)),
        (lambda: intercepting.lr, lambda value: values.update(lr=value)),
        (lambda: described.lr, lambda value: setattr(described, "lr", value)),
        (lambda: described.twice, lambda value: setattr(described, "hidden", value)),
        (lambda: described.twice, lambda value: setattr(Descriptor, "scale", value)),
        (lambda: has.lr, lambda value: has.values.update(lr=value)),
    ):
        results.append(followed(torch, number, change))
    Descriptor.scale = 1.0
    return results


def methods_that_are_replaced(torch):
    class Model:
        def number(self):
            return 1.0

        @classmethod
        def of_class(cls):
            return cls.rate

        @staticmethod
        def static():
            return 1.0

        rate = 1.0

        def __len__(self):
            return 1

        @property
        def read(self):
            return 1.0

    class Derived(Model):
        pass

    model, other, derived = Model(), Model(), Derived()
    return [
        followed(torch, lambda: model.number(), lambda value: setattr(model, "number", lambda: value)),
        followed(torch, lambda: other.number(), lambda value: setattr(Model, "number", lambda self: value)),
        followed(torch, lambda: derived.number(), lambda value: setattr(Derived, "number", lambda self: value)),
        followed(torch, lambda: other.of_class(), lambda value: setattr(Model, "rate", value)),
        followed(torch, lambda: other.static(), lambda value: setattr(Model, "static", staticmethod(lambda: value))),
        followed(torch, lambda: len(other), lambda value: setattr(Model, "__len__", lambda self: int(value))),
        followed(torch, lambda: derived.read, lambda value: setattr(Derived, "read", property(lambda self: value))),
        followed(torch, lambda: other.read, lambda value: setattr(other, "__class__", type("A", (), {"read": value}))),
    ]


NUMBER = 1.0
MODE = Mode.SLOW
VARIABLE = contextvars.ContextVar("VARIABLE", default=1.0)
CONFIG = configparser.ConfigParser()


def set_global(name, value):
    globals()[name] = value


def modules_and_variables(torch):
    set_global("NUMBER", 1.0)
    set_global("MODE", Mode.SLOW)
    CONFIG["a"] = {"lr": "1.0"}
    VARIABLE.set(1.0)
    config = types.ModuleType("config")
    config.lr = 1.0
    sys.modules["config_of_a_test"] = config
    os.environ["A_RATE"] = "1.0"

    def importing():
        from config_of_a_test import lr

        return lr

    def set_environment(value):
        os.environ["A_RATE"] = str(value)

    try:
        return [
            followed(torch, lambda: NUMBER, lambda value: set_global("NUMBER", value)),
            followed(torch, lambda: eval("NUMBER"), lambda value: set_global("NUMBER", value)),
            followed(
                torch, lambda: MODE.value, lambda value: set_global("MODE", Mode.FAST if value < 20 else Mode.SLOW)
            ),
            followed(torch, lambda: config.lr, lambda value: setattr(config, "lr", value)),
            followed(torch, importing, lambda value: setattr(config, "lr", value)),
            followed(torch, lambda: math.number, lambda value: setattr(math, "number", value), AttributeError),
            followed(torch, lambda: max(1.0, 2.0), lambda value: set_global("max", lambda *_: value)),
            followed(torch, lambda: float(os.environ["A_RATE"]), set_environment),
            followed(torch, lambda: float(os.getenv("A_RATE")), set_environment),
            followed(torch, lambda: VARIABLE.get(), VARIABLE.set),
            followed(torch, lambda: CONFIG.getfloat("a", "lr"), lambda value: CONFIG.set("a", "lr", str(value))),
        ]
    finally:
        globals().pop("max", None)
        vars(math).pop("number", None)
        os.environ.pop("A_RATE")


def functions_that_nothing_names(torch):
    """A hook, and the methods of a `Function`."""
    rate, w = [1.0], torch.tensor([1.0, 2.0], requires_grad=True)
    w.register_hook(lambda gradient: gradient * rate[0])

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * rate[0]

        @staticmethod
        def backward(ctx, gradient):
            return gradient * SETTINGS["backward"]

    def step():
        w.grad = None
        y = Scaled.apply(w)
        y.sum().backward()
        return y.detach(), w.grad

    step, results = staged(torch, step), []
    for call in range(CALLS):
        SETTINGS["backward"] = 1.0
        if call in CHANGES:
            rate[0] = float(call)
        if call > 18:
            SETTINGS["backward"] = 2.0
        results.append([each.clone() for each in step()])
    return results


SETTINGS = {}


def tensors_and_what_is_asked_of_them(torch):
    def function():
        return torch.tanh

    act, weights, frozen = torch.tanh, {"a": torch.ones(2)}, torch.ones(2)
    marked = torch.ones(2)
    marked.lr = 1.0

    def step(x):
        y = act(x) * weights["a"] * marked.lr
        return y * 2 if frozen.requires_grad else y

    step, results = staged(torch, step), []
    for call in range(CALLS):
        if call in CHANGES:
            act = torch.sin if act is torch.tanh else torch.tanh
        if call in (4, 15, 21):
            weights["a"] = torch.ones(2) * call
        if call in (5, 16):
            frozen.requires_grad_(call == 5)
        if call in (6, 17):
            marked.lr += 1
        if call == 18:
            marked = torch.ones(2)
            marked.lr = 7.0
        results.append(step(torch.tensor([1.0, 2.0])))
    return results


test_agrees_with_torch = agreement_of(programs_of(globals()))

LOCK, RANDOM, QUEUE, TEXT = threading.Lock(), random.Random(0), queue.Queue(), io.StringIO("1.0")
SIMPLE, WEAK, GENERATOR = queue.SimpleQueue(), weakref.ref(LOCK), np.random.default_rng(0)
LOCAL, COUNTER, PARTIAL, LARGE_BYTES = (
    threading.local(),
    itertools.count(),
    functools.partial(time.time),
    bytearray(1 << 17),
)


@functools.lru_cache
def cached():
    return NUMBER


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (lambda: time.time(), "time.time"),
        (lambda: PARTIAL(), "time.time"),
        (lambda: getattr(time, "ti" + "me")(), "time.time"),
        (lambda: sys.modules["ti" + "me"].monotonic(), "more than"),
        (lambda: random.random(), "random.Random"),
        (lambda: random.choice([1.0]), "random.Random"),
        (lambda: RANDOM.random(), "random.Random"),
        (lambda: random.Random().random(), "Random"),
        (lambda: np.random.rand(), "RandomState"),  # noqa: NPY002
        (lambda: np.random.default_rng().random(), "numpy.random"),
        (lambda: GENERATOR.random(), "Generator"),
        (lambda: float(input()), "input"),
        (lambda: float(open("rate").read()), "open"),  # noqa: SIM115
        (lambda: QUEUE.qsize(), "lock"),
        (lambda: SIMPLE.qsize(), "SimpleQueue"),
        (lambda: TEXT.tell(), "StringIO"),
        (lambda: WEAK() is None, "weakref"),
        (lambda: next(COUNTER), "an iterator"),
        (lambda: LOCAL.rate, "_local"),
        (lambda: LOCK.locked(), "lock"),
        (lambda: cached(), "lru_cache"),
        (lambda: len(LARGE_BYTES), "bytearray"),
        (lambda: globals()["NUMBER"], "globals"),
        (lambda: __import__("datetime").datetime.now().second, "now"),
        (lambda: os.getpid(), "getpid"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_its_line(number, what):
    step = jaxvjp.jit(lambda x: x * number())
    with pytest.raises(jaxvjp.UnstageableError, match=re.escape(what)) as caught:
        step(jaxvjp.ones(2))
    assert "\nThat is line" in str(caught.value)
    assert "test_staging_surroundings.py" in str(caught.value)


def test_what_the_code_does_not_name_is_not_looked_at():
    class Trainer:
        def __init__(self):
            self.start, self.batches, self.losses = time.time(), iter([1.0]), []
            self.random, self.rate = random.Random(), 0.5

        def fit(self):
            return time.time() - self.start

        @jaxvjp.jit
        def step(self, x):
            return x * self.rate

    trainer = Trainer()
    for _ in range(CALLS):
        trainer.losses.append(trainer.step(jaxvjp.ones(2)).tolist())
        compiles = jaxvjp.counters.compiles
    trainer.losses.append(trainer.step(jaxvjp.ones(2)).tolist())
    assert jaxvjp.counters.compiles == compiles
    assert sum(len(each) for each in Trainer.__dict__["step"]._variants.values()) == 1


def test_an_argument_with_an_attribute_is_refused():
    marked = jaxvjp.ones(2)
    marked.lr = 2.0
    with pytest.raises(jaxvjp.UnstageableError, match="lr"):
        jaxvjp.jit(lambda x: x * x.lr)(marked)


def test_code_that_runs_many_times_is_looked_through_once(monkeypatch):
    looked, look = [], surroundings.Surroundings._runs

    def runs(self, frame):
        looked.append(frame.f_code.co_name)
        look(self, frame)

    monkeypatch.setattr(surroundings.Surroundings, "_runs", runs)

    def double(x):
        return x * 2

    def step(x):
        for _ in range(5):
            x = double(x)
        return x

    jaxvjp.jit(step)(jaxvjp.ones(2))
    assert sorted(each for each in looked if each in ("double", "step")) == ["double", "step"]


def test_the_profiler_of_before_goes_on():
    told = []

    def profile(frame, event, _):
        told.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        jaxvjp.jit(lambda x: x * 2)(jaxvjp.ones(2))
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert told


class FinderOfALibrary:
    """Asked for each module that is imported; absl, which flax imports, has one like it."""

    def find_spec(self, name, path, target=None):
        return None if name in sys.modules else ITS_MODULES.get(name)


ITS_MODULES = {"of nobody": breakpoint}


def test_a_step_may_be_the_first_to_use_a_function_or_a_layer(monkeypatch):
    for module, name in ((jaxvjp.nn.utils, "clip_grad_norm_"), (jaxvjp.nn.modules, "Tanh"), (jaxvjp.nn, "Tanh")):
        getattr(module, name)
        monkeypatch.delitem(vars(module), name, raising=False)  # as in a new process: `__getattr__` will import it
    monkeypatch.delitem(vars(jaxvjp.nn), "utils")
    monkeypatch.delitem(sys.modules, "jaxvjp.nn.utils")
    monkeypatch.setattr(sys, "meta_path", [FinderOfALibrary(), *sys.meta_path])
    w = jaxvjp.ones(2, requires_grad=True)

    @jaxvjp.jit
    def step():
        (jaxvjp.nn.Tanh()(w) ** 2).sum().backward()
        norm = jaxvjp.nn.utils.clip_grad_norm_([w], 0.1)
        w.grad = None
        return norm

    assert len({step().item() for _ in range(CALLS)}) == 1


def test_functions_of_jax_in_a_step_never_change():
    rms = jaxvjp.wrap(lambda x: jax.lax.rsqrt(x) + jax.numpy.tanh(x))
    net = jaxvjp.nn.Linear(3, 2)

    def step(x):
        return net(x).sum() + rms(x).sum()

    x = jaxvjp.ones(2, 3)
    np.testing.assert_allclose(jaxvjp.jit(step)(x).item(), step(x).item(), rtol=1e-6)
