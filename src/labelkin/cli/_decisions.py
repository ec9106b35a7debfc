"""Which labels to predict: ``--decide`` and ``--threshold``, when fitting and afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labelkin.cli._options import DecisionOptions
from labelkin.cli._output import split_names

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Decision:
    """How probabilities become labels, as the command line chose it."""

    name: str
    """A name in `labelkin.decisions.DECISIONS`."""
    shared: float = 0.5
    """Threshold of every label, for the decision "fixed"."""
    by_label: dict[str, float] = field(default_factory=dict)
    """Thresholds of single labels."""

    def cuts(self, label_names: Sequence[str]) -> "np.ndarray":
        """Return the threshold of each label, for the decision "fixed"."""
        import numpy as np

        from labelkin._utils.names import did_you_mean

        for name in self.by_label:
            if name not in label_names:
                raise ValueError(
                    f"--threshold {name}=…: no such label.{did_you_mean(name, label_names)}"
                )
        return np.array([self.by_label.get(name, self.shared) for name in label_names])

    def wrap(self, classifier: Any, label_names: Sequence[str], seed: int) -> Any:
        """Return an unfitted classifier that decides in this way."""
        from labelkin.decisions import DecisionClassifier

        cut = self.cuts(label_names).tolist() if self.name == "fixed" else None
        return DecisionClassifier(classifier, self.name, cut=cut, random_state=seed)

    def apply(
        self, scores: "np.ndarray", label_names: Sequence[str], learned: Any
    ) -> "tuple[np.ndarray, np.ndarray]":
        """Return label sets and the thresholds they rest on.

        `learned` is what `learn_thresholds` returned when the model was fitted.
        """
        import numpy as np

        from labelkin.decisions import expected_f1_sets, label_sets

        if self.name == "expected_f1":
            return expected_f1_sets(scores).astype(int), np.full(len(label_names), np.nan)
        if self.name == "fixed":
            known, cuts = {}, self.cuts(label_names)
        else:
            known = (learned or {}).get(self.name, {})
            cuts = np.array(known.get("thresholds", []), dtype=float)
        if len(cuts) != len(label_names):
            raise ValueError(
                f"--decide {self.name}: the model file holds no thresholds for it; fit the model "
                f"with --decide {self.name}, or use --decide expected_f1, --decide cost:FN=5 or "
                "--threshold."
            )
        return label_sets(scores, cuts, known.get("at_least_one", False)).astype(int), cuts


def parse_decision(options: DecisionOptions) -> Decision | None:
    """Return the decision that the options describe; None: the classifier's own."""
    decide, thresholds = options.decide, options.threshold
    if decide is not None and thresholds:
        raise ValueError("--decide and --threshold exclude each other; give one of them.")
    if thresholds:
        return _parse_thresholds(thresholds)
    if decide is None:
        return None
    if decide.lower().startswith("cost:"):
        return Decision("fixed", _parse_cost(decide))
    from labelkin._utils.names import did_you_mean
    from labelkin.decisions import DECISIONS

    if decide not in DECISIONS:
        raise ValueError(
            f"--decide {decide}: no such decision.{did_you_mean(decide, DECISIONS)} Choose one of "
            f"{', '.join(DECISIONS)}, or cost:FN=5."
        )
    return Decision(decide)


def _parse_cost(text: str) -> float:
    """Return the threshold of least expected cost, FP / (FP + FN)."""
    costs = {"FN": 1.0, "FP": 1.0}
    for part in split_names(text.partition(":")[2]) or [""]:
        name, _, value = (piece.strip() for piece in part.partition("="))
        cost = _parse_number(value)
        if name.upper() not in costs or not 0 < cost < 1e9:
            raise ValueError(
                f"--decide {text}: write the cost of a missed label (FN) or of a wrong one (FP) "
                "as in cost:FN=5 or cost:FN=5,FP=2, with positive numbers."
            )
        costs[name.upper()] = cost
    return costs["FP"] / (costs["FP"] + costs["FN"])


def _parse_thresholds(texts: list[str]) -> Decision:
    shared, by_label = 0.5, {}
    for text in texts:
        label, equals, number = text.rpartition("=")
        value = _parse_number(number)
        if not 0 <= value <= 1 or bool(label) != bool(equals):
            raise ValueError(
                f"--threshold {text}: it takes a probability from 0 to 1, for all labels (0.3) or "
                "for one (LABEL=0.3)."
            )
        if label:
            by_label[label.strip()] = value
        else:
            shared = value
    return Decision("fixed", shared, by_label)


def _parse_number(text: str) -> float:
    """Return a number; NaN for any other text, so that it is in no range."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
