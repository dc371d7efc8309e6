"""``agents search-results``: games are stored, and the table and picture show them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.commands import search_results as command_module
from agents.commands.search_results import main
from agents.reports import search_results, solver_results
from agents.reports.compare import play_policy
from agents.reports.stored import STORE, read_store
from solitaire_env import VARIANTS
from solitaire_env.evaluation import evaluate
from tests.conftest import Refuses

COST = {
    "prior": "shipped", "simulations": 64, "depth": 20, "candidates": 4, "min_prob": 0.03,
    "playouts": False, "prior_weight": 0.02, "nodes": 0, "verify": 0, "seconds": 3.5, "machine": "a desk",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with lost games of the first deals of Eights Down."""
    monkeypatch.setattr(search_results, "SEARCH", tmp_path)
    game = tmp_path / "eights-down"
    game.mkdir()
    evaluate(
        lambda _, masks: masks.argmax(1), "eights-down", range(10), results=game / "mine.jsonl", name="m"
    )
    (game / "mine.json").write_text(json.dumps(COST))
    return game


def test_the_table_compares_the_same_deals(folder: Path) -> None:
    entries = read_store(STORE)
    (row,) = search_results.search_table(entries).splitlines()[2:]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:3] == ["Eights Down", "64 x 20", "10"]
    assert cells[3].startswith("0.0 % [0.0, ")
    shipped = next(entry for entry in entries["eights-down"] if entry.about.policy == "shipped")
    wins = sum(game.won for game in shipped.standard[:10])
    assert cells[5].startswith(f"{10 * wins:.1f} % ")
    assert cells[6].startswith(f"0 : {wins}, p = ")
    assert cells[7] == "3.5"


def test_the_table_names_playouts(folder: Path) -> None:
    (folder / "mine.json").write_text(json.dumps(COST | {"depth": 0, "playouts": True}))
    assert "| 64 x 0, playouts |" in search_results.search_table({})


def test_without_games_there_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_results, "SEARCH", tmp_path)
    assert search_results.search_table({}) == ""


def test_unpaired_games_have_no_comparison(folder: Path) -> None:
    (row,) = search_results.search_table({}).splitlines()[2:]
    assert row.count("| - ") == 2


def test_games_without_a_cost_file_are_refused(folder: Path, refuses: Refuses) -> None:
    about = folder / "mine.json"
    about.write_text(json.dumps(COST | {"seconds": -1}))
    refuses(lambda: search_results.search_table({}), "mine.json", "seconds", "-1")
    about.unlink()
    refuses(lambda: search_results.search_table({}), "mine.json", "cannot be read")


def test_the_solver_table_shows_results_over_time(empty_stores: Path) -> None:
    assert solver_results.solver_table() == ""
    solver_results.SOLVER_RESULTS.mkdir()
    told = {
        "env": "Solitaire/FortyThieves-v0",
        "rules": "",
        "nodes": 1,
        "seconds": 6.0,
        "cards_home": 9,
        "steps": None,
    }
    won = told | {"result": "winnable", "steps": 200, "seconds": 1.5}
    too_long = told | {"result": "winnable", "steps": 9999, "seconds": 0.1}
    left = told | {"result": "unknown", "gains": [[0.05, 3], [1.5, 5], [5.0, 9]]}
    for game, stored in (("forty-thieves", [won, left, too_long, too_long]), ("eighty-thieves", [left])):
        lines = [json.dumps(one | {"deal": deal}) + "\n" for deal, one in enumerate(stored)]
        (solver_results.SOLVER_RESULTS / f"{game}.jsonl").write_text("".join(lines))
    assert solver_results.solver_table().splitlines()[2:] == [
        "| Forty Thieves | 4 | 0.0 % won | 0.0 % won | 25.0 % won | 25.0 % won | 25.0 % won |",
        "| Eighty Thieves | 1 | 3.0 home | 3.0 home | 5.0 home | 5.0 home | 9.0 home |",
    ]


# ------------------------------------------------------------------------------------ play and draw

