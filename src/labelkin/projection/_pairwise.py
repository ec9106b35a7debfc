"""Constraint projection: pull must-links together, push cannot-links apart (section 3.2)."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from labelkin.base import Array, validate_rows
from labelkin.constraints import ConstraintSampler
from labelkin.projection._base import LinearProjection
from labelkin.projection._blocks import BlockRows
from labelkin.projection._scatter import TrainingRows
from labelkin.rows import (
    DaskRows,
    Rows,
    ascontiguousarray,
    astype,
    namespace_and_device,
    to_device_of,
    to_numpy,
)


class PairwiseConstraintProjection(LinearProjection):
    """Linear projection learned from must-link and cannot-link pairs, as in VPCME (Eq. 3–7).

    With S_C and S_M the scatter of the differences over the cannot-links and over the
    must-links, and r the ratio of their mean squared distances, the projection W
    maximises tr(Wᵀ (S_C − r·S_M) W) over orthonormal W: its columns are the eigenvectors of
    the positive eigenvalues.

    `fit` draws the pairs by label sets; `fit_pairs` uses given pairs.

    Parameters
    ----------
    threshold : float, default=0.6
        Θ in [0, 1]: two samples are a must-link when the similarity of their label sets is at
        least Θ; see `labelkin.constraints.label_similarity`.
    n_must_link, n_cannot_link : int, default=None
        Number of pairs to draw; None: as many as there are samples.
    n_components : int, default=None
        Maximal number of dimensions; None: one per positive eigenvalue.
    random_state : int, RandomState instance or None, default=None
        Source of the draw.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        Wᵀ: orthonormal rows, the largest entry of each positive.
    eigenvalues_ : ndarray of shape (d,)
        Their eigenvalues, decreasing. Without cannot-links, when the projection is the
        identity, zeros.
    scaling_ : float
        r (Eq. 4).
    must_link_, cannot_link_ : ndarray of shape (n_pairs, 2)
        Row indices of the pairs.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import PairwiseConstraintProjection
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> projection = PairwiseConstraintProjection().fit_pairs(
    ...     X, must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (1, 3)]
    ... )
    >>> projection.transform(X).ravel()
    array([0., 0., 1., 1.])
    """

    _parameter_constraints: dict = {
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "n_must_link": [None, Interval(Integral, 1, None, closed="left")],
        "n_cannot_link": [None, Interval(Integral, 1, None, closed="left")],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        threshold: float = 0.6,
        *,
        n_must_link: int | None = None,
        n_cannot_link: int | None = None,
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.threshold = threshold
        self.n_must_link = n_must_link
        self.n_cannot_link = n_cannot_link
        self.n_components = n_components
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> "PairwiseConstraintProjection":
        """Draw pairs by their label sets and learn the projection.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label. (A vector of classes is accepted too: sets of one.)
        sample_weight : array-like of shape (n_samples,), optional
            Samples are drawn into pairs in proportion to their weight.

        Returns
        -------
        self
        """
        rows, labels = self._validate(X, y)
        pairs = ConstraintSampler(labels).draw(
            self.threshold, self.n_must_link, self.n_cannot_link, sample_weight, self.random_state
        )
        self._learn(training_rows(rows), *pairs)
        warn_if_missing(self)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_pairs(
        self, X: ArrayLike, must_link: ArrayLike, cannot_link: ArrayLike
    ) -> "PairwiseConstraintProjection":
        """Learn the projection from given pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        must_link, cannot_link : array-like of shape (n_pairs, 2)
            Row indices of pairs that belong together, and that do not. One of them may be
            empty.

        Returns
        -------
        self
        """
        rows = validate_rows(self, X)
        pairs = (
            _check_pairs(must_link, rows.shape[0], "must_link"),
            _check_pairs(cannot_link, rows.shape[0], "cannot_link"),
        )
        if not any(map(len, pairs)):
            raise ValueError("must_link and cannot_link are both empty; give at least one pair.")
        self._learn(TrainingRows(rows), *pairs)
        return self

    def _learn(self, training: TrainingRows, must_link: Array, cannot_link: Array) -> Array:
        """Learn W from pairs of training rows (Eq. 3–7).

        W, (p, d), is returned in the coordinates of `training`, which are `TrainingRows`;
        ``components_`` are those of features.
        """
        rows = training.rows
        self.must_link_, self.cannot_link_ = (
            to_device_of(must_link, rows),
            to_device_of(cannot_link, rows),
        )
        if not len(cannot_link):
            # Nothing to push apart: S_C − r·S_M has no positive direction. Keep the data.
            xp, device = namespace_and_device(rows)
            W, self.components_ = training.identity()
            self.eigenvalues_ = xp.zeros(W.shape[1], dtype=xp.float64, device=device)
            self.scaling_ = 1.0
            return W
        # Eq. 4, 6 and 7: r, and the scatter of cannot-links less r times that of must-links.
        paired, *pairs = training.restrict(self.must_link_, self.cannot_link_)
        difference, self.scaling_ = paired.scatter_difference(*pairs)
        # Eq. 5: the eigenvectors of the positive eigenvalues maximise the objective of Eq. 3.
        vectors, self.eigenvalues_ = positive_eigenvectors(
            astype(difference, "float64"), self.n_components, rows.dtype
        )
        if paired is not training:
            vectors = paired.in_features(vectors)
        # Transposed twice, so that each direction is contiguous in memory.
        vectors = ascontiguousarray(astype(vectors, rows.dtype).T).T
        directions = training.in_features(vectors)
        # The largest entry of each is positive: the signs that LAPACK chose do not matter.
        xp, _ = namespace_and_device(directions)
        negative = xp.max(directions, axis=0) < -xp.min(directions, axis=0)
        signs = 1 - 2 * astype(negative, directions.dtype)
        self.components_ = ascontiguousarray((directions * signs).T)
        return vectors * signs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags


def training_rows(rows: Rows) -> TrainingRows:
    """Return rows in the form that projections are learned from."""
    return BlockRows(rows) if isinstance(rows, DaskRows) else TrainingRows(rows.gather())


def positive_eigenvectors(
    difference: Array, n_components: int | None = None, dtype: Any = None
) -> tuple[Array, Array]:
    """Return the eigenvectors of the positive eigenvalues, largest first (Eq. 5), and the values.

    At least one is returned. `dtype` is the precision of the samples, when it is less than that of
    the matrix.
    """
    xp, _ = namespace_and_device(difference)
    # NumPy's eigh, not SciPy's: each brings its own BLAS, and idle threads of one slow the
    # other, which nearly doubles the time of a fit.
    values, vectors = xp.linalg.eigh(difference)
    # A zero eigenvalue is a direction in which no pair differs; rounding makes it ±ε.
    eps = float(xp.finfo(values.dtype if dtype is None else dtype).eps)
    tolerance = values.shape[0] * eps * float(xp.max(xp.abs(values)))
    d = max(1, int(xp.count_nonzero(values > tolerance)))
    d = d if n_components is None else min(d, n_components)
    return xp.flip(vectors[:, -d:], axis=1), xp.flip(values[-d:])


def warn_if_missing(projection: PairwiseConstraintProjection) -> None:
    """Warn, in one sentence, when no pair of a kind exists at all."""
    if not projection.cannot_link_.shape[0]:
        warnings.warn(
            f"No two samples are a cannot-link at threshold={projection.threshold:g}; the "
            "projection is the identity. A higher threshold makes more cannot-links.",
            stacklevel=3,
        )
    elif not projection.must_link_.shape[0]:
        warnings.warn(
            f"No two samples are a must-link at threshold={projection.threshold:g}; the "
            "projection is learned from cannot-links alone. A lower threshold makes more "
            "must-links.",
            stacklevel=3,
        )


def _check_pairs(pairs: ArrayLike, n_samples: int, name: str) -> Array:
    """Validate a user's pairs of row indices."""
    array = np.asarray(to_numpy(pairs))
    if array.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must hold pairs of row indices, as integers of shape (n_pairs, 2), got "
            f"{array.dtype} of shape {array.shape}."
        )
    if array.min() < 0 or array.max() >= n_samples:
        raise ValueError(
            f"{name} has the row index {array.min() if array.min() < 0 else array.max()}, but "
            f"X has {n_samples} rows: indices go from 0 to {n_samples - 1}."
        )
    return array.astype(np.intp)
