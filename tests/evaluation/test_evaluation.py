"""Evaluation of policies: statistics, result files, and games compared with single environments."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.core.deals import Deal
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import (
    TOP_ACTIONS,
    Game,
    bootstrap_interval,
    draw,
    evaluate,
    mcnemar,
    read_results,
    summarize,
    wilson_interval,
)
from solitaire_env.evaluation.result_files import ResultFile
from solitaire_env.evaluation.runner import random_stream
from solitaire_env.loading import load_policy
from solitaire_env.notation import parse_action
from solitaire_env.registration import env_id
from solitaire_env.transcripts import parse_transcript, replay
from tests.conftest import Refuses
from tests.games import COMPILED, ONE_PER_RULE, THE_FIVE

IDS = [env_id(variant) for variant in ONE_PER_RULE.values() if not (variant.wraps or variant.worrying_back)]
"""Without games that take no other build, and those in which the number of cards home may decrease in a
cycle."""
BUSY_ACES = "Solitaire/BusyAces-v0"
ONE_CARD = [env_id(variant) for variant in THE_FIVE.values() if variant.moves == "one card"]
LIMIT = 200 if COMPILED else 40
KEPT: dict[str, Any] = {"transcripts": True, "max_episode_steps": 40}


class Whim:
    """A random legal action; the same one in the same position."""

    fingerprint = "whim"

    def __init__(self, **attributes: Any) -> None:
        self.calls = 0
        for name, value in attributes.items():
            setattr(self, name, value)

    def __call__(self, observations: Any, masks: Any) -> Any:
        self.calls += 1
        place = np.arange(observations.shape[1], dtype=np.int64) * 7919
        sums = ((observations.astype(np.int64) + 17) * place % 10_007).sum(1, keepdims=True)
        keys = (sums + 1) * (np.arange(masks.shape[1]) + 3) % 1_009 + 1
        actions = (masks * keys).argmax(1)
        # A policy may change its arguments.
        observations[:], masks[:] = 0, 0
        return actions


class Interrupted(Whim):
    """Raises KeyboardInterrupt after some calls."""

    name = "Whim"

    def __call__(self, observations: Any, masks: Any) -> Any:
        if self.calls == 100:
            raise KeyboardInterrupt
        return super().__call__(observations, masks)


# ------------------------------------------------------------------------------------ statistics


@pytest.mark.parametrize(
    ("wins", "games", "low", "high"),
    [
        # scipy.stats.binomtest(wins, games).proportion_ci(method="wilson")
        (0, 10, 0.0, 0.2775328),
        (5, 10, 0.236593091, 0.763406909),
        (10, 10, 0.7224672, 1.0),
        (331, 1000, 0.302529514, 0.360763931),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_interval_equals_scipy(wins: int, games: int, low: float, high: float) -> None:
    assert wilson_interval(wins, games) == pytest.approx((low, high), abs=1e-8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wilson_interval(3, 2), ["wins is 3", "from 0 to 2"]),
        (lambda: wilson_interval(0, -1), ["games is -1"]),
        (lambda: wilson_interval(0.5, 2), ["wins is 0.5"]),  # type: ignore[arg-type]
        (lambda: bootstrap_interval([[1, 2]]), ["values are [[1, 2]]", "one row of finite numbers"]),  # type: ignore[list-item]
        (lambda: bootstrap_interval([1, math.inf]), ["values are [1, inf]"]),
    ],
)
def test_invalid_numbers_of_statistics_are_refused(call: Any, words: list[str], refuses: Refuses) -> None:
    refuses(call, *words)


def test_bootstrap_interval_is_that_of_a_mean() -> None:
    values = [*range(100)]
    low, high = bootstrap_interval(values)
    assert (low, high) == bootstrap_interval(values)
    # The mean is 49.5, its standard error 28.9 / 10.
    assert (low, high) == pytest.approx((49.5 - 1.96 * 2.89, 49.5 + 1.96 * 2.89), abs=0.4)
    assert bootstrap_interval([7] * 5) == (7, 7)
    assert all(map(math.isnan, bootstrap_interval([])))


def games_won(pattern: str, first_deal: int = 0) -> list[Game]:
    """One game per letter: won, lost or truncated."""
    about = {"env": BUSY_ACES, "policy": "p", "moves": "one card", "rules": "r"}
    return [
        Game(
            **about,
            deal=deal,
            won=letter == "w",
            cards_home=52,
            steps=10,
            truncated=letter == "t",
            repeated=deal,
        )
        for deal, letter in enumerate(pattern, first_deal)
    ]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("wwwwwl", "lllllw", (5, 1, 14 / 64)),  # 2 (1 + 6) / 2 ** 6
        ("wwwwwwwwww", "llllllllll", (10, 0, 2 / 1024)),
        ("lllww", "wwwll", (2, 3, 1.0)),  # 2 (1 + 5 + 10) / 2 ** 5 is 1 already
        ("wwll", "lwwl", (1, 1, 1.0)),
        ("wll", "wll", (0, 0, 1.0)),
        ("", "", (0, 0, 1.0)),
    ],
)
def test_mcnemar_gives_the_exact_p(first: str, second: str, expected: tuple[int, int, float]) -> None:
    assert mcnemar(games_won(first), games_won(second)) == pytest.approx(expected)
    a, b, p = expected
    assert mcnemar(games_won(second), games_won(first)) == pytest.approx((b, a, p))


def test_mcnemar_requires_the_same_deals(refuses: Refuses) -> None:
    first, second = games_won("www"), games_won("ww", 1)
    refuses(lambda: mcnemar(first, second), "different deals", "3 and 2", "2 in common")


def test_summary_has_rates_and_intervals() -> None:
    summary = summarize(games_won("wwlt"))
    assert (summary.games, summary.wins, summary.win_rate) == (4, 2, 0.5)
    assert (summary.cards_home, summary.steps, summary.truncated, summary.repeated) == (52, 10, 0.25, 0.75)
    assert summary.win_interval == wilson_interval(2, 4) and summary.cards_interval == (52, 52)
    assert summarize([]).games == 0
    assert str(summary) == "won 50.0 % [15.0, 85.0] of 4 games, 52.0 cards home"


# ------------------------------------------------------------------------------------------ play


def play_alone(policy: Any, name: str, deal: int | str, **keywords: Any) -> dict[str, Any]:
    """Play one game in a single environment."""
    env = gym.make(f"solitaire_env:{name}", on_invalid="raise", **keywords)
    observation, info = env.reset(options={"deal": deal})
    stood: set[str] = set()
    repeated = steps = 0
    terminated = truncated = False
    while not (terminated or truncated):
        position = env.unwrapped.position(hidden=True)
        repeated += position in stood
        stood.add(position)
        action = policy(observation[None].copy(), info["action_mask"][None].copy())[0]
        observation, _, terminated, truncated, info = env.step(action)
        steps += 1
    return {
        "won": info["is_success"],
        "cards_home": info["cards_home"],
        "steps": steps,
        "truncated": truncated and not terminated,
        "repeated": repeated,
    }


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"moves": "supermove"},
        {"observation": "features"},
        {"information": "thoughtful", "build": "any suit"},
    ],
    ids=str,
)
def test_games_equal_single_environments(name: str, wishes: dict[str, str]) -> None:
    rules = {key: wishes[key] for key in ("moves", "build") if key in wishes}
    seen = {key: wishes[key] for key in ("observation", "information") if key in wishes}
    policy = Whim(**seen)
    deals = [0, 1, 2, "ms:5" if "Down" in name else 5]
    done = evaluate(policy, name, deals, **rules, max_episode_steps=LIMIT, num_envs=3)
    for deal, game in zip(deals, done.games, strict=True):
        alone = play_alone(policy, name, deal, **rules, **seen, max_episode_steps=LIMIT)
        assert {key: getattr(game, key) for key in alone} == alone
        assert (game.deal, game.policy, game.env) == (deal, "Whim", name)


@pytest.mark.parametrize(
    "needs", [{"observation": "features"}, {"information": "thoughtful"}, {"observation": "cards"}], ids=str
)
def test_arguments_say_what_a_function_reads(needs: dict[str, Any]) -> None:
    def function(observations: Any, masks: Any) -> Any:
        seen.add((observations.dtype, observations.shape[1:]))
        return masks.argmax(1)

    seen: set[Any] = set()
    done = evaluate(function, "klondike", range(3), **needs, max_episode_steps=20)
    space = SolitaireEnv("klondike", **needs).observation_space
    assert seen == {(space.dtype, space.shape)}
    assert done.information == needs.get("information", "player")
    plain = evaluate(function, "klondike", range(3), max_episode_steps=20)
    assert [game.steps for game in plain.games] == [game.steps for game in done.games]


@pytest.mark.parametrize(
    "policy",
    ["greedy", load_policy("random", BUSY_ACES), Whim(observation="cards")],
    ids=["name", "policy", "function"],
)
def test_arguments_do_not_change_what_a_policy_declares(policy: Any, refuses: Refuses) -> None:
    refuses(
        lambda: evaluate(policy, BUSY_ACES, [0], observation="features"),
        "observation is 'features'", "reads 'cards'",
    )  # fmt: skip
    assert evaluate(policy, BUSY_ACES, [0], observation="cards", max_episode_steps=5).games


class Chance:
    """A legal action, chosen by the given random number."""

    stochastic = True

    def __init__(self, **attributes: Any) -> None:
        self.asked: list[float] = []
        for name, value in attributes.items():
            setattr(self, name, value)

    def __call__(self, observations: Any, masks: Any, *, uniforms: Any, games: Any) -> Any:
        assert uniforms.shape == games.shape == (len(masks),) and uniforms.dtype == np.float64
        self.asked += uniforms.tolist()
        return draw(masks, uniforms)


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        *((kind, {"moves": moves}) for kind in (Whim, Chance) for moves in (None, "supermove")),
        (Whim, {"deterministic": True}),
    ],
    ids=str,
)
def test_results_do_not_depend_on_order_and_batch(kind: Any, attributes: dict[str, Any]) -> None:
    deals = [7, 3, "ms:9", 0, 2**20, 4, 5]
    keywords: dict[str, Any] = {"max_episode_steps": LIMIT, "transcripts": True}
    runs = [
        evaluate(kind(**attributes), BUSY_ACES, order, num_envs=num_envs, **keywords)
        for num_envs, order in ((1, deals), (3, deals), (256, deals[::-1]), (2, deals[2:5]))
    ]
    first, *others = (run.games for run in runs)
    assert first == others[0] == others[1][::-1] and first[2:5] == others[2]
    assert runs[0].transcripts == runs[1].transcripts == runs[2].transcripts
    assert [game.deal for game in first] == deals
    again = evaluate(kind(**attributes), BUSY_ACES, deals, seed=1, **keywords).games
    assert ([game.repeated for game in again] != [game.repeated for game in first]) == (kind is Chance)


def test_random_numbers_are_those_of_numpy_for_the_start_and_the_seed() -> None:
    policy = Chance()
    done = evaluate(policy, BUSY_ACES, ["ms:9"], seed=4, max_episode_steps=LIMIT)
    numbers = np.random.Generator(np.random.PCG64([4, *b"ms:9"]))
    assert policy.asked == numbers.random(done.answers).tolist()
    later = random_stream("ms:9", 4, decision=10)
    assert later.random() == policy.asked[10] and 0 < done.answer_seconds < done.seconds


@pytest.mark.parametrize(
    "rules",
    [{"moves": "supermove"}, {"moves": "sequence"}, {"build": "any suit", "spaces": "kings"}],
    ids=str,
)
def test_house_rules_mean_the_same_in_evaluate_and_load_policy(rules: dict[str, Any]) -> None:
    game = THE_FIVE["forty-thieves"]
    player = load_policy("greedy", game, **rules)
    expected = evaluate(player, game.with_rules(**rules), range(3)).games
    assert evaluate("greedy", game, range(3), **rules).games == expected
    assert evaluate(player, game, range(3), **rules).games == expected


@pytest.mark.parametrize("name", ONE_CARD)
def test_supermoves_are_played_card_by_card(name: str) -> None:
    policy = Whim(moves="supermove", name="whim")
    done = evaluate(policy, name, range(6), max_episode_steps=LIMIT, transcripts=True)
    for game in done.games:
        told = parse_transcript(done.transcripts[game.deal])
        assert (env_id(told.variant), told.variant.moves) == (name, "one card")
        assert (told.policy, told.deal, told.cards_home) == ("whim", game.deal, game.cards_home)
        assert told.result == ("won" if game.won else "truncated" if game.truncated else "stuck")
        assert len(list(replay(told))) == told.steps == game.steps
        assert game.moves == "supermove" and "one card" in game.rules


def test_the_step_limit_may_cut_a_supermove() -> None:
    def play(limit: int) -> tuple[int, tuple[str, ...]]:
        policy = Whim(moves="supermove")
        done = evaluate(policy, "busy-aces", [1], max_episode_steps=limit, transcripts=True)
        assert done.games[0].steps == limit and done.games[0].truncated
        return policy.calls, parse_transcript(done.transcripts[1]).actions

    calls, actions = play(LIMIT)
    assert calls < LIMIT, "no supermove was played: choose another deal"
    for limit in range(1, LIMIT, 1 if COMPILED else 9):
        assert play(limit)[1] == actions[:limit]


@pytest.mark.parametrize(
    ("name", "moves"), [*((name, None) for name in IDS), *((name, "supermove") for name in ONE_CARD)]
)
def test_deterministic_policies_give_the_same_results_in_less_time(name: str, moves: str | None) -> None:
    policies = Whim(moves=moves), Whim(moves=moves, deterministic=True)
    first, second = (evaluate(policy, name, range(5), max_episode_steps=LIMIT) for policy in policies)
    for full, short in zip(first.games, second.games, strict=True):
        assert (full.won, full.cards_home, full.steps, full.truncated) == (
            (short.won, short.cards_home, short.steps, short.truncated)
        )
        assert (full.repeated > 0) == (short.repeated > 0)
    assert policies[1].calls <= policies[0].calls


class Sure(Whim):
    """Gives its action a probability of three quarters; its value is one card more in each call."""

    def explain(self, observations: Any, masks: Any) -> tuple[Any, Any]:
        chosen = Whim.__call__(self, observations.copy(), masks.copy())
        probabilities = masks * (0.25 / masks.sum(1, keepdims=True))
        probabilities[np.arange(len(chosen)), chosen] += 0.75
        return probabilities, np.float32(0.1) + probabilities.argmax(1)


def test_transcripts_contain_thoughts() -> None:
    sure, plain = (
        {
            deal: parse_transcript(text)
            for deal, text in evaluate(policy, "eights-down", range(5), **KEPT).transcripts.items()
        }
        for policy in (Sure(), Whim())
    )
    for deal, transcript in sure.items():
        assert transcript.actions == plain[deal].actions and plain[deal].thoughts == ()
        assert len(transcript.thoughts) == len(transcript.actions)
        for action, thought in zip(transcript.actions, transcript.thoughts, strict=True):
            assert thought is not None and len(thought.actions) <= TOP_ACTIONS
            (first, probability), *others = thought.actions
            assert first == action and probability >= 0.75 > max([p for _, p in others], default=0)
            number = parse_action(transcript.variant, action)
            assert thought.value == pytest.approx(0.1 + number)
        assert len(list(replay(transcript))) == len(transcript.actions)


def test_the_thought_of_a_supermove_is_at_its_first_card() -> None:
    games = evaluate(Sure(moves="supermove"), "busy-aces", range(5), **KEPT).transcripts.values()
    further = 0
    for transcript in map(parse_transcript, games):
        for action, thought in zip(transcript.actions, transcript.thoughts, strict=True):
            if thought is None:
                further += 1
            else:  # the pile that the supermove leaves
                assert re.split("[x>]", thought.actions[0][0])[0] == action.split(">")[0]
    assert further


def test_unknown_parts_of_thoughts_are_left_out() -> None:
    class Half(Whim):
        def explain(self, observations: Any, masks: Any) -> tuple[Any, Any]:
            return (None, np.ones(len(masks))) if self.values else (masks / np.float32(masks.sum()), None)

    for values, line in ((True, "1. .*  # value 1.000"), (False, "1. .*  # [^;v]+ %(; [^;v]+ %){0,4}")):
        text = evaluate(Half(values=values), "eights-down", [1], **KEPT).transcripts[1]
        assert re.search(f"(?m)^{line}$", text), text
    silent = Whim(explain=lambda observations, masks: (None, None))
    assert "#" not in evaluate(silent, "eights-down", [1], **KEPT).transcripts[1]


def answers(answer: Callable[[Any], Any], **attributes: Any) -> Callable[[], Any]:
    """Evaluate a policy that gives the same answer to every mask."""

    class Policy:
        def __call__(self, observations: Any, masks: Any) -> Any:
            return answer(masks)

    policy = Policy()
    for name, value in attributes.items():
        setattr(policy, name, value)
    return lambda: evaluate(policy, BUSY_ACES, range(2), max_episode_steps=5)


@pytest.mark.parametrize("moves", [None, "supermove"])
def test_an_illegal_action_raises_an_error(moves: str | None) -> None:
    with pytest.raises(IllegalActionError, match=r"illegal action \d+ \(\w+>\w+\), allowed here: draw"):
        answers(lambda masks: masks.argmin(1), moves=moves)()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (answers(lambda masks: masks.argmax(1) + 0.0), ["(2,)", "float64", "whole numbers"]),
        (answers(lambda masks: masks.argmax(1)[:1]), ["(1,)", "(2,)"]),
        (answers(lambda masks: None), ["object"]),
        (answers(lambda masks: [171, 171]), ["171", "0..170"]),
        (answers(lambda masks: [-1, -1], moves="supermove"), ["-1", "outside"]),
        (answers(lambda masks: masks.argmax(1), moves="sequence"), ["'sequence'", "'supermove'"]),
        (answers(lambda masks: masks.argmax(1), observation="pixels"), ["'pixels'", "'cards'"]),
        (lambda: evaluate(Whim(), BUSY_ACES, [1], observation="pixels"), ["'pixels'", "'cards'"]),
        (lambda: evaluate(Whim(), BUSY_ACES, [1], information="spy"), ["'spy'", "'player'"]),
        (lambda: evaluate(Whim(), BUSY_ACES, [1, 2, 1]), ["1 more than once"]),
        (lambda: evaluate(Whim(), BUSY_ACES, [1], build="up"), ["'up'", "same suit"]),
        (lambda: evaluate(Whim, BUSY_ACES, [1]), ["is a class", "an SB3 model or a function"]),
        (lambda: evaluate(7, BUSY_ACES, [1]), ["is a int", "a Policy, a name"]),
        (lambda: evaluate(Whim(), BUSY_ACES, [1], max_episode_steps=0), ["steps is 0", "number from 1"]),
    ],
)
def test_invalid_arguments_raise_an_error(call: Any, words: list[str], refuses: Refuses) -> None:
    refuses(call, *words)


# ------------------------------------------------------------------------------------ results file


def run(path: Path, policy: Any = None, deals: Any = range(12), **keywords: Any) -> Any:
    keywords = {"num_envs": 4, "max_episode_steps": 40, **keywords}
    return evaluate(policy or Whim(), BUSY_ACES, deals, results=path, **keywords)


def test_result_files_have_one_line_per_game(tmp_path: Path) -> None:
    done = run(tmp_path / "games.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "games.jsonl").read_text().splitlines()]
    assert [row["deal"] for row in rows] == [*range(12)]
    assert set(rows[0]) == {field.name for field in fields(Game)} - {"seed"}
    assert read_results(tmp_path / "games.jsonl") == done.games
    assert [path.name for path in tmp_path.iterdir()] == ["games.jsonl"]


def test_interrupted_and_resumed_equals_uninterrupted(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.jsonl", tmp_path / "games.jsonl"
    expected = run(whole)
    with pytest.raises(KeyboardInterrupt):
        run(path, Interrupted())
    assert 0 < len(read_results(path)) < 12
    policy = Whim()
    resumed = run(path, policy, num_envs=3)
    assert resumed.games == expected.games and path.read_bytes() == whole.read_bytes()
    policy = Whim()
    assert run(path, policy).games == expected.games and policy.calls == 0
    # Other deals are added to those in the file.
    assert [game.deal for game in run(path, deals=[20, 3]).games] == [20, 3]
    assert sorted(game.deal for game in read_results(path)) == [*range(12), 20]


def test_evaluations_into_the_same_file_keep_all_games(tmp_path: Path) -> None:
    """One starts and ends while another is running; each has games of other deals, and one of the same."""
    path = tmp_path / "games.jsonl"

    def run_another(kept: list[Game], _: int) -> None:
        if len(kept) < 8:
            run(path, deals=range(7, 20))

    done = run(path, progress=run_another, deals=range(8))
    rows = read_results(path)
    assert rows[:8] == done.games and [game.deal for game in rows] == [*range(20)]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("copies", [2, 20])
def test_repeated_rows_are_refused_or_merged(copies: int, tmp_path: Path, refuses: Refuses) -> None:
    """A game that counts as several would make intervals too narrow. A writer keeps one row."""
    path = tmp_path / "games.jsonl"
    done = run(path)
    text = path.read_text()
    path.write_text(text * copies)
    refuses(lambda: read_results(path), str(path), "deal 0 occurs twice", "allowed: each game once")
    refuses(lambda: summarize(done.games * copies), "deal 0 occurs twice", "allowed: each game once")
    refuses(lambda: mcnemar(done.games * copies, done.games), f"{12 * copies} games are of 12 deals")
    refuses(lambda: mcnemar(done.games, done.games * copies), f"{12 * copies} games are of 12 deals")
    assert run(path).summary == done.summary and path.read_text() == text
    # Other seeds play other games of the same deals.
    assert summarize([*done.games, *(replace(game, seed=1) for game in done.games)]).games == 24


@pytest.mark.parametrize("cut", [1, 2, 30, 150])
def test_an_incomplete_last_line_is_ignored(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "games.jsonl"
    expected = run(path).games
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    policy = Whim()
    assert run(path, policy).games == expected and path.read_bytes() == whole
    assert 0 < policy.calls <= 40 or cut == 1


@pytest.mark.parametrize("cut", [1, 30, 150])
def test_writers_go_on_when_another_is_killed(tmp_path: Path, cut: int) -> None:
    """The others keep their games, and a game that was not finished is played again."""
    path = tmp_path / "games.jsonl"
    games = run(path).games
    whole = path.read_bytes()
    path.unlink()
    about = {key: getattr(games[0], key) for key in ("env", "policy", "moves", "rules", "seed")}
    killed, other, late = (ResultFile(path, about) for _ in range(3))
    killed.add(games[:3])
    path.write_bytes(path.read_bytes()[:-cut])
    lost = games[2:3] if cut > 1 else ()
    other.add(games[3:5])
    assert read_results(path) == [game for game in games[:5] if game not in lost]
    late.add(games[5:7])
    late.sort([game.deal for game in games])
    assert read_results(path) == [game for game in games[:7] if game not in lost]
    assert run(path).games == games and path.read_bytes() == whole


def first_legal(observations: Any, masks: Any) -> Any:
    return masks.argmax(1)


RANDOM = load_policy("random", BUSY_ACES)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({}, {"policy": Whim(name="Other")}, ["policy 'Whim', not 'Other'"]),
        ({}, {"policy": Whim(moves="supermove")}, ["moves 'one card', not 'supermove'"]),
        ({}, {"max_episode_steps": 41}, ["40 steps", "41 steps"]),
        (
            {"policy": first_legal, "name": "mine"},
            {"policy": lambda *seen: [0], "name": "mine"},
            ["fingerprint"],
        ),
        ({"policy": RANDOM, "seed": 1}, {"policy": RANDOM, "seed": 2}, ["seed 1, not 2"]),
        ({"policy": first_legal}, {"policy": first_legal, "observation": "features"}, ["fingerprint"]),
    ],
)
def test_a_file_of_another_evaluation_is_refused(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], words: list[str], refuses: Refuses
) -> None:
    path = tmp_path / "games.jsonl"
    done = run(path, **first)
    before = path.read_bytes()
    refuses(lambda: run(path, **second), str(path), "choose another file", *words)
    assert path.read_bytes() == before
    assert run(path, **first).games == done.games and run(path, **first).answers == 0
    assert {game.seed for game in done.games} == {first.get("seed")}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[" * 100_000, ["not JSON", "recursion"]),
        ('{"\\u202e": 1}', ["it has ['\\u202e']", "an object with env, policy"]),
        ({"deal": [7]}, ["its deal is [7]", "int or str"]),
        ({"won": 1}, ["its won is 1", "bool"]),
        ({"steps": -1}, ["its steps is -1", "from 0 to 2**63 - 1"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_rows_with_invalid_values_are_refused(
    tmp_path: Path, line: str | dict[str, Any], words: list[str], refuses: Refuses
) -> None:
    path = tmp_path / "games.jsonl"
    text = line if isinstance(line, str) else json.dumps({**vars(games_won("w")[0]), **line})
    path.write_text(f"{text}\n\n")
    refuses(lambda: read_results(path), f"{path}, line 1", "not a game", *words)


def test_transcripts_are_written_as_games_end(tmp_path: Path) -> None:
    """Ctrl-C loses only the games that have not ended; a missing transcript is played again."""

    def file_name(deal: Deal) -> str:
        return f"{str(deal).replace(':', '-')}.txt"

    files: dict[str, Any] = {"results": tmp_path / "games.jsonl", "transcripts": tmp_path / "texts"}

    def stop(kept: list[Game], _: int) -> None:
        if len(kept) >= 3:
            raise KeyboardInterrupt

    deals = [5, "ms:9", 7, 8, 9]
    keywords: dict[str, Any] = {"max_episode_steps": 40, "num_envs": 2}
    with pytest.raises(KeyboardInterrupt):
        evaluate(Whim(), "busy-aces", deals, progress=stop, **files, **keywords)
    folder, ended = files["transcripts"], [game.deal for game in read_results(files["results"])]
    written = {deal: (folder / file_name(deal)).read_text() for deal in ended}
    assert len(written) == len(list(folder.iterdir())) >= 3
    gone, kept = ended[:2]
    (folder / file_name(gone)).unlink()
    done = evaluate(Whim(), "busy-aces", deals, **files, **keywords)
    assert (
        [game.deal for game in done.games] == deals == [game.deal for game in read_results(files["results"])]
    )
    assert done.transcripts[gone] == written[gone] and kept not in done.transcripts
