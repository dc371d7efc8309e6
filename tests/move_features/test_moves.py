"""Move features, compared with the same numbers counted slowly and with the positions that moves reach."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.cards import DOWN
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.move_features.columns import MOVE_NAMES, NUM_DIG, NUM_MOVE
from solitaire_env.move_features.dig_outs import WASTE_DIG
from solitaire_env.move_features.positions import DEEP, WASTE_DEPTH
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.notation import Position, format_position, parse_action, parse_position
from solitaire_env.variants import Variant, get_variant
from tests.conftest import Refuses
from tests.games import COMPILED, ODD, ONE_PER_RULE, OPTIONS, SHORT, has_basic_rules
from tests.positions import fill
from tests.reference import GAMES as REFERENCE

Array = npt.NDArray[Any]

GAMES = ONE_PER_RULE | ODD | (OPTIONS if COMPILED else {})
IN_SUIT = {name: variant for name, variant in SHORT.items() if variant.build == "same suit"}
COUNTED = [name for name, variant in (GAMES | IN_SUIT).items() if has_basic_rules(variant)]
"""Games whose features are counted slowly."""


def played(variant: Variant, steps: int, size: int = 40 if COMPILED else 4, seed: int = 0) -> Batch:
    """Games after some random moves; finished ones are left out of the mask."""
    batch = Batch(GameSpec(variant), size)
    batch.deal(np.arange(size), range(seed, seed + size))
    random = np.random.default_rng(seed)
    for _ in range(steps):
        mask = batch.state.mask
        batch.step((mask * (1 - random.random(mask.shape))).argmax(1), batch.everyone)
    return batch


def playing(batch: Batch) -> tuple[Array, Array, Array]:
    """Rows of unfinished games, and their observations and masks."""
    rows = np.flatnonzero(batch.state.status == PLAYING)
    return rows, batch.observations()[rows].copy(), batch.state.mask[rows].copy()


# ------------------------------------------------------------------------------- counted slowly


def fits(card: int, onto: int) -> bool:
    return card > 0 and onto == card + 4


@dataclass
class Board:
    """Piles, the waste last; foundations; cells, 0 where one is empty."""

    piles: list[list[int]]
    founds: list[list[int]]
    cells: list[int]

    def wanted(self) -> list[tuple[int, int]]:
        """Pile and place of each next foundation card; of the waste only near its top."""
        places = [(n, k) for n, pile in enumerate(self.piles) for k in range(len(pile))]
        waste = len(self.piles) - 1
        return [
            (n, k)
            for n, k in places
            if self.goes(self.piles[n][k]) and (n < waste or k >= len(self.piles[n]) - WASTE_DIG)
        ]

    def goes(self, card: int) -> bool:
        return (card >> 2) - 1 in self.founds[card & 3]

    def put(self, card: int) -> None:
        self.founds[card & 3][self.founds[card & 3].index((card >> 2) - 1)] += 1

    def send(self, pile: list[int]) -> bool:
        """Send a pile's playable card home, if it can go."""
        if not pile or not self.goes(pile[-1]):
            return False
        self.put(pile.pop())
        return True

    def send_all(self) -> None:
        """Send home all cards that can go, from each pile as many as possible, then from the cells,
        repeatedly.
        """
        before = -1
        while self.home() > before:
            before = self.home()
            for pile in self.piles:
                while self.send(pile):
                    pass
            for cell, card in enumerate(self.cells):
                if card and self.goes(card):
                    self.put(card)
                    self.cells[cell] = 0

    def home(self) -> int:
        return sum(map(sum, self.founds))


