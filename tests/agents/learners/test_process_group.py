"""Processes that train together: sums, gradients, whole trainings, and a process that ends."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from safetensors.torch import load_file

from agents.learners.parallel import PART, make_minibatches, set_gradients
from agents.learners.process_group import ProcessGroup, start_processes
from tests.agents.learners.rollouts import train_and_resume
from tests.agents.test_train import CHECKPOINT, curve

WEIGHTS = th.linspace(-1, 1, 6)
POSITIONS = th.linspace(0, 3, 2 * (PART + 1)).view(-1, 2).sin()


def losses(parameters: list[th.nn.Parameter], rows: Any, size: float) -> tuple[th.Tensor, th.Tensor]:
    first, second, _ = parameters
    errors = (POSITIONS[rows] @ first.view(2, 2)).relu().sum(1) * second[0] - 1
    loss = errors.square().sum() / size
    return loss, loss[None]


def weights() -> list[th.nn.Parameter]:
    """Three parameters; the loss does not depend on the last."""
    return [th.nn.Parameter(part.clone()) for part in (WEIGHTS[:4], WEIGHTS[4:5], WEIGHTS[5:])]


def follow(group: ProcessGroup, work: str) -> None:
    """Main function of the other process."""
    if work == "sums":
        for k in range(100):
            group.sum([k, group.rank, *range(k)])
        assert not group.begin_rollout(0.9, value_only=True) or group.share == 0.25
        group.sum([group.share])
    elif work == "gradients":
        take_minibatches(group)
    elif work == "error":
        raise ValueError("the network has diverged")
    else:
        os._exit(3)


def take_minibatches(group: ProcessGroup) -> list[Any]:
    """The gradients of two minibatches, of this process's half of the positions."""
    mine = np.array_split(np.arange(1000), group.size)[group.rank]
    parameters = weights()
    found = []
    minibatches, size = make_minibatches(group, len(mine), 600, np.random.default_rng(0))
    assert len(minibatches) == 2 and size == 500
    for rows in minibatches:
        logged = set_gradients(
            group, parameters, lambda part: losses(parameters, mine[part], size), rows, max_norm=1e9
        )
        found.append(([weight.grad for weight in parameters], logged))
    return found


def test_sum_adds_the_numbers_of_all_processes() -> None:
    """Repeated calls stay in order; the leader sends the completed share of the training."""
    group = start_processes(2, follow, "sums")
    try:
        for k in range(100):
            assert group.sum([k, group.rank, *range(k)]).tolist() == [2 * k, 1, *range(0, 2 * k, 2)]
        assert group.begin_rollout(0.25, value_only=True) and group.share == 0.25
        assert group.sum([group.share]).tolist() == [0.5]
        assert [group.part_of(9), ProcessGroup(1, 2).part_of(9)] == [5, 4]
    finally:
        group.end()


def test_gradients_equal_those_of_the_whole_minibatch() -> None:
    group = start_processes(2, follow, "gradients")
    try:
        found = take_minibatches(group)
    finally:
        group.end()
    orders = [np.array_split(np.random.default_rng(0).permutation(500), 2) for _ in range(2)]
    for number, (gradients, logged) in enumerate(found):
        rows = np.concatenate((orders[0][number], 500 + orders[1][number]))
        parameters = weights()
        loss, _ = losses(parameters, rows, 500)
        loss.backward()
        assert gradients[2] is None and logged[0] == pytest.approx(loss.item(), rel=1e-5)
        for mine, weight in zip(gradients[:2], parameters[:2], strict=True):
            th.testing.assert_close(mine, weight.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("count", [1, 900, PART, PART + 1])
def test_gradients_are_clipped_after_adding_the_parts(count: int) -> None:
    group, rows = ProcessGroup(), np.arange(count)
    parameters = weights()
    set_gradients(group, parameters, lambda part: losses(parameters, part, count), rows, max_norm=0.01)
    judge = weights()
    losses(judge, rows, count)[0].backward()
    th.nn.utils.clip_grad_norm_(judge, 0.01)
    for mine, weight in zip(parameters[:2], judge[:2], strict=True):
        th.testing.assert_close(mine.grad, weight.grad, rtol=1e-3, atol=1e-6)


def test_minibatches_cover_all_positions_once() -> None:
    for positions, batch in ((10, 3), (1, 5), (1000, 1000), (0, 4)):
        parts, size = make_minibatches(ProcessGroup(), positions, batch, np.random.default_rng(1))
        assert sorted(np.concatenate(parts).tolist()) == list(range(positions))
        assert len(parts) == max(1, -(-positions // batch)) and size == positions / len(parts)


@pytest.mark.parametrize(
    ("work", "error", "words"),
    [
        ("end", ChildProcessError, "a process that trains has ended"),
        ("error", ValueError, "the network has diverged"),
    ],
)
def test_a_process_that_ends_is_an_error_for_the_others(
    work: str, error: type[Exception], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    group = start_processes(2, follow, work)
    try:
        with pytest.raises(error, match=words):
            for _ in range(10):
                group.sum([1.0])
    finally:
        group.end()
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("learner", ["ppo", pytest.param("pqn", marks=pytest.mark.slow)])
def test_two_processes_train_and_resume(learner: str, tmp_path: Path) -> None:
    """A training with two processes ends and is resumed; all steps and games are counted."""
    values = {"num_envs": 129, "n_steps": 8, "threads": 2, "num_playouts": 2}
    run, begun = train_and_resume(tmp_path, learner=learner, **values)
    steps = np.diff([0, *(int(row["steps"]) for row in curve(run))])
    assert (steps >= 129 * 8).all() and int(curve(run)[-1]["games"]) > 0
    ended = load_file(run / CHECKPOINT)
    assert any((weights != ended[name]).any() for name, weights in begun.items())
