"""Small tables of mixed kinds: scikit-learn's, and made-up ones with known interactions."""

import numpy as np
from sklearn import datasets


def above(values, *quantiles):
    """Return columns of 0 and 1: whether values are above their quantiles."""
    return np.column_stack([values > np.quantile(values, q) for q in quantiles])


def measured():
    """Return scikit-learn's tables; columns that became labels are no features."""
    diabetes = datasets.load_diabetes()
    X, target = diabetes.data, diabetes.target
    labels = [above(target, 0.25, 0.5, 0.75), above(X[:, 2], 0.6), above(X[:, 4], 0.7)]
    yield "diabetes", np.delete(X, [2, 4], 1), np.hstack(labels)

    wine = datasets.load_wine()
    X, kinds = wine.data, np.eye(3)[wine.target]
    labels = [kinds, above(X[:, 0], 0.5), above(X[:, 9], 0.6), above(X[:, 12], 0.7)]
    yield "wine", np.delete(X, [0, 9, 12], 1), np.hstack(labels)

    cancer = datasets.load_breast_cancer()
    X = cancer.data
    labels = [above(X[:, j], q) for j, q in ((0, 0.5), (4, 0.7), (9, 0.6), (14, 0.8))]
    kept = np.delete(X, [0, 2, 3, 4, 9, 14], 1)[:, ::2]
    yield "breast cancer", kept, np.hstack([cancer.target[:, None], *labels])

    iris = datasets.load_iris()
    X, kinds = iris.data, np.eye(3)[iris.target]
    yield "iris", np.delete(X, 1, 1), np.hstack([kinds, above(X[:, 1], 0.3, 0.7)])

    digits = datasets.load_digits(n_class=10)
    X, digit = digits.data[:600], digits.target[:600]
    groups = [digit % 2 == 0, digit > 4, np.isin(digit, [0, 6, 8, 9])]
    yield "digits", X, np.column_stack([np.eye(10)[digit], *groups])

    linnerud = datasets.load_linnerud()
    yield "linnerud", linnerud.data, np.hstack([above(t, 0.5) for t in linnerud.target.T])


def made_up(seed, n, n_labels, missing=0.0):
    """Return numbers on odd scales, categories as columns of 0 and 1, and labels by rules."""
    rng = np.random.RandomState(seed)
    Z, category = rng.standard_normal((n, 6)), rng.randint(0, 5, (n, 3))
    odd = [np.exp(2 * Z[:, 0]), 1000 * Z[:, 1], np.round(3 * Z[:, 2]), Z[:, 3] ** 3]
    noise = rng.standard_normal((6, n)) * [[1], [10], [100], [0.1], [1], [5]]
    numbers = np.column_stack([*odd, rng.gamma(1, 50, n), *noise])
    labels = []
    for _ in range(n_labels):
        a, b, c, value = *rng.randint(0, 4, 2), rng.randint(0, 3), rng.randint(0, 5)
        score = (Z[:, a] > 0.5 * rng.normal()).astype(float)
        score += 1.5 * (category[:, c] == value) * rng.choice([-1, 1])
        score += ((Z[:, b] > 0) & (category[:, (c + 1) % 3] > 2)) * rng.choice([-1, 1, 2])
        score += 0.6 * rng.standard_normal(n)
        labels.append(score > np.quantile(score, rng.uniform(0.5, 0.9)))
    if missing:  # in place of the numbers: the median, and columns that say so
        gone = rng.uniform(size=numbers.shape) < missing
        known = np.where(gone, np.nan, numbers)
        numbers = np.hstack([np.where(gone, np.nanmedian(known, axis=0), numbers), gone])
    kinds = np.hstack([np.eye(5)[category[:, j]] for j in range(3)])
    return np.hstack([numbers, kinds]), np.column_stack(labels)


def smooth(seed, n, noise):
    """Return Friedman's first problem, with labels by thresholds of the response and a product."""
    X, y = datasets.make_friedman1(n, n_features=8, noise=noise, random_state=seed)
    return X, np.hstack([above(y, 0.3, 0.6, 0.9), above(X[:, 5] * X[:, 6], 0.5)])


def tables():
    """Yield name, features and labels of each table."""
    for name, X, Y in measured():
        yield name, X, Y.astype(np.uint8)
    sizes = [(400, 6, 0.0), (700, 10, 0.0), (300, 4, 0.0), (1000, 8, 0.0), (400, 6, 0.2)]
    for seed, (n, q, missing) in enumerate(sizes):
        X, Y = made_up(seed, n, q, missing)
        yield f"made up {n} × {q}" + (" missing" if missing else ""), X, Y.astype(np.uint8)
    X, Y = made_up(7, 150, 5)
    yield "made up 150 × 5", X, Y.astype(np.uint8)
    X, Y = smooth(0, 300, 1.0)
    yield "smooth 300 × 4", X, Y.astype(np.uint8)
