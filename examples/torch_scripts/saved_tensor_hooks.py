"""What backward saves, seen, counted, changed and refused; hooks on tensors on the way."""

import torch
from torch.autograd.graph import disable_saved_tensors_hooks, saved_tensors_hooks

torch.manual_seed(0)
x = torch.randn(4, requires_grad=True)
saved = []


def pack(tensor):
    saved.append(tuple(tensor.shape))
    return tensor.detach().numpy().copy()


def unpack(array):
    return torch.from_numpy(array)


with saved_tensors_hooks(pack, unpack):
    y = (x * x * x).sum()
y.backward()
print(len(saved), saved)
print(x.grad, torch.allclose(x.grad, 3 * x.detach() ** 2))

x.grad = None
with torch.autograd.graph.save_on_cpu():
    (x.sin() * x).sum().backward()
print(x.grad)

try:
    with disable_saved_tensors_hooks("not here"), saved_tensors_hooks(pack, unpack):
        x * x
except RuntimeError as error:
    print("RuntimeError:", error)

x.grad = None
seen = []
z = x * 2
handle = z.register_hook(lambda gradient: seen.append(gradient.clone()) or gradient * 10)
z.retain_grad()
(z**2).sum().backward()
print(seen, z.grad, x.grad, sep="\n")
handle.remove()


def clear(leaf):
    print("accumulated", leaf.grad)
    leaf.grad = None


x.register_post_accumulate_grad_hook(clear)
(x * 3).sum().backward()
print(x.grad)
print(y.grad_fn, y.grad_fn.next_functions[0][0].name())
