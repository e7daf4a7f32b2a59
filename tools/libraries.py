"""Runs the jobs of `examples/libraries`: what people do most with libraries that are written for torch.

    python tools/libraries.py                  # all jobs whose libraries are installed
    python tools/libraries.py gpytorch pyro    # those whose file names begin so
    python tools/libraries.py --install FOLDER # installs what jobs need beside jaxvjp, without torch, into a folder
    python tools/libraries.py --page           # runs the program of docs/libraries.md, which needs optax, too

Each job runs under torch and under jaxvjp, which compares what they print, and, if it has a function `step`, the time
of its later calls in a process of its own. The table that is printed is the one in docs/libraries.md. Needs torch;
`--without-torch` only runs them here, where nothing but the library, what it needs and jaxvjp is installed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "libraries.md"
TOLERANCE = "1e-3"
ROUNDS, WARM_SECONDS = 10, 10.0
"""How many calls of a step are timed, after how many seconds of them: programs that pay are compiled then."""
NEEDS_TORCH = ("nvidia", "torch", "triton")
HEADER = re.compile(r"# /// script\n((?:#.*\n)+?)# ///")
TIMING = """
import runpy, sys, time
step = runpy.run_path(sys.argv[1]).get("step")
if step is not None:
    times, begun = [], time.perf_counter()
    while len(times) < int(sys.argv[3]) or time.perf_counter() < begun + float(sys.argv[2]):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    print("seconds of a step:", min(times[-int(sys.argv[3]) :]))
"""
"""The least of several, as what else runs on the machine only adds to it. A step ends with a number that is read."""


class Job(NamedTuple):
    path: Path
    needs: list[str]
    title: str

    @property
    def missing(self) -> list[str]:
        """The libraries that are not installed."""
        return [name for name in self.names if not _version(name)]

    @property
    def names(self) -> list[str]:
        return [re.split(r"[\[<>=! ]", need)[0] for need in self.needs]


def jobs(beginnings: Sequence[str]) -> list[Job]:
    """The jobs whose names begin so; all without a beginning."""
    paths = sorted((ROOT / "examples" / "libraries").glob("*.py"))
    return [_job(path) for path in paths if not beginnings or path.name.startswith(tuple(beginnings))]


def _job(path: Path) -> Job:
    text = path.read_text(encoding="utf-8")
    header = HEADER.search(text)
    assert header, f"{path} does not begin with what it needs"
    needs = tomllib.loads(re.sub("^# ?", "", header[1], flags=re.MULTILINE))["dependencies"]
    return Job(path, needs, (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def equal(job: Job) -> str:
    """ "yes", or the first thing that differs."""
    command = ("-m", "jaxvjp", "compare", "--json", "--tolerance", TOLERANCE, str(job.path))
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    try:
        [report] = json.loads(done.stdout)
    except ValueError:
        return f"no: {(done.stderr.strip().splitlines() or ['it ended without a word'])[-1]}"
    if report["equal"]:
        return "yes"
    error = report["jaxvjp"]["error"] or report["jaxvjp"]["detail"]
    differences = [line["difference"] for line in report["lines"] if line["verdict"] not in ("same", "close")]
    return f"no: {error or next(iter(differences), 'gradients differ')}"


def seconds_of_a_step(job: Job, *runner: str) -> float | None:
    """How long a later call of its `step` takes; None if it has none."""
    with tempfile.TemporaryDirectory() as scratch:
        timer = Path(scratch) / "timer.py"
        timer.write_text(TIMING, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, *runner, str(timer), str(job.path), str(WARM_SECONDS), str(ROUNDS)],
            capture_output=True,
            text=True,
            check=False,
        )
    found = re.search(r"seconds of a step: (\S+)", done.stdout)
    return float(found[1]) if found else None


def runs(job: Job) -> str:
    """ "yes", or the error that ended it."""
    done = subprocess.run(
        [sys.executable, "-m", "jaxvjp", "run", str(job.path)], capture_output=True, text=True, check=False
    )
    return "no: " + (done.stderr.strip().splitlines() or [""])[-1] if done.returncode else "yes"


def install(folder: str, chosen: Sequence[Job]) -> None:
    """Installs the jobs' libraries, and what those need but torch and its parts, into a folder for PYTHONPATH."""
    needs = sorted({need for job in chosen for need in job.needs})
    report = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--report", "-", *needs],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = [(each["metadata"]["name"], each["metadata"]["version"]) for each in json.loads(report)["install"]]
    pinned = [f"{name}=={number}" for name, number in found if not name.lower().startswith(NEEDS_TORCH)]
    pinned += [need for need in needs if need.startswith("torch")]
    subprocess.run([sys.executable, "-m", "pip", "install", "--no-deps", "--target", folder, *pinned], check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", help="beginnings of the jobs' file names")
    parser.add_argument("--install", metavar="FOLDER", help="install what they need into a folder, and end")
    parser.add_argument("--without-torch", action="store_true", help="only run them")
    parser.add_argument("--page", action="store_true", help="run the program of docs/libraries.md")
    given = parser.parse_args(arguments)
    chosen = jobs(given.jobs)
    if given.install:
        install(given.install, chosen)
        return 0
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    if given.page:
        [program] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        with tempfile.TemporaryDirectory() as scratch:
            return subprocess.run([sys.executable, "-c", program], cwd=scratch, check=False).returncode
    told = []
    print("| library | job | equal | a step beside torch |\n| --- | --- | --- | --- |")
    for job in chosen:
        library = f"{job.names[0]} {_version(job.names[0])}"
        if job.missing:
            print(f"| {library} | {job.title} | not installed: {', '.join(job.missing)} | |", flush=True)
            continue
        told.append(runs(job) if given.without_torch else equal(job))
        ours = None if given.without_torch else seconds_of_a_step(job, "-m", "jaxvjp", "run")
        theirs = ours and seconds_of_a_step(job)
        ratio = f"{ours / theirs:.2f}" if ours and theirs else ""
        print(f"| {library} | {job.title} | {told[-1]} | {ratio} |", flush=True)
    return int(any(each != "yes" for each in told))


if __name__ == "__main__":
    sys.exit(main())
