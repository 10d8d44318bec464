"""Calibration on the user's own table: responses with a known truth, the user's settings, the rates that come out."""

from grip2.calibration.run import calibrate
from grip2.calibration.study import CalibrationStudy

__all__ = ["CalibrationStudy", "calibrate"]
