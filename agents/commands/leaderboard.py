"""The leaderboard: ``python -m agents leaderboard`` writes ``docs/leaderboard.md``, the model cards of the
shipped policies and the README's table from the stored results (:mod:`agents.reports.stored`), no game played.

``python -m agents leaderboard add --policy greedy --env busy-aces`` plays, and stores the results;
``python -m agents leaderboard replay`` plays stored games again, and says whether they are the same.
"""

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

import tyro
from pydantic import ValidationError

from agents.commands.ablations import experiment_table, experiments
from agents.commands.options import run_command
from agents.commands.search_results import rounds_table, shipped_of, solver_table, strength_table
from agents.config import make_config
from agents.reports import stored as results
from agents.reports.compare import play_policy
from agents.reports.model_card import NOTE, model_card, training_of
from agents.reports.solver_results import Verdict, contradictions, of_game
from agents.reports.stored import About, Entry, Speed, Training
from agents.reports.tables import against, cost, home, summary_table, table, won
from solitaire_env import VARIANTS, env_id
from solitaire_env.core import set_num_threads
from solitaire_env.evaluation import Evaluation, Game, read_games, summarize, wilson_interval
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.evaluation.speed import processor
from solitaire_env.policies import linear as linear_policy
from solitaire_env.policies import shipped as shipped_policy
from solitaire_env.registration import env_variant, step_limit
from solitaire_env.util.files import read_json, write_text
from solitaire_env.util.messages import shown
from solitaire_env.util.progress import ProgressLine

PAGE: Path = results.ROOT / "docs" / "leaderboard.md"
README: Path = results.ROOT / "README.md"
Verdicts = Mapping[int | str, Verdict]
"""The solver's, by deal."""
MARK: Final = "<!-- leaderboard -->\n"
"""Before and after the README's table."""
SEARCH_PAGE: Path = results.ROOT / "docs" / "looking-ahead.md"
SEARCH_MARK: Final = "<!-- strength -->\n"
SOLVER_MARK: Final = "<!-- solver -->\n"
ROUNDS_MARK: Final = "<!-- rounds -->\n"
"""Before and after its table."""
TRAINING_PAGE: Path = results.ROOT / "docs" / "training.md"
EXPERIMENT_MARK: Final = "<!-- experiment {} -->\n"
"""Before and after the table of an experiment."""

AUTHOR: Final = "solitaire-env"
MADE: Final = {
    "random": "a legal move, all alike",
    "greedy": "the best move in a fixed order, written by hand",
    "linear": "the highest weighted sum of 28 numbers of a move; weights found by `agents.commands.fit_linear`",
    "search": "the shipped network, moves tried on stocks that might be; the solver where nothing is hidden",
    "shipped": "a network, trained with `agents.train`: `agents/policies/GAME/README.md`",
}
"""How the policies that have names were made."""

PAGE_TEXT: Final = """# Leaderboard

{note}
Every figure is counted from the games stored in `leaderboard/`, a line a game: deals {standard} of each game,
the best policy first. All play the published game: where a policy chooses among supermoves, each is played
as the single moves that it stands for, and those are counted.

- **won:** games won, with Wilson's 95 % interval; **cards home:** with a bootstrap interval.
- **of known winnable:** games won / standard deals that the solver or a policy of this page has won.
{held_out}- **against the one above:** deals that only this policy won, and those that only the one above it
  won, and McNemar's exact two-sided p. Where neither won any: the p of Wilcoxon's signed-rank test on cards
  home.
- **moves a game:** single moves; a game that goes in a circle counts as long as the step limit.
- **ms a move:** processor time that the policy takes for a move that it chooses, on one thread, {side} games
  side by side.

{games}
## The policies

{policies}

## Add your own

A policy is a class that answers `policy(observations, masks, *, uniforms, games) -> actions`, or a model folder with
`model.safetensors` and `model.json`, as `agents.train` writes it: [Evaluate](training.md#evaluate) says more.

```sh
python -m agents leaderboard add --policy my_module:MyPolicy --env busy-aces --name my-policy \\
    --author "My Name" --made "what it is, in a sentence"
python -m agents leaderboard add --policy runs/busy-aces-1 --env busy-aces --name my-net \\
    --author "My Name" --made "agents.train with --gamma 1"
python -m agents leaderboard                                                            # writes this page
python -m agents leaderboard replay --policy my_module:MyPolicy --env busy-aces --name my-policy --deals 0:50
```

`add` plays deals {standard} (`--deals {both}` for the final test too), and writes
`leaderboard/busy-aces/my-policy.jsonl` and `.json`. What training took is told by `--steps`, `--minutes` and
`--machine`; of a run folder it is read. Send these two files and the policy itself as a pull request. It is
played again before it goes in: a policy that draws random numbers should declare it
([`stochastic`](training.md#evaluate)), so that its games can be repeated to the last.
"""


