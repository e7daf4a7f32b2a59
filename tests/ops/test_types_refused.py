"""Dtypes and arguments that torch refuses, in its words: losses, distances, ranks, indices, products."""

from __future__ import annotations

import pytest
from oracle import agree

LOSSES = (
    *("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
    *("kl_div", "l1_loss"),
)
KINDS = {"complex": [0.5 + 0.5j], "integers": [1]}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_of_what_is_no_real_number(loss, kind):
    def program(torch):
        x = torch.tensor(KINDS[kind])
        return getattr(torch.nn.functional, loss)(x, x, reduction="sum" if loss == "l1_loss" else "mean")

    agree(program)


CALLS = {
    "targets of probabilities": lambda torch: torch.nn.functional.binary_cross_entropy(
        torch.tensor([0.5]), torch.tensor([1])
    ),
    "targets in double": lambda torch: torch.nn.functional.binary_cross_entropy(
        torch.tensor([0.5]), torch.tensor([1.0], dtype=torch.float64)
    ),
    "targets of logits": lambda torch: torch.nn.functional.binary_cross_entropy_with_logits(
        torch.tensor([0.5]), torch.tensor([1])
    ),
    "a mean of integers": lambda torch: torch.nn.functional.l1_loss(torch.tensor([1]), torch.tensor([2])),
    "weights in double": lambda torch: torch.nn.functional.cross_entropy(
        torch.ones(1, 3), torch.tensor([1]), weight=torch.ones(3, dtype=torch.float64)
    ),
    "scores that are integers": lambda torch: torch.nn.functional.cross_entropy(
        torch.ones(1, 3, dtype=torch.int64), torch.tensor([1])
    ),
    "scores of pixels that are integers": lambda torch: torch.nn.functional.cross_entropy(
        torch.ones(1, 3, 2, dtype=torch.int64), torch.tensor([[1, 1]])
    ),
    "too smooth": lambda torch: torch.nn.functional.cross_entropy(
        torch.ones(1, 3), torch.tensor([1]), label_smoothing=1.5
    ),
    "pdist of integers": lambda torch: torch.pdist(torch.ones(2, 2, dtype=torch.int64)),
    "pdist of complex numbers": lambda torch: torch.pdist(torch.ones(2, 2, dtype=torch.complex64)),
    "pdist of 16 bits": lambda torch: torch.pdist(torch.ones(2, 2, dtype=torch.float16)),
    "cdist of 16 bits": lambda torch: torch.cdist(*[torch.ones(2, 2, dtype=torch.bfloat16)] * 2),
    "cdist of order 1": lambda torch: torch.cdist(*[torch.ones(30, 2, dtype=torch.float16)] * 2, p=1.0),
    "cdist of two types": lambda torch: torch.cdist(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)),
    "cdist of an integer": lambda torch: torch.cdist(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.int64)),
    "cdist of a mode": lambda torch: torch.cdist(torch.ones(2, 2), torch.ones(2, 2), compute_mode="foo"),
    "cosines of integers": lambda torch: torch.cosine_similarity(*[torch.ones(2, 2, dtype=torch.int64)] * 2),
    "cosines of complex numbers": lambda torch: torch.cosine_similarity(torch.ones(2, 2) * 1j, torch.ones(2, 2)),
    "cosines with a negative bound": lambda torch: torch.cosine_similarity(torch.ones(2, 2), torch.ones(2, 2), eps=-1),
    "addcmul of masks": lambda torch: torch.addcmul(*[torch.tensor([True])] * 3, value=0.5),
    "topk of masks": lambda torch: torch.tensor([True]).topk(1),
    "topk of complex numbers": lambda torch: torch.tensor([1j]).topk(1),
    "kthvalue of masks": lambda torch: torch.tensor([True]).kthvalue(1),
    "kthvalue of complex numbers": lambda torch: torch.tensor([1j]).kthvalue(1),
    "median of masks": lambda torch: torch.tensor([True]).median(),
    "median of complex numbers": lambda torch: torch.tensor([1j]).nanmedian(),
    "median of masks along": lambda torch: torch.tensor([True]).median(0),
    "mode of complex numbers": lambda torch: torch.tensor([1j]).mode(),
    "order of complex numbers": lambda torch: torch.tensor([1j]).argsort(),
    "indices of 8 bits": lambda torch: torch.arange(3)[torch.tensor([1], dtype=torch.int8)],
    "indices of 16 bits": lambda torch: torch.arange(4).reshape(2, 2)[:, torch.tensor([1], dtype=torch.int16)],
    "places of 8 bits": lambda torch: torch.arange(3).index_put(
        (torch.tensor([1], dtype=torch.int8),), torch.tensor(5)
    ),
    "vander of 16 bits": lambda torch: torch.linalg.vander(torch.ones(2, dtype=torch.float16)),
    "vander of masks": lambda torch: torch.linalg.vander(torch.tensor([True])),
    "vecdot of integers": lambda torch: torch.linalg.vecdot(*[torch.ones(2, dtype=torch.int64)] * 2),
    "reflections of 16 bits": lambda torch: torch.linalg.householder_product(
        torch.eye(2, dtype=torch.float16), torch.ones(2, dtype=torch.float16)
    ),
    "ormqr of 16 bits": lambda torch: torch.ormqr(
        torch.eye(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16), torch.eye(2, dtype=torch.bfloat16)
    ),
    "rank of a vector": lambda torch: torch.linalg.matrix_rank(torch.ones(2)),
    "cond of a vector": lambda torch: torch.linalg.cond(torch.ones(2)),
    "no bins": lambda torch: torch.histc(torch.ones(2), 0),
    "renorm of order 0": lambda torch: torch.renorm(torch.ones(2, 2), 0, 0, 1.0),
    "a table of integers": lambda torch: torch.nn.functional.embedding_bag(
        torch.tensor([0]), torch.ones(2, 2, dtype=torch.int64), torch.tensor([0])
    ),
    "sparse maxima": lambda torch: torch.nn.functional.embedding_bag(
        torch.tensor([0]), torch.ones(2, 2), torch.tensor([0]), mode="max", sparse=True
    ),
    "a table and numbers": lambda torch: torch.nn.functional.embedding(torch.ones(2, 2), torch.tensor([0])),
    "nothing to cut off": lambda torch: torch.nn.utils.clip_grad_value_([torch.nn.Parameter(torch.zeros(2))], 0.5),
    "conjugates as pairs": lambda torch: torch.view_as_real(torch.tensor([1j]).conj()),
    "one conjugate as a pair": lambda torch: torch.view_as_real(torch.tensor([1j, 2j]).conj()[1]),
}


