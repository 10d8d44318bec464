"""Simulated tables with a known truth."""
