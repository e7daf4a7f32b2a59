"""What `func` and `vmap` refuse, with torch's class of error and its first sentence."""

from __future__ import annotations

import functools

import pytest
from oracle import agree
from vectors import matrix, vector


def with_first(tensor, number):
    tensor[0] = number
    return tensor


def backward_of(torch):
    """A function that calls `backward` on a tensor from outside."""
    w = vector(torch).requires_grad_()
    return lambda x: ((x * w).sum().backward(), x.sum())[1]


def with_hooks(torch, f):
    """`f` in a block of hooks for what is saved."""
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        return f()


REFUSED = {
    "retain_grad_inside": lambda torch, f, x: f.grad(lambda x: (x * 2).retain_grad())(x),
    "functional_jacobian_inside": lambda torch, f, x: f.vmap(
        lambda x: torch.autograd.functional.jacobian(torch.sin, x)
    )(x),
    "functional_jvp_inside": lambda torch, f, x: f.grad(lambda x: torch.autograd.functional.jvp(torch.sin, x, x)[1])(x),
    "hooks_for_saved_tensors_around": lambda torch, f, x: with_hooks(torch, lambda: f.vjp(torch.sin, x)),
    "hooks_for_saved_tensors_inside": lambda torch, f, x: f.jacrev(lambda x: with_hooks(torch, x.sin))(x),
    "gradient_of_a_vector": lambda torch, f, x: f.grad(lambda x: x * 2)(x),
    "gradient_of_a_number": lambda torch, f, x: f.grad(lambda x: 3.0)(x),
    "gradient_without_aux": lambda torch, f, x: f.grad(lambda x: x.sum(), has_aux=True)(x),
    "gradient_of_integers": lambda torch, f, x: f.grad(lambda x: x.sum())(torch.tensor([1, 2])),
    "jacobian_of_integers": lambda torch, f, x: f.jacrev(lambda x: x.long())(x),
    "gradient_of_no_tensor": lambda torch, f, x: f.grad(lambda x: x)(3.0),
    "aux_that_is_no_tensor": lambda torch, f, x: f.grad(lambda x: (x.sum(), 3.0), has_aux=True)(x),
    "aux_of_a_pushforward_that_is_no_tensor": lambda torch, f, x: f.jvp(lambda x: (x, 3.0), (x,), (x,), has_aux=True),
    "argnum_out_of_range": lambda torch, f, x: f.grad(lambda x: x.sum(), argnums=1)(x),
    "argnums_twice": lambda torch, f, x: f.grad(lambda x: x.sum(), argnums=(0, 0))(x),
    "argnums_empty": lambda torch, f, x: f.grad(lambda x: x.sum(), argnums=())(x),
    "argnums_of_another_type": lambda torch, f, x: f.grad(lambda x: x.sum(), argnums="x")(x),
    "in_place_on_a_differentiated_argument": lambda torch, f, x: f.grad(lambda x: x.add_(1).sum())(x),
    "requires_grad_inside": lambda torch, f, x: f.grad(lambda x: x.requires_grad_().sum())(x),
    "a_captured_tensor_written_in_reverse_mode": lambda torch, f, x: f.grad(lambda y: (x.add_(1) * y).sum())(x.clone()),
    "a_captured_tensor_written_in_forward_mode": lambda torch, f, x: f.jvp(lambda y: x.mul_(y), (x + 1,), (x + 1,)),
    "an_element_of_a_captured_tensor_written": lambda torch, f, x: f.jacrev(lambda y: with_first(x, 3.0) * y)(x + 1),
    "backward_inside": lambda torch, f, x: f.grad(backward_of(torch))(x),
    "backward_inside_vmap": lambda torch, f, x: f.vmap(backward_of(torch))(x),
    "backward_inside_jvp": lambda torch, f, x: f.jvp(backward_of(torch), (x,), (x,)),
    "pullback_of_another_shape": lambda torch, f, x: f.vjp(lambda x: x * 2, x)[1](torch.ones(2)),
    "pullback_of_integers": lambda torch, f, x: f.vjp(lambda x: x.long(), x),
    "pullback_of_nothing": lambda torch, f, x: f.vjp(lambda x: None, x),
    "pullback_of_a_number": lambda torch, f, x: f.vjp(lambda x: (x, 3.0), x),
    "tangents_of_another_shape": lambda torch, f, x: f.jvp(lambda x: x, (x,), (torch.ones(2),)),
    "tangents_of_integers": lambda torch, f, x: f.jvp(lambda x: x, (x,), (torch.tensor([1, 2, 3]),)),
    "primals_of_integers": lambda torch, f, x: f.jvp(lambda x: x, (torch.tensor([1, 2, 3]),), (x,)),
    "primals_that_are_no_tuple": lambda torch, f, x: f.jvp(lambda x: x, x, x),
    "primals_that_are_empty": lambda torch, f, x: f.jvp(lambda: torch.ones(1), (), ()),
    "primals_that_are_numbers": lambda torch, f, x: f.jvp(lambda x: x, (1.0,), (1.0,)),
    "strict_pushforward": lambda torch, f, x: f.jvp(lambda x: torch.ones(2), (x,), (x,), strict=True),
    "linearized_on_another_shape": lambda torch, f, x: f.linearize(lambda x: x * 2, x)[1](torch.ones(2)),
    "linearized_on_another_dtype": lambda torch, f, x: f.linearize(lambda x: x * 2, x)[1](
        torch.ones(3, dtype=torch.float64)
    ),
    "jacobian_of_complex": lambda torch, f, x: f.jacrev(lambda x: x * 2)(torch.tensor([1j])),
    "jacobian_to_complex": lambda torch, f, x: f.jacfwd(lambda x: x * 1j)(x),
    "jacobian_in_no_chunks": lambda torch, f, x: f.jacrev(lambda x: x * 2, chunk_size=0),
    "item_in_vmap": lambda torch, f, x: f.vmap(lambda x: x * x.item())(x),
    "float_in_vmap": lambda torch, f, x: f.vmap(lambda x: x * float(x * 2))(x),
    "if_in_vmap": lambda torch, f, x: f.vmap(lambda x: x if x > 1 else -x)(x),
    "numpy_in_vmap": lambda torch, f, x: f.vmap(lambda x: x.numpy())(x),
    "tolist_in_vmap": lambda torch, f, x: f.vmap(lambda x: (x * 2).tolist())(matrix(torch)),
    "a_batch_into_a_closed_over_tensor": lambda torch, f, x: f.vmap(torch.zeros(()).copy_)(x),
    "a_batch_into_an_element": lambda torch, f, x: f.vmap(lambda y: with_first(torch.zeros(3), y))(x),
    "vmap_of_no_inputs": lambda torch, f, x: f.vmap(lambda: torch.ones(1))(),
    "vmap_over_none": lambda torch, f, x: f.vmap(lambda x: x, in_dims=(None,))(x),
    "vmap_of_different_sizes": lambda torch, f, x: f.vmap(lambda x, y: x)(x, torch.ones(2)),
    "vmap_in_dims_type": lambda torch, f, x: f.vmap(lambda x: x, in_dims=None)(x),
    "vmap_in_dims_of_floats": lambda torch, f, x: f.vmap(lambda x: x, in_dims=(0.5,))(x),
    "vmap_of_a_number": lambda torch, f, x: f.vmap(lambda x: x)(3.0),
    "vmap_in_dims_out_of_range": lambda torch, f, x: f.vmap(lambda x: x, in_dims=1)(x),
    "vmap_out_dims_type": lambda torch, f, x: f.vmap(lambda x: x, out_dims="first")(x),
    "vmap_out_dims_out_of_range": lambda torch, f, x: f.vmap(lambda x: x * 2, out_dims=2)(x),
    "vmap_returns_a_number": lambda torch, f, x: f.vmap(lambda x: 3.0)(x),
    "vmap_returns_none": lambda torch, f, x: f.vmap(functools.partial(lambda x, y: None, x))(x),
    "vmap_returns_a_batch_where_none_is_wanted": lambda torch, f, x: f.vmap(lambda x: x, out_dims=None)(x),
    "vmap_randomness": lambda torch, f, x: f.vmap(lambda x: x, randomness="some"),
    "vmap_chunk_size": lambda torch, f, x: f.vmap(lambda x: x, chunk_size=0),
    "array_in_jvp": lambda torch, f, x: f.jvp(lambda x: x * torch.from_numpy(x.numpy()), (x,), (x,)),
    "array_in_jacfwd": lambda torch, f, x: f.jacfwd(lambda x: x * torch.from_numpy((2 * x).numpy()))(x),
    "random_in_vmap": lambda torch, f, x: f.vmap(lambda x: x + torch.rand(2))(x),
}
"""By name a call of a function of `torch`, `f` (torch.func) and a vector."""


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_as_torch_does(name):
    given = agree(lambda torch: REFUSED[name](torch, torch.func, vector(torch)))
    assert given.error is not None
