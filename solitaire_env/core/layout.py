"""Words become integers: the rules that the kernels read, and the places of cards and actions.

``Rules`` is all that the engine knows of a variant. A *position row* holds one game as int8 card codes::

    t1 | t2 | ... | cells | waste | foundations | stock count | stock

and its part before the stock, what a player sees, is the ``cards`` observation. Tableau piles and the waste
are padded with EMPTY, bottom card first; a foundation is the rank of its top card, 0 when empty, a suit's
fullest first. The stock count stops at 127, the largest int8; the exact count follows from the cards seen.

A *source* is a place that cards leave from: tableau piles, then the waste, then cells.
"""

from functools import cache, cached_property
from typing import Final, Literal, NamedTuple

from solitaire_env.core.variant import Variant
from solitaire_env.util.messages import shown

SAME_SUIT: Final = 0
ALTERNATE_COLOR: Final = 1
ANY_SUIT: Final = 2

SPACES_ANY: Final = 0
SPACES_KINGS: Final = 1
SPACES_NONE: Final = 2

ONE_CARD: Final = 0
SUPERMOVE: Final = 1
SEQUENCE: Final = 2

_BUILD: Final = {"same suit": SAME_SUIT, "alternate color": ALTERNATE_COLOR, "any suit": ANY_SUIT}
_SPACES: Final = {"any": SPACES_ANY, "kings": SPACES_KINGS, "none": SPACES_NONE}
_MOVES: Final = {"one card": ONE_CARD, "supermove": SUPERMOVE, "sequence": SEQUENCE}

MAX_STOCK_COUNT: Final = 127

PLAYING: Final = 0
WON: Final = 1
STUCK: Final = 2

# What a step does to a game: nothing, the action, or the next deal of its stream instead.
LEAVE: Final = 0
PLAY: Final = 1
DEAL: Final = 2


Observation = Literal["cards", "features"]
"""Kinds of observation."""
Information = Literal["player", "thoughtful"]
"""Whether the stock's order is hidden, or known."""


class Rules(NamedTuple):
    """One variant in plain integers, made in :func:`make_rules` and nowhere else.

    Every field is a Python int: another type would compile every kernel a second time.
    """

    decks: int
    ranks: int
    cards: int
    piles: int
    pile_capacity: int
    cells: int
    cells_filled: int
    has_stock: int
    stock_capacity: int
    build: int
    spaces: int
    moves: int
    # Sources: piles 0.., then the waste, then cells.
    sources: int
    first_cell: int
    # Offsets in a position row.
    row_cells: int
    row_waste: int
    row_foundations: int
    row_stock_count: int
    row_stock: int
    row_size: int
    # Offsets of the kinds of action; `draw` is action 0 where there is a stock.
    home_actions: int
    cell_actions: int
    tableau_actions: int
    space_actions: int
    space_counts: int
    actions: int


@cache
def make_rules(variant: Variant) -> Rules:
    """The integers of a variant."""
    piles = variant.piles
    # Nothing builds on an Ace: below the cards dealt to a pile there is at least one, on which at most ranks
    # - 1 more can be built; an emptied pile takes at most `ranks` cards.
    pile_capacity = max(*variant.tableau, 1) + variant.ranks - 1
    has_stock = int(variant.stock > 0)
    sources = piles + has_stock + variant.cells
    row_cells = piles * pile_capacity
    row_waste = row_cells + variant.cells
    row_foundations = row_waste + variant.stock
    row_stock_count = row_foundations + variant.foundations
    row_stock = row_stock_count + has_stock
    home_actions = has_stock
    cell_actions = home_actions + sources
    tableau_actions = cell_actions + (piles + has_stock if variant.cells else 0)
    space_actions = tableau_actions + piles * (piles - 1) + (sources - piles) * piles
    space_counts = variant.ranks if variant.counts_differ else 1
    to_spaces = 0 if variant.spaces == "none" else piles * space_counts + sources - piles
    return Rules(
        decks=variant.decks,
        ranks=variant.ranks,
        cards=variant.cards,
        piles=piles,
        pile_capacity=pile_capacity,
        cells=variant.cells,
        cells_filled=variant.cells_filled,
        has_stock=has_stock,
        stock_capacity=variant.stock,
        build=_BUILD[variant.build],
        spaces=_SPACES[variant.spaces],
        moves=_MOVES[variant.moves],
        sources=sources,
        first_cell=piles + has_stock,
        row_cells=row_cells,
        row_waste=row_waste,
        row_foundations=row_foundations,
        row_stock_count=row_stock_count,
        row_stock=row_stock,
        row_size=row_stock + variant.stock,
        home_actions=home_actions,
        cell_actions=cell_actions,
        tableau_actions=tableau_actions,
        space_actions=space_actions,
        space_counts=space_counts,
        actions=space_actions + to_spaces,
    )


