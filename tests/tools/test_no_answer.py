"""`compare` where both sides end alike and that is no answer: the script did not run, or nothing was compared."""

from __future__ import annotations

import json

import pytest
from oracle import needs_torch

import jaxvjp
from jaxvjp.__main__ import main
from jaxvjp.tools.comparison.outcome import EXITED, RAISED, Side
from jaxvjp.tools.comparison.recorder import described
from jaxvjp.tools.comparison.report import Report

# By name: a script, and what the first line of its report says after the script's name.
NOT_RUN = "so it was not run to its end"
NOTHING = "nothing was compared: no line was printed, and no gradient was asked for"
MISSING = "both raise ModuleNotFoundError: No module named 'missing_library'"
STEP = "import torch\nw = torch.ones(2, requires_grad=True)\n(w * w).sum().backward()\n"
SCRIPTS = {
    "a library is missing": ("import missing_library\n", f"NO ANSWER, {MISSING}, {NOT_RUN}"),
    "and so later": (
        f"print('begins')\n{STEP}import missing_library\n",
        f"NO ANSWER, 1 of 1 lines agree, 1 of 1 backward passes agree, {MISSING}, {NOT_RUN}",
    ),
    "a name is missing": (
        "from json import nothing_of_that_name\n",
        "NO ANSWER, both raise ImportError: cannot import name",
    ),
    "no Python": ("def f(:\n", "NO ANSWER, both raise SyntaxError: invalid syntax"),
    "no file": (
        "open('nowhere.csv')\n",
        "NO ANSWER, both raise FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.csv', nothing",
    ),
    "no file of torch's": ("import torch\ntorch.load('nowhere.pt')\n", "NO ANSWER, both raise FileNotFoundError: "),
    "an error of its own": (
        "import torch\nraise ValueError('no data')\n",
        f"NO ANSWER, both raise ValueError: no data, {NOTHING}",
    ),
    "an error of torch's": (
        "import torch\ntorch.ones(2) + torch.ones(3)\n",
        "equal, both raise RuntimeError: The size of tensor a (2) must match the size of tensor b (3)",
    ),
    "an error on purpose": (
        f"{STEP}print(w.grad)\nraise ValueError('the end')\n",
        "equal, 1 of 1 lines agree, 1 of 1 backward passes agree, both raise ValueError: the end",
    ),
    "different errors": (
        "import torch\nraise ValueError(torch.__name__)\n",
        "DIFFERENT, they end differently",
    ),
}


@needs_torch
@pytest.mark.parametrize("name", SCRIPTS)
def test_what_is_no_answer_is_none(name):
    text, told = SCRIPTS[name]

    def script(torch):
        exec(compile(text.replace("import torch\n", ""), "script.py", "exec"), {"__name__": "script", "torch": torch})

    assert str(jaxvjp.compare(script)).splitlines()[1].startswith(f"script: {told}")


@needs_torch
def test_the_exit_status_the_json_and_the_page_say_so(tmp_path, capsys):
    texts = {
        "equal": "import torch\nprint(torch.ones(2))\n",
        "missing": "import torch\nprint('begins')\nimport missing_library\n",
        "usage": "import argparse\nargparse.ArgumentParser(usage='rate').parse_args(['--unknown'])\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    scripts, page = [str(tmp_path / f"{name}.py") for name in texts], tmp_path / "page.html"
    assert main(["compare", "--html", str(page), *scripts]) == 1
    out = capsys.readouterr().out
    assert "equal.py: equal, 1 of 1 lines agree\n" in out
    assert f"missing.py: NO ANSWER, 1 of 1 lines agree, {MISSING}, {NOT_RUN}\n" in out
    assert out.count("line 3, in <module>\n        import missing_library") == 2  # what each wrote says where
    assert f"usage.py: NO ANSWER, both exited with status 2, {NOTHING}\n" in out
    assert out.endswith("\n1 of 3 scripts agree\n")
    text = page.read_text(encoding="utf-8")
    assert [text.count(f'class="verdict {each}<') for each in ('equal">equal', 'different">no answer')] == [1, 2]
    assert main(["compare", "--json", scripts[-1]]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["equal"], report["unanswered"]) == (False, NOTHING)


@needs_torch
def test_so_of_a_function():
    def refused(torch):
        torch.ones(2) + torch.ones(3)

    def fails(torch):
        raise KeyError("mine")

    def imports(torch):
        import missing_library  # noqa: F401

    assert jaxvjp.compare(refused).equal
    assert jaxvjp.compare(lambda torch: None).equal  # None is a result
    for program, why in ((fails, NOTHING), (imports, NOT_RUN)):
        report = jaxvjp.compare(program)
        assert report.unanswered == why
        with pytest.raises(AssertionError, match="NO ANSWER, both raise"):
            report.raise_if_different()


def side(error=None, lines=()):
    described_ = None
    if error is not None:
        try:
            raise error
        except Exception as raised:
            described_ = described(raised)
    return Side("torch", status=RAISED if error else EXITED, error=described_, lines=list(lines))


def test_a_report_knows_it_without_torch():
    def report(*given):
        return Report("script.py", side(*given), side(*given))

    assert report(None, ["a line"]).equal
    assert report(ValueError("mine"), ["a line"]).equal
    for given, why in (
        ((None,), NOTHING),
        ((ValueError("mine"),), NOTHING),
        ((ImportError("mine"), ["a line"]), NOT_RUN),
    ):
        assert (report(*given).unanswered, report(*given).equal, report(*given).differs) == (why, False, False)
    other = Report("script.py", side(), side(ImportError("mine")))
    assert (other.unanswered, other.verdict) == ("", "DIFFERENT")


def test_whose_error_it_is():
    def error(call):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            call()
        return described(caught.value)

    def key():
        return {}["missing"]

    assert error(lambda: jaxvjp.ones(2) + jaxvjp.ones(3))["own"]
    assert not error(lambda: jaxvjp.load("nowhere.pt"))["own"]
    assert not error(key)["own"]
    assert not error(lambda: jaxvjp.func.grad(lambda x: key())(jaxvjp.ones(())))["own"]  # of the user, called by ours
