"""The documentation site: `sphinx-build -W -c docs . build/site`, from the root of the repository.

The pages are those that stand in the repository, where they stand; `README.md` is the first. Below `docs/api` a page
has a title and what to know, and the functions of its module are added here, from the code. The page of a lesson is
made of the lesson's own file, which it runs, and that of a document ends with its examples, which run
(`course_pages.py`). Notebooks are shown as they are stored. Nothing is loaded from a network, so the site can be read
from a disk: there is no Mermaid, which is a script, and the picture of the architecture is the SVG that was made of it.
"""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

from sphinx.errors import SphinxError

import jaxvjp
from jaxvjp.tensor.bindings import in_place_forms, inspected, overloads
from jaxvjp.tensor.published import PUBLISHED

sys.path.insert(0, str(Path(__file__).parent))
import course_pages
import figure

project = "jaxvjp"
version = release = jaxvjp.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "examples/**.md", "examples/notebooks/*.ipynb", "examples/lessons/*.py"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".py": "myst-nb"}
html_theme = "furo"
html_title = "jaxvjp"
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["wide.css"]
myst_heading_anchors = 3
myst_enable_extensions = []
nb_execution_mode = "off"
autodoc_typehints = "none"


def pages(pattern: str) -> list[str]:
    """The pages that are made of these files of `examples`, in order."""
    root = Path(__file__).parent.parent
    return sorted(str(path.relative_to(root).with_suffix("")) for path in root.glob(f"examples/{pattern}"))


MODULES = [
    "autograd",
    "autograd.functional",
    "autograd.forward_ad",
    "autograd.graph",
    "func",
    "nn.functional",
    "linalg",
    "fft",
    "special",
]
CONTENTS = {
    "To learn": ["examples/README", "docs/explain", "docs/port"],
    "Lessons": pages("lessons/*.py"),
    "Documents": pages("documents/*.md"),
    "Notebooks": pages("notebooks/*.ipynb"),
    "To look up": [
        f"docs/{name}"
        for name in (
            "autograd",
            "operators",
            "storage",
            "jax",
            "scale",
            "layers",
            "optim",
            "distributions",
            "scripts",
            "libraries",
            "speed",
        )
    ],
    "Modules": [f"docs/api/{name}" for name in ("jaxvjp", "Tensor", *MODULES)],
    "To contribute": [
        "CONTRIBUTING",
        "docs/architecture",
        "docs/tests",
        "docs/reliability",
        "docs/reliability_journal",
        "docs/conformance",
        "CHANGELOG",
    ],
}


def contents() -> str:
    """What is to be found at the side of every page."""
    lists = [
        "\n".join([f"```{{toctree}}\n:hidden:\n:caption: {caption}\n", *pages, "```"])
        for caption, pages in CONTENTS.items()
    ]
    return "\n\n".join(lists)


def public(name: str) -> list[str]:
    """The functions and classes of a module that torch's module has, too, or that it lists or else defines."""
    module = import_module(name)
    defined = [each for each, value in vars(module).items() if getattr(value, "__module__", None) == name]
    place = name.removeprefix("jaxvjp").removeprefix(".") or "function"
    torchs = {each for where, each in (*overloads(), *PUBLISHED) if where == place}
    found = {each for each in torchs | {*getattr(module, "__all__", defined)} if not each.startswith("_")}
    return sorted(each for each in found if callable(getattr(module, each)) and each != "Tensor")


def members(name: str) -> str:
    """The directives for all that is documented of a module; a class that has two places stands with `jaxvjp`."""
    module, lines = import_module(name), []
    for each in public(name):
        if not inspect.isclass(getattr(module, each)):
            lines.append(f".. autofunction:: {name}.{each}")
        elif module is jaxvjp or each not in jaxvjp.__all__:
            lines.append(f".. autoclass:: {name}.{each}" + ("" if module is jaxvjp else "\n   :members:"))
    return "\n\n".join(lines)


