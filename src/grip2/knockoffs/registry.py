"""All knockoff samplers by name: the only such list, used by the package, the command line, experiment plans and tests."""

from __future__ import annotations

from grip2.registry import Entry, Registry

_HERE = "grip2.knockoffs"

SAMPLERS = Registry(
    "knockoffs",
    base=f"{_HERE}.base:KnockoffSampler",
    group=_HERE,
    entries=[
        Entry("auto", f"{_HERE}.automatic:AutomaticKnockoffs", "copula, or sequential where the copula does harm"),
        Entry("copula", f"{_HERE}.copula:CopulaKnockoffs", "any marginal distributions, Gaussian dependence"),
        Entry("sequential", f"{_HERE}.sequential:SequentialKnockoffs", "numbers and categories, column after column"),
        Entry("gaussian", f"{_HERE}.gaussian:GaussianKnockoffs", "normal columns"),
        Entry("fixed", f"{_HERE}.fixed_x:FixedXKnockoffs", "fixed columns, for linear models with Gaussian noise"),
    ],
)
