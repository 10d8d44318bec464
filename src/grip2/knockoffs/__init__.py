"""Knockoff constructions: samplers of synthetic twins of the features that know nothing of the response.

Public names are imported when first used: the command line lists the samplers without waiting for scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grip2.knockoffs.registry import SAMPLERS
from grip2.registry import lazy_exports

if TYPE_CHECKING:
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

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        **SAMPLERS.own_modules(),
        "KnockoffDiagnostics": "grip2.knockoffs.diagnostics",
        "KnockoffSampler": "grip2.knockoffs.base",
        "NumericalRepairWarning": "grip2.knockoffs.base",
        "diagnose": "grip2.knockoffs.diagnostics",
    },
)
