"""Methods with a parameter changed: ``vpcme@threshold=0.1``, ``vpcme@size=10``.

Before the first ``@`` stands a method's name, after each ``@`` a parameter of its classifier
and the value. Two are special. ``size`` is the paper's name of ``n_estimators``. ``estimator`` is
the base learner: one of :data:`BASES`, or any importable scikit-learn classifier, as in
``vpcme@estimator=sklearn.tree:DecisionTreeClassifier``.
"""

import ast
from collections.abc import Callable, Mapping
from contextlib import suppress
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


def make_variant(name: str, method: Method, seed: int | None) -> Any:
    """Return the unfitted classifier of a method with the parameters that a name sets."""
    base, *changes = name.split("@")
    parameters: dict[str, Any] = {}
    for change in changes:
        key, equals, text = (part.strip() for part in change.partition("="))
        if not (key and equals and text):
            raise ValueError(f"{name!r} is not a method: write it as name@parameter=value.")
        value: Any = text
        with suppress(ValueError, SyntaxError):
            value = ast.literal_eval(text)
        parameters["n_estimators" if key == "size" else key] = value
    if isinstance(learner := parameters.get("estimator"), str):
        parameters["estimator"] = _make_base(learner, base)
    model = method.make(seed)
    return model.set_params(**parameters) if parameters else model


def check_method(name: str, methods: Mapping[str, Method]) -> None:
    """Raise an error for an unknown method, or a variant that its classifier does not have."""
    base = name.partition("@")[0]
    if base not in methods:
        raise ValueError(
            f"No method is called {base!r}.{did_you_mean(base, methods)} "
            f"Known are {', '.join(methods)}."
        )
    if "@" in name:  # others are not made: their package may be absent, and their cells stored
        make_variant(name, methods[base], 0)
