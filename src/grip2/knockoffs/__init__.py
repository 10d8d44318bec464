"""Knockoff samplers: they draw synthetic copies of the features without looking at the response.

The public samplers are those of the registry. Everything is imported when first used, so that listing the names is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grip2.knockoffs.registry import SAMPLERS
from grip2.registry import lazy_exports

if TYPE_CHECKING:  # for type checkers and editors, which cannot follow __getattr__; a sampler missing here has type Any
    from grip2.knockoffs.automatic import AutomaticKnockoffs as AutomaticKnockoffs
    from grip2.knockoffs.base import KnockoffSampler as KnockoffSampler
    from grip2.knockoffs.base import NumericalRepairWarning as NumericalRepairWarning
    from grip2.knockoffs.copula import CopulaKnockoffs as CopulaKnockoffs
    from grip2.knockoffs.diagnostics import KnockoffDiagnostics as KnockoffDiagnostics
    from grip2.knockoffs.diagnostics import diagnose as diagnose
    from grip2.knockoffs.fixed_x import FixedXKnockoffs as FixedXKnockoffs
    from grip2.knockoffs.gaussian import GaussianKnockoffs as GaussianKnockoffs
    from grip2.knockoffs.sequential import SequentialKnockoffs as SequentialKnockoffs

_WHERE = {
    **SAMPLERS.own_modules(),
    "KnockoffSampler": "grip2.knockoffs.base",
    "NumericalRepairWarning": "grip2.knockoffs.base",
    "KnockoffDiagnostics": "grip2.knockoffs.diagnostics",
    "diagnose": "grip2.knockoffs.diagnostics",
}

__all__ = sorted(_WHERE)

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
