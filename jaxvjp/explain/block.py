"""Makes statements from steps: decides which expressions are nested in one line, and which values get a name.

`Block` turns the steps of a computation into the lines of a function or of a program. A `Step` writes its outputs,
given the text of its inputs; it knows nothing of tensors or of JAX.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.explain.names import appended, safe, statement

DEEP, WIDE = 6, 88
"""How deep expressions are nested, and how long a line gets, before a part of it gets a line of its own."""
WIDEST = 120
"""The same for what is written, with the arguments that are no values."""

LASTING = 0.5
"""A value without a name of the user's that is read over more of all statements than this keeps its own to the end: in
the last round, too, those after it have the same names as in the others."""
ROUNDS = 3
"""At least so many values are a list that is appended to."""
Expression = ast.expr
Writer = Callable[[Sequence[Expression]], Expression]


class Value:
    """One value of a printed program; `wanted` is the name that it should have, None if it needs none.

    If it is given in a dict, `member` has what tells this dict from others, its name, and the key.
    """

    __slots__ = ("member", "step", "wanted")

    def __init__(self, wanted: str | None = None) -> None:
        self.wanted = wanted
        self.member: tuple[Any, str, str] | None = None
        self.step: Step | None = None


class Step:
    """A computation of values from values.

    Attributes:
        inputs: the values that it reads; one that is read twice is listed twice.
        outputs: the values that it makes; the result is unpacked if there are several, or if `unpacked` is set.
        write: makes its expression from an expression for each input.
        order: its place in time.
        recorded: the same, when it was recorded.
        where: the user's line that recorded it.
        stays: whether it is a statement of its own even if its output is read once, or never.
        free: whether its expression is repeated wherever it is read, as a number is.
        note: a comment for its line.
        primal: of a derivative: how its first outputs, the values of the function, are computed without it, `f(x)`, and
            the nodes that they are.
        shorter: how it is written where nothing reads its first outputs, as many as `values`, and the user did not name
            them: without them, as `jax.grad` for `jax.value_and_grad`. A single output that is left, and is unnamed,
            may be nested then.
        late: whether it stands right before what reads it first, and not where it was recorded: `for row in x:` and
            `for rows in x.split(2):` record all parts at their beginning, and `row = x[i]` is to stand in round i.
        part: whether it is a part of its input at a place that is written out, `x[2]`.
    """

    __slots__ = (
        "form",
        "free",
        "grouped",
        "inputs",
        "late",
        "note",
        "order",
        "outputs",
        "part",
        "primal",
        "recorded",
        "shorter",
        "stays",
        "unpacked",
        "values",
        "where",
        "write",
    )

    def __init__(
        self,
        inputs: Sequence[Value],
        write: Writer,
        wanted: Sequence[str | None] = (None,),
        order: float = 0,
        where: UserLine = None,
        stays: bool = False,
        unpacked: bool = False,
        free: bool = False,
        note: str = "",
    ) -> None:
        self.inputs = list(inputs)
        self.write = write
        self.outputs = [Value(each) for each in wanted]
        for output in self.outputs:
            output.step = self
        self.order = self.recorded = order
        self.where = where
        self.stays = stays
        self.unpacked = unpacked or len(self.outputs) > 1
        self.free = free
        self.note = note
        self.late = self.part = False
        self.primal: Any = None
        self.shorter: Writer | None = None
        self.values = 1
        self.form = "{targets} = {expression}"
        self.grouped: list[tuple[int, int]] = []  # ranges of outputs that form a nested tuple


class Line(NamedTuple):
    """A statement of a printed program, and the user's lines that it comes from."""

    text: str
    sources: tuple[tuple[str, int, str], ...]
    step: Any
    note: str = ""


