"""The rules: what may be done in a position, and what it leads to, compiled for a batch of games.

Read in this order: state, what fits where, the mask, moves, deals, the kernels that others call. A kernel
takes the variant as :class:`~solitaire_env.layout.Rules` (plain ints), the games as :class:`State` (arrays,
modified in place) and a row number; it holds no strings, no objects, no reward and no clock.

Cards are int8 and are widened where they are read: compiled and interpreted int8 sums differ.

How the legal-action mask is kept: a move changes the playable card of at most two places, so only the mask
entries that these cards touch are written again, the entries to spaces or cells when the first space or cell
comes or the last one goes, and those of long sequences when the supermove capacity changes.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env._jit import jit, jit_parallel, prange
from solitaire_env.layout import (
    ALTERNATE_COLOR,
    MAX_STOCK_COUNT,
    ONE_CARD,
    PLAYING,
    SAME_SUIT,
    SPACES_ANY,
    SPACES_KINGS,
    SPACES_NONE,
    STUCK,
    SUPERMOVE,
    WON,
    Rules,
)

# ----------------------------------------------------------------------------------------- state


class State(NamedTuple):
    """A batch of games of one variant. ``rows`` alone says the position; the rest follows from it."""

    rows: npt.NDArray[np.int8]
    """Position rows ``[batch, row_size]``, see :mod:`solitaire_env.layout`."""
    tops: npt.NDArray[np.int8]
    """The playable card of each source ``[batch, sources]``, EMPTY where there is none."""
    heights: npt.NDArray[np.int8]
    """Cards in each tableau pile ``[batch, piles]``."""
    runs: npt.NDArray[np.int8]
    """Length of the sequence at the end of each tableau pile ``[batch, piles]``; 0 throughout in one-card
    games."""
    stock: npt.NDArray[np.int16]
    """Cards in the stock ``[batch]``."""
    waste: npt.NDArray[np.int16]
    """Cards in the waste ``[batch]``."""
    home: npt.NDArray[np.int16]
    """Cards on the foundations ``[batch]``."""
    spaces: npt.NDArray[np.int16]
    """Empty tableau piles ``[batch]``."""
    empty_cells: npt.NDArray[np.int16]
    """Empty cells ``[batch]``."""
    mask: npt.NDArray[np.int8]
    """Legal actions ``[batch, actions]``, 1 where legal; all ones when the game is finished."""
    status: npt.NDArray[np.int8]
    """PLAYING, WON or STUCK ``[batch]``."""


class Events(NamedTuple):
    """What the last action did, a row each ``[batch]``, int8, 1 for yes."""

    went_home: npt.NDArray[np.int8]
    """A card went to a foundation."""
    drew: npt.NDArray[np.int8]
    """A card came off the stock."""
    invalid: npt.NDArray[np.int8]
    """The action was illegal and changed nothing."""


def make_state(rules: Rules, batch: int) -> State:
    """Room for ``batch`` games, all piles empty."""

    def zeros(dtype: type, *shape: int) -> npt.NDArray[Any]:
        return np.zeros((batch, *shape), dtype=dtype)

    return State(
        rows=zeros(np.int8, rules.row_size),
        tops=zeros(np.int8, rules.sources),
        heights=zeros(np.int8, rules.piles),
        runs=zeros(np.int8, rules.piles),
        stock=zeros(np.int16),
        waste=zeros(np.int16),
        home=zeros(np.int16),
        spaces=zeros(np.int16),
        empty_cells=zeros(np.int16),
        mask=zeros(np.int8, rules.actions),
        status=zeros(np.int8),
    )


def make_events(batch: int) -> Events:
    """Room for what happens in ``batch`` games."""
    return Events(*(np.zeros(batch, dtype=np.int8) for _ in Events._fields))


# ------------------------------------------------------------------------------- what fits where


@jit
def _builds(rules, card, onto):
    """Whether a card may be laid on another: one rank lower, in the suits that the variant builds."""
    if (card >> 2) + 1 != (onto >> 2):
        return False
    if rules.build == SAME_SUIT:
        return (card & 3) == (onto & 3)
    if rules.build == ALTERNATE_COLOR:
        # Clubs 0 and Spades 3 are black, Diamonds 1 and Hearts 2 are red.
        return (((card + 1) ^ (onto + 1)) & 2) != 0
    return True


@jit
def _foundation_for(rules, state, b, card):
    """The place in the row of the foundation that takes the card, or 0 when none does.

    Foundations of a suit lie fullest first, so the first that fits is the fullest.
    """
    first = rules.row_foundations + (card & 3) * rules.decks
    below = (card >> 2) - 1
    for place in range(first, first + rules.decks):
        if int(state.rows[b, place]) == below:
            return place
    return 0


@jit
def _capacity(rules, state, b, to_space):
    """How many cards may move as one.

    A supermove is what single moves could carry: each empty cell holds a card in between, and where any card
    may go to a space, each space but the target doubles what can be carried. Kings-only spaces hold none.
    """
    if rules.moves == ONE_CARD:
        return 1
    if rules.moves == SUPERMOVE:
        cards = int(state.empty_cells[b]) + 1
        if rules.spaces == SPACES_ANY:
            between = int(state.spaces[b]) - to_space
            # No sequence is longer than its suit: 2**5 is as good as more.
            cards <<= max(0, min(between, 5))
        return cards
    return rules.ranks


@jit
def _cards_to_pile(rules, state, b, source, target, capacity):
    """How many cards move from a source onto a pile that is not empty: one number fits, or 0 for none.

    In a game from its deal they always have room; a position made by hand may hold a pile that is full.
    """
    card = int(state.tops[b, source])
    onto = int(state.tops[b, target])
    count = 1
    if rules.moves != ONE_CARD and source < rules.piles:
        count = (onto >> 2) - (card >> 2)
        if count < 1 or count > int(state.runs[b, source]) or count > capacity:
            return 0
        end = source * rules.pile_capacity + int(state.heights[b, source])
        card = int(state.rows[b, end - count])
    fits = (
        card != 0
        and _builds(rules, card, onto)
        and int(state.heights[b, target]) + count <= rules.pile_capacity
    )
    return count if fits else 0


@jit
def _cards_to_space(rules, state, b, source, count, capacity):
    """How many cards move to a space when the player asks for ``count``, or 0 when that is not legal.

    A whole pile in a space changes nothing but a name: not a move. Where only Kings fill a space, the
    sequence that a King leads goes whole, whatever the count asked for.
    """
    card = int(state.tops[b, source])
    if card == 0:
        return 0
    kings_only = rules.spaces == SPACES_KINGS
    if source >= rules.piles:
        return 0 if kings_only and (card >> 2) != rules.ranks else 1
    height = int(state.heights[b, source])
    run = 1 if rules.moves == ONE_CARD else int(state.runs[b, source])
    if kings_only:
        # The King is the deepest card of a run that it leads.
        leader = int(state.rows[b, source * rules.pile_capacity + height - run])
        if (leader >> 2) != rules.ranks:
            return 0
        count = run
    return count if count <= run and count <= capacity and count < height else 0


# -------------------------------------------------------------------------------------- the mask


@jit
def _mask_home(rules, state, b, source):
    card = int(state.tops[b, source])
    legal = card != 0 and _foundation_for(rules, state, b, card) != 0
    state.mask[b, rules.home_actions + source] = legal


@jit
def _mask_cell(rules, state, b, source):
    legal = int(state.tops[b, source]) != 0 and int(state.empty_cells[b]) > 0
    state.mask[b, rules.cell_actions + source] = legal


@jit
def _tableau_actions(rules, source):
    """Number of the source's first action onto a tableau pile; a pile has none onto itself."""
    if source <= rules.piles:
        return rules.tableau_actions + source * (rules.piles - 1)
    return rules.tableau_actions + source * rules.piles - rules.piles


