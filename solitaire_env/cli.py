"""The command line, ``python -m solitaire_env``: list, rules, show, play, watch, solve, replay, serve,
site, perft.

A user's mistake is reported on stderr, with exit code 2.
"""

import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from tyro.conf import Positional, UseAppendAction, arg

from solitaire_env import __version__
from solitaire_env.core.variant import HOUSE_RULES
from solitaire_env.registration import env_id, import_module_of, resolve_variant, step_limit
from solitaire_env.util.command_line import parse, run_command
from solitaire_env.util.files import read_given, write_text
from solitaire_env.util.messages import text_table
from solitaire_env.util.progress import ProgressLine
from solitaire_env.variants import Variant, grouped, known_variants

# Modules with the engine are imported by the commands that play.
if TYPE_CHECKING:
    from solitaire_env.play.hints import Adviser
    from solitaire_env.play.session import Session
    from solitaire_env.play.watch import WatchedGame
    from solitaire_env.search.solver import Solution

PROG: Final = "python -m solitaire_env"
_ABOUT: Final = "Solitaire games for people and programs. --version prints the version."

RuleText = Annotated[str | None, arg(metavar="RULE")]


@dataclass(frozen=True)
class _Game:
    game: Annotated[Positional[str], arg(metavar="GAME")]
    """The game's name, title or id: forty-thieves, "Eight Off", Solitaire/BusyAces-v0."""
    build: RuleText = None
    """House rule: the cards that a tableau card takes, "same suit", "alternate color", "any suit", "other
    suit" or "same color"."""
    spaces: RuleText = None
    """House rule: the cards that fill an empty pile, any, kings, none or "base - 1"."""
    moves: RuleText = None
    """The cards that move together: "one card", supermove, sequence or "any group"."""

    def variant(self) -> Variant:
        rules: dict[str, Any] = {"build": self.build, "spaces": self.spaces, "moves": self.moves}
        import_module_of(self.game)
        return resolve_variant(self.game, **rules)


@dataclass(frozen=True)
class _Start(_Game):
    deal: str | None = None
    """A deal number, or ms:N or pysol:N for another program's deal; by default a random one."""
    position: Path | None = None
    """Start from the position text in this file."""

    def session(self, default: str | None = None) -> "Session":
        """A new game; ``default`` is the deal if none is given."""
        from solitaire_env.play.session import new_session

        return new_session(self.variant(), self.deal or default, self.position_text())

    def position_text(self) -> str | None:
        """The content of ``position``."""
        if self.deal is not None and self.position is not None:
            raise ValueError("--deal and --position cannot be combined")
        return None if self.position is None else read_given(self.position, "position text")


@dataclass(frozen=True)
class _Advised(_Start):
    policy: str = "greedy"
    """Policy that plays, or gives hints: random, greedy, linear, shipped, search, a model folder such as
    runs/busy-aces-1, or module:Class."""
    trust_model: bool = False
    """Import the module of a custom network that a model folder names, which can run any code."""

    def adviser(self, variant: Variant) -> "Adviser":
        """The policy in a game."""
        from solitaire_env.loading import trust_folder
        from solitaire_env.play.hints import Adviser

        if self.trust_model:
            trust_folder(self.policy)
        return Adviser(self.policy, variant)


# ------------------------------------------------------------------------------- list and rules


@dataclass(frozen=True)
class List:
    """List the games by their best-known relatives: names, ids, sizes, and the best stored result."""

    def run(self) -> None:
        from solitaire_env.benchmark import references

        rows: list[Sequence[object]] = []
        for group, variants in grouped().items():
            rows.append(f"\n{group}\n")
            for v in variants:
                best = references(v).get("best")
                won = None if best is None else f"{100 * best.win_rate:.1f}"
                rows.append((v.name, env_id(v).partition("/")[2], v.decks, v.piles, v.cells or None, won))
        print(text_table(("name", "id", "decks", "piles", "cells", "won %"), rows, texts=2))
        print('\nid: gymnasium.make("solitaire_env:Solitaire/ID")')
        print("won: by the best stored player that does not know the order of the stock")


@dataclass(frozen=True)
class Rules(_Game):
    """Print the rules of a game in English, and the options that change them."""

    def run(self) -> None:
        variant = self.variant()
        for line in variant.describe().splitlines():
            print(textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False))
        print("\nOptions (* marks the current value):")
        for name, words in HOUSE_RULES.items():
            marked = (f"{word}*" if word == getattr(variant, name) else word for word in words)
            print(f"  --{name:<8}{', '.join(marked)}")


# -------------------------------------------------------------------------------- show and play


