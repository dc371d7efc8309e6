"""The environment: a game in words for each client."""

from typing import Any

from openenv.core import Environment, State

from solitaire_env.benchmark import BY_GAME, FINITE, games_of_split, split_deals
from solitaire_env.text import TextGame
from solitaire_openenv.models import SolitaireAction, SolitaireObservation

GAME = "klondike"
"""The game of resets and tasks that name none."""


class SolitaireEnvironment(Environment[SolitaireAction, SolitaireObservation, State]):
    """A game of solitaire. Its tasks are the deals of the benchmark's splits."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._game = TextGame(GAME)
        self._state = State()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        game: str = GAME,
        deal: int | str | None = None,
        split: str | None = None,
        index: int = 0,
        **_: Any,
    ) -> SolitaireObservation:
        """Start a game: a task of a split, a deal, or a deal picked by the seed."""
        if split is not None:
            deal = self.get_task(split, index, game)["deal"]
        started = TextGame(game)
        text = started.reset(deal=deal, seed=seed)
        # A refused reset leaves the game unchanged.
        state = State(episode_id=episode_id, game=game, deal=started.env.deal)
        self._game, self._state = started, state
        return SolitaireObservation(text=text, rules=started.rules(), done=started.done)

    def step(self, action: SolitaireAction, timeout_s: float | None = None, **_: Any) -> SolitaireObservation:
        """Play the move of an answer."""
        text, reward, done = self._game.step(action.answer)
        self._state.step_count += 1
        game = self._game
        return SolitaireObservation(
            text=text, cards_home=game.cards_home, won=game.won, reward=reward, done=done
        )

    @property
    def state(self) -> State:
        """The number of answers, the game and the deal."""
        return self._state

    # ------------------------------------------------------------------------------- tasks

    def list_splits(self) -> list[str]:
        """The splits with a list of deals."""
        return [name for name in FINITE if name not in BY_GAME or GAME in games_of_split(name)]

    def num_tasks(self, split: str) -> int:
        """The number of deals of a split."""
        return len(split_deals(split, GAME))

    def get_task(self, split: str, index: int, game: str = GAME) -> dict[str, Any]:
        """A task: its id, and the arguments of reset."""
        deals = split_deals(split, game)
        if not isinstance(index, int) or not 0 <= index < len(deals):
            raise IndexError(f"task {index!r} of split {split!r}, allowed: 0 to {len(deals) - 1}")
        return {"id": f"{split}-{index}", "split": split, "index": index, "game": game, "deal": deals[index]}

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        """Tasks by the rules of slices."""
        return [self.get_task(split, index) for index in range(self.num_tasks(split))[start:stop]]

    def list_tasks(self, split: str) -> list[Any]:
        """All tasks of a split."""
        return self.get_task_range(split)
