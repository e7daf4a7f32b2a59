"""Products of more than two operands or dimensions: `einsum`, `tensordot`, `cross`."""

import string
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import jax.numpy as jnp

from jaxvjp.ops.arguments import Index, Kind, Spread, Tensors, Text, index, integers, wrap
from jaxvjp.ops.matrices import ctype, inexact, one_scalar_type, same_type
from jaxvjp.ops.op import op
from jaxvjp.ops.pointwise import broadcast
from jaxvjp.ops.products import UNPROMOTED, at_setting, numeric, precision, vdot
from jaxvjp.types.user_code import warn_of_call


def _contracted(value: Any) -> int | tuple[tuple[int, ...], ...]:
    """The `dims` of `tensordot`: how many dimensions are summed over, or which ones of each operand."""
    if hasattr(value, "tolist"):  # a tensor; one of one element is a number
        value = value.tolist() if value.ndim and len(value) > 1 else value.item()
    if not isinstance(value, Sequence):
        return index(value)
    first, second = ((each,) if isinstance(each, int) else integers(each) for each in value)
    return first, second


Contracted = Annotated[Any, Kind("tuple of ints", _contracted, tensors=True)]


@op(public="function", grad_fn="ViewBackward0", saves="a for b, b for a", rewrite=at_setting)
def tensordot(a, b, dims: Contracted = 2):
    """The sum of products over the last `dims` dimensions of `a` and the first of `b`, or over those listed."""
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = tuple(range(-dims, 0)), tuple(range(dims))
    if len(dims[0]) != len(dims[1]):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype != b.dtype:
        raise RuntimeError(f"both inputs should have same dtype{UNPROMOTED.format('tensordot')}")
    for first, second in zip(*dims, strict=True):
        one, two = a.shape[wrap(first, a.ndim)], b.shape[wrap(second, b.ndim)]
        if one != two and 1 not in (one, two):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {one} in dim {first} and second has size "
                f"{two} in dim {second}"
            )
        if one != two:  # one of them is 1: its element is repeated
            a = jnp.sum(a, first, keepdims=True, dtype=a.dtype) if two == 1 else a
            b = jnp.sum(b, second, keepdims=True, dtype=b.dtype) if one == 1 else b
    numeric(a, "addmm_impl_cpu_")
    return jnp.tensordot(a, b, dims, precision=precision())


ELLIPSIS = "."
"""The letter that stands for `...`."""


def subscripts(equation: str, count: int) -> tuple[list[str], str | None]:
    """The letters of each operand, with ELLIPSIS for `...`, and those of the result; None where it has none."""
    left, arrow, right = equation.partition("->")
    parts, start = [], 0
    for place, part in enumerate(left.split(",")):
        if place == count:
            raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
        again, lone = "for which an ellipsis was already found", "that is not part of any ellipsis"
        parts.append(_letters(part, start, f"for operand {place} {again}", f"for operand {place} {lone}"))
        start += len(part) + 1
    if len(parts) < count:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    if not arrow:
        return parts, None
    again = "for output but an ellipsis (...) was already found"
    output = _letters(right, len(left) + 2, again, "for output that is not part of any ellipsis (...)")
    for place, letter in enumerate(output):
        if letter in output[:place]:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
        if letter != ELLIPSIS and letter not in left:
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any input operand"
            )
    return parts, output


def _letters(part: str, start: int, again: str, lone: str) -> str:
    """The letters of one operand, which begins at `start` of the equation; `again` and `lone` are said of dots."""
    found, rest = "", part.replace("...", ELLIPSIS + "  ")
    for place, letter in enumerate(rest):
        if letter == "." and (ELLIPSIS in found or part[place : place + 3] != "..."):
            raise RuntimeError(f"einsum(): found '.' {again if ELLIPSIS in found else lone}")
        if letter not in (" ", ELLIPSIS) and letter not in string.ascii_letters:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + place} in the equation string, subscripts must "
                "be in [a-zA-Z]"
            )
        found += letter.strip()
    return found


def spelt_out(parts: list[str], output: str | None, ndims: list[int]) -> tuple[list[list[str]], list[str]]:
    """Labels for each operand and the result; each dimension behind `...` has a label of its own, counted from the
    right."""
    longest, labelled = 0, []
    for place, (part, ndim) in enumerate(zip(parts, ndims, strict=True)):
        hidden = ndim - len(part.replace(ELLIPSIS, ""))
        said = f"einsum(): the number of subscripts in the equation ({ndim - hidden})"
        if hidden != 0 and ELLIPSIS not in part:
            raise RuntimeError(
                f"{said} does not match the number of dimensions ({ndim}) for operand {place} and no ellipsis was given"
            )
        if hidden < 0:
            raise RuntimeError(f"{said} is more than the number of dimensions ({ndim}) for operand {place}")
        longest = max(longest, hidden)
        labelled.append(_labels(part, hidden))
    if output is None:
        letters = "".join(parts).replace(ELLIPSIS, "")
        output = ELLIPSIS + "".join(sorted(letter for letter in letters if letters.count(letter) == 1))
    return labelled, _labels(output, longest)


def _labels(part: str, hidden: int) -> list[str]:
    found: list[str] = []
    for letter in part:
        found += [f".{place}" for place in reversed(range(hidden))] if letter == ELLIPSIS else [letter]
    return found


