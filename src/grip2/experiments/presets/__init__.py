"""The paper's three experiments and the study of calibration as plans, in full and quick."""
