"""The single environment."""

import json
import pickle
from collections.abc import Iterable
from itertools import cycle, product
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solitaire_env.core import observations
from solitaire_env.core.batch import IllegalActionError
from solitaire_env.core.cards import DOWN, EMPTY, FACE_DOWN, card_name, parse_card
from solitaire_env.core.deals import RESERVED_DEALS
from solitaire_env.core.layout import make_rules
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import Position, parse_position
from solitaire_env.registration import env_id
from solitaire_env.testing import check_state
from solitaire_env.util.messages import shown
from solitaire_env.variants import VARIANTS, get_variant
from solitaire_env.vector import SolitaireVectorEnv
from tests.conftest import Refuses
from tests.damage import DAMAGE, damaged_records, read_or_refused
from tests.games import ALL_GAMES, FURTHER, ONE_PER_RULE, PUBLISHED
from tests.positions import fill
from tests.reference import ReferenceGame, ReferenceRules

IDS = list(map(env_id, ONE_PER_RULE.values()))
WON = "foundations: C all D all H all S all|t1..:"
STUCK = "waste: ... KC"


def position(name: str, partial: str) -> str:
    return fill(f"variant: {name}|{partial}", ReferenceRules.of(PUBLISHED[name]))


def start(name: str, partial: str, **arguments: Any) -> SolitaireEnv:
    env = SolitaireEnv(name, **arguments)
    env.reset(options={"position": position(name, partial)})
    return env


def play(env: SolitaireEnv, *texts: str) -> Any:
    for text in texts:
        result = env.step(env.parse_action(text))
    return result


# -------------------------------------------------------------------------------------- Gymnasium


@pytest.mark.parametrize("information", observations.INFORMATION)
@pytest.mark.parametrize("name", ONE_PER_RULE)
def test_bounds_of_card_observations_depend_on_the_entry(name: str, information: str) -> None:
    """A card is at most the King of Spades, a foundation at most the highest rank, the count an int8."""
    env = SolitaireEnv(name, information=information)
    variant, layout = env.variant, env.observation_layout
    expected = np.full(env.observation_space.shape, parse_card("KS"))
    if variant.hides_cards and information == "thoughtful":
        expected[: layout[f"t{variant.piles}"].stop] = parse_card("(KS)")
    expected[layout["foundations"]] = variant.ranks
    if variant.stock:
        expected[layout["stock_count"]] = min(variant.stock, 127)
    if variant.passes > 1:
        expected[layout["redeals"]] = variant.passes - 1
    if variant.base == "dealt":
        expected[layout["base"]] = 13
    np.testing.assert_array_equal(env.observation_space.high, expected)  # type: ignore[attr-defined]
    assert not env.observation_space.low.any()  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------ reset


def test_seed_picks_an_unreserved_deal() -> None:
    env = SolitaireEnv("busy-aces")
    numbers = [env.reset(seed=7)[1]["deal"], env.reset()[1]["deal"], env.reset()[1]["deal"]]
    assert len(set(numbers)) == 3 and min(numbers) >= RESERVED_DEALS
    again = SolitaireEnv("busy-aces")
    assert [again.reset(seed=7)[1]["deal"], again.reset()[1]["deal"], again.reset()[1]["deal"]] == numbers
    assert env.reset(seed=8)[1]["deal"] not in numbers
    text = env.position()
    env.reset(options={"deal": env.get_state()["deal"]})
    assert env.position() == text


def first_row(text: str) -> str:
    """The bottom cards of the tableau piles."""
    return " ".join(line.split()[1] for line in text.splitlines() if line[0] == "t")


def test_named_deals_are_dealt() -> None:
    env = SolitaireEnv("eights-down")
    _, info = env.reset(options={"deal": 7})
    assert info["deal"] == 7
    assert first_row(env.position()) == "9H 2H 4S 5H JD 6H KC 3C"
    pytest.importorskip("pysol_cards")
    _, info = env.reset(options={"deal": "ms:1"})
    assert info["deal"] == -1 and env.deal == "ms:1"
    assert first_row(env.position()) == "JD 2D 9H JC 5D 7H 7C 5H"
    assert env.reset()[1]["deal"] >= RESERVED_DEALS


def test_a_named_deal_does_not_advance_the_stream() -> None:
    """The deals that follow a seed do not depend on the deals named in between."""
    env, other = SolitaireEnv("busy-aces"), SolitaireEnv("busy-aces")
    env.reset(seed=3)
    other.reset(seed=3)
    env.reset(options={"deal": 5})
    assert env.reset()[1]["deal"] == other.reset()[1]["deal"]


