"""Shares of the features in constraint projections, and subsets chosen by them.

The projection keeps the positive part of S_C − r·S_M (Eq. 5), P = Σ λ_j w_j w_jᵀ. Its trace is
the value of the projection, Eq. 3, and P_ff = Σ λ_j w_fj² is what feature f adds to it: a share
of the objective for each feature, at no extra cost.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import check_is_fitted

from labelkin._utils.labels import check_target_given
from labelkin.base import Array, Matrix, validate_rows
from labelkin.projection._pairwise import PairwiseConstraintProjection
from labelkin.rows import to_numpy


def feature_shares(projection: Any) -> Array:
    """Return the share of each feature in the value of a fitted projection, adding up to 1.

    All are equal where the projection has no value: without cannot-links it is the identity.
    """
    weights = np.maximum(to_numpy(projection.eigenvalues_), 0)
    values = weights @ np.square(to_numpy(projection.components_), dtype=np.float64)
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def feature_importances(ensemble: Any) -> Array:
    """Return the mean share of each feature over the projections of an ensemble.

    Parameters
    ----------
    ensemble : VPCMEClassifier or BaggingVPCPClassifier
        Fitted; any object with ``projections_``.

    Returns
    -------
    ndarray of shape (n_features,)
        Non-negative, adding up to 1.

    Notes
    -----
    Shares depend on the units of the features: standardise them first if the units are arbitrary.

    Examples
    --------
    Only the first feature is related to the labels:

    >>> import numpy as np
    >>> from labelkin import VPCMEClassifier
    >>> from labelkin.projection import feature_importances
    >>> X = np.random.RandomState(0).standard_normal((200, 3))
    >>> Y = np.column_stack([X[:, 0] > 0, X[:, 0] < 0]).astype(int)
    >>> model = VPCMEClassifier(n_estimators=5, random_state=0).fit(X, Y)
    >>> feature_importances(model).argmax()
    np.int64(0)
    """
    check_is_fitted(ensemble, "projections_")
    return np.mean([feature_shares(projection) for projection in ensemble.projections_], axis=0)


class SelectByConstraints(SelectorMixin, BaseEstimator):
    """Keep the features that separate must-links from cannot-links.

    Pairs are drawn by their label sets as in `PairwiseConstraintProjection`, the projection is
    learned from them, and a feature's score is its share in the projection's value:
    Σ_j λ_j w_fj² over the sum of the λ_j, with λ the positive eigenvalues of S_C − r·S_M and w
    their eigenvectors.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to keep, or their share; None: half of them.
    threshold : float, default=0.6
        Θ: two samples are a must-link when the similarity of their label sets is at least Θ.
    n_draws : int, default=10
        Pairs of each kind over the number of samples. They make one projection: more of them
        cost little, and the noise of a single draw is averaged out.
    scale : float, default=0.5
        In [0, 1]: features are divided by their standard deviation to this power before they are
        compared. 0: as they are, so that shares depend on their units. 1: standardised; with
        word counts, rare words then dominate.
    random_state : int, RandomState instance or None, default=None
        Source of the draw.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Shares, adding up to 1.
    ranking_ : ndarray of int of shape (n_features,)
        1 for the best feature, 2 for the next, and so on.
    projection_ : PairwiseConstraintProjection
        What the scores come from, on the scaled features.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    See Also
    --------
    feature_importances : The same for a fitted ensemble.

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import SelectByConstraints
    >>> X = np.random.RandomState(0).standard_normal((200, 4))
    >>> Y = np.column_stack([X[:, 1] > 0, X[:, 3] > 0]).astype(int)
    >>> selector = SelectByConstraints(n_features_to_select=2, random_state=0).fit(X, Y)
    >>> selector.get_support()
    array([False,  True, False,  True])
    """

    _parameter_constraints: dict = {
        "n_features_to_select": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "scale": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        threshold: float = 0.6,
        n_draws: int = 10,
        scale: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.n_draws = n_draws
        self.scale = scale
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any) -> "SelectByConstraints":
        """Score the features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label. (A vector of classes is accepted too: sets of one.)

        Returns
        -------
        self
        """
        rows: Matrix = validate_rows(self, X)
        check_target_given(self, y)
        # Only differences matter: without centring, sparse rows stay sparse.
        scaler = StandardScaler(with_mean=False).fit(rows)
        scaler.scale_ **= self.scale
        n_pairs = self.n_draws * rows.shape[0]
        self.projection_ = PairwiseConstraintProjection(
            self.threshold,
            n_must_link=n_pairs,
            n_cannot_link=n_pairs,
            random_state=self.random_state,
        ).fit(scaler.transform(rows), y)
        self.scores_ = feature_shares(self.projection_)
        self.ranking_ = rankdata(-self.scores_, method="ordinal")
        return self

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        wanted = 0.5 if self.n_features_to_select is None else self.n_features_to_select
        if not isinstance(wanted, Integral):
            wanted = max(1, round(wanted * len(self.ranking_)))
        return self.ranking_ <= wanted

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
