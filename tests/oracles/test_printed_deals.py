"""``ms:`` and ``pysol:`` deals equal the boards that others have printed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

from tests.reference import ReferenceGame, ReferenceRules

BY_DECKS = {1: "EightsDown", 2: "FortyThieves", 4: "EightyThieves"}


class Printed(NamedTuple):
    """A printed board."""

    deal: str
    decks: int
    game: str
    """How the cards are laid out."""
    source: str
    """Its source."""
    lines: list[list[str]]
    """The cards line by line, with other words on the lines."""

    def __str__(self) -> str:
        return f"{self.deal} {self.game}"


def read_boards() -> list[Printed]:
    """The boards of ``printed_deals.txt``: a line of facts each, then the board."""
    boards = []
    for block in (Path(__file__).parent / "printed_deals.txt").read_text().split("\n\n"):
        head, *lines = block.strip().splitlines()
        deal, decks, game, source = head.split(", ", 3)
        # Face-down cards are in angle brackets.
        cards = [line.replace("<", "").replace(">", "").split() for line in lines]
        boards.append(Printed(deal, int(decks), game, source, cards))
    return boards


BOARDS = read_boards()
TAKES_OUT = ("black hole", "binary star")
"""Games that put cards on their foundations before they deal: these are in the first line, not in order."""


def across(piles: list[list[str]]) -> list[str]:
    """Cards that were dealt row by row, one to each pile."""
    return [card for row in zip_longest(*piles) for card in row if card]


def in_order(printed: Printed) -> list[str]:
    """The cards of a printed board in the order in which they were dealt, without those taken out."""
    lines = printed.lines
    match printed.game:
        # In the Katzenschwantz each King begins a pile.
        case "rows" | "katzenschwantz":
            return [card for line in lines for card in line]
        case "piles":
            return across(lines)
        case "eight off":
            return across(lines[1:]) + [card for card in lines[0][1:] if card != "-"]
        case "gypsy":
            return across(lines[1:]) + lines[0][1:]
        case "black hole" | "binary star":
            return across(lines[1:])
    raise ValueError(f"no such layout: {printed.game}")


def is_deal_of(cards: list[str], printed: Printed) -> bool:
    """Whether cards, in the order of the deal, are those of a printed board."""
    gone = printed.lines[0][1:] if printed.game in TAKES_OUT else []
    return in_order(printed) in ways_without(cards, gone)


def laid_out(deal: str, decks: int) -> ReferenceGame:
    """The position that our environment deals."""
    env: Any = gym.make(f"solitaire_env:Solitaire/{BY_DECKS[decks]}-v0").unwrapped
    env.reset(options={"deal": deal})
    return ReferenceGame.from_text(env.position(), ReferenceRules.of(env.variant))


def dealt(deal: str, decks: int) -> list[str]:
    """The cards of a position of ours in the order in which they were dealt."""
    game = laid_out(deal, decks)
    return [*across(game.tableau), *(card for cell in game.cells for card in cell), *game.stock[::-1]]


def ways_without(cards: list[str], gone: list[str]) -> Iterator[list[str]]:
    """The cards with one copy of each of some removed; copies are alike, so there may be several results."""
    if not gone:
        yield cards
    for place, card in enumerate(cards):
        if gone and card == gone[0]:
            yield from ways_without(cards[:place] + cards[place + 1 :], gone[1:])


@pytest.mark.parametrize("printed", BOARDS, ids=str)
def test_deals_equal_printed_boards(printed: Printed) -> None:
    cards = dealt(printed.deal, printed.decks)
    assert is_deal_of(cards, printed), (
        f"{printed.source}, in order:\n{' '.join(in_order(printed))}\ngot\n{' '.join(cards)}"
    )


def test_eight_off_equals_the_printed_board() -> None:
    """Pile by pile and cell by cell; PySolFC fills every other cell, we fill the first."""
    printed = next(printed for printed in BOARDS if printed.game == "eight off")
    cells, *piles = printed.lines
    got = laid_out(printed.deal, printed.decks)
    assert got.tableau == piles, printed.source
    assert got.cells == [[card] for card in cells[1:] if card != "-"] + [[]] * 4, printed.source
