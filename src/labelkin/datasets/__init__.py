"""Multi-label datasets: readers, writers, the registry, and the embedded data."""
