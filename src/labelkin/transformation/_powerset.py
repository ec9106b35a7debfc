"""Label powerset: every label set is a class."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from labelkin.base import Array, Matrix
from labelkin.metrics._estimators import class_proba
from labelkin.rows import Labels
from labelkin.transformation._base import Trainer, TransformationClassifier
from labelkin.tree import C45TreeClassifier


class LabelPowersetClassifier(TransformationClassifier):
    """Label powerset, LP: every label set seen in training is a class of one classifier.

    The prediction is the most probable class, so it is always a label set that occurs in
    training; of equally probable ones the more frequent, then the first in the order of
    `label_sets_`. The probability of a label is the sum over the classes that contain it.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn multi-class classifier; None:
        ``C45TreeClassifier(nominal_features="binary")``, which needs the extra
        ``labelkin[tree]``. Without ``predict_proba`` the probabilities of the sets are the
        softmax of its ``decision_function``, and the predicted set is the one it predicts.
    n_jobs : int, default=None
        Given to a base classifier that has an ``n_jobs`` and leaves it None.
    random_state : int, RandomState instance or None, default=None
        Source of the seed of a base classifier that has a ``random_state``.
    verbose : int, default=0
        Above 0: a line when the classifier is trained.

    Attributes
    ----------
    label_sets_ : ndarray of shape (n_label_sets, n_labels)
        The classes: distinct label sets, the most frequent first.
    estimator_ : classifier
        Fitted on the row numbers of `label_sets_`.
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
    RAkELClassifier : Many powersets of few labels each, for data with many labels.

    Notes
    -----
    Mulan's LP draws among equally probable sets, and by default gives the labels of the
    predicted set its probability p, the others 1 − p. The sums here are its third method,
    the distribution that the classifier implies.

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import LabelPowersetClassifier
    >>> X = np.arange(6.0)[:, None]
    >>> Y = np.array([[1, 0, 1]] * 3 + [[0, 1, 1]] * 3)
    >>> LabelPowersetClassifier().fit(X, Y).predict([[1.0], [4.0]])
    array([[1, 0, 1],
           [0, 1, 1]])
    """

    def _fit(self, X: Matrix, labels: Labels, trainer: Trainer) -> None:
        if self.n_jobs is not None and trainer.base.get_params().get("n_jobs", 0) is None:
            trainer.base = clone(trainer.base).set_params(n_jobs=self.n_jobs)
        seed = self._draw_seeds(1)[0]
        (self.estimator_,) = self._fit_members(
            lambda _: self._fit_label_sets(trainer, labels.Y, seed), 1, "classifiers"
        )

    def _fit_label_sets(self, trainer: Trainer, y: Array, seed: int) -> Any:
        """Fit to validated data; return the classifier of label sets."""
        # The most frequent set comes first, so that argmax prefers it in a tie.
        self.label_sets_, codes = distinct_label_sets(y, trainer.weight)
        classifier = trainer.fit(codes, seed)
        self._classifier, self._sets = classifier, self.label_sets_[classifier.classes_]
        if isinstance(classifier, C45TreeClassifier):
            # A tree on q labels has up to as many classes as samples. One set and q probabilities
            # per node, instead of a weight per class, are an eighth of the memory on enron.
            value = classifier.tree_.value
            proba = value @ self._sets / value.sum(axis=1, keepdims=True)
            self._node_proba = np.minimum(proba, 1.0)
            self._node_sets = self._sets[value.argmax(axis=1)]
            self._classifier = copy(classifier)
            self._classifier.tree_ = replace(classifier.tree_, value=np.empty((len(value), 0)))
        return classifier

    def _proba(self, X: Matrix) -> Array:
        if isinstance(self._classifier, C45TreeClassifier):
            return self._node_proba[self._classifier._apply(X)]
        # The sum of a distribution can exceed 1 by a rounding error.
        return np.minimum(class_proba(self._classifier, X) @ self._sets, 1.0)

    def _labels(self, X: Matrix) -> Array:
        classifier = self._classifier
        if isinstance(classifier, C45TreeClassifier):
            return self._node_sets[classifier._apply(X)]
        if hasattr(classifier, "predict_proba"):
            return self._sets[class_proba(classifier, X).argmax(axis=1)]
        return self._sets[np.searchsorted(classifier.classes_, classifier.predict(X))]


def distinct_label_sets(Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """Find the distinct rows of 0 and 1, the most frequent first, ties in ascending order.

    Returned are these rows, and each sample's row number among them. `weight` are positive weights
    of the samples.
    """
    sets, codes = np.unique(Y, axis=0, return_inverse=True)
    order = np.argsort(-np.bincount(codes, weight), kind="stable")
    return sets[order], np.argsort(order)[codes]