class Slow:
    """The numbers of a position, each computed from its name in ``MoveReader.position_names``."""

    def __init__(self, p: Position) -> None:
        self.p = p
        self.ranks, self.decks = p.variant.ranks, p.variant.decks
        self.cards = 4 * self.ranks * self.decks
        self.piles = [list(pile) for pile in p.tableau]
        self.tops = [pile[-1] for pile in self.piles if pile]
        self.on_waste = p.waste[-1] if p.waste else 0
        self.playable = {*self.tops, *p.cells, self.on_waste} - {0}
        self.founds = [list(tops) for tops in p.foundations]
        self.wanted = {4 * (t + 1) + s for s, tops in enumerate(self.founds) for t in tops if t < self.ranks}
        after = {4 * (t + 2) + s for s, tops in enumerate(self.founds) for t in tops if t + 1 < self.ranks}
        self.wanted_next = after - self.wanted
        self.spaces = sum(not pile for pile in self.piles)
        self.empty_cells = sum(card == 0 for card in p.cells)
        seen = [c for pile in (*self.piles, p.waste, p.cells) for c in pile if c]
        seen += [4 * r + s for s, tops in enumerate(self.founds) for t in tops for r in range(1, t + 1)]
        self.unseen = {c: self.decks - seen.count(c) for c in range(4, 4 + 4 * self.ranks)}

    def takes(self, card: int) -> bool:
        """Whether the playable card of a pile takes it."""
        return any(fits(card, top) for top in self.tops)

    def sequences(self, pile: list[int]) -> list[list[int]]:
        """The sequences of a pile, from the base."""
        parts: list[list[int]] = []
        for card in pile:
            if parts and fits(card, parts[-1][-1]):
                parts[-1].append(card)
            else:
                parts.append([card])
        return parts

    def stays(self, part: list[int]) -> int:
        """1 if a sequence, given by its first card, fits nowhere."""
        return int(not self.takes(part[0]) and part[0] not in self.wanted)

    def above(self, card: int) -> int:
        """Number of cards above the nearest card of the kind."""
        depths = [len(pile) - 1 - k for pile in self.piles for k, c in enumerate(pile) if c == card]
        depths += [0] * (card in self.p.cells)
        depths += [k for k, c in enumerate(self.p.waste[::-1][:WASTE_DEPTH]) if c == card]
        return min([DEEP, *depths])

    def blocked(self, cards: set[int]) -> list[int]:
        """For every such card on a pile: the number of sequences above it that fit nowhere, at most 6."""
        counts = []
        for pile in self.piles:
            parts = self.sequences(pile)
            for n, part in enumerate(parts):
                over = sum(self.stays(other) for other in parts[n + 1 :])
                for k, card in enumerate(part):
                    if card in cards:
                        counts.append(min(6, over + (self.stays(part[k + 1 :]) if part[k + 1 :] else 0)))
        return counts

    def board(self) -> Board:
        piles = [*map(list, self.piles), list(self.p.waste)]
        return Board(piles, [list(tops) for tops in self.founds], list(self.p.cells))

    def chain(self) -> int:
        """Cards that go home one after another."""
        board = self.board()
        before = board.home()
        board.send_all()
        return board.home() - before

    def digs(self, rounds: int) -> list[float]:
        """The dig-outs of the position, of the position after the best of them, and so on."""
        board = self.board()
        numbers: list[float] = []
        for _ in range(rounds):
            dug = [after for card in board.wanted() if (after := self.dig(board, *card)) is not None]
            gains = [after.home() - board.home() for after in dug]
            empty = [after.cells.count(0) for after in dug]
            spaces = [after.piles[:-1].count([]) for after in dug]
            room = [e + 2 * s for e, s in zip(empty, spaces, strict=True)]
            if not dug:
                return numbers + [0.0] * (NUM_DIG * rounds - len(numbers))
            best = max(range(len(dug)), key=lambda n: (gains[n] + room[n], -n))
            roomiest = max(range(len(dug)), key=lambda n: (room[n], -n))
            numbers += [len(dug) / 4, gains[best] / 13, empty[best] / 8, spaces[best] / 4]
            numbers += [(gains[best] + room[best]) / 16]
            numbers += [gains[roomiest] / 13, empty[roomiest] / 8, spaces[roomiest] / 4, max(gains) / 13]
            board = dug[best]
        return numbers

    def dig(self, board: Board, number: int, place: int) -> Board | None:
        """The result of digging out a card; None if that is impossible."""
        board = deepcopy(board)
        pile, others = board.piles[number], board.piles[:-1]
        while len(pile) - 1 > place:
            if board.send(pile):
                continue
            # A pile is moved by sequences, the waste card by card.
            part = pile[-1:]
            if number < len(others):
                part = self.sequences(pile[place + 1 :])[-1]
            room = board.cells.count(0)
            spaces = others.count([])
            variant = self.p.variant
            doubled = [spaces, max(0, spaces - 1)] if variant.spaces == "any" else [0, 0]
            carried = [(room + 1) * 2**n for n in doubled]
            if variant.moves == "sequence":
                carried = [99, 99]
            takes = [other for other in others if other is not pile and other and fits(part[0], other[-1])]
            empty = [other for other in others if not other]
            fills = {"any": True, "kings": part[0] >> 2 == self.ranks, "none": False}[variant.spaces]
            if takes and len(part) <= carried[0]:
                takes[-1].extend(part)
            elif empty and fills and len(part) <= carried[1]:
                empty[-1].extend(part)
            elif len(part) <= room:
                for card in reversed(part):
                    board.cells[board.cells.index(0)] = card
            else:
                return None
            del pile[-len(part) :]
        board.send_all()
        return board

    def reach(self, number: int) -> list[float]:
        """Foundation progress with the unseen cards available, then with one more card of each pile, and so
        on.
        """
        board, hand = self.board(), Counter(self.unseen)
        numbers = []
        for taken in range(number):
            hand.update(pile.pop() for pile in board.piles if pile and taken)
            before = -1
            while board.home() > before:
                board.send_all()
                before = board.home()
                for suit, tops in enumerate(board.founds):
                    for place, top in enumerate(tops):
                        if top < self.ranks and hand[card := 4 * (top + 1) + suit]:
                            hand[card] -= 1
                            tops[place] += 1
            numbers.append(board.home() / self.cards)
        return numbers

    def numbers(self, rounds: int, reach: int) -> list[float]:
        p, cards, ranks = self.p, self.cards, self.ranks
        parts = [self.sequences(pile) for pile in self.piles]
        from_king = [len(q[0]) if q and q[0][0] >> 2 == ranks else 0 for q in parts]
        stuck = sorted(
            sum(map(self.stays, q))
            for q, pile, n in zip(parts, self.piles, from_king, strict=True)
            if n < len(pile)
        )
        wanted, following = self.blocked(self.wanted), self.blocked(self.wanted_next)
        over = [(card, pile[:k]) for pile in self.piles for k, card in enumerate(pile)]
        left = sum(self.unseen.values())
        stays = sum(n for c, n in self.unseen.items() if self.takes(c) and c not in self.wanted)
        assert left == len(p.stock)
        waste = list(p.waste[::-1])
        playable = [c for c in waste[:6]]
        run = next(
            (k for k, c in enumerate(playable) if not (self.takes(c) or c in self.wanted)), len(playable)
        )
        nearest = [k for k, c in enumerate(waste[:DEEP]) if c in self.wanted]
        stock = p.variant.stock
        near = sum(any(fits(c, q[-2][-1]) for c in self.playable) for q in parts if len(q) > 1)
        return [
            sum(map(sum, self.founds)) / cards,
            min(map(min, self.founds)) / 13,
            sum(map(max, self.founds)) / 52,
            self.spaces / 4,
            self.empty_cells / 8,
            len(p.stock) / stock if stock else 0,
            len(p.waste) / stock if stock else 0,
            2 * sum(map(len, parts)) / cards,
            2 * sum(any(c >> 2 > o >> 2 for o in below) for c, below in over) / cards,
            4 * sum(any(c > o and c & 3 == o & 3 for o in below) for c, below in over) / cards,
            2 * sum(from_king) / cards,
            max(map(len, self.piles)) / 20,
            sum(top >> 2 for top in self.tops) / (13 * len(self.piles)),
            sum((top >> 2) - 1 > min(self.founds[top & 3]) for top in self.tops) / len(self.piles),
            sum(map(self.above, self.wanted)) / 40,
            min(map(self.above, self.wanted), default=DEEP) / 12,
            sum(self.unseen[c] > 0 and self.above(c) == DEEP for c in self.wanted) / 8,
            sum(wanted) / 16,
            min(wanted, default=9) / 4,
            sum(b <= self.spaces + self.empty_cells for b in wanted) / 4,
            sum(self.above(c + 4) for c in self.wanted if c + 4 in self.wanted_next) / 40,
            sum(following) / 16,
            self.chain() / 13,
            len(self.playable & self.wanted) / 8,
            sum(map(self.takes, self.playable)) / 8,
            near / 8,
            [*stuck, 9][0] / 4,
            [*stuck, 9, 9][1] / 4,
            sum(self.unseen[c] for c in self.wanted) / left if left else 0,
            stays / left if left else 0,
            float(self.on_waste in self.wanted),
            float(self.takes(self.on_waste)),
            run / 4,
            (nearest or [DEEP])[0] / 12,
            sum((c >> 2) - max(self.founds[c & 3]) - 1 for c in p.cells if c) / 64,
            *self.digs(rounds),
            *self.reach(reach),
        ]  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize(("digs", "reach"), [(1, 0), (2, 1), (5, 3)] if COMPILED else [(5, 3)])