def test_a_game_starts_from_a_position_as_text_or_object() -> None:
    env = SolitaireEnv("klondike")
    env.reset(seed=0)
    for _ in range(30):
        env.step(int(np.flatnonzero(env.action_masks())[0]))
    text = env.position()
    other = SolitaireEnv("klondike")
    observation, info = other.reset(options={"position": text})
    assert other.position() == text
    assert info["deal"] == -1 and other.deal is None
    np.testing.assert_array_equal(info["action_mask"], env.action_masks())
    assert env.observation_space.contains(observation)
    other.reset(options={"position": parse_position(text)})
    assert other.position() == text


def test_a_hidden_stock_is_drawn_from_the_unseen_cards() -> None:
    env = SolitaireEnv("forty-thieves")
    env.reset(seed=0)
    play(env, *["draw"] * 10)
    hidden = env.position(hidden=True)
    assert hidden.splitlines()[1] == "stock:" + " ??" * 54
    texts = set()
    for seed in (1, 2, 1):
        env.reset(seed=seed, options={"position": hidden})
        assert env.position(hidden=True) == hidden
        assert not any("?" in line for line in env.position().splitlines())
        texts.add(env.position())
    assert len(texts) == 2, "the seed decides"


@pytest.mark.parametrize("name", ["eights-down", "penguin"])
def test_a_won_start_terminates_in_the_first_step(name: str) -> None:
    """The step earns nothing: no card went home in it."""
    env = start(name, WON, reward="progress+win")
    assert env.action_masks().all()
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["is_success"] and info["cards_home"] == env.variant.cards


@pytest.mark.parametrize("name", ["forty-thieves", "forty-bandits"])
def test_a_stuck_game_does_not_change(name: str) -> None:
    """A finished game accepts every action of the space."""
    env = start(name, STUCK)
    text = env.position()
    for action in range(int(env.action_space.n)):  # type: ignore[attr-defined]
        _, reward, terminated, truncated, info = env.step(action)
        assert (reward, terminated, truncated, info["is_success"]) == (0.0, True, False, False)
        assert not info["invalid_action"] and info["action_mask"].all()
    assert env.position() == text
    with pytest.raises(IllegalActionError, match="the game is finished: no action is legal"):
        env.describe_action(0)


# ------------------------------------------------------------------------------------ on_invalid


@pytest.mark.parametrize("mask_dtype", ["int8", "bool"])
def test_infos_contain_numpy_values(mask_dtype: Any) -> None:
    """TorchRL reads their dtypes; the mask is a new array each time."""
    env = SolitaireEnv("eights-down", mask_dtype=mask_dtype)
    plain = SolitaireEnv("eights-down")
    _, info = env.reset(seed=0)
    plain.reset(seed=0)
    for _ in range(2):
        assert {key: (value.dtype, value.shape) for key, value in info.items()} == {
            "action_mask": (np.dtype(mask_dtype), (int(env.action_space.n),)),  # type: ignore[attr-defined]
            "deal": (np.int64, ()),
            "invalid_action": (np.bool_, ()),
            "is_success": (np.bool_, ()),
            "cards_home": (np.int64, ()),
        }
        np.testing.assert_array_equal(info["action_mask"], plain.action_masks())
        before = info["action_mask"]
        *_, info = env.step(int(before.argmax()))
        plain.step(int(before.argmax()))
        assert info["action_mask"] is not before
    assert env.clone().mask_dtype == mask_dtype


def test_noop_changes_nothing() -> None:
    env = start("forty-thieves", "t1: KH 8S|t2: KD 8S|t3: QH 7S")
    text = env.position()
    _, reward, terminated, truncated, info = play(env, "t1>t2")
    assert (reward, terminated, truncated, info["invalid_action"]) == (0.0, False, False, True)
    assert env.position() == text
    assert not play(env, "t3>t2")[-1]["invalid_action"]


def test_terminate_ends_the_episode() -> None:
    env = start("forty-thieves", "t1: KH 8S|t2: KD 8S|t3: QH 7S", on_invalid="terminate")
    _, reward, terminated, truncated, info = play(env, "t1>t2")
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["invalid_action"] and not info["is_success"]


