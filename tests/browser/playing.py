"""Moves on a page, by the mouse, by touch and by keys."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from solitaire_env.notation import Move
from tests.browser.reading import pile, top

FROM_TOP = """() => {
    const card = document.activeElement;
    const cards = [...card.closest("[data-pile]").querySelectorAll(".card")];
    return cards.length - cards.indexOf(card);
}"""


def choose_targets(page: Page) -> None:
    """Let clicks pick up cards, so that a second click chooses the target."""
    page.locator("#taps").uncheck()


def by_click(page: Page, move: Move, target: str) -> None:
    if target[0] == "f" and move.source != "stock":
        pile(page, move.source).locator(".card").last.dblclick()
        return
    press(page, move, target, Locator.click)


def by_touch(page: Page, move: Move, target: str) -> None:
    press(page, move, target, Locator.tap)


def press(page: Page, move: Move, target: str, how: Callable[..., None]) -> None:
    """Press the cards, then their target."""
    if move.source == "stock":
        how(pile(page, "stock").locator(".base"))
        return
    # The upper edge: the visible part of a covered card.
    how(pile(page, move.source).locator(".card").nth(-len(move.cards)), position={"x": 6, "y": 6})
    expect(pile(page, target)).to_have_class(re.compile("target"))
    how(top(page, target), position={"x": 6, "y": 6})


def by_drag(page: Page, move: Move, target: str) -> None:
    if move.source == "stock":
        pile(page, "stock").locator(".base").click()
        return
    start = pile(page, move.source).locator(".card").nth(-len(move.cards)).bounding_box()
    end = top(page, target).bounding_box()
    page.mouse.move(start["x"] + 8, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(start["x"] + 30, start["y"] + 30)
    expect(pile(page, target)).to_have_class(re.compile("target"))
    page.mouse.move(end["x"] + 12, end["y"] + 12, steps=2)
    page.mouse.up()


def by_keys(page: Page, move: Move, target: str) -> None:
    def go_to(name: str) -> None:
        for _ in range(80):
            if page.evaluate("document.activeElement.closest('[data-pile]')?.dataset.pile") == name:
                return
            page.keyboard.press("ArrowRight")
        raise AssertionError(f"no way to {name}")

    while not page.evaluate("!!document.activeElement.closest('#board')"):
        page.keyboard.press("Tab")
    if move.source == "stock":
        page.keyboard.press("d")
        return
    go_to(move.source)
    if target[0] == "f" and len(move.source) % 2:
        page.keyboard.press("f")
        return
    # The arrow skips cards that cannot be picked up.
    for _ in range(20):
        if page.evaluate(FROM_TOP) < len(move.cards):
            page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    go_to(target)
    page.keyboard.press("Enter")