def test_position_features_equal_the_slow_count(name: str, digs: int, reach: int) -> None:
    variant = (GAMES | IN_SUIT)[name]
    reader = MoveReader(GameSpec(variant), digs, reach)
    for steps in (0, 7, 40, 150):
        batch = played(variant, steps, size=12)
        seen = reader.read_positions(batch.observations())
        for row in range(batch.size):
            counted = Slow(batch.position(row)).numbers(digs, reach)
            off = [
                f"{text}: {a:.4f}, slowly {b:.4f}"
                for text, a, b in zip(reader.position_names, seen[row].tolist(), counted, strict=True)
                if abs(a - b) > 1e-5
            ]
            assert not off, format_position(batch.position(row))


# ------------------------------------------------------------------------------ what moves lead to


@pytest.mark.parametrize("name", GAMES)
def test_features_after_a_move_are_those_of_the_next_position(name: str) -> None:
    variant = GAMES[name]
    reader = MoveReader(GameSpec(variant), dig_out=3, relaxed_reachability=2)
    hidden = ("wanted", "waste", "stock: share", "cards that go", "playable cards that", "piles with", "digs")
    hidden = (*hidden, "reach")
    unknown = {n for n, text in enumerate(reader.position_names) if text.startswith(hidden)}
    for steps in (0, 10, 50, 120):
        before = played(variant, steps, size=8 if COMPILED else 2)
        rows, observations, masks = playing(before)
        if not len(rows):
            continue
        seen = reader.read(observations, masks)
        after = Batch(GameSpec(variant), len(seen.games))
        for k, game in enumerate(seen.games):
            after.set_row(k, before.state.rows[rows[game]])
        after.step(seen.actions, after.everyone)
        reached = reader.read_positions(after.observations())
        differs = np.abs(reached - seen.moves[:, NUM_MOVE:]) > 1e-6
        draws = (seen.actions == 0) & bool(after.rules.has_stock)
        unsure = hidden_cards(after) < hidden_cards(before)[rows[seen.games]]
        assert not differs[~unsure].any()
        assert set(np.flatnonzero(differs[draws].any(0)).tolist()) <= unknown


