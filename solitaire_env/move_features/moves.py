"""What a player looks at: a few numbers for a position, for each legal move, and for the position after it.

They are read from ``cards`` observations and masks by one compiled kernel, so nothing is known here that the
player does not see. The linear policy weighs the numbers of a move; networks take in all of them.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core import jit_allocating
from solitaire_env.move_features.digs import DIG_FEATURES, KINGS, NUM_DIG, read_digs, send_home
from solitaire_env.move_features.reach import reach_features, read_reach

Array = npt.NDArray[Any]

MOVE_FEATURES: Final = (
    # What kind of move; a draw is none of these.
    "home",
    "pile to pile",
    "waste to pile",
    "cell to pile",
    "pile to space",
    "waste to space",
    "cell to space",
    "pile to cell",
    "waste to cell",
    # Of the moved cards.
    "home: ranks above the lowest foundation / 13",
    "home: a card in sight fits onto it",
    "onto a pile or a space: a card in sight fits onto it",
    "cards / 13",
    "to space or cell: rank / 13",
    # Of a source pile.
    "source: becomes a space",
    "source: a sequence is broken",
    "source: the card under it goes home now",
    "source: the card under it fits onto a pile",
    "source: cards that stay / 13",
    "source: a wanted card lies near the top",
    # Of a target pile.
    "target: cards / 13",
    "target: a wanted card lies near the top",
    # Of the game.
    "waste: share of the stock that is left",
    "waste: the card under it goes home now",
    "waste: the card under it fits onto a pile",
    "to space: spaces that are left / 4",
    "to cell: cells that are left / 4",
    "draw: spaces / 4",
)
"""Of a move. A card is in sight that is playable: on a pile, on the waste or in a cell. A card is wanted that
goes home next; near the top counts 1 / its place in the pile (1 the playable card), half as much for the card
that goes home right after a wanted one. A card fits onto the next higher one of its suit."""

DIGS: Final = 2
"""So many rounds of digs are read unless another number is asked for."""

PLAIN_FEATURES: Final = (
    "cards home / all",
    "lowest foundation / 13",
    "fullest foundation of each suit, mean / 13",
    "spaces / 4",
    "empty cells / 8",
    "stock / its capacity",
    "waste / its capacity",
    # Of the piles.
    "sequences / half of all cards",
    "cards over a lower one / half of all cards",
    "cards over a lower one of their suit / a quarter of all cards",
    "cards in a sequence that begins with a king at the base / half of all cards",
    "highest pile / 20",
    "rank of the playable cards, mean / 13",
    "playable cards of piles that a card can still be put on / piles",
    # Of the wanted cards, one number for each rank that a foundation takes next.
    "wanted: cards above it, at most 12, sum / 40",
    "wanted: cards above the nearest / 12",
    "wanted: not seen / 8",
    "wanted: sequences above it that fit nowhere, sum / 16",
    "wanted: sequences above it that fit nowhere, least / 4",
    "wanted: no more such sequences than spaces and empty cells / 4",
    "wanted next: cards above it, at most 12, sum / 40",
    "wanted next: sequences above it that fit nowhere, sum / 16",
    # Of what can be played.
    "cards that go home one after another / 13",
    "playable cards that go home / 8",
    "playable cards that fit onto a pile / 8",
    "piles with a sequence over a card that a playable card fits onto / 8",
    "sequences that fit nowhere in the pile that has fewest / 4",
    "sequences that fit nowhere in the pile that has second fewest / 4",
    # Of the next card of the stock, and of the waste.
    "stock: share of the unseen cards that go home",
    "stock: share of the unseen cards that fit onto a pile",
    "waste: the playable card goes home",
    "waste: the playable card fits onto a pile",
    "waste: cards from the top that go home or fit onto a pile, at most 6 / 4",
    "waste: cards above the nearest wanted one / 12",
    # Of the cells.
    "cells: ranks that their cards are away from going home / 64",
)
"""Of a position, as the player sees it; after a draw the new card of the waste is not known, and its numbers
are those of the unseen cards. A sequence fits nowhere that no playable card of a pile takes."""

NUM_MOVE: Final = len(MOVE_FEATURES)
NUM_PLAIN: Final = len(PLAIN_FEATURES)


def position_features(digs: int = DIGS, reach: int = 0) -> tuple[str, ...]:
    """What is read of a position: the plain features, of each round of digs (:mod:`solitaire_env.move_features.digs`), and how far
    the cards at hand would reach (:mod:`solitaire_env.move_features.reach`).
    """
    rounds = ("digs", *(f"digs after the best {n}" for n in range(1, digs)))
    of_digs = tuple(f"{of}: {name}" for of in rounds for name in DIG_FEATURES)
    return PLAIN_FEATURES + of_digs + reach_features(reach)


def num_position(digs: int = DIGS, reach: int = 0) -> int:
    """How many numbers are read of a position."""
    return NUM_PLAIN + digs * NUM_DIG + reach


DRAW, HOME, CELL, TABLEAU, SPACE = range(5)

DEEP: Final = 12
"""Cards that lie deeper than so many are all alike, and so are cards that were not seen."""
WASTE_DEPTH: Final = 24
"""So many cards of the waste are looked through for wanted ones."""


class Moves(NamedTuple):
    """The actions of a game, and where its observations hold what; the kernel's arguments."""

    table: Array
    """Kind, source, target and cards of each action, int64 ``[actions, 4]``. Sources are numbered as for the
    actions: piles, then the waste, then cells."""
    sizes: tuple[int, ...]
    """Piles, capacity, cells, cards of the waste, first place of cells, of waste and of foundations, decks,
    ranks, what fills a space (0 any card, 1 kings, 2 nothing), and 1 where any sequence moves freely."""


