"""Multi-label classification on top of scikit-learn.

The public names load on first use, so that ``import labelkin`` and the command line's
``--help`` do not pay for estimators they never touch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelkin.boosting import AdaBoostPDTClassifier
    from labelkin.chains import BinaryRelevanceClassifier, ChainClassifier
    from labelkin.decisions import DecisionClassifier
    from labelkin.ensemble import BaggingVPCPClassifier, VPCMEClassifier
    from labelkin.kernel import KernelRidgeLOOClassifier
    from labelkin.kin import KinEnsembleClassifier
    from labelkin.labelsets import LabelPowersetClassifier, RAkELClassifier
    from labelkin.neighbors import IBLRClassifier, MLkNNClassifier
    from labelkin.projection import PairwiseConstraintProjection
    from labelkin.ranking import CalibratedLabelRankingClassifier
    from labelkin.reduction import MDDM
    from labelkin.selection import SelectByConstraints
    from labelkin.tree import C45TreeClassifier

__version__ = "0.1.0"

__all__ = [
    "MDDM",
    "AdaBoostPDTClassifier",
    "BaggingVPCPClassifier",
    "BinaryRelevanceClassifier",
    "C45TreeClassifier",
    "CalibratedLabelRankingClassifier",
    "ChainClassifier",
    "DecisionClassifier",
    "IBLRClassifier",
    "KernelRidgeLOOClassifier",
    "KinEnsembleClassifier",
    "LabelPowersetClassifier",
    "MLkNNClassifier",
    "PairwiseConstraintProjection",
    "RAkELClassifier",
    "SelectByConstraints",
    "VPCMEClassifier",
]

_HOME = {
    "AdaBoostPDTClassifier": "boosting",
    "BaggingVPCPClassifier": "ensemble",
    "BinaryRelevanceClassifier": "chains",
    "C45TreeClassifier": "tree",
    "CalibratedLabelRankingClassifier": "ranking",
    "ChainClassifier": "chains",
    "DecisionClassifier": "decisions",
    "IBLRClassifier": "neighbors",
    "KernelRidgeLOOClassifier": "kernel",
    "KinEnsembleClassifier": "kin",
    "LabelPowersetClassifier": "labelsets",
    "MDDM": "reduction",
    "MLkNNClassifier": "neighbors",
    "PairwiseConstraintProjection": "projection",
    "RAkELClassifier": "labelsets",
    "SelectByConstraints": "selection",
    "VPCMEClassifier": "ensemble",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"labelkin.{_HOME[name]}"), name)
    raise AttributeError(f"module 'labelkin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
