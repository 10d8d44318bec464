"""Data with a known truth, and tables from files."""

from grip2.datasets.synthetic import SimulatedTable, make_ar1, make_hidden_interactions

__all__ = ["SimulatedTable", "make_ar1", "make_hidden_interactions"]
