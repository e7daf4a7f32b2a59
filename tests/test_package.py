"""The package: a light import, documented names, a README whose code works."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import re
import shutil
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest
from oracle import theirs

import jaxvjp
from jaxvjp.ops.op import REGISTRY, Op, op
from jaxvjp.tools.scripts.names import torch_names

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_brings_no_torch_and_changes_nothing_in_jax():
    code = """
import gc, jax, jax.numpy, sys
before = dict(jax.config.values)
searches = []
gc.callbacks.append(lambda phase, about: searches.append(about["generation"]))
import jaxvjp
assert 2 not in searches and gc.isenabled()
late = {"torch", "rich", "jax.extend", "jaxvjp.tools.scripts", "jaxvjp.tools.comparison", "jaxvjp.explain.terminal"}
late |= {"jaxvjp.namespaces.accelerators", "jaxvjp.utils.data"}
late |= {"jaxvjp.serialization", "jaxvjp.amp", "jaxvjp.distributions", "jaxvjp.quasirandom"}
late |= {"jaxvjp.multiprocessing", "jaxvjp.return_types", "jaxvjp.distributed", "jaxvjp.library.sharding"}
assert late.isdisjoint(sys.modules)
print({k for k in before if jax.config.values[k] != before[k]})
"""
    assert run_python(code).strip() == "set()"


def test_what_follows_from_a_row_is_made_when_it_is_first_asked_for():
    code = """
import jaxvjp
from jaxvjp.tensor.bindings import LateMethod
from jaxvjp.ops.op import REGISTRY

read = [row for row in REGISTRY.values() if "parameters" in vars(row)]
assert len(read) < 50
methods = vars(jaxvjp.Tensor)
waiting = [name for name, each in methods.items() if isinstance(each, LateMethod)]
assert len(waiting) > 350 and {"sin", "exp_"} <= {*waiting}

assert {"sin", "exp_", "tensor"} <= {*dir(jaxvjp)} and "svd" in dir(jaxvjp.linalg)
assert "sin" not in vars(jaxvjp) and "svd" not in vars(jaxvjp.linalg)
assert jaxvjp.sin is jaxvjp.sin is vars(jaxvjp)["sin"] and jaxvjp.linalg.svd is vars(jaxvjp.linalg)["svd"]

x = jaxvjp.tensor(1.0)
assert x.cos().item() == jaxvjp.Tensor.cos(x).item() and x.exp_() is x
print(*[name for name in waiting if not isinstance(methods[name], LateMethod)])
"""
    assert run_python(code).split() == ["cos", "exp_"]


def test_a_public_name_is_one_object_whatever_is_imported_or_defined_later():
    code = """
import importlib, inspect, pkgutil, jaxvjp, jaxvjp.optim

parts = "Tensor autograd fft func linalg masked nn nn.functional nn.init nn.utils optim special utils".split()
places = {"": jaxvjp} | {each: eval("jaxvjp." + each) for each in parts}
def held():
    return {f"{place}.{name}": inspect.getattr_static(owner, name) if place == "Tensor" else getattr(owner, name)
            for place, owner in places.items() for name in dir(owner) if not name.startswith("__")}

for name in dir(jaxvjp.Tensor):
    getattr(jaxvjp.Tensor, name)  # made at its first use
before = held()
for each in pkgutil.walk_packages(jaxvjp.__path__, "jaxvjp."):
    if not each.name.endswith("__main__") and ".tools." not in each.name:  # some of those import torch
        importlib.import_module(each.name)

class Named(jaxvjp.Tensor):
    pass

