"""Groups of input columns: the columns of one member of one unit enter the network through one gate.

The paper's group is the vector of first-layer weights of one column. Where a unit has several columns, the group is the block of
weights of all columns of one member of it. Functions of the engine take ``groups=None`` where every column is its own group;
what is compiled then holds nothing of this module.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np


class InputGroups(NamedTuple):
    """A partition of the inputs of a network; shared by all networks of a batch."""

    of_input: Any  # (inputs,) the number of the group of every input
    sizes: Any  # (groups,) inputs of each

    @classmethod
    def numbered(cls, of_input: np.ndarray | None) -> InputGroups | None:
        """From the number of the group of every input; None: every input is its own group."""
        if of_input is None:
            return None
        return cls(np.asarray(of_input, np.int32), np.bincount(of_input).astype(np.int32))

    def sums(self, of_inputs: Any) -> Any:
        """(groups,) sums of values of inputs."""
        return jax.ops.segment_sum(of_inputs, self.of_input, num_segments=len(self.sizes))


def group_count(n_inputs: int, groups: InputGroups | None) -> int:
    return n_inputs if groups is None else len(groups.sizes)
