"""The API reference is made from what the package exports: nothing can be forgotten.

Writes ``api/index.rst`` before autosummary reads it. There is one section per package, with the
names of its ``__all__``, or what it defines. A module that cannot be imported, because an extra
is not installed, is left out.
"""

import inspect
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import labelkin

MODULES = {
    "ensemble": "VPCME and Bagging_VPCP",
    "constraints": "Pairwise constraints",
    "projection": "Projections and feature selection",
    "neighbors": "Nearest neighbours",
    "transformation": "Problem transformation",
    "tree": "C4.5 trees",
    "kin": "The Kin ensemble",
    "kernel": "Kernel ridge regression",
    "linear": "Linear models",
    "decisions": "Label decisions",
    "metrics": "Metrics",
    "model_selection": "Splitting",
    "datasets": "Datasets and formats",
    "tabular": "Tables with columns of several kinds",
    "explain": "Explanations",
    "registry": "Methods by name",
    "persistence": "Saving and loading",
    "onnx": "ONNX",
    "experiments.run.protocol": "Experiments: protocol",
    "experiments.run.plan": "Experiments: plan",
    "experiments.run.runner": "Experiments: running",
    "experiments.run.store": "Experiments: the store",
    "experiments.report.results": "Experiments: results",
    "experiments.report.comparison": "Experiments: comparison",
    "experiments.report.statistics": "Experiments: statistics",
    "experiments.report.tables": "Experiments: tables",
    "experiments.report.figures": "Experiments: figures",
    "experiments.report.page": "Experiments: report",
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
    return f".. currentmodule:: {module}\n\n.. autosummary::\n   :toctree: generated\n\n{entries}\n"


def sections() -> str:
    """Return one section per module; a name that ``labelkin`` exports stands under that name."""
    text = ""
    for name, title in MODULES.items():
        try:
            module = import_module(f"labelkin.{name}")
        except ImportError:
            continue
        exported, others = [], []
        for public in public_names(module):
            (exported if public in labelkin.__all__ else others).append(public)
        title = f"{title}: ``labelkin.{name}``"
        text += f"{title}\n{'-' * len(title)}\n\n"
        text += _summary("labelkin", exported) if exported else ""
        text += _summary(module.__name__, others) if others else ""
    return text


def _write(app, config) -> None:
    page = Path(app.srcdir) / "api" / "index.rst"
    page.parent.mkdir(exist_ok=True)
    text = HEAD + sections()
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
    config.autosummary_context["own_methods"] = own_methods


def _shield(text: str) -> str:
    """Escape, outside of back-quotes, what docstrings write in plain text: x_ and |A|."""
    parts = re.split(r"(`+[^`]*`+)", text)
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\\_", p).replace("|", r"\|") for p in parts[::2]]
    return "".join(parts)


def _as_rst(app, what, name, obj, options, lines: list[str]) -> None:
    """Shield docstrings from reStructuredText, but for doctests and the names numpydoc reads."""
    for i, line in enumerate(lines):
        if re.match(r"\s*(>>>|\.\.\. )", line):
            continue
        names = re.match(r"[\w, *]+( : |$)", line)
        start = names.end() if names else 0
        lines[i] = line[:start] + _shield(line[start:])


def setup(app) -> dict:
    """Write the page once the settings are known."""
    app.connect("autodoc-process-docstring", _as_rst, priority=400)  # before numpydoc
    app.connect("config-inited", _write)
    return {"parallel_read_safe": True}
