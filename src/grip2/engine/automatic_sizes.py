"""Default network and training budget, chosen by the number of rows (not in the paper).

Nothing else of the table is looked at, so all members of a unit are treated alike. docs/calibration.md says what was compared.
"""

from __future__ import annotations

from typing import NamedTuple


class Sizes(NamedTuple):
    """Settings of a run beside the schedule of its penalty."""

    hidden: int
    depth: int
    steps: int
    batch_size: int
    deep_l2: float


AUTOMATIC = "auto"

# One hidden layer: a second one lets the network memorise, and neither absolute values nor products need it.
HIDDEN, DEPTH = 128, 1
STEPS = 3000

# A tenth of the rows: with smaller batches the steps of Adam follow the noise of the batch.
ROWS_PER_BATCH_ROW = 10
SMALLEST_BATCH, LARGEST_BATCH = 64, 1024

# Blocks of a run with automatic block size; 25 steps each in 3,000, the paper's M.
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
