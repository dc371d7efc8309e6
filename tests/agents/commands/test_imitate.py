"""``agents imitate``: transcripts become positions, positions train a network."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from safetensors.torch import load_file

from agents import train
from agents.commands.imitate import Arguments, main
from agents.config import make_config
from agents.learners.factory import make_model
from agents.learners.training_env import make_env
from agents.policies import make_policy
from agents.results.transcripts import Positions, positions_of, read_transcripts
from agents.runs.config_files import load_config
from solitaire_env import SolitaireEnv, get_variant
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation import evaluate
from solitaire_env.policies.greedy import Greedy
from solitaire_env.policies.policy import with_moves
from solitaire_env.transcripts import Transcript, format_transcript, parse_transcript
from solitaire_env.util.progress import ProgressLine
from tests.agents.test_train import command as run_command
from tests.conftest import Refuses

SMALL = {"minutes": 5, "hidden": [16], "width": 8, "batch_size": 256, "threads": 1, "learning_rate": 3e-3}
"""Of a configuration; a test's epochs are over long before."""


def played(folder: Path, env: str, deals: range, **keywords: Any) -> Path:
    """Transcripts of games of the greedy policy, with supermoves if ``moves`` allows them."""
    variant = make_config({"env": env}, "test").variant.with_rules(**keywords)
    moves = "supermove" if variant.moves == "one card" else variant.moves
    policy = with_moves(Greedy(GameSpec(variant.with_rules(moves=moves))), moves)
    folder.mkdir()
    for deal, text in evaluate(policy, variant, deals, transcripts=True).transcripts.items():
        (folder / f"{deal}.txt").write_text(text)
    return folder


@pytest.fixture(scope="session")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("busy") / "games", "busy-aces", range(20_000, 20_040))


@pytest.fixture(scope="session")
def eights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("eights") / "games", "eights-down", range(20_000, 20_100))


def asked(folder: Path, /, **values: Any) -> Arguments:
    """Arguments of the command: keys of the configuration and its own options."""
    all_games = values.pop("all_games", False)
    config = make_config({**SMALL, **values}, "test")
    return Arguments(config, transcripts=(folder,), quiet=True, all_games=all_games)


def learned_from(a: Arguments) -> Positions:
    games = read_transcripts(a.transcripts, a.config)
    return positions_of(games, a.config, ProgressLine(quiet=True), all_games=a.all_games)


def games_in(folder: Path) -> list[Transcript]:
    return [parse_transcript(path.read_text()) for path in sorted(folder.iterdir())]


def written(folder: Path, *games: Transcript) -> Path:
    folder.mkdir()
    for number, game in enumerate(games):
        (folder / f"{number}.txt").write_text(format_transcript(game))
    return folder


# --------------------------------------------------------------------------------------- positions


def test_positions_match_the_replayed_games(eights: Path) -> None:
    """A single environment plays each game and gives the expected positions, actions and returns."""
    a = asked(eights, env="eights-down", gamma=0.9, reward="progress+win")
    got = learned_from(a)
    expected = {}
    for game in games_in(eights):
        env = SolitaireEnv(game.variant, reward="progress+win")
        observation, info = env.reset(options={"deal": game.deal})
        seen, rewards = [], []
        for text in game.actions:
            action = env.parse_action(text)
            seen.append((observation.tobytes(), info["action_mask"].tobytes(), action, game.result == "won"))
            observation, reward, *_, info = env.step(action)
            rewards.append(reward)
        value = 0.0
        for key, reward in zip(reversed(seen), reversed(rewards), strict=True):
            value = reward + 0.9 * value
            expected.setdefault(key, []).append(value)
    assert len(got) == sum(map(len, expected.values()))
    for k in range(len(got)):
        mask = np.unpackbits(got.masks[k], count=GameSpec(get_variant("eights-down")).num_actions)
        key = (got.observations[k].tobytes(), mask.tobytes(), int(got.actions[k]), bool(got.learned[k]))
        assert min(abs(value - got.returns[k]) for value in expected[key]) < 1e-5


