"""The pages without a server of ours: files in a folder, served as they are."""

from __future__ import annotations

import gzip
import json
import random
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from solitaire_env import SolitaireEnv, solve
from solitaire_env.core.cards import DOWN
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.evaluation.runner import Runner, random_stream
from solitaire_env.loading import load_policy
from solitaire_env.notation import action_text, parse_position
from solitaire_env.play.page_data import rules_text
from solitaire_env.play.piles import board, places, start_of, targets
from solitaire_env.play.server import Server, listen
from solitaire_env.play.session import new_session
from solitaire_env.play.site import write_site
from solitaire_env.policies.shipped import shipped_games
from solitaire_env.registration import step_limit
from solitaire_env.transcripts import format_transcript, parse_transcript, replay
from solitaire_env.variants import get_variant, known_variants
from tests.browser.conftest import OpenPage
from tests.browser.playing import by_click, by_keys, by_touch, choose_targets
from tests.browser.reading import drawn, expected, moves, ready
from tests.games import ONE_PER_RULE

pytestmark = pytest.mark.external
MOVES = 60
DEALS = (7, 2**62, "ms:11982", "ms:4294967299", "pysol:24")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None: ...


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a file server with the pages in a folder of it."""
    folder = tmp_path_factory.mktemp("site")
    write_site(folder / "play")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/play/"
        server.shutdown()
        thread.join()


# ------------------------------------------------------------------------------- as in Python

PLAY = """
async ([game, deal, actions]) => {
    const { openSession } = await import(new URL("engine/engine.js", location));
    const session = (await openSession(game)).start(deal);
    const seen = [];
    const look = () => seen.push([session.cards.positionText(), session.view()]);
    look();
    for (const action of actions) {
        session.play(action);
        look();
    }
    session.goTo(0);
    session.goTo(actions.length);
    return [seen, session.cards.positionText(), session.transcript()];
}
"""


def test_random_moves_in_every_game_lead_to_the_same_positions(site: str, open_page: OpenPage) -> None:
    page = open_page(site)
    rng = random.Random(0)
    for variant in known_variants():
        deal = rng.choice(DEALS if variant.ranks == 13 else DEALS[:2])
        session = new_session(variant, deal)
        env, positions, boards, legal, actions = session.env, [], [], [], []
        for _ in range(MOVES):
            position = session.position()
            positions.append(env.position())
            boards.append(board(position))
            moved = {env.action_text(action): env.moved_cards(action) for action in session.legal()}
            legal.append({text: places(position, move) for text, move in moved.items()})
            if not session.legal():
                break
            actions.append(env.action_text(rng.choice(session.legal())))
            session.play(env.parse_action(actions[-1]))
        actions = actions[: len(positions) - 1]
        session.go_to(len(actions))
        seen, last, text = page.evaluate(PLAY, [variant.name, str(deal), actions])
        assert last == positions[-1]
        assert text == format_transcript(session.transcript("human")), variant.name
        for number, (own_text, view) in enumerate(seen):
            case = f"{variant.name}, deal {deal}, move {number}"
            assert (own_text, view["piles"]) == (positions[number], boards[number]), case
            for move in view["legal"]:
                assert move.pop("exact") == ("x" in move["action"])
            assert {move.pop("action"): move for move in view["legal"]} == legal[number], case


PLAY_OUT = """
async ([game, deal, policy, uniforms]) => {
    const load = (name) => import(new URL(`engine/${name}.js`, location));
    const { openSession, weightsOf } = await load("engine");
    const { Adviser } = await load("advice");
    const { playOut } = await load("rates");
    const session = (await openSession(game)).start(deal);
    const plan = session.variant.policies.find(({ id }) => id === policy);
    const adviser = new Adviser(session, plan, await weightsOf(plan));
    const { won, home, steps, line } = playOut(session, adviser, () => uniforms.shift());
    return [won, home, steps, line];
}
"""


@pytest.mark.parametrize("policy", ["greedy", "linear", "shipped"])
def test_policies_play_the_same_games(policy: str, site: str, open_page: OpenPage) -> None:
    page = open_page(site)
    games = map(get_variant, {*shipped_games(), *ONE_PER_RULE}) if policy == "shipped" else known_variants()
    for variant in games:
        spec = GameSpec(variant, Settings(max_episode_steps=step_limit(variant)))
        runner = Runner(load_policy(policy, variant), spec, num_envs=1, record=True)
        for game in (game for ended in runner.play([0, 1] if policy == "shipped" else [2]) for game in ended):
            line = [action_text(variant, move.action) for move in game.moves]
            uniforms = random_stream(game.start, 0).random(len(line)).tolist()
            own = page.evaluate(PLAY_OUT, [variant.name, str(game.start), policy, uniforms])
            assert own == [game.won, game.cards_home, game.steps, line], f"{variant.name}, deal {game.start}"


# --------------------------------------------------------------------------------- on the page


def test_a_policy_plays_a_game_which_is_saved(site: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = ready(open_page(f"{site}?game=eights-down&deal=132"))
    page.locator("#policy").select_option("shipped")
    page.keyboard.press("h")
    expect(page.locator("#advice")).to_contain_text("neural network: ")
    page.locator("#speed").select_option("20")
    page.locator("#on").click()
    expect(page.locator("#status")).to_contain_text(re.compile("Won, in|Stuck"), timeout=60_000)
    with page.expect_download() as saved:
        page.locator("#save").click()
    transcript = parse_transcript(saved.value.path().read_text())
    assert transcript.policy == "human with shipped"
    steps = list(replay(transcript))
    with page.expect_download() as saved:
        page.locator("#replay").click()
    path = tmp_path / saved.value.suggested_filename
    saved.value.save_as(path)
    shown = open_page(path.as_uri())
    expect(shown.locator("#move")).to_have_text(f"Start of {len(steps)} moves")
    shown.locator("#last").click()
    assert drawn(shown) == drawn(page)


def test_win_rates_are_measured_in_the_page(site: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{site}?game=eights-down&deal=0"))
    page.locator("#games").fill("5")
    page.locator("#measure").click()
    expect(page.locator("#table tbody tr")).to_have_count(3)
    expect(page.locator("#table")).to_contain_text(re.compile("neural network.*[0-5]/5"))
    page.locator("#estimate").click()
    expect(page.locator("#evaluation")).to_contain_text(re.compile("wins \\d+ of 20"))


def test_an_estimate_deals_the_hidden_cards_again(site: str, open_page: OpenPage) -> None:
    """Every game of it has others, and none if the player knows all cards; the game itself stays as it is."""
    page = ready(open_page(f"{site}?game=klondike&deal=1"))
    before = drawn(page)
    seen = page.evaluate(WORLDS)
    assert len(set(map(tuple, seen))) == len(seen)
    assert len({tuple(sorted(card % DOWN for card in world)) for world in seen}) == 1
    page.locator("#estimate").click()
    expect(page.locator("#evaluation")).to_contain_text(re.compile("wins \\d+ of 20"), timeout=60_000)
    assert drawn(page) == before
    page.goto(f"{site}?game=freecell&deal=1")
    ready(page).locator("#policy").select_option("greedy")
    page.locator("#estimate").click()
    expect(page.locator("#evaluation")).to_contain_text(re.compile("wins [01] of 1 "), timeout=60_000)


WORLDS = """async () => {
    const { openSession } = await import(new URL("engine/engine.js", location));
    const session = (await openSession("klondike")).start("1");
    const board = JSON.stringify(session.cards.board());
    return [0, 1, 2, 3].map((seed) => {
        session.resample(seed);
        if (JSON.stringify(session.cards.board()) !== board) throw new Error("a seen card has changed");
        return [...session.cards.row];
    });
}"""


def test_it_opens_quickly_and_needs_few_bytes(site: str, open_page: OpenPage) -> None:
    page = open_page(site)
    page.add_init_script(
        """new MutationObserver((_, own) => {
            if (!document.querySelector(".playable")) return;
            window.opened = performance.now();
            own.disconnect();
        }).observe(document, { subtree: true, childList: true, attributes: true });"""
    )
    times = []
    for deal in range(3):
        page.goto(f"{site}?game=forty-thieves&deal={deal}")
        page.wait_for_function("window.opened")
        times.append(page.evaluate("window.opened"))
    assert min(times) <= 1000, times
    sizes = page.evaluate(
        """[...performance.getEntriesByType("resource"), ...performance.getEntriesByType("navigation")]
            .map(({ name, decodedBodySize }) => [name, decodedBodySize])"""
    )
    assert sum(size for _, size in sizes) <= 430_000, sizes
    assert any(name.endswith("engine.wasm") for name, _ in sizes)


KEPT = """async () => {
    await navigator.serviceWorker.ready;
    const isKept = () => navigator.serviceWorker.controller?.state === "activated";
    for (let k = 0; k < 1000 && !isKept(); k += 1) await new Promise((resolve) => setTimeout(resolve, 20));
    return isKept();
}"""


def test_it_plays_without_a_network_once_it_is_open(site: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{site}?game=eights-down&deal=7"))
    page.locator("#hint").click()
    expect(page.locator("#advice")).to_contain_text("neural network: ")
    assert page.evaluate(KEPT)
    page.context.set_offline(True)
    page.locator("#one").click()
    moves(page, 1)
    page.locator("#open-new").click()
    page.locator("#game [value=yukon]").check()
    page.locator("#random").click()
    expect(page.locator("h1")).to_contain_text("Yukon")
    ready(page).locator("#one").click()
    moves(page, 1)
    page.reload()
    ready(page)
    moves(page, 1)
    page.keyboard.press("u")
    moves(page, 0)


def test_what_needs_a_server_is_refused_with_a_reason(site: str, open_page: OpenPage) -> None:
    for query, reason in (
        ("game=nonsense", "There is no game 'nonsense'. The nearest: "),
        ("game=klondike&build=any+suit", "House rules need the server: python -m solitaire_env serve"),
        ("game=klondike&deal=pysol:32001", "allowed here: pysol:1 to pysol:32000"),
        ("game=klondike#variant=H4sI", "The game of this link is damaged. Copy the whole link."),
        ("game=klondike&deal=7#moves=draw,t1>f", "move 2 of the link, 't1>f': t1>f is not legal there"),
    ):
        page = open_page(f"{site}?{query}")
        expect(page.locator("#status.error")).to_contain_text(reason)


def test_axe_finds_no_fault(site: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{site}?game=eights-down&deal=7"))
    page.locator("#hint").click()
    expect(page.locator(".arrows")).to_be_visible()
    for opens in (None, "#open-rules", "#open-new"):
        if opens:
            page.locator(opens).click()
        result = Axe().run(page)
        assert result.violations_count == 0, result.generate_report()
        page.keyboard.press("Escape")


# ------------------------------------------------------------------------------ can it be won?

SOLVE = """
async ([game, deal]) => {
    const { openSession } = await import(new URL("engine/engine.js", location));
    const { Solver } = await import(new URL("engine/solver.js", location));
    const session = (await openSession(game, { search: true })).start(deal);
    const solver = new Solver(session);
    const first = solver.run(0);
    const result = solver.run(600);
    if (solver.line) session.playLine(solver.line);
    return [first, result, session.cards.status];
}
"""


@pytest.mark.parametrize(
    ("game", "deals"),
    [
        ("klondike", (0, 1, 4)), ("klondike-draw-3", (0, 1, 2)), ("eights-down", (7, 239, 251)),
        ("freecell", (5, "ms:36")), ("yukon", (1,)), ("eighty-thieves", (1_034_823,)), ("zebra", (1,)),
    ],
)  # fmt: skip
def test_the_solver_of_the_page_agrees_with_the_package(
    game: str, deals: tuple[int | str, ...], site: str, open_page: OpenPage
) -> None:
    """It can be interrupted; its lines win in the page's engine."""
    page = open_page(site)
    for deal in deals:
        status = solve(game, deal, seconds=60).status
        ended = "won" if status == "won" else "playing"
        first, *whole = page.evaluate(SOLVE, [game, str(deal)])
        assert first in ("open", status), deal
        assert whole == [status, ended], deal


