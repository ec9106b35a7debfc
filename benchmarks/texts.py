"""What embeddings and n-grams of texts are worth, on splits inside the training part.

    python benchmarks/texts.py [--sizes 300,1500,4000]

*debtags*: descriptions of packages, and their tags. *titles*: titles of books, and 28 groups of
their subjects (clusters of the subjects' words). A fifth of the rows, which other benchmarks test
on, stays aside. Printed are average precision and ranking loss in percent of 900 other rows, and
the CPU seconds of the fit with its features.
"""

import argparse
import csv
import gzip
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _common import machine
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, normalize

from labelkin import KinEnsembleClassifier, MultiLabelLogisticRegression
from labelkin.metrics import average_precision, ranking_loss
from labelkin.tabular import TextFeatures


def read(name):
    """Return texts and lists of tags."""
    path = Path(os.environ["LABELKIN_DATA"]) / name
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    tags = [line["tags"].replace(";", "|").split("|") for line in lines]
    return np.array([line["text"] for line in lines], dtype=object), tags


def debtags():
    """Return the texts and tags of packages."""
    texts, tags = read("debtags-dev.csv.gz")
    return texts, MultiLabelBinarizer().fit_transform([" ".join(row).split() for row in tags])


def titles(n=43_410, n_groups=28):
    """Return titles and groups of subjects."""
    texts, tags = read("yso-dev.csv.gz")
    some = np.random.default_rng(0).permutation(len(texts))[:n]
    texts, tags = texts[some], [tags[i] for i in some]
    Y = MultiLabelBinarizer(sparse_output=True).fit_transform(tags).astype(float)
    words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts)
    centroids = normalize(Y.T @ words)
    directions = normalize(TruncatedSVD(60, random_state=0).fit_transform(centroids))
    group = MiniBatchKMeans(n_groups, random_state=0, n_init=3).fit_predict(directions)
    return texts, np.column_stack([Y[:, group == g].sum(axis=1) > 0 for g in range(n_groups)])


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="300,1500,4000")
    options = parser.parse_args()
    print(machine())
    print("| texts | rows | classifier | features | average precision | ranking loss | seconds |")
    print("|---|---|---|---|---|---|---|")
    methods = {
        "Kin": lambda n: KinEnsembleClassifier(n_embedding=n, random_state=0),
        "logistic regression": lambda n: MultiLabelLogisticRegression(),
    }
    kinds = {
        "words": {"embedding": None},
        "words, embeddings": {},
        "words, n-grams": {"embedding": None, "ngrams": True},
        "words, n-grams, embeddings": {"ngrams": True},
    }
    for source in (debtags, titles):
        texts, Y = source()
        Y = np.asarray(Y).astype(int)
        rows = np.random.default_rng(5).permutation(len(texts))[: int(0.8 * len(texts))]
        for size in map(int, options.sizes.split(",")):
            train, test = rows[:size], rows[-900:]
            for method, make in methods.items():
                for title, parameters in kinds.items():
                    if method == "Kin" and "ngrams" in parameters:
                        continue
                    n_embedding = 0 if "embedding" in parameters else 256
                    model = make_pipeline(TextFeatures(**parameters), make(n_embedding))
                    started = time.process_time()
                    model.fit(texts[train], Y[train])
                    seconds = time.process_time() - started
                    proba = model.predict_proba(texts[test])
                    figures = [f(Y[test], proba) for f in (average_precision, ranking_loss)]
                    shown = " | ".join(f"{100 * value:.2f}" for value in figures)
                    row = f"{source.__name__} | {size:,} | {method} | {title} | {shown}"
                    print(f"| {row} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
