"""What is timed, and what came out: plain records, which are written to a file line by line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# How a measurement ended.
DONE, OVER_TIME, OVER_MEMORY, FAILED = "done", "over the time limit", "over the memory limit", "failed"

# Which caches of compiled code a measurement finds.
USERS, EMPTY, FILLED = "the user's", "empty", "filled by the same fit before"


@dataclass(frozen=True)
class Case:
    """One contestant at one task. Cases of one part with the same subject are compared with each other."""

    part: str
    subject: str  # the task, in words
    contestant: str
    code: str  # "module:function" in `grip2.bench.contestants`
    settings: Mapping[str, Any] = field(default_factory=dict)
    package: str = ""  # of another environment that it needs; empty: runs in ours
    size: float | None = None  # place on the axis of a growth curve
    once: bool = False  # timed without a warm-up and only one time, because the first call is the point
    cache: str = USERS

    @property
    def key(self) -> str:
        """Tells cases apart in the file; another size or setting is another case."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Measured:
    """One measurement of one case."""

    key: str
    round: int
    outcome: str
    seconds: float | None = None  # of one call, or of one step where a call has many
    peak_gigabytes: float | None = None  # of the whole process, libraries and data included
    before_gigabytes: float | None = None  # the same, when the data were there and nothing had been computed
    load: float | None = None  # runnable processes of the machine, over the last minute, when it began
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the contestant says of its result
    message: str = ""  # why there is none
