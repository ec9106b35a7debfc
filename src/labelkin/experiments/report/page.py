"""Everything a run says, in one folder: tables, figures and one page that holds it all."""

import base64
import hashlib
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import labelkin
from labelkin._utils.optional import import_optional
from labelkin.experiments.report import figures, findings
from labelkin.experiments.report.comparison import (
    COMPONENTS,
    COSTS,
    MEASURES,
    PAPER_DATASETS,
    TESTS,
    Comparison,
    Measure,
    Sweep,
    check_results,
    in_order,
    method_title,
    split_method,
)
from labelkin.experiments.report.overall import overall_findings, overall_table
from labelkin.experiments.report.tables import (
    Table,
    latex_document,
    measure_table,
    sweep_table,
    wins_table,
)
from labelkin.experiments.run.groups import GROUPS
from labelkin.experiments.run.peers import COMPARED

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["Recorded", "read_results", "write_report"]


@dataclass(frozen=True)
class Recorded:
    """Results with what was recorded beside them; a CSV has the results alone."""

    results: "DataFrame"
    environment: Mapping[str, Any] = field(default_factory=dict)
    commands: Sequence[str] = ()
    """The command lines that were run."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What was set, by the method's name."""


def read_results(path: Path | str) -> Recorded:
    """Read results from a store or a ``results.csv``.

    Parameters
    ----------
    path : path
        A store written by ``labelkin reproduce``, or a CSV with a row a cell.
    """
    pd = import_optional("pandas", "report")
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(2, "there is no such file of results", str(path))
    if path.suffix.lower() == ".csv":
        try:
            # Only an empty field is a gap: a dataset may be called NA, or 01.
            names = {"dataset": str, "method": str}
            # Before pandas 3 the last digit is only right on request.
            exact = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}
            return Recorded(
                pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""], **exact)
            )
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
            reason = str(error).strip().rstrip(".")
            raise ValueError(f"{path} cannot be read as a CSV of results: {reason}.") from None
    with path.open("rb") as file:
        if file.read(15) != b"SQLite format 3":
            raise ValueError(f"{path} is neither a store of results nor a file ending in .csv.")
    from labelkin.experiments.run.store import Store

    with Store(path) as store:
        return Recorded(
            store.results(),
            store.environment(),
            list(dict.fromkeys(run["command"] for run in store.runs())),
            {name: method["settings"] for name, method in store.methods().items()},
        )


def write_report(
    results: "DataFrame | Recorded",
    out: Path | str,
    *,
    reference: str | None = "vpcme",
    source: str = "results.db",
) -> Path:
    """Write ``results.csv``, ``tables/``, ``figures/`` and ``report.html`` into a folder.

    Parameters
    ----------
    results : DataFrame or Recorded
        A row a cell: see :mod:`labelkin.experiments.report.comparison`; or what
        :func:`read_results` returns, with commands and environment.
    out : path
        Folder to write into; made if absent. Files of an earlier report are replaced.
    reference : str or None
        The method that marks and wins refer to.
    source : str
        The file the results are from, for the page's note on how to run it again.

    Returns
    -------
    Path
        The page.
    """
    for package in ("pandas", "scikit_posthocs", "jinja2"):
        import_optional(package, "report")
    recorded = results if isinstance(results, Recorded) else Recorded(results)
    frame = check_results(recorded.results)
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    # All is made beside its place first, so that an error leaves the old report whole.
    with tempfile.TemporaryDirectory(dir=out, prefix=".report-") as hidden:
        made = Path(hidden) / "made"  # the hidden folder is closed to others; this is not
        made.mkdir()
        page = _write_all(made, replace(recorded, results=frame), reference, source)
        shutil.copytree(made, out, dirs_exist_ok=True)
    return out / page


