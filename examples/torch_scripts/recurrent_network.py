"""A recurrent net that learns to add up its inputs, unrolled by hand, with clipped gradients."""

import torch

torch.manual_seed(3)
hidden, steps, batch = 8, 10, 12
w_in = (torch.randn(1, hidden) * 0.5).requires_grad_()
w_hidden = (torch.randn(hidden, hidden) * 0.3).requires_grad_()
bias = torch.zeros(hidden, requires_grad=True)
w_out = (torch.randn(hidden, 1) * 0.5).requires_grad_()
weights = {"w_in": w_in, "w_hidden": w_hidden, "bias": bias, "w_out": w_out}


def unrolled(sequence):
    state = torch.zeros(sequence.size(1), hidden)
    states = []
    for inputs in sequence:
        state = torch.tanh(inputs.unsqueeze(1) @ w_in + state @ w_hidden + bias)
        states.append(state)
    return torch.stack(states)


for step in range(60):
    sequence = torch.rand(steps, batch) - 0.5
    wanted = sequence.cumsum(0)
    states = unrolled(sequence)
    loss = ((states @ w_out).squeeze(-1) - wanted).pow(2).mean()
    loss.backward()
    norm = torch.stack([each.grad.norm() for each in weights.values()]).norm()
    scale = min(1.0, 1.0 / (norm.item() + 1e-6))
    with torch.no_grad():
        for each in weights.values():
            each.sub_(each.grad * scale, alpha=0.05)
            each.grad.zero_()
    if step % 12 == 0:
        print(f"{step:3d}: loss {loss.item():.5f}, norm {norm.item():.4f}")

for name, each in weights.items():
    print(name, tuple(each.shape), each.detach().abs().mean())
print(states[-1, 0])
print(states.grad_fn, states.shape)
