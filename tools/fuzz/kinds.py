"""The kinds of statements that random programs are made of: one row of `KINDS` each.

A row has a name, how often the kind is drawn, which variables x it applies to, what holds afterwards, and its texts. In
a text `{x}` is a variable; the method of `model.Holes` with that name fills other braces. With each text stands a
function from x's shape to the shape of the variable that is assigned to, or to None where the text does not apply.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from typing import NamedTuple

from tools.fuzz.model import Holes, Name, Shape


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
    new.history.update(*(operand.root.history for operand in holes.inputs))
    if new.history:
        new.history.add(new)


def viewed(holes: Holes, shape: Shape) -> None:
    holes.model.bind(Name(holes["new"], shape, base=holes.x, memory=holes.x.memory))


def cut(holes: Holes, shape: Shape) -> None:
    holes.model.bind(Name(holes["new"], shape, memory=holes.x.memory, leaf=True))


def written(holes: Holes, shape: Shape) -> None:
    root = holes.x.root
    root.history = set().union(*(operand.root.history for operand in holes.inputs))
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
    Kind("NumPy", 3, anything, nothing, each_of("""
        {array} = {x}.detach().numpy()
        {an_array} += 1.
        {an_array}[...] = {number}
        {x}.data.numpy()[...] = {number}
        {x}.detach().numpy()[..., 1:] = {number}
        note('{x}', {x}); {x}.detach().numpy()[...] = {number}""", some)),
    Kind("array of NumPy", 1, None, plain_leaf, each_of("{new} = loaded((2, 3))", given(2, 3))),
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
    Kind("hook before a step", 1, inner, nothing, each_of("""
        {x}.grad_fn.register_prehook(lambda of: ([note('{x}', grad) for grad in of if grad is not None], None)[1])
        {handle} = {x}.grad_fn.register_prehook(lambda of: tuple(g if g is None else g * 2. for g in of))""")),
    Kind("hook of several", 1, tracked, nothing, each_of("""
        graph.register_multi_grad_hook(({x}, {other}), lambda all: [note('{x}', grad) for grad in all])
        {handle} = graph.register_multi_grad_hook([{x}], lambda grad: note('{x}', grad), mode='any')""")),
    Kind("hooks of what is saved", 2, anything, computed, each_of("""
        with graph.saved_tensors_hooks(lambda x: x.detach().clone(), lambda x: x): {new} = {x} * {y}
        with graph.saved_tensors_hooks(lambda x: (note('{x}', x), x.clone())[1], lambda x: x): {new} = {x}.tanh()
        with graph.saved_tensors_hooks(lambda x: x.tolist(), torch.tensor): {new} = {x} * {x}""")),
    Kind("hook that writes", 2, tracked, computed, each_of("""
        {new} = hooked({x}, lambda grad: (grad.mul_(2.), None)[1])
        {new} = hooked({x}, lambda grad: grad.__setitem__(..., 0.5))
        {new} = hooked({x}, lambda grad: (grad.data.clamp_(-1., 1.), None)[1])
        {new} = hooked({x}, lambda grad: grad.detach().numpy().fill(3.))
        {new} = hooked({x}, lambda grad: (grad.add_(1.), note('{x}', grad), grad * 2.)[2])""")),
    Kind("hook removed", 6, anything, nothing, each_of("{a_handle}.remove()")),
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
    Kind("custom Function", 2, anything, computed, each_of("""
        {new} = squared({x})
        {new} = squared({x} * {y})
        {new} = torch.stack(both({x})).sum(0)""")),
    Kind("written by a Function", 1, writable, written, each_of("doubled({x})")),
    Kind("checkpoint", 1, anything, computed, each_of("""
        {new} = checkpoint(lambda x: x.tanh() * x, {x}, use_reentrant=False)
        {new} = checkpoint(lambda x, y: x * y, {x}, {x}, use_reentrant=True)""")),
    Kind("transform", 2, anything, computed, {
        **each_of("""
            {new} = torch.func.grad(lambda x: (x * x).sum())({x})
            {new} = torch.func.jvp(torch.tanh, ({x},), ({x},))[1]
            {new} = torch.func.vjp(lambda x: x * {x}, {x})[1](torch.ones({shape}))[0]"""),
        **each_of(
            "{new} = torch.func.vmap(lambda row: row * 2. + row.sum())({x})", lambda s: s if s and s[0] else None),
        "{new} = torch.func.jacrev(torch.tanh)({x}).sum(-1)": lambda s: s if len(s) == 1 else None,
        "{new} = torch.func.hessian(lambda x: (x * x * x).sum())({x})": lambda s: s + s if len(s) == 1 else None,
    }),
    Kind("random numbers", 1, anything, plain_leaf, each_of("""
        torch.manual_seed(3); {new} = torch.rand({shape})
        torch.manual_seed(4); {new} = torch.randn_like({x})
        torch.manual_seed(5); {new} = torch.randint(-3, 4, {shape})""")),
    Kind("dropout", 1, anything, computed, each_of("""
        torch.manual_seed(6); {new} = torch.nn.functional.dropout({x}, 0.5)
        torch.manual_seed(7); {new} = {x} * torch.bernoulli(torch.full({shape}, 0.5))""")),
    Kind("dtype", 2, anything, computed, each_of("""
        {new} = {x}.double()
        {new} = {x}.to(torch.float64) * {y}
        {new} = {x}.to({x}.dtype)
        {new} = {x}.bfloat16().float()""")),
    Kind("no gradient", 1, anything, plain_leaf, each_of("""
        {new} = {x}.long()
        {new} = {x} > 0.
        {new} = {x}.sign().detach()
        {new} = torch.zeros_like({x})""") | each_of("{new} = {x}.argmax()", lambda s: () if math.prod(s) else None)),
    Kind("empty", 1, anything, viewed, each_of(
        "{new} = {x}[:0]\n{new} = {x}[3:]", lambda s: (0, *s[1:]) if s else None)),
    Kind("keywords", 3, anything, computed, {
        **each_of("""
            {new} = torch.add(input={x}, other={y})
            {new} = torch.mul(input={x}, other={x})
            {new} = torch.sub(input={x}, other={y}, alpha=2.)
            {new} = torch.clamp(input={x}, min=-1., max=1.)
            {new} = torch.where(condition={x} > 0., input={x}, other={y})
            {new} = torch.nn.functional.relu(input={x}, inplace=False)"""),
        **each_of("""
            {new} = torch.softmax(input={x}, dim=0)
            {new} = torch.cumsum(input={x}, dim=0)
            {new} = torch.flip(input={x}, dims=(0,))""", some),
        "{new} = torch.mean(input={x}, dim=0)": rest,
        "{new} = torch.sum(input={x})": given(),
    }),
    Kind("views by keywords", 1, anything, viewed, {
        **each_of("{new} = torch.transpose(input={x}, dim0=0, dim1=1)", turned),
        **each_of("{new} = torch.select(input={x}, dim=0, index=0)\n{new} = torch.unbind(input={x}, dim=0)[0]", rest),
        **each_of("""
            {new} = torch.narrow(input={x}, dim=0, start=0, length=1)
            {new} = torch.split(tensor={x}, split_size_or_sections=1, dim=0)[0]
            """, lambda s: (1, *s[1:]) if s else None),
    }),
    Kind("in place by keywords", 1, writable, written, each_of("""
        torch.relu_(input={x})
        torch.clamp_(input={x}, min=-1., max=1.)""")),
    Kind("control flow", 2, anything, computed, each_of("""
        {new} = {x} * 2. if {x}.sum() > 0. else {x} - 1.
        {new} = sum([each.sum() * {x} for each in {x}.view(-1)])
        {new} = {x} if {x}.requires_grad else {x} + 1.""")),
    Kind("index", 3, anything, computed, {
        **each_of("""
            {new} = {x}[[0, -1]]
            {new} = {x}.index_select(0, torch.tensor([0, 0]))""", lambda s: (2, *s[1:]) if s else None),
        **each_of("""
            {new} = torch.where({x} > 0.5, {x}, {y})
            {new} = {x}.masked_fill({x} > 1., 0.)
            {new} = {x}.roll(1, 0)
            {new} = {x}.flip(0)
            {new} = {x}.sort(0).values
            {new} = {x}.cumsum(0)
            {new} = {x}.gather(0, torch.zeros({shape}, dtype=torch.long))""", some),
        **each_of("{new} = torch.cat([{x}, {x}])", lambda s: (2 * s[0], *s[1:]) if s else None),
        "{new} = torch.stack([{x}, {x}])": lambda s: (2, *s) if len(s) < 2 else None,
    }),
    Kind("function", 4, anything, computed, {
        **each_of("""
            {new} = {x}.sin()
            {new} = {x}.sigmoid() - {y}
            {new} = torch.nn.functional.softplus({x})
            {new} = {x}.abs() / 2.
            {new} = torch.maximum({x}, torch.tensor(0.5))
            {new} = {x} / ({x}.detach().abs() + 1.)
            {new} = torch.lerp({x}, torch.ones({shape}), 0.25)
            {new} = {x}.addcmul({x}, {x}, value=0.5)"""),
        **each_of("{new} = {x}.softmax(0)\n{new} = {x} - {x}.mean(0)\n{new} = {x}.log_softmax(-1)", some),
        **each_of("{new} = {x}.amax(0)\n{new} = {x}.max(0).values\n{new} = {x}.prod(0)", rest),
        **each_of("""
            {new} = {x}.mean()
            {new} = {x}.norm()
            {new} = ({x} ** 2).sum()
            {new} = {x}.logsumexp(0).sum()""", given()),
        "{new} = {x} @ {x}.t()": lambda s: (s[0], s[0]) if len(s) == 2 else None,
        "{new} = torch.outer({x}, {x})": lambda s: s + s if len(s) == 1 else None,
    }),
    Kind("function in place", 2, writable, written, each_of("""
        {x}.sigmoid_()
        {x}.tanh_()
        {x}.relu_()
        {x}.sin_()
        {x}.abs_()
        torch.add({x}, {y}, out={x})""") | each_of("{x}.cumsum_(0)\n{x}.index_fill_(0, torch.tensor([0]), 2.)", some)),
    Kind("other modes", 1, anything, plain_leaf, each_of("""
        with torch.inference_mode(): {new} = {x} * 2.
        with torch.no_grad(): {new} = {x}.tanh()
        with torch.set_grad_enabled(False): {new} = {x} + {y}
        with torch.inference_mode(): {new} = torch.func.grad(lambda x: (x * x).sum())({x})""")),
    Kind("inference inside", 1, anything, computed, each_of("""
        {new} = stopped({x})
        {new} = torch.func.jvp(stopped, ({x},), ({x},))[1]
        {new} = torch.func.grad(lambda x: (stopped(x) * x).sum())({x})
        {new} = tangent_of(stopped, {x}.clone(), torch.ones({shape}))""") | each_of(
        "{new} = torch.func.jacfwd(stopped)({x}).sum(-1)", lambda s: s if len(s) == 1 else None)),
    Kind("dual number", 1, anything, computed, each_of(
        "{new} = tangent_of(torch.sin, {x}.clone(), torch.ones({shape}))")),
    Kind("collect", 1, None, nothing, each_of("gc.collect()")),
)  # fmt: skip
