"""Properties of every position of every variant, tested by hypothesis on games that it makes up.

:class:`Games` plays one game in several ways, next to the reference implementation, and compares them all
after every move. It starts from deals, from hand-made positions and from positions with few cards left, and
returns to earlier positions. A failure is shrunk to few cards and few moves, and names the variant, the start
of the game, the moves, and the position.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from solitaire_env.core.batch import NO_NUMBER, Batch, IllegalActionError
from solitaire_env.core.deals import MAX_DEAL, deal_order
from solitaire_env.core.layout import action_layout
from solitaire_env.core.observations import OBSERVATIONS
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.threads import GAMES_PER_THREAD, get_num_threads
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import action_text, format_position, parse_action, parse_position, position_to_row
from solitaire_env.testing import check_state, expect, expect_results
from solitaire_env.variants import Variant
from solitaire_env.vector import SolitaireVectorEnv
from tests.core.test_random_games import CARDS, taste
from tests.games import ALL_GAMES, COMPILED, SAMPLED
from tests.positions import CASES, fill
from tests.reference import SUITS, ReferenceGame, ReferenceRules

ROWS = 3
"""Games of the vector environment."""

ENOUGH = 10
"""Moves after which an unfinished game may be replaced by another."""

SETTINGS = settings(
    max_examples=3 if COMPILED else 2,
    stateful_step_count=30,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[phase for phase in Phase if phase is not Phase.explain],
    # Times measure how busy the machine is, not whether the rules are right.
    suppress_health_check=[HealthCheck.too_slow],
)
MANY = settings(SETTINGS, max_examples=60, stateful_step_count=50, derandomize=False, print_blob=True)


# ------------------------------------------------------------------------------ what there is to play


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


def face_down(game: ReferenceGame) -> list[tuple[list[str], int]]:
    """The piles and places of the face-down cards."""
    return [(pile, n) for pile in game.tableau for n, card in enumerate(pile) if card.startswith("(")]


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


# ------------------------------------------------------------------------------------ the machine


class Saved(NamedTuple):
    """A moment of a game that can be restored."""

    calls: int
    """Number of calls up to now."""
    answer: tuple[Any, dict[str, Any]]
    """The observation and info of that moment."""
    state: dict[str, Any]
    position: str
    copies: dict[str, SolitaireEnv]
    """Environments that must continue from there in the same way, by how they were made."""


def expect_alike(
    what: str,
    expected: tuple[Any, ...],
    got: tuple[Any, ...],
    position: Callable[[], str],
    other_position: Callable[[], str],
) -> None:
    """Check that two games answer alike; their positions explain more than the answers."""
    try:
        expect_results(what, expected, got)
    except AssertionError:
        expect(f"position {what}", position(), other_position())
        raise


def expect_state(what: str, expected: dict[str, Any], got: dict[str, Any]) -> None:
    for key, value in expected.items():
        expect(f"{key} in the state {what}", value, got[key])


def legal(kind: str) -> Any:
    """A legal action whose text contains this."""
    return st.runner().flatmap(lambda games: st.sampled_from(games.choices(kind)))


POSITION = st.runner().flatmap(lambda games: positions(games.variant))


class Games(RuleBasedStateMachine):
    """One game, played in parallel by the reference implementation and by

    - ``env``, which raises an error for an illegal action;
    - ``careless``, which tries an illegal action after every move, without effect;
    - ``other``, with the hidden cards in another order until one of them is drawn;
    - row 0 of ``vector``, whose other rows play the same games as ``neighbours``.
    """

    saved: Bundle[Saved] = Bundle("saved")

    def __init__(self, variant: Variant) -> None:
        super().__init__()
        self.variant = variant
        self.rules = ReferenceRules.of(variant)
        self.texts = action_texts(self.rules)
        self.cards_to_bring = variant.cards - variant.home_at_deal
        self.calls: list[tuple[str, dict[str, Any], Any]] = []
        self.begun = ""
        self.played: list[str] = []

    # ----------------------------------------------------------------------------- new games

    @initialize(
        seed=st.integers(0, 2**32 - 1),
        observation=st.sampled_from(OBSERVATIONS),
        position=st.none() | POSITION,
    )
    def begin(self, seed: int, observation: str, position: str | None) -> None:
        self.random = random.Random(seed)
        self.make = partial(SolitaireEnv, self.variant, observation=observation)
        self.env = self.make(on_invalid="raise")
        self.careless, self.other = self.make(), self.make()
        self.neighbours = [self.make() for _ in range(1, ROWS)]
        self.vector = SolitaireVectorEnv(
            ROWS, self.variant, observation=observation, autoreset_mode=AutoresetMode.DISABLED
        )
        answers = self.vector.reset(seed=seed)
        with self.story(f"seed {seed}"):
            self.reset(seed=seed)
            for row, neighbour in enumerate(self.neighbours, 1):
                self.compare_row("reset with a seed", row, neighbour.reset(seed=seed + row), answers)
        self.check()
        if position is not None:
            self.place(position)

    @precondition(lambda self: self.may_leave())
    @rule()
    def next_deal(self) -> None:
        with self.story("a random deal"):
            self.reset()
        self.check()

    @precondition(lambda self: self.may_leave())
    @rule(number=st.integers(0, MAX_DEAL))
    def deal(self, number: int) -> None:
        with self.story(f"deal {number}"):
            self.reset(options={"deal": number})
            expect("deal", number, self.answer[-1]["deal"])
        self.check()

    @precondition(lambda self: self.may_leave())
    @rule(position=POSITION)
    def place(self, position: str) -> None:
        with self.story(f"position\n{position}"):
            self.reset(options={"position": position})
        self.check()

    @precondition(lambda self: self.may_leave())
    @rule(saved=saved)
    def place_hidden(self, saved: Saved) -> None:
        """Start from the visible part of a position: the stock is shuffled."""
        hidden = format_position(parse_position(saved.position, self.variant).hidden())
        with self.story(f"position\n{hidden}"):
            self.reset(options={"position": hidden})
            expect("position as the player sees it", hidden, self.env.position(hidden=True))
        self.check()

    @precondition(lambda self: self.may_leave())
    @rule(saved=saved)
    def go_back(self, saved: Saved) -> None:
        with self.story(f"the state saved in\n{saved.position}"):
            self.call("set_state", state=saved.state)
            self.vector.set_state(0, saved.state)
            expect_results("of set_state", saved.answer, self.answer)
            self.start(ReferenceGame.from_text(saved.position, self.rules))
        self.check()

    def may_leave(self) -> bool:
        return len(self.played) >= ENOUGH or not self.moves

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.call("reset", seed=seed, options=options)
        first = np.arange(ROWS) == 0
        answers = self.vector.reset(
            seed=[seed] + [None] * (ROWS - 1), options={**(options or {}), "reset_mask": first}
        )
        number, position = self.answer[-1]["deal"], (options or {}).get("position")
        if number != NO_NUMBER:
            cards = [CARDS[code] for code in deal_order(self.variant, number).tolist()]
            self.start(ReferenceGame.deal_from(cards, self.rules, self.variant.name))
        else:
            text = self.env.position() if "?" in position else position
            self.start(ReferenceGame.from_text(text, self.rules))
        self.compare_row("reset", 0, self.answer, answers)

    def start(self, reference: ReferenceGame) -> None:
        self.reference = reference
        self.moves = reference.moves()
        self.check_rules()
        self.deal_other_stock()

    def deal_other_stock(self) -> None:
        """Put the hidden cards in another order."""
        permuted = self.reference.copy()
        places = [(permuted.stock, n) for n in range(len(permuted.stock))] + face_down(permuted)
        hidden = [pile[n].strip("()") for pile, n in places]
        self.random.shuffle(hidden)
        for (pile, n), card in zip(places, hidden, strict=True):
            pile[n] = card if pile is permuted.stock else f"({card})"
        answer = self.other.reset(options={"position": permuted.text()})
        self.compare_other("with the stock in another order", answer)

    # --------------------------------------------------------------------------------- moves

    def choices(self, kind: str) -> list[str]:
        return [text for text in self.moves if kind in text]

    @precondition(lambda self: self.choices("draw"))
    @rule()
    def draw(self) -> None:
        self.play("draw")

    @precondition(lambda self: self.choices("redeal"))
    @rule()
    def redeal(self) -> None:
        self.play("redeal")

    @precondition(lambda self: self.choices(">f"))
    @rule(action=legal(">f"))
    def bring_home(self, action: str) -> None:
        self.play(action)

    @precondition(lambda self: self.choices(">c"))
    @rule(action=legal(">c"))
    def to_cell(self, action: str) -> None:
        self.play(action)

    @precondition(lambda self: self.choices(">t"))
    @rule(action=legal(">t"))
    def build(self, action: str) -> None:
        self.play(action)

    @precondition(lambda self: self.choices(">s"))
    @rule(action=legal(">s"))
    def to_space(self, action: str) -> None:
        self.play(action)

    def play(self, action: str) -> None:
        number = self.texts.index(action)
        with self.story():
            beside = [self.beside(neighbour) for neighbour in self.neighbours]
            self.played.append(action)
            hidden, home = self.hidden(), self.reference.cards_home()
            self.reference.make(action, self.moves[action])
            self.moves = self.reference.moves()
            self.call("step", action=number)
            self.check_rules()
            pays = (self.reference.cards_home() - home) * (1 / self.cards_to_bring)
            expect("reward, terminated and truncated", (pays, not self.moves, False), self.answer[1:4])
            answers = self.vector.step(np.array([number, *beside]))
            self.compare_row(action, 0, self.answer, answers)
            ended = np.zeros(ROWS, dtype=np.bool_)
            for row, neighbour in enumerate(self.neighbours, 1):
                answer = neighbour.step(beside[row - 1])
                self.compare_row(self.texts[beside[row - 1]], row, answer, answers)
                ended[row] = answer[2]
            if ended.any():
                answers = self.vector.reset(options={"reset_mask": ended})
                for row in np.flatnonzero(ended).tolist():
                    self.compare_row("the end", row, self.neighbours[row - 1].reset(), answers)
            if any(now < before for now, before in zip(self.hidden(), hidden, strict=True)):
                self.deal_other_stock()
            else:
                self.compare_other(f"after {action} with the stock in another order", self.other.step(number))
        self.check()

    def hidden(self) -> tuple[int, int]:
        """Number of cards in the stock and face down."""
        return len(self.reference.stock), len(face_down(self.reference))

    def beside(self, neighbour: SolitaireEnv) -> int:
        """An action for another row: mostly a legal one."""
        if self.random.random() < 0.1:
            return self.random.randrange(len(self.texts))
        return int(self.random.choice(np.flatnonzero(neighbour.action_masks())))

    # ------------------------------------------------------------------------- save, restore

    @precondition(lambda self: len(self.calls) % 4 == 1)  # copies take time
    @rule(target=saved)
    def save(self) -> Saved:
        with self.story():
            state = self.env.get_state()
            restored = self.make(on_invalid="raise")
            restored.set_state(json.loads(json.dumps(state)))
            copies = {
                "set_state": restored,
                "clone": self.env.clone(),
                "deepcopy": copy.deepcopy(self.env),
                "pickle": pickle.loads(pickle.dumps(self.env)),
            }
            now = (self.answer[0], self.answer[-1])
            return Saved(len(self.calls), now, state, self.env.position(), copies)

    @rule(saved=consumes(saved))
    def repeat(self, saved: Saved) -> None:
        """The same calls give the same answers after a restore, and so does the next game."""
        with self.story():
            next_deal = self.env.clone().reset()
            for how, other in saved.copies.items():
                for name, arguments, answer in self.calls[saved.calls :]:
                    shown = self.texts[arguments["action"]] if name == "step" else name
                    again = getattr(other, name)(**arguments)
                    expect_results(f"of {shown}, repeated by a {how} of\n{saved.position}", answer, again)
                expect_state(f"when all is repeated by a {how}", self.env.get_state(), other.get_state())
                expect(f"faults of the state of a {how}", [], check_state(other))
                again = other.reset()
                expect(f"next deal of a {how}", next_deal[-1]["deal"], again[-1]["deal"])
                expect_results(f"of the next deal of a {how}", next_deal, again)

    # -------------------------------------------------------------------------------- checks

    @contextmanager
    def story(self, begun: str = "") -> Iterator[None]:
        """Add the story of the game to any failure; the story may begin here."""
        if begun:
            self.begun, self.played = begun, []
        try:
            yield
        except Exception as error:
            v = self.variant
            name = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            raise AssertionError(
                f"{name}{error}\n"
                f"in {v.name} ({v.build}, {v.spaces}, {v.moves}), from {self.begun}\n"
                f"after: {' '.join(self.played) or 'nothing'}\n"
                f"{self.env.position()}"
            ) from (error if name else None)

    def call(self, name: str, **arguments: Any) -> None:
        """Call a method of ``env`` and of ``careless``, which must give the same answer."""
        self.answer = getattr(self.env, name)(**arguments)
        self.calls.append((name, arguments, self.answer))
        careless = getattr(self.careless, name)(**arguments)
        what = f"of {name} when illegal actions were tried before"
        expect_alike(what, self.answer, careless, self.env.position, self.careless.position)

    def compare_row(self, what: str, row: int, answer: tuple[Any, ...], answers: tuple[Any, ...]) -> None:
        """A row of the vector environment answers like a single environment."""
        *arrays, infos = answers
        info = {key: infos[key][row] for key in answer[-1] if infos[f"_{key}"][row]}
        got = (*(array[row] for array in arrays), info)
        alone = self.neighbours[row - 1] if row else self.env
        what = f"of row {row} after {what}, alone and in the vector environment"
        expect_alike(what, answer, got, alone.position, partial(self.vector.position, row))

    def compare_other(self, what: str, answer: tuple[Any, ...]) -> None:
        """No answer depends on the order of the hidden cards."""
        *values, info = self.answer if len(answer) == len(self.answer) else (self.answer[0], self.answer[-1])
        expected = (*values, {**info, "deal": NO_NUMBER})
        seen = [partial(env.position, hidden=True) for env in (self.env, self.other)]
        expect_alike(what, expected, answer, *seen)
        expect(f"hidden position {what}", *(position() for position in seen))
        expect(f"faults of the state {what}", [], check_state(self.other))

    def check(self) -> None:
        """Everything that holds in every position, except what :meth:`check_rules` has checked before."""
        with self.story():
            self.check_texts()
            self.check_vector_rows()
            self.check_illegal()

    def check_rules(self) -> None:
        """Cards, legal actions and status equal the reference implementation; a game is won when all cards
        are home.
        """
        text, info, mask = self.env.position(), self.answer[-1], self.env.action_masks()
        expect("position", self.reference.text(), text)
        # With alternating colors the text does not show which suits are at home.
        length = 2 if self.rules.foundation_build == "same suit" else 1
        cards = ReferenceGame.from_text(text, self.rules).cards()
        pack = [sorted(card[:length] for card in of) for of in (self.rules.pack(), cards)]
        expect("cards of the pack", *pack)
        # All actions of a finished game are legal, and change nothing.
        legal = list(self.moves or self.texts)
        shown = [text for text, one in zip(self.texts, mask.tolist(), strict=True) if one]
        expect("legal actions", " ".join(legal), " ".join(shown))
        expect("action_mask in info", mask.astype(np.int8), info["action_mask"])
        home = self.reference.cards_home()
        expect("cards home", home, info["cards_home"])
        expect("won", home == len(self.rules.pack()), info["is_success"])
        expect("faults of the state", [], check_state(self.env))

    def check_texts(self) -> None:
        """Position text round-trips; the observation shows what is not hidden."""
        full, hidden = self.env.position(), self.env.position(hidden=True)
        position = parse_position(full, self.variant)
        expect("position text, read and written", full, format_position(position))
        expect("row of the position text", self.env.get_state()["row"], position_to_row(position).tolist())
        seen = parse_position(hidden, self.variant)
        expect("position that is hidden, read and written", hidden, format_position(seen))
        expect("position that is hidden", position.hidden(), seen)
        if self.env.settings.observation == "cards":
            observed = self.env.decode_observation(self.answer[0])
            expect("position observed", hidden, format_position(observed))

    def check_vector_rows(self) -> None:
        """The rows of the vector environment have the states of single environments."""
        for row, alone in enumerate((self.env, *self.neighbours)):
            what = f"of row {row}, played alone and in the vector environment"
            expect_state(what, alone.get_state(), self.vector.get_state(row))
            for name, expected in alone.batch.state._asdict().items():
                expect(f"{name} {what}", expected[0], getattr(self.vector.batch.state, name)[row])
        for row, alone in enumerate(self.neighbours, 1):
            expect(f"faults of row {row}, played alone", [], check_state(alone), alone.position())

    def check_illegal(self) -> None:
        """An illegal action raises an error and changes nothing, or only counts as a step; so does any action
        at the end.
        """
        state, mask = self.env.get_state(), self.env.action_masks()
        number = self.random.choice(np.flatnonzero(~mask).tolist() or [None])
        if number is None and self.moves:
            return
        if number is not None:
            text = self.texts[number]
            try:
                self.env.step(number)
            except IllegalActionError as error:
                expect(f"whether {text} is named in {error}", True, text in str(error))
            else:
                raise AssertionError(f"{text} is illegal and did not raise")
            expect_state(f"after {text}, which is illegal", state, self.env.get_state())
            expect(f"mask after {text}, which is illegal", mask, self.env.action_masks())
        else:
            number = self.random.randrange(len(self.texts))
        before = self.careless.get_state()
        answer = self.careless.step(number)
        what = f"after {self.texts[number]}, which is illegal or comes after the end"
        info = {**self.answer[-1], "invalid_action": bool(self.moves)}
        expected = (self.answer[0], 0.0, not self.moves, False, info)
        expect_alike(what, expected, answer, self.env.position, self.careless.position)
        after = self.careless.get_state()
        counted = {"steps": before["steps"] + 1, "stalls": before["stalls"] + 1}
        expect_state(what, {**before, **counted}, after)
        expect_state(f"{what}, but for steps,", state, {**after, **{key: state[key] for key in counted}})
        expect(f"faults of the state {what}", [], check_state(self.careless))


# ---------------------------------------------------------------------------------------- tests


@pytest.mark.parametrize("name", SAMPLED)
def test_properties_hold_in_every_position(name: str) -> None:
    games = seed(crc32(name.encode()))(lambda: Games(ALL_GAMES[name]))
    run_state_machine_as_test(games, settings=SETTINGS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_GAMES)
def test_properties_hold_in_many_positions(name: str) -> None:
    run_state_machine_as_test(lambda: Games(ALL_GAMES[name]), settings=MANY)


@pytest.mark.parametrize("name", ALL_GAMES)
def test_action_texts_round_trip(name: str) -> None:
    variant = ALL_GAMES[name]
    layout = action_layout(variant)
    texts = action_texts(ReferenceRules.of(variant))
    assert [action_text(variant, number) for number in range(layout.size)] == texts
    assert [parse_action(variant, text) for text in texts] == list(range(layout.size))
    assert [layout.encode(layout.decode(number)) for number in range(layout.size)] == list(range(layout.size))


def play_together(games: int, moves: int, threads: int) -> None:
    """Play games in one batch with a number of threads, and in as many batches of one game."""
    assert get_num_threads() == threads <= max(1, games // GAMES_PER_THREAD)
    variant = ALL_GAMES["short-4, same suit, any, sequence"]
    settings = Settings(observation="features", max_episode_steps=moves - 1)
    together = Batch(GameSpec(variant, settings), games)
    alone = [Batch(GameSpec(variant, settings), 1) for _ in range(games)]
    together.deal(np.arange(games), range(games))
    for deal, batch in enumerate(alone):
        batch.deal(np.zeros(1, dtype=np.int64), [deal])
    rng = np.random.default_rng(0)
    for move in range(moves):
        # Mostly legal actions; some games wait.
        actions = np.argmax(together.state.mask + 1.1 * rng.random(together.state.mask.shape), axis=1)
        active = (rng.random(games) < 0.9).astype(np.int8)
        together.step(actions, active)
        for row, batch in enumerate(alone):
            batch.step(actions[row : row + 1], active[row : row + 1])
        expected = [everything(batch, active[row : row + 1]) for row, batch in enumerate(alone)]
        for what, got in everything(together, active).items():
            differ = got != np.concatenate([each[what] for each in expected])
            for row in np.flatnonzero(differ.reshape(games, -1).any(axis=1)).tolist():
                where = f"{what} of deal {row} after move {move}, {action_text(variant, actions[row])}"
                expect(where, expected[row][what][0], got[row], format_position(alone[row].position(0)))


def everything(batch: Batch, active: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """All arrays that a step writes to; a game that waits has no events."""
    outcome = ("rewards", "terminated", "truncated", "steps", "stalls")
    return {
        "observations": batch.observations(),
        **batch.state._asdict(),
        **{name: event * active for name, event in batch.events._asdict().items()},
        **{name: getattr(batch, name) for name in outcome},
    }


def test_threads_do_not_change_the_games() -> None:
    """A batch with several threads plays like its games alone.

    In a process of its own: the maximum number of threads is fixed at the first call.
    """
    threads, games, moves = (2, 2 * GAMES_PER_THREAD, 12) if COMPILED else (1, 64, 8)
    play = f"from tests.core.test_properties import play_together as play; play({games}, {moves}, {threads})"
    environ = {**os.environ, "SOLITAIRE_ENV_THREADS": str(threads)}
    subprocess.run([sys.executable, "-c", play], cwd=Path(__file__).parents[2], env=environ, check=True)
