"""Whether the Kin ensemble's estimate of its own performance holds on new rows.

    python benchmarks/out_of_sample.py [--draws 10] [--jobs 2]

Made-up data of 400 rows and 150 correlated labels, of which some never occur in training:
weakly informative features; the same with the rows of the labels permuted; and labels drawn at
random. *estimate* is ``oob_score_``, *test* the average precision on 1,500 new rows, *frequency*
that of the labels' frequencies in training. In per cent, means over the draws.
"""

import argparse

import numpy as np

from labelkin import KinEnsembleClassifier
from labelkin.metrics import average_precision

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=None)
    args = parser.parse_args()
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
        cells = [*values.mean(axis=0), gap.mean(), np.abs(gap).max()]
        print(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