@jit
def _mask_from(rules, state, b, source, capacity):
    """Entries of one source onto all other piles."""
    action = _tableau_actions(rules, source)
    for target in range(rules.piles):
        if target != source:
            state.mask[b, action] = _cards_to_pile(rules, state, b, source, target, capacity) != 0
            action += 1


@jit
def _mask_onto(rules, state, b, target, capacity):
    """Entries of all sources onto one pile."""
    for source in range(rules.sources):
        if source != target:
            action = _tableau_actions(rules, source) + target - int(source < target and source < rules.piles)
            state.mask[b, action] = _cards_to_pile(rules, state, b, source, target, capacity) != 0


@jit
def _mask_space(rules, state, b, source):
    """Entries of one source to a space."""
    if rules.spaces == SPACES_NONE:
        return
    open_space = int(state.spaces[b]) > 0
    if source >= rules.piles:
        action = rules.space_actions + rules.piles * rules.space_counts + source - rules.piles
        state.mask[b, action] = open_space and _cards_to_space(rules, state, b, source, 1, 1) != 0
        return
    action = rules.space_actions + source * rules.space_counts
    capacity = _capacity(rules, state, b, 1)
    for count in range(1, rules.space_counts + 1):
        legal = open_space and _cards_to_space(rules, state, b, source, count, capacity) != 0
        state.mask[b, action + count - 1] = legal


