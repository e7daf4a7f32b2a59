"""Convolutions, batch norm, dropout, SGD with momentum, a step schedule, and batches of a loader."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 8, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(8)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(8 * 3 * 3, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.fc(self.dropout(torch.flatten(x, 1)))


labels = torch.arange(48) % 3
images = 0.3 * torch.randn(48, 1, 12, 12)
for i, label in enumerate(labels.tolist()):
    images[i, 0, 2 + label * 3, :] += 1.0

model = Net()
print(model)
print(sum(p.numel() for p in model.parameters()), "parameters")
loader = DataLoader(TensorDataset(images, labels), batch_size=12, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = StepLR(optimizer, step_size=4, gamma=0.5)

for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(images).argmax(dim=1) == labels).float().mean().item()
    print(
        f"epoch {epoch}  loss {total / len(images):.4f}  accuracy {accuracy:.3f}  lr {scheduler.get_last_lr()[0]:.4f}"
    )

print(model.norm1.running_mean, model.norm1.num_batches_tracked)
