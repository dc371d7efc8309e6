"""Decide the levels of deals: ``python -m agents levels [GAME...]``.

A deal of a game is ``easy`` if the policy ``greedy`` wins it, ``medium`` if greedy does not and the shipped
network does, ``hard`` if neither does and a stored line wins it: it is in the split ``winnable`` or
``train-winnable``, which ``python -m agents leaderboard write`` makes. Nothing is claimed of the others.
Games end as in every evaluation, and also after :data:`STALL_LIMIT` steps without progress.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import tyro

from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.variant import Variant
from solitaire_env.evaluation.runner import Runner
from solitaire_env.loading import load_policy
from solitaire_env.policies.shipped import shipped_games
from solitaire_env.registration import resolve_variant, step_limit
from solitaire_env.splits import (
    LEVELS,
    LEVELS_DATA,
    SPLITS,
    games_of_split,
    pack_deals,
    split_deals,
)  # fmt: skip
from solitaire_env.util.arguments import check_count
from solitaire_env.util.command_line import parse, run_command
from solitaire_env.util.files import locked, read_json, write_json
from solitaire_env.util.progress import ProgressLine

GAMES: Final = (
    "forty-thieves", "eighty-thieves", "eights-down", "forty-bandits", "busy-aces", "klondike",
    "klondike-draw-3", "freecell", "yukon",
)  # fmt: skip
"""The games whose levels are stored."""
STALL_LIMIT: Final = 100
"""A game is lost after this many steps without progress; with unlimited redeals a pass is added."""
PARTS: Final = {"dev": "winnable", "train": "train-winnable"}
"""The parts whose deals have levels, and the split of those that a stored line wins."""


@dataclass
class Arguments:
    """Decide the levels of the first 20,000 training deals and of the split dev, and store them."""

    games: tyro.conf.Positional[tuple[str, ...]] = GAMES
    """Games, by id or name."""
    network_deals: int = len(SPLITS["train-medium"].deals)
    """Number of training deals, from the first, that the shipped network plays; at least the 1,000 of
    train-winnable."""
    quiet: bool = False
    """Hide the progress line."""


def wins(policy: str, variant: Variant, deals: Sequence[int], line: ProgressLine) -> set[Any]:
    """The deals that a policy wins."""
    spec = GameSpec(variant, Settings(stall_limit=STALL_LIMIT, max_episode_steps=step_limit(variant)))
    won: set[Any] = set()
    done = 0
    for ended in Runner(load_policy(policy, spec), spec).play(deals):
        won.update(game.start for game in ended if game.won)
        done += len(ended)
        line.count(done, len(deals), lambda: f"{variant.title}, {policy}: {len(won)} won")
    return won


def levels_of(variant: Variant, part: str, network_deals: int, line: ProgressLine) -> dict[str, set[Any]]:
    """The deals of each level in a part, the medium ones among its first ``network_deals``; a level without a
    network or stored lines is missing.
    """
    deals, winnable = SPLITS[f"{part}-easy"].deals, PARTS[part]
    found = {"easy": wins("greedy", variant, deals, line)}
    if variant.name in shipped_games():
        left = [deal for deal in deals[:network_deals] if deal not in found["easy"]]
        found["medium"] = wins("shipped", variant, left, line)
    if variant.name in games_of_split(winnable):
        found["hard"] = {*split_deals(winnable, variant)}.difference(*found.values())
    return found


def store(game: str, part: str, found: dict[str, set[Any]]) -> None:
    """Write the levels of a game in place of those that are stored."""
    with locked(LEVELS_DATA):
        packed = read_json(LEVELS_DATA)
        for level in LEVELS:
            split = f"{part}-{level}"
            games = {name: text for name, text in packed.get(split, {}).items() if name != game}
            if found.get(level):
                games[game] = pack_deals(SPLITS[split].deals, found[level])
            packed[split] = {name: games[name] for name in sorted(games)}
        write_json(LEVELS_DATA, packed)


def run(a: Arguments) -> int:
    """Play, store and print the numbers of deals; the exit status."""
    line = ProgressLine(a.quiet)
    check_count("network_deals", a.network_deals, len(SPLITS["train-winnable"].deals))
    variants = [resolve_variant(game) for game in a.games]
    for part in PARTS:
        for variant in variants:
            found = levels_of(variant, part, a.network_deals, line)
            store(variant.name, part, found)
            line.close()
            counts = ", ".join(f"{len(found[level]):,} {level}" for level in LEVELS if level in found)
            print(f"{variant.title}, {part}: {counts}", flush=True)
    return 0


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = parse(Arguments, args, "python -m agents levels")
    return run_command(lambda: run(a), "Interrupted. The levels of the games before are stored.")