def test_raise_raises_an_error(refuses: Refuses) -> None:
    env = start("forty-thieves", "t1: KH 8S|t2: KD 8S|t3: QH 7S", on_invalid="raise")
    text = env.position()
    refuses(lambda: play(env, "t1>t2"), f"illegal action {env.parse_action('t1>t2')} (t1>t2)", "t3>t1, t3>t2")
    with pytest.raises(IllegalActionError):
        play(env, "draw")
    assert env.position() == text


@pytest.mark.parametrize(
    "method", ["step", "position", "action_masks", "get_state", "resample", "describe_action", "expand"]
)
def test_methods_before_reset_raise_an_error(method: str) -> None:
    env = SolitaireEnv("busy-aces")
    with pytest.raises(gym.error.ResetNeeded, match=r"reset\(\)"):
        getattr(env, method)(*[0] * (method in ("step", "describe_action", "expand")))


# -------------------------------------------------------------------------------- rewards, limits

LAST_CARDS = "foundations: C all D all H all S all 11|t1: KS QS|t2..:"


@pytest.mark.parametrize(
    ("reward", "paid"),
    [("progress", (1 / 104, 1 / 104)), ("win", (0.0, 1.0)), ("progress+win", (1 / 104, 1 + 1 / 104))],
)
def test_rewards_follow_the_scheme(reward: str, paid: tuple[float, float]) -> None:
    env = start("forty-thieves", LAST_CARDS, reward=reward)
    _, first, terminated, _, info = play(env, "t1>f")
    assert (first, terminated, info["is_success"]) == (paid[0], False, False)
    _, last, terminated, _, info = play(env, "t1>f")
    assert (last, terminated, info["is_success"]) == (pytest.approx(paid[1]), True, True)


def test_the_stall_limit_truncates() -> None:
    """It counts steps since a card went home or left the stock; invalid ones count."""
    env = start("forty-thieves", "t1: KH 8S|t2: KD 8S|t3: QH 7S|stock: 2D 3D", stall_limit=3)
    ends = [play(env, text)[3] for text in ("t3>t1", "t1>t2", "draw", "t2>t1", "t1>f", "t1>t2")]
    assert ends == [False, False, False, False, False, True]
    assert play(env, "draw")[2:4] == (False, False), "the count started again"


def steps_until_truncated(env: SolitaireEnv, moves: Iterable[str]) -> int:
    """Number of moves until the game is truncated; the moves must be enough."""
    for number, text in enumerate(moves, 1):
        *_, terminated, truncated, _ = play(env, text)
        assert not terminated
        if truncated:
            return number
    raise AssertionError("not truncated")


NO_LIMIT = {variant.name: variant for variant in VARIANTS if variant.passes == 0}


