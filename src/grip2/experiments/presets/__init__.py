"""The paper's three experiments as plans, in full and quick."""
