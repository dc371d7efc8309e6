"""fc-solve as a player of our games: its Eight Off is our Eights Down.

fc-solve (Freecell Solver by Shlomi Fish, Debian package freecell-solver-bin) reads a board and prints winning
moves. They are replayed in our environment and on a separate board of fc-solve, and after each move both must
show the same position.

Places have different numbers in both programs: cells are alike, and so are spaces. We fill the lowest one,
fc-solve any of them. With a single deck, the last card identifies a place. fc-solve also moves whole piles to
a space, which only renames a pile: we have no such action.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from solitaire_env.core.deals import Deal
from solitaire_env.env import SolitaireEnv
from solitaire_env.variants import Variant, get_variant
from tests.reference import ReferenceGame, ReferenceRules, suit

EIGHT_OFF = get_variant("eights-down")

SPACES = {"any": "all", "kings": "kings"}
"""Not for games whose spaces stay empty: there fc-solve omits legal moves that empty a pile."""
BUILDS = {"same suit": "suit", "alternate color": "alternate_color", "any suit": "rank"}

HOME = "the foundations"
"""The foundations, as fc-solve calls them."""
_MOVE = re.compile(rf"Move (a|\d+) cards? from ((?:stack|freecell) \d+) to ((?:stack|freecell) \d+|{HOME})")
_VERDICTS = {
    "This game is solveable.": "won",
    "I could not solve this game.": "impossible",
    "Iterations count exceeded.": "given up",
}

HERE = Path(__file__).parent

TO_WIN = ("-l", "as", "-mi", "500000")
"""Solve a board. Not with the preset `lg`, which makes moves that Eight Off does not have."""
TO_COUNT = ("-to", "01ABCDE")
"""Visit every position that single cards can reach, unless one of them is won."""


def without_stock(decks: int = 1, cells: int = 8, **rules: str) -> Variant:
    """Eights Down, or a similar game with other decks or cells, with all cards in piles after the deal."""
    if (decks, cells) == (EIGHT_OFF.decks, EIGHT_OFF.cells):
        return EIGHT_OFF.with_rules(**rules)
    piles = {1: 8, 2: 10}[decks]
    each, more = divmod(52 * decks, piles)
    variant = Variant(
        "like-eights-down",
        "Like Eights Down",
        decks=decks,
        tableau=(each + 1,) * more + (each,) * (piles - more),
        cells=cells,
        spaces="kings",
        moves="supermove",
    )
    return variant.with_rules(**rules)


# ------------------------------------------------------------------------------ running fc-solve


class Move(NamedTuple):
    """A move; its places are named as in fc-solve: ``stack 0``, ``freecell 3``, ``the foundations``."""

    cards: int
    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.cards} from {self.source} to {self.target}"


class Answer(NamedTuple):
    """fc-solve's result for a board."""

    verdict: str
    """``won``, ``impossible`` or ``given up``."""
    moves: list[Move]
    """The winning moves, if it is won."""
    positions: int
    """Number of positions searched, including the first."""


def command(variant: Variant, *options: str) -> list[str]:
    """The command that runs fc-solve; its standard input is the board."""
    flags = [
        ("--freecells-num", str(variant.cells), variant.cells != EIGHT_OFF.cells),
        ("--stacks-num", str(variant.piles), variant.piles != EIGHT_OFF.piles),
        ("--decks-num", str(variant.decks), variant.decks != EIGHT_OFF.decks),
        ("--empty-stacks-filled-by", SPACES[variant.spaces], variant.spaces != EIGHT_OFF.spaces),
        ("--sequences-are-built-by", BUILDS[variant.build], variant.build != EIGHT_OFF.build),
    ]
    differing = [word for flag, value, differs in flags if differs for word in (flag, value)]
    return ["fc-solve", "--game", "eight_off", *differing, "-m", "-sel", *options]


def ask(variant: Variant, board: str, *options: str) -> str:
    """The output of fc-solve for a board."""
    done = subprocess.run(
        command(variant, *options),
        input=board,
        capture_output=True,
        text=True,
        env={**os.environ, "FREECELL_SOLVER_QUIET": "1"},
    )
    return done.stdout + done.stderr


def board_text(board: ReferenceGame) -> str:
    """A board with no card home, in fc-solve's format: the cells, then the piles, bottom card first."""
    cells = [f"Freecells: {' '.join(''.join(cell) or '-' for cell in board.cells)}"] if board.cells else []
    return "".join(f"{line}\n" for line in (*cells, *map(" ".join, board.tableau)))


