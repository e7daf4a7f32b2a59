"""A neural ordinary differential equation: RK4 steps of a module, trained to follow a spiral."""

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
t = torch.linspace(0.0, 2.0, 9)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


class Lambda(nn.Module):
    def forward(self, t, y):
        return torch.mm(y**3, true_A)


def odeint(func, y, t):
    path = [y]
    for t0, t1 in zip(t[:-1], t[1:]):
        h = t1 - t0
        k1 = func(t0, y)
        k2 = func(t0 + h / 2, y + h * k1 / 2)
        k3 = func(t0 + h / 2, y + h * k2 / 2)
        k4 = func(t1, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(y)
    return torch.stack(path)


with torch.no_grad():
    true_y = odeint(Lambda(), torch.tensor([[1.2, 0.0]]), t)

func = ODEFunc()
optimizer = optim.RMSprop(func.parameters(), lr=1e-2)
for itr in range(30):
    optimizer.zero_grad()
    pred_y = odeint(func, true_y[0], t)
    loss = torch.mean((pred_y - true_y) ** 2)
    loss.backward()
    optimizer.step()
    if itr % 6 == 5:
        print(f"Iter {itr:02d} | Total Loss {loss.item():.6f}")
print(pred_y[-1])
