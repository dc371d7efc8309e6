"""The compiled rules: which cards fit where, fill a space or move, and the result of a move.

Read in this order: state, what fits where, the mask, moves, deals, the kernels for other modules. A kernel
takes the variant as :class:`~solitaire_env.core.layout.Rules` (plain ints), the games as :class:`State`
(arrays, modified in place) and a row number; it knows no strings, objects, rewards or limits.

Cards are int8 and are widened when they are read: compiled and interpreted int8 sums differ.

The legal-action mask is updated incrementally. A move changes the cards of at most two places, so the few
moves that these make legal are cleared before and set after it; entries to spaces or cells change when the
first space or cell appears or the last one is filled, those of long sequences when the supermove capacity
changes. Games with further rules (``Rules.varied``: face-down cards, redeals, groups out of order, ...) have
their own step, see "varied games", which after most moves rewrites the whole mask.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.cards import DOWN, FACE_DOWN, SUITS
from solitaire_env.core.layout import (
    ALTERNATE_COLOR,
    ANY_GROUP,
    ANY_SUIT,
    DEAL,
    MAX_STOCK_COUNT,
    ONE_CARD,
    OTHER_SUIT,
    PLAY,
    PLAYING,
    SAME_COLOR,
    SAME_SUIT,
    SEQUENCE,
    SPACES_ANY,
    SPACES_NONE,
    SPACES_RANK,
    STUCK,
    SUPERMOVE,
    WON,
    Rules,
)
from solitaire_env.core.native import (
    Int8,
    Int16,
    Int64,
    UInt64,
    inner,
    kernel,
    lowest_bit,
)

# ----------------------------------------------------------------------------------------- state

KEYS: Final = 60
"""Keys of cards, see "what fits where", are below 56; the card that a King fits on is 4 higher."""
RANKS: Final = 14
"""Ranks are below this."""


class State(NamedTuple):
    """A batch of games of one variant. Only ``rows`` defines the position; the rest is derived from it."""

    rows: Annotated[Int8, "batch rules.row_size"]
    """Position rows ``[batch, row_size]``, see :mod:`solitaire_env.core.layout`."""
    tops: Annotated[Int8, "batch rules.sources"]
    """The playable card of each source ``[batch, sources]``, EMPTY if there is none."""
    keys: Annotated[Int8, "batch rules.sources"]
    """The key of each playable card ``[batch, sources]``, see "what fits where"; 0 if there is none."""
    units: Annotated[Int8, "batch rules.sources"]
    """Maximum number of cards that may move together from each source to a pile ``[batch, sources]``."""
    links: Annotated[Int8, "batch keys"]
    """Linked lists of the sources by the key of their playable card ``[batch, KEYS + sources]``, in order:
    number of the first source with a key, and of the next one after each source; from 1, 0 for none."""
    deeper: Annotated[Int64, "batch RANKS"]
    """By rank, the piles that may give such a card with others on it ``[batch, RANKS]``, as bits."""
    takes: Annotated[Int64, "batch rules.piles"]
    """In varied games, the cards that each tableau pile takes, as bits ``[batch, piles]``; else unused."""
    movable: Annotated[Int64, "batch rules.sources"]
    """In varied games, the cards of each source that may move to a pile, with those on them, as bits
    ``[batch, sources]``; else unused."""
    may_get_full: Annotated[Int8, "batch"]
    """1 if a pile might get full, which never happens in a game from a deal ``[batch]``."""
    next_home: Annotated[Int64, "batch"]
    """The cards that the foundations take ``[batch]``, as bits."""
    heights: Annotated[Int8, "batch rules.piles"]
    """Cards in each tableau pile ``[batch, piles]``."""
    runs: Annotated[Int8, "batch rules.piles"]
    """Length of the sequence at the end of each tableau pile ``[batch, piles]``; 1 in one-card games, 0 in a
    space."""
    stock: Annotated[Int16, "batch"]
    """Cards in the stock ``[batch]``."""
    waste: Annotated[Int16, "batch"]
    """Cards in the waste ``[batch]``."""
    home: Annotated[Int64, "batch"]
    """Cards on the foundations ``[batch]``."""
    spaces: Annotated[Int16, "batch"]
    """Empty tableau piles ``[batch]``."""
    empty_cells: Annotated[Int16, "batch"]
    """Empty cells ``[batch]``."""
    mask: Annotated[Int8, "batch rules.actions"]
    """Legal actions ``[batch, actions]``, 1 where legal; all ones when the game is finished."""
    status: Annotated[Int8, "batch"]
    """PLAYING, WON or STUCK ``[batch]``."""


class Events(NamedTuple):
    """The effects of the last action ``[batch]``, int8, 1 for yes."""

    went_home: Annotated[Int8, "events"]
    """A card went to a foundation; -1 if one worried back."""
    advanced: Annotated[Int8, "events"]
    """The game moved on for good: a card left the stock while redeals are limited, or was turned up."""
    invalid: Annotated[Int8, "events"]
    """The action was illegal and changed nothing."""


def make_state(rules: Rules, batch: int) -> State:
    """The state of ``batch`` games with all piles empty."""

    def zeros(dtype: type, *shape: int) -> npt.NDArray[Any]:
        return np.zeros((batch, *shape), dtype=dtype)

    return State(
        rows=zeros(np.int8, rules.row_size),
        tops=zeros(np.int8, rules.sources),
        keys=zeros(np.int8, rules.sources),
        units=zeros(np.int8, rules.sources),
        links=zeros(np.int8, KEYS + rules.sources),
        deeper=zeros(np.int64, RANKS),
        takes=zeros(np.int64, rules.piles),
        movable=zeros(np.int64, rules.sources),
        may_get_full=zeros(np.int8),
        next_home=zeros(np.int64),
        heights=zeros(np.int8, rules.piles),
        runs=zeros(np.int8, rules.piles),
        stock=zeros(np.int16),
        waste=zeros(np.int16),
        home=zeros(np.int64),
        spaces=zeros(np.int16),
        empty_cells=zeros(np.int16),
        mask=zeros(np.int8, rules.actions),
        status=zeros(np.int8),
    )


def make_events(batch: int) -> Events:
    """Events of ``batch`` games."""
    return Events(*(np.zeros(batch, dtype=np.int8) for _ in Events._fields))


class Deals(NamedTuple):
    """Arrays for dealing new games."""

    sizes: Annotated[Int64, "rules.piles"]
    """Cards dealt to each tableau pile ``[piles]``."""
    down: Annotated[Int8, "rules.piles height"]
    """DOWN for each card of each pile that is dealt face down, else 0 ``[piles, cards of the largest]``."""
    streams: Annotated[UInt64, "deals"]
    """State of each game's stream of deal numbers ``[batch]``."""
    numbers: Annotated[Int64, "deals"]
    """The deal number of each game ``[batch]``; 0 if it did not start from one."""
    shuffles: Annotated[UInt64, "deals"]
    """Scratch array: states of the shuffling generators ``[batch]``."""
    orders: Annotated[Int8, "deals rules.cards"]
    """The order in which the cards of each game leave the pack ``[batch, cards]``."""


def make_deals(
    rules: Rules, sizes: Sequence[int], batch: int, face_down: Sequence[Iterable[int]] = ()
) -> Deals:
    """Arrays for the deals of ``batch`` games, with ``sizes`` cards to the tableau piles.

    ``face_down`` has for each pile the places, from the bottom, of the cards that are dealt face down.
    """
    down = np.zeros((rules.piles, max(sizes)), dtype=np.int8)
    for pile, places in enumerate(face_down):
        down[pile, list(places)] = DOWN
    return Deals(
        sizes=np.array(sizes, dtype=np.int64),
        down=down,
        streams=np.zeros(batch, dtype=np.uint64),
        numbers=np.zeros(batch, dtype=np.int64),
        shuffles=np.zeros(batch, dtype=np.uint64),
        orders=np.zeros((batch, rules.cards), dtype=np.int8),
    )