class Look(NamedTuple):
    """The legal moves of games, game by game, actions in order."""

    games: Array
    """int64 ``[moves]``."""
    actions: Array
    """int64 ``[moves]``."""
    moves: Array
    """float32 ``[moves, NUM_MOVE + num_position(...)]``: of the move, and of the position after it."""
    positions: Array
    """float32 ``[games, num_position(digs, reach)]``."""


def moves_of(layout: dict[str, Any]) -> Moves:
    """The actions of a game from its layout (:attr:`solitaire_env.core.spec.GameSpec.layout`)."""
    if layout["observation"] != "cards":
        raise ValueError(f"moves are read from observation 'cards', not {layout['observation']!r}")
    offsets, slices, piles = layout["offsets"], layout["slices"], layout["piles"]
    carriers = piles + layout["waste"]
    sources = carriers + layout["cells"]
    entries = {
        "draw": [(DRAW, 0, 0, 1)],
        "home": [(HOME, source, 0, 1) for source in range(sources)],
        "cell": [(CELL, source, 0, 1) for source in range(carriers)],
        "tableau": [(TABLEAU, s, t, 1) for s in range(sources) for t in range(piles) if s != t],
        "space": [
            (SPACE, source, 0, cards)
            for source in range(sources)
            for cards in range(1, 1 + (layout["space_counts"] if source < piles else 1))
        ],
    }
    table = np.zeros((layout["actions"], 4), dtype=np.int64)
    for kind, (start, stop) in offsets.items():
        table[start:stop] = entries[kind]
    first, last = slices["t1"]
    waste = slices.get("waste", (0, 0))
    return Moves(
        table,
        (
            piles, last - first, layout["cells"], waste[1] - waste[0], slices.get("cells", (0, 0))[0],
            waste[0], slices["foundations"][0], layout["decks"], layout["ranks"],
            ("any", "kings", "none").index(layout["spaces"]), int(layout["moves"] == "sequence"),
        ),
    )  # fmt: skip