@op(public="", grad_fn="ViewBackward0", saves="operands", rewrite=at_setting)
def einsum(operands: Tensors, equation: Text = ""):
    """The sum of products that the equation describes in Einstein's notation."""
    labelled, output = spelt_out(*subscripts(equation, len(operands)), [operand.ndim for operand in operands])
    sizes: dict[str, int] = {}
    for place, (labels, each) in enumerate(zip(labelled, operands, strict=True)):
        own: dict[str, int] = {}
        for axis, (label, size) in enumerate(zip(labels, each.shape, strict=True)):
            if own.setdefault(label, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {place} but the sizes don't match, {size} != "
                    f"{own[label]}"
                )
            known = sizes.get(label, 1)
            if 1 not in (known, size) and known != size:
                unlike, before = "which does not broadcast with previously seen", f"size {known}"
                if label.startswith("."):
                    raise RuntimeError(
                        f"einsum(): dimension {axis} covered by ellipsis in operand {place}has size {size} {unlike} "
                        f"ellipsis with {before} for the respective dimension"
                    )
                raise RuntimeError(f"einsum(): subscript {label} has size {size} for operand {place} {unlike} {before}")
            sizes[label] = size if known == 1 else known
    number = {label: place for place, label in enumerate(sizes)}
    arguments: list[Any] = []
    for labels, each in zip(labelled, operands, strict=True):
        # A dimension of size 1 beside a longer one is broadcast: it does not decide the size.
        dropped = [axis for axis, label in enumerate(labels) if each.shape[axis] == 1 != sizes[label]]
        arguments.append(jnp.squeeze(each, dropped) if dropped else each)
        arguments.append([number[label] for axis, label in enumerate(labels) if axis not in dropped])
    first, common = operands[0], jnp.result_type(*operands)
    gone = {label: sum(label in labels for labels in labelled) for label in number if label not in output}
    if max(gone.values(), default=0) > 1:  # torch multiplies matrices, and else elements
        numeric(first, "bmm")
        for each in operands:
            one_scalar_type(first, each)
    # torch first sums over labels that only one operand has, integers in 64 bits.
    widened = 1 in gone.values() and not jnp.issubdtype(common, jnp.inexact)
    counted = jnp.int64 if widened else jnp.uint8 if common == jnp.bool_ else common
    arguments[::2] = [argument.astype(counted) for argument in arguments[::2]]
    wanted = [number[label] for label in output if label in number]
    return jnp.einsum(*arguments, wanted, precision=precision()).astype(counted if widened else common)


einsum_alone = op(name="einsum.alone", public="", grad_fn="SumBackward1")(einsum.function)
"""`einsum` of one operand, of which torch saves nothing."""


def _chain(tensors):
    """The tensors of `multi_dot`, of which the first may be a row and the last a column."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    last = len(tensors) - 1
    for place, each in enumerate(tensors):
        if place in (0, last):
            if each.ndim not in (1, 2):
                end = "last" if place else "first"
                raise RuntimeError(f"multi_dot(): the {end} tensor must be 1D or 2D but got {each.ndim}D")
        elif each.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {place} must be 2D but got {each.ndim}D")
        if each.dtype != tensors[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {ctype(tensors[0])} and tensor "
                f"{place} {ctype(each)}"
            )
    shapes = [tensor.shape for tensor in tensors]
    for place, (one, two) in enumerate(pairwise(shapes)):
        if one[-1] != two[0]:
            one = (1, *one) if place == 0 and len(one) == 1 else one
            two = (*two, 1) if place + 1 == last and len(two) == 1 else two
            raise RuntimeError(
                f"multi_dot(): tensors {place} and {place + 1} with shapes {list(one)} and {list(two)} cannot be "
                "multiplied"
            )
    return tensors


@op(grad_fn="ViewBackward0", saves="tensors", rewrite=at_setting)
def linalg_multi_dot(tensors: Tensors):
    """The product of several matrices, in the order that costs least."""
    return jnp.linalg.multi_dot(_chain(tensors), precision=precision())


@op(public="function", grad_fn="ViewBackward0", saves="matrices", rewrite=at_setting)
def chain_matmul(matrices: Spread = ()):
    """The product of several matrices, in the order that costs least."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    warn_of_call(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    for matrix in matrices:
        if matrix.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.ndim}, expected 2 instead.")
    return linalg_multi_dot.function(matrices) if len(matrices) > 1 else matrices[0]


@op(saves="input for other, other for input")
def linalg_cross(input, other, *, dim: Index = -1):
    """The vector perpendicular to two others, whose length is 3 along `dim`."""
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    one, two = input.shape[wrap(dim, input.ndim)], other.shape[wrap(dim, input.ndim)]
    if (one, two) != (3, 3):
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {one} and {two}")
    one_scalar_type(input, other)
    input, other = jnp.broadcast_arrays(*broadcast(input, other))
    return jnp.cross(input, other, axis=dim)


@op(saves="input for other, other for input", grad_fn="LinalgCrossBackward0")
def cross(input, other, dim: Index | None = None):
    """The vector perpendicular to two others, along `dim`, by default the first dimension of length 3."""
    if dim is None:
        if 3 not in input.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = input.shape.index(3)
        warn_of_call(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly "
            "or simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of "
            "linalg.cross in a future release."
        )
    return linalg_cross.function(input, other, dim=dim)


@op(saves="x for y, y for x")
def linalg_vecdot(x, y, *, dim: Index = -1):
    """The inner products along `dim` of two stacks of vectors, the first of them conjugated."""
    same_type(inexact(x, "linalg.vecdot"), y, "linalg.vecdot", "x and y")
    if x.ndim == y.ndim == 1:
        return vdot.function(x, y)
    x, y = jnp.broadcast_arrays(*broadcast(x, y))
    return jnp.sum(jnp.conj(x) * y, wrap(dim, x.ndim), dtype=x.dtype)


@op()
def trace(input):
    """The sum of a matrix's diagonal; of integers an int64."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    numeric(input, "trace")
    result = jnp.trace(input)
    return result if jnp.issubdtype(result.dtype, jnp.inexact) else result.astype("int64")
