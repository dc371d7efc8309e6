"""Tree search with face-down cards, in games like Klondike.

The state of a game is that of :mod:`solitaire_env.search.collapsed`. Moves that can be taken back cost
nothing, so the choices are those that cannot be, each after the moves that it needs. Worlds are orders of the
cards that are not seen, all of the same probability. A node of the tree is what a player knows after some
choices: the cards that they turned up are part of it. An iteration goes down the tree in one world, and at a
new node the exhaustive search says, within a small budget, whether this world can be won.

Cowling, Powley, Whitehouse, "Information Set Monte Carlo Tree Search" (2012); Bjarnason, Fern, Tadepalli,
"Lower Bounding Klondike Solitaire with Monte-Carlo Planning" (2009).
"""

from typing import Annotated, Final, NamedTuple

import numpy as np

from solitaire_env.core.native import Int8, Int16, Int64, inner, kernel, lowest_bit
from solitaire_env.move_features.arrays import make_arrays
from solitaire_env.search.collapsed import (
    BACK,
    FIXED,
    FOUNDATIONS,
    HOME,
    MOVE,
    MOVES,
    PILES,
    READY,
    STOCK,
    Puzzle,
    Search,
    copy_state,
    enter,
    find_moves,
    is_won,
    meet,
    next_move,
    play_move,
    playable,
    run,
)
from solitaire_env.search.exhaustive import FOUND

MAX_CHOICES: Final = 64
"""Maximum number of choices of a node."""
LONGEST: Final = 40
"""Maximum number of moves of a choice."""

# Columns of a node: its first choice, their number (-1 before they are known), iterations, the card that was
# turned up before it, and the next node after the same choice.
FIRST, NUMBER, VISITS, CARD, NEXT = range(5)
# Columns of a choice: iterations, wins, the first node after it.
TRIED, WINS, CHILD = range(3)


class Tree(NamedTuple):
    """A search tree, see :func:`make_tree`."""

    nodes: Annotated[Int64, "nodes 5"]
    choices: Annotated[Int64, "choices 3"]
    lines: Annotated[Int16, "choices LONGEST"]
    """int16 ``[choices, LONGEST]``: the moves of each choice, then -1."""
    sizes: Annotated[Int64, "2"]
    """int64 ``[2]``: number of nodes and of choices."""


def make_tree(iterations: int) -> Tree:
    """A tree with room for some iterations."""
    choices = 8 * iterations + MAX_CHOICES
    return make_arrays(Tree, nodes=iterations + 1, choices=choices, LONGEST=LONGEST)


@inner
def _returns(puzzle, frame, move):
    """Whether a move can be taken back."""
    kind, card = move >> 6, move & 63
    loose = kind == HOME and (frame[FIXED] >> card) & 1 == 0 and card >> 2 != puzzle.ranks
    return kind == BACK or (loose and puzzle.back != 0)


@inner
def _add_choice(tree, node, frames, depth):
    """Add the moves of the first frames as a choice of a node, unless they are too many."""
    at = tree.sizes[1]
    if depth + 1 >= LONGEST or tree.nodes[node, NUMBER] == MAX_CHOICES:
        return
    for k in range(depth + 1):
        tree.lines[at, k] = frames[k, MOVE]
    tree.lines[at, depth + 1] = -1
    tree.choices[at, TRIED] = tree.choices[at, WINS] = 0
    tree.choices[at, CHILD] = -1
    tree.nodes[node, NUMBER] += 1
    tree.sizes[1] += 1


@inner(inline=False)
def _find_choices(puzzle, search, start, tree, node):
    """Find the choices of a node, whose state is ``start``."""
    frames = search.frames
    search.table[:] = 0
    copy_state(start, frames[0])
    find_moves(puzzle, frames[0])
    tree.nodes[node, FIRST] = tree.sizes[1]
    tree.nodes[node, NUMBER] = 0
    depth = 0
    while depth >= 0:
        move = next_move(frames[depth])
        if move < 0:
            depth -= 1
            continue
        enter(puzzle, frames, depth, move)
        frame = frames[depth + 1]
        if _returns(puzzle, frames[depth], move):
            if find_moves(puzzle, frame) or not meet(frame, search.table):
                depth += 1
            continue
        # Ways to the same state are one; cards that can return from home make no difference.
        while find_moves(puzzle, frame) and frame[MOVES + HOME] & ~frame[FIXED]:
            play_move(puzzle, frame, next_move(frame))
        if not meet(frame, search.table):
            _add_choice(tree, node, frames, depth)


