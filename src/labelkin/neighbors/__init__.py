"""Nearest rows and the labels around them: ML-kNN and IBLR-ML."""

from labelkin.neighbors._iblr import IBLRClassifier
from labelkin.neighbors._mlknn import MLkNNClassifier

__all__ = ["IBLRClassifier", "MLkNNClassifier"]
