"""A position: where every card of a game lies, as an object and as the engine's row of card codes."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from solitaire_env.core.cards import EMPTY, FACE_DOWN, KING, SUIT_NAMES, SUITS, card_name, make_card
from solitaire_env.core.layout import MAX_STOCK_COUNT, make_rules
from solitaire_env.core.variant import Variant

Pile = tuple[int, ...]
"""Card codes, bottom card first."""


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
        return replace(self, stock=(FACE_DOWN,) * len(self.stock))

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
        If the shape is another, or there is anything but whole numbers from -128 to 127 in it.
    """
    r = make_rules(variant)
    if row.dtype.kind not in "iu":
        raise ValueError(f"a row of {variant.name} is of {row.dtype}, allowed: whole numbers")
    if row.shape not in ((r.row_size,), (r.row_stock,)):
        raise ValueError(
            f"a row of {variant.name} has shape {tuple(row.shape)}, "
            f"allowed: ({r.row_stock},) as seen, ({r.row_size},) in full"
        )
    codes = row.tolist()
    if wrong := [code for code in codes if not -128 <= code < 128]:
        raise ValueError(f"a row of {variant.name} has code {wrong[0]}, allowed: 0 to 127")

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
        # Counted, as there are no cards of a rank that the game does not have.
        lying = [*chain(*position.tableau), *position.waste, *position.cells]
        known = sum(card not in (EMPTY, FACE_DOWN) for card in lying) + sum(flat)
        position = replace(position, stock=(FACE_DOWN,) * (variant.cards - known))
    return position


def read_row(variant: Variant, row: npt.NDArray[np.int8], what: str) -> Position:
    """The position of a row as :func:`position_from_row` gives it, when it is a possible one.

    Raises
    ------
    ValueError
        With ``what``, which is the row's name in the sentence, and what is wrong with it.
    """
    position = position_from_row(variant, row)
    faults = position_faults(position)
    if not faults:
        whole = len(row) > make_rules(variant).row_stock
        if whole and FACE_DOWN in position.stock:
            faults = ["its stock has face-down cards"]
        elif position_to_row(position)[: len(row)].tolist() != row.tolist():
            faults = ["its row has gaps or a wrong stock count"]
    if faults:
        raise ValueError(f"{what} is not possible: {'; '.join(faults[:3])}")
    return position
