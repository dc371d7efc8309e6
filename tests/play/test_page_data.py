"""What the page knows of the games and the compiled code is generated, and JavaScript restates none of it."""

from __future__ import annotations

import inspect
import json
import re
from itertools import pairwise
from typing import Any

import pytest

from agents.results.by_game import stored_rows
from solitaire_env.core.cards import RANK_NAMES, SUIT_NAMES
from solitaire_env.core.layout import Rules, make_rules
from solitaire_env.core.library import web_library
from solitaire_env.core.native import symbol_of
from solitaire_env.core.rules.state import State
from solitaire_env.core.variant import HOUSE_RULES
from solitaire_env.play.page_data import KERNELS, game_data, games_data, packed
from solitaire_env.play.piles import WEB_FOLDER
from solitaire_env.policies.shipped import FAMILY
from solitaire_env.variants import POPULAR, VARIANTS, get_variant, known_variants

ENGINE = {path.name: path.read_text() for path in sorted((WEB_FOLDER / "engine").glob("*.js"))}
NUMBERS = {"30", "32", "63", "64", "512"}
"""Of more than one digit: digits of a deal, bits of numbers, the alignment and the pages of memory."""


def code_of(source: str) -> str:
    """JavaScript without comments."""
    return re.sub(r"^\s*(//|/?\*).*$|\s// .*$|/\*\*.*?\*/", "", source, flags=re.MULTILINE)


def test_the_kernels_of_the_page_are_public_and_in_its_library() -> None:
    exported = web_library("solitaire_env").read_bytes()
    called = set(re.findall(r'bind\(\s*"(\w+)"', "".join(ENGINE.values())))
    assert called == {kernel.function.__name__ for kernel in KERNELS}
    for kernel in KERNELS:
        assert not kernel.function.__name__.startswith("_") and kernel.__doc__
        assert symbol_of(kernel.function).encode() in exported


@pytest.mark.parametrize("name", ENGINE)
def test_the_engine_names_no_constant_or_layout_by_itself(name: str) -> None:
    code = code_of(ENGINE[name])
    assert "solitaire_env__" not in code and RANK_NAMES not in code and SUIT_NAMES not in code
    assert {*re.findall(r"(?<![\w.])\d[\d_]+(?=n?\b)", code)} <= NUMBERS
    for fields in (Rules._fields, State._fields):
        for one, other in pairwise(fields):
            assert f'"{one}", "{other}"' not in code, "fields are named, not counted"


def test_the_arguments_of_kernels_are_those_of_their_functions() -> None:
    described = games_data()["kernels"]
    for kernel in KERNELS:
        names = [*inspect.signature(kernel.function).parameters]
        own = described[kernel.function.__name__]
        assert [name for name, _ in own["arguments"]] == (names[:-2] if kernel.part else names)
    rules = dict(described["derive_rows"]["arguments"])["rules"]
    assert rules == [[field, "int"] for field in Rules._fields]
    state = dict(map(tuple, dict(described["derive_rows"]["arguments"])["state"]))
    assert state["rows"] == {"type": "int8", "axes": ("batch", "rules.row_size")}
    assert tuple(state) == State._fields


def test_the_data_of_all_games_is_small_and_always_the_same() -> None:
    data = games_data()
    assert packed(data) == packed(games_data()) and len(packed(data)) < 48_000
    others = [variant.name for variant in known_variants() if variant.name not in POPULAR]
    assert [game["name"] for game in data["games"]] == [*POPULAR, *others]
    assert data["house_rules"] == HOUSE_RULES and data["server"] is None
    assert json.loads(json.dumps(data))["details"].keys() == {game["name"] for game in data["games"]}


def test_house_rules_change_the_data_of_a_game() -> None:
    plain, changed = (
        game_data(get_variant("klondike").with_rules(**rules)) for rules in ({}, {"build": "any suit"})
    )
    assert plain["views"][0]["rules"] == make_rules(get_variant("klondike"))._asdict()
    assert plain["views"][0]["rules"] != changed["views"][0]["rules"]
    assert plain["describe"] != changed["describe"]


def test_the_best_policy_of_a_game_is_its_network() -> None:
    """In the stored games that of all games wins no fewer than greedy beyond noise, where it is the best."""
    stored = stored_rows()
    for variant in VARIANTS:
        policies: Any = game_data(variant)["policies"]
        best = policies[-1]
        assert (game_data(variant)["best"], best["id"]) == ("shipped", "shipped")
        if FAMILY in best["file"]:
            network, greedy = stored["network"][variant.name], stored["greedy"][variant.name]
            assert network.won + 12 >= greedy.won, (variant.name, network.won, greedy.won, greedy.played)


def imports_of(name: str) -> set[str]:
    """The modules that a module of the page imports, and theirs."""
    found: set[str] = set()
    todo = [name]
    while todo:
        path = WEB_FOLDER / todo.pop()
        for other in re.findall(r'^import (?:.*? from )?"(\.[^"]+)"', path.read_text(), re.MULTILINE):
            own = (path.parent / other).resolve().relative_to(WEB_FOLDER.resolve()).as_posix()
            if own not in found:
                found.add(own)
                todo.append(own)
    return found


def test_the_page_loads_all_its_files_together() -> None:
    """None waits until another that needs it has arrived."""
    page = (WEB_FOLDER / "index.html").read_text()
    assert set(re.findall(r'rel="modulepreload" href="([^"]+)"', page)) == imports_of("play.js")
    preloaded = re.findall(r'rel="preload" href="([^"]+)" as="fetch" crossorigin', page)
    assert preloaded == ["engine.wasm", "games.bin"]
