"""Average ranks of all compared methods, and which of them differ significantly."""

from measured import ROOT

from labelkin.experiments.report.comparison import Comparison
from labelkin.experiments.report.figures import draw_overall
from labelkin.experiments.report.results import check_results, read_results

RESULTS = ROOT / "results" / "frontier.csv"
READS = (RESULTS,)


def draw():
    """Draw the critical-difference diagram over the datasets."""
    results = check_results(read_results(RESULTS).results)
    return draw_overall(Comparison.of(results, None, components=None), by_dataset=True)
