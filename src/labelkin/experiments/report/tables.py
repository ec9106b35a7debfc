"""The paper's tables, filled with what was measured, as Markdown, LaTeX and CSV.

A table is built once, as text and numbers in :class:`Cell`, and written in three forms.
The printed figure of the paper stands beneath the measured one.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labelkin.experiments.report.comparison import (
    MEASURES,
    TESTS,
    Comparison,
    Measure,
    Sweep,
    Test,
    best_of,
    method_title,
)
from labelkin.experiments.report.published import PRINTED_METRICS, REFERENCE, published
from labelkin.experiments.report.statistics import complete_block, friedman

__all__ = ["Cell", "Table", "measure_table", "sweep_table", "wins_table"]


@dataclass(frozen=True)
class Cell:
    """One entry of a table."""

    text: str = "–"
    numbers: dict[str, Any] = field(default_factory=dict)
    """What the CSV holds for it, by name."""
    value: float | None = None
    """What it is sorted by."""
    best: bool = False
    mark: str = ""
    """By the paper's test."""
    corrected: str = ""
    """The mark by the corrected test."""
    published: str = ""
    hint: str = ""
    """What a reader may ask about it."""


@dataclass(frozen=True)
class Table:
    """Rows and columns by key, with their titles."""

    name: str
    """File name without its ending."""
    title: str
    caption: str
    corner: str
    """Heading of the first column."""
    columns: dict[str, str]
    rows: dict[str, str]
    cells: dict[tuple[str, str], Cell]
    """By row and column."""
    greater_is_better: bool | None = None
    """Direction of the values; None where rows differ in it or it has no meaning."""
    marks: dict[Test, str] = field(default_factory=dict)
    """What the marks mean, by test; files show those of the paper's."""
    foot: tuple[str, ...] = ()
    """Rows that sum up the others and stay below them."""

    def lines(self) -> Iterator[tuple[str, str, list[Cell]]]:
        """Yield key, title and cells of each row."""
        for row, title in self.rows.items():
            yield row, title, [self.cells.get((row, column), Cell()) for column in self.columns]

    @property
    def legend(self) -> str:
        """What stands below the table in files."""
        return " ".join(filter(None, [self.caption, self.marks.get("paired")]))

    # ---------------------------------------------------------------------- forms

    def to_markdown(self) -> str:
        """Return the table for GitHub and the like."""
        head = [self.corner, *self.columns.values()]
        lines = [f"**{_md(self.title)}**", "", _md_row(map(_md, head))]
        lines.append(_md_row(["---", *["---:"] * len(self.columns)]))
        for _, title, cells in self.lines():
            lines.append(_md_row([_md(title), *map(_md_cell, cells)]))
        return "\n".join([*lines, "", _md(self.legend), ""])

    def to_latex(self) -> str:
        r"""Return a ``table`` environment; it needs the packages booktabs and graphicx."""
        lines = [
            r"\begin{table}[htbp]",
            r"\centering",
            rf"\caption{{{_tex(self.title)}. {_tex(self.legend)}}}",
            rf"\label{{tab:{_slug(self.name)}}}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{l{'r' * len(self.columns)}}}",
            r"\toprule",
            _tex_row([_tex(self.corner), *map(_tex, self.columns.values())]),
            r"\midrule",
        ]
        foot = False
        for row, title, cells in self.lines():
            if row in self.foot and not foot:
                lines.append(r"\midrule")
                foot = True
            lines.append(_tex_row([_tex(title), *map(_tex_cell, cells)]))
            if any(cell.published for cell in cells):
                small = [rf"{{\scriptsize {_tex(cell.published)}}}" for cell in cells]
                lines.append(_tex_row([r"{\scriptsize\quad published}", *small]))
        lines += [r"\bottomrule", r"\end{tabular}}", r"\end{table}", ""]
        return "\n".join(lines)

    def to_csv(self) -> str:
        """Return a row a row; for each column the numbers behind its cells."""
        names = list(dict.fromkeys(name for cell in self.cells.values() for name in cell.numbers))
        # Columns that stay empty, such as printed figures nobody printed, are left out.
        used = [
            (column, name)
            for column in self.columns
            for name in names
            if name == names[0]
            or any(
                self.cells.get((row, column), Cell()).numbers.get(name, "") != ""
                for row in self.rows
            )
        ]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([self.corner.lower(), *(f"{column} {name}" for column, name in used)])
        for row, title in self.rows.items():
            found = (self.cells.get((row, c), Cell()).numbers.get(name, "") for c, name in used)
            writer.writerow([title if row in self.foot else row, *found])
        return out.getvalue()


