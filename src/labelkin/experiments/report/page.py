"""The report: one folder of tables and figures, and one page that contains them all."""

import base64
import json
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import labelkin
from labelkin._utils.names import plural
from labelkin._utils.optional import import_optional
from labelkin._utils.pages import render_page
from labelkin._utils.progress import FitProgress
from labelkin.experiments.report import figures, ranks, tables
from labelkin.experiments.report.claims import Evidence, claims_table
from labelkin.experiments.report.comparison import (
    PAPER_DATASETS,
    TESTS,
    by_index,
    in_order,
    method_title,
    split_method,
)
from labelkin.experiments.report.published import REFERENCE
from labelkin.experiments.report.table import Table, escape_markdown, listing, word_table
from labelkin.experiments.run.peers import COMPARED
from labelkin.experiments.run.results import StoredResults, check_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Part = tuple[str, Any]
"""A part of a section: its kind, by which the template shows it, and its content."""

Section = tuple[str, str, list[Part]]
"""Key, title and parts."""

_NEEDS = "it needs at least two methods on two datasets."


def write_report(
    results: pd.DataFrame | StoredResults,
    out: Path | str,
    *,
    reference: str | None = "vpcme",
    sources: Iterable[Path | str] = ("results.db",),
) -> Path:
    """Write ``results.csv``, ``tables/``, ``figures/`` and ``report.html`` into a folder.

    Files of an earlier report are replaced. Marks and wins refer to `reference`. `sources`, the
    files the results are from, are named in the page's section on how to run it again. The path of
    the page is returned.
    """
    for package in ("pandas", "scikit_posthocs", "jinja2"):
        import_optional(package, "report")
    recorded = results if isinstance(results, StoredResults) else StoredResults(results)
    recorded = replace(recorded, results=check_results(recorded.results))
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    # All files are made in a temporary folder first, so that an error leaves the old report whole.
    with tempfile.TemporaryDirectory(dir=out, prefix=".report-") as hidden:
        made = Path(hidden) / "made"  # readable by others, unlike the temporary folder itself
        for name in ("figures", "tables"):
            (made / name).mkdir(parents=True)
        for name, text in _make_texts(made / "figures", recorded, reference, sources).items():
            (made / name).write_text(text, encoding="utf-8")
        shutil.copytree(made, out, dirs_exist_ok=True)
    return out / "report.html"


def _make_texts(
    folder: Path, recorded: StoredResults, reference: str | None, sources: Iterable[Path | str]
) -> dict[str, str]:
    """Draw the figures into a folder and return all other files by name."""
    frame, files = recorded.results, list(map(str, sources))
    evidence = {"against": Evidence.of(frame, reference)}
    indexed = by_index(frame)
    if (indexed["status"] == "ok").any():
        evidence["index"] = Evidence.of(indexed, reference)
    main = evidence["against"].main
    sentences = [*_sentences(evidence), count_cells(frame)]
    n_figures = len(main.measured) + len(evidence["against"].sweeps) + 2  # over all, and the parts
    drawn = FitProgress(None, "figures", n_figures, verbose=0)

    def draw(name: str, label: str, figure: "Figure | None") -> list[Part]:
        """Write a figure and return it as part of a page; nothing where there is none."""
        parts: list[Part] = []
        if figure is not None:
            svg = figures.save(figure, folder, name).encode()
            parts = [("figure", {"label": label, "content": base64.b64encode(svg).decode()})]
        drawn.step()
        return parts

    sections = [
        *_compare(evidence, draw),
        *_describe_runs(recorded, f"labelkin report {shlex.join(files)} --out report"),
    ]
    first = ranks.headline_measure(main)
    page = render_page(
        "labelkin.experiments.report",
        "report",
        "report",
        version=labelkin.__version__,
        sentences=sentences,
        sections=[(key, title, parts) for key, title, parts in sections if parts],
        methods={name: method_title(name) for name in main.methods},
        datasets=main.datasets,
        first=first.name if first else "",
    )
    found = list(_find_tables(sections))
    texts = {
        "results.csv": frame.to_csv(index=False),
        "report.html": page,
        "summary.md": _summarise(sentences, sections),
        "tables/all.md": "\n".join(table.to_markdown() for table in found),
    }
    for table in found:
        texts[f"tables/{table.name}.md"] = table.to_markdown()
        texts[f"tables/{table.name}.csv"] = table.to_csv()
    return texts


def _sentences(evidence: dict[str, Evidence]) -> Iterator[str]:
    """Yield what the comparison shows, the headline first."""
    first = ranks.headline(evidence["against"].main.ranked)
    yield first
    if "index" in evidence and (same := ranks.headline(evidence["index"].main.ranked)) != first:
        yield f"The same with ties by label index, not against the method: {same}"
    found = evidence["against"]
    if swept := {method_title(s.method) for s in found.sweeps if s.method in found.main.methods}:
        yield f"Not ranked: the settings under “Settings of a method”, of {listing(sorted(swept))}."


# ------------------------------------------------------------------------------ sections


