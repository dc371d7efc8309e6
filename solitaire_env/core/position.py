"""A position: all cards of a game, as an object and as the engine's row of card codes."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from solitaire_env.core.cards import (
    DOWN,
    EMPTY,
    FACE_DOWN,
    KING,
    SUIT_NAMES,
    SUITS,
    card_name,
    is_red,
    make_card,
)
from solitaire_env.core.layout import MAX_STOCK_COUNT, make_rules
from solitaire_env.core.variant import Variant
from solitaire_env.util.arguments import check_kind

Pile = tuple[int, ...]
"""Card codes, bottom card first."""


@dataclass(frozen=True)
class Position:
    """All cards of a game, as card codes, bottom first."""

    variant: Variant
    tableau: tuple[Pile, ...]
    """A face-down card has the bit DOWN, or is FACE_DOWN if it is hidden."""
    foundations: tuple[Pile, ...]
    """For each suit the numbers of cards on its foundations, fullest first: from the Ace, their top ranks."""
    cells: Pile = ()
    """EMPTY for a free cell."""
    waste: Pile = ()
    stock: Pile = ()
    """The next card last; FACE_DOWN if hidden."""
    redeals: int = 0
    """Number of redeals left, if there is a limit."""
    base: int = 0
    """The rank of the first card of each foundation, if the deal decides it."""

    def hidden(self, order: npt.NDArray[np.int8] | None = None) -> "Position":
        """The position as a player sees it: without the stock and the face-down cards.

        Parameters
        ----------
        order
            The order of the stock if the player remembers it, see :func:`remembered_order`: the cards that
            are left of it are shown.
        """
        seen = tuple(tuple(FACE_DOWN if card & DOWN else card for card in pile) for pile in self.tableau)
        left = len(self.stock)
        stock = (FACE_DOWN,) * left if order is None else tuple(order[:left].tolist())
        return replace(self, tableau=seen, stock=stock)

    @property
    def base_rank(self) -> int:
        """The rank of the first card of each foundation."""
        return self.base or make_rules(self.variant).base

    def home_tops(self) -> tuple[Pile, ...]:
        """For each foundation, suit by suit, the possible last cards: none if it is empty; with alternating
        colors two of a color, since only their number is stored.
        """
        return tuple(_cards_at_home(self, suit, count - 1) for suit, count in self._counts())

    def home_takes(self) -> tuple[Pile, ...]:
        """For each foundation, suit by suit, the cards that it takes next."""
        return tuple(_cards_at_home(self, suit, count) for suit, count in self._counts())

    def _counts(self) -> list[tuple[int, int]]:
        return [(suit, count) for suit, counts in enumerate(self.foundations) for count in counts]

    def unseen(self) -> tuple[int, ...]:
        """The hidden cards of a position in the order of their codes."""
        pack = Counter({card: self.variant.decks for card in range(4, 4 * self.variant.ranks + 4)})
        pack.subtract(_known_cards(self))
        return tuple(sorted(pack.elements()))


def _known_cards(position: Position) -> list[int]:
    lying = [*chain(*position.tableau), *position.cells, *position.waste, *position.stock]
    cards = [card & ~DOWN for card in lying if card not in (EMPTY, FACE_DOWN)]
    return cards + _home_cards(position, Counter(cards))


def _home_cards(position: Position, elsewhere: Counter[int]) -> list[int]:
    """The cards on the foundations.

    Foundations of alternating colors store how many cards they have, not their suits: of a color, the lower
    suit is assumed while its copies are not elsewhere.
    """
    v = position.variant
    cards: list[int] = []
    left = Counter({card: v.decks - elsewhere[card] for card in range(4, 4 * v.ranks + 4)})
    for suit, counts in enumerate(position.foundations):
        for place in (place for count in counts for place in range(count)):
            choices = _cards_at_home(position, suit, place)
            card = max(choices, key=lambda c: (left[c] > 0, -c))
            left[card] -= 1
            cards.append(card)
    return cards


def _cards_at_home(position: Position, suit: int, place: int) -> Pile:
    """The possible cards at a place of a suit's foundation, 0 for its first: with alternating colors, two
    of a color after the first.
    """
    v = position.variant
    if not 0 <= place < v.ranks:
        return ()
    rank = (position.base_rank - 1 + place) % v.ranks + 1
    suits: Pile = (suit,)
    if v.foundation_build == "alternate color" and place > 0:
        red = is_red(make_card(rank, suit)) == (place % 2 == 0)
        suits = (1, 2) if red else (0, 3)
    return tuple(make_card(rank, suit) for suit in suits)


def position_faults(position: Position) -> list[str]:
    """The faults of a position, a sentence each; empty if it is valid."""
    v = check_kind("position", position, Position).variant
    faults = []
    for what, count, allowed in (
        ("tableau piles", len(position.tableau), v.piles),
        ("cells", len(position.cells), v.cells),
        ("foundations", sum(map(len, position.foundations)), v.foundations),
    ):
        if count != allowed:
            faults.append(f"{count} {what}, {v.name} has {allowed}")
    faults += _value_faults(position)
    if faults:
        return faults
    hidden, faults = _place_faults(position)
    if faults:
        return faults
    pack = _known_cards(position)
    if len(pack) + hidden != v.cards:
        faults.append(f"{len(pack) + hidden} cards, {v.name} has {v.cards}")
    for card, copies in sorted(Counter(pack).items()):
        if copies > v.decks:
            faults.append(f"{copies} copies of {card_name(card)}, {v.name} has {v.decks}")
    return faults


def _value_faults(position: Position) -> list[str]:
    """Codes that are invalid in their place, and numbers out of range."""
    v = position.variant
    faults = []
    places: list[tuple[str, Pile, int | None]] = [
        (f"t{n}", pile, None) for n, pile in enumerate(position.tableau, 1)
    ]
    places += [
        ("waste", position.waste, None),
        ("stock", position.stock, FACE_DOWN),
        ("cells", position.cells, EMPTY),
    ]
    for name, cards, placeholder in places:
        codes = set(cards)
        if name[0] == "t" and v.hides_cards:
            codes = {card & ~DOWN for card in cards[:-1] if card != FACE_DOWN} | set(cards[-1:])
        for card in sorted(codes):
            if card != placeholder and not 4 <= card <= 4 * v.ranks + 3:
                named = card in (EMPTY, FACE_DOWN) or 4 <= card & ~DOWN <= 4 * KING + 3
                text = card_name(card) if named else f"code {card}"
                faults.append(f"{name} has {text}, allowed there: cards of ranks 1 to {v.ranks}")
    for name, value, low, high in (
        ("redeals", position.redeals, 0, max(v.passes - 1, 0)),
        ("base", position.base, int(v.base == "dealt"), v.ranks if v.base == "dealt" else 0),
    ):
        if not low <= value <= high:
            faults.append(f"{name} is {value}, {v.name} has {low} to {high}")
    return faults


def _place_faults(position: Position) -> tuple[int, list[str]]:
    """Wrong numbers of hidden cards, places with too many cards, and foundations out of order."""
    v = position.variant
    rules = make_rules(v)
    faults = []
    for number, pile in enumerate(position.tableau, 1):
        if len(pile) > rules.pile_capacity:
            faults.append(f"t{number} has {len(pile)} cards, at most {rules.pile_capacity} fit")
    if (undealt := len(position.waste) + len(position.stock)) > v.stock:
        faults.append(f"stock and waste have {undealt} cards, at most {v.stock}")
    turned = tuple(card for card in chain(*position.tableau) if card == FACE_DOWN or card & DOWN)
    hidden = 0
    for where, down in (("stock", position.stock), ("tableau", turned)):
        unknown = down.count(FACE_DOWN)
        if unknown not in (0, len(down)):
            faults.append(f"{where} has {unknown} hidden cards of {len(down)}, allowed: all of them or none")
        hidden += unknown
    for suit, tops in enumerate(position.foundations):
        in_order = len(tops) == v.decks and list(tops) == sorted(tops, reverse=True)
        if not in_order or not all(0 <= top <= v.ranks for top in tops):
            allowed = f"{v.decks} ranks 0 to {v.ranks}, highest first"
            faults.append(f"foundations {SUIT_NAMES[suit]} hold {list(tops)}, allowed: {allowed}")
    return hidden, faults


# --------------------------------------------------------------------------------- position rows


def position_to_row(position: Position) -> npt.NDArray[np.int8]:
    """The position row, int8 ``[row_size]``. The stock must be known."""
    r = make_rules(check_kind("position", position, Position).variant)
    row = np.zeros(r.row_size, dtype=np.int8)

    def put(start: int, codes: Pile) -> None:
        row[start : start + len(codes)] = codes

    for number, pile in enumerate(position.tableau):
        put(number * r.pile_capacity, pile)
    put(r.row_cells, position.cells)
    put(r.row_waste, position.waste)
    put(r.row_foundations, tuple(top for tops in position.foundations for top in tops))
    row[r.row_redeals : r.row_base] = position.redeals
    row[r.row_base : r.row_stock] = position.base
    if r.has_stock:
        row[r.row_stock_count] = min(len(position.stock), MAX_STOCK_COUNT)
        put(r.row_stock, position.stock)
    return row


def position_from_row(variant: Variant, row: npt.ArrayLike) -> Position:
    """The position of a row (int8 ``[row_size]``), or of its visible part, the ``cards`` observation.

    From an observation the stock is face down; its count follows from the cards that are seen. Use
    :func:`position_faults` to check that the position is possible.

    Raises
    ------
    ValueError
        If the shape is wrong, or an entry is not a whole number from -128 to 127.
    """
    r = make_rules(check_kind("variant", variant, Variant))
    try:
        row = np.asarray(row)
    except (ValueError, TypeError, RuntimeError):  # lists of different lengths, tensors with a gradient
        kind = type(row).__name__
        raise ValueError(f"a row of {variant.name} is a {kind}, allowed: an array of numbers") from None
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
        redeals=sum(codes[r.row_redeals : r.row_base]),
        base=sum(codes[r.row_base : r.row_stock]),
    )
    if r.has_stock and len(codes) == r.row_stock:
        lying = [*chain(*position.tableau), *position.waste, *position.cells]
        placed = sum(card != EMPTY for card in lying) + sum(flat)
        position = replace(position, stock=(FACE_DOWN,) * (variant.cards - placed))
    return position


def remembered_order(
    rules: Any, observation: npt.NDArray[Any], before: npt.NDArray[np.int8] | None
) -> npt.NDArray[np.int8] | None:
    """The order of a stock that a player has seen, int8 ``[cards]``, next card last; None in the first pass.

    While the stock is empty, the waste shows the order that a redeal gives it. Later the first cards of this
    order are left, as many as the stock has.

    Parameters
    ----------
    rules
        Those of a game with redeals.
    observation
        ``cards``, int8 ``[size]``, or the position row.
    before
        The order at the last observation of the game; None at the first.
    """
    if observation[rules.row_stock_count] > 0:
        return before
    waste = observation[rules.row_waste : rules.row_foundations]
    order: npt.NDArray[np.int8] = waste[waste > 0][::-1].copy()
    return order


def read_row(variant: Variant, row: npt.ArrayLike, what: str, *, hidden: bool = False) -> Position:
    """The position of a row as in :func:`position_from_row`, checked to be possible; only a ``hidden`` one
    may have a stock and face-down cards that are not known.

    Raises
    ------
    ValueError
        With ``what``, the row's name in the message, and the fault.
    """
    position = position_from_row(variant, row)
    faults = position_faults(position)
    if not faults:
        size = np.size(row)
        whole = size > make_rules(variant).row_stock
        if whole and not hidden and FACE_DOWN in (*position.stock, *chain(*position.tableau)):
            faults = ["its stock has face-down cards"]
        elif not np.array_equal(position_to_row(position)[:size], row):
            faults = ["its row has gaps or a wrong stock count"]
    if faults:
        raise ValueError(f"{what} is not possible: {'; '.join(faults[:3])}")
    return position