@inner
def _hide(puzzle, frame, world):
    """Write the cards of a world: face-down cards, pile by pile, then the stock, the next card last."""
    at = 0
    for pile in range(puzzle.piles.shape[0]):
        for k in range(((frame[PILES] >> (4 * pile)) & 15) - 1):
            puzzle.piles[pile, k] = world[at]
            at += 1
    for k in range(puzzle.stock.shape[0] - 1, -1, -1):
        if (frame[STOCK] >> k) & 1 and at < world.shape[0]:
            puzzle.stock[k] = world[at]
            at += 1


@inner
def _best(tree, node, explore):
    """The choice with the highest upper confidence bound; one that was not tried, if there is any."""
    best, most = -1, -1.0
    first = tree.nodes[node, FIRST]
    logarithm = np.log(1.0 + tree.nodes[node, VISITS])
    for choice in range(first, first + tree.nodes[node, NUMBER]):
        tried = tree.choices[choice, TRIED]
        if tried == 0:
            return choice
        bound = tree.choices[choice, WINS] / tried + explore * np.sqrt(logarithm / tried)
        if bound > most:
            best, most = choice, bound
    return best


@inner
def _follow(puzzle, frame, line):
    """Play the moves of a choice; return the card that was turned up, 0 for none."""
    k = 0
    before = frame[FIXED]
    while line[k] >= 0:
        play_move(puzzle, frame, line[k])
        k += 1
    turned = frame[FIXED] & ~before
    return lowest_bit(turned) if turned else 0


@inner
def _child(tree, choice, card):
    """The node after a choice that turned up a card, and whether it is new; -1 if there is no room."""
    node = tree.choices[choice, CHILD]
    while node >= 0:
        if tree.nodes[node, CARD] == card:
            return node, False
        node = tree.nodes[node, NEXT]
    node = tree.sizes[0]
    if node == tree.nodes.shape[0]:
        return -1, True
    tree.sizes[0] += 1
    tree.nodes[node, NUMBER] = -1
    tree.nodes[node, VISITS] = 0
    tree.nodes[node, CARD] = card
    tree.nodes[node, NEXT] = tree.choices[choice, CHILD]
    tree.choices[choice, CHILD] = node
    return node, True


@inner(inline=False)
def _iterate(puzzle, search, frame, tree, choice, explore, budget, path):
    """An iteration that begins with a choice of the root, from its state in ``frame``."""
    node = length = won = 0
    while True:
        tree.nodes[node, VISITS] += 1
        path[length] = choice
        length += 1
        card = _follow(puzzle, frame, tree.lines[choice])
        if is_won(puzzle, frame[FOUNDATIONS]):
            won = 1
            break
        node, new = _child(tree, choice, card)
        full = tree.sizes[1] + MAX_CHOICES > tree.choices.shape[0]
        if new or full or length == path.shape[0]:
            copy_state(frame, search.frames[0])
            find_moves(puzzle, search.frames[0])
            search.table[:] = 0
            search.counts[:] = 0
            won = int(run(puzzle, search, budget) == FOUND)
            break
        if tree.nodes[node, NUMBER] < 0:
            _find_choices(puzzle, search, frame, tree, node)
        choice = _best(tree, node, explore)
        if choice < 0:
            break
    for k in range(length):
        tree.choices[path[k], TRIED] += 1
        tree.choices[path[k], WINS] += won


@kernel
def plant(puzzle: Puzzle, search: Search, start: Annotated[Int64, "COLUMNS"], tree: Tree) -> int:
    """Begin a tree at a state, int64 ``[COLUMNS]``; return the number of choices."""
    start[READY] = playable(puzzle, start)
    tree.nodes[0, VISITS] = 0
    tree.sizes[0] = 1
    tree.sizes[1] = 0
    _find_choices(puzzle, search, start, tree, 0)
    return tree.nodes[0, NUMBER]


@kernel
def grow(
    puzzle: Puzzle,
    search: Search,
    start: Annotated[Int64, "COLUMNS"],
    tree: Tree,
    left: Annotated[Int64, "some"],
    worlds: Annotated[Int8, "worlds cards"],
    explore: float,
    budget: int,
    path: Annotated[Int64, "longest"],
    frame: Annotated[Int64, "COLUMNS"],
) -> None:
    """Iterate in each of the worlds, int8 ``[worlds, cards]`` (codes), with each choice of the root in
    ``left``.

    Parameters
    ----------
    explore
        Factor of the confidence bounds.
    budget
        Maximum number of states of a search.
    path, frame
        Scratch.
    """
    for world in range(worlds.shape[0]):
        _hide(puzzle, start, worlds[world])
        for k in range(left.shape[0]):
            copy_state(start, frame)
            frame[READY] = playable(puzzle, frame)
            _iterate(puzzle, search, frame, tree, left[k], explore, budget, path)