def _compare(evidence: dict[str, Evidence], draw: Callable[..., list[Part]]) -> list[Section]:
    """Return the sections that compare methods and settings."""
    main, components = evidence["against"].main, evidence["against"].components
    ranked = main.ranked
    metrics = []
    for measure in main.measured:
        label = f"Critical-difference diagram of {measure.title}"
        figure = figures.draw_critical_difference(ranked, measure)
        diagram = draw(f"cd_{measure.name}", label, figure)
        parts = diagram or [("text", f"No critical-difference diagram: {_NEEDS}")]
        parts += _as_parts([tables.measure_table(main, measure)])
        metrics.append(("metric", {"measure": measure, "parts": parts}))
    overall: list[Part] = []
    if table := ranks.overall_table(ranked):
        if sentence := ranks.overall_sentence(ranked):
            overall += [("text", sentence)]
        label = "Critical-difference diagram of the mean ranks in five metrics"
        overall += draw("cd_overall", label, figures.draw_overall(ranked))
        overall += _as_parts([table])
    absent = "no other method was run" if main.reference else "the method they refer to was not run"
    wins = [tables.wins_table(main, test) for test in TESTS]
    wins += [tables.wins_table(found.main, rule=rule) for rule, found in [*evidence.items()][1:]]
    tests = _as_parts(wins) or [("text", f"No wins and losses to count: {absent}.")]
    over_datasets = _as_parts([ranks.friedman_table(ranked), ranks.wilcoxon_table(ranked)])
    tests += over_datasets or [("text", f"No test over datasets: {_NEEDS}")]
    curves: list[Part] = []
    for sweep in evidence["against"].sweeps:
        numbers = tables.sweep_table(sweep)
        curves += [("heading", numbers.title)]
        curves += draw(numbers.name, numbers.title, figures.draw_sweep(sweep))
        curves += [("numbers", [numbers])]
    of_parts = [
        tables.measure_table(components, measure, name="figure2", title="Figure 2")
        for measure in components.measured
    ]
    bars = draw("figure2", "Components of VPCME as grouped bars", figures.draw_bars(components))
    is_papers = REFERENCE in main.methods and not set(PAPER_DATASETS).isdisjoint(main.datasets)
    claims = [claims_table(evidence)] if is_papers else []
    published = [tables.agreement_table(found.main, rule) for rule, found in evidence.items()]
    return [
        ("metrics", "Metrics", metrics),
        ("overall", "All metrics together", overall),
        ("tests", "Tests", tests if metrics else []),
        ("claims", "Claims", _as_parts(claims)),
        ("published", "Against the paper", _as_parts(published)),
        ("curves", "Settings of a method", curves),
        ("components", "Components of VPCME", bars + [("numbers", of_parts)] * bool(of_parts)),
        ("datasets", "Datasets", _as_parts([tables.dataset_table(main.datasets)])),
    ]


def _as_parts(found: Iterable[Table | None]) -> list[Part]:
    return [("table", table) for table in found if table]


def _describe_runs(recorded: StoredResults, command: str) -> list[Section]:
    """Return the sections on failures, settings, the environment and how to run it again."""
    frame = recorded.results
    failed = frame[frame["status"] != "ok"].groupby(["dataset", "method", "error"], sort=False)
    failures = [
        {
            "method": method_title(method),
            "dataset": dataset,
            "cells": str(len(rows)),
            "error": error,
        }
        for (dataset, method, error), rows in failed
    ]
    runs: dict[str, list[str]] = {}
    for name in frame["method"].unique():
        runs.setdefault(split_method(name)[0], []).append(name)
    known = recorded.settings
    settings = []
    for name in in_order((name for name in runs if known.get(name)), COMPARED):
        text = known[name]
        if changed := [method_title(variant) for variant in runs[name] if variant != name]:
            also = listing(changed)
            text = f"{text}; also {also}" if name in runs[name] else f"{also}; otherwise {text}"
        settings.append({"method": method_title(name), "settings": text})
    environment: Part = ("text", "Not recorded with these results.")
    if recorded.environment:
        environment = ("code", json.dumps(recorded.environment, indent=1))
    columns = {"method": "Method", "dataset": "Dataset", "cells": "Cells", "error": "Error"}
    parts = _as_parts([word_table("failures", "Failed cells", columns, failures)])
    columns = {"method": "Method", "settings": "Settings"}
    methods = word_table("settings", "Methods and their settings", columns, settings)
    return [
        ("failures", "Failures", parts or [("text", "No cell failed.")]),
        ("environment", "Environment", [environment, *_as_parts([methods])]),
        ("again", "Run it again", [("code", "\n".join([*recorded.commands, command]))]),
    ]


# ------------------------------------------------------------------------------- summary


def _find_tables(sections: Iterable[Section]) -> Iterator[Table]:
    """Yield all tables, in the order of the page."""
    for _, _, parts in sections:
        for kind, content in parts:
            if kind == "metric":
                yield from _find_tables([("", "", content["parts"])])
            elif kind in ("table", "numbers"):
                yield from content if kind == "numbers" else [content]


def _summarise(sentences: list[str], sections: list[Section]) -> str:
    """Return every sentence about the results, and the tables that they are from."""
    shown = ("claims", "tests", "overall", "published", "datasets")
    chosen = sorted((s for s in sections if s[0] in shown), key=lambda s: shown.index(s[0]))
    texts = [content for _, _, parts in chosen for kind, content in parts if kind == "text"]
    return "\n".join(
        ["## The results in sentences", ""]
        + [f"- {escape_markdown(sentence)}" for sentence in [*sentences, *texts]]
        + ["", "## The tables behind them", ""]
        + [table.to_markdown() for table in _find_tables(chosen)]
    )


def count_cells(frame: pd.DataFrame) -> str:
    """Return how many cells there are, of what."""
    failed = int((frame["status"] != "ok").sum())
    repeats, folds = frame["repeat"].nunique(), frame["fold"].nunique()
    text = (
        f"{len(frame):,} cells: {plural(frame['dataset'].nunique(), 'dataset')}, "
        f"{frame['method'].nunique()} methods and variants, up to {repeats} × {folds} folds"
    )
    if (revisions := frame["revision"].nunique()) > 1:
        text += f", by {revisions} revisions of the code"
    return f"{text}; {failed:,} failed." if failed else f"{text}."
