"""Multi-label datasets: readers, writers, the registry, and the embedded data."""

from labelkin.datasets._describe import Description, describe
from labelkin.datasets._plots import plot_label_cooccurrence, plot_label_set_sizes, save_plots

__all__ = [
    "Description",
    "describe",
    "plot_label_cooccurrence",
    "plot_label_set_sizes",
    "save_plots",
]
