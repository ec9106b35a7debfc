"""Linear projections learned from pairs of samples or from labels (Eq. 3-7)."""

from typing import TYPE_CHECKING

from labelkin._utils.lazy import lazy_exports

if TYPE_CHECKING:
    from labelkin.projection._mddm import MDDM
    from labelkin.projection._pairwise import PairwiseConstraintProjection
    from labelkin.projection._selection import SelectByConstraints, feature_importances

__all__ = ["MDDM", "PairwiseConstraintProjection", "SelectByConstraints", "feature_importances"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "MDDM": "_mddm",
        "PairwiseConstraintProjection": "_pairwise",
        "SelectByConstraints": "_selection",
        "feature_importances": "_selection",
    },
)
