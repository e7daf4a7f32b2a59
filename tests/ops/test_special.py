"""Bessel functions against SciPy's, which are exact, and torch's at their edges; polynomials against torch's."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
import scipy.special
from oracle import agree

import jaxvjp
from jaxvjp.ops.polynomials import FAMILIES

EXACT = {
    "bessel_j0": scipy.special.j0,
    "bessel_j1": scipy.special.j1,
    "bessel_y0": scipy.special.y0,
    "bessel_y1": scipy.special.y1,
    "modified_bessel_i0": scipy.special.i0,
    "modified_bessel_i1": scipy.special.i1,
    "modified_bessel_k0": scipy.special.k0,
    "modified_bessel_k1": scipy.special.k1,
    "scaled_modified_bessel_k0": scipy.special.k0e,
    "scaled_modified_bessel_k1": scipy.special.k1e,
    "spherical_bessel_j0": lambda x: np.sinc(x / np.pi),
    "airy_ai": lambda x: scipy.special.airy(x)[0],
}
PLACES = [
    1e-30,
    1e-8,
    0.01,
    0.5,
    1.9999,
    2.0,
    2.0001,
    5.52,
    7.02,
    9.0,
    9.0001,
    17.5,
    24.9999,
    25.0,
    25.0001,
    60.0,
    99.0,
]


@pytest.mark.parametrize("name", EXACT)
def test_exact_wherever_the_formula_changes(name):
    signed = [*PLACES, *[-each for each in PLACES]] if name[:8] in ("bessel_j", "airy_ai", "spherica") else PLACES
    found = getattr(jaxvjp.special, name)(jaxvjp.tensor(signed, dtype=jaxvjp.float64)).numpy()
    expected = EXACT[name](np.array(signed))
    assert np.max(np.abs(found - expected) / (1e-4 + np.abs(expected))) < 1e-10


@pytest.mark.parametrize("name", EXACT)
def test_edges_and_types_are_torchs(name):
    def program(torch):
        function = getattr(torch.special, name)
        edges = torch.tensor([0.0, -0.0, -1.5, inf, -inf, nan, 1.0, 40.0], requires_grad=True)
        results = [function(edges), function(torch.tensor([1, 2])), function(torch.tensor([True])), function(edges[:0])]
        for own in (torch.complex64, torch.float16):
            try:
                function(torch.ones(2, dtype=own))
            except NotImplementedError as error:
                results.append(str(error))
        return results, torch.special.bessel_j0(torch.ones(1), out=torch.zeros(1))

    agree(program, 1e-5, 1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_polynomials(name):
    def program(torch):
        function = getattr(torch.special, name)
        x = torch.tensor([[1.0], [-1.0], [0.0], [0.5], [2.0], [-0.75]], dtype=torch.float64, requires_grad=True)
        results = [
            function(x, torch.tensor([-1, 0, 1, 2, 2.9, 7, 8, 13])),
            function(x, 2),
            function(0.5, x[:1].detach()),
        ]
        results += [
            function(torch.tensor([1, 2]), 3),
            function(x[:0], 4),
            function(x, torch.tensor([3], dtype=torch.uint8)),
        ]
        for bad in (lambda: function(torch.ones(2), torch.ones(3)), lambda: function(torch.ones(2).cfloat(), 2)):
            try:
                bad()
            except (RuntimeError, NotImplementedError) as error:
                results.append(str(error).partition("\n")[0])
        return results

    agree(program, 1e-9, 1e-9)


def test_hermite_polynomials_end_where_torchs_do():
    def program(torch):
        orders = torch.tensor([127.0, 129.0, 511.0, 513.0])
        return [torch.special.hermite_polynomial_he(torch.tensor(0.0, dtype=own), orders) for own in (torch.float64,)]

    agree(program)
