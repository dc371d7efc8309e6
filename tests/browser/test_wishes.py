"""What players ask for: popular games, one tap, cards that go home by themselves, times, looks."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from solitaire_env import SolitaireEnv
from solitaire_env.core.layout import action_layout, make_rules
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.evaluation.runner import Runner
from solitaire_env.loading import load_policy
from solitaire_env.move_features.autoplay import autoplay_safe_moves, has_safe_moves
from solitaire_env.notation import parse_position
from solitaire_env.play.page_data import MAX_TRIED
from solitaire_env.splits import split_deals
from solitaire_env.variants import POPULAR, get_variant
from tests.browser.conftest import SCREENSHOTS, OpenPage
from tests.browser.playing import choose_targets
from tests.browser.reading import drawn, moves, pile, ready, top
from tests.browser.test_layout import fits
from tests.recorded import recorded_game

pytestmark = pytest.mark.external

WITHOUT_LEVELS = "eighty-thieves"


def test_the_page_opens_with_klondike_and_lists_popular_games_first(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(home))
    expect(page.locator("h1")).to_have_text(re.compile(r"Klondike, deal \d{1,6}$"))
    page.locator("#open-new").click()
    expect(page.locator("#game .group").first).to_have_text(f"Popular, {len(POPULAR)}")
    titles = page.locator("#game label").all_inner_texts()
    assert titles[: len(POPULAR)] == [get_variant(name).title for name in POPULAR]
    assert len(titles) == len(set(titles))


# ------------------------------------------------------------------------------------ stuck games


def played_line(name: str, deal: int) -> list[str]:
    """The moves of the simple rules, without the last one, after which they gave up."""
    variant = get_variant(name)
    spec = GameSpec(variant, Settings(max_episode_steps=400))
    (game,) = chain(*Runner(load_policy("greedy", variant), spec, num_envs=1, record=True).play([deal]))
    env = SolitaireEnv(variant)
    env.reset(options={"deal": deal})
    line = []
    for move in game.moves[:-1]:
        line.append(env.action_text(move.action))
        env.step(move.action)
    return line


def changes_nothing(env: SolitaireEnv, known: bool) -> bool:
    """The slow way to find out whether all moves of a game change nothing."""

    def progress(env: SolitaireEnv) -> tuple[int, int]:
        text = env.position()
        position = parse_position(text, env.variant)
        hidden = len(position.stock) + len(position.waste) + text.count("(")
        return sum(chain(*position.foundations)), -hidden

    if not known or not env.legal_actions():
        return False
    home, hidden = progress(env)
    reached, texts, tried = [env], {env.position()}, 0
    for here in reached:
        for action in here.legal_actions():
            tried += 1
            after = here.clone()
            after.step(action)
            now_home, now_hidden = progress(after)
            if tried > MAX_TRIED or now_home > home or now_hidden > hidden:
                return False
            if after.position() not in texts:
                texts.add(after.position())
                reached.append(after)
    return True


SPENT = """async ([game, deal, line, stops]) => {
    const { openSession } = await import(new URL("engine/engine.js", location));
    const session = (await openSession(game)).start(deal);
    return stops.map((move, k) => {
        session.playLine(line.slice(stops[k - 1] ?? 0, move));
        const row = String(session.cards.row);
        const { spent } = session.view();
        if (String(session.cards.row) !== row) throw new Error("the position has changed");
        return spent;
    });
}"""


@pytest.mark.parametrize(
    ("name", "deal"),
    [
        ("klondike", 0),
        ("klondike-draw-3", 3),
        ("klondike-draw-3", 10),
        ("thumb-and-pouch", 5),
        ("whitehead", 8),
    ],
)
def test_a_game_whose_moves_change_nothing_is_stuck(
    home: str, open_page: OpenPage, name: str, deal: int
) -> None:
    line = played_line(name, deal)
    stops = sorted({*range(0, len(line), 9), len(line) - 1, len(line)})
    env = SolitaireEnv(name, on_invalid="raise", max_episode_steps=1000)
    env.reset(options={"deal": deal})
    known, wanted = False, []
    for number in range(len(line) + 1):
        known = known or not parse_position(env.position(), env.variant).stock
        if number in stops:
            wanted.append(changes_nothing(env, known))
        if number < len(line):
            env.step(env.parse_action(line[number]))
    assert wanted[-1] and not wanted[0]
    page = open_page(f"{home}?game={name}&deal=1")
    assert page.evaluate(SPENT, [name, str(deal), line, stops]) == wanted


def test_a_stuck_game_offers_undo_restart_and_a_new_deal(home: str, open_page: OpenPage) -> None:
    line = played_line("klondike", 0)
    address = f"{home}?game=klondike&deal=0#moves={','.join(line)}"
    page = ready(open_page(address, width=390, height=740))
    expect(page.locator("#ended")).to_be_visible()
    expect(page.locator("#status")).to_have_text("Stuck: no move helps.")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.keyboard.press("d")
    moves(page, len(line) + 1)
    expect(page.locator("#status")).to_have_text("Stuck: no move helps.")
    page.locator("#back").click()
    moves(page, len(line))
    page.locator("#over").click()
    moves(page, 0)
    expect(page.locator("#ended")).to_be_hidden()
    page.locator("#line button").last.click()
    page.locator("#other").click()
    expect(page.locator("h1")).to_have_text(re.compile(r"Klondike, deal [1-9]\d*$"))
    moves(page, 0)


# ---------------------------------------------------------------------------------------- one tap

BEST = """async () => {
    const { table } = await import(new URL("table.js", location));
    const { legal, piles } = table.game;
    const worth = (name) => (name[0] === "f" ? 0 : name[0] === "c" ? 3 : piles[name] ? 1 : 2);
    const best = {};
    for (const { source, targets: [target], count, exact } of legal) {
        if (/^(s|f)/.test(source) || (exact && count > 1)) continue;
        best[source] = Math.min(best[source] ?? 3, worth(target));
    }
    return best;
}"""
PLACE = """async () => {
    const { table } = await import(new URL("table.js", location));
    const { words } = table.session.played.at(-1);
    return [" home, ", " onto ", " to the empty ", " to a cell"].findIndex((place) => words.includes(place));
}"""
PLAY = """async (line) => {
    const { table, show } = await import(new URL("table.js", location));
    table.session.goTo(0);
    table.session.playLine(line);
    show("jump");
}"""


@pytest.mark.parametrize(
    ("name", "deal"), [("klondike", 0), ("eights-down", 7), ("freecell", 7), ("yukon", 7)]
)
@pytest.mark.parametrize("way", ["click", "Enter"])
def test_one_tap_moves_a_card_to_its_best_place(
    home: str, open_page: OpenPage, name: str, deal: int, way: str
) -> None:
    line = played_line(name, deal)
    page = ready(open_page(f"{home}?game={name}&deal={deal}"))
    for number in range(0, min(len(line), 60), 10):
        page.evaluate(PLAY, line[:number])
        moves(page, number)
        for source, best in page.evaluate(BEST).items():
            if way == "click":
                top(page, source).click(position={"x": 5, "y": 5})
            else:
                top(page, source).press("Enter")
            moves(page, number + 1)
            assert page.evaluate(PLACE) == best, (number, source)
            page.keyboard.press("u")
            moves(page, number)


def test_a_double_click_moves_one_card(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=freecell&deal=7"))
    source = next(name for name in page.evaluate(BEST) if name[0] == "t")
    top(page, source).dblclick()
    moves(page, 1)
    page.keyboard.press("u")
    moves(page, 0)
    expect(page.locator("#redo")).to_be_enabled()


def test_space_or_an_option_lets_the_player_choose_the_target(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=eights-down&deal=132"))
    expect(page.locator("#taps")).to_be_checked()
    before = drawn(page)
    top(page, "t4").press("Space")
    expect(pile(page, "t3")).to_have_class(re.compile("target"))
    top(page, "t4").press("Space")
    expect(page.locator(".target")).to_have_count(0)
    top(page, "t4").press("Space")
    top(page, "t3").click()
    moves(page, 1)
    page.keyboard.press("u")
    choose_targets(page)
    page.reload()
    expect(ready(page).locator("#taps")).not_to_be_checked()
    top(page, "t4").click()
    expect(pile(page, "t3")).to_have_class(re.compile("target"))
    assert drawn(page) == before


# ------------------------------------------------------------------- cards go home by themselves

HOME = """async ([game, deal, line]) => {
    const { openSession } = await import(new URL("engine/engine.js", location));
    const session = (await openSession(game)).start(deal);
    return [null, ...line].map((move) => {
        if (move) session.play(move);
        return [session.homeMove({ safe: false }) ?? null, session.homeMove({ safe: true }) ?? null];
    });
}"""


@pytest.mark.parametrize(
    "name", ["klondike", "eights-down", "seahaven-towers", "forty-thieves", "penguin", "number-ten"]
)
def test_the_cards_that_go_home_by_themselves_are_those_of_the_engine(
    home: str, open_page: OpenPage, name: str
) -> None:
    line = played_line(name, 7)
    env = SolitaireEnv(name, on_invalid="raise", max_episode_steps=1000)
    env.reset(options={"deal": 7})
    rules, layout = make_rules(env.variant), action_layout(env.variant)
    wanted = []
    for text in (*line, None):
        texts = [env.action_text(a) for a in env.legal_actions() if layout.decode(a).kind == "home"]
        row = np.array([env.get_state()["row"]], dtype=np.int8)
        [safe] = autoplay_safe_moves(rules, row, env.action_masks()[None])
        can = has_safe_moves(env.variant) and safe >= 0
        wanted.append([texts[0] if texts else None, env.action_text(int(safe)) if can else None])
        if text:
            env.step(env.parse_action(text))
    page = open_page(f"{home}?game={name}&deal=1")
    found = page.evaluate(HOME, [name, "7", line])
    assert found == wanted
    assert any(any_home for any_home, _ in wanted)
    assert any(safe for _, safe in wanted) == has_safe_moves(env.variant)


@pytest.mark.parametrize("which", ["off", "safe", "all"])
def test_cards_go_home_after_a_move_as_the_option_says(home: str, open_page: OpenPage, which: str) -> None:
    """Undo takes back one of them, and none of them goes again."""
    page = ready(open_page(f"{home}?game=eights-down&deal=132"))
    page.locator("#home").select_option(which)
    line = played_line("eights-down", 132)
    homes = [text.endswith(">f") for text in line]
    number = next(k for k in range(1, len(line)) if not homes[k] and homes[k + 1])
    page.evaluate(PLAY, line[:number])
    page.evaluate(ONE, line[number])
    left = {"off": None, "safe": 1, "all": 0}[which]
    if left is None:
        moves(page, number + 1)
        page.wait_for_timeout(300)
        moves(page, number + 1)
        return
    assert page.evaluate(NONE_LEFT, left)
    gone = int(page.locator("#board").get_attribute("data-moves") or 0)
    assert gone > number + 1
    page.keyboard.press("u")
    moves(page, gone - 1)
    page.wait_for_timeout(300)
    moves(page, gone - 1)
    page.reload()
    expect(ready(page).locator("#home")).to_have_value(which)


ONE = """async (action) => {
    const { inTurn, playMove } = await import(new URL("table.js", location));
    await inTurn(() => playMove({ action }));
}"""
NONE_LEFT = """async (safe) => {
    const { table } = await import(new URL("table.js", location));
    const isLeft = () => table.session.homeMove({ safe: Boolean(safe) }) !== undefined;
    for (let k = 0; k < 1000 && isLeft(); k += 1) await new Promise((resolve) => setTimeout(resolve, 20));
    return !isLeft();
}"""


def test_a_card_that_is_taken_back_stays(home: str, open_page: OpenPage) -> None:
    line = played_line("klondike", 0)
    page = ready(open_page(f"{home}?game=klondike&deal=0#moves={','.join(line)}"))
    page.locator("#home").select_option("all")
    back = next(move["action"] for move in page.evaluate(LEGAL) if move["source"][0] == "f")
    page.evaluate(ONE, back)
    moves(page, len(line) + 1)
    page.wait_for_timeout(300)
    moves(page, len(line) + 1)
    page.keyboard.press("d")
    moves(page, len(line) + 3)


LEGAL = """async () => {
    const { table } = await import(new URL("table.js", location));
    return table.game.legal;
}"""


# ------------------------------------------------------------------------------------------ levels


def test_a_random_deal_is_of_the_chosen_level(home: str, open_page: OpenPage) -> None:
    """Games without levels, and house rules, offer any deal."""
    page = ready(open_page(f"{home}?game=klondike&deal=7"))
    page.locator("#open-new").click()
    level = page.locator("#level")
    for name, split in (("winnable", "winnable"), ("easy", "dev-easy"), ("hard", "dev-hard")):
        level.select_option(name)
        page.locator("#random").click()
        expect(page.locator("#new-game")).to_be_hidden()
        number = int(page.locator("h1").inner_text().rpartition(" ")[2])
        assert number in split_deals(split, "klondike")
        page.locator("#open-new").click()
    expect(level).to_have_value("hard")
    page.locator("#deal").fill("12")  # a deal that is named has no level to choose
    expect(level).to_be_disabled()
    page.locator("#deal").fill("")
    expect(level).to_be_enabled()
    page.locator(f"#game [value={WITHOUT_LEVELS}]").check()
    expect(level).to_be_disabled()
    expect(level).to_have_value("")
    page.locator("#deal").fill("3")
    page.locator("#new").press("Enter")
    expect(page.locator("h1")).to_have_text(f"{get_variant(WITHOUT_LEVELS).title}, deal 3")


# --------------------------------------------------------------------------------- deal of the day


def test_the_deal_of_the_day_is_the_same_for_all(home: str, open_page: OpenPage) -> None:
    """Its link continues the game of the day; the day is that of UTC."""
    today = "20270301"
    page = open_page(f"{home}?game=yukon&deal=7", timezone_id="Pacific/Auckland")
    page.clock.set_fixed_time("2027-03-01T12:30:00Z")  # 2 March in Auckland
    for query, title in (("?daily", "Klondike"), ("?daily&game=freecell", "FreeCell")):
        page.goto(f"{home}{query}")
        expect(page.locator("h1")).to_have_text(f"{title}, deal {today}")
        assert page.url.endswith(f"&deal={today}")
    board = drawn(page)
    page.evaluate(ONE, page.evaluate(LEGAL)[0]["action"])
    moves(page, 1)
    page.goto(f"{home}?daily&game=freecell")
    moves(page, 1)
    other = open_page(f"{home}?game=yukon&deal=7", timezone_id="America/Los_Angeles")
    other.clock.set_fixed_time("2027-03-01T00:30:00Z")  # 28 February in Los Angeles
    other.locator("#open-new").click()
    other.locator("#game [value=freecell]").check()
    other.locator("#daily").click()
    expect(other.locator("h1")).to_have_text(f"FreeCell, deal {today}")
    assert drawn(other) == board


# ------------------------------------------------------------------------------- time and moves


def test_time_and_moves_are_shown_kept_and_can_be_hidden(home: str, open_page: OpenPage) -> None:
    line = recorded_game("eights-down").actions
    page = open_page(f"{home}?game=busy-aces&deal=7")
    page.clock.install(time=0)
    page.goto(f"{home}?game=busy-aces&deal=7")
    clock = ready(page).locator("#clock")
    page.clock.run_for(5000)
    expect(clock).to_have_text("0:00, 0 moves. ")  # before the first move
    page.keyboard.press("d")
    page.clock.run_for(1000)
    moves(page, 1)
    expect(clock).to_have_text(re.compile("0:0[12], 1 move. "))
    page.clock.run_for(3725_000)
    expect(clock).to_have_text(re.compile("1:02:0[67], 1 move. "))
    page.evaluate("Object.defineProperty(document, 'hidden', { configurable: true, value: true })")
    page.clock.run_for(60_000)
    page.evaluate("delete document.hidden")
    page.keyboard.press("d")
    moves(page, 2)
    page.reload()
    expect(clock).to_have_text(re.compile("1:02:0[6789], 2 moves. "))
    page.goto(f"{home}?game=eights-down&deal=132#moves={','.join(line[:-1])}")
    expect(clock).to_have_text(f"0:00, {len(line) - 1} moves. ")
    page.locator("#time").uncheck()
    expect(clock).to_be_hidden()
    page.locator("#time").check()
    page.evaluate(ONE, line[-1])
    expect(page.locator("#won-title")).to_have_text(re.compile(f"Won, in {len(line)} moves and 0:0[0-9]"))
    said = clock.inner_text()
    page.clock.run_for(5000)
    assert clock.inner_text() == said  # the game is over


# ------------------------------------------------------------------------------------ statistics


def test_statistics_are_exported_and_imported(home: str, open_page: OpenPage, tmp_path: Path) -> None:
    line = recorded_game("eights-down").actions
    page = ready(open_page(f"{home}?game=eights-down&deal=132#moves={','.join(line[:-1])}"))
    page.evaluate(ONE, line[-1])
    expect(page.locator("#statistics tr").nth(1)).to_have_text("Won1, 100 %")
    with page.expect_download() as saved:
        page.locator("#export").click()
    assert saved.value.suggested_filename == "solitaire-statistics.json"
    path = tmp_path / "statistics.json"
    saved.value.save_as(path)
    other = ready(open_page(f"{home}?game=eights-down&deal=5", refused=True))
    own = other.locator("#statistics tr")
    expect(own.first).to_have_text("Games played0")
    wrong = tmp_path / "wrong.json"
    good = json.loads(path.read_text())["eights-down"]
    for text, reason in (
        ("no json", "is not valid JSON"),
        ("[]", "it has no games"),
        (json.dumps({"x": {**good, "won": -1}}), "won of x is -1, allowed: a whole number from 0"),
        (
            json.dumps({"x": {**good, "moves": "1"}}),
            'moves of x is "1", allowed: a whole number from 0, or null',
        ),
        (json.dumps({"eights-down": {**good, "deals": [1]}}), "deals of eights-down is no list of texts"),
        (json.dumps({"x": None}), "played of x is undefined"),
    ):
        wrong.write_text(text)
        other.locator("#import-file").set_input_files(wrong)
        expect(other.locator("#status.error")).to_contain_text("wrong.json cannot be imported: ")
        expect(other.locator("#status.error")).to_contain_text(reason)
    expect(own.first).to_have_text("Games played0")
    for said in ("1 game; of 0,", "0 games; of 1,"):
        other.locator("#import-file").set_input_files(path)
        expect(other.locator("#status")).to_contain_text(f"Imported the statistics of {said}")
        expect(own.nth(1)).to_have_text("Won1, 100 %")
    # Figures that are newer here are not lost.
    other.keyboard.press("Escape")
    other.evaluate(ONE, other.evaluate(LEGAL)[0]["action"])
    other.locator("#give-up").click()
    expect(own.first).to_have_text("Games played2")
    other.locator("#import-file").set_input_files(path)
    expect(other.locator("#status")).to_contain_text("Imported the statistics of 0 games")
    expect(own.first).to_have_text("Games played2")


# ----------------------------------------------------------------------------------------- looks

OVERLAPS = """() => {
    const box = (name) => document.querySelector(name).getBoundingClientRect();
    const [stock, foundation, ...waste] = [
        box(".pile-stock"), box(".foundations"),
        ...[...document.querySelectorAll(".pile-waste > *")].map((part) => part.getBoundingClientRect()),
    ];
    const away = (one, other) => one.right <= other.left + 0.5 || one.left >= other.right - 0.5
        || one.bottom <= other.top + 0.5 || one.top >= other.bottom - 0.5;
    return {
        right: stock.left + stock.right > box("#board").left + box("#board").right,
        overlaps: waste.filter((part) => !away(part, stock) || !away(part, foundation)).length,
        outside: waste.filter((part) => part.left < 0 || part.right > innerWidth).length,
    };
}"""


@pytest.mark.parametrize("name", ["klondike", "forty-thieves", "triple-line"])
def test_the_stock_can_be_on_the_right(home: str, open_page: OpenPage, name: str) -> None:
    page = ready(open_page(f"{home}?game={name}&deal=7"))
    for number in range(1, 9):
        page.keyboard.press("d")
        moves(page, number)
    for mirrored in (False, True):
        page.locator("#mirrored").set_checked(mirrored)
        for width, height in ((1366, 768), (820, 1180), (390, 740), (812, 375)):
            page.set_viewport_size({"width": width, "height": height})
            found = fits(page, f"{name}, {width}") and page.evaluate(OVERLAPS)
            page.screenshot(path=SCREENSHOTS / f"mirrored-{mirrored}-{name}-{width}.png")
            assert not found["overlaps"] and not found["outside"], (mirrored, width, found)
            assert found["right"] == mirrored, (width, found)
    page.locator(".pile-stock .base").click(position={"x": 5, "y": 5})
    moves(page, 9)
    page.reload()
    expect(ready(page).locator("body.mirrored")).to_have_count(1)


def test_felts_and_backs_differ_and_are_kept(home: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{home}?game=klondike&deal=7"))
    page.locator("#labels").check()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for option, part in (("felt", ".board-frame"), ("backs", ".card.down"), ("backs", ".base.back")):
            looks = set()
            names = page.locator(f"#{option} option").evaluate_all("(all) => all.map(({ value }) => value)")
            for name in names:
                page.locator(f"#{option}").select_option(name)
                looks.add(page.locator(part).first.evaluate("(own) => getComputedStyle(own).background"))
                result = Axe().run(page)
                assert result.violations_count == 0, result.generate_report()
            assert len(looks) == len(names) == 3
    page.reload()
    expect(ready(page).locator(f"body.felt-{page.locator('#felt').input_value()}")).to_have_count(1)
    expect(page.locator("#backs")).to_have_value("dots")
    expect(page.locator("#felt")).to_have_value("gray")
