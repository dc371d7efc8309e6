"""The results of the leaderboard, ``results/leaderboard/<game>/<policy>.jsonl`` and ``.json``.

The first holds a game per line, as ``agents.evaluate --games`` writes them: deals 0-999, and 100000-100999 if
the policy has played the final test. The second describes the policy, its author, and its cost.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from solitaire_env import Variant, env_id
from solitaire_env.evaluation import Game, Summary, deals, game_rules, read_games, summarize
from solitaire_env.registration import env_variant, step_limit
from solitaire_env.util.files import model_folder, write_json
from solitaire_env.util.messages import shown

ROOT: Final = Path(__file__).parents[2]
STORE = ROOT / "results" / "leaderboard"
STANDARD: range = deals.STANDARD
"""Deals that every policy of the leaderboard has played."""
HELD_OUT: range = deals.HELD_OUT
"""Deals of the final test."""
TIMED_ENVS: Final = 256
"""Number of games in parallel when a policy is timed."""


def _plain(text: str) -> str:
    if not re.fullmatch(r"[^\x00-\x1f|<>]{1,300}", text):
        raise ValueError("allowed: a line of at most 300 characters without | < >")
    return text


Plain = Annotated[str, AfterValidator(_plain)]
"""Text that is valid in a table cell."""
Amount = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
"""Validation of everything that is read from stored files."""


@dataclass(config=STRICT, frozen=True)
class Training:
    """Cost of training a policy; None where it is unknown."""

    steps: Count | None = None
    """Total steps of all games."""
    minutes: Amount | None = None
    machine: Plain | None = None


@dataclass(config=STRICT, frozen=True)
class Speed:
    """Time of a policy's decisions."""

    ms_per_move: Amount
    """Milliseconds of processor time, one thread, per chosen move."""
    num_envs: Annotated[int, Field(ge=1)]
    """Number of games in parallel."""
    machine: Plain


@dataclass(config=STRICT, frozen=True)
class About:
    """Description of a policy."""

    policy: Plain
    author: Plain
    made: Plain
    """How it was made, in a sentence."""
    training: Training | None
    """None if nothing was trained."""
    speed: Speed
    weights: Plain | None = None
    """:func:`weights_hash` of a network's folder."""


@dataclass(frozen=True)
class Entry:
    """A policy on the leaderboard of a game."""

    game: str
    """Name of the variant."""
    about: About
    standard: tuple[Game, ...]
    held_out: tuple[Game, ...]
    """Empty if the policy has not played the final test."""

    @property
    def variant(self) -> Variant:
        """The game."""
        return env_variant(self.game)

    @property
    def games(self) -> tuple[tuple[Game, ...], tuple[Game, ...]]:
        """The games of each of :func:`parts`."""
        return self.standard, self.held_out

    @property
    def moves(self) -> str:
        """The action set of the policy."""
        return self.standard[0].moves

    @property
    def summary(self) -> Summary:
        """The summary of the games of the standard deals."""
        return summarize(self.standard)


# ----------------------------------------------------------------------------------------- files


def parts() -> tuple[range, range]:
    """The sets of deals."""
    return STANDARD, HELD_OUT


def deals_text(part: range) -> str:
    """A set of deals in the format of the commands."""
    return f"{part.start}:{part.stop}"


def sentence(error: ValidationError) -> str:
    """Validation errors in a sentence."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    return f"{key + ': ' if key else ''}{first['msg']}, not {shown(first['input'])}"


def check_name(name: str) -> str:
    """Check a policy's name on the leaderboard, which is also part of its file names."""
    if not re.fullmatch("[a-z0-9][a-z0-9.-]{0,39}", name) or name.endswith("."):
        raise ValueError(
            f"name is {shown(name)}, allowed: at most 40 small letters, digits, - and ., such as my-policy"
        )
    return name


def weights_hash(folder: Path) -> str | None:
    """A hash of the weights of a run or model folder, sixteen hexadecimal digits; None without weights."""
    path = model_folder(folder) / "model.safetensors"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else None


Stored = TypeVar("Stored")


def read_stored(path: Path, kind: type[Stored]) -> Stored:
    """Read and validate a JSON file.

    Raises
    ------
    ValueError
        The message names the file, the key and what is allowed.
    """
    try:
        return TypeAdapter(kind).validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise ValueError(f"{path}: {sentence(error)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read ({getattr(error, 'strerror', 'not text')})") from None


