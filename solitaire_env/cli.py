"""The command line, ``python -m solitaire_env``: list, rules, show, play, watch, replay, serve, perft, bench.

A user's mistake is reported in one or two lines on stderr, with exit code 2.
"""

import contextlib
import io
import json
import math
import os
import re
import signal
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args

import numpy as np
import tyro
from tyro.conf import FlagCreatePairsOff, Positional, UseAppendAction, arg, subcommand

from solitaire_env import __version__
from solitaire_env.core.layout import Observation, action_layout, make_rules
from solitaire_env.registration import env_id, env_variant, step_limit
from solitaire_env.util.files import write_text
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine
from solitaire_env.variants import VARIANTS, Build, Moves, Spaces, Variant

# Modules with the engine are imported by the commands that play.
if TYPE_CHECKING:
    from solitaire_env.env import SolitaireEnv
    from solitaire_env.notation import Position
    from solitaire_env.play.hints import Adviser
    from solitaire_env.play.watch import WatchedGame
    from solitaire_env.render import RenderMode

PROG: Final = "python -m solitaire_env"
_RULES: Final = {"build": get_args(Build), "spaces": get_args(Spaces), "moves": get_args(Moves)}

RuleText = Annotated[str | None, arg(metavar="RULE")]
Quiet = Annotated[bool, FlagCreatePairsOff]


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
        return env_variant(self.game).with_rules(**rules)


# ------------------------------------------------------------------------------- list and rules


@dataclass(frozen=True)
class List:
    """List the games and their sizes."""

    json: bool = False
    """Print JSON, with all sizes."""

    def run(self) -> None:
        sizes = list(map(game_sizes, VARIANTS))
        if self.json:
            print(json.dumps(sizes, indent=2))
            return
        shown = ("name", "title", "decks", "piles", "cells", "actions")
        print_table(shown, ([of_game[key] or None for key in shown] for of_game in sizes), texts=2)


SIZES: Final = {
    "decks": "decks",
    "cards": "cards",
    "piles": "tableau piles",
    "cells": "cells",
    "stock": "stock",
    "pile_capacity": "pile capacity",
    "actions": "actions",
    "actions_supermove": 'actions with moves="supermove"',
    "cards_observation": 'observation="cards"',
    "features_observation": 'observation="features"',
    "step_limit": "step limit",
}
"""The sizes of a game and their names."""


def game_sizes(variant: Variant) -> dict[str, int | str | None]:
    """Id, name, title and the :data:`SIZES` of a game; None for sizes that it does not have.

    ``actions_supermove`` is the number of actions with supermoves, which one-card games take.
    """
    from solitaire_env.core.observations import observation_size

    supermove = None
    if variant.moves == "one card" and variant.takes_supermoves:
        supermove = action_layout(variant.with_rules(moves="supermove")).size
    return {
        "id": env_id(variant),
        "name": variant.name,
        "title": variant.title,
        "decks": variant.decks,
        "cards": variant.cards,
        "piles": variant.piles,
        "cells": variant.cells,
        "stock": variant.stock,
        "pile_capacity": make_rules(variant).pile_capacity,
        "actions": action_layout(variant).size,
        "actions_supermove": supermove,
        "cards_observation": observation_size(variant, "cards"),
        "features_observation": observation_size(variant, "features"),
        "step_limit": step_limit(variant),
    }


def print_table(head: Sequence[str], rows: Iterable[Sequence[object]], texts: int = 1) -> None:
    """Print a table whose columns after the first ``texts`` are right-aligned; with rich, if it is
    installed.
    """
    body = [["-" if entry is None else str(entry) for entry in row] for row in rows]
    try:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        lines = [name.split("\n") for name in head]
        height = max(map(len, lines))
        padded = [[""] * (height - len(name)) + name for name in lines]
        body = [*map(list, zip(*padded, strict=True)), *body]
        widths = [max(map(len, column)) for column in zip(*body, strict=True)]
        for row in body:
            cells = [*map(str.ljust, row[:texts], widths), *map(str.rjust, row[texts:], widths[texts:])]
            print("  ".join(cells).rstrip())
        return
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, name in enumerate(head):
        table.add_column(name, justify="left" if number < texts else "right", no_wrap=True)
    for row in body:
        table.add_row(*row)
    Console(highlight=False).print(table)


