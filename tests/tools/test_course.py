"""The course: predictions, exercises with the mistakes that people make, the command, and the pages of the site."""

from __future__ import annotations

import importlib.util
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle import agree

import jaxvjp
from jaxvjp.__main__ import main
from jaxvjp.tools.course.checking import RIGHT, verdict
from jaxvjp.tools.course.command import predicted
from jaxvjp.tools.course.lesson import find, lessons, read, same
from jaxvjp.tools.examples import documents

ROOT = Path(__file__).parent.parent.parent
LESSONS = {each.name: each for each in lessons()}
ANSWERS = {
    "a_backward_is_a_pullback": "[21 11]",
    "rows_are_pullbacks_of_one_hots": "[3 2 3]",
    "columns_are_pushforwards": "[3 9]",
    "a_gradient_for_each_sample": "[[0 0] [0 0]]",
    "what_no_gradient_passes": "[3 0]",
    "a_derivative_of_your_own": "[10 10 10]",
    "memory_for_time": "[100000 1000]",
    "a_training_loop": "1",
    "a_function_and_what_it_reads": "[3 3 30]",
    "writes_and_views": "[1 2 3]",
    "keys_for_random_numbers": "3",
    "loops_and_ifs_on_values": "1",
    "loops_over_a_batch": "[5 3]",
    "an_optimizer_and_its_state": "4",
}
"""What the explanations of the predictions speak of."""


def cases(field):
    """The mistakes of all lessons, one by one."""
    return [
        pytest.param(name, given, told, id=f"{name}-{number}")
        for name, lesson in LESSONS.items()
        for number, (given, told) in enumerate(getattr(lesson, field).mistakes.items())
    ]


@pytest.mark.parametrize("name", LESSONS)
def test_a_prediction_is_known_when_it_is_right(name):
    prediction = LESSONS[name].prediction
    assert prediction.answer == ANSWERS[name]
    assert prediction.judge(prediction.answer.replace(" ", ", ")) == f"Right: {prediction.answer}."
    assert prediction.judge("what?") is None


@pytest.mark.parametrize(("name", "given", "misconception"), cases("prediction"))
def test_a_wrong_prediction_is_told_its_misconception(name, given, misconception):
    prediction = LESSONS[name].prediction
    assert prediction.judge(f"({given})") == f"Not yet. {misconception}"


def test_answers_are_read_however_they_are_written():
    for text in ("[3, 4.5]", "3 4.5", "(3,4.5)", "3 and 4.5", "+3 4.50"):
        assert read(text) == [3.0, 4.5]
    assert read("-1e-3") == [-0.001]
    two = LESSONS["memory_for_time"].prediction
    for text in ("100,000 and 1,000", "100_000, 1e3", "100000,1000"):
        assert two.judge(text) == "Right: [100000 1000]."
    assert read(" Yes ") == read("true") == [True]
    assert read("n") == [False]
    assert read("[]") == []


@pytest.mark.parametrize("name", LESSONS)
def test_the_imperative_form_and_the_prediction_run_under_torch(name):
    source = LESSONS[name].path.read_text(encoding="utf-8").replace("import jaxvjp as torch\n", "\n")
    predicts = LESSONS[name].prediction.program.__name__

    def program(torch):
        module: dict = {"__name__": "under_torch", "torch": torch}
        exec(compile(source, name, "exec"), module)
        given = module[predicts]() if "torch." in LESSONS[name].source(predicts) else None
        return module["imperative"](), given

    agree(program, 1e-5)


@pytest.mark.parametrize("name", LESSONS)
def test_the_solution_of_an_exercise_is_right(name):
    exercise = LESSONS[name].exercise
    assert verdict(exercise, exercise.solution) == RIGHT
    assert len(exercise.mistakes) > 1
    assert exercise.solution.__doc__.startswith("Returns ")


@pytest.mark.parametrize(("name", "sentence", "mistake"), cases("exercise"))
def test_a_mistake_gets_its_own_sentence(name, sentence, mistake):
    assert verdict(LESSONS[name].exercise, mistake) == sentence


@pytest.mark.parametrize("name", LESSONS)
def test_another_mistake_is_told_a_difference_and_the_hint(name):
    exercise = LESSONS[name].exercise
    told = verdict(exercise, lambda *arguments: None)
    assert told.startswith(f"TypeError: `{exercise.name}` returned None")
    assert told.endswith(f"\nHint: {exercise.hint}")


