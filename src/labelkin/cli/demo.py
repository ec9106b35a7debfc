"""``labelkin demo``: VPCME beside ML-kNN on the embedded digit scenes."""


def command() -> None:
    """Learn the embedded digit scenes and show what VPCME adds to ML-kNN."""
