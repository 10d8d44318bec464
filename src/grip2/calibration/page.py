"""The files of a calibration: page, figure, table of trials, JSON."""

from __future__ import annotations

from grip2.calibration.figure import fdr_figure, power_figure, rates_figure
from grip2.calibration.study import ALL, CalibrationStudy
from grip2.calibration.words import caveats, judgement, sentence
from grip2.figure_style import to_svg
from grip2.pages import render_page

FILES = ("calibration.html", "calibration.json", "calibration.svg", "trials.csv")


def calibration_files(study: CalibrationStudy, *, title: str) -> dict[str, str]:
    """The contents of `FILES`."""
    return {
        "calibration.html": calibration_page(study, title=title),
        "calibration.json": study.to_json(),
        "calibration.svg": to_svg(rates_figure(study)),
        "trials.csv": study.to_frame().to_csv(index=False),
    }


def calibration_page(study: CalibrationStudy, *, title: str) -> str:
    """One self-contained page: the answer, the figure, the table, what it says and does not say, settings."""
    return render_page(
        "calibration.html",
        title=title,
        study=study,
        sentence=sentence(study),
        judgement=judgement(study),
        rates=study.rates(),
        all_signals=ALL,
        caveats=list(caveats(study)),
        fdr_svg=to_svg(fdr_figure(study)),
        power_svg=to_svg(power_figure(study)),
    )
