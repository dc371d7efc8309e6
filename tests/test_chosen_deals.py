"""Deals in text; environments draw from the deals that their argument ``deals`` names, and from no others."""

import copy
import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

from solitaire_env.core.deals import MAX_DEAL, RESERVED_DEALS
from solitaire_env.env import SolitaireEnv
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.splits import (
    BY_GAME,
    FINITE,
    LEVELS,
    MAX_CHOSEN,
    chosen_deals,
    games_of_split,
    parse_deals,
    split_deals,
)
from solitaire_env.variants import get_variant
from solitaire_env.vector import SolitaireVectorEnv
from tests.conftest import Refuses
from tests.core.test_deals import SHORT
from tests.core.test_random_numbers import next_deals

MODES = pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.value)
FIRST = RESERVED_DEALS
FEW = [FIRST + 7, 2**40, MAX_DEAL, FIRST, 2_000_000]
"""Some numbers of up to 63 bits."""
ID = "solitaire_env:Solitaire/BusyAces-v0"


def many(num_envs: int, mode: AutoresetMode | str = "NextStep", deals: Any = FEW) -> SolitaireVectorEnv:
    """Games that end after a step each."""
    return SolitaireVectorEnv(SHORT, num_envs, deals=deals, autoreset_mode=mode, max_episode_steps=1)


def singles(num_envs: int, resets: int, seed: int) -> list[list[int]]:
    """The deals of single environments, with the seeds that rows have."""
    rows = []
    for row in range(num_envs):
        env = SolitaireEnv(SHORT, deals=FEW)
        rows.append([int(env.reset(seed=seed + row)[1]["deal"])])
        rows[-1] += [int(env.reset()[1]["deal"]) for _ in range(resets)]
    return [list(column) for column in zip(*rows, strict=True)]


# ------------------------------------------------------------------------------------- the argument


@pytest.mark.parametrize(
    ("deals", "numbers"),
    [
        ([FIRST + 2, FIRST], [FIRST, FIRST + 2]),
        ((FIRST,), [FIRST]),
        (range(FIRST + 3, FIRST, -2), [FIRST + 1, FIRST + 3]),
        (np.array([2**62, 2**33]), [2**33, 2**62]),
        (np.array([MAX_DEAL], dtype=np.uint64), [MAX_DEAL]),
        (np.array([FIRST], dtype=np.int32), [FIRST]),
        ("2000000:2000003,1999999", [1_999_999, 2_000_000, 2_000_001, 2_000_002]),
        (str(MAX_DEAL), [MAX_DEAL]),
        (range(MAX_DEAL - 1, MAX_DEAL + 1), [MAX_DEAL - 1, MAX_DEAL]),
        (None, []),
        ("train", []),
    ],
    ids=repr,
)
def test_deals_are_numbers_texts_and_ranges_in_any_order(deals: Any, numbers: list[int]) -> None:
    chosen = chosen_deals(deals, [SHORT])
    assert chosen.tolist() == numbers and chosen.dtype == np.int64


@pytest.mark.parametrize("split", FINITE)
def test_every_finite_split_can_be_drawn_from(split: str) -> None:
    """Those for evaluation too: their name says that the user wants them."""
    game = get_variant("freecell")
    assert chosen_deals(split, [game]).tolist() == list(split_deals(split, game))
    envs = SolitaireVectorEnv(game, 64, deals=split)
    assert {*envs.reset(seed=0)[1]["deal"].tolist()} <= {*split_deals(split, game)}


