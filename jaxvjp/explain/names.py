"""The user's names of values: the name that a value is assigned to in the line that recorded it.

`statement` gives the statement that recorded an operation, `assigned` the name that its result was assigned to,
`names_in` the names of tensors among variables. CPython knows for every instruction the columns of its expression, so
in `y = x * 2 + 1` it is known that the sum, not the product, is y.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import keyword
import linecache
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.user_lines import UserLine, cell_of
from jaxvjp.nn.modules.module import Module
from jaxvjp.ops.identity import detach, function_result, variable
from jaxvjp.ops.layouts import strided
from jaxvjp.tensor.tensor import Tensor

Span = tuple[int, int, int, int]
"""First line, last line, first column, last column."""
FILES = 64
DEEP = 3
"""How many levels of lists, dicts and attributes are searched for tensors."""
MOST = 4096
"""At most this many rounds of a loop are looked at, to know what its variable held."""
BUILTINS = frozenset(dir(builtins))


class Statement(NamedTuple):
    """A statement of the user's, and the expression in it that an instruction belongs to."""

    filename: str
    tree: ast.stmt
    expression: ast.AST | None

    @property
    def line(self) -> int:
        return self.tree.lineno

    @property
    def text(self) -> str:
        """The statement on one line, as it was written; of a compound statement its head."""
        body = getattr(self.tree, "body", None)
        if body and body[0].lineno > self.line:
            lines = linecache.getlines(self.filename)[self.line - 1 : body[0].lineno - 1]
            return " ".join(line.strip() for line in lines).partition("  #")[0].rstrip()
        return _piece(self.filename, self.tree)

    @property
    def prints(self) -> bool:
        """Whether it only calls `print`, or that is what is run of it: `x.register_hook(lambda g: print(g))`."""
        calls = [self.tree.value if isinstance(self.tree, ast.Expr) else None, self.expression]
        return any(isinstance(each, ast.Call) and ast.unparse(each.func) == "print" for each in calls)

    @property
    def expression_text(self) -> str:
        """The expression on one line, as it was written; empty if it is not known which one it was."""
        return "" if self.expression is None or self.expression is self.tree else _piece(self.filename, self.expression)


