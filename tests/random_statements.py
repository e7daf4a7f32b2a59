"""Makes random programs as text, from a table of kinds of statements and a model of the variables.

`program_of(17)` is always the same program. To add a kind of statement, add a row to `KINDS`: its name, its frequency,
which variables it applies to, how it changes the model, and its texts. In a text `{x}` is a variable; the method of
`Holes` with that name fills other braces. With each text stands a function from x's shape to the shape of the assigned
variable, or to None if the text does not apply.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

Shape = tuple[int, ...]


class Statement(NamedTuple):
    kind: str
    text: str


@dataclass(frozen=True)
class Program:
    """Statements that run once, and statements that run in each round of a loop.

    To compare is to compute, so some programs are compared after each "statement", some after each "round" and some
    at the "end": what goes wrong only where nothing was computed yet shows in the latter.
    """

    before: tuple[Statement, ...]
    inside: tuple[Statement, ...]
    rounds: int = 3
    compared: str = "statement"

    def __str__(self) -> str:
        loop = f"for round in range({self.rounds}):  # compared: {self.compared}"
        inside = textwrap.indent("\n".join([each.text for each in self.inside] or ["pass"]), "    ")
        return "\n".join([*(each.text for each in self.before), loop, inside])


@dataclass(eq=False)
class Name:
    """What the model believes of a variable. It may be wrong: an invalid statement is welcome now and then."""

    text: str
    shape: Shape
    base: Name | None = None  # what it is a view of
    memory: object = field(default_factory=object)  # the same object for all that share memory
    leaf: bool = False
    freed: bool = False  # a backward pass freed its part of the graph
    filled: bool = False  # it has a .grad
    stays: bool = False  # it was made before the loop
    history: set[Name] = field(default_factory=set)  # what it was differentiably computed from, and itself

    @property
    def root(self) -> Name:
        return self if self.base is None else self.base.root


class Holes(dict[str, str]):
    """What stands in the braces of a text, drawn when asked for: `{x}` is the tensor that the statement is about."""

    def __init__(self, model: Model, x: Name | None) -> None:
        self.model, self.x, self.inputs = model, x, [x] if x else []
        if x:
            self.update(x=x.text, shape=str(x.shape))

    def __missing__(self, hole: str) -> str:
        self[hole] = text = getattr(self, hole)()
        return text

    def new(self) -> str:
        """A variable to assign to: mostly a new one."""
        old = [each.text for each in self.model.names.values() if not each.stays and each not in self.inputs]
        if old and self.model.random.random() < 0.15:
            return self.model.random.choice(old)
        return next(self.model.fresh)

    def number(self) -> str:
        return self.model.random.choice(("0.5", "2.", "-1."))

    def y(self) -> str:
        """An operand of x's shape."""
        return self.operand(self.x.shape)

    def row(self) -> str:
        """An operand of the shape of x[0]."""
        return self.operand(self.x.shape[1:])

    def operand(self, shape: Shape) -> str:
        names = [each for each in self.model.names.values() if each.shape in (shape, ())]
        if not names or self.model.random.random() < 0.3:
            return self.number()
        y = self.model.random.choice(names)
        self.inputs.append(y)
        # Tensors that partly share memory may not be written from one another: torch does not say what happens.
        apart = y.memory is not self.x.memory
        return self.model.random.choice(("{0}", "{0}", "0.5 * {0}")[0 if apart else 2 :]).format(y.text)

    def other(self) -> str:
        """A tensor to differentiate with respect to."""
        other = self.model.random.choice([each for each in self.model.names.values() if tracked(each)] or [self.x])
        return other.text

    def handle(self) -> str:
        self.model.handles += 1
        return f"handle{self.model.handles}"

    def a_handle(self) -> str:
        if not self.model.handles:
            raise NotThereError
        return f"handle{self.model.random.randint(1, self.model.handles)}"


class NotThereError(Exception):
    """There is nothing to put into a hole."""


def anything(x: Name) -> bool:
    return True


def tracked(x: Name) -> bool:
    return bool(x.root.history)


def a_leaf(x: Name) -> bool:
    return x.leaf and tracked(x)


