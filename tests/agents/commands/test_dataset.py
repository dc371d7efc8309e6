"""``agents dataset``: recorded games become Minari datasets."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.commands import dataset
from agents.commands.dataset import Arguments, main, run
from agents.playing import recording as recording_module
from agents.playing.recording import SOURCES, play, players_of
from agents.results import datasets
from agents.results.datasets import load, save, what
from solitaire_env import GameSpec, get_variant, load_policy
from solitaire_env.benchmark import references
from solitaire_env.core import Settings
from solitaire_env.core.deals import RESERVED_DEALS
from solitaire_env.evaluation import Runner
from solitaire_env.registration import step_limit
from solitaire_env.util.progress import ProgressLine
from tests.conftest import Refuses

if sys.version_info < (3, 11):
    pytest.skip("Minari needs Python 3.11", allow_module_level=True)

import minari

GREEDY = "eights-down/greedy"
ID = "solitaire/eights-down/greedy-v0"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store of Minari, and an empty current folder."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(name: str, games: int = 6, **options: Any) -> minari.MinariDataset:
    made: minari.MinariDataset = run(Arguments(name, games=games, quiet=True, **options))
    return made


def moves_of(policy: str, game: str, deals: range) -> dict[int, list[int]]:
    """The moves that the runner records in games of a policy."""
    variant = get_variant(game)
    spec = GameSpec(variant, Settings(max_episode_steps=step_limit(variant)))
    ended = Runner(load_policy(policy, variant), spec, record=True).play(deals)
    return {end.start: [move.action for move in end.moves] for ends in ended for end in ends}


def check_episodes(made: minari.MinariDataset) -> None:
    """The recovered environment, one game at a time, gives every value of the dataset."""
    env: Any = made.recover_environment()
    metadata = made.storage.get_episode_metadata(made.episode_indices)
    for about, episode in zip(metadata, made, strict=True):
        observation, info = env.reset(options={"deal": int(about["options"]["deal"])})
        reward, terminated, truncated = 0.0, False, False
        for step in range(len(episode) + 1):
            assert np.array_equal(episode.observations[step], observation)
            assert set(episode.infos) == set(info)
            assert all(np.array_equal(episode.infos[key][step], value) for key, value in info.items())
            if step < len(episode):
                assert info["action_mask"][episode.actions[step]] == 1
                observation, reward, terminated, truncated, info = env.step(episode.actions[step])
                last = step == len(episode) - 1
                assert (episode.rewards[step], episode.terminations[step]) == (reward, terminated)
                # The last step of a game that its player did not end is truncated.
                assert episode.truncations[step] == (truncated or (last and not terminated))
        assert sum(episode.rewards) == pytest.approx(info["cards_home"] / env.unwrapped.variant.cards)
    assert episode.observations.dtype == np.int8 and episode.infos["action_mask"].dtype == np.int8


@pytest.mark.parametrize(
    ("game", "source"),
    [("eights-down", source) for source in SOURCES] + [("busy-aces", "expert"), ("freecell", "mixed")],
)
def test_episodes_are_the_games_of_the_source(
    game: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in several chunks, and when a policy's supermoves are played card by card (Busy Aces).

    FreeCell has no linear weights.
    """
    monkeypatch.setattr(datasets, "CHUNK_STEPS", 150)
    made = make(f"{game}/{source}")
    check_episodes(made)
    deals = [int(episode.infos["deal"][0]) for episode in made]
    assert deals == sorted(deals) and set(deals) <= set(range(RESERVED_DEALS, RESERVED_DEALS + 6))
    if source == "solver":
        assert len(made) >= 4 and all(episode.infos["is_success"][-1] for episode in made)
        return
    assert len(made) == 6
    players = players_of(source, get_variant(game))
    assert len(players) == (3 if source == "mixed" else 1)
    games = [moves_of(player, game, range(RESERVED_DEALS, RESERVED_DEALS + 6)) for player in players]
    metadata = made.storage.get_episode_metadata(made.episode_indices)
    for place, (about, episode) in enumerate(zip(metadata, made, strict=True)):
        assert episode.actions.tolist() == games[place % len(players)][deals[place]]
        assert about["policy"] == players[place % len(players)]


def test_the_metadata_describes_the_dataset() -> None:
    made = make("eights-down/mixed")
    metadata = made.storage.metadata
    names = ("random", "linear", "shipped")
    policies = {name: load_policy(name, "eights-down").fingerprint for name in names}
    assert metadata["policies"] == policies
    assert all(f"{name} ({policies[name]})" in metadata["description"] for name in names)
    assert metadata["algorithm_name"] == "mixed: random, linear, shipped"
    assert metadata["author"] == {"solitaire-env authors"}
    assert metadata["minari_version"] == minari.__version__
    assert metadata["requirements"] == ["solitaire-env>=0.1.0"]
    assert made.env_spec.id == "Solitaire/EightsDown-v0"
    known = references("eights-down")
    returns = np.array([known["random"].cards_home, known["best"].cards_home]) / 52
    assert minari.get_normalized_score(made, returns) == pytest.approx([0, 1])
    assert metadata["num_episodes_average_score"] == 1000


