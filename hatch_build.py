"""Compiles, by Cython, the modules that operations, backward passes and transforms go through: `MODULES`.

They are ordinary Python files, which do the same either way; compiled they take two fifths of the time. A wheel is
compiled if there is a C compiler, and is pure Python otherwise. `JAXVJP_COMPILE=0` in the environment of the build
leaves it pure. With `JAXVJP_COMPILE=1` it is an error if it cannot be compiled, and an editable install is compiled,
too, beside the sources; it has to be built again after each change.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODULES = (
    "tensor/storage.py",
    "tensor/remembered_calls.py",
    "tensor/apply.py",
    "autograd/backward_pass.py",
    "core/derive/engine.py",
    "core/record/graph.py",
    "core/run/program.py",
    "core/record/modes.py",
    "core/derive/remembered_walks.py",
    "core/run/pieces.py",
    "core/run/plan.py",
    "core/derive/between.py",
    "core/derive/transforms.py",
    "core/run/compilation.py",
    "core/record/lifetime.py",
    "core/record/record.py",
    "core/record/saves.py",
    "core/run/survey.py",
    "core/record/user_lines.py",
    "core/derive/saved.py",
    "core/derive/reach.py",
    "core/run/evaluation.py",
    "autograd/roots.py",
    "tensor/trees.py",
    "tensor/batches.py",
    "func/reverse.py",
    "func/arguments.py",
    "func/batching.py",
    "tensor/view_steps.py",
    "tensor/levels.py",
    "core/run/values.py",
    "core/record/blocks.py",
    "core/record/versions.py",
    "core/record/collector.py",
    "types/compiled.py",
)
"""What is compiled: where a warm step spends its time; the longest first, as several are compiled at a time. A `.pxd`
file beside a module declares the attributes of its classes and the types of functions. Annotations are C types, too,
but where a module's first line says otherwise: what it annotates as a tuple may be a `Size`, or a number of any kind is
a `complex`, or a class has descriptors."""
SLOW = (
    *("tree-vectorize", "gcse", "tree-pre", "tree-vrp", "ipa-vrp", "schedule-insns2", "code-hoisting", "ipa-cp"),
    *("ipa-bit-cp", "ipa-sra", "ipa-icf", "tree-tail-merge", "store-merging", "crossjumping", "optimize-strlen"),
    *("rerun-cse-after-loop", "cse-follow-jumps", "reorder-blocks-and-partition"),
)
"""What GCC's -O2 does and this leaves out: compiling takes a third less, and steps as many instructions."""


def flags() -> list[str]:
    """How to compile; only GCC knows all the names in `SLOW`. Without -g, which Python's own flags have."""
    if os.name != "posix":
        return []
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    return ["-O2", "-g0", "-w", *(f"-fno-{each}" for each in SLOW if "Free Software Foundation" in version)]


class CompiledModules(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls before it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wish = os.environ.get("JAXVJP_COMPILE", "").strip()
        if wish not in ("", "0", "1"):
            raise ValueError(f"JAXVJP_COMPILE={wish} in the environment: 0 or 1 expected")
        if wish == "0" or (version == "editable" and wish != "1"):
            return
        root = Path(self.root)
        try:
            into = root if version == "editable" else Path(tempfile.mkdtemp())
            modules = compile_modules(root, into)
        except (Exception, SystemExit) as reason:  # setuptools exits where there is no compiler
            if wish == "1":
                raise
            self.app.display_warning(f"jaxvjp is not compiled, which it works without: {reason}")
            return
        if version != "editable":
            build_data["force_include"] |= {str(into / each): str(each) for each in modules}
        build_data |= {"pure_python": False, "infer_tag": True}


def compile_modules(root: Path, into: Path) -> list[Path]:
    """Compiles `MODULES` of the project at `root`; the modules that were built, as they lie below `into`."""
    from Cython.Build import cythonize
    from setuptools import Distribution

    os.chdir(root)
    with tempfile.TemporaryDirectory() as scratch:
        extensions = cythonize(
            [f"jaxvjp/{each}" for each in MODULES],
            build_dir=scratch,
            force=True,
            quiet=True,
            nthreads=os.cpu_count() or 1,
            compiler_directives={"language_level": 3},
        )
        chosen = flags()
        for each in extensions:
            each.extra_compile_args = chosen
        command = Distribution({"name": "jaxvjp", "ext_modules": extensions}).get_command_obj("build_ext")
        command.build_lib, command.build_temp, command.parallel = str(into), scratch, True
        command.ensure_finalized()
        command.run()
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    return [Path(f"jaxvjp/{module.removesuffix('.py')}{suffix}") for module in MODULES]
