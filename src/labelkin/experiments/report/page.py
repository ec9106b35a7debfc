"""The report: one folder of tables and figures, and one page that contains them all."""

import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

import labelkin
from labelkin._utils.optional import import_optional
from labelkin._utils.pages import render_page
from labelkin.experiments.report import figures, findings, significance, tables
from labelkin.experiments.report.claims import Evidence, claims_table, find_claims
from labelkin.experiments.report.comparison import (
    PAPER_DATASETS,
    TESTS,
    Comparison,
    Sweep,
    by_index,
    in_order,
    method_title,
    split_method,
)
from labelkin.experiments.report.drawing import inline_svg, save
from labelkin.experiments.report.measures import COSTS, MEASURES
from labelkin.experiments.report.overall import overall_table
from labelkin.experiments.report.published import REFERENCE
from labelkin.experiments.report.table import Table, escape_markdown, latex_document
from labelkin.experiments.run.peers import COMPARED
from labelkin.experiments.run.results import Recorded, check_results

_Draw = Callable[..., str]


def write_report(
    results: pd.DataFrame | Recorded,
    out: Path | str,
    *,
    reference: str | None = "vpcme",
    source: str = "results.db",
) -> Path:
    """Write ``results.csv``, ``tables/``, ``figures/`` and ``report.html`` into a folder.

    Files of an earlier report are replaced. Marks and wins refer to `reference`. `source`, the file
    the results are from, is named in the page's section on how to run it again. The path of the
    page is returned.
    """
    for package in ("pandas", "scikit_posthocs", "jinja2"):
        import_optional(package, "report")
    recorded = results if isinstance(results, Recorded) else Recorded(results)
    recorded = replace(recorded, results=check_results(recorded.results))
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    # All files are made in a temporary folder first, so that an error leaves the old report whole.
    with tempfile.TemporaryDirectory(dir=out, prefix=".report-") as hidden:
        made = Path(hidden) / "made"  # readable by others, unlike the temporary folder itself
        for name in ("figures", "tables"):
            (made / name).mkdir(parents=True)
        for name, text in _make_texts(made / "figures", recorded, reference, source).items():
            (made / name).write_text(text, encoding="utf-8")
        shutil.copytree(made, out, dirs_exist_ok=True)
    return out / "report.html"


def _make_texts(
    folder: Path, recorded: Recorded, reference: str | None, source: str
) -> dict[str, str]:
    """Draw the figures into a folder and return all other files by name."""
    frame = recorded.results
    content = _content(frame, reference, partial(_draw, folder))
    content |= {
        "version": labelkin.__version__,
        "counts": findings.count_cells(frame),
        "repeats": findings.count_repeats(frame) if content["claims"] else "",
        "failures": _failures(frame),
        "settings": _settings(frame, recorded.settings),
        "environment": list(_flatten(recorded.environment)),
        "commands": [
            *(recorded.commands or findings.find_commands(frame)),
            f"labelkin report {shlex.quote(source)} --out report",
        ],
    }
    texts = {
        "results.csv": frame.to_csv(index=False),
        "report.html": render_page("labelkin.experiments.report", "report", "report", **content),
        "summary.md": _summary(content),
    }
    found = list(_find_tables(content))
    texts["tables/all.md"] = "\n".join(table.to_markdown() for table in found)
    texts["tables/all.tex"] = latex_document(found, content["verdicts"])
    if content["verdicts"]:
        texts["tables/verdict.md"] = "\n\n".join([*content["verdicts"], ""])
    for table in found:
        texts[f"tables/{table.name}.md"] = table.to_markdown()
        texts[f"tables/{table.name}.tex"] = table.to_latex()
        texts[f"tables/{table.name}.csv"] = table.to_csv()
    return texts


def _draw(folder: Path, name: str, label: str, draw: Callable[..., Any], *data: Any) -> str:
    """Write a figure and return it as part of a page; empty where there is none."""
    figure = draw(*data)
    return "" if figure is None else inline_svg(save(figure, folder, name), name, escape(label))