# ------------------------------------------------------------------------------- what fits where
#
# Along a sequence, cards stay in one strand: a suit; with alternating colors, the black cards of even and the
# red cards of odd rank, or the others; if any suit builds, all cards. The key of a card is 4 * rank + strand,
# so a card may be placed on another if its key is 4 less, and n cards on a pile if the key of the last of
# them is 4 * n less.


@inner
def _at(place):
    """The index, declared nonnegative, so that no counting from the end of the array is compiled."""
    return place & 0xFFFF


@inner
def _key(rules, card):
    """The rank and strand of a card as 4 * rank + strand; 0 for EMPTY."""
    if rules.build == SAME_SUIT:
        return card
    if rules.build == ALTERNATE_COLOR:
        # Clubs 0 and Spades 3 are black, Diamonds 1 and Hearts 2 are red.
        red = ((card + 1) >> 1) & 1
        return (card & ~3) + (red ^ ((card >> 2) & 1)) if card else 0
    return card & ~3


_BLACK: Final = 0b1001
_RED: Final = 0b0110


@inner
def _color(card):
    """The suits of a card's color, as bits."""
    return _RED if ((card + 1) & 2) else _BLACK


@inner
def cards_below(rules, card, build):
    """The cards, as bits, that may be placed on a card if building follows ``build``; none on EMPTY."""
    rank = (card >> 2) - 1
    if rank == 0 and rules.wraps:
        rank = rules.ranks
    if rank <= 0:
        return 0
    suits = 1 << (card & 3)
    if build == ALTERNATE_COLOR:
        suits = 15 ^ _color(card)
    elif build == ANY_SUIT:
        suits = 15
    elif build == OTHER_SUIT:
        suits ^= 15
    elif build == SAME_COLOR:
        suits = _color(card)
    return suits << (4 * rank)


@inner
def next_lower(rules, cards):
    """The next lower cards of the same suits, both as bits; a King below an Ace if ranks wrap."""
    lower = (cards >> 4) & ~15
    return lower | ((cards >> 4) & 15) << (4 * rules.ranks) if rules.wraps else lower


@inner
def follows(rules, card, onto):
    """Whether a card is the next lower one of another's suit; neither may be face down or EMPTY."""
    if card + 4 == onto:
        return card >= SUITS
    return rules.wraps != 0 and SUITS <= onto < 2 * SUITS and card == onto + 4 * (rules.ranks - 1)


@inner
def fits(rules, card, onto):
    """Whether a card may be placed on another; neither may be EMPTY."""
    return is_in(card, cards_below(rules, onto, rules.build)) != 0


@inner
def _wrapped(rules, rank):
    """A rank that is out of range by at most one round, wrapped. Faster than a division."""
    if rank > rules.ranks:
        return rank - rules.ranks
    return rank if rank > 0 else rank + rules.ranks


@inner
def base_rank(rules, state, b):
    """The rank of the first card of each foundation."""
    return rules.base if rules.base else int(state.rows[b, rules.row_base])


@inner
def last_rank(rules, state, b):
    """The rank of the last card of each foundation: the one below the base."""
    if not rules.wraps:
        return rules.ranks
    return _wrapped(rules, base_rank(rules, state, b) - 1)


@inner
def place_home(rules, state, b, card):
    """Number of cards under a card on its foundation."""
    place = (card >> 2) - 1
    if rules.wraps:
        place = _wrapped(rules, place + 2 - base_rank(rules, state, b)) - 1
    return place


@inner
def space_rank(rules, state, b):
    """The only rank that fills a space, if not every rank does."""
    return rules.space_rank if rules.space_rank else last_rank(rules, state, b)


@inner
def space_fillers(rules, state, b):
    """The cards, as bits, that may move to a space, with any cards on them."""
    if rules.spaces == SPACES_NONE:
        return 0
    return 15 << (4 * space_rank(rules, state, b)) if rules.spaces == SPACES_RANK else ~15


@inner
def fills_space(rules, state, b, card):
    """Whether a card, or the sequence that it leads, may move to a space; EMPTY may not."""
    return is_in(card, space_fillers(rules, state, b)) != 0


@inner
def playable(rules, state, b, source):
    """The playable card of a source, read from the position row; EMPTY if there is none."""
    if source < rules.piles:
        height = int(state.heights[b, _at(source)])
        return int(state.rows[b, _at(source * rules.pile_capacity + height - 1)]) if height else 0
    if source < rules.first_cell:
        waste = int(state.waste[b])
        return int(state.rows[b, _at(rules.row_waste + waste - 1)]) if waste else 0
    return int(state.rows[b, _at(rules.row_cells + source - rules.first_cell)])


@inner
def sequence_length(rules, state, b, pile, most):
    """Length of the sequence at the end of a pile, at most ``most``, which is at most its height."""
    if most == 0:
        return 0
    if rules.varied:
        return _varied_sequence(rules, state, b, pile, most)[0]
    last = pile * rules.pile_capacity + int(state.heights[b, _at(pile)]) - 1
    key = _key(rules, int(state.rows[b, _at(last)]))
    length = 1
    while length < most and _key(rules, int(state.rows[b, _at(last - length)])) == key + 4 * length:
        length += 1
    return length


@inner
def is_in(card, cards):
    """Whether a card is in a set (bits); EMPTY is in none."""
    return (cards >> card) & 1


@inner
def goes_home(state, b, card):
    """Whether a foundation takes the card; none takes EMPTY."""
    return is_in(card, int(state.next_home[b]))


@inner
def foundation_for(rules, state, b, card):
    """The index in the row of the foundation that takes the card, which must be a card that goes home.

    Foundations of a suit are ordered fullest first, so the first match is the fullest.
    """
    if rules.varied:
        return _varied_foundation(rules, state, b, card)
    place = rules.row_foundations + (card & 3) * rules.decks
    while int(state.rows[b, _at(place)]) != (card >> 2) - 1:
        place += 1
    return place


@inner
def _update_next_home(rules, state, b, suit):
    """Update the cards of a suit that go home now; in varied games those of all suits."""
    if rules.varied:
        _update_varied_next_home(rules, state, b)
        return
    cards = 0
    first = rules.row_foundations + suit * rules.decks
    for place in range(first, first + rules.decks):
        cards |= 16 << (4 * int(state.rows[b, place]))
    ranks = (1 << (4 * rules.ranks + 4)) - 1
    of_suit = 0x11111111111111 << suit
    state.next_home[b] = (int(state.next_home[b]) & ~of_suit) | ((cards & ranks) << suit)


@inner
def carry_limit(rules, state, b, to_space):
    """Maximum number of cards that may move together.

    A supermove does what single moves could: each empty cell holds a card meanwhile, and if any card fills a
    space, each space except the target doubles the number. Kings-only spaces hold no such cards.
    """
    if rules.moves == ONE_CARD:
        return 1
    if rules.moves == SUPERMOVE:
        cards = int(state.empty_cells[b]) + 1
        if rules.spaces == SPACES_ANY:
            between = int(state.spaces[b]) - to_space
            # No sequence is longer than its suit: 2**5 is enough.
            cards <<= max(0, min(between, 5))
        return cards
    return rules.ranks if rules.moves == SEQUENCE else rules.pile_capacity


@inner
def _most_to_space(rules, state, b, pile):
    """Maximum number of cards of a pile that may move to a space. If only Kings fill it, only the whole
    sequence that a King leads moves.

    A whole pile moving to a space only renames the pile: that is not a move.
    """
    height = int(state.heights[b, pile])
    run = int(state.runs[b, pile])
    capacity = carry_limit(rules, state, b, 1)
    if rules.spaces == SPACES_RANK:
        # The King is the deepest card of a run that it leads.
        leader = int(state.rows[b, pile * rules.pile_capacity + height - run])
        return run if fills_space(rules, state, b, leader) and run <= capacity and run < height else 0
    return min(run, capacity, height - 1)


