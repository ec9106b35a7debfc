"""Methods with a parameter changed: ``vpcme@threshold=0.1``, ``vpcme@size=10``.

Before the first ``@`` stands a method's name, after each ``@`` a parameter of its classifier
and the value. ``size`` is special: it is the number of members of an ensemble, and all sizes
of a method come from one fit, through ``staged_predict_proba``.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from labelkin._utils.names import did_you_mean
from labelkin.registry import Method


@dataclass(frozen=True)
class Variant:
    """A method with parameters set."""

    base: str
    """Name of the method that is varied."""
    parameters: tuple[tuple[str, Any], ...] = ()
    """Parameters set on its classifier, with their values."""
    size: int | None = None
    """Number of members that vote; None: all."""

    def make(self, method: Method, seed: int | None, n_members: int | None = None) -> Any:
        """Return the unfitted classifier, an ensemble with `n_members` if that is given."""
        parameters = dict(self.parameters)
        if n_members is not None:
            parameters["n_estimators"] = n_members
        model = method.make(seed)
        return model.set_params(**parameters) if parameters else model


@lru_cache(maxsize=4096)
def parse_variant(name: str) -> Variant:
    """Return the variant that a method's name stands for.

    >>> parse_variant("vpcme@threshold=0.1")
    Variant(base='vpcme', parameters=(('threshold', 0.1),), size=None)
    """
    base, *changes = name.split("@")
    parameters, size = [], None
    for change in changes:
        key, equals, text = (part.strip() for part in change.partition("="))
        if not (base and key and equals and text):
            raise ValueError(f"{name!r} is not a method: write it as name@parameter=value.")
        value = _parse_value(text)
        if key != "size":
            parameters.append((key, value))
        elif isinstance(value, int) and value > 0:
            size = value
        else:
            raise ValueError(f"{name!r}: size must be a number of members, at least 1.")
    return Variant(base, tuple(parameters), size)


def _parse_value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def check_method(name: str, methods: Mapping[str, Method]) -> None:
    """Raise an error for an unknown method, or a variant that its classifier does not have."""
    variant = parse_variant(name)
    if variant.base not in methods:
        raise ValueError(
            f"No method is called {variant.base!r}.{did_you_mean(variant.base, methods)} "
            f"Known are {', '.join(methods)}."
        )
    if variant == Variant(variant.base):
        return
    model = methods[variant.base].make(0)
    known = model.get_params()
    for key, _ in variant.parameters:
        if key not in known:
            raise ValueError(
                f"{name!r}: {type(model).__name__} has no parameter {key!r}."
                f"{did_you_mean(key, known)}"
            )
    if variant.size is not None and not hasattr(model, "staged_predict_proba"):
        raise ValueError(
            f"{name!r}: {type(model).__name__} is not an ensemble with staged predictions, "
            "so it has no size."
        )
