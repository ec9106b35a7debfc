"""The report: one folder of tables and figures, and one page that contains them all."""

import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import labelkin
from labelkin._utils.optional import import_optional
from labelkin._utils.pages import render_page
from labelkin.experiments.report import figures, findings
from labelkin.experiments.report.agreement import (
    agreement_findings,
    agreement_table,
    dataset_table,
)
from labelkin.experiments.report.claims import Evidence, claims_table, find_claims
from labelkin.experiments.report.comparison import (
    PAPER_DATASETS,
    TESTS,
    Comparison,
    Sweep,
    in_order,
    method_title,
    split_method,
)
from labelkin.experiments.report.drawing import inline_svg, save, to_svg
from labelkin.experiments.report.measures import COSTS, MEASURES
from labelkin.experiments.report.overall import find_verdicts, overall_findings, overall_table
from labelkin.experiments.report.published import REFERENCE
from labelkin.experiments.report.results import Recorded, check_results
from labelkin.experiments.report.runs import count_cells, count_repeats, find_commands
from labelkin.experiments.report.significance import friedman_table, wilcoxon_table
from labelkin.experiments.report.table import Table, escape_markdown, latex_document
from labelkin.experiments.report.tables import measure_table, sweep_table, wins_table
from labelkin.experiments.report.ties import by_index, rank_tables, wins_by_rule
from labelkin.experiments.run.peers import COMPARED

if TYPE_CHECKING:
    from pandas import DataFrame


