"""Reads a game from a page in the browser."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect

from solitaire_env.env import SolitaireEnv
from solitaire_env.variants import Variant

READ = """() => Object.fromEntries([...document.querySelectorAll("#board [data-pile]")].map((pile) => [
  pile.dataset.pile,
  pile.dataset.pile === "stock"
    ? Array(Number(pile.querySelector(".number").textContent)).fill("??")
    : [...pile.querySelectorAll(".card")].map((card) => card.dataset.card),
]))"""


def drawn(page: Page, variant: Variant) -> str:
    """The position text of the board on a page."""
    piles: dict[str, list[str]] = page.evaluate(READ)
    lines = [f"variant: {variant.name}"]
    if variant.stock:
        lines += [" ".join([f"{name}:", *piles[name]]) for name in ("stock", "waste")]
    tops = [piles[f"f{number}"] for number in range(1, variant.foundations + 1)]
    words = []
    for number, top in enumerate(tops):
        if number % variant.decks == 0:
            words.append("CDHS"[number // variant.decks])
        assert not top or top[0][1] == words[-1] or top[0][1] in words
        words.append(str("A23456789TJQK".index(top[0][0]) + 1 if top else 0))
    lines.append(" ".join(["foundations:", *words]))
    if variant.cells:
        lines.append(
            " ".join(["cells:", *("".join(piles[f"c{n}"]) or "--" for n in range(1, variant.cells + 1))])
        )
    lines += [" ".join([f"t{n}:", *piles[f"t{n}"]]) for n in range(1, variant.piles + 1)]
    return "\n".join(lines)


def hidden(position: str, variant: Variant) -> str:
    env = SolitaireEnv(variant)
    env.reset(options={"position": position})
    return env.position(hidden=True)


def pile(page: Page, name: str) -> Any:
    return page.locator(f'#board [data-pile="{name}"]')


def top(page: Page, name: str) -> Any:
    return pile(page, name).locator(".card, .base").last


def moves(page: Page, number: int) -> None:
    """Wait until the page shows the position after this number of moves."""
    expect(page.locator("#board")).to_have_attribute("data-moves", str(number))