@dataclass(frozen=True)
class Rules(_Game):
    """Print the rules of a game in English, and the options that change them."""

    def run(self) -> None:
        variant = self.variant()
        for line in variant.describe().splitlines():
            print(textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False))
        print("\nOptions (* marks the current value):")
        for name, words in _RULES.items():
            marked = (f"{word}*" if word == getattr(variant, name) else word for word in words)
            print(f"  --{name:<8}{', '.join(marked)}")


# -------------------------------------------------------------------------------- show and play

DealText = Annotated[str | None, arg(metavar="N")]


@dataclass(frozen=True)
class Show(_Game):
    """Print the board of a deal."""

    deal: Annotated[str, arg(metavar="N")] = "0"
    """A deal number, or ms:N or pysol:N for another program's deal."""
    text: Annotated[bool, FlagCreatePairsOff] = False
    """Print position text, including the stock's order."""

    def run(self) -> None:
        from solitaire_env.play.terminal import board

        env = _new_env(self.variant())
        env.reset(options={"deal": _parse_deal(self.deal)})
        print(env.position() if self.text else board(env))


@dataclass(frozen=True)
class Play(_Game):
    """Play a game: in the terminal, by moves such as draw, redeal, t3>f, w>t5, t1>c, t2>s, t4x3>t1, or in
    a window.
    """

    deal: DealText = None
    """A deal number, or ms:N or pysol:N for another program's deal; by default a random one."""
    position: Annotated[str | None, arg(metavar="FILE")] = None
    """Start from the position text in this file."""
    window: Annotated[bool, FlagCreatePairsOff] = False
    """Play in a window with the mouse."""
    policy: Annotated[str | None, arg(metavar="NAME")] = None
    """Policy for hints: random, greedy, linear, shipped, search, a model folder, or module:Class."""

    def run(self) -> None:
        variant = self.variant()
        adviser = None if self.policy is None else _adviser(self.policy, variant)
        env = _start(variant, self.deal, self.position)
        if self.window:
            _play_in_window(env, adviser)
        else:
            from solitaire_env.play.terminal import play

            play(env, adviser)


def _adviser(policy: str, variant: Variant) -> "Adviser":
    from solitaire_env.play.hints import Adviser

    return Adviser(policy, variant)


def _play_in_window(env: "SolitaireEnv", adviser: "Adviser | None") -> None:
    from solitaire_env.play.session import Session
    from solitaire_env.play.terminal import print_continuation
    from solitaire_env.render import need

    need("PIL", "--window")
    need("pygame", "--window")
    from solitaire_env.play.window import Window

    window = Window(Session(env), adviser)
    try:
        window.run()
    except KeyboardInterrupt:
        window.screen.close()
    if window.session.won:
        print(f"Won, in {len(window.session.played)} moves.")
    else:
        print_continuation(window.session)


def _new_env(variant: Variant, render_mode: "RenderMode | None" = None) -> "SolitaireEnv":
    from solitaire_env.env import SolitaireEnv

    return SolitaireEnv(variant, on_invalid="raise", render_mode=render_mode)


def _start(
    variant: Variant,
    deal: str | None,
    position: str | None,
    default: int | None = None,
    render_mode: "RenderMode | None" = None,
) -> "SolitaireEnv":
    """A game from a deal or from the position text in a file."""
    if deal is not None and position is not None:
        raise ValueError("--deal and --position cannot be combined")
    env = _new_env(variant, render_mode)
    if position is not None:
        env.reset(options={"position": _read_position(Path(position))})
    else:
        number = default if deal is None else _parse_deal(deal)
        env.reset(options=None if number is None else {"deal": number})
    return env