@pytest.mark.parametrize("name", NO_LIMIT)
def test_with_unlimited_redeals_a_pass_of_the_stock_is_added_to_the_stall_limit(name: str) -> None:
    """A player sees the whole stock before a game is truncated, and no more passes than the limit allows."""
    variant = get_variant(name)
    draws = -(-variant.stock // variant.draw)
    for limit in (1, 5, 2 * draws):
        env = SolitaireEnv(variant, stall_limit=limit)
        env.reset(options={"deal": 4})
        moves = cycle(draws * ["draw"] + ["redeal"])
        assert steps_until_truncated(env, moves) == limit + draws + 1


@pytest.mark.parametrize(
    "name", [name for name, variant in (ONE_PER_RULE | NO_LIMIT).items() if variant.fill == "none"]
)
def test_the_count_of_the_stall_limit_starts_again_with_progress(name: str) -> None:
    """Cards that go home, are turned up or leave the stock; with unlimited redeals also the waste."""
    env, random = SolitaireEnv(name, stall_limit=10**6), np.random.default_rng(0)
    env.reset(options={"deal": 3})

    def left() -> tuple[int, int, int]:
        position = parse_position(env.position(), env.variant)
        waiting = len(position.stock) + len(position.waste) * (env.variant.passes == 0)
        down = sum(card & DOWN > 0 for pile in position.tableau for card in pile)
        return env.variant.cards - sum(map(sum, position.foundations)), down, waiting

    least, stalls = left(), 0
    for _ in range(400):
        legal = np.flatnonzero(env.action_masks())
        if env.step(int(random.choice(legal)))[2]:
            break
        now = left()
        stalls = 0 if any(a < b for a, b in zip(now, least, strict=True)) else stalls + 1
        # A redeal fills the stock again; a card that worries back is not one that has never been home.
        least = (min(now[0], least[0]), *now[1:])
        assert env.get_state()["stalls"] == stalls


def test_moves_without_draws_end_too_with_unlimited_redeals() -> None:
    """A card that worries back and goes home again is no progress."""
    env = SolitaireEnv("klondike", stall_limit=3)
    env.reset(options={"deal": 1})
    for text in ("t5>t4", "t7>t6", "t7>f"):
        play(env, text)
    assert steps_until_truncated(env, cycle(["fD>t5", "t5>f"])) == 3 + 24 + 1


# ----------------------------------------------------------------------------------- observations


def shown_position(env: SolitaireEnv) -> Position:
    """The position as the player knows it."""
    position = parse_position(env.position(), env.variant)
    if env.settings.information == "thoughtful":
        return position
    remembers = env.settings.information == "memory" and env.get_state()["stock_seen"]
    return position.hidden(np.array(position.stock, dtype=np.int8) if remembers else None)


@pytest.mark.parametrize("observation", observations.OBSERVATIONS)
def test_with_memory_the_stock_is_observed_once_it_has_been_seen(observation: Any) -> None:
    """Klondike's stock is empty after 24 draws; the redeal turns the waste over."""
    env = SolitaireEnv("klondike", observation=observation, information="memory")
    known = SolitaireEnv("klondike", observation=observation, information="thoughtful")
    unseen, _ = env.reset(options={"deal": 7})
    known.reset(options={"deal": 7})
    stock = env.observation_layout["stock"]
    assert set(unseen[stock].tolist()) == ({1} if observation == "cards" else {0.0})
    for move in 24 * ["draw"] + ["redeal", "draw"]:
        seen = play(env, move)[0]
        expected = play(known, move)[0]
    np.testing.assert_array_equal(seen[stock], expected[stock])
    assert np.count_nonzero(seen[stock]) > 20 and not np.array_equal(seen, expected), "piles are hidden"
    # A state keeps the memory.
    copied = SolitaireEnv("klondike", observation=observation, information="memory")
    np.testing.assert_array_equal(copied.reset(options={"state": env.get_state()})[0], seen)


@pytest.mark.parametrize("name", ALL_GAMES)
def test_card_observations_show_the_position(name: str) -> None:
    """The decoder returns the player's view; named slices are in the right places."""
    for information in observations.INFORMATION:
        env = SolitaireEnv(ALL_GAMES[name], information=information)
        observation, info = env.reset(seed=0)
        rng = np.random.default_rng(0)
        for _ in range(15):
            assert env.decode_observation(observation) == shown_position(env)
            assert env.observation_space.contains(observation)
            observation, _, _, _, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        pile = shown_position(env).tableau[0]
        assert [code for code in observation[env.observation_layout["t1"]].tolist() if code] == list(pile)


def test_an_observation_of_another_game_raises_an_error(refuses: Refuses) -> None:
    env = SolitaireEnv("busy-aces")
    refuses(lambda: env.decode_observation(np.zeros(7, dtype=np.int8)), "(7,)", "(257,)", "(349,)")
    refuses(lambda: env.decode_observation([[1], [2, 3]]), "is a list", "an array")  # type: ignore[arg-type]


def card_words(code: int, ranks: int) -> list[float]:
    return [(code >> 2) / ranks, *(float(code & 3 == suit) for suit in range(4))]


def features_of(seen: Position, reference: ReferenceGame, layout: dict[str, slice]) -> np.ndarray[Any, Any]:
    """The features of a position as the player sees it, computed from the text of ``feature_layout``."""
    variant, capacity = seen.variant, make_rules(seen.variant).pile_capacity
    moves_runs = variant.moves != "one card"
    runs = [reference.run(pile) if pile and moves_runs else 0 for pile in reference.tableau]
    out = np.zeros(max(part.stop for part in layout.values()), dtype=np.float32)
    sources = {f"t{n}": pile for n, pile in enumerate(seen.tableau, 1)}
    sources |= {"waste": seen.waste} if variant.stock else {}
    sources |= {f"c{n}": (card,) if card else () for n, card in enumerate(seen.cells, 1)}
    for source, cards in sources.items():
        part = out[layout[source]]
        if cards:
            may_go_home = reference.home(card_name(cards[-1])) is not None
            part[:6] = [*card_words(cards[-1], variant.ranks), may_go_home]
        if source[0] == "t":
            part[6:] = [len(cards) / capacity, min(runs[int(source[1:]) - 1] / variant.ranks, 1)]
        elif source == "waste":
            part[6] = len(cards) / variant.stock
    grid = out[layout["cards"]].reshape(4, variant.ranks, 4)
    for suit, rank in product(range(4), range(1, variant.ranks + 1)):
        code = 4 * rank + suit
        depths = [
            len(pile) - 1 - n for pile in seen.tableau for n, card in enumerate(pile) if card & ~DOWN == code
        ]
        needed = (rank - reference.base) % variant.ranks + 1
        grid[suit, rank - 1] = [
            sum(cards >= needed for cards in seen.foundations[suit]) / variant.decks,
            sum(cards[-1:] == (code,) for cards in sources.values()) / variant.decks,
            sum(depth > 0 for depth in depths) / variant.decks,
            min([1.0, *(depth / capacity for depth in depths)]),
        ]
    out[layout["counts"]] = [
        len(seen.stock) / max(variant.stock, 1),
        seen.tableau.count(()) / variant.piles,
        seen.cells.count(EMPTY) / max(variant.cells, 1),
        sum(map(sum, seen.foundations)) / variant.cards,
    ]
    more = [seen.redeals / (variant.passes - 1)] if variant.passes > 1 else []
    more += [seen.base / variant.ranks] if variant.base == "dealt" else []
    if variant.hides_cards:
        more += [sum(card == FACE_DOWN or card > DOWN for card in pile) / capacity for pile in seen.tableau]
    assert bool(more) == ("rules" in layout)
    if more:
        out[layout["rules"]] = more
    if "stock" in layout:
        known = (code for code in reversed(seen.stock) if code != FACE_DOWN)
        words = [word for code in known for word in card_words(code, variant.ranks)]
        out[layout["stock"]][: len(words)] = words
    return out


@pytest.mark.parametrize("information", observations.INFORMATION)
@pytest.mark.parametrize("name", [*ONE_PER_RULE, *FURTHER, "short-4, any suit, any, sequence", "only-aces"])
def test_features_equal_their_description(name: str, information: str) -> None:
    env = SolitaireEnv(ALL_GAMES[name], observation="features", information=information)
    observation, info = env.reset(seed=0)
    rng = np.random.default_rng(1)
    for _ in range(25):
        assert env.observation_space.contains(observation)
        reference = ReferenceGame.from_text(env.position(), ReferenceRules.of(env.variant))
        seen = shown_position(env)
        expected = features_of(seen, reference, env.observation_layout)
        np.testing.assert_allclose(observation, expected, atol=1e-6, err_msg=env.position())
        observation, _, _, _, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))