def test_the_page_shows_how_a_position_is_won(site: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{site}?game=klondike&deal=1#moves=draw,draw"))
    page.locator("#can-win").click()
    expect(page.locator("#status")).to_contain_text(re.compile("Yes: in [0-9]+ moves, knowing every card."))
    expect(page.locator("#line button")).to_have_count(2)
    page.locator("#show-how").click()
    expect(page.locator("#status")).to_contain_text("Redo plays the winning moves.")
    expect(page.locator("#answer")).to_be_hidden()
    moves(page, 2)
    page.locator("#redo").click()
    moves(page, 3)
    page.locator("#line button").last.click()
    expect(page.locator("#status")).to_contain_text("Won, in ")
    assert page.evaluate("import('./table.js').then(({ table }) => table.session.player)") == (
        "human with solver"
    )


def test_the_page_proves_that_a_deal_cannot_be_won(site: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{site}?game=eights-down&deal=251"))
    page.locator("#can-win").click()
    expect(page.locator("#status")).to_have_text("No: proven.")
    page.locator("#close-answer").click()
    expect(page.locator("#can-win")).to_be_enabled()


def test_a_search_gives_hints_where_nothing_is_hidden(site: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{site}?game=eights-down&deal=7"))
    page.locator("#policy").select_option(label="search for a win")
    page.locator("#hint").click()
    expect(page.locator("#advice")).to_contain_text("search for a win: ")
    expect(page.locator("#estimate")).to_be_disabled()
    page.locator("#speed").select_option("20")
    page.locator("#on").click()
    expect(page.locator("#status")).to_contain_text("Won, in ")
    page = ready(open_page(f"{site}?game=klondike&deal=7"))
    expect(page.locator("#policy option", has_text="search for a win")).to_have_count(0)


def test_a_search_is_stopped_by_its_button_and_by_a_move(site: str, open_page: OpenPage) -> None:
    page = ready(open_page(f"{site}?game=forty-thieves&deal=3"))
    for stop, said in (
        (lambda: page.locator("#stop-search").click(), "Stopped."),
        (lambda: page.keyboard.press("d"), "Draw a card"),
    ):
        page.locator("#can-win").click()
        expect(page.locator("#can-win")).to_be_disabled()
        stop()
        expect(page.locator("#status")).to_contain_text(said)
        expect(page.locator("#can-win")).to_be_enabled()
        expect(page.locator("#answer")).to_be_hidden()
    moves(page, 1)


# --------------------------------------------------------------------------------- whole games

WON = {
    "eights-down": ("linear", 84), "seahaven-towers": ("linear", 162), "penguin": ("linear", 17),
    "bakers-game": ("greedy", 242), "russian-solitaire": ("linear", 293), "freecell": ("greedy", 171),
    "yukon": ("greedy", 154), "klondike-draw-3": ("greedy", 21), "whitehead": ("linear", 194),
    "westcliff": ("greedy", 205),
}  # fmt: skip
WAYS = {"mouse": by_click, "keys": by_keys, "touch": by_touch}


@pytest.mark.parametrize(("name", "way"), [*zip(WON, [*WAYS] * 4, strict=False)])
def test_a_whole_game_is_played(name: str, way: str, site: str, open_page: OpenPage) -> None:
    policy, deal = WON[name]
    variant = get_variant(name)
    spec = GameSpec(variant, Settings(max_episode_steps=step_limit(variant)))
    (game,) = chain(*Runner(load_policy(policy, variant), spec, num_envs=1, record=True).play([deal]))
    page = open_page(f"{site}?game={name}&deal={deal}", height=1200, has_touch=way == "touch")
    choose_targets(page)
    env = SolitaireEnv(variant, on_invalid="raise")
    env.reset(options={"deal": deal})
    for number, played in enumerate(game.moves):
        moves(page, number)
        position = parse_position(env.position(hidden=True), variant)
        move = env.moved_cards(played.action)
        env.step(played.action)
        WAYS[way](page, move._replace(source=start_of(position, move)), targets(position, move)[0])
    expect(page.locator("#won")).to_be_visible()
    expect(page.locator("#status")).to_have_text(f"Won, in {len(game.moves)} moves.")
    expect(page.locator("#statistics tr").nth(1)).to_have_text("Won1, 100 %")


# --------------------------------------------------------------------- custom games, house rules

TWO_COLORS = replace(
    get_variant("klondike"), name="two-colors", title="Two Colors", build="same color", passes=3, aliases=(),
    sources=(), differs=(), pysol_order=(),
)  # fmt: skip


@pytest.fixture
def custom(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of a server with a custom variant."""
    monkeypatch.setattr("solitaire_env.variants._ADDED", {TWO_COLORS.name: TWO_COLORS})
    with listen("127.0.0.1", 0) as listener, Server(listener) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.shutdown()
        thread.join()


PLAYED = """async () => {
    const { table } = await import(new URL("table.js", location));
    return table.session.played.map(({ text }) => text);
}"""


def copied_link(page: Page) -> str:
    """The link that the page copies."""
    page.evaluate("() => { navigator.clipboard.writeText = (text) => Promise.reject() }")
    page.locator("#share").click()
    expect(page.locator("#status")).to_contain_text("The link to this position: ")
    return page.locator("#status").inner_text().removeprefix("The link to this position: ")


def test_a_custom_game_and_house_rules_are_played_also_by_link_without_the_server(
    custom: str, site: str, open_page: OpenPage
) -> None:
    house = get_variant("eights-down").with_rules(build="any suit", moves="supermove")
    for variant, query in (
        (TWO_COLORS, "game=two-colors&deal=7"),
        (house, "game=eights-down&deal=7&build=any+suit&moves=supermove"),
        (TWO_COLORS.with_rules(spaces="any"), "game=two-colors&deal=7&spaces=any"),
    ):
        page = ready(open_page(f"{custom}?{query}"))
        session = new_session(variant, 7)
        for number in range(4):
            assert drawn(page) == expected(session.position())
            page.locator("#one").click()
            moves(page, number + 1)
            played = page.evaluate(PLAYED)
            for text in played[len(session.played) :]:
                session.play(session.env.parse_action(text))
        link = copied_link(page)
        assert len(link) < 8000
        own = ready(open_page(link.replace(custom, site)))
        moves(own, len(session.played))
        assert drawn(own) == expected(session.position())
        expect(own.locator("h1")).to_have_text(f"{variant.title}, deal 7")
        own.locator("#open-rules").click()
        expect(own.locator("#rules-text li")).to_have_text(rules_text(variant))
        own.keyboard.press("Escape")
        own.locator("#one").click()
        own.reload()  # the browser keeps the game with its moves
        expect(own.locator("#status")).to_contain_text("Continued at move")
        with own.expect_download() as saved:
            own.locator("#save").click()
        text = saved.value.path().read_text()
        assert f"build: {variant.build}\n" in text and "policy: human with " in text


def test_a_game_of_a_link_does_not_replace_a_published_one(
    site: str, custom: str, open_page: OpenPage
) -> None:
    page = ready(open_page(f"{custom}?game=two-colors&deal=7"))
    data = copied_link(page).partition("variant=")[2]
    page = ready(open_page(f"{site}?game=klondike&deal=7#variant={data}"))
    assert drawn(page) == expected(new_session(get_variant("klondike"), 7).position())
    expect(page.locator("#about")).to_contain_text("alternate color")


HOSTILE = "</script><img src=x onerror=alert(1)>"
HOSTILE_LINK = """async (title) => {
    const { gamesData, linkText } = await import(new URL("engine/engine.js", location));
    const data = await gamesData();
    const policies = [{ id: "shipped", name: "x", view: 0, file: "https://evil.example/x" }];
    const game = { ...data.games[0], ...data.details[data.games[0].name], name: "evil", title, policies };
    return linkText({ ...game, describe: [title] });
}"""


def test_a_hostile_game_in_a_link_stays_text_and_loads_nothing(site: str, open_page: OpenPage) -> None:
    """The test fails, too, if the page logs an error or sends a request to another server."""
    data = open_page(site).evaluate(HOSTILE_LINK, HOSTILE)
    page = open_page(f"{site}?game=evil&deal=7#variant={data}")
    expect(page.locator("h1")).to_have_text(f"{HOSTILE}, deal 7")
    page.keyboard.press("d")
    moves(page, 1)
    page.locator("#open-rules").click()
    expect(page.locator("#rules-text li")).to_have_text([HOSTILE])
    page.keyboard.press("Escape")
    expect(page.locator("#policy option")).to_have_count(0)
    with page.expect_download() as saved:
        page.locator("#replay").click()
    text = saved.value.path().read_text()
    assert "<img" not in text and text.count("</script>") == 2


def test_a_site_has_the_custom_games_that_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solitaire_env.variants._ADDED", {TWO_COLORS.name: TWO_COLORS})
    write_site(tmp_path)
    data = json.loads(gzip.decompress((tmp_path / "games.bin").read_bytes()))
    assert data["games"][-1]["group"] == "Custom games" and "two-colors" in data["details"]
