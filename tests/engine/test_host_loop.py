"""The host loop alone: chunks, their sizes, early ends and the step named in an error."""

from __future__ import annotations

import numpy as np
import pytest

from grip2.engine import host_loop
from grip2.engine.host_loop import NonFiniteTrainingError, chunk_capacity, padded, run_in_chunks


def advanced(n_steps, losses=None, **settings):
    """Run over given losses (..., steps); the (start, count, capacity) of every chunk."""
    losses = np.zeros(n_steps) if losses is None else losses
    chunks = []

    def advance(start, count, capacity):
        chunks.append((start, count, capacity))
        return losses[..., start : start + count]

    done = run_in_chunks(n_steps, settings.pop("flops", 1.0), advance, hint="(hint).", **settings)
    return done, chunks


def test_chunks_cover_every_step_once(monkeypatch):
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", 32)
    done, chunks = advanced(70)
    assert done == 70
    assert chunks == [(0, 32, 32), (32, 32, 32), (64, 6, 32)]


@pytest.mark.parametrize(
    ("n_steps", "flops", "capacity"),
    [(1, 1.0, 1), (3, 1.0, 4), (100_000, 1.0, 4096), (1000, 1e20, 1), (1000, host_loop.CHUNK_FLOPS / 100, 128)],
)
def test_capacity_is_a_power_of_two_of_about_the_work_allowed(n_steps, flops, capacity):
    assert chunk_capacity(n_steps, flops) == capacity


def test_progress_may_end_the_run(monkeypatch):
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", 8)
    seen = []

    def until_twenty(done, total):
        seen.append((done, total))
        return done < 20

    assert advanced(64, progress=until_twenty)[0] == 24
    assert seen == [(8, 64), (16, 64), (24, 64)]
    assert advanced(64, progress=lambda done, total: None)[0] == 64, "only False ends a run"


@pytest.mark.parametrize("capacity", [1, 8, 64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_bad_step_of_any_member_is_named(monkeypatch, capacity, bad):
    monkeypatch.setattr(host_loop, "CHUNK_STEPS_MAX", capacity)
    losses = np.zeros((3, 50))
    losses[1, 30:] = losses[2, 13] = bad
    with pytest.raises(NonFiniteTrainingError, match=r"non-finite at step 14 \(hint\)\."):
        advanced(50, losses)


def test_padding():
    np.testing.assert_array_equal(padded(np.arange(1, 6), 3, 2, 4), [4, 5, 0, 0])
    assert padded(np.ones((5, 2), np.int32), 4, 1, 3).dtype == np.int32
