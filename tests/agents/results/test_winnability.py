"""The picture and the table of how many deals can be won follow from the stored solver results."""

import re
from xml.etree import ElementTree

from agents.results.pages import PAPER, SEARCH_PAGE, WINNABILITY_PAGE, WINNABILITY_PICTURE, stored_pages
from agents.results.solver_results import SolverResult, solver_results
from agents.results.winnability import (
    COLORS,
    PUBLISHED,
    WIDTH,
    counted,
    winnability_picture,
    winnability_table,
)
from solitaire_env.search.solver import Status
from solitaire_env.variants import get_variant


def row(deal: int | str, status: Status) -> SolverResult:
    return SolverResult("Solitaire/Yukon-v0", "x", deal, status, 9, 90 if status == "won" else None, 5, 0.5)


def results(won: int, lost: int, still_open: int) -> dict[int | str, SolverResult]:
    statuses: list[Status] = ["won"] * won + ["unwinnable"] * lost + ["open"] * still_open
    return {deal: row(deal, status) for deal, status in enumerate(statuses)}


def widths(picture: str, color: str) -> list[float]:
    """The widths of the bars of a color, without the legend."""
    rects = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}rect")
    return [float(rect.attrib["width"]) for rect in rects if rect.get("fill") == color][1:]


def test_a_bar_has_the_shares_of_the_results() -> None:
    picture = winnability_picture(counted({"yukon": results(5, 2, 3), "freecell": results(4, 0, 0)}))
    assert widths(picture, COLORS["won"]) == [WIDTH, 0.5 * WIDTH]
    assert widths(picture, COLORS["proven lost"]) == [0.2 * WIDTH]
    assert widths(picture, COLORS["open"]) == [0.3 * WIDTH]
    assert picture.index("FreeCell") < picture.index("Yukon")


def test_open_deals_widen_the_interval_of_what_can_be_won() -> None:
    [yukon] = counted({"yukon": results(50, 20, 30)})
    low, high = yukon.can_be_won
    assert 0.4 < low < 0.5 and 0.8 < high < 0.9
    assert "| Yukon | 100 | 50.0 % [40.4, 59.6] | 20.0 % | 30.0 % | [40.4, 86.7] | - | 0.5 |" in (
        winnability_table([yukon])
    )


def test_only_standard_deals_and_games_with_results_are_counted() -> None:
    others = {deal: row(deal, "won") for deal in (2_000_000, "ms:7")}
    assert counted({"yukon": others, "streets": {}}) == []
    [yukon] = counted({"yukon": {**others, **results(1, 0, 0)}})
    assert yukon.deals == 1


def test_published_shares_lie_in_our_intervals() -> None:
    found = {one.name: one.can_be_won for one in counted(solver_results())}
    for game, share in PUBLISHED.items():
        low, high = found[get_variant(game).name]
        assert low <= share / 100 <= high, game


def test_the_page_and_the_picture_are_those_of_the_stored_results() -> None:
    written = stored_pages()
    for path in (PAPER, WINNABILITY_PAGE, WINNABILITY_PICTURE, SEARCH_PAGE):
        assert path.read_text(encoding="utf-8") == written[path], "run: python -m agents leaderboard write"
    bars = len(re.findall('text-anchor="end"', written[WINNABILITY_PICTURE]))
    assert bars == len(counted(solver_results())) >= 11
