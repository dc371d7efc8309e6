"""Rollout lookahead: follow the linear policy from a position until it would draw.

The features of the position right after a move say little about the move. The lookahead continues while
everything is known: it follows the linear policy, with safe autoplay in between, until the policy would turn
up the next card of the stock, and reads the features of that position. A draw has the lookahead of the
position before it.
"""

from solitaire_env.core.layout import PLAYING
from solitaire_env.core.native import inner
from solitaire_env.core.rules.step import step
from solitaire_env.move_features.autoplay import autoplay_safe_move
from solitaire_env.move_features.moves import best_move


@inner
def look_ahead(rules, state, events, b, weights, limit, scratch):  # type: ignore[no-untyped-def]
    """Follow the linear policy in a game, for at most ``limit`` moves, without those of safe autoplay; return
    their number.

    ``weights`` are the linear policy's, float64 ``[NUM_MOVE]``.
    """
    made = 0
    while state.status[b] == PLAYING:
        action = autoplay_safe_move(rules, state, b)
        if action < 0:
            if made == limit:
                break
            action = best_move(rules, state, b, weights, scratch)
            if action < rules.home_actions:  # a draw
                break
            made += 1
        step(rules, state, events, b, action)
    return made
