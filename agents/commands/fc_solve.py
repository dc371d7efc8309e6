"""Solutions of Eights Down by fc-solve, which calls it Eight Off, as transcripts for imitation:
``python -m agents fc-solve --deals 20000:21000 -o lines``.

fc-solve (Freecell Solver by Shlomi Fish, Debian package freecell-solver-bin) reads a board and prints winning
moves. They are replayed here move by move, next to a board on which fc-solve's own moves are made.

Places have different numbers in both programs: cells are alike, and so are spaces. We fill the lowest one,
fc-solve any of them, so after some moves its piles and cells are in another order. With a single deck, the
last card identifies a place. fc-solve also moves whole piles to a space, which only renames a pile: we have
no such action.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, Protocol

import tyro

from agents.commands.options import run_command
from solitaire_env import SolitaireEnv, Variant, env_id, get_variant
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.transcripts import Transcript, format_transcript
from solitaire_env.util.files import write_text
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine

EIGHT_OFF: Final = get_variant("eights-down")

SPACES: Final = {"any": "all", "kings": "kings"}
"""Not for games whose spaces stay empty: there fc-solve omits legal moves that empty a pile."""
BUILDS: Final = {"same suit": "suit", "alternate color": "alternate_color", "any suit": "rank"}

HOME: Final = "the foundations"
"""The foundations, as fc-solve calls them."""
_MOVE: Final = re.compile(
    rf"Move (a|\d+) cards? from ((?:stack|freecell) \d+) to ((?:stack|freecell) \d+|{HOME})"
)
_VERDICTS: Final = {
    "This game is solveable.": "won",
    "I could not solve this game.": "impossible",
    "Iterations count exceeded.": "given up",
}


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


class Board(Protocol):
    """The cards in piles and cells, as text, the playable card last; an empty cell has none."""

    tableau: list[list[str]]
    cells: list[list[str]]


@dataclass
class Cards:
    """A board, from position text."""

    tableau: list[list[str]]
    cells: list[list[str]]

    @classmethod
    def of(cls, position: str) -> "Cards":
        """The cards of a position."""
        lines = dict(line.split(":", 1) for line in position.splitlines())
        return cls(
            [cards.split() for name, cards in lines.items() if re.fullmatch("t[0-9]+", name)],
            [[] if card == "--" else [card] for card in lines.get("cells", "").split()],
        )


def need(program: str) -> str:
    """The path of one of Freecell Solver's programs."""
    path = shutil.which(program)
    if path is None:
        raise FileNotFoundError(f"{program} is not installed, on Debian: apt-get install freecell-solver-bin")
    return path


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
    need("fc-solve")
    done = subprocess.run(
        command(variant, *options),
        input=board,
        capture_output=True,
        text=True,
        env={**os.environ, "FREECELL_SOLVER_QUIET": "1"},
    )
    return done.stdout + done.stderr


def board_text(board: Board) -> str:
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


def place(board: Board, name: str) -> list[str]:
    """The cards of a stack or a freecell on fc-solve's board."""
    kind, number = name.split()
    return (board.tableau if kind == "stack" else board.cells)[int(number)]


def our_action(theirs: Board, move: Move, ours: Board, spaces: str) -> str | None:
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


def take(board: Board, move: Move) -> list[str]:
    """Make a move of fc-solve on its board; return the moved cards. Cards that go home are removed."""
    source = place(board, move.source)
    cards = source[-move.cards :]
    del source[-move.cards :]
    if move.target != HOME:
        place(board, move.target).extend(cards)
    return cards