class Block:
    """The statements that compute `results` from the values that `given` has names for.

    Attributes:
        lines: the statements, in order.
        results: the expression of each result, after the last of them.
        names: the name of each value that has one.
        text: the `Text` whose functions are defined while the statements are written; None if all are before.
    """

    def __init__(
        self,
        steps: Iterable[Step],
        results: Sequence[Value],
        given: Mapping[Value, Expression],
        reserved: Collection[str] = (),
        final: bool = True,
        text: Any = None,
    ) -> None:
        self.text = text
        self.steps = live(in_order(steps), results)
        self.reserved = set(reserved)
        self.wanted = {safe(output.wanted) for step in self.steps for output in step.outputs if output.wanted}
        uses: dict[Value, int] = {}
        for each in [value for step in self.steps for value in step.inputs] + list(results):
            uses[each] = uses.get(each, 0) + 1
        self.uses = uses
        for step in self.steps:
            if step.shorter is not None and all(
                each not in uses and each.wanted is None for each in step.outputs[: step.values]
            ):
                step.outputs, step.write, step.shorter = step.outputs[step.values :], step.shorter, None
                step.unpacked, step.grouped = len(step.outputs) > 1, []
                step.stays = step.unpacked or step.outputs[0].wanted is not None
        self.foldable = {step for step in self.steps if self._folds(step)}
        for step in self.steps:
            self._appended(step)
        position, last_use = self._positions(results, final)
        returned = results[0] if len(results) == 1 else None
        self._write(given, position, last_use, returned)
        again = self._named_twice() if text is not None else {}
        before = {value: (value.wanted, self.names[value]) for value in again}
        for value in again:
            value.wanted = again[value]
        if again:
            self._write(given, position, last_use, returned)
        if len({self.names[value] for value in again}) >= len({name for _, name in before.values()}) > 0:
            for value, (wanted, _) in before.items():
                value.wanted = wanted
            self._write(given, position, last_use, returned)
        self.results = [self.expressions[result] for result in results]

    def _folds(self, step: Step) -> bool:
        if step.free:
            return True
        if step.stays or step.unpacked:
            return False
        (value,) = step.outputs
        return value.wanted is None and self.uses.get(value, 0) == 1

    def _appended(self, step: Step) -> None:
        """Gives lines of their own to what a step reads that one line has appended to a list."""
        read = [value for value in step.inputs if value.step in self.foldable and value.step.inputs]
        often = Counter(value.step.where for value in read if value.step is not None and value.step.where != step.where)
        named = {where: called for where, count in often.items() if count >= ROUNDS and (called := appended(where))}
        for value in read:
            if value.step is not None and value.step.where in named:
                value.wanted = value.wanted or named[value.step.where]
                self.foldable.discard(value.step)

    def _positions(self, results: Sequence[Value], final: bool) -> tuple[dict[Step, int], dict[Value, int]]:
        """For each step the number of the statement it is written in, and for each value the number of its last
        reader."""
        depth: dict[Step, int] = {}
        size: dict[Step, int] = {}
        for step in self.steps:
            inner = [each.step for each in step.inputs if each.step is not None and each.step in self.foldable]
            depth[step] = 1 + max([depth[each] for each in inner], default=0)
            # An estimate from names and brackets: measuring the real text would mean writing everything twice.
            size[step] = 8 + sum([size[each] for each in inner]) + 5 * (len(step.inputs) - len(inner))
            if step in self.foldable and not step.free and (depth[step] > DEEP or size[step] > WIDE):
                self.foldable.discard(step)
                depth[step], size[step] = 0, 0
        position = {step: place for place, step in enumerate(self.steps)}
        end = len(self.steps) if final else -1
        last_use: dict[Value, int] = dict.fromkeys(results, end)
        for step in reversed(self.steps):
            if step in self.foldable:
                position[step] = last_use.get(step.outputs[0], position[step])
            for operand in step.inputs:
                last_use[operand] = max(last_use.get(operand, -1), position[step])
        return position, last_use

    def _named_twice(self) -> dict[Value, str]:
        """The values of lines that are called `x` in some rounds, and `x_2` in others, where another `x` is read then:
        they are `x_2` in all."""
        sites: dict[Any, dict[Value, str]] = {}
        for step in self.steps:
            for place, value in enumerate(step.outputs):
                if value.wanted is not None and value in self.names and value.step is step:
                    sites.setdefault((step.where, place, value.wanted), {})[value] = self.names[value]
        found: dict[Value, str] = {}
        for (_, _, wanted), own in sites.items():
            names = {*own.values()}
            if len(names) == 2 and safe(wanted) in names and [*own.values()].count(safe(wanted)) > 1:
                found.update(dict.fromkeys(own, max(names, key=len)))
        return found

    def _write(
        self,
        given: Mapping[Value, Expression],
        position: Mapping[Step, int],
        last_use: Mapping[Value, int],
        returned: Value | None,
    ) -> None:
        self.lines: list[Line] = []
        self.expressions: dict[Value, Expression] = dict(given)
        self.names = {value: each.id for value, each in given.items() if isinstance(each, ast.Name)}
        begun: dict[Value, int] = {}
        owner: dict[str, Value] = {name: value for value, name in self.names.items()}
        sources: dict[Step, list[UserLine]] = {}
        for place, step in enumerate(self.steps):
            written = step.write([self.expressions[operand] for operand in step.inputs])
            read = [operand.step for operand in step.inputs if operand.step in self.foldable and operand.step.inputs]
            sources[step] = [*[where for each in read if each for where in sources.get(each, ())], step.where]
            alone = step in self.foldable and not step.free and step.outputs[0] is not returned
            if alone and _width(written) > WIDEST:
                self.foldable.discard(step)  # the text of its own is longer than was estimated
            if step in self.foldable:
                self.expressions[step.outputs[0]] = written
                continue
            targets = []
            for value in step.outputs:
                if value not in last_use and (value.wanted is None or not step.stays):
                    targets.append("_")
                    continue
                name = self._free(safe(value.wanted or "t"), value, place, owner, last_use, begun)
                owner[name], begun[value] = value, place
                if self.text is not None:
                    self.text.taken.add(name)
                self.names[value] = name
                self.expressions[value] = ast.Name(name, ast.Load())
                targets.append(name)
            for first, last in reversed(step.grouped):
                targets = [*targets[:first], _tuple(targets[first:last]), *targets[last:]]
            left = _tuple(targets) if len(targets) == 1 and step.unpacked else ", ".join(targets)
            if isinstance(written, ast.FunctionDef):
                written.name = left
            text = step.form.format(targets=left, expression=spelled(written))
            self.lines.append(Line(text, _lines_of(sources[step]), step, step.note))

    def _free(
        self,
        name: str,
        value: Value,
        place: int,
        owner: Mapping[str, Value],
        last_use: Mapping[Value, int],
        begun: Mapping[Value, int],
    ) -> str:
        """`name`, with a number appended if another value that is still read has it, or of the same step."""

        def busy(candidate: str) -> bool:
            if candidate in self.reserved or (self.text is not None and candidate in self.text.functions):
                return True
            other = owner.get(candidate)
            if other is None or other is value:
                return False
            lasting = value.wanted is None and last_use.get(other, -1) - begun.get(other, place) > LASTING * len(
                self.steps
            )
            return lasting or last_use.get(other, -1) > place or other.step is value.step

        candidate, number = name, 2
        while busy(candidate) or (candidate in self.wanted and (candidate != name or value.wanted is None)):
            candidate, number = f"{name}_{number}", number + 1
        return candidate


