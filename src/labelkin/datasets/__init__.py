"""Multi-label datasets: readers, writers, the registry, and the embedded data."""

from labelkin.datasets._digit_scenes import load_digit_scenes

__all__ = ["load_digit_scenes"]
