"""What digging out the wanted cards would give, counted out as a player does; kernels of :mod:`solitaire_env.move_features.moves`.

A wanted card is one that goes home next. To dig it out is to put away what lies above it: a card that can go
home goes home; else a sequence goes onto a pile that takes it, or into a space, or card by card into empty
cells. After it all goes home that can. Nothing better is looked for, and no card that was not seen is known.

A position is one array here: the heights of the piles and of the waste, the foundations, the cells. The cards
of piles and waste stand in a row of ``cards`` observations, where what lies above the heights does not count.
"""

from typing import Final

from solitaire_env.core import jit_allocating

DIG_FEATURES: Final = (
    "wanted cards that can be dug out / 4",
    "best: cards gone home / 13",
    "best: empty cells after it / 8",
    "best: spaces after it / 4",
    "best: cards gone home + empty cells + 2 x spaces / 16",
    "roomiest: cards gone home / 13",
    "roomiest: empty cells after it / 8",
    "roomiest: spaces after it / 4",
    "most cards gone home / 13",
)
"""Of the digs of a position. Best is the first with most cards gone home + empty cells + 2 x spaces, roomiest
the first with most empty cells + 2 x spaces. Copies of a wanted card are dug pile by pile, from the base."""

NUM_DIG: Final = len(DIG_FEATURES)

WASTE_DIG: Final = 6
"""So many cards of the waste, from its top, are looked at for wanted ones."""

ANY, KINGS = range(2)


@jit_allocating
def _foundation(card, position, sizes):  # type: ignore[no-untyped-def]
    """Where in a position the foundation stands that takes a card, the last of several; -1 for none."""
    first = sizes[0] + 1 + (card & 3) * sizes[7]
    found = -1
    for place in range(first, first + sizes[7]):
        if position[place] == (card >> 2) - 1:
            found = place
    return found


@jit_allocating
def send_home(row, position, sizes):  # type: ignore[no-untyped-def]
    """Send home all that goes, one after another; how many cards."""
    piles, capacity, cells, _, _, first_waste, _, decks, _, _, _ = sizes
    first_cell = piles + 1 + 4 * decks
    gone = 0
    more = True
    while more:
        more = False
        for source in range(piles + 1 + cells):
            while True:
                card = 0
                if source > piles:
                    card = position[first_cell + source - piles - 1]
                elif position[source]:
                    base = source * capacity if source < piles else first_waste
                    card = int(row[base + position[source] - 1])
                foundation = _foundation(card, position, sizes) if card else -1
                if foundation < 0:
                    break
                position[foundation] += 1
                gone += 1
                more = True
                if source > piles:
                    position[first_cell + source - piles - 1] = 0
                else:
                    position[source] -= 1
    return gone


@jit_allocating
def _dig(row, pile, place, position, sizes):  # type: ignore[no-untyped-def]
    """Put away what lies above a card; whether it could be done."""
    piles, capacity, cells, _, _, first_waste, _, decks, ranks, fills, free_sequences = sizes
    first_cell = piles + 1 + 4 * decks
    base = pile * capacity if pile < piles else first_waste
    while position[pile] - 1 > place:
        top = base + position[pile] - 1
        foundation = _foundation(int(row[top]), position, sizes)
        if foundation >= 0:
            position[foundation] += 1
            position[pile] -= 1
            continue
        count = 1
        while pile < piles and top - count > base + place and row[top - count] == row[top - count + 1] + 4:
            count += 1
        deepest = int(row[top - count + 1])
        empty = spaces = 0
        for cell in range(first_cell, first_cell + cells):
            empty += position[cell] == 0
        onto = space = -1
        for other in range(piles):
            height = position[other]
            if height == 0:
                spaces += 1
                space = other
            elif other != pile and int(row[other * capacity + height - 1]) == deepest + 4:
                onto = other
        # So many cards does a sequence have at most that single moves could carry.
        carried = (empty + 1) << (spaces if fills == ANY else 0)
        target = onto if count <= carried or free_sequences else -1
        if target < 0 and space >= 0 and (fills == ANY or (fills == KINGS and deepest >> 2 == ranks)):
            if fills == ANY:
                carried >>= 1
            target = space if count <= carried or free_sequences else -1
        if target >= 0:
            height = position[target]
            count = min(count, capacity - height)
            for k in range(count):
                row[target * capacity + height + k] = row[top - count + 1 + k]
            position[target] += count
            position[pile] -= count
        elif count <= empty:
            for cell in range(first_cell, first_cell + cells):
                if position[cell] == 0 and count:
                    position[cell] = int(row[base + position[pile] - 1])
                    position[pile] -= 1
                    count -= 1
        else:
            return False
    return True


@jit_allocating
def read_digs(row, position, sizes, copy, then, out):  # type: ignore[no-untyped-def]
    """The digs of a position, ``NUM_DIG`` numbers, then those of the position that the best one leads to, and
    so on, as far as there is room.

    ``position`` is played on, ``row`` written over above its heights; ``copy`` and ``then`` are room for
    another row and position.
    """
    piles, capacity, cells, _, _, first_waste, _, decks, ranks, _, _ = sizes
    first_found = piles + 1
    first_cell = first_found + 4 * decks
    out[:] = 0.0
    cards = row
    for at in range(0, out.shape[0], NUM_DIG):
        wanted = 0
        for k in range(4 * decks):
            if position[first_found + k] < ranks:
                wanted |= 16 << (4 * position[first_found + k] + k // decks)
        dug = 0
        best = roomiest = most = -1
        best_pile = best_place = 0
        for pile in range(piles + 1):
            base = pile * capacity if pile < piles else first_waste
            for place in range(0 if pile < piles else max(0, position[pile] - WASTE_DIG), position[pile]):
                if not (wanted >> int(cards[base + place])) & 1:
                    continue
                then[:] = position
                if not _dig(cards, pile, place, then, sizes):
                    continue
                send_home(cards, then, sizes)
                dug += 1
                gone = empty = spaces = 0
                for k in range(first_found, first_cell):
                    gone += then[k] - position[k]
                for k in range(first_cell, first_cell + cells):
                    empty += then[k] == 0
                for other in range(piles):
                    spaces += then[other] == 0
                room = empty + 2 * spaces
                most = max(most, gone)
                if gone + room > best:
                    best = gone + room
                    best_pile, best_place = pile, place
                    out[at + 1] = gone / 13
                    out[at + 2] = empty / 8
                    out[at + 3] = spaces / 4
                    out[at + 4] = best / 16
                if room > roomiest:
                    roomiest = room
                    out[at + 5] = gone / 13
                    out[at + 6] = empty / 8
                    out[at + 7] = spaces / 4
        if dug == 0:
            break
        out[at] = dug / 4
        out[at + 8] = most / 13
        if at + NUM_DIG < out.shape[0]:
            # From here on a pile that lost cards may get others in their place.
            if at == 0:
                copy[:] = row
                cards = copy
            _dig(cards, best_pile, best_place, position, sizes)
            send_home(cards, position, sizes)
