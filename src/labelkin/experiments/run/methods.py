"""The methods that are compared, with the paper's names and settings (section 4.3.1).

Tables, benchmarks and documentation are made from this one registry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from labelkin.ensemble._vpcme import BaggingVPCPClassifier, VPCMEClassifier
from labelkin.experiments.run.peers import (
    INNER_FOLDS,
    LOGISTIC_C,
    CalibratedSVMClassifier,
    TunedChainsClassifier,
    boomer,
    hist_gradient_boosting,
    lightgbm,
    logistic_regression,
)
from labelkin.kernel._classifier import KernelRidgeLOOClassifier
from labelkin.kin._classifier import KinEnsembleClassifier
from labelkin.neighbors._mlknn import IBLRClassifier, MLkNNClassifier
from labelkin.projection._mddm import MDDM
from labelkin.transformation._boosting import AdaBoostPDTClassifier
from labelkin.transformation._chains import BinaryRelevanceClassifier, ChainClassifier
from labelkin.transformation._labelsets import RAkELClassifier
from labelkin.transformation._ranking import CalibratedLabelRankingClassifier


@dataclass(frozen=True)
class Method:
    """One compared method."""

    name: str
    """Key in :data:`METHODS`, and on the command line."""
    title: str
    """Name in print, the paper's where it has one."""
    make: Callable[[int | None], Any]
    """Return an unfitted classifier for a given ``random_state``."""
    settings: str
    """What is set, in words."""
    reference: str
    """Where the method comes from."""


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


def _with_dense_rows(*steps: Any) -> Any:
    return make_pipeline(FunctionTransformer(_dense, accept_sparse=True), *steps)


def _range_scaled(model: Any) -> Any:
    """Return the model behind a scaling of each feature to [0, 1] on the training rows."""
    return _with_dense_rows(MinMaxScaler(), model)


def _ours() -> list[Method]:
    return [
        Method(
            "rakel",
            "RAkEL",
            lambda seed: RAkELClassifier(random_state=seed),
            "labelsets of half the labels, min(2q, C(q, k)) powersets of C4.5 trees",
            "Tsoumakas, Katakis & Vlahavas 2011",
        ),
        Method(
            "rakel_k3",
            "RAkEL (k = 3)",
            lambda seed: RAkELClassifier(labelset_size=3, random_state=seed),
            "labelsets of three labels, Mulan's default, which the published column matches",
            "Tsoumakas, Katakis & Vlahavas 2011",
        ),
        Method(
            "iblr",
            "IBLR-ML",
            lambda seed: IBLRClassifier(n_neighbors=10),
            "10 neighbours, ridge 1e-8",
            "Cheng & Hüllermeier 2009",
        ),
        Method(
            "iblr_scaled",
            "IBLR-ML (scaled)",
            lambda seed: _range_scaled(IBLRClassifier(n_neighbors=10)),
            "as IBLR-ML, features scaled by their training range as WEKA does, which the "
            "published column matches",
            "Cheng & Hüllermeier 2009",
        ),
        Method(
            "clr",
            "CLR",
            lambda seed: CalibratedLabelRankingClassifier(random_state=seed),
            "a C4.5 tree for each pair of labels and each label",
            "Fürnkranz, Hüllermeier, Loza Mencía & Brinker 2008",
        ),
        Method(
            "cchains",
            "CChains",
            lambda seed: ChainClassifier(random_state=seed),
            "one chain of C4.5 trees in the order of the labels",
            "Read, Pfahringer, Holmes & Frank 2011",
        ),
        Method(
            "mlknn",
            "ML-kNN",
            lambda seed: MLkNNClassifier(n_neighbors=10),
            "10 neighbours, smoothing 1",
            "Zhang & Zhou 2007",
        ),
        Method(
            "mlknn_scaled",
            "ML-kNN (scaled)",
            lambda seed: _range_scaled(MLkNNClassifier(n_neighbors=10)),
            "as ML-kNN, features scaled by their training range as WEKA does, which the "
            "published column matches",
            "Zhang & Zhou 2007",
        ),
        Method(
            "vpcme",
            "VPCME",
            lambda seed: VPCMEClassifier(n_estimators=30, threshold=0.6, random_state=seed),
            "S = 30 members, Θ = 0.6, ML-kNN with 10 neighbours in each",
            "Li, Li & Wu 2013",
        ),
        Method(
            "adaboost_pdt",
            "AdaBoost_PDT",
            lambda seed: AdaBoostPDTClassifier(random_state=seed),
            "10 rounds of pruned C4.5 trees, one label after another",
            "Freund & Schapire 1996",
        ),
        Method(
            "bagging_vpcp",
            "Bagging_VPCP",
            lambda seed: BaggingVPCPClassifier(n_estimators=30, threshold=0.6, random_state=seed),
            "as VPCME, with equal weights throughout",
            "Li, Li & Wu 2013",
        ),
        Method(
            "mddm",
            "MDDM",
            lambda seed: make_pipeline(MDDM(n_components=0.99), MLkNNClassifier(n_neighbors=10)),
            "orthonormal projection, 99 % of the eigenvalues, ML-kNN with 10 neighbours behind it",
            "Zhang & Zhou 2010",
        ),
        Method(
            "br",
            "BR",
            lambda seed: BinaryRelevanceClassifier(random_state=seed),
            "a C4.5 tree for each label; not in the paper's tables",
            "baseline",
        ),
        Method(
            "krr",
            "KRR-LOO",
            lambda seed: KernelRidgeLOOClassifier(random_state=seed),
            "RBF kernel ridge, width and ridges by leave-one-out error, calibrated",
            "this library",
        ),
        Method(
            "kin",
            "Kin ensemble",
            lambda seed: KinEnsembleClassifier(random_state=seed),
            "kernel ridges on several views, 8 projections and 100 trees, combined by "
            "leave-one-out and out-of-bag scores",
            "this library",
        ),
    ]