@jit
def _mask_source(rules, state, b, source, capacity):
    """Entries that the playable card of one source touches."""
    _mask_home(rules, state, b, source)
    if rules.cells and source < rules.first_cell:
        _mask_cell(rules, state, b, source)
    _mask_from(rules, state, b, source, capacity)
    _mask_space(rules, state, b, source)
    if source < rules.piles:
        _mask_onto(rules, state, b, source, capacity)


@jit
def _mask_all(rules, state, b):
    """The whole mask from the position."""
    if rules.has_stock:
        state.mask[b, 0] = int(state.stock[b]) > 0
    capacity = _capacity(rules, state, b, 0)
    for source in range(rules.sources):
        _mask_home(rules, state, b, source)
        if rules.cells and source < rules.first_cell:
            _mask_cell(rules, state, b, source)
        _mask_from(rules, state, b, source, capacity)
        _mask_space(rules, state, b, source)


@jit
def _finish(rules, state, b):
    """Set the status; a finished game gets a mask of ones, so that nothing ever samples from nothing."""
    state.status[b] = PLAYING
    if int(state.home[b]) == rules.cards:
        state.status[b] = WON
    elif not (rules.has_stock and int(state.stock[b]) > 0):
        state.status[b] = STUCK
        for action in range(rules.actions):
            if int(state.mask[b, action]) != 0:
                state.status[b] = PLAYING
                break
    if int(state.status[b]) != PLAYING:
        state.mask[b, :] = 1


# ----------------------------------------------------------------------------------------- moves


@jit
def _update_pile(rules, state, b, pile):
    """The playable card, and the sequence that it ends, of a pile whose cards have changed."""
    height = int(state.heights[b, pile])
    end = pile * rules.pile_capacity + height
    state.tops[b, pile] = state.rows[b, end - 1] if height else 0
    if rules.moves != ONE_CARD:
        run = min(height, 1)
        while run < height and _builds(
            rules, int(state.rows[b, end - run]), int(state.rows[b, end - run - 1])
        ):
            run += 1
        state.runs[b, pile] = run


@jit
def _take(rules, state, b, source):
    """Take the playable card of a source away and return it."""
    card = int(state.tops[b, source])
    if source < rules.piles:
        height = int(state.heights[b, source]) - 1
        state.rows[b, source * rules.pile_capacity + height] = 0
        state.heights[b, source] = height
        state.spaces[b] += height == 0
        _update_pile(rules, state, b, source)
    elif source < rules.first_cell:
        waste = int(state.waste[b]) - 1
        state.rows[b, rules.row_waste + waste] = 0
        state.waste[b] = waste
        state.tops[b, source] = state.rows[b, rules.row_waste + waste - 1] if waste else 0
    else:
        state.rows[b, rules.row_cells + source - rules.first_cell] = 0
        state.tops[b, source] = 0
        state.empty_cells[b] += 1
    return card


@jit
def _carry(rules, state, b, source, target, count):
    """Move the last ``count`` cards of a source onto a pile, in their order."""
    start = target * rules.pile_capacity + int(state.heights[b, target])
    state.spaces[b] -= int(state.heights[b, target]) == 0
    state.heights[b, target] += count
    if count == 1:
        state.rows[b, start] = _take(rules, state, b, source)
    else:
        height = int(state.heights[b, source]) - count
        end = source * rules.pile_capacity + height
        for k in range(count):
            state.rows[b, start + k] = state.rows[b, end + k]
            state.rows[b, end + k] = 0
        state.heights[b, source] = height
        state.spaces[b] += height == 0
        _update_pile(rules, state, b, source)
    _update_pile(rules, state, b, target)


@jit
def _draw(rules, state, b):
    """Turn the next card of the stock up to the waste. The waste is not turned over: one pass."""
    stock = int(state.stock[b]) - 1
    waste = int(state.waste[b])
    card = state.rows[b, rules.row_stock + stock]
    state.rows[b, rules.row_stock + stock] = 0
    state.rows[b, rules.row_waste + waste] = card
    state.rows[b, rules.row_stock_count] = min(stock, MAX_STOCK_COUNT)
    state.tops[b, rules.piles] = card
    state.stock[b] = stock
    state.waste[b] = waste + 1


