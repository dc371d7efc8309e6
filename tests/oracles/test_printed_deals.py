"""``ms:`` and ``pysol:`` deals equal the boards that others have printed."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

from tests.oracles.fc_solve import need
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


# --------------------------------------------------------------------------- the two generators


def microsofts(number: int) -> Callable[[int], int]:
    """Microsoft C's ``rand()``, seeded with the deal's number: 15 bits of a linear congruential generator."""
    state = number

    def below(n: int) -> int:
        nonlocal state
        state = (state * 214013 + 2531011) % 2**31
        return (state >> 16) % n

    return below


def pythons(number: int) -> Callable[[int], int]:
    """Python's Mersenne Twister, seeded with the deal's number."""
    generator = random.Random(number)
    return lambda n: int(generator.random() * n)


def plain_deal(deal: str, decks: int) -> list[str]:
    """A deal of PySolFC's, or one of Microsoft's below 2**31, in plain Python.

    Microsoft's generator deals ``ms:`` and PySolFC's numbers to 32000, Python's the higher ones. Packs are
    ordered suit by suit, Clubs, Spades, Hearts, Diamonds; a single pack for Microsoft's generator is ordered
    rank by rank, Clubs, Diamonds, Hearts, Spades. Fisher-Yates goes from the last card down; the last card is
    dealt first.
    """
    program, number = deal.split(":")[0], int(deal.split(":")[1])
    microsoft = program == "ms" or number <= 32000
    ranks = "A23456789TJQK"
    if microsoft and decks == 1:
        pack = [rank + suit for rank in ranks for suit in "CDHS"]
    else:
        pack = [rank + suit for _ in range(decks) for suit in "CSHD" for rank in ranks]
    below = microsofts(number) if microsoft else pythons(number)
    for i in range(len(pack) - 1, 0, -1):
        j = below(i + 1)
        pack[i], pack[j] = pack[j], pack[i]
    return pack[::-1]


@pytest.mark.parametrize("printed", BOARDS, ids=str)
def test_plain_deals_equal_printed_boards(printed: Printed) -> None:
    assert is_deal_of(plain_deal(printed.deal, printed.decks), printed), printed.source


@pytest.mark.parametrize("decks", BY_DECKS)
def test_plain_deals_equal_ours_for_all_packs(decks: int) -> None:
    """We know of no printed board of four decks; the rule for one and two decks deals these too."""
    numbers = {
        "ms": (1, 617, 11982, 32000, 32001, 10**6, 2**31 - 1),
        "pysol": (1, 617, 11982, 32000, 32001, 2**31, 2**64, 10**20 - 1),
    }
    for deal in (f"{program}:{number}" for program, some in numbers.items() for number in some):
        assert dealt(deal, decks) == plain_deal(deal, decks), deal


@pytest.mark.external
def test_microsoft_deals_equal_freecell_solver() -> None:
    """Freecell Solver's generator, written in C; from 2**31 on it deals like FreeCell Pro."""
    program = need("make-microsoft-freecell-board")
    ends = (31999, 32000, 32001, 999999, 10**6, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**33 - 1)
    for number in (*range(1, 501), *ends):
        board = subprocess.run(
            [program, "-t", str(number)], capture_output=True, text=True, check=True
        ).stdout
        expected = across([line.split() for line in board.splitlines()])
        assert dealt(f"ms:{number}", 1) == expected, f"ms:{number}\n{board}"