def test_all_games_of_a_deal_are_for_validation_together(eights: Path, tmp_path: Path) -> None:
    """If each game occurs twice, both copies are for validation or neither is."""
    games = games_in(eights)
    got = learned_from(asked(written(tmp_path / "twice", *games, *games), env="eights-down"))
    held: dict[bytes, list[bool]] = {}
    for observation, kept in zip(got.observations, got.validation.tolist(), strict=True):
        held.setdefault(observation.tobytes(), []).append(kept)
    # A position that also occurs in another deal, or again, occurs more than twice.
    pairs = [kept for kept in held.values() if len(kept) == 2]
    assert len(pairs) > 100 and {len(set(kept)) for kept in pairs} == {1}
    assert 0.02 < got.validation.mean() < 0.3
    assert got.learned[got.validation].any() and not got.learned[got.validation].all()


def test_single_moves_are_combined_into_supermoves(busy: Path) -> None:
    """The supermoves that greedy chose are found again in the single moves of its transcripts."""
    a = asked(busy, env="busy-aces", moves="supermove", all_games=True)
    got = learned_from(a)
    singles = learned_from(asked(busy, env="busy-aces", moves="one card", all_games=True))
    assert len(got) < len(singles) == sum(len(game.actions) for game in games_in(busy))
    masks = np.unpackbits(got.masks, axis=1, count=a.config.game.num_actions).view(np.int8)
    alike = Greedy(a.config.game)(got.observations, masks) == got.actions
    assert alike.mean() > 0.999
    assert got.learned.all() and singles.learned.all()


# -------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"deal": 7}, ["deal 7 is reserved for evaluation", "100000-100999"]),
        ({"deal": 20_001}, ["1.txt: deal 20001 starts from another position"]),
        ({"information": None}, ["1.txt: its information is None", "may have seen the stock", "'player'"]),
        ({"build": "any suit"}, ["1.txt: its game is Solitaire/BusyAces-v0 (any suit, any, one card)"]),
        (
            {"result": "truncated", "cards_home": 90},
            ["1.txt: its result is truncated with 90 cards home", "is won"],
        ),
    ],
)
def test_unsuitable_transcripts_are_refused(
    changes: dict[str, Any], words: list[str], busy: Path, tmp_path: Path, refuses: Refuses
) -> None:
    game, another, *_ = (game for game in games_in(busy) if game.result == "won")
    if rule := changes.pop("build", None):
        changes["variant"] = game.variant.with_rules(build=rule)
    folder = written(tmp_path / "games", another, replace(game, **changes), game)
    a = asked(folder, env="busy-aces", moves="supermove")
    refuses(lambda: learned_from(a), *words)


def test_transcripts_with_illegal_moves_are_refused(eights: Path, tmp_path: Path, refuses: Refuses) -> None:
    game, *others = (game for game in games_in(eights) if game.result == "won")
    actions = (*game.actions[:4], game.actions[0], *game.actions[4:])
    bad = replace(game, actions=actions, steps=len(actions))
    a = asked(written(tmp_path / "games", bad, *others), env="eights-down")
    refuses(lambda: learned_from(a), "0.txt: step 5: illegal action", game.actions[0])
    longer = replace(game, actions=(*game.actions, "t1>c"), steps=game.steps + 1)
    a = asked(written(tmp_path / "longer", longer, *others), env="eights-down")
    refuses(lambda: learned_from(a), f"0.txt: step {longer.steps}: the game has ended before")


def test_thoughtful_transcripts_need_a_thoughtful_configuration(busy: Path, tmp_path: Path) -> None:
    """In games without a stock, any transcript is accepted."""
    games = [replace(game, information="thoughtful") for game in games_in(busy)[:10]]
    a = asked(written(tmp_path / "games", *games), env="busy-aces", information="thoughtful", all_games=True)
    assert len(learned_from(a)) > 100


CONFIG = "eights-down: {network: moves, hidden: [16], width: 8, batch_size: 256, threads: 1}\n"


def command(folder: Path, *args: str | Path) -> tuple[int, str, str]:
    """Run the command in this process with files in a folder: exit status, stdout and stderr."""
    (folder / "small.yaml").write_text(CONFIG)
    outcome = run_command(folder / "small.yaml", *args, "--runs", folder / "runs", of=main)
    return outcome.status, outcome.out, outcome.err


