"""What the estimators here share: label matrices in, label matrices or projections out.

A multi-label target is an (n, q) matrix of 0 and 1. A one-dimensional target with two
classes is taken as well, as scikit-learn's own classifiers do, and answered in kind.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import Tags, assert_all_finite
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from labelkin._labels import check_labels

Array = np.ndarray
Matrix = Any  # a dense array or a SciPy CSR matrix

FLOATS = (np.float64, np.float32)


def label_matrix(Y: Any, name: str = "Y") -> Array:
    """Return a multi-label target, an (n, q) matrix of 0 and 1 in any form, as a dense array."""
    labels = check_labels(Y, name)
    return (labels.toarray() if sparse.issparse(labels) else labels).astype(np.uint8)


def label_set_matrix(Y: Any) -> Array:
    """Return any classification target as label sets; a class vector gives sets of one."""
    labels = Y if hasattr(Y, "ndim") else np.asarray(Y)
    if labels.ndim == 2:
        return label_matrix(labels)
    classes = column_or_1d(labels)
    assert_all_finite(classes, input_name="y")
    check_classification_targets(classes)
    return (classes[:, None] == np.unique(classes)).astype(np.uint8)


def in_blocks(X: Any) -> bool:
    """Tell whether rows are those of a Dask array, in memory elsewhere."""
    return hasattr(X, "__dask_graph__") or hasattr(X, "row_blocks")


def seeded(estimator: Any, rng: Any) -> Any:
    """Give every random_state of an estimator, nested ones too, a seed of its own."""
    seeds = {
        name: int(rng.randint(2**31 - 1))
        for name, value in sorted(estimator.get_params(deep=True).items())
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    return estimator.set_params(**seeds) if seeds else estimator


class MultiLabelClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base of our classifiers: `_proba` gives (n, q) probabilities, the rest follows.

    A subclass validates with `_validate_fit` in its ``fit``, and implements
    ``_proba(X)`` on validated input.
    """

    classes_: Any
    label_names_: Array
    n_features_in_: int
    _one_target: bool
    # Whether it is fitted to Dask arrays where they are. Others bring them into memory.
    _fits_blocks = False

    def _validate_fit(self, X: ArrayLike, Y: Any) -> tuple[Matrix, Array]:
        """Validate training data, remember the target's form, return X and the (n, q) Y."""
        if in_blocks(X) and self._fits_blocks:
            from labelkin import _dask

            return _dask.validate_fit(self, X, Y)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        if Y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        if hasattr(self, "label_names_"):
            del self.label_names_
        labels = Y if hasattr(Y, "ndim") else np.asarray(Y)
        check_consistent_length(X, labels)
        self._one_target = labels.ndim == 1
        if self._one_target:
            return X, self._validate_one_target(labels)
        labels = label_matrix(labels)
        self.classes_ = [np.array([0, 1])] * labels.shape[1]
        if hasattr(Y, "columns"):
            self.label_names_ = np.asarray(Y.columns, dtype=object)
        return X, labels

    def _validate_one_target(self, y: Any) -> Array:
        y = column_or_1d(y)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}. For several labels per sample give Y as a matrix of 0 "
                "and 1, one column per label."
            )
        # A single class is a label that always applies.
        return (codes if len(self.classes_) == 2 else codes + 1)[:, None].astype(np.uint8)

    def _validate_predict(self, X: ArrayLike) -> Matrix:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)

    def _as_target(self, labels: Array) -> Array:
        """Turn (n, q) booleans into predictions of the form that was fitted."""
        if self._one_target:
            return self.classes_[np.minimum(labels[:, 0], len(self.classes_) - 1).astype(int)]
        return labels.astype(np.int64)

    def _as_proba(self, proba: Array) -> Array:
        """Turn (n, q) probabilities into the form that was fitted."""
        if not self._one_target:
            return proba
        if len(self.classes_) == 1:
            return np.ones((len(proba), 1))
        return np.column_stack([1 - proba[:, 0], proba[:, 0]])

    @abstractmethod
    def _proba(self, X: Matrix) -> Array:
        """Return P(label = 1) of validated rows as an (n, q) array."""

    def _labels(self, X: Matrix) -> Array:
        """Labels of validated rows: those more likely than not."""
        return self._proba(X) > 0.5

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probability of each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1), one column per label. (After a one-dimensional target: one column
            per class, as scikit-learn's binary classifiers do.) Of a Dask array: a Dask array.
        """
        if in_blocks(X):
            from labelkin import _dask

            return _dask.predict(self, X, "predict_proba")
        return self._as_proba(self._proba(self._validate_predict(X)))

    def predict(self, X: ArrayLike) -> Array:
        """Predict the label set of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of int of shape (n_samples, n_labels)
            1 where the label is predicted. (After a one-dimensional target: the classes.)
            Of a Dask array: a Dask array.
        """
        if in_blocks(X):
            from labelkin import _dask

            return _dask.predict(self, X, "predict")
        return self._as_target(self._labels(self._validate_predict(X)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags


class LinearProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of linear transformers learned from label sets: z = Wᵀx, W's columns in a row each.

    A subclass sets ``components_`` of shape (d, n_features) in its ``fit``.
    """

    components_: Array

    def _validate_rows(self, X: ArrayLike, reset: bool) -> Matrix:
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=reset)

    def _validate_label_sets(self, rows: Matrix, Y: Any) -> Array:
        """Return the label sets that go with validated rows."""
        if Y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        check_consistent_length(rows, Y)
        return label_set_matrix(Y)

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
        if in_blocks(X):
            from labelkin import _dask

            return _dask.transform(self, X)
        return self._validate_rows(X, reset=False) @ self.components_.T

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
