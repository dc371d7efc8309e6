"""Games in words: what is shown, how answers are read, rewards, and rows for the benchmark."""

import copy
import inspect
import pickle
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from typing import Any

import gymnasium as gym
import pytest

from solitaire_env import evaluate, text
from solitaire_env.benchmark import score, split_deals
from solitaire_env.core.cards import card_name
from solitaire_env.core.layout import action_layout
from solitaire_env.notation import parse_position
from solitaire_env.text import (
    BOARDS,
    CALL,
    COUNTED,
    EXAMPLES,
    KNOWN,
    MARK,
    WASTE,
    Board,
    SolitaireTool,
    TextGame,
    read_answer,
)
from solitaire_env.transcripts import parse_transcript
from tests.conftest import Refuses
from tests.games import ONE_PER_RULE, PUBLISHED

GAMES: dict[str, dict[str, Any]] = {
    "busy-aces": {},
    "freecell": {},
    "klondike": {},
    "forty-thieves": {"information": "thoughtful"},
}
"""A stock, cells and sequences, hidden cards and redeals, a known stock."""

REDEALS = [name for name, variant in PUBLISHED.items() if variant.passes != 1]

TWO_MOVES = """\
variant: freecell
foundations: C 13 D 13 H 13 S 11
cells: -- -- -- --
t1: KS
t2: QS
t3:
t4:
t5:
t6:
t7:
t8:
"""
"""The game is won in two moves."""

STUCK = """\
variant: freecell
foundations: C 7 D 7 H 7 S 7
cells: 9C 9D 9H 9S
t1: 8C TC KC
t2: 8D TD KD
t3: 8H TH KH
t4: 8S TS KS
t5: QC JC
t6: QD JD
t7: QH JH
t8: QS JS
"""


def test_the_text_shows_the_board_and_the_moves() -> None:
    assert TextGame("klondike").reset(deal=0) == (
        "stock: 24 cards\n"
        "waste:\n"
        "redeals: -\n"
        "foundations: C 0 D 0 H 0 S 0\n"
        "t1: 4C\n"
        "t2: ?? 3S\n"
        "t3: ?? ?? JD\n"
        "t4: ?? ?? ?? TC\n"
        "t5: ?? ?? ?? ?? TH\n"
        "t6: ?? ?? ?? ?? ?? JS\n"
        "t7: ?? ?? ?? ?? ?? ?? 7C\n"
        "\n"
        "Legal moves:\n"
        "draw: draw a card from the stock\n"
        "t4>t3: TC from t4 to t3, onto JD\n"
        "t5>t6: TH from t5 to t6, onto JS"
    )


def test_the_board_can_be_a_picture_and_the_moves_a_number() -> None:
    game = TextGame("klondike", board="ansi", show_moves=False)
    assert BOARDS["ansi"] in game.rules()
    shown = game.reset(deal=0)
    assert shown.startswith("Klondike: 0 of 52 cards home\n") and "\n  4C  ??  ??" in shown
    assert shown.endswith("\n\nNumber of legal moves: 3.")


@pytest.mark.parametrize("board", ["position", "ansi"])
def test_a_known_stock_is_shown(board: Board) -> None:
    game = TextGame("forty-thieves", information="thoughtful", board=board, memory=True)
    for _ in range(3):
        assert stock_line(game.reset(deal=0)) == game.env.position().splitlines()[1]
        game.step("draw")


def stock_line(shown: str) -> str | None:
    """The line of a text that lists the stock."""
    return next((line for line in shown.splitlines() if line.startswith("stock:")), None)


@pytest.mark.parametrize(
    ("name", "board"), [*((name, "position") for name in PUBLISHED), *((name, "ansi") for name in REDEALS)]
)
def test_a_game_with_memory_shows_the_cards_of_the_stock_that_were_seen(name: str, board: Board) -> None:
    """Each shown card is at its place; shown are those that lay in the waste, and no others."""
    game, random = TextGame(name, board=board, memory=True, show_moves=False), Random(name)
    variant, text, redeals = game.env.variant, game.reset(deal=3), 0
    seen = [False] * variant.stock
    """For each card of the stock whether it has been face up."""
    for _ in range(200 if variant.passes != 1 else 10):
        position = parse_position(game.env.position())
        stock = [card_name(card) if known else "??" for card, known in zip(position.stock, seen, strict=True)]
        line = None if board == "ansi" else f"stock: {len(stock)} card{'s' * (len(stock) != 1)}"
        if "??" not in stock:
            line = " ".join(["stock:", *stock]) if stock or (board == "position" and variant.stock) else None
        assert stock_line(text) == line
        moves = game.legal()
        if game.done:
            break
        turns = [move for move in ("draw", "redeal") if move in moves]
        move = turns[0] if turns and random.random() < 0.8 else random.choice(list(moves))
        text = game.step(move)[0]
        left = len(parse_position(game.env.position()).stock)
        if left > len(seen):
            redeals += 1
            seen = [True] * left
            shown = " ".join(["stock:", *map(card_name, position.waste[::-1])])
            assert move == "redeal" and stock_line(text) == shown
        del seen[left:]
    assert (redeals > 0) == (variant.passes != 1)


