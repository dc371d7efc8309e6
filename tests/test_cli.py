"""The command line and the text board: every command, and its errors."""

import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import solitaire_env
from solitaire_env import cli
from solitaire_env.benchmark import references
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import Move, parse_position
from solitaire_env.registration import env_id
from solitaire_env.render.ansi import WASTE_SHOWN, render_ansi
from solitaire_env.variants import grouped
from tests.games import ONE_PER_RULE, PUBLISHED

ALMOST_WON = """variant: eights-down
foundations: C 13 D 13 H 13 S 11
cells: -- -- KS -- -- -- -- --
t1: QS
""" + "".join(f"t{n}:\n" for n in range(2, 9))
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

    def __call__(self, *args: str | Path, lines: str = "", code: int = 0) -> str:
        """The stdout of the command."""
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        assert cli.main([*map(str, args)]) == code
        out, err = self.capsys.readouterr()
        assert err == ""
        return out

    def refuses(self, *args: str | Path) -> str:
        """The stderr of a command that fails."""
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        assert cli.main([*map(str, args)]) == 2
        out, err = self.capsys.readouterr()
        assert out == ""
        assert 1 <= len(err.splitlines()) <= 2 and err.startswith(f"{cli.PROG}: ")
        return err


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Screen:
    return Screen(monkeypatch, capsys)


@pytest.fixture
def almost_won(tmp_path: Path) -> Path:
    file = tmp_path / "position.txt"
    file.write_text(ALMOST_WON)
    return file


def start(variant: Any, **options: Any) -> SolitaireEnv:
    env = SolitaireEnv(variant, on_invalid="raise")
    env.reset(options=options)
    return env


def last_position(out: str, **options: Any) -> str:
    """The position at which a game was left, reached as the last lines explain."""
    said = out[out.rindex("To continue") :]
    command = r"To continue: python -m solitaire_env play (\S+) --(?:deal (\S+)|position FILE)\n"
    found = re.match(command, said)
    assert found is not None, said
    env = start(found[1], **(options if found[2] is None else {"deal": int(found[2])}))
    for text in said.partition("or several:")[2].split():
        env.step(env.parse_action(text))
    return env.position()


# ------------------------------------------------------------------------------- list and rules


def test_list_prints_a_table_of_groups(screen: Screen) -> None:
    lines = screen("list").splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].split() == ["name", "id", "decks", "piles", "cells", "won", "%"]
    rows = {line.split()[0]: line.split() for line in lines if "-v0" in line}
    listed = [variant.name for variants in grouped().values() for variant in variants]
    assert [*rows] == listed and sorted(listed) == sorted(PUBLISHED)
    for name, variant in PUBLISHED.items():
        best = references(variant).get("best")
        won = "-" if best is None else f"{100 * best.win_rate:.1f}"
        sizes = [variant.decks, variant.piles, variant.cells or "-"]
        assert rows[name] == [name, env_id(variant).removeprefix("Solitaire/"), *map(str, sizes), won]
    assert [line for line in lines if line in grouped()] == [*grouped()]


def test_rules_prints_the_rules_and_their_options(screen: Screen) -> None:
    plain = screen("rules", "Eight Off")
    assert "Spaces: only a King" in plain and "--spaces  any, kings*, none, base - 1" in plain
    house = screen("rules", "eights-down", "--spaces", "any", "--build", "alternate color")
    assert "Spaces: any card" in house and "--spaces  any*, kings, none" in house
    assert all(len(line) <= 80 for line in (plain + house).splitlines())


# ----------------------------------------------------------------------------- show, the board


def test_show_accepts_names_titles_and_ids(screen: Screen) -> None:
    names = ("busy-aces", "Busy Aces", "Solitaire/BusyAces-v0", "solitaire_env:Solitaire/BusyAces-v0")
    assert len({screen("show", game, "--deal", "7") for game in names}) == 1
    assert screen("show", "zebra", "--deal", "5", "--text") == start("zebra", deal=5).position() + "\n"


