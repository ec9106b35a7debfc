"""The methods that are compared, with the paper's names and settings (section 4.3.1).

Tables, benchmarks and documentation are made from this one registry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from labelkin.boosting import AdaBoostPDTClassifier
from labelkin.chains import BinaryRelevanceClassifier, ChainClassifier
from labelkin.ensemble import BaggingVPCPClassifier, VPCMEClassifier
from labelkin.kernel import KernelRidgeLOOClassifier
from labelkin.kin import KinEnsembleClassifier
from labelkin.labelsets import RAkELClassifier
from labelkin.neighbors import IBLRClassifier, MLkNNClassifier
from labelkin.ranking import CalibratedLabelRankingClassifier
from labelkin.reduction import MDDM


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


def _range_scaled(model: Any) -> Any:
    """Return the model behind a scaling of each feature to [0, 1] on the training rows."""
    return make_pipeline(FunctionTransformer(_dense, accept_sparse=True), MinMaxScaler(), model)


def _registry() -> dict[str, Method]:
    methods = [
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
    return {method.name: method for method in methods}


METHODS: dict[str, Method] = _registry()
"""Every method by name, in the order of the paper's tables."""
