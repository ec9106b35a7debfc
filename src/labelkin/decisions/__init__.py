"""From probabilities to label sets."""

from labelkin.decisions._decision import (
    DECISIONS,
    DecisionClassifier,
    LabelDecision,
    expected_f1_sets,
)

__all__ = ["DECISIONS", "DecisionClassifier", "LabelDecision", "expected_f1_sets"]