@dataclass(frozen=True)
class Show(_Game):
    """Print the board of a deal."""

    deal: str = "0"
    """A deal number, or ms:N or pysol:N for another program's deal."""
    text: bool = False
    """Print position text, including the stock's order."""

    def run(self) -> None:
        from solitaire_env.play.session import new_session
        from solitaire_env.play.terminal import board

        session = new_session(self.variant(), self.deal)
        print(session.env.position() if self.text else board(session))


@dataclass(frozen=True)
class Play(_Advised):
    """Play a game in the terminal, by moves such as draw, redeal, t3>f, w>t5, t1>c, t2>s, t4x3>t1. To play
    with the mouse, use serve.
    """

    def run(self) -> None:
        from solitaire_env.play.terminal import play

        session = self.session()
        play(session, self.adviser(session.env.variant), self.game)


# ---------------------------------------------------------------------------------------- watch


@dataclass(frozen=True)
class Watch(_Advised):
    """Watch a policy play in the terminal; Ctrl-C stops it. If stdout is not a terminal, only the final board
    is shown.
    """

    fps: float = 4.0
    """Moves per second."""
    transcript: Path | None = None
    """Write the transcript of the game, with the policy's thoughts, to this file."""

    def run(self) -> None:
        from solitaire_env.play.terminal import board
        from solitaire_env.play.watch import WatchedGame, watch_in_terminal
        from solitaire_env.transcripts import check_policy_name

        if not 0 < self.fps <= 1000:
            raise ValueError(f"--fps is {self.fps}, allowed: more than 0, at most 1000")
        if self.transcript is not None and not self.transcript.parent.is_dir():
            folder = str(self.transcript.parent)
            raise ValueError(f"{str(self.transcript)!r} cannot be written: there is no folder {folder!r}")
        session = self.session()
        watched = WatchedGame(session, self.adviser(session.env.variant))
        check_policy_name(watched.adviser.name)
        try:
            if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
                watch_in_terminal(watched, self.fps, lambda: board(session, words=False))
            else:
                list(watched.play())
        finally:
            self.print_result(watched)

    def print_result(self, watched: "WatchedGame") -> None:
        """Print the result and write the transcript, also after an interruption."""
        from solitaire_env.play.terminal import board
        from solitaire_env.transcripts import format_transcript

        session = watched.session
        print(f"{session.title}, played by {watched.adviser.name}.\n")
        print(f"{board(session)}\n\n{watched.summary()}")
        if self.transcript is not None:
            write_text(self.transcript, format_transcript(watched.transcript()))


# ---------------------------------------------------------------------------------------- solve


@dataclass(frozen=True)
class Solve(_Start):
    """Find out whether a deal can be won if all cards are known, and print a line of moves that wins it. By
    default deal 0. Ctrl-C ends the search with the best line.
    """

    seconds: float = 10.0
    """Time limit."""
    memory: float = 1000.0
    """Megabytes of memory for the positions of the search."""
    network: str = "shipped"
    """Network that ranks the positions of beam search in games of two or more decks: shipped (the game's, if
    any), a run or model folder, or none."""
    quiet: bool = False
    """Hide the progress line."""

    def run(self) -> None:
        from solitaire_env.play.session import named_deal
        from solitaire_env.search.solver import SolverInterrupted
        from solitaire_env.solving import solve

        variant = self.variant()
        start = named_deal(self.deal or "0") if (position := self.position_text()) is None else position
        line = ProgressLine(self.quiet)

        def progress(positions: int, home: int) -> None:
            line.show(lambda: f"solving: {positions:,} positions, at most {home} cards home")

        try:
            solution = solve(
                variant, start, seconds=self.seconds, memory=self.memory, network=self.network,
                progress=progress,
            )  # fmt: skip
        except SolverInterrupted as interrupt:
            line.close()
            self.print_solution(variant, interrupt.solution)
            raise
        line.close()
        self.print_solution(variant, solution)

    def print_solution(self, variant: Variant, solution: "Solution") -> None:
        """Print the result and the line."""
        limit, moves = step_limit(variant), len(solution.texts)
        too_long = f", more than the registered limit of {limit} steps" if moves > limit else ""
        words = {
            "won": f"won in {moves} moves{too_long}:",
            "unwinnable": "cannot be won: no position that can be reached is won",
            "open": (
                f"open: the search found neither a win nor a proof that there is none; the best line brings "
                f"{solution.cards_home} of {variant.cards} cards home in {moves} moves:"
            ),
        }
        start = f"deal {self.deal or 0}" if self.position is None else str(self.position)
        print(f"{variant.title}, {start}: {words[solution.status]}")
        if solution.status != "unwinnable":
            print(" ".join(solution.texts))
        print(f"{solution.positions:,} positions, {solution.seconds:.2f} s")


# ----------------------------------------------------------------------------- replay and serve


