"""The pages in Chromium: a game of each variant played to its end by mouse and keys, and replayed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from solitaire_env.core.layout import action_layout
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import Move, parse_position
from solitaire_env.play.replay_page import write_page
from solitaire_env.play.web import board, start_of, targets
from solitaire_env.transcripts import Thought, parse_transcript, replay
from solitaire_env.variants import VARIANTS, Variant
from tests.browser.conftest import SCREENSHOTS, OpenPage
from tests.recorded import recorded_game
from tests.render.test_pictures import PIXEL_HASHES

pytestmark = pytest.mark.browser

GAMES = list(PIXEL_HASHES)
FAMILY = ["klondike-draw-3", "yukon", "double-klondike", "zebra", "little-forty", "penguin"]
READ = """() => Object.fromEntries([...document.querySelectorAll("#board [data-pile]")].map((pile) => [
  pile.dataset.pile,
  pile.dataset.pile === "stock"
    ? Array(Number(pile.querySelector(".number").textContent)).fill("??")
    : [...pile.querySelectorAll(".card")].map((card) => card.dataset.card),
]))"""


def drawn(page: Page, variant: Variant) -> str:
    """The position text of the board that a page shows."""
    piles: dict[str, list[str]] = page.evaluate(READ)
    lines = [f"variant: {variant.name}"]
    if variant.stock:
        lines += [" ".join([f"{name}:", *piles[name]]) for name in ("stock", "waste")]
    tops = [piles[f"f{number}"] for number in range(1, variant.foundations + 1)]
    words = []
    for number, top in enumerate(tops):
        if number % variant.decks == 0:
            words.append("CDHS"[number // variant.decks])
        assert not top or top[0][1] == words[-1] or top[0][1] in words
        words.append(str("A23456789TJQK".index(top[0][0]) + 1 if top else 0))
    lines.append(" ".join(["foundations:", *words]))
    if variant.cells:
        lines.append(
            " ".join(["cells:", *("".join(piles[f"c{n}"]) or "--" for n in range(1, variant.cells + 1))])
        )
    lines += [" ".join([f"t{n}:", *piles[f"t{n}"]]) for n in range(1, variant.piles + 1)]
    return "\n".join(lines)


def hidden(position: str, variant: Variant) -> str:
    env = SolitaireEnv(variant)
    env.reset(options={"position": position})
    return env.position(hidden=True)


def pile(page: Page, name: str) -> Any:
    return page.locator(f'#board [data-pile="{name}"]')


def top(page: Page, name: str) -> Any:
    return pile(page, name).locator(".card, .base").last


def places(env: SolitaireEnv, action: int) -> tuple[Move, str]:
    """What an action moves, and a pile of the page that it goes to."""
    move = env.move(action)
    position = parse_position(env.position(), env.variant)
    if move.target != "foundations":
        return move, move.target
    suit, rank = move.cards[0] & 3, move.cards[0] >> 2
    return move, f"f{suit * env.variant.decks + position.foundations[suit].index(rank - 1) + 1}"


# ------------------------------------------------------------------------------------- ways to play


def by_click(page: Page, move: Move, target: str) -> None:
    if move.source == "stock":
        pile(page, "stock").locator(".base").click()
        return
    card = pile(page, move.source).locator(".card").nth(-len(move.cards))
    if target[0] == "f":
        card.dblclick()
        return
    # The upper edge: all that shows of a card that others lie on.
    card.click(position={"x": 6, "y": 6})
    expect(pile(page, target)).to_have_class(re.compile("target"))
    top(page, target).click(position={"x": 6, "y": 6})


def by_drag(page: Page, move: Move, target: str) -> None:
    if move.source == "stock":
        pile(page, "stock").locator(".base").click()
        return
    start = pile(page, move.source).locator(".card").nth(-len(move.cards)).bounding_box()
    end = top(page, target).bounding_box()
    page.mouse.move(start["x"] + 8, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(start["x"] + 30, start["y"] + 30)
    expect(pile(page, target)).to_have_class(re.compile("target"))
    page.mouse.move(end["x"] + 12, end["y"] + 12, steps=2)
    page.mouse.up()


def by_keys(page: Page, move: Move, target: str) -> None:
    def go_to(name: str) -> None:
        for _ in range(80):
            if page.evaluate("document.activeElement.closest('[data-pile]')?.dataset.pile") == name:
                return
            page.keyboard.press("ArrowRight")
        raise AssertionError(f"no way to {name}")

    while not page.evaluate("!!document.activeElement.closest('#board')"):
        page.keyboard.press("Tab")
    if move.source == "stock":
        page.keyboard.press("d")
        return
    go_to(move.source)
    if target[0] == "f" and len(move.source) % 2:
        page.keyboard.press("f")
        return
    for _ in range(len(move.cards) - 1):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    go_to(target)
    page.keyboard.press("Enter")


WAYS: dict[str, Callable[[Page, Move, str], None]] = {
    "forty-thieves": by_click,
    "eighty-thieves": by_drag,
    "eights-down": by_keys,
    "forty-bandits": by_drag,
    "busy-aces": by_keys,
}


@pytest.mark.parametrize("name", FAMILY)
def test_groups_redeals_and_worrying_back(open_page: OpenPage, home: str, name: str) -> None:
    """A random game by clicks and drags, each kind of action as often as the others."""
    page = open_page(f"{home}?game={name}&deal=5")
    env, chance = SolitaireEnv(name, on_invalid="raise"), np.random.default_rng(4)
    env.reset(options={"deal": 5})
    layout = action_layout(env.variant)
    for step in range(25):
        expect(page.locator("#board")).to_have_attribute("data-moves", str(step))
        position = parse_position(env.position(hidden=True), env.variant)
        told = {name: "" if str(told)[:1] == "-" else str(told) for name, told in board(position).items()}
        told.pop("redeals", None)
        shown = page.evaluate(READ)
        assert {n: str(len(cs)) if n == "stock" else " ".join(cs) for n, cs in shown.items()} == told
        by_kind: dict[str, list[int]] = {}
        for action in env.legal_actions():
            by_kind.setdefault(layout.decode(action).kind, []).append(action)
        if not by_kind:
            return
        action = int(chance.choice(by_kind[sorted(by_kind)[step % len(by_kind)]]))
        move = env.move(action)
        start, target = start_of(position, move), targets(position, move)[0]
        env.step(action)
        (by_click, by_drag)[step % 2](page, move._replace(source=start), target)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_played_to_its_end(home: str, open_page: OpenPage, tmp_path: Path, name: str) -> None:
    game = recorded_game(name)
    env = SolitaireEnv(game.variant, on_invalid="raise")
    env.reset(options={"deal": game.deal})
    # So high that a card is dragged without scrolling.
    page = open_page(f"{home}?game={name}&deal={game.deal}", height=1200)
    expect(page.locator("h1")).to_have_text(f"{game.variant.title}, deal {game.deal}")
    assert drawn(page, game.variant) == env.position(hidden=True)
    for number, text in enumerate(game.actions, 1):
        action = env.parse_action(text)
        WAYS[name](page, *places(env, action))
        env.step(action)
        expect(page.locator("#board")).to_have_attribute("data-moves", str(number))
        if number % 20 == 0:
            assert drawn(page, game.variant) == env.position(hidden=True)
        if number == len(game.actions) // 2:
            page.screenshot(path=SCREENSHOTS / f"play-{name}.png")
    assert drawn(page, game.variant) == env.position(hidden=True)
    expect(page.locator("#status")).to_contain_text("Won, in" if game.result == "won" else "Stuck: no move")
    with page.expect_download() as saved:
        page.locator("#save").click()
    saved.value.save_as(tmp_path / "game.txt")
    text = parse_transcript((tmp_path / "game.txt").read_text())
    assert (text.actions, text.result, text.policy) == (game.actions, game.result, "human")
    assert saved.value.suggested_filename == f"{name}-{game.deal}.txt"


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_replayed_from_a_file(open_page: OpenPage, tmp_path: Path, name: str) -> None:
    game = recorded_game(name)
    positions = [game.start, *(step.position for step in replay(game))]
    file = tmp_path / "game.html"
    write_page(file, game)
    page = open_page(file.as_uri())
    last = len(game.actions)

    def shows(step: int) -> None:
        expect(page.locator("#board")).to_have_attribute("data-moves", str(step))
        assert drawn(page, game.variant) == hidden(positions[step], game.variant)

    shows(0)
    for key, step in (("End", last), ("ArrowLeft", last - 1), ("Home", 0), ("ArrowRight", 1)):
        page.keyboard.press(key)
        shows(step)
    expect(page.locator("#said")).to_contain_text(f"Move 1 of {last}: ")
    for button, step in (("last", last), ("back", last - 1), ("forward", last), ("first", 0)):
        page.locator(f"#{button}").click()
        shows(step)
    page.locator("#moves button").nth(last // 2 - 1).click()
    shows(last // 2)
    page.screenshot(path=SCREENSHOTS / f"replay-{name}.png")
    page.keyboard.press("ArrowDown")
    shows(last // 2 + 1)
    page.locator("#slider").fill(str(last // 3))
    shows(last // 3)
    box = page.locator("#chart svg").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 3, box["y"] + 40)
    shows(last)
    # Played to its end, it begins anew.
    page.locator("#speed").select_option("30")
    page.locator("#play").click()
    expect(page.locator("#play")).to_have_text("Pause")
    expect(page.locator("#board")).to_have_attribute("data-moves", str(last), timeout=60_000)
    expect(page.locator("#play")).to_have_text("Play")
    shows(last)


def test_thoughts_are_shown(open_page: OpenPage, tmp_path: Path) -> None:
    game = recorded_game("eights-down")
    thoughts = [Thought(k / 100, ((text, 0.75), ("c1>s", 0.125))) for k, text in enumerate(game.actions)]
    object.__setattr__(game, "thoughts", (*thoughts[:-1], None))
    file = tmp_path / "game.html"
    write_page(file, game)
    page = open_page(file.as_uri())
    page.locator("#forward").click()
    expect(page.locator("#thought")).to_contain_text("Value 0.01")
    expect(page.locator("#thought tr").first).to_have_text(f"{game.actions[1]}, played next75.0 %")
    expect(page.locator("#legend")).to_have_text("1 of 52 cards home, value 0.01")
    page.keyboard.press("End")
    expect(page.locator("#thought")).to_have_text("The game is over.")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#thought")).to_have_text("Nothing is told of this position.")


# ------------------------------------------------------------------------------------ play: the rest


def moves(page: Page, number: int) -> None:
    expect(page.locator("#board")).to_have_attribute("data-moves", str(number))


def test_help_from_policies(home: str, open_page: OpenPage) -> None:
    page = open_page(f"{home}?game=eights-down&deal=132")
    names = page.locator("#policy option")
    expect(names).to_have_text(["hint", "greedy", "first", "whim"])
    page.locator("#policy").select_option(label="first")
    page.locator("#hint").click()
    expect(page.locator("#advice")).to_contain_text("first: ")
    expect(page.locator("#advice")).to_contain_text("Value 0.25")
    moves(page, 0)
    page.locator("#one").click()
    moves(page, 1)
    page.locator("#undo").click()
    moves(page, 0)
    page.locator("#policy").select_option(label="greedy")
    page.locator("#speed").select_option("20")
    page.locator("#on").click()
    expect(page.locator("#board")).to_have_attribute("data-moves", re.compile("[5-9]"))
    page.locator("#on").click()
    expect(page.locator("#status")).to_contain_text("Stopped after ")
    page.locator("#restart").click()
    moves(page, 0)
    page.locator("#games").fill("2")
    page.locator("#measure").click()
    expect(page.locator("#table tbody tr")).to_have_count(3)
    expect(page.locator("#measure")).to_be_enabled(timeout=60_000)
    expect(page.locator("#table tbody tr").first).to_contain_text("greedy1/1always so52.0")
    expect(page.locator("#table tbody tr").last).to_contain_text("/2")


def test_games_are_chosen_and_shared(home: str, open_page: OpenPage) -> None:
    page = open_page(f"{home}?game=eights-down&deal=ms:11982&moves=one+card")
    expect(page.locator("h1")).to_have_text("Eights Down, deal ms:11982")
    expect(page.locator("#about")).to_contain_text("one card")
    page.locator("#game").select_option("busy-aces")
    page.locator("summary").click()
    page.locator("#moves").select_option("supermove")
    page.locator("#deal").fill("9223372036854775807")
    page.locator("#deal").press("Enter")
    expect(page.locator("h1")).to_have_text("Busy Aces, deal 9223372036854775807")
    shared = page.url
    assert shared == f"{home}?game=busy-aces&deal=9223372036854775807&moves=supermove"
    board = drawn(page, VARIANTS[GAMES.index("busy-aces")])
    page.locator("#random").click()
    expect(page.locator("h1")).not_to_contain_text("9223372036854775807")
    page.goto(shared)
    expect(page.locator("h1")).to_have_text("Busy Aces, deal 9223372036854775807")
    assert drawn(page, VARIANTS[GAMES.index("busy-aces")]) == board


def test_what_is_refused_is_told(home: str, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"{home}?game=busy-aces&deal=7")
    moves(page, 0)
    page.locator("#deal").fill("x")
    page.locator("#deal").press("Enter")
    expect(page.locator("#status.error")).to_contain_text("unknown deal 'x', allowed: a whole number")
    expect(page.locator("h1")).to_have_text("Busy Aces, deal 7")
    page.context.close()


def test_a_card_that_is_let_go_stays(home: str, open_page: OpenPage) -> None:
    page = open_page(f"{home}?game=eights-down&deal=132")
    moves(page, 0)
    variant = VARIANTS[GAMES.index("eights-down")]
    before = drawn(page, variant)
    top(page, "t4").click()
    expect(pile(page, "t3")).to_have_class(re.compile("target"))
    assert "can go here" in (top(page, "t3").get_attribute("aria-label") or "")
    page.keyboard.press("Escape")
    expect(page.locator(".target")).to_have_count(0)
    box = top(page, "t4").bounding_box()
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()
    page.mouse.move(5, 5, steps=3)
    page.mouse.up()
    expect(page.locator(".dragged, .target, .picked")).to_have_count(0)
    assert drawn(page, variant) == before
    moves(page, 0)


def test_taps_on_a_phone(home: str, open_page: OpenPage) -> None:
    page = open_page(
        f"{home}?game=eights-down&deal=132", width=375, height=760, has_touch=True, is_mobile=True
    )
    expect(page.locator("#hint")).to_be_enabled()
    box = top(page, "t7").bounding_box()
    for _ in range(2):
        page.touchscreen.tap(box["x"] + 9, box["y"] + 9)
    moves(page, 1)
    assert pile(page, "f3").locator(".card").get_attribute("data-card") == "AH"
    top(page, "t4").tap()
    top(page, "t3").tap()
    moves(page, 2)


# ------------------------------------------------------------------------------- width, accessibility


def looks_right(page: Page, name: str) -> None:
    """At every width, light and dark: no horizontal scrolling, no fault that axe finds; a screenshot."""
    for width, height in ((375, 740), (800, 900), (1400, 900)):
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide <= inner, (name, width)
            result = Axe().run(page)
            assert result.violations_count == 0, result.generate_report()
            page.screenshot(path=SCREENSHOTS / f"{name}-{width}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("name", GAMES)
def test_the_page_to_play_looks_right(home: str, open_page: OpenPage, name: str) -> None:
    page = open_page(f"{home}?game={name}&deal=7")
    expect(page.locator("#hint")).to_be_enabled()
    page.locator("#policy").select_option(label="first")
    for number in range(1, 25):
        page.locator("#one").click()
        moves(page, number)
    page.locator("#measure").click()
    expect(page.locator("#table tbody tr")).to_have_count(1)
    page.locator("#cancel").click()
    page.locator("#hint").click()
    page.locator("summary").click()
    page.locator("#board .card.playable").last.click(position={"x": 5, "y": 5})
    expect(page.locator(".picked").first).to_be_visible()
    looks_right(page, f"play-{name}")


@pytest.mark.parametrize("name", GAMES)
def test_the_replay_page_looks_right(open_page: OpenPage, tmp_path: Path, name: str) -> None:
    game = recorded_game(name)
    thoughts = [
        Thought(0.4 + k / 1000, ((text, 0.75), ("draw", 0.125))) for k, text in enumerate(game.actions)
    ]
    object.__setattr__(game, "thoughts", tuple(thoughts))
    write_page(tmp_path / "game.html", game)
    page = open_page((tmp_path / "game.html").as_uri())
    page.locator("#slider").fill(str(len(game.actions) * 3 // 5))
    if game.variant.stock:
        page.locator(".pile-waste .number").click()
    looks_right(page, f"replay-{name}")
