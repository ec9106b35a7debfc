"""Which pairs of samples are linked: similarity, must-link and cannot-link, the weighted draw."""

from labelkin.constraints._bags import BagSampler, draw_bag
from labelkin.constraints._sampler import ConstraintSampler, draw_constraints, label_similarity

__all__ = ["BagSampler", "ConstraintSampler", "draw_bag", "draw_constraints", "label_similarity"]
