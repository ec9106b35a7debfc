"""Table 2: the statistics of the datasets, ours above the paper's."""

import csv
from functools import cache
from importlib import resources

from labelkin.datasets import dataset_info
from labelkin.experiments.report.table import Entry, Table

_DIGITS = {"cardinality": 3, "density": 3}
_TITLES = {
    "instances": "Instances", "features": "Features", "labels": "Labels",
    "distinct": "Distinct label sets", "cardinality": "Cardinality", "density": "Density",
}  # fmt: skip


@cache
def printed_statistics() -> dict[str, dict[str, float]]:
    """Return the statistics of the paper's Table 2 by dataset."""
    path = resources.files("labelkin.experiments.report") / "data" / "table2.csv"
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return {row.pop("dataset"): {k: float(v) for k, v in row.items()} for row in rows}


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