@pytest.mark.parametrize("name", REDEALS)
def test_a_game_starts_from_a_position_with_a_remembered_stock(name: str) -> None:
    game, other = TextGame(name, memory=True), TextGame(name, memory=True)
    game.reset(deal=3)
    while "redeal" not in game.legal():
        game.step("draw")
    game.step("redeal")
    board = game.step("draw")[0].partition("\n\n")[0]
    starts = set()
    for seed in range(3):
        text = other.reset(seed=seed, position=f"variant: {name}\n{board}")
        assert text.partition("\n\n")[0] == board
        starts.add(other.env.position())
        for line in ("stock", "waste"):
            assert f"\n{line}:" in game.env.position()
            assert lines_of(other)[line] == lines_of(game)[line]
    assert other.env.position(hidden=True) == game.env.position(hidden=True)
    assert len(starts) == (3 if game.env.variant.hides_cards else 1)


def lines_of(game: TextGame) -> dict[str, str]:
    """The lines of the full position, by name."""
    named = (line.split(":") for line in game.env.position().splitlines())
    return {name: cards for name, cards in named}


def test_a_game_without_memory_shows_the_number_of_cards() -> None:
    game = TextGame("klondike", max_steps=60)
    text = game.reset(deal=3)
    while not game.done:
        assert re.fullmatch("stock:( [0-9]+ cards?)?", stock_line(text) or "")
        text = game.step("redeal" if "redeal" in game.legal() else "draw")[0]


def test_the_rules_explain_a_known_stock() -> None:
    for name, arguments, explained in (
        ("klondike", {}, False),
        ("klondike", {"memory": True}, True),
        ("forty-thieves", {"memory": True}, False),
        ("forty-thieves", {"information": "thoughtful"}, True),
        ("freecell", {"information": "thoughtful", "memory": True}, False),
    ):
        for board in ("position", "ansi"):
            assert (KNOWN in TextGame(name, board=board, **arguments).rules()) == explained


def test_the_rules_explain_every_kind_of_move() -> None:
    for written in (WASTE, *EXAMPLES.values(), *COUNTED.values()):
        assert read_answer(written[0]).moves == [written[0]]
    for name in PUBLISHED:
        game = TextGame(name)
        rules, layout = game.rules(), action_layout(game.env.variant)
        assert "\nSource:" not in rules and "\nDiffers:" not in rules
        for kind, (move, _) in EXAMPLES.items():
            assert (f"\n{move:<8}  " in rules) == (kind in layout.offsets), (name, kind)
        for move, _ in COUNTED.values():
            target = move.partition(">")[2]
            exists = any(re.fullmatch(f"t.x.>{target[0]}.*", layout.text(n)) for n in range(layout.size))
            assert (f"\n{move:<8}  " in rules) == exists, (name, move)


