"""Methods of other libraries, for the comparison beyond the paper.

Each is used with its library's documented defaults, or tuned by an inner cross-validation on
the training rows alone. One setting is chosen for all labels of a dataset, by the mean average
precision over the inner folds. LightGBM and BOOMER need the extra ``compare``.
"""

from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from labelkin._utils.optional import import_optional
from labelkin.base import Array, Matrix, MultiLabelClassifier
from labelkin.calibration import SlopeCalibration
from labelkin.methods import METHODS, Method, behind_dense_rows
from labelkin.metrics import average_precision, get_scorer
from labelkin.transformation import BinaryRelevanceClassifier, ChainClassifier

INNER_FOLDS = 3
LOGISTIC_C = (0.1, 0.3, 1.0, 3.0, 10.0)


def _inner_folds(random_state: Any) -> KFold:
    """Return the folds by which a setting is chosen; scikit-learn has no multi-label strata."""
    return KFold(INNER_FOLDS, shuffle=True, random_state=random_state)


def logistic_regression(seed: int | None) -> Any:
    """Return one logistic regression per label, with one C chosen for all."""
    model = BinaryRelevanceClassifier(LogisticRegression(solver="liblinear"), random_state=seed)
    return GridSearchCV(
        model,
        {"estimator__C": LOGISTIC_C},
        scoring=get_scorer("average_precision"),
        cv=_inner_folds(seed),
    )


