"""Plans of any size: every combination once, and what does not change the meaning does not change the keys."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from grip2.experiments.plan import Plan
from grip2.experiments.plan_file import parse_plan

FEW = settings(max_examples=25, deadline=None, derandomize=True)


def several(values):
    return st.lists(values, min_size=1, max_size=3, unique=True)


@st.composite
def plans(draw) -> dict[str, dict[str, object]]:
    data = {
        "n": draw(several(st.integers(30, 90))),
        "p": draw(several(st.integers(5, 20))),
        "rho": draw(several(st.sampled_from([0.0, 0.3, 0.5, 0.9]))),
        "copies": draw(several(st.integers(1, 3))),
    }
    top = {"name": '"generated"', "seed": draw(st.integers(0, 9)), "trials": draw(st.integers(1, 5)), "fdr": [0.1, 0.2]}
    return {"top": top, "data": {"source": '"synthetic"', **data}}


def text_of(plan: dict[str, dict[str, object]], order=lambda items: items, comment: str = "") -> str:
    def lines(table: dict[str, object]) -> list[str]:
        return [f"{name} = {value}{comment}" for name, value in order(list(table.items()))]

    methods = ["[[method]]", 'name = "lcd"', "[[method]]", 'name = "lapa"', "ensemble = [1, 2]"]
    return "\n".join([*lines(plan["top"]), "[[data]]", *lines(plan["data"]), *methods]) + "\n"


def keys(plan: Plan) -> set[tuple[str, str, int, int]]:
    return {(cell.configuration, cell.method.name, cell.method.ensemble, cell.trials) for cell in plan.cells()}


@given(plans())
@FEW
def test_every_combination_once(plan):
    parsed = parse_plan(text_of(plan))
    data = plan["data"]
    count = len(data["n"]) * len(data["p"]) * len(data["rho"]) * len(data["copies"])
    assert len(parsed.designs) == count
    assert len({design.key for design in parsed.designs}) == count
    assert len(keys(parsed)) == len(list(parsed.cells())) == 3 * count


@given(plans())
@FEW
def test_order_comments_and_blanks_mean_nothing(plan):
    expected = keys(parse_plan(text_of(plan)))
    assert keys(parse_plan(text_of(plan, order=lambda items: items[::-1]))) == expected
    assert keys(parse_plan(text_of(plan, comment="   # a word"))) == expected
    assert keys(parse_plan(text_of(plan).replace("\n", "\n\n"))) == expected
    assert keys(parse_plan(text_of(plan).replace("\n", "\r\n"))) == expected