PLAYED = [
    "t4>t3",
    "T4 -> T3",
    "_t4=>t3_",
    "t4  →  t3",
    "t4&gt;t3",
    r"$t4 \rightarrow t3$",
    "t4>t3: TC from t4 to t3, onto JD",
    "t4>t3, a redrawn line; yes, t4>t3!",
    "t1>t2 is not legal, so I play t4>t3.",
    "<b>t4>t3</b>",
    # Marked, before and after another move.
    "I could draw, or t5>t6. My move: **t4>t3**.",
    "I could draw.\n\nmove: t4>t3",
    "move: t4>t3, then I can draw",
    "**Final answer:** `t4>t3`\nAfter it I draw.",
    "### Move:\n\n- t4>t3: TC from t4 to t3, onto JD\n\nThen draw.",
    "Action: the Ten goes onto the Jack, t4>t3.\nThen draw.",
    '{"reason": "draw is worse", "move": "t4>t3", "then": "draw"}',
    "draw is worse <move>t4>t3</move> then draw",
    "draw? <answer>I play t4>t3</answer> then draw",
    "draw? <action>move: t4>t3, not draw</action>",
    "draw? <answer>t4>t3",
    r"draw? \boxed{t4>t3}, then draw",
    r"draw? $\boxed{\text{t4>t3}}$",
    "Possible move: draw. Possible move: t5>t6. Move: t4>t3",
    "move: t4>t3. As I said: move: t4>t3, not draw",
    # Thoughts.
    "<think>One could draw.</think><answer>t4>t3</answer>",
    "maybe draw</think>t4>t3",
    "<think>draw?</think>t4>t3<think>or t5>t6",
    "<THINKING>move: draw</THINKING>\nt4>t3",
    "<reasoning>\\boxed{draw}</reasoning>\nmove: t4>t3",
    "<think>t4>t3</think>",
    "<think>draw? move: t4>t3</think>\n",
]
"""Answers that play t4>t3."""
WITHOUT_A_MOVE = {
    "I give up.": "There is no move in the answer.",
    "": "There is no move in the answer.",
    "redraw, drawing, wt1>t2x": "There is no move in the answer.",
    "t4>t3</think>I am done.": "There is no move in the answer.",
    "t1>t2": "t1>t2 is not legal here.",
    "t4>t300": "t4>t300 is not legal here.",
    "draw or <move>t1 -> t2</move>": "t1>t2 is not legal here.",
    "I could draw, but now my move: t9>f": "t9>f is not legal here.",
    r"\boxed{t4>c} or draw": "t4>c is not legal here.",
    "<answer>pass</answer> draw": "There is no move in 'pass'.",
    "move: the Ten to the Jack\nThen draw": "There is no move in 'the Ten to the Jack'.",
    "t4>t3, then I can draw": "The answer names t4>t3, draw *",
    "I could draw, but t4>t3": "The answer names draw, t4>t3 *",
    "t1>t2 and t9>f": "The answer names t1>t2, t9>f *",
    "<think>draw, t4>t3</think>": "The answer names draw, t4>t3 *",
    "move: t4>t3\nmove: draw": "The answer marks t4>t3, draw: mark one move.",
    "<move>t4>t3 draw</move>": "The answer marks t4>t3, draw: mark one move.",
    "<move>t4>t3</move><move>t9>f</move>": "The answer marks t4>t3, t9>f: mark one move.",
}
"""Answers that play nothing, and why; * is how to mark a move."""


@pytest.mark.parametrize("answer", PLAYED)
def test_the_marked_or_only_move_of_an_answer_is_played(answer: str) -> None:
    game = TextGame("klondike")
    game.reset(deal=0)
    after, reward, done = game.step(answer)
    assert "\nt3: ?? ?? JD TC\n" in after
    assert (reward, done, game.steps, game.invalid_actions) == (0.0, False, 1, 0)


@pytest.mark.parametrize("answer", WITHOUT_A_MOVE)
def test_an_answer_without_a_legal_move_changes_nothing(answer: str) -> None:
    game = TextGame("klondike", max_invalid=2)
    before = game.reset(deal=0)
    why = WITHOUT_A_MOVE[answer].replace(" *", f" and marks none: end with a line such as {MARK}.")
    question = f"{why} Legal moves: draw, t4>t3, t5>t6."
    assert game.step(answer) == (question, 0.0, False)
    assert (game.text(), game.steps, game.invalid_actions) == (before, 0, 1)
    last, reward, done = game.step(answer)
    assert "over after 2 answers without a legal move, with 0 of 52 cards home" in last
    assert (reward, done) == (0.0, True)
    assert game.step("draw") == (last, 0.0, True) and game.steps == 0
    assert game.reset(deal=0) == before and not game.done


