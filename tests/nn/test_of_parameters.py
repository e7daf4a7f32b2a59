"""`nn.utils`: gradients clipped, parameters as a vector, parametrizations, pruning, fusion."""

from __future__ import annotations

import copy
import warnings
from importlib import import_module

from modules_of import first_sentences, layer, model
from oracle import agreement_of, programs_of


def tools(torch, name):
    return import_module(f"{torch.__name__}.nn.utils.{name}")


def numbers(module):
    return {name: each for name, each in module.state_dict().items() if name not in ("shift", "unsaved")}


def old_names_of_init(torch):
    torch.manual_seed(0)
    init, told = torch.nn.init, []
    names = ("uniform", "normal", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_normal", "orthogonal")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in names:
            told.append(getattr(init, name)(torch.empty((2, 3, 4) if name == "dirac" else (2, 3))))
        told += [
            init.constant(torch.empty(2), 3.0),
            init.sparse(torch.empty(4, 2), 0.5),
            init.kaiming_uniform(torch.empty(2, 3)),
        ]
    return told, [(each.category.__name__, str(each.message)) for each in caught]


def clipping(torch):
    module, utils = model(torch), torch.nn.utils
    module(torch.ones(3)).sum().backward()
    norms = utils.clip_grad_norm_(module.parameters(), 1.0), utils.clip_grad_norm_(module.bias, 0.1, float("inf"))
    scaled = [each.grad for each in module.parameters()]
    utils.clip_grad_value_(module.parameters(), 0.2)
    total = utils.get_total_norm([each.grad for each in module.parameters()], 1)
    utils.clip_grads_with_norm_(module.parameters(), 0.5, total)
    module.bias.grad.fill_(float("nan"))
    wrong = first_sentences(lambda: utils.clip_grad_norm_(module.parameters(), 1.0, error_if_nonfinite=True))
    return norms, scaled, total, [each.grad for each in module.rest.parameters()], utils.get_total_norm([]), wrong


def vectors(torch):
    module, utils = model(torch), torch.nn.utils
    vector = utils.parameters_to_vector(module.parameters())
    utils.vector_to_parameters(vector.detach() * 2, module.parameters())
    (gradient,) = torch.autograd.grad((vector**2).sum(), [module.rest[1].weight])
    return vector, list(module.parameters()), gradient, first_sentences(lambda: utils.vector_to_parameters(3, []))


def parametrizations_of(torch):
    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x):
            return x.triu()

    class Double(torch.nn.Module):
        def forward(self, x):
            return x * 2

    class Halves(torch.nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, x):
            return x / 2, x / 2

    class First(torch.nn.Module):
        def forward(self, x):
            return x[0]

    return Symmetric(), Double(), Halves(), First()


def parametrized(torch):
    place, module = tools(torch, "parametrize"), layer(torch, 3, 3)
    symmetric, double, _, _ = parametrizations_of(torch)
    place.register_parametrization(module, "weight", symmetric)
    shown = repr(module), numbers(module), module.weight
    module.weight = torch.ones(3, 3)
    place.register_parametrization(module, "weight", double)
    module.weight.sum().backward()
    with place.cached():
        same = module.weight is module.weight
    other = copy.deepcopy(module)
    facts = place.is_parametrized(module), place.type_before_parametrizations(module).__name__, same
    place.remove_parametrizations(module, "weight")
    return shown, facts, numbers(other), numbers(module), type(module.weight).__name__, type(module).__name__


def parametrized_bias_is_shown(torch):
    made = torch.nn.Linear(2, 2), torch.nn.Conv1d(2, 2, 1, bias=False)
    tools(torch, "parametrize").register_parametrization(made[0], "bias", torch.nn.Softplus())
    return [repr(each) for each in made]


def parametrized_by_several(torch):
    place, module, plain = tools(torch, "parametrize"), layer(torch, 2, 2), layer(torch, 2, 2)
    _, double, halves, first = parametrizations_of(torch)
    place.register_parametrization(module, "weight", halves)
    place.register_parametrization(module, "shift", double)
    found = numbers(module), module.weight, module.shift
    moved = place.transfer_parametrizations_and_params(module, layer(torch, 2, 2))
    refused = first_sentences(
        lambda: setattr(module, "shift", torch.ones(2)),
        lambda: place.register_parametrization(plain, "weight", first),
        lambda: place.register_parametrization(plain, "none", first),
        lambda: place.remove_parametrizations(module, "weight", leave_parametrized=False),
        lambda: place.remove_parametrizations(plain, "weight"),
        lambda: place.ParametrizationList([], plain.weight),
        lambda: copy.copy(module).__getstate__(),
    )
    place.remove_parametrizations(module, "weight")
    place.remove_parametrizations(module, "shift", leave_parametrized=False)
    return found, numbers(moved), refused, numbers(module), type(module).__name__