after = held()
print(len(before) > 1500, [name for name, value in before.items() if after[name] is not value])
"""
    assert run_python(code).split("\n")[0] == "True []"


OURS = {"as_torch", "compare", "counters", "explain", "explain_program", "from_torch", "jit", "recompiles"}
OURS |= {"UnstageableError", "set_choosing", "set_compiling"}
OURS |= {"as_function", "from_jax", "functional", "pullback", "scan", "wrap"}
"""What is public in jaxvjp and not in torch, `functional` and `jit` as functions."""


def torchs_star(torch):
    return sorted(torch.__all__)


def test_star_import_brings_what_torchs_does_and_ours():
    found = {}
    exec("from jaxvjp import *", found)
    assert found.keys() - {"__builtins__"} == {*theirs(torchs_star, 0, 0).value} & {*dir(jaxvjp)} | OURS


NAMESPACES = "autograd cuda fft func linalg masked nn nn.functional random signal signal.windows special testing utils"


@pytest.mark.parametrize(
    ("namespace", "ours"),
    [
        ("", OURS - {"functional", "jit"} | {"native_dropout_backward"}),
        *[(f".{each}", {"jacobian"} if each == "autograd" else set()) for each in NAMESPACES.split()],
    ],
)
def test_dir_shows_torchs_names_and_ours_and_nothing_that_we_import(namespace, ours):
    known = torch_names().modules
    rooms = {each.rpartition(".")[2] for each in known if each.rpartition(".")[0] == f"torch{namespace}"}
    shown = {each for each in dir(importlib.import_module(f"jaxvjp{namespace}")) if not each.startswith("__")}
    assert shown - rooms - known.get(f"torch{namespace}", set()) == ours
    assert shown


def test_every_public_name_is_there_and_documented():
    for name in jaxvjp.__all__:
        assert hasattr(jaxvjp, name)
        assert getattr(jaxvjp, name).__doc__ or name == "newaxis", name


@pytest.mark.parametrize("namespace", ["Tensor", *NAMESPACES.split()])
def test_what_is_public_in_a_namespace_is_documented_and_has_a_signature(namespace):
    owner = jaxvjp.Tensor if namespace == "Tensor" else importlib.import_module(f"jaxvjp.{namespace}")
    public = [getattr(owner, each) for each in dir(owner) if not each.startswith("_") and each != "storage"]
    for each in public:
        assert each.__doc__
        assert not inspect.isfunction(each) or inspect.signature(each)
    assert public


def test_a_function_of_several_rows_tells_them_all():
    for each in ("The larger of two", "Tensor input, int dim", "`values`, `indices`", "jax.vjp"):
        assert each in jaxvjp.max.__doc__
    assert "no gradient" in jaxvjp.argmax.__doc__
    assert "a view that shares its memory" in jaxvjp.Tensor.transpose.__doc__
    shown = str(inspect.signature(jaxvjp.exp)).replace("jaxvjp.", "")
    assert shown == "(input: Tensor, *, out: Tensor | None = None) -> Tensor"


def test_every_row_has_a_docstring_and_its_forms():
    x = jaxvjp.tensor([1.0, 2.0])
    for row in REGISTRY.values():
        assert row.function.__doc__, row
        if "function" in row.public:
            assert f"torch.{row.torch_name}" in getattr(jaxvjp, row.torch_name).__doc__
        assert hasattr(x, row.torch_name) or "method" not in row.public
        if row.inplace and "nn.functional" not in row.public:
            assert hasattr(x, row.torch_name + "_")
        named = {each.lstrip("*") for each in row.operands}
        assert {each.name for each in row.saves} <= {*named, "result", "residuals"}
        assert {each.needed_for for each in row.saves} <= {*named, None}


def test_a_row_is_declared_once():
    with pytest.raises(ValueError, match="two rows"):
        op(name="log")(abs)
    assert isinstance(REGISTRY["log"], Op)


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_every_python_block_of_the_readme_runs(block):
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


@pytest.mark.parametrize(
    ("room", "line", "broken"),
    [
        (None, "", None),
        ("ops/logic.py", "from jaxvjp.core.record import graph", "The layers: imports point down"),
        ("core/record/modes.py", "from jaxvjp.core.run import plan", "The layers of core"),
        ("ops/arguments.py", "from jaxvjp.ops import logic", "No circles, neither of rooms nor within them"),
    ],
)
def test_imports_point_down(room, line, broken, tmp_path):
    """The contracts in `pyproject.toml` hold, and notice an import that runs back up or closes a circle."""
    shutil.copytree(ROOT / "jaxvjp", tmp_path / "jaxvjp", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    if room is not None:
        with (tmp_path / "jaxvjp" / room).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    code = f"import importlinter.cli as cli; print(cli.lint_imports({str(ROOT / 'pyproject.toml')!r}, no_cache=True))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    found = re.findall(r"^(.+) BROKEN", ran.stdout, re.MULTILINE)
    assert broken in found if broken else found == [], ran.stdout + ran.stderr


def test_a_failed_import_leaves_the_garbage_collector_as_it_was():
    code = """
import gc, sys
sys.modules["jaxvjp.library.windows"] = None  # so that importing it fails
for enabled in (True, False):
    gc.enable() if enabled else gc.disable()
    try:
        import jaxvjp
    except ImportError:
        print(gc.isenabled())
    for name in [each for each in sys.modules if each == "jaxvjp"]:
        del sys.modules[name]
"""
    assert run_python(code).split() == ["True", "False"]


@pytest.mark.parametrize("name", ["tanh", "nn.functional.relu", "linalg.norm", "as_strided", "ones", "special.erf"])
def test_functions_are_pickled_by_name(name):
    function = attrgetter(name)(jaxvjp)
    assert pickle.loads(pickle.dumps(function)) is function


def _declared():
    """By file and class: the attributes that a .pxd declares, and the name of the class before it."""
    found, name = {}, None
    for path in (ROOT / "jaxvjp").rglob("*.pxd"):
        for line in path.read_text(encoding="utf-8").splitlines():
            head = re.match(r"cdef class (\w+)(?:\((\w+)\))?:", line)
            name = (path.with_suffix(".py"), head[1]) if head else name if line[:1] in (" ", "") else None
            found |= {name: (set(), head[2])} if head else {}
            attributes = re.fullmatch(r"    cdef (?:public |readonly )?\w[\w\[\], ]*? ?(\w+(?:, \w+)*)", line)
            if name and attributes:
                found[name][0].update(attributes[1].split(", "))
    return found


def test_a_compiled_class_declares_what_it_sets():
    declared = _declared()
    assert len(declared) > 20
    for (path, name), (own, base) in declared.items():
        known, bases = {*own}, {each: attributes for (_, each), attributes in declared.items()}
        while base in bases:
            more, base = bases[base]
            known |= more
        classes = ast.parse(path.read_text(encoding="utf-8")).body
        (tree,) = [each for each in classes if getattr(each, "name", "") == name]
        made = [each for each in tree.body if getattr(each, "value", None) is not None]  # `mutation = rare(...)`
        known |= {each.target.id for each in made if isinstance(each, ast.AnnAssign)}
        stored = {each.attr for each in ast.walk(tree) if _sets(each)}
        assert stored <= known, f"{path.name}: {name} sets {stored - known}, which its .pxd does not declare"


def _sets(tree):
    attribute = isinstance(tree, ast.Attribute) and isinstance(tree.ctx, ast.Store)
    return attribute and isinstance(tree.value, ast.Name) and tree.value.id == "self"
