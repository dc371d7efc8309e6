"""The features of a position, read from the engine's state, as the player sees it.

There is a function for each group of features; all are listed in
:class:`~solitaire_env.move_features.columns.PlainColumns`. Dig-outs
(:mod:`solitaire_env.move_features.dig_outs`) and relaxed reachability
(:mod:`solitaire_env.move_features.reachability`) follow them.
"""

from typing import Annotated, Final, NamedTuple

from solitaire_env.core import Rules, State
from solitaire_env.core.cards import SUITS
from solitaire_env.core.native import Int8, Int64, inner, kernel, lowest_bit
from solitaire_env.core.rules.building import base_rank, follows, is_in, last_rank, next_lower
from solitaire_env.core.rules.foundations import home_suits, place_home
from solitaire_env.core.rules.state import copy_cards
from solitaire_env.move_features.arrays import make_arrays
from solitaire_env.move_features.columns import PLAIN
from solitaire_env.move_features.dig_outs import send_all_home
from solitaire_env.move_features.moves import cards_after_next, cards_in_sight, lowest_foundation
from solitaire_env.move_features.observed import GAME, write_seen

DEEP: Final = 12
"""Maximum depth of a card: deeper cards and unseen cards count as this deep."""
WASTE_DEPTH: Final = 24
"""Number of cards of the waste, from its top, that are searched for next foundation cards."""
WASTE_RUN: Final = 6
"""Number of cards of the waste, from its top, that may count as a run of playable cards."""
MOST_BLOCKED: Final = 6
"""Maximum number of sequences above a card; more count as this many."""
NONE_BLOCKED: Final = 9
"""The minimum number of sequences if there are no cards to count."""

AFTER: Final = 1
"""The row for the position after a move."""
PLAN: Final = 2
TRIAL: Final = 3
BEST: Final = 4
"""Rows in which planned moves are made, without mask and status."""
ROWS: Final = 5
"""Number of rows of a state for reading positions."""


class PileColumns(NamedTuple):
    """Columns of the notes of a pile."""

    sequences: int
    """Sequences in suit."""
    over_lower: int
    """Cards that lie over a lower one of any suit."""
    over_lower_in_suit: int
    """Cards that lie over a lower one of their suit."""
    from_king: int
    """Cards in a sequence that begins with a king at the base."""


PILE: Final = PileColumns(*range(len(PileColumns._fields)))


class Notes(NamedTuple):
    """Scratch arrays for the positions of one game at a time, with data that several of them share."""

    unseen: Annotated[Int64, "64"]
    """int64 ``[64]``: number of unseen copies of each card; most moves do not change it."""
    hand: Annotated[Int64, "64"]
    """int64 ``[64]``: available cards, for relaxed reachability."""
    depth: Annotated[Int64, "64"]
    """int64 ``[64]``: number of cards above each card."""
    piles: Annotated[Int64, "2 rules.piles columns"]
    """int64 ``[2, piles, 4]``: see :class:`PileColumns`; for the rows ``GAME`` and ``AFTER``."""


def make_notes(rules: Rules) -> Notes:
    """Notes for one game at a time."""
    return make_arrays(Notes, rules, columns=len(PILE))


# ---------------------------------------------------------------------------------------- the notes


