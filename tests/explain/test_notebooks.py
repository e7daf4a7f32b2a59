"""The notebooks of the documents: each is executed again, and shows what is stored."""

from __future__ import annotations

import html
import importlib.util
import re
from pathlib import Path

import pytest

from jaxvjp.tools.examples import documents

for needed in ("jupytext", "nbclient", "ipykernel"):
    pytest.importorskip(needed, reason="pip install 'jaxvjp[test]'")
nbformat = pytest.importorskip("nbformat")

ROOT = Path(__file__).parent.parent.parent
SPEC = importlib.util.spec_from_file_location("execute_notebooks", ROOT / "tools" / "execute_notebooks.py")
notebooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(notebooks)


def shown(output):
    """What an output shows; of an image its words."""
    if output["output_type"] == "stream":
        return output["text"]
    assert output["output_type"] == "execute_result", output
    data = dict(output["data"])
    if "<img" in data.get("text/html", ""):
        data["text/html"] = re.findall(r'alt="([^"]*)"', html.unescape(data["text/html"]))
    return data


def test_every_document_has_one_which_begins_with_its_question_and_title():
    assert {path.stem for path in notebooks.scripts()} == {each.path.stem for each in documents().values()}
    for document in documents().values():
        script = (ROOT / "examples" / "notebooks" / f"{document.path.stem}.py").read_text(encoding="utf-8")
        head, title, *_ = script.replace("\n# ", "\n").split("\n#\n")
        assert head == f"# %% [markdown]\n# {document.question}"
        assert " ".join(title.split()) == document.title


@pytest.mark.parametrize("script", notebooks.scripts(), ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_stored(script):
    stored, again = nbformat.read(script.with_suffix(".ipynb"), 4), notebooks.executed(script)
    nbformat.validate(stored)
    assert [each.source for each in stored.cells] == [each.source for each in again.cells]
    for one, other in zip(stored.cells, again.cells, strict=True):
        before, now = ([shown(each) for each in cell.get("outputs", ())] for cell in (one, other))
        assert before == now
