"""Nearest rows and the labels around them: ML-kNN and IBLR-ML."""

from labelkin.neighbors._mlknn import IBLRClassifier, MLkNNClassifier

__all__ = ["IBLRClassifier", "MLkNNClassifier"]
