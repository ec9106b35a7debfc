"""What an evaluation found, for the terminal and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from labelkin.cli._compare import FoldResults, Split, find_winner
from labelkin.cli._figures import (
    fold_heading,
    label_figures,
    label_table,
    print_figures,
    summarise,
)
from labelkin.cli._methods import Candidate
from labelkin.cli._output import Notes, plural, print_table
from labelkin.evaluation import FEW_ROWS, OutOfSample
from labelkin.tabular import TrainingData

# Rows of the table of labels, unless all are requested.
_WEAKEST = 5


@dataclass
class Findings:
    """What an evaluation found, for the terminal and as JSON."""

    heading: str
    facts: dict[str, Any]
    results: dict[str, FoldResults]
    labels: list[dict[str, Any]]
    """Figures of each label, by `label_figures`."""
    n_rows: int
    n_empty: int
    """Number of rows without a label."""
    best: str
    """The name of the best method."""
    predictions: OutOfSample
    """Those of the best method, each row once."""
    reason: str = ""
    """How far the best method leads, in words."""
    next: str | None = None
    """The command to run next."""
    page: Path | None = None
    """The page that was written."""

    def as_json(self) -> dict[str, Any]:
        """Return all figures as values that JSON can hold."""
        summaries = {
            name: {key: summarise(values) for key, values in found.figures.items()}
            for name, found in self.results.items()
        }
        facts = {**self.facts, "rows_without_labels": self.n_empty, "results": summaries}
        facts["labels_of"] = self.best
        facts["per_label"] = self.labels
        if self.next is not None:
            facts |= {"best": self.best, "reason": self.reason, "next": self.next}
        if self.page is not None:
            facts["report"] = str(self.page)
        return facts

    def print(self, metrics: list[str], per_label: bool, notes: Notes) -> None:
        """Print the tables, the best method and the next command."""
        if self.n_empty:
            notes.print(f"note: {self.remark_on_empty_rows(metrics)}")
        columns = {found.title: found.figures for found in self.results.values()}
        several = len(self.results) > 1
        best = self.results[self.best].title if several else None
        print_figures(columns, metrics, self.heading, best=best, meanings=not notes.quiet)
        if notes.quiet and not per_label:
            return
        judged = [label for label in self.labels if label["rows"] >= FEW_ROWS] or self.labels
        shown = self.labels if per_label else judged[:_WEAKEST]
        typer.echo()
        print_table(label_table(shown))
        if more := len(self.labels) - len(shown):
            few = len(self.labels) - len(judged)
            remark = f", {few:,} of them in fewer than {FEW_ROWS} rows" if few else ""
            typer.echo(f"… and {plural(more, 'label')}{remark} (--per-label)")
        if notes.quiet or (self.next is None and self.page is None):
            return
        typer.echo()
        if self.next is not None and several:
            typer.echo(f"best: {self.best}, {self.reason}")
        if self.next is not None:
            typer.echo(f"next: {self.next}")
        if self.page is not None:
            typer.echo(f"page: {self.page} (curves, thresholds, mistakes explained)")

    def remark_on_empty_rows(self, metrics: Sequence[str]) -> str:
        """Return what rows without labels mean for the figures."""
        share = 100 * self.n_empty / self.n_rows
        verb = "has" if self.n_empty == 1 else "have"
        remark = f"{self.n_empty:,} of {self.n_rows:,} rows {verb} no label"
        if "one_error" in metrics:
            return f"{remark}: one-error cannot fall below {share:.1f} %, as each counts as one"
        return f"{remark} ({share:.1f} %); predicting none for such a row is right"


def find_in_folds(
    training: TrainingData,
    candidates: list[Candidate],
    results: dict[str, FoldResults],
    splits: list[Split],
    folds: int,
    metrics: list[str],
) -> Findings:
    """Return the findings of a cross-validation of `folds` folds, repeated or not."""
    name, reason = find_winner(results, metrics[0])
    best = results[name]
    n_folds = len(best.labels)
    n_once = min(n_folds, folds)
    facts = {**training.summary(), "folds_done": n_folds}
    heading = fold_heading(n_folds, len(splits))
    skipped = [one.name for one in candidates if one.name not in results]
    if skipped:
        facts["skipped"] = skipped
        heading += f", no time for {', '.join(skipped)}"
    y = np.concatenate([training.y[test] for _, test in splits[:n_folds]])
    n_rows = sum(len(test) for _, test in splits[:n_once])
    labels, scores = np.concatenate(best.labels), np.concatenate(best.scores)
    thresholds, names = np.mean(best.thresholds, axis=0), training.labels.names
    once = OutOfSample(
        names,
        np.concatenate([test for _, test in splits[:n_once]]),
        y[:n_rows],
        labels[:n_rows],
        scores[:n_rows],
        np.mean(best.thresholds[:n_once], axis=0),
    )
    return Findings(
        heading,
        facts,
        results,
        label_figures(names, y, labels, scores, thresholds),
        len(training.y),
        int((~training.y.any(axis=1)).sum()),
        name,
        once,
        reason,
    )
