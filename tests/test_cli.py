"""The command line and the text board: every command, and every error in one or two lines."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import solitaire_env
from solitaire_env import cli
from solitaire_env.core.layout import action_layout
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation.speed import Recording
from solitaire_env.notation import Move, parse_position
from solitaire_env.play.session import Session
from solitaire_env.render.ansi import WASTE_SHOWN, render_ansi
from solitaire_env.util.progress import CLEAR
from solitaire_env.vector import SolitaireVectorEnv
from tests.games import DISPLAYED, ONE_PER_RULE, PUBLISHED

ALMOST_WON = """variant: eights-down
foundations: C 13 D 13 H 13 S 11
cells: -- -- KS -- -- -- -- --
t1: QS
t2:
t3:
t4:
t5:
t6:
t7:
t8:
"""
# All cells are full, nothing goes home or onto a pile.
STUCK = """variant: eights-down
foundations: C 0 D 0 H 0 S 0
cells: 2S 4S 6S 8S TS 2H 4H 6H
t1: AC 3H 7C 9S QC KC
t2: AD 3S 7D TC QD KD
t3: AH 4C 7H TD QH KH
t4: AS 4D 7S TH QS KS
t5: 2C 5H 8C JC 9C
t6: 2D 5S 8D JD 9D
t7: 3C 6C 8H JH 5C
t8: 3D 6D 9H JS 5D
"""


class Screen:
    """Runs a command line in this process, with lines for stdin."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch = monkeypatch
        self.capsys = capsys

    def __call__(self, *args: str, lines: str = "", code: int = 0) -> str:
        """The stdout of the command."""
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        assert cli.main(args) == code
        out, err = self.capsys.readouterr()
        assert err == ""
        return out

    def refuses(self, *args: str) -> str:
        """The stderr of a command that fails."""
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        assert cli.main(args) == 2
        out, err = self.capsys.readouterr()
        assert out == ""
        assert 1 <= len(err.splitlines()) <= 2 and err.startswith(f"{cli.PROG}: ")
        return err


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Screen:
    return Screen(monkeypatch, capsys)


def start(variant: Any, **options: Any) -> SolitaireEnv:
    env = SolitaireEnv(variant, on_invalid="raise")
    env.reset(options=options)
    return env


def last_position(out: str, **options: Any) -> str:
    """The position at which a game was left, reached as the last lines explain."""
    said = out[out.rindex("To continue") :]
    if "variant: " in said:
        return said[said.index("variant: ") :].rstrip("\n")
    command = r"To continue: python -m solitaire_env play (\S+) --(?:deal (\S+)|position FILE)\n"
    found = re.match(command, said)
    assert found is not None, said
    env = start(found[1], **(options if found[2] is None else {"deal": int(found[2])}))
    for text in said.partition("or several:")[2].split():
        env.step(env.parse_action(text))
    return env.position()


# ------------------------------------------------------------------------------- list and rules


def test_list_as_json_has_the_sizes_of_the_environments(screen: Screen) -> None:
    listed = json.loads(screen("list", "--json"))
    assert [of_game["name"] for of_game in listed] == list(PUBLISHED)
    for of_game, variant in zip(listed, PUBLISHED.values(), strict=True):
        env = SolitaireEnv(variant)
        assert of_game["actions"] == env.action_space.n
        assert of_game["cards_observation"] == env.observation_space.shape[0]
        assert (
            of_game["features_observation"]
            == SolitaireEnv(variant, observation="features").observation_space.shape[0]
        )
        if variant.moves == "one card" and variant.takes_supermoves:
            assert of_game["actions_supermove"] == SolitaireEnv(variant, moves="supermove").action_space.n
        else:
            assert of_game["actions_supermove"] is None
        assert set(cli.SIZES) < set(of_game)


