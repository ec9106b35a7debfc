"""Logistic regression of all labels at once against one label after the other.

    python benchmarks/logistic.py [--data debtags yeast scene] [--auto]

Both have the same C: 10 on the texts of debtags, 1 on the paper's datasets. The other is
scikit-learn's `OneVsRestClassifier(LogisticRegression(solver="liblinear"))`; liblinear also
penalises the intercept, so that figures differ in the third digit. The first of the five fixed
folds is the test part. CPU seconds of one thread. ``--auto`` adds a fit that chooses C and
calibrates.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from _common import PAPER, folds, load, machine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from threadpoolctl import threadpool_limits

from labelkin import MultiLabelLogisticRegression
from labelkin.metrics import METRICS


def debtags():
    """Return texts as TF-IDF, tags as labels: training rows, their labels, test rows, theirs."""
    import os

    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import MultiLabelBinarizer

    table = pd.read_csv(Path(os.environ["LABELKIN_DATA"]) / "debtags-dev.csv.gz")
    text = table["text"].fillna("")
    Y = MultiLabelBinarizer().fit_transform(table["tags"].fillna("").str.split(";"))
    train, test = next(folds(len(table)))
    words = TfidfVectorizer(sublinear_tf=True, min_df=2)
    return words.fit_transform(text[train]), Y[train], words.transform(text[test]), Y[test]


def split(name):
    """Return training rows, their labels, test rows and theirs."""
    if name == "debtags":
        return debtags()
    X, Y = load(name)
    train, test = next(folds(X.shape[0]))
    return X[train], Y[train], X[test], Y[test]


def measure(model, X, Y, test, truth):
    """Return CPU seconds of the fit, average precision and ranking loss in percent."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Label not")
        started = time.process_time()
        model.fit(X, Y)
        taken = time.process_time() - started
    proba = model.predict_proba(test)
    shown = (METRICS["average_precision"], METRICS["ranking_loss"])
    return taken, *(100 * metric(truth, np.asarray(proba)) for metric in shown)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["debtags", *PAPER])
    parser.add_argument("--auto", action="store_true", help="also choose C, and calibrate")
    options = parser.parse_args()
    print(machine())
    titles = ("all at once", "one by one", *(["C chosen, calibrated"] if options.auto else []))
    print(f"{'CPU s, AP, ranking loss':24s}" + "".join(f"{t:>26s}" for t in titles) + "   ratio")
    for name in options.data:
        data = split(name)
        C = 10.0 if name == "debtags" else 1.0
        models = [
            MultiLabelLogisticRegression(C, n_jobs=1),
            OneVsRestClassifier(LogisticRegression(C=C, solver="liblinear")),
        ]
        if options.auto:
            models.append(MultiLabelLogisticRegression(n_jobs=1, random_state=0))
        found = [measure(model, *data) for model in models]
        cells = "".join(f"{t:12.2f} {ap:6.2f} {loss:6.2f}" for t, ap, loss in found)
        print(f"{name:24s}{cells} {found[1][0] / found[0][0]:7.1f}", flush=True)


if __name__ == "__main__":
    main()
