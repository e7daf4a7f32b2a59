# %% [markdown]
# # Why does `backward` take a gradient, and how else can a gradient be had?
#
# "Gradient Parameter in PyTorch Backward Function": an article from 2024.
#
# `backward` accumulates into `.grad`; `autograd.grad` returns; `create_graph=True` makes a gradient that has a
# gradient; an `autograd.Function` brings a derivative of its own. All are `jax.vjp`.

# %%
import jaxvjp as torch

generator = torch.manual_seed(0)

# %% [markdown]
# ## A loss of one element

# %%
with torch.explain.recording() as story:
    x = torch.randn(2, 2, requires_grad=True)
    y = x.pow(2).sum()
    y.backward()
story

# %% [markdown]
# ## A matrix-valued y
#
# v has y's shape, `[2, 2]`: a vector of four numbers would be refused. J then has the shape `[2, 2, 2, 2]`, and is
# laid out with a row for each element of y.

# %%
with torch.explain.recording() as story:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x.pow(2)
    v = torch.tensor([[0.1, 0.5], [0.2, 0.3]])
    y.backward(gradient=v)
story

# %%
story.jacobian()

# %% [markdown]
# ## Returned instead of accumulated

# %%
with torch.explain.recording() as story:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.pow(2).sum()
    (gradient,) = torch.autograd.grad(outputs=y, inputs=x)
story

# %% [markdown]
# ## A second derivative
#
# The first gradient is itself a function of x, with a `jax.vjp` inside.

# %%
with torch.explain.recording() as story:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.pow(3).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
print(first, second)
story

# %% [markdown]
# ## A derivative of one's own
#
# `forward` and `backward` become the two halves of a `jax.custom_vjp`.


# %%
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(2)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


with torch.explain.recording() as story:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Square.apply(x)
    y.backward(torch.tensor([1.0, 10.0]))
story