def _width(expression: Expression) -> int:
    """How long a text is, about: the same for each round of a loop, whose names and numbers are not equally long."""
    nodes = [each for each in ast.walk(expression) if not isinstance(each, ast.expr_context | ast.operator)]
    return sum(2 + len(getattr(each, "attr", None) or getattr(each, "arg", None) or "_") for each in nodes)


def form_of(steps: Sequence[Step], results: Sequence[Value], given: Mapping[Value, Expression]) -> list[str]:
    """The texts of steps and results, which are those of others that differ in what is given only."""
    block = Block(steps, results, given, {"jax", "jnp"})
    return [*[line.text for line in block.lines], *[ast.unparse(result) for result in block.results]]


def in_order(steps: Iterable[Step]) -> list[Step]:
    """The steps in the order of time, but each after its inputs: a forward step may read what a saved-tensor hook
    returned later, in a backward pass."""
    ordered = sorted(steps, key=lambda step: step.order)
    first: dict[Value, float] = {}  # when it is read first
    for step in ordered:
        for value in step.inputs:
            first.setdefault(value, step.order)
    for step in ordered:
        if step.late:
            readers = [first[value] for value in step.outputs if value in first]
            step.order = max(step.order, min(readers, default=step.order) - 1e-6)
    ordered.sort(key=lambda step: step.order)
    while True:
        moved = False
        for step in ordered:
            latest = max([each.step.order for each in step.inputs if each.step is not None], default=step.order)
            if latest > step.order:
                step.order, moved = latest + 1e-6, True
        if not moved:
            return ordered
        ordered.sort(key=lambda step: step.order)


