"""Progress: parts of a whole, what is being done, how long the rest takes, and how people see it."""

from __future__ import annotations

import re
import threading
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import TextColumn

from grip2 import KnockoffSelector
from grip2.cli import main
from grip2.commands.progress_display import Bar, Lines
from grip2.knockoffs import AutomaticKnockoffs, GaussianKnockoffs
from grip2.progress import (
    PhasedProgress,
    begin,
    counted_progress,
    joined_progress,
    parallel_progress,
    seconds_left,
    share_progress,
    split_progress,
)
from grip2.statistics import GRIP2, EffectPosterior, LassoCoefficient, Staged


class Recorded(PhasedProgress):
    def __init__(self):
        self.phases, self.shares = [], []

    def __call__(self, done, total):
        self.shares.append(done / total)

    def phase(self, name, *, paced=False):
        self.phases.append(name)


def test_parts_report_the_whole_and_pass_phases_on():
    seen = Recorded()
    first, second = split_progress(seen, 1, 3)
    begin(first, "one")
    first(1, 2)
    first(2, 2)
    begin(second, "two")
    half = share_progress(second, 1, 2)
    begin(half, "half")
    half(5, 10)
    half(10, 10)
    assert seen.phases == ["one", "two", "half"]
    assert seen.shares == [0, 0.25, 0.75, 1]


def test_plain_functions_and_none_need_no_phases():
    calls = []
    (part,) = split_progress(lambda *at: calls.append(at), 10)
    begin(part, "nobody wants to know")
    part(1, 2)
    assert calls == [(5, 10)]
    begin(None, "nor here")
    assert split_progress(None, 1, 2) == [None, None]
    assert share_progress(None, 0, 2) is None
    counted_progress(None, 3)()


def test_several_are_told_and_each_can_end_the_work():
    first, second = Recorded(), []
    both = joined_progress(first, None, lambda *at: second.append(at))
    begin(both, "x")
    assert both(1, 4) is None
    assert (first.phases, first.shares, second) == (["x"], [0.25], [(1, 4)])
    assert joined_progress(lambda done, total: False, first)(1, 2) is False
    assert joined_progress(None, first) is first
    assert joined_progress(None) is None


def test_steps_of_several_threads_are_counted_one_by_one():
    seen = []
    step = counted_progress(lambda *at: seen.append(at), 400)
    threads = [threading.Thread(target=lambda: [step() for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(k, 400) for k in range(1, 401)]


def test_parts_of_several_threads_add_up_and_each_learns_that_the_work_is_to_end():
    shares = []

    def progress(done, total):
        shares.append(done / total)
        return False if done == total else None

    first, second = parallel_progress(progress, 2)
    answers = [first(1, 2), second(3, 4), first(2, 2), second(4, 4)]
    assert shares == [0.25, 0.625, 0.875, 1.0]
    assert answers == [None, None, None, False]
    assert parallel_progress(None, 2) == [None, None]


def test_the_estimate_is_that_of_the_mean_speed_and_waits_until_it_is_one():
    assert seconds_left(30.0, 0.25) == pytest.approx(90)
    assert seconds_left(30.0, 1.0) == 0
    assert seconds_left(4.0, 0.5) is None, "too early"
    assert seconds_left(60.0, 0.01) is None, "too little"


def test_a_fit_reports_all_its_phases_and_never_goes_back():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 10))
    y = np.abs(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(120)
    network = GRIP2(hidden=4, depth=1, steps=60, batch_size=None)
    seen = Recorded()
    statistic = Staged(EffectPosterior(sweeps=200), network, target="response")
    KnockoffSelector(statistic, AutomaticKnockoffs(), fdr=0.5, random_state=0).fit(X, y, progress=seen)
    assert seen.phases[:5] == [
        "checking the table",
        "fitting knockoffs",
        "judging the knockoffs",
        "measuring importance",
        "fitting the first stage",
    ]
    assert seen.phases[-1] == "describing the selected features"
    assert "rehearsing the network" in seen.phases
    assert min(np.diff(seen.shares)) >= 0
    assert seen.shares[-1] == 1
    knockoffs = [share for share in seen.shares if share < 1000 / 7300]
    assert len(knockoffs) >= 90, "simulated responses are reported one by one"


def test_progress_changes_no_numbers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6))
    for statistic in (LassoCoefficient(), EffectPosterior(sweeps=100)):
        fits = [
            KnockoffSelector(statistic, random_state=0)
            .fit(X, X[:, :2].sum(axis=1), progress=progress)
            .result_.to_dict()
            for progress in (None, lambda done, total: None)
        ]
        assert fits[0] | {"seconds": 0} == fits[1] | {"seconds": 0}


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_lines_of_a_log_come_now_and_again():
    clock, lines = Clock(), []
    log = Lines(lambda: None, lines.append, clock)
    log.before("reading data.csv")
    assert lines == [], "what ends at once writes nothing"
    clock.now = 1.0
    log.look()
    assert lines == ["progress: reading data.csv"]
    log.phase("fitting knockoffs")
    clock.now = 2.0
    log.look()
    assert len(lines) == 1, "not every second"
    clock.now = 3.0
    log.phase("fitting the first stage", paced=True)
    for now in range(3, 24):
        clock.now = float(now)
        log(now - 3, 30)
        log.look()
    assert lines[1] == "progress: fitting the first stage"
    assert len(lines) == 6, "every five seconds"
    assert lines[-1] == "progress: fitting the first stage, 67 % (about 10 s left)"
    for now in range(24, 60):
        clock.now = float(now)
        log.look()
    assert len(lines) == 7, "nothing new for half a minute, but still there"
    log(30, 30)
    log.look()
    assert lines[-1] == "progress: fitting the first stage, 100 %"


