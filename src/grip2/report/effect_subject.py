"""What increases or decreases with a feature, in words."""

from __future__ import annotations

from grip2.feature_effects import EffectDescription
from grip2.plain_text import short_name

THE_RESPONSE = "the response"
# By task, if it is not the response itself: for survival, a higher risk means shorter times.
_SUBJECTS = {"survival": "the risk of the event"}


def subject(task: str, output: str) -> str:
    """``output`` is the class that an effect describes; empty if the response has no classes."""
    return f"the chance of {short_name(output)}" if output else _SUBJECTS.get(task, THE_RESPONSE)


def common_subject(effects: EffectDescription, task: str) -> str | None:
    """The subject of all effects; None if they describe the chances of different classes."""
    found = {subject(task, effect.output) for effect in effects}
    return found.pop() if len(found) == 1 else None