@inner
def _update_source(rules, state, b, source, capacity):
    """Update the playable card of a source, and how many cards may move with it."""
    card = playable(rules, state, b, source)
    if source < rules.piles:
        height = int(state.heights[b, _at(source)])
        run = min(height, 1)
        if rules.varied:
            cards = 0
            if height > 0:
                most = height if rules.moves != ONE_CARD else 1
                run, cards = _varied_sequence(rules, state, b, source, most)
            state.movable[b, _at(source)] = cards
            state.takes[b, _at(source)] = cards_below(rules, card, rules.build)
        elif rules.moves != ONE_CARD:
            run = sequence_length(rules, state, b, source, height)
        state.runs[b, _at(source)] = run
        state.units[b, _at(source)] = min(run, capacity)
    else:
        state.units[b, _at(source)] = card != 0
        if rules.varied:
            state.movable[b, _at(source)] = 1 << card
    state.tops[b, _at(source)] = card
    state.keys[b, _at(source)] = _key(rules, card)


# -------------------------------------------------------------------------------------- the mask
#
# Tried for the entries onto piles, with the time of a step of 1,024 games in one thread (Forty Thieves,
# Eights Down, in ns): all entries of the two places, card by card (119, 456) or by sets of cards (73, 173);
# only the legal ones, by sets of sources, 8 bytes a key (57, 120; but 125 for 16,384 games of Forty Thieves,
# whose states exceed the second cache); by lists, with sequences found by rank (54, 185) or by pile (50,
# 200). Used: lists, and sets for deeper cards: 52, 130, and 50 for 16,384 games.


@inner
def _mask_home(rules, state, b, source):
    legal = goes_home(state, b, int(state.tops[b, _at(source)]))
    state.mask[b, _at(rules.home_actions + source)] = legal


@inner
def _mask_cell(rules, state, b, source):
    legal = (int(state.tops[b, _at(source)]) != 0) & (int(state.empty_cells[b]) > 0)
    state.mask[b, _at(rules.cell_actions + source)] = legal


@inner
def tableau_action(rules, source, target):
    """Number of the action from a source to a tableau pile; a pile has none to itself."""
    return (
        rules.tableau_actions
        + source * rules.piles
        - min(source, rules.piles)
        + target
        - int(source < target)
    )


@inner
def _link(rules, state, b, source, key):
    """Add a source to the list of its key."""
    place = key
    while 0 < int(state.links[b, _at(place)]) <= source:
        place = KEYS + int(state.links[b, _at(place)]) - 1
    state.links[b, _at(KEYS + source)] = state.links[b, _at(place)]
    state.links[b, _at(place)] = source + 1


@inner
def _unlink(rules, state, b, source, key):
    """Remove a source from the list of its key."""
    place = key
    while int(state.links[b, _at(place)]) != source + 1:
        place = KEYS + int(state.links[b, _at(place)]) - 1
    state.links[b, _at(place)] = state.links[b, _at(KEYS + source)]
    state.links[b, _at(KEYS + source)] = 0


@inner
def _mask_unit(rules, state, b, source, unit, legal):
    """Set the entries of a source's card with ``unit`` cards on it, onto the piles that take them.

    ``legal`` is 1 to set them, 0 to clear them.
    """
    key = int(state.keys[b, _at(source)]) + 4 * unit
    target = int(state.links[b, _at(key + 4)]) - 1
    while 0 <= target < rules.piles:
        state.mask[b, _at(tableau_action(rules, source, target))] = legal
        target = int(state.links[b, _at(KEYS + target)]) - 1
    if unit > 0:
        state.deeper[b, _at(key >> 2)] ^= 1 << source


@inner
def _mask_tableau(rules, state, b, source, legal):
    """Set the legal entries from a source to all piles, and from all sources to it.

    They are cleared before its cards change, while it is still in its list, and set afterwards.
    """
    key = int(state.keys[b, _at(source)])
    if key == 0:
        return
    for unit in range(int(state.units[b, _at(source)])):
        _mask_unit(rules, state, b, source, unit, legal)
    if source < rules.piles:
        giver = int(state.links[b, _at(key - 4)]) - 1
        while giver >= 0:
            state.mask[b, _at(tableau_action(rules, giver, source))] = legal
            giver = int(state.links[b, _at(KEYS + giver)]) - 1
        if rules.moves != ONE_CARD:
            givers = int(state.deeper[b, _at((key >> 2) - 1)])
            while givers != 0:
                giver = lowest_bit(givers)
                givers &= givers - 1
                if ((int(state.keys[b, _at(giver)]) ^ key) & 3) == 0:
                    state.mask[b, _at(tableau_action(rules, giver, source))] = legal
    if legal:
        _link(rules, state, b, source, key)
    else:
        _unlink(rules, state, b, source, key)


@inner(inline=False)
def _may_get_full(rules, state, b):
    """Whether a pile might ever get full.

    A sequence of n cards takes at most ranks - n more. So a pile has enough room if the cards below the
    sequence at its end are fewer than were dealt to the fullest pile. That holds after the deal, and moves
    only add to sequences.
    """
    for pile in range(rules.piles):
        height = int(state.heights[b, pile])
        if height - sequence_length(rules, state, b, pile, height) > rules.pile_capacity - rules.ranks:
            return True
    return False


@inner
def _has_room(rules, state, b, source, target):
    """Whether a pile has room for the cards that move onto it."""
    count = (int(state.keys[b, target]) - int(state.keys[b, source])) >> 2
    return int(state.heights[b, target]) + count <= rules.pile_capacity


@inner
def _mask_space(rules, state, b, source):
    """Entries of one source to a space."""
    if rules.spaces == SPACES_NONE:
        return
    open_space = int(state.spaces[b]) > 0
    if source < rules.piles:
        most = _most_to_space(rules, state, b, source) if open_space else 0
        action = rules.space_actions + source * rules.space_counts
        for count in range(rules.space_counts):
            state.mask[b, action + count] = count < most
    else:
        action = rules.space_actions + rules.piles * (rules.space_counts - 1) + source
        state.mask[b, action] = open_space and fills_space(rules, state, b, int(state.tops[b, source]))


@inner
def _update_units(rules, state, b, capacity):
    """Update how many cards of each pile may move together, and the entries that depend on it."""
    for pile in range(rules.piles):
        run = int(state.runs[b, _at(pile)])
        if run > 1:
            if int(state.spaces[b]) > 0:
                _mask_space(rules, state, b, pile)
            units = min(run, capacity)
            before = int(state.units[b, _at(pile)])
            state.units[b, _at(pile)] = units
            for unit in range(min(before, units), max(before, units)):
                _mask_unit(rules, state, b, pile, unit, int(units > before))


@inner
def _mask_source(rules, state, b, source):
    """Set the legal entries of a source, after the update of what is derived from its cards."""
    _mask_home(rules, state, b, source)
    if rules.cells and source < rules.first_cell:
        _mask_cell(rules, state, b, source)
    if int(state.spaces[b]) > 0:
        # Without spaces these entries stay 0.
        _mask_space(rules, state, b, source)
    _mask_tableau(rules, state, b, source, 1)


@inner
def _mask_all(rules, state, b):
    """The whole mask from the position."""
    state.mask[b, :] = 0
    state.links[b, :] = 0
    state.deeper[b, :] = 0
    if rules.has_stock:
        state.mask[b, 0] = int(state.stock[b]) > 0
    for source in range(rules.sources):
        _mask_source(rules, state, b, source)


@inner(inline=False)
def _mask_full_piles(rules, state, b):
    """Clear the entries of moves for which a pile has no room."""
    state.may_get_full[b] = _may_get_full(rules, state, b)
    for target in range(rules.piles * int(state.may_get_full[b])):
        for source in range(rules.sources):
            if source != target and not _has_room(rules, state, b, source, target):
                state.mask[b, tableau_action(rules, source, target)] = 0


@inner
def _finish(rules, state, b):
    """Set the status; a finished game gets a mask of ones, so that an action can always be sampled."""
    state.status[b] = PLAYING
    if int(state.home[b]) == rules.cards:
        state.status[b] = WON
    elif int(state.stock[b]) == 0 and (int(state.empty_cells[b]) == 0 or int(state.spaces[b]) == rules.piles):
        # No card can be drawn, and none of a pile can move to a cell. The loop reads all entries, as bytes:
        # that is faster than an early exit.
        legal = np.int8(0)
        for action in range(rules.actions):
            legal = np.int8(legal | state.mask[b, action])
        state.status[b] = PLAYING if legal else STUCK
    if int(state.status[b]) != PLAYING:
        state.mask[b, :] = 1


# ----------------------------------------------------------------------------------------- moves
#
# Functions that move cards update the row, the counts and the foundations; `step` updates the rest: playable
# cards, mask, status. Features and searches that do not need these only move cards, in a fraction of the
# time.


@inner
def take(rules, state, b, source):
    """Remove the playable card of a source.

    The caller knows the card: a step reads it from ``state.tops``, which is faster.
    """
    if source < rules.piles:
        height = int(state.heights[b, _at(source)]) - 1
        place = source * rules.pile_capacity + height
        state.heights[b, _at(source)] = height
        state.spaces[b] += height == 0
    elif source < rules.first_cell:
        waste = int(state.waste[b]) - 1
        place = rules.row_waste + waste
        state.waste[b] = waste
    else:
        place = rules.row_cells + source - rules.first_cell
        state.empty_cells[b] += 1
    state.rows[b, _at(place)] = 0


@inner
def carry(rules, state, b, source, target, count, card):
    """Move the last ``count`` cards of a source, ``card`` on top, onto a pile, in their order."""
    height = int(state.heights[b, _at(target)])
    start = target * rules.pile_capacity + height
    state.spaces[b] -= height == 0
    state.heights[b, _at(target)] = height + count
    if count == 1:
        state.rows[b, _at(start)] = card
        take(rules, state, b, source)
    else:
        height = int(state.heights[b, source]) - count
        end = source * rules.pile_capacity + height
        for k in range(count):
            state.rows[b, start + k] = state.rows[b, end + k]
            state.rows[b, end + k] = 0
        state.heights[b, source] = height
        state.spaces[b] += height == 0


@inner
def put_home(rules, state, b, card):
    """Place a card that goes home on its foundation, which then takes the next one."""
    state.rows[b, foundation_for(rules, state, b, card)] += 1
    state.home[b] += 1
    _update_next_home(rules, state, b, card & 3)


@inner
def send_home(rules, state, b, source, card):
    """Send the playable card of a source home; it must fit."""
    take(rules, state, b, source)
    put_home(rules, state, b, card)


@inner
def to_cell(rules, state, b, source, cell, card):
    """Move the playable card of a source to an empty cell, numbered from 0."""
    take(rules, state, b, source)
    state.rows[b, rules.row_cells + cell] = card
    state.empty_cells[b] -= 1


@inner
def empty_cell(rules, state, b):
    """The first empty cell, numbered from 0; the number of cells if there is none."""
    cell = 0
    while cell < rules.cells and int(state.rows[b, rules.row_cells + cell]) != 0:
        cell += 1
    return cell


@inner
def _draw(rules, state, b):
    """Turn the next card of the stock up to the waste. The waste is not turned over: one pass."""
    stock = int(state.stock[b]) - 1
    waste = int(state.waste[b])
    state.rows[b, _at(rules.row_waste + waste)] = state.rows[b, _at(rules.row_stock + stock)]
    state.rows[b, _at(rules.row_stock + stock)] = 0
    state.rows[b, _at(rules.row_stock_count)] = min(stock, MAX_STOCK_COUNT)
    state.stock[b] = stock
    state.waste[b] = waste + 1
    state.mask[b, 0] = stock > 0


@inner
def _lowest_space(rules, state, b):
    """The first empty pile; the last pile if there is none."""
    pile = 0
    while pile < rules.piles - 1 and int(state.heights[b, pile]) != 0:
        pile += 1
    return pile


@inner
def decode(rules, state, b, action):
    """Source, target and number of cards of a legal action; targets are numbered like sources, home -1.

    The foundations of a suit, if cards may worry back, are numbered after the sources.
    """
    piles = rules.piles
    if action < rules.home_actions:
        return piles, piles, 1
    if action < rules.cell_actions:
        return action - rules.home_actions, -1, 1
    if action < rules.tableau_actions:
        return action - rules.cell_actions, rules.first_cell + empty_cell(rules, state, b), 1
    if rules.varied:
        return _decode_varied(rules, state, b, action)
    if action < rules.space_actions:
        pair = action - rules.tableau_actions
        from_piles = piles * (piles - 1)
        if pair < from_piles:
            source = pair // (piles - 1)
            target = pair - source * (piles - 1)
            target += int(target >= source)
        else:
            source = piles + (pair - from_piles) // piles
            target = pair - from_piles - (source - piles) * piles
        count = 1
        if rules.moves != ONE_CARD and source < piles:
            # The target pile determines the number of cards.
            count = (int(state.tops[b, target]) >> 2) - (int(state.tops[b, source]) >> 2)
        return source, target, count
    choice = action - rules.space_actions
    from_piles = piles * rules.space_counts
    count = 1
    if choice < from_piles:
        source = choice // rules.space_counts
        count = choice - source * rules.space_counts + 1
        if rules.spaces == SPACES_RANK:
            count = int(state.runs[b, source])
    else:
        source = piles + choice - from_piles
    return source, _lowest_space(rules, state, b), count


@inner
def _play(rules, state, events, b, action):
    """Play a legal action; update mask and status."""
    spaces = int(state.spaces[b])
    cells = int(state.empty_cells[b])
    source, target, count = decode(rules, state, b, action)
    if target == source:
        target = -1  # a draw
    for place in (source, target):
        if place >= 0:
            _mask_tableau(rules, state, b, place, 0)
    card = int(state.tops[b, _at(source)])
    if action < rules.home_actions:
        _draw(rules, state, b)
        events.advanced[b] = 1
    elif action < rules.cell_actions:
        send_home(rules, state, b, source, card)
        events.went_home[b] = 1
    elif action < rules.tableau_actions:
        to_cell(rules, state, b, source, target - rules.first_cell, card)
    else:
        carry(rules, state, b, source, target, count, card)

    capacity = carry_limit(rules, state, b, 0)
    for place in (source, target):
        if place >= 0:
            _update_source(rules, state, b, place, capacity)
            _mask_source(rules, state, b, place)
    if rules.home_actions <= action < rules.cell_actions:
        # That foundation now takes another card.
        for other in range(rules.sources):
            _mask_home(rules, state, b, other)
    if (int(state.spaces[b]) == 0) != (spaces == 0):
        for other in range(rules.sources):
            _mask_space(rules, state, b, other)
    if rules.moves == SUPERMOVE and (int(state.spaces[b]) != spaces or int(state.empty_cells[b]) != cells):
        _update_units(rules, state, b, capacity)
    if (int(state.empty_cells[b]) == 0) != (cells == 0):
        for other in range(rules.first_cell):
            _mask_cell(rules, state, b, other)
    if int(state.may_get_full[b]) != 0:
        _mask_full_piles(rules, state, b)
    _finish(rules, state, b)


@inner
def _no_events(events, b):
    """Clear the events."""
    events.went_home[b] = 0
    events.advanced[b] = 0
    events.invalid[b] = 0


@inner
def step(rules, state, events, b, action):
    """Play an action of the space if it is legal; otherwise change nothing and set ``events.invalid``."""
    _no_events(events, b)
    if int(state.status[b]) != PLAYING:
        return
    if int(state.mask[b, action]) == 0:
        events.invalid[b] = 1
    elif rules.varied:
        _play_varied(rules, state, events, b, action)
    else:
        _play(rules, state, events, b, action)


@inner
def copy_cards(rules, state, source, target):
    """Copy the cards of a game, except the stock, to another row: enough for moving cards, not for more."""
    for place in range(rules.row_stock):
        state.rows[target, place] = state.rows[source, place]
    for pile in range(rules.piles):
        state.heights[target, pile] = state.heights[source, pile]
    state.next_home[target] = state.next_home[source]
    state.stock[target] = state.stock[source]
    state.waste[target] = state.waste[source]
    state.home[target] = state.home[source]
    state.spaces[target] = state.spaces[source]
    state.empty_cells[target] = state.empty_cells[source]


@inner
def copy(rules, state, source, target):
    """Copy a game from one row to another."""
    copy_cards(rules, state, source, target)
    for place in range(rules.row_stock, rules.row_size):
        state.rows[target, place] = state.rows[source, place]
    for place in range(rules.sources):
        state.tops[target, place] = state.tops[source, place]
        state.keys[target, place] = state.keys[source, place]
        state.units[target, place] = state.units[source, place]
        state.movable[target, place] = state.movable[source, place]
    for place in range(KEYS + rules.sources):
        state.links[target, place] = state.links[source, place]
    for rank in range(RANKS):
        state.deeper[target, rank] = state.deeper[source, rank]
    for pile in range(rules.piles):
        state.takes[target, pile] = state.takes[source, pile]
    state.may_get_full[target] = state.may_get_full[source]
    for pile in range(rules.piles):
        state.runs[target, pile] = state.runs[source, pile]
    for action in range(rules.actions):
        state.mask[target, action] = state.mask[source, action]
    state.status[target] = state.status[source]


# ---------------------------------------------------------------------------------- varied games
#
# Games with any rule of ``Rules.varied``. Their mask is rewritten after each move; after a draw, only the
# entries of stock and waste. A source whose cards no pile takes is skipped; the others are compared with each
# pile, as sets of cards and without branches.
#
# Tried, with instructions and wrongly predicted branches of a step by callgrind (Klondike with three cards a
# draw; Yukon, of whose instructions 2,506 clear the mask): only the entries that a move changes (2,881 and
# 26; 4,450 and 27); the whole mask (2,108 and 15; 5,468 and 20), which is faster. Clearing only the
# entries that may be set brings nothing: 459 to 484 ns a step of Yukon, on one thread, instead of 377 to 460.
#
# Updating it like the mask of other games is possible for 14 of them: those without worrying back, groups out
# of order and ranks that wrap. Shortest of four times of a step without observations, rewritten and updated:
# Emperor 153 and 108 ns, Triple Line 335 and 265, Number Twelve 322 and 273, Westcliff 319 and 321, Thieves
# of Egypt 254 and 261, Red and Black 200 and 222. But the first step of any game took a fifth longer to
# compile.


@inner
def _varied_sequence(rules, state, b, pile, most):
    """The cards at the end of a pile, not empty, that may move together, never face-down ones.

    Returns their number, at most ``most``, and the cards as bits.
    """
    last = pile * rules.pile_capacity + int(state.heights[b, _at(pile)]) - 1
    card = int(state.rows[b, _at(last)])
    cards = 1 << card
    length = 1
    while length < most:
        deeper = int(state.rows[b, _at(last - length)])
        together = rules.moves == ANY_GROUP or is_in(card, cards_below(rules, deeper, rules.run_build)) != 0
        if deeper >= DOWN or deeper == FACE_DOWN or not together:
            break
        card = deeper
        cards |= 1 << card
        length += 1
    return length, cards


@inner
def _home_suits(rules, count, suit):
    """The suits, as bits, of the next card of a foundation with ``count`` cards, the first of ``suit``."""
    if rules.alternate_home and count > 0:
        return _color(suit) if count & 1 == 0 else 15 ^ _color(suit)
    return 1 << suit