def look(
    observations: Array, masks: Array, moves: Moves, *, digs: int = DIGS, reach: int = 0, ahead: bool = True
) -> Look:
    """Look at games: int8 observations ``[n, size]`` and int8 or bool masks ``[n, actions]``.

    ``digs`` is how many rounds of digs are read, ``reach`` how many numbers of what is in reach. With
    ``ahead=False`` the moves alone, in a third of the time: of the positions nothing is written.
    """
    observations = np.ascontiguousarray(observations)
    masks = np.ascontiguousarray(masks).view(np.int8)
    size = np.count_nonzero(masks)
    width = num_position(digs, reach) * ahead
    seen = Look(
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty((size, NUM_MOVE + width), dtype=np.float32),
        np.empty((len(observations), width), dtype=np.float32),
    )
    _look(observations, masks, *moves, reach, *seen)
    return seen


def look_at_positions(observations: Array, moves: Moves, digs: int = DIGS, reach: int = 0) -> Array:
    """The positions alone, float32 ``[n, num_position(digs, reach)]``."""
    nothing = np.zeros((len(observations), 0), dtype=np.int8)
    return look(observations, nothing, moves, digs=digs, reach=reach).positions


def sure_homes(observations: Array, masks: Array, moves: Moves) -> Array:
    """Of each game a move home that cannot be wrong where sequences are in suit, int64 ``[n]``, -1 for none.

    It is that of a card whose next lower ones are home, of all decks: nothing is left that could lie on it in
    the tableau, and its foundation waits for it or for its copy.
    """
    chosen = np.full(len(masks), -1, dtype=np.int64)
    masks = np.ascontiguousarray(masks).view(np.int8)
    _sure_homes(np.ascontiguousarray(observations), masks, *moves, chosen)
    return chosen


def keep_sure_homes(observations: Array, masks: Array, moves: Moves) -> Array:
    """Copies of the masks, in which of what is sure to go home (:func:`sure_homes`) that alone is left."""
    sure = sure_homes(observations, masks, moves)
    [rows] = np.nonzero(sure >= 0)
    masks = masks.copy()
    masks[rows] = 0
    masks[rows, sure[rows]] = 1
    return masks


# --------------------------------------------------------------------------------------- kernels


@jit_allocating
def _bits(x):  # type: ignore[no-untyped-def]
    """How many bits are set."""
    count = 0
    while x:
        x &= x - 1
        count += 1
    return count


@jit_allocating
def _read_pile(row, base, height, ranks, out):  # type: ignore[no-untyped-def]
    """Of a pile alone: its playable card, sequences, cards over lower ones (of any suit, of theirs), cards in
    a sequence from a king at the base.
    """
    out[:] = 0
    lowest = 99
    lowest_of = 0x7F7F7F7F  # a byte for each suit
    previous = 0
    from_king = True
    for place in range(height):
        card = int(row[base + place])
        rank, shift = card >> 2, 8 * (card & 3)
        follows = previous == card + 4
        out[1] += not follows
        from_king = from_king and (follows if place else rank == ranks)
        out[4] += from_king
        out[2] += rank > lowest
        lowest = min(lowest, rank)
        of_suit = (lowest_of >> shift) & 127
        if rank > of_suit:
            out[3] += 1
        else:
            lowest_of += (rank - of_suit) << shift
        previous = card
    out[0] = previous


