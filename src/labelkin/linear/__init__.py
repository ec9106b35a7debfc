"""Linear models of all labels at once."""

from labelkin.linear._classifier import MultiLabelLogisticRegression

__all__ = ["MultiLabelLogisticRegression"]
