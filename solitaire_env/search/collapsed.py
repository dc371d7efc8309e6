"""Exhaustive search of games like Klondike, without the arrangement of their face-up cards.

In these games any part of a sequence moves, a card goes onto the two cards of the next rank and the other
color, and only Kings fill spaces. Moves of sequences can be taken back, so it does not matter which of its
two parents a card lies on. It matters only how many there are: of two parents with one card on them, one is
free, and the card can be moved so that either is. What remains of a position is:

- how many of its dealt cards lie in each pile; the last of them is *fixed*, because to move it turns up a
  card or empties the pile;
- the heights of the foundations;
- the cards in the stock, and which of them can be played.

A card is free to leave the tableau if fewer cards lie on the cards of its rank and color than there are. The
same condition says whether these cards take another one.

These rules leave moves out, and no solution is lost:

- Cards other than Kings go home immediately if they are neither fixed nor in the stock: they can return
  when they are needed.
- A card goes home immediately if no card will need it: see :func:`_safe`.
- After a card returned from its foundation, either another returns, or a move follows that needs it.
- After a pile was emptied, a King fills the space.

The states are searched depth first; a table remembers them, and forgets some when it is full. Bits of masks
are card codes; Spades and Hearts are exchanged in them (:func:`code_of`), so that the lowest bit is the
color.
"""

from typing import Annotated, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import Events, Rules, State
from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN
from solitaire_env.core.native import Int8, Int64, inner, kernel, lowest_bit
from solitaire_env.core.rules.legal import tableau_action
from solitaire_env.core.rules.step import step_legal
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Variant, rules_to_dict
from solitaire_env.move_features.arrays import make_arrays
from solitaire_env.search.exhaustive import EXHAUSTED, FOUND, FULL, MORE
from solitaire_env.search.positions import mix

Array = npt.NDArray[Any]

MAX_PILES: Final = 15
MAX_PILE: Final = 15
MAX_STOCK: Final = 30
MAX_PASSES: Final = 32
"""Numbers of piles, of dealt cards in each, of cards in the stock and of passes are at most these: a state is
two words."""

# Kinds of move, in the order of the search.
HOME, TURN, DRAWN_HOME, DRAWN, BACK = range(5)

# Columns of a frame: the state, ...
PILES, FOUNDATIONS, STOCK, WASTE, REDEALS, AFTER, FACE_UP, FIXED = range(8)
# ... the stock's cards that can be played, the moves that are left of each kind, the move to the next frame.
READY: Final = 8
MOVES: Final = 9
MOVE: Final = 14
COLUMNS: Final = 15

# What the last move asks of the next (column AFTER): nothing; a King for the space; another card from its
# foundation; or else a use of the cards of a rank and color, ``USE + 2 * rank + color``.
FREELY, FILL, AGAIN, USE = 0, 1, 2, 1

# Masks of two suits in all ranks: one of each color; the two of a color.
_PAIRS: Final = 0x33333333333333
_EVEN: Final = 0x55555555555555

MAX_DEPTH: Final = 2000
"""Longest line of a search."""
MAX_ACTIONS: Final = 2 * MAX_STOCK + 2
"""Maximum number of actions of the game for a move: a card is drawn after a redeal."""
_PROBES: Final = 4
"""Slots of the table for each state."""


class Puzzle(NamedTuple):
    """What stays the same during a search."""

    piles: Annotated[Int8, "piles deepest"]
    """int8 ``[piles, cards]``: codes of the cards that were dealt to each pile, the first at the bottom."""
    stock: Annotated[Int8, "stock"]
    """int8 ``[capacity]``: codes of the cards of the stock, the first to be drawn first."""
    ranks: int
    draw: int
    limited: int
    """Whether redeals are limited."""
    back: int
    """Whether cards may return from the foundations."""


def make_puzzle(rules: Any) -> Puzzle:
    """A puzzle of a game, without its cards; see :func:`read`."""
    piles = np.zeros((rules.piles, MAX_PILE), dtype=np.int8)
    stock = np.zeros(rules.stock_capacity, dtype=np.int8)
    return Puzzle(piles, stock, rules.ranks, rules.draw, int(rules.passes > 0), rules.worrying_back)


