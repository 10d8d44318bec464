"""Knockoff constructions: samplers of synthetic twins of the features that know nothing of the response."""

from grip2.knockoffs.base import KnockoffSampler
from grip2.knockoffs.gaussian import GaussianKnockoffs

__all__ = ["GaussianKnockoffs", "KnockoffSampler"]
