"""Positions and actions as text, both ways.

Position text is the form of every test, every transcript and every bug report::

    variant: forty-thieves
    stock: 4C TD 9S             bottom first, the next card to be drawn last; ?? where hidden
    waste: 3H KS                bottom first, the playable card last
    foundations: C 0 0 D 1 0 H 0 0 S 0 0
    t1: 4C TD 9S 2H             bottom first, the playable card last
    ...

with ``cells: -- -- KD --`` where the variant has cells, and stock and waste only where it has a stock.

Action text is one to one with the action's number: ``draw``, ``t3>f`` home, ``t1>c`` to a cell, ``w>t5`` onto
a pile, ``c2>s`` to a space, ``t2x4>s`` four cards to a space.
"""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env import engine
from solitaire_env.cards import (
    EMPTY,
    EMPTY_NAME,
    FACE_DOWN,
    HIDDEN_NAME,
    KING,
    SUIT_NAMES,
    SUITS,
    card_name,
    make_card,
    parse_card,
)
from solitaire_env.layout import MAX_STOCK_COUNT, action_layout, make_rules
from solitaire_env.messages import shown
from solitaire_env.variants import Variant, get_variant

Pile = tuple[int, ...]

MAX_TEXT: int = 20_000
"""Longest position text that is read, in characters; the largest game needs a tenth of it."""


@dataclass(frozen=True)
class Position:
    """Where every card of a game lies, card codes bottom first."""

    variant: Variant
    tableau: tuple[Pile, ...]
    foundations: tuple[Pile, ...]
    """For each suit the top ranks of its foundations (0 when empty), fullest first."""
    cells: Pile = ()
    """EMPTY where a cell is free."""
    waste: Pile = ()
    stock: Pile = ()
    """The next card last; FACE_DOWN where hidden."""

    def hidden(self) -> "Position":
        """The position as a player sees it: every card of the stock face down."""
        return Position(
            self.variant,
            self.tableau,
            self.foundations,
            self.cells,
            self.waste,
            (FACE_DOWN,) * len(self.stock),
        )

    def _repr_html_(self) -> str:
        """The board as SVG, for a notebook."""
        from solitaire_env.render.svg import render_svg

        return render_svg(self)

    def unseen(self) -> tuple[int, ...]:
        """The cards that a player has not seen, in the order of their codes: those of the stock."""
        pack = Counter({card: self.variant.decks for card in range(4, 4 * self.variant.ranks + 4)})
        pack.subtract(_known_cards(self))
        return tuple(sorted(pack.elements()))


def _known_cards(position: Position) -> list[int]:
    cards = [card for pile in position.tableau for card in pile]
    cards += [card for card in position.cells if card != EMPTY]
    cards += [card for card in (*position.waste, *position.stock) if card != FACE_DOWN]
    for suit, tops in enumerate(position.foundations):
        cards += [make_card(rank, suit) for top in tops for rank in range(1, top + 1)]
    return cards


def position_faults(position: Position) -> list[str]:
    """What is wrong with a position, a sentence each; empty when nothing is."""
    v = position.variant
    rules = make_rules(v)
    faults = []
    for what, count, allowed in (
        ("tableau piles", len(position.tableau), v.piles),
        ("cells", len(position.cells), v.cells),
        ("foundations", sum(map(len, position.foundations)), v.foundations),
    ):
        if count != allowed:
            faults.append(f"{count} {what}, {v.name} has {allowed}")
    places: list[tuple[str, Pile, int | None]] = [
        (f"t{n}", pile, None) for n, pile in enumerate(position.tableau, 1)
    ]
    places += [
        ("waste", position.waste, None),
        ("stock", position.stock, FACE_DOWN),
        ("cells", position.cells, EMPTY),
    ]
    for name, cards, placeholder in places:
        for card in sorted(set(cards)):
            if card != placeholder and not 4 <= card <= 4 * v.ranks + 3:
                text = (
                    card_name(card)
                    if card in (EMPTY, FACE_DOWN) or 4 <= card <= 4 * KING + 3
                    else f"code {card}"
                )
                faults.append(f"{name} has {text}, allowed there: cards of ranks 1 to {v.ranks}")
    if faults:
        return faults
    for number, pile in enumerate(position.tableau, 1):
        if len(pile) > rules.pile_capacity:
            faults.append(f"t{number} has {len(pile)} cards, at most {rules.pile_capacity} fit")
    if len(position.waste) + len(position.stock) > v.stock:
        faults.append(
            f"stock and waste have {len(position.waste) + len(position.stock)} cards, at most {v.stock}"
        )
    hidden = position.stock.count(FACE_DOWN)
    if hidden not in (0, len(position.stock)):
        faults.append(
            f"stock has {hidden} hidden cards of {len(position.stock)}, allowed: all of them or none"
        )
    for suit, tops in enumerate(position.foundations):
        if not all(0 <= top <= v.ranks for top in tops):
            faults.append(f"foundations {SUIT_NAMES[suit]} hold {list(tops)}, allowed: ranks 0 to {v.ranks}")
        elif len(tops) != v.decks or list(tops) != sorted(tops, reverse=True):
            faults.append(
                f"foundations {SUIT_NAMES[suit]} hold {list(tops)}, allowed: {v.decks} ranks, highest first"
            )
    if faults:
        return faults
    known = _known_cards(position)
    if len(known) + hidden != v.cards:
        faults.append(f"{len(known) + hidden} cards, {v.name} has {v.cards}")
    for card, copies in sorted(Counter(known).items()):
        if copies > v.decks:
            faults.append(f"{copies} copies of {card_name(card)}, {v.name} has {v.decks}")
    return faults