def test_a_single_deal_is_refused(eights: Path, tmp_path: Path, refuses: Refuses) -> None:
    won = next(game for game in games_in(eights) if game.result == "won")
    lost = next(game for game in games_in(eights) if game.result != "won")
    a = asked(written(tmp_path / "games", won, won, lost), env="eights-down")
    refuses(lambda: learned_from(a), "3 games", "from 1 deals", "--all-games")


# --------------------------------------------------------------------------------------- learning


@pytest.fixture(scope="session")
def cloned(eights: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("cloned")
    status, out, err = command(folder, eights, "--epochs", "25", "--learning-rate", "5e-3", "--quiet")
    assert status == 0, err
    return folder / "runs" / "eights-down-1", out


def test_a_clone_plays_like_the_player_it_learned_from(cloned: tuple[Path, str]) -> None:
    run, out = cloned
    about = json.loads((run / "imitation.json").read_text())
    scores = about["epochs"]
    best = min(scores, key=lambda score: score["loss"])
    assert len(scores) == 25 and best["accuracy"] > 0.8 > scores[0]["accuracy"]
    assert best["value_error"] < scores[0]["value_error"]
    assert f"{100 * best['accuracy']:.1f} % of moves" in out and f"--init-from {run}" in out
    clone = make_policy(str(run), GameSpec(get_variant("eights-down")))
    summary = evaluate(clone, "eights-down", range(100)).summary
    assert summary.wins >= 20  # greedy wins 34, a random policy 6


def test_imitate_writes_a_run_folder(cloned: tuple[Path, str], eights: Path) -> None:
    run, _ = cloned
    assert {path.name for path in run.iterdir()} == {
        "config.yaml", "versions.json", "imitation.json", "model"
    }  # fmt: skip
    assert load_config(run / "config.yaml").hidden == [16]
    about = json.loads((run / "imitation.json").read_text())
    assert about["players"] == {"greedy": 100} and about["transcripts"] == [str(eights)]
    assert about["learned_positions"] < about["positions"]
    assert "value_head.weight" in load_file(run / "model" / "model.safetensors")


# ------------------------------------------------------------------------------------------ start


def started(**values: Any) -> Any:
    config = make_config({**SMALL, "env": "eights-down", **values}, "test")
    env = make_env(config, 4)
    return make_model(config, env).policy


@pytest.mark.slow
def test_training_starts_from_a_clone(cloned: tuple[Path, str], tmp_path: Path) -> None:
    run, _ = cloned
    saved = load_file(run / "model" / "model.safetensors")
    for start in (run, run / "model"):
        policy = started(init_from=str(start))
        for name, weights in policy.network.state_dict().items():
            assert th.equal(weights, saved[name])
        for name, weights in policy.value_net.state_dict().items():
            assert th.equal(weights, saved[f"value_head.{name}"])
    small = ("--num-envs", "8", "--n-steps", "32", "--total-steps", "512", "--eval-deals", "0", "--quiet")
    (tmp_path / "small.yaml").write_text(CONFIG)
    begun = [str(tmp_path / "small.yaml"), "--runs", str(tmp_path), "--init-from", str(run), *small]
    assert train.main(begun) == 0
    # The initial network is not needed to resume from the checkpoint.
    path = tmp_path / "eights-down-1" / "config.yaml"
    assert load_config(path).init_from == str(run)
    path.write_text(path.read_text().replace(str(run), "gone"))
    assert train.main(["--resume", str(path.parent), "--total-steps", "1024", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"env": "busy-aces"}, ["the model is for Solitaire/EightsDown-v0", "this game is Busy Aces"]),
        ({"width": 9}, ["'moves'", "'width': 8", "'width': 9"]),
    ],
)
def test_initial_networks_that_do_not_fit_are_refused(
    values: dict[str, Any], words: list[str], cloned: tuple[Path, str], refuses: Refuses
) -> None:
    refuses(lambda: started(init_from=str(cloned[0]), **values), *words)
