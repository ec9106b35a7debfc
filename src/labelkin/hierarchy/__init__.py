"""Nested labels: hierarchies, and classifiers whose predictions respect them."""

from labelkin.hierarchy._classifier import HierarchyClassifier
from labelkin.hierarchy._hierarchy import LabelHierarchy

__all__ = ["HierarchyClassifier", "LabelHierarchy"]
