"""The specification of the legal-action mask: every entry from the cards alone, in plain Python.

It is for reading. :mod:`~solitaire_env.core.rules.legal` updates the mask from move to move, so that a step
is fast; the tests compare the two in all games.
"""

from collections.abc import Iterator

from solitaire_env.core.cards import EMPTY
from solitaire_env.core.layout import Action, Rules, action_layout
from solitaire_env.core.native import Int8, widened
from solitaire_env.core.rules.building import carry_limit, fills_space, fits, playable, sequence_length
from solitaire_env.core.rules.derive import derive_cards
from solitaire_env.core.rules.foundations import goes_home, last_home
from solitaire_env.core.rules.moves import can_redeal
from solitaire_env.core.rules.state import State, make_state
from solitaire_env.core.variant import Variant


def whole_mask(variant: Variant, row: Int8) -> list[bool]:
    """Whether each action is legal in the position of a row (int8 ``[row_size]``).

    When a game is finished, nothing is legal; then the mask has ones only, so that an action can be sampled.
    """
    layout = action_layout(variant)
    rules = layout.rules
    state = widened(make_state(rules, 1))
    state.rows[0] = row
    derive_cards(rules, state, 0)
    legal = [_is_legal(rules, state, layout.decode(number)) for number in range(layout.size)]
    return legal if any(legal) else [True] * layout.size


def _is_legal(rules: Rules, state: State, action: Action) -> bool:
    """Whether an action is legal in game 0 of a state."""
    kind, source, target, cards = action
    match kind:
        case "draw":
            return bool(state.stock[0] > 0)
        case "redeal":
            return bool(can_redeal(rules, state, 0))
        case "home":
            return bool(goes_home(state, 0, playable(rules, state, 0, source)))
        case "cell":
            return bool(state.empty_cells[0] > 0 and playable(rules, state, 0, source) != EMPTY)
        case "tableau":
            # If the player does not choose the number of cards, at most one number fits.
            return any(
                _takes(rules, state, target, leader, count)
                for count, leader in _sequences(rules, state, source, to_space=0)
                if rules.tableau_counts == 1 or count == cards
            )
        case "space":
            return bool(state.spaces[0] > 0) and any(
                fills_space(rules, state, 0, leader)
                for count, leader in _sequences(rules, state, source, to_space=1)
                if rules.space_counts == 1 or count == cards
            )
        case _:  # a card worries back from a foundation of the suit
            first = (source - rules.sources) * rules.decks
            home = [last_home(rules, state, 0, first + number) for number in range(rules.decks)]
            return any(_takes(rules, state, target, card, 1) for card in home)


def _sequences(rules: Rules, state: State, source: int, to_space: int) -> Iterator[tuple[int, int]]:
    """The sequences at the end of a source that may move: number of cards, and the one that leads."""
    if source >= rules.piles:
        yield 1, playable(rules, state, 0, source)
        return
    height = int(state.heights[0, source])
    together = sequence_length(rules, state, 0, source, height)
    # A whole pile that moves to a space only renames the pile: that is not a move.
    most = min(together, carry_limit(rules, state, 0, to_space), height - to_space)
    for count in range(1, most + 1):
        yield count, int(state.rows[0, source * rules.pile_capacity + height - count])


def _takes(rules: Rules, state: State, pile: int, card: int, count: int) -> bool:
    """Whether a pile takes a sequence of ``count`` cards that ``card`` leads; a space is another target."""
    top = playable(rules, state, 0, pile)
    has_room = state.heights[0, pile] + count <= rules.pile_capacity
    return bool(top != EMPTY and has_room and fits(rules, card, top))
