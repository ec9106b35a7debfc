"""MDDM: linear dimensions on which the labels depend most."""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.extmath import _deterministic_vector_sign_flip

from labelkin.base import Array
from labelkin.projection._base import LinearProjection
from labelkin.rows import is_dask


class MDDM(LinearProjection):
    """Multi-label dimensionality reduction via dependence maximisation (Zhang & Zhou, 2010).

    The dependence between projected samples and labels is measured by the Hilbert-Schmidt
    independence criterion. With H the centring matrix and L the numbers of labels
    that two samples share, the projection P maximises tr(Pᵀ Xᵀ H L H X P) over orthonormal
    projections, PᵀP = I (MDDMp in the article).

    Parameters
    ----------
    n_components : float or int, default=0.99
        A float in (0, 1]: the fewest dimensions whose eigenvalues reach this share of the
        sum of all. An int: the maximal number. There are never more dimensions than labels.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        Pᵀ, the largest entry of each row positive.
    eigenvalues_ : ndarray of shape (d,)
        Contribution of each row to the objective, decreasing.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    Notes
    -----
    L = ΦΦᵀ with one column of Φ per label, so that the objective's matrix has at most as many
    positive eigenvalues as there are labels. They come from the singular values of the
    features × labels matrix XᵀHΦ: no array of samples × samples or of features × features is
    formed. Sparse samples stay sparse.

    References
    ----------
    Y. Zhang, Z.-H. Zhou. Multilabel dimensionality reduction via dependence maximization.
    ACM Transactions on Knowledge Discovery from Data 4 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import MDDM
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> Y = np.array([[0, 1], [0, 1], [1, 0], [1, 0]])
    >>> MDDM().fit_transform(X, Y).ravel()
    array([0., 0., 1., 1.])
    """

    _parameter_constraints: dict = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
    }

    def __init__(self, n_components: float | int = 0.99) -> None:
        self.n_components = n_components

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any) -> "MDDM":
        """Find the dimensions.

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
        rows, labels = self._validate(X, y)
        rows = rows.gather() if is_dask(rows) else rows
        dtype = rows.dtype
        labels = labels.astype(np.float64)
        # HX for dense rows. Sparse ones are not centred: H on the labels has the same effect.
        if not sparse.issparse(rows):
            rows = rows - rows.mean(axis=0, dtype=np.float64)
        cross = rows.T @ (labels - labels.mean(axis=0))
        left, singular, _ = linalg.svd(cross, full_matrices=False)
        d = self._dimension(singular**2)
        self.eigenvalues_ = singular[:d] ** 2
        components = _deterministic_vector_sign_flip(left[:, :d].T)
        self.components_ = np.ascontiguousarray(components.astype(dtype, copy=False))
        return self

    def _dimension(self, eigenvalues: Array) -> int:
        """Return how many of the decreasing eigenvalues to keep."""
        # Rounding of the singular values, squared.
        rank = int((eigenvalues > (1e-13 * len(eigenvalues)) ** 2 * eigenvalues[0]).sum())
        if not rank:
            warnings.warn(
                "No label depends linearly on the features (constant labels, or constant "
                "features); one arbitrary dimension is kept.",
                stacklevel=3,
            )
            return 1
        if isinstance(self.n_components, Integral):
            return min(int(self.n_components), rank)
        share = np.cumsum(eigenvalues[:rank]) / eigenvalues[:rank].sum()
        # The last share is 1 up to rounding.
        return min(int(np.searchsorted(share, self.n_components - 1e-12)) + 1, rank)
