"""Transforms and constraints against torch: values, inverses, Jacobians, shapes, equality, and the registries."""

from __future__ import annotations

import pytest
from oracle import agree
from test_distributions import attempt

ROWS = [
    ("ExpTransform()", (2, 3)),
    ("ExpTransform().inv.inv", (2, 3)),
    ("ExpTransform(cache_size=1)", (3,)),
    ("SigmoidTransform()", (2, 3)),
    ("TanhTransform()", (2, 3)),
    ("SoftplusTransform()", (2, 3)),
    ("AbsTransform()", (3,)),
    ("AffineTransform(0.5, -2.0)", (2, 3)),
    ("AffineTransform(torch.ones(3), torch.tensor([1.0, 2.0, 3.0]), event_dim=1)", (2, 3)),
    ("AffineTransform(0.5, -2.0).with_cache()", (2,)),
    ("ComposeTransform([ExpTransform(), PowerTransform(torch.tensor(1.5)), AffineTransform(1.0, 2.0)])", (3,)),
    ("ComposeTransform([AffineTransform(0.0, 2.0), StickBreakingTransform()])", (2, 3)),
    ("ComposeTransform([StickBreakingTransform(), SigmoidTransform()]).with_cache()", (2, 3)),
    ("identity_transform", (2,)),
    ("IndependentTransform(TanhTransform(), 1)", (2, 3)),
    ("ReshapeTransform((2, 3), (6,))", (4, 2, 3)),
    ("StickBreakingTransform()", (2, 3)),
    ("SoftmaxTransform()", (2, 3)),
    ("LowerCholeskyTransform()", (2, 3, 3)),
    ("CorrCholeskyTransform()", (2, 6)),
    ("PositiveDefiniteTransform()", (2, 2)),
    ("CumulativeDistributionTransform(Normal(0.5, 2.0))", (3,)),
    ("StackTransform([ExpTransform(), AffineTransform(0.5, -2.0)], 1)", (3, 2)),
    ("StackTransform([ExpTransform(), AffineTransform(0.5, -2.0)], -1, cache_size=1)", (2,)),
    ("CatTransform([ExpTransform(), TanhTransform()])", (2, 3)),
    ("CatTransform([ExpTransform(), TanhTransform()], -1, [1, 2]).with_cache()", (2, 3)),
    ("CatTransform([IndependentTransform(ExpTransform(), 1), TanhTransform()], -1, [1, 2])", (2, 3)),
]
CONSTRAINTS = [
    "real",
    "positive",
    "nonnegative",
    "unit_interval",
    "simplex",
    "lower_cholesky",
    "positive_definite",
    "real_vector",
    "boolean",
    "interval(-1.0,2.0)",
    "half_open_interval(0,1)",
    "greater_than(2.0)",
    "greater_than_eq(-1)",
    "less_than(1.0)",
    "square",
    "symmetric",
    "independent(positive,1)",
    "dependent",
    "one_hot",
    "nonnegative_integer",
    "positive_integer",
    "integer_interval(0,3)",
    "lower_triangular",
    "corr_cholesky",
    "positive_semidefinite",
    "multinomial(2)",
]
VALUES = [
    [0.5, 0.5, 0.0],
    [1.0, 0.0, 0.0],
    [2.0, -1.0, float("nan")],
    [[1.0, 0.0], [0.0, 1.0]],
    [[2.0, 0.5], [0.5, 0.3]],
    [[1.0, 2.0], [2.0, 1.0]],
]


def names(torch):
    return vars(torch.distributions) | {"torch": torch}


@pytest.mark.parametrize(
    "text",
    [
        *("StackTransform([ExpTransform()])", "StackTransform([ExpTransform()], 1)", "StackTransform([torch.exp])"),
        *("CatTransform([ExpTransform(), AbsTransform()], 0, [1, 3])", "CatTransform([ExpTransform()], 0, [1, 3])"),
        *("CatTransform([ExpTransform(), AbsTransform()], 0, [1, 2])", "CatTransform([ExpTransform()], 2)"),
    ],
)
def test_transforms_of_parts_that_do_not_fit(text):
    def program(torch):
        t, x = eval(text, names(torch)), torch.ones(3)
        return [attempt(lambda: t(x)), attempt(lambda: t.inv(x)), attempt(lambda: t.log_abs_det_jacobian(x, x))]

    agree(program)


