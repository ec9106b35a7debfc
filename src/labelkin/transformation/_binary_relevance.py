"""Binary relevance: one classifier per label."""

from typing import Any

import numpy as np

from labelkin.base import Array, Matrix
from labelkin.rows import Labels
from labelkin.transformation._base import Trainer, TransformationClassifier, positive_proba


class BinaryRelevanceClassifier(TransformationClassifier):
    """Binary relevance: one classifier per label, independent of the other labels.

    The baseline of multi-label methods. It is scikit-learn's `MultiOutputClassifier`, but
    returns one (n, q) array of probabilities, accepts labels that are constant in training,
    and sorts the columns once for the trees of all labels. A label is predicted when its
    probability is at least one half. Where labels are unknown (NaN in y), the classifier of a label
    is fitted to the samples for which it is known; a label known for none is never predicted.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier; None: ``C45TreeClassifier(nominal_features="binary")``,
        which needs the extra ``labelkin[tree]``. Without ``predict_proba``, such as
        `LinearSVC`, it is ranked by its ``decision_function``: d becomes the probability
        (1 + d / (1 + |d|)) / 2, in the same order, above one half where d is positive.
    n_jobs : int, default=None
        Number of threads, over labels; None: as many as BLAS uses. The results are the same for
        every value.
    random_state : int, RandomState instance or None, default=None
        Source of the seeds of base classifiers that have a ``random_state``.
    verbose : int, default=0
        1: about ten lines of progress; more: one line per label.

    Attributes
    ----------
    estimators_ : list of n_labels classifiers
        In the order of the labels; a constant one for a label constant in training.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    See Also
    --------
    ChainClassifier : Labels passed on to the next classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import BinaryRelevanceClassifier
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.array([[1, 0]] * 3 + [[1, 1]] * 2 + [[0, 1]] * 3)
    >>> BinaryRelevanceClassifier().fit(X, Y).predict([[1.0], [3.0], [6.0]])
    array([[1, 0],
           [1, 1],
           [0, 1]])
    """

    _fits_unknown = True

    def _fit(self, X: Matrix, labels: Labels, trainer: Trainer) -> None:
        seeds = self._draw_seeds(labels.shape[1])

        def fit_label(label: int) -> Any:
            rows = None if labels.known is None else np.flatnonzero(labels.known[:, label])
            return trainer.fit(labels.Y[:, label], seeds[label], rows=rows)

        self.estimators_ = self._fit_members(fit_label, len(seeds), "labels")

    def _proba(self, X: Matrix) -> Array:
        columns = self._map_members(lambda m: positive_proba(m, X), self.estimators_)
        return np.column_stack(columns)
