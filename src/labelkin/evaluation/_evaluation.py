"""What an evaluation found: figures of methods and labels, in print, as JSON and as a page."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.errors import name_options
from labelkin._utils.files import open_for_writing
from labelkin._utils.labels import count_without_labels
from labelkin._utils.names import plural
from labelkin._utils.optional import import_optional
from labelkin.base import Array, Matrix
from labelkin.evaluation._figures import (
    FEW_ROWS,
    PEOPLE_METRICS,
    OutOfSample,
    evaluate_judged,
    label_figures,
    label_table,
    print_figures,
    summarise,
)
from labelkin.evaluation._page import MOST_FOLDS, PARTS, render_report
from labelkin.evaluation._remarks import compare_decisions, list_remarks
from labelkin.metrics import METRICS
from labelkin.metrics._estimators import label_thresholds
from labelkin.rows import as_dense

_KEPT = 100  # of dense scores of thousands of labels, the highest of each row
_WEAKEST = 5  # rows of the table of labels, unless all are requested


@dataclass
class MethodResults:
    """One method's figures, test predictions and models, fold by fold."""

    title: str
    figures: dict[str, list[float]] = field(default_factory=dict)
    labels: list[Matrix] = field(default_factory=list)
    scores: list[Matrix] = field(default_factory=list)
    thresholds: list[Array] = field(default_factory=list)
    models: list[Any] = field(default_factory=list)


