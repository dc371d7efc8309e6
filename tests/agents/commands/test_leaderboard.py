"""``agents leaderboard``: results are stored and replayed, pages are written, wrong input is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.commands.leaderboard import main
from agents.evaluate import main as evaluate_main
from agents.reports import leaderboard
from agents.reports import stored as results
from agents.reports.model_card import model_card
from agents.reports.stored import Entry, read_store
from agents.reports.tables import against, signed_rank
from solitaire_env.evaluation import draw, mcnemar, read_games, summarize
from solitaire_env.policies import shipped
from solitaire_env.policies.shipped import SHIPPED
from tests.conftest import Refuses
from tests.games import THE_FIVE

PAGE = leaderboard.PAGE
MINE = ("--policy", "tests.agents.commands.test_leaderboard:Mine", "--name", "mine", "--author", "Me")
MADE = ("--made", "the first legal move")


class Mine:
    """The first legal action."""

    deterministic = True

    def __init__(self, spec: Any) -> None:
        pass

    def __call__(self, observations: Any, masks: Any) -> Any:
        return masks.argmax(1)


class Dice:
    """A stochastic policy that does not declare it: its games depend on the order of the calls."""

    def __init__(self, spec: Any) -> None:
        self.random = np.random.default_rng(0)

    def __call__(self, observations: Any, masks: Any) -> Any:
        return draw(masks, self.random.random(len(masks)))


@pytest.fixture
def board(empty_stores: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty leaderboard of few deals; returns its store."""
    monkeypatch.setattr(results, "STANDARD", range(12))
    monkeypatch.setattr(results, "HELD_OUT", range(100, 104))
    return results.STORE


def add(*args: str, env: str = "eights-down") -> int:
    return main(["add", "--env", env, "--quiet", "--deals", "0:12", *args])


def as_told(page: str) -> str:
    """A page without the layout of its tables."""
    return page.replace("steps<br>", "steps, ").replace("<br>", " ").replace("\N{NO-BREAK SPACE}", " ")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# ------------------------------------------------------------------------- what is in the repository


def test_the_page_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_every_game_has_the_baselines() -> None:
    store = read_store(results.STORE)
    assert set(store) == {*THE_FIVE, "freecell", "klondike-draw-3"}
    for game, entries in store.items():
        assert {"random", "greedy", "linear"} <= {entry.about.policy for entry in entries}, game
        for better, worse in pairwise(entries):
            assert (better.summary.win_rate, better.summary.cards_home) >= (
                (worse.summary.win_rate, worse.summary.cards_home)
            )


def test_replay_reproduces_stored_games(capsys: pytest.CaptureFixture[str]) -> None:
    for game, policy in (("busy-aces", "linear"), ("forty-bandits", "random"), ("eights-down", "greedy")):
        replay = ["replay", "--policy", policy, "--env", game, "--quiet"]
        assert main([*replay, "--deals", "990:1000", "--num-envs", "3"]) == 0
    assert capsys.readouterr().out.count("10 of 10 games equal the stored ones") == 3
    supermoves = ["--policy", "greedy", "--name", "greedy-supermoves", "--env", "busy-aces"]
    assert main(["replay", *supermoves, "--deals", "5:9", "--quiet"]) == 0


@pytest.mark.slow
def test_shipped_policies_are_on_the_leaderboard(capsys: pytest.CaptureFixture[str]) -> None:
    """Each has stored games and reproduces them."""
    store = read_store(results.STORE)
    for game in shipped.shipped_games():
        assert "shipped" in {entry.about.policy for entry in store[game]}
        assert all(path.stat().st_size < 2_000_000 for path in (shipped.SHIPPED / game).iterdir())
        replay = ["replay", "--policy", "shipped", "--env", game, "--deals", "500:503", "--num-envs", "2"]
        assert main([*replay, "--quiet"]) == 0, capsys.readouterr().err


def test_the_page_has_a_row_for_each_policy() -> None:
    text = as_told(PAGE.read_text(encoding="utf-8"))
    for game, entries in read_store(results.STORE).items():
        for entry in entries:
            summary = summarize(read_games(results.STORE / game / f"{entry.about.policy}.jsonl")[:1000])
            (row,) = (
                line
                for line in text.splitlines()
                if line.startswith(f"| `{entry.about.policy}` | {entry.moves} |")
                and f"| {100 * summary.win_rate:.1f} % [" in line
                and f"| {summary.cards_home:.1f} [" in line
                and f"| {summary.steps:.0f} |" in line
            )
            assert row.endswith("|")


