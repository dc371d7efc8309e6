"""What players stumbled over: forgotten games, cards that stuck to the screen, controls outside of it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from solitaire_env.env import SolitaireEnv
from solitaire_env.transcripts import parse_transcript
from tests.browser.conftest import OpenPage
from tests.browser.reading import drawn, moves, pile, ready, top
from tests.recorded import recorded_game

pytestmark = pytest.mark.external


def says(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.locator("#status")).to_have_text(text)


def almost_won(home: str, left: int = 1) -> str:
    """A link to a game of Eights Down that some moves win."""
    return f"{home}?game=eights-down&deal=132#moves={','.join(recorded_game('eights-down').actions[:-left])}"


def new_game(page: Page, game: str, deal: str = "") -> None:
    page.locator("#open-new").click()
    page.locator(f"#game [value='{game}']").check()
    page.locator("#deal").fill(deal)
    page.locator("#deal").press("Enter")
    expect(page.locator("#new-game")).to_be_hidden()


# ------------------------------------------------------------------------------------- policies


def test_a_new_game_chooses_its_own_best_policy(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=klondike&deal=7"))
    expect(page.locator("#policy")).to_have_value("shipped")
    for game, name in (("eights-down", "neural network"), ("yukon", "neural network for all games")):
        page.locator("#policy").select_option("linear")
        new_game(page, game)
        expect(page.locator("#policy option:checked")).to_have_text(name)


# ------------------------------------------------------------------------------ games are kept


def test_every_deal_keeps_its_own_game(home: str, browser: Browser) -> None:
    """By its link, in another tab, by Back and Forward, and on a reload."""
    context = browser.new_context(reduced_motion="reduce")
    page, other = context.new_page(), context.new_page()
    page.goto(f"{home}?game=busy-aces&deal=7")
    ready(page)
    for number in range(1, 4):
        page.keyboard.press("d")
        moves(page, number)
    first = page.url
    new_game(page, "klondike", "5")
    moves(page, 0)
    page.keyboard.press("d")
    moves(page, 1)
    second = page.url
    page.go_back()
    moves(page, 3)
    expect(page.locator("h1")).to_have_text("Busy Aces, deal 7")
    page.go_forward()
    moves(page, 1)
    expect(page.locator("h1")).to_have_text("Klondike, deal 5")
    page.reload()
    moves(page, 1)
    for url, number in ((first, 3), (second, 1)):
        other.goto(url)
        moves(other, number)
    other.keyboard.press("d")
    moves(other, 2)
    page.goto(first)
    moves(page, 3)
    page.goto(home)
    expect(page.locator("h1")).to_have_text("Busy Aces, deal 7")
    context.close()


def test_enter_in_the_form_deals_another_deal(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=busy-aces&deal=7"))
    page.keyboard.press("d")
    moves(page, 1)
    page.locator("#open-new").click()
    page.locator("#find").press("Enter")
    moves(page, 0)
    expect(page.locator("h1")).to_have_text(re.compile("Busy Aces, deal [0-9]+"))
    assert "deal=7&" not in f"{page.url}&"
    expect(page.locator("#statistics tr").first).to_have_text("Games played0")
    page.go_back()
    moves(page, 1)


def test_a_deal_counts_once(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(almost_won(home)))
    for _ in range(2):
        page.locator("#finish").click()
        expect(page.locator("#status")).to_contain_text("Won, in")
        expect(page.locator("#statistics tr").nth(1)).to_have_text("Won1, 100 %")
        page.locator("#close-won").click()
        page.keyboard.press("u")
        page.reload()
        ready(page)
    page.locator("#restart").click()
    expect(page.locator("#give-up")).to_be_disabled()
    new_game(page, "eights-down")
    page.locator("#board .playable").last.dblclick()
    new_game(page, "eights-down", "5")
    page.locator("#board .playable").first.click()
    expect(page.locator("#statistics tr").first).to_have_text("Games played1")
    expect(page.locator("#statistics tr").nth(2)).to_have_text("Won in a row1, at most 1")


@pytest.mark.parametrize("how", ["reload", "link", "undo"])
def test_a_game_that_a_policy_helped_stays_marked(home: str, open_page: OpenPage, how: str) -> None:
    page = ready(open_page(almost_won(home, 3)))
    page.locator("#one").click()
    moves(page, len(recorded_game("eights-down").actions) - 2)
    if how == "reload":
        page.reload()
    elif how == "link":
        page.evaluate("() => { navigator.clipboard.writeText = (text) => Promise.reject() }")
        page.locator("#share").click()
        link = page.locator("#status").inner_text().removeprefix("The link to this position: ")
        assert link.endswith("&by=shipped")
        page = open_page(link)
    else:
        page.keyboard.press("u")
    ready(page).locator("#finish").click()
    expect(page.locator("#status")).to_contain_text("Won, in")
    expect(page.locator("#statistics tr").first).to_have_text("Games played0")
    with page.expect_download() as saved:
        page.locator("#save").click()
    assert parse_transcript(saved.value.path().read_text()).policy == "human with shipped"


# --------------------------------------------------------------------------------------- dragging

SEND = """(card, [type, id, x, y, more]) => card.dispatchEvent(new PointerEvent(type, {
    bubbles: true, pointerId: id, isPrimary: id === 1, clientX: x, clientY: y, buttons: 1, ...more }))"""


def test_a_second_finger_and_a_lost_release_leave_no_card_on_the_screen(
    home: str, open_page: OpenPage
) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=132"))
    card, other = top(page, "t4"), top(page, "t1")
    box = card.bounding_box()
    x, y = box["x"] + 9, box["y"] + 9

    def send(locator: object, kind: str, pointer: int, by: int = 0, **more: object) -> None:
        locator.evaluate(SEND, [kind, pointer, x + by, y + by, {"pointerType": "touch", **more}])  # type: ignore[attr-defined]

    send(card, "pointerdown", 1)
    send(card, "pointermove", 1, 30)
    expect(page.locator(".dragged")).to_have_count(1)
    send(other, "pointerdown", 2)
    send(other, "pointermove", 2, 60)
    send(other, "pointerup", 2, 60)
    expect(page.locator(".dragged")).to_have_count(1)
    send(card, "pointercancel", 1)
    expect(page.locator(".dragged, .picked, .over")).to_have_count(0)
    # The release of the first drag is lost.
    send(card, "pointerdown", 1)
    send(card, "pointermove", 1, 30)
    send(card, "pointerdown", 1)
    expect(page.locator(".dragged")).to_have_count(0)
    send(card, "pointermove", 1, 30)
    page.evaluate("() => dispatchEvent(new Event('blur'))")
    expect(page.locator(".dragged")).to_have_count(0)
    send(card, "pointerdown", 1, pointerType="mouse")
    send(card, "pointermove", 1, 30, pointerType="mouse")
    send(card, "pointermove", 1, 40, pointerType="mouse", buttons=0)
    expect(page.locator(".dragged, .picked, .over")).to_have_count(0)
    moves(page, 0)


def test_cards_that_cannot_move_are_lifted_and_spring_back_with_the_reason(
    home: str, open_page: OpenPage
) -> None:
    page = ready(open_page(f"{home}?game=forty-thieves&deal=7"))
    stuck = page.locator("#board .pile-t .card:not(.playable)").first
    before = drawn(page)
    stuck.hover(position={"x": 5, "y": 5})
    page.mouse.down()
    box = top(page, "t10").bounding_box()
    page.mouse.move(box["x"] + 9, box["y"] + 9, steps=3)
    expect(page.locator(".dragged .card")).to_have_count(4)
    page.mouse.up()
    expect(page.locator(".dragged, .picked")).to_have_count(0)
    says(page, re.compile("^The .* cannot go onto the .*Building: .*Moves: one card at a time"))
    assert drawn(page) == before


# --------------------------------------------------------------------------------------- the end


def test_finish_is_offered_as_soon_as_all_cards_are_known_and_the_rest_follows(
    home: str, open_page: OpenPage
) -> None:
    """With draws between the moves home."""
    env = SolitaireEnv("klondike", on_invalid="raise")
    env.reset(options={"deal": 5})
    line = solve_line("klondike", 5)
    hidden = []
    for text in line:
        hidden.append("(" in env.position())
        env.step(env.parse_action(text))
    page = open_page(f"{home}?game=klondike&deal=5#moves={','.join(line)}")
    moves(page, len(line))
    page.locator("#line button").nth(0).click()
    expect(page.locator("#finish")).to_be_hidden()
    first = next(number for number in range(len(line)) if not any(hidden[number:]))
    known = max(first, seen_at(line))
    page.locator("#line button").nth(known - 1).click()
    expect(page.locator("#finish")).to_be_visible()
    assert any(text[-1] != "f" for text in line[known:]), "no draw is left"
    page.locator("#finish").click()
    expect(page.locator("#status")).to_contain_text("Won, in", timeout=60_000)


def solve_line(game: str, deal: int) -> list[str]:
    from solitaire_env import solve

    found = solve(game, deal, seconds=60)
    assert found.status == "won"
    return list(found.texts)


def seen_at(line: list[str]) -> int:
    """Number of moves after which the stock has been dealt through once."""
    return line.index("redeal") + 1 if "redeal" in line else len(line)


def test_after_a_win_the_focus_is_on_the_next_deal(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(almost_won(home)))
    page.keyboard.press("ArrowRight")
    page.locator("#finish").click()
    expect(page.locator("#next")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Eights Down, deal 133")


# --------------------------------------------------------------------------------------- the page

INSIDE = """() => [...document.querySelectorAll(".tools button, .message button")]
    .filter((button) => button.offsetParent)
    .map((button) => [button.id, button.getBoundingClientRect()])
    .filter(([, box]) => box.left < 0 || box.right > innerWidth || box.bottom > innerHeight)
    .map(([id]) => id)"""


def test_every_control_is_inside_the_screen_of_a_phone(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(almost_won(home)))
    for width in (320, 360, 390, 412, 430):
        page.set_viewport_size({"width": width, "height": 740})
        expect(page.locator("#finish")).to_be_visible()
        assert page.evaluate(INSIDE) == [], width
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_long_panels_do_not_scroll_the_page_of_a_desktop(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(almost_won(home), width=1366, height=768))
    page.locator("#games").fill("1")
    page.locator("#measure").click()
    expect(page.locator("#measure")).to_be_enabled(timeout=60_000)
    assert page.evaluate("document.documentElement.scrollHeight - innerHeight") <= 0


def test_a_wrong_link_names_the_nearest_games_and_offers_one(home: str, open_page: OpenPage) -> None:
    for wrong, nearest in (
        ("klondyke", "Klondike"),
        ("Free Cell", "FreeCell"),
        ("fortythieves", "Forty Thieves"),
        ("Eight Off", "Eights Down"),
    ):
        page = open_page(f"{home}?game={wrong}")
        expect(page.locator("#status.error")).to_contain_text(
            f"There is no game '{wrong}'. The nearest: {nearest}, "
        )
        page.locator("#nearest").click()
        expect(page.locator("h1")).to_contain_text(f"{nearest}, deal ")


def test_a_slow_network_shows_that_something_loads(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(home))
    # The files that it keeps would be quick.
    page.evaluate("navigator.serviceWorker.ready.then((worker) => worker.unregister())")
    page.route("**/engine.wasm", lambda route: page.wait_for_timeout(300) or route.fallback())  # type: ignore[func-returns-value]
    page.goto(f"{home}?game=klondike&deal=7", wait_until="commit")
    says(page, "Loading ...")
    says(page, "Your move.")


def test_undo_works_on_keyboards_with_another_alphabet(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=busy-aces&deal=7"))
    press = """([key, code, ctrlKey]) => document.body.dispatchEvent(
        new KeyboardEvent("keydown", { key, code, ctrlKey, bubbles: true, cancelable: true }))"""
    for key, code, control, number in (
        ("в", "KeyD", False, 1), ("в", "KeyD", False, 2), ("я", "KeyZ", True, 1), ("н", "KeyY", True, 2),
        ("ш", "KeyU", False, 1), ("к", "KeyR", False, 2), ("z", "KeyY", True, 1),
    ):  # fmt: skip
        page.evaluate(press, [key, code, control])
        moves(page, number)


def test_a_newcomer_reads_words_of_card_players(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=132"))
    expect(page.locator("#labels")).not_to_be_checked()
    top(page, "t7").dblclick()
    says(page, "Ace of Hearts home, from pile 7.")
    page.locator("#hint").click()
    page.locator("#games").fill("1")
    page.locator("#measure").click()
    expect(page.locator("#measure")).to_be_enabled(timeout=60_000)
    text = page.locator("body").inner_text()
    assert not re.search(r"deterministic|Value \d|shipped|greedy|\b[2-9TJQKA][CDHS]\b", text), text
    assert pile(page, "t7").count() == 1


OVER = """() => {
    const number = document.querySelector(".pile-waste .number").getBoundingClientRect();
    return [...document.querySelectorAll("#board .card, #board .base")].filter((card) => {
        const box = card.getBoundingClientRect();
        return box.left < number.right - 1 && box.right > number.left + 1 && box.top < number.bottom - 1
            && box.bottom > number.top + 1;
    }).length;
}"""


WIDER = """() => {
    const frame = document.querySelector(".board-frame");
    return frame.scrollWidth - frame.clientWidth;
}"""


@pytest.mark.parametrize("game", ["klondike", "forty-thieves", "eighty-thieves", "double-klondike"])
def test_the_counter_of_the_waste_is_beside_its_cards(home: str, open_page: OpenPage, game: str) -> None:
    page = ready(open_page(f"{home}?game={game}&deal=7"))
    for number in range(1, 13):
        page.keyboard.press("d")
        moves(page, number)
    for width, height in ((320, 640), (390, 844), (812, 375), (1366, 768)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate(OVER) == 0, (game, width)
        assert page.evaluate(WIDER) <= 0, (game, width)


@pytest.mark.parametrize("media", [{"forced_colors": "active"}, {"media": "print"}])
def test_cards_are_readable_with_forced_colors_and_on_paper(
    home: str, open_page: OpenPage, media: dict[str, str]
) -> None:
    page = ready(open_page(f"{home}?game=klondike&deal=7"))
    page.emulate_media(**media)  # type: ignore[arg-type]
    style = """(card) => { const { borderTopStyle, borderTopWidth } = getComputedStyle(card);
        return [borderTopStyle, parseFloat(borderTopWidth) >= 1] }"""
    for card in (top(page, "t1"), top(page, "stock")):
        assert card.evaluate(style) == ["solid", True]
    expect(page.locator(".side")).to_be_visible(visible="forced_colors" in media)
    expect(page.locator(".tools")).to_be_visible(visible="forced_colors" in media)
