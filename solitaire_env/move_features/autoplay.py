"""Safe autoplay: moves home that cannot be wrong where sequences are in suit."""

from solitaire_env.core import jit_inline
from solitaire_env.core.engine import step


@jit_inline
def sure_home(rules, state, b):  # type: ignore[no-untyped-def]
    """A move home that cannot be wrong where sequences are in suit, -1 for none: of a card whose next lower
    ones are home, of all decks. Nothing is left that could lie on it in the tableau, and its foundation waits
    for it or for its copy.
    """
    for source in range(rules.sources):
        if int(state.mask[b, rules.home_actions + source]) == 0:
            continue
        card = int(state.tops[b, source])
        lowest = rules.ranks
        first = rules.row_foundations + (card & 3) * rules.decks
        for place in range(first, first + rules.decks):
            lowest = min(lowest, int(state.rows[b, place]))
        if lowest >= (card >> 2) - 1:
            return rules.home_actions + source
    return -1


@jit_inline
def send_home(rules, state, events, b):  # type: ignore[no-untyped-def]
    """Send home what is sure to go; how many cards."""
    gone = 0
    while int(state.status[b]) == 0:
        action = sure_home(rules, state, b)
        if action < 0:
            break
        step(rules, state, events, b, action)
        gone += 1
    return gone
