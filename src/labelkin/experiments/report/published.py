"""What the paper printed: the figures of Tables 2, 3 and 5.

They are kept as printed: in percent, except coverage. Figures 1 and 2 of the paper are drawings
without numbers.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from labelkin.experiments.run.groups import SECOND_SETTINGS
from labelkin.metrics import METRICS, PAPER_METRICS, Metric

COLUMNS = ("rakel", "iblr", "clr", "cchains", "mlknn", "vpcme")
"""The columns of Table 3, in its order."""

MEASURES: dict[str, Metric] = {name: METRICS[name] for name in PAPER_METRICS}
"""The paper's seven metrics, in its order."""

PRINTED_METRICS = (
    "hamming_loss", "ranking_loss", "one_error", "coverage", "average_precision",
)  # fmt: skip
"""The metrics of Table 3, in its order."""

TIE_RULES = {"against": "ties against", "index": "ties by index"}
"""Rules for labels with equal scores, in words.

The metrics count a tie against the method; Mulan, whose figures the paper's compared methods
have, ranks tied labels by their index.
"""

REFERENCE = "vpcme"
"""The method the printed marks, wins and losses refer to."""


@dataclass(frozen=True)
class Published:
    """One printed figure."""

    mean: float
    std: float
    mark: str
    """• where the paper calls VPCME better, ○ where worse, else nothing."""

    def text(self, *, marked: bool = True) -> str:
        """Return the figure as printed, with or without its mark."""
        return f"{self.mean:.2f}±{self.std:.2f}{self.mark if marked else ''}"


def read_data(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file of this package."""
    path = resources.files("labelkin.experiments.report") / "data" / name
    return csv.DictReader(path.read_text(encoding="utf-8").splitlines())


@cache
def _figures() -> dict[tuple[str, str, str], Published]:
    return {
        (row["dataset"], row["method"], row["metric"]): Published(
            float(row["mean"]), float(row["std"]), row["mark"]
        )
        for row in read_data("published.csv")
    }


@cache
def printed_statistics() -> dict[str, dict[str, float]]:
    """Return the statistics of the paper's Table 2 by dataset."""
    rows = read_data("table2.csv")
    return {row.pop("dataset"): {k: float(v) for k, v in row.items()} for row in rows}


def column(method: str) -> str:
    """Return the printed column a method is compared with; its own name where there is none."""
    return SECOND_SETTINGS.get(method, method)


def published(dataset: str, method: str, metric: str) -> Published | None:
    """Return the printed figure of Table 3, or of Table 5 for ``vpcme@size=…``."""
    return _figures().get((dataset, column(method), metric))
