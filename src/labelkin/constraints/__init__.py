"""Which pairs of samples are linked: similarity, must-link and cannot-link, the weighted draw."""

from labelkin.constraints._sampler import (
    ConstraintSampler,
    LabelSets,
    draw_bag,
    draw_constraints,
    label_similarity,
)

__all__ = [
    "ConstraintSampler",
    "LabelSets",
    "draw_bag",
    "draw_constraints",
    "label_similarity",
]
