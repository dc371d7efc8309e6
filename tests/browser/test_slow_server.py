"""The page to play when the player is faster than a policy on the server: nothing is lost, and the
newest choice wins.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.reading import held, moves, pile, ready, top

pytestmark = pytest.mark.external

FIRST = "tests.play.policies:First"


def status(page: Page, text: str) -> None:
    expect(page.locator("#status")).to_contain_text(text)


def fill_deal(page: Page, game: str, deal: str) -> None:
    page.locator("#open-new").click()
    page.locator(f"#game [value='{game}']").check()
    page.locator("#deal").fill(deal)


def test_clicks_and_keys_wait_for_the_policy(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=busy-aces&deal=7"))
    page.locator("#policy").select_option(FIRST)
    with held(page, "**/hint") as requests:
        page.locator("#one").click()
        pile(page, "stock").locator(".base").click()
        page.keyboard.press("d")
        page.keyboard.press("u")
        page.locator("#line").evaluate(
            "list => list.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp' }))"
        )
        page.keyboard.press("r")
        requests.wait_for(1)
        moves(page, 0)
    moves(page, 2)
    expect(page.locator("#line button")).to_have_count(3)
    status(page, "Draw a card")
    # A click is ignored if another card lies on the pile when its turn comes.
    page.goto(f"{home}?game=eights-down&deal=132")
    ready(page).locator("#policy").select_option(FIRST)
    first = page.evaluate(LEGAL)[0]
    with held(page, "**/hint"):
        page.locator("#one").click()
        top(page, first["source"]).click()
    moves(page, 1)
    expect(page.locator(".picked")).to_have_count(0)


LEGAL = """async () => {
    const { table } = await import(new URL("table.js", location));
    return table.game.legal;
}"""


def test_the_hint_of_the_newest_policy_stays(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=132"))
    page.locator("#policy").select_option(FIRST)
    with held(page, "**/hint") as requests:
        page.locator("#thinking").check()
        requests.wait_for(1)
        page.locator("#policy").select_option("greedy")
        expect(page.locator("#advice")).to_contain_text("simple rules: ")
        requests.answer()
        page.evaluate("() => new Promise((done) => setTimeout(done, 50))")
    expect(page.locator(".chance")).to_have_count(0)
    expect(page.locator("#advice")).to_contain_text("simple rules: ")


def test_the_newest_deal_and_its_form_stay(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=132"))
    with held(page, "**/api/game") as requests:
        fill_deal(page, "busy-aces", "7")
        page.locator("summary").click()
        page.locator("#moves").select_option("supermove")
        page.locator("#deal").press("Enter")
        requests.wait_for(1)
        page.locator("#close-new").click()
        fill_deal(page, "yukon", "5")
        requests.answer()
        expect(page.locator("h1")).to_have_text("Busy Aces, deal 7")
    ready(page)
    page.locator("#close-new").evaluate("(button) => button.click()")
    # Two deals, whose policies are known in the other order.
    with held(page, "**/policies") as requests:
        for number, game in enumerate(("busy-aces", "freecell"), 1):
            fill_deal(page, game, "7")
            page.locator("#deal").press("Enter")
            requests.wait_for(number)
        requests.answer(1)
        expect(page.locator("#one")).to_be_enabled()
        page.locator("#policy").select_option("linear")
        requests.answer()
    expect(page.locator("#measure")).to_be_enabled()
    expect(page.locator("#policy")).to_have_value("linear")


def test_a_new_deal_ends_automatic_play(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=132"))
    page.locator("#policy").select_option(FIRST)
    with held(page, "**/hint") as requests:
        page.locator("#on").click()
        requests.wait_for(1)
        fill_deal(page, "busy-aces", "7")
        page.locator("#deal").press("Enter")
    expect(page.locator("h1")).to_have_text("Busy Aces, deal 7")
    expect(page.locator("#new-game")).to_be_hidden()
    expect(page.locator("#on")).to_have_text("Play on")
    status(page, "Your move.")
    moves(page, 0)


def test_stop_and_play_on_is_one_automatic_play(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=132"))
    page.locator("#policy").select_option(FIRST)
    page.clock.install(time=0)
    page.clock.pause_at(1)
    page.locator("#speed").select_option("1")
    for number in (1, 2, 3):
        page.locator("#on").click()
        moves(page, number)
        if number < 3:
            page.locator("#on").click()
            status(page, "Stopped after 1 move.")
    page.clock.run_for(999)
    moves(page, 3)
    with held(page, "**/hint") as requests:
        page.clock.run_for(1)
        requests.wait_for(1)
        page.clock.run_for(900)
        assert len(requests.routes) == 1
        page.locator("#on").click()
    moves(page, 4)
    status(page, "Stopped after 2 moves.")


def test_a_measurement_is_cancelled_before_its_first_game(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=busy-aces&deal=7", refused=True))
    with held(page, "**/play-out") as requests:
        page.locator("#games").fill("1")
        page.locator("#measure").click()
        requests.wait_for(1)
        expect(page.locator("#measure")).to_be_disabled()
        rows = page.locator("#table tbody tr").count()
        page.locator("#cancel").click()
        expect(page.locator("#measure")).to_be_enabled()
        expect(page.locator("#table tbody tr")).to_have_count(rows)
        expect(page.locator("#progress")).to_be_empty()
        assert len(requests.routes) == 1
        requests.routes.clear()
