"""What tables and figures show: the paper's metrics, and what a fold costs."""

from dataclasses import dataclass

from labelkin.metrics import METRICS, PAPER_METRICS


@dataclass(frozen=True)
class Measure:
    """A metric, or a cost."""

    name: str
    """Column of the results."""
    title: str
    unit: str = ""
    scale: float = 1.0
    """Tables show values times this."""
    greater_is_better: bool = False
    is_cost: bool = False

    @property
    def directed_title(self) -> str:
        """Title with the direction: ↑ larger is better, ↓ smaller is better."""
        return f"{self.title} {'↑' if self.greater_is_better else '↓'}"

    @property
    def heading(self) -> str:
        """Title with direction and unit."""
        return self.directed_title + (f" ({self.unit})" if self.unit else "")

    def number(self, value: float) -> str:
        """Return a scaled value as text: two decimals, or three digits for a cost."""
        if self.is_cost:
            return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
        return f"{value:.2f}"


def _metric(name: str) -> Measure:
    metric = METRICS[name]
    unit, scale = ("%", 100.0) if metric.percent else ("", 1.0)
    return Measure(name, metric.title, unit, scale, metric.greater_is_better)


MEASURES: dict[str, Measure] = {name: _metric(name) for name in PAPER_METRICS}
"""The paper's seven metrics, in its order."""

COSTS: dict[str, Measure] = {
    "fit_s": Measure("fit_s", "Time to fit", "s", is_cost=True),
    "predict_s": Measure("predict_s", "Time to predict", "s", is_cost=True),
}
"""What one fold costs."""
