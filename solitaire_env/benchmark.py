"""The benchmark: named sets of deals, reference results, and scores.

A result on solitaire-env is the games of one policy on one split, in one track, by the published rules of a
game: see the page "The protocol" of the documentation.

Examples
--------
>>> from solitaire_env import evaluate
>>> games = evaluate("greedy", "busy-aces", split_deals("llm-100", "busy-aces")).games
>>> result = score(games, "llm-100")
>>> result.wins, round(result.score)
(27, 49)
"""

import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from solitaire_env.core.layout import Information
from solitaire_env.core.variant import Variant
from solitaire_env.evaluation import Game, game_rules, summarize
from solitaire_env.registration import env_variant, resolve_variant
from solitaire_env.splits import BY_GAME as BY_GAME
from solitaire_env.splits import FINITE as FINITE
from solitaire_env.splits import SPLITS as SPLITS
from solitaire_env.splits import games_of_split as games_of_split
from solitaire_env.splits import split_deals as split_deals
from solitaire_env.util.arguments import check_choice
from solitaire_env.util.files import read_json
from solitaire_env.util.messages import shown

Track = Literal["player", "thoughtful", "search"]
"""What a policy may use: what a player sees; also the order of the stock and the face-down cards; what a
player sees, with simulated moves and a stated time a move."""
TRACKS: Final = ("player", "thoughtful", "search")


def track_of(information: Information) -> Track:
    """The track of a policy that does not search: a player may remember the stock."""
    return "thoughtful" if information == "thoughtful" else "player"


VERSION: Final = 0
"""Version of splits and references; scores of different versions cannot be compared."""
DATA: Final = Path(__file__).with_name("benchmark.json")
"""The references. In a clone of the repository, ``python -m agents leaderboard write`` makes it from stored
results."""


@dataclass(frozen=True)
class Reference:
    """The stored result of a policy on deals of ``dev``."""

    policy: str
    deals: str
    """The deals, in the format of the commands: ``0:1000``."""
    win_rate: float
    cards_home: float
    """The mean."""


@cache
def _data() -> dict[str, Any]:
    return read_json(DATA)


def references(game: str | Variant) -> dict[str, Reference]:
    """The reference results of a game: those of ``random`` and ``greedy``, the ``best`` of a player, and the
    best of the solver, which knows the stock, ``thoughtful``, if it has played the game.
    """
    stored = _data()["references"].get(resolve_variant(game).name, {})
    return {name: Reference(**fields) for name, fields in stored.items()}


@dataclass(frozen=True)
class Score:
    """The result of a policy on a split: a row of the benchmark's table. Intervals are of 95 %."""

    env: str
    rules: str
    split: str | None
    """None for other deals."""
    track: Track
    policy: str
    moves: str
    seed: int | None
    fingerprint: str | None
    games: int
    wins: int
    win_rate: float
    win_interval: tuple[float, float]
    """Wilson's score interval."""
    cards_home: float
    """The mean."""
    cards_interval: tuple[float, float]
    """Bootstrap interval."""
    score: float | None
    """Of mean cards home: 0 for ``random``, 100 for the best stored result, search included, or in the track
    ``thoughtful`` for the solver. None without references, and with house rules."""


def score(games: Sequence[Game], split: str | None = None, track: Track = "player") -> Score:
    """The result of the games of one policy on a split.

    Parameters
    ----------
    games
        One game of each deal of the split, such as :func:`solitaire_env.evaluate` returns.
    split
        None for deals that are no split.
    track
        What the policy used.

    Raises
    ------
    ValueError
        If the games are of several policies, or not those of the split, by the published rules.
    """
    check_choice("track", track, TRACKS)
    if not games:
        raise ValueError("there are no games, allowed: one of each deal of the split")
    first = games[0]
    variant = env_variant(first.env)
    about = [(g.env, g.policy, g.moves, g.rules, g.seed, g.fingerprint) for g in games]
    if len(set(about)) > 1:
        raise ValueError("the games are of several policies, seeds or rules, allowed: those of one policy")
    published = first.rules == game_rules(variant)
    if split is not None:
        if not published:
            raise ValueError(f"the rules are {shown(first.rules)}, allowed: {game_rules(variant)!r}")
        deals = split_deals(split, variant)
        if sorted(map(str, deals)) != sorted(str(game.deal) for game in games):
            raise ValueError(f"the {len(games)} games are not one of each of the {len(deals)} of {split!r}")
    s = summarize(games)
    scored = score_of(s.cards_home, variant, track) if published else None
    return Score(
        env=first.env, rules=first.rules, split=split, track=track, policy=first.policy, moves=first.moves,
        seed=first.seed, fingerprint=first.fingerprint, games=s.games, wins=s.wins, win_rate=s.win_rate,
        win_interval=s.win_interval, cards_home=s.cards_home, cards_interval=s.cards_interval, score=scored,
    )  # fmt: skip


def score_of(cards_home: float, game: str | Variant, track: Track = "player") -> float | None:
    """The score of mean cards home by the published rules: 0 for ``random``, 100 for the best stored result
    of the track; None without references.
    """
    known = references(game)
    best = known.get("thoughtful" if track == "thoughtful" else "best")
    if best is None:
        return None
    low = known["random"].cards_home
    return 100 * (cards_home - low) / (best.cards_home - low)


def interquartile_mean(scores: Sequence[float]) -> float:
    """The mean of the middle half of the scores of several games or seeds: outliers on both sides count less
    (Agarwal et al., NeurIPS 2021).
    """
    if not scores:
        raise ValueError("there are no scores, allowed: at least one")
    cut = len(scores) // 4
    return float(np.mean(sorted(scores)[cut : len(scores) - cut]))


def split_of(games: Sequence[Game]) -> str | None:
    """The name of the split with exactly the deals of some games, in this order; None for other deals, and
    for games with house rules.
    """
    if not games or games[0].rules != game_rules(env_variant(games[0].env)):
        return None
    deals = [game.deal for game in games]
    named = (name for name in FINITE if name not in BY_GAME and [*SPLITS[name].deals] == deals)
    return next(named, None)


def result(scored: Score) -> dict[str, Any]:
    """A result as plain data for a JSON file, with the versions that it depends on."""
    from solitaire_env import __version__

    return {"benchmark": VERSION, "solitaire_env": __version__, "commit": commit(), **asdict(scored)}


def commit() -> str | None:
    """The commit of the checkout that the package runs from; None in an installed package."""
    root = Path(__file__).parents[1]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
