"""What an action does to the cards.

These functions change the position row, the counts and the foundations; :mod:`~solitaire_env.core.rules.step`
updates the rest: playable cards, mask, status. Features and searches that do not need these only move cards,
in a fraction of the time.
"""

from solitaire_env.core.cards import DOWN
from solitaire_env.core.layout import MAX_STOCK_COUNT, ONE_CARD, Rules
from solitaire_env.core.native import inner, kernel
from solitaire_env.core.rules.building import playable, space_rank, wrapped
from solitaire_env.core.rules.foundations import (
    foundation_for,
    last_home,
    update_next_home,
    worrying_foundation,
)
from solitaire_env.core.rules.state import State


@inner
def take(rules, state, b, source):
    """Remove the playable card of a source.

    The caller knows the card: a step reads it from ``state.tops``, which is faster.
    """
    if source < rules.piles:
        height = state.heights[b, source] - 1
        place = source * rules.pile_capacity + height
        state.heights[b, source] = height
        state.spaces[b] += height == 0
    elif source < rules.first_cell:
        waste = state.waste[b] - 1
        place = rules.row_waste + waste
        state.waste[b] = waste
    else:
        place = rules.row_cells + source - rules.first_cell
        state.empty_cells[b] += 1
    state.rows[b, place] = 0


@inner
def carry(rules, state, b, source, target, count, card):
    """Move the last ``count`` cards of a source, ``card`` on top, onto a pile, in their order."""
    height = state.heights[b, target]
    start = target * rules.pile_capacity + height
    state.spaces[b] -= height == 0
    state.heights[b, target] = height + count
    if count == 1:
        state.rows[b, start] = card
        take(rules, state, b, source)
    else:
        height = state.heights[b, source] - count
        end = source * rules.pile_capacity + height
        for k in range(count):
            state.rows[b, start + k] = state.rows[b, end + k]
            state.rows[b, end + k] = 0
        state.heights[b, source] = height
        state.spaces[b] += height == 0


@inner
def put_home(rules, state, b, card):
    """Place a card that goes home on its foundation, which then takes the next one."""
    state.rows[b, foundation_for(rules, state, b, card)] += 1
    state.home[b] += 1
    update_next_home(rules, state, b)


@inner
def send_home(rules, state, b, source, card):
    """Send the playable card of a source home; it must fit."""
    take(rules, state, b, source)
    put_home(rules, state, b, card)


@inner
def to_cell(rules, state, b, source, cell, card):
    """Move the playable card of a source to an empty cell, numbered from 0."""
    take(rules, state, b, source)
    state.rows[b, rules.row_cells + cell] = card
    state.empty_cells[b] -= 1


@inner
def empty_cell(rules, state, b):
    """The first empty cell, numbered from 0; the number of cells if there is none."""
    cell = 0
    while cell < rules.cells and state.rows[b, rules.row_cells + cell] != 0:
        cell += 1
    return cell


@inner
def _draw(rules, state, b):
    """Turn the next card of the stock up to the waste."""
    stock = state.stock[b] - 1
    waste = state.waste[b]
    state.rows[b, rules.row_waste + waste] = state.rows[b, rules.row_stock + stock]
    state.rows[b, rules.row_stock + stock] = 0
    state.rows[b, rules.row_stock_count] = min(stock, MAX_STOCK_COUNT)
    state.stock[b] = stock
    state.waste[b] = waste + 1


@inner
def _turn_cards(rules, state, b):
    """Turn the cards of one draw from the stock to the waste, or all that are left."""
    for _ in range(min(rules.draw, state.stock[b])):
        _draw(rules, state, b)


@inner
def can_redeal(rules, state, b):
    """Whether the waste may be turned over: a redeal."""
    left = rules.passes == 0 or state.rows[b, rules.row_redeals] > 0
    return left and state.stock[b] == 0 and state.waste[b] > 0


@inner
def _redeal(rules, state, b):
    """Turn the waste over: its first card is the next of the stock."""
    cards = state.waste[b]
    for k in range(cards):
        place = rules.row_waste + k
        state.rows[b, rules.row_stock + cards - 1 - k] = state.rows[b, place]
        state.rows[b, place] = 0
    state.waste[b] = 0
    state.stock[b] = cards
    state.rows[b, rules.row_stock_count] = min(cards, MAX_STOCK_COUNT)
    if rules.passes > 1:
        state.rows[b, rules.row_redeals] -= 1


