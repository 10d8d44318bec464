"""Rewrites messages of the library for the command line: options instead of parameters, names instead of classes."""

from __future__ import annotations

import re
from functools import cache

from grip2.knockoffs.registry import SAMPLERS
from grip2.statistics.registry import STATISTICS

_OPTIONS = "fdr|copies|task|missing|statistic|knockoffs|offset|groups"
# Patterns and their replacements, applied in this order.
_PHRASES = (
    (r"^KnockoffSelector: ", ""),
    (r"columns=\{.*?\} \((--as .*?)\)(?=[.,;\s]|$)", r"\1"),
    (r"missing='(\w+)' or '(\w+)' \(--missing \w+\)", r"--missing \1 or \2"),
    (r" \(--task on the command line\)", ""),
    (r"pass task='(\w+)'", r"give --task \1"),
    (r"task='(\w+)'", r"--task \1"),
    (r"--cluster COLUMN, in Python clusters=", "--cluster COLUMN"),
    (r"\bclusters (?=must)|\bclusters(?= out\b)", "--cluster "),
    (r"missing='draw' \(--missing draw\), 'indicator' or 'median'", "--missing draw, indicator or median"),
    (r"\b(offset|copies)=(\d+)", r"--\1 \2"),
    (r"\bn_draws\b", "--draws"),
    (r"\bn_jobs\b", "--jobs"),
    (r", or 'module:Class',", ","),
    (r": a structured array with both fields, or two columns, time and event \((--.*?)\)", r"; name both: \1"),
    (r", or a pandas Categorical with ordered=True, whose categories are in order", ""),
    (r"X contains NaN: ", ""),
    (r"(?<![\w'-])y (is|has|holds|contains)\b", r"the target \1"),
    (r"\ba numeric y\b", "a target of numbers"),
    (r"values of y\b", "values of the target"),
    (rf"(^|: )({_OPTIONS}) must", r"\1--\2 must"),
    (r"--(\w+): (?:--\1 |\1: )", r"--\1: "),
    (r"--(\w+): must", r"--\1 must"),
    (r"\bselect: ", ""),
)


def in_command_words(text: str) -> str:
    """A message of the library for somebody who knows only the command line."""
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    for name, words in _class_names().items():
        text = re.sub(rf"\b{name}\b(\(\))?", words, text)
    return text.replace("--cluster  ", "--cluster ")


@cache
def _class_names() -> dict[str, str]:
    """The name on the command line of every class that has one."""
    statistics = {entry.location.partition(":")[2]: entry.name for entry in STATISTICS.own_entries()}
    samplers = {entry.location.partition(":")[2]: f"{entry.name} knockoffs" for entry in SAMPLERS.own_entries()}
    return statistics | samplers
