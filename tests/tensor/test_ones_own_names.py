"""Attributes and methods of one's own, under any name that torch's tensors do not have, meet nothing of ours."""

from __future__ import annotations

import copy

from oracle import agreement_of, programs_of

import jaxvjp

WORDS = [
    *("value", "node", "path", "place", "contents", "versions", "write", "move", "steps", "leaf", "seen", "counted"),
    *("numbers", "known", "told", "alias", "apart", "marked", "storage_", "gradient_node", "begin_count"),
    *("check_writable", "replace_node", "explained", "kept", "recorded"),
]
WORDS += [f"_{word}" for word in WORDS]


def used(torch, tensor):
    """What a training script does with a tensor, and a write through an alias."""
    weight = torch.full((3,), 2.0, requires_grad=True)
    loss = (tensor * weight).square().sum()
    loss.backward()
    view = tensor[1:]
    view += 1
    tensor.data[0] = 9
    return loss, weight.grad, view, tensor + 0, tensor.tolist(), repr(tensor.detach()), tensor._version


def attributes_of_a_tensor(torch):
    x = torch.arange(3.0)
    for number, word in enumerate(WORDS):
        setattr(x, word, number)
    results = used(torch, x)
    same = copy.copy(x)
    return (
        results,
        [getattr(x, word) for word in WORDS],
        sorted({*vars(x)} & {*WORDS}),
        [getattr(same, word) for word in WORDS],
    )


def attributes_of_a_parameter_and_of_an_intermediate_tensor(torch):
    w = torch.nn.Parameter(torch.arange(3.0))
    y = w * 2
    for each in (w, y):
        for number, word in enumerate(WORDS):
            setattr(each, word, number)
    y.retain_grad()
    (y * y).sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    optimizer = torch.optim.Adam([w])
    optimizer.step()
    return w, w.grad, y.grad, [getattr(each, word) for each in (w, y) for word in WORDS]


def a_subclass_with_class_attributes(torch):
    own = type("Own", (torch.Tensor,), {word: number for number, word in enumerate(WORDS)})
    x = torch.arange(3.0).as_subclass(own)
    results = used(torch, x)
    return [each.as_subclass(torch.Tensor) if isinstance(each, torch.Tensor) else each for each in results[:5]], [
        getattr(x, word) for word in WORDS
    ]


def a_subclass_with_methods(torch):
    class Picture(torch.Tensor):
        def write(self, to):
            return f"{self.path} to {to}"

        def move(self):
            return self + 1

        def node(self):
            return "a node"

        def _show(self):
            return "shown"

        @property
        def contents(self):
            return self.sum()

    x = torch.arange(3.0).as_subclass(Picture)
    x.path = "cat.png"
    x += 1
    x.requires_grad_()
    (x * x).sum().backward()
    return x.write("here"), x.move().tolist(), x.node(), x._show(), x.contents.item(), x.grad.tolist(), x.path


def a_subclass_with_slots(torch):
    class Named(torch.Tensor):
        __slots__ = ("node", "path")

    x = torch.arange(3.0).as_subclass(Named)
    x.node, x.path = 1, "there"
    return (x * 2).tolist(), x.node, x.path


def names_that_are_not_there(torch):
    """What a program asks for to tell one kind of object from another."""
    x = torch.arange(3.0)
    names = [
        *("node", "path", "contents", "versions", "write", "place", "move", "var_mean", "std_mean", "trapz"),
        *("view_as_real", "view_as_complex", "lu_unpack", "nuclear_norm", "_node", "_path", "_steps"),
    ]
    return [hasattr(each, name) for each in (x, torch.nn.Parameter(x), torch.Tensor) for name in names]


programs = programs_of(globals())
test_agrees_with_torch = agreement_of(programs)


def test_the_value_is_there_until_one_sets_it():
    x = jaxvjp.ones(2)
    assert x.value.tolist() == [1, 1]
    assert "jax.Array" in jaxvjp.Tensor.value.__doc__
    x.value = 3
    assert x.value == 3
    del x.value
    assert x.value.tolist() == [1, 1]