def latex_document(tables: list[Table]) -> str:
    """Return a document of all tables, ready for ``pdflatex``."""
    head = [
        r"\documentclass{article}",
        r"\usepackage[a4paper,landscape,margin=15mm]{geometry}",
        r"\usepackage{booktabs,graphicx}",
        r"\usepackage[utf8]{inputenc}",
        r"\begin{document}",
        "",
    ]
    return "\n".join([*head, *(table.to_latex() for table in tables), r"\end{document}", ""])


# ---------------------------------------------------------------------------- escapes

_MARKDOWN = str.maketrans({c: "\\" + c for c in r"\`*_[]|~#"} | {"<": "&lt;", ">": "&gt;"})
_LATEX = str.maketrans(
    {c: "\\" + c for c in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
        "±": r"$\pm$", "•": r"$\bullet$", "○": r"$\circ$", "↑": r"$\uparrow$",
        "↓": r"$\downarrow$", "Θ": r"$\Theta$", "−": "$-$", "×": r"$\times$",
        "–": "--", "†": r"$\dagger$", "…": r"\ldots{}", "≤": r"$\le$", "≥": r"$\ge$",
        "χ": r"$\chi$", "²": "$^2$",
    }
)  # fmt: skip


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _md(text: str) -> str:
    return _one_line(text).translate(_MARKDOWN)


def _md_row(entries: Any) -> str:
    return f"| {' | '.join(entries)} |"


def _md_cell(cell: Cell) -> str:
    text = f"**{_md(cell.text)}**" if cell.best else _md(cell.text)
    small = f"<br><small>{_md(cell.published)}</small>" if cell.published else ""
    return text + cell.mark + small


def _tex(text: str) -> str:
    text = _one_line(text).translate(_LATEX)
    # pdflatex stops at letters its fonts have not; a name in such letters loses them.
    return "".join(c if c.isprintable() and ord(c) < 0x180 else "?" for c in text)


def _tex_row(entries: list[str]) -> str:
    return " & ".join(entries) + r" \\"


def _tex_cell(cell: Cell) -> str:
    text = _tex(cell.text)
    return (rf"\textbf{{{text}}}" if cell.best else text) + _tex(cell.mark)


def _slug(text: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text)


# --------------------------------------------------------------------------- building


def signed(value: float) -> str:
    """Return a difference with its sign, and zero without one."""
    text = f"{value:+.2f}" if abs(value) < 10 else f"{value:+.1f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def mean_std(values: np.ndarray, measure: Measure) -> tuple[str, dict[str, Any]]:
    """Return values as text and as numbers, scaled for print."""
    scaled = np.asarray(values, dtype=float) * measure.scale
    mean = float(scaled.mean())
    std = float(scaled.std(ddof=1)) if len(scaled) > 1 else None
    text = measure.number(mean)
    if std is not None and not measure.is_cost:
        text += f"±{measure.number(std)}"
    numbers = {"mean": round(mean, 6), "std": "" if std is None else round(std, 6)}
    return text, numbers | {"n": len(scaled)}


def measure_table(
    comparison: Comparison, measure: Measure, *, name: str = "table3", title: str = "Table 3"
) -> Table:
    """Return one metric, or cost, of every method on every dataset (Table 3).

    Parameters
    ----------
    comparison : Comparison
        Methods and datasets.
    measure : Measure
        What to show.
    name, title : str
        Beginning of the file's name and of the heading.
    """
    means = comparison.means(measure)
    cells = {}
    for dataset in comparison.datasets:
        scaled = means.loc[dataset] * measure.scale
        best = best_of(scaled, measure.greater_is_better, measure.number)
        for method in comparison.methods:
            cells[dataset, method] = _measured(comparison, dataset, method, measure, best)
    rows = {dataset: dataset for dataset in comparison.datasets}
    foot, foot_cells = _foot(complete_block(means), measure)
    if foot:
        rows["foot"] = foot
        cells |= foot_cells
    return Table(
        name=f"{name}_{measure.name}",
        title=f"{title}: {measure.heading}",
        caption=_caption(measure, cells),
        corner="Dataset",
        columns={method: method_title(method) for method in comparison.methods},
        rows=rows,
        cells=cells,
        greater_is_better=measure.greater_is_better,
        marks=_marks(comparison, measure),
        foot=("foot",) if foot else (),
    )


