"""Rows of the native vector environment: every public method that takes rows checks them alike."""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from solitaire_env.testing import check_state
from solitaire_env.util.messages import shown
from solitaire_env.vector import SolitaireVectorEnv
from tests.conftest import Refuses

ROWS = {"row", "rows", "sources", "targets"}
METHODS = {
    name: [parameter for parameter in inspect.signature(method).parameters if parameter in ROWS]
    for name, method in inspect.getmembers(SolitaireVectorEnv, inspect.isfunction)
    if not name.startswith("_") and ROWS & set(inspect.signature(method).parameters)
}
ONE = [name for name, rows in METHODS.items() if rows == ["row"]]

NO_NUMBERS = [None, "1", 1.0, True, np.array([1]), np.timedelta64(1)]


def started(num_envs: int = 3) -> SolitaireVectorEnv:
    env = SolitaireVectorEnv(num_envs, "busy-aces")
    env.reset(seed=0)
    return env


def call(env: SolitaireVectorEnv, method: str, row: Any) -> Any:
    more = [env.batch.get_state(0)] if method == "set_state" else []
    return getattr(env, method)(row, *more)


def states(env: SolitaireVectorEnv) -> list[dict[str, Any]]:
    return [env.batch.get_state(row) for row in range(env.num_envs)]


def test_every_method_that_takes_rows_is_tested() -> None:
    """See below."""
    assert sorted(ONE) == ["deal", "get_state", "position", "set_state"]
    assert sorted(set(METHODS) - set(ONE)) == ["copy_rows"]


@pytest.mark.parametrize("row", NO_NUMBERS, ids=shown)
@pytest.mark.parametrize("method", ONE)
def test_rows_of_other_types_raise_an_error(method: str, row: Any, refuses: Refuses) -> None:
    env = started()
    before = states(env)
    refuses(lambda: call(env, method, row), f"is a {type(row).__name__}", "a whole number from 0 to 2")
    assert states(env) == before and check_state(env) == []


@pytest.mark.parametrize("row", [-1, 3, -(10**5000), np.uint64(2**64 - 1)], ids=shown)
@pytest.mark.parametrize("method", ONE)
def test_rows_out_of_range_raise_an_error(method: str, row: Any, refuses: Refuses) -> None:
    env = started()
    before = states(env)
    refuses(lambda: call(env, method, row), "there is no game", "0..2")
    assert states(env) == before


def test_torch_rows_are_accepted() -> None:
    torch = pytest.importorskip("torch")
    env, other = started(), started()
    assert env.position(torch.tensor(2)) == other.position(2)
    env.copy_rows(torch.tensor([0, 0]), torch.tensor([1, 2]))
    assert env.position(0) == env.position(1) == env.position(2)


@pytest.mark.parametrize("method", METHODS)
def test_rows_before_reset_raise_an_error(method: str) -> None:
    """There are no games yet."""
    env = SolitaireVectorEnv(2, "busy-aces")
    arguments = {"copy_rows": ([0], [1]), "set_state": (0, started().get_state(0))}.get(method, (0,))
    with pytest.raises(gym.error.ResetNeeded, match=r"reset\(\)"):
        getattr(env, method)(*arguments)


def test_an_invalid_start_changes_no_game(refuses: Refuses) -> None:
    """Deals and positions are read before anything is dealt or seeded."""
    env = started()
    before = states(env)
    for options, words in (
        ({"deal": [1, 2, "../../x"]}, "'ms:N'"),
        ({"deal": np.array([1, 2, -3])}, "0 to 2**63 - 1"),
        ({"position": [env.position(0), env.position(1), ""]}, "variant"),
    ):
        refuses(lambda options=options: env.reset(seed=5, options=options), words)
        assert states(env) == before
