"""Observations: a game as a fixed-size array, in two kinds.

``cards``
    int8 card codes, the position row up to what the player sees. For networks that embed cards.
``features``
    float32 in [0, 1], for a plain ``MlpPolicy``: see :func:`feature_layout`.
"""

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from solitaire_env import engine
from solitaire_env._jit import jit_parallel, prange
from solitaire_env.cards import KING
from solitaire_env.layout import ONE_CARD, Rules, make_rules, observation_layout
from solitaire_env.notation import Position, position_from_row
from solitaire_env.variants import Variant

OBSERVATIONS: Final = ("cards", "features")
INFORMATION: Final = ("player", "thoughtful")

# What the features say of each source and of each card of the suit-rank grid.
SOURCE_FEATURES: Final = 8
CARD_FEATURES: Final = 4


def check_observation(observation: str, information: str) -> None:
    """Refuse an unknown kind of observation or information."""
    if observation not in OBSERVATIONS:
        raise ValueError(
            f"unknown observation {observation!r}, allowed: {', '.join(map(repr, OBSERVATIONS))}"
        )
    if information not in INFORMATION:
        raise ValueError(f"unknown information {information!r}, allowed: {', '.join(map(repr, INFORMATION))}")


@cache
def cards_high(variant: Variant, information: str = "player") -> npt.NDArray[np.int8]:
    """Highest value of each entry of the ``cards`` observation, int8 ``[size]``."""
    layout = observation_layout(variant, information)
    high = np.full(max(part.stop for part in layout.values()), 4 * KING + 3, dtype=np.int8)
    high[layout["foundations"]] = variant.ranks
    if variant.stock:
        high[layout["stock_count"]] = min(variant.stock, 127)
    high.setflags(write=False)
    return high


def decode_cards(variant: Variant, observation: npt.NDArray[np.int8]) -> Position:
    """The position that a ``cards`` observation shows; a hidden stock is face down."""
    try:
        row = np.asarray(observation)
    except ValueError:  # lists of different lengths, or too deep
        raise TypeError(f"observation is a {type(observation).__name__}, allowed: an array") from None
    return position_from_row(variant, row)


@cache
def feature_layout(variant: Variant, information: str = "player") -> dict[str, slice]:
    """Named slices of the ``features`` observation.

    For each source (``t1``.., ``waste``, ``c1``..) of its playable card: the rank / ranks, four entries for
    the suit, 1 if it may go home; then, of a tableau pile, cards / capacity and, unless the game moves single
    cards, the length of the sequence at its end / ranks; of the waste cards / stock.

    ``cards``, for each card of the suit-rank grid (Clubs Ace to King, Diamonds, ...): share of its copies
    that are home, that are playable, that lie buried in the tableau, and the fewest cards on top of a copy in
    the tableau / capacity (1 where there is none).

    ``counts``: stock / its size, spaces / piles, empty cells / cells, cards home / cards.

    With ``information="thoughtful"``, ``stock``: rank / ranks and four entries for the suit of each of its
    cards, the next to be drawn first.
    """
    r = make_rules(variant)
    names = [f"t{p + 1}" for p in range(r.piles)]
    names += ["waste"] * r.has_stock + [f"c{c + 1}" for c in range(r.cells)]
    sizes = [(name, SOURCE_FEATURES) for name in names]
    sizes += [("cards", 4 * r.ranks * CARD_FEATURES), ("counts", 4)]
    if information == "thoughtful" and r.has_stock:
        sizes.append(("stock", 5 * r.stock_capacity))
    slices = {}
    start = 0
    for name, size in sizes:
        slices[name] = slice(start, start + size)
        start += size
    return slices


def observation_size(variant: Variant, observation: str, information: str = "player") -> int:
    """Number of entries of an observation."""
    layout = (observation_layout if observation == "cards" else feature_layout)(variant, information)
    return max(int(part.stop) for part in layout.values())


@jit_parallel
def _features(rules, state, thoughtful, out):
    """Write the features of every game into ``out`` (float32 ``[batch, size]``)."""
    ranks = float(rules.ranks)
    grid = rules.sources * SOURCE_FEATURES
    counts = grid + 4 * rules.ranks * CARD_FEATURES
    copies = float(rules.decks)
    for b in prange(out.shape[0]):
        row = state.rows[b]
        home = state.rows[b, rules.row_foundations : rules.row_stock_count]
        out[b, :counts] = 0.0
        for suit in range(4):
            for rank in range(1, rules.ranks + 1):
                place = grid + (suit * rules.ranks + rank - 1) * CARD_FEATURES
                for deck in range(rules.decks):
                    if int(home[suit * rules.decks + deck]) >= rank:
                        out[b, place] += 1.0 / copies
                out[b, place + 3] = 1.0
        for source in range(rules.sources):
            place = source * SOURCE_FEATURES
            card = int(state.tops[b, source])
            if card != 0:
                out[b, place] = (card >> 2) / ranks
                out[b, place + 1 + (card & 3)] = 1.0
                for deck in range(rules.decks):
                    if int(home[(card & 3) * rules.decks + deck]) + 1 == (card >> 2):
                        out[b, place + 5] = 1.0
                out[b, grid + ((card & 3) * rules.ranks + (card >> 2) - 1) * CARD_FEATURES + 1] += (
                    1.0 / copies
                )
            if source < rules.piles:
                height = int(state.heights[b, source])
                start = source * rules.pile_capacity
                for above in range(height):
                    card = int(row[start + height - 1 - above])
                    cell = grid + ((card & 3) * rules.ranks + (card >> 2) - 1) * CARD_FEATURES
                    if above > 0:
                        out[b, cell + 2] += 1.0 / copies
                    out[b, cell + 3] = min(out[b, cell + 3], np.float32(above / rules.pile_capacity))
                out[b, place + 6] = height / rules.pile_capacity
                if rules.moves != ONE_CARD:
                    out[b, place + 7] = int(state.runs[b, source]) / ranks
            elif source < rules.first_cell:
                out[b, place + 6] = int(state.waste[b]) / rules.stock_capacity
        out[b, counts] = int(state.stock[b]) / max(rules.stock_capacity, 1)
        out[b, counts + 1] = int(state.spaces[b]) / rules.piles
        out[b, counts + 2] = int(state.empty_cells[b]) / max(rules.cells, 1)
        out[b, counts + 3] = int(state.home[b]) / rules.cards
        if thoughtful:
            stock = int(state.stock[b])
            for k in range(rules.stock_capacity):
                place = counts + 4 + 5 * k
                out[b, place : place + 5] = 0.0
                if k < stock:
                    card = int(row[rules.row_stock + stock - 1 - k])
                    out[b, place] = (card >> 2) / ranks
                    out[b, place + 1 + (card & 3)] = 1.0


def write_features(rules: Rules, state: engine.State, information: str, out: npt.NDArray[np.float32]) -> None:
    """Write the ``features`` observation of every game into ``out`` (float32 ``[batch, size]``)."""
    _features(rules, state, int(information == "thoughtful" and rules.has_stock), out)