def read_answer(printed: str) -> Answer:
    """The moves and the result in the output lines of fc-solve."""
    moves, verdict, positions = [], None, 0
    for line in printed.splitlines():
        if line.startswith("Move "):
            move = _MOVE.fullmatch(line)
            if move is None:
                raise ValueError(f"fc-solve printed an unknown move: {line!r}")
            moves.append(Move(1 if move[1] == "a" else int(move[1]), move[2], move[3]))
        elif line in _VERDICTS:
            verdict = _VERDICTS[line]
        elif count := re.fullmatch(r"Total number of states checked is (\d+)\.", line):
            positions = int(count[1])
    if verdict is None:
        raise ValueError(f"fc-solve printed no verdict: {printed[-300:]!r}")
    return Answer(verdict, moves, positions)


# -------------------------------------------------------------------------- its moves as our actions


def place(board: ReferenceGame, name: str) -> list[str]:
    """The cards of a stack or a freecell on fc-solve's board."""
    kind, number = name.split()
    return (board.tableau if kind == "stack" else board.cells)[int(number)]


def our_action(theirs: ReferenceGame, move: Move, ours: ReferenceGame, spaces: str) -> str | None:
    """The text of our action for a move of fc-solve, or None if the move only renames a pile.

    ``spaces`` is the variant's rule for filling spaces.
    """
    names = {pile[-1]: f"t{n}" for n, pile in enumerate(ours.tableau, 1) if pile}
    names |= {cell[-1]: f"c{n}" for n, cell in enumerate(ours.cells, 1) if cell}
    source = place(theirs, move.source)
    start = names[source[-1]]
    if move.target == HOME:
        return f"{start}>f"
    if target := place(theirs, move.target):
        return f"{start}>{names[target[-1]]}"
    if move.target.startswith("freecell"):
        return f"{start}>c"
    if move.source.startswith("stack") and move.cards == len(source):
        return None
    several = move.cards > 1 and spaces == "any"
    return f"{start}x{move.cards}>s" if several else f"{start}>s"


# ---------------------------------------------------------------------------------------- replay


def shown(env: SolitaireEnv) -> ReferenceGame:
    """The position of an environment, as lists of cards."""
    return ReferenceGame.from_text(env.position(), ReferenceRules.of(env.variant))


def unordered(board: ReferenceGame) -> object:
    """A value that is the same for boards that differ only in the order of their piles and cells."""
    return sorted(board.tableau), sorted(board.cells), board.foundations


def replay(env: SolitaireEnv, deal: Deal, moves: Sequence[Move]) -> Counter[str]:
    """Play fc-solve's moves from a deal to the win, on its board and in our environment; return the number of
    moves of each kind. Raises an error if the two disagree on a move, or the last one does not win.
    """
    env.reset(options={"deal": deal})
    theirs = shown(env)
    kinds: Counter[str] = Counter()
    ended, info = False, {}
    for number, move in enumerate(moves, 1):
        ours = shown(env)
        where = f"{theirs.rules}, deal {deal}, fc-solve's move {number}, {move}, in\n{ours.text()}"
        assert not ended, f"our game has ended before {where}"
        text = our_action(theirs, move, ours, theirs.rules.spaces)
        source = place(theirs, move.source)
        cards = source[-move.cards :]
        del source[-move.cards :]
        if move.target == HOME:
            theirs.foundations[suit(cards[-1])][0] += cards
        else:
            place(theirs, move.target).extend(cards)
        if text is None:
            continue
        _, _, ended, _, info = env.step(env.parse_action(text))
        after = shown(env)
        assert unordered(after) == unordered(theirs), f"{after.text()}\nafter {where}"
        kind = {"f": "home", "c": "to a cell", "s": "to a space"}.get(text.partition(">")[2], "onto a pile")
        kinds[f"{kind}, several cards" if move.cards > 1 else kind] += 1
    assert ended and info["is_success"], f"deal {deal} is not won by fc-solve's moves: {shown(env).text()}"
    return kinds


# -------------------------------------------------------------------------------- stored answers


def parse_deal(text: str) -> Deal:
    """A deal number, or the unchanged name of another program's deal."""
    return int(text) if text.isdecimal() else text


class Impossible(NamedTuple):
    """A deal that fc-solve searched exhaustively without a win, and the number of positions it visited."""

    variant: Variant
    deal: Deal
    positions: int

    def __str__(self) -> str:
        v = self.variant
        return f"{v.decks} decks, {v.cells} cells, {v.build}, {v.spaces}, deal {self.deal}"


def read_impossible() -> list[Impossible]:
    """The deals of ``impossible_deals.txt``."""
    deals = []
    for line in (HERE / "impossible_deals.txt").read_text().splitlines():
        if not line.startswith("#"):
            decks, cells, build, spaces, deal, positions = line.split(", ")
            variant = without_stock(int(decks), int(cells), build=build, spaces=spaces)
            deals.append(Impossible(variant, parse_deal(deal), int(positions)))
    return deals