def test_every_line_of_the_list_of_moves_is_an_answer() -> None:
    """With a mark also beside all the others; the whole list is not."""
    for name in ONE_PER_RULE:
        game, number = TextGame(name, max_invalid=None), 0
        listed = game.reset(deal=1).partition("Legal moves:\n")[2].splitlines()
        for _ in range(12):
            others = "; ".join(game.legal())
            number = (number + 7) % len(listed)
            move = listed[number].partition(":")[0]
            if len(listed) > 1:
                assert " names " in game.step("\n".join(listed))[0]
            answer = (listed[number], f"move: {listed[number]}\nNot {others}", f"{others}\nmove: {move}")[
                number % 3
            ]
            action = game.env.parse_action(move)
            twin = game.env.clone()
            twin.step(action)
            listed = game.step(answer)[0].partition("Legal moves:\n")[2].splitlines()
            assert game.env.position() == twin.position(), (name, answer)
            if game.done:
                break


def test_the_prompt_says_how_to_mark_a_move() -> None:
    rules = TextGame("klondike").rules()
    assert rules.endswith(f"end with a line such as {MARK}")
    assert read_answer(rules.splitlines()[-1]).moves == ["t3>f"]


def test_there_may_be_no_limit_of_answers() -> None:
    game = TextGame("klondike", max_invalid=None)
    game.reset(deal=0)
    assert not any(game.step("")[2] for _ in range(text.MAX_INVALID + 1))


@pytest.mark.parametrize(("name", "arguments"), GAMES.items(), ids=list(GAMES))
def test_moves_as_text_play_the_game_of_the_environment(name: str, arguments: dict[str, Any]) -> None:
    """A game played in words has the rewards and the row of the same game played by a policy."""
    played = evaluate("greedy", name, range(4), transcripts=True)
    game = TextGame(name, **arguments)
    for row in played.games:
        game.reset(deal=row.deal)
        rewards = [game.step(move)[1] for move in parse_transcript(played.transcripts[row.deal]).actions]
        assert sum(rewards) == pytest.approx(row.cards_home / game.env.variant.cards)
        assert game.total_reward == sum(rewards)
        # An evaluation does not play a cycle to the step limit.
        steps = len(rewards) if row.repeated else row.steps
        assert game.result("greedy") == replace(row, repeated=0, steps=steps)


def test_games_in_words_have_a_score() -> None:
    played = evaluate("greedy", "busy-aces", range(100), transcripts=True)
    game, rows = TextGame("busy-aces", show_moves=False), []
    for deal in split_deals("llm-100", "busy-aces"):
        game.reset(deal=deal)
        for move in parse_transcript(played.transcripts[deal]).actions:
            game.step(move)
        rows.append(game.result("greedy"))
    expected = score(played.games, "llm-100")
    assert score(rows, "llm-100") == replace(expected, fingerprint=None)


def test_a_won_game_says_so() -> None:
    game = TextGame("freecell")
    game.reset(position=TWO_MOVES)
    game.step("t2>f")
    last, reward, done = game.step("t1>f")
    assert last.endswith("The game is won, in 2 moves.")
    assert (reward, done, game.won, game.cards_home) == (1 / 52, True, True, 52)


def test_a_lost_game_says_why() -> None:
    game = TextGame("klondike", max_steps=1)
    game.reset(deal=0)
    assert game.step("draw")[0].endswith("over after 1 moves, with 0 of 52 cards home.")
    game = TextGame("freecell")
    assert game.reset(position=STUCK).endswith("over because no move is legal, with 28 of 52 cards home.")
    assert game.done


def test_a_row_needs_a_deal(refuses: Refuses) -> None:
    game = TextGame("freecell")
    game.reset(position=TWO_MOVES)
    refuses(lambda: game.result("me"), "position", "deal")


def test_wrong_arguments_name_the_allowed_ones(refuses: Refuses) -> None:
    refuses(lambda: TextGame("klondike", board="html"), "html", "position", "ansi")  # type: ignore[arg-type]
    refuses(lambda: TextGame("klondike", memory=1), "memory", "int", "bool")  # type: ignore[arg-type]
    refuses(lambda: TextGame("klondike", max_invalid=0), "max_invalid", "0")
    refuses(lambda: TextGame("klondike", max_steps=0), "max_steps", "0")
    refuses(lambda: TextGame("klondike").step(3), "answer", "int", "text")  # type: ignore[arg-type]


