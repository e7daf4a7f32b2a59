# /// script
# dependencies = ["einops"]
# ///
"""einops: layers in a network of patches, and rearrange, reduce, repeat, einsum and pack in its functions."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

torch.manual_seed(0)


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.inner, self.outer = heads, torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)

    def forward(self, x):
        q, k, v = rearrange(self.inner(x), "b n (three h d) -> three b h n d", three=3, h=self.heads)
        weights = (einsum(q, k, "b h i d, b h j d -> b h i j") / q.shape[-1] ** 0.5).softmax(-1)
        return x + self.outer(rearrange(einsum(weights, v, "b h i j, b h j d -> b h i d"), "b h n d -> b n (h d)"))


network = torch.nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
    torch.nn.Linear(48, 32),
    EinMix("b n c -> b m c", weight_shape="n m", bias_shape="m", n=16, m=8),
    torch.nn.GELU(),
    Attention(32, 4),
    Reduce("b n c -> b c", "mean"),
    torch.nn.Linear(32, 3),
)
images, labels = torch.randn(8, 3, 16, 16), torch.arange(8) % 3
optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)


def step():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(network(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


print("losses", [step() for _ in range(10)])
print("logits", network(images[:2]).tolist())
small = reduce(images, "b c (h p) (w q) -> b c h w", "max", p=8, q=8)
print("reduced", small[:2].tolist(), repeat(small[0], "c h w -> (c two) h w", two=2).shape)
packed, shapes = pack([small, images[:, :, 0, 0]], "b *")
print("packed", tuple(packed.shape), [tuple(each.shape) for each in unpack(packed, shapes, "b *")])
print(network[0], network[5])
