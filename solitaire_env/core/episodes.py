"""Steps of games with all that belongs to an episode: rewards, limits, ends and observations."""

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from solitaire_env.core.layout import AWAY, DEAL, PLAY, PLAYING, REFUSE, WON, Rules
from solitaire_env.core.native import Bool, Float64, Int8, Int16, Int64, inner, kernel
from solitaire_env.core.observations import write_cards
from solitaire_env.core.rules.state import PART, Events, State
from solitaire_env.core.rules.step import step_row
from solitaire_env.core.shuffle import Deals


class Limits(NamedTuple):
    """Rewards, and what ends an episode. A limit of 0 means none."""

    pay_progress: float
    """Reward of a card that goes home; a card that worries back costs as much."""
    pay_win: float
    stall_limit: int
    """Where redeals are unlimited, the steps of a pass of the stock are added to it."""
    step_limit: int
    end_invalid: int
    """Whether an illegal action ends the episode."""


class Episodes(NamedTuple):
    """The episodes of the games of a batch."""

    steps: Annotated[Int64, "batch"]
    """Steps since the deal."""
    stalls: Annotated[Int64, "batch"]
    """Steps since the game last advanced: more cards home than before, or ``events.advanced``."""
    most_home: Annotated[Int16, "batch"]
    """Most cards home since the deal."""
    stock_seen: Annotated[Bool, "batch"]
    """Whether the player has seen the cards of the stock, and so their order: it has been empty, or the
    position that the game started from lists them."""
    rewards: Annotated[Float64, "batch"]
    terminated: Annotated[Bool, "batch"]
    truncated: Annotated[Bool, "batch"]
    ended: Annotated[Bool, "batch"]
    """Episodes that the last step ended: terminated, truncated or both."""
    won: Annotated[Bool, "batch"]
    """Games that have been won."""
    cards_home: Annotated[Int64, "batch"]
    """Cards home, for users: the engine has its own array."""


def make_episodes(batch: int) -> Episodes:
    """The episodes of ``batch`` games."""

    def zeros(kind: type) -> npt.NDArray[Any]:
        return np.zeros(batch, dtype=kind)

    return Episodes(
        steps=zeros(np.int64),
        stalls=zeros(np.int64),
        most_home=zeros(np.int16),
        stock_seen=zeros(np.bool_),
        rewards=zeros(np.float64),
        terminated=zeros(np.bool_),
        truncated=zeros(np.bool_),
        ended=zeros(np.bool_),
        won=zeros(np.bool_),
        cards_home=zeros(np.int64),
    )


@inner
def _steps_of_pass(rules, state, b):
    """Number of steps in which a player sees stock and waste once: draws and a redeal; 0 if redeals are
    limited, since then each draw is progress.
    """
    cards = state.stock[b] + state.waste[b]
    return (cards + rules.draw - 1) // rules.draw + 1 if rules.passes == 0 and cards else 0


@inner
def _update(rules, state, events, limits, episodes, b, what):
    """Update the episode of a game after its step."""
    e = episodes
    e.rewards[b] = 0.0
    e.terminated[b] = False
    e.truncated[b] = False
    if what in (PLAY, REFUSE):
        e.steps[b] += 1
        e.stalls[b] += 1
        if events.went_home[b] != 0:
            e.rewards[b] = limits.pay_progress * events.went_home[b]
            if state.status[b] == WON:
                e.rewards[b] += limits.pay_win
        # A card that worries back and goes home again is no progress.
        if state.home[b] > e.most_home[b] or events.advanced[b] != 0:
            e.stalls[b] = 0
        e.most_home[b] = max(e.most_home[b], state.home[b])
        e.terminated[b] = state.status[b] != PLAYING or (limits.end_invalid != 0 and events.invalid[b] != 0)
        e.truncated[b] = (0 < limits.step_limit <= e.steps[b]) or (
            limits.stall_limit > 0 and e.stalls[b] >= limits.stall_limit + _steps_of_pass(rules, state, b)
        )
    elif what == DEAL:
        e.steps[b] = 0
        e.stalls[b] = 0
        e.most_home[b] = state.home[b]
        e.stock_seen[b] = False
    e.stock_seen[b] |= state.stock[b] == 0
    e.ended[b] = e.terminated[b] or e.truncated[b]
    e.won[b] = state.status[b] == WON
    e.cards_home[b] = state.home[b]


@kernel(part=PART)
def play_rows(
    rules: Rules,
    deals: Deals,
    state: State,
    events: Events,
    limits: Limits,
    episodes: Episodes,
    written: int,
    information: int,
    observations: Annotated[Int8, "batch size"],
    actions: Annotated[Int64, "batch"],
    todo: Annotated[Int8, "batch"],
    start: int,
    stop: int,
) -> int:
    """Step the games of the batch as :func:`~solitaire_env.core.rules.step.step_rows`, update their episodes
    and, if ``written``, their ``cards`` observations; the number of episodes that ended. Rows of AWAY belong
    to another batch.
    """
    ended = 0
    for b in range(start, stop):
        if todo[b] != AWAY:
            step_row(rules, deals, state, events, b, actions[b], todo[b])
            _update(rules, state, events, limits, episodes, b, todo[b])
            if written:
                write_cards(rules, state.rows, information, episodes.stock_seen, b, observations)
            ended += episodes.ended[b]
    return ended
