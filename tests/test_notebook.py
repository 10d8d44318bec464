"""What notebooks show of a result, and its figures and report."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from grip2 import KnockoffSelector
from grip2.errors import Grip2Error
from grip2.knockoffs import GaussianKnockoffs
from grip2.result import SelectionResult
from grip2.statistics import LassoCoefficient

HOSTILE = [
    "<script>alert(1)</script>",
    "=1+1",
    '"></iframe><img src=x onerror=alert(1)>',
    "</td></table></style>",
    "$x_{1}$ & <b>",
    "\x1b[31mred",
    "{{ 7 * 7 }}",
    "long " * 60,
    "Größe 身長",
    "harmless",
]


class Document(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def names(self) -> set[str]:
        return {tag for tag, _ in self.elements}


def opened(html: str) -> Document:
    """The page inside the frame, as a browser builds it from ``srcdoc``; the notebook gets the frame and nothing else."""
    outside = Document(html)
    assert [tag for tag, _ in outside.elements] == ["iframe"]
    assert outside.text == ""
    attributes = outside.elements[0][1]
    assert attributes["sandbox"] == "", "no scripts, no forms, no access to the notebook"
    return Document(attributes["srcdoc"])


@pytest.fixture(scope="module")
def result() -> SelectionResult:
    """Everything is selected, under names that are anything but harmless."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 14))
    y = X[:, :10].sum(axis=1) + X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(300)
    frame = pd.DataFrame(X, columns=[*HOSTILE, *[f"noise {k}" for k in range(4)]])
    selector = KnockoffSelector(LassoCoefficient(), GaussianKnockoffs(), fdr=0.2, copies=2, random_state=0)
    found = selector.fit(frame, y).result_
    assert set(found.selected) >= set(HOSTILE)
    return found


@pytest.fixture(scope="module")
def empty(result) -> SelectionResult:
    return result.at(0.001)


def test_a_notebook_shows_the_answer_and_a_table(result):
    page = opened(result._repr_html_())
    count = len(result.selected)
    assert f"{count} of 14 features are selected at a false discovery rate of 0.2." in page.text
    assert "harmless" in page.text
    assert "increasing" in page.text
    assert '.report("report.html")' in page.text
    assert [tag for tag, _ in page.elements].count("tr") == 1 + count
    assert result.reason in page.text


def test_names_are_text_and_never_markup(result):
    page = opened(result._repr_html_())
    assert page.names() <= {
        "html", "head", "meta", "title", "style", "body", "p", "b", "div", "table", "thead", "tbody", "tr", "th", "td", "code"
    }  # fmt: skip
    for name in HOSTILE:
        if name.isprintable() and len(name) <= 60:
            assert name in page.text
    assert "\x1b" not in page.text
    assert "long " * 60 not in page.text, "shortened"
    assert "49" not in page.text
    policy = next(each["content"] for tag, each in page.elements if tag == "meta" and "http-equiv" in each)
    assert policy.startswith("default-src 'none'")


def test_an_empty_selection_has_a_reason_instead_of_a_table(empty):
    page = opened(empty._repr_html_())
    assert "None of 14 features are selected" in page.text
    assert "table" not in page.names()
    assert empty.reason in page.text


def test_many_selected_features_are_cut(result):
    W = np.linspace(1, 2, 60)
    many = replace(
        result, feature_names=tuple(f"f{j}" for j in range(60)), W=W, q_values=np.full(60, 0.01),
        selected_mask=np.ones(60, bool), original=W, knockoff=0 * W, effects=None, frequency=np.full(60, 0.75),
        e_values=W,
    )  # fmt: skip
    page = opened(many._repr_html_())
    assert "and 45 more" in page.text
    assert "75 %" in page.text
    assert ".plot_effects()" not in page.text
    one = replace(many, selected_mask=np.arange(60) == 3)
    assert "1 of 60 features is selected" in opened(one._repr_html_()).text


def test_text_of_a_result_is_short(result, empty):
    assert repr(empty).startswith("<SelectionResult: 0 of 14 features selected at fdr 0.001. With 2 knockoff copies")
    assert repr(result).startswith(f"<SelectionResult: {len(result.selected)} of 14 features selected at fdr 0.2: ")
    assert "\x1b" not in repr(result)
    assert len(repr(result)) < 700


def test_figures_are_shown_without_pyplot(result):
    figure = result.plot()
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")
    levels = {line.get_ydata()[0] for line in figure.axes[0].get_lines()}
    assert {result.threshold, -result.threshold} <= levels
    bars = [patch.get_height() for patch in figure.axes[0].patches]
    np.testing.assert_allclose(sorted(bars), np.sort(result.W[result.W != 0]))


def test_effects_are_one_figure(result):
    figure = result.plot_effects()
    assert isinstance(figure, Figure)
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert {title.partition("\n")[0] for title in titles} >= {"=1+1", "harmless", "<script>alert(1)</script>"}
    assert any(title.startswith("=1+1\nincreasing") for title in titles)
    assert any(title.startswith("=1+1\nwith <script>alert(1)</script>") for title in titles)
    assert figure._repr_png_().startswith(b"\x89PNG")
    pair = result.plot_effects([HOSTILE[0]])
    curve = result.effects[HOSTILE[0]].curves[0]
    line = pair.axes[0].get_lines()[-1]
    np.testing.assert_allclose(line.get_ydata(), curve.mean)
    partners = result.effects[HOSTILE[0]].interactions
    assert [each.partner for each in partners] == [HOSTILE[1]]
    np.testing.assert_allclose(np.asarray(pair.axes[1].images[0].get_array()), np.array(partners[0].surface.mean).T)
    assert len(result.plot_effects("harmless").axes) == 1


def test_effects_that_are_not_there(result, empty):
    with pytest.raises(Grip2Error, match=r"'harmles' is not among .* Did you mean 'harmless'"):
        result.plot_effects(["harmles"])
    with pytest.raises(Grip2Error, match="at least one feature"):
        result.plot_effects([])
    with pytest.raises(Grip2Error, match=r"no selected feature is described\. Nothing was selected"):
        empty.plot_effects()
    with pytest.raises(Grip2Error, match="describe=True"):
        replace(result, effects=None).plot_effects()


def test_the_report_is_written(result, tmp_path):
    path = result.report(tmp_path / "new" / "report.html", title="What <matters>?")
    text = path.read_text(encoding="utf-8")
    assert "What &lt;matters&gt;?" in text
    assert "<script>alert(1)</script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert result.at(0.05).report(str(path)) == path
    assert path.read_text(encoding="utf-8") != text
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["report.html"]
    with pytest.raises(Grip2Error, match=r"is a folder; give a file in it, such as .*report.html"):
        result.report(tmp_path)
    (tmp_path / "file").write_text("here")
    with pytest.raises(Grip2Error, match="is a file"):
        result.report(tmp_path / "file" / "report.html")


def test_a_result_read_from_a_file_shows_the_same(result):
    again = SelectionResult.from_json(result.to_json())
    assert again._repr_html_() == result._repr_html_()
    assert len(again.plot_effects().axes) == len(result.plot_effects().axes)
