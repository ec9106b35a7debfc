"""How far statistics of the datasets (Table 2) and measured figures agree with published ones."""

from typing import TYPE_CHECKING

import numpy as np

from labelkin.datasets import dataset_info
from labelkin.experiments.report.comparison import TESTS, Comparison, method_title
from labelkin.experiments.report.measures import MEASURES, Measure
from labelkin.experiments.report.published import REFERENCE, printed_statistics, published
from labelkin.experiments.report.table import Entry, Table
from labelkin.experiments.report.tables import signed
from labelkin.experiments.report.ties import RULES

if TYPE_CHECKING:
    from pandas import DataFrame


_DIGITS = {"cardinality": 3, "density": 3}
_TITLES = {
    "instances": "Instances", "features": "Features", "labels": "Labels",
    "distinct": "Distinct label sets", "cardinality": "Cardinality", "density": "Density",
}  # fmt: skip


def dataset_table(datasets: list[str]) -> Table | None:
    """Return the six statistics of those of the paper's datasets that were run.

    Ours are the figures of the registry, which every dataset is checked against when it is read.
    """
    known = [name for name in printed_statistics() if name in datasets]
    if not known:
        return None
    entries = {}
    differences = []
    for dataset in known:
        ours, printed = dataset_info(dataset).statistics, printed_statistics()[dataset]
        for key, title in _TITLES.items():
            texts = [f"{value:.{_DIGITS.get(key, 0)}f}" for value in (ours[key], printed[key])]
            if texts[0] != texts[1]:
                differences.append(f"{dataset}: {title.lower()} {texts[0]}, printed {texts[1]}")
            numbers = {"": ours[key], "published": printed[key]}
            entries[dataset, key] = Entry(texts[0], numbers, float(ours[key]), published=texts[1])
    agree = len(entries) - len(differences)
    caption = f"Beneath: as printed. {agree} of {len(entries)} figures agree"
    caption += f"; others: {'; '.join(differences)}." if differences else "."
    return Table(
        name="table2",
        title="Table 2: the datasets",
        caption=caption,
        corner="Dataset",
        columns=_TITLES,
        rows={name: name for name in known},
        entries=entries,
    )


def differences(comparison: Comparison, measure: Measure) -> "DataFrame":
    """Return measured minus published, scaled: datasets by methods that have both."""
    measured = comparison.means(measure) * measure.scale
    return (
        (measured - _published(comparison, measure, "mean"))
        .dropna(how="all")
        .dropna(how="all", axis=1)
    )


def _published(comparison: Comparison, measure: Measure, part: str) -> "DataFrame":
    """Return the published means or standard deviations, NaN where there is none."""
    import pandas as pd

    found = {
        method: [
            getattr(published(dataset, method, measure.name), part, np.nan)
            for dataset in comparison.datasets
        ]
        for method in comparison.methods
    }
    return pd.DataFrame(found, index=comparison.datasets, dtype=float)


def _near(comparison: Comparison, measure: Measure, found: "DataFrame") -> "DataFrame":
    """Return where differences are within two published standard deviations."""
    return found.abs() <= 2 * _published(comparison, measure, "std").reindex_like(found)


def agreement_table(comparison: Comparison, rule: str = "against") -> Table | None:
    """Return measured minus published by method and metric; None where nothing is published.

    `rule`: the rule for tied labels by which the figures were made.
    """
    entries, columns = {}, {}
    for key, measure in MEASURES.items():
        found = differences(comparison, measure)
        near = _near(comparison, measure, found)
        for method in found:
            columns[key] = measure.heading
            median, n_near = float(found[method].median()), int(near[method].sum())
            n = int(found[method].count())
            numbers = {"median difference": round(median, 6), "within": n_near, "of": n}
            text = f"{signed(median)} ({n_near}/{n})"
            entries[str(method), key] = Entry(text, numbers, median)
    if not entries:
        return None
    printed = {method for method, _ in entries}
    return Table(
        name="agreement" if rule == "against" else f"agreement_{rule}",
        title=f"Measured minus published, {RULES[rule]}",
        caption="Median difference over datasets, and the number of datasets whose measured mean "
        "is within two published standard deviations.",
        corner="Method",
        columns=columns,
        rows={name: method_title(name) for name in comparison.methods if name in printed},
        entries=entries,
    )


def agreement_findings(comparison: Comparison) -> list[str]:
    """Return sentences on how far the measured figures confirm the published ones."""
    near = total = 0
    for measure in MEASURES.values():
        found = differences(comparison, measure)
        near += int(_near(comparison, measure, found).to_numpy().sum())
        total += int(found.count().sum())
    sentences = []
    if total:
        sentences.append(
            f"{near} of {total} measured means ({near / total:.0%}) are within two published "
            "standard deviations of the published mean."
        )
    tested = [
        contrast
        for measure in MEASURES.values()
        for method in comparison.methods
        for dataset, contrast in comparison.against(method, measure).items()
        if (printed := published(dataset, method, measure.name)) and printed.mark == "•"
    ]
    if tested and comparison.reference == REFERENCE:
        paired, corrected = (sum(c.mark(test) == "•" for c in tested) for test in TESTS)
        sentences.append(
            f"Of {len(tested)} published wins of VPCME that were measured here, {paired} hold by "
            f"the paper's test and {corrected} by the corrected one."
        )
    return sentences
