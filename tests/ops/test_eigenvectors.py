"""Gradients of `linalg.eigh`, as matrices: torch's are Hermitian, whichever triangle is read."""

from __future__ import annotations

import pytest
from oracle import agree

import jaxvjp

LOSSES = {
    "values": lambda values, vectors: values.sin().sum(),
    "squares": lambda values, vectors: (vectors.abs() ** 4 * weights(vectors)).sum(),
    "both": lambda values, vectors: (vectors.abs() * values.unsqueeze(-2)).square().sum() + vectors.abs().sum(),
    "projections": lambda values, vectors: (projections(vectors).abs() * weights(vectors)).sum(),
}
"""None depends on the phases, or signs, of eigenvectors."""


def weights(vectors):
    return type(vectors).cumsum(vectors.abs() * 0 + 1, -1) + type(vectors).cumsum(vectors.abs() * 0 + 2, -2)


def projections(vectors):
    first = vectors[..., :1]
    return first @ first.mH


def matrix(torch, shape, kind, hermitian=True):
    own = torch.float64
    made = torch.arange(float(torch.tensor(shape).prod()), dtype=own).reshape(shape).sin() * 3
    if kind == "complex":
        made = torch.complex(made, (made * 2).cos())
    return made + made.mH if hermitian else made


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("side", ["L", "U"])
def test_gradients(loss, kind, side):
    def program(torch):
        found = []
        for shape in ((3, 3), (2, 4, 4), (0, 0), (2, 0, 0), (1, 1, 2, 2)):
            for hermitian in (True, False):
                x = matrix(torch, shape, kind, hermitian).requires_grad_()
                value = LOSSES[loss](*torch.linalg.eigh(x, side))
                (gradient,) = torch.autograd.grad(value, x, create_graph=True)
                found += [value.detach(), gradient.detach()]
        return found

    agree(program, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_second_derivatives(kind):
    def program(torch):
        x = matrix(torch, (3, 3), kind).requires_grad_()
        (first,) = torch.autograd.grad(LOSSES["both"](*torch.linalg.eigh(x)), x, create_graph=True)
        (second,) = torch.autograd.grad((first.abs() ** 2).sum(), x)
        return first.detach(), (second + second.mH) / 2

    agree(program, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("loss", LOSSES)
def test_finite_differences(kind, loss):
    """Along Hermitian directions, the only ones in which the matrix can change."""
    x, along = matrix(jaxvjp, (3, 3), kind), matrix(jaxvjp, (3, 3), kind).cos()
    along = along + along.mH

    def f(matrix):
        return LOSSES[loss](*jaxvjp.linalg.eigh(matrix))

    leaf = x.clone().requires_grad_()
    f(leaf).backward()
    assert jaxvjp.equal(leaf.grad, leaf.grad.mH) or jaxvjp.allclose(leaf.grad, leaf.grad.mH, atol=1e-12)
    slope = (f(x + 1e-6 * along) - f(x - 1e-6 * along)) / 2e-6
    assert (leaf.grad.conj() * along).sum().real.item() == pytest.approx(slope.item(), rel=1e-6)


def test_the_other_triangle_is_not_read():
    def program(torch):
        found = []
        for side in "LU":
            x = matrix(torch, (3, 3), "real")
            strict = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
            x = x.masked_fill(strict if side == "L" else strict.mT, float("nan")).requires_grad_()
            values, vectors = torch.linalg.eigh(x, side)
            (values.sum() + vectors.abs().sum()).backward()
            found += [values.detach(), vectors.detach().abs(), x.grad]
        return found

    agree(program, rtol=1e-8, atol=1e-10)


def test_what_it_is_made_of():
    """`eigvalsh`, norms, ranks and factors by it."""

    def program(torch):
        x, found = matrix(torch, (3, 3), "real").requires_grad_(), []
        for f in (
            lambda x: torch.linalg.eigvalsh(x, UPLO="U").sin().sum(),
            lambda x: torch.linalg.cond(x, 2),
            lambda x: torch.linalg.pinv(x, hermitian=True).sin().sum(),
            lambda x: torch.linalg.matrix_norm(x, 2),
        ):
            found += torch.autograd.grad(f(x), x)
        return found

    agree(program, rtol=1e-7, atol=1e-9)