def statement(where: UserLine) -> Statement | None:
    """The user's statement at a place from `user_lines.user_line`; None if there is no source."""
    if where is None:
        return None
    code, instruction = where
    span = _spans(code)[instruction // 2]
    if span is None:
        return None
    tree = _parsed(code.co_filename, tuple(linecache.getlines(code.co_filename)))
    return None if tree is None else tree.get(span) or _enclosing(code.co_filename, tree, span)


def heads_a_loop(where: UserLine) -> bool:
    """Whether it is the head of a `for` statement that recorded something."""
    found = statement(where)
    return found is not None and isinstance(found.tree, ast.For)


def appended(where: UserLine) -> str | None:
    """The name of a value that a line appends to a list: h for `hs.append(f(x))`; None for another line."""
    found = statement(where)
    call = getattr(found.tree, "value", None) if found is not None else None
    if not isinstance(call, ast.Call) or not re.fullmatch(r"(\w+\.)*\w+\.append", ast.unparse(call.func)):
        return None
    called = ast.unparse(call.func).split(".")[-2]
    return re.sub(r"(?<=[sxh])es$|(?<!s)s$", "", called) or called


def target_names(where: UserLine) -> frozenset[str]:
    """The variables of the `for` statement whose head a line is."""
    found = statement(where)
    return _names_of(found.tree.target) if found is not None and isinstance(found.tree, ast.For) else frozenset()


def _names_of(target: ast.AST) -> frozenset[str]:
    return frozenset(each.id for each in ast.walk(target) if isinstance(each, ast.Name))


def calls_with(where: UserLine, functions: Collection[str]) -> bool:
    """Whether a line gives functions to what it calls, such as `jacobian(f, x)`: a lambda, or one of these names."""
    found = statement(where)
    expression: Any = None if found is None else found.expression
    if not isinstance(expression, ast.Call):
        return False
    given = [*expression.args, *[each.value for each in expression.keywords]]
    return any(isinstance(each, ast.Lambda) or getattr(each, "id", None) in functions for each in given)


def copied_by_user(where: UserLine) -> bool:
    """Whether the user wrote `x.detach()`, `x.data` or `x.clone()` there, and it was no function of torch's."""
    found = statement(where)
    expression: Any = None if found is None else found.expression
    return getattr(getattr(expression, "func", expression), "attr", "") in ("clone", "data", "detach")


WORDS = {
    "mv": "matrix @ vector",
    "mm": "matrix @ matrix",
    "assigned": "what is written",
    "put": "after the write",
    "unbind_one": "one of unbind()",
    "checkpointed": "checkpoint",
    "pullback": "a backward pass",
}
"""What operations are called that nobody knows by their names."""


def operation_of(node: Node) -> str:
    """What the operation of a node is called; a Function of the user's by its own name."""
    if node.operation is function_result and node.python is not None:
        return node.python.name.removesuffix("Backward")
    assert node.operation is not None
    name = node.operation.torch_name
    return WORDS.get(name, name)


def told_line(filename: str, line: int, script: str | None) -> str:
    """`line 5` of the script, `layers.py:5` of another file, `cell 3, line 5` of another cell of a notebook."""
    if script in (None, filename):
        return f"line {line}"
    cell = cell_of(filename)
    return f"{cell}, line {line}" if cell else f"{filename.rpartition('/')[2]}:{line}"


def told_at(where: UserLine, script: str | None) -> str:
    """`line 5: `, or `layers.py:5: `; empty if no source is known."""
    found = statement(where)
    return "" if found is None else f"{told_line(found.filename, found.line, script)}: "


def assigned(where: UserLine, index: int | Sequence[Any] | None = None, kind: str = "") -> str | None:
    """The name that the user's line gave to a result; `index` says which, if the operation returned several: in
    `a, (b, c) = f(x)` b is `(1, 0)`.

    `kind` is "view" or "write" for such operations. In `y[0] += 1` neither the view `y[0]` nor the sum is y, but the
    result of the write; in `y += 1` the sum is.
    """
    found = statement(where)
    if found is None:
        return None
    tree, expression = found.tree, found.expression
    if isinstance(expression, ast.Call) and getattr(expression.func, "attr", "") == "step":
        return None  # `loss = optimizer.step(closure)`: what an optimizer computes is not the loss
    if isinstance(tree, ast.Assign):
        if expression in tree.targets:  # a write, `y[0] = 1`
            return None if kind == "view" else _root(expression)
        if isinstance(tree.value, ast.Dict) and (keys := _keys_of(tree.value, expression)):
            outer = _plain(tree.targets[0])
            return _joined("_".join([outer, *keys])) if outer else None
        if isinstance(tree.value, ast.Tuple) and expression in tree.value.elts:
            return _element(tree.targets[0], tree.value.elts.index(expression))
        if expression is _leaf_of(tree.value):
            return _plain(tree.targets[0]) if index is None else _element(tree.targets[0], index)
        if isinstance(tree.value, ast.Subscript) and expression is tree.value.value:  # `g = grad(y, x)[0]`
            picked = tree.value.slice
            here = isinstance(picked, ast.Constant) and index is not None and picked.value == index
            return _plain(tree.targets[0]) if here else None
    elif isinstance(tree, ast.AnnAssign):
        if expression is tree.value:
            return _plain(tree.target)
    elif isinstance(tree, ast.For):
        name = _plain(tree.target)
        if where and expression is tree.iter and not dis.opname[where[0].co_code[where[1]]].endswith("_ITER"):
            return name and f"{name}s"  # all that `for x in torch.randn(3, 2)` goes through
        if expression is tree or expression is tree.iter:
            return name
    elif isinstance(tree, ast.AugAssign):
        if expression is tree or expression is tree.target:
            return _written(tree.target, kind)
    elif isinstance(tree, ast.Expr) and expression is tree.value and isinstance(expression, ast.Call):
        method = expression.func
        if isinstance(method, ast.Attribute) and method.attr.endswith("_") and not method.attr.startswith("__"):
            return _written(method.value, kind)
    if expression is not None:
        for each in ast.walk(tree):
            if isinstance(each, ast.NamedExpr) and each.value is expression:
                return each.target.id
    return None


def goes_on(where: UserLine) -> bool:
    """Whether a statement reads what it assigns, as `h = cell(h)` does; also of one that assigns no variable."""
    found = statement(where)
    names = [each for each in ast.walk(found.tree) if isinstance(each, ast.Name)] if found is not None else []
    stored, read = ({each.id for each in names if isinstance(each.ctx, kind)} for kind in (ast.Store, ast.Load))
    return not stored or not stored.isdisjoint(read)


def adds_to(where: UserLine) -> str | None:
    """The variable that a statement adds to, `total` of `total += x` and `total = total + x`; None of another."""
    tree: Any = found.tree if (found := statement(where)) is not None else None
    target = getattr(tree, "targets", [getattr(tree, "target", None)])[0]
    value = getattr(tree, "value", None)
    own = value.left if isinstance(tree, ast.Assign) and isinstance(value, ast.BinOp) else target
    again = isinstance(tree, ast.AugAssign) or isinstance(value, ast.BinOp)
    if not (isinstance(target, ast.Name) and isinstance(own, ast.Name) and again):
        return None
    return target.id if target.id == own.id else None


def _keys_of(whole: ast.expr, part: ast.AST | None) -> list[str] | None:
    """The keys of what stands in the text of a dict or a list: "b" and "0" of 2.0 in `{"a": 1.0, "b": [2.0]}`."""
    if whole is part:
        return []
    inside: list[tuple[Any, ast.expr]] = []
    if isinstance(whole, ast.Dict):
        inside = [
            (key.value, each) for key, each in zip(whole.keys, whole.values, strict=True) if type(key) is ast.Constant
        ]
    elif isinstance(whole, ast.List | ast.Tuple):
        inside = [*enumerate(whole.elts)]
    found = ((str(key), _keys_of(each, part)) for key, each in inside)
    return next(([key, *rest] for key, rest in found if rest is not None), None)


def _leaf_of(value: ast.expr) -> ast.expr:
    """An expression without `.requires_grad_()`, which makes a leaf of what is there."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "requires_grad_":
        value = value.func.value
    return value


def loop_variable(filename: str, line: int, depth: int, values: Sequence[Any]) -> str | None:
    """The variable that holds `values` in successive rounds of the `for` statement around a line, with `depth` other
    loops between them; None if none is known to."""
    tree = _parsed(filename, tuple(linecache.getlines(filename)))
    loops = [
        each.tree
        for each in (tree or {}).values()
        if isinstance(each.expression, ast.For) and each.line <= line <= (each.tree.end_lineno or 0)
    ]
    inner_first: Any = sorted(loops, key=lambda each: -each.lineno)
    for loop in inner_first[depth : depth + 1]:
        for name, known in _held(loop.target, loop.iter):
            rounds = range(len(known) - len(values) + 1)
            if name != "_" and any(known[each : each + len(values)] == list(values) for each in rounds):
                return name
    return None


def _held(target: ast.expr, source: ast.expr) -> Iterator[tuple[str, list[Any]]]:
    """The variables of a `for` statement whose values its text tells, and these."""
    function = source.func.id if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) else ""
    if isinstance(target, ast.Name):
        yield target.id, _values(source, function)
    elif isinstance(target, ast.Tuple) and function == "enumerate" and len(source.args) == 1:  # type: ignore[attr-defined]
        yield from _held(target.elts[0], ast.parse(f"range({MOST})", mode="eval").body)
        yield from _held(target.elts[1], source.args[0])  # type: ignore[attr-defined]
    elif isinstance(target, ast.Tuple) and function == "zip":
        for part, each in zip(target.elts, source.args, strict=False):  # type: ignore[attr-defined]
            yield from _held(part, each)
    elif isinstance(target, ast.Tuple):
        for place, part in enumerate(target.elts):
            rows = [each for each in _values(source, function) if isinstance(each, tuple | list)]
            if isinstance(part, ast.Name) and all(len(row) > place for row in rows):
                yield part.id, [row[place] for row in rows]


def _values(source: Any, function: str) -> list[Any]:
    """The values that an expression goes through, as far as its text tells; MOST of a `range` to an unknown end."""
    try:
        if function == "range":
            bounds: Any = [
                ast.literal_eval(each) if isinstance(each, ast.Constant | ast.UnaryOp) else None for each in source.args
            ]
            start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
            return list(range(start, start + step * MOST if end is None else end, step)[:MOST])
        return list(ast.literal_eval(source))
    except (ValueError, TypeError):
        return []


def within_builtin(where: UserLine) -> bool:
    """Whether an operation was recorded by a builtin function, such as `sum(x)`, which records several."""
    found = statement(where)
    expression = None if found is None else found.expression
    return isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name) and expression.func.id in BUILTINS


def variables_of(frame: Any) -> dict[str, Any]:
    """The local variables of a frame, and the global ones that its code uses; of code outside of functions all.

    There `f_locals` is not asked for: CPython 3.12 then makes None of the variables of a comprehension that is traced.
    """
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return {**frame.f_globals}
    used = {name: frame.f_globals[name] for name in frame.f_code.co_names if name in frame.f_globals}
    return {**frame.f_locals, **used}


def names_in(variables: Mapping[str, Any]) -> dict[Tensor, str]:
    """The names of the tensors among `variables`, and in their lists, dicts and attributes.

    A variable's name is preferred to `model_weight` for `model.weight`, this to `params_w` for `params["w"]`, and these
    to `optimizer_momenta_0` for `optimizer.momenta[0]`.
    """
    found, modules = all_names_in(variables), module_names(variables)

    def rank(tensor: Tensor) -> bool:  # what `state = model.state_dict()` has comes after the model's own
        return tensor not in modules and found[tensor][0] not in variables

    return {tensor: _lasting(found[tensor], tensor) for tensor in sorted(found, key=rank)}


def all_names_in(variables: Mapping[str, Any], deep: int = DEEP) -> dict[Tensor, list[str]]:
    """All names of these tensors, the preferred ones first, to `deep` levels of lists, dicts and attributes."""
    found: dict[Tensor, list[str]] = {}
    for name, value in _reached(variables, deep, found):
        if isinstance(value, Tensor) and value.layout is strided:  # of a sparse one the parts have names
            found.setdefault(value, []).append(name)
    return found


def _reached(variables: Mapping[str, Any], deep: int, known: Mapping[Tensor, Sequence[str]] = {}) -> Iterator[Any]:
    """The values of variables, and what is in these and in their attributes, each with its name."""
    # pytest adds variables that are no identifiers.
    level = [(name, value) for name, value in variables.items() if not name.startswith("_") and name.isidentifier()]
    for _ in range(deep):
        yield from level
        inner: list[tuple[str, Any]] = []
        for name, value in level:
            if isinstance(value, Tensor):
                parts: Any = value
                if value.layout is not strided:
                    inner += [(f"{name}_indices", parts._indices()), (f"{name}_values", parts._values())]
                continue
            own = "" if name == "self" else f"{name}_"
            for place, (part, each) in enumerate(_parts(value)):
                if isinstance(part, Tensor):  # `state[p]` is by the name of p
                    part = known[part][0] if part in known else place
                inner.append((_joined(f"{own}{part}"), each))
        level = inner


def module_names(variables: Mapping[str, Any]) -> dict[Tensor, list[str]]:
    """For each tensor of a module among these variables, or in their lists, dicts and attributes, the names of the
    modules that have it, the outermost first."""
    found: dict[Tensor, list[str]] = {}
    for name, value in _reached(variables, DEEP):
        for path, module in value.named_modules() if isinstance(value, Module) else ():
            called = _joined(f"{name}_{path}") if path else name
            for each in [*module.parameters(), *module.buffers()]:
                found.setdefault(each, []).append(called)
    return found


@lru_cache(maxsize=4096)
def _joined(text: str) -> str:
    """`text` as a name, with `_` for what no name has: `params_w`, `self_0`."""
    name = "".join(c if f"_{c}".isidentifier() else "_" for c in unicodedata.normalize("NFKC", text))
    return name if name.isidentifier() else f"self_{name}"


def _lasting(names: Sequence[str], tensor: Tensor) -> str:
    """The first of a tensor's names that is no loop variable, such as `p` in `for p in parameters`."""
    node: Any = tensor.__node__
    while node.inputs and node.operation in (variable, detach):  # of what `p.data.add_(g)` wrote, the line that wrote
        node = node.inputs[0]
    passing = frozenset() if node.where is None else loop_names(node.where[0].co_filename)
    return next((name for name in names if name not in passing), names[0])


def loop_names(filename: str) -> frozenset[str]:
    """The variables of a file's `for` statements."""
    tree = _parsed(filename, tuple(linecache.getlines(filename))) or {}
    loops = [each.expression.target for each in tree.values() if isinstance(each.expression, ast.For)]
    return frozenset(name for target in loops for name in _names_of(target))


class UnlistableError(Exception):
    """An object of the user's raised an error when it was asked for its parameters."""


def _parts(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from islice(value.items(), 100)
    elif isinstance(value, list | tuple):
        yield from islice(enumerate(value), 100)
    elif isinstance(value, type):
        return  # a class of the user's, such as a module's, has no tensors of its own
    elif callable(getattr(value, "named_parameters", None)) and callable(getattr(value, "named_buffers", None)):
        try:
            named = [*value.named_parameters(), *value.named_buffers()]
        except Exception as error:
            raise UnlistableError(f"{type(error).__name__}: {error}") from error
        for name, each in named:  # a module
            yield name.replace("_orig_mod.", ""), each  # without what `torch.compile` puts around one
    elif isinstance(getattr(value, "param_groups", None), list):  # an optimizer
        yield from enumerate(getattr(value, "state", {}).values())
    elif type(value).__module__.partition(".")[0] not in ("builtins", "numpy", "jax", "jaxlib", "jaxvjp"):
        attributes = getattr(value, "__dict__", {})
        yield from [(name, each) for name, each in attributes.items() if not name.startswith("_")][:100]


@lru_cache(maxsize=FILES * 16)
def _spans(code: Any) -> list[Span | None]:
    spans: list[Span | None] = []
    for line, end, column, last in code.co_positions():
        known = line is not None and end is not None and column is not None and last is not None
        spans.append((line, end, column, last) if known else None)
    return spans


@lru_cache(maxsize=FILES)
def _parsed(filename: str, lines: tuple[str, ...]) -> dict[Span, Statement] | None:
    """Every expression and statement of a file by its position; None if the file cannot be parsed."""
    try:
        module = ast.parse("".join(lines))
    except SyntaxError:  # for example, a notebook cell with magic
        return None
    found: dict[Span, Statement] = {}
    pending: list[tuple[ast.AST, Any]] = [(module, None)]
    while pending:
        tree, around = pending.pop()
        if isinstance(tree, ast.stmt | ast.excepthandler):  # `except ValueError as error:` is a line of its own
            around = tree
        if around is not None and hasattr(tree, "lineno"):
            place: Any = tree
            span = (place.lineno, place.end_lineno, place.col_offset, place.end_col_offset)
            if span not in found or not isinstance(tree, ast.stmt):  # `f(x)` alone is a statement too
                found[span] = Statement(filename, around, tree)
        pending += [(each, around) for each in ast.iter_child_nodes(tree)]
    return found


def _enclosing(filename: str, known: dict[Span, Statement], span: Span) -> Statement | None:
    trees = dict.fromkeys(found.tree for found in known.values())
    inside = [each for each in trees if each.lineno <= span[0] and span[1] <= (each.end_lineno or each.lineno)]
    smallest = min(inside, key=lambda each: (each.end_lineno or each.lineno) - each.lineno, default=None)
    return None if smallest is None else Statement(filename, smallest, None)


def _piece(filename: str, tree: Any) -> str:
    """The source of `tree` in its file, on one line."""
    lines = [each.encode() for each in linecache.getlines(filename)[tree.lineno - 1 : tree.end_lineno]]
    lines[-1] = lines[-1][: tree.end_col_offset]  # columns are bytes, and a comment may follow
    lines[0] = lines[0][tree.col_offset :]
    return " ".join(line.decode().strip() for line in lines)


def _plain(target: ast.expr) -> str | None:
    """The name of what is assigned: `x`, also of `x.data`, `w` of `self.w`, and `p_w_0` of `p["w"][0]`."""
    if isinstance(target, ast.Attribute):
        return _root(target) if target.attr in ("data", "grad") else target.attr
    keys, whole = list[str](), target
    while isinstance(whole, ast.Subscript) and isinstance(whole.slice, ast.Constant):
        keys, whole = [str(whole.slice.value), *keys], whole.value
    if isinstance(whole, ast.Name) and any(not each.isdigit() for each in keys):
        return _joined("_".join([whole.id, *keys]))
    return target.id if isinstance(target, ast.Name) and target.id != "_" else None


def _written(target: ast.expr, kind: str) -> str | None:
    """The name for the result of an operation that changes `target`; None if that is only a part, yet to be written."""
    while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute) and target.func.attr.endswith("_"):
        target = target.func.value  # `m.mul_(0.9).add_(1)` changes m
    part = any(isinstance(each, ast.Subscript | ast.Call) for each in ast.walk(target))
    return _root(target) if kind == "write" or not (part or kind) else None


def _root(target: ast.AST | None) -> str | None:
    """The variable in `y`, `y[0]` or `y.data`; `w_grad` for `w.grad`."""
    while isinstance(target, ast.Subscript | ast.Attribute | ast.Call | ast.Starred):
        if isinstance(target, ast.Call):
            target = target.func
        elif isinstance(target, ast.Attribute) and target.attr == "grad":
            root = _root(target.value)
            return None if root is None else f"{root}_grad"
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            return target.attr
        else:
            target = target.value
    return target.id if isinstance(target, ast.Name) else None


def _element(target: ast.expr, index: int | Sequence[Any]) -> str | None:
    for place in (index,) if isinstance(index, int) else index:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        known = parts[: place + 1] if isinstance(place, int) else []
        if not known or len(known) <= place or any(isinstance(each, ast.Starred) for each in known):
            return None
        target = known[place]
    return _plain(target)


def safe(name: str) -> str:
    """`name`, with `_` appended if it is a keyword or printed programs need it."""
    return name + "_" if keyword.iskeyword(name) or name in TAKEN else name


TAKEN = frozenset(["jax", "jnp", "range", "enumerate"])
"""Names that printed programs use themselves."""


def numbered(name: str, taken: Collection[str]) -> str:
    """`name`, or with the first number that is free: `y`, `y_2`, `y_3`."""
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate
