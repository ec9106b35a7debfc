"""VPCME and Bagging_VPCP: ensembles over constraint projections (Table 1)."""

from labelkin.ensemble._bagging import BaggingVPCPClassifier
from labelkin.ensemble._vpcme import VPCMEClassifier

__all__ = ["BaggingVPCPClassifier", "VPCMEClassifier"]
