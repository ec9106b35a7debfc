"""Multi-label classification on top of scikit-learn.

The public names load on first use, so that ``import labelkin`` and the command line's
``--help`` do not pay for estimators they never touch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelkin.ensemble import BaggingVPCPClassifier, VPCMEClassifier
    from labelkin.neighbors import MLkNNClassifier
    from labelkin.projection import PairwiseConstraintProjection
    from labelkin.tree import C45TreeClassifier

__version__ = "0.1.0"

__all__ = [
    "BaggingVPCPClassifier",
    "C45TreeClassifier",
    "MLkNNClassifier",
    "PairwiseConstraintProjection",
    "VPCMEClassifier",
]

_HOME = {
    "BaggingVPCPClassifier": "ensemble",
    "C45TreeClassifier": "tree",
    "MLkNNClassifier": "neighbors",
    "PairwiseConstraintProjection": "projection",
    "VPCMEClassifier": "ensemble",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"labelkin.{_HOME[name]}"), name)
    raise AttributeError(f"module 'labelkin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
