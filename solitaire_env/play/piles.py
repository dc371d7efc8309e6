"""The board in a browser: positions as JSON, and the sources of the pages.

A board is an object of piles by name, each a text of card names, bottom first::

    {"stock": 64, "waste": "3H KS", "f1": "3C", "f2": "-C", "c1": "TD", "c2": "", "t1": "4C TD 9S", "t2": ""}

The stock is a number, so that its order stays hidden. A face-down card is ``??``, or ``(4C)`` if it is known.
A foundation is its top card: ``-C`` if it is empty, ``4CS`` if the card may be of either suit. ``redeals`` is
the number of redeals left, ``-`` for no limit, in games with more than one pass.
"""

from pathlib import Path
from typing import Any, Final

from solitaire_env.core.cards import EMPTY, SUIT_NAMES, card_name, suit_of
from solitaire_env.notation import NO_LIMIT, Move, Position

Board = dict[str, int | str]


def board(position: Position) -> Board:
    """The board of a position; see the module for the format."""
    variant = position.variant
    piles: Board = {}
    if variant.stock:
        piles["stock"] = len(position.stock)
        piles["waste"] = " ".join(map(card_name, position.waste))
    if variant.passes != 1:
        piles["redeals"] = position.redeals if variant.passes else NO_LIMIT
    for number, cards in enumerate(position.home_tops()):
        empty = f"-{SUIT_NAMES[number // variant.decks]}"
        others = "".join(SUIT_NAMES[suit_of(card)] for card in cards[1:])
        piles[f"f{number + 1}"] = card_name(cards[0]) + others if cards else empty
    for number, card in enumerate(position.cells, 1):
        piles[f"c{number}"] = "" if card == EMPTY else card_name(card)
    for number, pile in enumerate(position.tableau, 1):
        piles[f"t{number}"] = " ".join(map(card_name, pile))
    return piles


def targets(position: Position, move: Move) -> list[str]:
    """The piles that are targets of a legal move: spaces are alike, and so are empty cells.

    The pile that receives the cards comes first.
    """
    if move.target == "foundations":
        return [f"f{n}" for n, cards in enumerate(position.home_takes(), 1) if move.cards[0] in cards]
    if move.target[0] == "c":
        return [f"c{number}" for number, card in enumerate(position.cells, 1) if card == EMPTY]
    if move.target[0] == "t" and not position.tableau[int(move.target[1:]) - 1]:
        return [f"t{number}" for number, pile in enumerate(position.tableau, 1) if not pile]
    return [move.target]


def start_of(position: Position, move: Move) -> str:
    """The pile that a player clicks, or drags from, for a legal move; foundations with the same top card are
    alike.
    """
    if move.target == "stock":
        return "stock"
    if move.source == "foundations":
        tops = position.home_tops()
        return next(f"f{n}" for n, cards in enumerate(tops, 1) if move.cards[0] in cards)
    return move.source


def places(position: Position, move: Move) -> dict[str, Any]:
    """The start of a legal move, its possible targets, and the number of cards."""
    return {"source": start_of(position, move), "targets": targets(position, move), "count": len(move.cards)}


WEB_FOLDER: Final = Path(__file__).with_name("web")
"""The sources of the pages."""


def source(name: str) -> str:
    """The text of a source file of the pages."""
    return (WEB_FOLDER / name).read_text(encoding="utf-8")
