"""Positions and actions as text, both ways.

Tests, transcripts and bug reports use position text::

    variant: forty-thieves
    stock: 4C TD 9S             bottom first, the next card to be drawn last; ?? if hidden
    waste: 3H KS                bottom first, the playable card last
    foundations: C 0 0 D 1 0 H 0 0 S 0 0
    t1: 4C TD 9S 2H             bottom first, the playable card last
    ...

with ``cells: -- -- KD --`` if the variant has cells, and stock and waste only if it has a stock. A face-down
card is ``(4C)``, or ``??`` as its player sees it. ``redeals: 2`` is the number left, ``-`` for no limit, if
the variant has more than one pass; ``base: 4`` is the rank of the first card of each foundation, if the deal
decides it. A foundation is the number of its cards: from the Ace, the rank of its top card.

Each action has a unique text: ``draw``, ``redeal``, ``t3>f`` home, ``t1>c`` to a cell, ``w>t5`` onto a pile,
``c2>s`` to a space, ``t2x4>s`` four cards to a space, ``fC>t3`` from a foundation of Clubs back onto a pile.
"""

from typing import Final, NamedTuple

from solitaire_env.core.cards import EMPTY_NAME, HIDDEN_NAME, SUIT_NAMES, SUITS, card_name, parse_card
from solitaire_env.core.layout import ActionLayout, action_layout, make_rules, source_name
from solitaire_env.core.position import Pile, Position, position_faults, position_from_row, position_to_row
from solitaire_env.core.rules.moves import decode_action, worried_card
from solitaire_env.core.rules.state import State
from solitaire_env.core.variant import Variant
from solitaire_env.util.arguments import check_count, check_kind
from solitaire_env.variants import get_variant

__all__ = [
    "Move",
    "Position",
    "action_text",
    "describe_action",
    "format_position",
    "move_of",
    "parse_action",
    "parse_position",
    "pile_name",
    "position_faults",
    "position_from_row",
    "position_to_row",
    "read_position",
]

NO_LIMIT: Final = "-"
"""Replaces the number of redeals if there is no limit."""
MAX_TEXT: int = 20_000
"""Maximum length of a position text, in characters; the largest game needs a tenth of it."""


# ---------------------------------------------------------------------------------- position text


def format_position(position: Position) -> str:
    """The position text, without a trailing newline."""
    v = check_kind("position", position, Position).variant
    lines = [f"variant: {v.name}"]
    if v.stock:
        lines.append(_line("stock", position.stock))
        lines.append(_line("waste", position.waste))
    if v.passes != 1:
        lines.append(f"redeals: {position.redeals if v.passes else NO_LIMIT}")
    suits = (
        f"{SUIT_NAMES[suit]} {' '.join(map(str, tops))}" for suit, tops in enumerate(position.foundations)
    )
    lines.append(f"foundations: {' '.join(suits)}")
    if v.base == "dealt":
        lines.append(f"base: {position.base}")
    if v.cells:
        lines.append(_line("cells", position.cells))
    lines += [_line(f"t{number}", pile) for number, pile in enumerate(position.tableau, 1)]
    return "\n".join(lines)


def _line(name: str, cards: Pile) -> str:
    return " ".join([f"{name}:", *map(card_name, cards)])


def parse_position(text: str, variant: Variant | None = None) -> Position:
    """The position of a text, the inverse of :func:`format_position`.

    Parameters
    ----------
    variant
        The game; the text must be of the same one. By default the text's name decides.

    Raises
    ------
    ValueError
        The message names the line and what is allowed there.
    """
    check_kind("position", text, str, "position text")
    if variant is not None:
        check_kind("variant", variant, Variant)
    if len(text) > MAX_TEXT:
        raise ValueError(f"position text has {len(text)} characters, allowed: at most {MAX_TEXT}")
    fields: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, rest = line.partition(":")
        name = name.strip()
        if not colon:
            raise ValueError(f"position line {number} {line[:40]!r} has no colon, allowed: 'name: cards'")
        if name in fields:
            raise ValueError(f"position line {number}: {name[:40]!r} occurs twice, allowed: once")
        fields[name] = rest.split()
    named = " ".join(fields.pop("variant", []))
    if not named:
        raise ValueError("position text has no line 'variant: name', allowed: text with one")
    if variant is None:
        variant = get_variant(named)
    elif named != variant.name:
        raise ValueError(f"position text is of variant {named[:40]!r}, allowed here: {variant.name!r}")
    return _parse_fields(fields, variant)


