"""The Kin ensemble: kernels, projections and trees, stacked."""

from labelkin.kin._classifier import KinEnsembleClassifier
from labelkin.kin._plan import Limits

__all__ = ["KinEnsembleClassifier", "Limits"]