@dataclass(repr=False)
class Evaluation:
    """What an evaluation found: figures of each method, and predictions of the best one.

    ``print`` it, display it in a notebook, read its figures, or write a report. See `compare` and
    `evaluate_model`.

    Attributes
    ----------
    label_names : tuple of str
        Names of the labels.
    metrics : list of str
        Names of the metrics; the first one decides which method is best.
    results : dict of str to MethodResults
        Of each method: ``figures`` (values of each metric, one per fold, and seconds), and
        ``labels``, ``scores``, ``thresholds`` and ``models`` of each fold. Of 2,000 labels and
        more, labels and scores are CSR, with the highest scores of each row.
    splits : list of (ndarray, ndarray)
        Positions of the training rows and of the test rows of each fold.
    left_out : list of str
        Methods for which there was no time.
    split_remarks : list of str
        How the folds differ from rows at random, one sentence each.
    n_seen : int
        Number of rows on which a fitted model was trained, where it recognises them.
    row_names : list of str or None
        Names of the rows in the report; None: their numbers, from 1.
    option_names : dict of str to str
        Options of a command, such as ``--decide``, that take the place of arguments in print.
    """

    X: Any
    y: Matrix
    label_names: tuple[str, ...]
    splits: list[tuple[np.ndarray, np.ndarray]]
    folds: int
    metrics: list[str] = field(default_factory=lambda: list(PEOPLE_METRICS))
    settings: dict[str, Any] = field(default_factory=dict)
    results: dict[str, MethodResults] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    split_remarks: list[str] = field(default_factory=list)
    fit_part: Callable[[str, int, np.ndarray], Any] | None = None
    n_seen: int = 0
    row_names: list[str] | None = None
    option_names: dict[str, str] = field(default_factory=dict)

    def add(
        self, name: str, title: str, y: Any, labels: Any, scores: Any, model: Any, seconds: Any
    ) -> None:
        """Add the predictions of a fold by a method's model."""
        one = self.results.setdefault(name, MethodResults(title))
        if sparse.issparse(self.y):
            labels = sparse.csr_array(labels)
        else:
            labels, scores = as_dense(labels), as_dense(scores)
            scores = scores.reshape(labels.shape)  # the scores of one label may have one dimension
        for key, value in (evaluate_judged(y, scores, labels, self.metrics) | seconds).items():
            one.figures.setdefault(key, []).append(float(value))
        one.labels.append(labels)
        one.scores.append(_highest(scores, labels) if sparse.issparse(labels) else scores)
        one.thresholds.append(label_thresholds(model, labels.shape[1]))
        one.models.append(model)

    @cached_property
    def _ranking(self) -> list[str]:
        """The methods, the best first; an undefined mean comes last."""
        sign, metric = METRICS[self.metrics[0]].sign, self.metrics[0]
        means = {n: sign * np.nanmean(found.figures[metric]) for n, found in self.results.items()}
        return sorted(means, key=lambda name: -np.nan_to_num(means[name], nan=-np.inf))

    @property
    def best(self) -> str:
        """The name of the method with the best mean of the first metric."""
        return self._ranking[0]

    @property
    def reason(self) -> str:
        """How far the best method leads the next, in words."""
        metric = METRICS[self.metrics[0]]
        best, *others = (
            metric.scale * np.array(self.results[name].figures[metric.name])
            for name in self._ranking
        )
        reason = f"{metric.title} {np.nanmean(best):.1f}"
        if others:
            ahead = int((metric.sign * (best - others[0]) > 0).sum())
            reason += f", then {self._ranking[1]} with {np.nanmean(others[0]):.1f}"
            lead = ": not clearly better, ahead" if 3 * ahead < 2 * len(best) else "; ahead"
            reason += f"{lead} in {ahead} of {len(best)} folds"
        return reason

    @property
    def n_done(self) -> int:
        """Number of folds that were evaluated, repetitions included."""
        return len(self.results[self.best].labels)

    @property
    def n_curve_fits(self) -> int:
        """Number of models that a learning curve takes."""
        return 0 if self.fit_part is None else len(PARTS) * min(self.folds, self.n_done, MOST_FOLDS)

    @cached_property
    def n_unknown(self) -> int:
        """Number of the labels of all rows that are unknown."""
        return 0 if sparse.issparse(self.y) else int((self.y != self.y).sum())  # NaN

    @cached_property
    def n_without_labels(self) -> int:
        """Number of rows whose known labels, at least one, are all 0."""
        return count_without_labels(self.y)

    def predictions(self, n_folds: int | None = None) -> OutOfSample:
        """Return the predictions of the best method in the first folds, by default in all.

        Parameters
        ----------
        n_folds : int, optional
            Number of folds.

        Returns
        -------
        OutOfSample
        """
        best = self.results[self.best]
        rows = np.concatenate([test for _, test in self.splits[: self.n_done][:n_folds]])
        return OutOfSample(
            self.label_names,
            rows,
            self.y[rows],
            stack_rows(best.labels[:n_folds]),
            stack_rows(best.scores[:n_folds]),
            np.mean(best.thresholds[:n_folds], axis=0),
        )

    @cached_property
    def per_label(self) -> list[dict[str, Any]]:
        """Figures of each label by the best method, the weakest first."""
        return label_figures(self.predictions())

    @cached_property
    def remarks(self) -> list[str]:
        """What restricts the meaning of the figures, one sentence each."""
        return [name_options(remark, self.option_names) for remark in list_remarks(self)]

    @cached_property
    def decisions(self) -> list[dict[str, Any]]:
        """Figures of the best method with other decisions, cross-fitted; its own come first."""
        return compare_decisions(self)

    def to_frame(self) -> Any:
        """Return the mean of each metric, one row per method.

        Returns
        -------
        pandas.DataFrame
        """
        means = {
            name: {key: summarise(found.figures[key])["mean"] for key in self.metrics}
            for name, found in self.results.items()
        }
        return import_optional("pandas").DataFrame.from_dict(means, orient="index")

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as values that JSON can hold.

        Returns
        -------
        dict
        """
        return {
            **self.settings,
            "folds_done": self.n_done,
            **({"skipped": self.left_out} if self.left_out else {}),
            **({"known_cells": self.y.size - self.n_unknown} if self.n_unknown else {}),
            "rows_without_labels": self.n_without_labels,
            "results": {
                name: {key: summarise(values) for key, values in found.figures.items()}
                for name, found in self.results.items()
            },
            "labels_of": self.best,
            "per_label": self.per_label,
            "best": self.best,
            "reason": self.reason,
            "notes": self.remarks,
            "decisions": [
                {"decide": one["decide"]}
                | {key: summarise(values)["mean"] for key, values in one["figures"].items()}
                for one in self.decisions
            ],
        }

    def print(
        self,
        *,
        heading: str | None = None,
        per_label: bool | None = None,
        meanings: bool = True,
        console: Any = None,
    ) -> None:
        """Print the figures of the methods, and of the labels.

        Parameters
        ----------
        heading : str, optional
            The first line; by default the number of folds.
        per_label : bool, optional
            True: the figures of every label; False: of none; None: of the weakest.
        meanings : bool, default=True
            Whether to print what the metrics mean.
        console : rich.console.Console, optional
            Where to print; by default the terminal.
        """
        console = console or import_optional("rich.console", "cli").Console(highlight=False)
        done, planned = self.n_done, len(self.splits)
        if heading is None:
            heading = (
                f"{done} of {planned} folds in the time given"
                if done < planned
                else f"{done} folds"
            )
            heading += ", mean ± std" if done > 1 else ""
            heading += f", no time for {', '.join(self.left_out)}" if self.left_out else ""
            heading = heading if planned > 1 else f"{self.y.shape[0]:,} rows"
        best = self.results[self.best].title if len(self.results) > 1 else None
        runs = {found.title: found.figures for found in self.results.values()}
        print_figures(console, runs, self.metrics, heading, best, meanings)
        if per_label is False:
            return
        shown = self.per_label if per_label else self.per_label[:_WEAKEST]
        console.print()
        if best:
            console.print(f"{best}, by label:", markup=False)
        console.print(label_table(shown))
        if any(label["rows"] < FEW_ROWS for label in shown):
            console.print(f"~ fewer than {FEW_ROWS} rows: figures are uncertain", markup=False)
        if more := len(self.per_label) - len(shown):
            line = f"… and {plural(more, 'label')} (per_label=True)"
            console.print(name_options(line, self.option_names), markup=False)

    def __str__(self) -> str:
        file = StringIO()
        self.print(console=import_optional("rich.console", "cli").Console(file=file, width=100))
        notes = [f"note: {remark}" for remark in self.remarks]
        return "\n".join([*notes, *(line.rstrip() for line in file.getvalue().splitlines())])

    def __repr__(self) -> str:
        return f"<Evaluation: {self.best}, {self.reason}>"

    def write_report(self, path: Any, **details: Any) -> None:
        """Write a page (HTML) with curves, thresholds to try, mistakes and likely label errors.

        After `compare`, models of parts of the training rows are fitted for a learning curve.

        Parameters
        ----------
        path : str or Path
            The file to write, whole or not at all.
        **details
            ``source``: the file or the name of the data; ``card``: further names and values of the
            model card; ``next_command``: the command to run next; ``decide_command``: the one to
            which a decision is added; ``progress``: as in `compare`.
        """
        text = render_report(self, **details)
        with open_for_writing(Path(path)) as file:
            file.write(text.encode("utf-8"))


def stack_rows(parts: list[Matrix]) -> Matrix:
    """Return the rows of all parts."""
    return sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def _highest(scores: Matrix, labels: Matrix) -> Matrix:
    """Return scores as CSR; of dense ones, the highest of each row and those of CSR labels."""
    if sparse.issparse(scores):
        return sparse.csr_array(scores)
    kept = labels.toarray() > 0
    np.put_along_axis(kept, np.argpartition(-scores, _KEPT, axis=1)[:, :_KEPT], True, axis=1)
    return sparse.csr_array((scores[kept], np.nonzero(kept)), shape=scores.shape)
