"""Rollout lookahead: follow the linear policy from a position until it would draw.

The features of the position after a move say little about the move. The lookahead plays on from there as far
as everything is known: by the linear policy, with safe autoplay in between, until the policy would turn up
the next card of the stock. The features of the position where it stops are read. A draw has the lookahead of
the position that it is made in.
"""

from solitaire_env.core import jit
from solitaire_env.core.engine import step
from solitaire_env.core.layout import PLAYING
from solitaire_env.move_features.autoplay import autoplay_safe_move
from solitaire_env.move_features.columns import WAY
from solitaire_env.move_features.moves import best_move


@jit
def look_ahead(rules, state, events, b, weights, limit, room, home, out):  # type: ignore[no-untyped-def]
    """Play a game on where it stands, for ``limit`` moves at most, safe autoplay not counted.

    Parameters
    ----------
    weights
        The linear policy's, float64 ``[NUM_MOVE]``.
    home
        Cards home before the move that is looked ahead from.
    out
        float32 ``[NUM_WAY]``: the features of the way.
    """
    made = 0
    while int(state.status[b]) == PLAYING:
        action = autoplay_safe_move(rules, state, b)
        if action < 0:
            if made == limit:
                break
            action = best_move(rules, state, b, weights, room)
            if action < rules.home_actions:  # a draw
                break
            made += 1
        step(rules, state, events, b, action)
    out[WAY.moves] = made / limit
    out[WAY.home] = (int(state.home[b]) - home) / 13