def test_differences_are_told():
    exercise = LESSONS["rows_are_pullbacks_of_one_hots"].exercise
    asked = "f(x) = [x₀x₁, x₂²] at x = [1, 2, 3]: your function gave "
    told = [
        verdict(exercise, change).partition("\n")[0]
        for change in (
            lambda f, x: jax.jacrev(f)(x)[:1],
            lambda f, x: 2 * jax.jacrev(f)(x),
            lambda f, x: {"J": jax.jacrev(f)(x)},
        )
    ]
    assert told == [
        f"{asked}the shape (1, 3); right is (2, 3).",
        f"{asked}[[4 2 0] [0 0 12]]; right is [[2 1 0] [0 0 6]].",
        f"{asked}{{'J': [[2 1 0] [0 0 6]]}}; right is [[2 1 0] [0 0 6]].",
    ]


FILES = {
    "def jacobian(f, x:\n    return 1\n": "answer.py, line 1: SyntaxError: '(' was never closed: `def jacobian(f, x:`",
    "def jacobian(f, x):\n    print('seen')\n    return x.foo\n": "answer.py, line 3: AttributeError: ",
    "jacobian = 1 / 0\n": "answer.py, line 1: ZeroDivisionError: division by zero",
    "def jacobians(f, x):\n    return x\n": "answer.py defines no function `jacobian`. `python -m jaxvjp lesson 2",
    "def jacobian(f, x):\n    while True:\n        x = x\n": "After 1 seconds it had not come to an end: it was at",
    "def jacobian(f, x):\n    raise SystemExit\n": "answer.py ended the process, with status 0, before it could be",
    "def jacobian(f, x):\n    import jax\n    return jax.jacrev(f)(x).T\n": "Rows and columns are exchanged",
}


@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
def test_a_file_is_told_what_is_wrong(text, tmp_path, capfd):
    (tmp_path / "answer.py").write_text(text, encoding="utf-8")
    seconds = "1" if "while" in text else "60"
    assert main(["lesson", "2", "--check", str(tmp_path / "answer.py"), "--seconds", seconds]) == 1
    out = " ".join(capfd.readouterr().out.split())
    assert f"Not yet. {FILES[text]}" in out
    assert ("seen" in out) == ("seen" in text)


def test_a_right_file_and_a_missing_one(tmp_path, capfd):
    answer = tmp_path / "answer.py"
    assert main(["lesson", "2", "--check", str(answer)]) == 2
    assert "python -m jaxvjp lesson 2 --exercise > " in capfd.readouterr().err
    assert main(["lesson", "2", "--exercise"]) == 0
    task = capfd.readouterr().out
    answer.write_text(task.replace("    ...\n", "    return jax.jacrev(f)(x)\n"), encoding="utf-8")
    assert main(["lesson", "02", "--check", str(answer)]) == 0
    assert capfd.readouterr().out == "Right: jacobian does what was asked.\n"


def test_the_list_and_unknown_lessons(capsys):
    assert main(["lesson"]) == 0
    out = capsys.readouterr().out
    assert all(each.title in out for each in LESSONS.values())
    assert main(["lesson", "a_traning_loop"]) == 2
    assert "Did you mean 'a_training_loop'?" in capsys.readouterr().err
    assert main(["lesson", "optimiser"]) == 2
    assert "Did you mean 'an_optimizer" in capsys.readouterr().err
    assert main(["lesson", "99"]) == 2
    assert f"There are 1 to {len(LESSONS)}." in capsys.readouterr().err
    assert find("a_training_loop.py") is None


@pytest.mark.parametrize("name", LESSONS)
def test_piped_a_lesson_waits_for_nothing(name, capsys):
    lesson = LESSONS[name]
    assert main(["lesson", name, "--reveal"]) == 0
    out = capsys.readouterr().out
    place = -1
    for part in ("Predict first", "The answer: ", "you wrote, in torch", "this is, in JAX", "agree", "Exercise"):
        assert out.index(part) > place
        place = out.index(part)
    assert f"({lesson.prediction.kind})" in " ".join(out.split())
    assert not re.search(r" NO$", out, re.MULTILINE)


def test_a_file_that_is_run_is_its_lesson():
    path = LESSONS["a_training_loop"].path
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert done.stdout.startswith("Lesson 8 of ")
    assert "The answer: 1." in done.stdout