def solve(variant: Variant, deal: int | str, *options: str) -> Transcript | str:
    """The game of a deal that fc-solve wins; otherwise its result, ``impossible`` or ``given up``.

    Raises
    ------
    ValueError
        If its output is not understood, or its moves are not legal here.
    """
    env = SolitaireEnv(variant, on_invalid="raise")
    _, info = env.reset(options={"deal": deal})
    start = env.position()
    theirs = Cards.of(start)
    answer = read_answer(ask(variant, board_text(theirs), *options))
    if answer.verdict != "won":
        return answer.verdict
    actions = []
    for number, move in enumerate(answer.moves, 1):
        try:
            text = our_action(theirs, move, Cards.of(env.position()), variant.spaces)
            if text is not None:
                *_, info = env.step(env.parse_action(text))
                actions.append(text)
        except (ValueError, LookupError) as error:
            raise ValueError(
                f"deal {deal}: move {number} of fc-solve, {move}, is not legal here "
                f"({one_line(error)}); try another --preset"
            ) from None
        take(theirs, move)
    if not info["is_success"]:
        raise ValueError(f"deal {deal}: not won after all {len(answer.moves)} moves of fc-solve")
    return Transcript(
        variant=variant,
        policy=" ".join(("fc-solve", *options)),
        deal=deal,
        result="won",
        cards_home=variant.cards,
        steps=len(actions),
        start=start,
        actions=tuple(actions),
        information="player",
    )


# --------------------------------------------------------------------------------------- command


@dataclass
class Arguments:
    """Have fc-solve win deals of Eights Down, and write the games as transcripts."""

    deals: str
    """Deals: N, FIRST:END, ms:N, pysol:N, or several with commas. 0-999 are for evaluation."""
    out: Annotated[Path, tyro.conf.arg(aliases=("-o",))]
    """Folder for a transcript of each deal that is won."""
    build: Literal["same suit", "alternate color", "any suit"] | None = None
    """House rule: suits that build on the tableau."""
    spaces: Literal["any", "kings"] | None = None
    """House rule: cards that may fill a space."""
    preset: str = "video-editing"
    """Search preset of fc-solve; not lg, which makes moves that Eight Off does not have."""
    positions: int = 500_000
    """Maximum number of positions that fc-solve searches."""
    jobs: int = 2
    """Number of deals in parallel."""
    quiet: bool = False
    """Hide the progress line."""


def run(a: Arguments) -> int:
    """Solve, write and count; the exit status."""
    for name in ("positions", "jobs"):
        if getattr(a, name) < 1:
            raise ValueError(f"{name} is {getattr(a, name)}, allowed: at least 1")
    deals = parse_deals(a.deals)
    variant = EIGHT_OFF.with_rules(build=a.build, spaces=a.spaces)
    need("fc-solve")
    a.out.mkdir(parents=True, exist_ok=True)
    options = ("-l", a.preset, "-mi", str(a.positions))
    line = ProgressLine(a.quiet)
    counts = {"won": 0, "impossible": 0, "given up": 0}
    steps = 0
    start = time.monotonic()
    pool = ThreadPoolExecutor(a.jobs)
    try:
        futures = {pool.submit(solve, variant, deal, *options): deal for deal in deals}
        for answer in as_completed(futures):
            game = answer.result()
            if isinstance(game, Transcript):
                write_text(a.out / f"{str(futures[answer]).replace(':', '-')}.txt", format_transcript(game))
                steps += game.steps
            counts["won" if isinstance(game, Transcript) else game] += 1
            done = sum(counts.values())
            line.count(done, len(deals), f"solving: {done} of {len(deals)} deals, {counts['won']} won")
    finally:
        pool.shutdown(cancel_futures=True)
        line.close()
    print(
        f"{env_id(variant)}, deals {a.deals}: "
        + ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    )
    print(f"{steps / max(counts['won'], 1):.1f} moves a game, in {a.out}")
    if not a.quiet:
        print(f"{time.monotonic() - start:.1f} s", file=sys.stderr)
    return 0


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = tyro.cli(
        Arguments,
        args=args,
        prog="python -m agents fc-solve",
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    return run_command(lambda: run(a), f"Interrupted. The won games are in {a.out}.")


if __name__ == "__main__":
    sys.exit(main())
