"""Linear projections learned from pairs of samples or from labels (Eq. 3-7)."""

from labelkin.projection._mddm import MDDM
from labelkin.projection._pairwise import PairwiseConstraintProjection
from labelkin.projection._selection import SelectByConstraints, feature_importances

__all__ = [
    "MDDM",
    "PairwiseConstraintProjection",
    "SelectByConstraints",
    "feature_importances",
]
