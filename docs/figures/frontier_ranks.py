"""Average ranks of all compared methods, and which of them differ significantly."""

from measured import FRONTIER, compare

from labelkin.experiments.report.figures import draw_overall

READS = (FRONTIER,)


def draw():
    """Draw the critical-difference diagram over the datasets."""
    return draw_overall(compare(FRONTIER).ranked)
