"""A classifier of sequences by attention: Adam with a warm-up, dropout, smoothed labels, clipped gradients."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(5)
length, letters, classes = 10, 12, 3


class Classifier(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.position = nn.Parameter(0.1 * torch.randn(length, width))
        self.attention = nn.MultiheadAttention(width, num_heads=2, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.query = nn.Parameter(torch.zeros(width))
        self.dropout = nn.Dropout(0.1)
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        h = self.embedding(x) + self.position
        attended, _ = self.attention(h, h, h, need_weights=False)
        h = self.norm(h + self.dropout(attended))
        weights = F.softmax(h @ self.query, dim=1)
        return self.out((weights.unsqueeze(-1) * h).sum(dim=1))


x = torch.randint(letters, (96, length))
y = (x == 0).sum(dim=1).clamp(max=classes - 1)

model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
warmup = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 8) / max(1.0, (step / 8) ** 0.5))
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
for step in range(40):
    batch = torch.randint(len(x), (24,))
    optimizer.zero_grad()
    loss = criterion(model(x[batch]), y[batch])
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    warmup.step()
    if step % 8 == 7:
        print(f"step {step:2d}  loss {loss.item():.4f}  lr {warmup.get_last_lr()[0]:.5f}")

model.eval()
with torch.no_grad():
    print((model(x).argmax(dim=1) == y).float().mean())