class TunedChainsClassifier(MultiLabelClassifier):
    """Classifier chains of logistic regressions in random orders, averaged.

    C is the best one of binary relevance on the inner folds: choosing it by the chains themselves
    would cost ten times as much.
    """

    def __init__(self, n_estimators: int = 10, *, random_state: Any = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "TunedChainsClassifier":
        """Choose C, then train the chains on all rows."""
        X, y = self._validate_fit(X, y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.C_ = logistic_regression(seed).fit(X, y).best_params_["estimator__C"]
        self.chains_ = ChainClassifier(
            LogisticRegression(C=self.C_, solver="liblinear"),
            order="random",
            n_estimators=self.n_estimators,
            voting="soft",
            random_state=seed,
        ).fit(X, y)
        return self

    def _proba(self, X: Matrix) -> Array:
        return self.chains_.predict_proba(X)


class CalibratedSVMClassifier(MultiLabelClassifier):
    """One support vector machine with an RBF kernel per label, calibrated.

    The kernel is computed once for all labels. Out-of-fold decision values of the inner folds
    choose one of `Cs` for all labels and fit the calibration: one logistic curve per label, as
    Platt's, with slopes that rare labels share with the others.
    """

    def __init__(self, Cs: tuple[float, ...] = (1.0, 10.0), *, random_state: Any = None) -> None:
        self.Cs = Cs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "CalibratedSVMClassifier":
        """Choose C and calibrate on the inner folds, then train on all rows."""
        X, y = self._validate_fit(X, y)
        self.gamma_ = _scale_gamma(X)
        K = rbf_kernel(X, gamma=self.gamma_)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        left_out = {C: self._left_out(K, y, C, seed) for C in np.atleast_1d(self.Cs)}
        self.C_ = max(left_out, key=lambda C: average_precision(y, left_out[C]))
        self._calibration = SlopeCalibration().fit(left_out[self.C_], y)
        self._machines = _fit_machines(K, y, self.C_)
        self._X = X
        return self

    def _left_out(self, K: Array, Y: Array, C: float, seed: int) -> Array:
        """Return each row's decision values by the machines of the other inner folds."""
        scores = np.empty(Y.shape)
        for train, test in _inner_folds(seed).split(K):
            machines = _fit_machines(K[np.ix_(train, train)], Y[train], C)
            scores[test] = _decide(machines, K[np.ix_(test, train)])
        return scores

    def _proba(self, X: Matrix) -> Array:
        K = rbf_kernel(X, self._X, gamma=self.gamma_)
        return self._calibration(_decide(self._machines, K))


def _scale_gamma(X: Matrix) -> float:
    """Return scikit-learn's ``gamma="scale"``: 1 / (number of features · variance of X)."""
    mean = X.mean()
    variance = X.multiply(X).mean() - mean**2 if hasattr(X, "multiply") else X.var()
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _fit_machines(K: Array, Y: Array, C: float) -> list[Any]:
    """Return one machine per label; for a label of one class, its constant decision value."""
    return [
        SVC(C=C, kernel="precomputed").fit(K, y) if 0 < y.sum() < len(y) else 2.0 * y[0] - 1
        for y in Y.T.astype(np.int64)
    ]


def _decide(machines: list[Any], K: Array) -> Array:
    return np.column_stack(
        [
            machine.decision_function(K) if isinstance(machine, SVC) else np.full(len(K), machine)
            for machine in machines
        ]
    )


def lightgbm(seed: int | None) -> Any:
    """Return one LightGBM per label; it needs the extra ``compare``."""
    library = import_optional("lightgbm", "compare")
    # One thread and one way to build histograms, so that runs repeat; all else is default.
    model = library.LGBMClassifier(n_jobs=1, deterministic=True, force_col_wise=True, verbose=-1)
    return BinaryRelevanceClassifier(model, random_state=seed)


def hist_gradient_boosting(seed: int | None) -> Any:
    """Return one histogram gradient boosting per label."""
    model = HistGradientBoostingClassifier(max_leaf_nodes=15)
    return behind_dense_rows(BinaryRelevanceClassifier(model, random_state=seed))


def boomer(seed: int | None) -> Any:
    """Return BOOMER, boosted rules for all labels; it needs the extra ``compare``."""
    library = import_optional("mlrl.boosting", "compare")
    seed = None if seed is None else seed % (2**31 - 1) + 1  # its range of seeds
    # Version 0.12 finds no rule at all, or crashes, where a feature is constant.
    return make_pipeline(VarianceThreshold(), library.BoomerClassifier(random_state=seed))


_TREES = 300


_PEERS = (
    Method(
        "rf",
        "Random forest",
        lambda seed: RandomForestClassifier(_TREES, random_state=seed),
        f"{_TREES} trees for all labels together, the rest at scikit-learn's defaults",
    ),
    Method(
        "et",
        "Extra trees",
        lambda seed: ExtraTreesClassifier(_TREES, random_state=seed),
        f"{_TREES} trees for all labels together, the rest at scikit-learn's defaults",
    ),
    Method(
        "lr",
        "Logistic regression",
        logistic_regression,
        f"one for each label; one C of {', '.join(f'{C:g}' for C in LOGISTIC_C)} chosen by "
        f"{INNER_FOLDS} inner folds",
    ),
    Method(
        "svm",
        "RBF SVM",
        lambda seed: CalibratedSVMClassifier(random_state=seed),
        'one for each label, gamma="scale"; one C of 1, 10 chosen, and probabilities '
        f"calibrated, by {INNER_FOLDS} inner folds",
    ),
    Method(
        "hgb",
        "Histogram boosting",
        hist_gradient_boosting,
        "scikit-learn's, one for each label; 15 leaves per tree, the rest at its defaults",
    ),
    Method("lgbm", "LightGBM", lightgbm, "one for each label, at its defaults"),
    Method(
        "ecc",
        "ECC",
        lambda seed: TunedChainsClassifier(random_state=seed),
        "10 chains of logistic regressions in random orders, probabilities averaged; C chosen "
        f"as for logistic regression by {INNER_FOLDS} inner folds",
    ),
    Method("boomer", "BOOMER", boomer, "at its defaults"),
)

PEERS: dict[str, Method] = {method.name: method for method in _PEERS}
"""Methods of other libraries by name; only experiments use them."""

COMPARED: dict[str, Method] = {**METHODS, **PEERS}
"""All methods that experiments can compare."""
