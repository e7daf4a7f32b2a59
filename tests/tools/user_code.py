"""User code for type checkers, which have to report the lines that end with `# wrong`, and no others."""

from __future__ import annotations

from typing import assert_type

import jaxvjp as torch
import jaxvjp.nn.functional as F  # noqa: N812 - as torch's users import it
from jaxvjp import Tensor, linalg
from jaxvjp.autograd import Function

x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
w = torch.randn(2, 2, dtype=torch.float32)
i = torch.arange(0, 6, 2)
assert_type(x, Tensor)
assert_type(i, Tensor)

# Operators.
assert_type(x * 2, Tensor)
assert_type(2 * x + x / 3.0 - x**2, Tensor)
assert_type(1 - x, Tensor)
assert_type(x @ w, Tensor)
assert_type(-x, Tensor)
assert_type(x > 0, Tensor)
assert_type(x == w, Tensor)
assert_type((x > 0) & (x < 1) | ~(x != 2), Tensor)
assert_type(i // 2 % 3 << 1, Tensor)
assert_type(x[0, :], Tensor)
x[0] = 1.0
w += x
w *= 2
x - "two"  # wrong
x + [1.0, 2.0]  # wrong
x @ None  # wrong
-x.shape  # wrong

# Methods and properties.
assert_type(x.sum(dim=0), Tensor)
assert_type(x.sum(), Tensor)
assert_type(x.mean((0, 1), keepdim=True).sqrt(), Tensor)
assert_type(x.reshape(4).view(2, 2).permute(1, 0).view((4,)), Tensor)
assert_type(x.max(), Tensor)
assert_type(x.max(1).values, Tensor)
assert_type(x.to(torch.float64).cpu(), Tensor)
assert_type(x.to("cpu", torch.float64), Tensor)
assert_type(x.mul_(2).add_(1, alpha=0.5), Tensor)
assert_type(x.T @ x.mT, Tensor)
assert_type(x.shape, torch.Size)
assert_type(x.shape.numel() + x.ndim + x.dim() + x.numel(), int)
assert_type(x.dtype, torch.dtype)
assert_type(x.device, torch.device)
assert_type(x.requires_grad, bool)
assert_type(x.is_leaf, bool)
assert_type(x.is_floating_point(), bool)
assert_type(x.split(1), tuple[Tensor, ...])
assert_type(x.data_ptr(), int)
values, indices = x.topk(1)
assert_type(indices, Tensor)
for row in x:
    assert_type(row, Tensor)
x.summ()  # wrong
x.sum(dims=0)  # wrong
x.sum(dim="rows")  # wrong
x.sum(0, keepdim="yes")  # wrong
x.reshape("2")  # wrong
x.permute(1.5)  # wrong
x.add_(1, beta=2)  # wrong
x.add("1")  # wrong
x.requires_grad_(True).nothing  # wrong
x.shape.elements  # wrong
x.max(1).value  # wrong
x.clamp(minimum=0)  # wrong

# Functions.
assert_type(torch.sin(x), Tensor)
assert_type(torch.sum(x, dim=(0, 1), dtype=torch.float64), Tensor)
assert_type(torch.add(x, 1, alpha=2), Tensor)
assert_type(torch.exp(x, out=torch.empty(2, 2)), Tensor)
assert_type(torch.stack([x, w], dim=1), Tensor)
assert_type(torch.cat((x, w)), Tensor)
assert_type(torch.where(x > 0, x, 0.0), Tensor)
assert_type(torch.where(x > 0), tuple[Tensor, ...])
assert_type(torch.max(x, dim=1).indices, Tensor)
assert_type(torch.var_mean(x, 0), tuple[Tensor, Tensor])
assert_type(torch.exp_(w), Tensor)
assert_type(torch.einsum("ij,jk->ik", x, w), Tensor)
assert_type(torch.is_tensor(x), bool)
assert_type(torch.pi + torch.e + torch.inf, float)
torch.sine(x)  # wrong
torch.sin(1.0)  # wrong
torch.sin(x, dim=0)  # wrong
torch.sin()  # wrong
torch.sum(x, dimension=0)  # wrong
torch.stack(x)  # wrong
torch.cat([x, 1])  # wrong
torch.add(x, 1, 2, 3)  # wrong
torch.bitwise_not_(i)  # wrong
torch.core  # wrong

# Tensors that are made.
assert_type(torch.zeros(2, 3), Tensor)
assert_type(torch.zeros((2, 3), dtype=torch.int64, device="cpu"), Tensor)
assert_type(torch.ones(size=(2, 3)), Tensor)
assert_type(torch.full((2,), 3.0), Tensor)
assert_type(torch.zeros_like(x, dtype=torch.float64), Tensor)
assert_type(x.new_zeros(2, 3), Tensor)
assert_type(torch.arange(3), Tensor)
assert_type(torch.arange(start=0, end=3, step=0.5), Tensor)
assert_type(torch.linspace(0, 1, 5), Tensor)
assert_type(torch.eye(3), Tensor)
assert_type(torch.rand(2, 2, generator=torch.Generator().manual_seed(1)), Tensor)
assert_type(torch.randint(0, 5, (2, 2)), Tensor)
assert_type(torch.randn_like(x), Tensor)
torch.zeros("2")  # wrong
torch.zeros(2, dtype="float")  # wrong
torch.zeros(2, requires_gradient=True)  # wrong
torch.full((2,))  # wrong
torch.linspace(0, 1)  # wrong
torch.tensor([1.0], type=torch.float32)  # wrong
torch.float33  # wrong
torch.zeros_like(x, size=2)  # wrong

# Namespaces.
u, s, vh = linalg.svd(x)
assert_type(s, Tensor)
assert_type(linalg.svd(x, full_matrices=False).Vh, Tensor)
assert_type(torch.linalg.norm(x), Tensor)
assert_type(linalg.lstsq(x, w).solution, Tensor)
assert_type(torch.fft.fft(x), Tensor)
assert_type(torch.fft.fftfreq(4, d=0.5), Tensor)
assert_type(torch.special.erf(x), Tensor)
assert_type(torch.masked.sum(x, 0, mask=x > 0), Tensor)
assert_type(torch.signal.windows.hann(5, sym=False), Tensor)
assert_type(F.relu(x, inplace=True), Tensor)
assert_type(F.cross_entropy(x, torch.tensor([0, 1]), reduction="sum"), Tensor)
assert_type(F.conv2d(x[None, None], w[None, None], padding="same", stride=(1, 1)), Tensor)
assert_type(F.max_pool2d(x[None], 2), Tensor)
assert_type(F.max_pool2d(x[None], 2, return_indices=True), tuple[Tensor, Tensor])
assert_type(torch.nn.functional.softmax(x, dim=-1), Tensor)
linalg.svdd(x)  # wrong
linalg.norm(x, order=2)  # wrong
torch.fft.fft(x, d=1)  # wrong
torch.special.beta(x)  # wrong
torch.masked.sum(x, masks=x > 0)  # wrong
torch.signal.windows.hann(5, symmetric=False)  # wrong
F.relu_all(x)  # wrong
F.relu("x")  # wrong
F.cross_entropy(x, w, reduce_="sum")  # wrong
linalg.published  # wrong

# Gradients.
y = (x * x).sum()
y.backward()
y.backward(torch.tensor(1.0), retain_graph=True)
assert_type(x.grad, Tensor | None)
(g,) = torch.autograd.grad(y, [x], create_graph=True)
assert_type(torch.autograd.grad(y, x)[0], Tensor)
assert_type(x.detach().requires_grad_(), Tensor)
with torch.no_grad():
    x -= 0.1 * x
with torch.enable_grad(), torch.inference_mode():
    pass
x.retain_grad()
x.register_hook(lambda gradient: gradient * 2).remove()
x.grad.sum()  # wrong
y.backward(gradients=None)  # wrong
y.backward("1")  # wrong
x.grad = 1.0  # wrong
x.register_hook(2)  # wrong


@torch.no_grad()
def evaluate(batch: Tensor) -> Tensor:
    return batch * 2


assert_type(evaluate(x), Tensor)
evaluate(1)  # wrong


@torch.jit
def step(batch: Tensor, rate: float) -> Tensor:
    loss = (batch * rate).sum()
    loss.backward()
    return loss


step(x, 0.1).item()


class Double(Function):
    @staticmethod
    def forward(ctx, input: Tensor) -> Tensor:
        ctx.save_for_backward(input)
        return input * 2

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        return gradient * 2


torch.func.vmap(torch.func.grad(lambda one: one.sum()))(x)
p = torch.nn.Parameter(x)
p -= 1
assert_type(p, torch.nn.Parameter)
assert_type(p * 2, Tensor)
torch.nn.Parameter(x, requires_gradient=True)  # wrong
torch.manual_seed("seed")  # wrong
