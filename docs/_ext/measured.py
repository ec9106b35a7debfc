"""Tables and sentences of measured figures, made from committed files while a page is read.

``<!-- measured: NAME -->`` on a line of its own becomes a table or sentences:

- ``frontier``, ``frontier-ranks``, ``out-of-reach``: from ``results/frontier.csv``, with the
  published figures;
- ``holdout``: from ``results/holdout.csv`` beside the former;
- ``claims``, ``claims-count``, ``agreement``: from ``results/tables``;
- ``comparison``: the head of ``results/frontier.md``;
- ``decisions``: from a block of ``benchmarks/README.md``.

The README, which nothing builds, holds the same text between this mark and ``<!-- end -->``.
It is written anew by::

    python docs/_ext/measured.py README.md
"""

import csv
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from labelkin.experiments.report.comparison import Comparison, method_title
from labelkin.experiments.report.published import MEASURES, PRINTED_METRICS, REFERENCE, published
from labelkin.experiments.report.ranks import Overall
from labelkin.experiments.report.table import listing, signed
from labelkin.experiments.run.peers import PEERS
from labelkin.experiments.run.results import check_results, read_results
from labelkin.metrics import METRICS

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from _holdout import Optimism, optimism_findings  # noqa: E402

BENCHMARKS = ROOT / "benchmarks" / "README.md"
RESULTS = ROOT / "results"
MARK = re.compile(r"^<!-- measured: (\S+) -->$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\((results/[^)]+)\)")
BLOCK = re.compile(r"^(<!-- measured: (\S+) -->)\n.*?^(<!-- end -->)$", re.MULTILINE | re.DOTALL)


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


FRONTIER = RESULTS / "frontier.csv"
SHOWN = ("mlknn", "vpcme", "krr", "kin")
OURS = ("kin", "krr")


@cache
def compare(path: Path) -> Comparison:
    """Return the comparison of all methods in a file of results."""
    return Comparison.of(check_results(read_results(path).results), None, components=None)