@inner
def taken_home(rules, state, b, foundation):
    """The cards, as bits, that a foundation takes."""
    count = int(state.rows[b, _at(rules.row_foundations + foundation)])
    if count >= rules.ranks:
        return 0
    rank = _wrapped(rules, base_rank(rules, state, b) + count)
    return _home_suits(rules, count, foundation // rules.decks) << (4 * rank)


@inner
def cards_home_after(rules, state, b, more):
    """The cards, as bits, that the foundations take after ``more`` further cards on each."""
    base = base_rank(rules, state, b)
    cards = 0
    foundation = rules.row_foundations
    for suit in range(SUITS):
        for _ in range(rules.decks):
            count = int(state.rows[b, _at(foundation)]) + more
            if count < rules.ranks:
                cards |= _home_suits(rules, count, suit) << (4 * _wrapped(rules, base + count))
            foundation += 1
    return cards


@inner
def _update_varied_next_home(rules, state, b):
    """Update the cards that go home now."""
    state.next_home[b] = cards_home_after(rules, state, b, 0)


@inner
def take_out_home(rules, state, b, left):
    """Subtract the cards on the foundations from the remaining number of each card (int64 ``[64]``).

    Foundations of alternating colors do not show their suits: of a color, take the lower suit while any is
    left.
    """
    base = base_rank(rules, state, b)
    for foundation in range(SUITS * rules.decks):
        for count in range(int(state.rows[b, _at(rules.row_foundations + foundation)])):
            card = 4 * ((base - 1 + count) % rules.ranks + 1)
            suits = _home_suits(rules, count, foundation // rules.decks)
            lowest = lowest_bit(suits)
            suits &= suits - 1
            if suits != 0 and left[card + lowest] <= 0:
                lowest = lowest_bit(suits)
            left[card + lowest] -= 1


@inner
def _varied_foundation(rules, state, b, card):
    """The index in the row of the first foundation that takes the card."""
    count = place_home(rules, state, b, card)
    foundation = 0
    while (
        int(state.rows[b, _at(rules.row_foundations + foundation)]) != count
        or (_home_suits(rules, count, foundation // rules.decks) >> (card & 3)) & 1 == 0
    ):
        foundation += 1
    return rules.row_foundations + foundation


@inner
def last_home(rules, state, b, foundation):
    """The last card of a foundation, counted from 0, EMPTY if there is none; only for building in suit."""
    count = int(state.rows[b, _at(rules.row_foundations + foundation)])
    if count == 0:
        return 0
    rank = _wrapped(rules, base_rank(rules, state, b) + count - 1)
    return 4 * rank + (foundation if rules.decks == 1 else foundation // rules.decks)


@inner
def _varied_action(rules, source, target, count):
    """Number of the action that moves ``count`` cards of a source onto a tableau pile."""
    from_piles = rules.piles * (rules.piles - 1)
    if source >= rules.sources:
        return rules.worry_actions + (source - rules.sources) * rules.piles + target
    if source >= rules.piles:
        waste = rules.tableau_actions + from_piles * rules.tableau_counts
        return waste + (source - rules.piles) * rules.piles + target
    pair = source * (rules.piles - 1) + target - int(source < target)
    return rules.tableau_actions + pair * rules.tableau_counts + min(count, rules.tableau_counts) - 1


@inner
def _takes_all(rules, state, b, movable, run, target):
    """1 if a pile takes one of the cards ``movable`` (bits) and has room for ``run`` cards, else 0."""
    room = int(state.heights[b, _at(target)]) + run <= rules.pile_capacity
    return int((movable & int(state.takes[b, _at(target)])) != 0) & int(room)


@inner
def _mask_onto(rules, state, b, source, tallest):
    """Set the legal entries from a source to the piles that take its cards; their number.

    ``tallest`` is the number of cards in the fullest pile.
    """
    moves = 0
    movable = int(state.movable[b, _at(source)])
    units = int(state.units[b, _at(source)])
    single = source >= rules.piles
    run = 1 if single else int(state.runs[b, _at(source)])
    counts = rules.tableau_counts
    if single or (counts == 1 and units == run and tallest + run <= rules.pile_capacity):
        # The usual case, without branches: each pile has one entry, and room.
        first = _varied_action(rules, source, 0, 1)
        for target in range(min(source, rules.piles)):
            legal = _takes_all(rules, state, b, movable, run, target)
            state.mask[b, _at(first + target)] = legal
            moves += legal
        for target in range(source + 1, rules.piles):
            legal = _takes_all(rules, state, b, movable, run, target)
            state.mask[b, _at(first + target - 1)] = legal
            moves += legal
        return moves
    top = source * rules.pile_capacity + int(state.heights[b, _at(source)]) - 1
    targets = 0
    for target in range(rules.piles):
        targets |= int((movable & int(state.takes[b, _at(target)])) != 0) << target
    targets &= ~(1 << source)
    while targets != 0:
        target = lowest_bit(targets)
        targets &= targets - 1
        cards = int(state.takes[b, _at(target)])
        entry = _varied_action(rules, source, target, 1)
        for k in range(min(units, rules.pile_capacity - int(state.heights[b, _at(target)]))):
            legal = is_in(int(state.rows[b, _at(top - k)]), cards)
            state.mask[b, _at(entry + min(k, counts - 1))] |= legal
            moves += legal
    return moves


@inner
def _mask_varied_space(rules, state, b, source):
    """Set the legal entries from a source to a space; their number."""
    if source >= rules.piles:
        action = rules.space_actions + rules.piles * (rules.space_counts - 1) + source
        state.mask[b, _at(action)] = 1
        return 1
    moves = 0
    # A whole pile moving to a space only renames the pile: that is not a move.
    height = int(state.heights[b, _at(source)])
    top = source * rules.pile_capacity + height - 1
    first = rules.space_actions + source * rules.space_counts
    fillers = space_fillers(rules, state, b)
    for k in range(min(int(state.runs[b, _at(source)]), height - 1, carry_limit(rules, state, b, 1))):
        legal = is_in(int(state.rows[b, _at(top - k)]), fillers)
        state.mask[b, _at(first + min(k, rules.space_counts - 1))] |= legal
        moves += legal
    return moves


@inner
def _finish_varied(rules, state, b, moves):
    """See :func:`_finish`; ``moves`` are legal moves that are known, not always all."""
    state.status[b] = PLAYING
    if int(state.home[b]) == rules.cards:
        state.status[b] = WON
    elif moves == 0:
        legal = np.int8(0)
        for action in range(rules.actions):
            legal = np.int8(legal | state.mask[b, action])
        if legal == 0:
            state.status[b] = STUCK
    if int(state.status[b]) != PLAYING:
        state.mask[b, :] = 1


@inner
def _can_redeal(rules, state, b):
    """Whether the waste may be turned over."""
    left = rules.passes == 0 or int(state.rows[b, _at(rules.row_redeals)]) > 0
    return left and int(state.stock[b]) == 0 and int(state.waste[b]) > 0


@inner
def _mask_stock(rules, state, b):
    """Entries of the stock; whether any is legal."""
    if rules.has_stock == 0:
        return 0
    draw = int(int(state.stock[b]) > 0)
    state.mask[b, 0] = draw
    if rules.passes == 1:
        return draw
    redeal = int(_can_redeal(rules, state, b))
    state.mask[b, 1] = redeal
    return draw | redeal


@inner
def _accepted(rules, state, b):
    """The cards that any tableau pile takes, as bits, and the number of cards in the fullest pile."""
    cards = 0
    tallest = 0
    for pile in range(rules.piles):
        cards |= int(state.takes[b, _at(pile)])
        tallest = max(tallest, int(state.heights[b, _at(pile)]))
    return cards, tallest


@inner
def _mask_varied_source(rules, state, b, source, accepted, tallest):
    """Set the legal entries from a source to piles and to a space; their number."""
    moves = 0
    movable = int(state.movable[b, _at(source)])
    if movable & accepted:
        moves += _mask_onto(rules, state, b, source, tallest)
    if int(state.spaces[b]) > 0 and movable & space_fillers(rules, state, b):
        moves += _mask_varied_space(rules, state, b, source)
    return moves


@inner
def _mask_worrying(rules, state, b, accepted):
    """Set the legal entries from the foundations; their number."""
    moves = 0
    for foundation in range(SUITS * rules.decks):
        card = last_home(rules, state, b, foundation)
        if is_in(card, accepted) != 0:
            first = _varied_action(rules, rules.sources + foundation // rules.decks, 0, 1)
            for target in range(rules.piles):
                legal = _takes_all(rules, state, b, 1 << card, 1, target)
                state.mask[b, _at(first + target)] |= legal
                moves += legal
    return moves


@inner
def _mask_varied(rules, state, b):
    """Rewrite the whole mask; the number of legal entries that are known."""
    state.mask[b, :] = 0
    moves = _mask_stock(rules, state, b)
    accepted, tallest = _accepted(rules, state, b)
    capacity = carry_limit(rules, state, b, 0)
    for source in range(rules.sources):
        _mask_home(rules, state, b, source)
        if rules.cells and source < rules.first_cell:
            _mask_cell(rules, state, b, source)
        if source < rules.piles:
            state.units[b, _at(source)] = min(int(state.runs[b, _at(source)]), capacity)
        moves += _mask_varied_source(rules, state, b, source, accepted, tallest)
    if rules.worrying_back:
        moves += _mask_worrying(rules, state, b, accepted)
    return moves


@inner
def _mask_waste(rules, state, b):
    """Rewrite the entries of stock and waste; the number of legal ones that are known."""
    waste = rules.piles
    first = _varied_action(rules, waste, 0, 1)
    for target in range(rules.piles):
        state.mask[b, _at(first + target)] = 0
    if rules.spaces != SPACES_NONE:
        state.mask[b, _at(rules.space_actions + rules.piles * rules.space_counts)] = 0
    _mask_home(rules, state, b, waste)
    if rules.cells:
        _mask_cell(rules, state, b, waste)
    accepted, tallest = _accepted(rules, state, b)
    return _mask_stock(rules, state, b) + _mask_varied_source(rules, state, b, waste, accepted, tallest)


@inner
def _decode_varied(rules, state, b, action):
    """The same as :func:`decode` for moves between tableau piles, to spaces, and from the foundations."""
    piles = rules.piles
    if action >= rules.worry_actions:
        suit = (action - rules.worry_actions) // piles
        return rules.sources + suit, action - rules.worry_actions - suit * piles, 1
    counts = rules.tableau_counts
    choice = action - rules.tableau_actions
    from_piles = piles * (piles - 1) * counts
    if action >= rules.space_actions:
        counts = rules.space_counts
        choice = action - rules.space_actions
        from_piles = piles * counts
    if choice >= from_piles:
        choice -= from_piles
        if action >= rules.space_actions:
            return piles + choice, _lowest_space(rules, state, b), 1
        return piles + choice // piles, choice % piles, 1
    count = 1
    if counts > 1:
        count += choice % counts
        choice //= counts
    if action >= rules.space_actions:
        source = choice
        target = _lowest_space(rules, state, b)
        above = space_rank(rules, state, b) + 1
    else:
        source = choice // (piles - 1)
        target = choice % (piles - 1)
        target += int(target >= source)
        above = int(state.tops[b, _at(target)]) >> 2
    if counts == 1 and rules.moves != ONE_CARD:
        # The card below, or the rank that fills a space, determines the number of cards.
        count = _wrapped(rules, above - (int(state.tops[b, _at(source)]) >> 2))
    return source, target, count


@inner
def _redeal(rules, state, b):
    """Turn the waste over: its first card is the next of the stock."""
    cards = int(state.waste[b])
    for k in range(cards):
        place = _at(rules.row_waste + k)
        state.rows[b, _at(rules.row_stock + cards - 1 - k)] = state.rows[b, place]
        state.rows[b, place] = 0
    state.waste[b] = 0
    state.stock[b] = cards
    state.rows[b, _at(rules.row_stock_count)] = min(cards, MAX_STOCK_COUNT)
    if rules.passes > 1:
        state.rows[b, _at(rules.row_redeals)] -= 1


@inner
def _turn_cards(rules, state, b):
    """Turn the cards of one draw from the stock to the waste, or all that are left."""
    for _ in range(min(rules.draw, int(state.stock[b]))):
        _draw(rules, state, b)


@inner
def worrying_foundation(rules, state, b, suit, target):
    """The foundation of a suit whose last card worries back, counted from 0."""
    # Foundations of a suit are ordered fullest first, so of equal ones the last gives.
    foundation = (suit + 1) * rules.decks - 1
    while is_in(last_home(rules, state, b, foundation), int(state.takes[b, _at(target)])) == 0:
        foundation -= 1
    return foundation


@inner
def _worry_back(rules, state, b, suit, target):
    """Move the last card of a foundation of a suit onto the pile that takes it."""
    foundation = worrying_foundation(rules, state, b, suit, target)
    height = int(state.heights[b, _at(target)])
    state.rows[b, _at(target * rules.pile_capacity + height)] = last_home(rules, state, b, foundation)
    state.heights[b, _at(target)] = height + 1
    state.rows[b, _at(rules.row_foundations + foundation)] -= 1
    state.home[b] -= 1
    _update_varied_next_home(rules, state, b)


@inner
def _after_leaving(rules, state, b, pile):
    """Update a pile that cards have left: its last card is turned up, or the space is filled.

    Returns whether a card was turned up.
    """
    height = int(state.heights[b, _at(pile)])
    if height > 0:
        place = _at(pile * rules.pile_capacity + height - 1)
        turned = int(state.rows[b, place]) >= DOWN
        state.rows[b, place] &= DOWN - 1
        return turned
    if rules.fill:
        if int(state.waste[b]) == 0:
            _turn_cards(rules, state, b)
        if int(state.waste[b]) > 0:
            card = playable(rules, state, b, rules.piles)
            carry(rules, state, b, rules.piles, pile, 1, card)
    return False


@inner
def move_cards(rules, state, b, action):
    """Move the cards of a legal action of a varied game.

    Updates row, counts and foundations, but not playable cards, mask and status.
    """
    source, target, count = decode(rules, state, b, action)
    _move_cards(rules, state, b, action, source, target, count)


@inner
def _move_cards(rules, state, b, action, source, target, count):
    """:func:`move_cards` of a decoded action; returns the events ``went_home`` and ``advanced``."""
    home = 0
    advanced = False
    if action < rules.home_actions:
        if action == 0:
            _turn_cards(rules, state, b)
            advanced = rules.passes > 0
        else:
            _redeal(rules, state, b)
    elif action >= rules.worry_actions:
        _worry_back(rules, state, b, source - rules.sources, target)
        home = -1
    else:
        card = playable(rules, state, b, source)
        if action < rules.cell_actions:
            send_home(rules, state, b, source, card)
            home = 1
        elif action < rules.tableau_actions:
            to_cell(rules, state, b, source, target - rules.first_cell, card)
        else:
            carry(rules, state, b, source, target, count, card)
        if source < rules.piles:
            advanced = _after_leaving(rules, state, b, source)
    return home, int(advanced)


@inner(inline=False)
def _play_varied(rules, state, events, b, action):
    """Play a legal action; update mask and status."""
    source, target, count = decode(rules, state, b, action)
    events.went_home[b], events.advanced[b] = _move_cards(rules, state, b, action, source, target, count)
    if action < rules.home_actions:
        _update_source(rules, state, b, rules.piles, 1)
        _finish_varied(rules, state, b, _mask_waste(rules, state, b))
        return
    # A space may have been filled from the waste.
    for place in (source, target, rules.piles if rules.fill else -1):
        if 0 <= place < rules.sources:
            _update_source(rules, state, b, place, 1)
    _finish_varied(rules, state, b, _mask_varied(rules, state, b))


# ------------------------------------------------------------------------------------- the pack
#
# The generator is SplitMix64 [1]: the state starts as the deal number, every draw adds the golden gamma to it
# and mixes the sum to 64 bits. A whole number below n is drawn without bias from the high 32 bits x of a draw
# [2]: x * n >> 32, drawn again while x * n mod 2**32 is below 2**32 mod n. The pack starts in order, deck by
# deck, Ace of Clubs, Diamonds, Hearts, Spades, then the twos; Fisher-Yates goes from the last place down to
# the second and swaps place i with a place from 0..i. Place 0 is dealt first.
#
# [1] Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
# [2] Lemire: Fast random integer generation in an interval, ACM TOMACS 29 (1), 2019.

RESERVED_DEALS: Final = 2**20
"""Deal numbers below this are reserved for evaluation: a stream never picks one."""


@inner(wraps=True)
def _mix(z):
    """SplitMix64's output function on one uint64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner(wraps=True)
def _next(states, b):
    """Advance ``states[b]`` (uint64) in place and return 64 random bits."""
    states[b] += np.uint64(0x9E3779B97F4A7C15)
    return _mix(states[b])


@inner
def _below(states, b, n):
    """A whole number from ``0 .. n - 1``, unbiased, for ``n < 2**32``."""
    bound = np.uint64(n)
    low = np.uint64(0xFFFFFFFF)
    product = (_next(states, b) >> np.uint64(32)) * bound
    if (product & low) < bound:
        threshold = np.uint64(2**32) % bound
        while (product & low) < threshold:
            product = (_next(states, b) >> np.uint64(32)) * bound
    return np.int64(product >> np.uint64(32))


@inner
def _shuffle(states, orders, b):
    """Fisher-Yates on a row of ``orders``, in place."""
    for i in range(orders.shape[1] - 1, 0, -1):
        j = _at(_below(states, b, i + 1))
        card = orders[b, i]
        orders[b, i] = orders[b, j]
        orders[b, j] = card


@inner
def _pick(streams, b):
    """The next unreserved deal number of a stream."""
    number = np.int64(0)
    while number < RESERVED_DEALS:
        number = np.int64(_next(streams, b) >> np.uint64(1))
    return number


@inner
def _next_order(rules, deals, b):
    """The pack of the next deal of a game's stream, shuffled."""
    number = _pick(deals.streams, b)
    deals.numbers[b] = number
    deals.shuffles[b] = np.uint64(number)
    deck = SUITS * rules.ranks
    for first in range(0, rules.cards, deck):
        for k in range(deck):
            deals.orders[b, _at(first + k)] = SUITS + k
    _shuffle(deals.shuffles, deals.orders, b)


# --------------------------------------------------------------------------------- deals, set-up


@inner(inline=False)
def derive_cards(rules, state, b):
    """Update all that is derived from a position row, except mask and status."""
    spaces = 0
    for pile in range(rules.piles):
        height = 0
        while height < rules.pile_capacity and int(state.rows[b, pile * rules.pile_capacity + height]) != 0:
            height += 1
        state.heights[b, pile] = height
        spaces += int(height == 0)
    state.spaces[b] = spaces

    empty_cells = 0
    for cell in range(rules.cells):
        empty_cells += int(int(state.rows[b, rules.row_cells + cell]) == 0)
    state.empty_cells[b] = empty_cells

    home = 0
    for place in range(rules.row_foundations, rules.row_stock_count):
        home += int(state.rows[b, place])
    state.home[b] = home

    if rules.has_stock:
        waste = 0
        stock = 0
        for place in range(rules.stock_capacity):
            waste += int(int(state.rows[b, rules.row_waste + place]) != 0)
            stock += int(int(state.rows[b, rules.row_stock + place]) != 0)
        state.waste[b] = waste
        state.stock[b] = stock
        state.rows[b, rules.row_stock_count] = min(stock, MAX_STOCK_COUNT)

    capacity = carry_limit(rules, state, b, 0)
    for source in range(rules.sources):
        _update_source(rules, state, b, source, capacity)
    for suit in range(SUITS):
        _update_next_home(rules, state, b, suit)


@inner(inline=False)
def _derive_parts(rules, state, b):
    """Update all that is derived from a position row, except full piles and status; in varied games all."""
    derive_cards(rules, state, b)
    if rules.varied:
        _finish_varied(rules, state, b, _mask_varied(rules, state, b))
    else:
        _mask_all(rules, state, b)


@inner
def derive(rules, state, b):
    """Update everything after a change of ``state.rows`` in a game."""
    _derive_parts(rules, state, b)
    if not rules.varied:
        _mask_full_piles(rules, state, b)
        _finish(rules, state, b)


@inner
def _deal_home(rules, deals, state, b):
    """Place the cards that start on the foundations; their rank, or 0 if there are none.

    If the deal decides the base, it is the rank of the first card, which itself is dealt to the tableau.
    """
    if rules.passes > 1:
        state.rows[b, rules.row_redeals] = rules.passes - 1
    first = int(deals.orders[b, 0])
    if rules.base == 0:
        state.rows[b, rules.row_base] = first >> 2
    elif not rules.aces_home:
        return 0
    for suit in range(SUITS):
        staying = int(rules.base == 0 and suit == (first & 3))
        for foundation in range(rules.decks - staying):
            state.rows[b, rules.row_foundations + suit * rules.decks + foundation] = 1
    return base_rank(rules, state, b)


@inner
def _next_dealt(rules, deals, b, k, base):
    """The place in the pack, from ``k``, of the next card that does not start on a foundation."""
    while int(deals.orders[b, _at(k)]) >> 2 == base and (rules.base != 0 or k > 0):
        k += 1
    return k


@inner(inline=False)
def _deal(rules, deals, state, b):
    """Deal a pack row by row, one card to each pile in a row, then to the cells; the rest is the stock.

    The cards that start on the foundations are skipped wherever they are in the pack.
    """
    state.rows[b, :] = 0
    base = _deal_home(rules, deals, state, b)
    k = 0
    for height in range(deals.down.shape[1]):
        for pile in range(rules.piles):
            if height < deals.sizes[pile]:
                k = _next_dealt(rules, deals, b, k, base)
                card = int(deals.orders[b, k]) | int(deals.down[pile, height])
                state.rows[b, pile * rules.pile_capacity + height] = card
                k += 1
    for cell in range(rules.cells_filled):
        k = _next_dealt(rules, deals, b, k, base)
        state.rows[b, rules.row_cells + cell] = deals.orders[b, k]
        k += 1
    for place in range(rules.stock_capacity):
        # Bottom first: the next card of the stock is last.
        k = _next_dealt(rules, deals, b, k, base)
        state.rows[b, rules.row_stock + rules.stock_capacity - 1 - place] = deals.orders[b, k]
        k += 1
    _derive_parts(rules, state, b)
    if not rules.varied:
        state.may_get_full[b] = 0
        _finish(rules, state, b)


@inner
def write_row(row, target):
    """Copy a row over another of the same length. Assigning a slice would allocate."""
    for k in range(len(row)):
        target[k] = row[k]


@inner
def place(rules, state, b, row):
    """Set a game to a position row (int8 ``[row_size]``)."""
    write_row(row, state.rows[b])
    derive(rules, state, b)


# ------------------------------------------------------------------ kernels for other modules

PART: Final = 128
"""Number of games that a thread processes at a time."""


@kernel
def count_outside(rules: Rules, actions: Annotated[Int64, "batch"], todo: Annotated[Int8, "batch"]) -> int:
    """The number of actions to play that are outside the action space."""
    outside = 0
    for b in range(actions.shape[0]):
        outside += int(todo[b] == PLAY and (actions[b] < 0 or actions[b] >= rules.actions))
    return outside


@kernel(part=PART)
def step_rows(
    rules: Rules,
    deals: Deals,
    state: State,
    events: Events,
    actions: Annotated[Int64, "batch"],
    todo: Annotated[Int8, "batch"],
    start: int,
    stop: int,
) -> None:
    """Step the games of the batch: PLAY the action, which must be in the action space, LEAVE the game
    unchanged, or DEAL the next one of its stream.
    """
    for b in range(start, stop):
        if int(todo[b]) == PLAY:
            step(rules, state, events, b, actions[b])
        else:
            _no_events(events, b)
            if int(todo[b]) == DEAL:
                _next_order(rules, deals, b)
                _deal(rules, deals, state, b)


@kernel
def shuffle_rows(states: Annotated[UInt64, "n"], orders: Annotated[Int8, "n rules.cards"]) -> None:
    """Shuffle each row of ``orders`` (int8 ``[n, cards]``) from its generator's state (uint64 ``[n]``)."""
    for b in range(orders.shape[0]):
        _shuffle(states, orders, b)


@kernel
def pick_rows(
    streams: Annotated[UInt64, "batch"], rows: Annotated[Int64, "n"], numbers: Annotated[Int64, "n"]
) -> None:
    """Write the next deal number of each row's stream (int64 ``[n]``) to ``numbers`` (int64 ``[n]``)."""
    for k in range(rows.shape[0]):
        numbers[k] = _pick(streams, rows[k])


@kernel
def order_rows(rules: Rules, deals: Deals, rows: Annotated[Int64, "n"]) -> None:
    """Shuffle a pack for the next deal of the stream of some rows (int64 ``[n]``)."""
    for k in range(rows.shape[0]):
        _next_order(rules, deals, rows[k])


@kernel
def deal_rows(rules: Rules, deals: Deals, state: State, rows: Annotated[Int64, "n"]) -> None:
    """Deal new games to some rows (int64 ``[n]``) from their packs in ``deals.orders``."""
    for k in range(rows.shape[0]):
        _deal(rules, deals, state, rows[k])


@kernel(part=PART)
def copy_rows(
    rules: Rules,
    state: State,
    sources: Annotated[Int64, "n"],
    targets: Annotated[Int64, "n"],
    start: int,
    stop: int,
) -> None:
    """Copy the games of some rows to others (no duplicate targets)."""
    for k in range(start, stop):
        copy(rules, state, sources[k], targets[k])


@kernel
def derive_rows(rules: Rules, state: State, rows: Annotated[Int64, "n"]) -> None:
    """Update everything after a change of ``state.rows`` in some rows (int64 ``[n]``)."""
    for k in range(rows.shape[0]):
        derive(rules, state, rows[k])


@kernel
def count_paths(
    rules: Rules, state: State, events: Events, depth: int, played: Annotated[Int64, "depth"]
) -> int:
    """Number of sequences of ``depth`` (at least 1) legal actions from the game in row 0.

    Row ``n`` of the state is scratch for the game after ``n`` actions; there are ``depth`` rows.

    Parameters
    ----------
    played
        int64 ``[depth]``, scratch for the action that is tried at each depth.
    """
    paths = 0
    at = 0
    played[0] = -1
    while at >= 0:
        if int(state.status[at]) != PLAYING:
            at -= 1
        elif at == depth - 1:
            # Each legal action here ends a path: it need not be played.
            for action in range(rules.actions):
                paths += int(state.mask[at, action])
            at -= 1
        else:
            played[at] += 1
            if played[at] == rules.actions:
                at -= 1
            elif int(state.mask[at, played[at]]) != 0:
                copy(rules, state, at, at + 1)
                step(rules, state, events, at + 1, played[at])
                at += 1
                played[at] = -1
    return paths


@kernel
def worried_card(rules: Rules, state: State, row: int, suit: int, target: int) -> int:
    """The card that worries back from a foundation of a suit, which must be legal."""
    return last_home(rules, state, row, worrying_foundation(rules, state, row, suit, target))


@kernel
def move_of(rules: Rules, state: State, row: int, action: int) -> tuple[int, int, int]:
    """Source, target and number of cards of a legal action: see :func:`decode`."""
    return decode(rules, state, row, action)