@jit
def _decode(rules, state, b, action):
    """Source, target and number of cards of a legal action; targets are numbered like sources, home -1."""
    piles = rules.piles
    if action < rules.home_actions:
        return piles, piles, 1
    if action < rules.cell_actions:
        return action - rules.home_actions, -1, 1
    if action < rules.tableau_actions:
        cell = 0
        while int(state.rows[b, rules.row_cells + cell]) != 0:
            cell += 1
        return action - rules.cell_actions, rules.first_cell + cell, 1
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
        return source, target, _cards_to_pile(rules, state, b, source, target, rules.ranks)
    choice = action - rules.space_actions
    from_piles = piles * rules.space_counts
    count = 1
    if choice < from_piles:
        source = choice // rules.space_counts
        count = choice - source * rules.space_counts + 1
    else:
        source = piles + choice - from_piles
    target = 0
    while int(state.heights[b, target]) != 0:
        target += 1
    return source, target, _cards_to_space(rules, state, b, source, count, rules.ranks)


@jit
def _play(rules, state, events, b, action):
    """Play a legal action and bring the mask and the status up to date."""
    no_space_before = int(state.spaces[b]) == 0
    no_cell_before = int(state.empty_cells[b]) == 0
    capacity_before = _capacity(rules, state, b, 0)
    to_space_before = _capacity(rules, state, b, 1)
    source, target, count = _decode(rules, state, b, action)
    if action < rules.home_actions:
        _draw(rules, state, b)
        events.drew[b] = 1
        state.mask[b, 0] = int(state.stock[b]) > 0
        target = -1
    elif action < rules.cell_actions:
        card = _take(rules, state, b, source)
        state.rows[b, _foundation_for(rules, state, b, card)] += 1
        state.home[b] += 1
        events.went_home[b] = 1
        # That foundation now takes another card.
        for other in range(rules.sources):
            _mask_home(rules, state, b, other)
    elif action < rules.tableau_actions:
        card = _take(rules, state, b, source)
        state.rows[b, rules.row_cells + target - rules.first_cell] = card
        state.tops[b, target] = card
        state.empty_cells[b] -= 1
    else:
        _carry(rules, state, b, source, target, count)

    capacity = _capacity(rules, state, b, 0)
    _mask_source(rules, state, b, source, capacity)
    if target >= 0:
        _mask_source(rules, state, b, target, capacity)
    if rules.moves == SUPERMOVE:
        # Only a sequence longer than either capacity gains or loses a move by the change.
        to_space = _capacity(rules, state, b, 1)
        if to_space != to_space_before or capacity != capacity_before:
            for pile in range(rules.piles):
                if int(state.runs[b, pile]) > min(to_space, to_space_before):
                    _mask_from(rules, state, b, pile, capacity)
                    _mask_space(rules, state, b, pile)
    if (int(state.spaces[b]) == 0) != no_space_before:
        for other in range(rules.sources):
            _mask_space(rules, state, b, other)
    if (int(state.empty_cells[b]) == 0) != no_cell_before:
        for other in range(rules.first_cell):
            _mask_cell(rules, state, b, other)
    _finish(rules, state, b)


@jit
def _no_events(events, b):
    """Nothing has happened yet.

    A function of its own: what a parallel loop writes itself to an array of a named tuple is lost (numba
    issue 5872).
    """
    events.went_home[b] = 0
    events.drew[b] = 0
    events.invalid[b] = 0


@jit
def _step(rules, state, events, b, action):
    """Play an action of the space if it is legal; else change nothing and say so."""
    _no_events(events, b)
    if int(state.status[b]) != PLAYING:
        return
    if int(state.mask[b, action]) == 0:
        events.invalid[b] = 1
    else:
        _play(rules, state, events, b, action)


@jit
def _copy(rules, state, source, target):
    """Make the game in one row the same as in another."""
    for place in range(rules.row_size):
        state.rows[target, place] = state.rows[source, place]
    for place in range(rules.sources):
        state.tops[target, place] = state.tops[source, place]
    for pile in range(rules.piles):
        state.heights[target, pile] = state.heights[source, pile]
        state.runs[target, pile] = state.runs[source, pile]
    state.stock[target] = state.stock[source]
    state.waste[target] = state.waste[source]
    state.home[target] = state.home[source]
    state.spaces[target] = state.spaces[source]
    state.empty_cells[target] = state.empty_cells[source]
    for action in range(rules.actions):
        state.mask[target, action] = state.mask[source, action]
    state.status[target] = state.status[source]


