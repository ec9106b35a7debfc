"""Members of `KinEnsembleClassifier`: each learns, and says honestly what it learned.

A member consists of one or more learners on the same view of the features, whose scores are
averaged. Every kind of learner has the same two methods. ``fit(rows, Y, seed)`` learns from the
rows in the member's view and returns scores of them that did not see their own labels:
leave-one-out, or out-of-bag with NaN where the learner cannot tell. ``scores(rows)`` answers
queries. The scores are regressions on 0 and 1.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.spatial.distance import cdist
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.metrics.pairwise import manhattan_distances

from labelkin.base import Array, Matrix
from labelkin.constraints._bags import BagSampler
from labelkin.kernel._distances import (
    SCALED_IS_BETTER,
    FoundWidth,
    Rows,
    column_spread,
    descend_width,
    radial,
    sample_rows,
    take,
)
from labelkin.kernel._ridge import RIDGES, LooRidge, RidgeSpectrum, loo_ridge
from labelkin.kernel._ridge import _choose_ridges as choose_ridges
from labelkin.projection._scatter import TrainingRows

# Up to so many rows kernels are exact; beyond, landmarks stand for the rows. Members behind
# projections are several, so that landmarks come sooner there: their choices average out.
MAX_EXACT = 8_000
_MAX_EXACT_PROJECTED = 5_000
# Of m landmarks for n rows, n · m² is at most this, which bounds the time, and n · m that,
# which bounds the memory (half a gigabyte an array).
_LANDMARK_WORK = 8e10
_LANDMARK_CELLS = 2**26
_FEWEST_LANDMARKS = 100
_BLOCK_CELLS = 2**22
# Learners are fitted side by side as long as their arrays, so many of the size of the kernel
# matrix each, fit into so many bytes.
_COPIES = 7
_MEMORY = 3e9
# As in `KernelRidgeLOOClassifier`.
_RIDGE_SHRINKAGE = 50.0
# Members behind projections look at every third ridge, and for a width on so many rows: there
# are several, and their choices average out.
_COARSE = 3
_PROJECTED_ROWS = 300
# Below this share of stored values, sparse rows are faster for sums of differences.
_SPARSE_SHARE = 0.05

# Each member of a projection draws its pairs inside such a share of the rows...
BAG = 0.55
# ... by one of these thresholds Θ in turn.
THRESHOLDS = (0.3, 0.5, 0.6, 0.9)
# Share of the directions that the ratio criterion likes least, which are dropped.
_DROPPED = 0.3

# What trees may cost: features looked at in a node times rows, these features, rows in a bag,
# and numbers kept in the leaves.
_TREE_CELLS = 2**21
_TREE_FEATURES = 200
_TREE_ROWS = 20_000
_LEAF_CELLS = 2**27


@dataclass
class Member:
    """Learners of one kind on one view."""

    name: str
    """What it is called in the ensemble."""
    view: str
    """The view its learners are given."""
    learners: list[Any]
    """One, or several that are averaged."""

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries, given in the member's view."""
        return sum(learner.scores(rows) for learner in self.learners) / len(self.learners)


def honest_mean(scores: list[Array], Y: Array) -> Array:
    """Average what learners say of each row, over those that may judge it.

    A row that none may judge gets the mean of the others, which says nothing about it.
    """
    known = np.isfinite(np.stack([s[:, 0] for s in scores]))
    counts = known.sum(axis=0)
    mean = sum(np.where(k[:, None], s, 0.0) for k, s in zip(known, scores, strict=True))
    mean = mean / np.maximum(counts, 1)[:, None]
    judged = counts > 0
    mean[~judged] = mean[judged].mean(axis=0) if judged.any() else Y.mean(axis=0)
    return mean