def _parse_deal(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?[0-9]{1,30}", text) else text


def _read_position(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"cannot read {str(path)!r}, {reason}; allowed: a file with position text") from None


def _position(env: "SolitaireEnv") -> "Position":
    from solitaire_env.notation import parse_position

    return parse_position(env.position(), env.variant)


# ---------------------------------------------------------------------------------------- watch


@dataclass(frozen=True)
class Watch(_Game):
    """Watch a policy play; Ctrl-C stops it. If stdout is not a terminal, only the final board is shown."""

    policy: Annotated[str | None, arg(metavar="NAME")] = None
    """Policy that plays: random, greedy, linear, shipped, search, a model folder such as runs/busy-aces-1, or
    module:Class; by default the built-in hints."""
    deal: DealText = None
    """A deal number, or ms:N or pysol:N for another program's deal; by default a random one."""
    position: Annotated[str | None, arg(metavar="FILE")] = None
    """Start from the position text in this file."""
    fps: Annotated[float, arg(metavar="F")] = 4.0
    """Moves per second."""
    window: Annotated[bool, FlagCreatePairsOff] = False
    """Show the game in a window, until it is closed."""
    video: Annotated[Path | None, arg(metavar="FILE")] = None
    """Write a video, .mp4 or .gif, and show only the final board."""
    transcript: Annotated[Path | None, arg(metavar="FILE")] = None
    """Write the transcript of the game, with the policy's thoughts, to this file."""

    def run(self) -> None:
        from solitaire_env.play.session import Session
        from solitaire_env.play.watch import WatchedGame
        from solitaire_env.transcripts import check_policy_name

        if not 0 < self.fps <= 1000:
            raise ValueError(f"--fps is {self.fps}, allowed: more than 0, at most 1000")
        if self.window and self.video is not None:
            raise ValueError("--window and --video cannot be combined")
        for path in (self.video, self.transcript):
            if path is not None and not path.parent.is_dir():
                raise ValueError(f"{str(path)!r} cannot be written: there is no folder {str(path.parent)!r}")
        variant = self.variant()
        adviser = None if self.policy is None else _adviser(self.policy, variant)
        pictures: Literal["rgb_array"] | None = "rgb_array" if self.window or self.video is not None else None
        session = Session(_start(variant, self.deal, self.position, render_mode=pictures))
        watched = WatchedGame(session, adviser)
        check_policy_name(watched.name)
        try:
            self.play(watched)
        except KeyboardInterrupt:
            self.print_result(watched)
            raise
        self.print_result(watched)

    def play(self, watched: "WatchedGame") -> None:
        """Play the game on the chosen display."""
        from solitaire_env.play.terminal import board
        from solitaire_env.play.watch import watch_in_terminal, watch_in_window, write_video

        line = ProgressLine()

        def show() -> None:
            line.show(lambda: f"move {len(watched.turns)}, {watched.session.cards_home} cards home")

        if self.window:
            watch_in_window(watched, self.fps)
        elif self.video is not None:
            write_video(watched, self.video, self.fps, show)
        elif sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
            watch_in_terminal(
                watched, self.fps, lambda: board(watched.session.env, watched.session.last, words=False)
            )
        else:
            for _ in watched.play():
                show()
        line.close()

    def print_result(self, watched: "WatchedGame") -> None:
        """Print the result and write the transcript, also after an interruption."""
        from solitaire_env.play.terminal import board
        from solitaire_env.transcripts import format_transcript

        env, last = watched.session.env, watched.session.last
        deal = env.get_state()["deal"]
        start = "from a position" if deal is None else f"deal {deal}"
        print(f"{env.variant.title}, {start}, played by {watched.name}.\n")
        print(f"{board(env, last)}\n\n{watched.summary()}")
        if self.transcript is not None:
            write_text(self.transcript, format_transcript(watched.transcript()))
        if self.video is not None and self.video.exists():
            print(f"{self.video}: {self.video.stat().st_size / 1000:,.0f} kB")


# ----------------------------------------------------------------------------- replay and serve


@dataclass(frozen=True)
class Replay:
    """Write a game as one self-contained web page that shows its board at every move."""

    game: Annotated[Positional[Path], arg(metavar="FILE")]
    """A transcript, a run folder, or a folder with one transcript."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """File to write; by default next to the transcript, with the ending .html."""

    def run(self) -> None:
        from solitaire_env.play.replay_page import find_transcript, read_transcript, write_page

        path = find_transcript(self.game)
        transcript = read_transcript(path)
        output = path.with_suffix(".html") if self.output is None else self.output
        size = write_page(output, transcript)
        deal = "a position" if transcript.deal is None else f"deal {transcript.deal}"
        print(f"{transcript.variant.title}, {deal}, by {transcript.policy}: {transcript.result}.")
        print(f"{output}: {len(transcript.actions)} moves, {size / 1000:,.0f} kB")


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
    policy: Annotated[tuple[str, ...], UseAppendAction, arg(metavar="NAME")] = ()
    """A policy for hints and win rates: linear, shipped, a model folder such as runs/busy-aces-1, or
    module:Class; can be repeated."""
    solver: Annotated[str | None, arg(metavar="MODULE:CLASS")] = None
    """Solver that decides whether a deal can be won, such as agents.search.solver:Solver."""

    def run(self) -> None:
        from solitaire_env.play.server import listen, serve

        serve(self.policy, listen(self.host, self.port), self.host, self.allow_host, self.solver)


# ---------------------------------------------------------------------------------------- perft


@dataclass(frozen=True)
class Perft(_Game):
    """Count lines of legal actions: nodes and different positions at each depth."""

    deal: DealText = None
    """A deal number, or ms:N or pysol:N for another program's deal; by default deal 0."""
    position: Annotated[str | None, arg(metavar="FILE")] = None
    """Count from the position text in this file."""
    depth: int = 4
    """Maximum number of actions in a line."""
    divide: Annotated[bool, FlagCreatePairsOff] = False
    """Count only the nodes at the maximum depth, for each legal action."""
    json: Annotated[bool, FlagCreatePairsOff] = False
    """Print JSON."""
    quiet: Quiet = False
    """No progress line."""

    def run(self) -> None:
        env = _start(self.variant(), self.deal, self.position, default=0)
        # Kernels do not check for signals: with this, Ctrl-C ends a long count immediately.
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            self.print_divided(env) if self.divide else self.print_counts(env)
        finally:
            signal.signal(signal.SIGINT, before)

    def print_counts(self, env: "SolitaireEnv") -> None:
        from solitaire_env.core.perft import count_unique

        position = _position(env)
        line = ProgressLine(self.quiet)
        counted = []
        depth = 1

        def show_progress(done: int, of: int) -> None:
            line.count(done, of, lambda: f"depth {depth}: {done:,} of {of:,} positions expanded")

        for unique in count_unique(position, self.depth, show_progress):
            line.close()
            start = time.perf_counter()
            nodes = sum(self.count_nodes(env, depth, line).values())
            seconds = time.perf_counter() - start
            counted.append({"depth": depth, "nodes": nodes, "unique": unique, "seconds": round(seconds, 6)})
            if not self.json:
                if depth == 1:
                    print(f"depth{'nodes':>18}{'unique':>14}{'nodes/s':>16}")
                rate = f"{nodes / seconds:,.0f}" if nodes >= 10_000 else "-"
                print(f"{depth:>5}{nodes:>18,}{unique:>14,}{rate:>16}", flush=True)
            depth += 1
        if self.json:
            print(json.dumps(counted, indent=2))

    def print_divided(self, env: "SolitaireEnv") -> None:
        nodes = self.count_nodes(env, self.depth, ProgressLine(self.quiet))
        if self.json:
            print(json.dumps(nodes, indent=2))
            return
        for action, number in nodes.items():
            print(f"{action:<8}{number:>16,}  {env.describe_action(env.parse_action(action))}")
        print(f"{'all':<8}{sum(nodes.values()):>16,}")

    def count_nodes(self, env: "SolitaireEnv", depth: int, line: ProgressLine) -> dict[str, int]:
        """Nodes at a depth below each legal action."""
        from solitaire_env.core.perft import divided

        nodes = {}
        actions = len(env.legal_actions())
        for action, number in divided(_position(env), depth):
            nodes[action] = number
            line.count(
                len(nodes),
                actions,
                lambda: f"depth {depth}: nodes of {len(nodes)} of {actions} actions counted",
            )
        line.close()
        return nodes


# ---------------------------------------------------------------------------------------- bench


@dataclass(frozen=True)
class Bench(_Game):
    """Measure steps per second of the vector environment."""

    game: Annotated[Positional[str], arg(metavar="GAME")] = "forty-thieves"
    """The game's name, title or id."""
    num_envs: int = 1024
    """Number of games."""
    copy: Annotated[bool, FlagCreatePairsOff] = False
    """Copy observations and masks, as the environment does by default."""
    observation: Observation = "cards"
    """Kind of observation."""
    seconds: float = 5.0
    """Minimum duration of the measurement in seconds, without compilation and the choice of actions."""
    json: Annotated[bool, FlagCreatePairsOff] = False
    """Print JSON."""
    quiet: Quiet = False
    """No progress line."""

    def run(self) -> None:
        from solitaire_env.evaluation.speed import TIMED, Recording, machine
        from solitaire_env.vector import SolitaireVectorEnv

        if not 0 < self.seconds < math.inf:
            raise ValueError(f"--seconds is {self.seconds}, allowed: more than 0")
        variant = self.variant()
        env = SolitaireVectorEnv(
            self.num_envs,
            variant,
            observation=self.observation,
            max_episode_steps=step_limit(variant),
            copy=self.copy,
        )
        line = ProgressLine(self.quiet)
        recording = Recording(
            env,
            progress=lambda done, of: line.count(done, of, lambda: f"recording: {done:,} of {of:,} calls"),
        )
        line.close()
        spent = [recording.replay()]
        while sum(spent) < self.seconds:
            line.count(sum(spent), self.seconds, lambda: f"replaying: pass {len(spent) + 1}")
            spent.append(recording.replay())
        line.close()
        rates = [recording.steps / seconds for seconds in spent]
        if self.json:
            measured = {
                "game": variant.name,
                "num_envs": env.num_envs,
                "copy": self.copy,
                "observation": self.observation,
                "passes": len(rates),
                "steps_a_pass": recording.steps,
                "games_a_pass": recording.episodes,
                "steps_per_second": round(float(np.median(rates))),
                "best_pass": round(max(rates)),
                "machine": machine(),
            }
            print(json.dumps(measured, indent=2))
            return
        print_table(
            ["game", "games", "copy", "passes", "steps/s", "best pass"],
            [
                [
                    variant.name,
                    env.num_envs,
                    self.copy,
                    len(rates),
                    f"{np.median(rates):,.0f}",
                    f"{max(rates):,.0f}",
                ]
            ],
        )
        print(
            f"A pass: {recording.steps:,} steps, {recording.episodes:,} games end in it. steps/s: the median."
        )
        print(f"{TIMED}\n{machine()}")


# ----------------------------------------------------------------------------------------- main

Command = (
    Annotated[List, subcommand("list")]
    | Annotated[Rules, subcommand("rules")]
    | Annotated[Show, subcommand("show")]
    | Annotated[Play, subcommand("play")]
    | Annotated[Watch, subcommand("watch")]
    | Annotated[Replay, subcommand("replay")]
    | Annotated[Serve, subcommand("serve")]
    | Annotated[Perft, subcommand("perft")]
    | Annotated[Bench, subcommand("bench")]
)


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line (by default the program's own); the exit code."""
    if list(sys.argv[1:] if args is None else args) == ["--version"]:
        print(f"solitaire-env {__version__}")
        return 0
    try:
        _parse(args).run()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. The rest of the buffer must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except (ValueError, ImportError, MemoryError, OSError) as error:
        return _fail(str(error))
    return 0


def _fail(message: str) -> int:
    print(f"{PROG}: {message}", file=sys.stderr)
    return 2


_ABOUT: Final = "Solitaire games for people and programs. --version prints the version."


def _parse(args: Sequence[str] | None) -> Any:
    """The command of the arguments. tyro's boxes of several lines become one or two."""
    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            return tyro.cli(Command, prog=PROG, description=_ABOUT, args=args)
    except SystemExit as end:
        if end.code != 2:
            raise
    raise ValueError(_unbox(box.getvalue()))


def _unbox(text: str) -> str:
    """The error and the allowed values in a box of tyro's, without the frame."""
    title, *lines = re.sub(r"\033\[[0-9;]*m", "", text).splitlines() or [""]
    title = title.strip("╭╮─ ")
    parts = [""]
    for line in lines:
        inside = line.strip("│╰╯ ")
        if inside.strip("─-"):
            parts[-1] = f"{parts[-1]} {' '.join(inside.split())}".strip()
        else:
            parts.append("")  # a rule across the box
    first, *more = [part for part in parts if part] or [""]
    if first.startswith("Expected"):
        first = f"{title}: {first}"
    more = [part for part in more if part.startswith(("Available subcommands", "Argument helptext"))]
    return "\n".join(one_line(part, 280) for part in (first, *more[:1]))
