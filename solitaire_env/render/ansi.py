"""A position as a text board."""

from solitaire_env.cards import EMPTY, FACE_DOWN, RANK_NAMES, SUIT_SYMBOLS, is_red, rank_of, suit_of
from solitaire_env.notation import Pile, Position

_RED = "\033[31m"
_DIM = "\033[2m"
_PLAIN = "\033[0m"
WASTE_SHOWN = 8
"""So many cards of the waste are shown, the playable one last."""


def render_ansi(position: Position, last_action: str | None = None, color: bool = False) -> str:
    """The board as lines of text: stock, waste and foundations, cells, then the tableau with its playable cards lowest.

    Parameters
    ----------
    last_action
        Text of the action that led here, for the last line.
    color
        Whether to colour red suits with ANSI escapes.
    """

    def card(code: int) -> str:
        if code == EMPTY:
            return " ·"
        if code == FACE_DOWN:
            return "▒▒"
        text = RANK_NAMES[rank_of(code) - 1] + SUIT_SYMBOLS[suit_of(code)]
        return f"{_RED}{text}{_PLAIN}" if color and is_red(code) else text

    def cards(pile: Pile) -> str:
        return " ".join(map(card, pile))

    v = position.variant
    home = sum(sum(tops) for tops in position.foundations)
    lines = [f"{v.title}   {home} of {v.cards} cards home"]
    lines.append(
        "foundations  "
        + "  ".join(
            " ".join(card(4 * top + suit) if top else f" {SUIT_SYMBOLS[suit]}" for top in tops)
            for suit, tops in enumerate(position.foundations)
        )
    )
    if v.stock:
        back = "▒▒" if position.stock else " ·"
        lines.append(f"stock        {back} {len(position.stock)} cards")
        shown = position.waste[-WASTE_SHOWN:]
        more = f"{_DIM if color else ''}+{len(position.waste) - len(shown)} {_PLAIN if color else ''}"
        lines.append(f"waste        {more if len(position.waste) > len(shown) else ''}{cards(shown) or ' ·'}")
    if v.cells:
        lines.append(f"cells        {cards(position.cells)}")
    lines.append("")
    lines.append(" ".join(f"{f't{number}':>3}" for number in range(1, v.piles + 1)))
    for depth in range(max(1, *map(len, position.tableau))):
        row = (card(pile[depth]) if depth < len(pile) else (" ·" if depth == 0 else "  ") for pile in position.tableau)
        lines.append(" ".join(f" {text}" for text in row).rstrip())
    if last_action is not None:
        lines.append("")
        lines.append(f"last move: {last_action}")
    return "\n".join(lines)
