"""Games that hypothesis makes up, played by the engine and by the reference implementation.

They start from hand-made positions and from positions with few cards left, where further rules have an effect
soon; :mod:`tests.core.test_random_games` plays from deals. A failure is shrunk to few cards and few moves.
"""

import random
from functools import cache, partial
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

from solitaire_env.core.layout import action_layout
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import action_text, format_position, parse_action, parse_position, position_to_row
from solitaire_env.testing import check_state
from solitaire_env.variants import Variant
from tests.comparing import expect
from tests.core.test_random_games import taste
from tests.games import ALL_GAMES, COMPILED, SAMPLED
from tests.positions import CASES, fill
from tests.reference import SUITS, ReferenceGame, ReferenceRules

MOVES = 30
"""Maximum number of moves of a game."""

SETTINGS = settings(
    max_examples=8 if COMPILED else 4,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[phase for phase in Phase if phase is not Phase.explain],
    # Times measure how busy the machine is, not whether the rules are right.
    suppress_health_check=[HealthCheck.too_slow],
)
MANY = settings(SETTINGS, max_examples=50, derandomize=False, print_blob=True)


def action_texts(rules: ReferenceRules) -> list[str]:
    """The text of every action in the order of the numbers, as documented."""
    piles = [f"t{n}" for n, _ in enumerate(rules.tableau, 1)]
    waste = ["w"] if rules.stock_size else []
    cells = [f"c{n}" for n in range(1, rules.cells + 1)]
    sources = piles + waste + cells
    any_group = rules.moves == "any group"
    in_group = [f"x{n}" for n in range(2, len(rules.pack()))] if any_group else []
    texts = ["draw"] if rules.stock_size else []
    texts += ["redeal"] if rules.passes != 1 else []
    texts += [f"{source}>f" for source in sources]
    if cells:
        texts += [f"{source}>c" for source in piles + waste]
    pairs = [(source, target) for source in piles for target in piles if source != target]
    texts += [f"{source}{count}>{target}" for source, target in pairs for count in ["", *in_group]]
    texts += [f"{source}>{target}" for source in waste + cells for target in piles]
    if rules.spaces != "none":
        counts_differ = rules.spaces == "any" and rules.moves != "one card"
        counts = [f"x{n}" for n in range(2, rules.ranks + 1)] if counts_differ else []
        counts = in_group or counts
        texts += [f"{source}{count}>s" for source in piles for count in ["", *counts]]
        texts += [f"{source}>s" for source in waste + cells]
    if rules.worrying_back:
        texts += [f"f{suit}>{target}" for suit in SUITS for target in piles]
    return texts


def scatter(name: str, rules: ReferenceRules, left: int, rng: random.Random) -> ReferenceGame:
    """A position with a number of cards left to bring home, in random places.

    A pile gets at most as many of them as are dealt to it, so whatever is built on them has room.
    """
    redeals = rng.randrange(rules.passes) if rules.passes else None
    base = {"ace": 1, "dealt": rng.randint(1, rules.ranks)}.get(str(rules.base)) or int(rules.base)
    game = ReferenceGame(name, rules, [], [], {}, [], [], redeals, base)
    game.foundations = {
        suit: [game.foundation(suit, rules.ranks) for _ in range(rules.decks)] for suit in SUITS
    }
    full = [pile for piles in game.foundations.values() for pile in piles]
    cards = [rng.choice([pile for pile in full if pile]).pop() for _ in range(left)]
    tableau: list[list[str]] = [[] for _ in rules.tableau]
    cells: list[list[str]] = [[] for _ in range(rules.cells)]
    stock: list[str] = []
    waste: list[str] = []
    rooms = [
        *((pile, max(size, 1)) for pile, size in zip(tableau, rules.tableau, strict=True)),
        *((cell, 1) for cell in cells),
        (stock, rules.stock_size),
        (waste, rules.stock_size),
    ]
    liking = [rng.random() ** 2 for _ in rooms]
    rng.shuffle(cards)
    for card in cards:
        open_to_all = len(stock) + len(waste) < rules.stock_size
        weights = [
            liked * (len(place) < room and (open_to_all or not (place is stock or place is waste)))
            for (place, room), liked in zip(rooms, liking, strict=True)
        ]
        place = rng.choices([place for place, _ in rooms], weights)[0]
        place.append(card)
    if rules.face_down:
        for pile in tableau:
            pile[:-1] = [f"({card})" if rng.random() < 0.3 else card for card in pile[:-1]]
    game.stock, game.waste, game.cells, game.tableau = stock, waste, cells, tableau
    return game


