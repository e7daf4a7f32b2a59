"""torch's optimizers but LBFGS: each is its settings, what it keeps of a parameter, and its formula.

`numbers` are tensors of type float64 without dimensions: torch computes them as Python's numbers. What two tensors of
the state need is computed for each (XLA finds that it is the same), for all updates to remain part of one program.
"""

from __future__ import annotations

import math
from typing import Any

from jaxvjp.library.creation import full_like, ones_like, zeros_like
from jaxvjp.library.properties import finfo
from jaxvjp.optim.elementwise import Elementwise, _count, average_of_squares, number_of
from jaxvjp.optim.optimizer import Group, Optimizer, Params
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import bfloat16

State = dict[str, Any]

BETAS, EPS, DECAY = "betas: Pair = (0.9, 0.999)", "eps: float = 1e-8", "weight_decay: float = 0"
FOREACH, FUSED = "foreach: bool | None = None", "fused: bool | None = None"
MAXIMIZE, CAPTURABLE = "maximize: bool = False", "capturable: bool = False"
DIFFERENTIABLE = "differentiable: bool = False"


class SGD(Elementwise):
    """Gradient descent, with momentum. Counterpart of `torch.optim.SGD`."""

    __counts__ = ()
    __checked__ = ("lr", "momentum", "weight_decay")
    __as_real__ = False
    __settings__ = (
        "lr: Rate = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float | Tensor = 0, "
        f"nesterov: bool = False, *, {MAXIMIZE}, {FOREACH}, {DIFFERENTIABLE}, {FUSED}"
    )

    def __begin__(self, params: Params, settings: State) -> None:
        nesterov, momentum, dampening = (settings[each] for each in ("nesterov", "momentum", "dampening"))
        if nesterov and (not momentum or dampening != 0) and momentum >= 0:
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__begin__(params, settings)

    def __initial_state__(self, p: Tensor, grad: Tensor, group: Group) -> State:
        return {}

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        lr, momentum = number_of(group["lr"]), group["momentum"]
        if momentum != 0:
            average = state.get("momentum_buffer")
            if average is None:
                average = state["momentum_buffer"] = grad.detach().clone()
            else:
                average.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(average, alpha=momentum) if group["nesterov"] else average
        if isinstance(lr, Tensor):
            p.sub_(grad * lr)
        else:
            p.add_(grad, alpha=-lr)


