"""Makes the statistic and the sampler that a command is asked for: by name, with the settings of ``--paper`` and ``--set``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grip2.commands.names import DEFAULT_STATISTIC, PAPER_NAMES, PAPER_STATISTIC
from grip2.errors import Grip2Error, did_you_mean
from grip2.knockoffs.base import KnockoffSampler
from grip2.knockoffs.registry import SAMPLERS
from grip2.settings import parse_settings, with_settings
from grip2.statistics.base import Statistic
from grip2.statistics.paper_settings import PAPER_SETTINGS
from grip2.statistics.registry import STATISTICS

SAMPLER_PREFIX = "knockoffs."


@dataclass(frozen=True)
class Choices:
    """The statistic and the sampler of a selection."""

    statistic: Statistic
    sampler: KnockoffSampler


def choose(statistic: str | None, knockoffs: str, *, paper: str | None = None, settings: Iterable[str] = ()) -> Choices:
    """The statistic with its defaults or the paper's values and the sampler with its defaults, changed by ``settings``.

    ``settings`` are words such as ``steps=5000`` for the statistic and ``knockoffs.s=equi`` for the sampler.
    """
    statistic = statistic or (DEFAULT_STATISTIC if paper is None else PAPER_STATISTIC)
    found = parse_settings(settings)
    _refuse_bare_knockoffs(found)
    if paper is not None and paper not in PAPER_SETTINGS:
        raise Grip2Error(f"--paper must be one of {PAPER_NAMES}, got {paper!r}.{did_you_mean(paper, PAPER_SETTINGS)}")
    if paper is not None and not STATISTICS.load(statistic).paper_tunes:
        raise Grip2Error(
            f"--paper: the paper has no settings of its own for {statistic}; leave --paper out, or choose "
            f"--statistic {PAPER_STATISTIC}."
        )
    start = STATISTICS.create(statistic) if paper is None else STATISTICS.create_paper(statistic, paper)
    own = {name: value for name, value in found.items() if not name.startswith(SAMPLER_PREFIX)}
    rest = {name.removeprefix(SAMPLER_PREFIX): found[name] for name in found.keys() - own.keys()}
    return Choices(
        statistic=with_settings(start, own, create=STATISTICS.create),
        sampler=with_settings(SAMPLERS.create(knockoffs), rest),
    )


def choose_sampler(knockoffs: str, *, settings: Iterable[str] = ()) -> KnockoffSampler:
    """The sampler alone; ``knockoffs.s=equi`` may also be written ``s=equi`` here."""
    found = parse_settings(settings)
    _refuse_bare_knockoffs(found)
    sampler: KnockoffSampler = SAMPLERS.create(knockoffs)
    return with_settings(sampler, {name.removeprefix(SAMPLER_PREFIX): value for name, value in found.items()})


def _refuse_bare_knockoffs(settings: Iterable[str]) -> None:
    if SAMPLER_PREFIX.removesuffix(".") in settings:
        raise Grip2Error(
            "--set: knockoffs is not a setting; choose the sampler with --knockoffs NAME, and its settings with "
            "--set knockoffs.NAME=VALUE."
        )
