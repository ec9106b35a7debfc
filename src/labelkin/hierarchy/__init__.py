"""Nested labels: hierarchies, and classifiers whose predictions keep to them."""

from labelkin.hierarchy._classifier import HierarchyClassifier
from labelkin.hierarchy._hierarchy import LabelHierarchy

__all__ = ["HierarchyClassifier", "LabelHierarchy"]
