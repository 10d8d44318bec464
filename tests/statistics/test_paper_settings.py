"""The settings of the paper's experiments, as its appendix states them, for every statistic."""

from __future__ import annotations

import pytest

from grip2.errors import Grip2Error
from grip2.statistics import GRIP1, GRIP2
from grip2.statistics.paper_settings import PAPER_SETTINGS
from grip2.statistics.registry import STATISTICS


def test_settings_of_the_three_experiments():
    synthetic, semireal, hiv = (GRIP2.paper(name) for name in ("synthetic", "semireal", "hiv"))
    assert synthetic.omega == (1e-4, 1e-1)
    assert (synthetic.depth, synthetic.hidden, synthetic.steps, synthetic.block_size) == (3, 512, 5000, 25)
    assert semireal.omega == (1.0, 100.0)
    assert (semireal.steps, semireal.deep_l2, semireal.block_size) == (10_000, 1e-7, 25)
    assert hiv.omega == (1e-3, 4e-2)
    assert (hiv.depth, hiv.hidden, hiv.batch_size, hiv.deep_l2, hiv.block_size) == (1, 1, None, 1e-2, 50)
    assert all(preset.learning_rate == 1e-3 and preset.a_min == 0.1 for preset in (synthetic, semireal, hiv))
    assert isinstance(GRIP1.paper("hiv"), GRIP1)


@pytest.mark.parametrize("setting", PAPER_SETTINGS)
@pytest.mark.parametrize("name", STATISTICS.names())
def test_every_statistic_has_what_the_paper_tunes_of_it(name, setting):
    kind = STATISTICS.load(name)
    preset, plain = kind.paper(setting).get_params(deep=False), kind().get_params(deep=False)
    for parameter, value in preset.items():
        if parameter in kind.paper_tunes:
            assert value == PAPER_SETTINGS[setting][parameter]
        else:
            assert repr(value) == repr(plain[parameter])
    assert set(kind.paper_tunes) <= set(preset)


def test_unknown_settings_are_refused():
    with pytest.raises(Grip2Error, match=r"GRIP2\.paper: setting must be one of .*, got 'hivv'\. Did you mean 'hiv'\?"):
        GRIP2.paper("hivv")