# --------------------------------------------------------------------------------- deals, set-up


@jit
def _derive(rules, state, b):
    """Everything that follows from a position row: counts, playable cards, sequences, mask, status."""
    spaces = 0
    for pile in range(rules.piles):
        height = 0
        while height < rules.pile_capacity and int(state.rows[b, pile * rules.pile_capacity + height]) != 0:
            height += 1
        state.heights[b, pile] = height
        spaces += int(height == 0)
        _update_pile(rules, state, b, pile)
    state.spaces[b] = spaces

    empty_cells = 0
    for cell in range(rules.cells):
        card = int(state.rows[b, rules.row_cells + cell])
        state.tops[b, rules.first_cell + cell] = card
        empty_cells += int(card == 0)
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
        state.tops[b, rules.piles] = state.rows[b, rules.row_waste + waste - 1] if waste else 0
        state.rows[b, rules.row_stock_count] = min(stock, MAX_STOCK_COUNT)

    _mask_all(rules, state, b)
    _finish(rules, state, b)


@jit
def _deal(rules, sizes, cells_filled, state, b, order):
    """Deal ``order`` row by row, one card to each pile in turn, then to the cells; the rest is the stock."""
    state.rows[b, :] = 0
    k = 0
    for height in range(rules.pile_capacity):
        for pile in range(rules.piles):
            if height < sizes[pile]:
                state.rows[b, pile * rules.pile_capacity + height] = order[k]
                k += 1
    for cell in range(cells_filled):
        state.rows[b, rules.row_cells + cell] = order[k]
        k += 1
    for place in range(rules.stock_capacity):
        # Bottom first: the next card of the stock lies last.
        state.rows[b, rules.row_stock + rules.stock_capacity - 1 - place] = order[k + place]
    _derive(rules, state, b)


# ------------------------------------------------------------------- kernels that others call


@jit
def step_row(rules, state, events, row, action):
    """Step one game. ``action`` must lie in the space."""
    _step(rules, state, events, row, action)


@jit_parallel
def step_rows(rules, state, events, actions, active):
    """Step every game of the batch.

    Parameters
    ----------
    actions
        int64 ``[batch]``, each within the space.
    active
        int8 ``[batch]``; games with 0 are left as they are.
    """
    for b in prange(actions.shape[0]):
        if int(active[b]) != 0:
            _step(rules, state, events, b, actions[b])
        else:
            _no_events(events, b)


@jit
def deal_rows(rules, sizes, cells_filled, state, rows, orders):
    """Deal new games into the named rows.

    Parameters
    ----------
    sizes
        int64 ``[piles]``, cards dealt to each tableau pile.
    rows
        int64 ``[n]``.
    orders
        int8 ``[n, cards]``, the order in which the cards leave the pack.
    """
    for k in range(rows.shape[0]):
        _deal(rules, sizes, cells_filled, state, rows[k], orders[k])


@jit
def derive_rows(rules, state, rows):
    """Bring everything but ``state.rows`` up to date in the named rows (int64 ``[n]``)."""
    for k in range(rows.shape[0]):
        _derive(rules, state, rows[k])


@jit
def count_paths(rules, state, events, depth, played):
    """How many ways there are to play ``depth`` (at least 1) legal actions from the game in row 0.

    Row ``n`` of the state is room for the game after ``n`` actions; there are ``depth`` rows.

    Parameters
    ----------
    played
        int64 ``[depth]``, room for the action that is being tried after so many.
    """
    paths = 0
    at = 0
    played[0] = -1
    while at >= 0:
        if int(state.status[at]) != PLAYING:
            at -= 1
        elif at == depth - 1:
            # Each action that is legal here ends a path: it need not be played.
            for action in range(rules.actions):
                paths += int(state.mask[at, action])
            at -= 1
        else:
            played[at] += 1
            if played[at] == rules.actions:
                at -= 1
            elif int(state.mask[at, played[at]]) != 0:
                _copy(rules, state, at, at + 1)
                _step(rules, state, events, at + 1, played[at])
                at += 1
                played[at] = -1
    return paths


@jit
def move_of(rules, state, row, action):
    """Source, target and number of cards of a legal action: see ``_decode``."""
    return _decode(rules, state, row, action)
