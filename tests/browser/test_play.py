"""The page to play in Chromium: its messages, undo and redo, what it stores, help from policies."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from solitaire_env.play.page_data import rules_text
from solitaire_env.variants import get_variant, known_variants
from tests.browser.conftest import OpenPage
from tests.browser.playing import choose_targets
from tests.browser.reading import drawn, moves, pile, ready, top
from tests.recorded import recorded_game

pytestmark = pytest.mark.external


def says(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.locator("#status")).to_have_text(text)


# ------------------------------------------------------------------------------- what it says


def test_refused_requests_show_the_reason(home: str, open_page: OpenPage) -> None:
    page = open_page(f"{home}?game=nonsense&deal=7", refused=True)
    expect(page.locator("#status.error")).to_contain_text("There is no game 'nonsense'.")
    expect(page.locator("h1")).to_have_text("Solitaire")
    expect(page.locator("#board .card")).to_have_count(0)
    page.goto(f"{home}?game=busy-aces&deal=x")
    expect(page.locator("#status.error")).to_contain_text("unknown deal 'x', allowed: a whole number")
    expect(page.locator("#board .card")).to_have_count(0)
    page.locator("#open-new").click()
    expect(page.locator("#deal-help")).to_contain_text("random")
    page.locator("#deal").fill("y")
    page.locator("#deal").press("Enter")
    expect(page.locator("#new-error")).to_contain_text("unknown deal 'y'")
    page.locator("#deal").fill("random")
    page.locator("#deal").press("Enter")
    expect(page.locator("#new-game")).to_be_hidden()
    expect(page.locator("h1")).to_contain_text("Klondike, deal ")
    expect(page.locator("#status.error")).to_have_count(0)


def test_a_server_that_does_not_answer_is_reported(home: str, open_page: OpenPage) -> None:
    """The game goes on: only what the server alone can do fails."""
    page = ready(open_page(f"{home}?game=busy-aces&deal=7", refused=True))
    page.route("**/api/**", lambda route: route.abort())
    # A request that is under way while the service worker starts may pass by the route.
    assert any(page.evaluate("fetch('/api/hint').then(() => false, () => true)") for _ in range(20))
    page.locator("#policy").select_option(label="first")
    page.locator("#one").click()
    expect(page.locator("#status.error")).to_contain_text("The server does not answer.")
    page.keyboard.press("d")
    moves(page, 1)
    says(page, "Draw a card from the stock.")
    page.unroute("**/api/**")
    page.locator("#one").click()
    moves(page, 2)


def test_dragged_cards_return_if_they_are_not_dropped_on_a_target(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=132"))
    before = drawn(page)
    choose_targets(page)
    top(page, "t4").click()
    expect(pile(page, "t3")).to_have_class(re.compile("target"))
    assert "can go here" in (top(page, "t3").get_attribute("aria-label") or "")
    page.keyboard.press("Escape")
    expect(page.locator(".target")).to_have_count(0)
    says(page, "")
    box = top(page, "t4").bounding_box()
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()
    goal = top(page, "t3").bounding_box()
    page.mouse.move(goal["x"] + 9, goal["y"] + 9, steps=3)
    expect(pile(page, "t3")).to_have_class(re.compile("over"))
    style = """(card) => {
        const { fontFamily, fontSize, color } = getComputedStyle(card.querySelector(".corner"));
        const { width, height } = card.getBoundingClientRect();
        return [fontFamily, fontSize, color, Math.round(width), Math.round(height)];
    }"""
    held, own = page.locator(".dragged .card"), top(page, "t4")
    assert held.evaluate(style) == own.evaluate(style)
    page.mouse.move(5, 5, steps=3)
    page.keyboard.press("Escape")
    expect(page.locator(".dragged, .target, .picked, .over")).to_have_count(0)
    page.mouse.move(9, 9)
    page.mouse.up()
    top(page, "t4").hover()
    page.mouse.down()
    page.mouse.move(5, 5, steps=3)
    page.mouse.up()
    expect(page.locator(".dragged, .target, .picked, .over")).to_have_count(0)
    says(page, "The cards cannot go there.")
    assert drawn(page) == before
    moves(page, 0)
    ready(page).locator("#hint").click()
    says(page, re.compile("neural network: "))


# ------------------------------------------------------------------------ undo, redo, and keeping


def test_undo_redo_restart_and_the_list_of_moves(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=busy-aces&deal=7"))
    start = drawn(page)
    # No key needs the focus on the board; in a form keys are text.
    for number in (1, 2, 3):
        page.keyboard.press("d")
        moves(page, number)
    page.locator("#open-new").click()
    page.locator("#deal").press("u")
    page.keyboard.press("Escape")
    moves(page, 3)
    after = drawn(page)
    for key, number in (("u", 2), ("Control+z", 1), ("Control+y", 2), ("r", 3), ("Control+z", 2)):
        page.keyboard.press(key)
        moves(page, number)
    rows = page.locator("#line button")
    expect(rows).to_have_text([f"{k}draw a card from the stock" for k in (1, 2, 3)])
    expect(page.locator("#line [aria-current]")).to_have_text("2draw a card from the stock")
    rows.nth(2).click()
    moves(page, 3)
    rows.nth(2).press("ArrowUp")
    moves(page, 2)
    rows.nth(2).click()
    moves(page, 3)
    assert drawn(page) == after
    page.locator("#restart").click()
    moves(page, 0)
    assert drawn(page) == start
    rows.nth(2).click()
    moves(page, 3)
    # Another move clears the moves that could be redone.
    page.keyboard.press("u")
    moves(page, 2)
    page.locator("#board .card.playable").last.dblclick()
    page.locator("#policy").select_option(label="simple rules")
    page.locator("#one").click()
    expect(page.locator("#redo")).to_be_disabled()


def test_a_game_survives_a_reload_and_is_shared_by_link(home: str, open_page: OpenPage, browser: Any) -> None:
    page = ready(open_page(f"{home}?game=busy-aces&deal=7", refused=True))
    for number in (1, 2, 3):
        page.keyboard.press("d")
        moves(page, number)
    page.keyboard.press("u")
    moves(page, 2)
    board = drawn(page)
    page.reload()
    moves(page, 2)
    says(page, "Continued at move 2. Restart returns to the start.")
    assert drawn(page) == board
    ready(page).keyboard.press("r")
    moves(page, 3)
    page.goto(home)
    moves(page, 3)
    expect(page.locator("#line button")).to_have_count(3)
    page.keyboard.press("u")
    moves(page, 2)
    says(page, "Draw a card from the stock.")
    page.evaluate("() => { navigator.clipboard.writeText = (text) => Promise.reject() }")
    page.locator("#share").click()
    link = f"{home}?game=busy-aces&deal=7#moves=draw,draw"
    says(page, f"The link to this position: {link}")
    other = open_page(link)
    moves(other, 2)
    assert drawn(other) == board
    wrong = open_page(f"{home}?game=busy-aces&deal=7#moves=draw,t1>f", refused=True)
    expect(wrong.locator("#status.error")).to_contain_text("move 2 of the link, 't1>f': ")


def test_games_are_chosen_and_shared(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=ms:11982&moves=one+card"))
    expect(page.locator("h1")).to_have_text("Eights Down, deal ms:11982")
    expect(page.locator("#about")).to_contain_text("one card")
    page.locator("#open-new").click()
    page.locator("#game [value=busy-aces]").check()
    page.locator("summary").click()
    page.locator("#moves").select_option("supermove")
    page.locator("#deal").fill("9223372036854775807")
    page.locator("#deal").press("Enter")
    expect(page.locator("h1")).to_have_text("Busy Aces, deal 9223372036854775807")
    shared = page.url
    assert shared == f"{home}?game=busy-aces&deal=9223372036854775807&moves=supermove"
    board = drawn(page)
    page.locator("#open-new").click()
    page.locator("#random").click()
    expect(page.locator("h1")).not_to_contain_text("9223372036854775807")
    page.goto(shared)
    expect(page.locator("h1")).to_have_text("Busy Aces, deal 9223372036854775807")
    assert drawn(page) == board


# ------------------------------------------------------------------------------------ policies


def test_policies_give_hints_and_play_moves(home: str, open_page: OpenPage) -> None:
    page = open_page(f"{home}?game=eights-down&deal=132")
    names = page.locator("#policy option")
    own = ["weighted rules", "simple rules", "neural network", "search for a win"]
    expect(names).to_have_text([*own, "first", "whim"])
    page.locator("#policy").select_option(label="first")
    page.keyboard.press("h")
    expect(page.locator("#advice")).to_contain_text("first: ")
    expect(page.locator("#evaluation")).to_have_text("Position: 6 %")
    expect(page.locator(".arrow.first")).to_have_count(1)
    expect(page.locator(".chance")).to_have_count(4)
    assert re.search("home, from|onto|cell", page.locator("#advice tr").first.inner_text())
    moves(page, 0)
    page.locator("#one").click()
    moves(page, 1)
    expect(page.locator(".arrows")).to_have_count(0)
    page.locator("#undo").click()
    moves(page, 0)
    page.locator("#policy").select_option(label="simple rules")
    page.locator("#speed").select_option("20")
    page.locator("#on").click()
    moves(page, 5)
    page.locator("#on").click()
    expect(page.locator("#status")).to_contain_text(re.compile("Stopped after [0-9]+ moves."))
    page.locator("#restart").click()
    moves(page, 0)
    page.locator("#games").fill("2")
    page.locator("#measure").click()
    # Rows are added one by one: count them at the end.
    expect(page.locator("#measure")).to_be_enabled(timeout=60_000)
    expect(page.locator("#table tbody tr")).to_have_count(5)
    expect(page.locator("#table tbody tr", has_text="simple rules")).to_contain_text("1/1always the same52.0")
    expect(page.locator("#table tbody tr").last).to_contain_text("/2")
    # A win of a policy proves that the deal can be won.
    expect(page.locator("#verdict")).to_contain_text(re.compile("This deal can be won: .* rules wins in "))
    page.locator("#estimate").click()
    expect(page.locator("#evaluation")).to_have_text("simple rules wins 1 of 1 from here")
    page.locator("#show-line").click()
    says(page, "Redo plays the winning moves.")
    expect(page.locator("#restart")).to_be_disabled()
    page.locator("#line button").last.click()
    expect(page.locator("#status")).to_contain_text("Won, in ")
    page.locator("#restart").click()
    moves(page, 0)
    # With a hint for every position no click is needed.
    page.locator("#policy").select_option(label="first")
    page.locator("#thinking").check()
    expect(page.locator(".arrow.first")).to_have_count(1)
    page.locator("#one").click()
    moves(page, 1)
    expect(page.locator(".arrow.first")).to_have_count(1)


def test_play_on_stops_when_the_policy_repeats_a_position(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=freecell&deal=7"))
    page.locator("#policy").select_option(label="first")
    page.locator("#speed").select_option("20")
    page.locator("#on").click()
    said = "Stopped: first repeats itself. The position is the same as after move [0-9]+."
    expect(page.locator("#status")).to_have_text(re.compile(said))
    expect(page.locator("#on")).to_have_text("Play on")


# ---------------------------------------------------------------------- movement, and the end


def test_reduced_motion_disables_animations(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=busy-aces&deal=7", reduced_motion="no-preference"))
    page.evaluate(
        """() => {
          const animate = Element.prototype.animate;
          Element.prototype.animate = function (frames, options) {
            window.flown = (window.flown ?? 0) + 1;
            return animate.call(this, frames, options);
          };
        }"""
    )
    page.keyboard.press("d")
    moves(page, 1)
    page.emulate_media(reduced_motion="reduce")
    page.keyboard.press("d")
    moves(page, 2)
    assert page.evaluate("() => window.flown") == 1


def test_a_win_offers_the_next_deal(home: str, open_page: OpenPage) -> None:
    """A policy plays the moves home; undo closes the panel."""
    game = recorded_game("eights-down")
    page = ready(open_page(f"{home}?game=eights-down&deal=132#moves={','.join(game.actions[:-6])}"))
    page.locator("#policy").select_option(label="simple rules")
    page.locator("#speed").select_option("20")
    page.locator("#on").click()
    expect(page.locator("#won")).to_be_visible()
    expect(page.locator("#status")).to_contain_text("Won, in ")
    expect(page.locator("#next")).to_have_text("Next deal: 133")
    page.keyboard.press("u")
    moves(page, len(game.actions) - 1)
    expect(page.locator("#won")).to_be_hidden()
    page.keyboard.press("r")
    moves(page, len(game.actions))
    expect(page.locator("#won")).to_be_hidden()
    page.locator("#next").evaluate("(button) => button.onclick()")
    expect(page.locator("h1")).to_have_text("Eights Down, deal 133")


def test_taps_move_cards_on_a_phone(home: str, open_page: OpenPage) -> None:
    page = open_page(
        f"{home}?game=eights-down&deal=132", width=375, height=760, has_touch=True, is_mobile=True
    )
    expect(page.locator("#hint")).to_be_enabled()
    box = top(page, "t7").bounding_box()
    for _ in range(2):
        page.touchscreen.tap(box["x"] + 9, box["y"] + 9)
    moves(page, 1)
    assert pile(page, "f3").locator(".card").get_attribute("data-card") == "AH"
    choose_targets(page)
    top(page, "t4").tap()
    top(page, "t3").tap()
    moves(page, 2)


# ------------------------------------------------------------------- rules, reasons, statistics


def test_games_are_found_by_search_and_kept_as_favourites(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=7"))
    page.locator("#open-new").click()
    expect(page.locator("#game input")).to_have_count(len(known_variants()))
    page.locator("#find").fill("napoleon at st helena")
    expect(page.locator("#game input")).to_have_value("forty-thieves")
    page.locator("#find").fill("thieves eig")
    expect(page.locator("#game input")).to_have_count(1)
    page.locator("#game .star").click()
    expect(page.locator("#game .group")).to_have_text(["Favourites, 1"])
    page.locator("#random").click()
    expect(page.locator("h1")).to_have_text(re.compile(r"Eighty Thieves, deal \d{1,6}$"))
    page.reload()
    page.locator("#open-new").click()
    expect(page.locator("#game .group").first).to_have_text("Favourites, 1")
    page.locator("#game [value=yukon]").check()
    page.locator("#deal").fill("7")
    page.locator("#deal").press("Enter")
    page.locator("#open-rules").click()
    expect(page.locator("#rules-text li")).to_have_text(rules_text(get_variant("yukon")))


def test_an_illegal_target_gets_the_reason_by_click_and_by_drag(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=132"))
    legal = page.evaluate(LEGAL)
    choose_targets(page)
    source = next(move.split(">")[0] for move in legal if move.replace(">c", ">f") not in legal)
    target = "f1"
    top(page, source).click()
    top(page, target).click()
    says(page, re.compile("The .* cannot go home yet. Foundations: 4, built up in suit"))
    said = page.locator("#status").inner_text()
    top(page, source).hover()
    page.mouse.down()
    top(page, target).hover(force=True)
    page.mouse.up()
    says(page, said)


LEGAL = """async () => {
    const { table } = await import(new URL("table.js", location));
    return table.game.legal.map(({ action }) => action);
}"""


def test_arrow_keys_go_to_the_board_and_own_games_are_counted(home: str, open_page: OpenPage) -> None:
    game = recorded_game("eights-down")
    link = f"{home}?game=eights-down&deal={game.deal}#moves={','.join(game.actions[:-1])}"
    page = ready(open_page(link))
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.closest('#board') !== null")
    page.locator("#finish").click()
    expect(page.locator("#status")).to_contain_text("Won, in")
    won = ["Games played1", "Won1, 100 %", "Won in a row1, at most 1", f"Fewest moves of a win{game.steps}"]
    expect(page.locator("#statistics tr")).to_have_text(won)
    page.locator("#next").click()
    page.keyboard.press("h")
    page.locator("#one").click()
    moves(page, 1)
    page.locator("#open-new").click()
    page.locator("#random").click()
    moves(page, 0)
    expect(page.locator("#statistics tr")).to_have_text(won)  # a policy helped
    page.goto(f"{home}?game=busy-aces&deal=7")
    ready(page).keyboard.press("d")
    moves(page, 1)
    page.locator("#give-up").click()
    expect(page.locator("#statistics tr").nth(1)).to_have_text("Won0, 0 %")
    expect(page.locator("#give-up")).to_be_disabled()