def live(steps: Sequence[Step], results: Sequence[Value]) -> list[Step]:
    """The steps whose outputs are used, in order."""
    needed = set(results)
    live: list[Step] = []
    for step in reversed(steps):
        if step.stays or any(output in needed for output in step.outputs):
            live.append(step)
            needed.update(step.inputs)
    return live[::-1]


def computed_once(steps: Sequence[Step], value_of: Callable[[Any], Value | None]) -> list[Step]:
    """The steps without the calls of functions whose values a derivative of that call gives, too:
    `y, pullback = jax.vjp(f, x)` in the place of `y = f(x)`. `value_of` is called with a node."""
    found = [*steps]
    for step in [each for each in steps if each.primal is not None]:
        outputs = [value_of(each) for each in step.primal[1]]
        first = outputs[0].step if outputs and outputs[0] is not None else None
        if first not in found or first is step or first.outputs != outputs or not _calls(first, step):
            continue
        found.remove(first)
        step.outputs[: len(outputs)] = first.outputs
        for output in first.outputs:
            output.step = step
        step.order, step.where, step.primal, step.stays = first.order, first.where, None, step.stays or first.stays
    return found


def _calls(step: Step, derivative: Step) -> bool:
    """Whether a step only calls the function of a derivative, at the same arguments."""
    count = len(step.inputs)
    if not count or step.inputs != derivative.inputs[:count]:
        return False
    given: list[Expression] = [ast.Name(f"_{place}", ast.Load()) for place in range(len(derivative.inputs))]
    return ast.unparse(step.write(given[:count])) == ast.unparse(derivative.primal[0](given))


def _tuple(targets: Sequence[str]) -> str:
    return f"({targets[0]},)" if len(targets) == 1 else f"({', '.join(targets)})"


def spelled(expression: Expression) -> str:
    """An expression as text; the definition of a function as several lines."""
    text = ast.unparse(ast.fix_missing_locations(_Signs().visit(expression)))
    return f"\n{text}\n" if isinstance(expression, ast.FunctionDef) else text


class _Signs(ast.NodeTransformer):
    """Rewrites `w + -0.1 * g` as `w - 0.1 * g`, and `w + 1 * g` as `w + g`, which is the same number.

    `1 / n * 2.0`, by which torch computes `2.0 / n`, is that again, and `[hs[0], hs[1]]` the list `hs` of two.
    """

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        first: Any = node.elts[0] if node.elts else None
        parts = [f"{ast.unparse(first.value)}[{place}]" for place in range(getattr(first, "count", 0))]
        return first.value if parts and [*map(ast.unparse, node.elts)] == parts else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Add) and _is(node.left, 0) and not isinstance(node.right, ast.Constant):
            return node.right  # `sum(losses)` begins with 0
        if isinstance(node.op, ast.Mult) and _is(node.left, 1) and not isinstance(node.right, ast.Constant):
            return node.right
        if isinstance(node.op, ast.Add) and isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Mult):
            product = _without_sign(node.right)
            if product is not None:
                return ast.BinOp(node.left, ast.Sub(), product)
        inverse = node.left
        divides = isinstance(inverse, ast.BinOp) and isinstance(inverse.op, ast.Div) and _is(inverse.left, 1)
        if divides and isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Constant):
            return ast.BinOp(node.right, ast.Div(), inverse.right)  # type: ignore[attr-defined]
        return node


def _is(operand: ast.expr, number: int) -> bool:
    return isinstance(operand, ast.Constant) and type(operand.value) is int and operand.value == number


def _without_sign(product: ast.expr) -> ast.expr | None:
    """`0.1 * a * b` for `-0.1 * a * b`; None without the sign."""
    if isinstance(product, ast.UnaryOp) and isinstance(product.op, ast.USub):
        return product.operand
    if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
        first = _without_sign(product.left)
        return None if first is None else ast.BinOp(first, ast.Mult(), product.right)
    return None


def _lines_of(places: Sequence[UserLine]) -> tuple[tuple[str, int, str], ...]:
    found: dict[tuple[str, int], str] = {}
    for where in places:
        source = statement(where)
        if source is not None:
            found.setdefault((source.filename, source.line), source.text)
        elif where is not None:
            line = next((each for start, end, each in where[0].co_lines() if start <= where[1] < end and each), None)
            if line is not None:
                found.setdefault((where[0].co_filename, line), "")
    return tuple((filename, line, text) for (filename, line), text in found.items())
