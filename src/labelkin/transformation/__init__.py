"""Multi-label problems turned into single-label ones."""

from typing import TYPE_CHECKING

from labelkin._utils.lazy import lazy_exports

if TYPE_CHECKING:
    from labelkin.transformation._boosting import AdaBoostPDTClassifier
    from labelkin.transformation._chains import BinaryRelevanceClassifier, ChainClassifier
    from labelkin.transformation._labelsets import LabelPowersetClassifier, RAkELClassifier
    from labelkin.transformation._ranking import CalibratedLabelRankingClassifier

__all__ = [
    "AdaBoostPDTClassifier",
    "BinaryRelevanceClassifier",
    "CalibratedLabelRankingClassifier",
    "ChainClassifier",
    "LabelPowersetClassifier",
    "RAkELClassifier",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AdaBoostPDTClassifier": "_boosting",
        "BinaryRelevanceClassifier": "_chains",
        "CalibratedLabelRankingClassifier": "_ranking",
        "ChainClassifier": "_chains",
        "LabelPowersetClassifier": "_labelsets",
        "RAkELClassifier": "_labelsets",
    },
)