# --------------------------------------------------------------------------------------- the page


def known_winnable(entries: Sequence[Entry], verdicts: Verdicts) -> set[int | str]:
    """The standard deals of a game that the solver, or a policy, has won.

    Raises
    ------
    ValueError
        If a policy has won one that the solver calls impossible.
    """
    for entry in entries:
        if wrong := contradictions(verdicts, entry.standard + entry.held_out):
            raise ValueError(
                f"{entry.game}: `{entry.about.policy}` won deal {wrong[0]}, which cannot be won by the "
                "stored verdicts: the solver or the rules are wrong"
            )
    solved = {deal for deal in results.STANDARD if deal in verdicts and verdicts[deal].result == "winnable"}
    return solved | {game.deal for entry in entries for game in entry.standard if game.won}


def _solver_text(verdicts: Verdicts) -> str:
    """What the solver found out about the standard deals of a game; nothing where it was not asked."""
    of_standard = [verdicts[deal] for deal in results.STANDARD if deal in verdicts]
    if not of_standard:
        return ""
    n = len(of_standard)
    found = Counter(verdict.result for verdict in of_standard)
    seconds = [verdict.seconds for verdict in of_standard]
    home = sum(verdict.cards_home for verdict in of_standard) / n
    low, high = wilson_interval(found["winnable"], n)
    return (
        f"Thoughtful, the stock known ([the solver](looking-ahead.md#the-solver)), {n} deals: it won "
        f"{found['winnable']}, {100 * found['winnable'] / n:.1f} % [{100 * low:.1f}, {100 * high:.1f}], "
        f"proved {found['unwinnable']} impossible, and left {found['unknown']} open; {home:.1f} cards home "
        f"on the best lines, {sum(seconds) / n:.2f} s a deal, at most {max(seconds):.1f}."
    )


def _game_table(entries: Sequence[Entry], verdicts: Verdicts) -> str:
    """The table of a game, the best policy first."""
    final = any(entry.held_out for entry in entries)
    winnable = known_winnable(entries, verdicts) if verdicts else set()
    of_winnable = [f"of {len(winnable)} known winnable"] if winnable else []
    head = [
        "policy",
        "moves",
        "won",
        *of_winnable,
        "cards home",
        *([f"won, {_range(results.HELD_OUT)}"] if final else []),
    ]
    head += ["against the one above", "moves a game", "ms a move", "training"]
    rows = []
    tests = ["-", *(against(worse.standard, better.standard) for better, worse in pairwise(entries))]
    for entry, test in zip(entries, tests, strict=True):
        row = [
            f"`{entry.about.policy}`",
            entry.moves,
            won(entry.standard),
            *([f"{100 * entry.summary.wins / len(winnable):.1f} %"] if winnable else []),
            home(entry.standard),
            *([won(entry.held_out)] if final else []),
            test,
            f"{entry.summary.steps:.0f}",
            f"{entry.about.speed.ms_per_move:.2g}",
            cost(entry.about.training),
        ]
        rows.append([*map(_narrow, row)])
    return table(head, rows, texts=2)


def _narrow(cell: str) -> str:
    """A cell in two lines that stay whole: what was counted, and how sure it is or how long it took."""
    for before, after in ((" [", "<br>["), (", p ", "<br>p "), ("steps, ", "steps<br>")):
        cell = cell.replace(before, after)
    return cell.replace(" ", "\N{NO-BREAK SPACE}")


