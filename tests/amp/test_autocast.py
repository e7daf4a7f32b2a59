"""`autocast`: which operations cast, what a gradient then has, and where there is no cast."""

from __future__ import annotations

import warnings

import pytest
from oracle import agree, agreement_of, programs_of, raises

import jaxvjp
from jaxvjp import counters

SQUARE = "x, w = numbers(torch); low = x.bfloat16(); F = torch.nn.functional"
"""What each of these calls is made of."""
CALLS = """
x @ w; low @ w; low @ low; x.mm(w); x.mv(w[0]); x[0].dot(w[0]); torch.outer(x[0], w[0]); torch.addmm(x, x, w)
F.linear(x, w); F.conv1d(x[None], w[:, :, None]); F.conv_transpose1d(x[None], w[:, :, None]); F.prelu(x, w[0])
torch.einsum("ij,jk->ik", x, w); torch.tensordot(x, w, 1); torch.linalg.multi_dot([x, w, x]); x[None].bmm(w[None])
F.scaled_dot_product_attention(x[None], w[None], x[None]); torch.linalg.vecdot(x, w)
low.sum(); low.softmax(0); F.layer_norm(low, (3,)); low.exp(); low + x; torch.where(x > 0, x, low); low.cumsum(0)
torch.cat([x, low]); torch.stack([x, low]); torch.stack([low, low]); torch.index_copy(x, 0, torch.tensor([0]), low[:1])
F.mse_loss(low, low); F.cross_entropy(low, torch.tensor([0, 1, 2])); F.nll_loss(low, torch.tensor([0, 1, 2]))
F.binary_cross_entropy_with_logits(low, low.sigmoid()); F.kl_div(low, low); F.l1_loss(low, low); F.huber_loss(low, low)
low.prod(); torch.linalg.inv(low); low.trace(); low.quantile(0.5); torch.cdist(low, low); torch.fft.rfft(low)
F.avg_pool3d(low[None, None], (1, 1, 1)); F.avg_pool2d(low[None], (1, 1)); torch.polar(low, low)
x.double() @ w.double(); x.half() @ w.half(); torch.mm(x, x, out=torch.empty(3, 3)); x.clone().addmm_(x, x)
torch.ones(2, 2, dtype=torch.int64) @ torch.ones(2, 2, dtype=torch.int64); F.embedding(torch.tensor([0]), w)
"""


def numbers(torch):
    x = torch.arange(9.0).view(3, 3).cos()
    return x, (x + torch.eye(3)).requires_grad_()


@pytest.mark.parametrize(
    "call", [each.strip() for line in CALLS.splitlines() for each in line.split(";") if each.strip()]
)
def test_types_of_results(call):
    def program(torch):
        names = {"torch": torch, "numbers": numbers}
        exec(SQUARE, names)
        with torch.no_grad(), torch.autocast("cpu"):
            result = eval(call, names)
        return str(result.dtype), result.to(result.dtype if result.is_complex() else torch.float64)

    agree(program, rtol=2e-2, atol=2e-2)


def modules(torch):
    found = []
    for make in (torch.nn.LSTM, torch.nn.RNN, torch.nn.GRU):
        torch.manual_seed(0)
        module = make(3, 4)
        with torch.autocast("cpu"):
            found.append(str(module(torch.ones(2, 3))[0].dtype))
    with torch.autocast("cpu"):
        return found


def nested(torch):
    x, w = numbers(torch)
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            inner = str((x @ w).dtype)
        with torch.autocast("cpu", dtype=torch.float16):
            half = str((x @ x).dtype), str(torch.get_autocast_dtype("cpu"))
        return inner, half, str((x @ w).dtype), torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled()


def after_the_block(torch):
    x, w = numbers(torch)
    for _ in range(3):
        plain = x @ w
        with torch.autocast("cpu"):
            low = x @ w
    return str(plain.dtype), str(low.dtype), torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cuda"))


def decorated(torch):
    x, _ = numbers(torch)

    @torch.autocast("cpu")
    def product(a):
        return a @ a

    made = product(x), torch.func.vmap(product)(x[None]), torch.func.grad(lambda a: product(a).sum())(x)
    return [str(each.dtype) for each in made]


def of_custom_functions(torch):
    x, w = numbers(torch)

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(context, a, b):
            context.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(context, gradient):
            a, b = context.saved_tensors
            return gradient @ b.t(), a.t() @ gradient

    with torch.autocast("cpu"):
        result = Product.apply(x.bfloat16(), w)
    result.sum().backward()
    return str(result.dtype), str(w.grad.dtype), w.grad


def warned(torch):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.autocast("cuda")
        torch.autocast("cpu", dtype=torch.float32)
        torch.cuda.amp.autocast(enabled=False)
    return [(each.category.__name__, str(each.message)) for each in seen]


@raises(RuntimeError)
def no_such_device(torch):
    torch.autocast("foo")


@raises(ValueError)
def no_device(torch):
    torch.autocast(None)


test_agrees_with_torch = agreement_of(programs_of(globals(), numbers))


def test_gradients():
    def program(torch):
        x, w = numbers(torch)
        with torch.autocast("cpu"):
            loss = torch.nn.functional.mse_loss((x @ w) * 2, x)
        loss.backward()
        return str(loss.dtype), str(w.grad.dtype), w.grad

    agree(program, rtol=2e-2, atol=2e-2)


def test_a_staged_step_has_the_types_of_its_block():
    x, w = numbers(jaxvjp)
    step = jaxvjp.jit(lambda a: a @ a)
    assert step(x).dtype is jaxvjp.float32
    with jaxvjp.autocast("cpu"):
        assert step(x).dtype is jaxvjp.bfloat16
    assert step(x).dtype is jaxvjp.float32

    @jaxvjp.jit
    def train(a):
        w.grad = None
        with jaxvjp.autocast("cpu"):
            loss = (a @ w).square().sum()
        loss.backward()
        with jaxvjp.no_grad():
            w.sub_(0.1 * w.grad)
        return loss

    for _ in range(3):
        assert train(x).dtype is jaxvjp.bfloat16
    before = counters.dispatches
    train(x)
    assert counters.dispatches == before + 1
    assert w.dtype is jaxvjp.float32