@pytest.mark.parametrize("variant", ONE_PER_RULE.values(), ids=ONE_PER_RULE)
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
        assert shown == [line.split()[1:] for line in seen.splitlines() if re.match(r"t\d+:", line)]
        if variant.cells:
            cells = lines[next(n for n, line in enumerate(lines) if line.split()[:1] == ["c1"]) + 1].split()
            assert cells == re.sub("--", ".", re.search("cells: (.*)", env.position())[1]).split()  # type: ignore[index]
        if position.waste:
            waste = next(line for line in lines if line.startswith("waste")).split()[1:]
            if len(position.waste) > WASTE_SHOWN:
                assert waste.pop(0) == f"+{len(position.waste) - WASTE_SHOWN}"
            assert waste == re.search("waste: (.*)", env.position())[1].split()[-WASTE_SHOWN:]  # type: ignore[index]
        if not (legal := env.legal_actions()):
            break
        env.step(int(chance.choice(legal)))


def test_color_changes_nothing_but_color() -> None:
    position = parse_position(start("eights-down", deal=3).position())
    move = Move("c1", "t1", position.tableau[0][-2:])
    painted = render_ansi(position, "t1>c", color=True, move=move)
    plain = render_ansi(position, "t1>c", move=move)
    assert re.sub(r"\033\[\d+m", "", painted) == plain
    assert "\033[31m" in painted and painted.count("\033[7m") == plain.count("*") == 2


def test_color_depends_on_the_terminal(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = ((True, "xterm", "", True), (True, "xterm", "1", False), (True, "dumb", "", False))
    for terminal, term, no_color, colored in (*cases, (False, "xterm", "", False)):
        monkeypatch.setenv("TERM", term)
        monkeypatch.setenv("NO_COLOR", no_color)
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal)
        assert ("\033[" in screen("show", "forty-thieves")) is colored


# ------------------------------------------------------------------------------------------ play


def test_moves_are_listed_played_and_taken_back(screen: Screen) -> None:
    out = screen("play", "forty-thieves", "--deal", "3", lines="?\ndraw\nT3>F draw\nu u u\n")
    assert "draw    draw a card from the stock\nt3>f    AD home, from t3\n" in out
    assert "last move: draw a card from the stock (draw)" in out and re.search(r"\nwaste +\*\w", out)
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
    again = screen("play", "busy-aces", "--position", file, lines="draw")
    env.step(0)
    assert "from a position" in again and last_position(again, position=left) == env.position()
    ruled = screen("play", "busy-aces", "--deal", "7", "--moves", "supermove", lines="q\n")
    assert 'play busy-aces --moves "supermove" --deal 7' in ruled


def test_worrying_back_is_typed_in_any_case(screen: Screen, tmp_path: Path) -> None:
    env = start("klondike", deal=5)
    for _ in range(300):
        worries = [text for text in map(env.action_text, env.legal_actions()) if re.match("f[CDHS]", text)]
        if worries:
            break
        homes = [action for action in env.legal_actions() if env.action_text(action).endswith(">f")]
        env.step(homes[0] if homes else env.legal_actions()[-1 if env.batch.state.stock[0] == 0 else 0])
    file = tmp_path / "position.txt"
    file.write_text(env.position())
    out = screen("play", "klondike", "--position", file, lines=f"{worries[0].lower()}\nfx>t1\n")
    assert "from the foundations to" in out and "no action 'fx>t1'" in out