def _foot(block: Any, measure: Measure) -> tuple[str, dict[tuple[str, str], Cell]]:
    """Return the line below a table: average ranks, or mean costs, where all were run."""
    n, k = block.shape
    if n < 2 or k < 2:
        return "", {}
    if measure.is_cost:
        values, title, text = block.mean(), "mean", measure.number
    else:
        values = friedman(block, greater_is_better=measure.greater_is_better).ranks
        title, text = "average rank", "{:.2f}".format
    lowest = best_of(values, False, text)
    cells = {
        ("foot", method): Cell(text(value), {"mean": round(value, 6)}, value, best=method in lowest)
        for method, value in values.items()
    }
    return f"{title} ({n} datasets)", cells


def _measured(
    comparison: Comparison, dataset: str, method: str, measure: Measure, best: set[str]
) -> Cell:
    values = comparison.values(dataset, method, measure)
    printed = published(dataset, method, measure.name)
    run, failed = comparison.cells(dataset, method)
    # Printed marks say how VPCME stands; they mislead beside those of another reference.
    marked = comparison.reference in (REFERENCE, None)
    beneath = printed.text(marked=marked) if printed else ""
    if not len(values):
        text, hint = ("failed", f"all {run} cells failed") if failed else ("–", "not run")
        return Cell(text, _printed_numbers(printed), published=beneath, hint=hint)
    text, numbers = mean_std(values.to_numpy(), measure)
    mark = corrected = ""
    hint = _folds([len(values)])
    if failed:
        hint += f", {failed} failed"
        text += "†"
    if not measure.is_cost:
        mark = comparison.mark(dataset, method, measure)
        corrected = comparison.mark(dataset, method, measure, "corrected")
        p = comparison.p_value(dataset, method, measure)
        if np.isfinite(p):
            fair = comparison.p_value(dataset, method, measure, "corrected")
            hint += f"; p = {p:.2g} paired, {fair:.2g} corrected"
        numbers |= {"mark": mark, "mark corrected": corrected} | _printed_numbers(printed)
    value = float(values.mean() * measure.scale)
    return Cell(text, numbers, value, method in best, mark, corrected, beneath, hint)


def _printed_numbers(printed: Any) -> dict[str, Any]:
    if printed is None:
        return {}
    return {
        "published": printed.mean,
        "published std": printed.std,
        "published mark": printed.mark,
    }


def _caption(measure: Measure, cells: dict) -> str:
    """Say how the cells were made."""
    counts = [c.numbers["n"] for c in cells.values() if "n" in c.numbers]
    folds = _folds(counts)
    if measure.is_cost:
        parts = [f"Mean over {folds}; the smallest in bold."]
    else:
        parts = [f"Mean±standard deviation over {folds}; the best in bold."]
    if any(cell.published for cell in cells.values()):
        parts.append("Beneath: the figure published in the paper.")
    if any("†" in cell.text for cell in cells.values()):
        parts.append("†: some folds failed.")
    return " ".join(parts)


def _marks(comparison: Comparison, measure: Measure) -> dict[Test, str]:
    """Say what the marks mean."""
    if comparison.reference is None or measure.is_cost or len(comparison.methods) < 2:
        return {}
    name = method_title(comparison.reference)
    return {test: f"•/○: {name} is better/worse, {words}." for test, words in TESTS.items()}


def _folds(counts: list[int]) -> str:
    """Return over how many folds the cells run: 1 fold, 5 folds, 4 to 5 folds."""
    if not counts:
        return "no fold"
    low, high = min(counts), max(counts)
    return f"{low} to {high} folds" if low != high else f"{low} fold{'s' * (low != 1)}"


def wins_table(comparison: Comparison, test: Test = "paired") -> Table | None:
    """Return wins/ties/losses of the reference against each method (Table 4).

    None where there is nothing to count: no reference, or no other method.
    """
    others = [name for name in comparison.methods if name != comparison.reference]
    if comparison.reference is None or not others:
        return None
    cells: dict[tuple[str, str], Cell] = {}
    rows = {key: f"{measure.title} {measure.arrow}" for key, measure in MEASURES.items()}
    rows["total"] = "Total of the paper's five"
    for method in others:
        # The paper's total runs over its five metrics; F1 and recall would not compare.
        measured, printed_too = [], []
        for key, measure in MEASURES.items():
            counts = comparison.wins(method, measure, test)
            printed = _printed_wins(comparison, method, measure)
            cells[key, method] = _wins_cell(counts, printed)
            if key in PRINTED_METRICS:
                measured.append(counts)
                printed_too += [printed] if printed else []
        cells["total", method] = _wins_cell(_sum(measured), _sum(printed_too))
    suffix = "" if test == "paired" else "_corrected"
    return Table(
        name=f"table4{suffix}",
        title=f"Table 4: wins/ties/losses of {method_title(comparison.reference)}, {TESTS[test]}",
        caption="Over the datasets both methods were run on, at least two folds each."
        + (" Beneath: as published for these." if any(c.published for c in cells.values()) else ""),
        corner="Metric",
        columns={method: method_title(method) for method in others},
        rows=rows,
        cells=cells,
        foot=("total",),
    )


