"""Nested labels: consistent probabilities against flat ones and against local classifiers per node.

    python benchmarks/hierarchy.py [--rows 4000] [--datasets debtags,medical]

debtags: descriptions of packages, whose tags have facets (``role::program``). The others are
datasets that are nested here: labels that often occur together are joined under a parent. All
methods use the same logistic regression.

*single path*: rows with one leaf only, the task of hiclass (``pip install hiclass``; without it
these lines are left out). *all rows*: any number of leaves; hiclass has no version for these, so
local classifiers per node are built here as it does: each is trained on the rows of its parent, and
a label is predicted where all of its ancestors are. Figures are per cent on the test part, a fifth.
"""

import argparse
import gzip
import time

import numpy as np
from _common import folds, load, machine
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from labelkin import MultiLabelLogisticRegression
from labelkin.hierarchy import HierarchyClassifier, LabelHierarchy


def base():
    """Return the logistic regression of all methods."""
    return LogisticRegression(solver="liblinear", C=3.0)


def debtags(n_rows):
    """Return words, the closed labels and the hierarchy of some packages."""
    import csv
    import os

    from sklearn.feature_extraction.text import TfidfVectorizer

    path = f"{os.environ['LABELKIN_DATA']}/debtags-dev.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))[:n_rows]]
    tags = [row["tags"].split(";") for row in rows]
    names = sorted({tag for row in tags for tag in row})
    place = {name: i for i, name in enumerate(names)}
    hierarchy = LabelHierarchy.from_names(names, "::")
    Y = np.zeros((len(rows), len(hierarchy.names)), int)
    for i, row in enumerate(tags):
        Y[i, [place[tag] for tag in row]] = 1
    words = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform([r["text"] for r in rows])
    return words, hierarchy.closure(Y), hierarchy


