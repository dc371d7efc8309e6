"""The pages in Chromium at every size, light and dark: the whole board is visible, and axe finds no fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from solitaire_env.play.replay_page import replay_page
from solitaire_env.transcripts import Thought
from tests.browser.conftest import SCREENSHOTS, OpenPage
from tests.browser.playing import choose_targets
from tests.browser.reading import moves
from tests.recorded import recorded_game

pytestmark = pytest.mark.external

SIZES = {"desktop": (1400, 900), "tablet": (820, 1180), "portrait": (375, 812), "landscape": (812, 375)}
PROBES = ["klondike", "yukon", "eighty-thieves", "triple-freecell"]
MEASURE = """() => {
  const box = (element) => element.getBoundingClientRect();
  const frame = document.querySelector(".board-frame");
  const clipped = [...document.querySelectorAll("#board .card:not(.down)")].filter((card) => {
    const next = card.parentElement.classList.contains("pile-waste") && card.nextElementSibling;
    const right = next && next.classList.contains("card") ? box(next).left : box(card).right;
    if (right - box(card).left < 1) return false; // all of it lies below another card
    const parts = [...card.querySelector(".corner").childNodes].map((part) => {
      const range = document.createRange();
      range.selectNode(part);
      return range.getBoundingClientRect().right;
    });
    return Math.max(...parts) > right + 0.5;
  });
  return {
    sideways: document.documentElement.scrollWidth - innerWidth,
    hidden: frame.scrollHeight - frame.clientHeight,
    below: box(frame).bottom - innerHeight,
    card: parseFloat(document.getElementById("board").style.getPropertyValue("--w")),
    wide: box(document.getElementById("board")).width / frame.clientWidth,
    clipped: clipped.map((card) => card.dataset.card),
  };
}"""


def fits(page: Page, name: str) -> Any:
    """Check that the board is completely visible and no corner of a card is cut off; return the measures."""
    # The cards are resized one frame after the window.
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found = page.evaluate(MEASURE)
    assert found["sideways"] <= 0 and found["hidden"] <= 0 and found["below"] <= 0.5, (name, found)
    assert not found["clipped"], (name, found)
    return found


@pytest.mark.parametrize("name", PROBES)
def test_the_whole_board_is_visible_at_every_size(home: str, open_page: OpenPage, name: str) -> None:
    page = open_page(f"{home}?game={name}&deal=7")
    expect(page.locator("#one")).to_be_enabled()
    if page.locator(".pile-stock").count():
        for number in range(1, 6):
            page.keyboard.press("d")
            moves(page, number)
    cards = {}
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        cards[size] = fits(page, f"{name}, {size}")
        page.screenshot(path=SCREENSHOTS / f"layout-{name}-{size}.png")
    assert cards["desktop"]["card"] >= 68, cards
    if name in ("klondike", "yukon"):
        assert min(found["card"] for found in cards.values()) >= 40, cards
        assert cards["desktop"]["card"] >= 110, cards


def test_dialogs_and_long_names_do_not_move_the_board(home: str, open_page: OpenPage) -> None:
    page = open_page(f"{home}?game=eights-down&deal=7")
    expect(page.locator("#one")).to_be_enabled()
    before = page.locator("#board").bounding_box()
    page.locator("#open-new").click()
    page.locator("summary").click()
    assert page.locator("#board").bounding_box() == before
    page.keyboard.press("Escape")
    page.evaluate("() => { document.getElementById('about').textContent = 'word '.repeat(90) }")
    page.evaluate("() => { document.getElementById('status').textContent = 'word '.repeat(90) }")
    assert page.locator("#board").bounding_box() == before


def looks_right(page: Page, name: str) -> None:
    """Check at every size, light and dark, that nothing scrolls sideways and axe finds no fault; take a
    screenshot.
    """
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide <= inner, (name, width)
            result = Axe().run(page)
            assert result.violations_count == 0, result.generate_report()
            page.screenshot(path=SCREENSHOTS / f"{name}-{size}-{scheme}.png", full_page=True)


def test_the_page_to_play_looks_right(home: str, open_page: OpenPage) -> None:
    page = open_page(f"{home}?game=forty-thieves&deal=7")
    expect(page.locator("#hint")).to_be_enabled()
    page.locator("#policy").select_option(label="first")
    for number in range(1, 13):
        page.locator("#one").click()
        moves(page, number)
    page.locator("#games").fill("1")
    page.locator("#measure").click()
    expect(page.locator("#measure")).to_be_enabled()
    expect(page.locator("#table tbody tr")).to_have_count(5)
    page.locator("#labels").check()
    page.locator("#four").check()
    page.locator("#hint").click()
    expect(page.locator(".arrows")).to_be_visible()
    choose_targets(page)
    page.locator("#board .card.playable").last.click(position={"x": 5, "y": 5})
    expect(page.locator(".picked").first).to_be_visible()
    looks_right(page, "play")
    page.locator("#open-new").click()
    page.locator("summary").click()
    page.emulate_media(color_scheme="light")
    result = Axe().run(page)
    assert result.violations_count == 0, result.generate_report()


def test_the_replay_page_looks_right(open_page: OpenPage, tmp_path: Path) -> None:
    game = recorded_game("forty-thieves")
    thoughts = tuple(Thought(0.4, ((text, 0.75), ("draw", 0.125))) for text in game.actions)
    file = tmp_path / "game.html"
    file.write_text(replay_page(replace(game, thoughts=thoughts)), encoding="utf-8")
    page = open_page(file.as_uri())
    page.locator("#slider").fill(str(len(game.actions) * 3 // 5))
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        fits(page, size)
    page.locator(".pile-waste .number").click()
    looks_right(page, "replay")
