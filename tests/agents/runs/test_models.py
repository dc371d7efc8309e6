"""Model folders and SB3 zips: a loaded model plays the same; damaged files are refused."""

from __future__ import annotations

import base64
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch as th
from safetensors.torch import load_file, save_file
from sb3_contrib import MaskablePPO

from agents.networks import NETWORKS
from agents.networks.mlp import DenseNetwork
from agents.networks.player import NetworkPlayer
from agents.policies import load_folder, make_policy
from agents.runs.models import load_model, save_model
from solitaire_env import get_variant
from solitaire_env.core.spec import GameSpec, layout_hash
from solitaire_env.evaluation import Game, evaluate
from solitaire_env.sb3 import SolitaireVecEnv
from tests.conftest import Refuses

SIZES: dict[str, dict[str, Any]] = {
    "moves": {"hidden": [8, 4], "width": 8, "dig_out": 3, "rollout_lookahead": 4, "relaxed_reachability": 2},
    "mlp": {"hidden": [16]},
}


SPEC = GameSpec(get_variant("busy-aces").with_rules(moves="supermove"))
"""What the networks see."""


def game(env: str, **rules: Any) -> GameSpec:
    """The specification of a game to play."""
    return GameSpec(get_variant(env).with_rules(**rules))


def play(player: Any) -> list[Game]:
    return evaluate(player, "busy-aces", range(3), max_episode_steps=60).games


def saved(folder: Path, kind: str = "mlp") -> th.nn.Module:
    """A network that plays Busy Aces with supermoves."""
    th.manual_seed(0)
    about: dict[str, Any] = {"kind": kind, "sizes": SIZES[kind]}
    network = NETWORKS[kind](SPEC, **SIZES[kind])
    save_model(folder, network, SPEC, steps=7, **about)
    return network


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    saved(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_loaded_model_plays_the_same(tmp_path: Path, kind: str) -> None:
    network = saved(tmp_path / "model", kind)
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]
    loaded = load_model(tmp_path / "model", game("busy-aces"))
    assert (loaded.name, loaded.moves, loaded.observation, loaded.information) == (
        ("model", "supermove", "cards", "player")
    )
    weights = network.state_dict()
    assert loaded.network.state_dict().keys() == weights.keys()
    for name, tensor in loaded.network.state_dict().items():
        assert (tensor == weights[name]).all() and tensor.dtype == th.float64
    before = NetworkPlayer(network, SPEC, "model")
    games = [play(player) for player in (before, loaded)]
    assert games[0] == games[1]


def test_files_have_the_mode_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        saved(tmp_path)
    finally:
        os.umask(before)
    files = [tmp_path / "model.json", tmp_path / "model.safetensors"]
    assert [path.stat().st_mode & 0o777 for path in files] == [0o664, 0o664]


def test_weights_of_a_diverged_network_are_not_saved(folder: Path, refuses: Refuses) -> None:
    before = (folder / "model.safetensors").read_bytes()
    head = th.nn.Linear(16, 1)
    th.nn.init.constant_(head.weight, th.nan)
    network = NETWORKS["mlp"](SPEC, **SIZES["mlp"])
    about: dict[str, Any] = {"kind": "mlp", "sizes": SIZES["mlp"], "steps": 1, "value": head}
    refuses(lambda: save_model(folder, network, SPEC, **about), "the network has diverged", "learning_rate")
    assert (folder / "model.safetensors").read_bytes() == before


def test_a_run_folder_is_loaded_as_a_policy(folder: Path) -> None:
    (folder.parent / "curve.csv").write_text("")
    assert load_folder(str(folder.parent), game("busy-aces")).name == folder.parent.name
    assert load_folder(str(folder), game("busy-aces")).name == "model"


