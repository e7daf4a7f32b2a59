"""Ops that change no number: they say where gradients start, stop, or are taken out of a tuple.

`core` records them; of these the user calls only `clone` and `detach`.
"""

from functools import partial
from itertools import starmap

import jax

from jaxvjp.ops.arguments import Index, Shape
from jaxvjp.ops.layouts import LIKE
from jaxvjp.ops.op import Op, backward_name, op

TRACED = (
    "This tensor stands for a value inside of a function that JAX traces, or of the body of a loop: it has no value of "
    "its own.\nInside, say without reading it what depends on it: `torch.where`, `torch.cond`, `torch.while_loop`; a "
    "size is an argument in JAX's `static_argnums`; `torch.func.grad` is the gradient; and "
    "`x = torch.wrap(lambda x: (jax.debug.print('{}', x), x)[1])(x)` prints it. NumPy reads it, in `x * array` too: "
    "make a tensor of its array first, `torch.from_numpy(array)`. Outside, it was left behind by the function: return "
    "it instead."
)
NO_VALUE = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report.\n"
    "The tensor stands for every example of the batch at once, so it has no one value. What depends on values can be "
    "said without reading them, `mask * a + ~mask * b`, or be done before or after vmap."
)


def _unchanged(name: str, meaning: str, keeps: str = "") -> Op:
    """Declares an op whose result is its operand."""

    @op(name=name, public="", doc=meaning, keeps=keeps)
    def row(input):
        return input

    return row


UNCHANGING = {
    "variable": "The value of a leaf that an earlier operation computes: `w -= 0.1 * w.grad` under `no_grad`.",
    "function_result": "What a custom Function's `forward` computed, whose derivative is the Function's own.",
    "transform_argument": "A transform's argument as the user's function got it; recorded when that has returned.",
    "transform_result": "A result as it leaves a transform: gradients stop here, tangents pass.",
    "dual": "The value to which forward mode attaches a tangent.",
    "primal": "The value without the tangent of one level of forward mode.",
}
variable, function_result, transform_argument, transform_result, dual, primal = starmap(_unchanged, UNCHANGING.items())
clone = _unchanged(
    "clone", "A copy with storage of its own, through which gradients flow: what `clone()` records.", LIKE
)


@op(differentiable=False, public="")
def detach(input):
    """The same value, through which no gradient flows: `jax.lax.stop_gradient`."""
    return jax.lax.stop_gradient(input)


@op(public="")
def tuple_item(results, *, index: Index):
    """One of the arrays that an op returns as a tuple: `values` of `values, indices = x.max(0)`."""
    return results[index]


@op(public="")
def example(batch):
    """One example of a batch, which stands for all of them while `vmap` records: it has no value to compute."""
    raise RuntimeError(NO_VALUE)


@op(public="")
def traced():
    """A value that JAX is tracing, or will: an argument of a pure function while that is recorded."""
    raise RuntimeError(TRACED)


@op(public="", moves=True, grad_fn="RedistributeBackward")
def redistributed(input, *, place, over):
    """The value laid out over a mesh as `over` says. Where the result is: there, or at home (None)."""
    return jax.lax.with_sharding_constraint(input, over.sharding)


@jax.custom_jvp
def _rebind(gradient_of, value):
    return value


@_rebind.defjvp
def _rebind_jvp(primals, tangents):
    # `_rebind` again, so that second derivatives are those of the first operand; `x.data = y` may change the dtype.
    return _rebind(*primals), tangents[0].astype(primals[1].dtype)


@op(public="", grad_fn="AliasBackward0")
def rebind(gradient_of, value):
    """The value of one array with the gradient of another: what `y.data[0] = 5` makes of a computed `y`.

    Its rule is written by hand because the equivalent `value + (old - stop_gradient(old))` is NaN where `old` is
    infinite. Ops also use it to return one value with the derivative of another formula.
    """
    return _rebind(gradient_of, value)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def refusing(sources, value, error):
    return value


@refusing.defjvp
def _refusing_jvp(error, primals, tangents):
    kind, sentence = error
    raise kind(sentence)


@op(public="", grad_fn="NotImplemented")
def refused(source, value, *, error):
    """`value`, which was worked out from `source`, and whose derivative is that `error`: its class and sentence."""
    return refusing(source, value, error)


@op(public="", grad_fn=lambda static, avals: backward_name(*static))
def unaffected(value, *operands, name: str, variant: int):
    """A value whose gradient for `operands` is zeros and not None, as after `x.eq_(3)`."""
    return value


@op(public="", grad_fn="ViewBackward0")
def shaped(input, *, size: Shape):
    """The same elements, in order, in another shape of as many."""
    return input.reshape(size)


UNCHANGED = frozenset([variable, detach, function_result, transform_argument, transform_result, dual, primal, clone])
"""Ops whose result is their operand, for who computes values alone."""