Kind = Literal["draw", "home", "cell", "tableau", "space"]


class Action(NamedTuple):
    """One move that a player would name."""

    kind: Kind
    source: int = 0
    """Source number: tableau piles from 0, then the waste, then cells."""
    target: int = 0
    """Tableau pile from 0, for kind ``tableau``."""
    cards: int = 1
    """Cards that go to a space, for kind ``space`` where counts differ; else 1 and implied by the
    position."""


class ActionLayout:
    """Numbers of the actions of a variant, ``0 .. size - 1``.

    In this order: draw; each source home; each source to a cell; each source to each tableau pile but itself,
    source by source; each source to a space, one card first where counts differ.
    """

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.rules = make_rules(variant)
        self._actions = self._enumerate()
        self._numbers = {action: number for number, action in enumerate(self._actions)}
        assert len(self._actions) == len(self._numbers) == self.rules.actions

    def _enumerate(self) -> tuple[Action, ...]:
        rules = self.rules
        piles, sources = range(rules.piles), range(rules.sources)
        actions = [Action("draw")] if rules.has_stock else []
        actions += [Action("home", s) for s in sources]
        if rules.cells:
            actions += [Action("cell", s) for s in range(rules.first_cell)]
        actions += [Action("tableau", s, t) for s in sources for t in piles if s != t]
        if rules.spaces != SPACES_NONE:
            counts = range(1, rules.space_counts + 1)
            actions += [Action("space", s, cards=n) for s in piles for n in counts]
            actions += [Action("space", s) for s in sources[rules.piles :]]
        return tuple(actions)

    @property
    def size(self) -> int:
        """Number of actions."""
        return self.rules.actions

    @property
    def offsets(self) -> dict[str, slice]:
        """Where each kind of action stands, by kind."""
        r = self.rules
        starts = (0, r.home_actions, r.cell_actions, r.tableau_actions, r.space_actions, r.actions)
        kinds = ("draw", "home", "cell", "tableau", "space")
        return {kind: slice(a, b) for kind, a, b in zip(kinds, starts, starts[1:], strict=False) if a < b}

    def decode(self, number: int) -> Action:
        """The action of that number."""
        if not 0 <= number < self.size:
            raise ValueError(
                f"action {number} is outside the space of {self.variant.name}, allowed: 0..{self.size - 1}"
            )
        return self._actions[number]

    def encode(self, action: Action) -> int:
        """The number of an action, the inverse of :meth:`decode`."""
        number = self._numbers.get(action)
        if number is None:
            raise ValueError(f"{self.variant.name} has no action {action}")
        return number

    def text(self, number: int) -> str:
        """Text of an action, one to one with its number: ``draw``, ``t3>f``, ``w>t5``, ``t2x4>s``."""
        action = self.decode(number)
        if action.kind == "draw":
            return "draw"
        source = source_name(self.variant, action.source)
        if action.kind == "tableau":
            return f"{source}>t{action.target + 1}"
        cards = f"x{action.cards}" if action.cards > 1 else ""
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
    """Name of a source: ``t1``.. for tableau piles, ``w`` for the waste, ``c1``.. for cells."""
    r = make_rules(variant)
    if source < r.piles:
        return f"t{source + 1}"
    return "w" if source < r.first_cell else f"c{source - r.first_cell + 1}"


@cache
def action_layout(variant: Variant) -> ActionLayout:
    """The action layout of a variant."""
    return ActionLayout(variant)


@cache
def observation_layout(variant: Variant, information: Information = "player") -> dict[str, slice]:
    """Named slices of the ``cards`` observation.

    ``t1``.. for the tableau piles, and, where the variant has them, ``cells``, ``waste``, ``stock_count``
    and, with ``information="thoughtful"``, ``stock``; always ``foundations``.
    """
    r = make_rules(variant)
    slices = {f"t{p + 1}": slice(p * r.pile_capacity, (p + 1) * r.pile_capacity) for p in range(r.piles)}
    if r.cells:
        slices["cells"] = slice(r.row_cells, r.row_waste)
    if r.has_stock:
        slices["waste"] = slice(r.row_waste, r.row_foundations)
    slices["foundations"] = slice(r.row_foundations, r.row_stock_count)
    if r.has_stock:
        slices["stock_count"] = slice(r.row_stock_count, r.row_stock)
        if information == "thoughtful":
            slices["stock"] = slice(r.row_stock, r.row_size)
    return slices
