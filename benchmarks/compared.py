"""The comparison beyond the paper as one page of Markdown, from a store or a results.csv.

    labelkin reproduce frontier --store frontier.db
    python benchmarks/compared.py frontier.db --out results/frontier.md

Everything on the page is computed from the file: who leads over datasets × metrics and by which
test, a table a metric, what was not run, and the settings.
"""

import argparse
from pathlib import Path

import numpy as np

from labelkin.experiments import findings
from labelkin.experiments.comparison import MEASURES, Comparison, check_results, method_title
from labelkin.experiments.methods import METHODS
from labelkin.experiments.overall import overall_findings, overall_table
from labelkin.experiments.published import PRINTED_METRICS, REFERENCE, published
from labelkin.experiments.report import read_results


def number(value, best):
    if np.isnan(value):
        return "–"
    return f"**{value:.2f}**" if value == best else f"{value:.2f}"


def means_table(comparison, measure):
    """Return a metric's means, the best in bold, beside what the paper printed for VPCME."""
    means = (comparison.means(measure) * measure.scale).round(2)
    best = means.max(axis=1) if measure.greater_is_better else means.min(axis=1)
    head = ["Dataset", *map(method_title, comparison.methods), "VPCME, published"]
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for dataset in comparison.datasets:
        printed = published(dataset, REFERENCE, measure.name)
        row = [number(value, best[dataset]) for value in means.loc[dataset]]
        row.append(f"{printed.mean:.2f}" if printed else "–")
        lines.append(f"| {dataset} | {' | '.join(row)} |")
    return "\n".join(lines)


def finished(frame):
    """Return the cells of methods that have all folds of a dataset: others cannot be compared."""
    folds = frame.groupby(["dataset", "method"])["fold"].transform("size")
    return frame[folds == folds.max()]


def page(recorded, baseline):
    comparison = Comparison.of(finished(check_results(recorded.results)), None)
    parts = ["# The comparison beyond the paper"]
    table = overall_table(comparison, baseline)
    if table is None:
        raise SystemExit("there are fewer than two methods on two datasets: nothing to compare.")
    parts += overall_findings(comparison)
    parts.append(table.to_markdown())
    if gaps := findings.gaps(comparison):
        parts += ["## What is missing", "\n".join(f"- {sentence}" for sentence in gaps)]
    for name in PRINTED_METRICS:
        measure = MEASURES[name]
        parts += [f"## {measure.heading}", means_table(comparison, measure)]
    settings = {name: method.settings for name, method in METHODS.items()} | dict(recorded.settings)
    lines = [f"- **{method_title(name)}**: {settings.get(name, '–')}." for name in table.rows]
    parts += ["## Settings", "\n".join(lines)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="a store, or a results.csv")
    parser.add_argument("--out", type=Path, help="write there instead of to the screen")
    parser.add_argument("--baseline", default="krr", help="method whose leads are shown")
    options = parser.parse_args()
    text = page(read_results(options.results), options.baseline)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
