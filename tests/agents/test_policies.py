"""Policies by their names: those of the package, folders, and ``module:Class``."""

from __future__ import annotations

from typing import Any

import pytest

from agents.policies import make_policy
from solitaire_env.core.spec import GameSpec
from solitaire_env.policies.greedy import Greedy
from solitaire_env.policies.random import Random
from solitaire_env.variants import get_variant
from tests.conftest import Refuses


class Mine:
    """A custom policy, loaded by ``module:Class``."""

    moves = "supermove"

    def __init__(self, spec: GameSpec) -> None:
        self.actions = spec.num_actions

    def __call__(self, observations: Any, masks: Any) -> Any:
        return masks.argmax(1)


BUSY_ACES = GameSpec(get_variant("busy-aces"))


def test_make_policy_accepts_names_folders_and_classes() -> None:
    assert isinstance(make_policy("random", BUSY_ACES), Random)
    assert isinstance(make_policy("greedy", BUSY_ACES), Greedy)
    mine = make_policy("tests.agents.test_policies:Mine", BUSY_ACES)
    assert mine.moves == "supermove"
    assert mine.function.actions == BUSY_ACES.seen(moves="supermove").num_actions  # type: ignore[attr-defined]
    assert make_policy("greedy", BUSY_ACES, moves="supermove").moves == "supermove"
    assert make_policy("greedy", BUSY_ACES).moves == "one card"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("greedi", ["'greedi'", "random, greedy", "module:Class"]),
        ("runs/none-1", ["'runs/none-1'", "run or model folder"]),
        ("no.such.module:Class", ["'no.such.module:Class'", "no"]),
        ("math:pi", ["'math:pi'"]),
        (
            "solitaire_env/__init__.py",
            ["solitaire_env/__init__.py", "run folder, a model folder or an SB3 zip"],
        ),
    ],
)
def test_make_policy_refuses_unknown_names(name: str, words: list[str], refuses: Refuses) -> None:
    refuses(lambda: make_policy(name, BUSY_ACES), *words)