def orthogonal(torch):
    place, found = tools(torch, "parametrizations"), []
    for sizes in ((3, 3), (4, 2), (2, 4)):
        for way in (None, "matrix_exp", "cayley", "householder"):
            for trivial in (True, False):
                module = layer(torch, *sizes)
                with torch.no_grad():
                    module.weight.copy_(module.weight.cos() + torch.eye(*sizes))  # of full rank: no sign is chance
                torch.manual_seed(0)
                try:
                    place.orthogonal(module, "weight", way, use_trivialization=trivial)
                except NotImplementedError as error:
                    found.append(str(error))
                    continue
                (module.weight * torch.arange(1.0, 1 + module.weight.numel()).view(sizes)).sum().backward()
                found.append((module.weight, module.parametrizations.weight.original.grad))
    module = place.orthogonal(layer(torch, 4, 3))
    module.weight = torch.eye(4)[:, :3]
    wrong = first_sentences(
        lambda: place.orthogonal(module, "shift"),
        lambda: place.orthogonal(module, "none"),
        lambda: place.orthogonal(layer(torch, 2, 2), "weight", "other"),
    )
    return found, module.weight, wrong


def weights_and_norms(torch):
    place, utils, found = tools(torch, "parametrizations"), torch.nn.utils, []
    for dim in (0, 1, 2, None):
        new = place.weight_norm(layer(torch, 2, 3, 2), dim=dim)
        old = utils.weight_norm(layer(torch, 2, 3, 2), dim=dim)
        with torch.no_grad():
            old.weight_g.mul_(2)
        new.load_state_dict(old.state_dict())
        found.append((list(new.state_dict()), new.weight))
        old(torch.ones(1)).sum().backward()
        gradients = old.weight_g.grad, old.weight_v.grad
        utils.remove_weight_norm(old)
        found.append((gradients, old.weight, first_sentences(lambda old=old: utils.remove_weight_norm(old))))
    return found


def spectral_norms(torch):
    place, utils = tools(torch, "parametrizations"), torch.nn.utils
    torch.manual_seed(0)
    new, old = place.spectral_norm(layer(torch, 3, 4)), utils.spectral_norm(layer(torch, 3, 4))
    found = [new.weight, new.weight, new.eval().weight, new.state_dict(), old.state_dict()]
    found += [old(torch.ones(4)), old.weight, old.eval()(torch.ones(4)), dict(old.state_dict()._metadata[""])]
    old.weight.sum().backward()
    new.weight.sum().backward()
    found += [old.weight_orig.grad, new.parametrizations.weight.original.grad]
    wrong = first_sentences(lambda: utils.spectral_norm(old), lambda: place.spectral_norm(new, "none"))
    utils.remove_spectral_norm(old)
    return found, wrong, numbers(old), type(old.weight).__name__


def spectral_norms_of_torchs_first_versions(torch):
    """Their `state_dict` has the weight that was computed, and not the vector `v`."""
    torch.manual_seed(0)
    utils, x, told = torch.nn.utils, torch.arange(6.0).reshape(2, 3), []
    module = utils.spectral_norm(torch.nn.Linear(3, 4))
    for _ in range(3):
        module(x)
    latest = module.state_dict()
    for without_version in (False, True):
        first = copy.deepcopy(latest)
        first["weight"] = module.weight.detach().clone()
        del first["weight_v"], first._metadata[""]["spectral_norm"]
        if not without_version:
            first._metadata[""]["spectral_norm"] = {"weight.version": 0}
        other = utils.spectral_norm(torch.nn.Linear(3, 4))
        other.load_state_dict(first)
        other.eval()
        told.append((other(x), other.weight_v, list(first)))
        del first["weight_u"]
        told.append(first_sentences(lambda first=first, other=other: other.load_state_dict(first)))
        told.append(other.load_state_dict(first, strict=False).missing_keys)
    crafted = copy.deepcopy(latest)
    del crafted._metadata[""]["spectral_norm"]
    other.load_state_dict(crafted)
    told.append((other(x), other.weight_v))
    return told, list(utils.remove_spectral_norm(other).state_dict())


