"""How the lasso, on moments or on a table, chooses the columns that it works on."""

from __future__ import annotations

# New columns at work at a time: as many as have effects, and at least so many.
NEW_COLUMNS = 10
# The gap of the columns at work goes so much below the tolerance that the others decide.
INNER_TOLERANCE = 0.3
