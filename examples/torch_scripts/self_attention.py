"""Self-attention of two heads that learns to turn short sequences round.

Queries, keys and values come out of one matrix, and the places are told apart by a learned table. The attention is
written out: scores, softmax, weighted sum.
"""

import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
tokens, length, width, heads = 6, 5, 16, 2


def weights(*shape):
    return (torch.randn(*shape) / math.sqrt(shape[0])).requires_grad_()


embedding, places = weights(tokens, width), weights(length, width)
qkv, out, head = weights(width, 3 * width), weights(width, width), weights(width, tokens)
parameters = [embedding, places, qkv, out, head]


def attention(x):
    batch = x.size(0)
    q, k, v = (x @ qkv).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
    mixed = torch.softmax(scores, dim=-1) @ v
    return mixed.transpose(1, 2).reshape(batch, length, width) @ out


for step in range(60):
    sequence = torch.randint(tokens, (32, length))
    x = embedding[sequence] + places
    x = F.layer_norm(x + attention(x), (width,))
    loss = F.cross_entropy((x @ head).flatten(0, 1), sequence.flip(1).flatten())
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for each, gradient in zip(parameters, gradients):
            each -= 0.5 * gradient
    if step % 12 == 0:
        print(f"step {step:2d}  loss {loss.item():.4f}")
print(f"last loss {loss.item():.4f}")
