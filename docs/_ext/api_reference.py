"""The API reference is made from what the package exports: nothing can be forgotten.

Writes ``api/index.rst`` and one page per group of packages before autosummary reads them. A page
has one section per package, with the names of its ``__all__``, or what it defines. A module that
cannot be imported, because an extra is not installed, is left out.
"""

import inspect
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import labelkin

# File name and title of each page → what it is about, and its packages with their titles.
GROUPS: dict[tuple[str, str], tuple[str, dict[str, str]]] = {
    ("classifiers", "Classifiers"): (
        "Every classifier has ``fit(X, y)``, ``predict`` and ``predict_proba``.",
        {
            "kin": "The Kin ensemble",
            "kernel": "Kernel ridge regression",
            "linear": "Linear models",
            "many": "Thousands of labels",
            "neighbors": "Nearest neighbours",
            "ensemble": "VPCME and Bagging_VPCP",
            "transformation": "Problem transformation",
            "tree": "C4.5 trees",
            "decisions": "Label decisions",
            "hierarchy": "Nested labels",
        },
    ),
    ("features", "Projections and constraints"): (
        "Transformers that learn from label sets, and the pairs that they learn from.",
        {"projection": "Projections and feature selection", "constraints": "Pairwise constraints"},
    ),
    ("metrics", "Metrics and splitting"): (
        "How good predictions are, and which rows to measure it on.",
        {
            "metrics": "Metrics",
            "model_selection": "Splitting",
            "evaluation": "Comparisons and their report",
        },
    ),
    ("data", "Datasets and tables"): (
        "Reading, describing and writing data.",
        {"datasets": "Datasets and formats", "tabular": "Tables with columns of several kinds"},
    ),
    ("models", "Explaining and saving models"): (
        "What to do with a fitted model.",
        {
            "explain": "Explanations",
            "persistence": "Saving and loading",
            "onnx": "ONNX",
            "methods": "Methods by name",
        },
    ),
    ("experiments", "Experiments"): (
        "The paper's experiments, and their report.",
        {
            "experiments.run.plan": "Protocol and plan",
            "experiments.run.runner": "Running",
            "experiments.run.store": "The store",
            "experiments.run.results": "Results",
            "experiments.report.comparison": "Comparison",
            "experiments.report.statistics": "Statistics",
            "experiments.report.tables": "Tables",
            "experiments.report.figures": "Figures",
            "experiments.report.page": "Report",
        },
    ),
}

HEAD = """\
API reference
=============

The public names of every package. The estimators can also be imported from ``labelkin``
itself, and are listed as ``labelkin.NAME``. All of them are scikit-learn estimators; the
methods they inherit from scikit-learn, such as ``get_params``, ``score`` and
``fit_transform``, are not repeated here.

"""


def public_names(module: ModuleType) -> list[str]:
    """Return a module's ``__all__``, or the functions and classes it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
    ]


def own_methods(fullname: str) -> list[tuple[str, str]]:
    """Return (kind, name) of what labelkin defines for a class, wherever in its ancestry."""
    module, _, name = fullname.rpartition(".")
    cls = getattr(import_module(module), name)
    found: dict[str, Any] = {}
    for ancestor in reversed(cls.__mro__):
        if ancestor.__module__.startswith("labelkin"):
            found.update(vars(ancestor))
    public = {n: value for n, value in found.items() if not n.startswith("_")}
    return [
        ("property" if isinstance(value, property | cached_property) else "method", n)
        for n, value in public.items()
        if inspect.isfunction(value)
        or isinstance(value, classmethod | staticmethod | property | cached_property)
    ]


def _summary(module: str, names: list[str]) -> str:
    entries = "".join(f"   {name}\n" for name in sorted(names, key=str.lower))
    options = "   :toctree: generated\n   :nosignatures:\n"
    return f".. currentmodule:: {module}\n\n.. autosummary::\n{options}\n{entries}\n"


def sections(modules: dict[str, str]) -> str:
    """Return one section per module; a name that ``labelkin`` exports stands under that name."""
    text = ""
    for name, title in modules.items():
        try:
            module = import_module(f"labelkin.{name}")
        except ImportError:
            continue
        exported, others = [], []
        for public in public_names(module):
            (exported if public in labelkin.__all__ else others).append(public)
        text += f"{title}\n{'-' * len(title)}\n\n``labelkin.{name}``\n\n"
        text += _summary("labelkin", exported) if exported else ""
        text += _summary(module.__name__, others) if others else ""
    return text


def pages() -> dict[str, str]:
    """Return the text of each page by its name: one per group, and the index of them."""
    made, index = {}, HEAD
    for (name, title), (about, modules) in GROUPS.items():
        made[name] = f"{title}\n{'=' * len(title)}\n\n{about}\n\n{sections(modules)}"
        listed = ", ".join(f"``{m}``" for m in dict.fromkeys(m.split(".")[0] for m in modules))
        index += f":doc:`{name}`\n   {about} ({listed})\n\n"
    index += ".. toctree::\n   :hidden:\n\n" + "".join(f"   {name}\n" for name in made)
    return {"index": index, **made}


def _write(app, config) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        page = folder / f"{name}.rst"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    config.autosummary_context["own_methods"] = own_methods


def _shield(text: str) -> str:
    """Escape, outside of back-quotes, what docstrings write in plain text: x_ and |A|."""
    parts = re.split(r"(`+[^`]*`+)", text)
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\\_", p).replace("|", r"\|") for p in parts[::2]]
    return "".join(parts)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _find_literals(lines: list[str]) -> set[int]:
    """Return the lines of indented blocks after a colon, as equations; mark them as literal.

    Docstrings are plain text, in which a single colon is enough.
    """
    found: set[int] = set()
    for i, line in enumerate(lines[:-2]):
        if not re.search(r"[\w)]:$", line) or lines[i + 1].strip():
            continue
        j = i + 2
        while j < len(lines) and (not lines[j].strip() or _indent(lines[j]) >= _indent(line) + 4):
            j += 1
        if j > i + 2 and not lines[i + 2].lstrip().startswith(("-", ">>>")):
            lines[i] = f"{line}:"
            found.update(range(i + 2, j))
    return found


def _as_rst(app, what, name, obj, options, lines: list[str]) -> None:
    """Shield docstrings from reStructuredText, but for code and the names numpydoc reads."""
    literals = _find_literals(lines)
    for i, line in enumerate(lines):
        if i in literals or re.match(r"\s*(>>>|\.\.\. )", line):
            continue
        names = re.match(r"[\w, *]+( : |$)", line)
        start = names.end() if names else 0
        lines[i] = line[:start] + _shield(line[start:])


def setup(app) -> dict:
    """Write the pages once the settings are known."""
    from sphinx.ext import autosummary

    # A summary is a docstring's first sentence, which "Eq." does not end.
    autosummary.WELL_KNOWN_ABBREVIATIONS += ("Eq.",)
    app.connect("autodoc-process-docstring", _as_rst, priority=400)  # before numpydoc
    app.connect("config-inited", _write)
    return {"parallel_read_safe": True}
