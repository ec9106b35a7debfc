"""Classifiers by name, with parameters and decisions from the command line."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labelkin._utils.names import did_you_mean
from labelkin.cli._output import split_names

if TYPE_CHECKING:
    from labelkin import TableClassifier
    from labelkin.cli._options import DecisionOptions, MethodOptions
    from labelkin.methods import Method
    from labelkin.tabular import TrainingData

DEFAULT = "kin"
"""The method of commands without ``--model``."""
FASTER = "logistic"
"""The method that is recommended where that one takes long."""

# What --model auto compares, in the order in which it begins: should the time run out, the
# recommended method and a quick one have been tried.
_AUTO = ("logistic", "kin", "mlknn", "krr", "vpcme")

_CONSTANTS = {"true": True, "false": False, "none": None}
_NUMBER = r"((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"


@dataclass(frozen=True)
class Decision:
    """How probabilities become labels: ``--decide`` and ``--threshold``."""

    name: str
    """A name in `labelkin.decisions.DECISIONS`."""
    shared: float = 0.5
    """Threshold of every label, for the decision "fixed"."""
    by_label: dict[str, float] = field(default_factory=dict)
    """Thresholds of single labels."""

    def cuts(self, label_names: Sequence[str]) -> list[float]:
        """Return the threshold of each label, for the decision "fixed"."""
        for name in self.by_label:
            if name not in label_names:
                raise ValueError(
                    f"--threshold {name}=…: no such label.{did_you_mean(name, label_names)}"
                )
        return [self.by_label.get(name, self.shared) for name in label_names]

    def apply(self, scores: Any, label_names: Sequence[str], learned: Any) -> tuple[Any, Any]:
        """Return label sets and the thresholds they rest on.

        `learned` is what `learn_thresholds` returned when the model was fitted. Scores of thousands
        of labels are a CSR matrix.
        """
        import numpy as np

        from labelkin.decisions import expected_f1_sets, label_sets

        if hasattr(scores, "indptr"):
            if self.name != "fixed":
                raise ValueError(
                    f"--decide {self.name}: with {len(label_names):,} labels, use --threshold 0.3 "
                    "or --decide cost:FN=5."
                )
            cuts, chosen = np.array(self.cuts(label_names)), scores.copy()
            chosen.data = (scores.data > cuts[scores.indices]).astype(int)
            chosen.eliminate_zeros()
            return chosen, cuts
        if self.name == "expected_f1":
            return expected_f1_sets(scores).astype(int), np.full(len(label_names), np.nan)
        known = (learned or {}).get(self.name, {})
        if self.name == "fixed":
            known = {"thresholds": self.cuts(label_names)}
        cuts = np.array(known.get("thresholds", []), dtype=float)
        if len(cuts) != len(label_names):
            raise ValueError(
                f"--decide {self.name}: the model file holds no thresholds for it; fit the model "
                f"with --decide {self.name}, or use --decide expected_f1, --decide cost:FN=5 or "
                "--threshold."
            )
        return label_sets(scores, cuts, known.get("at_least_one", False)).astype(int), cuts


def parse_decision(options: "DecisionOptions") -> Decision | None:
    """Return the decision that the options describe; None: the classifier's own."""
    decide, thresholds = options.decide, options.threshold
    if decide is not None and thresholds:
        raise ValueError("--decide and --threshold exclude each other; give one of them.")
    if thresholds:
        cuts = {}
        for text in thresholds:
            found = re.fullmatch(rf"(?:(.+)=)?\s*{_NUMBER}\s*", text, re.IGNORECASE)
            if not found or float(found[2]) > 1:
                raise ValueError(
                    f"--threshold {text}: it takes a probability from 0 to 1, for all labels (0.3) "
                    "or for one (LABEL=0.3)."
                )
            cuts[(found[1] or "").strip()] = float(found[2])
        return Decision("fixed", cuts.pop("", 0.5), cuts)
    if decide is None:
        return None
    if decide.lower().startswith("cost:"):
        costs = {"FN": 1.0, "FP": 1.0}
        for part in decide.upper()[5:].split(","):
            found = re.fullmatch(rf"\s*(FN|FP)\s*=\s*{_NUMBER}\s*", part, re.IGNORECASE)
            if not found or not float(found[2]):
                raise ValueError(
                    f"--decide {decide}: write the cost of a missed label (FN) or of a wrong one "
                    "(FP) as in cost:FN=5 or cost:FN=5,FP=2, with positive numbers."
                )
            costs[found[1]] = float(found[2])
        return Decision("fixed", costs["FP"] / (costs["FP"] + costs["FN"]))  # of least cost
    from labelkin.decisions import DECISIONS, parse_guarantee

    try:
        known = decide in DECISIONS or parse_guarantee(decide)
    except ValueError as error:
        raise ValueError(f"--decide {decide}: {str(error).partition(': ')[2]}") from None
    if not known:
        raise ValueError(
            f"--decide {decide}: no such decision.{did_you_mean(decide, DECISIONS)} Choose one of "
            f"{', '.join(DECISIONS)}, a level such as recall:0.9, or cost:FN=5."
        )
    return Decision(decide)