@inner
def _worry_back(rules, state, b, suit, target):
    """Move the last card of a foundation of a suit onto the pile that takes it."""
    foundation = worrying_foundation(rules, state, b, suit, target)
    height = state.heights[b, target]
    state.rows[b, target * rules.pile_capacity + height] = last_home(rules, state, b, foundation)
    state.heights[b, target] = height + 1
    state.rows[b, rules.row_foundations + foundation] -= 1
    state.home[b] -= 1
    update_next_home(rules, state, b)


@inner
def _after_leaving(rules, state, b, pile):
    """Update a pile that cards have left: its last card is turned up, or the space is filled.

    Returns whether a card was turned up.
    """
    height = state.heights[b, pile]
    if height > 0:
        place = pile * rules.pile_capacity + height - 1
        turned = state.rows[b, place] >= DOWN
        state.rows[b, place] &= DOWN - 1
        return turned
    if rules.fill:
        if state.waste[b] == 0:
            _turn_cards(rules, state, b)
        if state.waste[b] > 0:
            card = playable(rules, state, b, rules.piles)
            carry(rules, state, b, rules.piles, pile, 1, card)
    return False


@inner
def _lowest_space(rules, state, b):
    """The first empty pile; the last pile if there is none."""
    pile = 0
    while pile < rules.piles - 1 and state.heights[b, pile] != 0:
        pile += 1
    return pile


@inner
def decode(rules, state, b, action):
    """Source, target and number of cards of a legal action; targets are numbered like sources, home -1.

    The foundations of a suit, if cards may worry back, are numbered after the sources.
    """
    piles = rules.piles
    if action < rules.home_actions:
        return piles, piles, 1
    if action < rules.cell_actions:
        return action - rules.home_actions, -1, 1
    if action < rules.tableau_actions:
        return action - rules.cell_actions, rules.first_cell + empty_cell(rules, state, b), 1
    if action >= rules.worry_actions:
        suit = (action - rules.worry_actions) // piles
        return rules.sources + suit, action - rules.worry_actions - suit * piles, 1
    to_space = action >= rules.space_actions
    counts = rules.space_counts if to_space else rules.tableau_counts
    choice = action - (rules.space_actions if to_space else rules.tableau_actions)
    targets = 1 if to_space else piles - 1
    from_piles = piles * targets * counts
    single = choice >= from_piles
    count = 1
    if single:
        choice -= from_piles
        targets += int(not to_space)
    elif counts > 1:
        pair = choice // counts
        count = choice - pair * counts + 1
        choice = pair
    source = choice // targets if targets > 1 else choice
    target = choice - source * targets
    if to_space:
        target = _lowest_space(rules, state, b)
    if single:
        return source + piles, target, 1
    if not to_space:
        target += int(target >= source)
    if counts == 1 and rules.moves != ONE_CARD:
        # The card below, or the rank that fills a space, determines the number of cards.
        above = space_rank(rules, state, b) + 1 if to_space else state.tops[b, target] >> 2
        count = wrapped(rules, above - (state.tops[b, source] >> 2))
    return source, target, count


@inner
def move_cards(rules, state, b, action, source, target, count):
    """Move the cards of a legal action, which :func:`decode` decoded.

    Returns the events ``went_home`` and ``advanced``.
    """
    home = 0
    advanced = False
    if action < rules.home_actions:
        if action == 0:
            _turn_cards(rules, state, b)
            advanced = rules.passes > 0
        else:
            _redeal(rules, state, b)
    elif action >= rules.worry_actions:
        _worry_back(rules, state, b, source - rules.sources, target)
        home = -1
    else:
        card = playable(rules, state, b, source)
        if action < rules.cell_actions:
            send_home(rules, state, b, source, card)
            home = 1
        elif action < rules.tableau_actions:
            to_cell(rules, state, b, source, target - rules.first_cell, card)
        else:
            carry(rules, state, b, source, target, count, card)
        if source < rules.piles:
            advanced = _after_leaving(rules, state, b, source)
    return home, int(advanced)


@kernel
def worried_card(rules: Rules, state: State, row: int, suit: int, target: int) -> int:
    """The card that worries back from a foundation of a suit, which must be legal."""
    return last_home(rules, state, row, worrying_foundation(rules, state, row, suit, target))


@kernel
def decode_action(rules: Rules, state: State, row: int, action: int) -> tuple[int, int, int]:
    """Source, target and number of cards of a legal action: see :func:`decode`."""
    return decode(rules, state, row, action)