def write_report(
    results: "DataFrame | Recorded",
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
        made.mkdir()
        _write_files(made, recorded, reference, source)
        shutil.copytree(made, out, dirs_exist_ok=True)
    return out / "report.html"


def _write_files(folder: Path, recorded: Recorded, reference: str | None, source: str) -> None:
    frame = recorded.results
    frame.to_csv(folder / "results.csv", index=False)
    (folder / "figures").mkdir()
    content = _content(frame, reference, partial(_draw, folder / "figures"))
    _write_tables(folder / "tables", _all_tables(content), content["verdicts"])
    content |= {
        "version": labelkin.__version__,
        "counts": count_cells(frame),
        "repeats": count_repeats(frame) if content["claims"] else "",
        "failures": _failures(frame),
        "settings": _settings(frame, recorded.settings),
        "environment": list(_flatten(recorded.environment)),
        "commands": [
            *(recorded.commands or find_commands(frame)),
            f"labelkin report {shlex.quote(source)} --out report",
        ],
    }
    (folder / "report.html").write_text(
        render_page("labelkin.experiments.report", "report", "report", **content), encoding="utf-8"
    )
    (folder / "summary.md").write_text(_summary(content), encoding="utf-8")


def _draw(folder: Path, name: str, label: str, draw: Callable[..., Any], *data: Any) -> str:
    """Write a figure and return it as part of a page; empty where there is none.

    The page holds it twice, wide and narrow, and shows the one that fits.
    """
    if (figure := draw(*data)) is None:
        return ""
    wide, narrow = save(figure, folder, name), draw(*data, narrow=True)
    return (
        f'<div class="wide">{inline_svg(wide, name, escape(label))}</div><div class="narrow">'
        f"{inline_svg(to_svg(narrow), f'{name}-narrow', escape(label))}</div>"
    )


def _content(frame: "DataFrame", reference: str | None, add: Callable[..., str]) -> dict[str, Any]:
    """Return all sentences, tables and figures by their names in the template."""
    evidence = {"against": _evidence(frame, reference)}
    if len(indexed := by_index(frame)) and (indexed["status"] == "ok").any():
        evidence["index"] = _evidence(indexed, reference)
    main, components = evidence["against"].main, evidence["against"].components
    rules = {rule: found.main for rule, found in evidence.items()}
    ranked = main.ranked
    is_papers = REFERENCE in main.methods and not set(PAPER_DATASETS).isdisjoint(main.datasets)
    first = findings.headline_measure(main)
    ties: list[Table | None] = [*rank_tables(rules)]
    if "index" in rules:
        ties += [wins_by_rule(rules), agreement_table(rules["index"], "index")]
    return {
        "verdicts": find_verdicts(main),
        "claims": claims_table(find_claims(evidence)) if is_papers else None,
        "datasets_table": dataset_table(main.datasets),
        "ties": [table for table in ties if table],
        "headline": findings.headline(ranked),
        "leaders": findings.leaders(ranked),
        "by_index": _by_index(rules["index"].ranked) if "index" in rules else "",
        "agreement_sentences": agreement_findings(main),
        "gaps": findings.gaps(main),
        "reference": method_title(main.reference) if main.reference else "",
        "methods": {name: method_title(name) for name in main.methods},
        "datasets": main.datasets,
        "first": first.name if first else "",
        "metrics": [
            {
                "measure": measure,
                "table": measure_table(main, measure),
                "cd": add(
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
        "overall_sentences": overall_findings(ranked),
        "overall_cd": add(
            "cd_overall",
            "Critical-difference diagram over all datasets and metrics",
            figures.draw_overall,
            ranked,
        ),
        "wins": {test: wins_table(main, test) for test in TESTS},
        "tests": [table for table in (friedman_table(ranked), wilcoxon_table(ranked)) if table],
        "agreement": agreement_table(main),
        "heat": add(
            "differences",
            "Heat map of measured minus published figures",
            figures.draw_differences,
            main,
        ),
        "sweeps": [_sweep(sweep, add) for sweep in evidence["against"].sweeps],
        "components": [
            measure_table(components, measure, name="figure2", title="Figure 2")
            for measure in components.measured(MEASURES)
        ],
        "bars": add(
            "figure2", "Components of VPCME as grouped bars", figures.draw_bars, components
        ),
        "costs": [
            measure_table(main, measure, name="cost", title="Cost of one fold")
            for measure in main.measured(COSTS)
        ],
    }


def _evidence(frame: "DataFrame", reference: str | None) -> Evidence:
    main = Comparison.of(frame, reference)
    components = Comparison.of(frame, reference, components=True)
    if not main:  # Group 4 alone was run
        main, components = components, main
    return Evidence(main, components, Sweep.all_of(frame))


def _by_index(ranked: Comparison) -> str:
    """Return which methods lead under the other rule for ties."""
    sentences = f"{findings.headline(ranked)} {findings.leaders(ranked)}".strip()
    return f"The same with ties by label index, not against the method: {sentences}"


def _sweep(sweep: Sweep, add: Callable[..., str]) -> dict[str, Any]:
    table = sweep_table(sweep)
    drawing = add(table.name, table.title, figures.draw_sweep, sweep)
    together = ""
    if sweep.parameter == "threshold":
        together = add(f"{table.name}_together", table.title, figures.draw_together, sweep)
    return {"sweep": sweep, "table": table, "figure": drawing, "together": together}


def _all_tables(content: dict[str, Any]) -> list[Table]:
    tables = [
        content["claims"],
        content["datasets_table"],
        *(part["table"] for part in content["metrics"]),
        content["overall"],
        *content["wins"].values(),
        *content["tests"],
        content["agreement"],
        *content["ties"],
        *(part["table"] for part in content["sweeps"]),
        *content["components"],
        *content["costs"],
    ]
    return [table for table in tables if table is not None]


def _write_tables(folder: Path, tables: list[Table], verdicts: list[str]) -> None:
    folder.mkdir()
    texts = {
        "all.md": "\n".join(t.to_markdown() for t in tables),
        "all.tex": latex_document(tables, verdicts),
    }
    if verdicts:
        texts["verdict.md"] = "\n\n".join([*verdicts, ""])
    for table in tables:
        texts[f"{table.name}.md"] = table.to_markdown()
        texts[f"{table.name}.tex"] = table.to_latex()
        texts[f"{table.name}.csv"] = table.to_csv()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


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
    tables = [content["claims"], *content["ties"], *content["wins"].values(), content["overall"]]
    tables += [content["agreement"], content["datasets_table"]]
    parts = [f"- {escape_markdown(sentence)}" for sentence in sentences if sentence]
    return "\n".join(
        ["## The results in sentences", "", *parts, "", *content["verdicts"], ""]
        + ["## The tables behind them", ""]
        + [table.to_markdown() for table in tables if table]
    )


# ------------------------------------------------------------------- about the results


def _failures(frame: "DataFrame") -> list[dict[str, Any]]:
    """Return one entry per dataset, method and error."""
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