@pytest.mark.parametrize("with_rich", [True, False])
def test_list_prints_a_table(screen: Screen, monkeypatch: pytest.MonkeyPatch, with_rich: bool) -> None:
    if with_rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setitem(sys.modules, "rich.box", None)
    lines = screen("list").splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].split() == ["name", "title", "decks", "piles", "cells", "actions"]
    rows = {line.split()[0]: line for line in lines[-len(PUBLISHED) :]}
    assert list(rows) == list(PUBLISHED)
    for name, variant in PUBLISHED.items():
        sizes = [variant.decks, variant.piles, variant.cells or "-", action_layout(variant).size]
        assert rows[name].split() == [name, *variant.title.split(), *map(str, sizes)]


def test_rules_prints_the_rules_and_their_options(screen: Screen) -> None:
    plain = screen("rules", "Eight Off")
    assert "Spaces: only a King" in plain and "--spaces  any, kings*, none, base - 1" in plain
    house = screen("rules", "eights-down", "--spaces", "any", "--build", "alternate color")
    assert "Spaces: any card" in house and "--spaces  any*, kings, none" in house
    assert "--build   same suit, alternate color*, any suit" in house
    assert all(len(line) <= 80 for line in (plain + house).splitlines())
    one_line = " ".join(plain.split())
    assert all(
        " ".join(line.split()) in one_line for line in PUBLISHED["eights-down"].describe().splitlines()
    )


# ----------------------------------------------------------------------------- show, the board


def test_show_accepts_names_titles_and_ids(screen: Screen) -> None:
    boards = {
        screen("show", game, "--deal", "7")
        for game in ("busy-aces", "Busy Aces", "Solitaire/BusyAces-v0", "solitaire_env:Solitaire/BusyAces-v0")
    }
    assert len(boards) == 1


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_show_text_prints_the_position(screen: Screen, name: str) -> None:
    assert screen("show", name, "--deal", "5", "--text") == start(name, deal=5).position() + "\n"


@pytest.mark.parametrize("deal", ["ms:1", "pysol:1"])
def test_show_accepts_deals_of_other_programs(screen: Screen, deal: str) -> None:
    pytest.importorskip("pysol_cards")
    assert "\nt1: JD " in screen("show", "eights-down", "--deal", deal, "--text")


@pytest.mark.parametrize("variant", DISPLAYED.values(), ids=DISPLAYED)
def test_every_board_shows_each_card_in_its_column(variant: Any) -> None:
    env = start(variant, deal=11)
    chance = np.random.default_rng(0)
    for _ in range(60):
        position = parse_position(env.position(), env.variant)
        board = render_ansi(position.hidden(), symbols=False)
        lines = board.split("\n")
        assert all(len(line) <= 80 and line == line.rstrip() for line in lines) and board.isascii()
        names = next(number for number, line in enumerate(lines) if line.split()[:1] == ["t1"])
        places = [match.end() for match in re.finditer(r"t\d+", lines[names])]
        grid = [[line[place - 2 : place].strip() for place in places] for line in lines[names + 1 :]]
        shown = [
            [row[column] for row in grid if row[column] not in ("", ".")] for column in range(len(places))
        ]
        seen = env.position(hidden=True)
        text = [line.split()[1:] for line in seen.splitlines() if re.match(r"t\d+:", line)]
        assert shown == text
        if variant.cells:
            cells = lines[next(n for n, line in enumerate(lines) if line.split()[:1] == ["c1"]) + 1].split()
            assert cells == re.sub("--", ".", re.search("cells: (.*)", env.position())[1]).split()  # type: ignore[index]
        if position.waste:
            waste = next(line for line in lines if line.startswith("waste")).split()[1:]
            if len(position.waste) > WASTE_SHOWN:
                assert waste.pop(0) == f"+{len(position.waste) - WASTE_SHOWN}"
            assert waste == re.search("waste: (.*)", env.position())[1].split()[-WASTE_SHOWN:]  # type: ignore[index]
        if len(legal := np.flatnonzero(env.action_masks())) == env.action_space.n:
            break
        env.step(int(chance.choice(legal)))


