"""Calibration: fitting the cost model's coefficients to times measured on this machine."""
