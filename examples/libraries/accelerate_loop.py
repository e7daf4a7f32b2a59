# /// script
# dependencies = ["accelerate"]
# ///
"""A training loop with `Accelerator`: it prepares all parts, accumulates gradients, clips and gathers."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

set_seed(0)
inputs = torch.randn(64, 6)
targets = inputs @ torch.randn(6, 1) + 0.1 * torch.randn(64, 1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, targets), batch_size=16, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)


def train(x, y):
    with accelerator.accumulate(model):
        loss = torch.nn.functional.mse_loss(model(x), y)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return loss


def step():
    return train(inputs[:16], targets[:16]).item()


for epoch in range(4):
    losses = [train(x, y).detach() for x, y in loader]
    print("epoch", epoch, accelerator.gather(torch.stack(losses)).tolist(), schedule.get_last_lr())

with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    before = model(inputs[:2]).detach()
    step()
    accelerator.load_state(folder)
    print("loaded", torch.equal(model(inputs[:2]), before))
print("unwrapped", type(accelerator.unwrap_model(model)).__name__, accelerator.device, accelerator.num_processes)