def read_position(position: Position | str, variant: Variant) -> Position:
    """A position of a game, from a position or a text.

    Raises
    ------
    ValueError
        If it is of another game or impossible.
    """
    return position if isinstance(position, Position) else parse_position(position, variant)


def _parse_fields(fields: dict[str, list[str]], variant: Variant) -> Position:
    piles = [f"t{number}" for number in range(1, variant.piles + 1)]
    allowed = [
        *(("stock", "waste") if variant.stock else ()),
        *(("redeals",) if variant.passes != 1 else ()),
        "foundations",
        *(("base",) if variant.base == "dealt" else ()),
        *(("cells",) if variant.cells else ()),
        *piles,
    ]
    for name in fields:
        if name not in allowed:
            raise ValueError(
                f"position text has an unknown line {name[:40]!r}, allowed: {', '.join(allowed)}"
            )
    for name in allowed:
        if name not in fields:
            raise ValueError(f"position text has no line {name!r}, required: {', '.join(allowed)}")

    def number(name: str) -> int:
        word = " ".join(fields.get(name, ["0"]))
        if name == "redeals" and variant.passes == 0 and word == NO_LIMIT:
            return 0
        if not word.isascii() or not word.isdecimal() or len(word) > 3:
            raise ValueError(f"position line {name!r} is {word[:40]!r}, allowed: a whole number")
        return int(word)

    def cards(name: str, placeholder: str | None = None) -> Pile:
        codes = []
        for text in fields[name]:
            if text in (HIDDEN_NAME, EMPTY_NAME) and text != placeholder:
                raise ValueError(f"position line {name!r} has {text!r}, allowed there: cards")
            try:
                codes.append(parse_card(text))
            except ValueError as error:
                raise ValueError(f"position line {name!r}: {error}") from None
        return tuple(codes)

    cells = cards("cells", EMPTY_NAME) if variant.cells else ()
    if len(cells) != variant.cells:
        raise ValueError(
            f"position line 'cells' has {len(cells)} entries, "
            f"allowed: {variant.cells} ('--' for an empty cell)"
        )
    position = Position(
        variant=variant,
        tableau=tuple(cards(pile, HIDDEN_NAME if variant.hides_cards else None) for pile in piles),
        foundations=_parse_foundations(fields["foundations"], variant),
        cells=cells,
        waste=cards("waste") if variant.stock else (),
        stock=cards("stock", HIDDEN_NAME) if variant.stock else (),
        redeals=number("redeals"),
        base=number("base"),
    )
    faults = position_faults(position)
    if faults:
        raise ValueError(f"position is not possible: {'; '.join(faults[:3])}")
    return position


def _parse_foundations(words: list[str], variant: Variant) -> tuple[Pile, ...]:
    example = " ".join(f"{suit}{' 0' * variant.decks}" for suit in SUIT_NAMES)
    width = variant.decks + 1
    tops = []
    for suit, letter in enumerate(SUIT_NAMES):
        group = words[suit * width : (suit + 1) * width]
        if (
            group[:1] != [letter]
            or len(group) != width
            or not all(w.isascii() and w.isdecimal() and len(w) <= 2 for w in group[1:])
        ):
            break
        tops.append(tuple(sorted(map(int, group[1:]), reverse=True)))
    if len(tops) != SUITS or len(words) != SUITS * width:
        raise ValueError(
            f"position line 'foundations' is {' '.join(words)[:60]!r}, "
            f"allowed: the top rank of each foundation, 0 to {variant.ranks}, as in {example!r}"
        )
    return tuple(tops)


