"""Thousands of labels: candidates from several sources, ranked with calibrated probabilities."""

from labelkin.many._classifier import LabelTreeClassifier

__all__ = ["LabelTreeClassifier"]