def test_actions_are_drawn_by_their_probability() -> None:
    class Same(DenseNetwork):
        def forward(self, observations: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
            scores = th.tensor([5.0, 0.0, 1.0, -1.0])
            return scores.expand(len(observations), 4).clone(), th.zeros(len(observations), 1)

    player = NetworkPlayer(Same(), SPEC, "same")
    masks = np.tile(np.array([0, 1, 1, 1], dtype=np.int8), (20_000, 1))
    shares = np.bincount(player(np.zeros((20_000, 1)), masks), minlength=4) / 20_000
    expected = np.exp(np.array([-np.inf, 0, 1, -1]))
    assert shares == pytest.approx(expected / expected.sum(), abs=0.02)
    again = NetworkPlayer(Same(), SPEC, "same")
    first, second, third = (p(np.zeros((50, 1)), masks[:50]).tolist() for p in (again, again, player))
    assert first != second and first != third


@pytest.mark.parametrize("kind", NETWORKS)
def test_games_do_not_depend_on_num_envs(folder: Path, tmp_path: Path, kind: str) -> None:
    saved(tmp_path / kind, kind)
    runs = [
        evaluate(
            load_model(tmp_path / kind, game("busy-aces"), "net"),
            "busy-aces", deals, max_episode_steps=100, num_envs=num_envs,
        ).games
        for num_envs, deals in ((1, range(12)), (7, range(12)), (256, range(11, -1, -1)), (256, range(5, 8)))
    ]  # fmt: skip
    assert runs[0] == runs[1] == runs[2][::-1] and runs[0][5:8] == runs[3]


def test_explain_returns_the_probabilities_and_values(tmp_path: Path) -> None:
    network, value = saved(tmp_path / "plain"), th.nn.Linear(16, 1)
    save_model(tmp_path / "m", network, SPEC, kind="mlp", sizes=SIZES["mlp"], steps=7, value=value)
    player = load_model(tmp_path / "m", game("busy-aces"))
    other = load_model(tmp_path / "plain", game("busy-aces"))

    env = SolitaireVecEnv("busy-aces", 64, moves="supermove")
    env.seed(0)
    observations, masks = np.asarray(env.reset()), env.action_masks().astype(np.int8)
    probabilities, values = player.explain(observations, masks)
    assert probabilities.shape == masks.shape and probabilities.sum(1) == pytest.approx(np.ones(64), abs=1e-5)
    assert not probabilities[masks == 0].any() and probabilities[masks == 1].all()
    with th.inference_mode():
        scores, features = network(th.from_numpy(observations))
        assert values is not None and values == pytest.approx(value(features)[:, 0].numpy())
    best = np.where(masks, scores.numpy(), -np.inf).argmax(1)
    assert (probabilities.argmax(1) == best).all()
    # Equal observations are scored once.
    changed, turned = observations[::-1].copy(), masks[::-1].copy()
    assert player.explain(changed, turned)[0][::-1] == pytest.approx(probabilities, abs=1e-5)
    observations[:] = changed  # in place, as an environment with copy=False does
    assert player.explain(observations, turned)[0][::-1] == pytest.approx(probabilities, abs=1e-5)

    assert other.explain(changed, turned)[1] is None
    assert play(other) == play(load_model(tmp_path / "m", game("busy-aces"), "plain"))


# ------------------------------------------------------------------------------- what is refused


def test_a_model_of_another_layout_is_refused(folder: Path, refuses: Refuses) -> None:
    here = game("eights-down", moves="supermove")
    refuses(
        lambda: load_model(folder, game("eights-down")),
        "Solitaire/BusyAces-v0 with moves='supermove'",
        f"this game has observation size {here.observation_size} and {here.num_actions} actions",
    )


def edit(folder: Path, **values: Any) -> None:
    card = json.loads((folder / "model.json").read_text()) | values
    (folder / "model.json").write_text(
        json.dumps({key: value for key, value in card.items() if value != "gone"})
    )


def test_weights_of_another_value_head_are_refused(folder: Path, refuses: Refuses) -> None:
    weights = load_file(folder / "model.safetensors")
    wrong = {"value_head.weight": th.zeros(1, 9), "value_head.bias": th.zeros(1)}
    save_file(weights | wrong, folder / "model.safetensors")
    refuses(lambda: load_model(folder, game("busy-aces")), "model.safetensors", "size mismatch")
    save_file(weights | {"value_head.weight": th.zeros(1, 16)}, folder / "model.safetensors")
    refuses(lambda: load_model(folder, game("busy-aces")), "not weights of this network", "bias")


def truncate(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def change(folder: Path, how: Callable[[th.Tensor], th.Tensor]) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file({name: how(tensor) for name, tensor in tensors.items()}, folder / "model.safetensors")


WEIGHTS, CARD = "model.safetensors", "model.json"
ODD = {"observation": "cards"}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / CARD).unlink(), [CARD, "cannot be read"]),
        (lambda folder: (folder / WEIGHTS).unlink(), [WEIGHTS, "cannot be read (No such file"]),
        (lambda folder: truncate(folder / WEIGHTS, 3000), [WEIGHTS, "not a whole safetensors file"]),
        (lambda folder: truncate(folder / CARD, 100), [CARD, "not JSON"]),
        (lambda folder: edit(folder, sizes="gone"), [CARD, "missing: sizes"]),
        (lambda folder: edit(folder, network="cube"), [CARD, "format 1"]),
        (lambda folder: edit(folder, layout={}), [CARD, "damaged"]),
        (
            lambda folder: edit(folder, layout=ODD, layout_hash=layout_hash(ODD)),
            ["None actions", "315 actions"],
        ),
        (lambda folder: edit(folder, moves="fly"), ["'fly'", "'supermove'"]),
        (lambda folder: edit(folder, sizes={"length": 3}), [CARD, "{'length': 3}", "'mlp'"]),
        (lambda folder: edit(folder, sizes={"width": 1}), [CARD, "width is 1", "from 2 to"]),
        (lambda folder: edit(folder, sizes={"hidden": [16], "dig_out": 2**40}), [CARD, "dig_out is"]),
        # A network of these sizes would fill the memory before the mismatch is found.
        (lambda folder: edit(folder, sizes={"width": 10_000}), [CARD, "more numbers than the weights"]),
        (lambda folder: change(folder, lambda t: t * th.nan), [WEIGHTS, "finite 32-bit floats"]),
        (lambda folder: edit(folder, sizes={"hidden": [10]}), [WEIGHTS, "size mismatch"]),
    ],
)
def test_damaged_models_are_refused(
    folder: Path, damage: Callable[[Path], Any], words: list[str], refuses: Refuses
) -> None:
    damage(folder)
    refuses(lambda: load_model(folder, game("busy-aces")), str(folder), *words)


