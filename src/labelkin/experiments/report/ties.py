"""The same results under two rules for labels with equal scores.

The metrics count a tie against the method; Mulan, whose figures the paper's compared methods
have, ranks tied labels by their index. Every cell holds the figures by both rules.
"""

from typing import TYPE_CHECKING

from labelkin.experiments.report.comparison import TESTS, Comparison, method_title
from labelkin.experiments.report.measures import MEASURES
from labelkin.experiments.report.published import COLUMNS, PRINTED_METRICS, column
from labelkin.experiments.report.statistics import friedman
from labelkin.experiments.report.table import Entry, Table
from labelkin.experiments.run.columns import BY_INDEX

if TYPE_CHECKING:
    from pandas import DataFrame

RULES = {"against": "ties against", "index": "ties by index"}
"""The rules, in words."""

_TIED = tuple(BY_INDEX.values())


def by_index(results: "DataFrame") -> "DataFrame":
    """Return checked results with ties broken by label index; only cells that have such figures."""
    kept = results[results[list(BY_INDEX)].notna().all(axis=1) | (results["status"] != "ok")]
    return kept.assign(**{name: kept[column] for column, name in BY_INDEX.items()})


def paper_columns(comparison: Comparison, *, as_published: bool) -> list[str]:
    """Return the six methods of the paper's Table 3 among those compared.

    With `as_published` those with the settings that the printed columns match (RAkEL with k = 3,
    features scaled as in WEKA) instead of those that the text states.
    """
    chosen = []
    for name in COLUMNS:
        variants = [m for m in comparison.methods if column(m) == name and m != name]
        pick = variants[0] if as_published and variants else name
        if pick in comparison.methods:
            chosen.append(pick)
    return chosen


def wins_by_rule(comparisons: dict[str, Comparison]) -> Table | None:
    """Return wins/ties/losses of the reference in the metrics of rankings under each rule."""
    first = next(iter(comparisons.values()))
    reference = first.reference
    others = [name for name in first.methods if name != reference]
    if reference is None or not others:
        return None
    rows, entries = {}, {}
    for method in others:
        for rule, comparison in comparisons.items():
            for test in TESTS:
                key = f"{method} {rule} {test}"
                rows[key] = f"{method_title(method)}, {RULES[rule]}, {test} test"
                counts = {
                    name: comparison.wins(method, MEASURES[name], test)
                    if method in comparison.methods
                    else (0, 0, 0)
                    for name in _TIED
                }
                win, tie, loss = (sum(part) for part in zip(*counts.values(), strict=True))
                for name, found in {**counts, "total": (win, tie, loss)}.items():
                    numbers = dict(zip(("win", "tie", "loss"), found, strict=True))
                    text = "/".join(map(str, found)) if any(found) else "–"
                    entries[key, name] = Entry(text, numbers, float(found[0] - found[2]))
    return Table(
        name="ties_wins",
        title=f"Wins/ties/losses of {method_title(reference)} in the metrics of rankings, "
        "by the rule for tied labels",
        caption="Ties against: irrelevant labels stand before relevant ones with the same score. "
        "Ties by index: the label with the higher index stands first, as in Mulan. Tests: "
        + "; ".join(first.describe_test(test) for test in TESTS)
        + ".",
        corner="Against",
        columns={name: MEASURES[name].directed_title for name in _TIED} | {"total": "Total"},
        rows=rows,
        entries=entries,
    )


def rank_tables(comparisons: dict[str, Comparison]) -> list[Table]:
    """Return the average ranks of the paper's six columns, under each rule for ties.

    One table has the settings that the text states, the other those that the printed columns
    match; other methods are not ranked.
    """
    first = next(iter(comparisons.values()))
    as_text, as_published = (paper_columns(first, as_published=a) for a in (False, True))
    tables = [_rank_table(comparisons, as_text, "settings of the text", "ranks_text")]
    if as_published != as_text:
        words = "settings of the published columns"
        tables.append(_rank_table(comparisons, as_published, words, "ranks_published"))
    return [table for table in tables if table is not None]


def _rank_table(
    comparisons: dict[str, Comparison], methods: list[str], words: str, name: str
) -> Table | None:
    chosen = {rule: comparison.among(methods) for rule, comparison in comparisons.items()}
    rows, entries, n_datasets = {}, {}, set()
    for metric in PRINTED_METRICS:
        for rule, comparison in chosen.items():
            if rule != "against" and metric not in _TIED:
                continue
            block = comparison.complete_means(MEASURES[metric])
            if min(block.shape) < 2 or block.shape[1] < len(methods):
                continue
            result = friedman(block, greater_is_better=MEASURES[metric].greater_is_better)
            key = f"{metric} {rule}"
            rows[key] = MEASURES[metric].directed_title
            rows[key] += f", {RULES[rule]}" if metric in _TIED else ""
            n_datasets.add(len(block))
            least = result.ranks.min()
            for method, rank in result.ranks.items():
                entries[key, str(method)] = Entry(
                    f"{rank:.2f}", {"": round(rank, 6)}, rank, bool(rank == least)
                )
            entries[key, "cd"] = Entry(f"{result.cd:.2f}", {"": round(result.cd, 6)}, result.cd)
    if len(methods) < 2 or not rows:
        return None
    counted = " to ".join(map(str, sorted({min(n_datasets), max(n_datasets)})))
    return Table(
        name=name,
        title=f"Average ranks of the paper's six methods, {words}",
        caption=f"Over {counted} datasets, 1 the best; last, Nemenyi's critical difference at 5 %.",
        corner="Metric",
        columns={method: method_title(method) for method in methods}
        | {"cd": "Critical difference"},
        rows=rows,
        entries=entries,
    )
