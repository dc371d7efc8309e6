"""The stored results: games and deals, the evidence for the figures of the docs.

``results/<table>.jsonl.xz`` has a JSON line per game or deal. The key ``entry`` names the entry that the row
belongs to, such as ``busy-aces/greedy``. ``results/<table>.json`` describes the entries. While a command
plays, its rows are in a plain file below ``results/unfinished/``, from which the same command resumes.
"""

import hashlib
import json
import lzma
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pydantic.dataclasses
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from solitaire_env import splits
from solitaire_env.evaluation import Game, Summary, game_rules, summarize
from solitaire_env.registration import env_variant
from solitaire_env.util.files import (
    json_lines,
    locked,
    model_folder,
    read_lines,
    write_bytes,
    write_json,
    write_text,
)
from solitaire_env.util.lazy import cached_property
from solitaire_env.util.messages import shown

ROOT: Final = Path(__file__).parents[2]
RESULTS: Path = ROOT / "results"
STANDARD: range = splits.STANDARD
"""Deals that every policy of the leaderboard has played."""
FINAL_TEST: range = splits.FINAL_TEST
"""Deals of the final test, which no choice is based on."""

Table = Literal["leaderboard", "search", "ablations", "family", "solver"]
JsonRows = list[dict[str, Any]]


def _plain(text: str) -> str:
    if not re.fullmatch(r"[^\x00-\x1f|<>]{1,300}", text):
        raise ValueError("allowed: a line of at most 300 characters without | < >")
    return text


Plain = Annotated[str, AfterValidator(_plain)]
"""Text that is valid in a table cell."""
Amount = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@pydantic.dataclasses.dataclass(config=STRICT, frozen=True)
class Training:
    """Cost of training a policy; None where it is unknown."""

    steps: Count | None = None
    """Total steps of all games."""
    minutes: Amount | None = None
    machine: Plain | None = None


@pydantic.dataclasses.dataclass(config=STRICT, frozen=True)
class About:
    """Description of an entry."""

    made: Plain
    """How the policy was made, in a sentence; in an ablation, how it differs from the baseline."""
    training: Training | None = None
    """None if nothing was trained."""
    weights: Plain | None = None
    """:func:`weights_hash` of a network's folder."""
    games: tuple[str, ...] | None = None
    """The games that a network for many games was trained on."""
    budget: dict[str, Any] | None = None
    """Search budget."""
    config: dict[str, Any] | None = None
    """The configuration of an ablation, as ``agents.train`` reads it."""
    ms_per_move: Amount | None = None
    """Milliseconds of processor time per chosen move, one thread, :data:`TIMED_ENVS` games in parallel."""
    seconds_per_game: Amount | None = None
    """Seconds of one core per game, of a search."""
    machine: Plain | None = None
    """Where the times were measured."""


TIMED_ENVS: Final = 256


@dataclass(frozen=True)
class Entry:
    """The games of a policy, and what is known of it."""

    group: str
    """Name of the game; of the ablation."""
    name: str
    """Name of the policy; number of the training."""
    about: About
    games: tuple[Game, ...]

    def of(self, part: range) -> tuple[Game, ...]:
        """The games of a set of deals."""
        return tuple(game for game in self.games if game.deal in part)

    @property
    def standard(self) -> tuple[Game, ...]:
        """The games of the standard deals."""
        return self.of(STANDARD)

    @cached_property
    def summary(self) -> Summary:
        """The summary of the games of the standard deals."""
        return summarize(self.standard)


# ------------------------------------------------------------------------------------ the files


def read_rows(table: Table) -> dict[str, JsonRows]:
    """The rows of a table by entry."""
    path = RESULTS / f"{table}.jsonl.xz"
    rows: dict[str, JsonRows] = {}
    if path.exists():
        with lzma.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                rows.setdefault(row.pop("entry"), []).append(row)
    return rows


def read_abouts(table: Table) -> dict[str, About]:
    """The descriptions of a table's entries.

    Raises
    ------
    ValueError
        If the file is damaged; the message names the file and the key.
    """
    path = RESULTS / f"{table}.json"
    try:
        return TypeAdapter(dict[str, About]).validate_json(path.read_bytes()) if path.exists() else {}
    except ValidationError as error:
        raise ValueError(f"{path}: {sentence(error)}") from None


