"""The Jacobian of a backward pass as a table: J with labels on its rows and columns, v, and vᵀJ.

`jacobian_of` computes it.
"""

from __future__ import annotations

import html
import math
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.autograd.backward import jacobian
from jaxvjp.autograd.function_step import shown_tensor
from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.observers import Stepped, Walked
from jaxvjp.core.record.record import record
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.explain import terminal
from jaxvjp.explain.notebook import side_by_side, table
from jaxvjp.explain.refusal import Unshowable
from jaxvjp.explain.source import computed, write
from jaxvjp.explain.story import Story
from jaxvjp.ops.complex import view_as_real
from jaxvjp.types.user_code import own_name

Array = np.ndarray[Any, Any]
LARGEST = 4096
"""A J of more numbers than this is refused."""
LATEX = 64


class Matrix(NamedTuple):
    """J for one input.

    Attributes:
        name: the input's name.
        jacobian: J, of shape root.shape + input.shape.
    """

    name: str
    jacobian: Array


class Jacobian:
    """J for each input of a backward pass, with v and vᵀJ; `print` lays it out.

    Attributes:
        root: the result's name.
        v: the gradient argument, of the result's shape. Of a complex one the parts, Re and Im, along one more
            dimension: J has a row for each.
        matrices: J for each input.
        rows: a label for each row of J.
        hooked: whether a hook changed a cotangent on the way, so that `.grad` is not vᵀJ.
    """

    hooked = False

    def __init__(self, root: str, v: Array, matrices: list[Matrix]) -> None:
        self.root = root
        self.rows = terminal.labels(root, v.shape)
        self.complex = np.iscomplexobj(v)
        if self.complex:
            self.rows = [f"{part} {label}" for label in self.rows for part in ("Re", "Im")]
            v = np.stack([v.real, v.imag], -1)
        self.v = v
        self.matrices = matrices

    def __getitem__(self, name: str) -> Array:
        """J for the input of that name."""
        for matrix in self.matrices:
            if matrix.name == name:
                return matrix.jacobian
        raise KeyError(f"{name!r}; there are {', '.join(matrix.name for matrix in self.matrices)}")

    def product(self, name: str) -> Array:
        """vᵀJ for the input of that name."""
        return np.asarray(np.tensordot(self.v, self[name], self.v.ndim))

    @property
    def picked(self) -> str | None:
        """The element of the result whose row v picks; None if v is not one-hot."""
        flat = self.v.ravel()
        if flat.size < 2 or np.count_nonzero(flat) != 1 or flat.sum() != 1:
            return None
        return self.rows[int(np.flatnonzero(flat)[0])]

    def sentences(self, matrix: Matrix) -> list[str]:
        """Sentences about the shapes and v."""
        shape, own = self.v.shape, matrix.jacobian.shape[self.v.ndim :]
        root = f"view_as_real({self.root})" if self.complex else self.root
        said = [f"{root} has shape {list(shape)} and {matrix.name} {list(own)}, so J has shape {[*shape, *own]}"]
        if not [*shape, *own]:
            said = [f"{self.root} and {matrix.name} are one number each, and so is J"]
        if len(shape) > 1 or len(own) > 1:
            said.append(f"laid out with a row for each element of {self.root} and a column for each of {matrix.name}")
        if self.complex:
            said.append("a complex number of the result has two rows, one for each part, and two numbers in v")
        if np.iscomplexobj(matrix.jacobian):
            said.append("a+bj is two derivatives: a with respect to the real part, b with respect to the imaginary one")
        if self.hooked:
            said.append("a hook changed a gradient on the way, which J leaves out: .grad is not vᵀJ")
        if self.picked is not None:
            said.append(f"v is one-hot: vᵀJ is the row {self.picked} of J")
        elif self.v.size == 1:
            said.append(f"{self.root} is one number: J has one row, which v multiplies")
        elif (self.v == 1).all():
            said.append(f"v is all ones: vᵀJ is the sum of the rows, the gradient of {self.root}.sum()")
        else:
            said.append("vᵀJ is the sum of the rows, each times its number in v")
        return said

    def parts(self, matrix: Matrix) -> list[tuple[str, Array, list[str], list[str]]]:
        """J, vᵀ and vᵀJ of one input as matrices: name, numbers, labels of the rows, labels of the columns."""
        rows = self.rows
        columns = terminal.labels(matrix.name, matrix.jacobian.shape[self.v.ndim :])
        return [
            ("J", matrix.jacobian.reshape(len(rows), len(columns)), rows, columns),
            ("vᵀ", self.v.reshape(1, -1), [""], rows),
            ("vᵀJ", self.product(matrix.name).reshape(1, -1), [""], columns),
        ]

    def __str__(self) -> str:
        blocks = []
        for matrix in self.matrices:
            laid_out = [terminal.matrix(*part) for part in self.parts(matrix)]
            blocks.append("\n".join([*self.sentences(matrix), *laid_out]))
        return "\n\n".join(blocks)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        blocks = []
        for matrix in self.matrices:
            j, v, product = [_table(*part) for part in self.parts(matrix)]
            said = "<br>".join(html.escape(each) for each in self.sentences(matrix))
            blocks.append(f"<p>{said}</p>{side_by_side({'': v, '·': j, '=': product})}")
        return "".join(blocks)

    def _repr_latex_(self) -> str | None:
        """vᵀJ in LaTeX as a product of matrices; None if they are too large."""
        if sum(matrix.jacobian.size for matrix in self.matrices) > LATEX or any(
            np.iscomplexobj(matrix.jacobian) for matrix in self.matrices
        ):
            return None
        lines = []
        for matrix in self.matrices:
            (_, j, _, _), (_, v, _, _), (_, product, _, _) = self.parts(matrix)
            left = rf"v^\top \frac{{\partial {_tex(self.root)}}}{{\partial {_tex(matrix.name)}}}"
            lines.append(f"{left} = {_bmatrix(v)} {_bmatrix(j)} = {_bmatrix(product)}")
        return "$$" + r"\begin{gathered}" + r" \\ ".join(lines) + r"\end{gathered}" + "$$"


