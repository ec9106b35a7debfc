"""Methods of other libraries, for the comparison beyond the paper.

Each is used with its library's documented defaults, or tuned by an inner cross-validation on
the training rows alone. One setting is chosen for all labels of a dataset, by the mean average
precision over the inner folds. LightGBM and BOOMER need the extra ``compare``.
"""

from typing import Any

from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from labelkin._utils.optional import import_optional
from labelkin.base import Array, Matrix, MultiLabelClassifier
from labelkin.methods import METHODS, Method, with_dense_rows
from labelkin.metrics import get_scorer
from labelkin.transformation import BinaryRelevanceClassifier, ChainClassifier

INNER_FOLDS = 3
LOGISTIC_C = (0.1, 0.3, 1.0, 3.0, 10.0)
SVM_C = (1.0, 10.0)
_TREES = 300


def _tuned(model: Any, values: tuple[float, ...], seed: int | None) -> Any:
    """Return one model per label, with one C chosen for all by the inner folds."""
    return GridSearchCV(
        BinaryRelevanceClassifier(model, random_state=seed),
        {"estimator__C": values},
        scoring=get_scorer("average_precision"),
        cv=KFold(INNER_FOLDS, shuffle=True, random_state=seed),
    )


def logistic_regression(seed: int | None) -> Any:
    """Return one logistic regression per label, with one C chosen for all."""
    return _tuned(LogisticRegression(solver="liblinear"), LOGISTIC_C, seed)


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
        X, y, _ = self._validate_known(X, y)
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


def lightgbm(seed: int | None) -> Any:
    """Return one LightGBM per label; it needs the extra ``compare``."""
    library = import_optional("lightgbm", "compare")
    # One thread and one way to build histograms, so that runs repeat; all else is default.
    model = library.LGBMClassifier(n_jobs=1, deterministic=True, force_col_wise=True, verbose=-1)
    return BinaryRelevanceClassifier(model, random_state=seed)


def boomer(seed: int | None) -> Any:
    """Return BOOMER, boosted rules for all labels; it needs the extra ``compare``."""
    library = import_optional("mlrl.boosting", "compare")
    seed = None if seed is None else seed % (2**31 - 1) + 1  # its range of seeds
    # Version 0.12 finds no rule at all, or crashes, where a feature is constant.
    return make_pipeline(VarianceThreshold(), library.BoomerClassifier(random_state=seed))


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
        lambda seed: _tuned(SVC(), SVM_C, seed),
        'one for each label, gamma="scale"; one C of 1, 10 chosen by '
        f"{INNER_FOLDS} inner folds, ranked by decision values",
    ),
    Method(
        "hgb",
        "Histogram boosting",
        lambda seed: with_dense_rows(
            BinaryRelevanceClassifier(
                HistGradientBoostingClassifier(max_leaf_nodes=15), random_state=seed
            )
        ),
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
