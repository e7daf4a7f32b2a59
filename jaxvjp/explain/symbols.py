"""Symbolic arrays: an op's function that runs on them records each call of a JAX function.

`Symbol` is such an array, `Named` a JAX function that takes them, and `noted` records a call. The real function is
traced for the shapes and dtypes of its results, so an op's checks and branches go as with arrays.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.custom_derivatives
import jax.numpy as jnp
import numpy as np

from jaxvjp.explain.block import Expression, Step, Value
from jaxvjp.explain.literals import Unwritable, call, dtype_name, literal, name, parsed
from jaxvjp.explain.names import assigned

INFIX: dict[Any, Any] = {
    jnp.add: ast.Add(),
    jnp.subtract: ast.Sub(),
    jnp.multiply: ast.Mult(),
    jnp.divide: ast.Div(),
    jnp.true_divide: ast.Div(),
    jnp.floor_divide: ast.FloorDiv(),
    jnp.remainder: ast.Mod(),
    jnp.power: ast.Pow(),
    jnp.matmul: ast.MatMult(),
    jnp.bitwise_and: ast.BitAnd(),
    jnp.bitwise_or: ast.BitOr(),
    jnp.bitwise_xor: ast.BitXor(),
    jnp.equal: ast.Eq(),
    jnp.not_equal: ast.NotEq(),
    jnp.less: ast.Lt(),
    jnp.less_equal: ast.LtE(),
    jnp.greater: ast.Gt(),
    jnp.greater_equal: ast.GtE(),
}
PREFIX: dict[Any, Any] = {jnp.negative: ast.USub(), jnp.invert: ast.Invert()}
BINARY = {
    "add": ast.Add(),
    "sub": ast.Sub(),
    "mul": ast.Mult(),
    "truediv": ast.Div(),
    "floordiv": ast.FloorDiv(),
    "mod": ast.Mod(),
    "pow": ast.Pow(),
    "matmul": ast.MatMult(),
    "and": ast.BitAnd(),
    "or": ast.BitOr(),
    "xor": ast.BitXor(),
    "lshift": ast.LShift(),
    "rshift": ast.RShift(),
}
COMPARISONS = {
    "eq": ast.Eq(),
    "ne": ast.NotEq(),
    "lt": ast.Lt(),
    "le": ast.LtE(),
    "gt": ast.Gt(),
    "ge": ast.GtE(),
}
WHOLE = frozenset(["sum", "mean", "prod", "max", "min", "any", "all", "var", "std", "nansum", "nanmean", "logsumexp"])
"""Functions that reduce all axes if none is given."""
KEYWORDS = frozenset(["axis", "axes", "keepdims", "dtype", "axis1", "axis2", "offset"])
"""Arguments that are written as keywords."""
SILENT = frozenset(["precision", "unique_indices", "indices_are_sorted"])
"""Arguments that are omitted: they change no value, or are set once for the whole program."""
TRANSFORMS = frozenset([jax.vmap, jnp.vectorize])
"""Functions that return a function of arrays."""
SAMPLES = {bool: True, int: 2, float: 2.5, complex: 2j}


class Definition(NamedTuple):
    """A function that the program has to define: its name, and its text."""

    name: str
    text: str
    imports: tuple[str, ...] = ()


class Trace:
    """The steps recorded while an op's function runs on symbols."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.definitions: dict[str, Definition] = {}

    def step(self, inputs: Sequence[Value], write: Callable[..., Expression], count: int, several: bool) -> Step:
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        where = None if frame is None else (frame.f_code, frame.f_lasti)
        wanted = [assigned(where, place if several else None) for place in range(count)]
        made = Step(inputs, write, wanted, len(self.steps), unpacked=several)
        self.steps.append(made)
        return made


