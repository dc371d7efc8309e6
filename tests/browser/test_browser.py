"""The pages in Chromium: games played with mouse, touch and keys, and replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from solitaire_env.core.layout import action_layout
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import Move, parse_position
from solitaire_env.play.piles import start_of, targets
from solitaire_env.play.replay_page import replay_page
from solitaire_env.transcripts import Thought, parse_transcript, replay
from tests.browser.conftest import OpenPage
from tests.browser.playing import by_click, by_drag, by_keys, choose_targets
from tests.browser.reading import drawn, expected, moves, top
from tests.recorded import recorded_game

pytestmark = pytest.mark.external


# ------------------------------------------------------------------------------------- ways to play


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("klondike-draw-3", by_click),
        ("double-klondike", by_drag),
        ("zebra", by_click),
        ("yukon", by_drag),
        ("busy-aces", by_keys),
    ],
)
def test_every_kind_of_move_is_played(
    open_page: OpenPage, home: str, name: str, way: Callable[[Page, Move, str], None]
) -> None:
    """A random game, with each kind of action equally likely: redeals, groups, worrying back."""
    # High enough to drag a card without scrolling.
    page = open_page(f"{home}?game={name}&deal=5", height=1200)
    choose_targets(page)
    env, chance = SolitaireEnv(name, on_invalid="raise"), np.random.default_rng(4)
    env.reset(options={"deal": 5})
    layout = action_layout(env.variant)
    for step in range(25):
        moves(page, step)
        position = parse_position(env.position(hidden=True), env.variant)
        assert drawn(page) == expected(position)
        by_kind: dict[str, list[int]] = {}
        for action in env.legal_actions():
            by_kind.setdefault(layout.decode(action).kind, []).append(action)
        if not by_kind:
            return
        action = int(chance.choice(by_kind[sorted(by_kind)[step % len(by_kind)]]))
        move = env.moved_cards(action)
        start, target = start_of(position, move), targets(position, move)[0]
        env.step(action)
        way(page, move._replace(source=start), target)


def test_a_game_is_played_to_its_end_and_saved(home: str, open_page: OpenPage, tmp_path: Path) -> None:
    game = recorded_game("eights-down")
    page = open_page(f"{home}?game=eights-down&deal={game.deal}#moves={','.join(game.actions[:-1])}")
    moves(page, len(game.actions) - 1)
    top(page, game.actions[-1].split(">")[0]).dblclick()
    expect(page.locator("#status")).to_contain_text("Won, in")
    with page.expect_download() as saved:
        page.locator("#save").click()
    saved.value.save_as(tmp_path / "game.txt")
    text = parse_transcript((tmp_path / "game.txt").read_text())
    assert (text.actions, text.result, text.policy) == (game.actions, game.result, "human")
    assert saved.value.suggested_filename == f"eights-down-{game.deal}.txt"


# ------------------------------------------------------------------------------------ replay pages


@pytest.mark.parametrize("name", ["forty-thieves", "eights-down"])
def test_a_game_is_replayed_from_a_file(open_page: OpenPage, tmp_path: Path, name: str) -> None:
    game = recorded_game(name)
    positions = [game.start, *(step.position for step in replay(game))]
    file = tmp_path / "game.html"
    file.write_text(replay_page(game), encoding="utf-8")
    page = open_page(file.as_uri())
    last = len(game.actions)

    def shows(step: int) -> None:
        expect(page.locator("#board")).to_have_attribute("data-moves", str(step))
        assert drawn(page) == expected(parse_position(positions[step], game.variant).hidden())

    shows(0)
    for key, step in (("End", last), ("ArrowLeft", last - 1), ("Home", 0), ("ArrowRight", 1)):
        page.keyboard.press(key)
        shows(step)
    expect(page.locator("#announcement")).to_contain_text(f"Move 1 of {last}: ")
    for button, step in (("last", last), ("back", last - 1), ("forward", last), ("first", 0)):
        page.locator(f"#{button}").click()
        shows(step)
    page.locator("#moves button").nth(last // 2 - 1).click()
    shows(last // 2)
    page.keyboard.press("ArrowDown")
    shows(last // 2 + 1)
    page.locator("#slider").fill(str(last // 3))
    shows(last // 3)
    box = page.locator("#chart svg").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 3, box["y"] + 40)
    shows(last)
    # Played to its end, it starts again.
    page.clock.install(time=0)
    page.clock.pause_at(1)
    page.locator("#speed").select_option("30")
    page.locator("#play").click()
    expect(page.locator("#play")).to_have_text("Pause")
    page.clock.run_for(1000 * (last - 1) // 30 + 1)
    shows(last - 1)
    page.clock.run_for(50)
    expect(page.locator("#play")).to_have_text("Play")
    shows(last)


def test_a_replay_follows_its_address_and_shows_thoughts(open_page: OpenPage, tmp_path: Path) -> None:
    game = recorded_game("eights-down")
    thoughts = [Thought(k / 100, ((text, 0.75), ("c1>s", 0.125))) for k, text in enumerate(game.actions)]
    file = tmp_path / "game.html"
    page_text = replay_page(replace(game, thoughts=(*thoughts[:-1], None)))
    file.write_text(page_text, encoding="utf-8")
    page = open_page(f"{file.as_uri()}#move=abc")
    said = "The address names move {}; this game has moves 0 to 83."
    expect(page.locator("#wrong")).to_have_text(said.format("abc"))
    moves(page, 0)
    page.locator("#forward").click()
    assert page.url.endswith("#move=1")
    expect(page.locator("#wrong")).to_be_empty()
    # Words; action text only if the move is illegal.
    expect(page.locator(".evaluation")).to_have_text("Position: 1 %")
    words = page.locator("#moves button").nth(1).inner_text().removeprefix("2").strip()
    expect(page.locator("#thought tr").first).to_have_text(f"{words}, played next75.0 %")
    expect(page.locator("#thought tr").last).to_have_text("c1>s12.5 %")
    expect(page.locator("#legend")).to_have_text("1 of 52 cards home, value 0.01")
    expect(page.locator(".arrow")).to_have_count(1)
    expect(page.locator(".chance")).to_have_text("75 %")
    page.locator("#arrows").uncheck()
    expect(page.locator(".arrow")).to_have_count(0)
    page.keyboard.press("End")
    expect(page.locator("#thought")).to_have_text("The game is over.")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#thought")).to_have_text("The transcript has no thought about this position.")
    page.evaluate("() => { location.hash = '#move=40' }")
    moves(page, 40)
    page.evaluate("() => { location.hash = '#move=84' }")
    expect(page.locator("#wrong")).to_have_text(said.format("84"))
    moves(page, 40)
