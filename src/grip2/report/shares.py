"""Shares of variance in words."""

from __future__ import annotations


def percent(share: float) -> str:
    """A share for people: "12 %", "0.34 %"."""
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"