def _write_all(folder: Path, recorded: Recorded, reference: str | None, source: str) -> str:
    frame = recorded.results
    frame.to_csv(folder / "results.csv", index=False)
    content = _content(frame, reference, _Drawings(folder / "figures"))
    _write_tables(folder / "tables", _all_tables(content))
    report = f"labelkin report {shlex.quote(source)} --out report"
    page = _render(
        content
        | {
            "version": labelkin.__version__,
            "counts": _counts(frame),
            "failures": _failures(frame),
            "settings": _settings(frame, recorded.settings),
            "environment": list(_flat(recorded.environment)),
            "commands": [*(recorded.commands or _commands(frame)), report],
        }
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    return "report.html"


def _content(frame: "DataFrame", reference: str | None, drawings: "_Drawings") -> dict[str, Any]:
    """Compute all sentences, tables and figures, by the names the template has for them."""
    main = Comparison.of(frame, reference)
    parts = Comparison.of(frame, reference, components=True)
    if not main:  # Group 4 alone was run: it is the comparison then
        main, parts = parts, main
    first = findings.headline_measure(main)
    tests = [findings.friedman_table(main), findings.wilcoxon_table(main)]
    return {
        "headline": findings.headline(main),
        "leaders": findings.leaders(main),
        "agreement_sentences": findings.agreement(main),
        "gaps": findings.gaps(main),
        "reference": method_title(main.reference) if main.reference else "",
        "methods": {name: method_title(name) for name in main.methods},
        "datasets": main.datasets,
        "first": first.name if first else "",
        "metrics": [_metric(main, measure, drawings) for measure in _known(main, MEASURES)],
        "overall": overall_table(main),
        "overall_sentences": overall_findings(main),
        "overall_cd": drawings.add(
            "cd_overall",
            figures.draw_overall(main),
            "Critical-difference diagram over all datasets and metrics",
        ),
        "wins": {test: wins_table(main, test) for test in TESTS},
        "tests": [table for table in tests if table is not None],
        "agreement": findings.agreement_table(main),
        "heat": drawings.add(
            "differences",
            figures.draw_differences(main),
            "Heat map of measured minus published figures",
        ),
        "sweeps": [_sweep(sweep, drawings) for sweep in Sweep.all_of(frame)],
        "components": [
            measure_table(parts, measure, name="figure2", title="Figure 2")
            for measure in _known(parts, MEASURES)
        ],
        "bars": drawings.add(
            "figure2", figures.draw_bars(parts), "Components of VPCME as grouped bars"
        ),
        "costs": [
            measure_table(main, measure, name="cost", title="Cost of one fold")
            for measure in _known(main, COSTS)
        ],
    }


def _known(comparison: Comparison, measures: dict[str, Measure]) -> list[Measure]:
    """Return the measures that have any value."""
    return [m for m in measures.values() if comparison.means(m).notna().any(axis=None)]


def _metric(comparison: Comparison, measure: Measure, drawings: "_Drawings") -> dict[str, Any]:
    diagram = figures.draw_critical_difference(comparison, measure)
    label = f"Critical-difference diagram of {measure.title}"
    return {
        "measure": measure,
        "table": measure_table(comparison, measure),
        "cd": drawings.add(f"cd_{measure.name}", diagram, label),
    }


def _sweep(sweep: Sweep, drawings: "_Drawings") -> dict[str, Any]:
    table = sweep_table(sweep)
    drawing = drawings.add(table.name, figures.draw_sweep(sweep), table.title)
    return {"sweep": sweep, "table": table, "figure": drawing}


def _all_tables(content: dict[str, Any]) -> list[Table]:
    tables = [
        *(part["table"] for part in content["metrics"]),
        content["overall"],
        *content["wins"].values(),
        *content["tests"],
        content["agreement"],
        *(part["table"] for part in content["sweeps"]),
        *content["components"],
        *content["costs"],
    ]
    return [table for table in tables if table is not None]


def _render(content: dict[str, Any]) -> str:
    """Fill the template; all but our own script, style and figures is escaped."""
    jinja2 = import_optional("jinja2", "report")
    markup = import_optional("markupsafe", "report").Markup
    script = _text("report.js")
    templates = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return templates.get_template("report.html.j2").render(
        **content,
        script=markup(script),
        # With its hash the browser runs this script, and no other that may slip in.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=markup(_text("report.css")),
        svg=markup,
    )


class _Drawings:
    """Figures written to a folder, and kept to stand in the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def add(self, name: str, figure: "Figure | None", label: str) -> str:
        """Write a figure and return it as part of a page; empty where there is none."""
        if figure is None:
            return ""
        return figures.inline_svg(figures.save(figure, self.folder, name), name, escape(label))


def _text(name: str) -> str:
    folder = resources.files("labelkin.experiments.report") / "templates"
    return (folder / name).read_text(encoding="utf-8")


def _write_tables(folder: Path, tables: list[Table]) -> None:
    folder.mkdir()
    for table in tables:
        for ending, text in (
            ("md", table.to_markdown()),
            ("tex", table.to_latex()),
            ("csv", table.to_csv()),
        ):
            (folder / f"{table.name}.{ending}").write_text(text, encoding="utf-8")
    (folder / "all.md").write_text("\n".join(t.to_markdown() for t in tables), encoding="utf-8")
    (folder / "all.tex").write_text(latex_document(tables), encoding="utf-8")


def _counts(frame: "DataFrame") -> str:
    """Say how much was run."""
    failed = int((frame["status"] != "ok").sum())
    repeats, folds = frame["repeat"].nunique(), frame["fold"].nunique()
    datasets, methods = frame["dataset"].nunique(), frame["method"].nunique()
    text = (
        f"{len(frame):,} cells: {datasets} dataset{'s' * (datasets != 1)}, "
        f"{methods} methods and variants, up to {repeats} × {folds} folds"
    )
    return f"{text}; {failed:,} failed." if failed else f"{text}."


def _failures(frame: "DataFrame") -> list[dict[str, Any]]:
    """Return one entry a dataset, method and error."""
    failed = frame[frame["status"] != "ok"]
    grouped = failed.groupby(["dataset", "method", "error"], sort=False)
    return [
        {
            "dataset": dataset,
            "method": method_title(method),
            "count": len(rows),
            "summary": (error.strip().splitlines() or ["no message"])[0],
            "error": error,
            "cells": ", ".join("r" + rows["repeat"].astype(str) + "f" + rows["fold"].astype(str)),
        }
        for (dataset, method, error), rows in grouped
    ]


def _settings(frame: "DataFrame", recorded: Mapping[str, str]) -> dict[str, str]:
    """Return what each method's settings were, by title."""
    names = in_order((split_method(name)[0] for name in frame["method"].unique()), COMPARED)
    known = {name: method.settings for name, method in COMPARED.items()} | dict(recorded)
    return {method_title(name): known[name] for name in names if known.get(name)}


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield every entry of a nested mapping as name and text."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key} ")
        else:
            yield f"{prefix}{key}", str(value)


