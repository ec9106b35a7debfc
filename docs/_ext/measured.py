"""Tables of measured figures, made from committed files while a page is read.

``<!-- measured: NAME -->`` on a line of its own becomes a table:

- ``frontier``, ``frontier-ranks``: from ``results/frontier.json``, with the published
  figures;
- ``decisions``: from a block of ``benchmarks/README.md``;
- ``comparison``: the head of ``results/frontier.md``, once that is there.

The frontier's file holds ``metrics``, in the paper's order, and ``methods``: under each name a
``title`` and ``cells``, for each dataset the means of the metrics, in percent but for coverage.
"""

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from labelkin.experiments.report.published import REFERENCE, published
from labelkin.metrics import METRICS

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks" / "README.md"
MARK = re.compile(r"^<!-- measured: (\S+) -->$", re.MULTILINE)


def block(script: str) -> str:
    """Return the first block of figures under a benchmark's title."""
    text = BENCHMARKS.read_text(encoding="utf-8")
    return text.partition(f"\n## {script}\n")[2].split("```")[1]


def table(head: Iterable[str], rows: Iterable[Iterable[str]], words: int = 1) -> str:
    """Return a Markdown table, all columns but the first, of words, flush right."""
    head = list(head)
    lines = [head, ["---"] * words + ["---:"] * (len(head) - words), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# ------------------------------------------------------------------------------ the frontier


FRONTIER = ROOT / "results" / "frontier.json"


class Frontier:
    """Means of methods on datasets, and the published ones."""

    def __init__(self) -> None:
        data = json.loads(FRONTIER.read_text(encoding="utf-8"))
        self.metrics: list[str] = data["metrics"]
        methods = data["methods"]
        self.titles = {name: method["title"] for name, method in methods.items()}
        self.datasets = sorted(set.intersection(*[set(m["cells"]) for m in methods.values()]))
        # method → (dataset, metric)
        self.cells = {
            name: np.array([method["cells"][dataset] for dataset in self.datasets])
            for name, method in methods.items()
        }
        self.printed = np.array(
            [[published(d, REFERENCE, m).mean for m in self.metrics] for d in self.datasets]
        )
        self.signs = np.array([METRICS[m].sign for m in self.metrics])

    def column(self, name: str, metric: str) -> np.ndarray:
        """Return a method's figures of one metric, or the published ones."""
        cells = self.printed if name == "published" else self.cells[name]
        return cells[:, self.metrics.index(metric)]

    def mean_ranks(self) -> dict[str, float]:
        """Return the mean rank of each method over all cells, 1 the best, ties shared."""
        values = -self.signs * np.stack(list(self.cells.values()))
        return dict(zip(self.cells, rankdata(values, axis=0).mean(axis=(1, 2)), strict=True))

    def beaten(self, name: str) -> int:
        """Return how many published cells of VPCME a method beats."""
        return int((self.signs * (self.cells[name] - self.printed) > 1e-9).sum())

    def table(self, metric: str) -> str:
        """Return one metric's table: one row per dataset, the best measured figure in bold."""
        columns = {name: self.column(name, metric) for name in self.cells}
        best = (METRICS[metric].sign * np.stack(list(columns.values()))).max(axis=0)
        rows = []
        for i, dataset in enumerate(self.datasets):
            cells = [
                f"**{column[i]:.2f}**"
                if METRICS[metric].sign * column[i] >= best[i]
                else f"{column[i]:.2f}"
                for column in columns.values()
            ]
            rows.append([dataset, *cells, f"{self.column('published', metric)[i]:.2f}"])
        return table(["dataset", *self.titles.values(), "published VPCME"], rows)

    def rank_table(self) -> str:
        """Return mean ranks and published cells beaten, best first."""
        ranks = self.mean_ranks()
        total = self.printed.size
        rows = [
            [self.titles[name], f"{ranks[name]:.2f}", f"{self.beaten(name)} of {total}"]
            for name in sorted(ranks, key=ranks.__getitem__)
        ]
        return table(["method", f"mean rank over {total} cells", "published cells beaten"], rows)


@cache
def frontier() -> Frontier:
    """Return the committed figures, read once."""
    return Frontier()


# ------------------------------------------------------------------------------- benchmarks


def selection_curves() -> dict[tuple[str, str], dict[str, tuple[list[float], list[float]]]]:
    """Return (dataset, metric) → ranking → (per cent kept, figures) of selection.py."""
    curves: dict = {}
    kept: list[float] = []
    for line in block("selection.py").splitlines():
        if head := re.match(r"(\w+), ([A-Z][\w ]+?)\s{2,}(.*)", line):
            kept = [float(number) for number in head[3].replace("%", "").split()]
            current = curves.setdefault((head[1], head[2]), {})
        elif row := re.match(r"([a-z][\w -]+?)\s{2,}(.*)", line):
            current[row[1]] = (kept, [float(number) for number in row[2].split()])
    return curves


def decisions() -> str:
    """Return what decisions.py measured for VPCME's scores, three decisions per dataset."""
    head: list[str] = []
    rows = []
    wanted = {"own": "the vote itself", "auto": '"auto"', "hamming_loss": '"hamming_loss"'}
    for part in block("decisions.py").strip().split("\n\n"):
        first, *lines = part.splitlines()
        title, *names = re.split(r"\s{2,}", first.replace("Macro F1 Subset", "Macro F1  Subset"))
        dataset, _, method = title.partition(", ")
        if method != "VPCME":
            continue
        # Jaccard goes with F1, and the page is narrow.
        kept = [i for i, name in enumerate(names) if name != "Jaccard"]
        head = [names[i] for i in kept]
        for line in lines:
            name, *cells = line.split()
            if name in wanted:
                first = dataset if name == "own" else ""
                rows.append([first, wanted[name], *[cells[i] for i in kept]])
    return table(["dataset", "decided for", *head], rows, words=2)


TABLES: dict[str, Callable[[], str]] = {
    "frontier": lambda: frontier().table("average_precision"),
    "frontier-ranks": lambda: frontier().rank_table(),
    "decisions": decisions,
}


def comparison() -> str:
    """Return what ``results/frontier.md`` finds over all cells, and a link; or nothing yet."""
    path = ROOT / "results" / "frontier.md"
    if not path.exists():
        return ""
    found = path.read_text(encoding="utf-8").partition("\n")[2].split("\n## ")[0].strip()
    # A plain link: the file is copied into the site with all results.
    link = '<a href="../results/frontier.md">every metric, dataset and setting</a>'
    return (
        "Against every method of the paper, and against what a practitioner would use instead "
        f"(one run, {link}):\n\n{found}"
    )


PARTS = {**TABLES, "comparison": comparison}


def _replace(app, docname: str, source: list[str]) -> None:
    if MARK.search(source[0]):
        app.env.dependencies[docname].update(map(str, (BENCHMARKS, FRONTIER)))
        source[0] = MARK.sub(lambda mark: PARTS[mark[1]](), source[0])


def setup(app) -> dict:
    """Put tables in while pages are read."""
    app.connect("source-read", _replace)
    return {"parallel_read_safe": True}
