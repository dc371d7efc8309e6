"""Layouts: the rules as integers for the kernels, and the indices of cards and actions.

``Rules`` is all that the engine needs of a variant. A *position row* holds one game as int8 card codes::

    t1 | t2 | ... | cells | waste | foundations | stock count | redeals | base | stock

The part before the stock, which a player sees, is the ``cards`` observation. Tableau piles and the waste are
padded with EMPTY, bottom card first; a face-down card has the bit DOWN. A foundation is the number of its
cards (from the Ace, the rank of its top card), a suit's fullest first. The stock count stops at 127, the
largest int8; the exact count follows from the cards seen. ``redeals`` is the number left, in games that limit
them to more than one pass; ``base`` is the rank of the first card of the foundations if the deal decides it.

A *source* is a place that cards leave from: tableau piles, then the waste, then cells; if cards may worry
back, then the suits of the foundations.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, Literal, NamedTuple, get_args

from solitaire_env.core.cards import SUIT_NAMES, SUITS
from solitaire_env.core.variant import Build, Moves, Variant
from solitaire_env.util.arguments import check_count, check_kind
from solitaire_env.util.immutable import Immutable
from solitaire_env.util.lazy import VARIANTS_KEPT, cached_property
from solitaire_env.util.messages import shown
from solitaire_env.util.numbers import whole_number

SAME_SUIT: Final = 0
ALTERNATE_COLOR: Final = 1
ANY_SUIT: Final = 2
OTHER_SUIT: Final = 3
SAME_COLOR: Final = 4

SPACES_ANY: Final = 0
SPACES_RANK: Final = 1
SPACES_NONE: Final = 2

ONE_CARD: Final = 0
SUPERMOVE: Final = 1
SEQUENCE: Final = 2
ANY_GROUP: Final = 3

_BUILD: Final = {word: number for number, word in enumerate(get_args(Build))}
_SPACES: Final = {"any": SPACES_ANY, "kings": SPACES_RANK, "base - 1": SPACES_RANK, "none": SPACES_NONE}
_MOVES: Final = {word: number for number, word in enumerate(get_args(Moves))}

MAX_STOCK_COUNT: Final = 127

PLAYING: Final = 0
WON: Final = 1
STUCK: Final = 2

# What a step does to a game: nothing, play the action, or deal the next game of its stream; in a row of AWAY
# another batch plays, and its results stay as they are. REFUSE an action that the game does not have.
LEAVE: Final = 0
PLAY: Final = 1
DEAL: Final = 2
AWAY: Final = 3
REFUSE: Final = 4

Observation = Literal["cards", "features"]
"""Kinds of observation."""
Information = Literal["player", "thoughtful", "memory"]
"""What is known of hidden cards: nothing, all, or the order of a stock that the player has seen."""
PLAYER: Final = 0
THOUGHTFUL: Final = 1
MEMORY: Final = 2
"""The numbers of these, for kernels."""


class Rules(NamedTuple):
    """One variant as plain integers, created only by :func:`make_rules`.

    Every field is a Python int: other types would compile every kernel again.
    """

    decks: int
    ranks: int
    cards: int
    piles: int
    pile_capacity: int
    # Cards dealt to the fullest pile, at least 1.
    most_dealt: int
    cells: int
    cells_filled: int
    has_stock: int
    stock_capacity: int
    build: int
    spaces: int
    moves: int
    # Building rule of sequences that move together.
    run_build: int
    # The rank that fills a space, if only one does; 0 if it depends on a base that the deal decides.
    space_rank: int
    hides: int
    draw: int
    passes: int
    fill: int
    aces_home: int
    alternate_home: int
    # 0 if the deal decides it.
    base: int
    wraps: int
    worrying_back: int
    # Sources: piles 0.., then the waste, then cells. Places: sources, then, if cards may worry back, the
    # foundations of each suit.
    sources: int
    first_cell: int
    places: int
    # Offsets in a position row.
    row_cells: int
    row_waste: int
    row_foundations: int
    row_stock_count: int
    row_redeals: int
    row_base: int
    row_stock: int
    row_size: int
    # Offsets of the kinds of action; `draw` is action 0 if there is a stock, `redeal` is 1 if there is more
    # than one pass.
    home_actions: int
    cell_actions: int
    tableau_actions: int
    tableau_counts: int
    space_actions: int
    space_counts: int
    worry_actions: int
    actions: int


@lru_cache(VARIANTS_KEPT)
def make_rules(variant: Variant) -> Rules:
    """The integers of a variant."""
    has_stock = int(check_kind("variant", variant, Variant).stock > 0)
    base = {"ace": 1, "dealt": 0}.get(str(variant.base), variant.base)
    assert isinstance(base, int)
    space_rank = variant.ranks
    if variant.spaces == "base - 1":
        space_rank = (base - 2) % variant.ranks + 1 if base else 0
    parts, action_parts = _row_parts(variant), _action_parts(variant)
    tableau_counts, space_counts = _action_counts(variant)
    return Rules(
        decks=variant.decks,
        ranks=variant.ranks,
        cards=variant.cards,
        piles=variant.piles,
        pile_capacity=variant.pile_capacity,
        most_dealt=max(*variant.tableau, 1),
        cells=variant.cells,
        cells_filled=variant.cells_filled,
        has_stock=has_stock,
        stock_capacity=variant.stock,
        build=_BUILD[variant.build],
        spaces=_SPACES[variant.spaces],
        moves=_MOVES[variant.moves],
        run_build=_BUILD[variant.run_build],
        space_rank=space_rank,
        hides=int(variant.hides_cards),
        draw=variant.draw,
        passes=variant.passes,
        fill=int(variant.fill == "waste"),
        aces_home=int(variant.aces_home),
        alternate_home=int(variant.foundation_build == "alternate color"),
        base=base,
        wraps=int(variant.wraps),
        worrying_back=int(variant.worrying_back),
        sources=variant.piles + has_stock + variant.cells,
        first_cell=variant.piles + has_stock,
        places=variant.piles + has_stock + variant.cells + SUITS * variant.worrying_back,
        **{f"row_{name}": part.start for name, part in parts.items() if f"row_{name}" in Rules._fields},
        row_size=parts["stock"].stop,
        tableau_counts=tableau_counts,
        space_counts=space_counts,
        **{f"{kind}_actions": action_parts[kind].start for kind in _KINDS[2:]},
        actions=action_parts["worry"].stop,
    )


def slices_of(sizes: Mapping[str, int]) -> dict[str, slice]:
    """Consecutive slices of the given sizes."""
    stops = accumulate(sizes.values())
    return {name: slice(stop - size, stop) for (name, size), stop in zip(sizes.items(), stops, strict=True)}


def _row_parts(variant: Variant) -> dict[str, slice]:
    """The parts of a position row, in order, empty ones too."""
    sizes = {f"t{pile + 1}": variant.pile_capacity for pile in range(variant.piles)}
    return slices_of(
        {
            **sizes,
            "cells": variant.cells,
            "waste": variant.stock,
            "foundations": variant.foundations,
            "stock_count": int(variant.stock > 0),
            "redeals": int(variant.passes > 1),
            "base": int(variant.base == "dealt"),
            "stock": variant.stock,
        }
    )


def _action_counts(variant: Variant) -> tuple[int, int]:
    """The numbers of cards that a player chooses from: for moves onto a card, and to a space."""
    # A group moves onto another card, so it has at most all cards but one.
    groups = variant.moves == "any group"
    longest = max(1, variant.pile_capacity - 1) if groups else variant.ranks
    return longest if groups else 1, longest if variant.counts_differ else 1


Kind = Literal["draw", "redeal", "home", "cell", "tableau", "space", "worry"]
_KINDS: Final = get_args(Kind)


class Action(NamedTuple):
    """An action: one move that a player would name."""

    kind: Kind
    source: int = 0
    """Source number: tableau piles from 0, then the waste, then cells; then the suits of the foundations."""
    target: int = 0
    """Tableau pile from 0, for kinds ``tableau`` and ``worry``."""
    cards: int = 1
    """Number of cards that move, if the player chooses it; else 1, and the position determines it."""


@lru_cache(VARIANTS_KEPT)
def _all_actions(variant: Variant) -> tuple[Action, ...]:
    """The actions of a variant, in order."""
    has_stock = int(variant.stock > 0)
    piles, sources = range(variant.piles), range(variant.piles + has_stock + variant.cells)
    others = sources[variant.piles :]
    tableau_counts, space_counts = (range(1, count + 1) for count in _action_counts(variant))
    actions = [Action("draw")] * has_stock
    actions += [Action("redeal")] * (variant.passes != 1)
    actions += [Action("home", s) for s in sources]
    if variant.cells:
        actions += [Action("cell", s) for s in sources[: variant.piles + has_stock]]
    actions += [Action("tableau", s, t, n) for s in piles for t in piles if s != t for n in tableau_counts]
    actions += [Action("tableau", s, t) for s in others for t in piles]
    if variant.spaces != "none":
        actions += [Action("space", s, cards=n) for s in piles for n in space_counts]
        actions += [Action("space", s) for s in others]
    if variant.worrying_back:
        suits = range(len(sources), len(sources) + SUITS)
        actions += [Action("worry", suit, t) for suit in suits for t in piles]
    return tuple(actions)


def _action_parts(variant: Variant) -> dict[str, slice]:
    """The range of each kind of action, empty ones too."""
    numbers = Counter(action.kind for action in _all_actions(variant))
    return slices_of({kind: numbers[kind] for kind in _KINDS})


def action_number(action: Any) -> int:
    """Check that the action that a user passed is a whole number, and return it as an int."""
    number = whole_number(action)
    if number is None:
        raise TypeError(f"action {shown(action)} is a {type(action).__name__}, allowed: a whole number")
    return number


class ActionLayout(Immutable):
    """Numbers of the actions of a variant, ``0 .. size - 1``.

    In this order: draw; redeal; each source home; each source to a cell; each source to each other tableau
    pile, source by source; each source to a space; from the foundations of each suit to each pile. If the
    player chooses the number of cards, one card comes first.
    """

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.rules = make_rules(variant)
        self._actions = _all_actions(variant)
        self._numbers = {action: number for number, action in enumerate(self._actions)}

    @property
    def size(self) -> int:
        """Number of actions."""
        return self.rules.actions

    @property
    def offsets(self) -> dict[str, slice]:
        """The range of each kind of action, by kind."""
        return {kind: part for kind, part in _action_parts(self.variant).items() if part.start < part.stop}

    def decode(self, number: int) -> Action:
        """The action with that number."""
        whole = action_number(number)
        if not 0 <= whole < self.size:
            raise ValueError(
                f"action {shown(whole)} is outside the space of {self.variant.name}, "
                f"allowed: 0..{self.size - 1}"
            )
        return self._actions[whole]

    def encode(self, action: Action) -> int:
        """The number of an action, the inverse of :meth:`decode`."""
        number = self._numbers.get(action)
        if number is None:
            raise ValueError(f"{self.variant.name} has no action {action}")
        return number

    def text(self, number: int) -> str:
        """The unique text of an action: ``draw``, ``t3>f``, ``w>t5``, ``t2x4>s``."""
        action = self.decode(number)
        if action.kind in ("draw", "redeal"):
            return action.kind
        source = source_name(self.variant, action.source)
        cards = f"x{action.cards}" if action.cards > 1 else ""
        if action.kind in ("tableau", "worry"):
            return f"{source}{cards}>t{action.target + 1}"
        return f"{source}{cards}>{_TARGET_LETTERS[action.kind]}"

    def parse(self, text: str) -> int:
        """Number of an action from its text, the inverse of :meth:`text`."""
        number = self._texts.get(text) if isinstance(text, str) else None
        if number is None:
            some = ", ".join(self.text(where.start) for where in self.offsets.values())
            raise ValueError(
                f"{self.variant.name} has no action {shown(text)}, "
                f"allowed: 0 to {self.size - 1} as text, such as {some}"
            )
        return number

    @cached_property
    def _texts(self) -> dict[str, int]:
        return {self.text(number): number for number in range(self.size)}


_TARGET_LETTERS: Final = {"home": "f", "cell": "c", "space": "s"}


def source_name(variant: Variant, source: int) -> str:
    """Name of a source: ``t1``.. for tableau piles, ``w`` for the waste, ``c1``.. for cells, ``fC``.. for the
    foundations of a suit.
    """
    r = make_rules(variant)
    check_count("source", source, 0, r.sources + SUITS - 1)
    if source < r.piles:
        return f"t{source + 1}"
    if source >= r.sources:
        return f"f{SUIT_NAMES[source - r.sources]}"
    return "w" if source < r.first_cell else f"c{source - r.first_cell + 1}"


@lru_cache(VARIANTS_KEPT)
def action_layout(variant: Variant) -> ActionLayout:
    """The action layout of a variant."""
    return ActionLayout(variant)


@lru_cache(VARIANTS_KEPT)
def observation_layout(variant: Variant, information: Information = "player") -> dict[str, slice]:
    """Named slices of the ``cards`` observation.

    ``t1``.. for the tableau piles, and, if the variant has them, ``cells``, ``waste``, ``stock_count``,
    ``redeals``, ``base`` and, unless ``information`` is ``"player"``, ``stock``; always ``foundations``.
    """
    parts = _row_parts(variant)
    if information == "player":
        del parts["stock"]
    return {name: part for name, part in parts.items() if part.start < part.stop}
