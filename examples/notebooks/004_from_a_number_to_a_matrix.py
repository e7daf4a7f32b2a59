# %% [markdown]
# # Which of the numbers are J, which are v, and which are vᵀJ?
#
# "The “gradient” argument in Pytorch's “backward” function, explained by examples": a blog post.
#
# The same question at every shape: which J is it, and what does v do to it?

# %%
import jaxvjp as torch

# %% [markdown]
# ## A number in, a number out
#
# J is one number, and so is v: 1 unless you pass another.

# %%
with torch.explain.recording() as story:
    x = torch.tensor(1.0, requires_grad=True)
    y = x**2
    y.backward(torch.tensor(100.0))
print(x.grad)
story

# %%
story.jacobian()

# %% [markdown]
# ## A vector in, a number out
#
# J has one row. Python's own `sum` adds element by element.

# %%
with torch.explain.recording() as story:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = sum(x)
    y.backward(torch.tensor(100.0))
print(x.grad)
story

# %% [markdown]
# ## A vector in, a vector out

# %%
with torch.explain.recording() as story:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = 3 * x**2
    y.backward(torch.tensor([1.0, 10.0]))
print(x.grad)
story

# %%
story.jacobian()

# %% [markdown]
# ## Two numbers in, three out, written one by one
#
# A write into a tensor is a new value: `y.at[0].set(...)`.

# %%
with torch.explain.recording() as story:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.empty(3)
    y[0] = 3 * x[0] ** 2
    y[1] = x[0] ** 2 + 2 * x[1] ** 3
    y[2] = 10 * x[1]
    y.backward(torch.tensor([1.0, 10.0, 100.0]))
print(x.grad)
story

# %%
story.jacobian()

# %% [markdown]
# ## A gradient longer than y
#
# torch once took it, as if y were repeated; today that has to be said, `broadcast=True`. It comes to the same as a
# backward for each number, with the results added up.

# %%
with torch.explain.recording() as story:
    x = torch.tensor(1.0, requires_grad=True)
    y = x**2
    y.backward(torch.tensor([1.0, 10.0, 100.0, 1000.0]), broadcast=True)
print(x.grad)
story

# %%
with torch.explain.recording() as story:
    x = torch.tensor(1.0, requires_grad=True)
    y = x**2
    for v in [1.0, 10.0, 100.0, 1000.0]:
        y.backward(torch.tensor(v), retain_graph=True)
        print(x.grad)
story