def _content(
    frame: pd.DataFrame, reference: str | None, draw: Callable[..., str]
) -> dict[str, Any]:
    """Return all sentences, tables and figures by their names in the template."""
    evidence = {"against": _evidence(frame, reference)}
    indexed = by_index(frame)
    if (indexed["status"] == "ok").any():
        evidence["index"] = _evidence(indexed, reference)
    main, components = evidence["against"].main, evidence["against"].components
    rules = {rule: found.main for rule, found in evidence.items()}
    ranked = main.ranked
    is_papers = REFERENCE in main.methods and not set(PAPER_DATASETS).isdisjoint(main.datasets)
    first = findings.headline_measure(main)
    ties: list[Table | None] = [*significance.rank_tables(rules)]
    same = ""
    if "index" in rules:
        ties += [tables.wins_by_rule(rules), significance.agreement_table(rules["index"], "index")]
        other = rules["index"].ranked
        same = "The same with ties by label index, not against the method: " + (
            f"{findings.headline(other)} {findings.leaders(other)}".strip()
        )
    return {
        "claims": claims_table(find_claims(evidence)) if is_papers else None,
        "datasets_table": tables.dataset_table(main.datasets),
        "metrics": [
            {
                "measure": measure,
                "table": tables.measure_table(main, measure),
                "cd": draw(
                    f"cd_{measure.name}",
                    f"Critical-difference diagram of {measure.title}",
                    figures.draw_critical_difference,
                    ranked,
                    measure,
                ),
            }
            for measure in main.measured(MEASURES)
        ],
        "overall": overall_table(ranked),
        "overall_cd": draw(
            "cd_overall",
            "Critical-difference diagram over all datasets and metrics",
            figures.draw_overall,
            ranked,
        ),
        "wins": {test: tables.wins_table(main, test) for test in TESTS},
        "tests": [
            table
            for table in (significance.friedman_table(ranked), significance.wilcoxon_table(ranked))
            if table
        ],
        "agreement": significance.agreement_table(main),
        "heat": draw(
            "differences",
            "Heat map of measured minus published figures",
            figures.draw_differences,
            main,
        ),
        "ties": [table for table in ties if table],
        "sweeps": [_sweep(sweep, draw) for sweep in evidence["against"].sweeps],
        "components": [
            tables.measure_table(components, measure, name="figure2", title="Figure 2")
            for measure in components.measured(MEASURES)
        ],
        "bars": draw(
            "figure2", "Components of VPCME as grouped bars", figures.draw_bars, components
        ),
        "costs": [
            tables.measure_table(main, measure, name="cost", title="Cost of one fold")
            for measure in main.measured(COSTS)
        ],
        "verdicts": findings.find_verdicts(main),
        "headline": findings.headline(ranked),
        "leaders": findings.leaders(ranked),
        "by_index": same,
        "agreement_sentences": findings.agreement_findings(main),
        "overall_sentences": findings.overall_findings(ranked),
        "gaps": findings.gaps(main),
        "reference": method_title(main.reference) if main.reference else "",
        "methods": {name: method_title(name) for name in main.methods},
        "datasets": main.datasets,
        "first": first.name if first else "",
    }


def _evidence(frame: pd.DataFrame, reference: str | None) -> Evidence:
    main = Comparison.of(frame, reference)
    components = Comparison.of(frame, reference, components=True)
    if not main:  # Group 4 alone was run
        main, components = components, main
    return Evidence(main, components, Sweep.all_of(frame))


def _sweep(sweep: Sweep, draw: _Draw) -> dict[str, Any]:
    table = tables.sweep_table(sweep)
    drawing, together = draw(table.name, table.title, figures.draw_sweep, sweep), ""
    if sweep.parameter == "threshold":
        together = draw(f"{table.name}_together", table.title, figures.draw_together, sweep)
    return {"sweep": sweep, "table": table, "figure": drawing, "together": together}


def _find_tables(content: Any) -> Iterator[Table]:
    """Yield all tables of the page, in its order."""
    if isinstance(content, Table):
        yield content
    elif isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from _find_tables(part)


def _summary(content: dict[str, Any]) -> str:
    """Return every sentence about the results, and the tables that they are from."""
    sentences = [
        content["headline"],
        content["leaders"],
        content["by_index"],
        *content["agreement_sentences"],
        *content["overall_sentences"],
        *content["gaps"],
        content["counts"],
        content["repeats"],
    ]
    names = ("claims", "ties", "wins", "overall", "agreement", "datasets_table")
    parts = [f"- {escape_markdown(sentence)}" for sentence in sentences if sentence]
    return "\n".join(
        ["## The results in sentences", "", *parts, "", *content["verdicts"], ""]
        + ["## The tables behind them", ""]
        + [table.to_markdown() for table in _find_tables([content[name] for name in names])]
    )


# ------------------------------------------------------------------- about the results


def _failures(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one entry per dataset, method and error."""
    failed = frame[frame["status"] != "ok"]
    return [
        {
            "dataset": dataset,
            "method": method_title(method),
            "count": len(rows),
            "summary": (error.strip().splitlines() or ["no message"])[0],
            "error": error,
            "cells": ", ".join("r" + rows["repeat"].astype(str) + "f" + rows["fold"].astype(str)),
        }
        for (dataset, method, error), rows in failed.groupby(
            ["dataset", "method", "error"], sort=False
        )
    ]


def _settings(frame: pd.DataFrame, recorded: Mapping[str, str]) -> dict[str, str]:
    """Return each method's settings in words, by title."""
    names = in_order((split_method(name)[0] for name in frame["method"].unique()), COMPARED)
    known = {name: method.settings for name, method in COMPARED.items()} | dict(recorded)
    return {method_title(name): known[name] for name in names if known.get(name)}


def _flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield every entry of a nested mapping as name and text."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key} ")
        else:
            yield f"{prefix}{key}", str(value)
