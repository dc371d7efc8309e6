"""Games played in words, for language agents.

A :class:`TextGame` shows the board and the legal moves as text and reads the answer of a language model. A
:class:`SolitaireTool` is the same game as a tool that a model calls. Neither needs a further package.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

from typing_extensions import Unpack

from solitaire_env.arguments import GameArguments
from solitaire_env.core.layout import action_layout
from solitaire_env.core.variant import Variant
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import Game, game_rules
from solitaire_env.notation import ACTION, Position, format_position
from solitaire_env.registration import env_id, resolve_variant, step_limit
from solitaire_env.render.ansi import render_ansi
from solitaire_env.util.arguments import check_choice, check_count, check_kind

Board = Literal["position", "ansi"]
"""How the board is written."""
MAX_INVALID: Final = 20
"""Default number of answers without a legal move that end a game."""

BOARDS: Final[dict[Board, str]] = {
    "position": """\
A card is its rank and suit: TD is the Ten of Diamonds. ?? is a face-down card, -- is an empty cell. The last
card of a line is the next to be played, or to be drawn. t1, t2, ... are the piles of the tableau. The line of
the foundations has the number of cards on each, suit by suit. redeals: - means that there is no limit.
base: 12 means that foundations start with Queens.""",
    "ansi": """\
A card is its rank and suit: TD is the Ten of Diamonds. ?? is a face-down card, a dot is an empty place. The
columns t1, t2, ... are the piles of the tableau, each with its playable card lowest. The last card of the
waste is playable. A foundation is its top card, or its suit if it is empty.""",
}
"""How each kind of board is written."""
EXAMPLES: Final = {
    "draw": ("draw", "turn cards of the stock up to the waste"),
    "redeal": ("redeal", "turn the waste over to the stock"),
    "home": ("t3>f", "the last card of t3 to a foundation"),
    "cell": ("t1>c", "the last card of t1 to an empty cell"),
    "tableau": ("t2>t7", "the last card of t2 onto t7{sequence}"),
    "space": ("t2>s", "the last card of t2 to an empty pile{sequence}"),
    "worry": ("fC>t3", "the last card of the foundation of Clubs back onto t3"),
}
"""A move of each kind of action: its text, and what it does."""
SEQUENCE: Final = ", or the sequence that fits"
"""What the moves of a game with sequences do besides, unless they state the number of cards."""
COUNTED: Final = {
    "tableau": ("t2x4>t7", "the last four cards of t2 onto t7"),
    "space": ("t2x4>s", "the last four cards of t2 to an empty pile"),
}
"""Moves that state their number of cards, of each kind of action that has them."""
WASTE: Final = ("w>t5", "the last card of the waste onto t5")
ANSWER: Final = "Answer with one move. You may think first: the last move in the answer is played."
CALL: Final = "Call the tool move once for each move."

_ARROW: Final = " *(?:[-=]?>|→|&gt;) *"
_ANSWER: Final = re.compile(
    f"(?<![a-z0-9>])(?:{ACTION.replace('>', _ARROW)})(?![a-z0-9>])", re.IGNORECASE | re.ASCII
)
_TAG: Final = re.compile(r"</?[a-z_]\w*/?>", re.IGNORECASE)
"""A tag around an answer, such as ``<answer>`` or ``</think>``."""


class TextGame:
    """A game whose positions and answers are text.

    The rewards are those of the environment: by default the share of the cards that went home in a step, so
    that those of a won game sum to 1. An answer without a legal move changes nothing.

    Parameters
    ----------
    game
        An id, a variant's name, or a variant.
    board
        ``"position"``: a line for each pile; ``"ansi"``: a picture in characters.
    show_moves
        Whether the text lists the legal moves in words.
    max_invalid
        Number of answers without a legal move that end the game; None for no limit.
    max_steps
        Number of moves that end the game; by default the registered step limit.
    **arguments
        Arguments of the environment, such as ``moves="supermove"`` or ``information="thoughtful"``.

    Examples
    --------
    >>> game = TextGame("klondike", show_moves=False)
    >>> print(game.reset(deal=0).splitlines()[0])
    stock: 24 cards
    >>> game.step("The Ten of Clubs goes onto the Jack of Diamonds: t4>t3")[1:]
    (0.0, False)
    """

    def __init__(
        self,
        game: str | Variant,
        *,
        board: Board = "position",
        show_moves: bool = True,
        max_invalid: int | None = MAX_INVALID,
        max_steps: int | None = None,
        **arguments: Unpack[GameArguments],
    ) -> None:
        self.board = check_choice("board", board, ("position", "ansi"))
        self.show_moves = check_kind("show_moves", show_moves, bool)
        self.max_invalid = None if max_invalid is None else check_count("max_invalid", max_invalid, 1)
        self.env = SolitaireEnv(resolve_variant(game), **arguments)
        """The environment of the game."""
        limit = step_limit(self.env.variant) if max_steps is None else max_steps
        self.max_steps = check_count("max_steps", limit, 1)
        self.steps = 0
        """Moves that were played."""
        self.invalid_actions = 0
        """Answers without a legal move."""
        self.total_reward = 0.0
        """The sum of the rewards."""
        self._ended = False

    def rules(self, answer: str = ANSWER) -> str:
        """The rules of the game, and how to answer: a system prompt."""
        variant = self.env.variant
        layout = action_layout(variant)
        counts = {"tableau": layout.rules.tableau_counts, "space": layout.rules.space_counts}
        counted = {kind for kind, count in counts.items() if count > 1}
        moves = []
        for kind in layout.offsets:
            text, words = EXAMPLES[kind]
            several = variant.moves != "one card" and kind not in counted
            moves.append((text, words.format(sequence=SEQUENCE if several else "")))
        moves += [move for kind, move in COUNTED.items() if kind in counted]
        moves += [WASTE] * bool(variant.stock)
        written = "\n".join(f"{text:<8}  {words}" for text, words in moves)
        # How the game differs from others, and its sources, are for people.
        described = "\n".join(
            line for line in variant.describe().splitlines() if not line.startswith(("Differs:", "Source:"))
        )
        return (
            f"You play a game of solitaire.\n\n{described}\n\n{BOARDS[self.board]}\n\n"
            f"Moves are written like this:\n{written}\n\n{answer}"
        )

    def reset(
        self,
        *,
        deal: int | str | None = None,
        seed: int | None = None,
        position: str | Position | None = None,
    ) -> str:
        """Start a game from a deal, a seed or a position, or at random; its text."""
        given = {"deal": deal, "position": position}
        self.env.reset(seed=seed, options={name: value for name, value in given.items() if value is not None})
        self.steps = self.invalid_actions = 0
        self.total_reward = 0.0
        self._ended = not self.env.legal_actions()
        return self.text()

    def step(self, answer: str) -> tuple[str, float, bool]:
        """Play the last move in an answer; the next text, the reward, and whether the game is over."""
        check_kind("answer", answer, str, "text")
        if self.done:
            return self.text(), 0.0, True
        found = _ANSWER.findall(_TAG.sub(" ", answer))
        # The suit of a foundation, as in fC>t3, is a capital.
        written = re.sub(_ARROW, ">", found[-1]).lower() if found else ""
        legal = {self.env.action_text(action): action for action in self.env.legal_actions()}
        action = next((legal[move] for move in legal if move.lower() == written), None)
        if action is None:
            self.invalid_actions += 1
            why = f"{found[-1]} is not legal here" if found else "There is no move in the answer"
            return self.text() if self.done else f"{why}. Legal moves: {', '.join(legal)}.", 0.0, self.done
        _, reward, terminated, truncated, _ = self.env.step(action)
        self.steps += 1
        self._ended = terminated or truncated or self.steps >= self.max_steps
        self.total_reward += reward
        return self.text(), reward, self.done

    def legal(self) -> dict[str, str]:
        """The legal moves: the text of each, and what it does in words."""
        env = self.env
        return {env.action_text(action): env.describe_action(action) for action in env.legal_actions()}

    def text(self) -> str:
        """The board, and the legal moves or the result."""
        return "\n".join([*self._board_lines(), "", *self._last_lines()])

    def _board_lines(self) -> Iterator[str]:
        position = self.env.batch.visible(0)
        if self.board == "ansi":
            yield render_ansi(position, symbols=False)
            return
        for line in format_position(position).splitlines()[1:]:  # without the name of the game
            cards = len(position.stock)
            hidden = line.startswith("stock: ??")
            yield f"stock: {cards} card{'s' * (cards != 1)}" if hidden else line

    def _last_lines(self) -> Iterator[str]:
        legal = self.env.legal_actions()
        if self.won:
            yield f"The game is won, in {self.steps} moves."
        elif self.done:
            reason = f"after {self.steps} moves"
            if not legal:
                reason = "because no move is legal"
            elif self._invalid_limit:
                reason = f"after {self.invalid_actions} answers without a legal move"
            yield f"The game is over {reason}, with {self.cards_home} of {self.env.variant.cards} cards home."
        elif self.show_moves:
            yield "Legal moves:"
            yield from (f"{move}: {words}" for move, words in self.legal().items())
        else:
            yield f"Number of legal moves: {len(legal)}."

    def result(self, policy: str) -> Game:
        """The game as a row of an evaluation, for :func:`solitaire_env.benchmark.score`."""
        variant, deal = self.env.variant, self.env.deal
        if deal is None:
            raise ValueError("the game started from a position, allowed: a deal")
        return Game(
            env=env_id(variant),
            policy=policy,
            moves=variant.moves,
            rules=game_rules(variant, self.max_steps),
            deal=deal,
            won=self.won,
            cards_home=self.cards_home,
            steps=self.steps,
            truncated=bool(self.env.legal_actions()),
            repeated=0,
        )

    @property
    def cards_home(self) -> int:
        """Cards on the foundations."""
        return int(self.env.batch.state.home[0])

    @property
    def won(self) -> bool:
        """Whether the game is won."""
        return bool(self.env.batch.won[0])

    @property
    def done(self) -> bool:
        """Whether the game is over: won, stuck, or at one of its limits."""
        return self._ended or self._invalid_limit

    @property
    def _invalid_limit(self) -> bool:
        return self.max_invalid is not None and self.invalid_actions >= self.max_invalid


class SolitaireTool:
    """A game as a tool of a language model, in the form of TRL's ``GRPOTrainer(environment_factory=...)``.

    The trainer makes it without arguments, calls :meth:`reset` with a row of its data set, shows :meth:`move`
    to the model, and asks :meth:`get_reward` at the end. A subclass plays another game than Klondike.
    """

    game: str = "klondike"
    """The game of rows without one."""

    def __init__(self) -> None:
        self._game = TextGame(self.game)

    def reset(self, game: str | None = None, deal: int | str | None = None, **row: Any) -> str:
        """Start a game; its rules and its board. Other columns of the row are ignored."""
        self._game = TextGame(game or self.game)
        return f"{self._game.rules(CALL)}\n\n{self._game.reset(deal=deal)}"

    def move(self, action: str) -> str:
        """Play a move of the solitaire game.

        Args:
            action: The move, one of the legal moves in the last text, such as draw or t3>f.

        Returns:
            The board after the move and the legal moves, or why the move was not played.
        """
        return self._game.step(action)[0]

    def get_reward(self) -> float:
        """The sum of the rewards: the share of the cards that went home, 1 for a win."""
        return self._game.total_reward
