"""What libraries do with masks, products of batches, transforms that are modules, and layers under a stand-in."""

from __future__ import annotations

import pytest
from oracle import agree

import jaxvjp
from jaxvjp.nn.modules.layer import rows_of
from jaxvjp.nn.modules.rows import ROWS

NUMBERS = (1, 0, -1, 2.5, float("nan"), True, 1j, 0j)
KEYS = {
    "positions": lambda torch: torch.tensor([0, 2]),
    "list": lambda torch: [0, 2],
    "slice": lambda torch: slice(0, 2),
    "mask": lambda torch: torch.tensor([True, False, True, True]),
    "one": lambda torch: 0,
    "pair": lambda torch: (torch.tensor([0, 2]), None),
}


@pytest.mark.parametrize("key", KEYS)
def test_numbers_that_are_written_into_a_mask(key):
    def program(torch):
        found = []
        for number in NUMBERS:
            mask = torch.tensor([False, True, False, False])
            mask[KEYS[key](torch)] = number
            found.append(mask)
        return found

    agree(program)


def test_a_tensor_that_is_written_into_a_mask_has_to_be_bool():
    def program(torch):
        mask = torch.zeros(4, dtype=torch.bool)
        mask[torch.tensor([0, 2])] = torch.tensor(1)

    agree(program, raises=RuntimeError)


SHAPES = [
    ((20, 2), (3, 1, 2)),
    ((2, 3, 4), (2, 3, 4)),
    ((2, 3, 4), (1, 3, 4)),
    ((2, 3, 4), (3, 3, 4)),
    ((5, 2, 3, 4), (2, 3, 4)),
    ((0, 3, 4), (0, 3, 4)),
    ((2, 3, 0), (2, 3, 4)),
    ((2,), (3, 4, 5)),
    ((2, 3, 4), (3,)),
    ((2, 3, 4), (3, 5)),
    ((2, 3, 0), (3, 5)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_products_of_batches_that_do_not_fit(left, right):
    agree(lambda torch: torch.ones(left) @ torch.ones(right), raises=RuntimeError)


def test_a_transform_that_is_a_module():
    def program(torch):
        class Own(torch.distributions.Transform, torch.nn.Module):
            domain = codomain = torch.distributions.constraints.real
            bijective = True

            def __init__(self):
                super().__init__(cache_size=1)
                self.scale = torch.nn.Parameter(torch.tensor(2.0))

            def _call(self, x):
                return x * self.scale

            def _inverse(self, y):
                return y / self.scale

            def log_abs_det_jacobian(self, x, y):
                return self.scale.abs().log().expand(x.shape)

            def __hash__(self):
                return torch.nn.Module.__hash__(self)

        own = Own()
        base = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
        torch.distributions.TransformedDistribution(base, [own]).log_prob(torch.ones(2)).sum().backward()
        return [name for name, _ in own.named_parameters()], own.scale.grad

    agree(program)


def test_functions_that_are_attributes_of_a_class_of_modules():
    def program(torch):
        class Own(torch.nn.Module):
            act, join = torch.relu, torch.cat
            product = torch.conv2d

            def forward(self, x):
                return self.product(self.act(x), weight=torch.ones(1, 1, 2, 2)), self.join([x, x]), Own.act(x)

        class More(Own):
            act = torch.tanh

        x = torch.linspace(-1, 1, 9).reshape(1, 1, 3, 3).requires_grad_()
        return Own()(x), More()(x)

    agree(program)


def test_what_tells_tensors_apart():
    def program(torch):
        x = torch.ones(2)
        p, view = torch.nn.Parameter(x), x[:]
        return type(x._cdata).__name__, x._cdata == x._cdata, len({x._cdata, p._cdata, p.data._cdata, view._cdata})

    agree(program)


@pytest.mark.parametrize("file", ROWS)
def test_layers_are_the_same_where_they_are_made_under_the_stand_in(file):
    outside = list(rows_of(file))
    with jaxvjp.as_torch():
        assert list(rows_of(file)) == outside
