"""Kernel ridge regression for label sets."""

from labelkin.kernel._classifier import KernelRidgeLOOClassifier

__all__ = ["KernelRidgeLOOClassifier"]
