"""Simulated data with known relevant features, and the paper's real data sets."""

from grip2.datasets.families import make_family
from grip2.datasets.har import HARTable, load_har
from grip2.datasets.hiv import HIVTable, load_hiv
from grip2.datasets.semireal import SemiRealTable, make_semireal
from grip2.datasets.synthetic import SimulatedTable, make_ar1, make_hidden_interactions

__all__ = [
    "HARTable",
    "HIVTable",
    "SemiRealTable",
    "SimulatedTable",
    "load_har",
    "load_hiv",
    "make_ar1",
    "make_family",
    "make_hidden_interactions",
    "make_semireal",
]
