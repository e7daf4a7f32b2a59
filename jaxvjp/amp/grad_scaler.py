"""`GradScaler`: losses are scaled, so that gradients of float16 do not vanish, and infinite gradients skip a step."""

from __future__ import annotations

import inspect
from collections import defaultdict
from enum import Enum
from typing import Any

from jaxvjp.autograd.modes import no_grad
from jaxvjp.library.creation import full
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types import devices
from jaxvjp.types.dtypes import float16, float32
from jaxvjp.types.user_code import warn_user


class OptState(Enum):
    """What was done to an optimizer since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


KEPT = {key: f"_{key.lstrip('_')}" for key in ("growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")}
"""Beside the scale, the keys of `state_dict`, and the attributes that these are."""


def _fresh() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf": None}


def _gradients(optimizer: Any) -> list[Tensor]:
    found = [each.grad for group in optimizer.param_groups for each in group["params"]]
    return [each for each in found if each is not None]


@no_grad()
def _infinite(gradients: list[Tensor]) -> Tensor | None:
    """Whether one of them has an infinite element, or NaN; None if there are none."""
    found = None
    for gradient in gradients:
        finite = gradient.isfinite().all()
        found = ~finite if found is None else found | ~finite
    return found


class GradScaler:
    """Multiplies losses by a scale, and divides gradients by it before an optimizer's step.

    A step is skipped if a gradient is infinite or NaN, and `update` then makes the scale smaller; after
    `growth_interval` steps without one it makes it larger.

    Args:
        device: "cuda" or "cpu"; for "cuda" without a GPU it is switched off, with a warning.
        init_scale: the first scale.
        growth_factor, backoff_factor: what the scale is multiplied by: more than 1, less than 1.
        growth_interval: how many steps without an infinite gradient make it larger.
        enabled: False has every method do as if there were no scale.

    Counterpart of `torch.amp.GradScaler`. Underneath: the scale is a tensor, so another one compiles nothing.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not devices.count_of("cuda"):
            warn_user(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
            )
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = self._init_growth_tracker = 0
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_fresh)

    def scale(self, outputs: Any) -> Any:
        """A tensor, or each of a list or tuple, times the scale. ValueError for anything else."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = full((), self._init_scale, dtype=float32, device=outputs.device)
            return outputs * self._scale.to(device=outputs.device)
        if isinstance(outputs, list | tuple):
            scaled = [self.scale(output) for output in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    @no_grad()
    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the scale, in place, and looks for infinite ones.

        RuntimeError after `step` or another `unscale_` of it; ValueError for gradients of float16.
        """
        if not self._enabled:
            return
        scale, state = _scale_for(self, "unscale_"), self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        gradients = _gradients(optimizer)
        if any(gradient.dtype is float16 for gradient in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        state["found_inf"] = _infinite(gradients)
        for gradient in gradients:
            gradient.mul_(inverse.to(device=gradient.device))
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *arguments: Any, **named: Any) -> Any:
        """`optimizer.step(...)`, unless one of its gradients is infinite or NaN; they are unscaled first.

        RuntimeError for a closure, and for a second step before `update`.
        """
        if not self._enabled:
            return optimizer.step(*arguments, **named)
        if "closure" in named:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        _scale_for(self, "step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = _step_that_unscales(self, optimizer, state, arguments, named)
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if state["found_inf"] is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if state["found_inf"].item() else optimizer.step(*arguments, **named)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Makes the scale smaller if a gradient was infinite, larger after enough that were not; or sets it."""
        if not self._enabled:
            return
        scale = _scale_for(self, "update")
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
        elif new_scale is not None:
            wrong = "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
            if new_scale.numel() != 1 or new_scale.requires_grad or new_scale.dtype is not float32:
                raise AssertionError(f"{wrong}requires_grad=False.")
            scale.copy_(new_scale)
        else:
            found = [each["found_inf"] for each in self._per_optimizer_states.values() if each["found_inf"] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(each.item() for each in found):
                scale.mul_(self._backoff_factor)
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    grown = scale * self._growth_factor
                    if grown.isfinite().item():
                        scale.copy_(grown)
                    self._growth_tracker = 0
        self._per_optimizer_states = defaultdict(_fresh)

    def get_scale(self) -> float:
        """The scale; 1.0 if this is switched off."""
        if not self._enabled:
            return 1.0
        return float(self._init_scale if self._scale is None else self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the scale grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the scale shrinks by."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many steps the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it changes; empty if this is switched off."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale()} | {key: getattr(self, name) for key, name in KEPT.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave. RuntimeError for an empty one."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self.__dict__.update({name: state_dict[key] for key, name in KEPT.items()})
        self._init_growth_tracker = self._growth_tracker


def _step_that_unscales(
    scaler: GradScaler, optimizer: Any, state: dict[str, Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """A step of an optimizer that unscales by itself: it gets the scaler, or else the scale and `found_inf`."""
    if "grad_scaler" in inspect.signature(optimizer.step).parameters:
        warn_user(
            "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
            "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and "
            "let the optimizer use them directly.",
            FutureWarning,
        )
        return optimizer.step(*arguments, **named, grad_scaler=scaler)
    scaled = state["stage"] is OptState.READY
    if scaled:
        state["found_inf"] = _infinite(_gradients(optimizer))
    optimizer.grad_scale = _scale_for(scaler, "step").clone() if scaled else None
    optimizer.found_inf = None if state["found_inf"] is None else state["found_inf"].to(float32)
    try:
        return optimizer.step(*arguments, **named)
    finally:
        del optimizer.grad_scale, optimizer.found_inf


def _scale_for(scaler: GradScaler, asked: str) -> Tensor:
    if scaler._scale is None:
        raise AssertionError(
            f"Attempted {asked} but _scale is None.  This may indicate your script did not use scaler.scale(loss "
            "or outputs) earlier in the iteration."
        )
    return scaler._scale
