"""Moves that policies suggest: in the game itself, card by card for supermoves; and policies by name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.loading import load_class, load_policy
from solitaire_env.play.hints import Adviser
from solitaire_env.play.session import new_session
from solitaire_env.transcripts import Thought
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses

CARRY = """variant: busy-aces
stock:
waste:
foundations: C 13 13 D 13 13 H 13 13 S 13 0
t1: KS QS JS TS
t2: 9S 8S 7S
t3: 6S 5S 4S 3S 2S AS
""" + "".join(f"t{n}:\n" for n in range(4, 13))


class Says:
    """A policy that always chooses the same action, with an explanation."""

    def __init__(self, spec: GameSpec | None = None) -> None:
        self.spec = spec
        self.action = 0

    def __call__(self, observations: Any, masks: Any) -> Any:
        observations[:], masks[:] = 0, 0  # a policy may change its arguments
        return np.array([self.action])

    def explain(self, observations: Any, masks: Any) -> Any:
        chances = np.zeros(masks.shape, np.float32)
        chances[0, self.action] = 1.0
        return chances, np.array([0.25])


def says(variant: Variant, text: str, **attributes: Any) -> Says:
    policy = Says()
    seen = SolitaireEnv(variant.with_rules(moves=attributes.get("moves")))
    policy.action = seen.parse_action(text)
    for name, value in attributes.items():
        setattr(policy, name, value)
    return policy


NO_POLICY = 7


def no_arguments() -> None:
    """A policy that cannot be created."""


def other_game(spec: GameSpec) -> None:
    raise ValueError("it plays no such game")


def test_advice_is_an_action_of_the_game() -> None:
    variant = get_variant("forty-thieves")
    session = new_session(variant, deal=3)
    env = session.env
    adviser = Adviser(says(variant, "t3>f"), variant)
    assert adviser.name == "Says"
    before = env.get_state()
    advice = adviser.advise(session)
    assert advice is not None and env.get_state() == before
    assert (advice.text, advice.words) == ("t3>f", "AD home, from t3")
    assert advice.actions == (env.parse_action("t3>f"),)
    assert advice.thought == Thought(0.25, (("t3>f", 1.0),))


def test_a_hint_is_the_likeliest_action() -> None:
    """Whatever the policy draws; a policy without an explanation gives its move."""
    session = new_session(get_variant("busy-aces"), deal=3)
    env = session.env
    policy = says(env.variant, "draw")
    likely = policy.explain
    other = env.parse_action("t1>f")

    def explain(observations: Any, masks: Any) -> Any:
        chances, values = likely(observations, masks)
        chances[0, [policy.action, other]] = 0.25, 0.75
        return chances, values

    policy.explain = explain  # type: ignore[method-assign]
    adviser = Adviser(policy, env.variant)
    for likeliest, text in ((False, "draw"), (True, "t1>f")):
        advice = adviser.advise(session, likeliest)
        assert advice is not None and advice.text == text
    policy.explain = None  # type: ignore[assignment]
    advice = Adviser(policy, env.variant).advise(session, likeliest=True)
    assert advice is not None and (advice.text, advice.thought) == ("draw", None)


def test_a_supermove_becomes_single_moves() -> None:
    variant = get_variant("busy-aces")
    session = new_session(variant, position=CARRY)
    env = session.env
    policy = says(variant, "t2>t1", moves="supermove", name="carrier")
    adviser = Adviser(policy, variant)
    advice = adviser.advise(session)
    assert adviser.name == "carrier" and advice is not None
    assert (advice.text, advice.words) == ("t2>t1", "9S to 7S, 3 cards, from t2 to t1, onto TS")
    for action in advice.actions:
        env.step(action)
    assert "t1: KS QS JS TS 9S 8S 7S\n" in env.position() and len(advice.actions) == 5
    # In the game with supermoves it is one action.
    shortcut = variant.with_rules(moves="supermove")
    advice = Adviser(policy, shortcut).advise(new_session(shortcut, position=CARRY))
    assert advice is not None and advice.actions == (policy.action,)


def test_a_policy_sees_what_it_declares() -> None:
    variant = get_variant("busy-aces")
    seen: list[Any] = []

    class Looks:
        observation = "features"
        information = "thoughtful"

        def __call__(self, observations: Any, masks: Any) -> Any:
            seen.append(observations)
            return masks.argmax(1)

    advice = Adviser(Looks(), variant).advise(new_session(variant, deal=4))
    assert advice is not None and advice.thought is None
    other = SolitaireEnv(variant, observation="features", information="thoughtful")
    assert np.array_equal(seen[0][0], other.reset(options={"deal": 4})[0])


def test_a_policy_with_memory_sees_the_stock_once_the_player_has() -> None:
    variant = get_variant("klondike")
    seen: list[Any] = []

    class Looks:
        information = "memory"

        def __call__(self, observations: Any, masks: Any) -> Any:
            seen.append(observations[0].tolist())
            return masks.argmax(1)

    session, adviser = new_session(variant, deal=4), Adviser(Looks(), variant)
    other = SolitaireEnv(variant, information="memory")
    expected = other.reset(options={"deal": 4})[0]
    for move in (*(24 * ["draw"]), "redeal", "draw"):
        adviser.advise(session)
        assert seen.pop() == expected.tolist()
        session.env.step(session.env.parse_action(move))
        expected = other.step(other.parse_action(move))[0]
    adviser.advise(session)
    assert seen.pop() == expected.tolist()


# --------------------------------------------------------------------------------------- by name


def test_a_policy_is_loaded_by_its_class() -> None:
    variant = get_variant("busy-aces")
    policy = load_policy("tests.play.test_hints:Says", variant)
    assert policy.function.spec == GameSpec(variant)  # type: ignore[attr-defined]
    assert load_class("tests.play.test_hints:Says") is Says


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("greedi", ["unknown policy 'greedi'", "random, greedy, linear, shipped", "module:Class"]),
        ("no_such_module:Policy", ["'no_such_module:Policy'", "No module named"]),
        ("no..module:Policy", ["is not the name of a module"]),
        ("tests.play.test_hints:Missing", ["has no attribute 'Missing'"]),
        ("tests.play.test_hints:NO_POLICY", ["is a int, allowed: a class or a function"]),
        ("tests.play.test_hints:no_arguments", ["cannot be created", "takes 0 positional arguments"]),
        ("tests.play.test_hints:other_game", ["it plays no such game"]),
    ],
)
def test_names_that_are_no_policy_raise_an_error(name: str, words: list[str], refuses: Refuses) -> None:
    refuses(lambda: load_policy(name, get_variant("busy-aces")), *words)


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "runs/busy-ace-1",
            [
                "folder '",
                "runs/busy-ace-1' does not exist, allowed: a run or model folder; closest: ",
                "runs/busy-aces-1",
            ],
        ),
        ("runs/zebra", ["runs/zebra' does not exist"]),
        ("run/busy-aces-1", ["run/busy-aces-1' does not exist"]),
        ("runs/busy-aces-1/modell", ["runs/busy-aces-1/model"]),
        ("runs/busy-aces-1/module:Class", ["module:Class' does not exist"]),
        ("runs/notes.txt", ["runs/notes.txt' is a file, allowed: a run or model folder"]),
    ],
)
def test_a_folder_that_does_not_exist_is_named(
    name: str, words: list[str], kind: type, tmp_path: Path, refuses: Refuses
) -> None:
    (tmp_path / "runs" / "busy-aces-1" / "model").mkdir(parents=True)
    (tmp_path / "runs" / "notes.txt").touch()
    refuses(lambda: load_policy(kind(tmp_path / name), get_variant("busy-aces")), *words)
    refuses(lambda: load_policy(Path("zebra"), get_variant("busy-aces")), "folder 'zebra' does not exist")


def test_a_module_with_a_syntax_error_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refuses: Refuses
) -> None:
    (tmp_path / "failing.py").write_text("def policy(:")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    refuses(
        lambda: load_policy("failing:policy", get_variant("busy-aces")), "cannot be loaded", "SyntaxError"
    )
