"""The methods that are compared, with the paper's names and settings (section 4.3.1).

Tables, benchmarks and documentation are made from this one registry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labelkin.ensemble import BaggingVPCPClassifier, VPCMEClassifier
from labelkin.neighbors import MLkNNClassifier


@dataclass(frozen=True)
class Method:
    """One compared method."""

    name: str
    """Key in :data:`METHODS`, and on the command line."""
    title: str
    """Name in print, the paper's where it has one."""
    make: Callable[[int | None], Any]
    """Return an unfitted classifier for a given ``random_state``."""
    settings: str
    """What is set, in words."""


def _registry() -> dict[str, Method]:
    methods = [
        Method(
            "mlknn",
            "ML-kNN",
            lambda seed: MLkNNClassifier(n_neighbors=10),
            "10 neighbours, smoothing 1",
        ),
        Method(
            "vpcme",
            "VPCME",
            lambda seed: VPCMEClassifier(n_estimators=30, threshold=0.6, random_state=seed),
            "S = 30 members, Θ = 0.6, ML-kNN with 10 neighbours in each",
        ),
        Method(
            "bagging_vpcp",
            "Bagging_VPCP",
            lambda seed: BaggingVPCPClassifier(n_estimators=30, threshold=0.6, random_state=seed),
            "as VPCME, with equal weights throughout",
        ),
    ]
    return {method.name: method for method in methods}


METHODS: dict[str, Method] = _registry()
"""Every method by name."""
