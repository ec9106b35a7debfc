"""From scores to probabilities: logistic curves with shared slopes."""

from labelkin.calibration._curves import SlopeCalibration

__all__ = ["SlopeCalibration"]
