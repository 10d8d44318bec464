"""Random numbers of a block of rows: they depend on a key and the block's number only, not on who draws them, or when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grip2._random import LIBRARY_KEY, stream

# The sampled rows are a block of their own with this number, which no block of a table has.
SAMPLE = 2**32 - 1


@dataclass(frozen=True)
class BlockKey:
    """The key of all blocks of one draw of knockoffs."""

    words: tuple[int, ...]

    @classmethod
    def of(cls, rng: np.random.Generator) -> BlockKey:
        """A new key from ``rng``, which advances."""
        return cls(tuple(int(word) for word in stream(rng, "blocks of rows").integers(2**32, size=4)))

    def generator(self, block: int) -> np.random.Generator:
        """The generator of one block, always at its beginning."""
        return np.random.default_rng(np.random.SeedSequence(self.words, spawn_key=(LIBRARY_KEY, block)))
