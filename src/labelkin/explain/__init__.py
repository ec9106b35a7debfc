"""Explanations of predictions: features, members and training samples behind each label."""

from labelkin.explain._explain import ExplainMixin, explain
from labelkin.explain._explanation import Explanation

__all__ = ["ExplainMixin", "Explanation", "explain"]