@jit_allocating
def _read_position(  # type: ignore[no-untyped-def]
    row, heights, piles_read, founds, waste, known, left, cell, unseen, unseen_left, sizes, depth, whole,
    then, copy, hand, reach, out,
):  # fmt: skip
    piles, capacity, cells, stock, _, first_waste, _, decks, ranks, _, _ = sizes
    cards = 4 * ranks * decks
    # Sets of cards are bits: what goes home next, right after that, what the playable cards of piles take.
    wanted = wanted_next = 0
    lowest = ranks
    home = fullest = 0
    for suit in range(4):
        high = 0
        for deck in range(decks):
            top = founds[suit * decks + deck]
            home += top
            lowest = min(lowest, top)
            high = max(high, top)
            if top < ranks:
                wanted |= 16 << (4 * top + suit)
            if top + 1 < ranks:
                wanted_next |= 256 << (4 * top + suit)
        fullest += high
    wanted_next &= ~wanted
    both = wanted | wanted_next
    spaces = sequences = over = over_suit = from_king = highest = ranks_sum = useful = 0
    tops = 0
    for pile in range(piles):
        highest = max(highest, heights[pile])
        card = piles_read[pile, 0]
        if card == 0:
            spaces += 1
            continue
        sequences += piles_read[pile, 1]
        over += piles_read[pile, 2]
        over_suit += piles_read[pile, 3]
        from_king += piles_read[pile, 4]
        ranks_sum += card >> 2
        tops |= 1 << card
        lowest_of_suit = ranks
        for deck in range(decks):
            lowest_of_suit = min(lowest_of_suit, founds[(card & 3) * decks + deck])
        useful += (card >> 2) - 1 > lowest_of_suit
    taken = (tops >> 4) & ~15
    empty_cells = 0
    gaps = 0
    playable = tops
    for place in range(cells):
        card = cell[place]
        if card:
            playable |= 1 << card
            high = 0
            for deck in range(decks):
                high = max(high, founds[(card & 3) * decks + deck])
            gaps += (card >> 2) - high - 1
        else:
            empty_cells += 1
    free = spaces + empty_cells
    on_waste = 0
    if stock and known and waste:
        on_waste = int(row[first_waste + waste - 1])
        playable |= 1 << on_waste
    playable &= ~1

    # Where the wanted cards are: how many cards lie above them.
    for card in range(4, 4 + 4 * ranks):
        depth[card] = DEEP
    sums = sums_next = 0
    least = 9
    reached = near = 0
    fewest = second = 9
    for pile in range(piles):
        height = heights[pile]
        if height == 0:
            continue
        base = pile * capacity
        first = 1
        stay = 0  # sequences that fit nowhere, above the card in hand
        part = 0  # 1 where it has cards of its own sequence above it that fit nowhere
        for place in range(height - 1, -1, -1):
            card = int(row[base + place])
            if (both >> card) & 1:
                depth[card] = min(depth[card], height - 1 - place)
                blocked = min(stay + part, 6)
                if (wanted >> card) & 1:
                    least = min(least, blocked)
                    sums += blocked
                    reached += blocked <= free
                else:
                    sums_next += blocked
            fits = ((taken | wanted) >> card) & 1
            if place and int(row[base + place - 1]) == card + 4:
                part = 1 - fits
            else:
                stay += 1 - fits
                part = 0
                if first and place:
                    near += (playable >> (int(row[base + place - 1]) - 4)) & 1
                first = 0
        if piles_read[pile, 4] < height:
            if stay < fewest:
                second = fewest
                fewest = stay
            elif stay < second:
                second = stay
    for place in range(cells):
        depth[cell[place]] = 0
    if stock:
        for place in range(min(waste, WASTE_DEPTH)):
            card = int(row[first_waste + waste - 1 - place])
            depth[card] = min(depth[card], place + 1 - known)
    deep = deep_next = not_seen = 0
    nearest = waste_nearest = DEEP
    rest = wanted
    for suit in range(4):
        for deck in range(decks):
            card = 4 * founds[suit * decks + deck] + 4 + suit
            if (rest >> card) & 1:
                rest &= ~(1 << card)
                deep += depth[card]
                nearest = min(nearest, depth[card])
                not_seen += unseen[card] > 0 and depth[card] == DEEP
                if (wanted_next >> (card + 4)) & 1:
                    deep_next += depth[card + 4]
    fit = waste_fit = 0
    if stock:
        for place in range(min(waste, DEEP)):
            if (wanted >> int(row[first_waste + waste - 1 - place])) & 1:
                waste_nearest = place
                break
        if known:
            for place in range(min(waste, 6)):
                if not ((taken | wanted) >> int(row[first_waste + waste - 1 - place])) & 1:
                    break
                waste_fit += 1
    fit = _bits(playable & taken)
    now = _bits(playable & wanted)
    whole[:piles] = heights
    whole[piles] = waste if known else 0
    whole[piles + 1 : piles + 1 + 4 * decks] = founds
    whole[piles + 1 + 4 * decks :] = cell
    chain = 0
    if now:
        then[:] = whole
        chain = send_home(row, then, sizes)
    goes = stays = 0.0
    if unseen_left > 0:
        for card in range(4, 4 + 4 * ranks):
            if (wanted >> card) & 1:
                goes += unseen[card]
            elif (taken >> card) & 1:
                stays += unseen[card]
        goes /= unseen_left
        stays /= unseen_left
    out[0] = home / cards
    out[1] = lowest / 13
    out[2] = fullest / 52
    out[3] = spaces / 4
    out[4] = empty_cells / 8
    out[5] = left / stock if stock else 0.0
    out[6] = waste / stock if stock else 0.0
    out[7] = 2 * sequences / cards
    out[8] = 2 * over / cards
    out[9] = 4 * over_suit / cards
    out[10] = 2 * from_king / cards
    out[11] = highest / 20
    out[12] = ranks_sum / (13 * piles)
    out[13] = useful / piles
    out[14] = deep / 40
    out[15] = nearest / 12
    out[16] = not_seen / 8
    out[17] = sums / 16
    out[18] = least / 4
    out[19] = reached / 4
    out[20] = deep_next / 40
    out[21] = sums_next / 16
    out[22] = chain / 13
    out[23] = now / 8
    out[24] = fit / 8
    out[25] = near / 8
    out[26] = fewest / 4
    out[27] = second / 4
    out[28] = goes
    out[29] = stays
    if known or not stock:
        out[30] = (wanted >> on_waste) & 1 if on_waste else 0.0
        out[31] = (taken >> on_waste) & 1 if on_waste else 0.0
    else:
        out[30] = goes
        out[31] = stays
    out[32] = waste_fit / 4
    out[33] = waste_nearest / 12
    out[34] = gaps / 64
    first_reach = out.shape[0] - reach
    if reach:
        # A card that was just drawn is one of the unseen, and as much at hand.
        then[:] = whole
        then[piles] = waste
        hand[:] = unseen
        read_reach(row, then, hand, sizes, out[first_reach:])
    read_digs(row, whole, sizes, copy, then, out[NUM_PLAIN:first_reach])