def _printed_wins(
    comparison: Comparison, method: str, measure: Measure
) -> tuple[int, int, int] | None:
    """Count the printed marks of those datasets that are counted here too.

    Over all twelve datasets these are the counts of the paper's own Table 4.
    """
    if comparison.reference != REFERENCE:
        return None
    found = [
        published(name, method, measure.name)
        for name in comparison.datasets
        if np.isfinite(comparison.p_value(name, method, measure))
    ]
    marks = [printed.mark for printed in found if printed]
    return (marks.count("•"), marks.count(""), marks.count("○")) if marks else None


def _sum(counts: list[tuple[int, int, int]]) -> tuple[int, int, int] | None:
    """Return wins, ties and losses over several metrics; None of none."""
    if not counts:
        return None
    win, tie, loss = (sum(column) for column in zip(*counts, strict=True))
    return win, tie, loss


def _wins_cell(counts: tuple[int, int, int] | None, printed: tuple[int, int, int] | None) -> Cell:
    beneath = "/".join(map(str, printed)) if printed else ""
    if counts is None or not sum(counts):
        return Cell("–", {"published": beneath}, published=beneath, hint="not run")
    numbers: dict[str, Any] = dict(zip(("win", "tie", "loss"), counts, strict=True))
    numbers["published"] = beneath
    text = "/".join(map(str, counts))
    return Cell(text, numbers, float(counts[0] - counts[2]), published=beneath)


def sweep_table(sweep: Sweep) -> Table:
    """Return every metric under every value of a parameter (Table 5, Figure 1)."""
    cells = {}
    rows = {}
    for key, measure in MEASURES.items():
        values = {setting: sweep.values(setting, measure) for setting in sweep.settings}
        if not any(len(found) for found in values.values()):
            continue
        rows[key] = measure.heading
        best = _best_setting(values, measure)
        for setting, found in values.items():
            cells[key, setting] = _sweep_cell(sweep, setting, measure, found, setting in best)
    number = {"size": "Table 5", "threshold": "Figure 1"}.get(sweep.parameter, "Sweep")
    printed = any(cell.published for cell in cells.values())
    counts = [c.numbers["n"] for c in cells.values() if "n" in c.numbers]
    folds = _folds(counts)
    name = {"size": "table5", "threshold": "figure1"}.get(sweep.parameter)
    if name is None or sweep.method != "vpcme":
        name = f"sweep_{_slug(sweep.method)}_{_slug(sweep.parameter)}"
    return Table(
        name=f"{name}_{_slug(sweep.dataset)}",
        title=f"{number}: {method_title(sweep.method)} on {sweep.dataset} by {sweep.symbol}",
        caption=f"Mean±standard deviation over {folds}; the best in bold."
        + (" Beneath: the figure published in the paper." if printed else ""),
        corner="Metric",
        columns={setting: f"{sweep.symbol} = {setting}" for setting in sweep.settings},
        rows=rows,
        cells=cells,
    )


def _best_setting(values: dict[str, Any], measure: Measure) -> set[str]:
    import pandas as pd

    means = pd.Series({setting: found.mean() for setting, found in values.items()})
    return best_of(means * measure.scale, measure.greater_is_better, measure.number)


def _sweep_cell(sweep: Sweep, setting: str, measure: Measure, found: Any, best: bool) -> Cell:
    printed = published(sweep.dataset, sweep.variant(setting), measure.name)
    beneath = printed.text() if printed else ""
    if not len(found):
        return Cell("–", _printed_numbers(printed), published=beneath, hint="no result")
    text, numbers = mean_std(found.to_numpy(), measure)
    value = float(found.mean() * measure.scale)
    hint = _folds([len(found)])
    return Cell(text, numbers | _printed_numbers(printed), value, best, "", "", beneath, hint)
