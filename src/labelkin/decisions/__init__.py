"""From probabilities to label sets."""

from typing import TYPE_CHECKING

from labelkin._utils.lazy import lazy_exports

if TYPE_CHECKING:
    from labelkin.decisions._classifier import DecisionClassifier
    from labelkin.decisions._cuts import expected_f1_sets
    from labelkin.decisions._label_decision import DECISIONS, LabelDecision, label_sets

__all__ = ["DECISIONS", "DecisionClassifier", "LabelDecision", "expected_f1_sets", "label_sets"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "DECISIONS": "_label_decision",
        "DecisionClassifier": "_classifier",
        "LabelDecision": "_label_decision",
        "expected_f1_sets": "_cuts",
        "label_sets": "_label_decision",
    },
)
