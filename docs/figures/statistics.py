"""The critical-difference diagram of what we ran."""

from pathlib import Path

import pandas as pd

from labelkin.experiments.report.comparison import Comparison
from labelkin.experiments.report.figures import draw_critical_difference
from labelkin.experiments.report.published import MEASURES
from labelkin.experiments.run.results import check_results

RESULTS = Path(__file__).parents[2] / "results" / "results.csv"


def draw():
    """Draw average ranks in average precision over the paper's datasets."""
    comparison = Comparison.of(check_results(pd.read_csv(RESULTS)))
    return draw_critical_difference(comparison, MEASURES["average_precision"])
