"""A position as a text board, at most 80 columns wide for up to 20 tableau piles."""

from solitaire_env.cards import (
    EMPTY,
    FACE_DOWN,
    RANK_NAMES,
    SUIT_NAMES,
    SUIT_SYMBOLS,
    is_red,
    make_card,
    rank_of,
    suit_of,
)
from solitaire_env.notation import Pile, Position

WASTE_SHOWN = 12
"""So many cards of the waste are shown, the playable one last; ``+40`` counts those before them."""

_WIDTH = 4
"""Columns of a card with the gap before it; a pile's name stands above its cards."""
_RED, _BOLD, _DIM, _PLAIN = "\033[31m", "\033[1m", "\033[2m", "\033[0m"


def render_ansi(
    position: Position, last_action: str | None = None, color: bool = False, symbols: bool = True
) -> str:
    """The board as lines of text: foundations, stock and waste, cells, tableau, playable cards lowest.

    Parameters
    ----------
    last_action
        What was played last, in words or as action text, for the last line.
    color
        Red suits in red, playable cards in bold and labels dimmed, by ANSI escapes.
    symbols
        Suits as ``♣♦♥♠``; else as ``CDHS``, and everything in ASCII.
    """
    suits = SUIT_SYMBOLS if symbols else SUIT_NAMES
    back, nothing = ("▒▒", "·") if symbols else ("??", ".")

    def put(text: str, *styles: str) -> str:
        """Text right-aligned in a card's columns."""
        painted = f"{''.join(styles)}{text}{_PLAIN}" if color and any(styles) else text
        return " " * (_WIDTH - len(text)) + painted

    def card(code: int, playable: bool = True) -> str:
        if code == EMPTY:
            return put(nothing, _DIM)
        if code == FACE_DOWN:
            return put(back)
        styles = (_BOLD if playable else "", _RED if is_red(code) else "")
        return put(RANK_NAMES[rank_of(code) - 1] + suits[suit_of(code)], *styles)

    def foundation(suit: int, top: int) -> str:
        return card(make_card(top, suit), playable=False) if top else put(suits[suit], _DIM)

    def labels(letter: str, count: int) -> str:
        return "".join(put(f"{letter}{number}", _DIM) for number in range(1, count + 1))

    def at(pile: Pile, depth: int) -> str:
        if depth < len(pile):
            return card(pile[depth], playable=depth == len(pile) - 1)
        return " " * _WIDTH if depth else card(EMPTY)

    v = position.variant
    home = sum(sum(tops) for tops in position.foundations)
    lines = [f"{v.title}: {home} of {v.cards} cards home", ""]
    tops = (foundation(suit, top) for suit, tops in enumerate(position.foundations) for top in tops)
    lines.append("foundations  " + "".join(tops))
    if v.stock:
        left = f"  {len(position.stock)} left" if position.stock else ""
        lines.append("stock        " + card(FACE_DOWN if position.stock else EMPTY) + left)
        before, shown = position.waste[:-WASTE_SHOWN], position.waste[-WASTE_SHOWN:]
        cards = "".join(at(shown, place) for place in range(max(1, len(shown))))
        lines.append("waste        " + (put(f"+{len(before)}", _DIM) if before else "") + cards)
    if v.cells:
        lines += ["", labels("c", v.cells), "".join(map(card, position.cells))]
    lines += ["", labels("t", v.piles)]
    for depth in range(max(1, *map(len, position.tableau))):
        lines.append("".join(at(pile, depth) for pile in position.tableau).rstrip())
    if last_action is not None:
        lines += ["", f"last move: {last_action}"]
    return "\n".join(lines)
