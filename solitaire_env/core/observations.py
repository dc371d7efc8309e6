"""Observations: a game as a fixed-size array, in two kinds.

``cards``
    int8 card codes, the position row up to what the player sees. For networks that embed cards.
``features``
    float32 in [0, 1], for a plain ``MlpPolicy``: see :func:`feature_layout`.
"""

from functools import lru_cache
from typing import Annotated, Any, Final, get_args

import numpy as np
import numpy.typing as npt

from solitaire_env.core.cards import DOWN, FACE_DOWN, KING, SUITS
from solitaire_env.core.layout import (
    MEMORY,
    ONE_CARD,
    PLAYER,
    THOUGHTFUL,
    Information,
    Observation,
    Rules,
    make_rules,
    observation_layout,
    slices_of,
)
from solitaire_env.core.native import Bool, Bound, Float32, Int8, Int64, inner, kernel
from solitaire_env.core.rules.building import base_rank, wrapped
from solitaire_env.core.rules.state import State
from solitaire_env.core.variant import Variant
from solitaire_env.util.lazy import VARIANTS_KEPT

OBSERVATIONS: Final = get_args(Observation)
INFORMATION: Final = get_args(Information)

PART: Final = 128
"""Number of games that a thread processes at a time."""

# Number of features of each source and of each card of the suit-rank grid.
SOURCE_FEATURES: Final = 8
CARD_FEATURES: Final = 4


@lru_cache(VARIANTS_KEPT)
def cards_high(variant: Variant, information: Information = "player") -> npt.NDArray[np.int8]:
    """Highest value of each entry of the ``cards`` observation, int8 ``[size]``."""
    layout = observation_layout(variant, information)
    high = np.full(max(part.stop for part in layout.values()), 4 * KING + 3, dtype=np.int8)
    if information == "thoughtful" and variant.hides_cards:
        high[: make_rules(variant).row_cells] |= DOWN
    high[layout["foundations"]] = variant.ranks
    for name, highest in (("redeals", max(variant.passes - 1, 0)), ("base", variant.ranks)):
        if name in layout:
            high[layout[name]] = highest
    if variant.stock:
        high[layout["stock_count"]] = min(variant.stock, 127)
    high.setflags(write=False)
    return high


@lru_cache(VARIANTS_KEPT)
def feature_layout(variant: Variant, information: Information = "player") -> dict[str, slice]:
    """Named slices of the ``features`` observation.

    For each source (``t1``.., ``waste``, ``c1``..) of its playable card: the rank / ranks, four entries for
    the suit, 1 if it may go home; then, of a tableau pile, cards / capacity and, unless the game moves single
    cards, the length of the sequence at its end / ranks; of the waste cards / stock.

    ``cards``, for each card of the suit-rank grid (Clubs Ace to King, Diamonds, ...): shares of its copies
    that are home, playable, and buried in the tableau, and the fewest cards on top of a copy in the tableau /
    capacity (1 if there is none).

    ``counts``: stock / its size, spaces / piles, empty cells / cells, cards home / cards.

    If the game has them, ``rules``: redeals left / (passes - 1), the base's rank / ranks, and the number of
    face-down cards in each tableau pile / capacity. A face-down card counts as buried only with
    ``information="thoughtful"``.

    Unless ``information`` is ``"player"``, ``stock``: rank / ranks and four entries for the suit of each of
    its cards, the next to be drawn first; with ``"memory"`` 0 until the player has seen the stock.
    """
    r = make_rules(variant)
    names = [f"t{p + 1}" for p in range(r.piles)]
    names += ["waste"] * r.has_stock + [f"c{c + 1}" for c in range(r.cells)]
    sizes = dict.fromkeys(names, SOURCE_FEATURES)
    sizes |= {"cards": 4 * r.ranks * CARD_FEATURES, "counts": 4}
    if more := r.row_stock - r.row_redeals + r.hides * r.piles:
        sizes["rules"] = more
    if information != "player" and r.has_stock:
        sizes["stock"] = 5 * r.stock_capacity
    return slices_of(sizes)


def observation_size(variant: Variant, observation: Observation, information: Information = "player") -> int:
    """Number of entries of an observation."""
    layout = (observation_layout if observation == "cards" else feature_layout)(variant, information)
    return max(int(part.stop) for part in layout.values())


@inner
def _card_features(rules, state, b, thoughtful, depths, out):
    """Shares of the copies of each card that are home, playable and buried in the tableau, and the depth."""
    share = 1.0 / rules.decks
    grid = rules.sources * SOURCE_FEATURES
    # The features of card 4 * rank + suit start at suits * suit + ranks * rank.
    ranks = CARD_FEATURES
    suits = rules.ranks * CARD_FEATURES
    for place in range(grid, grid + SUITS * suits, CARD_FEATURES):
        out[place] = 0.0
        out[place + 1] = 0.0
        out[place + 2] = 0.0
        out[place + 3] = 1.0
    base = base_rank(rules, state, b)
    for suit in range(SUITS):
        first = rules.row_foundations + suit * rules.decks
        # Foundations of a suit are ordered fullest first: the last of them have cards that all have.
        cards = 0
        for home in range(rules.decks, 0, -1):
            while cards < state.rows[b, first + home - 1]:
                rank = wrapped(rules, base + cards)
                out[grid + suit * suits + (rank - 1) * ranks] = home * share
                cards += 1
    for source in range(rules.sources):
        card = state.tops[b, source]
        if card != 0:
            place = grid + (card & 3) * suits + ((card >> 2) - 1) * ranks
            out[place + 1] += share
            if source < rules.piles:
                out[place + 3] = 0.0
    for pile in range(rules.piles):
        start = pile * rules.pile_capacity
        height = state.heights[b, pile]
        for above in range(1, height):
            card = state.rows[b, start + height - 1 - above]
            if card < DOWN or thoughtful:
                card &= DOWN - 1
                place = grid + (card & 3) * suits + ((card >> 2) - 1) * ranks
                out[place + 2] += share
                out[place + 3] = min(out[place + 3], depths[above])