def hidden_cards(batch: Batch) -> Array:
    """Number of cards of each game in the stock or face down."""
    down = np.count_nonzero(batch.state.rows[:, : batch.rules.row_cells] >= DOWN, axis=1)
    hidden: Array = down + batch.state.stock
    return hidden


@pytest.mark.parametrize("name", [*GAMES, *IN_SUIT])
def test_legal_moves_are_in_order(name: str) -> None:
    variant = (GAMES | IN_SUIT)[name]
    reader = MoveReader(GameSpec(variant))
    for steps in (0, 30, 400):  # at last finished games too, whose actions are all in the mask
        batch = played(variant, steps)
        masks = batch.state.mask
        for given in (masks, masks.astype(np.bool_)):
            seen = reader.read(batch.observations(), given)
            games, actions = masks.nonzero()
            assert (seen.games == games).all() and (seen.actions == actions).all()
            assert seen.moves.shape == (len(games), reader.sizes[0])
            assert np.isfinite(seen.moves).all() and np.isfinite(seen.positions).all()
        short = reader.read_moves(batch.observations(), masks)
        assert (short.games == games).all() and (short.actions == actions).all()
        assert (short.moves == seen.moves[:, :NUM_MOVE]).all() and short.positions.size == 0
        assert (reader.read_positions(batch.observations()) == seen.positions).all()