class Symbol:
    """A symbolic array: its shape and dtype, and the expression that computes it."""

    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(self, trace: Trace, value: Value, struct: Any, kind: type | None = None) -> None:
        self.trace = trace
        self.value = value
        self.struct = struct
        self.kind = kind  # the type, if it stands for a Python number

    shape = property(lambda self: self.struct.shape)
    dtype = property(lambda self: self.struct.dtype)
    ndim = property(lambda self: len(self.struct.shape))
    size = property(lambda self: int(np.prod(self.struct.shape, dtype=int)))
    weak_type = property(lambda self: False)

    @property
    def at(self) -> Any:
        return _At(self)

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(jax.Array, attribute, None)
        if found is None or attribute.startswith("__"):
            raise AttributeError(attribute)
        if self.kind is not None:
            if attribute == "astype":
                return lambda dtype: Symbol(self.trace, self.value, _struct(dtype), self.kind)
            return getattr(self.strong(), attribute)

        def write(expressions: Sequence[Expression]) -> Expression:
            return ast.Attribute(expressions[0], attribute, ast.Load())

        if isinstance(found, property) or not callable(found):
            return noted(self.trace, lambda array: getattr(array, attribute), (self,), {}, lambda a, k: write(a))

        def method(*arguments: Any, **named: Any) -> Any:
            if attribute == "astype" and len(arguments) == 1 and np.dtype(arguments[0]) == self.dtype:
                return self  # it is of that type, or, without 64 bits, of the one that stands for it

            def written(given: list[Expression], keywords: dict[str, Expression]) -> Expression:
                return call(ast.Attribute(given[0], attribute, ast.Load()), *given[1:], **keywords)

            return noted(
                self.trace,
                lambda array, *a, **k: getattr(array, attribute)(*a, **k),
                (self, *arguments),
                named,
                written,
            )

        return method

    def strong(self) -> Symbol:
        """A Python number as an array."""
        own = self.struct.dtype
        step = self.trace.step(
            [self.value], lambda inputs: call("jnp.asarray", inputs[0], dtype=dtype_name(own)), 1, False
        )
        return Symbol(self.trace, step.outputs[0], self.struct)

    def __getitem__(self, key: Any) -> Any:
        def written(given: list[Expression], keywords: dict[str, Expression]) -> Expression:
            return ast.Subscript(given[0], given[1], ast.Load())

        return noted(self.trace, operator.getitem, (self, key), {}, written)

    def __len__(self) -> int:
        return int(self.struct.shape[0])

    def __iter__(self) -> Any:
        return iter([self[place] for place in range(len(self))])

    def __bool__(self) -> bool:
        raise Unwritable("a value that decides which way the function goes")


def _struct(dtype: Any, shape: tuple[int, ...] = ()) -> Any:
    make: Any = jax.ShapeDtypeStruct
    return make(shape, dtype)


def _operators() -> None:
    def binary(function: Callable[..., Any], sign: Any, flipped: bool) -> Callable[..., Any]:
        def write(given: list[Expression], keywords: dict[str, Expression]) -> Expression:
            return ast.BinOp(given[0], sign, given[1])

        def method(self: Symbol, other: Any) -> Any:
            return noted(self.trace, function, (other, self) if flipped else (self, other), {}, write)

        return method

    def comparison(function: Callable[..., Any], sign: Any) -> Callable[..., Any]:
        def write(given: list[Expression], keywords: dict[str, Expression]) -> Expression:
            return ast.Compare(given[0], [sign], [given[1]])

        return lambda self, other: noted(self.trace, function, (self, other), {}, write)

    def unary(function: Callable[..., Any], sign: Any) -> Callable[..., Any]:
        def write(given: list[Expression], keywords: dict[str, Expression]) -> Expression:
            return ast.UnaryOp(sign, given[0])

        return lambda self: noted(self.trace, function, (self,), {}, write)

    for word, sign in BINARY.items():
        function = getattr(operator, f"__{word}__")
        setattr(Symbol, f"__{word}__", binary(function, sign, False))
        setattr(Symbol, f"__r{word}__", binary(function, sign, True))
    for word, comparing in COMPARISONS.items():
        setattr(Symbol, f"__{word}__", comparison(getattr(operator, word), comparing))
    absolute = Named("jnp.abs", jnp.abs)
    signs = {"neg": unary(operator.neg, ast.USub()), "invert": unary(operator.invert, ast.Invert())}
    for word, method in {**signs, "abs": lambda self: absolute(self)}.items():
        setattr(Symbol, f"__{word}__", method)


class _At:
    """`x.at[key].set(value)`."""

    def __init__(self, symbol: Symbol) -> None:
        self.symbol = symbol

    def __getitem__(self, key: Any) -> Any:
        symbol = self.symbol

        def method(verb: str) -> Callable[..., Any]:
            def written(given: list[Expression], keywords: dict[str, Expression]) -> Expression:
                if verb == "get":
                    return ast.Subscript(given[0], given[1], ast.Load())
                place = ast.Subscript(ast.Attribute(given[0], "at", ast.Load()), given[1], ast.Load())
                return call(ast.Attribute(place, verb, ast.Load()), *given[2:], **keywords)

            def apply(*values: Any, **named: Any) -> Any:
                def real(array: Any, index: Any, *rest: Any, **keywords: Any) -> Any:
                    return getattr(array.at[index], verb)(*rest, **keywords)

                # If a position is written twice, the promise decides that both values get its gradient.
                promised = {"unique_indices"} if verb == "set" else set()
                said = {name: each for name, each in named.items() if name in promised or not _is_default(name, each)}
                return noted(symbol.trace, real, (symbol, key, *values), said, written)

            return apply

        return types.SimpleNamespace(**{verb: method(verb) for verb in ("get", "set", "add", "multiply", "min", "max")})


