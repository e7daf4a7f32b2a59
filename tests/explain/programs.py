"""Imperative programs as source text, made at random: what is printed of each is run and compared."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SHAPE = (2, 3)
UNARY = ("{}.sin()", "{}.tanh()", "{}.exp() * 0.1", "-{}", "{}.abs()", "{}.sigmoid()", "{} ** 2", "{}.relu() + 1.0")
BINARY = ("{} + {}", "{} * {}", "{} - {}", "{} / ({} ** 2 + 1.0)", "torch.maximum({}, {})", "2.0 * {} + {}")
SHAPED = (
    "{}.sum(0) + {}",
    "{}.mean(1, keepdim=True) * {}",
    "{}[0] + {}",
    "({} @ {}.t()).sum() * 0.1 + x",
    "{} + {}[1, :2].sum()",
)
IN_PLACE = ("{} += {}", "{}.mul_({})", "{}[0] = {}[1]", "{}[:, 1:] *= {}[:, 1:]", "{}[1, 0] = {}.sum()")


@st.composite
def programs(draw: Any) -> str:
    """The lines of a program over x and w that ends in a y of shape SHAPE."""
    names = ["x", "w"]
    lines: list[str] = []
    for _ in range(draw(st.integers(2, 7))):
        made = draw(st.sampled_from(["a", "b", "h", "a", "y"]))
        a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        kind = draw(st.sampled_from(["unary", "binary", "binary", "shaped", "in place", "loop", "cut"]))
        if kind == "unary":
            lines.append(f"{made} = {draw(st.sampled_from(UNARY)).format(a)}")
        elif kind == "binary":
            lines.append(f"{made} = {draw(st.sampled_from(BINARY)).format(a, b)}")
        elif kind == "shaped":
            lines.append(f"{made} = {draw(st.sampled_from(SHAPED)).format(a, b)}")
        elif kind == "cut":
            lines.append(f"{made} = {a}.detach() * {b}")
        elif kind == "loop":
            lines += [
                f"{made} = {a} * 1.0",
                f"for _ in range({draw(st.integers(2, 4))}):",
                f"    {made} = {made} * 0.5 + {b}",
            ]
        else:
            other = draw(
                st.sampled_from(["x", "w"])
            )  # another tensor: one that is changed and saved at once is torch's error
            lines += [f"{made} = {a}.clone()", draw(st.sampled_from(IN_PLACE)).format(made, other)]
        if made not in names:
            names.append(made)
    return "\n".join([*lines, f"y = x * w + {names[-1]}"])
