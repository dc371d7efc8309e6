"""Recorded games: what the environment said in each step when they were recorded.

The first five games are files of ``tests/transcripts``, each a deal that was played to its end. Of the other
games, and of house rules, ``hashes.txt`` has a hash of deal 1, played at random for up to 50 steps. If the
rules, the texts or the observations change intentionally, record all again, and read what changed::

    python -m tests.recorded          # writes the files: the same actions in the five games
    python -m tests.recorded zebra    # prints a game, to compare it with that of an earlier commit
"""

import random
import re
import sys
import zlib
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import gymnasium as gym
import numpy as np

from solitaire_env.env import SolitaireEnv
from solitaire_env.registration import env_id
from solitaire_env.transcripts import Transcript
from solitaire_env.variants import get_variant
from tests.core.test_random_games import Taste
from tests.games import OPTIONS, PUBLISHED, THE_FIVE

FOLDER = Path(__file__).parent / "transcripts"
HASHES = FOLDER / "hashes.txt"
GAMES = {**PUBLISHED, **OPTIONS}
STEPS = 50
FULL_EVERY = 50
"""The whole position is written each time after this number of steps, the changed lines after every step."""


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.txt"


def deal_of(name: str) -> int:
    found = re.search(r"^deal: (\d+)$", path_of(name).read_text(), re.M) if name in THE_FIVE else None
    return int(found[1]) if found else 1


@cache
def actions_of(name: str) -> tuple[str, ...]:
    """The actions of a recorded game."""
    if name in THE_FIVE:
        return tuple(re.findall(r"^\d+\. (\S+) \(", path_of(name).read_text(), re.M))
    env, rng, actions = SolitaireEnv(GAMES[name]), random.Random(1), []
    env.reset(options={"deal": deal_of(name)})
    ended = False
    while not ended and len(actions) < STEPS:
        actions.append(Taste(0.8, 0.7).choose(list(map(env.action_text, env.legal_actions())), rng))
        ended = env.step(env.parse_action(actions[-1]))[2]
    return tuple(actions)


def changed(before: str, after: str) -> list[str]:
    """The lines of a position that a step changed. The stock is counted: the waste shows the new cards."""
    lines = [new for old, new in zip(before.split("\n"), after.split("\n"), strict=True) if new != old]
    return [f"stock: {len(line.split()) - 1} cards" if line.startswith("stock") else line for line in lines]


def record(name: str) -> Iterator[str]:
    """Play a game; yield the lines that describe its start, each step and its end."""
    variant, deal, actions = GAMES[name], deal_of(name), actions_of(name)
    published = get_variant(variant.name)
    fields = [
        word for word in ("build", "spaces", "moves") if getattr(variant, word) != getattr(published, word)
    ]
    options = {word: getattr(variant, word) for word in fields}
    made = gym.make(f"solitaire_env:{env_id(variant)}", on_invalid="raise", **options)
    env, other = made.unwrapped, SolitaireEnv(variant, observation="features")
    assert isinstance(env, SolitaireEnv)
    cards, info = made.reset(options={"deal": deal})
    features, _ = other.reset(options={"deal": deal})
    position, ended, total = env.position(), False, 0.0

    def seen() -> list[str]:
        legal = (
            ["none"] if ended else [env.action_text(action) for action in np.flatnonzero(info["action_mask"])]
        )
        hashes = [f"{zlib.crc32(array.tobytes()):08x}" for array in (cards, features)]
        return [f"legal: {' '.join(legal)}", f"observations: cards {hashes[0]}, features {hashes[1]}"]

    yield from (f"env: {env_id(variant)}", f"options: {options or 'none'}", f"deal: {deal}", "")
    yield from (*position.split("\n"), *seen(), "")
    for number, text in enumerate(actions, 1):
        action, before = env.parse_action(text), position
        words = env.describe_action(action)
        cards, reward, terminated, truncated, info = made.step(action)
        features = other.step(action)[0]
        position, ended, total = env.position(), terminated or truncated, total + float(reward)
        paid = f", reward {reward:.6f}" if reward else ""
        yield f"{number}. {text} ({action}): {words}{paid}"
        yield from (f"   {line}" for line in (*changed(before, position), *seen()))
        if number % FULL_EVERY == 0 and not ended:
            yield from ("", *position.split("\n"), "")
    result = "won" if info["is_success"] else "stuck" if ended else "truncated"
    end = f"{result}, {info['cards_home']} cards home, {len(actions)} steps, return {total:.6f}"
    yield from ("", f"result: {end}", *position.split("\n"))


def recorded_text(name: str) -> str:
    return "".join(f"{line}\n" for line in record(name))


def hash_of(name: str) -> str:
    return sha256(recorded_text(name).encode()).hexdigest()[:16]


def recorded_game(name: str) -> Transcript:
    """A recorded game in the format for exchange."""
    text = path_of(name).read_text() if name in THE_FIVE else recorded_text(name)
    ended = re.search(r"^result: (\w+), (\d+) cards home, (\d+) steps", text, re.M)
    assert ended is not None
    return Transcript(
        variant=GAMES[name],
        policy="ada",
        deal=deal_of(name),
        result=ended[1],  # type: ignore[arg-type]  # a word of theirs
        cards_home=int(ended[2]),
        steps=int(ended[3]),
        start=text[text.index("variant:") : text.index("\nlegal:")],
        actions=actions_of(name),
    )


def main() -> None:
    """Record every game again, or print those that are named."""
    if names := sys.argv[1:]:
        print("\n".join(map(recorded_text, names)), end="")
        return
    for name in THE_FIVE:
        path_of(name).write_text(recorded_text(name))
    HASHES.write_text("".join(f"{hash_of(name)} {name}\n" for name in GAMES if name not in THE_FIVE))


if __name__ == "__main__":
    main()
