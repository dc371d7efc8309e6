"""Results that others send in pull requests: ``results/submissions/NAME.json``, one file for each policy.

``python -m agents leaderboard check`` checks them; the page "Scoreboard" of the docs lists them.
"""

import re
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Final

import pydantic.dataclasses
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from agents.results import stored
from agents.results.stored import STRICT, Amount, Count, Plain, sentence
from solitaire_env.benchmark import VERSION, Track
from solitaire_env.registration import env_variant
from solitaire_env.splits import split_deals
from solitaire_env.util.files import read_given
from solitaire_env.util.messages import shown

ROUNDING: Final = 0.05
"""Error of a mean with one decimal."""


def _link(text: str) -> str:
    if not re.fullmatch(r"https://[^\s|<>()]{1,290}", text):
        raise ValueError("allowed: https:// and at most 290 characters without spaces and | < > ( )")
    return text


Link = Annotated[str, AfterValidator(_link)]


@pydantic.dataclasses.dataclass(config=ConfigDict(**{**STRICT, "extra": "ignore"}), frozen=True)
class Row:
    """The games of a policy on a split. The file of ``agents.evaluate --json`` has these keys; its other keys
    are ignored.
    """

    benchmark: int
    """Version of the benchmark."""
    env: str
    """Id or name of the game."""
    split: str
    games: Count
    """Number of deals of the split: every one is played once."""
    wins: Count
    cards_home: Amount
    """The mean."""

    def check(self) -> None:
        """Raise ValueError if the figures cannot be those of a whole split by the published rules."""
        if self.benchmark != VERSION:
            raise ValueError(f"benchmark is {self.benchmark}, allowed: {VERSION}")
        variant = env_variant(self.env)
        deals = len(split_deals(self.split, variant))
        if self.games != deals:
            raise ValueError(f"games is {self.games}, allowed: {deals}, all deals of {self.split!r}")
        if self.wins > deals:
            raise ValueError(f"wins is {self.wins}, allowed: 0 to {deals}")
        least = max(0, variant.cards * self.wins / deals - ROUNDING)
        if not least <= self.cards_home <= variant.cards:
            raise ValueError(
                f"cards_home is {shown(self.cards_home)}, allowed: {least:.2f} to {variant.cards}, "
                f"because {self.wins} of {deals} games are won"
            )


@pydantic.dataclasses.dataclass(config=STRICT, frozen=True)
class Submission:
    """A policy and its results."""

    name: Plain
    """Name of the policy and of the file."""
    made: Plain
    """How it was made, in a sentence."""
    track: Track
    budget: Plain
    """What it took: steps and seeds; of a search, time a move; of a language model, calls and tokens."""
    code: Link
    """Where the code is that plays and trains."""
    results: Annotated[list[Row], Field(min_length=1)]
    games: Link | None = None
    """Where the rows of the games are, the files of ``agents.evaluate --games``."""


def read_submissions() -> list[Submission]:
    """The submissions by name.

    Raises
    ------
    ValueError
        If a file is no valid submission; the message names the file, the key and what is allowed.
    """
    folder = stored.RESULTS / "submissions"
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return [read_submission(path) for path in paths if path.name != "README.md"]


def read_submission(path: Path) -> Submission:
    """The submission in a file.

    Raises
    ------
    ValueError
        If it is not valid.
    """
    if path.suffix != ".json":
        raise ValueError(f"{path}: is no submission, allowed in this folder: NAME.json and README.md")
    try:
        submission = TypeAdapter(Submission).validate_json(read_given(path, "a submission"))
    except ValidationError as error:
        raise ValueError(f"{path}: {_problem(error)}") from None
    if submission.name != path.stem:
        raise ValueError(f"{path}: name is {shown(submission.name)}, allowed: {path.stem!r}, as the file")
    for place, row in enumerate(submission.results):
        try:
            row.check()
        except ValueError as error:
            raise ValueError(f"{path}: results.{place}: {error}") from None
    return submission


def _problem(error: ValidationError) -> str:
    """The first error in a sentence; of a missing or an unknown key, with the keys that are allowed."""
    first = error.errors()[0]
    what = {"missing": "is missing", "unexpected_keyword_argument": "is unknown"}.get(first["type"])
    if what is None:
        return sentence(error)
    keys = fields(Row if len(first["loc"]) > 1 else Submission)
    return f"{'.'.join(map(str, first['loc']))} {what}, allowed: {', '.join(key.name for key in keys)}"
