# /// script
# dependencies = ["torchvision"]
# ///
"""A ResNet is trained on transformed pictures, and boxes are cut out of them."""

import torch
import torchvision
from torchvision.transforms import v2

torch.manual_seed(0)
transform = v2.Compose(
    [
        v2.RandomCrop(32, padding=4),
        v2.RandomHorizontalFlip(),
        v2.ColorJitter(brightness=0.2, contrast=0.2),
        v2.ToDtype(torch.float64, scale=True),
        v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]
)
pictures = torch.randint(0, 256, (8, 3, 32, 32), dtype=torch.uint8)
images, labels = torch.stack([transform(each) for each in pictures]), torch.arange(8) % 4
print("transformed", images.mean((0, 2, 3)).tolist(), images.std().item())
resized = v2.functional.resize(images[0], [20, 24], antialias=True)
print("resized", resized.mean().item(), v2.functional.rotate(resized, 30).abs().mean().item())

model = torchvision.models.resnet18(num_classes=4).double()  # what float32 rounds off grows in its layers
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)


def step():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
    loss.backward()
    optimizer.step()
    return loss.item()


print("losses", [step() for _ in range(3)])
model.eval()
with torch.no_grad():
    print("probabilities", model(images[:2]).softmax(-1).tolist())
model.train()

corners = torch.rand(12, 2) * 20
boxes = torch.cat([corners, corners + 4 + torch.rand(12, 2) * 8], 1).double()
print("overlaps", torchvision.ops.box_iou(boxes[:3], boxes[:3] + 1).tolist())
cut = torchvision.ops.roi_align(images[:1], [boxes[:3]], output_size=(4, 4), sampling_ratio=2)
print("cut out", tuple(cut.shape), cut.mean((1, 2, 3)).tolist())
print("grid", tuple(torchvision.utils.make_grid(images, nrow=4).shape))
