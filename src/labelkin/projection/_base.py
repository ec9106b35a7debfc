"""The base class of linear transformers."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from labelkin._utils.labels import as_target, check_target_given, split_unknown
from labelkin.base import Array, Matrix, check_same_namespace, label_set_matrix, validate_rows
from labelkin.rows import DaskRows, is_dask, to_numpy, with_known_length


class LinearProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of linear transformers learned from label sets, z = Wᵀx.

    A subclass sets ``components_``, Wᵀ of shape (d, n_features), in its ``fit``.
    """

    components_: Array
    _stored_array = "components_"
    # Whether ``fit`` takes unknown labels, which are NaN.
    _fits_unknown = False

    def _validate(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Validate training data; return rows and label sets as matrices, or on Dask."""
        check_target_given(self, y)
        if is_dask(X):
            rows: Any = DaskRows.from_dask(X)
            self.n_features_in_ = rows.shape[1]
            y = with_known_length(y)
            y = y if y.ndim == 2 else label_set_matrix(np.asarray(y))
        else:
            rows, y = validate_rows(self, X), to_numpy(y)
        check_consistent_length(rows, y)
        if self._fits_unknown and not is_dask(y) and as_target(y).ndim == 2:
            labels, known = split_unknown(y, "y")
            if known is not None:
                return rows, np.where(known, labels, np.nan)
        return rows, y if is_dask(y) else label_set_matrix(y)

    def transform(self, X: ArrayLike) -> Array:
        """Project samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, d)
        """
        check_is_fitted(self)
        if is_dask(X):
            rows = DaskRows.of_queries(self, X) @ self.components_.T
            return rows.as_dask(np.result_type(rows.dtype, self.components_))
        check_same_namespace(X, self, attribute=self._stored_array, method="transform")
        return self._project(validate_rows(self, X, reset=False))

    def _project(self, X: Matrix) -> Array:
        """Project validated samples."""
        return X @ self.components_.T

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