def pruned(torch):
    prune, module, found = tools(torch, "prune"), layer(torch, 3, 4), []
    torch.manual_seed(0)
    prune.l1_unstructured(module, "weight", 5)
    found.append((numbers(module), module.weight))
    prune.random_unstructured(module, "weight", 0.3)
    found.append((module.weight_mask, module(torch.ones(4))))
    prune.ln_structured(module, "weight", 1, 2, 0)
    found.append(module.weight_mask)
    prune.random_structured(module, "weight", 1, 1)
    found.append((module.weight_mask, prune.is_pruned(module)))
    prune.remove(module, "weight")
    found.append((numbers(module), prune.is_pruned(module)))
    return found


def pruned_otherwise(torch):
    prune, module = tools(torch, "prune"), layer(torch, 3, 4)
    wrong = first_sentences(
        lambda: prune.remove(module, "weight"),
        lambda: prune.l1_unstructured(module, "weight", 1.5),
        lambda: prune.l1_unstructured(module, "weight", "a"),
        lambda: prune.l1_unstructured(module, "weight", 99),
        lambda: prune.ln_structured(module, "shift", 1, 2, 0),
        lambda: prune.custom_from_mask(module, "weight", torch.ones(1)),
    )
    prune.custom_from_mask(module, "weight", (torch.arange(12) % 2).view(3, 4))
    prune.identity(module, "weight")
    one, other = layer(torch, 3, 2), layer(torch, 2, 2)
    prune.global_unstructured([(one, "weight"), (other, "weight")], prune.L1Unstructured, amount=4)
    return wrong, module.weight, one.weight_mask, other.weight_mask


def fused(torch):
    utils, generator = torch.nn.utils, torch.Generator().manual_seed(0)
    weight, *rest = [torch.rand(*each, generator=generator) for each in ((2, 3, 1), (2,), (2,), (2,))]
    plain = utils.fuse_conv_bn_weights(weight, None, rest[0], rest[1], 1e-5, None, rest[2])
    full = utils.fuse_conv_bn_weights(weight.mT, rest[0], rest[0], rest[1], 1e-5, rest[2], rest[1])
    return plain, full, utils.fuse_linear_bn_weights(weight[..., 0], None, *rest[:2], 1e-5, *rest[1:])


def called_with_other_parameters_by_the_old_name(torch):
    call = tools(torch, "stateless").functional_call
    layer = torch.nn.Linear(2, 2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        given = call(layer, {"weight": torch.ones(2, 2), "bias": torch.zeros(2)}, torch.ones(1, 2))
    return given, [(each.category.__name__, str(each.message)) for each in told]


def helpers_that_models_import(torch):
    def place(name):
        return import_module(f"{torch.__name__}.nn.{name}")

    init, transformer, utils = place("init"), place("modules.transformer"), place("modules.utils")
    weight = torch.ones(3, 4, 2)
    clones = transformer._get_clones(torch.nn.Linear(2, 2), 2)
    return (
        init._calculate_fan_in_and_fan_out(weight),
        [init._calculate_correct_fan(weight, mode) for mode in ("fan_in", "FAN_OUT")],
        init._no_grad_fill_(weight, 3.0),
        init._no_grad_zero_(weight),
        repr(clones),
        clones[0].weight is clones[1].weight,
        transformer._get_activation_fn("gelu") is torch.nn.functional.gelu,
        utils._reverse_repeat_tuple((1, 2), 2),
        place("modules.module")._addindent("a\nb\n\nc", 2),
    )


def parameters_of_other_classes_are_printed(torch):
    class Own(torch.nn.Parameter):
        pass

    class Marked(torch.Tensor):
        pass

    shown = [
        Own(torch.ones(2)),
        torch.nn.Parameter(torch.ones(2).as_subclass(Marked)),
        torch.nn.Parameter(torch.ones(1)),
    ]
    return [repr(each) for each in (*shown, shown[0] * 2, Own(torch.ones(1, device="meta")))]


def deprecated(torch):
    module = layer(torch, 2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.nn.utils.clip_grad_norm(module.parameters(), 1.0)
        torch.nn.utils.weight_norm(layer(torch, 2, 2))
        torch.nn.utils.clip_grad_norm_(iter(()), 1.0)
        torch.nn.utils.clip_grad_norm_((each for each in ()), 1.0)
    return [(each.category.__name__, str(each.message)) for each in told]


test_agrees_with_torch = agreement_of(programs_of(globals(), parametrizations_of), rtol=2e-5, atol=2e-6)