def _is_default(key: str, value: Any) -> bool:
    if key in ("lhs_dilation", "rhs_dilation") and value is not None and set(value) <= {1}:
        return True
    return key in SILENT or (key == "mode" and value == "promise_in_bounds")  # positions were checked before


class Named:
    """A JAX function with its name; a call with symbols is recorded."""

    def __init__(self, path: str, function: Any, definition: Definition | None = None) -> None:
        self.path = path
        self.function = function
        self.definition = definition

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.function, attribute)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        trace = tracing.trace
        if trace is None:
            return self.function(*arguments, **named)
        if self.definition is not None:
            trace.definitions[self.path] = self.definition
        if self.path == "jax.lax.platform_dependent":  # algorithms with the same result
            return named["default"](*arguments)
        if self.function in TRANSFORMS:
            return functools.partial(_mapped, trace, self, arguments, named)
        return noted(trace, self.function, arguments, named, functools.partial(self.written, arguments, named))

    def written(
        self, arguments: Sequence[Any], named: Any, given: list[Expression], keywords: dict[str, Expression]
    ) -> Expression:
        """The call as source text: by a Python operator if there is one, and without default arguments."""
        if len(given) == 2 and not {*keywords} - SILENT and self.function in INFIX:
            sign = INFIX[self.function]
            if isinstance(sign, ast.cmpop):
                return ast.Compare(given[0], [sign], [given[1]])
            return ast.BinOp(given[0], sign, given[1])
        if len(given) == 1 and not keywords and self.function in PREFIX:
            return ast.UnaryOp(PREFIX[self.function], given[0])
        positional: list[Expression] = []
        shown: dict[str, Expression] = {}
        parameters = _parameters(self.function)
        for place, expression in enumerate(given):
            parameter = parameters[place] if place < len(parameters) else None
            if parameter is not None and parameter.name in KEYWORDS and not shown and parameter.kind != 0:
                self._argument(shown, parameter.name, arguments[place], expression, arguments, parameter)
            elif shown and parameter is not None:
                shown[parameter.name] = expression
            else:
                positional.append(expression)
        by_name = {each.name: each for each in parameters}
        for key, expression in keywords.items():
            self._argument(shown, key, named[key], expression, arguments, by_name.get(key))
        return call(self.path, *positional, **shown)

    def _argument(
        self, shown: dict[str, Expression], key: str, value: Any, text: Expression, arguments: Sequence[Any], row: Any
    ) -> None:
        if _is_default(key, value) or (row is not None and type(value) is type(row.default) and value == row.default):
            return
        array = arguments[0] if arguments and isinstance(arguments[0], Symbol) else None
        last = self.path.rpartition(".")[2]
        if key == "axis" and array is not None and isinstance(value, tuple):
            if last in WHOLE and tuple(sorted(value)) == tuple(range(array.ndim)):
                return
            if len(value) == 1:
                text = literal(value[0])
        if key == "dtype" and array is not None and last in WHOLE and value is not None and array.dtype == value:
            return
        shown[key] = text


def _mapped(trace: Trace, transform: Named, arguments: Any, named: Any, *given: Any) -> Any:
    """A call of a transformed function: `jax.vmap(f)(x)`."""
    count = len(arguments)

    def real(*everything: Any) -> Any:
        return transform.function(*everything[:count], **named)(*everything[count:])

    def written(texts: list[Expression], keywords: dict[str, Expression]) -> Expression:
        settings = {key: literal(each) for key, each in named.items()}
        return call(call(transform.path, *texts[:count], **settings), *texts[count:])

    return noted(trace, real, (*arguments, *given), {}, written)


@functools.cache
def _parameters(function: Any) -> list[inspect.Parameter]:
    if isinstance(function, jnp.ufunc):
        return []
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


class Tracing(threading.local):
    """The `Trace` in which this thread records calls, if there is one; whether ops with a plain form take it; and
    whether one did."""

    trace: Trace | None = None
    plain = False
    simplified = False


tracing = Tracing()


