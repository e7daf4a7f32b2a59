# /// script
# dependencies = ["diffusers"]
# ///
"""A small U-Net learns to take noise away from pictures (DDPM), and makes some from noise alone."""

import torch
from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=8,
    in_channels=1,
    out_channels=1,
    layers_per_block=1,
    block_out_channels=(16, 32),
    norm_num_groups=8,
    attention_head_dim=8,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
noises = DDPMScheduler(num_train_timesteps=100, beta_schedule="squaredcos_cap_v2")
pictures = torch.rand(4, 1, 8, 8) * 2 - 1
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def step():
    noise = torch.randn_like(pictures)
    times = torch.randint(0, noises.config.num_train_timesteps, (len(pictures),))
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(noises.add_noise(pictures, noise, times), times).sample, noise)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


print("losses", [step() for _ in range(6)])

model.eval()
for scheduler in (noises, DDIMScheduler.from_config(noises.config)):
    scheduler.set_timesteps(5)
    made = torch.randn(2, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        for time in scheduler.timesteps:
            made = scheduler.step(model(made, time).sample, time, made, generator=torch.Generator().manual_seed(2))
            made = made.prev_sample
    print(type(scheduler).__name__, scheduler.timesteps.tolist(), made[:, 0, ::4, ::4].tolist())
model.train()
