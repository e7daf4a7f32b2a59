# %% [markdown]
# # How does `torch.autograd.backward` work, after a loop and after a product with a matrix?
#
# "How exactly does torch.autograd.backward( ) work?": a blog post by Saihimal Allu, from 2018.
#
# Two programs in which people first meet `backward(gradients)`.

# %%
import jaxvjp as torch

generator = torch.manual_seed(0)

# %% [markdown]
# ## Doubling until the norm is 1000
#
# How often the loop turns depends on x. Its derivative does not ask why it ended: it is that of the steps that were
# taken. With k doublings J is 2ᵏ times the identity, so vᵀJ is 2ᵏ·v.

# %%
with torch.explain.recording() as story:
    x = torch.randn(3, requires_grad=True)
    y = x * 2
    while y.data.norm() < 1000:
        y = y * 2
    gradients = torch.tensor([0.1, 1.0, 0.0001])
    y.backward(gradients)
print(x.grad)
story

# %%
story.jacobian()

# %% [markdown]
# ## A product with a matrix
#
# y = xM, so J is the transpose of M: the backward with `[[1, 0]]` brings the first column of M, that with `[[0, 1]]`
# the second, and that with `[[1, 1]]` their sum.

# %%
with torch.explain.recording() as story:
    x = torch.tensor([[2.0, 1.0]], requires_grad=True)
    M = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = torch.mm(x, M)
    y.backward(torch.tensor([[1.0, 0.0]]), retain_graph=True)
    print(x.grad)
    x.grad.zero_()
    y.backward(torch.tensor([[0.0, 1.0]]), retain_graph=True)
    print(x.grad)
    x.grad.zero_()
    y.backward(torch.tensor([[1.0, 1.0]]))
    print(x.grad)
story

# %% [markdown]
# J of each of the three, with the v that it was multiplied by:

# %%
story.jacobian(0)

# %%
story.jacobian(2)
