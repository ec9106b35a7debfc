"""The page: everything about an evaluation, in one file that needs no network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import labelkin
from labelkin._utils.names import abbreviate
from labelkin._utils.pages import render_page
from labelkin.evaluation._curves import label_curves, pooled_curves, sparkline, threshold_grid
from labelkin.evaluation._growth import Growth, draw_growth
from labelkin.evaluation._mistakes import ASSUMED, Mistake, find_suspects
from labelkin.evaluation._predictions import OutOfSample
from labelkin.evaluation._together import find_together

# What a page holds at most, so that it stays small whatever the data.
_LABELS = 500
_TOGETHER = 20
_MISTAKES = 20
_VERDICTS = 5  # missed labels of a row, and as many false alarms
_PART = 60  # characters of a word or value
_SUSPECTS = 30
_WORDS = 400
_NAME = 80
FEW_ROWS = 10
"""Labels with fewer rows are judged roughly at best."""


@dataclass(frozen=True)
class MethodFigures:
    """One method's figures of all metrics, as they are shown."""

    title: str
    figures: list[str]
    is_best: bool = False


@dataclass(frozen=True)
class EvaluationPage:
    """What the page shows.

    `labels` has the figures of each label (label, rows, precision, recall, f1, average_precision,
    threshold), in the order in which they are shown.
    """

    title: str  # the data, by their file name
    headline: str  # the result in one sentence
    notes: list[str]  # remarks about the data and the figures, one sentence each
    metrics: list[tuple[str, str]]  # titles and meanings, the most important first
    methods: list[MethodFigures]
    found: OutOfSample  # predictions of the best method
    labels: Sequence[dict[str, Any]]
    mistakes: list[Mistake]  # the largest first
    describe: Callable[[int], str]  # returns a row of the user's table in words
    card: list[tuple[str, str]]  # names and values of the model card
    growth: Growth | None = None
    growth_note: str = ""  # shown where there is no learning curve
    command: str | None = None  # to run next

    def render(self) -> str:
        """Return the page as HTML."""
        shown = self._shown_labels()
        suspects, n_suspects = find_suspects(self.found, _SUSPECTS)
        names = self._names()
        return render_page(
            "labelkin.evaluation",
            "evaluation",
            "cli",
            version=labelkin.__version__,
            title=abbreviate(self.title, _WORDS),
            headline=self.headline,
            notes=[*self.notes, *self._remarks()],
            metrics=self.metrics,
            methods=self.methods,
            best=next(one for one in self.methods if one.is_best),
            n_labels=len(names),
            labels=shown,
            curves=self._data(shown),
            together=find_together(self.found, _TOGETHER),
            names=names,
            growth=self.growth,
            growth_note=self.growth_note,
            growth_drawing=None if self.growth is None else draw_growth(self.growth),
            mistakes=[_show_mistake(one) for one in self.mistakes[:_MISTAKES]],
            suspects=[
                {
                    "row": one.row + 1,
                    "label": names[one.label],
                    "given": one.given,
                    "probability": one.probability,
                    "doubt": one.doubt,
                    "words": abbreviate(self.describe(one.row), _WORDS),
                }
                for one in suspects
            ],
            n_suspects=n_suspects,
            assumed=ASSUMED,
            are_probabilities=self.found.are_probabilities,
            card=[
                (abbreviate(name, _NAME), abbreviate(value, 4 * _WORDS))
                for name, value in self.card
            ],
            command=self.command,
        )

    def _names(self) -> list[str]:
        return [abbreviate(name, _NAME) for name in self.found.label_names]

    def _remarks(self) -> list[str]:
        few = int((self.found.support < FEW_ROWS).sum())
        remarks = []
        if few:
            have = "1 label has" if few == 1 else f"{few:,} labels have"
            remarks.append(
                f"{have} fewer than {FEW_ROWS} rows: their figures are rough, and they come last."
            )
        if len(self.labels) > _LABELS:
            remarks.append(
                f"Of {len(self.labels):,} labels the {_LABELS} most frequent are shown below; the "
                "figures above are of all."
            )
        return remarks

    def _shown_labels(self) -> list[dict[str, Any]]:
        """Return the labels of the table, each with its short name, curves and sparkline."""
        position = {name: j for j, name in enumerate(self.found.label_names)}
        frequent = sorted(self.labels, key=lambda row: -row["rows"])[:_LABELS]
        kept = {row["label"] for row in frequent}
        grid = threshold_grid(self.found)
        shown = []
        for row in self.labels:
            if row["label"] not in kept:
                continue
            curves = label_curves(self.found, position[row["label"]], grid)
            name = {"label": abbreviate(row["label"], _NAME), "option": row["label"]}
            shown.append({**row, **name, "curves": curves, "spark": sparkline(curves)})
        return shown

    def _data(self, shown: list[dict[str, Any]]) -> dict[str, Any]:
        """Return what the script draws: the labels in the order of the table, and all together."""
        grid = threshold_grid(self.found)
        labels = [
            {
                "name": row["label"],
                "option": row["option"],
                "threshold": row["threshold"],
                **row["curves"],
            }
            for row in shown
        ]
        return {
            "thresholds": grid.tolist(),
            "labels": labels,
            "all": {"name": "all labels together", **pooled_curves(self.found, grid)},
            "are_probabilities": self.found.are_probabilities,
            "rows": len(self.found.y),
        }


def _show_mistake(one: Mistake) -> dict[str, Any]:
    """Return a mistake as the page shows it, the most confident errors of the row first."""
    missed = sorted(one.missed, key=lambda pair: pair[1])
    wrong = sorted(one.wrong, key=lambda pair: -pair[1])
    verdicts = [
        {
            "kind": kind,
            "label": abbreviate(name, _NAME),
            "score": score,
            "reasons": [
                (abbreviate(part, _PART), value) for part, value in one.reasons.get(name, [])
            ],
        }
        for kind, pairs in (("missed", missed), ("wrong", wrong))
        for name, score in pairs[:_VERDICTS]
    ]
    return {
        "row": one.row + 1,
        "words": abbreviate(one.words, _WORDS),
        "verdicts": verdicts,
        "more": len(missed) + len(wrong) - len(verdicts),
        "right": abbreviate(", ".join(one.right), _WORDS),
        "method": one.method,
    }