def test_somebodys_own_lesson_has_any_name(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["lesson", "new", "mine"]) == 0
    assert "python -m jaxvjp lesson mine.py" in capfd.readouterr().out
    with pytest.raises(SystemExit):
        main(["lesson", "new", "mine"])
    with pytest.raises(SystemExit):
        main(["lesson", "new", "random"])
    assert "'random' is the name of a module, which 'random.py' would hide" in capfd.readouterr().err
    assert main(["lesson", "new", "week.2"]) == 0
    assert "week.2.py is a copy" in capfd.readouterr().out
    text = Path("week.2.py").read_text(encoding="utf-8")
    Path("week.2.py").write_text(text.replace(text[: text.index('"""', 3) + 3], "", 1), encoding="utf-8")
    assert main(["lesson", "week.2.py"]) == 1
    assert "It has no docstring" in capfd.readouterr().out
    assert main(["lesson", "new", "of my own.py"]) == 0
    assert "python -m jaxvjp lesson 'of my own.py' --html 'of my own.html'" in capfd.readouterr().out
    text = Path("of my own.py").read_text(encoding="utf-8")
    task = re.search(r'def weighted_rows.*?(    """.*?"""\n)', text, re.DOTALL)[1]
    Path("of my own.py").write_text(text.replace(task, ""), encoding="utf-8")
    assert main(["lesson", "of my own.py"]) == 1
    assert "`weighted_rows` has no docstring" in capfd.readouterr().out
    text = Path("mine.py").read_text(encoding="utf-8").replace("10.0]", "20.0]")
    Path("mine.py").write_text(text, encoding="utf-8")
    for run in (["-m", "jaxvjp", "lesson", "mine.py"], ["mine.py"]):
        done = subprocess.run(
            [sys.executable, *run], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
        )
        assert done.stdout.startswith("You wrote `y.backward(v)`")
        assert "[6 240]     yes" in done.stdout
        assert "mine.py --exercise > my_answer.py" in " ".join(done.stdout.split())
    task = main(["lesson", "mine.py", "--exercise"]), capfd.readouterr().out
    assert task[0] == 0
    Path("answer.py").write_text(task[1].replace("    ...", "    return jax.vjp(f, x)[1](v)[0]"), encoding="utf-8")
    assert main(["lesson", "mine.py", "--check", "answer.py"]) == 0
    Path("answer.py").write_text("", encoding="utf-8")
    assert main(["lesson", "mine.py", "--check", "answer.py"]) == 1
    assert "mine.py --exercise` prints its head" in " ".join(capfd.readouterr().out.split())


def test_on_a_terminal_it_waits_and_judges():
    terminal, there = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "200"}
    command = [sys.executable, "-m", "jaxvjp", "lesson", "1"]
    with subprocess.Popen(command, stdin=there, stdout=there, stderr=there, env=environment) as process:
        os.close(there)
        seen = b""
        for said in (b"hm\n", b"11, 12\n", b"3 11\n", b"21 11\n", b""):
            while said and not seen.endswith(b"> "):
                seen += os.read(terminal, 1000)
            os.write(terminal, said)
            seen += b"\n" if said else b""
        while True:
            try:
                more = os.read(terminal, 1000)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            seen += more
    os.close(terminal)
    text = " ".join(seen.decode().split())
    assert process.returncode == 0
    assert "That is not 2 numbers. Try again" in text
    assert "Not yet. That is Jv: you weighted the columns." in text
    assert "Not yet. Try again, or press Enter to see the answer." in text
    assert "Right: [21 11]. v says how much" in text
    assert "│ this is, in JAX:" in text


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["--check", "answer.py"], "of which lesson?"),
        (["--exercise"], "of which lesson?"),
        (["new"], "the name of the new lesson is missing"),
        (["new", "no folder/mine"], "there is no folder 'no folder'"),
        (["new", ""], "is no name of a file"),
        (["1", "--check", "answer.py", "--seconds", "-3"], "an answer needs time"),
    ],
)
def test_a_call_that_lacks_something_says_what(call, said, capsys):
    with pytest.raises(SystemExit) as leaving:
        main(["lesson", *call])
    assert leaving.value.code == 2
    assert said in capsys.readouterr().err


def test_the_first_exercise_is_right_for_numbers_too_and_asks_for_an_array():
    exercise = LESSONS["a_backward_is_a_pullback"].exercise
    assert "f(x) = x³" in verdict(exercise, lambda f, x, v: v @ jax.jacfwd(f)(x) if x.ndim else v)
    assert "That was for x = 2, v = 5." in verdict(exercise, lambda f, x, v: v @ jax.jacfwd(f)(x))
    assert verdict(exercise, lambda f, x, v: jax.vjp(f, x)[1](v)[0] * (1 + 1e-3)) != RIGHT  # as of a finite difference
    told = verdict(exercise, lambda f, x, v: jax.vjp(f, x)[1](v)[0].tolist())
    assert "your function returned a list; an array is asked for." in told