@pytest.mark.parametrize("call", CALLS)
def test_refused(call):
    assert agree(CALLS[call]).raised


def test_the_largest_of_an_empty_gradient():
    def program(torch, foreach=None):
        p = torch.nn.Parameter(torch.zeros(0))
        p.grad = torch.zeros(0)
        return torch.nn.utils.clip_grad_norm_([p], 1.0, float("inf"), foreach=foreach)

    agree(program, raises=RuntimeError)
    agree(lambda torch: program(torch, False), raises=RuntimeError)


def test_r_alone_has_no_derivative():
    def program(torch, mode="r", backward=True):
        a = torch.tensor([[1.0, 2, 3], [0, 4, 5]], dtype=torch.float64, requires_grad=True)
        found = torch.linalg.qr(a, mode=mode)
        if backward:
            found.R.sum().backward()
        return found.Q, found.R, a.grad

    agree(program, raises=RuntimeError)
    agree(lambda torch: program(torch, backward=False))
    agree(lambda torch: program(torch, "reduced"))


STILL_TAKEN = {
    "cdist by products": lambda torch: torch.cdist(*[torch.ones(30, 2, dtype=torch.float16)] * 2),
    "cdist of a mode": lambda torch: torch.cdist(*[torch.eye(2)] * 2, compute_mode="donot_use_mm_for_euclid_dist"),
    "smoothing below 0": lambda torch: torch.nn.functional.cross_entropy(
        torch.tensor([[1.0, 2.0, 0.5]]), torch.tensor([1]), label_smoothing=-0.1
    ),
    "two types": lambda torch: torch.nn.functional.mse_loss(torch.ones(2), torch.zeros(2, dtype=torch.float64)),
    "one index of 8 bits": lambda torch: torch.arange(3)[torch.tensor(1, dtype=torch.int8)],
    "indices of 32 bits": lambda torch: torch.arange(3)[torch.tensor([1], dtype=torch.int32)],
    "conjugates of conjugates": lambda torch: torch.view_as_real(torch.tensor([1j]).conj().conj()),
    "a copy of conjugates": lambda torch: torch.view_as_real(torch.tensor([1j]).conj().clone()),
    "mode of masks": lambda torch: torch.tensor([True, False, True]).mode().values,
    "bins of whole numbers": lambda torch: torch.histc(torch.arange(116.0, 129), bins=151, min=0, max=151),
    # The thirds are Python's: XLA divides a tensor by a number through its reciprocal, and rounds otherwise.
    "bins of thirds": lambda torch: torch.histc(
        torch.tensor([each / 30 for each in range(-30, 60)]), bins=9, min=-1, max=2
    ),
    "nothing counted": lambda torch: torch.bincount(torch.tensor([], dtype=torch.int64), torch.tensor([]), minlength=2),
    "bags in the old order": lambda torch: torch.nn.functional.embedding_bag(
        torch.ones(3, 2), torch.tensor([0, 1]), torch.tensor([0])
    ),
    "vecdot of 16 bits": lambda torch: torch.linalg.vecdot(*[torch.ones(2, dtype=torch.float16)] * 2),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", STILL_TAKEN)
def test_taken(call):
    assert agree(STILL_TAKEN[call]).raised is None
