"""C4.5 decision trees."""

from labelkin.tree._classifier import C45TreeClassifier

__all__ = ["C45TreeClassifier"]