@dataclass(frozen=True)
class Replay:
    """Write a game as one self-contained web page that shows its board at every move."""

    game: Annotated[Positional[Path], arg(metavar="FILE")]
    """A transcript, or a run folder, for its best game."""
    output: Annotated[Path | None, arg(aliases=["-o"])] = None
    """File to write; by default next to the transcript, with the ending .html."""
    env: Annotated[str, arg(metavar="GAME")] = ""
    """module:id of a custom variant, whose module is imported."""

    def run(self) -> None:
        from solitaire_env.play.replay_page import replay_page
        from solitaire_env.transcripts import parse_transcript

        import_module_of(self.env)
        path = self.game / "best_game.txt" if self.game.is_dir() else self.game
        transcript = parse_transcript(read_given(path, "a transcript"))
        output = path.with_suffix(".html") if self.output is None else self.output
        page = replay_page(transcript)
        write_text(output, page)
        deal = "a position" if transcript.deal is None else f"deal {transcript.deal}"
        print(f"{transcript.variant.title}, {deal}, by {transcript.policy}: {transcript.result}.")
        print(f"{output}: {len(transcript.actions)} moves, {len(page.encode()) / 1000:,.0f} kB")


@dataclass(frozen=True)
class Serve:
    """Play in the browser: run a server until Ctrl-C, by default for this machine only."""

    port: int = 8000
    """Port to listen on; 0 for any free port."""
    host: str = "127.0.0.1"
    """Address to listen on. With an address that other machines can reach, their users can play and run
    the policies."""
    allow_host: Annotated[tuple[str, ...], UseAppendAction, arg(metavar="NAME")] = ()
    """A further host name of the server, such as that of a proxy in front of it; can be repeated. By
    default: localhost, the name in --host, and addresses."""
    policy: Annotated[tuple[str, ...], UseAppendAction, arg(metavar="POLICY")] = ()
    """A policy for hints and win rates besides the page's own: search, a model folder such as
    runs/busy-aces-1, or module:Class; can be repeated."""
    env: Annotated[tuple[str, ...], UseAppendAction, arg(metavar="GAME")] = ()
    """module:id of a custom variant, whose module is imported; can be repeated."""
    trust_model: bool = False
    """Import the modules of custom networks that model folders name, which can run any code."""

    def run(self) -> None:
        from solitaire_env.loading import trust_folder
        from solitaire_env.play.server import listen, serve

        for name in self.policy if self.trust_model else ():
            trust_folder(name)
        for game in self.env:
            import_module_of(game)
            resolve_variant(game)
        serve(self.policy, listen(self.host, self.port), self.host, self.allow_host)


@dataclass(frozen=True)
class Site:
    """Write web pages on which all games are played without a server of ours: any file server serves them."""

    folder: Annotated[Positional[Path], arg(metavar="DIR")]
    """Folder to write; files of the same names are replaced."""
    env: Annotated[tuple[str, ...], UseAppendAction, arg(metavar="GAME")] = ()
    """module:id of a custom variant, whose module is imported; can be repeated."""

    def run(self) -> None:
        from solitaire_env.play.site import write_site

        for game in self.env:
            import_module_of(game)
            resolve_variant(game)
        size = write_site(self.folder)
        print(f"{self.folder}: {len(known_variants())} games, {size / 1000:,.0f} kB")
        print(f"To play: python -m http.server --directory {self.folder}")


# ---------------------------------------------------------------------------------------- perft


@dataclass(frozen=True)
class Perft(_Start):
    """Count lines of legal actions: nodes and different positions at each depth; by default of deal 0."""

    depth: int = 4
    """Maximum number of actions in a line."""
    divide: bool = False
    """Count only the nodes at the maximum depth, for each legal action."""

    def run(self) -> None:
        from solitaire_env.core.perft import count, divided

        session = self.session(default="0")
        env, position = session.env, session.full_position()
        if self.divide:
            for action, nodes in divided(position, self.depth):
                print(f"{action:<8}{nodes:>16,}  {env.describe_action(env.parse_action(action))}")
            return
        for depth, (nodes, unique) in enumerate(count(position, self.depth), 1):
            if depth == 1:
                print(f"depth{'nodes':>18}{'unique':>14}")
            print(f"{depth:>5}{nodes:>18,}{unique:>14,}", flush=True)


# ----------------------------------------------------------------------------------------- main

Command = List | Rules | Show | Play | Watch | Solve | Replay | Serve | Site | Perft


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line (by default the program's own); the exit code."""
    return run_command(lambda: _run(args), message="", name=PROG)


def _run(args: Sequence[str] | None) -> int:
    if list(sys.argv[1:] if args is None else args) == ["--version"]:
        print(f"solitaire-env {__version__}")
    else:
        parse(Command, args, PROG, description=_ABOUT).run()
    return 0