def reached(variant: Variant, left: int, moves: int, seed: int) -> str:
    """The position that the reference implementation reaches by some moves from a scattered one."""
    rng = random.Random(seed)
    reference = scatter(variant.name, ReferenceRules.of(variant), left, rng)
    prefers = taste(rng)
    for _ in range(moves):
        legal = reference.moves()
        if not legal:
            break
        action = prefers.choose(list(legal), rng)
        reference.make(action, legal[action])
    return reference.text()


@cache
def positions(variant: Variant) -> st.SearchStrategy[str]:
    """Start positions. Fewer cards left are simpler, then fewer moves."""
    rules = ReferenceRules.of(variant)
    made = st.builds(
        partial(reached, variant),
        left=st.integers(0, variant.cards - variant.home_at_deal),
        moves=st.integers(0, 3 * variant.cards),
        seed=st.integers(0, 2**32 - 1),
    )
    by_hand = [
        fill(f"variant: {variant.name}|{case.position}", rules)
        for case in CASES
        if variant.name in case.games.split() and case.rules(variant.name) == rules
    ]
    return made | st.sampled_from(by_hand) if by_hand else made


def check_game(variant: Variant, data: st.DataObject) -> None:
    """Play a game on both sides and compare them after every move."""
    rules, layout = ReferenceRules.of(variant), action_layout(variant)
    env = SolitaireEnv(variant, on_invalid="raise")
    text = data.draw(positions(variant))
    note(f"{variant.name} ({variant.build}, {variant.spaces}, {variant.moves}), from\n{text}")
    observation, info = env.reset(options={"position": text})
    reference = ReferenceGame.from_text(text, rules)
    for _ in range(MOVES):
        moves, home = reference.moves(), reference.cards_home()
        check_position(env, reference, observation)
        # All actions of a finished game are legal, and change nothing.
        legal = list(map(layout.parse, moves)) or list(range(layout.size))
        expect("legal actions", legal, np.flatnonzero(info["action_mask"]).tolist(), reference.text())
        expect("cards home", home, info["cards_home"], reference.text())
        expect("won", home == len(rules.pack()), info["is_success"], reference.text())
        if not moves:
            break
        action = data.draw(st.sampled_from(list(moves)))
        note(action)
        reference.make(action, moves[action])
        observation, reward, terminated, _, info = env.step(layout.parse(action))
        paid = (reference.cards_home() - home) * (1 / (variant.cards - variant.home_at_deal))
        expect("reward and terminated", (paid, not reference.moves()), (reward, terminated), reference.text())


def check_position(env: SolitaireEnv, reference: ReferenceGame, observation: np.ndarray) -> None:
    """The cards, their text and row, what the player sees, and the state that follows from them."""
    full, hidden = env.position(), env.position(hidden=True)
    expect("position", reference.text(), full)
    position = parse_position(full, env.variant)
    expect("position text, read and written", full, format_position(position))
    expect("row of the position text", env.get_state()["row"], position_to_row(position).tolist())
    seen = parse_position(hidden, env.variant)
    expect("position that is hidden, read and written", hidden, format_position(seen))
    expect("position that is hidden", position.hidden(), seen)
    expect("position observed", hidden, format_position(env.decode_observation(observation)))
    expect("faults of the state", [], check_state(env))


@pytest.mark.parametrize("name", SAMPLED)
def test_games_from_any_position_equal_the_reference_implementation(name: str) -> None:
    seed(crc32(name.encode()))(SETTINGS(given(st.just(ALL_GAMES[name]), st.data())(check_game)))()


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_GAMES)
def test_many_games_from_any_position_equal_the_reference_implementation(name: str) -> None:
    MANY(given(st.just(ALL_GAMES[name]), st.data())(check_game))()


@pytest.mark.parametrize("name", ALL_GAMES)
def test_action_texts_round_trip(name: str) -> None:
    variant = ALL_GAMES[name]
    layout = action_layout(variant)
    texts = action_texts(ReferenceRules.of(variant))
    assert [action_text(variant, number) for number in range(layout.size)] == texts
    assert [parse_action(variant, text) for text in texts] == list(range(layout.size))
    assert [layout.encode(layout.decode(number)) for number in range(layout.size)] == list(range(layout.size))
