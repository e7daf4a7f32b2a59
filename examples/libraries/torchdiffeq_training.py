# /// script
# dependencies = ["torchdiffeq"]
# ///
"""A neural differential equation: fitted to a spiral through the solver, and by the adjoint method."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
times = torch.linspace(0.0, 2.0, 12)
matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
start = torch.tensor([[2.0, 0.0]])


class Spiral(nn.Module):
    def forward(self, t, y):
        return y**3 @ matrix


class Derivative(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


with torch.no_grad():
    path = odeint(Spiral(), start, times, method="dopri5")
print("path", path[::4].flatten().tolist())


def trained(solver, **settings):
    torch.manual_seed(1)
    derivative = Derivative()
    optimizer = torch.optim.Adam(derivative.parameters(), lr=1e-2)

    def step():
        optimizer.zero_grad()
        loss = (solver(derivative, start, times, **settings) - path).abs().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


fixed = trained(odeint, method="rk4")
print("through the solver", [fixed() for _ in range(4)])
adaptive = trained(odeint, method="dopri5", rtol=1e-4, atol=1e-4)
print("adaptive", [adaptive() for _ in range(3)])
step = trained(odeint_adjoint, method="rk4")
print("adjoint", [step() for _ in range(4)])
adaptive_adjoint = trained(odeint_adjoint, rtol=1e-4, atol=1e-4)
print("adaptive adjoint", [adaptive_adjoint() for _ in range(2)])


def falling(t, state):
    height, speed = state
    return speed, torch.full_like(speed, -9.8)


height = torch.tensor([10.0], requires_grad=True)
time, states = odeint_event(
    falling, (height, torch.tensor([0.0])), torch.tensor(0.0), event_fn=lambda t, state: state[0].sum(), method="dopri5"
)
time.backward()
print("lands", time.item(), height.grad.tolist())
