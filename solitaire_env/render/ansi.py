"""A position as a text board, at most 80 columns wide for up to 20 tableau piles."""

import sys

from solitaire_env.core.cards import (
    DOWN,
    EMPTY,
    FACE_DOWN,
    RANK_NAMES,
    SUIT_NAMES,
    SUIT_SYMBOLS,
    is_red,
    rank_of,
    suit_of,
)
from solitaire_env.core.position import Pile, Position
from solitaire_env.notation import Move
from solitaire_env.render.board import headline, moved_cards, redeals_left
from solitaire_env.util.arguments import check_kind

WASTE_SHOWN = 12
"""Number of cards of the waste that are shown, the playable one last; ``+40`` counts the cards before
them."""

_WIDTH = 4
"""Columns of a card with the gap before it; a pile's name is above its cards."""
_RED, _BOLD, _DIM, _REVERSE, _PLAIN = "\033[31m", "\033[1m", "\033[2m", "\033[7m", "\033[0m"


def _prints(text: str) -> bool:
    """Whether standard output can print a text; text in memory, or no output at all, takes any."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def render_ansi(
    position: Position,
    last_action: str | None = None,
    color: bool = False,
    symbols: bool | None = None,
    move: Move | None = None,
) -> str:
    """The board as lines of text: foundations, stock and waste, cells, tableau, playable cards lowest.

    A face-down card is a back, or ``(4C`` if it is known; ``7DH`` on a foundation is one of two Sevens.

    Parameters
    ----------
    last_action
        The last action, in words or as action text, for the last line.
    color
        Red suits in red, playable cards in bold and labels dimmed, by ANSI escapes; the cards of the last
        move in reverse.
    symbols
        Suits as ``♣♦♥♠``; else as ``CDHS``, and everything in ASCII. None: as standard output can print it.
    move
        The last move: each of its cards has a ``*`` before it.
    """
    v = check_kind("position", position, Position).variant
    symbols = _prints(f"{SUIT_SYMBOLS}▒·") if symbols is None else symbols
    suits, back, nothing = (SUIT_SYMBOLS, "▒▒", "·") if symbols else (SUIT_NAMES, "??", ".")
    moved = moved_cards(position, move)

    def put(text: str, *styles: str) -> str:
        """Text right-aligned in a card's columns."""
        painted = f"{''.join(styles)}{text}{_PLAIN}" if color and any(styles) else text
        return " " * (_WIDTH - len(text)) + painted

    def card(code: int, place: tuple[str, int], playable: bool = True, other: str = "") -> str:
        if code == EMPTY:
            return put(nothing, _DIM)
        if code == FACE_DOWN:
            return put(back)
        if code & DOWN:
            return put(f"({RANK_NAMES[rank_of(code & ~DOWN) - 1]}{suits[suit_of(code)]}", _DIM)
        text = RANK_NAMES[rank_of(code) - 1] + suits[suit_of(code)] + other
        styles = (_BOLD if playable else "", _RED if is_red(code) else "")
        return put(f"*{text}", *styles, _REVERSE) if place in moved else put(text, *styles)

    def foundation(number: int, cards: Pile) -> str:
        if not cards:
            return put(suits[number // v.decks], _DIM)
        other = "".join(suits[suit_of(code)] for code in cards[1:])
        return card(cards[0], ("foundations", number), playable=False, other=other)

    def labels(letter: str, count: int) -> str:
        return "".join(put(f"{letter}{number}", _DIM) for number in range(1, count + 1))

    def at(pile: Pile, name: str, depth: int) -> str:
        code = pile[depth] if depth < len(pile) else EMPTY
        return card(code, (name, depth), depth == len(pile) - 1) if code or not depth else " " * _WIDTH

    lines = [headline(position), ""]
    lines.append("foundations  " + "".join(map(foundation, range(v.foundations), position.home_tops())))
    if v.stock:
        left = filter(None, [f"{len(position.stock)} left" * bool(position.stock), redeals_left(position)])
        stock = "stock        " + card(FACE_DOWN if position.stock else EMPTY, ("stock", 0))
        lines.append("  ".join([stock, ", ".join(left)]).rstrip())
        before = max(0, len(position.waste) - WASTE_SHOWN)
        cards = [at(position.waste, "waste", depth) for depth in range(before, max(1, len(position.waste)))]
        lines.append("waste        " + (put(f"+{before}", _DIM) if before else "") + "".join(cards))
    if v.cells:
        cells = (card(code, (f"c{number}", 0)) for number, code in enumerate(position.cells, 1))
        lines += ["", labels("c", v.cells), "".join(cells)]
    lines += ["", labels("t", v.piles)]
    for depth in range(max(1, *map(len, position.tableau))):
        lines.append("".join(at(pile, f"t{n}", depth) for n, pile in enumerate(position.tableau, 1)).rstrip())
    return "\n".join(lines if last_action is None else [*lines, "", f"last move: {last_action}"])
