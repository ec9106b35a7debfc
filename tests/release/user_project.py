"""A user's typed script: it must pass ``mypy --strict`` against the installed wheel."""

from typing import assert_type

import numpy as np

from labelkin import (
    BaggingVPCPClassifier,
    ChainClassifier,
    IBLRClassifier,
    MLkNNClassifier,
    PairwiseConstraintProjection,
    VPCMEClassifier,
    __version__,
)
from labelkin.constraints import label_similarity
from labelkin.datasets import describe, load_digit_scenes
from labelkin.methods import METHODS, Method
from labelkin.metrics import evaluate, hamming_loss
from labelkin.model_selection import IterativeStratifiedKFold, train_test_split


def measure(threshold: float, seed: int) -> dict[str, float]:
    """Fit and measure VPCME."""
    scenes = load_digit_scenes(n_samples=200, random_state=seed)
    X_train, X_test, Y_train, Y_test = train_test_split(scenes.data, scenes.target)
    model = VPCMEClassifier(MLkNNClassifier(5), n_estimators=3, threshold=threshold)
    model.fit(X_train, Y_train)
    labels: np.ndarray = model.predict(X_test)  # typed as Any: it is of the library of X
    figures = evaluate(Y_test, model.predict_proba(X_test), labels)
    assert_type(figures, dict[str, float])
    return figures


def best_of(thresholds: list[float]) -> float:
    """Return the threshold with the best average precision."""
    return max(thresholds, key=lambda t: measure(t, 0)["average_precision"])


def others(X: np.ndarray, Y: np.ndarray) -> float:
    """Use more of the package."""
    for train, _ in IterativeStratifiedKFold(3).split(X, Y):
        IBLRClassifier(n_neighbors=5).fit(X[train], Y[train])
    projection = PairwiseConstraintProjection(threshold=0.5).fit(X, Y)
    Z: np.ndarray = projection.transform(X)
    chain = ChainClassifier(MLkNNClassifier(), n_estimators=3)
    bagging = BaggingVPCPClassifier(threshold=(0.2, 0.8)).fit(Z, Y)
    cardinality: float = describe(Y).cardinality
    method: Method = METHODS["vpcme"]
    print(__version__, cardinality, method.title, chain, label_similarity(Y, Y))
    return hamming_loss(Y, bagging.predict(Z))
