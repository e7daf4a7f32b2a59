"""`nn.Module`: members, state, conversions, hooks, printing; lazy modules."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest
from modules_of import first_sentences, layer, lazy, model
from oracle import agreement_of, programs_of

import jaxvjp


def members_and_state(torch):
    module = model(torch)
    state = module.state_dict(prefix="x.")
    return (
        repr(module),
        [name for name, _ in module.named_parameters()],
        [name for name, _ in module.named_buffers()],
        [name for name, _ in module.named_modules(prefix="root")],
        [name for name, _ in module.named_children()],
        len(list(module.parameters(recurse=False))),
        dict(state),
        dict(state._metadata),
        [each for each in dir(module) if each in ("first", "rest", "bias", "0")],
    )


def shared_members_are_listed_once(torch):
    module = model(torch)
    module.again, module.first.weight = module.first, module.rest[0].weight
    names = [name for name, _ in module.named_parameters()]
    return names, [name for name, _ in module.named_parameters(remove_duplicate=False)]


def loading(torch):
    module, other = model(torch), model(torch)
    with torch.no_grad():
        for each in other.parameters():
            each.mul_(2)
    told = repr(module.load_state_dict(other.state_dict()))
    part = module.load_state_dict({"bias": torch.ones(1), "more": torch.ones(1)}, strict=False)
    assigned = {name: each.double() for name, each in other.state_dict().items()}
    before = module.bias
    module.load_state_dict(assigned, assign=True)
    return told, list(part), module(torch.ones(3)), module.bias is before, module.bias, module.rest[1].weight


def loading_says_what_does_not_fit(torch):
    module = model(torch)
    state = module.state_dict()
    del state["bias"]
    state["first.weight"] = torch.ones(2)
    state["rest.7.weight"] = torch.ones(2)
    told = []
    for given in (state, 3, {"bias": 3}):
        try:
            module.load_state_dict(given)
        except (RuntimeError, TypeError) as error:
            told.append((type(error).__name__, str(error)))
    return told


def state_hooks(torch):
    module, seen = model(torch), []
    module.register_state_dict_pre_hook(lambda own, prefix, keep: seen.append(("before", prefix, keep)))
    module.first.register_state_dict_post_hook(lambda own, state, prefix, about: state.update(more=torch.ones(1)))
    module.register_load_state_dict_pre_hook(lambda own, state, *rest: seen.append((own is module, sorted(state))))

    def forgive(own, keys):
        seen.append(list(keys))
        keys.unexpected_keys.clear()

    module.register_load_state_dict_post_hook(forgive)
    state = module.state_dict()
    module.load_state_dict(state)
    return seen, list(state)


def extra_state(torch):
    class Counting(torch.nn.Module):
        count = 1

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    module, other = Counting(), Counting()
    module.count = 5
    other.load_state_dict(module.state_dict())
    return dict(module.state_dict()), other.count, first_sentences(lambda: other.load_state_dict({}))


def conversions(torch):
    module = model(torch)
    module(torch.ones(3)).sum().backward()
    before = module.bias
    found = []
    for convert in (
        lambda: module.double(),
        lambda: module.half(),
        lambda: module.bfloat16(),
        lambda: module.to(torch.float64),
        lambda: module.to("cpu", torch.float32),
        lambda: module.to(torch.ones(1, dtype=torch.float64)),
        lambda: module.float().cpu(),
        lambda: module.type(torch.float64),
        lambda: module.to(dtype=torch.float32, non_blocking=True),
    ):
        same = convert() is module
        found.append((same, str(module.bias.dtype), str(module.bias.grad.dtype), str(module.first.shift.dtype)))
    return found, module.bias is before, module.first.weight.grad


def modes_and_gradients(torch):
    module = model(torch)
    modes = [module.training, module.eval().rest[0].training, module.train().first.training]
    module(torch.ones(3)).sum().backward()
    module.zero_grad(set_to_none=False)
    zeros = module.bias.grad
    module.zero_grad()
    frozen = [each.requires_grad for each in module.requires_grad_(False).parameters()]
    seen = []
    module.apply(lambda each: seen.append(type(each).__name__))
    return modes, zeros, module.bias.grad, frozen, seen


def attributes(torch):
    module = model(torch)
    del module.first
    module.first = torch.nn.Parameter(torch.ones(2))
    module.rest.register_buffer("kept", torch.ones(2))
    module.rest.kept = torch.zeros(3)
    module.rest.more = torch.nn.Buffer(torch.ones(1), persistent=False)
    module.bias = None
    return list(module.state_dict()), [name for name, _ in module.named_buffers()], module.bias, hasattr(module, "no")


def found_by_name(torch):
    module = model(torch)
    module.set_submodule("rest.1", layer(torch, 2))
    return (
        module.get_submodule("") is module,
        repr(module.get_submodule("rest.1")),
        module.get_parameter("rest.1.weight"),
        module.get_buffer("first.unsaved"),
        first_sentences(
            lambda: module.get_submodule("rest.5"),
            lambda: module.get_submodule("bias"),
            lambda: module.get_parameter("first.shift"),
            lambda: module.get_parameter("first.none"),
            lambda: module.get_buffer("bias"),
            lambda: module.set_submodule("", module),
            lambda: module.set_submodule("a.b", module),
            lambda: module.set_submodule("c", module, strict=True),
            lambda: module.set_submodule("c", 3),
            lambda: module.set_submodule("bias", module),
        ),
    )


def what_is_refused(torch):
    module, Module = model(torch), torch.nn.Module  # noqa: N806 - a class

    class Early(Module):
        def __init__(self):
            self.weight = torch.nn.Parameter(torch.ones(1))

    class EarlyModule(Module):
        def __init__(self):
            self.inner = module

    return first_sentences(
        lambda: setattr(module, "bias", torch.ones(1)),
        lambda: setattr(module, "first", 3),
        lambda: setattr(module.first, "shift", 3),
        lambda: module.register_parameter("a", torch.ones(1)),
        lambda: module.register_parameter("a", 3),
        lambda: module.register_parameter("a.b", None),
        lambda: module.register_parameter("", None),
        lambda: module.register_parameter(3, None),
        lambda: module.register_parameter("first", None),
        lambda: module.register_buffer("first", None),
        lambda: module.register_buffer("a", 3),
        lambda: module.register_buffer("a.b", None),
        lambda: module.add_module("a", 3),
        lambda: module.add_module("a.b", None),
        lambda: module.add_module("bias", None),
        lambda: module.missing,
        lambda: delattr(module, "missing"),
        lambda: module.to(torch.int32),
        lambda: module.train(3),
        lambda: Module()(1),
        lambda: Module(3),
        lambda: Module(size=3),
        Early,
        EarlyModule,
    )


def what_cannot_take_the_place_of_a_parameter_or_module(torch):
    module, nn = model(torch), torch.nn
    told = first_sentences(
        lambda: setattr(module, "bias", layer(torch, 1)),
        lambda: setattr(module, "bias", nn.Buffer(torch.ones(1))),
        lambda: setattr(module, "first", nn.Buffer(torch.ones(1))),
        lambda: setattr(module, "first", nn.Parameter(torch.ones(1))),
    )
    # torch's sentence has the whole name of the class
    return [(kind, text.split("'")[2:]) for kind, text in filter(None, told)], [
        name for name, _ in module.named_parameters()
    ]


def forward_hooks(torch):
    module, seen = layer(torch, 2), []
    x = torch.tensor([1.0, 2.0])
    module.register_forward_pre_hook(lambda own, args: (args[0] + 1,))
    module.register_forward_pre_hook(lambda own, args, kwargs: (args, {"scale": 10.0}), with_kwargs=True, prepend=True)
    module.register_forward_hook(lambda own, args, kwargs, out: seen.append(kwargs), with_kwargs=True)
    handle = module.register_forward_hook(lambda own, args, out: out * 2)
    first = module(x)
    handle.remove()
    return first, module(x), seen


def a_hook_that_is_always_called(torch):
    module, seen = layer(torch, 2), []
    module.register_forward_hook(lambda own, args, out: seen.append(out), always_call=True)

    def wrong(own, args, out):
        raise KeyError("hook")

    module.register_forward_hook(wrong, always_call=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = first_sentences(lambda: module(None), lambda: module(torch.ones(2)))
    return found, len(seen), [str(each.message) for each in told]


def backward_hooks(torch):
    module, seen = model(torch), []
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    module.register_full_backward_hook(lambda own, into, out: seen.append((into, out)))
    module.first.register_full_backward_pre_hook(lambda own, out: (out[0] * 2,))
    module.rest[0].register_full_backward_hook(lambda own, into, out: (into[0] + 1,))
    module(x).sum().backward()
    return seen, x.grad, module.first.weight.grad, module.rest[0].weight.grad


def backward_hooks_without_a_gradient_of_the_input(torch):
    module, seen = layer(torch, 2), []
    module.register_full_backward_hook(lambda own, into, out: seen.append((into, out)))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        module(torch.ones(2)).sum().backward()
    return seen, [str(each.message).partition(". ")[0] for each in told]


def old_backward_hooks(torch):
    module, seen = layer(torch, 2), []
    module.register_backward_hook(lambda own, into, out: seen.append(out))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        module(torch.ones(2, requires_grad=True)).sum().backward()
    return (
        seen,
        [str(each.message) for each in told],
        first_sentences(lambda: module.register_full_backward_hook(lambda *_: None)),
    )


def hooks_of_all_modules(torch):
    from importlib import import_module

    place = import_module(f"{torch.__name__}.nn.modules.module")
    module, seen = model(torch), []
    handles = [
        place.register_module_forward_pre_hook(lambda own, args: seen.append(("before", type(own).__name__))),
        place.register_module_forward_hook(lambda own, args, out: seen.append(("after", type(own).__name__))),
        place.register_module_full_backward_hook(lambda own, into, out: seen.append(("back", type(own).__name__))),
        place.register_module_parameter_registration_hook(lambda own, name, value: seen.append(name)),
        place.register_module_buffer_registration_hook(lambda own, name, value: seen.append(name)),
        place.register_module_module_registration_hook(lambda own, name, value: seen.append(name)),
    ]
    module(torch.ones(3, requires_grad=True)).sum().backward()
    module.more = layer(torch, 1)
    for each in handles:
        each.remove()
    module(torch.ones(3))
    return seen


def lazy_modules(torch):
    module = lazy(torch)
    shown = repr(module.weight), repr(module.shift), list(module.state_dict()), module.has_uninitialized_params()
    # torch's sentence names its function, so only its beginning is compared.
    told = [(kind, text[:43]) for kind, text in first_sentences(lambda: module.weight + 1, lambda: module.weight.shape)]
    module.double()
    out = module.float()(torch.ones(3))
    loaded = lazy(torch)
    loaded.load_state_dict(module.state_dict())
    return (
        shown,
        told,
        out,
        type(module).__name__,
        module.weight,
        module.shift,
        type(module.weight).__name__,
        loaded.weight,
    )


def buffers_and_parameters(torch):
    nn = torch.nn
    buffer = nn.Buffer(torch.ones(2), persistent=False)
    kinds = [isinstance(each, (nn.Buffer)) for each in (buffer, torch.ones(1), nn.Parameter(buffer))]
    return kinds, buffer.persistent, type(buffer).__name__, isinstance(buffer, nn.Parameter), repr(nn.Parameter(buffer))


test_agrees_with_torch = agreement_of(programs_of(globals(), layer, lazy, model))


def test_a_module_is_copied_and_pickled():
    module = model(jaxvjp)
    other = copy.deepcopy(module)
    other.bias.data.fill_(9.0)
    assert module.bias.item() == 0.5
    assert type(other.bias) is jaxvjp.nn.Parameter
    sequence = jaxvjp.nn.Sequential(jaxvjp.nn.Sequential(), jaxvjp.nn.ParameterList([jaxvjp.ones(2)]))
    again = pickle.loads(pickle.dumps(sequence))
    assert repr(again) == repr(sequence)
    assert again.state_dict()["1.0"].tolist() == [1.0, 1.0]


@pytest.mark.compiled
def test_a_training_step_of_modules_is_one_dispatch():
    module, x = model(jaxvjp), jaxvjp.tensor([1.0, 2.0, 3.0])

    def step():
        loss = ((module(x) - 1) ** 2).mean()
        module.zero_grad()
        loss.backward()
        jaxvjp.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        with jaxvjp.no_grad():
            for each in module.parameters():
                each.sub_(0.1 * each.grad)
        return loss.item()

    first, *_ = [step() for _ in range(3)]
    before = jaxvjp.counters.dispatches
    last = step()
    assert jaxvjp.counters.dispatches - before == 1
    assert last < first


def test_importing_brings_no_modules():
    from test_package import run_python

    of_files = "[name for name, each in sys.modules.items() if name.startswith('jaxvjp.nn.modules.') and each.__spec__]"
    assert run_python(f"import sys, jaxvjp; print({of_files})").strip() == "[]"
    assert run_python("from jaxvjp.nn import Sequential; print(Sequential())").strip() == "Sequential()"
    assert {"Module", "ModuleDict", "Parameter", "utils"} <= {*dir(jaxvjp.nn)}
    with pytest.raises(AttributeError, match="has no attribute 'Missing'"):
        jaxvjp.nn.Missing  # noqa: B018
