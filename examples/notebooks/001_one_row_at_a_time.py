# %% [markdown]
# # How does one `backward` after another show the derivative row by row?
#
# "Explanation", with "A concrete example": one answer to "Pytorch, what are the gradient arguments", as a text of its
# own.
#
# The weights in `z.backward(v)` are the derivative of the final loss with respect to each element of z. If the loss is
# the plain sum of z they are all 1; a single 1 among zeros takes one element alone.

# %%
import jaxvjp as torch

x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
z = 2 * x
loss = z.sum(dim=1)

# %% [markdown]
# ## What `loss.backward()` would do
#
# `explain` shows it without doing it.

# %%
torch.explain(loss)

# %% [markdown]
# The chain rule, from the loss backwards. What reaches z is `[1, 1, 1, 1]`: this is the v that one would have to pass
# to `z.backward` by hand.

# %%
torch.explain(loss).cotangents()

# %% [markdown]
# ## The whole Jacobian, by one backward for each row
#
# Row i of J is the backward with a 1 in place i. `jax.jacrev` does it for all i at once.

# %%
rows = []
for i in range(4):
    one_hot = torch.zeros(1, 4)
    one_hot[0, i] = 1
    (row,) = torch.autograd.grad(z, x, one_hot, retain_graph=True)
    rows.append(row)
torch.cat(rows)

# %%
torch.explain(z, torch.tensor([[0.0, 1.0, 0.0, 0.0]]), style="jacrev")

# %%
torch.explain(z, torch.tensor([[0.0, 1.0, 0.0, 0.0]])).jacobian()
