"""Games played in words, for language agents.

A :class:`TextGame` shows the board and the legal moves as text and reads the answer of a language model. A
:class:`SolitaireTool` is the same game as a tool that a model calls. Neither needs a further package.
"""

import re
from collections.abc import Iterator
from threading import Lock
from typing import Any, Final, Literal, NamedTuple

from typing_extensions import Unpack

from solitaire_env.arguments import GameArguments
from solitaire_env.core.cards import FACE_DOWN
from solitaire_env.core.layout import action_layout
from solitaire_env.core.variant import Variant
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import Game, game_rules
from solitaire_env.notation import Position, format_position
from solitaire_env.registration import env_id, resolve_variant, step_limit
from solitaire_env.render.ansi import render_ansi
from solitaire_env.util.arguments import check_choice, check_count, check_kind
from solitaire_env.util.messages import one_line, shown

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
KNOWN: Final = "The line stock: lists the cards of the stock if you know them, the next to be drawn last."
"""How the board shows a stock that the player knows."""
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
MARK: Final = "move: t3>f"
"""How an answer that names other moves too marks the one to play."""
ANSWER: Final = f"Answer with one move. If you write more than the move, end with a line such as {MARK}"
CALL: Final = "Call the tool move once for each move."

_ARROW: Final = r" *(?:[-=]?>|→|&gt;|\\(?:to|rightarrow)\b) *"
# Whatever has the form of a move, so that one that does not exist, such as t9>t30, is refused by its name.
_FORM: Final = (
    rf"(?<![a-z0-9>])(?:draw|redeal|(?:w|f[cdhs]?|[ct]\d*)(?:x\d+)?{_ARROW}(?:[ct]\d*|[fsw]))(?![a-z0-9])"
)
_FLAGS: Final = re.IGNORECASE | re.ASCII
_MOVE: Final = re.compile(_FORM, _FLAGS)
_TAG: Final = re.compile(r"</?[a-z_]\w*/?>", _FLAGS)
"""A tag around an answer, such as ``<answer>`` or ``</think>``."""
_THINKS: Final = "(?:think|thinking|thought|reasoning)>"
_THOUGHT: Final = re.compile(
    rf"\A(?:(?!<{_THINKS}).)*</{_THINKS}|<{_THINKS}.*?(?:</{_THINKS}|\Z)", _FLAGS | re.DOTALL
)
"""A model's thoughts. A prompt may have opened them; a limit of tokens may leave them open."""
_TAGGED: Final = re.compile(
    r"(?:<(?P<tag>move|action|answer)>|\\boxed *\{)(?P<marked>.*?)(?:(?(tag)</(?P=tag)>|\})|\Z)",
    _FLAGS | re.DOTALL,
)
# "A possible move: draw" marks nothing.
_LABELED: Final = re.compile(
    r"(?<![a-z0-9])(?<![a-z0-9] )(?:(?:so|but|now|the|my|final|best|chosen) )*(?:move|action|answer)"
    rf"""[*_`"' ]{{0,4}}:[\s*_`"'$(-]{{0,20}}(?P<marked>{_FORM}|[^\n]*)""",
    _FLAGS,
)
"""``move: t3>f``, also in bold letters or in JSON: the move that follows, or else the rest of the line."""


class Answer(NamedTuple):
    """What an answer says."""

    moves: list[str]
    """The moves that it names, each once: in its marked part, if it has one."""
    marked: str | None
    """Its marked part."""


def read_answer(answer: str) -> Answer:
    """Read the answer of a language model.

    Marked is ``move: t3>f``, and also ``<move>t3>f</move>`` or ``\\boxed{t3>f}``; ``action`` and ``answer``
    stand for ``move``. Thoughts, such as ``<think>...</think>``, are read only if there is nothing else.

    Examples
    --------
    >>> read_answer("I could draw, but t4>t3 is better.\\nmove: t4>t3")
    Answer(moves=['t4>t3'], marked='t4>t3')
    """
    text, marked = _THOUGHT.sub(" ", answer), None
    if not text.strip():
        text = answer
    for mark in (_TAGGED, _LABELED):
        if parts := [found["marked"] for found in mark.finditer(text)]:
            text = marked = "\n".join(parts)
    moves = (re.sub(_ARROW, ">", move) for move in _MOVE.findall(_TAG.sub(" ", text)))
    return Answer(list({move.lower(): move for move in moves}.values()), marked)