_TREES = 300


def _peers() -> list[Method]:
    """Return what a practitioner would use instead: other libraries' methods."""
    return [
        Method(
            "rf",
            "Random forest",
            lambda seed: RandomForestClassifier(_TREES, random_state=seed),
            f"{_TREES} trees for all labels together, the rest at scikit-learn's defaults",
            "Breiman 2001",
        ),
        Method(
            "et",
            "Extra trees",
            lambda seed: ExtraTreesClassifier(_TREES, random_state=seed),
            f"{_TREES} trees for all labels together, the rest at scikit-learn's defaults",
            "Geurts, Ernst & Wehenkel 2006",
        ),
        Method(
            "lr",
            "Logistic regression",
            logistic_regression,
            f"one for each label; one C of {', '.join(f'{C:g}' for C in LOGISTIC_C)} chosen by "
            f"{INNER_FOLDS} inner folds",
            "one against the rest",
        ),
        Method(
            "svm",
            "RBF SVM",
            lambda seed: CalibratedSVMClassifier(random_state=seed),
            'one for each label, gamma="scale"; one C of 1, 10 chosen, and probabilities '
            f"calibrated, by {INNER_FOLDS} inner folds",
            "Cortes & Vapnik 1995; Platt 1999",
        ),
        Method(
            "hgb",
            "Histogram boosting",
            lambda seed: _with_dense_rows(hist_gradient_boosting(seed)),
            "scikit-learn's, one for each label; 15 leaves a tree, the rest at its defaults",
            "Friedman 2001",
        ),
        Method(
            "lgbm",
            "LightGBM",
            lightgbm,
            "one for each label, at its defaults",
            "Ke et al. 2017",
        ),
        Method(
            "ecc",
            "ECC",
            lambda seed: TunedChainsClassifier(random_state=seed),
            "10 chains of logistic regressions in random orders, probabilities averaged; C chosen "
            f"as for logistic regression by {INNER_FOLDS} inner folds",
            "Read, Pfahringer, Holmes & Frank 2011",
        ),
        Method("boomer", "BOOMER", boomer, "at its defaults", "Rapp et al. 2020"),
    ]


METHODS: dict[str, Method] = {method.name: method for method in _ours()}
"""Every method of this library by name, the paper's in the order of its tables."""

PEERS: dict[str, Method] = {method.name: method for method in _peers()}
"""What others would use instead, by name; only experiments know them."""

COMPARED: dict[str, Method] = {**METHODS, **PEERS}
"""All that experiments can compare."""
