"""`func.functional_call`: a module called with other parameters than its own."""

from __future__ import annotations

import pytest
from oracle import agreement_of, programs_of, raises
from vectors import matrix, vector

import jaxvjp


def affine(torch):
    base = torch.nn if hasattr(torch.nn, "Module") else None
    Base = base.Module if base else object  # noqa: N806 - a class

    def parameter(value):
        return base.Parameter(value) if base else value.requires_grad_()

    class Inner(Base):
        def __init__(self):
            super().__init__()
            self.weight = parameter(torch.tensor([1.0, 2.0, 3.0]))

    class Affine(Base):
        def __init__(self):
            super().__init__()
            self.inner = Inner()
            self.bias = parameter(torch.tensor(0.5))

        def __call__(self, x, scale=1.0):
            if scale == 0:
                raise KeyError("mine")
            return (x * self.inner.weight + self.bias) * scale

    return Affine()


def call_with_other_parameters(torch):
    module = affine(torch)
    x = vector(torch)
    new = {"inner.weight": torch.ones(3), "bias": torch.tensor(2.0)}
    call = torch.func.functional_call
    return (
        call(module, new, (x,)),
        call(module, new, x, {"scale": 2.0}),
        call(module, {"bias": torch.tensor(2.0)}, (x,)),
        call(module, ({"inner.weight": torch.ones(3)}, {"bias": torch.tensor(2.0)}), (x,)),
        module.bias.tolist(),
        module.inner.weight.tolist(),
    )


def gradient_with_respect_to_parameters(torch):
    module = affine(torch)
    p = {"inner.weight": torch.ones(3), "bias": torch.tensor(2.0)}

    def loss(p, x):
        return (torch.func.functional_call(module, p, (x,)) ** 2).sum()

    x = matrix(torch)
    return torch.func.grad(loss)(p, x), torch.func.vmap(torch.func.grad(loss), (None, 0))(p, x)


def parameters_come_back_after_an_exception(torch):
    module = affine(torch)
    before = module.bias
    try:
        torch.func.functional_call(module, {"bias": torch.tensor(2.0)}, (vector(torch),), {"scale": 0})
    except KeyError as mine:
        return module.bias is before, str(mine)


@raises(ValueError)
def repeated_names(torch):
    one = {"bias": torch.tensor(1.0)}
    torch.func.functional_call(affine(torch), (one, one), (vector(torch),))


@raises(ValueError)
def no_dicts(torch):
    torch.func.functional_call(affine(torch), [1], (vector(torch),))


test_agrees_with_torch = agreement_of(programs_of(globals(), affine), rtol=5e-6, atol=2e-6)


@pytest.mark.parametrize("name", ["none.weight", "none.inner.weight"])
def test_functional_call_says_what_is_missing(name):
    with pytest.raises(AttributeError, match="has no attribute `none`"):
        jaxvjp.func.functional_call(affine(jaxvjp), {name: jaxvjp.tensor(1.0)}, jaxvjp.ones(3))


def test_functional_call_replaces_tensors_only():
    module = affine(jaxvjp)
    module.rate = 3.0
    with pytest.raises(TypeError, match="not an instance"):
        jaxvjp.func.functional_call(module, {"rate": jaxvjp.tensor(1.0)}, jaxvjp.ones(3))
    with pytest.raises(RuntimeError, match="Missing key"):
        jaxvjp.func.functional_call(module, {"bias": jaxvjp.tensor(1.0)}, jaxvjp.ones(3), strict=True)


def test_functional_call_replaces_a_shared_tensor_everywhere():
    module = affine(jaxvjp)
    module.inner.shift = module.bias
    seen = []
    type(module).__call__ = lambda self, x: seen.append((self.bias.item(), self.inner.shift.item()))
    jaxvjp.func.functional_call(module, {"bias": jaxvjp.tensor(7.0)}, jaxvjp.ones(3))
    jaxvjp.func.functional_call(module, {"bias": jaxvjp.tensor(7.0)}, jaxvjp.ones(3), tie_weights=False)
    assert seen == [(7.0, 7.0), (7.0, 0.5)]
    assert module.inner.shift.item() == 0.5