def _game_text(game: str, entries: Sequence[Entry], verdicts: Verdicts) -> str:
    machines: dict[str, list[str]] = {}
    for entry in entries:
        if entry.about.training is not None and entry.about.training.machine is not None:
            machines.setdefault(entry.about.training.machine, []).append(f"`{entry.about.policy}`")
    told = [f"{', '.join(names)} on {where}" for where, names in machines.items()]
    timed = ", ".join(sorted({entry.about.speed.machine for entry in entries}))
    variant = env_variant(game)
    parts = (
        f"## {variant.title}",
        f"`{env_id(variant)}`: built by {variant.build}; spaces: {variant.spaces}; moves: {variant.moves}; "
        f"at most {step_limit(variant)} steps.",
        _game_table(entries, verdicts),
        *([text] if (text := _solver_text(verdicts)) else []),
        f"Timed on {timed}." + (f" Trained: {'; '.join(told)}." if told else ""),
    )
    return "\n\n".join(parts) + "\n"


def _range(part: range) -> str:
    return f"{part[0]}-{part[-1]}"


def page(entries: dict[str, list[Entry]], verdicts: Mapping[str, Verdicts] | None = None) -> str:
    """``docs/leaderboard.md``; ``verdicts`` of the solver, by game and deal."""
    order = [variant.name for variant in VARIANTS if variant.name in entries]
    made = {(e.about.policy, e.about.author, e.about.made) for of_game in entries.values() for e in of_game}
    any_held_out = any(entry.held_out for of_game in entries.values() for entry in of_game)
    held_out = (
        f"- **won, {_range(results.HELD_OUT)}:** the final test, on deals that nothing was chosen by.\n"
        if any_held_out
        else ""
    )
    return PAGE_TEXT.format(
        note=NOTE,
        standard=_range(results.STANDARD),
        side=results.SIDE_BY_SIDE,
        both=",".join(map(_deals, (results.STANDARD, results.HELD_OUT))),
        held_out=held_out,
        games="\n".join(_game_text(game, entries[game], (verdicts or {}).get(game, {})) for game in order),
        policies=table(["policy", "author", "what it is"], [[f"`{p}`", a, m] for p, a, m in sorted(made)], 3),
    )


def readme(text: str, entries: dict[str, list[Entry]]) -> str:
    """The README, between its marks what the policies of the project come to.

    Raises
    ------
    ValueError
        If it has not two marks.
    """
    names = ("random", "greedy", "greedy-supermoves", "linear", "shipped")
    head = ["", *(f"`{name}`" for name in names), f"`shipped`, {_range(results.HELD_OUT)}"]
    rows = []
    for variant in VARIANTS:
        of_game = {entry.about.policy: entry for entry in entries.get(variant.name, [])}
        played = [of_game[name].standard if name in of_game else () for name in names]
        played.append(of_game["shipped"].held_out if "shipped" in of_game else ())
        if any(played):
            rows.append([variant.title, *map(_short, played)])
    return _between(README, text, MARK, table(head, rows))


def _between(path: Path, text: str, mark: str, written: str) -> str:
    """A page whose text between two marks is written anew."""
    parts = text.split(mark)
    if len(parts) != 3:
        raise ValueError(f"{path}: has {len(parts) - 1} lines {mark.strip()!r}, allowed: 2")
    return mark.join((parts[0], written + "\n", parts[2]))


def _short(games: Sequence[Game]) -> str:
    s = summarize(games)
    return f"{100 * s.win_rate:.1f} %, {s.cards_home:.1f}" if games else "-"


def pages() -> dict[Path, str]:
    """The text of all that is written from the stored results, by its file.

    Raises
    ------
    ValueError
        If a stored result cannot be, or is of another network than the shipped one.
    """
    entries = results.read_store(results.STORE)
    verdicts = {game: of_game(game) for game in entries}
    out = {PAGE: page(entries, verdicts), README: readme(README.read_text(encoding="utf-8"), entries)}
    text = SEARCH_PAGE.read_text(encoding="utf-8")
    text = _between(SEARCH_PAGE, text, SEARCH_MARK, strength_table(entries))
    text = _between(SEARCH_PAGE, text, SOLVER_MARK, solver_table())
    out[SEARCH_PAGE] = _between(SEARCH_PAGE, text, ROUNDS_MARK, rounds_table())
    text = TRAINING_PAGE.read_text(encoding="utf-8")
    for name in experiments():
        text = _between(TRAINING_PAGE, text, EXPERIMENT_MARK.format(name), experiment_table(name))
    out[TRAINING_PAGE] = text
    for game in shipped_policy.shipped_games():
        folder = shipped_policy.SHIPPED / game
        entry = shipped_of(entries, game)
        if entry is not None and entry.about.weights != results.weights_hash(folder):
            raise ValueError(
                f"{results.STORE / game / 'shipped.jsonl'}: played by another network than that in {folder}; "
                f"python -m agents leaderboard add --policy shipped --env {game} --force plays anew"
            )
        out[folder / "README.md"] = model_card(folder, entry)
    return out