class Adam(Elementwise):
    """Averages of the gradient and of its square, corrected for their start. Counterpart of `torch.optim.Adam`."""

    __averages__ = "exp_avg exp_avg_sq max_exp_avg_sq?amsgrad"
    __settings__ = (
        f"lr: Rate = 1e-3, betas: tuple[Rate, Rate] = (0.9, 0.999), {EPS}, {DECAY}, amsgrad: bool = False, *, "
        f"{MAXIMIZE}, {FOREACH}, {CAPTURABLE}, {DIFFERENTIABLE}, {FUSED}, decoupled_weight_decay: bool = False"
    )

    def __begin__(self, params: Params, settings: State) -> None:
        betas = settings["betas"]
        if len(betas) != 2:
            raise (IndexError("tuple index out of range") if len(betas) < 2 else ValueError("betas are two numbers"))
        kinds = [isinstance(beta, Tensor) for beta in betas]
        if not (all(kinds) or all(isinstance(beta, float) for beta in betas)):
            raise ValueError("betas must be either both floats or both Tensors")
        if kinds[0]:
            for number, each in enumerate(betas):
                if settings["foreach"] and not settings["capturable"]:
                    raise ValueError(
                        f"betas[{number}] as a Tensor is not supported for capturable=False and foreach=True"
                    )
                if isinstance(each, Tensor) and each.numel() != 1:
                    raise ValueError(f"Tensor betas[{number}] must be 1-element")
        settings["betas"] = tuple(map(number_of, betas))
        super().__begin__(params, settings)

    def __corrections__(self, group: Group, *counts: Any) -> Any:
        step, (beta1, beta2) = counts[0].double(), group["betas"]
        return number_of(group["lr"]) / (1 - beta1**step), (1 - beta2**step).sqrt()

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        (size, root), (beta1, beta2) = numbers, group["betas"]
        average, square = state["exp_avg"], state["exp_avg_sq"]
        average.lerp_(grad, 1 - beta1)
        average_of_squares(square, grad, beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            before = largest.clone() if group["differentiable"] else largest
            square = largest.copy_(before.maximum(square))
        p.sub_(average * size / (square.sqrt() / root + group["eps"]))


class AdamW(Adam):
    """Adam that decays the parameters themselves. Counterpart of `torch.optim.AdamW`."""

    __settings__ = (
        f"lr: Rate = 1e-3, betas: tuple[Rate, Rate] = (0.9, 0.999), {EPS}, weight_decay: float = 1e-2, "
        f"amsgrad: bool = False, *, {MAXIMIZE}, {FOREACH}, {CAPTURABLE}, {DIFFERENTIABLE}, {FUSED}"
    )

    def __begin__(self, params: Params, settings: State) -> None:
        super().__begin__(params, settings | {"decoupled_weight_decay": True})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class NAdam(Elementwise):
    """Adam with Nesterov's momentum. Counterpart of `torch.optim.NAdam`."""

    __counts__ = ("step", "mu_product")
    __checked__ = ("lr", "eps", "weight_decay", "momentum_decay")
    __averages__ = "exp_avg exp_avg_sq"
    __settings__ = (
        f"lr: Rate = 2e-3, {BETAS}, {EPS}, {DECAY}, momentum_decay: float = 4e-3, "
        f"decoupled_weight_decay: bool = False, *, {MAXIMIZE}, {FOREACH}, {CAPTURABLE}, {DIFFERENTIABLE}"
    )

    def __initial_state__(self, p: Tensor, grad: Tensor, group: Group) -> State:
        return {"step": _count(p), "mu_product": _count(p, 1.0)} | super().__initial_state__(p, grad, group)

    def __corrections__(self, group: Group, *counts: Any) -> Any:
        (step, product), (beta1, beta2) = counts, group["betas"]
        lr, decay = number_of(group["lr"]), group["momentum_decay"]

        def momentum(step: Tensor) -> Tensor:
            return beta1 * (1 - 0.5 * 0.96 ** (step.double() * decay))

        product.mul_(momentum(step))
        now, then, product = momentum(step), momentum(step + 1), product.double()
        return lr * (1 - now) / (1 - product), lr * then / (1 - product * then), 1 - beta2 ** step.double()

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        (size, further, correction), (beta1, beta2) = numbers, group["betas"]
        state["exp_avg"].lerp_(grad, 1 - beta1)
        average_of_squares(state["exp_avg_sq"], grad, beta2)
        root = (state["exp_avg_sq"] / correction).sqrt() + group["eps"]
        p.sub_(grad * size / root)
        p.sub_(state["exp_avg"] * further / root)


class RAdam(Elementwise):
    """Adam that waits with the second average until its variance is known. Counterpart of `torch.optim.RAdam`."""

    __averages__ = "exp_avg exp_avg_sq"
    __first__ = "lr betas eps weight_decay maximize foreach capturable"
    __settings__ = (
        f"lr: Rate = 1e-3, {BETAS}, {EPS}, {DECAY}, decoupled_weight_decay: bool = False, *, {MAXIMIZE}, "
        f"{FOREACH}, {CAPTURABLE}, {DIFFERENTIABLE}"
    )

    def __corrections__(self, group: Group, *counts: Any) -> Any:
        step, (beta1, beta2) = counts[0].double(), group["betas"]
        correction = 1 - beta2**step
        end = 2 / (1 - beta2) - 1
        length = end - 2 * step * beta2**step / correction
        rectified = ((length - 4) * (length - 2) * end / ((end - 4) * (end - 2) * length)).clamp(min=0).sqrt()
        return number_of(group["lr"]) / (1 - beta1**step), length > 5, rectified * correction.sqrt()

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        (size, known, factor), (beta1, beta2) = numbers, group["betas"]
        state["exp_avg"].lerp_(grad, 1 - beta1)
        average_of_squares(state["exp_avg_sq"], grad, beta2)
        adapted = factor / (state["exp_avg_sq"].sqrt() + group["eps"])
        p.sub_(state["exp_avg"] * size * adapted.where(known, 1.0))


class Adamax(Elementwise):
    """Adam by the largest gradient, not the mean square. Counterpart of `torch.optim.Adamax`."""

    __averages__ = "exp_avg exp_inf"
    __settings__ = f"lr: Rate = 2e-3, {BETAS}, {EPS}, {DECAY}, {FOREACH}, *, {MAXIMIZE}, {DIFFERENTIABLE}, {CAPTURABLE}"

    def __corrections__(self, group: Group, *counts: Any) -> Any:
        return number_of(group["lr"]) / (1 - group["betas"][0] ** counts[0].double())

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        beta1, beta2 = group["betas"]
        state["exp_avg"].lerp_(grad, 1 - beta1)
        largest = state["exp_inf"]
        largest.copy_((largest * beta2).maximum(grad.abs() + group["eps"]))
        p.sub_(state["exp_avg"] * numbers / largest)


class Adagrad(Elementwise):
    """By the root of the sum of squared gradients. Counterpart of `torch.optim.Adagrad`."""

    __checked__ = ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
    __first__ = "lr lr_decay eps"
    __settings__ = (
        f"lr: Rate = 1e-2, lr_decay: float = 0, {DECAY}, initial_accumulator_value: float = 0, eps: float = 1e-10, "
        f"{FOREACH}, *, {MAXIMIZE}, {DIFFERENTIABLE}, {FUSED}"
    )

    def __begin__(self, params: Params, settings: State) -> None:
        super().__begin__(params, settings)
        for group in self.param_groups:
            for each in group["params"]:
                self.state[each].update(self.__initial_state__(each, each, group))

    def __initial_state__(self, p: Tensor, grad: Tensor, group: Group) -> State:
        start = self.defaults["initial_accumulator_value"]
        start = complex(start, start) if p.dtype.is_complex else start
        return {"step": _count(p), "sum": full_like(p.detach(), start)}

    def __corrections__(self, group: Group, *counts: Any) -> Any:
        return number_of(group["lr"]) / (1 + (counts[0].double() - 1) * group["lr_decay"])

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        state["sum"].addcmul_(grad, grad)
        p.sub_(grad * numbers / (state["sum"].sqrt() + group["eps"]))


class Adadelta(Elementwise):
    """By the ratio of mean squares of updates and gradients. Counterpart of `torch.optim.Adadelta`."""

    __checked__ = ("lr", "rho", "eps", "weight_decay")
    __looks_back__ = True
    __averages__ = "square_avg acc_delta"
    __first__ = "lr rho eps weight_decay maximize capturable"
    __settings__ = (
        f"lr: Rate = 1.0, rho: float = 0.9, eps: float = 1e-6, {DECAY}, {FOREACH}, *, {CAPTURABLE}, {MAXIMIZE}, "
        f"{DIFFERENTIABLE}"
    )

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        rho, eps = group["rho"], group["eps"]
        average_of_squares(state["square_avg"], grad, rho)

        def update() -> Tensor:
            size: Tensor = (state["acc_delta"] + eps).sqrt() / (state["square_avg"] + eps).sqrt()
            return size * grad

        p.sub_(update() * number_of(group["lr"]))
        average_of_squares(state["acc_delta"], update(), rho)


class RMSprop(Elementwise):
    """By the root of the mean square of gradients. Counterpart of `torch.optim.RMSprop`."""

    __checked__ = ("lr", "eps", "momentum", "weight_decay", "alpha")
    __averages__ = "square_avg momentum_buffer?momentum grad_avg?centered"
    __first__ = "lr momentum alpha eps centered"
    __settings__ = (
        f"lr: Rate = 1e-2, alpha: float = 0.99, {EPS}, {DECAY}, momentum: float = 0, centered: bool = False, "
        f"{CAPTURABLE}, {FOREACH}, {MAXIMIZE}, {DIFFERENTIABLE}"
    )

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        lr, alpha, square = number_of(group["lr"]), group["alpha"], state["square_avg"]
        average_of_squares(square, grad, alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        root = square.sqrt() + group["eps"]
        if group["momentum"] > 0:
            p.sub_(state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root) * lr)
        else:
            p.sub_(grad * lr / root)


class ASGD(Elementwise):
    """Gradient descent that averages its way. Counterpart of `torch.optim.ASGD`."""

    __counts__ = ("step", "eta", "mu")
    __looks_back__ = True
    __checked__ = ("lr", "weight_decay")
    __settings__ = (
        f"lr: Rate = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6, {DECAY}, {FOREACH}, "
        f"{MAXIMIZE}, {DIFFERENTIABLE}, {CAPTURABLE}"
    )

    def __initial_state__(self, p: Tensor, grad: Tensor, group: Group) -> State:
        lr = group["lr"]
        eta = _count(p, lr) if not isinstance(lr, Tensor) else _count(p).copy_(number_of(lr.detach()))
        return {"step": _count(p), "eta": eta, "mu": _count(p, 1.0), "ax": zeros_like(p)}

    def __corrections__(self, group: Group, *counts: Any) -> Any:
        (step, eta, mu), lr, power = counts, number_of(group["lr"]), group["alpha"]
        before = eta.double(), mu.clone()
        eta.copy_(lr / (1 + group["lambd"] * lr * step.double()) ** power)
        mu.copy_(1 / (step.double() - group["t0"]).clamp(min=1))
        return before

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        eta, mu = numbers
        p.mul_(1 - group["lambd"] * eta).sub_(grad * eta)
        average = state["ax"]
        average.copy_(p.where(mu == 1, average + (p - average) * mu))


class Rprop(Elementwise):
    """By the signs of gradients only. Counterpart of `torch.optim.Rprop`."""

    __checked__ = ("lr", "etas")
    __looks_back__ = True
    __first__ = "lr etas step_sizes foreach maximize differentiable"
    __settings__ = (
        f"lr: Rate = 1e-2, etas: Pair = (0.5, 1.2), step_sizes: Pair = (1e-6, 50), *, {CAPTURABLE}, {FOREACH}, "
        f"{MAXIMIZE}, {DIFFERENTIABLE}"
    )

    def __initial_state__(self, p: Tensor, grad: Tensor, group: Group) -> State:
        lr = number_of(group["lr"])
        size = full_like(grad, complex(1, 1) if p.dtype.is_complex else 1.0, requires_grad=False) * lr
        return {"step": _count(p), "prev": zeros_like(p), "step_size": size}

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        (less, more), (least, most) = group["etas"], group["step_sizes"]

        def unless_turned() -> Tensor:
            return grad.masked_fill(grad * state["prev"] < 0, 0)

        product = grad * state["prev"]
        factor = ones_like(product).masked_fill(product > 0, more).masked_fill(product < 0, less)
        state["step_size"].copy_((state["step_size"] * factor).clamp(least, most))
        p.sub_(unless_turned().sign() * state["step_size"])
        state["prev"].copy_(unless_turned())


class Adafactor(Elementwise):
    """Adam that keeps, of a matrix of squares, only rows and columns. Counterpart of `torch.optim.Adafactor`."""

    __adds_decay__ = False
    __checked__ = ()
    __settings__ = (
        "lr: Rate = 1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3), "
        f"d: float = 1.0, weight_decay: float = 0.0, *, {FOREACH}, {MAXIMIZE}"
    )

    def __begin__(self, params: Params, settings: State) -> None:
        lr, beta2_decay, eps, d, weight_decay, *_ = settings.values()
        for allowed, sentence, value in (
            (isinstance(lr, Tensor) or lr >= 0, "Learning rate should be >= 0 but is", lr),
            (beta2_decay <= 0, "beta2_decay should be <= 0 but is", beta2_decay),
            (eps[0] is None or eps[0] >= 0, "epsilon1 should be >= 0 but is", eps[0]),
            (eps[1] >= 0, "epsilon2 should be >= 0 but is", eps[1]),
            (d >= 1, "Clipping threshold d should be >= 1 but is", d),
            (weight_decay >= 0, "weight_decay should be >= 0 but is", weight_decay),
        ):
            if not allowed:
                raise ValueError(f"{sentence}: {value}")
        super().__begin__(params, settings)

    def __initial_state__(self, p: Tensor, grad: Tensor, group: Group) -> State:
        if p.dtype.is_complex:
            raise RuntimeError("Adafactor does not support complex parameters")
        if grad.ndim < 2:
            return {"step": _count(p), "variance": zeros_like(grad)}
        rows, columns = zeros_like(grad[..., :1]), zeros_like(grad[..., :1, :])
        return {"step": _count(p), "row_var": rows, "col_var": columns}

    def __corrections__(self, group: Group, *counts: Any) -> Any:
        step, lr = counts[0].double(), number_of(group["lr"])
        rate = step**-0.5
        return counts[0], rate.minimum(lr) if isinstance(lr, Tensor) else rate.clamp(max=lr)

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        (step, rate), (least, size) = numbers, group["eps"]
        least = getattr(finfo(p.dtype), "eps") if least is None else least  # noqa: B009 - one of torch's, by name
        rate = rate * (p.norm(2).double() / p.numel() ** 0.5).clamp(min=size)
        if group["weight_decay"] != 0:
            p.mul_(1 - number_of(group["lr"]) * group["weight_decay"])

        def weight() -> Tensor:
            decayed: Tensor = step.double() ** group["beta2_decay"]
            return decayed.to(grad.dtype)

        if grad.ndim > 1:
            rows = state["row_var"].lerp_(grad.norm(dim=-1, keepdim=True).square() / grad.size(-1), weight())
            columns = state["col_var"].lerp_(grad.norm(dim=-2, keepdim=True).square() / grad.size(-2), weight())
            variance = rows @ columns / rows.mean(dim=-2, keepdim=True).clamp(min=least)
        else:
            variance = state["variance"].lerp_(grad * grad, weight())
        update = variance.clamp(min=least * least).rsqrt() * grad
        excess = (update.norm(2).double() / (update.numel() ** 0.5 * group["d"])).clamp(min=1)
        p.sub_(update * (rate / excess))


class Muon(Elementwise):
    """Momentum, made orthogonal; for matrices. Counterpart of `torch.optim.Muon`."""

    __counts__ = ()
    __adds_decay__ = False
    __checked__ = ()
    __settings__ = (
        "lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True, "
        "ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315), eps: float = 1e-7, "
        "ns_steps: int = 5, adjust_lr_fn: str | None = None"
    )

    def __begin__(self, params: Params, settings: State) -> None:
        for key, name in (("lr", "Learning rate"), ("momentum", "momentum"), ("weight_decay", "weight decay")):
            value = settings[key]
            if not isinstance(value, Tensor) and value < 0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if settings["adjust_lr_fn"] not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {settings['adjust_lr_fn']} is not supported")
        super().__begin__(params, settings)
        for group in self.param_groups:
            for each in group["params"]:
                if each.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {each.size()}"
                    )

    def __initial_state__(self, p: Tensor, grad: Tensor, group: Group) -> State:
        if p.dtype.is_complex:
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": zeros_like(grad)}

    def __rule__(self, p: Tensor, grad: Tensor, state: State, group: Group, numbers: Any) -> None:
        lr, momentum, (rows, columns) = number_of(group["lr"]), group["momentum"], p.shape
        average = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        update = orthogonal(grad.lerp(average, momentum) if group["nesterov"] else average, group)
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        else:
            ratio = math.sqrt(max(1, rows / columns))
        p.mul_(1 - lr * group["weight_decay"]).sub_(update * (lr * ratio))


def orthogonal(matrix: Tensor, group: Group) -> Tensor:
    """A matrix with nearly the singular vectors of `matrix` and singular values near 1, by Newton and Schulz."""
    a, b, c = group["ns_coefficients"]
    if group["ns_steps"] >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    wide = matrix.to(bfloat16)
    tall = wide.size(0) > wide.size(1)
    wide = wide.T if tall else wide
    wide = wide / wide.norm().clamp(min=group["eps"])
    for _ in range(group["ns_steps"]):
        gram = wide @ wide.T
        wide = wide.addmm(gram.addmm(gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide.T if tall else wide


class SparseAdam(Optimizer):
    """Refused: it is for sparse gradients, and here gradients are dense."""

    def __init__(self, params: Params, *arguments: Any, **settings: Any) -> None:
        raise NotImplementedError(
            "SparseAdam does not support dense gradients, please consider Adam instead\nIt is for gradients of sparse "
            "layout, which jaxvjp does not have: JAX computes them dense."
        )