@inner(inline=False)
def note_unseen(rules, state, b, unseen):
    """Count the unseen cards: all except those of piles, waste, cells and foundations."""
    unseen[:] = rules.decks
    for place in range(rules.row_foundations):
        unseen[state.rows[b, place]] -= 1
    # Foundations of alternating colors do not show their suits: of a color, take the lower suit while any is
    # left.
    base = base_rank(rules, state, b)
    for foundation in range(SUITS * rules.decks):
        for count in range(state.rows[b, rules.row_foundations + foundation]):
            card = 4 * ((base - 1 + count) % rules.ranks + 1)
            suits = home_suits(rules, count, foundation // rules.decks)
            suit = lowest_bit(suits)
            suits &= suits - 1
            if suits != 0 and unseen[card + suit] <= 0:
                suit = lowest_bit(suits)
            unseen[card + suit] -= 1


@kernel
def read_unseen(
    rules: Rules, state: State, observation: Annotated[Int8, "size"], unseen: Annotated[Int64, "64"]
) -> None:
    """Count the cards that are not in a ``cards`` observation, to ``unseen``, int64 ``[64]``."""
    write_seen(rules, state, GAME, observation)
    note_unseen(rules, state, GAME, unseen)


@inner(inline=False)
def note_pile(rules, state, b, pile, out):
    """Note a pile: see :class:`PileColumns`."""
    out[:] = 0
    lowest = 99
    lowest_of = 0x7F7F7F7F  # a byte for each suit
    previous = 0
    from_king = True
    base = pile * rules.pile_capacity
    for place in range(state.heights[b, pile]):
        card = state.rows[b, base + place]
        in_suit = follows(rules, card, previous)
        out[PILE.sequences] += not in_suit
        if card < SUITS:  # unknown
            from_king = False
            previous = 0
            continue
        rank, shift = place_home(rules, state, b, card) + 1, 8 * (card & 3)
        from_king = from_king and (in_suit if place else card >> 2 == last_rank(rules, state, b))
        out[PILE.from_king] += from_king
        out[PILE.over_lower] += rank > lowest
        lowest = min(lowest, rank)
        of_suit = (lowest_of >> shift) & 127
        if rank > of_suit:
            out[PILE.over_lower_in_suit] += 1
        else:
            lowest_of += (rank - of_suit) << shift
        previous = card


# ------------------------------------------------------------------------------- sets of cards


class CardSets(NamedTuple):
    """Sets of cards, as bits, that several groups of features read."""

    next: int
    """The next foundation cards."""
    after: int
    """The cards that go home right after one of these, without those that are also next."""
    in_sight: int
    """The playable cards; after a draw without that of the waste."""
    fitting: int
    """The cards that fit onto the playable card of a pile."""


@inner
def _find_sets(rules, state, b, drawn):
    next_cards = state.next_home[b]
    on_piles, in_sight = cards_in_sight(rules, state, b)
    if drawn:
        in_sight = on_piles
        for source in range(rules.first_cell, rules.sources):
            in_sight |= (1 << state.tops[b, source]) & ~15
    after = cards_after_next(rules, state, b) & ~next_cards
    return CardSets(next_cards, after, in_sight, next_lower(rules, on_piles))


@inner
def number_of(cards):
    """Number of cards in a set."""
    number = 0
    while cards:
        cards &= cards - 1
        number += 1
    return number


# ------------------------------------------------------------------------------------ the features


@inner
def _counts(rules, state, b, drawn, out):
    """Progress of the game: foundations, spaces, cells, stock and waste."""
    fullest = 0
    for suit in range(4):
        fullest += state.rows[b, rules.row_foundations + suit * rules.decks]
    stock = rules.stock_capacity
    out[PLAIN.home] = state.home[b] / rules.cards
    out[PLAIN.lowest] = lowest_foundation(rules, state, b) / 13
    out[PLAIN.fullest] = fullest / 52
    out[PLAIN.spaces] = state.spaces[b] / 4
    out[PLAIN.empty_cells] = state.empty_cells[b] / 8
    out[PLAIN.stock] = (state.stock[b] - drawn) / stock if stock else 0.0
    out[PLAIN.waste] = state.waste[b] / stock if stock else 0.0


@inner
def _piles(rules, state, b, piles, out):
    """Features of single piles."""
    sequences = over_lower = over_lower_in_suit = from_king = highest = ranks = useful = 0
    for pile in range(rules.piles):
        highest = max(highest, state.heights[b, pile])
        sequences += piles[pile, PILE.sequences]
        over_lower += piles[pile, PILE.over_lower]
        over_lower_in_suit += piles[pile, PILE.over_lower_in_suit]
        from_king += piles[pile, PILE.from_king]
        card = state.tops[b, pile]
        if card:
            # The suit's foundations are ordered fullest first.
            last = rules.row_foundations + ((card & 3) + 1) * rules.decks - 1
            ranks += card >> 2
            useful += card >= SUITS and place_home(rules, state, b, card) > state.rows[b, last]
    out[PLAIN.sequences] = 2 * sequences / rules.cards
    out[PLAIN.over_lower] = 2 * over_lower / rules.cards
    out[PLAIN.over_lower_in_suit] = 4 * over_lower_in_suit / rules.cards
    out[PLAIN.from_king] = 2 * from_king / rules.cards
    out[PLAIN.highest] = highest / 20
    out[PLAIN.ranks] = ranks / (13 * rules.piles)
    out[PLAIN.useful] = useful / rules.piles


@inner
def _measure_depths(rules, state, b, drawn, sets, depth):
    """Number of cards above the next foundation cards, and above those after them, at most ``DEEP``."""
    for card in range(4, 4 + 4 * rules.ranks):
        depth[card] = DEEP
    both = sets.next | sets.after
    for pile in range(rules.piles):
        end = pile * rules.pile_capacity + state.heights[b, pile] - 1
        for above in range(min(state.heights[b, pile], DEEP)):
            card = state.rows[b, end - above]
            if is_in(card, both):
                depth[card] = min(depth[card], above)
    for cell in range(rules.cells):
        depth[state.rows[b, rules.row_cells + cell]] = 0
    waste = state.waste[b]
    for above in range(min(waste, WASTE_DEPTH)):
        card = state.rows[b, rules.row_waste + waste - 1 - above]
        depth[card] = min(depth[card], above + drawn)


@inner
def _next_cards(sets, unseen, depth, out):
    """Depth of the next foundation cards, and of the cards after them."""
    deep = after_deep = not_seen = 0
    nearest = DEEP
    cards = sets.next
    while cards:
        card = lowest_bit(cards)
        cards &= cards - 1
        deep += depth[card]
        nearest = min(nearest, depth[card])
        not_seen += unseen[card] > 0 and depth[card] == DEEP
    cards = sets.after
    while cards:
        after_deep += depth[lowest_bit(cards)]
        cards &= cards - 1
    out[PLAIN.next_depth] = deep / 40
    out[PLAIN.next_nearest] = nearest / 12
    out[PLAIN.next_unseen] = not_seen / 8
    out[PLAIN.after_depth] = after_deep / 40


@inner
def _blocked(rules, state, b, piles, sets, out):
    """The sequences that fit nowhere, above next foundation cards, above those after them, in each pile."""
    free = state.spaces[b] + state.empty_cells[b]
    total = after_total = reachable = joinable = 0
    least = fewest = second = NONE_BLOCKED
    for pile in range(rules.piles):
        base = pile * rules.pile_capacity
        height = state.heights[b, pile]
        stuck = 0  # sequences that fit nowhere above the current card
        part = 0  # 1 if the cards above it in its own sequence fit nowhere
        first = True
        for place in range(height - 1, -1, -1):
            card = state.rows[b, base + place]
            if is_in(card, sets.next | sets.after):
                above = min(stuck + part, MOST_BLOCKED)
                if is_in(card, sets.next):
                    least = min(least, above)
                    total += above
                    reachable += above <= free
                else:
                    after_total += above
            fits = is_in(card, sets.fitting | sets.next)
            under = state.rows[b, base + place - 1] if place else 0
            if follows(rules, card, under):
                part = 1 - fits
            else:
                stuck += 1 - fits
                part = 0
                if first and place:
                    joinable += (next_lower(rules, 1 << under) & sets.in_sight) != 0
                first = False
        if piles[pile, PILE.from_king] < height:
            second = min(second, max(fewest, stuck))
            fewest = min(fewest, stuck)
    out[PLAIN.next_blocked] = total / 16
    out[PLAIN.next_least_blocked] = least / 4
    out[PLAIN.next_reachable] = reachable / 4
    out[PLAIN.after_blocked] = after_total / 16
    out[PLAIN.joinable] = joinable / 8
    out[PLAIN.fewest_stuck] = fewest / 4
    out[PLAIN.second_fewest_stuck] = second / 4


@inner
def _stock(rules, state, b, sets, unseen, out):
    """What the next card of the stock can do, averaged over the unseen cards."""
    home = fits = 0.0
    left = state.stock[b]
    if rules.hides and left:
        left = 0
        for card in range(SUITS, SUITS + SUITS * rules.ranks):
            left += unseen[card]
    cards = sets.next | sets.fitting
    while left and cards:
        card = lowest_bit(cards)
        cards &= cards - 1
        if is_in(card, sets.next):
            home += unseen[card]
        else:
            fits += unseen[card]
    if left:
        home /= left
        fits /= left
    out[PLAIN.stock_home] = home
    out[PLAIN.stock_fits] = fits
    return home, fits


@inner
def _waste(rules, state, b, drawn, sets, drawn_home, drawn_fits, out):
    """What the cards of the waste can do, from its top; for a card just drawn, what it may do."""
    waste = state.waste[b]
    end = rules.row_waste + waste - 1
    run = 0
    nearest = DEEP
    while nearest == DEEP and run < min(waste, DEEP):
        if is_in(state.rows[b, end - run], sets.next):
            nearest = run
        run += 1
    run = 0
    playable = sets.next | sets.fitting
    while not drawn and run < min(waste, WASTE_RUN) and is_in(state.rows[b, end - run], playable):
        run += 1
    card = state.rows[b, end] if waste else 0
    out[PLAIN.waste_home] = drawn_home if drawn else is_in(card, sets.next)
    out[PLAIN.waste_fits] = drawn_fits if drawn else is_in(card, sets.fitting)
    out[PLAIN.waste_run] = run / 4
    out[PLAIN.waste_nearest] = nearest / 12


@inner
def _cells(rules, state, b, out):
    """How far the cards in cells are from going home."""
    gaps = 0
    for cell in range(rules.cells):
        card = state.rows[b, rules.row_cells + cell]
        if card >= SUITS:
            # The suit's fullest foundation comes first.
            fullest = state.rows[b, rules.row_foundations + (card & 3) * rules.decks]
            gaps += place_home(rules, state, b, card) - fullest
    out[PLAIN.cells] = gaps / 64


@inner
def _play(plans, state, sets, out):
    """Playable cards: those that go home, and those that fit; from the cards in row ``PLAN``."""
    go_home = number_of(sets.in_sight & sets.next)
    chain = 0
    if go_home:
        copy_cards(plans, state, PLAN, TRIAL)
        send_all_home(plans, state, TRIAL)
        chain = state.home[TRIAL] - state.home[PLAN]
    out[PLAIN.chain] = chain / 13
    out[PLAIN.go_home] = go_home / 8
    out[PLAIN.fit] = number_of(sets.in_sight & sets.fitting) / 8


@inner(inline=False)
def write_plain(rules, plans, state, b, drawn, notes, out):
    """Write the plain features of the position in row ``b`` of a state with ``ROWS`` rows; copy its cards to
    row ``PLAN``.

    Parameters
    ----------
    plans
        The result of :func:`~solitaire_env.move_features.dig_outs.planning_rules`.
    b
        ``GAME`` or ``AFTER``; mask and status are not read.
    drawn
        For the position after a draw: the number of unknown cards drawn; else 0.
    notes
        Must contain the unseen cards and the piles of row ``b``.
    out
        float32 ``[NUM_PLAIN]``.
    """
    piles = notes.piles[b]
    sets = _find_sets(rules, state, b, drawn)
    _counts(rules, state, b, drawn, out)
    _piles(rules, state, b, piles, out)
    _measure_depths(rules, state, b, drawn, sets, notes.depth)
    _next_cards(sets, notes.unseen, notes.depth, out)
    _blocked(rules, state, b, piles, sets, out)
    home, fits = _stock(rules, state, b, sets, notes.unseen, out)
    _waste(rules, state, b, drawn, sets, home, fits, out)
    _cells(rules, state, b, out)
    copy_cards(rules, state, b, PLAN)
    if drawn:
        # The card on the waste is unknown, so plans do not use the waste.
        state.waste[PLAN] = 0
    _play(plans, state, sets, out)
