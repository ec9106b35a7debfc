"""Calibrated label ranking: labels compared in pairs, and with a calibration label."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labelkin.base import Array, Matrix
from labelkin.rows import Labels
from labelkin.transformation._base import Trainer, TransformationClassifier, positive_proba


class CalibratedLabelRankingClassifier(TransformationClassifier):
    """Calibrated label ranking, CLR (Fürnkranz, Hüllermeier, Loza Mencía & Brinker, 2008).

    For every two labels a classifier learns which of them a sample has, from the samples
    that have exactly one of the two. One more label, the calibration label, stands between
    the relevant and the irrelevant labels of every sample: a classifier per label learns on
    which side of it the label falls, which is binary relevance. Each of the q(q − 1)/2 + q
    classifiers gives a sample one vote. The votes rank the labels, and the label set consists
    of all labels with at least as many votes as the calibration label.

    Two labels that are always on and off together have no training sample, hence no vote.
    Where every training sample of a pair has the same one of the two, that one always gets
    the vote. Of two equally probable labels the first gets the vote; at a probability of one
    half a label wins over the calibration label. Mulan does the same, except that Mulan 1.5
    ends the voting at the first pair without samples.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier; None: ``C45TreeClassifier(nominal_features="binary")``,
        which needs the extra ``labelkin[tree]``.
    n_jobs : int, default=None
        Number of threads, over classifiers; None: as many as BLAS uses. The results are the same
        for every value.
    random_state : int, RandomState instance or None, default=None
        Source of the seeds of base classifiers that have a ``random_state``.
    verbose : int, default=0
        1: about ten lines of progress; more: one line per classifier.

    Attributes
    ----------
    pairs_ : ndarray of shape (n_pairs, 2)
        The label pairs that have training samples, a < b in each.
    estimators_ : list of n_pairs classifiers
        For each of these pairs: class 1 is the first label, class 0 the second.
    calibration_estimators_ : list of n_labels classifiers
        For each label: class 1 above, class 0 below the calibration label.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    Notes
    -----
    ``predict_proba`` is (v + 1) / ((v + 1) + (c + 1/2)), v being the votes of the label and
    c those of the calibration label. Within a sample it ranks the labels as the votes do,
    ties included, and it is above one half exactly for the predicted labels. It is a score,
    not a calibrated probability. `votes` gives the counts themselves.

    References
    ----------
    J. Fürnkranz, E. Hüllermeier, E. Loza Mencía, K. Brinker. Multilabel classification via
    calibrated label ranking. Machine Learning 73 (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import CalibratedLabelRankingClassifier
    >>> X = np.arange(9.0)[:, None]
    >>> Y = np.array([[1, 0, 0]] * 3 + [[0, 1, 0]] * 3 + [[0, 1, 1]] * 3)
    >>> model = CalibratedLabelRankingClassifier().fit(X, Y)
    >>> model.predict([[1.0], [7.0]])
    array([[1, 0, 0],
           [0, 1, 1]])
    >>> model.votes([[1.0], [7.0]])
    array([[3, 1, 0, 2],
           [0, 3, 2, 1]])
    """

    def _fit(self, X: Matrix, labels: Labels, trainer: Trainer) -> None:
        y, n_labels = labels.Y, labels.shape[1]
        self.pairs_ = pairs_with_samples(y)
        # The calibration label has the number n_labels; no sample has it.
        duels = np.concatenate([self.pairs_, [(a, n_labels) for a in range(n_labels)]])
        seeds = self._draw_seeds(len(duels))

        def fit_duel(duel: int) -> Any:
            a, b = duels[duel]
            rows = None if b == n_labels else np.flatnonzero(y[:, a] != y[:, b])
            return trainer.fit(y[:, a], seeds[duel], rows=rows)

        members = self._fit_members(fit_duel, len(duels), "classifiers")
        self.estimators_ = members[: len(self.pairs_)]
        self.calibration_estimators_ = members[len(self.pairs_) :]

    def _votes(self, X: Matrix) -> Array:
        n_labels = len(self.calibration_estimators_)
        duels = [*self.pairs_, *((a, n_labels) for a in range(n_labels))]
        members = [*self.estimators_, *self.calibration_estimators_]
        outcomes = self._map_members(lambda member: positive_proba(member, X) >= 0.5, members)
        votes = np.zeros((X.shape[0], n_labels + 1), dtype=np.int64)
        for (a, b), wins in zip(duels, outcomes, strict=True):
            votes[:, a] += wins
            votes[:, b] += ~wins
        return votes

    def votes(self, X: ArrayLike) -> Array:
        """Count the votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of int of shape (n_samples, n_labels + 1)
            The votes for each label and, in the last column, for the calibration label.
        """
        return self._votes(self._validate_predict(X))

    def _proba(self, X: Matrix) -> Array:
        votes = self._votes(X)
        label, calibration = votes[:, :-1], votes[:, -1:]
        return (label + 1) / (label + calibration + 1.5)


def pairs_with_samples(Y: Array) -> Array:
    """Return the label pairs (a, b), a < b, of which some sample has exactly one, in order."""
    labels = Y.astype(np.float64)  # exact for counts, and multiplied by BLAS
    both = labels.T @ labels
    size = np.diag(both)
    return np.argwhere(np.triu(size[:, None] + size - 2 * both, k=1))
