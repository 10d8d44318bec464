"""What a new process waits for before it can do anything: imports."""

from __future__ import annotations

from collections.abc import Callable


def import_selector() -> Callable[[], None]:
    def call() -> None:
        from grip2 import KnockoffSelector  # noqa: F401

    return call


def import_scikit_learn() -> Callable[[], None]:
    def call() -> None:
        import sklearn.feature_selection  # noqa: F401

    return call
