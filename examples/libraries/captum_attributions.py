# /// script
# dependencies = ["captum"]
# ///
"""What a small network looks at: integrated gradients, saliency, DeepLift, layer-wise relevance and others."""

import torch
from captum.attr import (
    LRP,
    DeepLift,
    DeepLiftShap,
    FeatureAblation,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    NoiseTunnel,
    Occlusion,
    Saliency,
)
from torch import nn

torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3, padding=1)
        self.active = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(4 * 4 * 4, 10)
        self.active2 = nn.ReLU()
        self.last = nn.Linear(10, 3)

    def forward(self, images):
        found = self.pool(self.active(self.convolution(images)))
        return self.last(self.active2(self.hidden(found.flatten(1))))


network = Network().eval()
images = torch.rand(2, 1, 8, 8)
baselines = torch.zeros(2, 1, 8, 8)
targets = torch.tensor([0, 2])


def shown(attribution):
    return attribution.flatten()[::17].tolist()


attribution, delta = IntegratedGradients(network).attribute(
    images, baselines, target=targets, n_steps=20, return_convergence_delta=True
)
print("integrated gradients", shown(attribution), delta.abs().max().item() < 0.01)
print("saliency", shown(Saliency(network).attribute(images, target=targets)))
print("input times gradient", shown(InputXGradient(network).attribute(images.clone(), target=targets)))
attribution, delta = DeepLift(network).attribute(images, baselines, target=targets, return_convergence_delta=True)
print("deep lift", shown(attribution), delta.abs().max().item() < 1e-4)
print("deep lift shap", shown(DeepLiftShap(network).attribute(images, torch.rand(3, 1, 8, 8), target=targets)))
attribution, delta = LRP(network).attribute(images, target=targets, return_convergence_delta=True)
print("relevance", shown(attribution), delta.tolist())
torch.manual_seed(1)
print(
    "gradient shap", shown(GradientShap(network).attribute(images, torch.rand(4, 1, 8, 8), n_samples=3, target=targets))
)
print("guided", shown(GuidedBackprop(network).attribute(images.clone(), target=targets)))
print("class activation", shown(LayerGradCam(network, network.convolution).attribute(images, target=targets)))
print("conductance", shown(LayerConductance(network, network.hidden).attribute(images, target=targets, n_steps=10)))
occluded = Occlusion(network).attribute(images, (1, 4, 4), strides=(1, 2, 2), target=targets)
print("occlusion", shown(occluded))
masks = torch.arange(16).reshape(1, 1, 4, 4).repeat_interleave(2, 2).repeat_interleave(2, 3)
print("ablation", shown(FeatureAblation(network).attribute(images, target=targets, feature_mask=masks)))
smooth = NoiseTunnel(Saliency(network)).attribute(images, nt_samples=3, stdevs=0.1, target=targets)
print("smooth", shown(smooth))

gradients = IntegratedGradients(network)


def step():
    return gradients.attribute(images, baselines, target=targets, n_steps=20).sum().item()
