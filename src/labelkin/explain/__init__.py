"""Explanations of predictions: by nearest training samples and votes, features, or kernels."""

from labelkin.explain._kernels import KernelExplanation
from labelkin.explain._linear import LinearExplanation, explain_linear
from labelkin.explain._neighbors import Explanation, explain, explain_members
from labelkin.explain._rows import validate_one_row

__all__ = [
    "Explanation",
    "KernelExplanation",
    "LinearExplanation",
    "explain",
    "explain_linear",
    "explain_members",
    "validate_one_row",
]
