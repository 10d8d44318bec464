"""How selected features act: a Bayesian model of effects, fitted to them after the selection."""

from grip2.describe.selected import describe_effects

__all__ = ["describe_effects"]