# ----------------------------------------------------------------------------------------- add


def test_add_stores_games_and_write_updates_the_page(board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add("--policy", "greedy") == 0
    assert add("--policy", "random", "--deals", "0:12,100:104") == 0
    assert add(*MINE, *MADE, "--steps", "1500000", "--minutes", "2.5", "--machine", "a desk") == 0
    out = capsys.readouterr().out
    assert "greedy, 0-11" in out and "random, 100-103" in out and "next: python -m agents leaderboard" in out

    folder = board / "eights-down"
    assert sorted(path.name for path in folder.iterdir()) == [
        "greedy.json", "greedy.jsonl", "mine.json", "mine.jsonl", "random.json", "random.jsonl",
    ]  # fmt: skip
    assert [row["deal"] for row in lines_of(folder / "random.jsonl")] == [*range(12), *range(100, 104)]
    about = json.loads((folder / "mine.json").read_text())
    assert about["training"] == {"steps": 1_500_000, "minutes": 2.5, "machine": "a desk"}
    assert about["speed"]["ms_per_move"] > 0 and about["author"] == "Me" and about["weights"] is None

    assert add("--policy", "linear", env="freecell") == 0
    about = json.loads((board / "freecell" / "linear.json").read_text())
    assert about["training"] is None, "it has the weights of a similar game"

    assert main(["--check"]) == 1
    assert "python -m agents leaderboard" in capsys.readouterr().err and not leaderboard.PAGE.exists()
    assert main(["write"]) == 0 and main(["--check"]) == main(["write", "--check"]) == 0
    capsys.readouterr()
    text = as_told(leaderboard.PAGE.read_text())
    rows = [line for line in text.splitlines() if line.startswith(("| `greedy` | sup", "| `random` | sup"))]
    assert [row.split("`")[1] for row in rows] == ["greedy", "random"]
    assert "1.5 M steps, 2.5 min" in text and "`mine` on a desk" in text and "the first legal move" in text
    readme = leaderboard.README.read_text()
    assert readme.startswith("before\n") and readme.endswith("after\n") and "old" not in readme
    (row,) = (line for line in readme.splitlines() if line.startswith("| Eights Down |"))
    games = read_games(folder / "greedy.jsonl")
    s = summarize(games)
    assert row.split(" | ")[2] == f"{100 * s.win_rate:.1f} %, {s.cards_home:.1f}"
    assert row.count(" - ") == 4
    # All deals are stored already: nothing is played, and the speed stays.
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert add("--policy", "greedy") == 0
    assert before == {path: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("arguments", [[], ["--deals", "0:12"], ["writ"]])
def test_without_a_subcommand_nothing_is_written(
    arguments: list[str], board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add("--policy", "greedy") == 0
    before = leaderboard.README.read_text()
    capsys.readouterr()
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert not out and "usage: python -m agents leaderboard {write,add,replay}" in err
    assert leaderboard.README.read_text() == before and not leaderboard.PAGE.exists()
    assert main(["--help"]) == 0 and "usage: " in capsys.readouterr().out


def test_a_readme_without_marks_is_refused(board: Path, refuses: Refuses) -> None:
    leaderboard.README.write_text(f"before\n{leaderboard.MARK}after\n")
    refuses(lambda: leaderboard.pages(), "README.md", "has 1 lines", "allowed: 2")


def test_rows_equal_those_of_the_evaluation(board: Path, tmp_path: Path) -> None:
    assert add("--policy", "random") == 0
    command = ["--policy", "random", "--env", "eights-down", "--deals", "3:9", "--num-envs", "2", "--quiet"]
    assert evaluate_main([*command, "--games", str(tmp_path / "games.jsonl")]) == 0
    assert lines_of(tmp_path / "games.jsonl") == lines_of(board / "eights-down" / "random.jsonl")[3:9]


def test_moves_sets_the_action_set_of_an_open_policy(board: Path) -> None:
    assert add("--policy", "greedy", "--moves", "supermove", "--name", "super", env="busy-aces") == 0
    (game,) = {(row["moves"], row["rules"]) for row in lines_of(board / "busy-aces" / "super.jsonl")}
    assert game == ("supermove", "same suit, any, one card, 3328 steps")
    replay = ["replay", "--policy", "greedy", "--name", "super", "--env", "busy-aces", "--deals", "0:12"]
    assert main([*replay, "--quiet"]) == 0


def test_replay_finds_different_games(board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = ("--policy", "tests.agents.commands.test_leaderboard:Dice", "--name", "dice")
    assert add(*own, "--author", "Me", "--made", "dice") == 0
    replay = ["replay", *own, "--env", "eights-down", "--deals", "0:12", "--quiet"]
    assert main(replay) == 0
    capsys.readouterr()
    assert main([*replay, "--num-envs", "1"]) == 1
    out, err = capsys.readouterr()
    assert "of 12 games equal the stored ones" in out and err.startswith("different: deals [")
    assert main([*replay[:-3], "--deals", "0:13", "--quiet"]) == 2
    assert "deal 12" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--policy", "greedi"], ["'greedi'", "--author"]),
        (["--policy", "runs/x"], ["'runs/x'", "small letters"]),
        (["--policy", "greedy", "--name", "../x"], ["'../x'"]),
        (["--policy", "greedy", "--deals", "0:11"], ["'0:11'", "0:12 or 100:104"]),
        (["--policy", "greedy", "--deals", "all"], ["'all'"]),
        (["--policy", "greedy", "--env", "whist"], ["'whist'", "solitaire_env list"]),
        ([*MINE, "--made", "a | b"], ["made", "without | < >"]),
        ([*MINE, *MADE, "--minutes", "-1"], ["minutes", "-1"]),
        ([*MINE], ["--made"]),
        (["--policy", "shipped"], ["'shipped' has no network", "none yet"]),
    ],
    ids=" ".join,
)
def test_add_refuses_wrong_options(
    args: list[str], words: list[str], board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(*args) == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith("error: ") and err.count("\n") == 1
    for word in words:
        assert word in err
    assert not list(board.glob("*/*"))


def test_ctrl_c_keeps_finished_games(
    board: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Any, observations: Any, masks: Any) -> Any:
        if 1 < len(masks) < 12:  # after the first games have ended
            raise KeyboardInterrupt
        return masks.argmax(1)

    with monkeypatch.context() as patched:
        patched.setattr(Mine, "__call__", interrupted)
        assert add(*MINE, *MADE) == 130
    assert "Interrupted" in capsys.readouterr().err
    kept = board / "eights-down" / "mine.jsonl"
    assert 0 < len(lines_of(kept)) < 12 and not kept.with_suffix(".json").exists()
    assert main(["write"]) == 2 and "are missing" in capsys.readouterr().err
    assert add(*MINE, *MADE) == 0 and len(lines_of(kept)) == 12


# --------------------------------------------------------------------------------- what is refused


Change = Callable[[list[dict[str, Any]]], Any]

DAMAGED: list[tuple[Change, list[str]]] = [
    (lambda rows: rows.append(rows[3]), ["deal 3", "twice"]),
    (lambda rows: rows.pop(4), ["1 of deals 0-11", "the first is 4", "agents leaderboard add"]),
    (lambda rows: rows.append({**rows[0], "deal": 100}), ["3 of deals 100-103", "the first is 101"]),
    (lambda rows: rows.append({**rows[0], "deal": 77}), ["deal 77", "0-11 and 100-103"]),
    (lambda rows: rows[0].update(deal="ms:1"), ["'ms:1'"]),
    (lambda rows: rows[2].update(env="Solitaire/BusyAces-v0"), ["deal 2", "BusyAces", "EightsDown"]),
    (lambda rows: rows[2].update(policy="linear"), ["deal 2", "'linear'", "'greedy'"]),
    (lambda rows: rows[2].update(rules="any suit"), ["deal 2", "'any suit'"]),
    (lambda rows: rows[2].update(moves="one card"), ["one card and supermove", "one of them"]),
    (lambda rows: [row.update(moves="one card") for row in rows], ["'one card'", "'supermove'"]),
    (lambda rows: rows[2].update(won=not rows[2]["won"]), ["deal 2", "won is"]),
    (lambda rows: rows[2].update(cards_home=53), ["deal 2", "53 of 52"]),
    (lambda rows: rows[2].update(steps=10**6), ["deal 2", "1000000", "1664"]),
    (lambda rows: rows.insert(2, {"luck": 1, **rows.pop(2)}), ["line 3", "luck"]),
    (lambda rows: rows[2].pop("steps"), ["line 3", "steps"]),
    (lambda rows: rows[2].update(won=1), ["line 3", "won", "true or false"]),
]


@pytest.mark.parametrize(("change", "words"), DAMAGED, ids=[" ".join(words) for _, words in DAMAGED])
def test_invalid_rows_are_refused(change: Change, words: list[str], board: Path, refuses: Refuses) -> None:
    assert add("--policy", "greedy") == 0
    path = board / "eights-down" / "greedy.jsonl"
    rows = lines_of(path)
    change(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    refuses(lambda: read_store(board), "greedy.jsonl", *words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda about: about.update(luck=1), ["luck"]),
        (lambda about: about.pop("author"), ["author"]),
        (lambda about: about.update(policy="linear"), ["'linear'", "'greedy'"]),
        (lambda about: about.update(made="<script>"), ["made", "without | < >"]),
        (lambda about: about["speed"].update(ms_per_move=-1), ["speed.ms_per_move", "-1"]),
        (lambda about: about["speed"].update(ms_per_move="1"), ["speed.ms_per_move", "'1'"]),
        (lambda about: about.update(training={"hours": 1}), ["training.hours"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_descriptions_are_refused(
    change: Callable[[dict[str, Any]], Any], words: list[str], board: Path, refuses: Refuses
) -> None:
    assert add("--policy", "greedy") == 0
    path = board / "eights-down" / "greedy.json"
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))
    refuses(lambda: read_store(board), "greedy.json", *words)


def test_damaged_files_are_refused(board: Path, refuses: Refuses) -> None:
    assert add("--policy", "greedy") == 0
    folder = board / "eights-down"
    (folder / "greedy.json").write_text("{")
    refuses(lambda: read_store(board), "greedy.json", "JSON")
    (folder / "greedy.json").unlink()
    refuses(lambda: read_store(board), "greedy.json", "cannot be read")
    (folder / "greedy.jsonl").unlink()
    (folder / "notes.txt").write_text("")
    refuses(lambda: read_store(board), "notes.jsonl", "not found")
    (board / "whist").mkdir()
    (folder / "notes.txt").unlink()
    refuses(lambda: read_store(board), "whist")


# ---------------------------------------------------------------------------------------- tests


def entry(entries: list[Entry], name: str) -> Entry:
    (found,) = (e for e in entries if e.about.policy == name)
    return found


def test_the_paired_test_depends_on_wins(board: Path) -> None:
    for args in (["--policy", "greedy"], ["--policy", "random"], [*MINE, *MADE]):
        assert add(*args) == 0
    entries = read_store(board)["eights-down"]
    greedy, random, mine = (entry(entries, name) for name in ("greedy", "random", "mine"))
    only_random, only_greedy, p = mcnemar(random.standard, greedy.standard)
    assert against(random.standard, greedy.standard) == f"{only_random} : {only_greedy}, p = {p:.2g}"
    # No policy won a game: the test compares cards home.
    lost = Entry("eights-down", mine.about, tuple(g for g in mine.standard if not g.won), ())
    others = Entry("eights-down", mine.about, lost.standard[::-1], ())
    assert against(lost.standard, others.standard).startswith("cards home, p = ")
    assert signed_rank(lost.standard, lost.standard) == 1.0


def test_signed_rank_equals_the_exact_distribution() -> None:
    """The expected p comes from counting all signs of the ranks."""
    games = read_store(results.STORE)["busy-aces"][0].standard[:8]
    other = [g.__class__(**{**g.__dict__, "cards_home": g.cards_home - k}) for k, g in enumerate(games, 1)]
    # All eight differences have the same sign: 2 of the 2 ** 8 outcomes are as extreme.
    assert math.isclose(signed_rank(games, other), 2 / 2**8)


def test_cards_name_the_runs_that_a_training_starts_from() -> None:
    for game in ("freecell", "klondike-draw-3"):
        card = model_card(SHIPPED / game, None)
        assert f"weights/{game}/history/1/config.yaml\n" in card
        assert f"weights/{game}/config.yaml --init-from runs/family-1\n" in card
