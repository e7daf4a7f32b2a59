"""An LSTM that predicts sine waves, trained by LBFGS, which calls a closure several times per step."""

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 12)
        self.lstm2 = nn.LSTMCell(12, 12)
        self.linear = nn.Linear(12, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 12)
        c_t = torch.zeros(input.size(0), 12)
        h_t2 = torch.zeros(input.size(0), 12)
        c_t2 = torch.zeros(input.size(0), 12)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            outputs += [self.linear(h_t2)]
        for _ in range(future):
            h_t, c_t = self.lstm1(outputs[-1], (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            outputs += [self.linear(h_t2)]
        return torch.cat(outputs, dim=1)


phase = torch.rand(6, 1) * 6.0
waves = torch.sin(phase + torch.arange(25) / 4.0)
seq = Sequence()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")
calls = 0
for step in range(8):

    def closure():
        global calls
        calls += 1
        optimizer.zero_grad()
        loss = criterion(seq(waves[2:, :-1]), waves[2:, 1:])
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    with torch.no_grad():
        pred = seq(waves[:2, :-1], future=5)
        test = criterion(pred[:, :-5], waves[:2, 1:])
    print(f"step {step}  loss {loss.item():.5f}  test {test.item():.5f}")
print(calls, "calls", pred.shape)
