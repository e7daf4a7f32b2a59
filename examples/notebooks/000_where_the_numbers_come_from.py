# %% [markdown]
# # What are 0.1, 1.0 and 0.0001 in `y.backward(gradients)`?
#
# "Pytorch, what are the gradient arguments": a question on Stack Overflow, with several answers.
#
# They are v, one number for each element of y: how much a small change of that element would change whatever is
# computed from y in the end. `backward` leaves vᵀJ in `.grad`. Every cell below shows the imperative lines first and
# then the functional program that they were.

# %%
import jaxvjp as torch

# %% [markdown]
# ## One backward for each row
#
# A v with a single 1 asks for one row of J: what one element of z alone does to x.

# %%
with torch.explain.recording() as story:
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
    z = 2 * x
    z.backward(torch.tensor([[1.0, 0.0, 0.0, 0.0]]), retain_graph=True)
    print(x.grad)
    x.grad.zero_()
    z.backward(torch.tensor([[0.0, 1.0, 0.0, 0.0]]), retain_graph=True)
    print(x.grad)
story

# %%
story.jacobian()

# %% [markdown]
# `loss = z.sum()` counts every element of z once, so its gradient is the v of ones: the same as
# `z.backward(torch.ones(1, 4))`.

# %%
loss = z.sum(dim=1)
torch.explain(loss, torch.tensor([1.0])).check()

# %% [markdown]
# ## A weighted sum of the rows
#
# Here y has three elements. The third hardly counts, so its row hardly shows in the gradients.

# %%
with torch.explain.recording() as story:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
    c = torch.tensor([6.0, 7.0, 8.0], requires_grad=True)
    y = 3 * a + 2 * b * b + torch.log(c)
    gradients = torch.tensor([0.1, 1.0, 0.0001])
    y.backward(gradients, retain_graph=True)
print(a.grad, b.grad, c.grad, sep="\n")
story

# %%
story.jacobian()

# %% [markdown]
# Where each number goes on its way back, step by step:

# %%
story.cotangents()

# %%
story.picture()

# %% [markdown]
# ## A number needs no gradient, and gradients add up
#
# For a y of one element v is 1 unless you say otherwise. A second `backward` adds to `.grad` what the first left there.

# %%
with torch.explain.recording() as story:
    a = torch.tensor(1.0, requires_grad=True)
    b = torch.tensor(1.0, requires_grad=True)
    c = torch.tensor(1.0, requires_grad=True)
    y = 3 * a + 2 * b * b + torch.log(c)
    y.backward(retain_graph=True)
    y.backward()
print(a.grad, b.grad, c.grad)
story
