"""Refuses to compute in a forked child of a process that has computed before, where it would wait for ever.

A fork copies memory but no threads. The compiler and its programs wait for threads of theirs that the child does not have.
Children that are started anew (spawn, forkserver, joblib's default) are not affected, and neither are those that were forked
before the first computation.
"""

from __future__ import annotations

import os

from grip2.errors import Grip2Error

_computed = False
_lost_threads = False


def before_computing() -> None:
    """To be called by every function that lets JAX compute."""
    global _computed
    if _lost_threads:
        raise Grip2Error(
            "this process was forked from one that had trained a network before, and JAX cannot compute in such a process. "
            "Start workers with multiprocessing.get_context('spawn') or joblib's default backend instead of 'fork'."
        )
    _computed = True


def _after_fork() -> None:
    global _lost_threads
    _lost_threads = _computed


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
