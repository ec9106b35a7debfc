"""Classifiers by name, with parameters from the command line."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labelkin.cli._output import split_names

if TYPE_CHECKING:
    from labelkin import TableClassifier
    from labelkin.cli._decisions import Decision
    from labelkin.cli._options import MethodOptions
    from labelkin.methods import Method
    from labelkin.tabular import TrainingData

DEFAULT = "kin"
"""The method of commands without ``--model``."""

# What --model auto compares, in the order in which it begins: should the time run out, the
# recommended method and a quick one have been tried.
_AUTO = ("logistic", "kin", "mlknn", "krr", "vpcme")

_CONSTANTS = {"true": True, "false": False, "none": None}


def complete(incomplete: str) -> list[str]:
    """Complete a method's name in the shell."""
    from labelkin.methods import METHODS

    return [name for name in ("auto", *METHODS) if name.startswith(incomplete)]


@dataclass(frozen=True)
class Candidate:
    """A method with its settings, as the command line chose it."""

    method: "Method"
    settings: dict[str, Any]
    seed: int
    decision: "Decision | None" = None
    device: str | None = None

    @property
    def name(self) -> str:
        """Name on the command line."""
        return self.method.name

    @property
    def title(self) -> str:
        """Name in print."""
        return self.method.title

    def make(self, label_names: Sequence[str], fold: int = 0) -> Any:
        """Return an unfitted classifier that decides as chosen; each fold has its own seed."""
        classifier = make_classifier(self.method, self.settings, self.seed + fold)
        if self.decision is None:
            return classifier
        return self.decision.wrap(classifier, label_names, self.seed)

    def make_model(self, training: "TrainingData", fold: int = 0) -> "TableClassifier":
        """Return an unfitted classifier of the columns and labels of a table."""
        from labelkin import TableClassifier

        return TableClassifier(
            self.make(training.labels.names, fold),
            labels=training.labels,
            columns=training.schema,
            device=self.device,
        )


def last_step(model: Any) -> Any:
    """Return the classifier of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def check_device(device: str | None, decision: object = None) -> None:
    """Refuse a device that cannot be used, before anything is read.

    `decision` is given if it is learned with the classifier, which is done on the processor.
    """
    if device in (None, "cpu"):
        return
    if decision is not None:
        raise ValueError(
            f"--device {device}: with --decide or --threshold models are fitted on the processor; "
            "leave out one of them, or decide when predicting."
        )
    import numpy as np

    from labelkin.rows import move_to_device

    try:
        move_to_device(np.zeros((1, 1)), None, str(device))
    except ValueError as error:
        raise ValueError(f"--device {device}: {error}") from None


def find_candidates(
    choice: "MethodOptions", decision: "Decision | None", *, several: bool = False
) -> list[Candidate]:
    """Return the methods to compare; wrong names, settings and devices are refused.

    With `several`, names are separated by commas, and a user's own may be among them.
    """
    settings = parse_settings(choice.settings)
    names = split_names(choice.model) if several else [choice.model]
    check_device(choice.device, decision)
    from labelkin.methods import METHODS

    if "auto" in names:
        if settings:
            raise ValueError(
                "--set: auto compares several methods with their usual settings; name one method "
                "with --model."
            )
        names = [name for name in _AUTO if name in METHODS]
    candidates = [
        Candidate(_find_method(name, several), settings, choice.seed, decision, choice.device)
        for name in dict.fromkeys(names)
    ]
    if not candidates:
        raise ValueError("--model names no method.")
    for candidate in candidates:
        make_classifier(candidate.method, settings, choice.seed)
    return candidates


def _find_method(name: str, importable: bool) -> "Method":
    """Return a method by its name or, if `importable`, by ``module:factory``."""
    from labelkin._utils.names import did_you_mean
    from labelkin.methods import METHODS, user_method

    if name in METHODS:
        return METHODS[name]
    if importable and ":" in name:
        return user_method(f"{name.rpartition(':')[2]}={name}")
    raise ValueError(
        f"--model {name}: no such method.{did_you_mean(name, METHODS)} "
        f"Known methods: {', '.join(dict.fromkeys([DEFAULT, *METHODS]))}; auto compares several."
    )


def make_classifier(method: "Method", settings: dict[str, Any], seed: int) -> Any:
    """Return the unfitted classifier with its parameters set and validated."""
    model = method.make(seed)
    model.set_params(**{_full_name(name, model, method): v for name, v in settings.items()})
    final = last_step(model)
    if hasattr(final, "_validate_params"):
        try:
            final._validate_params()
        except ValueError as error:
            raise ValueError(f"--set: {error}") from None
    return model


def _full_name(name: str, model: Any, method: "Method") -> str:
    """Return a parameter's full name; that of a pipeline's last step may be given alone."""
    from labelkin._utils.names import did_you_mean

    if name in model.get_params():
        return name
    final = last_step(model)
    if name in final.get_params():
        return f"{model.steps[-1][0]}__{name}"
    known = sorted(final.get_params(deep=False))
    raise ValueError(
        f"--set {name}: {method.title} has no such parameter.{did_you_mean(name, known)} "
        f"Its parameters: {', '.join(known)}."
    )


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
        settings[name] = _parse_value(value)
    return settings


def _parse_value(text: str) -> Any:
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
