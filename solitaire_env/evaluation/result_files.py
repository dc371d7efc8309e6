"""Result files: one JSON line per game."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from solitaire_env.core.deals import Deal
from solitaire_env.util.files import append_lines, json_lines, locked, read_lines, write_text
from solitaire_env.util.messages import shown


@dataclass(frozen=True)
class Game:
    """One game of an evaluation: a row of its results file."""

    env: str
    policy: str
    moves: str
    """The action set of the policy."""
    rules: str
    """Building, spaces, moves and step limit of the game."""
    deal: Deal
    won: bool
    cards_home: int
    steps: int
    """Number of actions of the published game."""
    truncated: bool
    repeated: int
    """Number of positions before an action that had occurred before in the game."""
    seed: int | None = field(default=None, compare=False)
    """Seed of a stochastic policy; None if it is not known, or the policy is not stochastic."""
    fingerprint: str | None = field(default=None, compare=False)
    """:attr:`~solitaire_env.policies.Policy.fingerprint` of the policy; None if it is not known."""


_GAME_TYPES = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(Game).items()}
_OPTIONAL = {f.name for f in fields(Game) if f.default is not MISSING}


def read_results(path: Path) -> list[Game]:
    """The games of a results file (JSON lines). An incomplete last line is ignored.

    Raises
    ------
    ValueError
        If a line is no game, or a game occurs twice; the message names the file.
    """
    games = _read_rows(path)
    try:
        check_distinct(games)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return games


def check_distinct(games: Iterable[Game]) -> None:
    """Raise a ValueError if a game occurs twice: it would count as two, and intervals would be too narrow."""
    keys = Counter((g.deal, g.seed, g.env, g.policy, g.moves, g.rules, g.fingerprint) for g in games)
    twice = [deal for (deal, *_), count in keys.items() if count > 1]
    if twice:
        raise ValueError(
            f"the same policy's game of deal {shown(twice[0])} occurs twice, allowed: each game once"
        )


def _read_rows(path: Path) -> list[Game]:
    """The games in the lines of a results file."""
    return read_lines(path, _read_game, "a game of an evaluation")


def _read_game(line: str) -> Game:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON, {error}") from None
    if not isinstance(data, dict) or data.keys() | _OPTIONAL != _GAME_TYPES.keys():
        has = shown(list(data)) if isinstance(data, dict) else f"a {type(data).__name__}"
        raise ValueError(f"it has {has}, allowed: an object with {', '.join(_GAME_TYPES)}")
    for key, value in data.items():
        allowed = _GAME_TYPES[key]
        if type(value) not in allowed or (type(value) is int and not 0 <= value < 2**63):
            names = " or ".join(kind.__name__ for kind in allowed)
            raise ValueError(f"its {key} is {shown(value)}, allowed: {names}, numbers from 0 to 2**63 - 1")
    return Game(**data)


def _as_row(game: Game) -> dict[str, Any]:
    return {key: value for key, value in asdict(game).items() if value is not None or key not in _OPTIONAL}


class ResultFile:
    """The rows of one policy in one game, written as games end.

    Several processes may write to the file, each its own deals.

    Parameters
    ----------
    path
        The file; None stores nothing. Existing rows are read, and an incomplete last line is removed.
    about
        Common fields of all rows: ``env``, ``policy``, ``moves``, ``rules``, ``seed`` and ``fingerprint``.

    Raises
    ------
    ValueError
        If the file holds rows of another game, policy, action set, seed or fingerprint.
    """

    def __init__(self, path: Path | None, about: dict[str, Any]) -> None:
        self.path = path
        self.about = about
        self.games: dict[Deal, Game] = {}
        """By deal."""
        self.sort(())

    def _check(self, game: Game) -> None:
        for key, value in self.about.items():
            stored = getattr(game, key)
            if stored not in (value, None):
                raise ValueError(
                    f"{self.path} contains games with {key} {shown(stored)}, not {value!r}; "
                    "choose another file"
                )

    def add(self, games: Sequence[Game]) -> None:
        """Store games, immediately on disk."""
        self.games |= {game.deal: game for game in games}
        if self.path is not None and games:
            append_lines(self.path, map(_as_row, games))

    def sort(self, deals: Sequence[Deal]) -> None:
        """Read all rows, and sort them by the order of the deals, so that the file of an evaluation is always
        the same.
        """
        if self.path is None:
            return
        order = {deal: place for place, deal in enumerate(deals)}

        def place(game: Game) -> int:
            return order.get(game.deal, len(order))

        with locked(self.path):
            for game in _read_rows(self.path) if self.path.exists() else ():
                self._check(game)
                self.games[game.deal] = game
            rows = map(_as_row, sorted(self.games.values(), key=place))
            write_text(self.path, json_lines(rows))
