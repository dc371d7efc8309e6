"""The board in a browser: positions as JSON, and the sources of the pages.

A board is an object of piles by name, each a text of card names, bottom first::

    {"stock": 64, "waste": "3H KS", "f1": "3C", "f2": "-C", "c1": "TD", "c2": "", "t1": "4C TD 9S", "t2": ""}

The stock is a number, so that its order stays hidden. Foundations tell their top card, ``-C`` where empty.
"""

from importlib.resources import files

from solitaire_env.core.cards import EMPTY, RANK_NAMES, SUIT_NAMES, card_name, rank_of, suit_of
from solitaire_env.notation import Move, Position

Board = dict[str, int | str]


def board(position: Position) -> Board:
    """The piles of a position, as the module describes them."""
    piles: Board = {}
    if position.variant.stock:
        piles["stock"] = len(position.stock)
        piles["waste"] = " ".join(map(card_name, position.waste))
    tops = [(suit, top) for suit, of_suit in enumerate(position.foundations) for top in of_suit]
    for number, (suit, top) in enumerate(tops, 1):
        piles[f"f{number}"] = (RANK_NAMES[top - 1] if top else "-") + SUIT_NAMES[suit]
    for number, card in enumerate(position.cells, 1):
        piles[f"c{number}"] = "" if card == EMPTY else card_name(card)
    for number, pile in enumerate(position.tableau, 1):
        piles[f"t{number}"] = " ".join(map(card_name, pile))
    return piles


def targets(position: Position, move: Move) -> list[str]:
    """Names of the piles that a legal move may be said to go to: spaces are alike, and so are empty cells.

    The one that receives the cards stands first.
    """
    if move.target == "foundations":
        rank, suit = rank_of(move.cards[0]), suit_of(move.cards[0])
        first = suit * position.variant.decks + 1
        return [f"f{first + n}" for n, top in enumerate(position.foundations[suit]) if top == rank - 1]
    if move.target[0] == "c":
        return [f"c{number}" for number, card in enumerate(position.cells, 1) if card == EMPTY]
    if move.target[0] == "t" and not position.tableau[int(move.target[1:]) - 1]:
        return [f"t{number}" for number, pile in enumerate(position.tableau, 1) if not pile]
    return [move.target]


def source(name: str) -> str:
    """The text of a page's source file."""
    return (files(__name__) / name).read_text(encoding="utf-8")