@pytest.mark.parametrize(("text", "shape"), ROWS)
def test_transform(text, shape):
    def program(torch):
        torch.manual_seed(0)
        t, x = eval(text, names(torch)), torch.randn(shape).requires_grad_()
        y = t(x)
        told = [repr(t), repr(t.inv), t.bijective, repr(t.domain), repr(t.codomain), attempt(lambda: t.event_dim)]
        told += [y, t.inv(y), t.forward_shape(x.shape), t.inverse_shape(y.shape), t(x) is y, t.inv.inv is t]
        told += [
            attempt(lambda: t.inv.inverse_shape(torch.Size([2, 2]))),
            attempt(lambda: t.forward_shape(torch.Size())),
        ]
        told += [attempt(lambda: t.sign), attempt(lambda: t.log_abs_det_jacobian(x, y))]
        told += [attempt(lambda: t.inv.log_abs_det_jacobian(y.detach(), x)), t == t.inv, t == eval(text, names(torch))]
        return [*told, torch.autograd.grad((y * torch.arange(y.numel()).reshape(y.shape)).sum(), x)]

    assert agree(program, rtol=2e-5, atol=2e-5).raised is None


def test_equality_and_errors():
    def program(torch):
        D = torch.distributions  # noqa: N806
        affine, power = D.AffineTransform, D.PowerTransform
        told = [affine(1.0, 2.0) == affine(1.0, 2.0), affine(1.0, 2.0) != affine(1.0, 3.0)]
        told += [affine(torch.ones(2), 2.0) == affine(torch.ones(2), 2.0), D.ExpTransform() == D.AbsTransform()]
        told += [power(2.0) == power(2.0), D.ComposeTransform([power(2.0)]) == D.ComposeTransform([power(2.0)])]
        wrong = ["ExpTransform(cache_size=2)", "ReshapeTransform((2,), (3,))", "StickBreakingTransform().event_dim"]
        wrong += [
            "IndependentTransform(ExpTransform(), 2)(torch.ones(3))",
            "StickBreakingTransform().forward_shape(())",
        ]
        wrong += [
            "ReshapeTransform((2,), (1, 2)).forward_shape(torch.Size([3]))",
            "AbsTransform().sign",
            "Transform()(1)",
        ]
        wrong += [
            "transform_to(constraints.one_hot)",
            "biject_to(constraints.lower_cholesky)",
            "biject_to.register(3)(4)",
        ]
        return [*told, *[attempt(lambda text=text: repr(eval(text, names(torch)))) for text in wrong]]

    agree(program)


def test_constraints():
    def program(torch):
        D, told = torch.distributions, {}  # noqa: N806
        for text in CONSTRAINTS:
            each = eval(text, vars(D.constraints))
            found = [attempt(lambda each=each: [repr(each), each.is_discrete, each.event_dim])]
            found += [attempt(lambda each=each, value=value: each.check(torch.tensor(value))) for value in VALUES]
            for registry in (D.transform_to, D.biject_to):
                found.append(attempt(lambda each=each, registry=registry: repr(registry(each))))
            told[text] = [D.constraints.is_dependent(each), *found]
        more = D.constraints.dependent(event_dim=1)
        return told, more.event_dim, attempt(lambda: more.is_discrete), D.Uniform.support.event_dim

    agree(program)


@pytest.mark.parametrize("diagonal", [0, -1, -2, 1])
def test_triangles_as_vectors(diagonal):
    def program(torch):
        transforms = torch.distributions.transforms  # they are in `utils`, too
        from_vector, to_vector = transforms.vec_to_tril_matrix, transforms.tril_matrix_to_vec
        matrix = torch.arange(16.0).reshape(4, 4).requires_grad_()
        vector = to_vector(matrix, diagonal)
        again = from_vector(vector, diagonal)
        again.square().sum().backward()
        wrong = [attempt(lambda: to_vector(matrix, 9)), attempt(lambda: from_vector(torch.ones(5)))]
        return vector, again, matrix.grad, wrong

    assert agree(program).raised is None