class TextGame:
    """A game whose positions and answers are text.

    The rewards are those of the environment: by default the share of the cards that went home in a step, so
    that those of a won game sum to 1. The move that an answer marks is played (:func:`read_answer`), or else
    the only legal move that it names. Any other answer changes nothing.

    Parameters
    ----------
    game
        An id, a variant's name, or a variant.
    board
        ``"position"``: a line for each pile; ``"ansi"``: a picture in characters.
    show_moves
        Whether the text lists the legal moves in words.
    memory
        Whether the text lists the stock if the player has seen it: after a redeal, or because the position
        that the game started from lists it.
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
        memory: bool = False,
        max_invalid: int | None = MAX_INVALID,
        max_steps: int | None = None,
        **arguments: Unpack[GameArguments],
    ) -> None:
        self.board = check_choice("board", board, ("position", "ansi"))
        self.show_moves = check_kind("show_moves", show_moves, bool)
        self.memory = check_kind("memory", memory, bool)
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
        board = BOARDS[self.board]
        if variant.stock and (self._remembers or self.env.settings.information == "thoughtful"):
            board += f"\n{KNOWN}"
        return (
            f"You play a game of solitaire.\n\n{described}\n\n{board}\n\n"
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
        """Play the move of an answer; the next text, the reward, and whether the game is over."""
        check_kind("answer", answer, str, "text")
        if self.done:
            return self.text(), 0.0, True
        moves, marked = read_answer(answer)
        # The suit of a foundation, as in fC>t3, is a capital.
        legal = {self.env.action_text(action).lower(): action for action in self.env.legal_actions()}
        if marked is None:
            moves = [move for move in moves if move.lower() in legal] or moves
        action = legal.get(moves[0].lower()) if len(moves) == 1 else None
        if action is None:
            self.invalid_actions += 1
            return self.text() if self.done else self._question(moves, marked), 0.0, self.done
        _, reward, terminated, truncated, _ = self.env.step(action)
        self.steps += 1
        self._ended = terminated or truncated or self.steps >= self.max_steps
        self.total_reward += reward
        return self.text(), reward, self.done

    @property
    def _remembers(self) -> bool:
        """Whether there is a redeal to remember the stock after."""
        memory = self.memory or self.env.settings.information == "memory"
        return memory and self.env.variant.passes != 1

    def _question(self, moves: list[str], marked: str | None) -> str:
        """Why no move of an answer was played, and the legal ones."""
        named = one_line(", ".join(moves))
        if not moves:
            why = f"There is no move in {'the answer' if marked is None else shown(marked)}"
        elif len(moves) == 1:
            why = f"{named} is not legal here"
        elif marked is None:
            why = f"The answer names {named} and marks none: end with a line such as {MARK}"
        else:
            why = f"The answer marks {named}: mark one move"
        return f"{why}. Legal moves: {', '.join(self.legal())}."

    def legal(self) -> dict[str, str]:
        """The legal moves: the text of each, and what it does in words."""
        env = self.env
        return {env.action_text(action): env.describe_action(action) for action in env.legal_actions()}

    def text(self) -> str:
        """The board, and the legal moves or the result."""
        return "\n".join([*self._board_lines(), "", *self._last_lines()])

    def _board_lines(self) -> Iterator[str]:
        position = self.env.batch.visible(0, self._remembers)
        hidden, cards = FACE_DOWN in position.stock, len(position.stock)
        lines = format_position(position).splitlines()[1:]  # without the name of the game
        if self.board == "ansi":
            yield render_ansi(position, symbols=False)
            if cards and not hidden:
                yield f"\n{lines[0]}"
            return
        if hidden:
            lines[0] = f"stock: {cards} card{'s' * (cards != 1)}"
        yield from lines

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

    Several threads may call it: the calls run one after the other. A refused :meth:`reset` leaves the game
    unchanged.
    """

    game: str = "klondike"
    """The game of rows without one."""

    def __init__(self) -> None:
        self._game = TextGame(self.game)
        self._lock = Lock()

    def reset(self, game: str | None = None, deal: int | str | None = None, **row: Any) -> str:
        """Start a game; its rules and its board. Other columns of the row are ignored."""
        started = TextGame(game or self.game)
        text = f"{started.rules(CALL)}\n\n{started.reset(deal=deal)}"
        with self._lock:
            self._game = started
        return text

    def move(self, action: str) -> str:
        """Play a move of the solitaire game.

        Args:
            action: The move, one of the legal moves in the last text, such as draw or t3>f.

        Returns:
            The board after the move and the legal moves, or why the move was not played.
        """
        with self._lock:
            return self._game.step(action)[0]

    def get_reward(self) -> float:
        """The sum of the rewards: the share of the cards that went home, 1 for a win."""
        return self._game.total_reward

    def __getstate__(self) -> dict[str, Any]:
        """A copy has a lock of its own."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())