def read_about(path: Path) -> About:
    """The description of a policy, from its JSON file; see :func:`read_stored`."""
    about = read_stored(path, About)
    if about.policy != path.stem:
        raise ValueError(
            f"{path}: its policy is {shown(about.policy)}, allowed: the file's name, {path.stem!r}"
        )
    return about


def write_about(path: Path, about: About) -> None:
    """Write the JSON file of a policy."""
    write_json(path, asdict(about))


def read_entry(store: Path, game: str, name: str) -> Entry:
    """A policy's validated rows of a game.

    Raises
    ------
    ValueError
        The message names the file and the error.
    """
    path = store / game / f"{name}.jsonl"
    if not path.is_file():
        raise ValueError(f"{path}: not found")
    games = read_games(path)
    _check(path, env_variant(game), name, games)
    standard, held_out = (_part(path, games, part) for part in parts())
    return Entry(game, read_about(path.with_suffix(".json")), standard, held_out)


def _part(path: Path, games: Sequence[Game], part: range) -> tuple[Game, ...]:
    """The games of a set of deals, in order; the final test may be missing completely."""
    of_part = {game.deal: game for game in games if game.deal in part}
    missing = [deal for deal in part if deal not in of_part]
    if missing and (of_part or part is STANDARD):
        raise ValueError(
            f"{path}: {len(missing)} of deals {part[0]}-{part[-1]} are missing, the first is {missing[0]}; "
            "python -m agents leaderboard add plays them"
        )
    return () if missing else tuple(of_part[deal] for deal in part)


def _check(path: Path, variant: Variant, name: str, games: Sequence[Game]) -> None:
    """Raise an error if rows are of another game or policy, or impossible."""
    action_sets = {game.moves for game in games}
    if len(action_sets) > 1:
        raise ValueError(f"{path}: its moves are {' and '.join(sorted(action_sets))}, allowed: one of them")
    expected = {
        "env": (env_id(variant),),
        "policy": (name,),
        "rules": (game_rules(variant),),
        "moves": ("one card", "supermove") if variant.moves == "one card" else (variant.moves,),
    }
    for game in games:
        where = f"{path}: deal {shown(game.deal)}"
        for key, allowed in expected.items():
            if getattr(game, key) not in allowed:
                names = " or ".join(map(repr, allowed))
                raise ValueError(f"{where}: its {key} is {shown(getattr(game, key))}, allowed: {names}")
        if game.deal not in STANDARD and game.deal not in HELD_OUT:
            raise ValueError(
                f"{where}, allowed: {STANDARD[0]}-{STANDARD[-1]} and {HELD_OUT[0]}-{HELD_OUT[-1]}"
            )
        home, cards = game.cards_home, variant.cards
        if game.won != (home == cards) or home > cards or (game.won and game.truncated):
            raise ValueError(
                f"{where}: won is {game.won} and truncated {game.truncated} with {home} of {cards} cards home"
            )
        if game.steps > step_limit(variant):
            raise ValueError(f"{where}: its steps are {game.steps}, allowed: at most {step_limit(variant)}")
    deal, times = next(iter(Counter(game.deal for game in games).most_common(1)), (None, 0))
    if times > 1:
        raise ValueError(f"{path}: deal {shown(deal)} occurs {times} times, allowed: once")


def read_store(store: Path) -> dict[str, list[Entry]]:
    """All entries by the name of their game, the best first."""
    entries: dict[str, list[Entry]] = {}
    for folder in sorted(path for path in store.glob("*") if path.is_dir()):
        if env_variant(folder.name).name != folder.name:
            raise ValueError(
                f"{folder}: its name is {folder.name!r}, allowed: {env_variant(folder.name).name!r}"
            )
        for name in sorted({path.stem for path in folder.iterdir()}):
            entries.setdefault(folder.name, []).append(read_entry(store, folder.name, name))
    for of_game in entries.values():
        of_game.sort(key=rank)
    return entries


def rank(entry: Entry) -> tuple[float, float, str]:
    """Sort key, the better policy first: by games won, then by cards home."""
    summary = entry.summary
    return -summary.win_rate, -summary.cards_home, entry.about.policy