@pytest.mark.parametrize("name", [*GAMES, *IN_SUIT])
def test_illegal_actions_change_nothing(name: str) -> None:
    """In finished games, and if the mask of the caller is all ones."""
    variant = (GAMES | IN_SUIT)[name]
    reader = MoveReader(GameSpec(variant), dig_out=1)
    for steps in (0, 400):
        batch = played(variant, steps, size=6)
        everything = np.ones_like(batch.state.mask)
        legal = (batch.state.mask != 0) & (batch.state.status == PLAYING)[:, None]
        for seen in (
            reader.read(batch.observations(), everything),
            reader.read_moves(batch.observations(), everything),
        ):
            illegal = ~legal[seen.games, seen.actions]
            assert (seen.moves[illegal, :NUM_MOVE] == 0).all()
            after = seen.moves[illegal, NUM_MOVE:]
            assert after.size == 0 or (after == seen.positions[seen.games[illegal]]).all()


def nonzero_features(variant: str, partial: str, action: str, **rules: str) -> dict[str, float]:
    """The features of a move that are not 0."""
    game = get_variant(variant).with_rules(**rules)
    batch = Batch(GameSpec(game), 1)
    batch.place(0, parse_position(fill(f"variant: {variant} | {partial}", REFERENCE[variant]), game))
    seen = MoveReader(GameSpec(game)).read_moves(batch.observations(), batch.state.mask)
    numbers = seen.moves[seen.actions.tolist().index(parse_action(game, action)), :NUM_MOVE]
    return {name: round(n, 3) for name, n in zip(MOVE_NAMES, numbers.tolist(), strict=True) if n}


BOARD = (
    "foundations: C 1 0 | t1: KD 8H | t2: 2C 7H 6H | t3: KS 5H | t4: 4S | t5: | waste: 2C 9C QD | stock: ..."
)
"""A two of clubs, a next foundation card, lies under a sequence that fits onto the eight of hearts; Forty
Thieves."""


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("draw", {"draw: spaces / 4": 0.25}),
        (
            "t2>t1",
            {
                "pile to pile": 1,
                "onto a pile or a space: a card in sight fits onto it": 1,  # the five of hearts
                "cards / 13": 2 / 13,
                "source: the card under it goes home now": 1,
                "source: cards that stay / 13": 1 / 13,
                "source: a wanted card lies near the top": 1 / 3,
                "target: cards / 13": 2 / 13,
            },
        ),
        (
            "t3>t2",
            {
                "pile to pile": 1,
                "cards / 13": 1 / 13,
                "source: cards that stay / 13": 1 / 13,
                "target: cards / 13": 3 / 13,
                "target: a wanted card lies near the top": 1 / 3,
            },
        ),
        (
            "t2>s",
            {
                "pile to space": 1,
                "onto a pile or a space: a card in sight fits onto it": 1,
                "cards / 13": 1 / 13,
                "to space or cell: rank / 13": 6 / 13,
                "source: a sequence is broken": 1,
                "source: the card under it fits onto a pile": 1,
                "source: cards that stay / 13": 2 / 13,
                "source: a wanted card lies near the top": 1 / 3,
            },
        ),
        (
            "w>s",
            {
                "waste to space": 1,
                "cards / 13": 1 / 13,
                "to space or cell: rank / 13": 12 / 13,
                "waste: share of the stock that is left": 0.5,
            },
        ),
    ],
)
def test_features_of_moves_between_piles(action: str, expected: dict[str, float]) -> None:
    """Worked out by hand."""
    numbers = nonzero_features("forty-thieves", BOARD, action, moves="supermove")
    left = numbers.pop("waste: share of the stock that is left", 0.0)
    assert 0 <= left < 1 and (left > 0) == ("waste: share of the stock that is left" in expected)
    expected = {name: round(n, 3) for name, n in expected.items() if not name.startswith("waste: share")}
    assert numbers == expected


