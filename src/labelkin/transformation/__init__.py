"""Multi-label problems turned into single-label ones."""

from labelkin.transformation._binary_relevance import BinaryRelevanceClassifier
from labelkin.transformation._boosting import AdaBoostPDTClassifier
from labelkin.transformation._chains import ChainClassifier
from labelkin.transformation._powerset import LabelPowersetClassifier
from labelkin.transformation._rakel import RAkELClassifier
from labelkin.transformation._ranking import CalibratedLabelRankingClassifier

__all__ = [
    "AdaBoostPDTClassifier",
    "BinaryRelevanceClassifier",
    "CalibratedLabelRankingClassifier",
    "ChainClassifier",
    "LabelPowersetClassifier",
    "RAkELClassifier",
]