# --------------------------------------------------------------------------------- save, restore


def some_game(name: str = "eights-down", **arguments: Any) -> SolitaireEnv:
    env = SolitaireEnv(name, **arguments)
    env.reset(seed=5)
    for _ in range(6):
        env.step(int(np.flatnonzero(env.action_masks())[-1]))
    return env


@pytest.mark.parametrize("number", [2**64 - 1, 2**63, 171])
@pytest.mark.parametrize("on_invalid", ["noop", "raise", "terminate"])
def test_the_error_shows_the_action_that_was_passed(number: int, on_invalid: Any, refuses: Refuses) -> None:
    """Not its lowest 64 bits."""
    refuses(
        lambda: some_game("busy-aces", on_invalid=on_invalid).step(np.uint64(number)),
        f"action {number} ",
        "0..170",
    )
    envs = SolitaireVectorEnv("busy-aces", 2, on_invalid=on_invalid)
    envs.reset(seed=0)
    actions = np.array([0, number], dtype=np.uint64)
    refuses(lambda: envs.step(actions), f"action {number} ", "0..170")


@pytest.mark.parametrize("code", [128, -129, 2**62, -(2**63)], ids=shown)
def test_codes_beyond_a_byte_raise_an_error(code: int, refuses: Refuses) -> None:
    """Without counting up to them."""
    env = some_game("busy-aces")
    observation = env.step(0)[0].astype(np.int64)
    for entry in (0, env.observation_layout["foundations"].start, len(observation) - 1):
        wrong = observation.copy()
        wrong[entry] = code
        refuses(lambda wrong=wrong: env.decode_observation(wrong), f"code {code}, allowed: 0 to 127")


