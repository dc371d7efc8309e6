"""Solve many deals whose stock is known: ``python -m agents.solve busy-aces --deals 0:100``.

Writes the result of each deal to the stored results (:mod:`agents.results.stored`) or to another file; deals
with a result other than ``open`` are skipped. Every line is replayed in the environment before its result is
written. ``python -m solitaire_env solve`` prints the line of one deal.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import tyro

from agents.cluster import Cluster, connect, for_workers
from agents.commands.options import INTERRUPTED, RayAddress
from agents.results import stored
from agents.results.solver_results import SolverResult, read_solver_results
from solitaire_env import SolitaireEnv, Variant, env_id, get_variant
from solitaire_env.core import Position
from solitaire_env.core.batch import Start
from solitaire_env.core.variant import Build, Spaces
from solitaire_env.evaluation import game_rules, wilson_interval
from solitaire_env.registration import import_module_of, resolve_variant
from solitaire_env.search.solver import Solution
from solitaire_env.solving import load_solver
from solitaire_env.splits import parse_deals
from solitaire_env.util.command_line import parse, run_command
from solitaire_env.util.files import append_lines, json_lines, locked, write_text
from solitaire_env.util.progress import ProgressLine

MAX_CHUNK: Final = 16
"""Maximum number of deals that a worker of a cluster gets at a time."""


@dataclass
class Arguments:
    """Solve many deals whose stock is known, and write their results."""

    env: tyro.conf.Positional[str]
    """Gymnasium id, or name of a variant."""
    deals: str
    """FIRST:END, or several with commas: N, ms:N or pysol:N."""
    build: Build | None = None
    """House rule: suits that build on the tableau."""
    spaces: Spaces | None = None
    """House rule: cards that may fill a space."""
    seconds: float = 10.0
    """Time limit of a deal."""
    memory: float = 1000
    """Megabytes of memory for an exhaustive search or a beam."""
    network: str = "shipped"
    """Network that ranks the positions of beam search: shipped (the game's, if any), a run or model folder,
    or none."""
    out: Path | None = None
    """JSON-lines file of the results; by default they are stored in results/solver.jsonl.xz."""
    ray: RayAddress = None
    """Solve on a Ray cluster: HOST:PORT, auto (the one that runs here), or local (a new one on this
    machine). Without ADDRESS: the one of RAY_ADDRESS or that runs here, else a new one."""
    quiet: bool = False
    """Hide the progress line."""


def check_line(variant: Variant, start: Start, line: tuple[int, ...]) -> tuple[int, bool]:
    """Play a line by the rules of the game: cards home, and whether it wins.

    Raises
    ------
    ValueError
        If an action is not legal, or the game is over before the end of the line.
    """
    env = SolitaireEnv(variant, on_invalid="raise")
    _, info = env.reset(options={"position" if isinstance(start, Position) else "deal": start})
    for played, action in enumerate(line):
        if info["is_success"]:
            raise ValueError(f"the game is over after {played} of {len(line)} actions")
        *_, info = env.step(action)
    return int(info["cards_home"]), bool(info["is_success"])


def solve_many(variant: Variant, a: Arguments) -> int:
    """Solve deals and write their results."""
    if a.out is None and variant != get_variant(variant.name):
        raise ValueError("results with house rules are not stored: name a file with --out")
    lock = (a.out or stored.RESULTS / "unfinished" / "solver" / variant.name).with_suffix(".solving")
    lock.parent.mkdir(parents=True, exist_ok=True)
    deals = parse_deals(a.deals)
    line = ProgressLine(a.quiet)
    with locked(lock, timeout_s=0), connect(a.ray, quiet=a.quiet) as cluster:
        path = a.out or stored.unfinished("solver", variant.name)
        known = _read(path, variant)
        left = [deal for deal in deals if deal not in known or known[deal].status == "open"]
        done = len(deals) - len(left)
        for found in solve_deals(variant, a, left, cluster):
            rows = (found, known.get(found.deal, found))
            known[found.deal] = max(rows, key=lambda row: (row.status != "open", row.cards_home))
            append_lines(path, [asdict(known[found.deal])])
            done += 1
            line.count(done, len(deals), lambda: f"solving: {Counter(v.status for v in known.values())}")
        _write(path, known)
        if a.out is None:
            stored.finish("solver", variant.name)
    line.close()
    print(_count(variant, [known[deal] for deal in deals if deal in known]))
    return 0


def solve_deals(
    variant: Variant, a: Arguments, deals: list[int | str], cluster: Cluster | None
) -> Iterator[SolverResult]:
    """Solve deals; yield results as they are found, in any order."""
    job = variant, replace(a, network=for_workers(a.network))
    chunks: Iterable[list[tuple[Any, SolverResult]]] = (
        prepare_solver(job)(deals)
        if cluster is None
        else cluster.spread(prepare_solver, job, deals, min_size=1, max_size=MAX_CHUNK)
    )
    for chunk in chunks:
        yield from (row for _, row in chunk)


def prepare_solver(
    job: tuple[Variant, Arguments],
) -> Callable[[list[int | str]], Iterator[list[tuple[int, SolverResult]]]]:
    """Make a solver, and return a function that solves some deals."""
    variant, a = job
    solver = load_solver(variant, a.network, a.memory)

    def solve(deals: list[int | str]) -> Iterator[list[tuple[int, SolverResult]]]:
        for place, deal in enumerate(deals):
            yield [(place, _row(variant, deal, solver.solve_deal(deal, seconds=a.seconds)))]

    return solve


def _row(variant: Variant, deal: int | str, solution: Solution) -> SolverResult:
    """The stored result of a solution; its line is replayed in the environment."""
    home, won = check_line(variant, deal, solution.line)
    assert (home, won) == (solution.cards_home, solution.status == "won")
    return SolverResult(
        env_id(variant), game_rules(variant), deal, solution.status, home,
        len(solution.line) if won else None,
        solution.positions, round(solution.seconds, 3),
    )  # fmt: skip


def _read(path: Path, variant: Variant) -> dict[int | str, SolverResult]:
    """The results in a file by deal, the last one of each."""
    expected = env_id(variant), game_rules(variant)
    known = {}
    for row in read_solver_results(path) if path.exists() else ():
        if (row.env, row.rules) != expected:
            raise ValueError(
                f"{path} holds results of {row.env} ({row.rules}), allowed: {expected[0]} ({expected[1]}); "
                "choose another file with --out"
            )
        known[row.deal] = row
    return known


def _write(path: Path, known: dict[int | str, SolverResult]) -> None:
    """Write a file of results, sorted by deal."""
    rows = sorted(known.values(), key=lambda row: _order(row.deal))
    write_text(path, json_lines(map(asdict, rows)))


def _order(deal: int | str) -> tuple[str, int]:
    """Sort key: numbers before other programs' deals, each by number."""
    program, _, number = str(deal).rpartition(":")
    return program, int(number)


def _count(variant: Variant, rows: list[SolverResult]) -> str:
    """The counts of results as text."""
    n = len(rows)
    results = Counter(row.status for row in rows)
    low, _ = wilson_interval(results["won"], n)
    _, high = wilson_interval(n - results["unwinnable"], n)
    lines = [f"{env_id(variant)}, {n} deals"]
    lines += [f"{result:10}  {results[result]:5}" for result in ("won", "unwinnable", "open")]
    if n:
        lines.append(f"can be won, of all deals: {100 * low:.1f} to {100 * high:.1f} % (95 %)")
        lines.append(f"seconds a deal: {sum(row.seconds for row in rows) / n:.2f}")
    return "\n".join(lines)


def run(a: Arguments) -> int:
    """Solve what the options ask for; the exit status."""
    import_module_of(a.env)
    return solve_many(resolve_variant(a.env, build=a.build, spaces=a.spaces), a)


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = parse(Arguments, args, "python -m agents.solve")
    return run_command(lambda: run(a), INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