def read(app, docname, source):
    """Adds to a page what is made from the code, and puts the picture in the place of its text."""
    if docname == root_doc:
        frame = '<iframe src="figure.html" title="y = f(x), J, v and vᵀJ, to be moved" class="figure"></iframe>'
        head = "\n## On a fresh machine"
        source[0] = (
            source[0].replace(head, f"\nTry it: type another y, move v and x.\n\n{frame}\n{head}") + "\n" + contents()
        )
    elif docname == "docs/api/Tensor":
        source[0] += "\n```{eval-rst}\n.. autoclass:: jaxvjp.Tensor\n   :members:\n   :inherited-members:\n```\n"
    elif docname.startswith("docs/api/"):
        name = docname.removeprefix("docs/api/")
        name = name if name == "jaxvjp" else f"jaxvjp.{name}"
        source[0] += f"\n```{{eval-rst}}\n{members(name)}\n```\n"
    elif docname.startswith("examples/lessons/"):
        source[0] = course_pages.of_lesson(docname, Path(app.outdir))
    elif docname.startswith("examples/documents/"):
        source[0] += course_pages.of_document(docname)
    # Of the files of Python only lessons are pages; others are linked as files.
    source[0] = re.sub(r"\[([^]`]+)\]\((?![^)]*lessons/)([^)]*\.py)\)", r"{download}`\1 <\2>`", source[0])
    picture = "![the modules that a call goes through](architecture-1.svg)"
    source[0] = re.sub(r"^```mermaid\n.*?^```$", picture, source[0], flags=re.DOTALL | re.MULTILINE)


def docstring(app, what, name, obj, options, lines):
    """Docstrings have Markdown's code spans, and are else plain text, in which no sign is markup."""
    paragraphs, example = [], None
    for paragraph in "\n".join(lines).split("\n\n"):
        indent = len(paragraph) - len(paragraph.lstrip())
        if example is None or indent <= example:
            example = indent if paragraph.endswith("::") else None
            parts = re.split(r"`+(.+?)`+", paragraph, flags=re.DOTALL)
            parts[::2] = [re.sub(r"([*|\\]|_\b)", r"\\\1", each) for each in parts[::2]]
            paragraph = "``".join(parts)
        paragraphs.append(paragraph)
    lines[:] = "\n\n".join(paragraphs).split("\n")


def bare(form):
    """A signature without types, and without a method's own tensor."""
    given = [each for each in form.parameters.values() if each.name != "self"]
    return inspect.Signature([each.replace(annotation=each.empty) for each in given])


def overloaded():
    """Puts the ways to call what several rows share in front of its docstring, where autodoc looks for signatures."""
    in_place = {
        (place, f"{name}_"): rows for name, rows in in_place_forms().items() for place in ("function", "method")
    }
    owners = {"function": jaxvjp, "method": jaxvjp.Tensor}
    for (place, name), rows in (overloads() | in_place).items():
        owner = owners[place] if place in owners else import_module(f"jaxvjp.{place}")
        if len(rows) > 1 and (place, name) not in PUBLISHED and hasattr(owner, name):
            function = getattr(owner, name)
            ways = dict.fromkeys(f"{name}{bare(each)}" for each in inspected(rows, name, place))
            function.__doc__ = "\n".join([*ways, "", function.__doc__])


def finished(app, error):
    """Where a browser begins. No page may load anything from elsewhere."""
    loads = re.compile(r'<(?:script|link|img|iframe|source|object)\b[^>]*(?:src|href|data)="(?:https?:)?//')
    far = [path.name for path in Path(app.outdir).rglob("*.html") if loads.search(path.read_text(encoding="utf-8"))]
    if far:
        raise SphinxError(f"these pages load something from a network: {', '.join(far)}")
    (Path(app.outdir) / "figure.html").write_text(figure.figure(), encoding="utf-8")
    (Path(app.outdir) / "index.html").write_text('<meta http-equiv="refresh" content="0; url=README.html">\n')


def setup(app):
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", docstring, priority=400)  # before napoleon, which writes markup
    overloaded()
    app.connect("build-finished", finished)
