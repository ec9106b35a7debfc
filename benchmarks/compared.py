"""The comparison beyond the paper as one page of Markdown, from stores or a results.csv.

    labelkin reproduce frontier --store frontier.db
    python benchmarks/compared.py frontier.db --out results/frontier.md --figures results/figures
    labelkin reproduce holdout --store holdout.db
    python benchmarks/compared.py holdout.db --folds results/frontier.csv --out results/holdout.md

The page shows the critical-difference diagram that --figures writes, PNG and SVG. Several files,
of the same folds, are taken together; --csv keeps all their cells in one, which ``labelkin
report`` reads as well. Everything on the page is computed from these files: which method leads
over datasets × metrics and by which test, one table per metric, what was not run, and the
settings. Figures on published test rows are set beside those of the folds that --folds names.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from _holdout import optimism_findings, optimism_table

from labelkin.experiments.report import figures
from labelkin.experiments.report.comparison import Comparison, method_title
from labelkin.experiments.report.published import MEASURES, PRINTED_METRICS, REFERENCE, published
from labelkin.experiments.report.ranks import overall_sentence, overall_table
from labelkin.experiments.report.table import listing
from labelkin.experiments.run.groups import GROUPS
from labelkin.experiments.run.results import check_results, read_results


def number(value, best):
    if np.isnan(value):
        return "–"
    return f"**{value:.2f}**" if value == best else f"{value:.2f}"


def means_table(comparison, measure):
    """Return a metric's means, the best in bold, beside what the paper printed for VPCME.

    On published test rows there is nothing printed to compare with.
    """
    means = (comparison.means(measure) * measure.scale).round(2)
    best = means.max(axis=1) if measure.greater_is_better else means.min(axis=1)
    head = ["Dataset", *map(method_title, comparison.methods)]
    if not comparison.is_holdout:
        head.append("VPCME, published")
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for dataset in comparison.datasets:
        row = [number(value, best[dataset]) for value in means.loc[dataset]]
        if not comparison.is_holdout:
            printed = published(dataset, REFERENCE, measure.name)
            row.append(f"{printed.mean:.2f}" if printed else "–")
        lines.append(f"| {dataset} | {' | '.join(row)} |")
    return "\n".join(lines)


def finished(frame):
    """Return the cells of methods that have all folds of a dataset: others cannot be compared."""
    folds = frame.groupby(["dataset", "method"])["fold"].transform("size")
    return frame[folds == folds.max()]


def not_run(comparison):
    """Say what of the group has no finished cell at all."""
    group = GROUPS["holdout" if comparison.is_holdout else "frontier"]
    absent = [method_title(name) for name in group.methods if name not in comparison.methods]
    absent += [name for name in group.datasets if name not in comparison.datasets]
    means = comparison.means(MEASURES["average_precision"])
    absent += [f"{method_title(m)} on {d}" for m in means for d in means.index[means[m].isna()]]
    return [f"Not run, or not on all folds: {listing(absent)}."] if absent else []


def diagram(comparison, folder):
    """Write the critical-difference diagram; return the line that shows it on the page."""
    figure = figures.draw_overall(comparison)
    if figure is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    name = "holdout_datasets" if comparison.is_holdout else "frontier_datasets"
    figures.save(figure, folder, name)
    title = "Average ranks over datasets; bars join what the test cannot tell apart"
    return [f"![{title}]({folder.name}/{name}.png)"]


def compare(recorded):
    """Return the comparison of all methods that have every fold of a dataset."""
    return Comparison.of(finished(check_results(recorded.results)), None, components=None)


def page(recorded, folder, folds=None):
    """Return the page; `folds` are the results by folds that published test rows stand beside."""
    comparison = compare(recorded)
    title = "The comparison beyond the paper"
    parts = [f"# {title}" + (", on published test rows" if comparison.is_holdout else "")]
    table = overall_table(comparison.ranked)
    if table is None:
        raise SystemExit("there are fewer than two methods on two datasets: nothing to compare.")
    parts.append(overall_sentence(comparison.ranked))
    apart = [m for m in comparison.methods if m not in comparison.ranked.methods]
    if apart:
        names = listing([method_title(name) for name in apart])
        parts.append(f"{names} are second settings of a method: listed below, but not ranked.")
    if folds is not None:
        parts += optimism_findings(folds, comparison, ("kin", "krr"))
        beside = optimism_table(folds, comparison)
        parts += [beside.to_markdown()] if beside else []
    parts.append(table.to_markdown())
    if folder:
        parts += ["## Critical differences", *diagram(comparison.ranked, folder)]
    if gaps := not_run(comparison):
        parts += ["## What is missing", "\n".join(f"- {sentence}" for sentence in gaps)]
    for name in PRINTED_METRICS:
        measure = MEASURES[name]
        parts += [f"## {measure.heading}", means_table(comparison, measure)]
    settings = recorded.settings
    lines = [
        f"- **{method_title(name)}**: {settings.get(name, '–')}." for name in comparison.methods
    ]
    parts += ["## Settings", "\n".join(lines)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+", help="stores, or CSV files of results")
    parser.add_argument("--csv", type=Path, help="write all cells there, too")
    parser.add_argument("--out", type=Path, help="write there instead of to the screen")
    parser.add_argument("--figures", type=Path, help="write diagrams there, beside --out")
    parser.add_argument("--folds", type=Path, help="results by folds, to set test rows beside")
    options = parser.parse_args()
    recorded = read_results(*options.results)
    recorded = replace(recorded, results=check_results(recorded.results))
    folds = compare(read_results(options.folds)) if options.folds else None
    text = page(recorded, options.figures, folds)
    if options.csv:
        recorded.results.to_csv(options.csv, index=False)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
