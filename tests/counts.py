"""Numbers of lines of play, counted by the reference implementation: the files tests/perft/*.perft.

``python -m tests.counts [name ...]`` counts again and writes them; tests/core/test_perft.py compares the
engine with them. At each depth every position is visited once, with the number of lines that lead to it: its
legal actions do not depend on the line.
"""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from solitaire_env.core.cards import card_name
from solitaire_env.core.deals import deal_order
from solitaire_env.variants import Variant
from tests.core.test_random_games import Taste
from tests.games import OPTIONS, PUBLISHED, THE_FIVE
from tests.positions import CASES, fill
from tests.reference import Move, ReferenceGame, ReferenceRules

FOLDER = Path(__file__).parent / "perft"

VARIANTS = {name.replace(", ", "-").replace(" ", "-"): game for name, game in (PUBLISHED | OPTIONS).items()}
"""The games that are counted, by the names of their files."""

DEALS, LONG_DEALS = 6, 2
"""Number of deals of the first five games and their options, and how many of them are counted further than
the others."""
MIDDLES = 4
"""Number of positions from the middle of these games."""
FIRST_MIDDLE = 20
"""The first deal of these."""
FEW = 3
"""Number of deals of each other game, and of positions from the middle of games."""
ENOUGH = {"deal": 50_000, "long deal": 500_000, "middle": 20_000, "position": 5_000, "short": 1_500}
"""Counting ends at the first depth with this many nodes: the last step may have ten times as many."""
DEEPEST = {"deal": 60, "long deal": 60, "middle": 20, "position": 8, "short": 20}

CONVENTION = """\
# nodes: sequences of exactly 1, 2, 3, .. legal actions from the start; unique: different positions at their
# ends. Two positions are the same when their position texts are, the order of the stock included: the same
# piles in another order are another position. Cells are alike and so are spaces: the lowest is filled, one
# action for all. A whole pile does not go to a space. A finished game has no legal action. A draw is one
# action and leads to one position: the stock is known."""


@dataclass(frozen=True)
class Start:
    """A start of counting, and the counts from there."""

    id: str
    deal: int | None
    position: str
    """Position text; empty if the start is a deal."""
    nodes: tuple[int, ...]
    unique: tuple[int, ...]

    def text(self) -> str:
        """The lines of a file."""
        where = [f"deal {self.deal}"]
        if self.position:
            where = ["position", *(f"  {line}" for line in self.position.split("\n"))]
        counts = [f"{what} {' '.join(map(str, getattr(self, what)))}" for what in ("nodes", "unique")]
        return "\n".join([f"id {self.id}", *where, *counts])

    @classmethod
    def from_text(cls, text: str) -> "Start":
        """The inverse of :meth:`text`."""
        fields = {}
        position = []
        for line in text.split("\n"):
            if line.startswith("  "):
                position.append(line[2:])
            else:
                word, _, fields[word] = line.partition(" ")
        deal = int(fields["deal"]) if "deal" in fields else None
        nodes, unique = (tuple(map(int, fields[what].split())) for what in ("nodes", "unique"))
        return cls(fields["id"], deal, "\n".join(position), nodes, unique)


def path_of(name: str) -> Path:
    """The file of a game: of each of the first five, with its options, and of all others."""
    return FOLDER / f"{VARIANTS[name].name if VARIANTS[name].name in THE_FIVE else 'others'}.perft"


@cache
def read_file(path: Path) -> dict[str, list[Start]]:
    """The starts in a file, by game."""
    _, *games = path.read_text(encoding="utf-8").rstrip("\n").split("\n\ngame ")
    found = {}
    for text in games:
        name, *blocks = text.split("\n\n")
        found[name] = list(map(Start.from_text, blocks))
    return found


def starts_of(name: str) -> list[Start]:
    """The stored starts of a game."""
    return read_file(path_of(name))[name]


