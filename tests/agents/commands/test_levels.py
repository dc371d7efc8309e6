"""``agents levels`` decides the stored levels again, and stores those of a game beside the others."""

from pathlib import Path

import pytest

from agents.commands import levels
from agents.commands.levels import GAMES, PARTS, levels_of, main, store
from solitaire_env import get_variant, splits
from solitaire_env.policies.shipped import shipped_games
from solitaire_env.splits import LEVELS, LEVELS_DATA, SPLITS, Split, games_of_split, split_deals
from solitaire_env.util.files import read_json, write_json
from solitaire_env.util.progress import ProgressLine
from tests.conftest import Refuses

QUIET = ProgressLine(quiet=True)


def stored(game: str, part: str) -> dict[str, list[int]]:
    """The stored deals of a game by level."""
    named = {level: f"{part}-{level}" for level in LEVELS}
    return {
        level: list(split_deals(split, game))
        for level, split in named.items()
        if game in games_of_split(split)
    }


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "game",
    [pytest.param(game, marks=() if game in ("freecell", "yukon") else pytest.mark.slow) for game in GAMES],
)
def test_the_first_stored_levels_are_decided_again(
    game: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored(game, part)
    first = SPLITS[f"{part}-easy"].deals[:20]
    monkeypatch.setitem(SPLITS, f"{part}-easy", Split(first, "the first deals"))
    found = levels_of(get_variant(game), part, 20, QUIET)
    for level in ("easy", "medium"):
        assert found.get(level, set()) == {deal for deal in before.get(level, []) if deal in first}, level


def test_the_levels_of_a_game_are_stored_beside_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "levels.json"
    before = read_json(LEVELS_DATA)
    write_json(path, before)
    monkeypatch.setattr(levels, "LEVELS_DATA", path)
    monkeypatch.setattr(splits, "LEVELS_DATA", path)
    for part in PARTS:
        deals = range(SPLITS[f"{part}-easy"].deals[0], SPLITS[f"{part}-easy"].deals[0] + 50)
        for level in LEVELS:
            monkeypatch.setitem(SPLITS, f"{part}-{level}", Split(deals, "the first deals"))
    assert main(["bakers-game", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "Baker's Game, train: " in printed and "Baker's Game, dev: " in printed
    after = read_json(path)
    splits.packed_splits.cache_clear()
    try:
        for part in PARTS:
            assert "bakers-game" not in games_of_split(f"{part}-medium")
            assert stored("bakers-game", part)["easy"], "greedy wins one of the first 50"
    finally:
        monkeypatch.undo()
        splits.packed_splits.cache_clear()
    for split, games in before.items():
        assert games.items() <= after[split].items() and [*after[split]] == sorted(after[split])


def test_a_level_that_no_deal_has_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "levels.json"
    write_json(path, {"dev-easy": {"yukon": "/w=="}})
    monkeypatch.setattr(levels, "LEVELS_DATA", path)
    store("yukon", "dev", {"easy": set()})
    assert read_json(path) == {"dev-easy": {}, "dev-medium": {}, "dev-hard": {}}


def test_medium_deals_are_those_of_games_with_a_shipped_network() -> None:
    for part in PARTS:
        assert {*games_of_split(f"{part}-medium")} <= {*shipped_games()}


def test_levels_fit_in_100_kilobytes() -> None:
    assert LEVELS_DATA.stat().st_size <= 100_000


def test_unknown_games_are_refused_before_any_is_played(refuses: Refuses) -> None:
    arguments = levels.Arguments(("yukon", "yukno"), quiet=True)
    refuses(lambda: levels.run(arguments), "yukno", "yukon")


def test_the_network_plays_all_deals_that_may_be_hard(refuses: Refuses) -> None:
    refuses(lambda: levels.run(levels.Arguments(network_deals=999)), "network_deals", "999", "1000")
