"""Random numbers inside `vmap`, under torch and under jaxvjp: `randomness`, and parameters that differ by example."""

from __future__ import annotations

from oracle import agreement_of, programs_of

MODES = ("error", "same", "different")


def _refusal(call):
    """The class and first line of the error that a call ends in; what it gives if in none."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0].rstrip(". ")


def drawn(torch, f, *arguments, **named):
    torch.manual_seed(3)
    return torch.vmap(f, **named)(*arguments)


def told(torch, f, *arguments, **named):
    """What each mode gives or raises."""
    results = []
    for mode in MODES:
        try:
            results.append(drawn(torch, f, *arguments, randomness=mode, **named))
        except RuntimeError as error:
            results.append(str(error).partition("\n")[0].rstrip(". "))
    return results


def rates(torch):
    return torch.arange(1.0, 13.0).reshape(3, 4)


def parameters_that_differ_by_example(torch):
    x = rates(torch)
    return [
        [told(torch, f, x), told(torch, f, x, in_dims=1), told(torch, lambda _, p, f=f: f(p), x, x, in_dims=(0, None))]
        for f in (
            lambda p: torch.bernoulli(p / 13),
            lambda p: torch.bernoulli(p, 0.5),
            torch.poisson,
            lambda p: torch.normal(p, 1.0),
            lambda p: torch.normal(0.0, p),
            lambda p: torch.normal(p, p),
            lambda p: torch.binomial(p, p / 13),
            lambda p: torch.multinomial(p, 2),
        )
    ]


def of_two_parameters_one_differs(torch):
    x, y = rates(torch), torch.tensor([1.0, 2.0, 3.0, 4.0])
    return [
        told(torch, f, *given, in_dims=dims)
        for f in (torch.normal, lambda n, p: torch.binomial(n, p / 13))
        for given, dims in (((x, y), (0, None)), ((y, x), (None, 0)), ((x, x.t()), (1, 0)))
    ]


def batches_of_batches(torch):
    x = torch.arange(1.0, 13.0).reshape(2, 3, 2)

    def nested(inner, outer):
        return drawn(torch, torch.vmap(torch.poisson, randomness=inner), x, randomness=outer)

    return nested("different", "different"), _refusal(lambda: nested("different", "same"))


def rows_of_matrices(torch):
    return drawn(
        torch,
        lambda p: torch.multinomial(p, 3, replacement=True),
        rates(torch).reshape(3, 2, 2),
        randomness="different",
    )


def written_in_place(torch):
    fills = (
        lambda t: t.normal_(),
        lambda t: t.uniform_(),
        lambda t: t.random_(100),
        lambda t: t.bernoulli_(0.3),
        lambda t: t.exponential_(),
        lambda t: t.geometric_(0.5),
    )
    return [
        [
            told(torch, fill, torch.zeros(3, 20)),
            told(torch, fill, torch.zeros(20, 3), in_dims=1),
            told(torch, lambda _, t, fill=fill: fill(t), torch.zeros(3), torch.zeros(20), in_dims=(0, None)),
        ]
        for fill in fills
    ]


def what_is_written_is_seen_outside(torch):
    x = torch.zeros(3, 4)
    y = drawn(torch, lambda row: row.uniform_(), x, randomness="different")
    return y is x, x


def coins_of_other_tensors(torch):
    x, p = torch.zeros(3, 4), rates(torch) / 13
    q, z = p[0].clone(), torch.zeros(4)

    def flip(t, chances):
        return t.bernoulli_(chances)

    return (
        told(torch, flip, x, p),
        told(torch, flip, x, q, in_dims=(0, None)),
        told(torch, flip, z, p, in_dims=(None, 0)),
        told(torch, lambda t, chances, _: flip(t, chances), z, q, x, in_dims=(None, None, 0)),
    )


def numbers_of_distributions(torch):
    x = torch.tensor([[0.5, 20.0], [300.0, 2.0]], dtype=torch.float64)

    def gamma(shape):
        return torch.distributions.Gamma(shape, torch.ones(2), validate_args=False).rsample()

    return drawn(torch, gamma, x, randomness="different")


def gradients_of_parameters(torch):
    torch.manual_seed(3)
    f = torch.func.grad(lambda p: (torch.normal(p, 1.0) * p).sum())
    return torch.vmap(f, randomness="different")(rates(torch))


def what_is_refused(torch):
    x, y = torch.zeros(3), torch.zeros(3)
    return [
        _refusal(lambda f=f: torch.vmap(f, randomness="same")(x))
        for f in (
            lambda _: torch.randn(3, out=y),
            lambda _: torch.rand(3, out=y),
            lambda _: torch.normal(y, y, out=y),
            lambda _: torch.randperm(3, out=y.long()),
            lambda _: torch.rrelu(y),
        )
    ]


test_agrees_with_torch = agreement_of(programs_of(globals()), rtol=5e-6, atol=2e-6)
