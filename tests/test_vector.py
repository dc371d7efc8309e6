"""The native vector environment equals Gymnasium's own over single environments, row by row."""

import ctypes
import pickle
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.core.deals import RESERVED_DEALS
from solitaire_env.core.position import position_faults
from solitaire_env.env import SolitaireEnv
from solitaire_env.testing import check_state
from solitaire_env.util.messages import shown
from solitaire_env.vector import SolitaireVectorEnv
from tests.comparing import check_vector, expect_results
from tests.conftest import Refuses
from tests.games import ALL_GAMES, COMPILED

MODES = list(AutoresetMode)


def started(num_envs: int = 3, name: str = "busy-aces", **arguments: Any) -> SolitaireVectorEnv:
    env = SolitaireVectorEnv(name, num_envs, **arguments)
    env.reset(seed=0)
    return env


def legal(env: SolitaireVectorEnv, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])


def states(env: SolitaireVectorEnv) -> list[dict[str, Any]]:
    return [env.batch.get_state(row) for row in range(env.num_envs)]


# ------------------------------------------------------------------------- the same row by row


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    "keywords",
    [
        {"observation": "features"},
        {"information": "thoughtful"},
        {"information": "memory"},
        {"observation": "features", "information": "thoughtful", "reward": "win"},
        {"on_invalid": "terminate", "reward": "progress+win"},
        {"stall_limit": 3},
        {"max_episode_steps": 1},
        {"max_episode_steps": 7, "stall_limit": 4, "on_invalid": "terminate"},
        {"max_episode_steps": 100_000},
        {"num_envs": 1},
        {"num_envs": 9},
    ],
    ids=lambda keywords: " ".join(f"{key}={value}" for key, value in keywords.items()),
)
def test_games_equal_single_environments(keywords: dict[str, Any], mode: AutoresetMode) -> None:
    """Including final observations and infos; short packs are often won and stuck."""
    for name in ("short-4, same suit, any, sequence", "short-3, same suit, none, one card"):
        check_vector(ALL_GAMES[name], mode, seed=3, steps=60 if COMPILED else 25, **keywords)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_without_copies_the_values_are_the_same(mode: AutoresetMode) -> None:
    """The arrays are reused."""
    for observation in ("cards", "features"):
        arguments = {"observation": observation, "autoreset_mode": mode, "max_episode_steps": 20}
        copied, viewed = started(4, **arguments), started(4, copy=False, **arguments)
        rng = np.random.default_rng(0)
        first = None
        for _ in range(45):
            actions = legal(copied, rng)
            one, other = copied.step(actions), viewed.step(actions)
            for a, b in zip(one[:4], other[:4], strict=True):
                np.testing.assert_array_equal(a, b)
            assert one[4].keys() == other[4].keys()
            np.testing.assert_array_equal(one[4]["action_mask"], other[4]["action_mask"])
            assert np.shares_memory(other[4]["action_mask"], viewed.batch.state.mask)
            assert first is None or np.shares_memory(first, other[0])
            first = other[0]
            ended = one[2] | one[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                for env in (copied, viewed):
                    env.reset(options={"reset_mask": ended.copy()})
        assert check_state(viewed) == []


def arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """All arrays in results, or in an environment of ours."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield value
    elif isinstance(value, dict):
        yield from arrays_in(list(value.values()))
    elif isinstance(value, (list, tuple, np.ndarray)):
        for item in value:
            yield from arrays_in(item)
    elif type(value).__module__.startswith("solitaire_env"):
        yield from arrays_in(vars(value))


VIEWS: list[tuple[Any, dict[str, Any]]] = [
    (SolitaireVectorEnv, {"games": "freecell"}),
    (SolitaireVectorEnv, {"games": "klondike", "mask_dtype": "bool", "autoreset_mode": "SameStep"}),
    (SolitaireVectorEnv, {"games": "busy-aces", "observation": "features"}),
    (SolitaireVectorEnv, {"games": ("klondike", "freecell")}),
]


@pytest.mark.parametrize("copied", [None, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize(("kind", "keywords"), VIEWS)
def test_views_are_read_only(kind: Any, keywords: dict[str, Any], copied: Any) -> None:
    """NumPy's own writes are errors. Of a copy too."""
    env: Any = kind(num_envs=3, copy=False, max_episode_steps=2, **keywords)
    env.reset(seed=0)
    env = env if copied is None else copied(env)
    held = list(arrays_in(env))
    for results in (env.reset(seed=1), *(env.step(np.zeros(3, dtype=np.int64)) for _ in range(4))):
        for array in arrays_in(results):
            assert not array.flags.writeable or not any(np.shares_memory(array, own) for own in held)
        assert np.shares_memory(results[-1]["action_mask"], env.unwrapped.batch.mask)
        with pytest.raises(ValueError, match="read-only"):
            results[0][:] //= 2


@pytest.mark.parametrize("value", [0, 1, 3, 64, 127, 255])
@pytest.mark.parametrize("name", ["klondike", "freecell", "forty-thieves", "yukon", "little-forty"])
@pytest.mark.parametrize("information", ["player", "thoughtful"])
def test_what_other_libraries_write_to_views_harms_no_game(name: str, information: Any, value: int) -> None:
    """Torch and others write to views that are read-only for NumPy: every card stays in its game."""
    env = started(4, name, copy=False, information=information, autoreset_mode="SameStep", stall_limit=50)
    rng = np.random.default_rng(value)
    for step in range(300):
        views = list(arrays_in(env.step(rng.integers(env.batch.num_actions, size=4))))
        for view in views if step % 2 else [views[rng.integers(len(views))]]:
            ctypes.memset(view.ctypes.data, value, view.nbytes)
    for row in range(4):
        assert position_faults(env.batch.position(row)) == []


def test_rows_are_seeded_as_single_environments() -> None:
    """An int seeds row i with itself + i, a list row by row; None continues the stream."""
    env = SolitaireVectorEnv("busy-aces", 3)
    single = [SolitaireEnv("busy-aces").reset(seed=seed)[1]["deal"] for seed in (5, 6, 7)]
    assert env.reset(seed=5)[1]["deal"].tolist() == single
    assert env.reset(seed=[5, 6, 7])[1]["deal"].tolist() == single
    second = env.reset()[1]["deal"].tolist()
    env.reset(seed=5)
    mixed = env.reset(seed=[None, 6, None])[1]["deal"].tolist()
    assert mixed == [second[0], single[1], second[2]]
    assert env.reset(seed=np.int64(5))[1]["deal"].tolist() == single  # type: ignore[arg-type]
    assert min(single + second) >= RESERVED_DEALS


# ---------------------------------------------------------------------------------------- options


def test_deals_are_given_for_all_or_for_each() -> None:
    env = SolitaireVectorEnv("busy-aces", 3)
    for given in (range(3), [0, 1, 2], (0, 1, 2), np.arange(3)):
        assert env.reset(options={"deal": given})[1]["deal"].tolist() == [0, 1, 2]
        for row in range(3):
            single = SolitaireEnv("busy-aces")
            single.reset(options={"deal": row})
            assert env.position(row) == single.position()
    assert env.reset(options={"deal": 7})[1]["deal"].tolist() == [7, 7, 7]
    assert env.position(0) == env.position(2)


def test_deals_of_other_programs_mix_with_numbers() -> None:
    pytest.importorskip("pysol_cards")
    env = SolitaireVectorEnv("busy-aces", 3)
    _, info = env.reset(options={"deal": ["pysol:24", 5, "ms:1"]})
    assert info["deal"].tolist() == [-1, 5, -1] and info["_deal"].all()
    assert [env.deal(row) for row in range(3)] == ["pysol:24", 5, "ms:1"]
    _, info = env.reset(options={"reset_mask": np.array([True, False, True]), "deal": 4})
    assert info["deal"].tolist() == [4, 5, 4]


def test_positions_are_given_for_all_or_for_each() -> None:
    env, other = started(), started()
    texts = [env.position(row) for row in range(3)]
    other.reset(seed=9)
    _, info = other.reset(options={"position": texts})
    assert [other.position(row) for row in range(3)] == texts
    assert info["deal"].tolist() == [-1] * 3 and info["_deal"].all()
    assert [other.deal(row) for row in range(3)] == [None] * 3
    other.reset(options={"position": texts[1]})
    assert [other.position(row) for row in range(3)] == [texts[1]] * 3
    hidden = env.position(0, hidden=True)
    other.reset(seed=1, options={"position": hidden})
    assert len({other.position(row) for row in range(3)}) == 3
    single = SolitaireEnv("busy-aces")
    single.reset(seed=3, options={"position": hidden})
    assert other.position(2) == single.position()


def test_reset_mask_resets_only_some_games() -> None:
    """The other games are unchanged."""
    env = started(autoreset_mode="Disabled")
    env.step(np.zeros(3, dtype=np.int64))
    before = [env.position(row) for row in range(3)]
    mask = np.array([False, True, False])
    options = {"reset_mask": mask, "deal": 3}
    _, info = env.reset(options=options)
    assert options.keys() == {"reset_mask", "deal"} and mask.tolist() == [False, True, False]
    assert [env.position(row) == text for row, text in enumerate(before)] == [True, False, True]
    assert info["_action_mask"].tolist() == [False, True, False]
    assert info["deal"][1] == 3
    assert env.batch.steps.tolist() == [1, 0, 1]


def options_of(start: str) -> dict[str, Any]:
    if start == "name":
        pytest.importorskip("pysol_cards")
    env = SolitaireEnv("busy-aces")
    env.reset(options={"deal": 7})
    env.step(0)
    return {
        "number": {"deal": 7},
        "name": {"deal": "ms:617"},
        "hidden position": {"position": env.position(hidden=True)},
    }[start]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("start", ["number", "name", "hidden position"])
def test_rows_may_start_in_different_ways(start: str, mode: AutoresetMode) -> None:
    """Gymnasium's vector environment accepts the infos, and the native one has the same."""
    options = options_of(start)
    arguments: dict[str, Any] = {"max_episode_steps": 2}
    theirs = SyncVectorEnv([lambda: gym.make("Solitaire/BusyAces-v0", **arguments)] * 2, autoreset_mode=mode)
    ours = gym.make_vec("Solitaire/BusyAces-v0", num_envs=2, autoreset_mode=mode, **arguments)
    expected: Any = theirs.reset(seed=3)
    expect_results("at reset", expected, ours.reset(seed=3))
    for row in (1, 0):
        mask = np.arange(2) == row
        expected, got = (
            envs.reset(options={**options, "reset_mask": mask.copy()}) for envs in (theirs, ours)
        )
        expect_results("at reset of one", expected, got)
        for step in range(3):
            if mode is AutoresetMode.DISABLED and step == 2:
                expected, got = (envs.reset(seed=4) for envs in (theirs, ours))
            else:
                expected, got = (envs.step(np.zeros(2, dtype=np.int64)) for envs in (theirs, ours))
            expect_results(f"at step {step}", expected, got)
            for info in (expected[-1], got[-1]):
                assert info["deal"].dtype == np.int64 and info["_deal"].all()


# ------------------------------------------------------------------------------------------ steps


def test_an_illegal_action_changes_no_game() -> None:
    env = started(on_invalid="raise")
    texts = [env.position(row) for row in range(3)]
    bad = int(np.flatnonzero(~env.action_masks()[2])[0])
    with pytest.raises(IllegalActionError, match=rf"illegal action {bad} \(.*\), allowed here: draw"):
        env.step([0, 0, bad])
    assert [env.position(row) for row in range(3)] == texts


def test_the_action_of_a_restarting_game_is_ignored() -> None:
    env = started(on_invalid="raise", max_episode_steps=1)
    env.step([0, 0, 0])
    bad = int(np.flatnonzero(~env.action_masks()[2])[0])
    _, rewards, terminated, truncated, info = env.step([0, 0, bad])
    assert not (terminated.any() or truncated.any() or rewards.any() or info["invalid_action"].any())


def test_disabled_autoreset_requires_a_reset() -> None:
    env = started(autoreset_mode=AutoresetMode.DISABLED, max_episode_steps=1)
    env.step([0, 0, 0])
    with pytest.raises(gym.error.ResetNeeded, match=r"games \[0, 1, 2\] have ended.*reset_mask"):
        env.step([0, 0, 0])
    env.reset(options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(gym.error.ResetNeeded, match=r"games \[1\] have ended"):
        env.step([0, 0, 0])
    env.reset(options={"reset_mask": np.array([False, True, False])})
    env.step([0, 0, 0])


# ------------------------------------------------------------------------------------- in general


@pytest.mark.parametrize("mode", [*MODES, *(mode.value for mode in MODES)], ids=repr)
def test_make_vec_makes_the_native_environment(mode: AutoresetMode | str) -> None:
    env = gym.make_vec("Solitaire/BusyAces-v0", num_envs=256, autoreset_mode=mode)
    assert isinstance(env.unwrapped, SolitaireVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode(mode)
    assert SolitaireVectorEnv.metadata.get("autoreset_mode") is None
    assert env.unwrapped.game.settings.max_episode_steps == 32 * 104
    observation, info = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert info["action_mask"].shape == (256, int(env.single_action_space.n))  # type: ignore[attr-defined]


# -------------------------------------------------------------------------------- rows copied


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    ("sources", "targets"), [([0, 1, 1], [3, 4, 5]), ([0, 1, 2], [1, 2, 0]), ([4], [4]), ([], [])], ids=repr
)
def test_copied_rows_continue_like_their_sources(
    sources: list[int], targets: list[int], mode: AutoresetMode
) -> None:
    """The other rows are unchanged."""
    env = started(
        6, ALL_GAMES["short-4, same suit, any, sequence"], autoreset_mode=mode, max_episode_steps=13
    )
    batch = env.batch
    rng = np.random.default_rng(0)
    for _ in range(12):
        env.step(legal(env, rng))
        if mode is AutoresetMode.DISABLED and batch.ended.any():
            env.reset(options={"reset_mask": batch.ended.copy()})
    env.reset(options={"reset_mask": np.arange(6) == 1, "position": env.position(0)})
    env.step(legal(env, rng))
    expected = states(env)
    for source, target in zip(sources, targets, strict=True):
        expected[target] = env.get_state(source)
    env.copy_rows(sources, targets)
    assert states(env) == expected
    assert check_state(env) == []
    for _ in range(30 if targets else 0):
        pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if s not in targets]
        if mode is AutoresetMode.DISABLED and batch.ended.any():
            env.reset(options={"reset_mask": batch.ended.copy()})
        actions = legal(env, rng)
        for source, target in pairs:
            actions[target] = actions[source]
        observation, reward, terminated, truncated, info = env.step(actions)
        for source, target in pairs:
            for array in (observation, reward, terminated, truncated, info["deal"], info["action_mask"]):
                np.testing.assert_array_equal(array[source], array[target])


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=repr)
def test_a_numbered_deal_clears_the_name_of_a_deal(mode: AutoresetMode) -> None:
    """However the game is dealt."""
    pytest.importorskip("pysol_cards")
    env = SolitaireVectorEnv("busy-aces", 2, autoreset_mode=mode, max_episode_steps=1)
    for again in (lambda: env.reset(options={"deal": 3})[1], lambda: [env.step([0, 0]) for _ in "12"][-1][4]):
        _, info = env.reset(options={"deal": ["ms:1", 2]})
        assert info["deal"].tolist() == [-1, 2] and env.deal(0) == "ms:1"
        info = again()
        assert info["deal"].min() >= 0 and [env.deal(row) for row in range(2)] == info["deal"].tolist()


