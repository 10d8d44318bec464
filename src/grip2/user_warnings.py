"""Warnings that point at the user's own line, however deep in the library they are raised."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

# Packages between the user's line and a warning: this one, and those that call it back.
_BETWEEN = ("grip2", "sklearn", "joblib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if from the first caller outside of these packages; if there is none, from the caller of this function."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=2 if frame is None else level)