def test_a_state_with_a_hidden_stock_raises_an_error(refuses: Refuses) -> None:
    env = some_game("busy-aces")
    saved = env.get_state()
    stock = env.batch.rules.row_stock
    saved["row"][stock:] = [FACE_DOWN if code else 0 for code in saved["row"][stock:]]
    refuses(lambda: env.set_state(saved), "state is not possible", "face-down")


@DAMAGE
@given(data=st.data())
@pytest.mark.parametrize("name", ["klondike-draw-3", "penguin", "eights-down"])
def test_damaged_states(name: str, data: st.DataObject) -> None:
    """A state is refused, or it can be played; two exchanged cards may be valid."""
    env = some_game(name)
    saved = env.get_state()
    places = st.integers(0, len(saved["row"]) - 1)
    exchanged = {**saved, "row": saved["row"].copy()}
    one, other = data.draw(places), data.draw(places)
    exchanged["row"][one], exchanged["row"][other] = saved["row"][other], saved["row"][one]
    state = data.draw(damaged_records([saved]) | st.just(exchanged))
    if read_or_refused(env.set_state, state) is None:
        assert env.get_state() == saved
    else:
        assert env.get_state() == state and check_state(env) == []
        env.step(int(env.action_masks().argmax()))
        assert check_state(env) == []


# ------------------------------------------------------------------------------- hidden cards again


def test_resample_returns_a_copy_with_other_hidden_cards() -> None:
    env = SolitaireEnv("klondike")
    observation, info = env.reset(options={"deal": 5})
    before = env.get_state()
    worlds = [env.resample(seed) for seed in range(5)]
    assert env.get_state() == before
    assert len({world.position() for world in (env, *worlds)}) == 6
    assert {world.position(hidden=True) for world in worlds} == {env.position(hidden=True)}
    assert env.resample().position() == worlds[0].position() == worlds[3].resample(0).position()
    for world in worlds:
        np.testing.assert_array_equal(world.action_masks(), info["action_mask"])
        assert world.deal is None and world.get_state()["stream"] == before["stream"]
        observed, *_ = world.step(world.parse_action("draw"))
        assert not np.array_equal(observed, observation)
    assert env.get_state() == before


def test_resample_keeps_a_stock_that_copies_and_saved_games_have_seen() -> None:
    env = SolitaireEnv("klondike")
    env.reset(options={"deal": 5})
    play(env, *["draw"] * 24, "redeal", "draw")
    other = SolitaireEnv("klondike")
    other.set_state(json.loads(json.dumps(env.get_state())))
    stock = env.batch.position(0).stock
    for known in (env, env.clone(), pickle.loads(pickle.dumps(env)), other):
        for seed in range(5):
            assert known.resample(seed).batch.position(0).stock == stock
    env.reset(options={"deal": 5})
    assert env.resample().batch.position(0).stock != env.batch.position(0).stock


# ------------------------------------------------------------------------------------- for people


def test_render_without_a_mode_warns() -> None:
    env = SolitaireEnv("busy-aces")
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None
    with pytest.raises(gym.error.ResetNeeded):
        SolitaireEnv("busy-aces", render_mode="ansi").render()


def test_describe_and_expand_refuse_illegal_actions(refuses: Refuses) -> None:
    env = start("forty-thieves", "t1: KH 8S|t2: KD 8S|t3: QH 7S")
    for method in (env.describe_action, env.expand):
        refuses(lambda method=method: method(env.parse_action("t1>t2")), "(t1>t2)", "t3>t1, t3>t2")


def test_expand_returns_single_moves() -> None:
    env = SolitaireEnv("forty-thieves", moves="supermove")
    env.reset(options={"position": position("forty-thieves", "t1: 4H 9S 8S 7S|t2: TS|t3:|t4:|waste: ... KC")})
    strict = SolitaireEnv("forty-thieves")
    strict.reset(options={"position": env.position()})
    carry = env.parse_action("t1>t2")
    assert env.describe_action(carry) == "9S to 7S, 3 cards, from t1 to t2, onto TS"
    texts = list(map(strict.action_text, env.expand(carry)))
    assert texts == ["t1>s", "t1>s", "t1>t2", "t4>t2", "t3>t2"]
    play(strict, *texts)
    play(env, "t1>t2")
    assert strict.position() == env.position()


def test_a_clone_copies_no_description_of_its_game() -> None:
    env = SolitaireEnv("klondike")
    env.reset(seed=0)
    clone = env.clone()
    assert clone.game is env.game and clone.batch.action_layout is env.batch.action_layout
    assert clone.batch.state.rows is not env.batch.state.rows