def make_model(
    method: "Method",
    choice: "MethodOptions",
    decision: Decision | None,
    training: "TrainingData",
    fold: int = 0,
) -> "TableClassifier":
    """Return an unfitted classifier of a table, which decides as chosen.

    Each fold has its own seed.
    """
    from labelkin import HierarchyClassifier, TableClassifier
    from labelkin.decisions import DecisionClassifier

    classifier = make_classifier(method, parse_settings(choice.settings), choice.seed + fold)
    if training.hierarchy is not None:
        classifier = HierarchyClassifier(classifier, training.hierarchy)
    if decision is not None:
        cut = decision.cuts(training.labels.names) if decision.name == "fixed" else None
        classifier = DecisionClassifier(
            classifier, decision.name, cut=cut, random_state=choice.seed
        )
    return TableClassifier(
        classifier, labels=training.labels, columns=training.schema, device=choice.device
    )


def check_device(device: str | None, decision: object = None) -> None:
    """Refuse a device that cannot be used, before anything is read.

    `decision` is given if it is learned with the classifier, which is done on the processor.
    """
    if device in (None, "cpu"):
        return
    if decision is not None:
        raise ValueError(
            f"--device {device}: with --decide or --threshold, models are fitted on the CPU; leave "
            "out --device, or the other option."
        )
    import numpy as np

    from labelkin.rows import move_to_device

    try:
        move_to_device(np.zeros((1, 1)), None, str(device))
    except ValueError as error:
        raise ValueError(f"--device {device}: {error}") from None


def find_methods(
    choice: "MethodOptions", decision: Decision | None, *, several: bool = False
) -> "dict[str, Method]":
    """Return the methods to compare by name; wrong names, settings and devices are refused.

    With `several`, names are separated by commas, and a user's own, as ``module:factory``, may be
    among them.
    """
    settings = parse_settings(choice.settings)
    names = split_names(choice.model) if several else [choice.model]
    check_device(choice.device, decision)
    if choice.seconds and choice.time_column and not several:
        raise ValueError(
            f"--time {choice.time}: here it takes the seconds for --model auto, a number; labelkin "
            "evaluate takes a column."
        )
    from labelkin.methods import METHODS, user_method

    if "auto" in names:
        if settings:
            raise ValueError(
                "--set: auto compares several methods with their usual settings; name one method "
                "with --model."
            )
        names = list(_AUTO)
    if not names:
        raise ValueError("--model names no method.")
    found = {}
    for name in dict.fromkeys(names):
        if name in METHODS:
            method = METHODS[name]
        elif several and ":" in name:
            method = user_method(f"{name.rpartition(':')[2]}={name}")
        else:
            raise ValueError(
                f"--model {name}: no such method.{did_you_mean(name, METHODS)} Known methods: "
                f"{', '.join(dict.fromkeys([DEFAULT, *METHODS]))}; auto compares several."
            )
        make_classifier(method, settings, choice.seed)
        found[method.name] = method
    return found


def make_classifier(method: "Method", settings: dict[str, Any], seed: int) -> Any:
    """Return the unfitted classifier with its parameters set and validated.

    A parameter of a pipeline's last step may be given without the name of the step.
    """
    model = method.make(seed)
    final = model.steps[-1][1] if hasattr(model, "steps") else model
    for name, value in settings.items():
        if name in model.get_params():
            model.set_params(**{name: value})
        elif name in final.get_params():
            final.set_params(**{name: value})
        else:
            known = sorted(final.get_params(deep=False))
            raise ValueError(
                f"--set {name}: {method.title} has no such parameter.{did_you_mean(name, known)} "
                f"Its parameters: {', '.join(known)}."
            )
    if hasattr(final, "_validate_params"):
        try:
            final._validate_params()
        except ValueError as error:
            raise ValueError(f"--set: {error}") from None
    return model


def parse_settings(texts: list[str] | None) -> dict[str, Any]:
    """Parse ``name=value`` pairs; values are numbers, words, true, false, none, or tuples.

    >>> parse_settings(["n_estimators=50", "voting=soft", "threshold=(0.2, 1)"])
    {'n_estimators': 50, 'voting': 'soft', 'threshold': (0.2, 1)}
    """
    settings: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ValueError(f"--set {text}: write it as name=value, as in n_estimators=50.")
        if name in settings:
            raise ValueError(f"--set {name}: it is set twice.")
        try:
            settings[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            settings[name] = _CONSTANTS.get(value.lower(), value)
    return settings
