"""The report in a real browser: two widths, light and dark; accessibility, keyboard, no request, no error.

Needs Chromium (Debian: ``apt-get install chromium``) and the extra ``browser``; ``make test-browser`` runs it.
"""

from __future__ import annotations

import os
import shutil
from importlib import resources

import pytest

from grip2.experiments.plan_file import parse_plan
from grip2.experiments.report import write_report
from grip2.experiments.store import Store
from grip2.report import selection_page
from tests.experiments.helpers import SMALL
from tests.experiments.test_report import fill
from tests.report import examples

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra 'browser': make test-browser")
pytest.importorskip("axe_playwright_python", reason="needs the extra 'browser': make test-browser")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium found; install it or name it in CHROMIUM")

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
WIDTHS, MODES = (420, 1400), ("light", "dark")
PAGES = ("odd names", "several draws", "nothing", "thousand", "experiment")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("pages")
    results = {
        "odd names": examples.odd_names(),
        "several draws": examples.odd_names(n_draws=3),
        "nothing": examples.nothing(),
        "thousand": examples.thousand(),
    }
    for name, result in results.items():
        text = selection_page(result, title=f"{name} {examples.SCRIPT}", changes=(examples.SCRIPT, examples.ESCAPES))
        (found / f"{name}.html").write_text(text, encoding="utf-8")
    plan = parse_plan(SMALL)
    with Store(found / "study") as store:
        fill(plan, store)
        write_report(plan, store, found / "study").rename(found / "experiment.html")
    return found


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def axe():
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def visit(browser, folder):
    """Opens a page and fails, at the end, if it has complained, asked the network, or opened a dialogue."""
    bad, contexts = [], []

    def opened(name, width=1400, mode="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=mode)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: bad.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: bad.append(str(error)))
        page.on("dialog", lambda dialog: (bad.append(f"dialogue {dialog.message}"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: bad.append(request.url) if not request.url.startswith(("file:", "data:")) else None,
        )
        page.goto((folder / f"{name}.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert bad == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_no_overflow_and_accessible(visit, axe, name, width, mode):
    page = visit(name, width, mode)
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(axe)
    # The layout of a thousand rows is the same in each of them, and axe looks at every cell.
    page.evaluate(
        "for (const body of document.querySelectorAll('tbody')) [...body.rows].slice(60).forEach(r => r.remove())"
    )
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


def test_a_page_that_overflows_would_be_noticed(visit):
    """The broken twin."""
    page = visit("nothing", 420)
    page.evaluate("document.querySelector('main').style.width = '500px'")
    assert page.evaluate("document.documentElement.scrollWidth") > 420


def test_texts_of_drawings_do_not_overlap(visit):
    page = visit("odd names", 420)
    overlaps = page.evaluate("""() => {
      const found = [];
      for (const svg of document.querySelectorAll('svg')) {
        const boxes = Array.from(svg.querySelectorAll('text'), (text) => [text.textContent, text.getBoundingClientRect()]);
        const whole = svg.getBoundingClientRect();
        for (const [words, box] of boxes)
          if (box.left < whole.left - 2 || box.right > whole.right + 2) found.push(`outside: ${words}`);
        for (let i = 0; i < boxes.length; i++) for (let k = i + 1; k < boxes.length; k++) {
          const [a, b] = [boxes[i][1], boxes[k][1]];
          const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (wide > 1 && tall > 4) found.push(`${boxes[i][0]} | ${boxes[k][0]}`);
        }
      }
      return found;
    }""")
    assert overlaps == []


def cells(page, column):
    rows = page.locator("[aria-label='Every feature'] tbody tr:not([hidden])")
    return rows.locator(f"td:nth-child({column})").all_inner_texts()


def test_tables_sort_by_keyboard(visit):
    page = visit("odd names")
    heading = page.locator("[aria-label='Every feature'] th:nth-child(3)")
    before = [float(text) for text in cells(page, 3)]
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert [float(text) for text in cells(page, 3)] == sorted(before)
    page.keyboard.press("Space")
    assert heading.get_attribute("aria-sort") == "descending"
    assert [float(text) for text in cells(page, 3)] == sorted(before, reverse=True)


def test_the_headings_are_reached_by_tab(visit):
    page = visit("nothing")
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.tagName + ' ' + document.activeElement.textContent.trim()")
        )
    assert "BUTTON q-value" in reached


def test_tables_filter(visit):
    page = visit("thousand")
    page.get_by_text("Table of every feature", exact=True).click()
    box = page.get_by_label("Filter:").first
    box.focus()
    page.keyboard.type("gene_0007")
    assert len(cells(page, 1)) == 1
    assert page.locator("[role=status]").first.inner_text() == "1 of 1000 rows"


def test_dark_is_dark(visit):
    def brightness(mode):
        colour = visit("nothing", mode=mode).evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))

    assert brightness("light") > 600
    assert brightness("dark") < 150


def test_folded_parts_are_printed(visit):
    page = visit("thousand")
    assert not page.locator("details").first.evaluate("each => each.open")
    page.pdf()
    assert page.locator("details").first.evaluate("each => each.open")
