"""Random streams: one entry point for seeds, and streams from which no user code can draw by accident.

Data made by ``numpy.random.default_rng(0)`` and a selector with ``random_state=0`` must not share draws: knockoffs built
from the same normal numbers as the data are correlated with it, and all power is lost. So every stream is hashed together
with a key of this library before anything is drawn from it.
"""

from __future__ import annotations

import numbers
import zlib

import numpy as np

from grip2.errors import Grip2Error

LIBRARY_KEY = 0x67726970  # "grip"

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator_from(random_state: RandomState) -> np.random.Generator:
    """A generator from anything that a user may pass as ``random_state``.

    None gives fresh entropy; an int always the same stream; a generator is advanced, so that a second call differs.
    """
    if random_state is None:
        entropy: int | list[int] | None = None
    elif isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise Grip2Error(f"random_state must not be negative, got {random_state}.")
        entropy = int(random_state)
    elif isinstance(random_state, np.random.Generator):
        entropy = [int(word) for word in random_state.integers(2**32, size=4)]
    elif isinstance(random_state, np.random.RandomState):
        entropy = [int(word) for word in random_state.randint(2**32, size=4, dtype=np.uint64)]
    else:
        raise Grip2Error(
            "random_state must be None, an integer, a numpy Generator or a RandomState, "
            f"got {type(random_state).__name__}."
        )
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(LIBRARY_KEY,)))


def stream(rng: np.random.Generator, purpose: str) -> np.random.Generator:
    """A stream for one purpose, seeded by a draw from ``rng`` (which advances) and hashed with the library's key."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a numpy.random.Generator (numpy.random.default_rng(seed)), got {type(rng).__name__}."
        )
    words = [int(word) for word in rng.integers(2**32, size=4)]
    key = (LIBRARY_KEY, zlib.crc32(purpose.encode()))
    return np.random.default_rng(np.random.SeedSequence(words, spawn_key=key))