def test_ctrl_c_prints_how_to_continue(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    out = screen("play", "forty-thieves", "--deal", "0")
    assert last_position(out) == start("forty-thieves", deal=0).position()


def test_unknown_moves_change_nothing(screen: Screen) -> None:
    out = screen("play", "forty-thieves", "--deal", "3", lines="hello\nu\nt1>t2 draw\n")
    for answer in (
        "forty-thieves has no action 'hello', allowed:",
        "there is no move to take back",
        "t1>t2 is not legal here; ? lists the legal moves",
    ):
        assert answer in out
    assert last_position(out) == start("forty-thieves", deal=3).position()


def test_a_won_game_ends_and_a_stuck_one_is_reported(
    screen: Screen, almost_won: Path, tmp_path: Path
) -> None:
    command = ("play", "eights-down", "--position", almost_won)
    out = screen(*command, lines="h\nt1>f c3>f\ndraw\n")
    assert "greedy: t1>f    QS home, from t1" in out and out.endswith("Won, in 2 moves.\n")
    policy = screen(*command, "--policy", "tests.play.policies:Last", lines="h\n")
    assert "last: c3>s    KS from cell 3 to the space t2" in policy
    file = tmp_path / "stuck.txt"
    file.write_text(STUCK)
    out = screen("play", "eights-down", "--position", file, lines="?\nh\nt1>f\nu\n")
    assert out.count("Stuck: no move is legal.") == 1
    assert out.count("no move is legal; u takes a move back") == 2
    assert last_position(out, position=STUCK) == STUCK.strip()


# ------------------------------------------------------------------------------- perft


def test_perft_prints_the_counts(screen: Screen) -> None:
    """The numbers of tests/perft, counted by the reference implementation."""
    head, *lines = screen("perft", "eights-down", "--depth", "3").splitlines()
    assert head.split() == ["depth", "nodes", "unique"]
    assert [line.split() for line in lines] == [
        ["1", "10", "10"],
        ["2", "101", "101"],
        ["3", "1,035", "888"],
    ]
    assert screen("perft", "eights-down", "--deal", "0", "--depth", "2").splitlines() == [head, *lines[:2]]
    assert screen("perft", "eights-down", "--depth", "0") == ""


def test_perft_divides_by_action(screen: Screen, almost_won: Path) -> None:
    out = screen("perft", "eights-down", "--position", almost_won, "--depth", "2", "--divide")
    assert [line.split(maxsplit=2) for line in out.splitlines()] == [
        ["t1>f", "2", "QS home, from t1"],
        ["t1>c", "2", "QS to a cell, from t1"],
        ["c3>s", "4", "KS from cell 3 to the space t2"],
    ]


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["rules", "klondyke"], ["unknown variant 'klondyke', allowed: one of the ", "klondike"]),
        (["show", "busy-aces", "--build", "up"], ["build is 'up', allowed: 'same suit', "]),
        (["show", "busy-aces", "--deal", "x"], ["unknown deal 'x', allowed: a whole number, 'ms:N'"]),
        (["perft", "busy-aces", "--depth", "-1"], ["depth is -1, allowed: a whole number from 0"]),
        (["perft", "busy-aces", "--depth", "0", "--divide"], ["depth is 0, allowed: a whole number from 1"]),
        (["perft", "busy-aces", "--deal", "1", "--position", "x"], ["cannot be combined"]),
        (["solve", "busy-aces", "--deal", "7", "--position", "x"], ["--deal and --position"]),
        (["solve", "busy-aces", "--deal", "7", "--seconds", "0"], ["seconds is 0", "above 0"]),
        (["solve", "busy-aces", "--position", "nowhere.txt"], ["nowhere.txt"]),
        (["solve", "busy-aces", "--deal", "7", "--network", "greedy"], ["'greedy'", "network"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_errors_name_the_value_and_what_is_allowed(screen: Screen, args: list[str], words: list[str]) -> None:
    error = screen.refuses(*args)
    assert all(word in error for word in words), error


@pytest.mark.parametrize("args", [[], ["show"], ["list", "\ud800"]])
def test_the_parser_refuses_other_arguments(args: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(args)
    assert end.value.code == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (b"\xff\xfe\x00", "it is not text; allowed: a file with position text"),
        (STUCK.replace("KD", "KC").encode(), "2 copies of KC, eights-down has 1"),
    ],
)
def test_invalid_position_files_are_refused(
    screen: Screen, tmp_path: Path, content: bytes | None, words: str
) -> None:
    file = tmp_path / "position.txt"
    if content is not None:
        file.write_bytes(content)
    assert words in screen.refuses("play", "eights-down", "--position", file)


@pytest.mark.parametrize(("short", "word"), [("?", "help"), ("h", "hint"), ("u", "undo"), ("q", "quit")])
def test_words_at_the_prompt_are_the_same_as_their_letters(screen: Screen, short: str, word: str) -> None:
    said = [
        screen("play", "busy-aces", "--deal", "7", lines=f"draw\n{own}\ndraw\n").replace(f"> {own}\n", "")
        for own in (short, word, word.upper())
    ]
    assert said[0] == said[1].replace(f"> {word}\n", "") == said[2].replace(f"> {word.upper()}\n", "")
    assert f"{short} or {word} " in said[0]


def test_missing_libraries_are_named(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysol_cards.cards", None)
    assert "pip install 'solitaire-env[deals]'" in screen.refuses(
        "show", "eights-down", "--deal", "pysol:32001"
    )


def test_the_version_and_help_are_printed(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    assert screen("--version") == f"solitaire-env {solitaire_env.__version__}\n"
    with pytest.raises(SystemExit) as end:
        cli.main(["--help"])
    assert end.value.code == 0 and "perft" in capsys.readouterr().out


def test_an_interrupt_ends_a_command_quietly(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.List, "run", interrupt)
    assert screen("list", code=130) == ""