PLAYOUTS = ("play", "eights-down", "--quiet", "--search.simulations", "4", "--search.depth", "1")
PLAY = (*PLAYOUTS, "--search.no-playouts")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty store."""
    monkeypatch.setattr(search_results, "SEARCH", tmp_path / "search")


@pytest.mark.usefixtures("store")
def test_play_stores_games_and_their_cost(capsys: pytest.CaptureFixture[str]) -> None:
    """The same command resumes; a budget with the solver has its own files."""
    folder = search_results.SEARCH / "eights-down"
    assert main([*PLAY, "--deals", "0:3", "--search.nodes", "0"]) == 0
    assert main([*PLAY, "--deals", "0:5", "--search.nodes", "0"]) == 0
    assert main([*PLAY, "--deals", "0:2"]) == 0
    assert main([*PLAYOUTS, "--deals", "0:1", "--search.nodes", "0"]) == 0
    assert "s of one core a game" in capsys.readouterr().out
    assert [path.name for path in sorted(folder.iterdir())] == [
        "4x1-playouts.json", "4x1-playouts.jsonl", "4x1-solver.json", "4x1-solver.jsonl", "4x1.json",
        "4x1.jsonl",
    ]  # fmt: skip
    stored = {
        cost.nodes > 0: (cost, games)
        for cost, games in search_results.read_search("eights-down")
        if not cost.playouts
    }
    assert [game.deal for game in stored[False][1]] == [0, 1, 2, 3, 4]
    assert all(game.won for game in stored[True][1])
    assert 0 < stored[False][0].seconds < 60 and stored[False][0].simulations == 4
    for other in (["--prior", "solitaire_env/policies/weights/eights-down"], ["--search.candidates", "2"]):
        assert main([*PLAY, "--deals", "0:6", "--search.nodes", "0", *other]) == 2
        assert "other settings" in capsys.readouterr().err
    before = (folder / "4x1.json").read_bytes()
    assert main([*PLAY, "--deals", "0:5", "--search.nodes", "0"]) == 0
    assert (folder / "4x1.json").read_bytes() == before


@pytest.mark.usefixtures("store")
def test_an_interrupted_run_keeps_its_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After Ctrl-C the table shows the games without a time; the same command resumes."""
    command = [*PLAY, "--search.nodes", "0", "--deals"]

    def stop(policy: str, config: Any, *others: Any, **named: Any) -> None:
        play_policy(policy, replace(config, eval_deals="0:2"), *others, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(command_module, "play_policy", stop)
        assert main([*command, "0:5"]) == 130
    assert "Interrupted" in capsys.readouterr().err
    [(cost, games)] = search_results.read_search("eights-down")
    assert cost.seconds is None and [game.deal for game in games] == [0, 1]
    [row] = search_results.search_table({}).splitlines()[2:]
    assert row.endswith("| - | - | - |")
    assert search_results.draw({}).axes
    assert main([*command, "0:5", "--search.candidates", "2"]) == 2
    assert main([*command, "0:5"]) == 0
    [(cost, games)] = search_results.read_search("eights-down")
    assert cost.seconds is not None and len(games) == 5


@pytest.mark.usefixtures("store")
def test_after_an_unknown_prior_the_command_can_be_repeated() -> None:
    assert main([*PLAY, "--deals", "0:1", "--prior", "nowhere"]) == 2
    assert main([*PLAY, "--deals", "0:1"]) == 0


def test_the_picture_has_a_panel_per_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The picture of the stored games has a panel per game and a point per budget."""
    out = tmp_path / "strength.png"
    assert main(["draw", "--out", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG") and str(out) in capsys.readouterr().out
    figure = search_results.draw(read_store(STORE))
    for variant, axes in zip(VARIANTS[:5], figure.axes[:5], strict=True):
        assert variant.title in (axes.get_title(), axes.get_title(loc="left"))
        drawn = {round(float(x), 9) for line in axes.lines for x in line.get_xdata()}
        stored = search_results.read_search(variant.name)
        assert {round(cost.seconds, 9) for cost, _ in stored if cost.seconds is not None} <= drawn


def test_the_mean_line_grows_with_time() -> None:
    """Two unknown deals: 4 and 6 cards home after one second, 9 and 6 after three."""
    figure = search_results.new_figure(2)
    axes = figure.subplots()
    found = [
        solver_results.SolverResult("", "", deal, "unknown", gains[-1][1], None, 1, 5.0, gains)
        for deal, gains in enumerate([((0.0, 0), (1.0, 4), (3.0, 9)), ((0.5, 6),)])
    ]
    search_results.draw_lines(axes, found)
    curve = axes.lines[0]
    assert list(curve.get_xdata()) == [0.001, 0.5, 1.0, 3.0]
    assert list(curve.get_ydata()) == [0.0, 3.0, 5.0, 7.5]
    search_results.draw_lines(axes, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["play", "busy-ace"], ["'busy-ace'", "busy-aces"]),
        (["play", "busy-aces", "--deals", "5:1"], ["'5:1'"]),
        (["play", "busy-aces", "--search.milliseconds", "5"], ["--search.simulations"]),
        (["play", "busy-aces", "--prior", "nowhere"], ["nowhere"]),
        (["draw", "--out", "no/such/folder/x.png"], ["no/such/folder"]),
    ],
)
@pytest.mark.usefixtures("store")
def test_wrong_options_are_refused(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert all(word in error for word in words), error


@pytest.mark.parametrize("arguments", [[], ["--deals", "0:2"], ["busy-aces"]])
@pytest.mark.usefixtures("store")
def test_without_a_subcommand_nothing_is_played(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "usage: python -m agents search-results {play,draw}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
