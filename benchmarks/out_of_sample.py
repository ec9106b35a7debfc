"""The Kin ensemble on new rows: against other methods, its parts, and its own estimate.

    python benchmarks/out_of_sample.py [--draws 10] [--jobs 2] [--tables] [--parts] [--repeats 1]

With ``--tables``: thirteen small tables of mixed kinds (`_tables.py`), five folds of each: average
precision of Kin, of its best single member in hindsight, of forests of 500 trees and of gradient
boosting, one model per label; and by how much ``oob_score_`` differs. In per cent, means over the
folds. ``--parts`` compares Kin with its members alone, by ranking loss and coverage too: how many
points of average precision it is ahead, and how many per cent of the other two. With ``--repeats``
means over more folds: with few rows, five folds decide little.

Without: made-up data of 400 rows and 150 correlated labels, of which some never occur in training:
weakly informative features; the same with the rows of the labels permuted; and labels drawn at
random. *estimate* is ``oob_score_``, *test* the average precision on 1,500 new rows, *frequency*
that of the labels' frequencies in training. Means over the draws.
"""

import argparse

import numpy as np
from _common import folds
from _tables import tables
from scipy.special import expit
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from labelkin import BinaryRelevanceClassifier, KinEnsembleClassifier
from labelkin.metrics import average_precision, coverage, ranking_loss

N_TRAIN, N_TEST, N_LABELS, N_FEATURES, N_FACTORS = 400, 1500, 150, 30, 6


def make(seed):
    """Return features, labels of the same rows, and the generator that drew them."""
    rng = np.random.default_rng(seed)
    n = N_TRAIN + N_TEST
    directions = rng.normal(size=(N_FEATURES, N_FACTORS))
    loadings = rng.normal(size=(N_FACTORS, N_LABELS))
    X = rng.normal(size=(n, N_FEATURES))
    factors = 0.6 * X @ directions / N_FEATURES**0.5 + rng.normal(size=(n, N_FACTORS))
    log_odds = 0.7 * factors @ loadings + rng.normal(-3.2, 1.0, N_LABELS)
    return X, (log_odds + rng.logistic(size=log_odds.shape) > 0).astype(np.uint8), rng


def figures(X, Y, seed, jobs):
    """Return estimate, test and frequency score of one draw."""
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
    model = KinEnsembleClassifier(random_state=seed, n_jobs=jobs).fit(X[train], Y[train])
    frequency = np.tile(Y[train].mean(axis=0), (N_TEST, 1))
    new = average_precision(Y[test], model.predict_proba(X[test]))
    return model.oob_score_, new, average_precision(Y[test], frequency)


PEERS = {
    "random forest": RandomForestClassifier(500, random_state=0),
    "extra trees": ExtraTreesClassifier(500, random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}


def member_proba(model, X):
    """Return the probabilities by each member of a Kin ensemble alone."""
    scores = model._member_scores(X)
    return expit(model.combination_.member_log_odds(scores))


def compare(X, Y, jobs):
    """Return the figures of one table: the estimate's difference, Kin, its best member, peers."""
    rows = []
    for fold, (train, test) in enumerate(folds(len(X))):
        model = KinEnsembleClassifier(random_state=fold, n_jobs=jobs).fit(X[train], Y[train])
        scores = [model.predict_proba(X[test])]
        for peer in PEERS.values():
            fitted = BinaryRelevanceClassifier(peer, n_jobs=1).fit(X[train], Y[train])
            scores.append(fitted.predict_proba(X[test]))
        scores += member_proba(model, X[test])
        figures = [average_precision(Y[test], score) for score in scores]
        rows.append([model.oob_score_ - figures[0], *figures])
    means = 100 * np.mean(rows, axis=0)
    first = 2 + len(PEERS)
    return [*means[:2], means[first:].max(), *means[2:first]]


def compare_parts(X, Y, jobs, repeats):
    """Return by how much Kin is ahead of its best members, and the estimate's difference."""
    metrics = [average_precision, ranking_loss, coverage]
    gaps, kin, members = [], [], []
    for repeat in range(repeats):
        for fold, (train, test) in enumerate(folds(len(X), repeat)):
            model = KinEnsembleClassifier(random_state=fold, n_jobs=jobs).fit(X[train], Y[train])
            scores = [model.predict_proba(X[test]), *member_proba(model, X[test])]
            figures = np.array([[m(Y[test], score) for m in metrics] for score in scores])
            gaps.append(model.oob_score_ - figures[0, 0])
            kin.append(figures[0])
            members.append(figures[1:])
    own, parts = np.mean(kin, axis=0), np.mean(members, axis=0)
    least = parts[:, 1:].min(axis=0)
    points = [100 * np.mean(gaps), 100 * own[0], 100 * (own[0] - parts[:, 0].max())]
    return [*points, 100 * own[1], *(100 * (least - own[1:]) / least)]


def print_row(name, cells):
    """Print a row of a Markdown table."""
    print(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--repeats", type=int, default=1, help="with --parts")
    args = parser.parse_args()
    if args.parts:
        ahead = "ranking loss | % less | coverage, % less"
        print("| table | estimate − test | Kin | ahead of the best member |", ahead, "|")
        print("|---" * 7 + "|")
        for name, X, Y in tables():
            print_row(name, compare_parts(X, Y, args.jobs, args.repeats))
        return
    if args.tables:
        print("| table | estimate − test | Kin | best member |", " | ".join(PEERS), "|")
        print("|---" * (4 + len(PEERS)) + "|")
        for name, X, Y in tables():
            print_row(name, compare(X, Y, args.jobs))
        return
    results = {"weak features": [], "permuted labels": [], "random labels": []}
    for seed in range(args.draws):
        X, Y, rng = make(seed)
        random = (rng.random(Y.shape) < Y.mean(axis=0)).astype(np.uint8)
        labels = (Y, Y[rng.permutation(len(Y))], random)
        for name, L in zip(results, labels, strict=True):
            results[name].append(figures(X, L, seed, args.jobs))
    print("| labels | estimate | test | frequency | mean difference | largest |")
    print("|---|---|---|---|---|---|")
    for name, values in results.items():
        values = 100 * np.array(values)
        gap = values[:, 0] - values[:, 1]
        print_row(name, [*values.mean(axis=0), gap.mean(), np.abs(gap).max()])


if __name__ == "__main__":
    main()
