"""Policies by their names: those of the package, folders, and ``module:Class``; and their stored games."""

from pathlib import Path
from typing import Any

import pytest

from agents.policies import make_policy
from agents.results.stored import read_rows
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import evaluate
from solitaire_env.loading import load_policy, load_prior
from solitaire_env.policies.greedy import Greedy
from solitaire_env.policies.random import Random
from solitaire_env.variants import get_variant
from tests.conftest import Refuses
from tests.games import COMPILED


class Mine:
    """A custom policy, loaded by ``module:Class``."""

    moves = "supermove"

    def __init__(self, spec: GameSpec) -> None:
        self.actions = spec.num_actions

    def __call__(self, observations: Any, masks: Any) -> Any:
        return masks.argmax(1)


STORED = {entry: rows for entry, rows in read_rows("leaderboard").items() if not entry.endswith("/search")}
BUSY_ACES = GameSpec(get_variant("busy-aces"))


def test_make_policy_accepts_names_folders_and_classes() -> None:
    assert isinstance(make_policy("random", BUSY_ACES), Random)
    assert isinstance(make_policy("greedy", BUSY_ACES), Greedy)
    mine = make_policy("tests.agents.test_policies:Mine", BUSY_ACES)
    assert mine.moves == "supermove"
    assert mine.function.actions == BUSY_ACES.view(moves="supermove").num_actions  # type: ignore[attr-defined]
    assert make_policy("greedy", BUSY_ACES, moves="supermove").moves == "supermove"
    assert make_policy("greedy", BUSY_ACES).moves == "one card"


@pytest.mark.skipif(not COMPILED, reason="takes minutes interpreted")
@pytest.mark.parametrize("name", STORED)
def test_policies_play_the_stored_games(name: str) -> None:
    stored = STORED[name][: 5 if "shipped" in name else 20]
    game, policy = name.split("/")
    moves: Any = "supermove" if "supermoves" in policy else None
    player = load_policy(policy.removesuffix("-supermoves"), game, moves=moves)
    games = evaluate(player, game, [row["deal"] for row in stored]).games
    for played, row in zip(games, stored, strict=True):
        assert {key: getattr(played, key) for key in ("won", "cards_home", "steps", "repeated")} == {
            key: row[key] for key in ("won", "cards_home", "steps", "repeated")
        }


def test_a_network_for_search_that_does_not_exist_is_named(tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "first").mkdir()
    refuses(
        lambda: load_prior(str(tmp_path / "fist"), BUSY_ACES),
        "fist' does not exist", "closest: ", "first",
    )  # fmt: skip


def test_a_file_that_is_no_zip_is_refused(refuses: Refuses) -> None:
    """Names that are no policy are in ``tests/play/test_hints.py``."""
    name = "solitaire_env/__init__.py"
    refuses(lambda: make_policy(name, BUSY_ACES), name, "run folder, a model folder or an SB3 zip")