@inner
def _source_features(rules, state, b, depths, out):
    """The playable card of each source, and the cards under it."""
    for source in range(rules.sources):
        card = state.tops[b, source]
        place = source * SOURCE_FEATURES
        for k in range(SOURCE_FEATURES):
            out[place + k] = 0.0
        if card != 0:
            out[place] = (card >> 2) / rules.ranks
            out[place + 1 + (card & 3)] = 1.0
            out[place + 5] = (state.next_home[b] >> card) & 1
        if source < rules.piles:
            out[place + 6] = depths[state.heights[b, source]]
            if rules.moves != ONE_CARD:
                out[place + 7] = min(state.runs[b, source] / rules.ranks, 1.0)
        elif source < rules.first_cell:
            out[place + 6] = state.waste[b] / rules.stock_capacity


@inner
def _write_rule_features(rules, state, b, place, depths, out):
    """Redeals left, the base, and the face-down cards of each pile."""
    if rules.row_redeals < rules.row_base:
        out[place] = state.rows[b, rules.row_redeals] / (rules.passes - 1)
        place += 1
    if rules.row_base < rules.row_stock:
        out[place] = state.rows[b, rules.row_base] / rules.ranks
        place += 1
    for pile in range(rules.piles * rules.hides):
        down = 0
        for height in range(state.heights[b, pile]):
            down += int(state.rows[b, pile * rules.pile_capacity + height] >= DOWN)
        out[place + pile] = depths[down]


@inner
def _stock_features(rules, state, b, place, shown, out):
    """The cards of the stock, the next to be drawn first; 0 if they are not ``shown``."""
    stock = state.stock[b] * shown
    for k in range(rules.stock_capacity):
        out[place : place + 5] = 0.0
        if k < stock:
            card = state.rows[b, rules.row_stock + stock - 1 - k]
            out[place] = (card >> 2) / rules.ranks
            out[place + 1 + (card & 3)] = 1.0
        place += 5


@kernel(part=PART)
def _write_features(
    rules: Rules,
    state: State,
    information: int,
    stock_seen: Annotated[Bool, "batch"],
    depths: Annotated[Float32, "heights"],
    out: Annotated[Float32, "batch size"],
    games: Annotated[Int64, "n"],
    start: int,
    stop: int,
) -> None:
    """Write the features of games. ``depths`` has each number of cards / capacity of a pile."""
    counts = rules.sources * SOURCE_FEATURES + SUITS * rules.ranks * CARD_FEATURES
    for k in range(start, stop):
        b = games[k]
        row = out[b]
        _source_features(rules, state, b, depths, row)
        _card_features(rules, state, b, int(information == THOUGHTFUL), depths, row)
        row[counts] = state.stock[b] / max(rules.stock_capacity, 1)
        row[counts + 1] = state.spaces[b] / rules.piles
        row[counts + 2] = state.empty_cells[b] / max(rules.cells, 1)
        row[counts + 3] = state.home[b] / rules.cards
        place = counts + 4
        _write_rule_features(rules, state, b, place, depths, row)
        place += rules.row_stock - rules.row_redeals + rules.hides * rules.piles
        if information != PLAYER and rules.has_stock:
            shown = information == THOUGHTFUL or stock_seen[b]
            _stock_features(rules, state, b, place, int(shown), row)


@inner
def write_cards(rules, rows, information, stock_seen, b, out):
    """Write the ``cards`` observation of a game: the position row up to what the player sees.

    Users may change it, so it is never the position row itself.
    """
    if information != PLAYER:
        hides_stock = information == MEMORY and not stock_seen[b]
        for place in range(rules.row_stock, rules.row_size):
            card = rows[b, place]
            out[b, place] = FACE_DOWN if hides_stock and card != 0 else card
    hidden = rules.row_cells if rules.hides and information != THOUGHTFUL else 0
    for place in range(hidden):
        card = rows[b, place]
        out[b, place] = FACE_DOWN if card >= DOWN else card
    for place in range(hidden, rules.row_stock):
        out[b, place] = rows[b, place]


@kernel(part=PART)
def write_card_observations(
    rules: Rules,
    rows: Annotated[Int8, "batch rules.row_size"],
    information: int,
    stock_seen: Annotated[Bool, "batch"],
    out: Annotated[Int8, "batch size"],
    games: Annotated[Int64, "n"],
    start: int,
    stop: int,
) -> None:
    """Write the ``cards`` observation of games."""
    for k in range(start, stop):
        write_cards(rules, rows, information, stock_seen, games[k], out)


def observation_writer(
    rules: Rules,
    state: State,
    information: Information,
    stock_seen: npt.NDArray[np.bool_],
    out: npt.NDArray[Any],
    *games: npt.NDArray[np.int64],
) -> Bound:
    """A kernel that writes observations of games to their rows of ``out`` (``[batch, size]``): ``cards`` if
    it is int8, ``features`` if it is float32. It takes the rows, int64 ``[n]``, unless they are given here.
    """
    shows = INFORMATION.index(information), stock_seen
    if out.dtype == np.int8:
        return write_card_observations.bind(rules, state.rows, *shows, out, *games)
    depths = np.arange(rules.pile_capacity + 1) / rules.pile_capacity
    return _write_features.bind(rules, state, *shows, depths.astype(np.float32), out, *games)