def test_scores_leave_out_cards_that_are_home_at_the_deal() -> None:
    """Eight of Waterloo's 104 cards."""
    known = references("waterloo")
    metadata = make("waterloo/greedy").storage.metadata
    assert metadata["ref_max_score"] == pytest.approx((known["best"].cards_home - 8) / 96)


@pytest.mark.usefixtures("registered_games_removed")
def test_a_custom_variant_has_no_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = 'Variant("own", "Own Dataset Game", 1, (4,) * 8)'
    (tmp_path / "own_dataset.py").write_text(f"from solitaire_env import *\nregister_variant({line})\n")
    monkeypatch.syspath_prepend(tmp_path)
    made = make("own_dataset:Solitaire/OwnDatasetGame-v0/random", games=2)
    assert made.total_episodes == 2 and "ref_min_score" not in made.storage.metadata


def test_a_file_of_games_gives_the_same_dataset(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([GREEDY, "--games", "20", "--first-deal", "5000", "--quiet"]) == 0
    path = store / "runs" / "datasets" / "eights-down-greedy-5000-20.npz"
    assert path.stat().st_size < 20 * 200  # bytes
    before = list(minari.load_dataset(ID))
    minari.delete_dataset(ID)
    monkeypatch.setattr(dataset, "record", None)
    options = ("--games", "20", "--first-deal", "5000", "--file", str(path), "--quiet")
    assert main([GREEDY, *options]) == 0
    assert f"the games are those of {path}" in capsys.readouterr().out
    after = minari.load_dataset(ID)
    assert [int(episode.infos["deal"][0]) for episode in after] == list(range(5000, 5020))
    for old, new in zip(before, after, strict=True):
        assert np.array_equal(old.actions, new.actions)
        assert np.array_equal(old.observations, new.observations)


def test_an_existing_dataset_is_kept(refuses: Refuses) -> None:
    before = make(GREEDY).total_steps
    refuses(lambda: make(GREEDY, games=7), f"{ID} exists", f"minari delete {ID}")
    assert minari.load_dataset(ID).total_steps == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"about": {"source": "random"}}, ["its source is 'random', allowed: 'greedy'", "--file"]),
        ({"about": {"rules": "any suit"}}, ["its rules is 'any suit'"]),
        ({"about": {"players": {}}}, ["a game has no player"]),
        ({"deals": np.arange(3)}, ["its arrays do not fit together"]),
        ({"actions": np.zeros(9, dtype=np.uint16)}, ["its arrays do not fit together"]),
        ({"first action": 65_000}, ["-6.npz: ", "65000"]),
        ({"first action": 0}, ["-6.npz: illegal action 0"]),
        ({"after the end": 0}, ["-6.npz: a game ends otherwise than recorded"]),
        ({"won": np.ones(6, dtype=np.bool_)}, ["-6.npz: a game ends otherwise than recorded"]),
    ],
)
def test_unsuitable_files_of_games_are_refused(
    changes: dict[str, Any], words: list[str], store: Path, refuses: Refuses
) -> None:
    """And no part of a dataset is left."""
    expected = what(get_variant("eights-down"), "greedy", range(RESERVED_DEALS, RESERVED_DEALS + 6))
    stuck = [game.terminations[-1] and not game.infos["is_success"][-1] for game in make(GREEDY)]
    minari.delete_dataset(ID)
    [path] = (store / "runs" / "datasets").iterdir()
    recording = load(path, expected)
    if "first action" in changes:
        recording.actions[0] = changes["first action"]
    elif "after the end" in changes:
        lengths, ends = recording.lengths.copy(), np.cumsum(recording.lengths)
        game = stuck.index(True)
        lengths[game] += 1
        actions = np.insert(recording.actions, ends[game], changes["after the end"])
        recording = recording._replace(lengths=lengths, actions=actions)
    else:
        about = recording.about | changes.pop("about", {})
        recording = recording._replace(about=about, **changes)
    save(recording, path)
    refuses(lambda: make(GREEDY), *words)
    assert ID not in minari.list_local_datasets() and not (store / "minari" / ID).exists()


def test_the_step_limit_cuts_supermoves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The linear policy plays supermoves, of which the last single moves may be beyond the limit."""
    monkeypatch.setattr(recording_module, "step_limit", lambda variant: 25)
    variant = get_variant("busy-aces")
    games = play(load_policy("linear", variant), 0, variant, list(range(40)), ProgressLine(True))
    assert [len(game.actions) for game in games] == [25] * 40