def write_files(found: dict[str, list[Start]]) -> None:
    """Write the starts of every game."""
    for path in sorted({path_of(name) for name in found}):
        blocks = [CONVENTION]
        for name, starts in found.items():
            if path_of(name) == path:
                blocks += [f"game {name}", *(start.text() for start in starts)]
        path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def deal(variant: Variant, number: int) -> ReferenceGame:
    """A numbered deal."""
    order = [card_name(code) for code in deal_order(variant, number).tolist()]
    return ReferenceGame.deal_from(order, ReferenceRules.of(variant), variant.name)


def middle(variant: Variant, number: int) -> tuple[int, ReferenceGame]:
    """A position from the second half of a random game, and the number of moves before it. The player prefers
    moves home.
    """
    rng = random.Random(number)
    stood = [deal(variant, number)]
    while len(stood) <= 2 * variant.cards and (legal := stood[-1].legal_actions()):
        stood.append(stood[-1].copy())
        stood[-1].play(Taste(0.9, 0.7).choose(legal, rng))
    moves = rng.randrange(len(stood) // 2, len(stood))
    return moves, stood[moves]


def places(variant: Variant) -> list[tuple[str, str, int | None, ReferenceGame]]:
    """The starts of a game: kind, id, deal number and position."""
    rules = ReferenceRules.of(variant)
    found: list[tuple[str, str, int | None, ReferenceGame]] = []
    many = variant.name in THE_FIVE
    deals, middles = (DEALS, MIDDLES) if many else (FEW, FEW)
    for number in range(deals):
        kind = "short" if not many else "long deal" if number < LONG_DEALS else "deal"
        found.append((kind, f"deal {number}", number, deal(variant, number)))
    for number in range(FIRST_MIDDLE, FIRST_MIDDLE + middles):
        moves, game = middle(variant, number)
        found.append(("middle" if many else "short", f"deal {number} after {moves} moves", None, game))
    for case in CASES:
        if variant.name in case.games.split() and case.rules(variant.name) == rules:
            text = fill(f"variant: {variant.name}|{case.position}", rules)
            found.append(("position", case.id, None, ReferenceGame.from_text(text, rules)))
    return found


@contextmanager
def made(game: ReferenceGame, action: str, move: Move) -> Iterator[None]:
    """Make a move, and take it back at the end."""
    changed = [move.source, move.target, game.stock, game.waste]
    before, redeals = [pile[:] for pile in changed], game.redeals
    game.make(action, move)
    yield
    for pile, cards in zip(changed, before, strict=True):
        pile[:] = cards
    game.redeals = redeals


def count(game: ReferenceGame, enough: int, deepest: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Nodes and different positions at depth 1, 2, .., until there are enough nodes or none."""
    all_nodes, all_unique = [], []
    level = {game.text(): (game, 1)}
    for depth in range(1, deepest + 1):
        moves = [(game, ways, game.moves()) for game, ways in level.values()]
        nodes = sum(ways * len(of) for _, ways, of in moves)
        last = nodes == 0 or nodes >= enough or depth == deepest
        level = {}
        for game, ways, of in moves:
            for action, move in of.items():
                with made(game, action, move):
                    text = game.text()
                    if text in level:
                        found, so_far = level[text]
                        level[text] = found, so_far + ways
                    else:
                        level[text] = game if last else game.copy(), ways
        all_nodes.append(nodes)
        all_unique.append(len(level))
        if last:
            break
    return tuple(all_nodes), tuple(all_unique)


def main() -> None:
    """Count the named games again, or all, and write the files."""
    asked = sys.argv[1:] or list(VARIANTS)
    found = {name: [] if name in asked else starts_of(name) for name in VARIANTS}
    for name in asked:
        for kind, id_, number, game in places(VARIANTS[name]):
            position = game.text() if number is None else ""
            found[name].append(Start(id_, number, position, *count(game, ENOUGH[kind], DEEPEST[kind])))
            print(f"{name}: {id_}:", *found[name][-1].nodes, flush=True)
    write_files(found)


if __name__ == "__main__":
    main()
