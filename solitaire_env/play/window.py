"""A game played with the mouse, in a window. All rules come from the engine."""

import time
from typing import Any, Final

import numpy as np

from solitaire_env.core.layout import action_layout
from solitaire_env.notation import Move
from solitaire_env.play.hints import Adviser, suggest
from solitaire_env.play.session import Session
from solitaire_env.render import SIZE, SMALLEST
from solitaire_env.render.board import Spot, headline, lay_out, spot_at
from solitaire_env.render.picture import card_image, draw
from solitaire_env.render.screen import Screen, pygame

KEYS: Final = "Click a card, then its target. U undo, H hint, Space draw, N new deal, Q quit"

_DOUBLE: Final = 0.4
"""Maximum seconds between the clicks of a double click."""
_DRAG: Final = 6
"""Pixels that the mouse must move to drag."""


class Window:
    """A window for playing a session.

    The last card of a pile moves with as many cards as the target takes, unless the player chooses how many;
    a card further up moves with all cards on it, if that is legal. A click on the stock draws, or turns the
    waste over. If cards may worry back, the last card of a foundation is picked up like any other.

    Parameters
    ----------
    session
        The game, which has started.
    adviser
        The policy for hints; without it the built-in hints are used.
    size
        Initial width and height in pixels.
    """

    def __init__(
        self, session: Session, adviser: Adviser | None = None, size: tuple[int, int] = SIZE
    ) -> None:
        self.session = session
        self.adviser = adviser
        self.screen = Screen(session.env.variant.title, resizable=True)
        self.message = KEYS
        """The text at the bottom."""
        self.chosen: tuple[str, int] | None = None
        """The pile of the picked cards and their number; for foundations, the index of the foundation."""
        self.options: dict[str, int] = {}
        """The possible targets of the picked cards (see :meth:`_place`), each with its action."""
        self._size = size
        variant = session.env.variant
        self._layout = action_layout(variant)
        self._piles = [f"t{number + 1}" for number in range(variant.piles)]
        self._piles += [f"c{number + 1}" for number in range(variant.cells)]
        self._piles += ["stock", "waste", "foundations"]
        self._pressed: tuple[Spot, tuple[int, int]] | None = None
        self._pointer: tuple[int, int] | None = None
        self._clicked: tuple[str, int, float] | None = None
        self._read_session()

    def run(self) -> None:
        """Play until the window is closed."""
        self.show()
        while not self.screen.closed:
            for event in self.screen.events(patience=200):
                self.handle(event)
                if self.screen.closed:
                    break
            self.show()

    def show(self) -> None:
        """Draw the board and the dragged cards."""
        width, height = self.screen.size or self._size
        self._size = max(width, SMALLEST), max(height, SMALLEST)
        self._lay_out()
        image = draw(self._board, self._size)
        if self._pointer is not None and self.chosen is not None:
            card_width = max(4, round(self._scale))
            for place, card in enumerate(self._cards(*self.chosen)):
                face = card_image(card, card_width)
                x, y = self._pointer
                image.paste(face, (x - card_width // 2, y - card_width // 4 + place * card_width // 3), face)
        self.screen.show(np.asarray(image))

    def handle(self, event: Any) -> None:
        """Handle a mouse or key event."""
        if event.type == pygame.KEYDOWN:
            self._key(event.key)
        elif event.type == pygame.MOUSEBUTTONDOWN:
            spot = self._spot(event.pos)
            if event.button == 1:
                self._pressed = None if spot is None else (spot, event.pos)
                if spot is None:
                    self._choose(None)
            elif event.button == 3 and spot is not None:
                self._home(spot.pile)
        elif event.type == pygame.MOUSEMOTION and self._pressed is not None:
            self._drag(self._pressed[0], self._pressed[1], event.pos)
        elif event.type == pygame.MOUSEBUTTONUP and event.button == 1 and self._pressed is not None:
            (spot, _), self._pressed = self._pressed, None
            if self._pointer is None:
                self._click(spot)
            else:
                self._pointer = None
                self._drop(self._spot(event.pos))

    # ------------------------------------------------------------------------------------- input

    def _key(self, key: int) -> None:
        if key == pygame.K_q:
            self.screen.close()
        elif key == pygame.K_u:
            self._undo()
        elif key == pygame.K_h:
            self._hint()
        elif key in (pygame.K_SPACE, pygame.K_d):
            self._draw()
        elif key == pygame.K_n:
            self.session.env.reset()
            self.session = Session(self.session.env)
            self.message = KEYS
            self._read_session()
        elif key == pygame.K_ESCAPE:
            self._choose(None)

    def _click(self, spot: Spot) -> None:
        before, self._clicked = self._clicked, (spot.pile, spot.depth, time.monotonic())
        double = before is not None and before[:2] == self._clicked[:2]
        double = double and self._clicked[2] - before[2] < _DOUBLE  # type: ignore[index]
        if self._place(spot.pile) in self.options:
            self._play(self.options[self._place(spot.pile)])
        elif spot.pile == "stock":
            self._draw()
        elif double and any(move.target == "foundations" for _, move in self._moves(spot.pile)):
            self._home(spot.pile)
        elif self.chosen is not None and spot.pile == self.chosen[0] and self._is_same(spot):
            self._choose(None)
        else:
            self._choose(spot)

    def _drag(self, spot: Spot, start: tuple[int, int], now: tuple[int, int]) -> None:
        if self._pointer is None:
            if max(abs(now[0] - start[0]), abs(now[1] - start[1])) <= _DRAG:
                return
            self._choose(spot)
        self._pointer = now if self.chosen is not None else None
        if self.chosen is None:
            self._pressed = None

    def _drop(self, spot: Spot | None) -> None:
        place = None if spot is None else self._place(spot.pile)
        if place in self.options:
            self._play(self.options[place])
        elif spot is not None and self.chosen is not None and spot.pile != self.chosen[0]:
            self._refuse(spot.pile)
        else:
            self._choose(None)

    def _choose(self, spot: Spot | None) -> None:
        """Pick up a card with all cards on it, or let go."""
        self.chosen, self.options = None, {}
        if spot is None:
            return
        moves = self._moves(spot.pile)
        home = spot.pile == "foundations"
        if home:
            moves = [(action, move) for action, move in moves if move.cards == (spot.card,)]
        if not moves:
            self._refuse(spot.pile)
            return
        count = 1 if home else self._size_of(spot.pile) - spot.depth
        if count > 1 and self._layout.rules.tableau_counts > 1:
            moves = [(action, move) for action, move in moves if len(move.cards) == count]
        elif count not in {len(move.cards) for _, move in moves}:
            count = 1
        exact = {self._place(move.target): action for action, move in moves if len(move.cards) == count}
        if count == 1:
            for action, move in moves:
                if self._layout.decode(action).cards == 1:
                    exact.setdefault(self._place(move.target), action)
        if not exact:
            self._refuse(spot.pile)
            return
        self.chosen, self.options = (spot.pile, spot.depth if home else count), exact
        self.message = ""

    def _is_same(self, spot: Spot) -> bool:
        return spot.pile != "foundations" or self.chosen == (spot.pile, spot.depth)

    def _refuse(self, pile: str) -> None:
        if self.chosen is not None:
            self.message = f"The cards cannot go from {self.chosen[0]} to {pile}."
        elif pile == "foundations" and not self.session.env.variant.worrying_back:
            self.message = "Cards on foundations stay there."
        else:
            self.message = f"No card of {pile} can move."
        self.chosen, self.options = None, {}

    def _draw(self) -> None:
        drawn = [action for action, _ in self._moves("stock")]
        if drawn:
            self._play(drawn[0])
        else:
            self.chosen, self.options = None, {}
            self.message = "There is no card to draw."

    def _home(self, pile: str) -> None:
        home = [action for action, move in self._moves(pile) if move.target == "foundations"]
        if home:
            self._play(home[0])
        else:
            self.chosen, self.options = None, {}
            self.message = f"No card of {pile} can go home."

    def _undo(self) -> None:
        try:
            played = self.session.undo()
        except ValueError:
            self.message = "There is no move to take back."
        else:
            self.message = f"Taken back: {played.words}"
        self._read_session()

    def _hint(self) -> None:
        hint = suggest(self.session, self.adviser)
        if hint is None:
            return
        action, self.message = hint
        move = self.session.env.move(action)
        self.chosen = self._start(move), len(move.cards)
        if self.chosen[0] == "foundations":
            tops = self.position.home_tops()
            self.chosen = "foundations", next(n for n, cards in enumerate(tops) if move.cards[0] in cards)
        self.options = {self._place(move.target): action}

    def _play(self, action: int) -> None:
        played = self.session.play(action)
        self.message = f"{played.words} ({played.text})"
        self._read_session()
        if self.session.won:
            self.message = f"Won, in {len(self.session.played)} moves. N new deal, Q quit"
        elif not self._legal:
            self.message = "Stuck: no move is legal. U undo, N new deal, Q quit"

    # ---------------------------------------------------------------------------------- the board

    def _read_session(self) -> None:
        """Read the current position and its legal moves."""
        self.chosen, self.options, self._clicked = None, {}, None
        self.position = self.session.position()
        self._legal = [(action, self.session.env.move(action)) for action in self.session.legal()]
        self._lay_out()

    def _lay_out(self) -> None:
        env, last = self.session.env, self.session.last
        self._board = lay_out(
            self.position,
            move=last and last.move,
            chosen=self.chosen,
            targets={pile for pile in self._piles if self._place(pile) in self.options},
            caption=headline(self.position, env.get_state()["deal"]),
            note=self.message,
            aspect=self._size[1] / self._size[0],
        )

    @property
    def _scale(self) -> float:
        return self._size[0] / self._board.width

    def _spot(self, at: tuple[int, int]) -> Spot | None:
        return spot_at(self._board, at[0] / self._scale, at[1] / self._scale)

    def _moves(self, pile: str) -> list[tuple[int, Move]]:
        """The legal moves from a pile; from the stock, draw and redeal."""
        return [(action, move) for action, move in self._legal if self._start(move) == pile]

    def _start(self, move: Move) -> str:
        """The pile to click for a move."""
        return "stock" if move.target == "stock" else move.source

    def _cards(self, pile: str, count: int) -> tuple[int, ...]:
        if pile[0] == "c":
            return (self.position.cells[int(pile[1:]) - 1],)
        if pile == "foundations":
            return self.position.home_tops()[count][:1]
        cards = self.position.waste if pile == "waste" else self.position.stock
        if pile[0] == "t":
            cards = self.position.tableau[int(pile[1:]) - 1]
        return cards[-count:]

    def _size_of(self, pile: str) -> int:
        return len(self.position.tableau[int(pile[1:]) - 1]) if pile[0] == "t" else 1

    def _place(self, pile: str) -> str:
        """The name of a pile, ``space`` if it is an empty tableau pile, ``cell`` if it is an empty cell."""
        if pile[0] == "t" and not self.position.tableau[int(pile[1:]) - 1]:
            return "space"
        if pile[0] == "c" and not self.position.cells[int(pile[1:]) - 1]:
            return "cell"
        return pile