def test_no_answer_asks_for_it(monkeypatch, capsys):
    prediction = LESSONS["a_training_loop"].prediction
    for answers in ([""], ["no idea", " "]):
        given = iter(answers)
        monkeypatch.setattr("builtins.input", lambda _, given=given: next(given))
        assert predicted(prediction) == "The answer: 1."


def test_results_are_compared_with_their_form():
    assert same({"a": np.ones(2), "b": "x"}, {"a": np.ones(2) + 1e-7, "b": "x"})
    for other in ({"a": np.ones(2)}, {"a": np.ones((2, 1)), "b": "x"}, {"a": np.zeros(2), "b": "x"}):
        assert not same({"a": np.ones(2), "b": "x"}, other)
    assert not same((np.ones(2),), [np.ones(2)])


def test_what_is_said_of_optax_is_what_the_lesson_computes():
    optax = pytest.importorskip("optax", reason="pip install optax")
    lesson = LESSONS["an_optimizer_and_its_state"]
    lines = re.search(r"^    optimizer.*\Z", lesson.text, re.MULTILINE | re.DOTALL)[0]
    xs, ys = jnp.array(lesson.module.XS), jnp.array(lesson.module.YS)
    names = {
        "optax": optax,
        "jax": jax,
        "loss": lambda params: jnp.mean((xs @ params["w"] + params["b"] - ys) ** 2),
        "params": {"b": jnp.array(0.0), "w": jnp.array([0.5, -0.5])},
    }
    exec(re.sub("^    ", "", lines, flags=re.MULTILINE), names)
    jaxvjp.testing.assert_close(names["params"], lesson.module.functional())


def test_past_the_end_a_write_is_left_out_and_a_read_gives_the_last():
    y = jnp.array([1.0, 2.0, 3.0])
    assert y.at[7].set(9.0).tolist() == [1.0, 2.0, 3.0]
    assert y[7] == 3.0


PAGES = importlib.util.spec_from_file_location("course_pages", ROOT / "docs" / "course_pages.py")
pages = importlib.util.module_from_spec(PAGES)
PAGES.loader.exec_module(pages)


@pytest.mark.parametrize("name", LESSONS)
def test_the_page_of_a_lesson(name, tmp_path):
    lesson = LESSONS[name]
    page = pages.of_lesson(f"examples/lessons/{lesson.path.stem}", tmp_path)
    shown, *closed = re.split("<details>", page)
    assert lesson.prediction.question in shown
    assert f"**{lesson.prediction.answer}.**" in closed[0].partition("</details>")[0]
    assert f"**{lesson.prediction.answer}.**" not in page.replace(closed[0], "")
    assert page.count("<details>") == page.count("</details>")
    assert all(sentence in page for sentence in lesson.exercise.mistakes)
    assert "NO |" not in page
    followed = tmp_path / "followed" / f"{lesson.path.stem}.html"
    assert followed.exists() == (".backward(" in lesson.source("imperative"))
    assert followed.exists() == (f'href="../../followed/{followed.name}"' in page)


@pytest.mark.parametrize("name", ["a_loop_and_a_matrix"])
def test_the_page_of_a_document_ends_with_its_examples(name):
    page = pages.of_document(f"examples/documents/{documents()[name].path.stem}")
    assert re.findall("^## (.*)", page, re.MULTILINE) == ["Doubling until 1000", "Matrix product"]
    assert "| `v = [1, 0]` | [[1 3]] | [[1 3]] | [[1 3]] | [[1 3]] | yes |" in page
    assert "J       x[0,0]  x[0,1]" in page


def test_a_typographic_minus_is_one_and_several_tensors_are_one_answer():
    from jaxvjp.tools.course.lesson import Prediction

    assert read("2 .6 \u22126 \u20132") == [2.0, 0.6, -6.0, -2.0]
    several = Prediction("Which?", lambda: (np.ones(2), np.zeros(1)), "So.", {})
    assert several.kind == "3 numbers"
    assert several.judge("1 1 0").startswith("Right")
    assert Prediction("Which?", lambda: (2, 3), "So.", {}).kind == "a shape"
