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


def test_a_cell_is_called_by_its_number(tmp_path):
    cells = [
        "import jaxvjp as torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)",
        "with torch.explain.recording() as story:\n    y = x * x\n    y.sum().backward()\n    z = y * 2",
        "story.save('page.html')\nprint(open('page.html').read().splitlines()[5], story, sep='\\n')",
        again := "try:\n    y.sum().backward()\nexcept RuntimeError as error:\n    print(error)",
        f"import IPython\nIPython.get_ipython = lambda: None\n{again}",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    nbclient = pytest.importorskip("nbclient")
    nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    page, error, unknown = ["".join(each["text"] for each in cell["outputs"]) for cell in notebook.cells[2:]]
    assert page.startswith("<title>cell 2: as a functional program")
    assert "# cell 1, line 2" in page
    assert "recorded by line 2 of cell 2:\n    y = x * x\n" in error
    assert "recorded by line 2 of a cell:\n    y = x * x\n" in unknown