def unfinished(table: Table, entry: str, *, fresh: bool = False) -> Path:
    """The plain file to which the rows of an entry are written while they are made.

    It begins with the stored rows, or with none if ``fresh``; one that exists is continued.
    """
    path = RESULTS / "unfinished" / table / f"{entry}.jsonl"
    if fresh or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, "" if fresh else json_lines(read_rows(table).get(entry, ())))
    return path


def finish(table: Table, entry: str, about: About | None = None) -> None:
    """Move the rows of the unfinished file to the table."""
    path = unfinished(table, entry)
    with locked(path):
        store(table, entry, read_lines(path), about)
        path.unlink()


def store(table: Table, entry: str, rows: JsonRows, about: About | None = None) -> None:
    """Write all rows of an entry, and its description, in place of those that are stored."""
    path = RESULTS / f"{table}.jsonl.xz"
    RESULTS.mkdir(exist_ok=True)
    with locked(path):
        kept = {**read_rows(table), entry: rows}
        lines = ({"entry": name, **row} for name in sorted(kept) for row in kept[name])
        write_bytes(path, lzma.compress(json_lines(lines).encode()))
        if about is not None:
            abouts = {**read_abouts(table), entry: about}
            known = {
                name: {key: value for key, value in asdict(abouts[name]).items() if value is not None}
                for name in sorted(abouts)
            }
            write_json(RESULTS / f"{table}.json", known)


# ---------------------------------------------------------------------------------- the entries


def read_entries(table: Table) -> dict[str, list[Entry]]:
    """The entries of a table of games by group.

    Raises
    ------
    ValueError
        If games were played by other rules than those of today.
    """
    abouts = read_abouts(table)
    entries: dict[str, list[Entry]] = {}
    for name, rows in read_rows(table).items():
        if name not in abouts:
            raise ValueError(f"{RESULTS / table}.json: has no entry {name!r}")
        group, _, rest = name.partition("/")
        entry = Entry(group, rest, abouts[name], tuple(Game(**row) for row in rows))
        for env, rules in {(game.env, game.rules) for game in entry.games}:
            if rules != (allowed := game_rules(env_variant(env))):
                raise ValueError(f"{table}, {name}: its rules are {shown(rules)}, allowed: {allowed!r}")
        entries.setdefault(group, []).append(entry)
    return entries


def games_of(table: Table, entry: str) -> list[Game]:
    """The games of an entry; empty if there is none."""
    return [Game(**row) for row in read_rows(table).get(entry, ())]


def read_leaderboard() -> dict[str, list[Entry]]:
    """The entries of the leaderboard by game, the best first: by games won, then by cards home."""

    def rank(entry: Entry) -> tuple[float, float, str]:
        return -entry.summary.win_rate, -entry.summary.cards_home, entry.name

    return {game: sorted(entries, key=rank) for game, entries in read_entries("leaderboard").items()}


# ------------------------------------------------------------------------------------- the rest


def deals_text(deals: Sequence[int | str]) -> str:
    """Deals in the format of the commands: ``0:1000``, or ``3,7,8`` if there are gaps."""
    if isinstance(deals, range):
        return f"{deals.start}:{deals.stop}"
    return ",".join(map(str, deals))


def sentence(error: ValidationError) -> str:
    """Validation errors in a sentence."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    return f"{key + ': ' if key else ''}{first['msg']}, not {shown(first['input'])}"


def check_entry(table: Table, entry: str) -> tuple[str, str]:
    """The group and the name of an entry, which are also parts of file names."""
    name = "[a-z0-9][a-z0-9.-]{0,39}"
    if not re.fullmatch(name if table == "family" else f"{name}/{name}", entry) or entry.endswith("."):
        raise ValueError(
            f"entry is {shown(entry)}, allowed in the table {table}: "
            f"{'NAME' if table == 'family' else 'GROUP/NAME'}, each at most 40 small letters, digits, - and ."
        )
    group, _, rest = entry.partition("/")
    return group, rest or group


def weights_hash(folder: Path) -> str | None:
    """A hash of the weights of a run or model folder, sixteen hexadecimal digits; None without weights."""
    path = model_folder(folder) / "model.safetensors"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else None
