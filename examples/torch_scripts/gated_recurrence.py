"""A recurrence with gates, as in a GRU, over sequences of changing lengths.

It reads noughts and ones, a sequence of another length at each step, and learns whether there were more of the ones.
The loop over time is Python's own.
"""

import torch
import torch.nn.functional as F

torch.manual_seed(1)
hidden, batch = 8, 16
w_in = (torch.randn(1, 3 * hidden) * 0.5).requires_grad_()
w_hidden = (torch.randn(hidden, 3 * hidden) * 0.3).requires_grad_()
bias = torch.zeros(3 * hidden, requires_grad=True)
w_out = (torch.randn(hidden) * 0.3).requires_grad_()
parameters = [w_in, w_hidden, bias, w_out]


def cell(x, state):
    from_x = (x.unsqueeze(1) @ w_in + bias).chunk(3, dim=1)
    from_state = (state @ w_hidden).chunk(3, dim=1)
    reset = torch.sigmoid(from_x[0] + from_state[0])
    update = torch.sigmoid(from_x[1] + from_state[1])
    proposed = torch.tanh(from_x[2] + reset * from_state[2])
    return torch.lerp(proposed, state, update)


for step in range(60):
    length = int(torch.randint(3, 13, ()))
    sequence = torch.randint(2, (length, batch)).float()
    state = torch.zeros(batch, hidden)
    for x in sequence:
        state = cell(x * 2 - 1, state)
    loss = F.binary_cross_entropy_with_logits(state @ w_out, (sequence.mean(0) > 0.5).float())
    loss.backward()
    with torch.no_grad():
        for each in parameters:
            each -= 0.3 * each.grad
            each.grad = None
    if step % 10 == 9:
        print(f"step {step:2d}  length {length:2d}  loss {loss.item():.4f}")