REFUSED_STARTS: dict[str, dict[str, Any]] = {
    "a negative deal": {"deal": -1},
    "a deal that is too large": {"deal": 2**63},
    "a deal in words": {"deal": "first"},
    "a deal of no program": {"deal": "ms:0"},
    "a fraction": {"deal": 1.5},
    "a list": {"deal": [1]},
    "a deal that needs a package": {"deal": "pysol:32001"},
    "a negative seed": {"seed": -1},
    "a seed in words": {"seed": "first"},
    "a position in words": {"position": "first"},
    "a position of another game": {"position": TWO_MOVES},
    "a number as a position": {"position": 3},
    "a deal and a position": {"deal": 1, "position": TextGame("klondike").reset(deal=1)},
}


def status(game: TextGame) -> tuple[object, ...]:
    """All that a player can see of a game, and what ends it."""
    seen = (game.text(), game.env.deal, game.done, game.won, game.cards_home)
    return (*seen, game.steps, game.invalid_actions, game.total_reward)


@pytest.mark.parametrize("start", REFUSED_STARTS.values(), ids=list(REFUSED_STARTS))
def test_a_refused_reset_leaves_the_game_unchanged(
    start: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pysol_cards.cards", None)
    game = TextGame("klondike", memory=True)
    game.reset(deal=0)
    for answer in ("t4>t3", "t4>f", "draw", "pass"):
        game.step(answer)
    before, twin = status(game), game.env.clone()
    assert (game.steps, game.invalid_actions, game.cards_home) == (3, 1, 1)
    with pytest.raises((ValueError, TypeError, ImportError, gym.error.Error)):
        game.reset(**start)
    assert status(game) == before
    game.step("draw")
    twin.step(twin.parse_action("draw"))
    assert game.env.position() == twin.position() and game.steps == 4


REFUSED_GAMES: dict[str, dict[str, Any]] = {
    "an unknown game": {"game": "tarot"},
    "an unknown id": {"game": "Solitaire/Tarot-v0"},
    "a number as a game": {"game": 3},
    "a bad game and deal": {"game": "tarot", "deal": -1},
    **{
        name: {"game": "freecell"} | start
        for name, start in REFUSED_STARTS.items()
        if start.keys() == {"deal"}
    },
}


@pytest.mark.parametrize("row", REFUSED_GAMES.values(), ids=list(REFUSED_GAMES))
def test_a_refused_row_leaves_the_game_of_the_tool_unchanged(
    row: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pysol_cards.cards", None)
    tool, game = SolitaireTool(), TextGame("klondike")
    tool.reset(deal=0)
    game.reset(deal=0)
    for move in ("t4>t3", "t4>f"):
        tool.move(move)
        game.step(move)
    with pytest.raises((ValueError, TypeError, ImportError)):
        tool.reset(**row)
    assert tool.get_reward() == game.total_reward > 0
    assert tool.move("draw") == game.step("draw")[0]


def test_parallel_calls_of_a_tool_run_one_after_the_other() -> None:
    game, tool = TextGame("klondike"), SolitaireTool()
    game.reset(deal=0)
    boards = sorted(game.step("draw")[0] for _ in range(10))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(10) as threads:
            for _ in range(20):
                tool.reset(deal=0)
                assert sorted(threads.map(tool.move, ["draw"] * 10)) == boards
    finally:
        sys.setswitchinterval(interval)


def test_a_copy_of_a_tool_plays_on_alone() -> None:
    tool = SolitaireTool()
    tool.reset(deal=0)
    copies = copy.deepcopy(tool), pickle.loads(pickle.dumps(tool))
    after = tool.move("draw")
    assert [copied.move("draw") for copied in copies] == [after, after] != [tool.move("draw")] * 2


def test_a_tool_plays_the_row_of_a_data_set() -> None:
    tool = SolitaireTool()
    start = tool.reset(game="busy-aces", deal=3, prompt="ignored")
    game = TextGame("busy-aces")
    board = game.reset(deal=3)
    assert start == f"{game.rules(CALL)}\n\n{board}"
    for _ in range(150):
        moves = list(game.legal())
        move = next((m for m in moves if m.endswith(">f")), moves[0])
        assert tool.move(move) == game.step(move)[0]
    assert tool.get_reward() == game.total_reward > 0


def test_a_subclass_of_the_tool_plays_another_game() -> None:
    class FreeCell(SolitaireTool):
        game = "freecell"

    assert FreeCell().reset(deal=1).endswith(TextGame("freecell").reset(deal=1))


def test_the_only_tool_is_move() -> None:
    functions = dict(inspect.getmembers(SolitaireTool, inspect.isfunction))
    assert [n for n in functions if not n.startswith("_")] == ["get_reward", "move", "reset"]