def test_color_changes_nothing_but_color() -> None:
    position = parse_position(start("eights-down", deal=3).position())
    move = Move("c1", "t1", position.tableau[0][-2:])
    painted = render_ansi(position, "t1>c", color=True, move=move)
    plain = render_ansi(position, "t1>c", move=move)
    assert re.sub(r"\033\[\d+m", "", painted) == plain
    assert "\033[31m" in painted and painted.count("\033[7m") == plain.count("*") == 2


@pytest.mark.parametrize(
    ("terminal", "environment", "colored"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_color_depends_on_the_terminal(
    screen: Screen,
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
    environment: dict[str, str],
    colored: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert ("\033[" in screen("show", "forty-thieves")) is colored


# ------------------------------------------------------------------------------------------ play


def test_moves_are_played_and_taken_back(screen: Screen) -> None:
    out = screen("play", "forty-thieves", "--deal", "3", lines="draw\nT3>F draw\nu undo u\n")
    assert "last move: draw a card from the stock (draw)" in out
    assert "2 of 104 cards home" not in out and "1 of 104 cards home" in out
    assert last_position(out) == start("forty-thieves", deal=3).position()


def test_a_game_is_continued_and_its_stock_stays_hidden(screen: Screen, tmp_path: Path) -> None:
    out = screen("play", "busy-aces", "--deal", "7", lines="draw draw\nq\ndraw\n")
    env = start("busy-aces", deal=7)
    env.step(0)
    env.step(0)
    assert last_position(out) == env.position()
    stock = env.position().split("\n")[1].removeprefix("stock: ")
    assert stock[:20] not in out
    file = tmp_path / "position.txt"
    file.write_text(left := env.position())
    again = screen("play", "busy-aces", "--position", str(file), lines="draw")
    env.step(0)
    assert "from a position" in again and last_position(again, position=left) == env.position()
    ruled = screen("play", "busy-aces", "--deal", "7", "--moves", "supermove", lines="q\n")
    assert 'play busy-aces --moves "supermove" --deal 7' in ruled


def test_the_version_is_printed(screen: Screen) -> None:
    assert screen("--version") == f"solitaire-env {solitaire_env.__version__}\n"


def test_a_random_deal_is_named(screen: Screen) -> None:
    out = screen("play", "forty-bandits")
    deal = int(re.search(r"deal (\d+)", out)[1])  # type: ignore[index]
    assert deal >= 2**20 and last_position(out) == start("forty-bandits", deal=deal).position()


def test_legal_moves_are_listed_in_words(screen: Screen) -> None:
    out = screen("play", "forty-thieves", "--deal", "3", lines="?\n")
    assert "draw    draw a card from the stock\nt3>f    AD home, from t3\n" in out


def test_supermoves_are_offered_if_requested(screen: Screen, tmp_path: Path) -> None:
    piles = {1: "KS QS JS TS", 2: "9S 8S 7S", 3: "6S 5S 4S 3S 2S AS"}
    lines = ["variant: busy-aces", "stock:", "waste:", "foundations: C 13 13 D 13 13 H 13 13 S 13 0"]
    file = tmp_path / "position.txt"
    file.write_text("\n".join([*lines, *(f"t{n}: {piles.get(n, '')}" for n in range(1, 13))]))
    command = ("play", "busy-aces", "--position", str(file))
    assert "t2>t1 is not legal here" in screen(*command, lines="t2>t1")
    out = screen(*command, "--moves", "supermove", lines="t2>t1")
    assert "last move: 9S to 7S, 3 cards, from t2 to t1, onto TS (t2>t1)" in out


@pytest.mark.parametrize("leave", [EOFError, KeyboardInterrupt])
def test_leaving_prints_the_position(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, leave: type[BaseException]
) -> None:
    lines = iter(["draw", "draw"])

    def read(prompt: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise leave from None

    monkeypatch.setattr("builtins.input", read)
    out = screen("play", "forty-thieves", "--deal", "0")
    env = start("forty-thieves", deal=0)
    env.step(0)
    env.step(0)
    assert last_position(out) == env.position()


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("t1>t2", "t1>t2 is not legal here; ? lists the legal moves"),
        ("hello", "forty-thieves has no action 'hello', allowed:"),
        ("t11>f", "forty-thieves has no action 't11>f', allowed:"),
        ("u", "there is no move to take back"),
        ("t1>t2 draw", "t1>t2 is not legal here; ? lists the legal moves"),
    ],
)
def test_unknown_moves_change_nothing(screen: Screen, line: str, answer: str) -> None:
    out = screen("play", "forty-thieves", "--deal", "3", lines=f"{line}\n")
    assert answer in out and out.count("foundations  ") == 1
    assert last_position(out) == start("forty-thieves", deal=3).position()


def test_a_won_game_ends(screen: Screen, tmp_path: Path) -> None:
    file = tmp_path / "position.txt"
    file.write_text(ALMOST_WON)
    out = screen("play", "eights-down", "--position", str(file), lines="h\nt1>f c3>f\ndraw\n")
    assert "hint: t1>f    QS home, from t1" in out
    assert out.endswith("Won, in 2 moves.\n")


def test_a_stuck_game_is_reported(screen: Screen, tmp_path: Path) -> None:
    file = tmp_path / "position.txt"
    file.write_text(STUCK)
    out = screen("play", "eights-down", "--position", str(file), lines="?\nh\nt1>f\nu\n")
    assert out.count("Stuck: no move is legal.") == 1
    assert out.count("no move is legal; u takes a move back") == 2
    assert "t1>f is not legal here" in out and "there is no move to take back" in out
    assert last_position(out) == STUCK.strip()


def test_a_policy_gives_hints(screen: Screen, tmp_path: Path) -> None:
    file = tmp_path / "position.txt"
    file.write_text(ALMOST_WON)
    command = ("play", "eights-down", "--position", str(file), "--policy", "tests.play.test_window:LastLegal")
    assert "LastLegal: c3>s    KS from cell 3 to the space t2" in screen(*command, lines="h\n")
    assert "unknown policy 'me'" in screen.refuses("play", "eights-down", "--policy", "me")


def test_the_cards_of_the_last_move_are_marked(screen: Screen) -> None:
    out = screen("play", "busy-aces", "--deal", "7", lines="draw\n")
    assert out.count("*") == 1 and re.search(r"\nwaste +\*\w", out)


def after(session: Session, action: int) -> str:
    """The position that an action leads to."""
    env = session.env.clone()
    env.step(action)
    return env.position()


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_hints_are_legal_and_make_progress(name: str) -> None:
    session = Session(start(name, deal=1))
    seen = {session.env.position()}
    for _ in range(80):
        hint = session.hint()
        if hint is None:
            break
        assert hint in session.legal()
        if after(session, hint) in seen:
            others = {after(session, action) for action in session.legal()}
            assert others <= seen, "a hint led back though another move did not"
        session.play(hint)
        seen.add(session.env.position())
    while session.played:
        session.undo()
    assert session.env.position() == start(name, deal=1).position()


# ----------------------------------------------------------------------------------------- perft


def test_perft_prints_the_counts(screen: Screen) -> None:
    """The numbers of tests/perft, counted by the reference implementation."""
    head, *lines = screen("perft", "eights-down", "--depth", "3").splitlines()
    assert head.split() == ["depth", "nodes", "unique", "nodes/s"]
    assert [line.split() for line in lines] == [
        ["1", "10", "10", "-"],
        ["2", "101", "101", "-"],
        ["3", "1,035", "888", "-"],
    ]
    assert screen("perft", "eights-down", "--deal", "0", "--depth", "2").splitlines() == [head, *lines[:2]]
    assert screen("perft", "eights-down", "--depth", "0") == ""


def test_perft_divides_by_action(screen: Screen, tmp_path: Path) -> None:
    file = tmp_path / "position.txt"
    file.write_text(ALMOST_WON)
    out = screen("perft", "eights-down", "--position", str(file), "--depth", "2", "--divide")
    assert [line.split(maxsplit=2) for line in out.splitlines()] == [
        ["t1>f", "2", "QS home, from t1"],
        ["t1>c", "2", "QS to a cell, from t1"],
        ["c3>s", "4", "KS from cell 3 to the space t2"],
        ["all", "8"],
    ]


def test_perft_prints_json(screen: Screen) -> None:
    counted = json.loads(screen("perft", "eights-down", "--depth", "3", "--json"))
    assert [(row["depth"], row["nodes"], row["unique"]) for row in counted] == [
        (1, 10, 10), (2, 101, 101), (3, 1035, 888),
    ]  # fmt: skip
    assert all(row["seconds"] > 0 for row in counted)
    nodes = json.loads(screen("perft", "eights-down", "--depth", "3", "--divide", "--json"))
    assert sum(nodes.values()) == 1035 and len(nodes) == 10 and "c2>f" in nodes


# ----------------------------------------------------------------------------------------- bench


def test_bench_prints_json(screen: Screen) -> None:
    measured = json.loads(screen("bench", "eights-down", "--num-envs", "3", "--seconds", "0.001", "--json"))
    assert (measured["game"], measured["num_envs"], measured["copy"]) == ("eights-down", 3, False)
    assert measured["best_pass"] >= measured["steps_per_second"] > 0 and measured["steps_a_pass"] == 3000


def test_long_commands_show_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    for args, words in (
        (("perft", "eights-down", "--depth", "3"), "depth 1: 1 of 1 positions expanded"),
        (("perft", "eights-down", "--depth", "3", "--divide"), "depth 3: nodes of 1 of 10 actions counted"),
        (("bench", "eights-down", "--num-envs", "3", "--seconds", "0.01"), "recording: 1 of 1,000 calls"),
    ):
        assert cli.main(args) == 0
        err = capsys.readouterr().err
        assert err.startswith(CLEAR + words) and err.endswith(CLEAR), err
        assert cli.main([*args, "--quiet"]) == 0
        assert capsys.readouterr().err == ""


def test_bench_prints_what_was_timed_and_the_machine(screen: Screen) -> None:
    out = screen("bench", "eights-down", "--num-envs", "3", "--seconds", "0.001", "--copy")
    assert re.search(r"eights-down +3 +True +\d+ +[\d,]+ +[\d,]+", out)
    assert "Not timed: the choice of actions" in out and "Machine: " in out


@pytest.mark.parametrize("copy", [True, False])
def test_a_recording_has_legal_actions_and_repeats_its_games(copy: bool) -> None:
    env = SolitaireVectorEnv(5, "eights-down", on_invalid="raise", max_episode_steps=40, copy=copy)
    recording = Recording(env, length=90)
    assert recording.steps == 450 and recording.episodes >= 10
    assert recording.replay() > 0
    recording.actions[0] = 0
    with pytest.raises((RuntimeError, ValueError)):
        recording.replay()


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], ["Missing subcommand", "{list, rules, show, play, watch, replay, serve, perft, bench}"]),
        (["deal"], ["Unrecognized options: deal", "Available subcommands: list, rules"]),
        (["list", "all"], ["Unrecognized options: all"]),
        (["show"], ["Missing", "GAME"]),
        (["show", "forty-thieves", "--color"], ["Unrecognized options: --color"]),
        (["rules", "klondyke"], ["unknown variant 'klondyke', allowed: one of the 76 games", "klondike"]),
        (["rules", "Solitaire/Klondyke-v0"], ["unknown id 'Solitaire/Klondyke-v0'", "Solitaire/Klondike-v0"]),
        (
            ["rules", "busy-aces", "--spaces", "queens"],
            ["spaces is 'queens', allowed: 'any', 'kings', 'none'"],
        ),
        (["show", "busy-aces", "--build", "up"], ["build is 'up', allowed: 'same suit', "]),
        (["show", "busy-aces", "--moves", "2"], ["moves is '2', allowed: 'one card', "]),
        (["show", "busy-aces", "--deal", "-1"], ["deal -1 is out of range, allowed: 0 to 2**63 - 1"]),
        (["show", "busy-aces", "--deal", str(2**63)], [f"deal {2**63} is out of range"]),
        (
            ["show", "busy-aces", "--deal", "x"],
            ["unknown deal 'x', allowed: a whole number, 'ms:N' or 'pysol:N'"],
        ),
        (["play", "busy-aces", "--deal", "ms:0"], ["deal 'ms:0' is out of range, allowed: ms:1 to "]),
        (["play", "busy-aces", "--deal"], ["Missing value for argument", "--deal"]),
        (["perft", "busy-aces", "--depth", "-1"], ["depth is -1, allowed: a whole number from 0"]),
        (
            ["perft", "busy-aces", "--depth", "0", "--divide"],
            ["depth is 0, allowed for dividing: a whole number from 1"],
        ),
        (["perft", "busy-aces", "--deal", "1", "--position", "x"], ["cannot be combined"]),
        (["bench", "--num-envs", "0"], ["num_envs is 0, allowed: a whole number from 1"]),
        (["bench", "--num-envs", "many"], ["--num-envs", "'many'"]),
        (["bench", "--num-envs", str(10**15)], [str(10**15)]),
        (["bench", "--seconds", "0"], ["--seconds is 0.0, allowed: more than 0"]),
        (["bench", "--seconds", "nan"], ["--seconds is nan, allowed: more than 0"]),
        (["bench", "--observation", "rgb"], ["invalid choice 'rgb'", "'cards', 'features'"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_errors_name_the_value_and_what_is_allowed(screen: Screen, args: list[str], words: list[str]) -> None:
    error = screen.refuses(*args)
    assert all(word in error for word in words), error


def test_errors_are_short_and_without_control_characters(screen: Screen) -> None:
    for odd in ("--" + "x" * 10_000, "\u202e", "\ud800", "a\nb"):
        error = screen.refuses("rules", "busy-aces", odd)
        assert len(error) < 600 and all(map(str.isprintable, error.splitlines())), ascii(error)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["No such file", "allowed: a file with position text"]),
        (b"\xff\xfe\x00", ["it is not text; allowed: a file with position text"]),
        (b"", ["has no line 'variant: name'"]),
        (b"nonsense", ["has no colon"]),
        (STUCK.replace("KD", "KC").encode(), ["2 copies of KC, eights-down has 1"]),
        (STUCK.replace("eights-down", "busy-aces").encode(), ["'busy-aces', allowed here: 'eights-down'"]),
        (b"t" * 10**6, ["at most"]),
    ],
)
def test_invalid_position_files_are_refused(
    screen: Screen, tmp_path: Path, content: bytes | None, words: list[str]
) -> None:
    file = tmp_path / "position.txt"
    if content is not None:
        file.write_bytes(content)
    error = screen.refuses("play", "eights-down", "--position", str(file))
    assert all(word in error for word in words), error


def test_a_deal_and_a_position_cannot_be_combined(screen: Screen, tmp_path: Path) -> None:
    error = screen.refuses("play", "eights-down", "--deal", "1", "--position", str(tmp_path))
    assert "cannot be combined" in error
    assert "allowed: a file" in screen.refuses("play", "eights-down", "--position", str(tmp_path))


def test_deals_of_other_programs_need_pysol_cards(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysol_cards.cards", None)
    assert "pip install 'solitaire-env[deals]'" in screen.refuses("show", "eights-down", "--deal", "ms:1")


def test_an_interrupt_ends_a_command_quietly(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.List, "run", interrupt)
    assert screen("list", code=130) == ""


def test_help_exits_with_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["--help"])
    assert end.value.code == 0
    assert "bench" in capsys.readouterr().out


def test_the_module_runs_and_a_closed_pipe_is_no_error() -> None:
    command = [sys.executable, "-m", "solitaire_env", "rules", "forty-thieves"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 0
