"""Classifiers by name, with parameters set from the command line."""

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelkin.registry import Method

DEFAULT = "vpcme"
_WORDS = {"true": True, "false": False, "none": None}


def methods() -> "dict[str, Method]":
    """Return every method of the registry; what is added there is known here."""
    from labelkin.registry import METHODS

    return METHODS


def complete(incomplete: str) -> list[str]:
    """Complete a method's name in the shell."""
    return [name for name in methods() if name.startswith(incomplete)]


def find_method(name: str, *, own: bool = False) -> "Method":
    """Return a method by its name, or with `own` by ``module:factory``."""
    from labelkin._utils.names import did_you_mean
    from labelkin.registry import user_method

    known = methods()
    if name in known:
        return known[name]
    if own and ":" in name:
        return user_method(f"{name.rpartition(':')[2]}={name}")
    raise ValueError(
        f"--model {name}: no such method.{did_you_mean(name, known)} Known are {', '.join(known)}."
    )


def make_model(method: "Method", settings: dict[str, Any], seed: int) -> Any:
    """Return the unfitted classifier with its parameters set, all of them checked."""
    model = method.make(seed)
    model.set_params(**{_parameter(model, method, name): v for name, v in settings.items()})
    final = model.steps[-1][1] if hasattr(model, "steps") else model
    if hasattr(final, "_validate_params"):
        try:
            final._validate_params()
        except ValueError as error:
            raise ValueError(f"--set: {' '.join(str(error).split())}") from None
    return model


def _parameter(model: Any, method: "Method", name: str) -> str:
    """Return a parameter's full name; in a pipeline that of its last step may stand alone."""
    from labelkin._utils.names import did_you_mean

    known = model.get_params(deep=True)
    if name in known:
        return name
    short = model.get_params(deep=False)
    if hasattr(model, "steps"):
        step, final = model.steps[-1]
        if name in final.get_params():
            return f"{step}__{name}"
        short = final.get_params(deep=False)
    listed = ", ".join(sorted(short))
    raise ValueError(
        f"--set {name}: {method.title} has no such parameter.{did_you_mean(name, short)} "
        f"It has {listed}."
    )


def parse_settings(texts: list[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs; values are numbers, words, true, false, none, or tuples.

    >>> parse_settings(["n_estimators=50", "voting=soft", "threshold=(0.2, 1)"])
    {'n_estimators': 50, 'voting': 'soft', 'threshold': (0.2, 1)}
    """
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ValueError(f"--set {text}: write it as name=value, as in n_estimators=50.")
        if name in settings:
            raise ValueError(f"--set {name}: it is set twice.")
        settings[name] = _value(value)
    return settings


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