@pytest.mark.parametrize("games", ["klondike", ["klondike", "freecell", "yukon", "klondike-draw-3"]])
def test_resampled_rows_are_those_of_single_environments(games: Any) -> None:
    """Also after copies, which have seen what their sources have."""
    names = games if isinstance(games, list) else [games] * 4
    env, single = SolitaireVectorEnv(games, 8), SolitaireEnv(games)
    env.reset(seed=0, options={"deal": 5} | ({"variant": names * 2} if names is games else {}))
    draw, redeal = map(env.batch.parse_action, ("draw", "redeal"))
    for action in [draw] * 24 + [redeal]:
        # In the other rows a redeal is illegal, and changes nothing.
        observations, *_, info = env.step([action, *[redeal] * 7])
    env.copy_rows([0, 1, 2, 3], [4, 5, 6, 7])
    before = states(env)
    env.resample([6, 4, 5, 7], seed=3)
    for row, seed in ((4, 4), (5, 5), (6, 3), (7, 6)):
        name = names[row - 4]
        for each in (single, SolitaireEnv(name)):
            each.set_state(before[row])
            world = each.resample(seed).get_state()
            assert world == env.get_state(row)
        assert (world["row"] != before[row]["row"]) == (name != "freecell")
        assert world["stock_seen"] == (row == 4 or name in ("freecell", "yukon"))
    assert env.batch.position(4).stock == env.batch.position(0).stock
    assert states(env)[:4] == before[:4]
    np.testing.assert_array_equal(env.batch.observations()[4:], observations[:4])
    np.testing.assert_array_equal(env.action_masks()[4:], info["action_mask"][:4])
    env.resample([])
    env.resample(range(8), seed=2**63 - 1)
    assert len({env.position(row) for row in (*range(5), 6, 7)}) == 7