# ------------------------------------------------------------------------------------- the commands


@dataclass
class Write:
    """Write docs/leaderboard.md, the model cards and the README's table from the stored results.

    Other commands: ``add`` plays and stores, ``replay`` plays stored games again; each has its --help.
    """

    check: bool = False
    """Write nothing; exit status 1 if something would change."""


@dataclass
class Add:
    """Play the deals of the leaderboard with a policy, time it, and store the results."""

    policy: str
    """As agents.evaluate takes it."""
    env: str
    """Gymnasium id, or name of a variant."""
    name: str | None = None
    """What the leaderboard calls it; the policy's own name by default."""
    deals: str = "0:1000"
    """The standard deals, those of the final test (100000:101000), or both with a comma."""
    moves: Literal["one card", "supermove"] | None = None
    """Action set of a policy that leaves it open."""
    author: str | None = None
    """Who made it."""
    made: str | None = None
    """How it was made, in a sentence."""
    steps: int | None = None
    """Steps that training took."""
    minutes: float | None = None
    """Minutes that training took."""
    machine: str | None = None
    """Where it was trained."""
    force: bool = False
    """Play games that stand there already anew."""
    trust_model: bool = False
    """Open an SB3 zip, which can run code."""
    quiet: bool = False
    """No progress line."""


@dataclass
class Replay:
    """Play stored games again; exit status 1 if one of them is another."""

    policy: str
    """As agents.evaluate takes it."""
    env: str
    """Gymnasium id, or name of a variant."""
    name: str | None = None
    """What the leaderboard calls it; the policy's own name by default."""
    deals: str = "0:1000"
    """Deals: N, FIRST:END, or several with commas."""
    num_envs: int = results.SIDE_BY_SIDE
    """Games side by side."""
    trust_model: bool = False
    """Open an SB3 zip, which can run code."""
    quiet: bool = False
    """No progress line."""


def write(a: Write) -> int:
    """Write the pages, or say which would change."""
    changed = {
        path: text
        for path, text in pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }
    for path, text in changed.items():
        if a.check:
            told = "not what the stored results give; run: python -m agents leaderboard"
            print(f"{os.path.relpath(path)}: {told}", file=sys.stderr)
        else:
            write_text(path, text)
            print(f"written: {os.path.relpath(path)}")
    return 1 if a.check and changed else 0


def add(a: Add) -> int:
    """Play, store, and print what it came to."""
    name, game = results.check_name(a.name or a.policy), env_variant(a.env).name
    path = results.STORE / game / f"{name}.jsonl"
    author, made = a.author or (AUTHOR if a.policy in MADE else None), a.made or MADE.get(a.policy)
    if author is None or made is None:
        raise ValueError(
            f"policy {shown(a.policy)} is none of {', '.join(MADE)}: tell its --author and --made"
        )
    weights = results.weights_hash(shipped_policy.network_folder(a.policy, game))
    # How fast it is, it will show; what cannot stand is refused before it plays.
    speed = Speed(ms_per_move=0.0, num_envs=results.SIDE_BY_SIDE, machine=processor())
    about = About(
        policy=name, author=author, made=made, training=_training(a, game), speed=speed, weights=weights
    )
    parts = _parts(a.deals, path)
    if a.force:
        path.unlink(missing_ok=True)
        path.with_suffix(".json").unlink(missing_ok=True)
    before = results.read_about(path.with_suffix(".json")) if path.with_suffix(".json").exists() else None
    if before is not None and before.weights != weights:
        raise ValueError(f"{path}: played by another network; --force plays anew")
    path.parent.mkdir(parents=True, exist_ok=True)
    _one_thread()
    line = ProgressLine(a.quiet)
    # Once before the clock runs: kernels are compiled, or read from where they are kept.
    warm = _play(a, game, name, a.moves, "0", None, line)
    done = _play(a, game, name, a.moves, ",".join(map(_deals, parts)), path, line)
    measured = done if done.answers else warm
    speed = replace(speed, ms_per_move=round(1000 * measured.answer_seconds / max(1, measured.answers), 5))
    if before is not None and not done.answers:
        speed = before.speed
    results.write_about(path.with_suffix(".json"), replace(about, speed=speed))
    entry = results.read_entry(results.STORE, game, name)
    rows = [(_range(part), games) for part, games in zip(results.parts(), entry.games, strict=True) if games]
    print(summary_table([(f"{name}, {deals}", entry.moves, summarize(games)) for deals, games in rows]))
    print(
        f"\n{speed.ms_per_move:.3g} ms a move; in {os.path.relpath(path)}\nnext: python -m agents leaderboard"
    )
    return 0