@pytest.mark.parametrize(
    ("deals", "words"),
    [
        (range(1000), ("deal 0 is reserved for evaluation", "numbers from 1048576", "deals='dev'")),
        ([FIRST, FIRST - 1], ("deal 1048575 is reserved",)),
        ("0:1000", ("deal 0 is reserved", "deals='dev'")),
        (np.array([5]), ("deal 5 is reserved",)),
        ([-1], ("deal -1 is out of range", "2**63 - 1")),
        (np.array([2**63], dtype=np.uint64), ("deal 9223372036854775808 is out of range",)),
        ([2**70], ("allowed: one row of whole numbers",)),
        (range(2**70, 2**70 + 3), ("allowed: one row of whole numbers",)),
        ([], ("0 numbers", "1 to 10,000,000")),
        (range(0), ("0 numbers",)),
        (range(FIRST, 2**62), ("at most 10,000,000",)),
        (range(FIRST, FIRST + MAX_CHOSEN + 1), ("at most 10,000,000",)),
        ([FIRST, FIRST + 1, FIRST], ("name 1048576 more than once", "each deal once")),
        (f"{FIRST}:{FIRST + 9},{FIRST}", ("twice",)),
        ("trian-1k", ("'trian-1k'", "FIRST:END", "train-1k")),
        ("2000000,ms:11982", ("'ms:11982'", "numbers from 1048576")),
        (["train-1k"], ("allowed: one row of whole numbers",)),
        ([FIRST + 0.5], ("float64", "whole numbers")),
        (FIRST, ("shape ()", "whole numbers")),
        ([[FIRST]], ("shape (1, 1)", "whole numbers")),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_other_deals_are_refused(deals: Any, words: tuple[str, ...], refuses: Refuses) -> None:
    for make in (SolitaireEnv, SolitaireVecEnv, lambda game, deals: SolitaireVectorEnv(game, 2, deals=deals)):
        refuses(lambda make=make: make("busy-aces", deals=deals), *words)


@pytest.mark.parametrize("split", BY_GAME)
def test_deals_that_differ_by_game_are_those_of_published_rules(split: str, refuses: Refuses) -> None:
    deals = split_deals(split, "busy-aces")
    assert [*SolitaireEnv("busy-aces", deals=split, moves="supermove").batch.chosen] == deals != []
    refuses(lambda: SolitaireEnv("busy-aces", deals=split, spaces="kings"), split, "published rules", "dev")
    refuses(lambda: SolitaireEnv("streets", deals=split), f"'streets' has no split '{split}'", "busy-aces")


@pytest.mark.parametrize(("part", "winnable"), [("train", "train-winnable"), ("dev", "winnable")])
def test_a_deal_has_one_level_and_those_that_can_be_won_have_one(part: str, winnable: str) -> None:
    for game in games_of_split(f"{part}-easy"):
        levels = [
            {*split_deals(f"{part}-{level}", game)}
            for level in LEVELS
            if game in games_of_split(f"{part}-{level}")
        ]
        all_levels = set().union(*levels)
        assert len(all_levels) == sum(map(len, levels)), game
        if game in games_of_split(winnable):
            assert {*split_deals(winnable, game)} <= all_levels, game


def test_deals_pass_through_gymnasium() -> None:
    """A text and the name of a split are JSON."""
    for deals in ("train-1k", "2000000:2000010", [2_000_000, 2_000_001]):
        env = gym.make(ID, deals=deals)
        spec = EnvSpec.from_json(env.spec.to_json())  # type: ignore[union-attr]
        assert (
            gym.make(spec).reset(seed=3)[1]["deal"]
            == env.reset(seed=3)[1]["deal"]
            in chosen_deals(deals, [SHORT])
        )
    assert 2_000_000 <= gym.make(ID, deals=range(2_000_000, 2_000_005)).reset()[1]["deal"] < 2_000_005
    envs = gym.make_vec(ID, num_envs=3, deals="train-1k")
    deals = envs.reset(seed=3)[1]["deal"].tolist()
    sync = gym.make_vec(ID, num_envs=3, deals="train-1k", vectorization_mode="sync")
    assert sync.reset(seed=3)[1]["deal"].tolist() == deals


# ---------------------------------------------------------------------------------------- the draws


def test_a_long_range_is_drawn_from_everywhere() -> None:
    envs = many(4096, deals=range(FIRST, FIRST + 3_000_000))
    drawn = envs.reset(seed=0)[1]["deal"] - FIRST
    assert drawn.min() < 10_000 and drawn.max() >= 2_990_000 and len({*drawn.tolist()}) > 4050
    assert abs(np.histogram(drawn, bins=8, range=(0, 3_000_000))[0] - 512).max() < 100


@MODES
def test_rows_draw_like_single_environments(mode: AutoresetMode) -> None:
    envs = many(6, mode)
    expected = singles(6, 20, seed=11)
    assert envs.reset(seed=11)[1]["deal"].tolist() == expected[0]
    assert [next_deals(envs) for _ in range(20)] == expected[1:]


# ---------------------------------------------------------------------------------- the reset option


def test_a_reset_draws_from_the_deals_that_it_names() -> None:
    """The next one draws from those of the environment again."""
    env = SolitaireEnv("busy-aces", deals=[FIRST + 5])
    for deals in ("train-easy", "dev-medium", range(2_000_000, 2_000_003), "3000000", None, [FIRST]):
        chosen = chosen_deals(deals, [env.variant])
        for _ in range(5):
            deal = env.reset(options={"deals": deals})[1]["deal"]
            assert deal in chosen if len(chosen) else deal >= FIRST
        assert env.reset()[1]["deal"] == FIRST + 5


def test_a_reset_draws_the_same_from_its_deals_as_from_those_of_the_environment() -> None:
    named = SolitaireEnv("busy-aces", deals="train-easy").reset(seed=3)[1]["deal"]
    assert SolitaireEnv("busy-aces").reset(seed=3, options={"deals": "train-easy"})[1]["deal"] == named
    envs = SolitaireVectorEnv("busy-aces", 8)
    drawn = envs.reset(seed=3, options={"deals": "train-easy"})[1]["deal"].tolist()
    assert drawn == SolitaireVectorEnv("busy-aces", 8, deals="train-easy").reset(seed=3)[1]["deal"].tolist()
    sb3 = SolitaireVecEnv("busy-aces", 8)
    sb3.seed(3)
    sb3.set_options({"deals": "train-easy"})
    sb3.reset()
    assert drawn == [info["deal"] for info in sb3.reset_infos]


def test_rows_of_a_reset_draw_from_numbers_together_or_from_a_text_each() -> None:
    envs = SolitaireVectorEnv("busy-aces", 3)
    for deals in ([FIRST, FIRST + 1], np.array([FIRST, FIRST + 1]), [FIRST, FIRST + 1, FIRST + 2]):
        assert {*envs.reset(options={"deals": deals})[1]["deal"].tolist()} <= {FIRST, FIRST + 1, FIRST + 2}
    drawn = envs.reset(options={"deals": ["train-easy", "dev-hard", "2000000"]})[1]["deal"].tolist()
    assert drawn[0] in split_deals("train-easy", "busy-aces")
    assert drawn[1] in split_deals("dev-hard", "busy-aces") and drawn[2] == 2_000_000


def test_a_family_draws_from_the_deals_of_the_game_that_a_reset_names(refuses: Refuses) -> None:
    env = SolitaireEnv(["klondike", "freecell"])
    info = env.reset(options={"variant": "klondike", "deals": "train-easy"})[1]
    assert info["variant"] == "klondike" and info["deal"] in split_deals("train-easy", "klondike")
    assert env.reset(options={"deals": FEW})[1]["deal"] in FEW
    refuses(lambda: env.reset(options={"deals": "train-easy"}), "another set for each game")


def test_other_deals_of_a_reset_are_refused(refuses: Refuses) -> None:
    env = SolitaireEnv("busy-aces")
    env.reset(seed=0)
    before = env.get_state()
    refuses(lambda: env.reset(options={"deals": range(1000)}), "deal 0 is reserved", "deals='dev'")
    refuses(lambda: env.reset(options={"deals": "easy"}), "'easy'", "train-easy", "dev-easy")
    refuses(lambda: env.reset(options={"deals": "dev", "deal": 7}), "'deal' and 'deals' cannot be combined")
    refuses(
        lambda: SolitaireVectorEnv("busy-aces", 3).reset(options={"deals": ["dev", "dev"]}),
        "2 deals were given",
    )
    assert env.get_state() == before


# ------------------------------------------------------------------------- starts, saving, copies


def test_options_still_name_any_start() -> None:
    env = SolitaireEnv("busy-aces", deals=[FIRST])
    assert env.reset(seed=0, options={"deal": 3})[1]["deal"] == 3
    text = env.position()
    env.reset(options={"position": text})
    assert (env.position(), env.deal) == (text, None)
    assert env.reset()[1]["deal"] == FIRST


def test_hidden_cards_are_drawn_at_random_though_a_single_deal_is_chosen() -> None:
    env = SolitaireEnv("busy-aces", deals=[FIRST])
    env.reset(seed=0)
    hidden = env.position(hidden=True)
    texts = set()
    for _ in range(5):
        env.reset(options={"position": hidden})
        texts.add(env.position())
    assert len(texts) == 5


def by_state(env: SolitaireEnv) -> SolitaireEnv:
    other = SolitaireEnv(SHORT, deals=FEW)
    other.set_state(env.get_state())
    return other


@pytest.mark.parametrize(
    "copied", [SolitaireEnv.clone, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), by_state]
)
def test_copies_draw_the_same_later_deals(copied: Callable[[SolitaireEnv], SolitaireEnv]) -> None:
    env = SolitaireEnv(SHORT, deals=FEW)
    env.reset(seed=2)
    other = copied(env)
    later = [[int(each.reset()[1]["deal"]) for _ in range(30)] for each in (env, other)]
    assert later[0] == later[1] and {*later[0]} == {*FEW}


def test_copies_share_a_long_list() -> None:
    """A search makes many."""
    env = SolitaireEnv("busy-aces", deals="train-100k")
    family = SolitaireEnv(["klondike", "freecell"], deals="train-100k")
    for each in (env, family):
        each.reset(seed=0)
        other = each.clone()
        assert other.batch.chosen is each.batch.chosen
        assert not np.shares_memory(other.batch.streams, each.batch.streams)
    assert family.clone().batch.groups[1].deals.chosen is family.batch.chosen
    one = other.batch
    assert one.groups[0].deals.streams is one.groups[1].deals.streams is one.streams


# ----------------------------------------------------------------------------------------- families


def test_all_games_of_a_family_draw_the_same_numbers(refuses: Refuses) -> None:
    games = ["klondike", "freecell", "busy-aces"]
    env = SolitaireEnv(games, deals=FEW)
    dealt = Counter()
    for reset in range(200):
        _, info = env.reset(seed=0 if reset == 0 else None)
        dealt[info["variant"], int(info["deal"])] += 1
    assert len(dealt) == len(games) * len(FEW)
    envs = SolitaireVectorEnv(games, 4, deals=FEW)
    rows = [SolitaireEnv(games, deals=FEW).reset(seed=row)[1] for row in range(4)]
    _, info = envs.reset(seed=0)
    assert info["deal"].tolist() == [row["deal"] for row in rows]
    refuses(
        lambda: SolitaireEnv(games, deals="winnable"), "another set for each game", "train-1k, train-100k"
    )
    one = SolitaireEnv(["freecell"], deals="winnable")
    assert len(one.batch.chosen) == len(split_deals("winnable", "freecell"))


@pytest.mark.parametrize(
    ("text", "deals"),
    [
        ("7", [7]),
        ("0:3", [0, 1, 2]),
        ("5, 0:2,ms:11982 ,pysol:24", [5, 0, 1, "ms:11982", "pysol:24"]),
    ],
)
def test_deals_are_parsed(text: str, deals: list[int | str]) -> None:
    assert parse_deals(text) == deals


@pytest.mark.parametrize(
    "text",
    ["", "a", "-1", "3:3", "0:", "0:10:2", "ms:", "klondike:4", "1,,2", "\u0661", "9" * 20, "\x1b[7m"],
)
def test_unknown_deals_raise_an_error(text: str, refuses: Refuses) -> None:
    refuses(lambda: parse_deals(text), "unknown deals", "FIRST:END")


def test_too_many_deals_raise_an_error(refuses: Refuses) -> None:
    refuses(lambda: parse_deals("0:99999999999"), "0:99999999999", "1,000,000")
    refuses(lambda: parse_deals("0:9999999999999999999"), "0:9999999999999999999", "1,000,000")
    refuses(lambda: parse_deals("0:600000,600000:1000001"), "600000:1000001", "1,000,000")
    refuses(lambda: parse_deals("0:10,3"), "'0:10,3'", "twice")