def _symbols(tree: Any, found: list[Symbol]) -> list[Symbol]:
    if isinstance(tree, Symbol):
        found.append(tree)
    elif isinstance(tree, Inner):
        found += tree.captured
    elif isinstance(tree, types.FunctionType):
        _symbols([each.cell_contents for each in tree.__closure__ or ()], found)
    elif isinstance(tree, tuple | list):
        for each in tree:
            _symbols(each, found)
    elif isinstance(tree, dict):
        _symbols(list(tree.values()), found)
    elif isinstance(tree, slice):
        _symbols([tree.start, tree.stop, tree.step], found)
    return found


def _filled(tree: Any, of: Callable[[Symbol], Any]) -> Any:
    if isinstance(tree, Symbol):
        return of(tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[_filled(each, of) for each in tree])
    if isinstance(tree, tuple | list):
        return type(tree)(_filled(each, of) for each in tree)
    if isinstance(tree, dict):
        return {key: _filled(each, of) for key, each in tree.items()}
    if isinstance(tree, slice):
        return slice(*[_filled(each, of) for each in (tree.start, tree.stop, tree.step)])
    if isinstance(tree, Named):
        return tree.function
    if isinstance(tree, Inner):
        return tree.watched(of)
    if isinstance(tree, types.FunctionType) and tree.__closure__:
        return closed(tree, of)
    return tree


def closed(function: types.FunctionType, of: Callable[[Symbol], Any]) -> types.FunctionType:
    """A copy of a function with each captured symbol replaced by `of(symbol)`."""
    held = [each.cell_contents for each in function.__closure__ or ()]
    cells = tuple([types.CellType(each if isinstance(each, Named) else _filled(each, of)) for each in held])
    made = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


class Inner:
    """A function that is passed to a JAX function, such as the body of a `jax.lax.scan`.

    Attributes:
        function: the function, which belongs to an op.
        captured: the symbols in its closure.
        seen: the shapes and dtypes that JAX called it with; None before.
        value: the value that stands for it in the text.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.captured = list({id(each): each for each in _symbols(function, [])}.values())
        self.seen: Any = None
        self.value = Value()

    def watched(self, of: Callable[[Symbol], Any]) -> Callable[..., Any]:
        """The function of arrays, which notes the shapes and dtypes of its arguments in `seen`."""
        filled = closed(self.function, of)

        def watching(*given: Any) -> Any:
            if self.seen is None:
                self.seen = jax.tree.map(
                    lambda each: _struct(each.dtype, each.shape) if hasattr(each, "dtype") else each, given
                )
            return filled(*given)

        return watching


def _with_inner(tree: Any) -> Any:
    """Arguments of a JAX function, with each function of an op wrapped in an `Inner`."""
    if isinstance(tree, types.FunctionType) and tree.__module__.startswith("jaxvjp."):
        return Inner(tree)
    if type(tree) in (tuple, list):
        return type(tree)(_with_inner(each) for each in tree)
    if type(tree) is dict:
        return {key: _with_inner(each) for key, each in tree.items()}
    return tree


def inner_functions(tree: Any) -> list[Inner]:
    """The `Inner`s among arguments."""
    if isinstance(tree, Inner):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, tuple | list) else ()
    return [found for part in parts for found in inner_functions(part)]


def spelled_tree(tree: Any, of: Callable[[Any], Expression]) -> Expression:
    if isinstance(tree, Symbol):
        return of(tree)
    if isinstance(tree, tuple):
        return ast.Tuple([spelled_tree(each, of) for each in tree], ast.Load())
    if isinstance(tree, list):
        return ast.List([spelled_tree(each, of) for each in tree], ast.Load())
    if isinstance(tree, slice):
        return ast.Slice(*[None if e is None else spelled_tree(e, of) for e in (tree.start, tree.stop, tree.step)])
    if isinstance(tree, Named):
        return name(tree.path)
    if isinstance(tree, Inner):
        return of(tree)
    return literal(tree)


def _abstract(function: Any, arguments: Any, named: Any, arrays: Sequence[Any]) -> tuple[Any, list[Any], Any]:
    """The leaves (arrays as shape and dtype) and structure of the result of `function`; `arrays` stand for the
    symbols."""
    found: dict[str, Any] = {}
    symbols = _symbols([arguments, named], [])
    real = [place for place, each in enumerate(arrays) if isinstance(each, jax.ShapeDtypeStruct)]

    def run(*traced: Any) -> list[Any]:
        filling: list[Any] = list(arrays)
        for place, each in zip(real, traced, strict=True):
            filling[place] = each
        rest = dict(zip(map(id, symbols), filling, strict=True))
        result = function(
            *_filled(arguments, lambda each: rest[id(each)]), **_filled(named, lambda each: rest[id(each)])
        )
        leaves, tree = jax.tree.flatten(result, is_leaf=lambda each: each is None)
        found["tree"], found["leaves"] = tree, [None if isinstance(leaf, jax.Array) else (leaf,) for leaf in leaves]
        return [leaf for leaf in leaves if isinstance(leaf, jax.Array)]

    outer, tracing.trace = tracing.trace, None
    try:
        with jax.enable_x64(True):
            structs = jax.eval_shape(run, *[arrays[place] for place in real])
    finally:
        tracing.trace = outer
    return found["tree"], found["leaves"], structs


INNER: list[Callable[[Trace, Inner], None]] = []
"""The function that writes an `Inner` into a trace; set by `nesting`."""


def noted(trace: Trace, function: Any, arguments: Any, named: Any, write: Callable[..., Expression]) -> Any:
    """The result of `function` on symbols: a recorded symbol for each array, anything else unchanged."""
    arguments, named = _with_inner(arguments), _with_inner(named)
    symbols = _symbols([arguments, named], [])
    strong = [symbol.struct for symbol in symbols]
    tree, leaves, structs = _abstract(function, arguments, named, strong)
    if not structs:
        return jax.tree.unflatten(tree, [leaf[0] for leaf in leaves])
    forms: list[Callable[[Expression], Expression]] = [lambda expression: expression] * len(symbols)
    if any(symbol.kind for symbol in symbols):
        forms = _number_forms(function, arguments, named, symbols, structs)

    inner = inner_functions([arguments, named])
    for each in inner:
        INNER[0](trace, each)

    def expression(inputs: Sequence[Expression]) -> Expression:
        texts = dict(zip(map(id, symbols), [f(e) for f, e in zip(forms, inputs, strict=False)], strict=True))
        texts.update(zip(map(id, inner), inputs[len(symbols) :], strict=True))
        return write(
            [spelled_tree(argument, lambda found: texts[id(found)]) for argument in arguments],
            {key: spelled_tree(each, lambda found: texts[id(found)]) for key, each in named.items()},
        )

    values = [*[symbol.value for symbol in symbols], *[each.value for each in inner]]
    expression([ast.Name("x", ast.Load())] * len(values))  # raises Unwritable now, not later
    step = trace.step(values, expression, len(leaves), tree.num_leaves > 1)
    step.grouped = _groups(tree)
    rest = iter(structs)
    results = [
        Symbol(trace, output, next(rest)) if each is None else each[0]
        for output, each in zip(step.outputs, leaves, strict=True)
    ]
    return jax.tree.unflatten(tree, results)


def _groups(tree: Any) -> list[tuple[int, int]]:
    """Ranges of a tuple's leaves that form nested tuples, such as the carry in the result of a scan."""
    found, place = [], 0
    for each in tree.children() if tree.num_leaves > 1 else ():
        if each.children():
            found.append((place, place + each.num_leaves))
        place += each.num_leaves
    return found


