"""Model folders: damaged ones, and those for another game, are refused before anything large is created."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from solitaire_env.core.spec import GameSpec, layout_hash
from solitaire_env.core.variant import rules_to_dict
from solitaire_env.policies.model_files import CARD, WEIGHTS, family_layout, read_model, read_tensors
from solitaire_env.policies.network import load_network
from solitaire_env.registration import env_id
from solitaire_env.variants import get_variant
from tests.conftest import Refuses
from tests.games import OPTIONS, PUBLISHED
from tests.policies.model_folders import edit_card, edit_weights, spec_of, write_model

ODD = {"observation": "cards"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model", spec_of("busy-aces", "supermove"))


def test_rules_and_observations_that_the_features_cannot_read_are_refused(
    folder: Path, refuses: Refuses
) -> None:
    any_suit = GameSpec(get_variant("busy-aces").with_rules(build="any suit"))
    edit_card(folder, rules=rules_to_dict(any_suit.view(moves="supermove").variant))
    refuses(lambda: load_network(folder, any_suit), str(folder / CARD), "rollout_lookahead", "'any suit'")
    edit_card(folder, rules=rules_to_dict(spec_of("busy-aces", "supermove").variant))
    scaled = spec_of("busy-aces", "supermove").view(observation="features")
    edit_card(folder, layout=scaled.layout, layout_hash=layout_hash(scaled.layout))
    refuses(lambda: load_network(folder, spec_of("busy-aces")), str(folder / CARD), "'cards'", "'features'")


def test_a_model_for_many_games_is_read_by_the_older_names_of_its_features(
    tmp_path: Path, refuses: Refuses
) -> None:
    game, sizes = (
        spec_of("busy-aces"),
        {"hidden": [8, 4], "width": 8, "dig_out": 2, "relaxed_reachability": 2},
    )
    layout = family_layout(sizes, "player")
    folder = write_model(
        tmp_path / "model", game, sizes, games=["busy-aces"], layout=layout, layout_hash=layout_hash(layout)
    )  # fmt: skip

    def store(columns: Any) -> None:
        older = layout | {"columns": columns}
        edit_card(folder, layout=older, layout_hash=layout_hash(older))

    present = load_network(folder, game)
    older = [
        name.replace("relaxed reachability: cards home /", "reach: cards home with the unseen at hand /")
        .replace("relaxed reachability: cards home, with 1 more of", "reach: and with 1 card of")
        .replace("dig-outs", "digs")
        for name in layout["columns"]
    ]
    assert older != layout["columns"]
    store(older)
    assert load_network(folder, game).fingerprint == present.fingerprint
    for columns in (older[:-1], older[::-1], ["other", *older[1:]], None, [None]):
        store(columns)
        refuses(lambda: load_network(folder, game), str(folder / CARD), "other features")


def truncate(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def change(folder: Path, how: Callable[[Any], Any]) -> None:
    tensors = load_file(folder / WEIGHTS)
    save_file({name: how(tensor) for name, tensor in tensors.items()}, folder / WEIGHTS)


def change_header(folder: Path, old: bytes, new: bytes) -> None:
    assert len(old) == len(new)
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data.replace(old, new))


def test_a_model_is_read_as_it_was_written(folder: Path) -> None:
    model = read_model(folder, spec_of("busy-aces"), ("moves",))
    assert (model.network, model.temperature) == ("moves", None)
    assert not model.safe_autoplay and not model.avoid_repeats and not model.finish_games
    assert model.spec.variant.moves == "supermove" and model.weights["habit"].dtype == np.float32
    edit_card(folder, safe_autoplay="gone", avoid_repeats=True)
    model = read_model(folder, spec_of("busy-aces"), ("moves",))
    assert not model.safe_autoplay and model.avoid_repeats


def test_a_file_that_may_not_be_read_is_not_missing(folder: Path, refuses: Refuses) -> None:
    path = folder / WEIGHTS
    path.chmod(0)
    user = os.geteuid()
    if user == 0:  # root may read everything
        os.seteuid(65534)
    try:
        refuses(lambda: read_tensors(path), f"{path}: cannot be read (Permission denied)")
    finally:
        os.seteuid(user)
    refuses(lambda: read_tensors(folder / "none"), "none: cannot be read (No such file")
    refuses(lambda: read_tensors(folder), f"{folder}: not a whole safetensors file")


def test_exact_requires_the_same_game(folder: Path) -> None:
    read_model(folder, spec_of("busy-aces", "supermove"), ("moves",), exact=True)
    with pytest.raises(ValueError, match="moves 'supermove' and 'one card'"):
        read_model(folder, spec_of("busy-aces"), ("moves",), exact=True)


def test_a_model_for_another_game_is_refused(folder: Path, refuses: Refuses) -> None:
    refuses(
        lambda: load_network(folder, spec_of("eights-down")),
        "BusyAces-v0, this game is Eights Down (decks 2 and 1, tableau [1, 1,",
    )


def alike() -> list[list[str]]:
    """The games whose observations and actions have the same layout, group by group."""
    groups: dict[str, list[str]] = {}
    for name in PUBLISHED:
        groups.setdefault(layout_hash(GameSpec(get_variant(name)).layout), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


@pytest.mark.parametrize("names", alike(), ids=lambda names: names[0])
def test_a_model_for_a_game_with_the_same_layout_is_refused(
    tmp_path: Path, names: list[str], refuses: Refuses
) -> None:
    """Alike are Klondike and Klondike (Draw 3), for example."""
    sizes = {"hidden": [8], "width": 8, "dig_out": 3}
    for name in names:
        spec = spec_of(name)
        folder = write_model(tmp_path / name, spec, sizes, env=env_id(spec.variant))
        assert load_network(folder, spec).moves == spec.variant.moves
        for other in names:
            if other != name:
                words = env_id(spec.variant), f"this game is {get_variant(other).title} ("
                refuses(lambda folder=folder, other=other: load_network(folder, spec_of(other)), *words)


def test_the_rules_count_in_the_hash_of_a_game() -> None:
    games = [*PUBLISHED.values(), *OPTIONS.values()]
    assert len({GameSpec(variant).hash for variant in games}) == len(games)
    renamed = replace(get_variant("klondike"), name="patience", title="Patience", aliases=())
    assert GameSpec(renamed).hash == spec_of("klondike").hash


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / CARD).unlink(), [CARD, "cannot be read"]),
        (lambda folder: (folder / WEIGHTS).unlink(), [WEIGHTS, "cannot be read (No such file"]),
        (lambda folder: truncate(folder / WEIGHTS, 3000), [WEIGHTS, "not a whole safetensors file"]),
        (
            lambda folder: (folder / WEIGHTS).write_bytes(b"\x80\x04." * 99),
            [WEIGHTS, "not a whole safetensors file"],
        ),
        (lambda folder: truncate(folder / CARD, 100), [CARD, "not JSON"]),
        (lambda folder: (folder / CARD).write_text("[1]"), [CARD, "list", "an object"]),
        (lambda folder: (folder / CARD).write_text("{}"), [CARD, "missing: format, env"]),
        (lambda folder: edit_card(folder, format=2), [CARD, "format 1"]),
        (lambda folder: edit_card(folder, network="cube"), [CARD, "'cube'", "'moves'"]),
        (lambda folder: edit_card(folder, layout={}), [CARD, "damaged"]),
        (
            lambda folder: edit_card(folder, layout=ODD, layout_hash=layout_hash(ODD)),
            ["the same rules, but another layout"],
        ),
        (lambda folder: edit_card(folder, moves="fly"), ["'fly'", "'supermove'"]),
        (lambda folder: edit_card(folder, temperature=0), ["temperature is 0", "above 0"]),
        (lambda folder: edit_card(folder, safe_autoplay=1), ["safe_autoplay is 1", "true and false"]),
        (lambda folder: edit_card(folder, avoid_repeats=None), ["avoid_repeats is None", "true and false"]),
        (lambda folder: edit_card(folder, finish_games="no"), ["finish_games is 'no'", "true and false"]),
        (lambda folder: edit_card(folder, sizes={"length": 3}), [CARD, "'length'", "'moves'", "dig_out"]),
        (lambda folder: edit_card(folder, sizes={"width": 1}), [CARD, "width is 1", "from 2 to"]),
        (lambda folder: edit_card(folder, sizes={"width": [8]}), [CARD, "width is [8]", "whole numbers"]),
        (lambda folder: edit_card(folder, sizes={"hidden": 8}), ["hidden is 8", "a list"]),
        (lambda folder: edit_card(folder, sizes={"hidden": []}), [CARD, "hidden is []", "a list of sizes"]),
        (lambda folder: edit_card(folder, sizes={"hidden": [16, 0]}), ["hidden is [16, 0]", "from 1 to"]),
        (lambda folder: edit_card(folder, sizes={"dig_out": 2**40}), [CARD, "dig_out is 1099511627776"]),
        (lambda folder: edit_card(folder, sizes={"width": 10_000}), [CARD, "more numbers than the weights"]),
        (lambda folder: edit_card(folder, sizes={}), [WEIGHTS, "not weights of this network"]),
        (lambda folder: change(folder, lambda t: t * np.float32(np.nan)), [WEIGHTS, "finite 32-bit floats"]),
        (lambda folder: change_header(folder, b'"F32"', b'"I32"'), [WEIGHTS, "finite 32-bit floats"]),
        (lambda folder: edit_weights(folder, head__weight=None), ["head.weight", "allowed: (1, 4)"]),
        (lambda folder: edit_weights(folder, value_head__bias=None), ["value_head.bias has shape None"]),
    ],
)  # fmt: skip
def test_damaged_folders_are_refused(
    folder: Path, damage: Callable[[Path], Any], words: list[str], refuses: Refuses
) -> None:
    damage(folder)
    refuses(lambda: load_network(folder, spec_of("busy-aces")), str(folder), *words)


@pytest.mark.parametrize(("kind", "size"), [("BF16", 16), ("F8_E4M3", 8), ("F8_E8M0", 8), ("F4", 4)])
def test_number_types_that_numpy_lacks_are_refused(
    folder: Path, kind: str, size: int, refuses: Refuses
) -> None:
    header = json.dumps({"a": {"dtype": kind, "shape": [8], "data_offsets": [0, size]}}).encode()
    (folder / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header + bytes(size))
    refuses(lambda: load_network(folder, spec_of("busy-aces")), WEIGHTS, "not a whole safetensors file")