class KernelLearner:
    """Kernel ridge in a view: its width by leave-one-out error on a sample, ridges on all rows.

    Parameters
    ----------
    metric : {"l2", "l1"}
        exp(−|x − z|₂² / 2·width²), or exp(−|x − z|₁ / 2·width²).
    may_scale : bool
        Whether columns are divided by their standard deviations where that lowers the error on
        the sample, as `KernelRidgeLOOClassifier` does.
    max_exact : int, optional
        Up to so many rows the kernel is exact; None: `MAX_EXACT`.

    Attributes
    ----------
    width_ : float
        The width.
    """

    width_: float

    def __init__(
        self, metric: str = "l2", may_scale: bool = False, max_exact: int | None = None
    ) -> None:
        self.metric, self.may_scale, self.max_exact = metric, may_scale, max_exact

    def fit(self, rows: Matrix, Y: Array, seed: int, judged: Array | None = None) -> Array:
        """Fit, and return leave-one-out scores.

        Parameters
        ----------
        rows : ndarray or CSR matrix of shape (n_samples, n_columns)
            The member's view of the training rows.
        Y : ndarray of shape (n_samples, n_labels)
            Their labels.
        seed : int
            Draws the sample, and landmarks.
        judged : ndarray of int, optional
            The rows on which the width is chosen.
        """
        rng = np.random.RandomState(seed)
        n, m = len(Y), n_landmarks(len(Y), self.max_exact)
        exact = m == n
        if judged is None or len(judged) < 2:
            sample = sample_rows(n, rng)
        else:
            sample = judged[sample_rows(len(judged), rng, _PROJECTED_ROWS)]
        self.width_, scale = self._seek_width(rows, Y, sample)
        self._rows = Rows(rows if exact else landmarks(rows, m, rng), scale)
        distances = self._distances(None)
        K = radial(distances, "rbf", self.width_)
        del distances
        if exact:
            spectrum = RidgeSpectrum.of_kernel(K)
        else:
            spectrum = RidgeSpectrum.of_landmarks(K, map(self._columns, _blocks(rows, len(K))))
        model = _fit_ridges(spectrum, Y, judged)
        self._coef, self._intercept = model.coef, model.intercept
        return model.loo_scores

    def _seek_width(self, rows: Matrix, Y: Array, sample: Array) -> tuple[float, Array | None]:
        """Return the width of the least error on a sample, and what divides the columns."""

        def found(scale: Array | None) -> FoundWidth:
            distances = _distances(self.metric, Rows(take(rows, sample), scale))
            return descend_width(distances, Y[sample], "rbf", shrinkage=_RIDGE_SHRINKAGE)

        plain = found(None)
        if self.may_scale:
            spread = column_spread(rows)
            scaled = found(spread)
            if scaled.error < SCALED_IS_BETTER * plain.error:
                return scaled.width, spread
        return plain.width, None

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries, given in the member's view."""
        return np.concatenate(
            [
                self._columns(block) @ self._coef + self._intercept
                for block in _blocks(rows, len(self._coef))
            ]
        )

    def _columns(self, rows: Matrix) -> Array:
        return radial(self._distances(rows), "rbf", self.width_)

    def _distances(self, rows: Matrix | None) -> Array:
        """Return distances of queries (None: of the kept rows) to the kept rows."""
        return _distances(self.metric, self._rows, rows)


class ProjectionLearner:
    """Kernel ridge behind a constraint projection whose pairs come from a bag of the rows.

    With S_C and S_M the scatter of the differences over cannot-links and over must-links, the
    directions are the generalised eigenvectors w of

        S_C w = μ (S_M + tr(S_M)/k · I) w

    of the largest μ, each multiplied by √μ; the lowest 30 % are dropped. The ratio keeps
    all that tells label sets apart, in proportion, where the difference S_C − r·S_M of the
    paper keeps whole directions or drops them.

    Parameters
    ----------
    training : TrainingRows
        Rows of the view, prepared once for all projections.
    bag : ndarray of int
        Rows inside which pairs are drawn.
    threshold : float
        Θ.

    Attributes
    ----------
    components_ : ndarray of shape (n_columns, d)
        The projection.
    """

    components_: Array

    def __init__(self, training: TrainingRows, bag: Array, threshold: float) -> None:
        self._training: TrainingRows | None = training
        self.bag, self.threshold = bag, threshold

    def fit(self, rows: Matrix, Y: Array, seed: int) -> Array:
        """Fit, and return scores; NaN for rows of the bag, whose labels the pairs tell."""
        training, self._training = self._training, None
        if training is None:
            raise RuntimeError("a ProjectionLearner is fitted once")
        n, rng = len(Y), np.random.RandomState(seed)
        pairs = BagSampler(Y, self.bag).draw(self.threshold, n, n, random_state=rng)
        W = ratio_directions(training, *pairs)
        self.components_ = training.in_features(W)
        outside = np.setdiff1d(np.arange(n), self.bag)
        self.ridge_ = KernelLearner(max_exact=_MAX_EXACT_PROJECTED)
        scores = self.ridge_.fit(training.project(W), Y, seed, judged=outside)
        scores[self.bag] = np.nan
        return scores

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries, given in the member's view."""
        return self.ridge_.scores(rows @ self.components_)