# --------------------------------------------------------------------------------------- SB3 zips


def sb3_zip(path: Path, **settings: Any) -> Path:
    env = SolitaireVecEnv("busy-aces", 1, **settings)
    MaskablePPO("MlpPolicy", env, n_steps=8, policy_kwargs={"net_arch": [8]}, device="cpu").save(path)
    return path


@pytest.mark.parametrize(
    "settings", [{}, {"moves": "supermove"}, {"observation": "features", "moves": "supermove"}], ids=str
)
def test_a_zip_needs_trust_model(tmp_path: Path, settings: dict[str, str], refuses: Refuses) -> None:
    path = sb3_zip(tmp_path / "mine.zip", **settings)
    refuses(lambda: make_policy(str(path), game("busy-aces")), str(path), "run code", "--trust-model")
    games = []
    for _ in range(2):
        player = make_policy(str(path), game("busy-aces"), trust_model=True)
        assert (player.name, player.moves, player.observation) == (
            ("mine", settings.get("moves", "one card"), settings.get("observation", "cards"))
        )
        games.append(play(player))
    assert games[0] == games[1]
    with pytest.raises(ValueError, match="eights-down has observations of"):
        make_policy(str(path), game("eights-down"), trust_model=True)


class CreatesFile:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.path),))


def test_a_malicious_zip_does_not_run(tmp_path: Path, refuses: Refuses) -> None:
    trace = tmp_path / "it-ran"
    evil = {":type:": "x", ":serialized:": base64.b64encode(cloudpickle.dumps(CreatesFile(trace))).decode()}
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps({"policy_class": evil}))
    refuses(lambda: make_policy(str(path), game("busy-aces")), str(path), "run code", "--trust-model")
    assert not trace.exists()
    # The zip does run code when it is opened with trust.
    refuses(
        lambda: make_policy(str(path), game("busy-aces"), trust_model=True),
        str(path),
        "not a MaskablePPO zip",
    )
    assert trace.exists()


def test_other_files_are_refused(tmp_path: Path, refuses: Refuses) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(b"")
    refuses(lambda: make_policy(str(path), game("busy-aces"), trust_model=True), str(path), "an SB3 zip")
    refuses(lambda: make_policy(str(tmp_path), game("busy-aces")), str(tmp_path / "model.json"))