def test_features_of_moves_home_and_with_cells() -> None:
    """Home, from and to cells, and a King's sequence into a space."""
    board = "foundations: C 1 D 1 H 4 S 1 | cells: 7C 5D -- -- -- -- -- -- "
    board += "| t1: 9D 5H | t2: 9S 8S | t3: KH QH | t4: | t5: 8C | t6: 6H"
    home = nonzero_features("eights-down", board, "t1>f")
    assert home == {
        "home": 1.0,
        "home: ranks above the lowest foundation / 13": round(3 / 13, 3),
        "cards / 13": 0.077,
        "source: cards that stay / 13": 0.077,
        "source: a wanted card lies near the top": 1.0,
    }
    assert nonzero_features("eights-down", board, "c1>t5") == {
        "cell to pile": 1.0,
        "cards / 13": 0.077,
        "target: cards / 13": 0.077,
    }
    cell = nonzero_features("eights-down", board, "t2>c")
    assert cell.pop("to cell: cells that are left / 4") == 1.25
    assert cell == {
        "pile to cell": 1.0,
        "cards / 13": 0.077,
        "to space or cell: rank / 13": 0.615,
        "source: a sequence is broken": 1.0,
        "source: cards that stay / 13": 0.077,
    }


def test_features_of_a_kings_sequence_to_a_space() -> None:
    board = "foundations: C 1 D 1 H 1 S 1 | cells: -- -- -- -- -- -- -- -- | t1: 9D 5H KC QC JC | t2:"
    assert nonzero_features("eights-down", board, "t1>s") == {
        "pile to space": 1.0,
        "cards / 13": round(3 / 13, 3),
        "to space or cell: rank / 13": 1.0,
        "source: cards that stay / 13": round(2 / 13, 3),
    }


def test_other_observations_raise_an_error(refuses: Refuses) -> None:
    spec = GameSpec(GAMES["busy-aces"], Settings(observation="features"))
    refuses(lambda: MoveReader(spec), "'cards'", "'features'")


def test_a_lookahead_requires_building_in_suit(refuses: Refuses) -> None:
    spec = GameSpec(get_variant("eights-down").with_rules(build="alternate color"))
    refuses(
        lambda: MoveReader(spec, rollout_lookahead=3),
        "rollout_lookahead is 3",
        "'alternate color'",
        "allowed: 0",
    )


def test_names_are_those_of_the_columns() -> None:
    reader = MoveReader(GameSpec(GAMES["busy-aces"]), dig_out=2, relaxed_reachability=2, rollout_lookahead=3)
    assert reader.sizes == (len(reader.move_names), len(reader.position_names)) == (28 + 94, 94)
    assert len(set(reader.move_names)) == len(reader.move_names)
    assert reader.move_names[0] == "home" and reader.position_names[35] == (
        "digs: wanted cards that can be dug out / 4"
    )