def _training(a: Add, game: str) -> Training | None:
    """What training took: as it is told, or as a run folder or the linear policy's weights tell."""
    if (a.steps, a.minutes, a.machine) != (None, None, None):
        return Training(steps=a.steps, minutes=a.minutes, machine=a.machine)
    if a.policy == "linear":
        tuned = read_json(linear_policy.WEIGHTS)[game]["tuned"]
        return Training(minutes=round(tuned["seconds"] / 60, 2))
    folder = shipped_policy.network_folder(a.policy, game)
    return training_of(folder) if (folder / "curve.csv").is_file() else None


def _parts(deals: str, path: Path) -> list[range]:
    """Which of the sets of deals are to be in a file: those asked for, and those of which it has some."""
    asked = set(parse_deals(deals))
    there = {game.deal for game in read_games(path)} if path.exists() else set()
    if asked != {deal for part in results.parts() if asked & set(part) for deal in part}:
        names = " or ".join(map(_deals, results.parts()))
        raise ValueError(f"deals are {shown(deals)}, allowed: {names}, or both with a comma")
    return [part for part in results.parts() if part == results.STANDARD or (asked | there) & set(part)]


def _deals(part: range) -> str:
    return f"{part.start}:{part.stop}"


def _one_thread() -> None:
    import torch

    set_num_threads(1)
    torch.set_num_threads(1)


def _play(
    a: Add | Replay, game: str, name: str, moves: str | None, deals: str, path: Path | None,
    line: ProgressLine,
) -> Evaluation:  # fmt: skip
    config = make_config({"env": game, "moves": moves, "eval_deals": deals}, "command line")
    side = a.num_envs if isinstance(a, Replay) else results.SIDE_BY_SIDE
    return play_policy(a.policy, config, path, line, label=name, trust_model=a.trust_model, num_envs=side)


def replay(a: Replay) -> int:
    """Play stored games again, and say whether they are the same."""
    name, game = results.check_name(a.name or a.policy), env_variant(a.env).name
    entry = results.read_entry(results.STORE, game, name)
    stored = {row.deal: row for games in entry.games for row in games}
    for deal in parse_deals(a.deals):
        if deal not in stored:
            raise ValueError(f"deal {shown(deal)} is not among the stored games of {name!r}")
    moves = None if entry.moves == entry.variant.moves else entry.moves
    done = _play(a, game, name, moves, a.deals, None, ProgressLine(a.quiet))
    others = [row.deal for row in done.games if row != stored[row.deal]]
    print(f"{len(done.games) - len(others)} of {len(done.games)} games are the stored ones")
    if others:
        print(f"others: {shown(others)}", file=sys.stderr)
    return 1 if others else 0


COMMANDS: Final[dict[str, tuple[Any, Any]]] = {"add": (Add, add), "replay": (Replay, replay)}


def main(args: list[str] | None = None) -> int:
    """The command; its exit status."""
    rest = list(sys.argv[1:] if args is None else args)
    command = rest.pop(0) if rest and rest[0] in COMMANDS else ""
    arguments, run = COMMANDS.get(command, (Write, write))
    a = tyro.cli(
        arguments,
        args=rest,
        prog=f"python -m agents leaderboard {command}".strip(),
        config=(tyro.conf.FlagCreatePairsOff,),
    )

    def told() -> int:
        try:
            return int(run(a))
        except ValidationError as error:
            raise ValueError(results.sentence(error)) from None

    return run_command(told, "stopped; games that ended are kept, the same command goes on")


if __name__ == "__main__":
    sys.exit(main())
