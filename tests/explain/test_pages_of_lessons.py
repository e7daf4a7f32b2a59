"""A lesson as one HTML file: what is typed into its field is judged in the browser as the command judges it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browsing import all_of, move, text_of
from oracle import needs_torch

from jaxvjp.__main__ import main
from jaxvjp.tools.course.checking import faults
from jaxvjp.tools.course.lesson import lessons
from jaxvjp.tools.course.page import field, save

LESSONS = {each.name: each for each in lessons()}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """By name the file of a lesson, written when it is asked for."""
    folder, written = tmp_path_factory.mktemp("lessons"), {}

    def page(name):
        if name not in written:
            written[name] = folder / f"{name}.html"
            save(LESSONS[name], written[name])
        return written[name]

    return page


def answer(browser, said):
    script = "const form = document.forms[0]; form.said.value = arguments[0]; form.requestSubmit()"
    browser.execute_script(script, said)
    return text_of(browser, "#judged")


@pytest.mark.parametrize("name", LESSONS)
def test_an_answer_is_judged_in_the_browser(browser, pages, name):
    lesson, prediction = LESSONS[name], LESSONS[name].prediction
    browser.get(pages(name).as_uri())
    assert text_of(browser, "h1") == lesson.title.replace("`", "")
    assert prediction.answer not in text_of(browser, "#judged")
    for said in (prediction.answer, prediction.answer.strip("[]").replace(" ", ", ")):
        assert answer(browser, said) == f"Right: {prediction.answer}. {prediction.because}".replace("`", "")
    for given, told in prediction.mistakes.items():
        assert answer(browser, f"({given})") == f"Not yet. {told}".replace("`", "")
    assert answer(browser, "hm") == f"That is not {prediction.kind}. Try again."
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]
    assert not re.search(r'(src|href)="', pages(name).read_text(encoding="utf-8"))


def test_numbers_are_read_as_the_command_reads_them(browser, pages):
    browser.get(pages("a_backward_is_a_pullback").as_uri())
    for said in ("+21 1.1e1", "[21.0001, 11]", "21.01 and 11"):
        assert answer(browser, said).startswith("Right: ")
    for said in ("21.1 11", "-21 11", "inf nan"):
        assert answer(browser, said).startswith("Not yet. Think again")
    for said in ("21", "21 11 0", "yes", ""):
        assert answer(browser, said).startswith("That is not 2 numbers")


def test_the_page_of_a_lesson_lets_v_move(browser, pages):
    browser.get(pages("a_backward_is_a_pullback").as_uri())
    heads = [each.text for each in all_of(browser, "h2") if each.is_displayed()]
    assert heads[:2] == ["Predict first", "Both forms"]
    assert heads[-1] == "Exercise"
    move(browser, [2.0, 3.0])
    assert [each.text for each in all_of(browser, "[data-product]")] == ["12", "36"]


def test_the_site_has_the_same_field(tmp_path, browser):
    prediction = LESSONS["memory_for_time"].prediction
    assert "\n\n" not in field(prediction)  # in Markdown an empty line would end it
    page = tmp_path / "field.html"
    page.write_text(f"<!doctype html><main>{field(prediction)}</main>", encoding="utf-8")
    browser.get(page.as_uri())
    browser.find_element("name", "said").send_keys(f"{prediction.answer}\n")  # as with the keyboard
    assert text_of(browser, "#judged").startswith("Right: ")


BROKEN = {
    ("y = 3 * x**2", "y = 2 * x**2"): ["`imperative` gives x = [4 80], `functional` [6 120]."],
    ('"3 2":', '"3 2 1":'): ["The mistake '3 2 1' is not 2 numbers, as the answer [21 11] is."],
    ('"3 2":', '"21, 11":'): ["The mistake '21, 11' is the right answer."],
    ("jax.jvp(f, (x,), (v,))[1]", "jax.vjp(f, x)[1](v)[0]"): ["`weighted_columns` does in the trial as the solution"],
    ("return jax.vjp(f, x)[1](v)\n", "return jax.grad(lambda x: jnp.sum(f(x)))(x)\n"): [
        "`in_a_tuple` does in the trial as what is told 'v has no effect:"
    ],
    ("(result,) = pullback(v)", "(result,) = pullback(v, v)"): ["mine.py, line ", "TypeError"],
    ("PREDICTION = ", "PREDICTIONS = "): ["a lesson has `PREDICTION = Prediction(...)`"],
    ('return {"x": x.grad}', "return x.grad"): ["`imperative` and `functional` each return a dict"],
    ("y = 3 * x**2", "y = 3 * * x"): ["mine.py, line 20: SyntaxError"],
}


@pytest.mark.parametrize("change", BROKEN, ids=range(len(BROKEN)))
def test_a_new_lesson_is_checked_before_it_is_written(change, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["lesson", "new", "mine"]) == 0
    assert Path("mine.html").stat().st_size > 10_000
    Path("mine.html").unlink()
    Path("mine.py").write_text(Path("mine.py").read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    capsys.readouterr()
    for call in (["mine.py", "--html", "mine.html"], ["mine"]):
        assert main(["lesson", *call]) == 1
        out = " ".join(capsys.readouterr().out.split())
        assert "mine.py is not finished:" in out
        assert all(each in out for each in BROKEN[change])
    assert not Path("mine.html").exists()


@needs_torch
def test_a_page_of_lines_that_torch_itself_ran_says_what_it_lacks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["lesson", "new", "own"]) == 0
    assert "torch itself" not in capsys.readouterr().out
    text = Path("own.py").read_text(encoding="utf-8")
    Path("own.py").write_text(text.replace("import jaxvjp as torch", "import torch"), encoding="utf-8")
    assert main(["lesson", "own.py", "--html", "own.html"]) == 0
    assert "write `import jaxvjp as torch`" in " ".join(capsys.readouterr().out.split())


def test_nothing_is_wrong_with_the_lessons():
    assert {name: faults(lesson) for name, lesson in LESSONS.items()} == {name: [] for name in LESSONS}


@pytest.mark.parametrize("name", ["a_backward_is_a_pullback", "columns_are_pushforwards", "writes_and_views"])
def test_the_lines_of_a_lesson_are_watched(browser, pages, name):
    page = pages(name).read_text(encoding="utf-8")
    assert "were watched as they ran" not in page
    browser.get(pages(name).as_uri())
    assert all_of(browser, "#objects-head")[0].is_displayed()
    written = [each.text for each in all_of(browser, "#lines > li")]
    assert not written or (written[0].strip() and written[-1].strip())