def test_what_comes_before_is_not_part_of_the_estimate():
    clock, lines = Clock(), []
    log = Lines(lambda: None, lines.append, clock)
    log.before("reading data.csv")
    clock.now = 100.0
    log.phase("fitting knockoffs")
    clock.now = 200.0
    log(1, 10)
    log.look()
    assert lines == ["progress: fitting knockoffs, 10 %"], "how long draws take does not follow from it"
    log.phase("measuring importance", paced=True)
    clock.now = 210.0
    log(4, 10)
    log.look()
    assert lines[-1] == "progress: measuring importance, 40 % (about 20 s left)"


def test_a_long_step_before_the_work_is_counted_in_words():
    clock, written = Clock(), []
    log = Lines(lambda: None, written.append, clock)
    report = log.counting_before("reading rows.parquet")
    for done in range(1, 41):
        clock.now += 1.0
        report(done, 40)
        log.look()
    assert written[0] == "progress: reading rows.parquet, 0 %"
    assert written[-1] == "progress: reading rows.parquet, 95 %", "a line every two seconds at most"
    assert 10 < len(written) <= 20
    log.phase("fitting knockoffs")
    assert not log._share


def test_a_thread_looks_and_ends_with_the_work(monkeypatch):
    monkeypatch.setattr("grip2.commands.progress_display.EVERY", 0.01)
    written = threading.Event()
    with Lines(lambda: None, lambda line: written.set()) as log:
        log.phase("fitting knockoffs")
        assert written.wait(10)
        thread = log._thread
    assert not thread.is_alive()


def test_an_interrupt_that_was_remembered_is_raised_when_work_is_reported():
    def struck():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Lines(struck, print)(1, 2)


def test_the_bar_of_a_terminal():
    text = StringIO()
    console = Console(file=text, force_terminal=True, width=120)
    columns = (TextColumn("{task.description}", markup=False), TextColumn("{task.percentage:>3.0f}%"))
    with RichProgress(*columns, console=console, auto_refresh=False) as rich:
        bar = Bar(lambda: None, rich, "selecting")
        bar.before("reading [bold]data.csv")
        rich.refresh()
        assert rich.tasks[0].total is None, "a pulse until the work is known"
        bar.phase("fitting knockoffs")
        bar(1, 4)
        rich.refresh()
    assert "selecting: reading [bold]data.csv" in text.getvalue()
    assert "selecting: fitting knockoffs" in text.getvalue()
    assert "25%" in text.getvalue()


def test_a_piped_command_writes_plain_lines(capsys, tmp_path, monkeypatch):
    # A look at every change: the thread may come too late for the first.
    monkeypatch.setattr(Lines, "_show", Lines.look)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((60, 6)), columns=list("abcdef")).assign(y=lambda table: table.sum(axis=1))
    frame.to_csv(tmp_path / "data.csv", index=False)
    words = ["select", tmp_path / "data.csv", "--target", "y", "--statistic", "lcd", "--out", tmp_path / "result"]
    main([str(word) for word in words])
    done = capsys.readouterr()
    told = [line for line in done.err.splitlines() if line.startswith("progress: ")]
    assert told[0] == "progress: reading data.csv"
    assert not re.search(r"[\x1b\r]", done.err)
    assert "reading" not in done.out


def test_samplers_that_know_nothing_of_progress_are_fitted_all_the_same():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    seen = Recorded()
    KnockoffSelector(LassoCoefficient(), GaussianKnockoffs(), fdr=0.5).fit(X, X[:, :2].sum(axis=1), progress=seen)
    assert seen.shares[0] == pytest.approx(1000 / 2300)
