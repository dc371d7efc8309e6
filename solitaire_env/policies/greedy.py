"""A policy that plays the best move in a fixed order, written by hand."""

from typing import Annotated, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Rules, State, make_state
from solitaire_env.core.cards import SUITS
from solitaire_env.core.engine import decode, fits, is_in, place_home
from solitaire_env.core.native import Int8, Int64, inner, kernel
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.observed import GAME, place_cards
from solitaire_env.policies.policy import Array, Policy

LAST: Final = -1e9
"""Score of a move that Greedy plays only if no other is legal."""


class _Table(NamedTuple):
    """Scratch arrays: cards of one game at a time, int64."""

    heights: Annotated[Int64, "rules.piles"]
    """Cards in each pile ``[piles]``."""
    tops: Annotated[Int64, "rules.sources"]
    """The playable card of each source ``[sources]``, 0 if there is none."""
    dig_pile: Annotated[Int64, "one"]
    """The pile to dig out ``[1]``, -1 if there is none."""


class Greedy(Policy):
    """The best move in a fixed order; never one that undoes another, unless no other is legal.

    1. Home, the lowest rank first: no card is held back.
    2. A sequence from one pile onto another, unless its lowest card already lies on a card that it could go
       onto.
    3. From a cell or the waste onto a pile, the highest rank first.
    4. From a pile of at most three cards to a space, the shortest first; from the waste to a space.
    5. Draw.
    6. From a longer pile, or a cell, to a space.
    7. To a cell, from the pile to dig out: the one where a next foundation card lies under the fewest cards.
       No card moves onto that pile.
    8. Redeal.

    Every move except draws and moves home takes a card from the waste or from the pile to dig out, makes one
    more card lie on one that it fits onto, or fills a space: no position repeats while one of these is legal.
    But with unlimited redeals the stock cycles at the end.
    """

    name = "greedy"
    deterministic = True

    def __init__(self, spec: GameSpec) -> None:
        if spec.settings.observation != "cards":
            raise ValueError(f"policy 'greedy' reads observation 'cards', not {spec.settings.observation!r}")
        self.moves = spec.variant.moves
        self.rules = spec.rules
        layout = [spec.actions.decode(action) for action in range(spec.num_actions)]
        # By number, for the kernel: source and target pile of each action.
        self.sources = np.array([action.source for action in layout], dtype=np.int64)
        self.targets = np.array([action.target for action in layout], dtype=np.int64)
        self.cards = np.array([action.cards for action in layout], dtype=np.int64)

    def __call__(
        self,
        observations: Array,
        masks: npt.NDArray[np.int8],
        *,
        uniforms: npt.NDArray[np.float64] | None = None,
        games: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[np.int64]:
        """Actions ``[n]``."""
        actions = np.empty(len(masks), dtype=np.int64)
        if self.rules.varied:
            _choose_varied(
                self.rules, make_state(self.rules, 1), np.ascontiguousarray(observations, dtype=np.int8),
                np.ascontiguousarray(masks).view(np.int8), actions,
            )  # fmt: skip
            return actions
        _choose(
            self.rules, _make_table(self.rules), self.sources, self.targets, self.cards,
            np.ascontiguousarray(observations, dtype=np.int8), np.ascontiguousarray(masks).view(np.int8),
            actions,
        )  # fmt: skip
        return actions


def _make_table(rules: Rules) -> _Table:
    """Scratch arrays for the cards of one game at a time."""
    return _Table(*(np.zeros(size, dtype=np.int64) for size in (rules.piles, rules.sources, 1)))


# ---------------------------------------------------------------------------------------- kernels


@inner
def _card_at(rules, scratch, cards, pile, depth):  # type: ignore[no-untyped-def]
    """The card at a depth (1 is the playable one) of a pile; 0 if there is none."""
    place = scratch.heights[pile] - depth
    return int(cards[pile * rules.pile_capacity + place]) if place >= 0 and depth > 0 else 0


@inner
def _read_cards(rules, scratch, cards):  # type: ignore[no-untyped-def]
    """Store the heights of piles and the playable cards."""
    for pile in range(rules.piles):
        height = 0
        while height < rules.pile_capacity and cards[pile * rules.pile_capacity + height] != 0:
            height += 1
        scratch.heights[pile] = height
        scratch.tops[pile] = _card_at(rules, scratch, cards, pile, 1)
    if rules.has_stock:
        height = 0
        while height < rules.stock_capacity and cards[rules.row_waste + height] != 0:
            height += 1
        scratch.tops[rules.piles] = int(cards[rules.row_waste + height - 1]) if height else 0
    for cell in range(rules.cells):
        scratch.tops[rules.first_cell + cell] = int(cards[rules.row_cells + cell])


@inner
def _find_dig_pile(rules, scratch, cards):  # type: ignore[no-untyped-def]
    """Find the pile where a next foundation card lies under the fewest cards."""
    scratch.dig_pile[0] = -1
    fewest = rules.pile_capacity
    for pile in range(rules.piles):
        for above in range(min(scratch.heights[pile], fewest)):
            card = _card_at(rules, scratch, cards, pile, above + 1)
            # A suit's fullest foundation comes first.
            if card >> 2 == int(cards[rules.row_foundations + (card & 3) * rules.decks]) + 1:
                fewest = above
                scratch.dig_pile[0] = pile
                break


@inner
def _score_to_pile(rules, scratch, cards, source, target):  # type: ignore[no-untyped-def]
    """Onto piles: a sequence moves from where it breaks."""
    if rules.cells and target == scratch.dig_pile[0]:
        return LAST
    rank = scratch.tops[source] >> 2
    if source >= rules.piles:
        return 700.0 + rank
    count = (scratch.tops[target] >> 2) - rank
    lowest = _card_at(rules, scratch, cards, source, count)
    if fits(rules, lowest, _card_at(rules, scratch, cards, source, count + 1)):
        return LAST
    height = scratch.heights[source]
    return 800.0 + 20.0 * (height == count) - height


@inner
def _score_to_space(rules, scratch, cards, source, count):  # type: ignore[no-untyped-def]
    """To spaces: short piles first, which soon leave another space; the waste's card before drawing, once."""
    if source < rules.piles:
        lowest = _card_at(rules, scratch, cards, source, count)
        under = _card_at(rules, scratch, cards, source, count + 1)
        whole = under != 0 and not fits(rules, lowest, under)
        return 400.0 - 10.0 * scratch.heights[source] + count if whole else LAST
    if source < rules.first_cell:
        # One pass: a card of the waste that is not placed is soon covered.
        return 360.0 if cards[rules.row_stock_count] else 450.0
    return 300.0 + (scratch.tops[source] >> 2)


@inner
def _score(rules, scratch, cards, action, source, target, count):  # type: ignore[no-untyped-def]
    """The score of a legal action."""
    if action < rules.home_actions:
        return 350.0
    if action < rules.cell_actions:
        return 1000.0 - (scratch.tops[source] >> 2)
    if action < rules.tableau_actions:
        if source >= rules.piles:
            return 10.0
        return 100.0 if source == scratch.dig_pile[0] else LAST
    if action < rules.space_actions:
        return _score_to_pile(rules, scratch, cards, source, target)
    return _score_to_space(rules, scratch, cards, source, count)


@kernel
def _choose(
    rules: Rules,
    scratch: _Table,
    sources: Annotated[Int64, "rules.actions"],
    targets: Annotated[Int64, "rules.actions"],
    counts: Annotated[Int64, "rules.actions"],
    observations: Annotated[Int8, "n size"],
    masks: Annotated[Int8, "n rules.actions"],
    chosen: Annotated[Int64, "n"],
) -> None:
    """Write the legal action with the highest score of each game; the first of equal ones."""
    for game in range(masks.shape[0]):
        cards = observations[game]
        _read_cards(rules, scratch, cards)
        if rules.cells:
            _find_dig_pile(rules, scratch, cards)
        most = 2.0 * LAST
        chosen[game] = 0
        for action in range(masks.shape[1]):
            if masks[game, action] != 0:
                score = _score(
                    rules, scratch, cards, action, sources[action], targets[action], counts[action]
                )  # fmt: skip
                if score > most:
                    most = score
                    chosen[game] = action


# Varied games are set in the engine's state, which knows what moves, and from where.


@inner
def _find_varied_dig_pile(rules, state):  # type: ignore[no-untyped-def]
    """The pile where a card that goes home lies under the fewest cards; -1 if there is none."""
    dig_pile = -1
    fewest = rules.pile_capacity
    for pile in range(rules.piles):
        height = int(state.heights[GAME, pile])
        for above in range(min(height, fewest)):
            card = int(state.rows[GAME, pile * rules.pile_capacity + height - 1 - above])
            if is_in(card, int(state.next_home[GAME])):
                fewest = above
                dig_pile = pile
                break
    return dig_pile


@inner
def _score_varied_pile(rules, state, source, target, count, dig_pile):  # type: ignore[no-untyped-def]
    """From a pile onto another or to a space: never cards off one that they fit onto; turning up a card
    counts like a space.
    """
    height = int(state.heights[GAME, source])
    stay = source * rules.pile_capacity + height - count
    under = int(state.rows[GAME, stay - 1]) if height > count else 0
    if fits(rules, int(state.rows[GAME, stay]), under):
        return LAST
    if int(state.heights[GAME, target]) == 0:
        return 400.0 - 10.0 * height + count if under else LAST
    return LAST if rules.cells and target == dig_pile else 800.0 + 20.0 * (under < SUITS) - height


@inner(inline=False)
def _score_varied(rules, state, action, dig_pile):  # type: ignore[no-untyped-def]
    """The score of a legal action of a varied game."""
    if action < rules.home_actions:
        return 350.0 if action == 0 else 5.0
    if action >= rules.worry_actions:
        return 1.5 * LAST
    source, target, count = decode(rules, state, GAME, action)
    rank = int(state.tops[GAME, source]) >> 2
    if action < rules.cell_actions:
        return 1000.0 - place_home(rules, state, GAME, int(state.tops[GAME, source]))
    if action < rules.tableau_actions:
        return 10.0 if source >= rules.piles else (100.0 if source == dig_pile else LAST)
    if source < rules.piles:
        return _score_varied_pile(rules, state, source, target, count, dig_pile)
    if action < rules.space_actions:
        return LAST if rules.cells and target == dig_pile else 700.0 + rank
    if source < rules.first_cell:
        # A card of the waste that is not placed is soon covered.
        return 360.0 if int(state.stock[GAME]) else 450.0
    return 300.0 + rank


@kernel
def _choose_varied(
    rules: Rules,
    state: State,
    observations: Annotated[Int8, "n size"],
    masks: Annotated[Int8, "n rules.actions"],
    chosen: Annotated[Int64, "n"],
) -> None:
    """The same in varied games."""
    for game in range(masks.shape[0]):
        place_cards(rules, state, GAME, observations[game])
        dig_pile = _find_varied_dig_pile(rules, state) if rules.cells else -1
        most = 2.0 * LAST
        chosen[game] = 0
        finished = True
        for action in range(masks.shape[1]):
            finished = finished and masks[game, action] != 0
        for action in range(masks.shape[1]):
            if masks[game, action] != 0 and not finished:
                score = _score_varied(rules, state, action, dig_pile)
                if score > most:
                    most = score
                    chosen[game] = action