# ---------------------------------------------------------------------------------- position text


def format_position(position: Position) -> str:
    """The position text, without a newline at its end."""
    v = position.variant
    lines = [f"variant: {v.name}"]
    if v.stock:
        lines.append(_line("stock", position.stock))
        lines.append(_line("waste", position.waste))
    suits = (
        f"{SUIT_NAMES[suit]} {' '.join(map(str, tops))}" for suit, tops in enumerate(position.foundations)
    )
    lines.append(f"foundations: {' '.join(suits)}")
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
        The game that is being played; the text must name the same. Without it the text's name decides.

    Raises
    ------
    ValueError
        Naming the line and what is allowed there.
    """
    if not isinstance(text, str):
        raise TypeError(f"position is a {type(text).__name__}, allowed: position text")
    if len(text) > MAX_TEXT:
        raise ValueError(f"position text has {len(text)} characters, at most {MAX_TEXT} are read")
    fields: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, rest = line.partition(":")
        name = name.strip()
        if not colon:
            raise ValueError(f"position line {number} {line[:40]!r} has no colon, allowed: 'name: cards'")
        if name in fields:
            raise ValueError(f"position line {number}: {name[:40]!r} stands twice")
        fields[name] = rest.split()
    named = " ".join(fields.pop("variant", []))
    if not named:
        raise ValueError("position text has no line 'variant: name'")
    if variant is None:
        variant = get_variant(named)
    elif named != variant.name:
        raise ValueError(f"position text is of variant {named[:40]!r}, allowed here: {variant.name!r}")
    return _parse_fields(fields, variant)


def _parse_fields(fields: dict[str, list[str]], variant: Variant) -> Position:
    piles = [f"t{number}" for number in range(1, variant.piles + 1)]
    allowed = [
        *(("stock", "waste") if variant.stock else ()),
        "foundations",
        *(("cells",) if variant.cells else ()),
        *piles,
    ]
    for name in fields:
        if name not in allowed:
            raise ValueError(
                f"position text has an unknown line {name[:40]!r}, {variant.name} has: {', '.join(allowed)}"
            )
    for name in allowed:
        if name not in fields:
            raise ValueError(f"position text has no line {name!r}, {variant.name} has: {', '.join(allowed)}")

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
            f"position line 'cells' has {len(cells)} places, "
            f"{variant.name} has {variant.cells} cells ('--' is empty)"
        )
    position = Position(
        variant=variant,
        tableau=tuple(map(cards, piles)),
        foundations=_parse_foundations(fields["foundations"], variant),
        cells=cells,
        waste=cards("waste") if variant.stock else (),
        stock=cards("stock", HIDDEN_NAME) if variant.stock else (),
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


# --------------------------------------------------------------------------------- position rows


def position_to_row(position: Position) -> npt.NDArray[np.int8]:
    """The position row, int8 ``[row_size]``. The stock must be known."""
    r = make_rules(position.variant)
    row = np.zeros(r.row_size, dtype=np.int8)

    def put(start: int, codes: Pile) -> None:
        row[start : start + len(codes)] = codes

    for number, pile in enumerate(position.tableau):
        put(number * r.pile_capacity, pile)
    put(r.row_cells, position.cells)
    put(r.row_waste, position.waste)
    put(r.row_foundations, tuple(top for tops in position.foundations for top in tops))
    if r.has_stock:
        row[r.row_stock_count] = min(len(position.stock), MAX_STOCK_COUNT)
        put(r.row_stock, position.stock)
    return row


def position_from_row(variant: Variant, row: npt.NDArray[np.int8]) -> Position:
    """The position of a row (int8 ``[row_size]``), or of its part that a player sees, the ``cards``
    observation.

    From the latter the stock is face down; its count follows from the cards that are seen. Whether the
    position is a possible one, :func:`position_faults` says.

    Raises
    ------
    ValueError
        If the shape is another, or there are no whole numbers in it.
    """
    r = make_rules(variant)
    if not np.issubdtype(row.dtype, np.integer):
        raise ValueError(f"a row of {variant.name} is of {row.dtype}, allowed: whole numbers")
    if row.shape not in ((r.row_size,), (r.row_stock,)):
        raise ValueError(
            f"a row of {variant.name} has shape {tuple(row.shape)}, "
            f"allowed: ({r.row_stock},) as seen, ({r.row_size},) in full"
        )
    codes = row.tolist()

    def pile(start: int, stop: int) -> Pile:
        return tuple(code for code in codes[start:stop] if code != EMPTY)

    flat = codes[r.row_foundations : r.row_stock_count]
    position = Position(
        variant=variant,
        tableau=tuple(pile(p * r.pile_capacity, (p + 1) * r.pile_capacity) for p in range(r.piles)),
        foundations=tuple(tuple(flat[suit * r.decks : (suit + 1) * r.decks]) for suit in range(SUITS)),
        cells=tuple(codes[r.row_cells : r.row_waste]),
        waste=pile(r.row_waste, r.row_foundations),
        stock=pile(r.row_stock, r.row_size),
    )
    if r.has_stock and len(codes) == r.row_stock:
        hidden = variant.cards - len(_known_cards(position))
        position = Position(
            variant,
            position.tableau,
            position.foundations,
            position.cells,
            position.waste,
            (FACE_DOWN,) * hidden,
        )
    return position


# ----------------------------------------------------------------------------------- action text


def source_name(variant: Variant, source: int) -> str:
    """Name of a source: ``t1``.. for tableau piles, ``w`` for the waste, ``c1``.. for cells."""
    r = make_rules(variant)
    if source < r.piles:
        return f"t{source + 1}"
    return "w" if source < r.first_cell else f"c{source - r.first_cell + 1}"


def action_text(variant: Variant, number: int) -> str:
    """Text of an action, one to one with its number."""
    action = action_layout(variant).decode(number)
    if action.kind == "draw":
        return "draw"
    source = source_name(variant, action.source)
    if action.kind == "tableau":
        return f"{source}>t{action.target + 1}"
    cards = f"x{action.cards}" if action.cards > 1 else ""
    return f"{source}{cards}>{ {'home': 'f', 'cell': 'c', 'space': 's'}[action.kind] }"


def parse_action(variant: Variant, text: str) -> int:
    """Number of an action from its text, the inverse of :func:`action_text`."""
    layout = action_layout(variant)
    number = _action_numbers(variant).get(text) if isinstance(text, str) else None
    if number is None:
        some = ", ".join(action_text(variant, where.start) for where in layout.offsets.values())
        raise ValueError(
            f"{variant.name} has no action {shown(text)}, "
            f"allowed: 0 to {layout.size - 1} as text, such as {some}"
        )
    return number


_ACTION_NUMBERS: dict[Variant, dict[str, int]] = {}


def _action_numbers(variant: Variant) -> dict[str, int]:
    if variant not in _ACTION_NUMBERS:
        size = action_layout(variant).size
        _ACTION_NUMBERS[variant] = {action_text(variant, number): number for number in range(size)}
    return _ACTION_NUMBERS[variant]


class Move(NamedTuple):
    """What an action moves, and between which piles."""

    source: str
    """``t1``.., ``waste``, ``c1``.. or ``stock``."""
    target: str
    """``t1``.., ``waste``, ``c1``.. or ``foundations``."""
    cards: Pile
    """Bottom first."""


def move_of(variant: Variant, state: engine.State, row: int, number: int) -> Move:
    """What a legal action moves in a position; the card is told though the stock hides it."""
    r = make_rules(variant)
    kind = action_layout(variant).decode(number).kind
    if kind == "draw":
        card = int(state.rows[row, r.row_stock + int(state.stock[row]) - 1])
        return Move("stock", "waste", (card,))
    source, target, count = engine.move_of(r, state, row, number)
    if count > 1:
        end = source * r.pile_capacity + int(state.heights[row, source])
        cards = tuple(int(card) for card in state.rows[row, end - count : end])
    else:
        cards = (int(state.tops[row, source]),)
    to = "foundations" if kind == "home" else pile_name(variant, target)
    return Move(pile_name(variant, source), to, cards)


def pile_name(variant: Variant, source: int) -> str:
    """Name of the pile that a source is: ``t1``.., ``waste``, ``c1``.."""
    name = source_name(variant, source)
    return "waste" if name == "w" else name


def describe_action(variant: Variant, state: engine.State, row: int, number: int) -> str:
    """What a legal action does in a position, in words: ``9S to 6S, 4 cards, from t2 to t7``."""
    kind = action_layout(variant).decode(number).kind
    if kind == "draw":
        return "draw a card from the stock"
    move = move_of(variant, state, row, number)
    place = {"t": "{}", "w": "the waste", "c": "cell {}"}[move.source[0]]
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