class TreesLearner:
    """Extremely randomised trees, each on a bootstrap sample, all labels in one tree.

    Parameters
    ----------
    n_trees : int
        How many; fewer where the leaves would fill the memory.
    n_jobs : int
        Threads.

    Attributes
    ----------
    forest_ : ExtraTreesRegressor
    """

    forest_: ExtraTreesRegressor

    def __init__(self, n_trees: int, n_jobs: int) -> None:
        self.n_trees, self.n_jobs = n_trees, n_jobs

    def fit(self, rows: Matrix, Y: Array, seed: int) -> Array:
        """Fit, and return out-of-bag scores; NaN for rows that are in every bag."""
        (n, k), q = rows.shape, Y.shape[1]
        drawn = min(n, _TREE_ROWS)
        # Up to two nodes for each row that a bootstrap sample holds once or more.
        smallest_leaf = max(1, int(np.ceil(50 * 1.3 * drawn * q / _LEAF_CELLS)))
        affordable = int(_LEAF_CELLS * smallest_leaf / (1.3 * drawn * q))
        most = min(int(0.4 * k), _TREE_FEATURES, _TREE_CELLS // drawn)
        most = max(most, int(np.sqrt(k)), 1)
        forest = ExtraTreesRegressor(
            max(1, min(self.n_trees, affordable)),
            max_features=most,
            min_samples_leaf=smallest_leaf,
            bootstrap=True,
            max_samples=drawn if drawn < n else None,
            oob_score=_no_score,
            n_jobs=self.n_jobs,
            random_state=seed,
        )
        target = Y.astype(np.float64)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            forest.fit(rows, target.ravel() if q == 1 else target)
        scores = forest.oob_prediction_.reshape(n, q).copy()
        always_in = np.ones(n, dtype=bool)
        for sample in forest.estimators_samples_:
            always_in &= np.bincount(sample, minlength=n) > 0
        scores[always_in] = np.nan
        del forest.oob_prediction_
        # The function has served; a saved model shall hold none.
        self.forest_ = forest.set_params(oob_score=True)
        return scores

    def scores(self, rows: Matrix) -> Array:
        """Return scores of queries."""
        return self.forest_.predict(rows).reshape(rows.shape[0], -1)


def _fit_ridges(spectrum: RidgeSpectrum, Y: Array, judged: Array | None) -> LooRidge:
    """Fit ridges, chosen by the leave-one-out errors of all rows, or of the judged ones."""
    if judged is None or len(judged) < 2:
        return loo_ridge(spectrum, Y, shrinkage=_RIDGE_SHRINKAGE)
    ridges = RIDGES[::_COARSE]
    best = choose_ridges(_errors(spectrum, Y, judged, ridges), Y[judged], _RIDGE_SHRINKAGE)
    coef = np.empty((len(spectrum.basis), Y.shape[1]))
    model = LooRidge(ridges[best], np.empty(Y.shape), np.nan, coef, np.empty(Y.shape[1]))
    for i in np.unique(best):
        mine = best == i
        part = loo_ridge(spectrum, Y[:, mine], ridges[i : i + 1])
        model.ridge[mine], model.intercept[mine] = part.ridge, part.intercept
        model.coef[:, mine], model.loo_scores[:, mine] = part.coef, part.loo_scores
    return model


def _errors(spectrum: RidgeSpectrum, Y: Array, judged: Array, ridges: Array) -> Array:
    """Return leave-one-out errors of some rows, (n_ridges, n_labels), as `loo_ridge` has them."""
    values = spectrum.values[:, None]
    kept = values / (values + ridges * (spectrum.scale or 1.0))
    residual = Y - Y.mean(axis=0)
    rotated = spectrum.vectors.T @ residual
    left = spectrum.left_out(kept)[judged]
    vectors, residual = spectrum.vectors[judged], residual[judged]
    errors = [
        np.mean(((residual - vectors @ (kept[:, [i]] * rotated)) / left[:, [i]]) ** 2, axis=0)
        for i in range(len(ridges))
    ]
    return np.array(errors)


def ratio_directions(training: TrainingRows, must_link: Array, cannot_link: Array) -> Array:
    """Return the directions of the ratio criterion in the coordinates of the rows."""
    none = np.empty((0, 2), dtype=np.intp)
    k = training.rows.shape[1]
    if not len(must_link) or not len(cannot_link):
        return np.eye(k)
    # Without must-links the difference is S_C alone: so both scatters come from one function.
    pushed, _ = training.scatter_difference(none, cannot_link)
    pulled, _ = training.scatter_difference(none, must_link)
    ridge = np.trace(pulled) / k
    if ridge <= 0:  # must-links of identical rows only
        return np.eye(k)
    pulled[np.diag_indices(k)] += ridge
    ratios, directions = linalg.eigh(pushed, pulled, overwrite_b=True, check_finite=False)
    first = int(_DROPPED * k)
    return directions[:, first:] * np.sqrt(np.maximum(ratios[first:], 0))


def affordable_threads(n_samples: int, threads: int) -> int:
    """Return how many learners of so many rows may be fitted at a time, for their memory."""
    cells = n_samples * n_landmarks(n_samples)
    return max(1, min(threads, int(_MEMORY // (8 * _COPIES * cells))))


def n_landmarks(n_samples: int, max_exact: int | None = None) -> int:
    """Return how many rows of a kernel's learner get a coefficient: all, or landmarks.

    Up to `max_exact` rows all of them. Beyond, 4,000 and fewer the more rows there are: the
    number m falls as √(1/n), so that the time stays the same, and for very many rows as 1/n,
    so that the n · m kernel values stay in memory. Each halving of m costs accuracy.
    """
    if n_samples <= (MAX_EXACT if max_exact is None else max_exact):
        return n_samples
    in_time = int((_LANDMARK_WORK / n_samples) ** 0.5)
    return max(_FEWEST_LANDMARKS, min(in_time, _LANDMARK_CELLS // n_samples))


def landmarks(rows: Matrix, size: int, rng: np.random.RandomState) -> Matrix:
    """Draw rows, and move each to the mean of all rows that are nearest to it.

    That is one step of k-means. For a kernel approximated from them, such means are worth
    about twice as many of the rows themselves. Rows drawn twice, as twins, are merged.
    """
    n = rows.shape[0]
    drawn = Rows(take(rows, sample_rows(n, rng, size)))
    nearest = [drawn.squared_distances(block).argmin(axis=1) for block in _blocks(rows, size)]
    _, group, counts = np.unique(np.concatenate(nearest), return_inverse=True, return_counts=True)
    means = sparse.csr_matrix((1 / counts[group], (group, np.arange(n))), (len(counts), n))
    return means @ rows


def draw_bags(n_samples: int, n_bags: int, rng: np.random.RandomState) -> list[Array]:
    """Draw bags in pairs that together hold all rows: few are in both, and not judged."""
    size = min(max(round(BAG * n_samples), 2), max(n_samples - 1, 1))
    bags: list[Array] = []
    while len(bags) < n_bags:
        order = rng.permutation(n_samples)
        bags += [np.sort(order[:size]), np.sort(order[n_samples - size :])]
    return bags[:n_bags]


def _no_score(true: Array, predicted: Array) -> float:
    """Stand in for the score of a forest, of which only the predictions are wanted."""
    return 0.0


def _distances(metric: str, known: Rows, rows: Matrix | None = None) -> Array:
    """Return |x − z|₂² or |x − z|₁ of queries (None: of the known rows) to the known rows."""
    if metric == "l2":
        return known.squared_distances(rows)
    return _l1_distances(known.X if rows is None else rows, known.X)


def _l1_distances(Q: Matrix, X: Matrix) -> Array:
    stored = X.nnz if sparse.issparse(X) else np.count_nonzero(X)
    if stored < _SPARSE_SHARE * X.shape[0] * X.shape[1] or sparse.issparse(X):
        return manhattan_distances(sparse.csr_matrix(Q), sparse.csr_matrix(X))
    return cdist(Q, X, "cityblock")


def _blocks(rows: Matrix, width: int) -> Iterator[Matrix]:
    """Yield some rows at a time, so that arrays of `width` columns stay small."""
    size = max(1, _BLOCK_CELLS // max(1, width))
    for start in range(0, rows.shape[0], size):
        yield rows[start : start + size, :]