def inner(x: Name) -> bool:
    return not x.leaf and tracked(x)


def unspent(x: Name) -> bool:
    return tracked(x) and not any(each.freed for each in x.root.history)


def writable(x: Name) -> bool:
    return not a_leaf(x.root)


def filled(x: Name) -> bool:
    return x.filled


def passing(x: Name) -> bool:
    return not x.stays


# After a statement. What is bound, `new`, has the shape that the table says.


def nothing(holes: Holes, shape: Shape) -> None:
    pass


def plain_leaf(holes: Holes, shape: Shape) -> None:
    holes.model.bind(Name(holes["new"], shape, leaf=True))


def tracked_leaf(holes: Holes, shape: Shape) -> None:
    new = holes.model.bind(Name(holes["new"], shape, leaf=True))
    new.history.add(new)


def computed(holes: Holes, shape: Shape) -> None:
    new = holes.model.bind(Name(holes["new"], shape))
    new.history.update(*(each.root.history for each in holes.inputs))
    if new.history:
        new.history.add(new)


def viewed(holes: Holes, shape: Shape) -> None:
    holes.model.bind(Name(holes["new"], shape, base=holes.x, memory=holes.x.memory))


def cut(holes: Holes, shape: Shape) -> None:
    holes.model.bind(Name(holes["new"], shape, memory=holes.x.memory, leaf=True))


def written(holes: Holes, shape: Shape) -> None:
    root = holes.x.root
    root.history = set().union(*(each.root.history for each in holes.inputs))
    if root.history:
        root.history.add(root)
        root.leaf = False


def reshaped(holes: Holes, shape: Shape) -> None:
    holes.x.shape = shape


def required(holes: Holes, shape: Shape) -> None:
    if not tracked(holes.x):
        holes.x.history, holes.x.leaf, holes.x.base = {holes.x}, True, None


def unrequired(holes: Holes, shape: Shape) -> None:
    holes.x.history, holes.x.leaf = set(), True


def pulled(holes: Holes, shape: Shape) -> None:
    for each in holes.x.root.history:
        each.filled |= each.leaf


def freed(holes: Holes, shape: Shape) -> None:
    pulled(holes, shape)
    for each in holes.x.root.history:
        each.freed = not each.leaf


def emptied(holes: Holes, shape: Shape) -> None:
    holes.x.filled = False


def deleted(holes: Holes, shape: Shape) -> None:
    holes.model.names.pop(holes.x.text)


Shapes = Callable[[Shape], Shape | None]


def given(*shape: int) -> Shapes:
    return lambda s: shape


def same_shape(s: Shape) -> Shape:
    return s


def some(s: Shape) -> Shape | None:
    return s or None


def rest(s: Shape) -> Shape | None:
    return s[1:] if s else None


def turned(s: Shape) -> Shape | None:
    return s[::-1] if len(s) == 2 else None


def each_of(texts: str, shapes: Shapes = same_shape) -> dict[str, Shapes]:
    """The same shape for each line of `texts`."""
    return dict.fromkeys(textwrap.dedent(texts).strip().splitlines(), shapes)


class Kind(NamedTuple):
    """A kind of statement: how often, about which x, in which words (and the shape they give), and what then holds."""

    name: str
    weight: int
    when: Callable[[Name], bool] | None
    after: Callable[[Holes, Shape], None]
    texts: dict[str, Shapes]


