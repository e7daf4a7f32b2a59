# /// script
# dependencies = ["kornia"]
# ///
"""Filters, colours, warps and augmentations of images, with gradients, and a homography that is learned."""

import kornia
import torch
from kornia import augmentation, color, filters, geometry

torch.manual_seed(0)
images = torch.rand(2, 3, 24, 24, requires_grad=True)


def shown(images):
    return images.detach().flatten()[::331].tolist()


print("blurred", shown(filters.gaussian_blur2d(images, (5, 5), (1.5, 1.5))))
print("edges", shown(filters.sobel(images)))
print("median", shown(filters.median_blur(images, (3, 3))))
print("bilateral", shown(filters.bilateral_blur(images, (3, 3), 0.1, (1.5, 1.5))))
magnitude, edges = filters.canny(images.detach())
print("canny", shown(magnitude), edges.sum().item())
print("hue", shown(color.rgb_to_hsv(images)))
print("lab", shown(color.rgb_to_lab(images)))

rotated = geometry.rotate(images, torch.tensor([30.0, -45.0]))
print("rotated", shown(rotated))
corners = torch.tensor([[[0.0, 0.0], [23.0, 0.0], [23.0, 23.0], [0.0, 23.0]]])
moved = corners + torch.tensor([[[1.0, 2.0], [-2.0, 1.0], [0.0, -1.0], [2.0, 0.0]]])
matrix = geometry.get_perspective_transform(corners, moved).expand(2, 3, 3)
warped = geometry.warp_perspective(images, matrix, (24, 24))
print("warped", shown(warped))
print("resized", shown(geometry.resize(images, (12, 16))))
print("corners", shown(kornia.feature.harris_response(color.rgb_to_grayscale(images))))
(rotated.square().mean() + warped.square().mean() + filters.laplacian(images, 3).abs().mean()).backward()
print("gradient", shown(images.grad))

augment = augmentation.AugmentationSequential(
    augmentation.RandomHorizontalFlip(p=0.5),
    augmentation.RandomAffine(degrees=20.0, translate=(0.1, 0.1), scale=(0.9, 1.1), p=1.0),
    augmentation.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0),
    augmentation.RandomErasing(p=0.5),
    data_keys=["input", "mask"],
)
torch.manual_seed(1)
given = images.detach().requires_grad_()
changed, mask = augment(given, (images.detach()[:, :1] > 0.5).float())
changed.mean().backward()
print("augmented", shown(changed), mask.sum().item(), shown(given.grad))

target = geometry.warp_perspective(images.detach(), matrix, (24, 24))
learned = torch.eye(3).repeat(2, 1, 1).requires_grad_()
optimizer = torch.optim.Adam([learned], lr=1e-3)


def step():
    optimizer.zero_grad()
    loss = (geometry.warp_perspective(images.detach(), learned, (24, 24)) - target).square().mean()
    loss = loss + kornia.losses.ssim_loss(images.detach(), target, 5) * 0.1
    loss.backward()
    optimizer.step()
    return loss.item()


print("losses", [step() for _ in range(8)])
