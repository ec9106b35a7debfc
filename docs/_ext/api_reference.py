"""The API reference is made from what the package exports: nothing can be forgotten.

Writes ``api/index.rst`` before autosummary looks at it. Estimators are those of
``labelkin.__all__``; the modules below contribute their ``__all__``, or what they define.
A module that is not there (yet, or for want of an extra) is left out.
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
    "metrics": "Metrics",
    "model_selection": "Splitting",
    "datasets": "Datasets and formats",
    "constraints": "Constraints",
    "decisions": "Label decisions",
    "selection": "Features",
    "kernel": "Kernel ridge",
    "kin": "The ensemble of all kinds",
    "reduction": "Reduction",
    "explain": "Explanations",
    "persistence": "Saving and loading",
    "onnx": "ONNX",
    "registry": "Methods by name",
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

All that is public, made from what the package exports. Names under *Estimators* are
imported from ``labelkin`` itself, others from the module they stand under. Every estimator
is one of scikit-learn: ``get_params``, ``set_params``, ``score``, and for transformers
``fit_transform``, are not repeated here.

"""


def public_names(module: ModuleType) -> list[str]:
    """Names a module offers: its ``__all__``, else the functions and classes it defines."""
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


def _section(title: str, module: str, names: list[str]) -> str:
    entries = "".join(f"   {name}\n" for name in sorted(names, key=str.lower))
    return (
        f"{title}\n{'-' * len(title)}\n\n.. currentmodule:: {module}\n\n"
        f".. autosummary::\n   :toctree: generated\n\n{entries}\n"
    )


def _estimators() -> str:
    names = {name: getattr(labelkin, name) for name in labelkin.__all__}
    groups: dict[str, list[str]] = {"Classifiers": [], "Transformers": [], "Others": []}
    for name, value in names.items():
        if not inspect.isclass(value):
            kind = "Others"
        elif hasattr(value, "transform"):
            kind = "Transformers"
        else:
            kind = "Classifiers" if hasattr(value, "predict") else "Others"
        groups[kind].append(name)
    return "".join(_section(title, "labelkin", g) for title, g in groups.items() if g)


def _modules() -> str:
    text = ""
    for name, title in MODULES.items():
        try:
            module = import_module(f"labelkin.{name}")
        except ImportError:
            continue
        # A class exported by the package has its place under the estimators.
        names = [n for n in public_names(module) if n not in labelkin.__all__]
        if names:
            text += _section(f"{title}: ``labelkin.{name}``", module.__name__, names)
    return text


def _write(app, config) -> None:
    page = Path(app.srcdir) / "api" / "index.rst"
    page.parent.mkdir(exist_ok=True)
    text = HEAD + _estimators() + _modules()
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
    config.autosummary_context["own_methods"] = own_methods


def _shield(text: str) -> str:
    """Escape, outside of back-quotes, what docstrings say in plain text: x_ and |A|."""
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
