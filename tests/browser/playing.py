"""Moves on a page, by the mouse, by touch and by keys."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from solitaire_env.notation import Move
from tests.browser.reading import pile, top

FROM_TOP = """() => {
    const card = document.activeElement;
    const cards = [...card.closest("[data-pile]").querySelectorAll(".card")];
    return cards.length - cards.indexOf(card);
}"""


def by_click(page: Page, move: Move, target: str) -> None:
    if move.source == "stock":
        pile(page, "stock").locator(".base").click()
        return
    card = pile(page, move.source).locator(".card").nth(-len(move.cards))
    if target[0] == "f":
        card.dblclick()
        return
    # The upper edge: the visible part of a covered card.
    card.click(position={"x": 6, "y": 6})
    expect(pile(page, target)).to_have_class(re.compile("target"))
    top(page, target).click(position={"x": 6, "y": 6})


def by_touch(page: Page, move: Move, target: str) -> None:
    if move.source == "stock":
        pile(page, "stock").locator(".base").tap()
        return
    card = pile(page, move.source).locator(".card").nth(-len(move.cards))
    card.tap(position={"x": 6, "y": 6})
    expect(pile(page, target)).to_have_class(re.compile("target"))
    top(page, target).tap(position={"x": 6, "y": 6})


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
    page.keyboard.press("Enter")
    go_to(target)
    page.keyboard.press("Enter")
