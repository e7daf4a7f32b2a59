# /// script
# dependencies = ["timm"]
# ///
"""A small convolutional network of timm's is trained by its loss, optimizer and schedule; its features are taken."""

import timm
import timm.data
import timm.loss
import timm.optim
import timm.scheduler
import timm.utils
import torch

timm.utils.random_seed(0)
model = timm.create_model(
    "resnet18", pretrained=False, num_classes=4, channels=(8, 16, 16, 32), layers=(1, 1, 1, 1), drop_path_rate=0.1
)
images, labels = torch.randn(8, 3, 32, 32), torch.arange(8) % 4
mixup = timm.data.Mixup(mixup_alpha=0.2, cutmix_alpha=1.0, label_smoothing=0.1, num_classes=4)
objective = timm.loss.SoftTargetCrossEntropy()
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
schedule = timm.scheduler.CosineLRScheduler(optimizer, t_initial=20, warmup_t=2, warmup_lr_init=1e-4)
averaged = timm.utils.ModelEmaV3(model, decay=0.9)
count = 0


def step():
    global count
    optimizer.zero_grad()
    inputs, targets = mixup(images.clone(), labels)
    loss = objective(model(inputs), targets)
    loss.backward()
    optimizer.step()
    averaged.update(model)
    count += 1
    schedule.step(count)
    return loss.item()


print("losses", [step() for _ in range(8)])
print("rates", [group["lr"] for group in optimizer.param_groups])
model.eval()
with torch.no_grad():
    print("logits", model(images[:2]).tolist())
    print("averaged", averaged.module.eval()(images[:2]).tolist())
    print("features", model.forward_features(images[:2]).mean((1, 2, 3)).tolist())
    net = timm.create_model("mobilenetv3_small_050", num_classes=3, features_only=True).eval()
    print("pyramid", [(tuple(each.shape), each.abs().mean().item()) for each in net(images[:1])])
    accuracy = timm.utils.accuracy(model(images), labels, topk=(1, 2))
    print("parameters", sum(p.numel() for p in model.parameters()), [each.item() for each in accuracy])
model.train()