# -------------------------------------------------------------------------------------- refusals

REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[str, ...]]] = [
    ("reset", (), {"options": {"deal": [1, 2]}}, ("2 deals", "each of the 3 games")),
    ("reset", (), {"options": {"deal": [1, 2, -3]}}, ("-3", "0 to 2**63 - 1")),
    ("reset", (), {"options": {"deal": [1, 2, "../../x"]}}, ("'ms:N'",)),
    ("reset", (), {"options": {"position": ["", "", ""]}}, ("variant",)),
    ("reset", (), {"options": {"position": ["", ""]}}, ("2 positions", "each of the 3 games")),
    (
        "reset",
        (),
        {"options": {"reset_mask": [True] * 3}},
        ("[True, True, True]", "a bool array of shape (3,)"),
    ),
    ("reset", (), {"options": {"reset_mask": np.zeros(3, dtype=bool)}}, ("not all False",)),
    *(
        ("reset", (), {"seed": seed}, ("None, a whole number", "each of the 3 games"))
        for seed in (1.5, "ab", [1, 2], [1, 2, "x"], [[1], [2], [3]])
    ),
    ("step", ([0, 0, -1],), {}, ("-1", "0..170")),
    ("step", ([[0, 0, 0]],), {}, ("(1, 3)", "(3,) whole numbers")),
    ("step", ([0.0, 0.0, 0.0],), {}, ("float64", "(3,) whole numbers")),
    ("step", ([[0], [0, 1], 2],), {}, ("(3,) whole numbers",)),
    ("step", (np.array([2**64 - 1, 0, 0], dtype=np.uint64),), {}, ("0..170",)),
    ("copy_rows", ([0, 1], [2, 2]), {}, ("row 2 occurs twice", "each row once")),
    ("copy_rows", ([0], [1, 2]), {}, ("1 sources were given for 2 targets", "one each")),
    ("copy_rows", ([3], [0]), {}, ("no game 3 for sources", "0..2")),
    ("copy_rows", ([0.5], [1]), {}, ("sources have shape (1,) and type float64", "whole numbers")),
    ("resample", ([2, 0, 2],), {}, ("row 2 occurs twice in rows", "each row once")),
    ("resample", ([3],), {}, ("no game 3 for rows", "0..2")),
    ("resample", ([-1],), {}, ("no game -1 for rows", "0..2")),
    ("resample", ([0.5],), {}, ("rows have shape (1,) and type float64", "whole numbers")),
    ("resample", ([0], -1), {}, ("seed is -1", "from 0")),
    ("resample", ([0], None), {}, ("seed is None", "from 0")),
]


@pytest.mark.parametrize(("method", "arguments", "keywords", "words"), REFUSED, ids=shown)
def test_invalid_arguments_raise_an_error(
    method: str, arguments: Any, keywords: Any, words: tuple[str, ...], refuses: Refuses
) -> None:
    """They are read before anything is dealt, seeded or moved."""
    env = started()
    before = states(env)
    seed = {"seed": 5} if "options" in keywords else {}
    refuses(lambda: getattr(env, method)(*arguments, **seed, **keywords), *words)
    assert states(env) == before


def test_rows_before_reset_raise_an_error() -> None:
    """There are no games yet."""
    env = SolitaireVectorEnv("busy-aces", 2)
    saved = started().get_state(0)
    for method, *arguments in (
        ("deal", 0), ("get_state", 0), ("position", 0), ("set_state", 0, saved), ("copy_rows", [0], [1]),
        ("resample", [0]),
    ):  # fmt: skip
        with pytest.raises(gym.error.ResetNeeded, match=r"reset\(\)"):
            getattr(env, method)(*arguments)
