"""Classifier for thousands of labels."""

from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from labelkin._utils.parallel import limit_blas
from labelkin._utils.progress import FitProgress
from labelkin.base import Array, Matrix, MultiLabelClassifier, random_seed
from labelkin.explain import ExplainMixin
from labelkin.explain._fields import occlude_features
from labelkin.many._ranker import (
    Candidates,
    Ranker,
    find_candidates,
    log_frequency,
    map_blocks,
)
from labelkin.many._sources import Forest, Names, Neighbors, Words
from labelkin.many._sparse import has_entries, row_of_entries
from labelkin.many._tree import LabelTree, label_centroids
from labelkin.rows import Labels, is_dask, to_numpy

# Rows held out for the second stage, of n: n / 10 between these bounds, at most n / 4.
_MIN_HELD_OUT, _MAX_HELD_OUT = 1_000, 10_000


class LabelTreeClassifier(ExplainMixin, MultiLabelClassifier):
    """Ranks thousands of labels and gives each a calibrated probability.

    For rows that are sparse, such as the TF-IDF of texts, and labels of which each row has few.
    Candidates for a row come from several sources:

    - trees of label clusters with a logistic regression in each node,
    - the labels of the most similar training rows,
    - centroids of labels,
    - associations of single words with labels,
    - words that the row has in common with the names of labels, if these are given.

    One logistic regression of the scores of all candidates, fitted on rows that no source has
    seen, gives the probabilities. The time of ``fit`` is nearly linear in rows and labels, and
    nothing of the size rows × labels or features × labels is dense.

    Parameters
    ----------
    n_trees : int, default=3
        Number of trees of labels, each with different clusters. With 1 the fit takes half of the
        time, and precision at 1 is lower by about half a point.
    cluster_size : int, default=200
        Maximum number of labels in a cluster. If there are no more labels than this, a tree is a
        plain logistic regression.
    C : float, default=10
        Inverse strength of the regularisation in the nodes of the trees, for rows of length 1.
    n_neighbors : int, default=50
        Number of training rows that vote.
    n_candidates : int, default=20
        Number of candidates per row from each score; together about three times as many.
    label_texts : {array-like, sparse matrix} of shape (n_labels, n_features), default=None
        Names or descriptions of the labels, as the features of X: ``vectorizer.transform(names)``
        with the ``TfidfVectorizer`` that X was made with. Zeros stand for a label without a name;
        several labels may have the same text.
    zero_shot : bool, default=False
        Whether labels that no training row has are candidates, by their `label_texts` alone.
    prune : float, default=1
        Weights of trees that are smaller than this are dropped, for rows of length 1. On 60,000
        titles, a seventh of the weights is left and precision is the same.
    sparse_output : bool, default=False
        Whether ``predict_proba`` returns a CSR array with the candidates only. Dense
        probabilities of 50,000 rows and 20,000 labels take 8 GB.
    n_jobs : int, default=None
        Threads; None: as many as BLAS would use.
    verbose : int, default=0
        1: print the steps of ``fit``.
    random_state : int, RandomState instance or None, default=None
        Source of the clusters, and of the rows that are held out.

    Attributes
    ----------
    threshold_ : float
        ``predict`` gives the labels of larger probability: the one with the highest F1 of all
        pairs of held-out rows and labels together. With a single label it is 1/2.
    remainder_ : ndarray of shape (n_labels,)
        Probability of each label in rows for which it is not a candidate.
    sources_ : list
        The sources of candidates.
    ranker_ : object
        The logistic regression of their scores.
    n_held_out_ : int
        Rows that the second stage was fitted on.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    Notes
    -----
    The trees have not seen the held-out rows; all other sources are computed again with all rows.
    Rows of a Dask array are brought into memory in ``fit``. There is no export to ONNX: its
    operators have no products of sparse matrices, which are nearly all of the work.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from labelkin import LabelTreeClassifier
    >>> texts = ["a history of music", "music theory", "history of war", "war and peace"] * 10
    >>> Y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]] * 10
    >>> vectorizer = TfidfVectorizer()
    >>> model = LabelTreeClassifier(random_state=0).fit(vectorizer.fit_transform(texts), Y)
    >>> labels, proba = model.predict_topk(vectorizer.transform(["film music"]), k=1)
    >>> labels
    array([[0]])
    """

    _parameter_constraints: dict = {
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "cluster_size": [Interval(Integral, 2, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "label_texts": [None, "array-like", "sparse matrix"],
        "zero_shot": ["boolean"],
        "prune": [Interval(Real, 0, None, closed="left")],
        "sparse_output": ["boolean"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_trees: int = 3,
        *,
        cluster_size: int = 200,
        C: float = 10.0,
        n_neighbors: int = 50,
        n_candidates: int = 20,
        label_texts: Any = None,
        zero_shot: bool = False,
        prune: float = 1.0,
        sparse_output: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.cluster_size = cluster_size
        self.C = C
        self.n_neighbors = n_neighbors
        self.n_candidates = n_candidates
        self.label_texts = label_texts
        self.zero_shot = zero_shot
        self.prune = prune
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _keeps_sparse_labels(self) -> bool:
        return True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> "LabelTreeClassifier":
        """Fit the sources of candidates, and the regression of their scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; dense ones are converted.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; those of weight 0 are left out.

        Returns
        -------
        self
        """
        rows, labels = self._validate(X, y, sample_weight)
        X = _as_csr(rows.gather())
        labels = Labels(sparse.csr_array(labels.Y), labels.weight)
        if labels.weight is not None:
            used = np.flatnonzero(labels.weight > 0)
            X, labels = X[used], labels.take(used)
        n = len(labels)
        texts = self._label_features(labels)
        rng = check_random_state(self.random_state)
        n_held_out = min(np.clip(n // 10, _MIN_HELD_OUT, _MAX_HELD_OUT), n // 4)
        order = rng.permutation(n)
        held_out, rest = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
        if not n_held_out:  # fewer than four rows
            held_out = rest
        progress = FitProgress(self, "steps", self.n_trees + 3, self.verbose)

        with limit_blas(self.n_jobs):
            # Sources of candidates, without the rows held out
            X_rest, labels_rest = X[rest], labels.take(rest)
            spread = X_rest.multiply(X_rest).sum() / X_rest.shape[0]
            spread = spread if spread > 0 else 1.0
            centroids = label_centroids(normalize(X_rest), labels_rest)
            trees = []
            for _ in range(self.n_trees):
                tree = LabelTree(self.cluster_size, self.C / spread, self.prune / spread**0.5)
                seed = np.random.RandomState(random_seed(rng))
                trees.append(tree.fit(X_rest, labels_rest, centroids, seed, self.n_jobs))
                progress.step()
            self.sources_ = self._make_sources(trees, X_rest, labels_rest, texts)
            progress.step()

            # Second stage: scores of the rows held out
            names = [name for source in self.sources_ for name in source.names]
            self.ranker_ = Ranker(names, log_frequency(labels_rest))
            found, own = self._candidates(X[held_out]), labels.take(held_out)
            row = row_of_entries(found.indptr)
            relevant = has_entries(own.Y, row, found.labels)
            self.ranker_.fit(found, relevant, None if own.weight is None else own.weight[row])
            proba, weights = self.ranker_.proba(found), own.weights[row]
            progress.step()
            total = float(own.counts.positives.sum())
            self.threshold_ = (
                0.5 if self._n_labels == 1 else _best_threshold(proba, relevant, weights, total)
            )
            missed = 1 - (weights * relevant).sum() / max(total, 1)
            self.remainder_ = (max(missed, 0.0) * labels.counts.means).astype(np.float32)
            self.n_held_out_ = int(n_held_out)

            # All rows, except for the trees
            self.sources_ = self._make_sources(trees, X, labels, texts)
            self.ranker_.frequency_ = log_frequency(labels)
            progress.step()
        return self

    def _make_sources(
        self, trees: list[LabelTree], X: Matrix, labels: Labels, texts: Matrix | None
    ) -> list[Any]:
        neighbors = Neighbors(X, labels, self.n_neighbors)
        sources = [Forest(trees), neighbors, Words(X, labels)]
        return sources if texts is None else [*sources, Names(texts)]

    def _label_features(self, labels: Labels) -> Matrix | None:
        """Return the features of the label texts as a CSR matrix of (n_labels, n_features)."""
        texts, q = self.label_texts, labels.shape[1]
        if texts is None:
            if self.zero_shot:
                raise ValueError("zero_shot=True needs label_texts: names of all labels.")
            return None
        if np.shape(texts) != (q, self.n_features_in_):
            raise ValueError(
                f"label_texts must have one text per column of y and the features of X, shape "
                f"{(q, self.n_features_in_)}, as vectorizer.transform(names) returns them, got "
                f"{np.shape(texts)}."
            )
        texts = _as_csr(texts)
        if not self.zero_shot:
            keep = row_of_entries(texts.indptr)
            texts.data = np.where(labels.counts.positives[keep] > 0, texts.data, 0)
            texts.eliminate_zeros()
        return texts

    def _candidates(self, X: Matrix) -> Candidates:
        """Return the candidates of CSR rows, and their scores."""
        blocks = map_blocks(
            lambda block: find_candidates(block, self.sources_, self.n_candidates),
            X,
            self._n_labels,
            self.n_jobs,
        )
        sizes = np.concatenate([np.diff(block.indptr) for block in blocks])
        labels = np.concatenate([block.labels for block in blocks])
        scores = np.concatenate([block.scores for block in blocks])
        return Candidates(np.append(0, np.cumsum(sizes)), labels, scores)

    def _sparse_proba(self, X: Matrix) -> Matrix:
        """Return the probabilities of the candidates, CSR."""

        def rank(block: Matrix) -> Matrix:
            found = find_candidates(block, self.sources_, self.n_candidates)
            proba = self.ranker_.proba(found).astype(np.float32)
            # The size of the array in which the labels were looked up: no index is out of range.
            shape = block.shape[0], len(self.ranker_.frequency_)
            return sparse.csr_array((proba, found.labels, found.indptr), shape=shape)

        blocks = map_blocks(rank, _as_csr(X), self._n_labels, self.n_jobs)
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    def _proba(self, X: Matrix) -> Array:
        found = self._sparse_proba(X)
        proba = np.tile(self.remainder_.astype(np.float64), (found.shape[0], 1))
        proba[row_of_entries(found.indptr), found.indices] = found.data
        return proba

    def _labels_of(self, proba: Array) -> Array:
        return proba > self.threshold_

    def _predict_sparse(self, X: Matrix) -> sparse.csr_array:
        found = sparse.csr_array(self._labels_of(self._sparse_proba(X)), dtype=np.int64)
        found.sort_indices()
        return found

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray or CSR array of shape (n_samples, n_labels)
            P(label = 1). Labels that are not candidates have their `remainder_`; with
            `sparse_output` they are left out. After a one-dimensional target: one column per class.
            Of a Dask array: a Dask array.
        """
        if self.sparse_output and not is_dask(X) and not getattr(self, "_one_target", False):
            return self._sparse_proba(self._validate_predict(X, "predict_proba"))
        return super().predict_proba(X)

    def _predict_with_proba(self, X: ArrayLike) -> tuple[Array, Array]:
        if not self.sparse_output or self._one_target or is_dask(X):
            return super()._predict_with_proba(X)
        proba = self._sparse_proba(self._validate_predict(X))
        return sparse.csr_array(self._labels_of(proba), dtype=np.int64), proba

    def predict_topk(self, X: ArrayLike, k: int = 10) -> tuple[Array, Array]:
        """Return the k most probable labels of each sample, the most probable first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        k : int, default=10
            Number of labels; at most as many as there are.

        Returns
        -------
        labels : ndarray of int of shape (n_samples, k)
            Numbers of the labels: columns of y.
        proba : ndarray of shape (n_samples, k)
            Their probabilities; for labels that are not candidates, their `remainder_`.
        """
        X = self._validate_predict(X, "predict_topk")
        q = self._n_labels
        if not isinstance(k, Integral) or not 1 <= k <= q:
            raise ValueError(
                f"k must be a whole number from 1 to {q}, the number of labels, got {k!r}."
            )
        found = self._sparse_proba(X)
        most = k + int(np.diff(found.indptr).max(initial=0))
        usual = np.argsort(-self.remainder_, kind="stable")[:most]
        labels = np.empty((found.shape[0], k), dtype=np.intp)
        proba = np.empty((found.shape[0], k))
        for row, (start, end) in enumerate(pairwise(found.indptr)):
            own, values = found.indices[start:end], found.data[start:end]
            others = usual[~np.isin(usual, own)][:k]
            own = np.concatenate([own, others])
            values = np.concatenate([values, self.remainder_[others]])
            best = np.argsort(-values, kind="stable")[:k]
            labels[row], proba[row] = own[best], values[best]
        return labels, proba

    def _explain_row(self, row: Matrix) -> dict[str, Any]:
        """Leave out one word after the other; list the nearest training rows."""
        row = _as_csr(row)
        neighbors = self.sources_[1]
        near = neighbors.nearest(row)
        order = np.argsort(-near.data, kind="stable")
        numbers, similarity = near.indices[order], near.data[order]
        labels = neighbors.labels_[numbers].toarray()
        return {
            **occlude_features(self._proba, row, np.zeros((2, row.shape[1])), row.nnz),
            "rows": numbers,
            "row_labels": labels > 0,
            "row_effects": similarity[:, None] * labels,
            "row_measures": {"similarity": similarity},
            "n_neighbors": self.n_neighbors,
        }


def _as_csr(X: Any) -> Matrix:
    """Return rows in single precision, without stored zeros."""
    found = sparse.csr_array(to_numpy(X), dtype=np.float32, copy=True)
    found.eliminate_zeros()
    found.sort_indices()
    return found


def _best_threshold(proba: Array, relevant: Array, weight: Array, total: float) -> float:
    """Return the threshold with the highest F1; `total` includes pairs without a candidate."""
    if not relevant.any():
        return 0.5
    order = np.argsort(-proba, kind="stable")
    hits = np.cumsum((weight * relevant)[order])
    f1 = 2 * hits / (np.cumsum(weight[order]) + total)
    best = int(np.argmax(f1))
    after = proba[order[best + 1]] if best + 1 < len(order) else 0.0
    return float((proba[order[best]] + after) / 2)