def nested(name, n_rows):
    """Return a dataset whose labels are joined under parents by how often they occur together."""
    X, Y = load(name)
    X, Y = X[:n_rows], np.asarray(Y[:n_rows])
    Y = Y[:, Y.sum(axis=0) > 0]
    together = linkage(Y.T.astype(float), "average", "jaccard")
    parents = fcluster(together, max(3, Y.shape[1] // 6), "maxclust")
    labels = [f"l{i}" for i in range(Y.shape[1])]
    pairs = [(f"p{parent}", label) for parent, label in zip(parents, labels, strict=True)]
    hierarchy = LabelHierarchy(pairs, labels)
    wide = np.zeros((len(Y), len(hierarchy.names)), int)
    wide[:, : Y.shape[1]] = Y
    return X, hierarchy.closure(wide), hierarchy


def local_classifiers(X, Y, hierarchy, queries):
    """Return label sets of one classifier per node, trained on the rows of its parent, top down."""
    parent = {child: above for above, child in hierarchy.edges.tolist()}
    sets = np.zeros((queries.shape[0], Y.shape[1]), int)
    depth = hierarchy.ancestors().sum(axis=1)
    for label in np.argsort(depth, kind="stable").tolist():  # parents first
        rows = np.arange(len(Y)) if label not in parent else np.flatnonzero(Y[:, parent[label]])
        reached = np.ones(len(sets), bool) if label not in parent else sets[:, parent[label]] > 0
        y = Y[rows, label]
        if not reached.any() or not len(y):
            continue
        if y.min() == y.max():
            sets[reached, label] = y[0]
        else:
            sets[reached, label] = base().fit(X[rows], y).predict(queries[reached])
    return sets


def show(title, hierarchy, truth, sets, seconds):
    """Print hierarchical figures, and the share of rows that do not keep to the hierarchy."""
    found = hierarchy.scores(truth, sets)
    above, below = hierarchy.edges.T
    wrong = (sets[:, below] > sets[:, above]).any(axis=1).mean()
    figures = "  ".join(f"{100 * found[key]:6.2f}" for key in ("precision", "recall", "f1"))
    print(f"  {title:46} {figures}  {100 * wrong:6.2f}  {seconds:7.1f} s", flush=True)


def best_path(proba, leaves, hierarchy):
    """Return the leaf whose path has the largest sum of probabilities, with its ancestors."""
    along = proba @ hierarchy.ancestors().astype(float).T
    sets = np.zeros(proba.shape, int)
    sets[np.arange(len(proba)), leaves[along[:, leaves].argmax(axis=1)]] = 1
    return hierarchy.closure(sets)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--datasets", default="debtags,medical,enron")
    options = parser.parse_args()
    print(machine())
    for name in options.datasets.split(","):
        read = debtags if name == "debtags" else lambda rows, name=name: nested(name, rows)
        X, Y, hierarchy = read(options.rows)
        leaves = np.setdiff1d(np.arange(Y.shape[1]), hierarchy.edges[:, 0])
        for task in ("all rows", "single path"):
            rows = np.arange(len(Y))
            if task == "single path":
                rows = np.flatnonzero(Y[:, leaves].sum(axis=1) == 1)
                depth = np.bincount(hierarchy.edges[:, 1], minlength=Y.shape[1])
                rows = rows[depth[leaves[Y[rows][:, leaves].argmax(axis=1)]] == 1]
                if len(rows) < 200:
                    continue
            train, test = next(iter(folds(len(rows))))
            train, test = rows[train], rows[test]
            known = Y[train].any(axis=0)
            print(f"\n{name}, {task}: {len(train):,} rows, {known.sum()} labels\n"
                  f"  {'':46} precision  recall  F1  inconsistent  fit and predict")  # fmt: skip
            started = time.perf_counter()
            flat = OneVsRestClassifier(base()).fit(X[train], Y[train][:, known])
            proba = np.zeros(Y[test].shape)
            proba[:, known] = flat.predict_proba(X[test])
            lasted = time.perf_counter() - started
            if task == "all rows":
                show("one-vs-rest", hierarchy, Y[test], (proba > 0.5).astype(int), lasted)
                started = time.perf_counter()
                sets = hierarchy.decide(hierarchy.project(proba)).astype(int)
                lasted += time.perf_counter() - started
                show("one-vs-rest, projected", hierarchy, Y[test], sets, lasted)
                sets, _, lasted = _classify(X, Y, hierarchy, train, test, known)
                show(
                    "HierarchyClassifier, our logistic regression", hierarchy, Y[test], sets, lasted
                )
                started = time.perf_counter()
                sets = local_classifiers(X[train], Y[train], hierarchy, X[test])
                lasted = time.perf_counter() - started
                show("local classifier per node", hierarchy, Y[test], sets, lasted)
                continue
            show("one-vs-rest, best path", hierarchy, Y[test], best_path(proba, leaves, hierarchy),
                 lasted)  # fmt: skip
            sets = best_path(hierarchy.project(proba), leaves, hierarchy)
            show("one-vs-rest, projected, best path", hierarchy, Y[test], sets, lasted)
            _, proba, lasted = _classify(X, Y, hierarchy, train, test, known)
            sets = best_path(proba, leaves, hierarchy)
            show("HierarchyClassifier, our logistic, best path", hierarchy, Y[test], sets, lasted)
            _compare_hiclass(X, Y, hierarchy, leaves, train, test)


def _classify(X, Y, hierarchy, train, test, known):
    """Return sets and probabilities of labelkin's classifier, and its seconds."""
    names = [name for name, keep in zip(hierarchy.names, known, strict=True) if keep]
    pairs = [pair for pair in hierarchy.pairs() if set(pair) <= set(names)]
    model = HierarchyClassifier(
        MultiLabelLogisticRegression(random_state=0), LabelHierarchy(pairs, names)
    )
    started = time.perf_counter()
    model.fit(X[train], Y[train][:, known])
    sets, proba = np.zeros(Y[test].shape, int), np.zeros(Y[test].shape)
    sets[:, known], proba[:, known] = model._predict_with_proba(X[test])
    return sets, proba, time.perf_counter() - started


def _compare_hiclass(X, Y, hierarchy, leaves, train, test):
    try:
        import hiclass
    except ImportError:
        print("  hiclass is not installed")
        return
    parent = {child: above for above, child in hierarchy.edges.tolist()}
    leaf = leaves[Y[:, leaves].argmax(axis=1)]
    paths = np.array([[hierarchy.names[parent[i]] if i in parent else "", hierarchy.names[i]]
                      for i in leaf.tolist()], dtype=object)  # fmt: skip
    place = {name: i for i, name in enumerate(hierarchy.names)}
    started = time.perf_counter()
    found = hiclass.LocalClassifierPerNode(base()).fit(X[train], paths[train]).predict(X[test])
    lasted = time.perf_counter() - started
    sets = np.zeros(Y[test].shape, int)
    for row, path in enumerate(np.asarray(found)):
        sets[row, [place[str(name)] for name in path if str(name) in place]] = 1
    show("hiclass, local classifier per node", hierarchy, Y[test], hierarchy.closure(sets), lasted)


if __name__ == "__main__":
    main()
