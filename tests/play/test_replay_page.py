"""The replay page: its data, that it needs nothing else, and the command that writes it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from solitaire_env import cli
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import parse_position
from solitaire_env.play.piles import board, targets
from solitaire_env.play.replay_page import replay_data, replay_page
from solitaire_env.transcripts import Thought, format_transcript, replay
from tests.games import ONE_PER_RULE
from tests.recorded import recorded_game

EIGHTS = """variant: eights-down
foundations: C 2 D 0 H 1 S 13
cells: 3C -- KD -- 2H -- -- --
t1: QD JD TD 9D 8D 7D 6D 5D 4D 3D 2D AD
t2: KC QC JC TC 9C 8C 7C 6C 5C 4C
t3: KH QH JH TH 9H 8H 7H 6H 5H 4H 3H
t4:
t5:
t6:
t7:
t8:"""


def data_in(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="game">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_a_board_contains_every_pile() -> None:
    position = parse_position(EIGHTS)
    piles = board(position)
    assert list(piles) == [f"f{n}" for n in range(1, 5)] + [f"{k}{n}" for k in "ct" for n in range(1, 9)]
    assert [piles[name] for name in ("f1", "f2", "c1", "c2", "t3", "t4")] == [
        "2C", "-D", "3C", "", "KH QH JH TH 9H 8H 7H 6H 5H 4H 3H", "",
    ]  # fmt: skip
    env = SolitaireEnv("busy-aces")
    env.reset(options={"deal": 1})
    piles = board(parse_position(env.position()))
    assert piles["stock"] == 92 and piles["waste"] == ""


def test_spaces_and_empty_cells_are_alike() -> None:
    env = SolitaireEnv("eights-down")
    env.reset(options={"position": EIGHTS})
    for action, piles in (("t1>f", "f2"), ("t3>c", "c2 c4 c6 c7 c8"), ("c3>s", "t4 t5 t6 t7 t8")):
        move = env.moved_cards(env.parse_action(action))
        assert targets(parse_position(EIGHTS), move) == piles.split()


@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_steps_lead_to_the_positions_of_the_engine(name: str) -> None:
    game = recorded_game(name)
    data = replay_data(game)
    piles = dict(data["start"])
    for step, (text, changed, place) in zip(replay(game), data["steps"], strict=True):
        assert step.text == text
        source, target, count = place
        assert piles.get(source) != changed.get(source, piles.get(source)) or source == "stock"
        assert target in changed and count >= 1
        assert changed and all(piles[pile] != cards for pile, cards in changed.items())
        piles |= changed
        assert piles == board(parse_position(step.position, game.variant).hidden())
    assert len(replay_page(game)) < 100_000
    # Hidden cards are shown only if the player knew them.
    text = json.dumps([data["start"], data["steps"]])
    assert ("??" in text) == game.variant.hides_cards and "(" not in json.dumps(data["start"])
    thoughtful = replay_data(replace(game, information="thoughtful"))
    assert "??" not in json.dumps([thoughtful["start"], thoughtful["steps"]])


def test_the_page_needs_nothing_else() -> None:
    page = replay_page(recorded_game("eights-down"))
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import|<link[^>]+stylesheet|src=", page)
    assert "{{" not in page and "import {" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert re.fullmatch(
        r"default-src 'none'; img-src data:; style-src 'sha256-\S+'; script-src 'sha256-\S+'", policy[1]
    )


@pytest.mark.parametrize(
    "odd", ["</script><script>alert(1)</script>", "<!-- <script>", "{{data}} & 'x' \"y\""]
)
def test_names_are_text_and_never_html(odd: str) -> None:
    page = replay_page(replace(recorded_game("eights-down"), policy=odd))
    assert page.count("</script>") == 2 and page.count("<script") == 2 and "<!--" not in page
    assert data_in(page)["policy"] == odd


def test_the_page_contains_the_thoughts() -> None:
    game = recorded_game("eights-down")
    assert replay_data(game)["thoughts"] == []
    thoughts = (Thought(0.41, (("t7>f", 0.831), ("draw", 0.102))), None, Thought(None, ()))
    object.__setattr__(game, "thoughts", thoughts)
    told = data_in(replay_page(game))["thoughts"]
    # With places; an illegal action has none.
    first = [["t7>f", 0.831, ["t7", "f3", 1]], ["draw", 0.102, None]]
    assert told[:3] == [[0.41, first], None, [None, []]] and set(map(str, told[3:])) == {"None"}


def test_a_game_from_a_position_that_is_won_at_the_start() -> None:
    lines = ["variant: eights-down", "foundations: C 13 D 13 H 13 S 13", "cells: -- -- -- -- -- -- -- --"]
    start = "\n".join(lines + [f"t{n}:" for n in range(1, 9)])
    page = replay_page(replace(recorded_game("eights-down"), deal=None, start=start, actions=(), steps=0))
    assert data_in(page)["deal"] is None and "<title>Eights Down, a position, by ada</title>" in page
    assert data_in(page)["steps"] == []


# -------------------------------------------------------------------------------------- command


def run(capsys: pytest.CaptureFixture[str], *args: object, code: int = 0) -> str:
    assert cli.main(["replay", *map(str, args)]) == code
    out, error = capsys.readouterr()
    if code:
        assert not out and len(error.splitlines()) <= 2 and "Traceback" not in error
    return error if code else out


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "game.txt"
    path.write_text(format_transcript(recorded_game("eights-down")))
    return path


def test_the_command_writes_the_page(capsys: pytest.CaptureFixture[str], transcript: Path) -> None:
    said = run(capsys, transcript)
    page = transcript.with_suffix(".html")
    assert said.startswith("Eights Down, deal 132, by ada: won.\n") and f"{page}: 83 moves, " in said
    other = transcript.parent / "other.html"
    run(capsys, transcript, "-o", other)
    assert other.read_bytes() == page.read_bytes()
    assert len(data_in(page.read_text(encoding="utf-8"))["steps"]) == 83


def test_a_run_folder_gives_its_best_game(capsys: pytest.CaptureFixture[str], transcript: Path) -> None:
    transcript.rename(transcript.with_name("best_game.txt"))
    assert "best_game.html: 83 moves" in run(capsys, transcript.parent)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("1. t7>f", "1. t7>t7", "step 1: "),
        ("1. t7>f", "1. t1>f", "step 1, 't1>f'"),
        ("env: ", "\udcff", "it is not text; allowed: a file with a transcript"),
    ],
)
def test_a_damaged_game_is_refused_and_the_old_page_stays(
    capsys: pytest.CaptureFixture[str], transcript: Path, old: str, new: str, words: str
) -> None:
    page = transcript.with_suffix(".html")
    page.write_text("old")
    text = transcript.read_text().replace(old, new, 1)
    transcript.write_bytes(text.encode(errors="surrogateescape"))
    assert words in run(capsys, transcript, code=2)
    assert page.read_text() == "old" and not list(transcript.parent.glob("*.part"))
