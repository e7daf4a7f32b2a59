"""`python -m jaxvjp run --check FOLDER`: how many scripts and notebooks in a folder use only names that are covered.

Those are read that ask for a gradient: `.backward(` or `autograd.grad(`.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import Path

from jaxvjp.explain import terminal
from jaxvjp.tools.scripts.check import Use, names_used

TRAINS = re.compile(r"\.backward\(|autograd\.grad\(")


def check_all(folder: Path) -> int:
    """Prints each name of torch's that is not covered, and how many files use it, then the share of files without
    one; returns 1 if there is such a file, or one whose check failed. Names that torch does not have either do not
    count."""
    used: list[list[Use]] = []
    unread, failed = 0, []
    files = [*folder.rglob("*.py"), *folder.rglob("*.ipynb")]
    for path in terminal.progress(files, "scripts"):
        source = source_of(path)
        if TRAINS.search(source):
            try:
                used.append(names_used(source, str(path)))
            except SyntaxError:
                unread += 1
            except Exception as error:  # a fault of ours: the other files are checked all the same
                failed.append(f"{path}: the check failed: {type(error).__name__}: {error}")
    missing = [{each.qualified for each in names if not each.covered and each.is_torchs} for names in used]
    counted = Counter(name for names in missing for name in names)
    terminal.table(["name", "files"], [[name, str(files)] for name, files in counted.most_common()])
    whole = sum(not names for names in missing)
    share = f" ({whole / len(missing):.1%})" if missing else ""
    others = f"; {unread} are no Python 3" if unread else ""
    others += f"; the check of {len(failed)} failed" if failed else ""
    print(*failed, sep="\n", end="\n" * bool(failed))
    print(f"{len(missing)} files ask for a gradient, {whole}{share} with covered names only{others}.")
    return 1 if counted or failed else 0


def source_of(path: Path) -> str:
    """The Python of a script, or of a notebook's cells that are Python; nothing where the file is none of these."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".py":
            return text
        cells = json.loads(text)["cells"]
        return "\n".join(filter(_is_python, ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _is_python(cell: str) -> bool:
    try:
        ast.parse(cell)
    except SyntaxError:
        return False
    return True
