"""Generated documents are up to date with the code."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from jaxvjp.core.run.tiers import Compiling
from jaxvjp.tools.examples import documents
from jaxvjp.tools.scripts.names import covered, torch_names
from tools import catalogue
from tools.opinfo.report import document

ROOT = Path(__file__).parent.parent
SPEED = ROOT / "docs" / "speed.md"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_names_are_those_of_the_registry():
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    assert page == document(), "python -m tools.opinfo.report"


def test_the_layers_and_optimizers_are_those_of_the_code():
    page = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")
    assert page == catalogue.document(), "python -m tools.catalogue"
    assert {*catalogue.LACKING} == torch_names().modules["torch.nn"] - {*covered("torch.nn")}
    optimizers = {name.strip("`") for name, _, _ in catalogue.optimizers()}
    assert {*catalogue.OPTAX, *catalogue.NO_OPTAX} == optimizers


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", SPEED.read_text(encoding="utf-8"), re.DOTALL))
def test_every_python_block_about_speed_runs(block, monkeypatch):
    monkeypatch.setattr(Compiling, "when", Compiling.when)  # one says it
    exec(compile(block, "speed.md", "exec"), {"__name__": "speed"})


def test_the_architecture_is_of_the_rooms_that_are_there():
    rooms = {str(path.relative_to(ROOT / "jaxvjp").with_suffix("")) for path in (ROOT / "jaxvjp").rglob("*.py")}
    named = re.findall(r"\b(?:autograd|core|library|ops|tensor)(?:/\w+)+", ARCHITECTURE)
    assert len({*named}) > 15
    assert {*named} <= rooms
    for storey in ("record", "run", "derive"):
        inside = {room.rpartition("/")[2] for room in rooms if room.startswith(f"core/{storey}/")} - {"__init__"}
        steps = "".join(re.findall(r"^\d\. `.*", ARCHITECTURE, re.MULTILINE))
        first = re.findall(rf"`{storey}/(\w+)`", steps)
        others = re.search(rf"^\| `{storey}` \|(.*)$", ARCHITECTURE, re.MULTILINE)
        assert inside <= {*first, *re.findall(r"`(\w+)`", others[1])}


def test_the_picture_of_the_architecture_is_what_its_text_says():
    """Where Mermaid is not drawn the SVG is shown: `mmdc -b white -i docs/architecture.md -o docs/architecture.svg`."""
    text = re.search(r"```mermaid\n(.*?)```", ARCHITECTURE, re.DOTALL)[1]
    picture = (ROOT / "docs" / "architecture-1.svg").read_text(encoding="utf-8")
    shown = "".join(unescape(re.sub(r"<style>.*?</style>|<[^>]*>", "", picture, flags=re.DOTALL)).split())
    labels = [label for each in re.findall(r'["(\[]"(.*?)"', text) for label in each.split("<br>")]
    assert len(labels) > 20
    for label in labels:
        assert "".join(label.split()) in shown


def first_line(path):
    """What a file says it is, in its first line."""
    text = path.read_text(encoding="utf-8")
    return (
        re.match("# %% .*\n# # (.*)", text)[1] if "# %%" in text else ast.get_docstring(ast.parse(text)).splitlines()[0]
    )


def test_every_example_is_in_the_index():
    folder = ROOT / "examples"
    index = (folder / "README.md").read_text(encoding="utf-8")
    for path in folder.rglob("*.py"):
        shown = path.with_suffix(".ipynb") if path.parent.name == "notebooks" else path
        assert f"- [{path.stem}]({shown.relative_to(folder)}): {first_line(path)}\n" in index
    for each in documents().values():
        assert f"- [{each.question}](documents/{each.path.name}) {each.title}\n" in index


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_links_to_is_there(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link, part in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", prose):
        target = page.parent / link if link else page
        assert target.is_file(), link
        if part:
            heads = re.findall("^#+ (.*)", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert part in [re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads]


def test_the_op_that_contributors_are_shown_is_one_row(tmp_path):
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    name, lines = re.search(r"```diff\n.*?\+\+\+ b/(.*?)\n@@.*?\n(.*?)```", page, re.DOTALL).groups()
    before = "".join(f"{line[1:]}\n" for line in lines.splitlines() if line[0] == " ")
    after = "".join(f"{line[1:]}\n" for line in lines.splitlines())
    shutil.copytree(ROOT / "jaxvjp", tmp_path / "jaxvjp", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    file = tmp_path / name
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    file.write_text(text.replace(before, after), encoding="utf-8")
    code = """
import jaxvjp as torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.cube(x)
print(y, y.explain())
y.sum().backward()
print(x.grad, x.detach().cube_(), torch.cube(torch.tensor(2), out=torch.empty(())))
for mistake in (lambda: torch.cube("2"), torch.tensor([2]).cube_):
    try:
        mistake()
    except (TypeError, RuntimeError) as error:
        print(error)
"""
    (tmp_path / "use.py").write_text(code, encoding="utf-8")  # a file, for `explain` shows its lines
    printed = subprocess.run(
        [sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    for each in (
        "[1., 8.]",
        "[ 3., 12.]",
        "tensor(8.)",
        *re.findall(r"`(y = [^`]*|grad_fn=[^`]*|cube\(\)[^`]*|result [^`]*)`", page),
    ):
        assert each in printed
    assert re.search(r"^    return x \* x \* x ", printed, re.MULTILINE)
