"""The Kin ensemble: kernels, projections and trees, stacked."""

from labelkin.kin._classifier import KinEnsembleClassifier

__all__ = ["KinEnsembleClassifier"]
