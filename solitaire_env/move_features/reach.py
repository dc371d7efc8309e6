"""How far the foundations would come if no unseen card kept them waiting; a kernel of :mod:`solitaire_env.move_features.moves`.

Cards are at hand when they can go home at any time: all that were not seen, which are the stock's, are
taken for such. What can goes home from piles, waste and cells, and from hand where these have nothing to
give, until nothing more does. What is then stuck is what lies under cards that wait for it. How deep it
lies is told by going on after the playable card of each pile, and of the waste, was taken in hand too, and
again.

It is a relaxation: the stock comes in an order, and there is no room for cards in hand. But which cards keep
each other from going home is most of what decides a game that is not won (docs/training.md).
"""

from solitaire_env.core import jit_allocating
from solitaire_env.move_features.digs import send_home


def reach_features(reach: int) -> tuple[str, ...]:
    """The names of so many numbers."""
    return tuple(
        "reach: cards home with the unseen at hand / all" if n == 0
        else f"reach: and with {n} {'card' if n == 1 else 'cards'} of each pile and of the waste / all"
        for n in range(reach)
    )  # fmt: skip


@jit_allocating
def read_reach(row, position, hand, sizes, out):  # type: ignore[no-untyped-def]
    """Into ``out`` the share of cards at home with the cards in ``hand``, int64 ``[64]``, how many of each,
    then with one card more of each pile and of the waste, and so on. ``position`` is played on.
    """
    piles, capacity, _, _, _, first_waste, _, decks, ranks, _, _ = sizes
    first = piles + 1
    home = 0
    for place in range(first, first + 4 * decks):
        home += position[place]
    for taken in range(out.shape[0]):
        if taken:
            for source in range(piles + 1):
                if position[source]:
                    position[source] -= 1
                    base = source * capacity if source < piles else first_waste
                    hand[row[base + position[source]]] += 1
        more = True
        while more:
            home += send_home(row, position, sizes)
            more = False
            for k in range(4 * decks):
                card = 4 * (position[first + k] + 1) + k // decks
                if position[first + k] < ranks and hand[card]:
                    hand[card] -= 1
                    position[first + k] += 1
                    home += 1
                    more = True
        out[taken] = home / (4 * ranks * decks)