LEAVES = {
    "{new} = torch.tensor([[1., 2., 3.], [-1., 0.5, 2.]], requires_grad=True)": given(2, 3),
    "{new} = torch.tensor([1., -2., 0.5], requires_grad=True)": given(3),
    "{new} = torch.tensor(2., requires_grad=True)": given(),
    "{new} = torch.nn.Parameter(torch.tensor([[1., 2.], [-1., 0.5], [3., 1.]]))": given(3, 2),
    "{new} = torch.nn.Parameter(torch.arange(6.).view(2, 3).t())": given(3, 2),
    "{new} = torch.zeros(2, 3).view(3, 2).requires_grad_()": given(3, 2),
    "{new} = torch.arange(6.).reshape(3, 2).t().requires_grad_()": given(2, 3),
    "{new} = torch.ones(3).expand(2, 3).requires_grad_()": given(2, 3),
    "{new} = torch.arange(6.).chunk(2)[1].requires_grad_()": given(3),
    "{new} = torch.ones(1, 3).select(0, 0).requires_grad_()": given(3),
    "{new} = torch.arange(3.).unsqueeze(0).squeeze(0).requires_grad_()": given(3),
    "{new} = torch.arange(8.)[2:].requires_grad_()": given(6),
}
VIEWS = {
    "{new} = {x}.view(-1)": lambda s: (math.prod(s),),
    "{new} = {x}.flatten()": lambda s: (math.prod(s),),
    "{new} = {x}.view(3, 2)": lambda s: (3, 2) if math.prod(s) == 6 else None,
    "{new} = {x}.reshape(2, 3)": lambda s: (2, 3) if math.prod(s) == 6 else None,
    **each_of("{new} = {x}.t()\n{new} = {x}.transpose(0, 1)\n{new} = {x}.mT\n{new} = {x}.permute(1, 0)", turned),
    **each_of("{new} = {x}[:]\n{new} = {x}.view_as({x})", some),
    **each_of("{new} = {x}[0]\n{new} = {x}.select(0, -1)\n{new} = {x}.unbind(0)[1]\n{new} = {x}[1:][0]", rest),
    **each_of("{new} = {x}[1:]\n{new} = {x}.t().t()[1:]", lambda s: (s[0] - 1, *s[1:]) if s and s[0] > 1 else None),
    "{new} = {x}[..., 1:]": lambda s: (*s[:-1], s[-1] - 1) if s and s[-1] > 1 else None,
    "{new} = {x}[:, 1]": lambda s: s[:1] if len(s) == 2 and s[1] > 1 else None,
    "{new} = {x}.unsqueeze(0)": lambda s: (1, *s) if len(s) < 2 else None,
    "{new} = {x}.squeeze()": lambda s: tuple(n for n in s if n > 1),
    "{new} = {x}.expand(2, -1)": lambda s: (2, *s) if len(s) == 1 else None,
    **each_of("{new} = {x}.chunk(2)[0]", lambda s: (-(-s[0] // 2), *s[1:]) if s else None),
    **each_of("{new} = {x}.split(1)[0]\n{new} = {x}.narrow(0, 0, 1)", lambda s: (1, *s[1:]) if s else None),
    "{new} = {x}.diagonal()": lambda s: (min(s),) if len(s) == 2 else None,
    "{new} = {x}.as_strided((2,), (2,))": lambda s: (2,) if math.prod(s) > 2 else None,
}
RESHAPED = {
    **each_of("{x}.t_()\n{x}.transpose_(0, 1)\n{x}.swapaxes_(0, 1)\nwith torch.no_grad(): {x}.t_()", turned),
    "{x}.unsqueeze_(0)": lambda s: (1, *s) if len(s) < 2 else None,
    "{x}.squeeze_(0)": lambda s: s[1:] if s[:1] == (1,) else None,
}
KINDS = (
    Kind("plain", 1, None, plain_leaf, {
        **each_of("{new} = torch.full((2, 3), 2.)\n{new} = torch.ones(3, 2).t()", given(2, 3)),
        "{new} = torch.arange(3.)": given(3),
    }),
    Kind("leaf", 1, None, tracked_leaf, LEAVES),
    Kind("leaf of a tensor", 1, anything, tracked_leaf, each_of("""
        {new} = {x}.detach().requires_grad_()
        {new} = {x}.detach().clone().requires_grad_()
        {new} = torch.nn.Parameter({x}.data)
        {new} = {x}.data.view({shape}).requires_grad_()""")),
    Kind("arithmetic", 10, anything, computed, {
        **each_of("""
            {new} = {x} + {y}
            {new} = {x} * {y}
            {new} = 2. * {x} - {y}
            {new} = {x} * {x}
            {new} = {x}.clone()
            {new} = {x}.relu()
            {new} = {x}.tanh()"""),
        **each_of("{new} = ({x} * {y}).sum()\n{new} = {x}.sum()", given()),
        "{new} = {x}.sum(0)": rest,
    }),
    Kind("view", 9, anything, viewed, VIEWS),
    Kind("view without grad", 1, anything, viewed, each_of("with torch.no_grad(): {new} = {x}.t()", turned)),
    Kind("cut", 4, anything, cut, {
        **each_of("{new} = {x}.detach()\n{new} = {x}.data"),
        **each_of("{new} = {x}.data[0]\n{new} = {x}.detach()[0]", rest),
        **each_of("{new} = {x}.data.t()\n{new} = {x}.t().detach()", turned),
    }),
    Kind("write", 6, writable, written, each_of("""
        {x}.add_({y})
        {x}.mul_({y})
        {x}.copy_({y})
        {x}.fill_({number})
        {x}.zero_()
        {x}.clamp_(-2., 2.)
        {x}.masked_fill_({x} > 1., {number})""")),
    Kind("write of a part", 4, writable, written, each_of("""
        {x}[0] = {row}
        {x}[0].mul_({row})
        {x}[..., 1:] = {number}
        {x}.view(-1)[0] = {number}
        {x}.t()[0] = {number}
        {x}[{x} > 0.5] = {number}""", some)),
    Kind("write without grad", 3, anything, nothing, each_of("""
        with torch.no_grad(): {x}.add_({y})
        with torch.no_grad(): {x}.mul_({y})
        with torch.no_grad(): {x}.copy_({y})""") | each_of("with torch.no_grad(): {x}[0] = {row}", some)),
    Kind("write through data", 4, anything, nothing, each_of("""
        {x}.data.add_({y})
        {x}.data.mul_({number})
        {x}.data += {y}
        {x}.detach().mul_({number})
        {x}.detach().copy_({y})""") | each_of("{x}.data[0] = 7.\n{x}.detach()[0] = 7.\n{x}.data[0] = {row}", some)),
    Kind("step", 4, filled, nothing, each_of("""
        with torch.no_grad(): {x} -= 0.5 * {x}.grad
        with torch.no_grad(): {x}.sub_({x}.grad)
        {x}.data -= 0.5 * {x}.grad
        {x}.data.add_({x}.grad, alpha=-0.5)
        {x}.data = {x}.data - 0.5 * {x}.grad
        {x}.detach().sub_({x}.grad)""")),
    Kind("set data", 3, anything, reshaped, each_of("""
        {x}.data = {y}
        {x}.data = torch.ones({shape})
        {x}.data = {x}.detach().clone()
        {x}.data = {x}.data""") | each_of("{x}.data = torch.ones(3)", given(3))),
    Kind("set_", 1, anything, nothing, each_of("""
        {x}.set_(torch.ones({shape}))
        with torch.no_grad(): {x}.set_(torch.ones({shape}))
        {x}.data.set_({x}.data)""")),
    Kind("requires_grad_", 1, anything, required, each_of("{x}.requires_grad_()\n{x}.requires_grad = True")),
    Kind("requires no grad", 1, anything, unrequired, each_of("{x}.requires_grad_(False)\n{x}.detach_()")),
    Kind("deepcopy", 1, lambda x: x.leaf, tracked_leaf, each_of("{new} = copy.deepcopy({x})")),
    Kind("reshape in place", 2, writable, reshaped, RESHAPED),
    Kind("reshape of data", 1, anything, nothing, each_of("{x}.data.t_()\n{x}.detach().t_()", turned)),
    Kind("resize_", 1, anything, nothing, each_of(
        "{x}.data.resize_(3)\n{x}.detach().resize_(2)", lambda s: s if math.prod(s) == 6 else None)),
    Kind("hook", 5, tracked, nothing, each_of("""
        {x}.register_hook(lambda grad: note('{x}', grad))
        {x}.register_hook(lambda grad: grad * 2.)
        {x}.register_hook(lambda grad: grad.clamp(-1., 1.))
        {handle} = {x}.register_hook(lambda grad: note('{x}', grad))""")),
    Kind("hook of grad_fn", 1, inner, nothing, each_of(
        "{x}.grad_fn.register_hook(lambda to, of: ([note('{x}', grad) for grad in of if grad is not None], None)[1])")),
    Kind("hook after accumulation", 2, a_leaf, nothing, each_of("""
        {x}.register_post_accumulate_grad_hook(lambda leaf: note('{x}', leaf.grad))
        {x}.register_post_accumulate_grad_hook(lambda leaf: (leaf.data.sub_(leaf.grad), None)[1])
        {x}.register_post_accumulate_grad_hook(lambda leaf: setattr(leaf, 'grad', None))""")),
    Kind("hook removed", 1, anything, nothing, each_of("{a_handle}.remove()")),
    Kind("retain_grad", 2, inner, nothing, each_of("{x}.retain_grad()")),
    Kind("backward", 7, unspent, freed, each_of("""
        {x}.sum().backward()
        {x}.backward(torch.full({shape}, 2.))
        ({x} * {y}).sum().backward()
        ({x} * {x}).sum().backward()""")),
    Kind("backward of a kept graph", 3, unspent, pulled, each_of("""
        {x}.sum().backward(retain_graph=True)
        {x}.backward(torch.full({shape}, 2.), retain_graph=True)
        ({x} * {x}).sum().backward(create_graph=True)""")),
    Kind("autograd.grad", 3, unspent, nothing, each_of("""
        note('{other}', *torch.autograd.grad({x}.sum(), {other}, allow_unused=True, retain_graph=True))
        [note('{x}', grad) for grad in torch.autograd.grad({x}.sum(), [{x}, {other}], allow_unused=True)]
        {new}, = torch.autograd.grad(({x} * {x}).sum(), {other}, allow_unused=True, create_graph=True)""")),
    Kind("grad named", 1, filled, plain_leaf, each_of("{new} = {x}.grad")),
    Kind("grad written", 2, filled, nothing, each_of(
        "{x}.grad.zero_()\n{x}.grad.mul_(2.)\n{x}.grad = torch.ones({shape})")),
    Kind("grad emptied", 2, filled, emptied, each_of("{x}.grad = None")),
    Kind("del", 2, passing, deleted, each_of("del {x}")),
    Kind("collect", 1, None, nothing, each_of("gc.collect()")),
)  # fmt: skip


class Model:
    """The variables of a program that is being made."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.names: dict[str, Name] = {}
        self.handles = 0
        self.fresh = iter([*"abcdefghijklmnopqrstu", *(f"a{number}" for number in range(1000))])

    def bind(self, new: Name) -> Name:
        self.names[new.text] = new
        return new

    def statement(self, kind: Kind) -> Statement | None:
        """A statement of this kind, or None where it does not apply; one in twenty is made all the same."""
        x = None
        if kind.when is not None:
            wild = self.random.random() < 0.05
            if not (xs := [each for each in self.names.values() if wild or kind.when(each)]):
                return None
            x = self.random.choice(xs)
        texts = {text: shape for text, to in kind.texts.items() if (shape := to(x.shape if x else ())) is not None}
        if not texts:
            return None
        text = self.random.choice(list(texts))
        holes = Holes(self, x)
        try:
            statement = Statement(kind.name, text.format_map(holes))
        except NotThereError:
            return None
        kind.after(holes, texts[text])
        return statement

    def statements(self, kinds: list[Kind], number: int) -> Iterator[Statement]:
        """So many statements, or fewer where hardly any kind applies: then the program is short."""
        for kind in self.random.choices(kinds, [each.weight for each in kinds], k=100 * number):
            if number and (statement := self.statement(kind)):
                yield statement
                number -= 1


def program_of(seed: int, without: frozenset[str] = frozenset()) -> Program:
    """The program of this seed. Each leaves out some of the kinds of statements, so that others meet more often."""
    model = Model(seed)
    usual = {"arithmetic", "backward"}
    kinds = [each for each in KINDS if each.name in usual or model.random.random() < 0.6]
    kinds = [each for each in kinds if each.name not in without]
    start = [each for each in KINDS if each.name in ("leaf", "plain")]
    before = (*model.statements(start[1:], 1), *model.statements(start, model.random.randint(0, 2)))
    for each in model.names.values():
        each.stays = True
    inside = tuple(model.statements(kinds, model.random.randint(3, 14)))
    return Program(before, inside, 3, model.random.choice(("statement", "statement", "round", "end")))
