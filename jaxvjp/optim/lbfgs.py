"""`LBFGS`: Newton's method with the last few gradients in the place of the Hessian, and a line search.

It decides on values as it goes, so each evaluation of the closure is read, and it cannot be staged by `jit`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from jaxvjp.autograd.modes import enable_grad, no_grad
from jaxvjp.ops.complex import view_as_real
from jaxvjp.ops.joining import cat, stack
from jaxvjp.ops.products import two_loops
from jaxvjp.optim.elementwise import CHECKS, number_of
from jaxvjp.optim.optimizer import Optimizer, Params
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.tensor import Tensor, view
from jaxvjp.tensor.view_steps import Step

AS_REAL = Step(view_as_real, ())
HISTORY = ("old_dirs", "old_stps", "ro")
"""The state's lists: by how much the gradient changed in the last steps, these steps, and one over their products."""


class LBFGS(Optimizer):
    """Counterpart of `torch.optim.LBFGS`. `step(closure)` takes up to `max_iter` steps; there is one group."""

    __settings__ = (
        "lr: Rate = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7, "
        "tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None"
    )

    __rows__: tuple[list[Any], Any] = [], ()
    """The tensors of the state's lists, and the rows of the history that they are views of."""

    def __begin__(self, params: Params, settings: dict[str, Any]) -> None:
        lr = settings["lr"]
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        allows, sentence = CHECKS["lr"]
        if not allows(lr):
            raise ValueError(sentence.format(lr))
        if settings["max_eval"] is None:
            settings["max_eval"] = settings["max_iter"] * 5 // 4
        super().__begin__(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    def _gather_flat_grad(self) -> Tensor:
        """All gradients in one vector; zeros where there are none."""
        grads = [each.new_zeros(each.shape) if each.grad is None else each.grad for each in self._params]
        real = [view(gradient, AS_REAL) if gradient.dtype.is_complex else gradient for gradient in grads]
        return apply(cat, (tuple([each.reshape(-1) for each in real]),), (0,))

    def _add_grad(self, step_size: Any, update: Tensor) -> None:
        """Goes `step_size` along `update`, a vector of all parameters."""
        offset = 0
        for parameter in self._params:
            p = view(parameter, AS_REAL) if parameter.dtype.is_complex else parameter
            part = update[offset : offset + p.numel()].view_as(p)
            p.add_(
                part * step_size if isinstance(step_size, Tensor) else part,
                alpha=1 if isinstance(step_size, Tensor) else step_size,
            )
            offset += p.numel()

    def __rows_of__(self, state: dict[str, Any]) -> Any:
        """The lists of HISTORY, each as the rows of one array; nothing if they are empty."""
        lists = [state.get(name, []) for name in HISTORY]
        known, rows = self.__rows__
        if [*map(id, chain(*lists))] == [*map(id, known)]:  # else they were loaded, or changed by the user
            return rows
        return [apply(stack, (tuple(each),), (0,)) for each in lists if each]

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Minimizes for up to `max_iter` steps, and returns the loss before the first.

        Args:
            closure: clears the gradients, computes the loss and its gradients, and returns the loss.
        """
        (group,) = self.param_groups
        lr, most = number_of(group["lr"]), group["max_iter"]
        tolerance, least_change = group["tolerance_grad"], group["tolerance_change"]
        evaluated: Callable[[], Any] = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluated()
        loss, grad, evaluations = float(first_loss), self._gather_flat_grad(), 1
        state["func_evals"] += 1
        if grad.abs().max() <= tolerance:
            return first_loss
        way, size = state.get("d"), state.get("t")
        rows = self.__rows_of__(state)
        state.setdefault("al", [None] * group["history_size"])
        diagonal, before, loss_before = (state.get(name) for name in ("H_diag", "prev_flat_grad", "prev_loss"))
        for count in range(1, most + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                way, rows, diagonal = -grad, (), 1
            else:
                change, step = grad - before, way * size
                product = change.dot(step)
                if product > 1e-10:
                    new = [each.unsqueeze(0) for each in (change, step, 1.0 / product)]
                    if rows:
                        full = len(rows[0]) == group["history_size"]
                        new = [apply(cat, ((old[full:], row),), (0,)) for old, row in zip(rows, new, strict=True)]
                    rows = new
                    diagonal = product / change.dot(change)
                way = -grad * diagonal
                if rows:
                    way = apply(two_loops, (grad, diagonal, *rows))
            before = grad.clone()
            loss_before = loss
            size = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(way)
            if slope > -least_change:
                break
            used, flat = 0, False
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                kept = [parameter.clone() for parameter in self._params]

                def along(size: Any, way: Tensor = way, kept: list[Tensor] = kept) -> tuple[float, Tensor]:
                    self._add_grad(size, way)
                    found = float(evaluated()), self._gather_flat_grad()
                    for each, value in zip(self._params, kept, strict=True):
                        each.copy_(value)
                    return found

                loss, grad, size, used = strong_wolfe(
                    along, size, way, loss, grad, slope, most=group["max_eval"] - evaluations
                )
                self._add_grad(size, way)
                flat = bool(grad.abs().max() <= tolerance)
            else:
                self._add_grad(size, way)
                if count != most:
                    loss, grad, used = float(evaluated()), self._gather_flat_grad(), 1
                    flat = bool(grad.abs().max() <= tolerance)
            evaluations += used
            state["func_evals"] += used
            if count == most or evaluations >= group["max_eval"] or flat:
                break
            if (way * size).abs().max() <= least_change or abs(loss - loss_before) < least_change:
                break
        lists = [list(each.unbind()) for each in rows] or [[], [], []]
        self.__rows__ = [*chain(*lists)], rows
        state.update(d=way, t=size, **dict(zip(HISTORY, lists, strict=True)))
        state.update(H_diag=diagonal, prev_flat_grad=before, prev_loss=loss_before)
        return first_loss


def strong_wolfe(
    along: Callable[[Any], tuple[float, Tensor]],
    size: Any,
    way: Tensor,
    loss: float,
    grad: Tensor,
    slope: Tensor,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    most: int = 25,
) -> tuple[float, Tensor, Any, int]:
    """A step along `way` whose loss and slope satisfy the strong Wolfe conditions.

    Args:
        along: gives the loss and the gradient after a step of some size.
        size: the size to try first.
        loss: at the beginning, as are `grad` and `slope`, the derivative along `way`.
        most: how many more sizes to try.

    Returns:
        the loss and the gradient there, the size, and how many were tried.
    """
    longest = way.abs().max()
    Point = tuple[Any, float, Tensor, Any]  # noqa: N806 - a type

    def at(size: Any) -> Point:
        loss, grad = along(size)
        return size, loss, grad, grad.dot(way)

    def too_high(point: Point) -> bool:
        return bool(point[1] > loss + c1 * point[0] * slope)

    def flat(point: Point) -> bool:
        return bool(abs(point[3]) <= -c2 * slope)

    start: Point = (0, loss, grad.clone(), slope)
    before, now = start, at(size)
    tried, further, done = 1, 0, False
    bracket: list[Point] = []
    while further < most:
        if too_high(now) or (further > 1 and now[1] >= before[1]):
            bracket = [before, now]
        elif flat(now):
            bracket, done = [now], True
        elif now[3] >= 0:
            bracket = [before, now]
        if bracket:
            break
        least, largest = now[0] + 0.01 * (now[0] - before[0]), now[0] * 10
        before, now = now, at(lowest_of_cubic(before, now, (least, largest)))
        tried, further = tried + 1, further + 1
    if further == most:
        bracket = [start, now]
    low, high = (0, 1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
    stuck = False
    while not done and further < most:
        ends = [each[0] for each in bracket]
        if abs(ends[1] - ends[0]) * longest < tolerance_change:
            break
        size = lowest_of_cubic(bracket[0], bracket[1])
        margin = 0.1 * (max(ends) - min(ends))
        if min(max(ends) - size, size - min(ends)) < margin:
            if stuck or size >= max(ends) or size <= min(ends):
                nearer_top = abs(size - max(ends)) < abs(size - min(ends))
                size = max(ends) - margin if nearer_top else min(ends) + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        now = at(size)
        tried, further = tried + 1, further + 1
        if too_high(now) or now[1] >= bracket[low][1]:
            bracket[high] = now
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if flat(now):
                done = True
            elif now[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = now
    size, loss, grad, _ = bracket[low if len(bracket) > 1 else 0]
    return loss, grad, size, tried


def lowest_of_cubic(a: Any, b: Any, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic polynomial through two points, with their slopes, is lowest, within bounds."""
    if a[0] > b[0]:
        a, b = b, a
    (x1, f1, _, g1), (x2, f2, _, g2) = a, b
    low, high = bounds or (x1, x2)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    return min(max(x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2)), low), high)
