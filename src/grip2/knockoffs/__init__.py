"""Knockoff constructions: samplers of synthetic twins of the features that know nothing of the response."""

from grip2.knockoffs.base import KnockoffSampler, NumericalRepairWarning
from grip2.knockoffs.copula import CopulaKnockoffs
from grip2.knockoffs.diagnostics import KnockoffDiagnostics, diagnose
from grip2.knockoffs.fixed_x import FixedXKnockoffs
from grip2.knockoffs.gaussian import GaussianKnockoffs

__all__ = [
    "CopulaKnockoffs",
    "FixedXKnockoffs",
    "GaussianKnockoffs",
    "KnockoffDiagnostics",
    "KnockoffSampler",
    "NumericalRepairWarning",
    "diagnose",
]
