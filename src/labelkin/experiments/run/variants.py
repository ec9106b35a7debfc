"""Methods with a parameter changed: ``vpcme@threshold=0.1``, ``vpcme@size=10``.

Before the first ``@`` stands a method's name, after each ``@`` a parameter of its classifier
and the value. Two are special. ``size`` is the number of members of an ensemble; all sizes of
a method come from one fit, through ``staged_predict_proba``. ``estimator`` is the base learner:
one of :data:`BASES`, or any importable scikit-learn classifier, as in
``vpcme@estimator=sklearn.tree:DecisionTreeClassifier``.
"""

import ast
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from labelkin._utils.names import did_you_mean
from labelkin.methods import ImportedFactory, Method, with_dense_rows
from labelkin.neighbors import MLkNNClassifier
from labelkin.transformation import BinaryRelevanceClassifier
from labelkin.tree import C45TreeClassifier


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
        if isinstance(base := parameters.get("estimator"), str):
            parameters["estimator"] = _make_base(base, self.base)
        if n_members is not None:
            parameters["n_estimators"] = n_members
        model = method.make(seed)
        return model.set_params(**parameters) if parameters else model


class _NearestRows(KNeighborsClassifier):
    """The k nearest rows, or all of them where there are fewer, as in WEKA's IBk.

    CLR trains on the rows that have exactly one of two labels, which may be fewer than k.
    """

    def __init__(self, n_neighbors: int = 10) -> None:
        super().__init__(n_neighbors)

    def fit(self, X: Any, y: Any) -> "_NearestRows":
        self.n_neighbors: int = min(self.n_neighbors, X.shape[0])
        return super().fit(X, y)


_MULTI_LABEL = ("vpcme", "bagging_vpcp")  # methods whose base learner predicts label sets

BASES: dict[str, Callable[[], Any]] = {
    "mlknn": lambda: MLkNNClassifier(n_neighbors=10),
    "knn": _NearestRows,
    "c45": C45TreeClassifier,
    "svm": lambda: with_dense_rows(MinMaxScaler(), LinearSVC(loss="hinge", dual=True)),
}
"""Base learners by name: those of section 4.3.1, and ML-kNN.

The SVM stands for WEKA's SMO with its defaults: linear, C = 1, features scaled by their range.
"""


def _make_base(text: str, method: str) -> Any:
    """Return an unfitted base learner; one of a single target is trained label by label."""
    if text in BASES:
        base = BASES[text]()
    elif ":" in text:
        base = ImportedFactory(text, str(Path.cwd())).make_unseeded()
    else:
        raise ValueError(
            f"No base learner is called {text!r}.{did_you_mean(text, BASES)} Known are "
            f"{', '.join(BASES)}; write others as module:Class."
        )
    if method in _MULTI_LABEL and not get_tags(base).classifier_tags.multi_label:
        return BinaryRelevanceClassifier(base)
    return base


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
        value: Any = text
        with suppress(ValueError, SyntaxError):
            value = ast.literal_eval(text)
        if key != "size":
            parameters.append((key, value))
        elif isinstance(value, int) and value > 0:
            size = value
        else:
            raise ValueError(f"{name!r}: size must be a number of members, at least 1.")
    return Variant(base, tuple(parameters), size)


def check_method(name: str, methods: Mapping[str, Method]) -> None:
    """Raise an error for an unknown method, or a variant that its classifier does not have."""
    variant = parse_variant(name)
    if variant.base not in methods:
        raise ValueError(
            f"No method is called {variant.base!r}.{did_you_mean(variant.base, methods)} "
            f"Known are {', '.join(methods)}."
        )
    if "@" not in name:
        return  # not made: its package may be absent, and its cells stored
    model = variant.make(methods[variant.base], 0)
    if variant.size is not None and not hasattr(model, "staged_predict_proba"):
        raise ValueError(
            f"{name!r}: {type(model).__name__} is not an ensemble with staged predictions, "
            "so it has no size."
        )
