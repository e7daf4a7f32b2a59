"""Modules that hold modules or parameters."""

from __future__ import annotations

from collections import OrderedDict

from modules_of import first_sentences, layer
from oracle import agreement_of, programs_of


def sequences(torch):
    made = torch.nn.Sequential(layer(torch, 2), layer(torch, 3), layer(torch, 2))
    shown = [made[1:], made[-1], made + made, made * 2, 2 * made]
    made.insert(1, layer(torch, 9))
    taken = made.pop(0)
    del made[0]
    made[0] = layer(torch, 7)
    made.append(layer(torch, 1)).extend([layer(torch, 4)])
    made += torch.nn.Sequential(layer(torch, 5))
    made *= 2
    named = torch.nn.Sequential(OrderedDict(a=layer(torch, 2), b=layer(torch, 3)))
    return [repr(each) for each in (*shown, taken, made, named, named[:1], torch.nn.Sequential())], list(
        made.state_dict()
    )


def sequences_refuse(torch):
    made = torch.nn.Sequential(layer(torch, 2))
    return first_sentences(
        lambda: made[5],
        lambda: made + 3,
        lambda: made.insert(9, layer(torch, 1)),
        lambda: made.append(3),
        lambda: torch.nn.Sequential({"a": layer(torch, 1)}),
    )


def sequences_with_names(torch):
    def made():
        each = torch.nn.Sequential(layer(torch, 2), layer(torch, 3))
        each.add_module("last", layer(torch, 4))
        return each

    refused = first_sentences(
        lambda: made().insert(0, layer(torch, 1)), lambda: made().__imul__(2), lambda: made().extend(3)
    )
    overlapping = torch.nn.Sequential(OrderedDict([("a", layer(torch, 2)), ("2", layer(torch, 3))]))
    overlapping += torch.nn.Sequential(layer(torch, 5), layer(torch, 6))
    return refused, repr(made().insert(3, layer(torch, 1))), repr(overlapping)


def lists_with_names(torch):
    made = torch.nn.ModuleList([layer(torch, 2)])
    made.add_module("last", layer(torch, 3))
    refused = first_sentences(
        lambda: made[1],
        lambda: made.insert(0, layer(torch, 1)),
        lambda: torch.nn.ModuleList([layer(torch, 1)]).insert(-1, layer(torch, 2)),
        lambda: made.__setitem__(slice(0, 1), layer(torch, 1)),
        lambda: made.__delitem__(1),
    )
    made[1] = layer(torch, 4)
    return refused, repr(made), list(made.state_dict())


def lists(torch):
    made = torch.nn.ModuleList([layer(torch, 2), layer(torch, 2), layer(torch, 3)])
    shown = [repr(made), repr(made[1:]), repr(made + torch.nn.ModuleList([layer(torch, 2)]))]
    made.extend([layer(torch, 4)])
    made.insert(0, layer(torch, 5))
    made[1] = layer(torch, 6)
    taken = repr(made.pop(-1))
    del made[:2]
    refused = first_sentences(lambda: made.extend(3), lambda: made[9], lambda: made(1), lambda: made.append(3))
    return shown, taken, repr(made), len(made), [repr(each) for each in made], refused, repr(torch.nn.ModuleList())


def dicts(torch):
    made = torch.nn.ModuleDict({"a": layer(torch, 2), "b": layer(torch, 3)})
    shown = repr(made), list(made), list(made.keys()), [key for key, _ in made.items()], "a" in made, len(made)
    made.update([("x", layer(torch, 2))])
    made["y"] = layer(torch, 4)
    del made["b"]
    taken = repr(made.pop("a"))
    refused = first_sentences(
        lambda: made["z"], lambda: made.update(3), lambda: made.update([3]), lambda: made.update([(1, 2, 3)])
    )
    after = repr(made)
    made.clear()
    return shown, taken, after, refused, repr(made)


def parameter_lists(torch):
    made = torch.nn.ParameterList([torch.ones(2), torch.nn.Parameter(torch.ones(2, 3)), "x", 3])
    shown = repr(made), repr(made[1:3]), len(made), list(made.state_dict())
    made.append(torch.zeros(1))
    made += [torch.ones(3)]
    made[0] = torch.ones(5)
    refused = first_sentences(made, lambda: made[9], lambda: made.extend(torch.ones(2)))
    return shown, repr(made), refused, [type(each).__name__ for each in made]


def parameter_dicts(torch):
    made = torch.nn.ParameterDict({"b": torch.ones(2), "a": torch.nn.Parameter(torch.ones(2, 3)), "c": 3})
    shown = repr(made), list(made), list(reversed(made)), "a" in made, len(made)
    found = made.pop("a"), made.popitem(), made.get("z", 4), made.setdefault("k", torch.ones(1))
    joined = made | torch.nn.ParameterDict({"k": torch.zeros(2)})
    made |= {"q": torch.ones(1)}
    refused = first_sentences(
        lambda: made[3],
        lambda: made.update(3),
        lambda: made.update([(1, 2, 3)]),
        lambda: torch.nn.ParameterDict().popitem(),
    )
    return shown, found, dict(joined.items()), list(made), repr(made.fromkeys(["r"], 2)), repr(made.copy()), refused


def a_module_in_data_parallel(torch):
    inner = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.ones_(inner.weight)
    made = torch.nn.DataParallel(inner)
    made(input=torch.ones(3, 2)).sum().backward()
    shown = repr(made), made.device_ids, made.module is inner, inner.weight.grad
    return *shown, made.state_dict(), made.eval().training, isinstance(made, torch.nn.parallel.DataParallel)


test_agrees_with_torch = agreement_of(programs_of(globals(), layer))
