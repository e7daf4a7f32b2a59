# /// script
# dependencies = ["x-transformers"]
# ///
"""A decoder with rotary positions and a gated feed-forward part is trained to go on a text, and does."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True)
model = AutoregressiveWrapper(TransformerWrapper(num_tokens=20, max_seq_len=32, attn_layers=layers))
words = (torch.arange(24) % 7).repeat(4, 1) + torch.arange(4)[:, None]
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def step():
    optimizer.zero_grad()
    loss = model(words)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    return loss.item()


print("losses", [step() for _ in range(10)])
print("greedy", model.generate(words[:, :6], 10, temperature=0.0).tolist())
torch.manual_seed(1)
print("sampled", model.generate(words[:, :6], 10, temperature=1.0).tolist())
model.train()
