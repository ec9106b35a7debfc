"""Classifiers around another classifier, which validates the samples."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from labelkin._utils.labels import fits_unknown
from labelkin.base import Array, MetaClassifier
from labelkin.neighbors import MLkNNClassifier


def _has(method: str) -> Callable[[Any], bool]:
    def check(self: "WrappingClassifier") -> bool:
        return hasattr(getattr(self, "estimator_", self._estimator), method)

    return check


class WrappingClassifier(MetaClassifier):
    """A classifier that fits ``estimator`` to all rows, as ``estimator_``."""

    estimator_: Any

    @property
    def _fits_unknown(self) -> bool:  # type: ignore[override]
        return fits_unknown(self._estimator)

    @property
    def _estimator(self) -> Any:
        return MLkNNClassifier() if self.estimator is None else self.estimator

    def _validate_target(self, X: Any, y: Any) -> Array:
        """Return y as an (n, q) array, NaN where unknown; X is validated by the estimator."""
        _, Y, known = self._validate_known(np.zeros((_num_samples(X), 1)), y)
        del self.n_features_in_  # of the placeholder
        # Some estimators write −1 into a copy of integers.
        return Y.astype(np.int64) if known is None else np.where(known, Y, np.nan)

    def _as_fitted(self, estimator: Any, target: Array, names: Any = None) -> Any:
        """Return a target in the form that the estimator's ``fit`` takes.

        One that wraps another may know labels by their names, by default those of y.
        """
        single = get_tags(estimator).target_tags.single_output
        if self._one_target or (single and target.shape[1] == 1):
            return target.ravel()
        inside = [estimator, *estimator.get_params().values()]
        # A TableClassifier, which has `labels`, leaves out columns of X with their names.
        by_name = any(
            isinstance(one, WrappingClassifier) or hasattr(one, "labels") for one in inside
        )
        pandas = sys.modules.get("pandas")  # loaded where y is a DataFrame
        if pandas is None or not by_name or not hasattr(self, "label_names_"):
            return target
        return pandas.DataFrame(target, columns=self.label_names_ if names is None else names)

    def _adopt_features(self) -> None:
        """Copy the number and names of features from the fitted estimator."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
            elif hasattr(self, name):
                delattr(self, name)

    def _validate_predict(self, X: Any, method: str = "predict") -> Any:
        check_is_fitted(self)
        return X

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Probability of each label, by the estimator.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or list
            Samples, in any form the estimator takes.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            P(label = 1), one column per label. (After a one-dimensional target: one column
            per class, as scikit-learn's binary classifiers do.)
        """
        return self._as_proba(self._proba(self._validate_predict(X)))

    @available_if(lambda self: not _has("predict_proba")(self) and _has("decision_function")(self))
    def decision_function(self, X: Any) -> Array:
        """Score of each label, of an estimator without ``predict_proba``.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or list
            Samples, in any form the estimator takes.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            After a one-dimensional target: (n_samples,).
        """
        scores = self._proba(self._validate_predict(X))
        return scores[:, 0] if self._one_target else scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._estimator).input_tags
        return tags
