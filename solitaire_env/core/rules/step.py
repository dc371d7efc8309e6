"""A step: a legal action changes the cards, the mask and the status; any other changes nothing."""

from typing import Annotated

from solitaire_env.core.layout import DEAL, PLAY, PLAYING, REFUSE, SUPERMOVE, Rules
from solitaire_env.core.native import Int8, Int64, inner, kernel
from solitaire_env.core.rules.building import carry_limit
from solitaire_env.core.rules.deal import deal
from solitaire_env.core.rules.derive import update_source
from solitaire_env.core.rules.legal import (
    is_legal,
    mask_cell,
    mask_full_piles,
    mask_home,
    mask_moves_from,
    mask_moves_to,
    mask_source,
    mask_spaces,
    update_carriable,
    update_given,
    update_status,
)
from solitaire_env.core.rules.moves import decode, move_cards
from solitaire_env.core.rules.state import PART, Events, State
from solitaire_env.core.shuffle import Deals, next_order


@inner
def _clear_events(events, b):
    events.went_home[b] = 0
    events.advanced[b] = 0
    events.invalid[b] = 0


@inner
def _changing(rules, source, target, k):
    """The places whose cards change, -1 for none: a space may be filled from the waste."""
    if k == 0:
        return source
    return target if k == 1 else rules.piles


@inner
def _play(rules, state, events, b, action, source, target, count):
    """Play a legal action, decoded; update mask and status."""
    spaces = state.spaces[b]
    cells = state.empty_cells[b]
    if target == source:
        target = -1  # a draw or a redeal
    # The foundations of a suit change too, from which cards may worry back.
    if rules.worrying_back and rules.home_actions <= action < rules.cell_actions:
        target = rules.sources + (state.tops[b, source] & 3)

    home, events.advanced[b] = move_cards(rules, state, b, action, source, target, count)
    events.went_home[b] = home
    capacity = carry_limit(rules, state, b, 0)
    for k in range(2 + rules.fill):
        place = _changing(rules, source, target, k)
        if place >= rules.sources:
            update_given(rules, state, b, place)
        elif place >= 0:
            update_source(rules, state, b, place, capacity)
            mask_source(rules, state, b, place)
    for k in range(2 + rules.fill):
        place = _changing(rules, source, target, k)
        if place >= 0:
            mask_moves_from(rules, state, b, place)
            if place < rules.piles:
                mask_moves_to(rules, state, b, place)

    if home != 0:
        # That foundation now takes another card.
        for other in range(rules.sources):
            mask_home(rules, state, b, other)
    if (state.spaces[b] == 0) != (spaces == 0):
        mask_spaces(rules, state, b)
    if rules.moves == SUPERMOVE and (state.spaces[b] != spaces or state.empty_cells[b] != cells):
        update_carriable(rules, state, b, capacity)
    if (state.empty_cells[b] == 0) != (cells == 0):
        for other in range(rules.first_cell):
            mask_cell(rules, state, b, other)
    if state.crowded[b] != 0:
        mask_full_piles(rules, state, b)
    update_status(rules, state, b)


@inner
def step(rules, state, events, b, action):
    """Play an action of the space if it is legal; otherwise change nothing and set ``events.invalid``."""
    _clear_events(events, b)
    if state.status[b] != PLAYING:
        return
    source, target, count = decode(rules, state, b, action)
    # Not by the mask: users may have changed it, and an illegal action would read outside of arrays.
    if is_legal(rules, state, b, action, source, target, count):
        _play(rules, state, events, b, action, source, target, count)
    else:
        events.invalid[b] = 1


@inner
def step_legal(rules, state, events, b, action):
    """Play an action of a mask that no user can change: it is legal, unless the game is finished."""
    _clear_events(events, b)
    if state.status[b] == PLAYING:
        source, target, count = decode(rules, state, b, action)
        _play(rules, state, events, b, action, source, target, count)


@inner
def step_row(rules, deals, state, events, b, action, what):
    """What :func:`step_rows` does to a game."""
    if what == PLAY:
        step(rules, state, events, b, action)
    else:
        _clear_events(events, b)
        events.invalid[b] = what == REFUSE and state.status[b] == PLAYING
        if what == DEAL:
            next_order(rules, deals, b)
            deal(rules, deals, state, b)


@kernel(part=PART)
def step_rows(
    rules: Rules,
    deals: Deals,
    state: State,
    events: Events,
    actions: Annotated[Int64, "batch"],
    todo: Annotated[Int8, "batch"],
    start: int,
    stop: int,
) -> None:
    """Step the games of the batch: PLAY the action, which must be in the action space, REFUSE it as illegal,
    LEAVE the game unchanged, or DEAL the next one of its stream.
    """
    for b in range(start, stop):
        step_row(rules, deals, state, events, b, actions[b], todo[b])
