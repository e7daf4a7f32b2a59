"""Inside of `vmap`: one number of each example as a position, read by nobody."""

import pytest
from oracle import agree

READ = {
    "position": lambda a, j: a[0, j],
    "row": lambda a, j: a[j],
    "column": lambda a, j: a[:, j],
    "last": lambda a, j: a[..., j],
    "two": lambda a, j: a[j, j],
    "beside a slice": lambda a, j: a[1:, j],
    "beside None": lambda a, j: a[None, j],
    "beside a list": lambda a, j: a[[0, 1], j],
    "from the end": lambda a, j: a[:, -j - 1],
    "in a tuple": lambda a, j: a[(j,)],
    "of 32 bits": lambda a, j: a[j.int()],
}


@pytest.mark.parametrize("name", READ)
def test_read(name):
    def program(torch):
        x = torch.arange(27.0).view(3, 3, 3).requires_grad_()
        found = torch.func.vmap(READ[name])(x, torch.tensor([0, 2, 1]))
        (found**2).sum().backward()
        return found, x.grad

    assert agree(program).error is None


def test_of_something_outside_and_nested():
    def program(torch):
        x, at = torch.arange(12.0).view(3, 4), torch.tensor([0, 2, 1])
        nested = torch.func.vmap(torch.func.vmap(lambda a, j: a[j], (None, 0)), (0, None))
        return torch.func.vmap(lambda j: x[:, j])(at), nested(x, at)

    assert agree(program).error is None


def test_written():
    def program(torch):
        def put(a, j):
            a = a.clone()
            a[j] = a.sum()
            a[0, j] *= 2
            return a

        x = torch.arange(27.0).view(3, 3, 3).requires_grad_()
        found = torch.func.vmap(put)(x, torch.tensor([0, 2, 1]))
        (found**2).sum().backward()
        return found, x.grad

    assert agree(program).error is None


def test_through_grad_where_torch_reads_it():
    import jaxvjp as torch

    def loss(w, a, j):
        return -(a * w).log_softmax(0)[j]

    x, at = torch.arange(12.0).view(3, 4), torch.tensor([0, 2, 1])
    found = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(torch.ones(4), x, at)
    alone = torch.stack([torch.func.grad(loss)(torch.ones(4), a, j) for a, j in zip(x, at, strict=True)])
    assert torch.allclose(found, alone)


def test_what_has_to_be_a_number_is_refused():
    def program(torch):
        return torch.func.vmap(lambda a, j: a[:j])(torch.ones(3, 4), torch.tensor([0, 2, 1]))

    agree(program, raises=RuntimeError)