def _table(name: str, values: Array, rows: list[str], columns: list[str]) -> str:
    numbers = [[label, *[terminal.numbers(each) for each in row]] for label, row in zip(rows, values, strict=True)]
    return table(name, ["", *columns], numbers)


def _bmatrix(values: Array) -> str:
    rows = [" & ".join(terminal.numbers(each) for each in row) for row in values]
    return r"\begin{bmatrix}" + r" \\ ".join(rows) + r"\end{bmatrix}"


def _tex(name: str) -> str:
    return name.replace("_", r"\_")


def refused(root: str, shape: tuple[int, ...], name: str, own: tuple[int, ...]) -> Unshowable | None:
    """The error for a J that is too large; None if it is not."""
    size = math.prod(shape) * math.prod(own)
    if size <= LARGEST:
        return None
    return Unshowable(
        f"the Jacobian of {root} with respect to {name} has shape {[*shape, *own]}: {size:,} numbers, more than the "
        f"{LARGEST:,} that are laid out\n"
        f"`{own_name()}.autograd.functional.jacobian(f, x)` computes it; one row of it is `y.backward(one_hot)`."
    )


def jacobian_of(walked: Walked, names: dict[Node, str]) -> Jacobian:
    """The Jacobian of a backward pass from one root whose graph has not been freed; `names` has the names of nodes.

    ValueError where it is too large, or where there are several roots.
    """
    root, v = single(walked, names)
    called = names.get(root, "y")
    leaves = list(walked.gradients)
    labels = [names.get(each, f"x{place}" if len(leaves) > 1 else "x") for place, each in enumerate(leaves)]
    for node, label in zip(leaves, labels, strict=True):
        error = refused(called, root.aval.shape, label, node.aval.shape)
        if error is not None:
            raise error
    result = record(view_as_real, (root,)) if root.aval.dtype.is_complex else root
    found = jacobian(shown_tensor(result), [shown_tensor(leaf) for leaf in leaves])
    evaluate([each.__node__ for each in found])
    matrices = [Matrix(label, np.asarray(each.__value__)) for label, each in zip(labels, found, strict=True)]
    return Jacobian(called, v, matrices)


def recorded_jacobian(story: Story, walked: Walked, names: dict[Node, str]) -> Jacobian:
    """The Jacobian of a backward pass that has run, by `jax.jacrev` of the function in the printed program."""
    root, v = single(walked, names)
    for node in walked.gradients:
        error = refused(names[root], root.aval.shape, names[node], node.aval.shape)
        if error is not None:
            raise error
    found: dict[str, Any] = {}
    within = [node for node in walked.gradients if not node.is_leaf]  # retained, or asked for: each has a function
    for own in [[node for node in walked.gradients if node.is_leaf], *[[node] for node in within]]:
        only = walked._replace(gradients={node: walked.gradients[node] for node in own}, batched=0)
        events = [
            event._replace(what=only) if event.what is walked else event
            for event in story.events
            if event.what is walked or isinstance(event.what, Stepped)
        ]
        if own:
            told = story._replace(events=events, shown=[], owners={}, hypothetical=True)
            program = write(told, "jacrev", wide_types=True)
            variables = [each for node in own if (each := f"{names[node]}_jacobian") in program.source]
            found |= zip(variables, computed(program, variables), strict=True)
    matrices = []
    for node in walked.gradients:
        if node is root:  # `x.backward(v)` of a leaf
            matrices.append(Matrix(names[node], np.eye(v.size).reshape(v.shape * 2)))
            continue
        variable = f"{names[node]}_jacobian"
        if variable not in found:
            raise Unshowable(
                "this backward pass has no Jacobian to be laid out: it goes through complex numbers or cuts"
            )
        matrices.append(Matrix(names[node], np.asarray(found[variable])))
    return Jacobian(names[root], v, matrices)


def begun(walked: Walked) -> tuple[list[Node], list[Array]]:
    """The tensors at which a backward pass began, with the v of each: of several at once, the first."""
    if walked.older:
        raise Unshowable(
            "a leaf was written between two of its uses, and its gradient is the sum of those for both of its values: "
            "there is no one x to take the Jacobian at\n"
            "In the program they are two arguments of a function."
        )
    evaluate([v for v in walked.cotangents if v is not None])
    first = (0,) * walked.batched
    return list(walked.roots), [
        np.ones(root.aval.shape, root.aval.dtype.numpy) if v is None else np.asarray(v.value)[first]
        for root, v in zip(walked.roots, walked.cotangents, strict=True)
    ]


def single(walked: Walked, names: dict[Node, str]) -> tuple[Node, Array]:
    """The root of a backward pass and its v; ValueError if it has several roots."""
    roots, given = begun(walked)
    if len(roots) > 1:
        raise Unshowable(
            "this backward began at several tensors at once, so there are several Jacobians\n"
            f"Explain one of them: `{own_name()}.explain({names.get(roots[0], 'y')}).jacobian()`."
        )
    return roots[0], given[0]
