"""From probabilities to label sets."""

from labelkin.decisions._classifier import DecisionClassifier
from labelkin.decisions._label_decision import (
    DECISIONS,
    LabelDecision,
    label_sets,
    learn_thresholds,
)
from labelkin.decisions._risk import parse_guarantee

__all__ = [
    "DECISIONS",
    "DecisionClassifier",
    "LabelDecision",
    "label_sets",
    "learn_thresholds",
    "parse_guarantee",
]
