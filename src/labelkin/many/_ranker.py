"""The second stage: logistic regression that turns the scores of candidates into probabilities.

Candidates of a row are the labels that rank high by any source. Their features are the scores by
all sources, on the scale of logarithms and relative to the best candidate of the row, the frequency
of the label, and all products of two of the logarithms: the weight of one source depends on the
scores by the others. One regression serves all labels, so that it is calibrated with few held-out
rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils import gen_batches

from labelkin._utils.parallel import map_threads
from labelkin.base import Array, Matrix
from labelkin.calibration._curves import expit
from labelkin.many._sparse import drop_small, keep_largest, presence, row_of_entries
from labelkin.rows import Labels

# Entries of the dense block in which the scores of candidates are looked up.
_BLOCK_ENTRIES = 2**23
# Logarithms are of score + this: scores below this are treated like zero.
_SMALLEST = {"tree": 1e-4, "near neighbors": 1e-3}
_SMALLEST_OTHER = 1e-2


def log_frequency(labels: Labels) -> Array:
    """Return log(1 + weight of the rows that have the label), (q,)."""
    return np.log1p(labels.counts.positives).astype(np.float32)


class Candidates(NamedTuple):
    """Pairs of row and label, ordered by row."""

    indptr: Array
    """Where the labels of each row begin, as in a CSR matrix."""
    labels: Array
    scores: Array
    """By each source, (pairs, sources)."""


def find_candidates(X: Matrix, sources: list[Any], n_candidates: int) -> Candidates:
    """Return the labels of a block of rows that are among the best by any source."""
    scores = [
        drop_small(sparse.csr_array(found), np.finfo(np.float32).tiny)
        for source in sources
        for found in source.scores(X)
    ]
    best = [keep_largest(found, n_candidates) for found in scores]
    union = sparse.csr_array(sum(presence(found) for found in best))
    union.sort_indices()
    row = row_of_entries(union.indptr)
    values = np.empty((union.nnz, len(scores)), np.float32)
    for column, found in enumerate(scores):
        values[:, column] = found.toarray()[row, union.indices]
    return Candidates(union.indptr, union.indices, values)


def map_blocks(function: Callable, X: Matrix, n_labels: int, n_jobs: int | None) -> list[Any]:
    """Return the results of a function of blocks of rows, whose scores fit into memory."""
    size = int(np.clip(_BLOCK_ENTRIES // n_labels, 1, 1024))
    return map_threads(lambda rows: function(X[rows]), gen_batches(X.shape[0], size), n_jobs)


class Logistic:
    """Logistic regression of one target, on features of any scale."""

    coef_: Array
    intercept_: float

    def fit(self, features: Array, relevant: Array, weight: Array | None) -> "Logistic":
        """Fit; without examples of both kinds, the odds of their counts plus one."""
        share = (relevant.sum() + 1) / (len(relevant) + 2)
        self.coef_ = np.zeros(features.shape[1], np.float32)
        self.intercept_ = float(np.log(share / (1 - share)))
        if not 0 < relevant.sum() < len(relevant):
            return self
        centre, spread = features.mean(axis=0), features.std(axis=0)
        spread[spread < 1e-6 * (1 + np.abs(centre))] = np.inf  # constant: no weight
        model = LogisticRegression(solver="newton-cholesky")
        model.fit((features - centre) / spread, relevant, weight)
        self.coef_ = (model.coef_[0] / spread).astype(np.float32)
        self.intercept_ = float(model.intercept_[0] - centre @ self.coef_)
        return self

    def log_odds(self, features: Array) -> Array:
        """Return the log odds of examples."""
        # Unlike BLAS, this has the same result for a row whatever the others are.
        return np.einsum("ij,j->i", features, self.coef_) + np.float32(self.intercept_)


class Ranker:
    """Logistic regression of candidates, and a second one of their order.

    The first regression treats each candidate by itself, and its probability of the best one is too
    low. The second one also has the place of a candidate in its row as a feature: it keeps
    the order and calibrates the probabilities of the first, second, and third label.

    Parameters
    ----------
    names : list of str
        Of the scores.
    frequency : ndarray of shape (q,)
        See `log_frequency`.
    """

    def __init__(self, names: list[str], frequency: Array) -> None:
        self.names, self.frequency_ = names, frequency
        self.smallest = np.array(
            [_SMALLEST.get(name, _SMALLEST_OTHER) for name in names], np.float32
        )
        self.by_scores_, self.by_place_ = Logistic(), Logistic()

    def fit(self, found: Candidates, relevant: Array, weight: Array | None) -> "Ranker":
        """Fit to candidates of rows that no source has seen."""
        # Larger scores, such as those of rows that sources have seen, count as the largest here:
        # the regression is not fitted to products of logarithms beyond.
        self.largest_ = found.scores.max(axis=0, initial=0.0)
        features = self._features(found)
        self.by_scores_.fit(features, relevant, weight)
        odds = self.by_scores_.log_odds(features)
        self.by_place_.fit(_places(found.indptr, odds), relevant, weight)
        return self

    def proba(self, found: Candidates) -> Array:
        """Return the probabilities of candidates."""
        odds = self.by_scores_.log_odds(self._features(found))
        return expit(self.by_place_.log_odds(_places(found.indptr, odds)))

    def _features(self, found: Candidates) -> Array:
        indptr, labels, scores = found
        row, scores = row_of_entries(indptr), np.minimum(scores, self.largest_)
        best = _by_row(np.maximum, scores, indptr)
        logs, best_logs = np.log(scores + self.smallest), np.log(best + self.smallest)
        relative = scores / np.maximum(best, np.finfo(np.float32).tiny)[row]
        terms = np.column_stack([logs, self.frequency_[labels]])
        first, second = np.triu_indices(terms.shape[1])
        products = terms[:, first] * terms[:, second]
        return np.hstack([terms, best_logs[row], scores, relative, products])


def _places(indptr: Array, odds: Array) -> Array:
    """Return features of the order of candidates within their rows."""
    row = row_of_entries(indptr)
    order = np.lexsort((-odds, row))
    place = np.empty(len(odds), np.float32)
    place[order] = np.arange(len(odds)) - indptr[:-1][row]
    below_best = _by_row(np.maximum, odds, indptr)[row] - odds
    expected = np.log(_by_row(np.add, expit(odds), indptr)[row] + 1e-6)
    first = place == 0
    return np.column_stack(
        [odds, odds**2, first, first * odds, place == 1, np.log1p(place), below_best, expected]
    ).astype(np.float32)


def _by_row(function: Any, values: Array, indptr: Array) -> Array:
    """Return sums or maxima over the candidates of each row; 0 where there are none."""
    found = np.zeros((len(indptr) - 1, *values.shape[1:]), np.float32)
    filled = np.diff(indptr) > 0
    if filled.any():
        found[filled] = function.reduceat(values, indptr[:-1][filled], axis=0)
    return found
