"""Trainings play the deals of the key ``deals``, and the comparison warns of those among its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.config import TrainConfig, make_config
from agents.learners import training
from agents.learners.training_env import TrainingEnv, make_env
from agents.playing import comparison
from agents.playing.comparison import compare_family, count_trained_on
from agents.results.transcripts import read_transcripts
from agents.runs.config_files import dump_config, load_config
from agents.runs.folders import new_run
from solitaire_env.splits import SPLITS, split_deals
from tests.agents.commands.test_imitate import SMALL, played
from tests.agents.test_train import VALUES, assert_refused, command, config_file
from tests.conftest import Refuses

FEW = {*range(2_000_000, 2_000_003)}
TEXT = "2000000:2000003"


def config_of(**values: Any) -> TrainConfig:
    return make_config({**VALUES, "env": "busy-aces", **values}, "test")


@pytest.fixture
def dealt(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The deals that trainings have played."""
    seen: set[int] = set()
    step = TrainingEnv.step_wait

    def step_wait(env: TrainingEnv) -> Any:
        seen.update(env.batch.deal_numbers.tolist())
        result = step(env)
        seen.update(env.batch.deal_numbers.tolist())
        return result

    monkeypatch.setattr(TrainingEnv, "step_wait", step_wait)
    return seen


@pytest.mark.parametrize("learner", ["ppo", "maskable-ppo", "pqn", "playouts"])
def test_every_learner_plays_all_chosen_deals_and_no_others(
    learner: str, tmp_path: Path, dealt: set[int]
) -> None:
    config = config_of(learner=learner, deals=TEXT, total_steps=512, num_playouts=1)
    run = new_run(tmp_path, config)
    assert training.learn(config, run, resume=False, quiet=True)
    assert dealt == FEW
    assert load_config(run / "config.yaml") == config and config.deals == TEXT


def test_a_family_plays_the_chosen_deals_of_all_games() -> None:
    config = make_config(
        {"env": "Solitaire/Family-v0", "games": "busy-aces,freecell", "deals": TEXT, "stall_limit": 3}, "test"
    )
    env = make_env(config, 16)
    env.seed(0)
    env.reset()
    played: set[tuple[int, int]] = set()
    for _ in range(60):
        played |= {*zip(env.batch.played.tolist(), env.batch.deal_numbers.tolist(), strict=True)}
        env.step(env.action_masks().argmax(1))
    assert played == {(game, deal) for game in (0, 1) for deal in FEW}


def test_a_training_warns_of_evaluation_deals_that_it_was_trained_on(tmp_path: Path) -> None:
    file = config_file(tmp_path, deals=[2_000_000, 2_000_001, "2000002"], total_steps=256)
    outcome = command(file, "--eval-deals", f"{TEXT},660", "--runs", tmp_path, "--quiet")
    assert outcome.status == 0 and "Warning: 3 of these deals were trained on" in outcome.out
    run = tmp_path / "busy-aces-1"
    assert json.loads((run / "score.json").read_text())["trained_on"] == 3
    assert load_config(run / "config.yaml").deals == "2000000,2000001,2000002"
    assert_refused(command("--resume", run, "--deals", "train", "--quiet"), "deals is 'train'")


@pytest.mark.parametrize(
    ("deals", "before", "played", "seen"),
    [
        ("train-1k", None, "0:5", 0),
        ("train-1k", None, "0:5,1048576:1048579", 3),
        ("dev", None, "998:1003", 2),
        (None, None, "2000000", 0),
        ("train-1k", "dev", "0:2,1048576:1048579,2000000", 5),
        (None, "2000000:2000003", "0:2,2000000", 1),
    ],
)
def test_deals_of_earlier_trainings_count_as_trained_on(
    deals: str | None, before: str | None, played: str, seen: int, tmp_path: Path
) -> None:
    config = config_of(deals=deals, eval_deals=played)
    if before is not None:
        (tmp_path / "history" / "1").mkdir(parents=True)
        (tmp_path / "history" / "1" / "config.yaml").write_text(dump_config(config_of(deals=before)))
    assert count_trained_on(config, tmp_path, str(config.eval_deals)) == seen


def test_a_family_is_warned_of_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "play_games", lambda *_, **__: {})
    config = make_config({"env": "Solitaire/Family-v0", "deals": "dev", "eval_deals": "998:1002"}, "test")
    assert "Warning: 2 of these deals were trained on" in compare_family(config, tmp_path, quiet=True)


@pytest.mark.parametrize(
    ("deals", "words"),
    [
        ("0:1000", ["deal 0 is reserved for evaluation", "deals='dev'"]),
        ([2_000_000, 5], ["deal 5 is reserved"]),
        (5.5, ["deals is 5.5"]),
        ([[1]], ["deals is [[1]]"]),
    ],
    ids=str,
)
def test_other_deals_are_refused(deals: Any, words: list[str], refuses: Refuses) -> None:
    refuses(lambda: config_of(deals=deals), *words)


def test_winnable_deals_are_those_of_the_game(refuses: Refuses) -> None:
    config = config_of(deals="train-winnable")
    assert config.chosen_deals.tolist() == list(split_deals("train-winnable", "busy-aces"))
    many = {"env": "Solitaire/Family-v0", "deals": "train-winnable"}
    refuses(lambda: make_config(many, "test"), "another set for each game")


def test_imitation_learns_from_chosen_deals_only(tmp_path: Path, refuses: Refuses) -> None:
    """Of deals that are reserved for evaluation, if their split is named."""
    folders = (
        played(tmp_path / "dev", "busy-aces", range(3)),
        played(tmp_path / "train", "busy-aces", SPLITS["train-1k"].deals[:3]),
    )

    def read(deals: str | None, folder: Path) -> int:
        return len(
            read_transcripts([folder], make_config({**SMALL, "env": "busy-aces", "deals": deals}, "test"))
        )

    assert read("dev", folders[0]) == read("train-1k", folders[1]) == read(None, folders[1]) == 3
    assert read("train", folders[1]) == 3
    refuses(lambda: read(None, folders[0]), "deal 0 is reserved for evaluation")
    refuses(lambda: read("train-1k", folders[0]), "deal 0 is not among the chosen ones", "deals train-1k")
    refuses(lambda: read("2000000:2000009", folders[1]), "deal 1048576 is not among", "2000000:2000009")
