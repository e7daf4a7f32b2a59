"""Losses that are more than a row, and the in-place activations."""

from __future__ import annotations

from collections.abc import Callable

from jaxvjp.core.record.modes import transforming
from jaxvjp.ops.neural import loss as losses
from jaxvjp.ops.neural.distance import pairwise_distance
from jaxvjp.ops.op import REGISTRY
from jaxvjp.tensor.answers import publish
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.bindings import in_place_of
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "ops of `jaxvjp.ops.neural`, and `jax.vjp` of them"


@public("nn.functional")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`max(0, distance to positive - distance to negative + margin)`, both measured from the anchor.

    `distance_function` is `pairwise_distance` by default.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    losses.check_triplet(margin, anchor, positive, negative)

    def euclidean(x: Tensor, y: Tensor) -> Tensor:
        return apply(pairwise_distance, (x, y), (2.0, 1e-6, False))

    distance = distance_function or euclidean
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    loss: Tensor = near.sub(far).add(margin).clamp_min(0)
    return loss.sum() if reduction == "sum" else loss.mean() if reduction == "mean" else loss


def _constant(target: Tensor) -> Tensor:
    """The target of `soft_margin_loss`; RuntimeError, in torch's words, if it requires a gradient."""
    if target.requires_grad and not transforming().pure:
        raise RuntimeError(
            "The function 'soft_margin_loss' is not differentiable with respect to argument 'target'. This input "
            "cannot have requires_grad True."
        )
    return target


REDUCTION = "size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean'"
CHOSEN = "losses.chosen_reduction(size_average, reduce, reduction)"
LOSSES = f"""
hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0,
    {REDUCTION}) -> Tensor = apply(losses.hinge_embedding_loss, (input, target.detach()), (float(margin), {CHOSEN}))
    `input` where the target is 1, and `max(0, margin - input)` where it is -1.
    The target is only compared, so it has no gradient.
cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
    {REDUCTION}) -> Tensor = apply(losses.cosine_embedding_loss, (input1, input2, target.detach()),
    (float(margin), {CHOSEN}))
    `1 - cosine` of two vectors where the target is 1, `cosine - margin`, if positive, where it is -1.
    The target is only compared, so it has no gradient.
soft_margin_loss(input: Tensor, target: Tensor,
    {REDUCTION}) -> Tensor = apply(losses.soft_margin_loss, (input, _constant(target)), ({CHOSEN},))
    `log(1 + exp(-target * input))`, for targets 1 and -1; RuntimeError for one that requires a gradient.
"""
publish({"nn.functional": LOSSES}, globals())

IN_PLACE = {
    **dict.fromkeys(["celu", "selu", "threshold"], "nn.functional function"),
    **dict.fromkeys(["elu", "hardtanh", "leaky_relu", "relu"], "nn.functional"),
}
"""Activations with an in-place function such as `relu_`, and where torch has it."""

for _name, _places in IN_PLACE.items():
    public(_places, f"{_name}_")(in_place_of([REGISTRY[_name]], _name, "nn.functional"))
