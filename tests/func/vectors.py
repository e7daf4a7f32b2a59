"""Data for the tests of `func`: a vector, a matrix, and weights."""

from __future__ import annotations


def vector(torch, dtype=None):
    return torch.tensor([1.0, 2.0, 3.0], dtype=dtype)


def matrix(torch):
    return torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.5]])


def weights(torch):
    return torch.tensor([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]])
