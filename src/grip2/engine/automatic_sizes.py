"""Network and budget from the shape of the table, for users who want to set none of it (not in the paper).

Only the number of rows is looked at, so the members of a pair are treated alike. What was compared stands in
docs/calibration.md.
"""

from __future__ import annotations

from typing import NamedTuple


class Sizes(NamedTuple):
    """What a run needs beyond the schedule of its penalty."""

    hidden: int
    depth: int
    steps: int
    batch_size: int
    deep_l2: float


AUTOMATIC = "auto"

# One hidden layer: a second one lets the network memorise, and neither absolute values nor products need it.
HIDDEN, DEPTH = 128, 1
STEPS = 3000

# A tenth of the rows, so that a step of Adam is led by the signal and not by which rows were drawn.
ROWS_PER_BATCH_ROW = 10
SMALLEST_BATCH, LARGEST_BATCH = 64, 1024

# Blocks of a run that does not say how long they are; 25 steps each in 3,000, the paper's M.
BLOCKS_PER_RUN = 120


def automatic_sizes(n_rows: int) -> Sizes:
    """Sizes for a table of ``n_rows`` rows."""
    return Sizes(HIDDEN, DEPTH, STEPS, _batch_size(n_rows), deep_l2=1.0 / max(1, n_rows))


def automatic_block_size(steps: int) -> int:
    """M for a run of so many steps."""
    return max(1, steps // BLOCKS_PER_RUN)


def _batch_size(n_rows: int) -> int:
    """The smallest power of two that holds a tenth of the rows, within bounds: few shapes are ever compiled."""
    share = -(-n_rows // ROWS_PER_BATCH_ROW)
    return min(max(1 << (share - 1).bit_length(), SMALLEST_BATCH), LARGEST_BATCH)