@jit_allocating
def _look(  # type: ignore[no-untyped-def]
    observations, masks, table, sizes, reach, games, actions, moves, positions
):  # fmt: skip
    piles, capacity, cells, stock, first_cell, first_waste, foundations, decks, ranks, fills, _ = sizes
    first_source = piles + (1 if stock else 0)
    heights = np.zeros(piles, np.int64)
    near = np.zeros(piles, np.float32)
    tops = np.zeros(first_source + cells, np.int64)
    founds = np.zeros(4 * decks, np.int64)
    cell = np.zeros(cells, np.int64)
    unseen = np.zeros(64, np.int64)
    piles_read = np.zeros((piles, 5), np.int64)
    kept = np.zeros((2, 5), np.int64)
    depth = np.zeros(64, np.int64)
    hand = np.zeros(64, np.int64)
    whole = np.zeros(piles + 1 + 4 * decks + cells, np.int64)
    then = np.zeros_like(whole)
    copy = np.zeros(observations.shape[1], np.int8)
    ahead = positions.shape[1] > 0
    row = np.zeros(observations.shape[1], np.int8)
    k = 0
    for game in range(observations.shape[0]):
        row[:] = observations[game]
        unseen[:] = decks
        left = 4 * ranks * decks  # cards that were not seen, which are the stock
        wanted = 0
        lowest = ranks
        for suit in range(4):
            for deck in range(decks):
                top = int(row[foundations + suit * decks + deck])
                founds[suit * decks + deck] = top
                lowest = min(lowest, top)
                left -= top
                wanted |= 16 << (4 * top + suit)
                for rank in range(1, top + 1):
                    unseen[4 * rank + suit] -= 1
        spaces = 0
        on_piles = 0
        for pile in range(piles):
            base = pile * capacity
            height = 0
            while height < capacity and row[base + height] != 0:
                unseen[row[base + height]] -= 1
                height += 1
            heights[pile] = height
            left -= height
            spaces += height == 0
            _read_pile(row, base, height, ranks, piles_read[pile])
            tops[pile] = piles_read[pile, 0]
            on_piles |= 1 << tops[pile]
            near[pile] = 0.0
            for above in range(height):
                card = int(row[base + height - 1 - above])
                if (wanted >> card) & 1:
                    near[pile] = max(near[pile], 1.0 / (1 + above))
                elif (wanted >> (card - 4)) & 1:
                    near[pile] = max(near[pile], 0.5 / (1 + above))
        playable = on_piles
        waste = 0
        if stock:
            while waste < stock and row[first_waste + waste] != 0:
                unseen[row[first_waste + waste]] -= 1
                waste += 1
            left -= waste
            tops[piles] = int(row[first_waste + waste - 1]) if waste else 0
            playable |= 1 << tops[piles]
        empty_cells = 0
        for place in range(cells):
            cell[place] = int(row[first_cell + place])
            tops[first_source + place] = cell[place]
            empty_cells += cell[place] == 0
            left -= cell[place] != 0
            unseen[cell[place]] -= 1
            playable |= 1 << cell[place]
        playable &= ~1
        on_piles &= ~1
        if ahead:
            _read_position(
                row, heights, piles_read, founds, waste, 1, left, cell, unseen, left, sizes, depth, whole,
                then, copy, hand, reach, positions[game],
            )  # fmt: skip
        for action in range(masks.shape[1]):
            if masks[game, action] == 0:
                continue
            games[k] = game
            actions[k] = action
            f = moves[k, :NUM_MOVE]
            after = moves[k, NUM_MOVE:]
            k += 1
            f[:] = 0.0
            kind, source, target, count = table[action]
            if kind == DRAW:
                f[27] = spaces / 4
                if ahead:
                    _read_position(
                        row, heights, piles_read, founds, waste, 0, left - 1, cell, unseen, left, sizes,
                        depth, whole, then, copy, hand, reach, after,
                    )  # fmt: skip
                continue
            card = tops[source]
            from_pile = source < piles
            from_waste = not from_pile and source < first_source
            if kind == TABLEAU:
                count = (tops[target] >> 2) - (card >> 2)
            elif kind == SPACE:
                if fills == KINGS and from_pile:
                    count = ranks + 1 - (card >> 2)  # a King, and all that lies on it in sequence
                target = -1
                for pile in range(piles):
                    if target < 0 and heights[pile] == 0:
                        target = pile
            height = heights[source] - count if from_pile else 0
            foundation = -1
            if kind == HOME and card:
                for deck in range(decks):
                    if founds[(card & 3) * decks + deck] == (card >> 2) - 1:
                        foundation = (card & 3) * decks + deck
            if (
                card == 0 or height < 0 or target < 0 or (kind == CELL and empty_cells == 0)
                or (kind == HOME and foundation < 0) or (kind == TABLEAU and count < 1)
            ):  # fmt: skip
                # Of a finished game every action passes for legal; none does anything.
                if ahead:
                    after[:] = positions[game]
                continue
            deepest = int(row[source * capacity + height]) if from_pile else card
            if kind == HOME:
                f[0] = 1.0
                f[9] = ((card >> 2) - 1 - lowest) / 13
                f[10] = (playable >> (card - 4)) & 1
            elif kind == TABLEAU:
                f[1 if from_pile else 2 if from_waste else 3] = 1.0
                f[11] = (playable >> (card - 4)) & 1
                f[20] = heights[target] / 13
                f[21] = near[target]
            elif kind == SPACE:
                f[4 if from_pile else 5 if from_waste else 6] = 1.0
                f[11] = (playable >> (card - 4)) & 1
                f[13] = (deepest >> 2) / 13
                f[25] = (spaces - 1) / 4
            else:
                f[7 if from_pile else 8] = 1.0
                f[13] = (card >> 2) / 13
                f[26] = (empty_cells - 1) / 4
            f[12] = count / 13
            if from_pile:
                f[14] = height == 0
                f[18] = height / 13
                f[19] = near[source]
                if height:
                    under = int(row[source * capacity + height - 1])
                    f[15] = under == deepest + 4
                    f[16] = (wanted >> under) & 1
                    f[17] = under >> 2 < ranks and (on_piles >> (under + 4)) & 1
            elif from_waste:
                f[22] = left / stock
                if waste > 1:
                    under = int(row[first_waste + waste - 2])
                    f[23] = (wanted >> under) & 1
                    f[24] = under >> 2 < ranks and (on_piles >> (under + 4)) & 1
            if not ahead:
                continue
            # Play the move, look, and take it back; what was dug stands in the row.
            if from_pile:
                heights[source] = height
                kept[0] = piles_read[source]
                _read_pile(row, source * capacity, height, ranks, piles_read[source])
            elif not from_waste:
                cell[source - first_source] = 0
            place = 0
            onto = 0
            if kind == HOME:
                founds[foundation] += 1
            elif kind == CELL:
                while cell[place] != 0:
                    place += 1
                cell[place] = card
            else:
                onto = heights[target]
                kept[1] = piles_read[target]
                for n in range(min(count, capacity - onto)):
                    moved = row[source * capacity + height + n] if from_pile else card
                    row[target * capacity + onto + n] = moved
                heights[target] = min(capacity, onto + count)
                _read_pile(row, target * capacity, heights[target], ranks, piles_read[target])
            _read_position(
                row, heights, piles_read, founds, waste - from_waste, 1, left, cell, unseen, left, sizes,
                depth, whole, then, copy, hand, reach, after,
            )  # fmt: skip
            row[:] = observations[game]
            if kind == HOME:
                founds[foundation] -= 1
            elif kind == CELL:
                cell[place] = 0
            else:
                heights[target] = onto
                piles_read[target] = kept[1]
            if from_pile:
                heights[source] += count
                piles_read[source] = kept[0]
            elif not from_waste:
                cell[source - first_source] = card


@jit_allocating
def _sure_homes(observations, masks, table, sizes, chosen):  # type: ignore[no-untyped-def]
    piles, capacity, _, stock, first_cell, first_waste, first_found, decks, ranks, _, _ = sizes
    for game in range(len(observations)):
        row = observations[game]
        for action in range(masks.shape[1]):
            if masks[game, action] == 0 or table[action, 0] != HOME:
                continue
            source = table[action, 1]
            first, size = source * capacity, capacity
            if source >= piles:
                first, size = first_waste, stock
                if stock == 0 or source > piles:
                    first, size = first_cell + source - piles - (stock > 0), 1
            height = 0
            while height < size and row[first + height] != 0:
                height += 1
            if height == 0:  # of a finished game every action passes for legal
                continue
            card = int(row[first + height - 1])
            lowest = ranks
            for deck in range(decks):
                lowest = min(lowest, int(row[first_found + (card & 3) * decks + deck]))
            if lowest >= (card >> 2) - 1:
                chosen[game] = action
                break
