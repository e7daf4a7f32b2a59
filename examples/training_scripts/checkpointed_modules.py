"""Blocks computed again in the backward pass, and hooks of modules that look at activations and gradients."""

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
seen = []


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.fc2(torch.nn.functional.gelu(self.fc1(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=12, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x)


def forward_hook(module, args, output):
    seen.append(("forward", type(module).__name__, round(output.abs().mean().item(), 4)))


def backward_hook(module, grad_input, grad_output):
    seen.append(("backward", type(module).__name__, round(grad_output[0].abs().sum().item(), 4)))


model = Net()
model.head.register_forward_hook(forward_hook)
handle = model.head.register_full_backward_hook(backward_hook)
model.blocks[0].fc1.register_forward_pre_hook(lambda module, args: (args[0] * 1.01,))
x, y = torch.randn(16, 12), torch.randn(16, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(30):
    optimizer.zero_grad()
    loss = nn.functional.smooth_l1_loss(model(x), y)
    loss.backward()
    optimizer.step()
    if step == 20:
        handle.remove()
    if step % 6 == 5:
        print(f"step {step:2d}  loss {loss.item():.4f}")
print(len(seen), seen[:2], seen[-1])
print([name for name, _ in model.named_children()], list(model.state_dict())[:3])
