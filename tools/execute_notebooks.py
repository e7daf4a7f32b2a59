"""Makes the notebooks of `examples/notebooks` from the scripts that stand beside them, executed, with their outputs.

Run it when a script or what is printed changes: `python tools/execute_notebooks.py`. The scripts are what is edited
(`# %%` begins a cell); the tests execute them again and compare with what is stored.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "examples" / "notebooks"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def executed(script: Path) -> Any:
    """The notebook that a script is, executed in a kernel of its own on the CPU, with nothing in it that changes from
    one execution to the next."""
    notebook = jupytext.read(script)
    client = NotebookClient(notebook, timeout=600, kernel_name=KERNEL["name"], coalesce_streams=True)
    client.execute(env={**os.environ, "JAX_PLATFORMS": "cpu"})
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        cell["metadata"] = {}
    notebook["metadata"] = {"kernelspec": KERNEL}
    return notebook


def scripts() -> list[Path]:
    """The scripts, in the order in which to read them."""
    return sorted(FOLDER.glob("*.py"))


if __name__ == "__main__":
    for each in scripts():
        nbformat.write(executed(each), each.with_suffix(".ipynb"))
