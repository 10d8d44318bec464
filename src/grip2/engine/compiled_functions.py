"""Loops that Numba compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile by Numba at the first call; the result is kept for later processes where there is a folder to keep it in."""
    return _kept(function, nogil=True)


def compiled_helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for functions that only compiled ones call: without the code that a call from Python needs."""
    return _kept(function, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _kept(function: Callable[..., Any], **flags: Any) -> Callable[..., Any]:
    compiled_at_first_call: Callable[..., Any]
    try:
        compiled_at_first_call = njit(cache=True, **flags)(function)
    except RuntimeError:  # neither the package's folder nor the user's can be written
        compiled_at_first_call = njit(**flags)(function)
    return compiled_at_first_call