class Search(NamedTuple):
    """A search in progress, see :func:`make_search`."""

    frames: Annotated[Int64, "depth COLUMNS"]
    """int64 ``[depth, COLUMNS]``: the states on the way to the current one."""
    table: Annotated[Int64, "slots 2"]
    """int64 ``[slots, 2]``: the states met, 0 for a free slot; a power of 2."""
    counts: Annotated[Int64, "3"]
    """int64 ``[3]``: the last frame, the number of states, and whether frames were missing."""


def search_lengths(megabytes: float) -> dict[str, int]:
    """The lengths of the axes of a search whose table fits into some megabytes."""
    slots = 1 << max(12, (int(megabytes * 1e6) // 16).bit_length() - 1)
    return {"depth": MAX_DEPTH, "COLUMNS": COLUMNS, "slots": slots}


def make_search(megabytes: float) -> Search:
    """A search whose table fits into some megabytes."""
    return make_arrays(Search, **search_lengths(megabytes))


_RULES: Final = {
    "decks": 1,
    "cells": 0,
    "cells_filled": 0,
    "build": "alternate color",
    "spaces": "kings",
    "moves": "sequence",
    "sequence": "as build",
    "fill": "none",
    "foundation_build": "same suit",
    "base": "ace",
    "aces_home": False,
}
"""The rules on which this search relies."""
_ANY: Final = ("tableau", "face_down", "draw", "passes", "worrying_back", "ranks")
"""The rules that may have other values, within :data:`MAX_PILES` and so on."""


def collapses(variant: Variant) -> bool:
    """Whether this search can play a game. A rule that it does not know is refused, whatever its value."""
    rules = rules_to_dict(variant)
    return (
        {name: rule for name, rule in rules.items() if name not in _ANY} == _RULES
        and [*map(len, variant.face_down_rows or ())] == [max(0, size - 1) for size in variant.tableau]
        and variant.piles <= MAX_PILES
        and max(variant.tableau) <= MAX_PILE
        and 0 < variant.stock <= MAX_STOCK
        and variant.passes <= MAX_PASSES
    )


@inner
def code_of(card):
    """The code of a card in masks, from its code in the engine, or the other way round."""
    return card ^ ((card >> 1) & 1)


# ------------------------------------------------------------------------------------------ masks


@inner
def _twins(mask):
    """The cards of the same ranks and colors, other suits."""
    return ((mask & _PAIRS) << 2) | ((mask >> 2) & _PAIRS)


@inner
def _others(mask):
    """Cards of the same ranks and other colors, one for each."""
    return ((mask & _EVEN) << 1) | ((mask >> 1) & _EVEN)


@inner
def _parents(pairs):
    """The cards of the next higher rank and the other color, of masks that contain both of each color."""
    return _others(pairs) << 4


@inner
def _children(pairs):
    """The cards of the next lower rank and the other color, of masks that contain both of each color."""
    return _others(pairs >> 4)


@inner
def _height(foundations, suit):
    return (foundations >> (4 * suit)) & 15


@inner
def _safe(foundations, suit):
    """Whether the next card of a suit goes home safely: each card that could lie on it can go home, too, and
    so can each card that could lie on that one.
    """
    height = _height(foundations, suit)
    return (
        _height(foundations, suit ^ 1) >= height - 1
        and _height(foundations, suit ^ 3) >= height - 1
        and _height(foundations, suit ^ 2) >= height - 2
    )


@inner
def _pile_of(puzzle, frame, card):
    """The pile of a fixed card."""
    for pile in range(puzzle.piles.shape[0]):
        dealt = (frame[PILES] >> (4 * pile)) & 15
        if dealt > 0 and puzzle.piles[pile, dealt - 1] == card:
            return pile
    return -1


@inner
def _spaces(puzzle, frame):
    """Number of empty piles: those without a dealt card, less the Kings that moved there."""
    spaces = 0
    for pile in range(puzzle.piles.shape[0]):
        spaces += ((frame[PILES] >> (4 * pile)) & 15) == 0
    kings = ((frame[FACE_UP] & ~frame[FIXED]) >> (4 * puzzle.ranks)) & 15
    return spaces - ((kings & 1) + ((kings >> 1) & 1) + ((kings >> 2) & 1) + (kings >> 3))


@inner
def playable(puzzle, frame):
    """The cards of the stock that can be played after some draws, and perhaps a redeal."""
    left = 0
    for k in range(puzzle.stock.shape[0]):
        left += (frame[STOCK] >> k) & 1
    place = ready = 0
    for k in range(puzzle.stock.shape[0]):
        if (frame[STOCK] >> k) & 1:
            place += 1
            now = place >= frame[WASTE] and (place - frame[WASTE]) % puzzle.draw == 0
            later = place % puzzle.draw == 0 and frame[REDEALS] != 0
            if now or later or place == left:
                ready |= 1 << puzzle.stock[k]
    return ready


# ------------------------------------------------------------------------------------------ moves


@inner
def find_moves(puzzle, frame):
    """Write the moves of a state; whether there is only one, which loses nothing."""
    face_up, fixed, foundations = frame[FACE_UP], frame[FIXED], frame[FOUNDATIONS]
    loose = face_up & ~fixed
    on_one = _parents(loose | _twins(loose))
    on_two = _parents(loose & _twins(loose))
    free = ((face_up | _twins(face_up)) & ~on_one) | ((face_up & _twins(face_up)) & ~on_two)
    takes = _children(free)
    kings = 15 << (4 * puzzle.ranks)
    fits = takes | kings if _spaces(puzzle, frame) > 0 else takes & ~kings
    last = following = safe = 0
    for suit in range(4):
        height = _height(foundations, suit)
        last |= 1 << (4 * height + suit)
        card = 1 << (4 * height + 4 + suit)
        following |= card
        safe |= card * _safe(foundations, suit)
    home = face_up & free & following
    for kind in range(5):
        frame[MOVES + kind] = 0
    after = frame[AFTER]
    if after == FREELY:
        forced = home & (safe | ~(fixed | kings) if puzzle.back else safe)
        if forced:
            frame[MOVES + HOME] = forced & -forced
            return True
        forced = frame[READY] & following & safe
        if puzzle.draw == 1 and not puzzle.limited and forced:
            frame[MOVES + DRAWN_HOME] = forced & -forced
            return True
        frame[MOVES + HOME] = home
        frame[MOVES + TURN] = fixed & fits
        frame[MOVES + DRAWN_HOME] = frame[READY] & following
        frame[MOVES + DRAWN] = frame[READY] & fits
        if puzzle.back:
            # The same as to go home and to return, which Kings cannot.
            frame[MOVES + TURN] &= ~home | kings
            frame[MOVES + DRAWN] &= ~following | kings
    elif after == FILL:
        frame[MOVES + TURN] = fixed & fits & kings
        frame[MOVES + DRAWN] = frame[READY] & fits & kings
        return False
    elif after > AGAIN:
        pair = 5 << (4 * ((after - USE) >> 1) + ((after - USE) & 1))
        uses = _children(pair)
        frame[MOVES + HOME] = home & pair
        frame[MOVES + TURN] = fixed & fits & uses & ~home
        frame[MOVES + DRAWN] = frame[READY] & fits & uses & ~following
    if puzzle.back:
        returns = last & takes & ~15 & ~kings
        for suit in range(4):
            height = _height(foundations, suit)
            if height > 0 and _safe(foundations - (1 << (4 * suit)), suit):
                returns &= ~(1 << (4 * height + suit))
        frame[MOVES + BACK] = returns
    return False


@inner
def next_move(frame):
    """Take a move from those of a frame; -1 if there is none."""
    for kind in range(5):
        mask = frame[MOVES + kind]
        if mask:
            card = lowest_bit(mask)
            frame[MOVES + kind] = mask & (mask - 1)
            return (kind << 6) | card
    return -1


@inner
def _turn(puzzle, frame, card):
    """Take a fixed card away; whether that empties the pile."""
    pile = _pile_of(puzzle, frame, card)
    frame[PILES] -= 1 << (4 * pile)
    frame[FIXED] &= ~(1 << card)
    return _settle(puzzle, frame, pile)


@inner
def _settle(puzzle, frame, pile):
    """Turn up the last dealt card of a pile; whether there is none.

    A King at the bottom is not fixed: its pile is like a space that it filled.
    """
    dealt = (frame[PILES] >> (4 * pile)) & 15
    if dealt == 0:
        return True
    card = puzzle.piles[pile, dealt - 1]
    frame[FACE_UP] |= 1 << card
    if dealt == 1 and card >> 2 == puzzle.ranks:
        frame[PILES] -= 1 << (4 * pile)
    else:
        frame[FIXED] |= 1 << card
    return False


@inner
def _draw(puzzle, frame, card):
    """Take a card from the stock."""
    place = index = left = 0
    for k in range(puzzle.stock.shape[0]):
        if (frame[STOCK] >> k) & 1:
            left += 1
            if puzzle.stock[k] == card:
                place, index = left, k
    now = place >= frame[WASTE] and ((place - frame[WASTE]) % puzzle.draw == 0 or place == left)
    frame[STOCK] &= ~(1 << index)
    frame[WASTE] = place - 1
    if puzzle.limited:
        frame[REDEALS] -= not now
    elif frame[WASTE] % puzzle.draw == 0 or frame[WASTE] == left - 1:
        frame[WASTE] = 0  # as good as a new pass


@inner
def play_move(puzzle, frame, move):
    """Play a move."""
    kind, card = move >> 6, move & 63
    suit = card & 3
    bit = 1 << card
    frame[AFTER] = FREELY
    if kind == HOME:
        frame[FOUNDATIONS] += 1 << (4 * suit)
        frame[FACE_UP] &= ~bit
        if frame[FIXED] & bit:
            _turn(puzzle, frame, card)
    elif kind == TURN:
        if _turn(puzzle, frame, card):
            frame[AFTER] = FILL
    elif kind == DRAWN_HOME:
        frame[FOUNDATIONS] += 1 << (4 * suit)
    elif kind == DRAWN:
        frame[FACE_UP] |= bit
    else:
        pair = 5 << (card & ~2)
        loose = frame[FACE_UP] & ~frame[FIXED]
        lying = loose & _children(pair)
        there = frame[FACE_UP] & pair
        # Without this card there is none of its kind that is free.
        needed = there == 0 or (lying != 0 and (there != pair or (lying & _twins(lying)) != 0))
        frame[FOUNDATIONS] -= 1 << (4 * suit)
        frame[FACE_UP] |= bit
        frame[AFTER] = USE + 2 * (card >> 2) + (card & 1) if needed else AGAIN
    if kind in (DRAWN_HOME, DRAWN):
        _draw(puzzle, frame, card)
        frame[READY] = playable(puzzle, frame)


@inner
def is_won(puzzle, foundations):
    """Whether all cards are home."""
    return foundations == puzzle.ranks * 0x1111


# ----------------------------------------------------------------------------------------- search


@inner(wraps=True)
def _slot(first, second, slots):
    key = mix(np.uint64(first) ^ mix(np.uint64(second)))
    return np.int64(key & np.uint64(slots - 1))


@inner
def meet(frame, table):
    """Whether a state is in the table; it is now."""
    first = frame[PILES]
    second = (1 << 62) | (frame[STOCK] << 31) | (frame[FOUNDATIONS] << 15)
    second |= (frame[WASTE] << 10) | (frame[AFTER] << 5) | frame[REDEALS]
    slots = table.shape[0]
    start = _slot(first, second, slots)
    for k in range(_PROBES):
        slot = (start + k) & (slots - 1)
        if table[slot, 1] == second and table[slot, 0] == first:
            return True
        if table[slot, 1] == 0:
            break
    table[slot, 0], table[slot, 1] = first, second
    return False


@inner
def _read_pile(rules, row, puzzle, frame, pile):
    """Read the cards of a pile; whether those that are face up are a sequence."""
    down = above = 0
    for k in range(rules.pile_capacity):
        card = row[pile * rules.pile_capacity + k]
        if card == 0:
            break
        code = code_of(card & (DOWN - 1))
        if card >= DOWN:
            down += 1
        else:
            if k > down and (code >> 2 != (above >> 2) - 1 or (code ^ above) & 1 == 0):
                return False
            frame[FACE_UP] |= 1 << code
            above = code
        if k <= down:
            if k == MAX_PILE:
                return False
            puzzle.piles[pile, k] = code
    bottom = puzzle.piles[pile, 0]
    if bottom and (down > 0 or bottom >> 2 != rules.ranks):
        frame[PILES] |= (down + 1) << (4 * pile)
        frame[FIXED] |= 1 << puzzle.piles[pile, down]
    return True


@inner
def _add_to_stock(puzzle, n, card):
    """Add a card to the stock, if there is one; the new number of cards."""
    if card == 0:
        return n
    puzzle.stock[n] = code_of(card)
    return n + 1


@kernel
def read(
    rules: Rules, row: Annotated[Int8, "rules.row_size"], puzzle: Puzzle, frame: Annotated[Int64, "COLUMNS"]
) -> int:
    """Write the puzzle of a position row with a known stock, and its state as a frame, without its moves.

    Returns
    -------
    0 if the face-up cards of a pile are no sequence, which never happens in a game from a deal; else 1.
    """
    frame[:] = 0
    puzzle.piles[:] = 0
    for pile in range(rules.piles):
        if not _read_pile(rules, row, puzzle, frame, pile):
            return 0
    for suit in range(4):
        frame[FOUNDATIONS] |= row[rules.row_foundations + suit] << (4 * code_of(suit))
    n = 0
    for k in range(rules.row_waste, rules.row_foundations):
        n = _add_to_stock(puzzle, n, row[k])
    frame[WASTE] = n
    for k in range(rules.row_size - 1, rules.row_stock - 1, -1):
        n = _add_to_stock(puzzle, n, row[k])
    frame[STOCK] = (1 << n) - 1
    frame[REDEALS] = row[rules.row_redeals] if rules.passes > 1 else int(rules.passes == 0)
    return 1


@kernel
def begin_states(rules: Rules, row: Annotated[Int8, "rules.row_size"], puzzle: Puzzle, search: Search) -> int:
    """Begin with a position row; whether it can be searched, see :func:`read`. The table must be empty."""
    frame = search.frames[0]
    if read(rules, row, puzzle, frame) == 0:
        return 0
    frame[AFTER] = FREELY
    frame[READY] = playable(puzzle, frame)
    find_moves(puzzle, frame)
    search.counts[:] = 0
    return 1


@inner
def copy_state(frame, to):
    """Copy the state of a frame, without its moves."""
    for column in range(MOVES):
        to[column] = frame[column]


@inner
def enter(puzzle, frames, depth, move):
    """Play a move of a frame; the next frame is its state."""
    copy_state(frames[depth], frames[depth + 1])
    frames[depth, MOVE] = move
    play_move(puzzle, frames[depth + 1], move)


@inner(inline=False)
def run(puzzle, search, budget):
    """See :func:`explore_states`."""
    frames, counts = search.frames, search.counts
    depth = counts[0]
    end = counts[1] + budget
    while depth >= 0:
        if counts[1] >= end:
            counts[0] = depth
            return MORE
        move = next_move(frames[depth])
        if move < 0:
            depth -= 1
            continue
        if depth + 1 == frames.shape[0]:
            counts[2] = 1
            continue
        enter(puzzle, frames, depth, move)
        counts[1] += 1
        frame = frames[depth + 1]
        if is_won(puzzle, frame[FOUNDATIONS]):
            counts[0] = depth + 1
            return FOUND
        if find_moves(puzzle, frame) or not meet(frame, search.table):
            depth += 1
    counts[0] = 0
    return FULL if counts[2] else EXHAUSTED


@kernel
def explore_states(puzzle: Puzzle, search: Search, budget: int) -> int:
    """Search until a state is won.

    Parameters
    ----------
    budget
        Maximum number of states in this call; the next call continues.

    Returns
    -------
    MORE if the budget is spent; FOUND if the last frame is won; EXHAUSTED if no state can be won; FULL if
    there was no room for some states.
    """
    return run(puzzle, search, budget)


# ------------------------------------------------------------------------------------------ lines


@inner
def _parent(rules, state, card):
    """The first pile that takes a card."""
    for pile in range(rules.piles):
        top = state.tops[0, pile]
        if top >> 2 == (card >> 2) + 1 and (code_of(top) ^ code_of(card)) & 1:
            return pile
    return -1


@inner
def _lay(rules, state, source, card):
    """The action for a card of a source, with those on it: onto a pile, a King to a space."""
    if card >> 2 == rules.ranks:
        return rules.space_actions + source
    return tableau_action(rules, source, _parent(rules, state, card), 1)


@inner
def _place_of(rules, state, card):
    """Where a card lies in the tableau."""
    for place in range(rules.row_cells):
        if state.rows[0, place] == card:
            return place
    return -1


@inner
def _next_action(rules, state, move):
    """The next action of the game for a move, and whether it is the last one."""
    kind, card = move >> 6, code_of(move & 63)
    if kind == BACK:
        return tableau_action(rules, rules.sources + (card & 3), _parent(rules, state, card), 1), True
    if kind in (DRAWN_HOME, DRAWN):
        if state.tops[0, rules.piles] != card:
            return int(state.stock[0] == 0), False  # a draw, or a redeal
        home = rules.home_actions + rules.piles
        return home if kind == DRAWN_HOME else _lay(rules, state, rules.piles, card), True
    place = _place_of(rules, state, card)
    pile = place // rules.pile_capacity
    if kind == TURN:
        return _lay(rules, state, pile, card), True
    if place + 1 < pile * rules.pile_capacity + state.heights[0, pile]:
        return _lay(rules, state, pile, state.rows[0, place + 1]), False
    return rules.home_actions + pile, True


@inner
def _spell_move(rules, state, events, move, line, length):
    """Play a move in row 0; write its actions after those of a line; the new length."""
    last = False
    while not last:
        line[length], last = _next_action(rules, state, move)
        step_legal(rules, state, events, 0, line[length])
        length += 1
    return length


@kernel
def spell(
    rules: Rules,
    state: State,
    events: Events,
    moves: Annotated[Int64, "n"],
    line: Annotated[Int64, "longest"],
) -> int:
    """Play moves in row 0, whose stock is known; write the actions of the game to ``line``, int64 with
    :data:`MAX_ACTIONS` for each move; their number.
    """
    length = 0
    for k in range(moves.shape[0]):
        length = _spell_move(rules, state, events, moves[k], line, length)
    return length


@kernel
def spell_win(
    rules: Rules, state: State, events: Events, search: Search, line: Annotated[Int64, "longest"]
) -> int:
    """The same for the moves to a win that was found."""
    length = 0
    for k in range(search.counts[0]):
        length = _spell_move(rules, state, events, search.frames[k, MOVE], line, length)
    return length


class Collapsed:
    """The search of games of one variant.

    Parameters
    ----------
    megabytes
        Memory of the table of states.
    """

    def __init__(self, variant: Variant, megabytes: float) -> None:
        self.batch = Batch(GameSpec(variant), 1)
        self.puzzle = make_puzzle(self.batch.rules)
        self.search = make_search(megabytes)

    def begin(self, row: Array) -> bool:
        """Begin with a position row, int8 ``[row_size]``, whose stock is known; whether it can be searched,
        see :func:`read`.
        """
        self.row = row
        if self.search.counts[1]:
            self.search = self.search._replace(table=np.zeros(self.search.table.shape, dtype=np.int64))
        return bool(begin_states(self.batch.rules, row, self.puzzle, self.search))

    def explore(self, budget: int) -> tuple[int, int]:
        """Search ``budget`` states: the result of :func:`explore_states`, and their number."""
        before = int(self.search.counts[1])
        return explore_states(self.puzzle, self.search, budget), int(self.search.counts[1]) - before

    def moves(self) -> list[int]:
        """The moves to a win that was found."""
        moves: list[int] = self.search.frames[: self.search.counts[0], MOVE].tolist()
        return moves

    def line(self) -> tuple[int, ...]:
        """The actions to a win that was found."""
        batch = self.batch
        batch.set_row(0, self.row)
        line = np.zeros(MAX_ACTIONS * MAX_DEPTH, dtype=np.int64)
        length = spell_win(batch.rules, batch.state, batch.events, self.search, line)
        return tuple(line[:length].tolist())

    def spell(self, row: Array, moves: list[int]) -> tuple[int, ...]:
        """The actions of the game for some moves from a position row, whose stock is known."""
        batch = self.batch
        batch.set_row(0, row)
        line = np.zeros(MAX_ACTIONS * len(moves), dtype=np.int64)
        length = spell(batch.rules, batch.state, batch.events, np.array(moves, dtype=np.int64), line)
        return tuple(line[:length].tolist())
