"""What embeddings and n-grams of texts are worth, on splits inside the training part.

    python benchmarks/texts.py [--sizes 1500,8000] [--sources debtags,titles] [--methods kin]

*debtags*: descriptions of packages, and their 28 most frequent tags. *titles*: titles of books, and
28 groups of their subjects (clusters of the subjects' words). *unspaced*: the same titles without
spaces, as in Chinese. A fifth of the rows stays aside. Printed are average precision, ranking loss
and macro F1 (thresholds chosen for it on out-of-sample scores of the training rows) in percent of
1,500 other rows, and the CPU seconds of fit and predict.
"""

import argparse
import csv
import gzip
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from _common import machine
from joblib import Parallel, delayed
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer, normalize

from labelkin import KinEnsembleClassifier, MultiLabelLogisticRegression, TableClassifier
from labelkin.decisions import LabelDecision
from labelkin.metrics import average_precision, ranking_loss
from labelkin.tabular import _schema

METHODS = {"kin": KinEnsembleClassifier, "logistic": MultiLabelLogisticRegression}
FEATURES = {
    "words": {"embedding": "none", "ngrams": "none"},
    "and embeddings": {"ngrams": "none"},
    "and n-grams": {},
}


def read(name):
    """Return texts and lists of tags."""
    path = Path(os.environ["LABELKIN_DATA"]) / name
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    tags = [line["tags"].replace(";", "|").split("|") for line in lines]
    return np.array([line["text"] for line in lines], dtype=object), tags


def debtags():
    """Return the texts of packages, and whether they have each of the most frequent tags."""
    texts, tags = read("debtags-dev.csv.gz")
    Y = MultiLabelBinarizer().fit_transform([" ".join(row).split() for row in tags])
    return texts, Y[:, np.argsort(-Y.sum(axis=0), kind="stable")[:28]]


def titles(n=55_000, n_groups=28):
    """Return titles and groups of subjects."""
    texts, tags = read("yso-dev.csv.gz")
    some = np.random.default_rng(0).permutation(len(texts))[:n]
    texts, tags = texts[some], [tags[i] for i in some]
    Y = MultiLabelBinarizer(sparse_output=True).fit_transform(tags).astype(float)
    words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts)
    centroids = normalize(Y.T @ words)
    directions = normalize(TruncatedSVD(60, random_state=0).fit_transform(centroids))
    group = MiniBatchKMeans(n_groups, random_state=0, n_init=3).fit_predict(directions)
    found = [np.asarray(Y[:, group == g].sum(axis=1)).ravel() > 0 for g in range(n_groups)]
    return texts, np.column_stack(found).astype(int)


def unspaced():
    """Return titles without spaces."""
    texts, Y = titles()
    return np.array(["".join(text.split()) for text in texts], dtype=object), Y


def measure(source, data, size, method, features):
    """Return a line of the table."""
    texts, Y = data
    # Unspaced texts are recognised by their script, which that of titles is not.
    _schema.is_unspaced = lambda texts: source == "unspaced"
    rows = np.random.default_rng(5).permutation(len(texts))[: int(0.8 * len(texts))]
    train, test = rows[:-1_500][:size], rows[-1_500:]
    X = pd.DataFrame({"text": texts})
    classifier = METHODS[method](random_state=0, n_jobs=1)
    model = TableClassifier(classifier, columns={"text": "text"}, **FEATURES[features])
    started = time.process_time()
    model.fit(X.iloc[train], Y[train])
    fitted = time.process_time()
    proba = model.predict_proba(X.iloc[test])
    predicted, seconds = time.process_time() - fitted, fitted - started
    fitted = model.estimator_
    known = (fitted.oof_proba_, train) if method != "kin" else (
        fitted.oob_proba_, train[fitted.oob_indices_]
    )  # fmt: skip
    labels = LabelDecision("macro_f1").fit(known[0], Y[known[1]]).apply(proba)
    figures = average_precision(Y[test], proba), ranking_loss(Y[test], proba)
    figures += (f1_score(Y[test], labels, average="macro", zero_division=0),)
    shown = " | ".join(f"{100 * value:.2f}" for value in figures)
    row = f"{source} | {len(train):,} | {method} | {features} | {shown}"
    return f"| {row} | {seconds:.0f} | {predicted:.1f} |"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="300,1500,8000")
    parser.add_argument("--sources", default="debtags,titles")
    parser.add_argument("--methods", default="kin,logistic")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print(machine())
    print("| texts | rows | classifier | features | average precision | ranking loss | macro F1 "
          "| fit s | predict s |")  # fmt: skip
    print("|---" * 9 + "|")
    data = {name: globals()[name]() for name in options.sources.split(",")}
    cells = [
        delayed(measure)(source, data[source], size, method, features)
        for size in sorted(map(int, options.sizes.split(",")), reverse=True)
        for source in data
        for method in options.methods.split(",")
        for features in FEATURES
        if size + 1_500 <= 0.8 * len(data[source][0])
    ]
    for line in Parallel(options.jobs, return_as="generator")(cells):
        print(line, flush=True)


if __name__ == "__main__":
    main()
