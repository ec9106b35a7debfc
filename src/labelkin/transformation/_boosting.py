"""AdaBoost of pruned decision trees, one label after another."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import has_fit_parameter

from labelkin.base import Array, Matrix
from labelkin.rows import Labels
from labelkin.transformation._base import Trainer, TransformationClassifier, positive_proba

# Errors this close to 0 or to one half count as such, as in WEKA.
_SMALL = 1e-6


class AdaBoostPDTClassifier(TransformationClassifier):
    """AdaBoost of pruned decision trees, each label on its own (AdaBoost_PDT in the paper).

    For each label AdaBoost.M1 trains up to `n_estimators` trees; after each the samples it
    gets wrong gain weight. A label's probability is e^a / (e^a + e^b), a being the weight of
    the trees that vote for the label and b that of the others; with a single tree it is that
    tree's own. A label is predicted if it is at least one half.

    Boosting of a label ends early with a tree that is perfect on the training samples or no
    better than chance. Such a tree is dropped, unless it is the first and hence all there
    is. A label that is constant in training stays so.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier that takes sample weights; None:
        ``C45TreeClassifier(nominal_features="binary")``, pruned as WEKA's J48, which needs the
        extra ``labelkin[tree]``.
    n_estimators : int, default=10
        Maximum number of boosting rounds per label.
    n_jobs : int, default=None
        Number of threads, over labels; None: as many as BLAS uses. The results are the same for
        every value.
    random_state : int, RandomState instance or None, default=None
        Source of the seeds of base classifiers that have a ``random_state``.
    verbose : int, default=0
        1: about ten lines of progress; more: one line per label.

    Attributes
    ----------
    estimators_ : list of n_labels lists of classifiers
        The trees of each label.
    estimator_weights_ : list of n_labels arrays
        log((1 − ε)/ε) of each tree; 1 for a tree that is alone and perfect, or no better than
        chance.
    estimator_errors_ : list of n_labels arrays
        ε, the weighted training error of each tree.
    classes_ : ndarray of shape (n_labels, 2)
        0 and 1 for each label. After a one-dimensional target: its classes, of shape (2,).
    label_names_ : ndarray of shape (n_labels,)
        Column names of y, when y was a DataFrame.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names seen in ``fit``, when X was a DataFrame with string columns.

    References
    ----------
    Y. Freund, R. E. Schapire. Experiments with a new boosting algorithm. ICML (1996).

    Examples
    --------
    >>> import numpy as np
    >>> from labelkin import AdaBoostPDTClassifier
    >>> X = np.arange(6.0)[:, None]
    >>> Y = np.array([[1, 0]] * 3 + [[0, 1]] * 3)
    >>> AdaBoostPDTClassifier().fit(X, Y).predict([[1.0], [4.0]])
    array([[1, 0],
           [0, 1]])
    """

    _parameter_constraints: dict = {
        **TransformationClassifier._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(estimator, n_jobs=n_jobs, random_state=random_state, verbose=verbose)
        self.n_estimators = n_estimators

    def _fit(self, X: Matrix, labels: Labels, trainer: Trainer) -> None:
        y, n_labels = labels.Y, labels.shape[1]
        if not has_fit_parameter(trainer.base, "sample_weight"):
            raise ValueError(
                f"{type(trainer.base).__name__} takes no sample_weight, which boosting needs: "
                "choose another estimator."
            )
        seeds = self._draw_seeds(n_labels * self.n_estimators).reshape(n_labels, -1)
        boosted = self._fit_members(
            lambda label: _boost(trainer, X, y[:, label], seeds[label]), n_labels, "labels"
        )
        self.estimators_ = [members for members, _, _ in boosted]
        self.estimator_weights_ = [weights for _, weights, _ in boosted]
        self.estimator_errors_ = [errors for _, _, errors in boosted]

    def _proba(self, X: Matrix) -> Array:
        boosted = zip(self.estimators_, self.estimator_weights_, strict=True)
        columns = self._map_members(lambda b: _boosted_proba(b[0], b[1], X), boosted)
        return np.column_stack(columns)


def _boost(trainer: Trainer, X: Matrix, y: Array, seeds: Array) -> tuple[list[Any], Array, Array]:
    """Run AdaBoost.M1 for two classes (Freund & Schapire, 1996) as WEKA's AdaBoostM1 does.

    scikit-learn's AdaBoostClassifier computes the same weights, but with the sum 1, with
    which C4.5, counting weights as samples, never splits; it rejects a first member that is
    no better than chance; and it keeps a perfect later one.

    Returned are the members, at most one per seed, their weights log((1 − ε)/ε), and ε, their
    weighted training errors.
    """
    members: list[Any] = []
    weights: list[float] = []
    errors: list[float] = []
    weight = np.ones(len(y)) if trainer.weight is None else trainer.weight.copy()
    total = weight.sum()  # kept in every round: C4.5 counts weights as samples
    for seed in seeds:
        # Train a member and find the samples it misclassifies.
        member = trainer.fit(y, seed, weight=weight)
        wrong = (positive_proba(member, X) > 0.5) != y
        error = float(weight[wrong].sum() / total)

        # Stop at a member that is perfect or no better than chance; keep it if it is the only one.
        if not _SMALL < error < 0.5 - _SMALL:
            if not members:
                return [member], np.ones(1), np.array([error])
            break

        # Raise the weights of the misclassified samples.
        odds = (1 - error) / error
        weight[wrong] *= odds
        weight *= total / weight.sum()
        members.append(member)
        weights.append(float(np.log(odds)))
        errors.append(error)
    return members, np.array(weights), np.array(errors)


def _boosted_proba(members: list[Any], weights: Array, X: Matrix) -> Array:
    """Return P(class 1): the odds of each class are the exponential of its members' weights."""
    if len(members) == 1:
        return positive_proba(members[0], X)
    margin = np.zeros(X.shape[0])
    for member, weight in zip(members, weights, strict=True):
        margin += np.where(positive_proba(member, X) > 0.5, weight, -weight)
    return expit(margin)
