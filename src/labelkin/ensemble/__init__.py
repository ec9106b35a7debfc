"""VPCME and Bagging_VPCP: ensembles over constraint projections (Table 1)."""

from labelkin.ensemble._vpcme import BaggingVPCPClassifier, VPCMEClassifier

__all__ = ["BaggingVPCPClassifier", "VPCMEClassifier"]