def _as_float(number: Expression) -> Expression:
    if isinstance(number, ast.Name):  # a parameter that stands for a number
        return ast.BinOp(ast.Constant(1.0), ast.Mult(), number)
    return parsed(repr(float(ast.literal_eval(number))))


def _number_forms(
    function: Any, arguments: Any, named: Any, symbols: Sequence[Symbol], wanted: Any
) -> list[Callable[[Expression], Expression]]:
    """How to write each Python number so that the result has the recorded dtype: as it is, as a float, or as an
    array."""
    bare: Any = lambda expression: expression  # noqa: E731
    ways: list[tuple[Callable[[Symbol], Any], Callable[[Symbol], Any]]] = [
        (lambda each: SAMPLES[each.kind], lambda each: bare),  # type: ignore[index]
        (
            lambda each: float(SAMPLES[each.kind].real),  # type: ignore[index]
            lambda each: _as_float,
        ),
    ]
    for sample, form in ways:
        try:
            arrays = [symbol.struct if symbol.kind is None else sample(symbol) for symbol in symbols]
            _, _, structs = _abstract(function, arguments, named, arrays)
        except Exception:  # a number where an array is needed
            continue
        if [(each.shape, each.dtype) for each in structs] == [(each.shape, each.dtype) for each in wanted]:
            return [bare if symbol.kind is None else form(symbol) for symbol in symbols]

    def array(each: Symbol) -> Callable[[Expression], Expression]:
        return lambda expression: call("jnp.asarray", expression, dtype=dtype_name(each.struct.dtype))

    return [bare if symbol.kind is None else array(symbol) for symbol in symbols]


_operators()
