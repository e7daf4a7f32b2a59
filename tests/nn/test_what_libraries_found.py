"""What libraries do with optimizers, parameters, `out=None`, files and distributions."""

from __future__ import annotations

import pytest
from oracle import agree


def test_out_of_none():
    def program(torch):
        x = torch.ones(2, requires_grad=True)
        y = torch.cat([x, x], 0, out=None)
        (y * 2).sum().backward()
        return y, x.grad, torch.stack([x], out=None), torch.add(x, 1, out=None), torch.zeros(2, out=None)

    agree(program)


def test_an_optimizer_that_does_not_call_super():
    def program(torch):
        class Own(torch.optim.Optimizer):
            def __init__(self, params):
                self.param_groups = [{"params": list(params), "lr": 0.1}]
                self.state, self.defaults = {}, {}

            def step(self):
                for group in self.param_groups:
                    for each in group["params"]:
                        each.data.add_(each.grad, alpha=-group["lr"])
                return 5

        p = torch.nn.Parameter(torch.ones(2))
        own = Own([p])
        before = hasattr(Own.step, "hooked")
        (p * 2).sum().backward()
        given = own.step()
        own.zero_grad()
        own._patch_step_function()
        return before, given, p, p.grad, hasattr(Own.step, "hooked")

    agree(program)


def test_hooks_are_called_around_the_step_of_whatever_calls_super():
    def program(torch):
        class Once(torch.optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        p, seen = torch.nn.Parameter(torch.ones(2)), []
        p.grad = torch.ones(2)
        for kind in (torch.optim.SGD, Once):
            own = kind([p], lr=0.1)
            own.register_step_pre_hook(lambda *_: seen.append("before"))
            own.register_step_post_hook(lambda *_: seen.append("after"))
            own.step()
            seen.append(p.detach().clone())
        return seen

    agree(program)


def test_a_parameter_with_a_constructor_of_its_own():
    def program(torch):
        class Own(torch.nn.Parameter):
            def __new__(cls, data, extra=3, *, more=1):
                made = torch.nn.Parameter.__new__(cls, data, True)
                made.extra = extra + more
                return made

        p = Own(torch.ones(2), extra=5, more=2)
        layer = torch.nn.Module()
        layer.p = p
        (p * 3).sum().backward()
        return type(p).__name__, p.extra, [name for name, _ in layer.named_parameters()], p.grad, type(p * 2).__name__

    agree(program)


def test_a_subclass_of_tensor_and_parameter():
    def program(torch):
        class Own(torch.Tensor):
            pass

        class Both(Own, torch.nn.Parameter):
            @staticmethod
            def __new__(cls, data=None, requires_grad=True):
                return torch.Tensor._make_subclass(cls, data, requires_grad)

        p = Both(torch.ones(2))
        layer = torch.nn.Module()
        layer.p = p
        (p * 3).sum().backward()
        names = [name for name, _ in layer.named_parameters()]
        return type(p).__name__, p.requires_grad, p.is_leaf, p.shape, names, p.grad, type(p * 2).__name__

    agree(program)


def test_a_subclass_still_says_what_becomes_of_functions():
    def program(torch):
        class Own(torch.Tensor):
            pass

        x = torch.ones(2).as_subclass(Own)
        return type(x + 1).__name__, type(x.sum()).__name__, type(x.grad).__name__, type(torch.relu(x)).__name__

    agree(program)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_erf_is_at_most_one(dtype):
    def program(torch):
        x = torch.linspace(-7, 7, 4001, dtype=getattr(torch, dtype), requires_grad=dtype != "bfloat16")
        y = torch.erf(x)
        if not x.requires_grad:
            return bool((y.abs() <= 1).all())
        y.sum().backward()
        return bool((y.abs() <= 1).all()), y.detach()[::400], x.grad[::400]

    agree(program)


def test_the_slope_of_erf_is_kept_where_it_is_one():
    def program(torch):
        x = torch.tensor([3.9, 4.0, -4.2, float("inf"), float("nan")], requires_grad=True)
        torch.erf(x).sum().backward()
        return x.grad * 1e6

    agree(program)


def test_hooks_of_one_gradient_get_the_same_tensor():
    def program(torch):
        seen, x = [], torch.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(seen.append)
        y.register_hook(seen.append)
        y.sum().backward()
        return seen[0] is seen[1]

    agree(program)


def test_a_storage_of_a_file_by_its_number_of_bytes(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(8)))

    def program(torch):
        made = torch.UntypedStorage.from_file(str(path), False, nbytes=4)
        return made.nbytes(), list(made), torch.UntypedStorage.from_file(str(path), nbytes=8).nbytes()

    agree(program)


def test_the_triangle_of_normal_vectors_is_kept_unbroadcast():
    def program(torch):
        normal = torch.distributions.MultivariateNormal
        for kind in ("covariance_matrix", "precision_matrix", "scale_tril"):
            made = normal(torch.zeros(3, 2), **{kind: torch.tensor([[2.0, 0.0], [0.0, 3.0]])})
            wide = made.expand((4, 3))
        torch.manual_seed(0)
        return (
            made._unbroadcasted_scale_tril,
            wide._unbroadcasted_scale_tril.shape,
            [each.shape for each in (made.scale_tril, wide.scale_tril, wide.covariance_matrix, wide.precision_matrix)],
            wide.variance.shape,
            wide.log_prob(torch.ones(2)),
            wide.entropy(),
            made.rsample((2,)),
            torch.distributions.kl_divergence(wide, normal(torch.ones(2), torch.eye(2))),
        )

    agree(program)