# ----------------------------------------------------------------------------------- action text


def action_text(variant: Variant, number: int) -> str:
    """The unique text of an action."""
    return _layout(variant).text(number)


def parse_action(variant: Variant, text: str) -> int:
    """Number of an action from its text, the inverse of :func:`action_text`."""
    return _layout(variant).parse(text)


def _layout(variant: Variant) -> ActionLayout:
    return action_layout(check_kind("variant", variant, Variant))


def _check_legal(variant: Variant, state: State, row: int, number: int) -> str:
    """Check that an action is legal in a game; return its kind."""
    kind = _layout(variant).decode(number).kind
    check_kind("state", state, State)
    check_count("row", row, 0, len(state.status) - 1)
    if state.rows.shape[1] != make_rules(variant).row_size or state.mask[row, number] == 0:
        raise ValueError(f"{action_text(variant, number)} is not legal there, allowed: a legal action")
    return kind


class Move(NamedTuple):
    """The cards that an action moves, and the piles."""

    source: str
    """``t1``.., ``waste``, ``c1``.. or ``stock``."""
    target: str
    """``t1``.., ``waste``, ``c1``.. or ``foundations``."""
    cards: Pile
    """Bottom first."""


def move_of(variant: Variant, state: State, row: int, number: int) -> Move:
    """The cards that a legal action moves, and the piles; a drawn card is named even if hidden."""
    kind = _check_legal(variant, state, row, number)
    r = make_rules(variant)
    if kind == "draw":
        end = r.row_stock + int(state.stock[row])
        drawn = state.rows[row, max(r.row_stock, end - r.draw) : end]
        return Move("stock", "waste", tuple(int(card) for card in drawn[::-1]))
    if kind == "redeal":
        turned = state.rows[row, r.row_waste : r.row_waste + int(state.waste[row])]
        return Move("waste", "stock", tuple(int(card) for card in turned[::-1]))
    source, target, count = decode_action(r, state, row, number)
    if kind == "worry":
        card = worried_card(r, state, row, source - r.sources, target)
        return Move("foundations", pile_name(variant, target), (card,))
    if count > 1:
        end = source * r.pile_capacity + int(state.heights[row, source])
        cards = tuple(int(card) for card in state.rows[row, end - count : end])
    else:
        cards = (int(state.tops[row, source]),)
    to = "foundations" if kind == "home" else pile_name(variant, target)
    return Move(pile_name(variant, source), to, cards)


def pile_name(variant: Variant, source: int) -> str:
    """Name of the pile of a source: ``t1``.., ``waste``, ``c1``.."""
    name = source_name(check_kind("variant", variant, Variant), source)
    return "waste" if name == "w" else name


def describe_action(variant: Variant, state: State, row: int, number: int) -> str:
    """A legal action in a position, in words: ``9S to 6S, 4 cards, from t2 to t7``."""
    kind = _check_legal(variant, state, row, number)
    if kind == "draw":
        return f"draw {('a card', 'two cards', 'three cards')[variant.draw - 1]} from the stock"
    if kind == "redeal":
        return "turn the waste over to the stock"
    move = move_of(variant, state, row, number)
    place = {"t": "{}", "w": "the waste", "c": "cell {}", "f": "the foundations"}[move.source[0]]
    origin = place.format(move.source if move.source[0] == "t" else move.source[1:])
    playable = card_name(move.cards[-1])
    if kind == "home":
        return f"{playable} home, from {origin}"
    if kind == "cell":
        return f"{playable} to a cell, from {origin}"
    cards = playable
    if len(move.cards) > 1:
        cards = f"{card_name(move.cards[0])} to {playable}, {len(move.cards)} cards,"
    if kind == "space":
        return f"{cards} from {origin} to the space {move.target}"
    onto = card_name(int(state.tops[row, int(move.target[1:]) - 1]))
    return f"{cards} from {origin} to {move.target}, onto {onto}"
