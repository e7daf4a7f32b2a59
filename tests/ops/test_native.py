"""Functions named after torch's kernels, and low-rank decompositions, beyond torch's samples."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import agree

KERNELS = """
torch.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5); torch.native_group_norm(x, w, w, 2, 4, 3, 4, 1e-5)
torch.native_group_norm(x, None, None, 2, 4, 3, 3, 1e-5); torch.native_group_norm(x, x[0, 0], None, 2, 4, 3, 2, 1e-5)
torch.native_batch_norm(x, w, None, None, None, True, 0.1, 1e-5); torch._native_batch_norm_legit(x, w, w, True, 0.1, 0)
torch._native_batch_norm_legit(x, None, None, torch.zeros(4), torch.ones(4), False, 0.1, 1e-5)
torch.grid_sampler(x[None], g, 0, 2, True); torch.grid_sampler_2d(x[None], g, 1, 1, False)
torch.grid_sampler(x[None], g, 2, 0, False); torch.grid_sampler(x, g, 0, 0, False)
torch.affine_grid_generator(x[:, :2], (2, 1, 2, 3), False)
torch.native_dropout(x, 0.5, False); torch.detach(x); torch.dropout(x, 0.5, True); torch.dropout(x, 0.5, False)
torch.batch_norm(x, w, w, None, None, True, 0.1, 1e-5, False); torch.embedding(w[:, None], torch.tensor([[0, 3]]))
torch.instance_norm(x, w, w, None, None, True, 0.1, 1e-5, False); torch.embedding(w[:, None], torch.tensor([4]))
torch.is_same_size(x, w); torch.native_dropout(x[:0], 0.5, True)
torch._softmax_backward_data(x, x.softmax(1), 1, torch.float32); (9 * x.abs()).byte(); x.char(); x.__rdiv__(2.0)
torch._unsafe_masked_index(x, torch.tensor([[[True]], [[False]]]), [torch.tensor([1, 7])], 5.0)
torch._unsafe_masked_index_put_accumulate(x, torch.tensor([[True], [False]]), [torch.tensor([1, 1])], x[:, 0])
torch._chunk_cat([w, w[1:]], 0, 3); torch._chunk_cat([g.cfloat(), g[:, 0].cfloat()], 0, 3)
"""
LOW_RANK = """
torch.svd_lowrank(m, 2)[1]; torch.svd_lowrank(m.mT, q=3, niter=0)[1]; torch.svd_lowrank(m, 3, M=m / 2)[1]
torch.svd_lowrank(m)[1]; torch.pca_lowrank(m)[1]; torch.pca_lowrank(m, 2, center=False)[1]; torch.pca_lowrank(m, 6)[1]
torch.pca_lowrank(m, 2, niter=-1)[1]; torch.pca_lowrank(m, 2)[2].abs()
torch.lobpcg(s, 2, niter=99, tol=1e-9)[0]; torch.lobpcg(s, 2, niter=99, tol=1e-9, largest=False)[1].abs()
torch.lobpcg(s, 2, B=9 * torch.eye(9).double() + s.detach() / 9, niter=99, tol=1e-9)[0].detach(); torch.lobpcg(s, 4)
[torch.manual_seed(3), torch.lobpcg(s.detach().expand(2, 9, 9), 2), torch.rand(2, requires_grad=True) * s[0, 0]][2]
torch.lobpcg(s, X=s.detach()[:, :1], niter=99, tol=1e-9)[0]; torch.lobpcg(s[None].expand(2, 9, 9), 1, niter=99)[0]
torch.lobpcg(s.detach() + s.detach().triu(1) / 2000, 1, niter=99, tol=1e-9)[0]
"""


def lines(text):
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


def called(line):
    def program(torch):
        numbers = np.random.RandomState(0)
        x = torch.tensor(numbers.randn(2, 4, 3).astype(np.float32), requires_grad=True)
        m = torch.tensor(numbers.randn(7, 4), requires_grad=True)
        square = torch.tensor(numbers.randn(9, 9), requires_grad=True)
        w, g = torch.tensor([1.0, 2.0, -1.0, 0.5]), torch.tensor(numbers.randn(1, 2, 5, 2).astype(np.float32))
        names = {"torch": torch, "x": x, "w": w, "g": g, "m": m, "s": square + square.mT}
        torch.manual_seed(4)
        result = eval(line, names)
        first = result[0] if isinstance(result, tuple) else result
        if isinstance(first, bool) or not first.requires_grad:
            return result
        return result, torch.autograd.grad(first, (x, m, square), torch.ones_like(first), allow_unused=True)

    return program


@pytest.mark.parametrize("line", lines(KERNELS))
def test_kernels(line):
    agree(called(line), 1e-5, 1e-5)


@pytest.mark.parametrize("line", lines(LOW_RANK))
def test_low_rank(line):
    agree(called(line), 1e-6, 1e-6)


def test_running_statistics_move():
    def program(torch):
        x, mean, variance = torch.tensor([[1.0, 2.0], [3.0, 6.0]]), torch.zeros(2), torch.ones(2)
        return torch._native_batch_norm_legit(x, None, None, mean, variance, True, 0.5, 1e-5), mean, variance

    agree(program, 1e-5, 1e-5)
