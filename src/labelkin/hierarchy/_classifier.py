"""A multi-label classifier whose predictions respect a hierarchy of the labels."""

from typing import Any

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _check_method_params

from labelkin._utils.labels import label_names, named_if_single
from labelkin.base import Array
from labelkin.decisions._label_decision import out_of_sample_scores
from labelkin.decisions._wrapper import WrappingClassifier
from labelkin.hierarchy._hierarchy import LabelHierarchy
from labelkin.metrics._estimators import estimator_scores, label_thresholds


class HierarchyClassifier(WrappingClassifier):
    """A multi-label classifier whose predictions respect a hierarchy of the labels.

    The estimator is fitted to the closure of y, in which every row has the ancestors of its
    labels. Its probabilities are projected onto those in which no child is more probable than a
    parent, which are nearest in least squares and in log loss. The labels predicted are the set of
    largest sum of probability − threshold among those that contain every parent of their labels;
    thresholds are those of the estimator.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier of this library, or any scikit-learn classifier that accepts multi-label
        targets and has ``predict_proba`` or ``decision_function``, pipelines included. None:
        ``MLkNNClassifier()``.
    hierarchy : LabelHierarchy, pairs, dict or str, default=None
        Pairs of (parent, child), a dict of the children of each parent, or the separator inside the
        names of labels, as in ``science/physics``. Names are those of the columns of y, or their
        numbers; the columns of an array are also the first names of a `LabelHierarchy` that has no
        numbers. Labels that y lacks are learned and used if a label below them is in y, but not
        predicted. None: a separator is guessed, and used only if the part before it is itself a
        label, in every name that contains it. "none": no hierarchy.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to the closure of y.
    hierarchy_ : LabelHierarchy
        The labels of y, then those that y lacks.
    training_scores_ : ndarray of shape (n_samples, n_labels), or None
        Out-of-sample scores of the training rows, projected, if the estimator has such.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``, if the estimator has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, if the estimator has them.

    See Also
    --------
    labelkin.hierarchy.LabelHierarchy : Closure, projection, decisions and hierarchical metrics.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelkin import HierarchyClassifier, MultiLabelLogisticRegression
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> y = pd.DataFrame({"science": [0, 0, 0, 1], "science/physics": [0, 0, 1, 1]})
    >>> model = HierarchyClassifier(MultiLabelLogisticRegression(C=1.0)).fit(X, y)
    >>> model.hierarchy_.pairs()
    [('science', 'science/physics')]
    >>> bool((model.predict_proba(X)[:, 0] >= model.predict_proba(X)[:, 1]).all())
    True
    """

    _parameter_constraints: dict = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "hierarchy": [None, str, dict, "array-like", LabelHierarchy],
    }

    def __init__(self, estimator: Any = None, hierarchy: Any = None) -> None:
        self.estimator = estimator
        self.hierarchy = hierarchy

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, **params: Any) -> "HierarchyClassifier":
        """Fit the estimator to the closure of y.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or list, of n_samples rows
            Training samples, in any form the estimator takes.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label; NaN where a label is unknown, if the estimator takes it.
        **params : dict
            Passed to the estimator's ``fit``, such as ``sample_weight``; with metadata routing,
            what the estimator requests.

        Returns
        -------
        self
        """
        params = self._route(params)
        Y = self._validate_target(X, y)
        names = label_names(self)
        if isinstance(self.hierarchy, LabelHierarchy) and not hasattr(self, "label_names_"):
            given = self.hierarchy.names[: len(names)]
            if len(given) == len(names) and not set(names) & set(self.hierarchy.names):
                names = list(given)
        self.hierarchy_ = useful = self._useful(LabelHierarchy.of(self.hierarchy, names), names)
        if self._one_target and len(useful.names) > 1:
            raise ValueError("y must be a matrix of 0 and 1, one column per label, to be nested.")
        # Labels that y lacks are unknown in rows with unknown labels.
        target = np.zeros((len(Y), len(useful.names)), dtype=Y.dtype)
        target[np.isnan(Y).any(axis=1)] = np.nan if Y.dtype.kind == "f" else 0
        target[:, : len(names)] = Y
        target = useful.closure(target) if len(useful.edges) else target
        self.estimator_ = clone(self._estimator)
        target = self._as_fitted(self.estimator_, target, useful.names)
        with named_if_single(self.estimator_):
            self.estimator_.fit(X, target, **_check_method_params(X, params))
        self._adopt_features()
        _, scores = out_of_sample_scores(self.estimator_)
        self.training_scores_ = None
        if scores is not None and scores.shape == (len(Y), len(useful.names)):
            self.training_scores_ = useful.project(scores)[:, : len(names)].astype(np.float32)
        return self

    @staticmethod
    def _useful(hierarchy: LabelHierarchy, names: list[str]) -> LabelHierarchy:
        """Return the labels of y and their ancestors, without other labels that y lacks."""
        above = hierarchy.ancestors()[: len(names)].sum(axis=0) > 0
        kept = {name for name, keep in zip(hierarchy.names, above, strict=True) if keep}
        return LabelHierarchy([pair for pair in hierarchy.pairs() if kept.issuperset(pair)], names)

    def _all_proba(self, X: Any) -> Array:
        """Return consistent scores of all labels of the hierarchy."""
        q = len(self.hierarchy_.names)
        return self.hierarchy_.project(estimator_scores(self.estimator_, X, q).reshape(-1, q))

    def _proba(self, X: Any) -> Array:
        return self._all_proba(X)[:, : self._n_labels]

    def _labels(self, X: Any) -> Array:
        return self._decide(self._all_proba(X))

    def _decide(self, proba: Array) -> Array:
        thresholds = label_thresholds(self.estimator_, proba.shape[1])
        sets = self.hierarchy_.decide(proba, np.nan_to_num(thresholds, nan=0.5))
        return sets[:, : self._n_labels]

    def _predict_with_proba(self, X: Any) -> tuple[Array, Array]:
        proba = self._all_proba(self._validate_predict(X))
        return self._as_target(self._decide(proba)), self._as_proba(proba[:, : self._n_labels])