def _commands(frame: "DataFrame") -> list[str]:
    """Return commands that compute these cells again, where none were recorded."""
    compared = _group_of_compared(frame)
    groups = frame["method"].map(lambda method: _group_of(method, compared))
    commands = []
    for group in (compared, "figure1", "table5", "figure2"):
        rows = frame[groups == group]
        if rows.empty:
            continue
        datasets = in_order(rows["dataset"], PAPER_DATASETS)
        words = ["labelkin", "reproduce", group, "--datasets", shlex.quote(",".join(datasets))]
        if group == compared:
            methods = in_order(rows["method"], COMPARED)
            known = [name for name in methods if name in COMPARED]
            words += ["--methods", ",".join(known)] if known else []
            for name in methods[len(known) :]:
                words += ["--method", shlex.quote(f"{name}=module:factory")]
        words += ["--repeats", str(rows["repeat"].nunique())]
        words += ["--folds", str(rows["fold"].nunique()), "--store", "results.db"]
        commands.append(" ".join(words))
    return commands


def _group_of_compared(frame: "DataFrame") -> str:
    """Return which command runs the methods without settings: frontier where any is its own."""
    own = {*GROUPS["frontier"].methods} - {*GROUPS["table3"].methods} - {*COMPONENTS}
    return "frontier" if own & set(frame["method"]) else "table3"


def _group_of(method: str, compared: str) -> str:
    """Return which command runs a method; nothing for a setting of a user's own."""
    if method in COMPONENTS:
        return "figure2"
    _, parameter, _ = split_method(method)
    return {"": compared, "threshold": "figure1", "size": "table5"}.get(parameter, "")