class Frontier:
    """Means of methods on datasets, and the published ones, as printed: to two decimals."""

    def __init__(self) -> None:
        found = compare(FRONTIER)
        self.metrics = list(PRINTED_METRICS)
        self.titles = {name: method_title(name) for name in SHOWN}
        self.datasets = sorted(found.datasets)
        means = [found.means(MEASURES[m]) * MEASURES[m].scale for m in self.metrics]
        # method → (dataset, metric)
        self.cells = {
            name: np.column_stack([frame.loc[self.datasets, name].round(2) for frame in means])
            for name in SHOWN
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

    def out_of_reach(self) -> str:
        """Return which published figures of VPCME the Kin ensemble does not reach."""
        short = self.signs * (self.cells["kin"] - self.printed) <= 1e-9
        hard = [self.metrics.index(name) for name in ("ranking_loss", "coverage")]
        yeast, business = (self.datasets.index(name) for name in ("yeast", "business"))
        loss, coverage = (
            (self.printed[row, column], self.cells["kin"][row, column])
            for row, column in zip((yeast, business), hard, strict=True)
        )
        return (
            f"The published ranking loss on yeast is {loss[0]:.2f} %, and the ensemble has "
            f"{loss[1]:.2f} %; the published coverage on business is {coverage[0]:.2f}, and the "
            f"ensemble has {coverage[1]:.2f}. Of the {short.sum()} published figures that the "
            f"ensemble does not beat, {short[:, hard].sum()} are of these two metrics."
        )


def rank_table() -> str:
    """Return ranks over all figures of the frontier: our methods and those of other libraries."""
    found = compare(FRONTIER).ranked
    overall = Overall(found)
    total = len(overall.block)
    rows = [
        [
            method_title(name),
            f"{overall.ranks[name]:.2f}",
            f"{overall.tied(name)} of {total}",
            "{} of {}".format(*overall.beaten(name)),
        ]
        for name in overall.order
        if name in PEERS or name in SHOWN
    ]
    head = [
        "method",
        f"average rank among {len(found.methods)} methods",
        "best or tied (corrected test, 5 %)",
        "published VPCME figures beaten",
    ]
    return table(head, rows)


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


# ---------------------------------------------------------------------------- test rows


HOLDOUT = RESULTS / "holdout.csv"


def holdout() -> str:
    """Return what the published test rows say, and the ranks on them; or nothing yet."""
    if not HOLDOUT.exists():
        return ""
    folds, found = compare(FRONTIER), compare(HOLDOUT)
    beside = Optimism(folds, found)
    sentences = " ".join(optimism_findings(folds, found, OURS))
    if absent := [method_title(name) for name in OURS if name not in beside.methods]:
        sentences += f" Not yet run there: {listing(absent)}."
    ranks, precision = beside.ranks(found), beside.precision(found)
    rows = [
        [
            method_title(name),
            f"{ranks[name]:.2f}",
            f"{beside.ranks(folds)[name]:.2f}",
            f"{precision[name]:.2f}",
            signed(beside.changes[name]),
        ]
        for name in beside.methods
        if name in PEERS or name in SHOWN
    ]
    head = [
        "method",
        f"average rank on test rows, among {len(beside.methods)} methods",
        "by folds",
        "average precision on test rows",
        "change from the folds",
    ]
    return f"{sentences}\n\n{table(head, rows)}"


# --------------------------------------------------------------------------- the paper's claims


def read_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of the report by its columns' names, without outer spaces."""
    with (RESULTS / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [{key.strip(): value for key, value in row.items()} for row in csv.DictReader(file)]


@cache
def verdicts() -> dict[str, list[str]]:
    """Return the claims of the paper's section 4 by verdict, the best verdict first."""
    found: dict[str, list[str]] = {"holds": [], "holds partly": [], "does not hold": []}
    for row in read_table("claims"):
        found.setdefault(row["verdict"], []).append(row["claim"])
    return {verdict: claims for verdict, claims in found.items() if claims}


def claims() -> str:
    """Return every claim under its verdict."""
    return "\n".join(
        f"- **{verdict.capitalize()}**: {'; '.join(claims)}."
        for verdict, claims in verdicts().items()
    )


def claims_count() -> str:
    """Return how many claims have which verdict."""
    words = {
        "holds": "{} hold", "holds partly": "{} hold partly", "does not hold": "{} do not hold",
        "not run": "{} were not tested",
    }  # fmt: skip
    depends = "for {} it depends on the rule for ties"
    counts: dict[str, int] = {}
    for verdict, claims in verdicts().items():
        text = words.get(verdict, depends)
        counts[text] = counts.get(text, 0) + len(claims)
    return (
        f"Of the {sum(counts.values())} claims of the paper's section 4 as we read them, "
        f"{listing([text.format(n) for text, n in counts.items()])} "
        "([each with its figures and tests](results/tables/claims.md))."
    )


def agreement() -> str:
    """Return how the measured means agree with the published ones."""
    rows = {row["method"]: row for row in read_table("agreement_index")}
    within = {
        name: (
            sum(int(row[f"{metric} within"]) for metric in PRINTED_METRICS),
            sum(int(row[f"{metric} of"]) for metric in PRINTED_METRICS),
        )
        for name, row in rows.items()
    }
    compared = [
        within[name] for name in ("rakel_k3", "iblr_scaled", "clr", "cchains", "mlknn_scaled")
    ]
    near, total = (sum(part) for part in zip(*compared, strict=True))
    own, own_total = within["vpcme"]
    precision = float(rows["vpcme"]["average_precision median difference"])
    loss = float(rows["vpcme"]["ranking_loss median difference"])
    return (
        f"{near} of the {total} published means of the five compared methods are within two "
        "published standard deviations of ours, if ties are broken by label index as in Mulan and "
        "each method has the settings that match its published column. For VPCME itself, "
        f"{own} of {own_total} are. Its measured average precision differs from the published one "
        f"by {signed(precision)} points (median over the datasets), its ranking loss by "
        f"{signed(loss)} "
        "([table](results/tables/agreement_index.md))."
    )


TABLES: dict[str, Callable[[], str]] = {
    "frontier": lambda: frontier().table("average_precision"),
    "frontier-ranks": rank_table,
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


PARTS = {
    **TABLES,
    "comparison": comparison,
    "out-of-reach": lambda: frontier().out_of_reach(),
    "holdout": holdout,
    "claims": claims,
    "claims-count": claims_count,
    "agreement": agreement,
}


def fill(text: str) -> str:
    """Return a text with the blocks between marks and their ends written anew."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{PARTS[block[2]]()}\n{block[3]}", text)


def _replace(app, docname: str, source: list[str]) -> None:
    if MARK.search(source[0]):
        sources = (BENCHMARKS, FRONTIER, HOLDOUT, *(RESULTS / "tables").glob("*.csv"))
        app.env.dependencies[docname].update(map(str, filter(Path.exists, sources)))
        text = MARK.sub(lambda mark: PARTS[mark[1]](), source[0])
        # A plain link: the results are copied into the site.
        up = "../" * docname.count("/")
        source[0] = LINK.sub(rf'<a href="{up}\2">\1</a>', text)


def setup(app) -> dict:
    """Put tables in while pages are read."""
    app.connect("source-read", _replace)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(fill(page.read_text(encoding="utf-8")), encoding="utf-8")
