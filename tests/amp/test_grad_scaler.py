"""`GradScaler`: scaled losses, skipped steps, and a scale that shrinks and grows."""

from __future__ import annotations

import warnings

from oracle import agreement_of, programs_of, raises


def parts(torch):
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    return weight, torch.optim.SGD([weight], lr=0.1), torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)


def steps(torch):
    weight, optimizer, scaler = parts(torch)
    found = []
    for factor in (1.0, 2.0, float("inf"), 1.0, float("nan"), 3.0, 1.0):
        optimizer.zero_grad()
        scaled = scaler.scale((weight * factor).sum())
        scaled.backward()
        scaler.unscale_(optimizer)
        gradient = weight.grad.clone()
        scaler.step(optimizer)
        scaler.update()
        found.append((scaled.detach(), gradient, weight.detach().clone(), scaler.get_scale(), scaler.state_dict()))
    return found


def several_outputs(torch):
    _, _, scaler = parts(torch)
    one = torch.ones(1)
    return scaler.scale([one, (one, one * 2)]), list(scaler.scale(each for each in [one])), scaler.state_dict()


def loaded(torch):
    _, _, scaler = parts(torch)
    scaler.load_state_dict({**scaler.state_dict(), "scale": 4.0, "_growth_tracker": 1})
    scaled = scaler.scale(torch.ones(1))
    scaler.load_state_dict({**scaler.state_dict(), "scale": 2.0})
    scaler.update(3.0)
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    return scaled, scaler.get_scale(), scaler.state_dict(), scaler.get_growth_factor(), scaler.is_enabled()


def switched_off(torch):
    weight, optimizer, _ = parts(torch)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    loss = scaler.scale((weight * 2).sum())
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return weight, scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()


def left_to_the_optimizer(torch):
    seen = []

    class Scaling(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self):
            seen.append((self.grad_scale, self.found_inf))

    class Asking(Scaling):
        def step(self, closure=None, *, grad_scaler=None):
            seen.append((type(grad_scaler).__name__, hasattr(self, "grad_scale")))

    weight, _, scaler = parts(torch)
    optimizers = [Scaling([weight], lr=0.1), Asking([weight], lr=0.1)]
    for factor in (1.0, float("inf")):
        weight.grad = None
        scaler.scale((weight * factor).sum()).backward()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for each in optimizers:
                scaler.step(each)
        seen += [str(each.message) for each in told]
        scaler.unscale_(torch.optim.SGD([weight], lr=0.1))
        scaler.update()
    return seen, [hasattr(each, "found_inf") for each in optimizers]


def without_a_gpu(torch):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scaler = torch.GradScaler("cuda")
        torch.cuda.amp.GradScaler(enabled=False)
        torch.cpu.amp.GradScaler(init_scale=2.0)
        torch.cpu.amp.autocast()
    return [(each.category.__name__, str(each.message)) for each in seen], scaler.is_enabled()


@raises(AssertionError)
def updated_before_anything(torch):
    parts(torch)[2].update()


@raises(AssertionError)
def stepped_before_anything(torch):
    _, optimizer, scaler = parts(torch)
    scaler.step(optimizer)


@raises(AssertionError)
def stepped_without_gradients(torch):
    _, optimizer, scaler = parts(torch)
    scaler.scale(torch.ones(1))
    scaler.step(optimizer)


@raises(RuntimeError)
def unscaled_twice(torch):
    weight, optimizer, scaler = parts(torch)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


@raises(RuntimeError)
def stepped_twice(torch):
    weight, optimizer, scaler = parts(torch)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.step(optimizer)


@raises(RuntimeError)
def loaded_from_nothing(torch):
    parts(torch)[2].load_state_dict({})


@raises(ValueError)
def scaled_what_is_no_tensor(torch):
    parts(torch)[2].scale(3)


@raises(ValueError)
def gradients_of_float16(torch):
    weight = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(torch.optim.SGD([weight], lr=0.1))


test_agrees_with_torch = agreement_of(programs_of(globals(), parts))
