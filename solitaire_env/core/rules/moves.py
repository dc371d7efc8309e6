"""What an action does to the cards: draws, redeals, moves home and back, to cells, piles and spaces.

Row, counts and foundations change here, the rest in :mod:`~solitaire_env.core.rules.step`.
"""

from solitaire_env.core.cards import DOWN
from solitaire_env.core.layout import MAX_STOCK_COUNT, ONE_CARD, Rules
from solitaire_env.core.native import inner, kernel
from solitaire_env.core.rules.building import playable, space_rank, wrapped
from solitaire_env.core.rules.foundations import (
    foundation_for,
    last_home,
    update_next_of_suit,
    worrying_foundation,
)
from solitaire_env.core.rules.state import State


@inner
def take(rules, state, b, source):
    """Remove the playable card of a source."""
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
    """Move the last ``count`` cards of a source, ``card`` on top, onto a pile."""
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
    update_next_of_suit(rules, state, b, card & 3)


@inner
def send_home(rules, state, b, source, card):
    """Send the playable card of a source home; a foundation must take it."""
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
    """Turn the cards of one draw from the stock to the waste, or all that are left."""
    stock, waste = state.stock[b], state.waste[b]
    for _ in range(min(rules.draw, stock)):
        stock -= 1
        state.rows[b, rules.row_waste + waste] = state.rows[b, rules.row_stock + stock]
        state.rows[b, rules.row_stock + stock] = 0
        waste += 1
    state.rows[b, rules.row_stock_count] = min(stock, MAX_STOCK_COUNT)
    state.stock[b], state.waste[b] = stock, waste


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
    update_next_of_suit(rules, state, b, suit)


@inner
def _after_leaving(rules, state, b, pile):
    """Turn up the last card of a pile that cards left, or fill the space; whether a card was turned up."""
    height = state.heights[b, pile]
    if height > 0:
        place = pile * rules.pile_capacity + height - 1
        turned = state.rows[b, place] >= DOWN
        state.rows[b, place] &= DOWN - 1
        return turned
    if rules.fill:
        if state.waste[b] == 0:
            _draw(rules, state, b)
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
def _count_below(rules, state, b, pile, rank):
    """Number of cards of a pile that move below a card of that rank: the ranks from there to the top card."""
    return 1 if rules.moves == ONE_CARD else wrapped(rules, rank - (state.tops[b, pile] >> 2))


@inner
def decode(rules, state, b, action):
    """Source, target and number of cards of an action; those of an illegal one are not always meaningful.

    Targets are numbered like sources; home is -1, and the target of a draw or a redeal is its source, the
    waste. The foundations of a suit, if cards may worry back, are sources numbered after the others.
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
    if action >= rules.space_actions:
        choice = action - rules.space_actions
        source = min(choice // rules.space_counts, piles)
        count = choice - source * rules.space_counts + 1
        if source == piles:
            source, count = piles + count - 1, 1
        elif rules.space_counts == 1:
            count = _count_below(rules, state, b, source, space_rank(rules, state, b) + 1)
        return source, _lowest_space(rules, state, b), count
    pair = action - rules.tableau_actions
    from_piles = piles * (piles - 1) * rules.tableau_counts
    if pair >= from_piles:
        source = (pair - from_piles) // piles
        return piles + source, pair - from_piles - source * piles, 1
    count = 1
    if rules.tableau_counts > 1:
        choice, pair = pair, pair // rules.tableau_counts
        count = choice - pair * rules.tableau_counts + 1
    source = pair // (piles - 1)
    target = pair - source * (piles - 1)
    target += int(target >= source)
    if rules.tableau_counts == 1:
        count = _count_below(rules, state, b, source, state.tops[b, target] >> 2)
    return source, target, count


@inner
def move_cards(rules, state, b, action, source, target, count):
    """Move the cards of a legal action, decoded; return the events ``went_home`` and ``advanced``."""
    home = 0
    advanced = False
    if action < rules.home_actions:
        if action == 0:
            _draw(rules, state, b)
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
        elif source < rules.first_cell:
            advanced = rules.passes == 0
    return home, int(advanced)


@kernel
def worried_card(rules: Rules, state: State, row: int, suit: int, target: int) -> int:
    """The card that worries back from a foundation of a suit, which must be legal."""
    return last_home(rules, state, row, worrying_foundation(rules, state, row, suit, target))


@kernel
def decode_action(rules: Rules, state: State, row: int, action: int) -> tuple[int, int, int]:
    """Source, target and number of cards of a legal action: see :func:`decode`."""
    return decode(rules, state, row, action)
