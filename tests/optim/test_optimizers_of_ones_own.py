"""Optimizers that somebody writes: without the constructor of the base class, around another one, copied."""

from copy import deepcopy

import pytest
from oracle import agree


def lookahead(torch):
    """An optimizer around another one, which does not begin the base class."""

    class Lookahead(torch.optim.Optimizer):
        def __init__(self, optimizer):
            self.optimizer, self.count = optimizer, 0
            self.param_groups, self.state, self.defaults = optimizer.param_groups, {}, optimizer.defaults

        def zero_grad(self, set_to_none=True):
            self.optimizer.zero_grad(set_to_none)

        def step(self, closure=None):
            loss = self.optimizer.step(closure)
            self.count += 1
            for group in self.param_groups:
                for each in group["params"]:
                    slow = self.state.setdefault(each, each.detach().clone())
                    if self.count % 2 == 0:
                        slow.add_(each.detach() - slow, alpha=0.5)
                        each.data.copy_(slow)
            return loss

    return Lookahead


@pytest.mark.parametrize("inner", ["SGD", "Adam", "RMSprop"])
def test_around_another(inner):
    def program(torch):
        w = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
        optimizer = lookahead(torch)(getattr(torch.optim, inner)([w], lr=0.1))
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer.optimizer, 0.9)
        for _ in range(5):
            optimizer.zero_grad()
            (w**2).sum().backward()
            optimizer.step()
            schedule.step()
        return w, optimizer.param_groups[0]["lr"], hasattr(type(optimizer).step, "hooked")

    assert agree(program).error is None


def test_hooks_begin_with_the_first():
    def program(torch):
        called = []

        class Own(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {"lr": 0.1})

            def step(self, closure=None):
                called.append("step")

        class Further(Own):
            def step(self, closure=None):
                super().step(closure)

        w = torch.nn.Parameter(torch.ones(1))
        before = hasattr(Own.step, "hooked")
        for kind in (Further, Own, Further):
            optimizer = kind([w])
            optimizer.register_step_pre_hook(lambda *_: called.append("before"))
            optimizer.register_step_post_hook(lambda *_: called.append("after"))
            optimizer.step()
            deepcopy(optimizer).step()
        return before, hasattr(Own.step, "hooked"), called

    assert agree(program).error is None
