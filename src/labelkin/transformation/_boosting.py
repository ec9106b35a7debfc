"""AdaBoost of pruned decision trees, one label after another."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval

from labelkin._utils.parallel import map_threads
from labelkin._utils.progress import FitProgress
from labelkin.base import Array, Matrix
from labelkin.transformation._base import QueryRows, SingleLabelBased, TrainingMatrix

# Errors this close to 0 or to one half count as such, as in WEKA.
_SMALL = 1e-6
# With resampling a perfect member is drawn anew so often, as in WEKA.
_MAX_DRAWS = 10


@dataclass
class Booster:
    """AdaBoost.M1 for two classes (Freund & Schapire, 1996), as WEKA's AdaBoostM1 runs it.

    scikit-learn's AdaBoostClassifier computes the same weights, but hands them on with the
    sum 1, with which C4.5, counting weights as samples, never splits; it refuses a first
    member that is no better than chance; and it keeps a perfect later one.

    Attributes
    ----------
    members : list of fitted classifiers of the classes 0 and 1
    weights : list of float
        log((1 − ε)/ε) of each member.
    errors : list of float
        ε, each member's weighted training error.
    """

    members: list[Any]
    weights: list[float]
    errors: list[float]

    @classmethod
    def fit(
        cls,
        matrix: TrainingMatrix,
        y: Array,
        seeds: Array,
        resampling: bool,
        first: Array | None = None,
    ) -> "Booster":
        """Train at most a member per seed; stop at one that is perfect or no better than chance.

        Such a member is dropped, unless it is the first: then it is all there is.
        """
        booster = cls([], [], [])
        rows = QueryRows(matrix.X)
        weight = np.ones(len(y)) if first is None else first.copy()
        total = weight.sum()  # the number of samples; the weights always add up to it
        for seed in seeds:
            member, wrong = _round(matrix, rows, y, weight, seed, resampling)
            error = float(weight[wrong].sum() / total)
            if error >= 0.5 - _SMALL or error <= _SMALL:
                if not booster.members:
                    booster._add(member, 1.0, error)
                break
            odds = (1 - error) / error
            booster._add(member, float(np.log(odds)), error)
            weight[wrong] *= odds
            weight *= total / weight.sum()
        return booster

    def _add(self, member: Any, weight: float, error: float) -> None:
        self.members.append(member)
        self.weights.append(weight)
        self.errors.append(error)

    def positive(self, rows: QueryRows) -> Array:
        """Return P(class 1): each class has the odds of its members' weights, exponentiated."""
        if len(self.members) == 1:
            return rows.positive(self.members[0])
        margin = np.zeros(rows.shape[0])
        for member, weight in zip(self.members, self.weights, strict=True):
            margin += np.where(rows.positive(member) > 0.5, weight, -weight)
        return expit(margin)


def _round(
    matrix: TrainingMatrix, rows: QueryRows, y: Array, weight: Array, seed: int, resampling: bool
) -> tuple[Any, Array]:
    """Train one member; return it and which training samples it gets wrong."""

    def train(**how: Any) -> tuple[Any, Array]:
        member = matrix.fit(y, seed=seed, **how)
        return member, (rows.positive(member) > 0.5) != y

    if not resampling:
        return train(weight=weight)
    rng = np.random.RandomState(seed)
    for _ in range(_MAX_DRAWS):
        member, wrong = train(rows=rng.choice(len(y), len(y), p=weight / weight.sum()))
        if wrong.any():
            break
    return member, wrong


class AdaBoostPDTClassifier(SingleLabelBased):
    """AdaBoost of pruned decision trees, each label on its own (AdaBoost_PDT in the paper).

    For each label AdaBoost.M1 trains up to `n_estimators` trees; after each the samples it
    gets wrong gain weight. A label's probability is e^a / (e^a + e^b), a being the weight of
    the trees that vote for the label and b that of the others; with a single tree it is that
    tree's own. A label is predicted at one half and above.

    Boosting of a label ends early with a tree that is perfect on the training samples or no
    better than chance. Such a tree is dropped, unless it is the first and hence all there
    is. A label that is constant in training stays so.

    Parameters
    ----------
    estimator : estimator, default=None
        Any scikit-learn classifier; None: ``C45TreeClassifier(nominal_features="binary")``,
        pruned as WEKA's J48, which needs the extra ``labelkin[tree]``.
    n_estimators : int, default=10
        Rounds of boosting for a label, at most.
    resampling : bool, default=False
        Whether to draw the samples of each round by their weights instead of weighing them.
        A base classifier without ``sample_weight`` is always trained so.
    n_jobs : int, default=None
        Threads, over labels; None: as many as BLAS would use. The results are the same for
        every value.
    random_state : int, RandomState instance or None, default=None
        Source of the resampling and of the seeds of base classifiers that have a
        ``random_state``.
    verbose : int, default=0
        1: about ten lines of progress; more: a line for each label.

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
    >>> from labelkin.transformation._boosting import AdaBoostPDTClassifier
    >>> X = np.arange(6.0)[:, None]
    >>> Y = np.array([[1, 0]] * 3 + [[0, 1]] * 3)
    >>> AdaBoostPDTClassifier().fit(X, Y).predict([[1.0], [4.0]])
    array([[1, 0],
           [0, 1]])
    """

    _parameter_constraints: dict = {
        "estimator": [None, HasMethods(["fit", "predict"])],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "resampling": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        resampling: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.resampling = resampling
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> "AdaBoostPDTClassifier":
        """Boost each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples.
        y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
            0 and 1, one column per label.
        sample_weight : array-like of shape (n_samples,), optional
            Where boosting begins; a sample of weight 2 counts as two, one of weight 0 is left
            out. The members always see weights of their own.

        Returns
        -------
        self
        """
        X, y, weight = self._validate_weighted(X, y, sample_weight)
        q = y.shape[1]
        matrix = TrainingMatrix(X, self.estimator)
        resampling = self.resampling or not matrix.takes_weights
        rng = check_random_state(self.random_state)
        seeds = rng.randint(2**31 - 1, size=(q, self.n_estimators))
        progress = FitProgress(self, "labels", q, self.verbose)

        def boost(label: int) -> Booster:
            booster = Booster.fit(matrix, y[:, label], seeds[label], resampling, weight)
            progress.step()
            return booster

        self._boosters = map_threads(boost, range(q), self.n_jobs)
        self.estimators_ = [booster.members for booster in self._boosters]
        self.estimator_weights_ = [np.array(booster.weights) for booster in self._boosters]
        self.estimator_errors_ = [np.array(booster.errors) for booster in self._boosters]
        return self

    def _proba(self, X: Matrix) -> Array:
        rows = QueryRows(X)
        columns = map_threads(lambda b: b.positive(rows), self._boosters, self.n_jobs)
        return np.column_stack(columns)

    def _labels(self, X: Matrix) -> Array:
        return self._proba(X) >= 0.5
