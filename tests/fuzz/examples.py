"""How many examples a fuzzing test tries, and how files are changed at random."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# `GRIP2_FUZZ=5000 pytest tests/fuzz` tries more, and others every time.
MORE = int(os.environ.get("GRIP2_FUZZ", "0"))


def bounded(examples: int) -> settings:
    return settings(
        max_examples=MORE or examples,
        derandomize=not MORE,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )


@st.composite
def changed(draw, contents: list[bytes], pieces: list[bytes]) -> bytes:
    """One of the contents after a few changes: bytes cut out, pieces put in, parts repeated or exchanged with another file."""
    content = draw(st.sampled_from(contents))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 40)))
        kind = draw(st.sampled_from(["cut", "put", "replace", "repeat", "splice", "truncate"]))
        piece = draw(st.sampled_from(pieces) | st.binary(max_size=6))
        if kind == "cut":
            content = content[:start] + content[end:]
        elif kind == "put":
            content = content[:start] + piece + content[start:]
        elif kind == "replace":
            content = content[:start] + piece + content[end:]
        elif kind == "repeat":
            content = content[:end] + content[start:end] * draw(st.integers(1, 5)) + content[end:]
        elif kind == "splice":
            other = draw(st.sampled_from(contents))
            content = content[:start] + other[min(start, len(other)) :]
        else:
            content = content[:start]
    return content
