"""Multi-label classification on top of scikit-learn.

The public names load on first use, so that ``import labelkin`` and the command line's
``--help`` do not pay for estimators they never touch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelkin.decisions import DecisionClassifier
    from labelkin.ensemble import BaggingVPCPClassifier, VPCMEClassifier
    from labelkin.hierarchy import HierarchyClassifier
    from labelkin.kernel import KernelRidgeLOOClassifier
    from labelkin.kin import KinEnsembleClassifier
    from labelkin.linear import MultiLabelLogisticRegression
    from labelkin.many import LabelTreeClassifier
    from labelkin.neighbors import IBLRClassifier, MLkNNClassifier
    from labelkin.projection import MDDM, PairwiseConstraintProjection, SelectByConstraints
    from labelkin.tabular import TableClassifier
    from labelkin.transformation import (
        AdaBoostPDTClassifier,
        BinaryRelevanceClassifier,
        CalibratedLabelRankingClassifier,
        ChainClassifier,
        LabelPowersetClassifier,
        RAkELClassifier,
    )
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
    "HierarchyClassifier",
    "IBLRClassifier",
    "KernelRidgeLOOClassifier",
    "KinEnsembleClassifier",
    "LabelPowersetClassifier",
    "LabelTreeClassifier",
    "MLkNNClassifier",
    "MultiLabelLogisticRegression",
    "PairwiseConstraintProjection",
    "RAkELClassifier",
    "SelectByConstraints",
    "TableClassifier",
    "VPCMEClassifier",
]

# The package in which each public name is found.
_HOME = {
    "AdaBoostPDTClassifier": "transformation",
    "BaggingVPCPClassifier": "ensemble",
    "BinaryRelevanceClassifier": "transformation",
    "C45TreeClassifier": "tree",
    "CalibratedLabelRankingClassifier": "transformation",
    "ChainClassifier": "transformation",
    "DecisionClassifier": "decisions",
    "HierarchyClassifier": "hierarchy",
    "IBLRClassifier": "neighbors",
    "KernelRidgeLOOClassifier": "kernel",
    "KinEnsembleClassifier": "kin",
    "LabelHierarchy": "hierarchy",
    "LabelPowersetClassifier": "transformation",
    "LabelTreeClassifier": "many",
    "MDDM": "projection",
    "MLkNNClassifier": "neighbors",
    "MultiLabelLogisticRegression": "linear",
    "PairwiseConstraintProjection": "projection",
    "RAkELClassifier": "transformation",
    "SelectByConstraints": "projection",
    "TableClassifier": "tabular",
    "VPCMEClassifier": "ensemble",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"labelkin.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
