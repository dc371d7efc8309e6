"""Make a Minari dataset of whole games: ``python -m agents dataset busy-aces/expert``.

First the games are played and stored compactly: deals and actions. Then they are replayed in the vector
environment, which gives Minari the rest: observations, rewards, ends, infos with the masks. Who has the file
of games makes the same dataset without playing.

The file is NumPy's ``.npz`` with the arrays of :class:`Recording`; ``about`` is a JSON text, and ``actions``
has the actions of all games in a row.
"""

import json
import shutil
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import tyro

from solitaire_env import Variant, __version__, env_id, load_policy
from solitaire_env.benchmark import references
from solitaire_env.core import GameSpec, Settings
from solitaire_env.core.deals import MAX_DEAL, RESERVED_DEALS
from solitaire_env.evaluation import Runner, game_rules
from solitaire_env.evaluation.runner import Decisions
from solitaire_env.policies.linear import has_weights
from solitaire_env.policies.policy import Policy
from solitaire_env.registration import import_module_of, resolve_variant, step_limit
from solitaire_env.solving import load_solver
from solitaire_env.splits import parse_deals
from solitaire_env.util.arguments import check_choice, check_count
from solitaire_env.util.command_line import parse, run_command
from solitaire_env.util.files import write_whole
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine

Array = npt.NDArray[Any]

SOURCES: Final = ("random", "greedy", "linear", "expert", "mixed", "solver")
"""Players: a policy; ``expert``, the shipped network; ``mixed``, equal parts of ``random``, ``linear`` (in
games without weights ``greedy``) and ``expert``; ``solver``, winning lines with the stock known."""
CHUNK_STEPS: Final = 200_000
"""Games are converted in chunks of at most this many steps, which limits the memory."""
NEEDS: Final = (
    "agents dataset needs {}, which is not installed: pip install -e '.[train,data]' in Python 3.11 or newer"
)


@dataclass
class Arguments:
    """Play games and make a Minari dataset of them."""

    dataset: tyro.conf.Positional[str]
    """GAME/SOURCE, such as busy-aces/expert. Sources: random, greedy, linear, expert (the shipped network),
    mixed (equal parts of random, linear or greedy, and expert), solver (winning lines, with the stock known).
    """
    games: Annotated[int, tyro.conf.arg(metavar="N")] = 10_000
    """Number of deals. Deals that the solver does not win, and games without a move, are left out."""
    first_deal: int = RESERVED_DEALS
    """The first deal. Lower ones are for evaluation."""
    file: Path | None = None
    """File of the games. If it exists, its games are converted instead of playing. By default a file in
    runs/datasets."""
    quiet: bool = False
    """Hide the progress line."""


class Recording(NamedTuple):
    """Recorded games: all that is needed to replay them."""

    about: dict[str, Any]
    """Environment id, rules, source, first deal, number of deals, version of solitaire-env, and players with
    their fingerprints."""
    deals: Array
    """int64 ``[games]``."""
    players: Array
    """uint8 ``[games]``: indices of the players in ``about``."""
    won: Array
    """bool ``[games]``."""
    lengths: Array
    """int64 ``[games]``: number of actions, at least 1."""
    actions: Array
    """uint16 ``[sum of lengths]``."""


class Game(NamedTuple):
    """A finished game."""

    deal: int
    player: int
    won: bool
    actions: Array


# ---------------------------------------------------------------------------------------- playing


def players_of(source: str, variant: Variant) -> tuple[str, ...]:
    """The policies that play the games of a source; game ``k`` is played by number ``k % len(players)``."""
    if source == "mixed":
        return ("random", "linear" if has_weights(GameSpec(variant)) else "greedy", "shipped")
    return ("shipped",) if source == "expert" else (source,)


def play(policy: Policy, player: int, variant: Variant, deals: list[int], line: ProgressLine) -> list[Game]:
    """Play games with a policy, in the registered environment of a game."""
    actions: defaultdict[int, list[int]] = defaultdict(list)

    def observe(decisions: Decisions, runner: Runner) -> None:
        for place, number in enumerate(runner.numbers[decisions.rows].tolist()):
            actions[number] += decisions.singles_of(place)

    games: list[Game] = []
    spec = GameSpec(variant, Settings(max_episode_steps=step_limit(variant)))
    for ended in Runner(policy, spec, observe=observe).play(deals):
        for end in ended:
            # The step limit may cut a supermove.
            played = np.array(actions.pop(end.number, [])[: end.steps], dtype=np.uint16)
            games.append(Game(end.start, player, end.won, played))  # type: ignore[arg-type]  # from a deal
        line.count(len(games), len(deals), f"playing {policy.name}: {len(games)} of {len(deals)} games")
    line.close()
    return games


def solve(variant: Variant, deals: list[int], line: ProgressLine) -> list[Game]:
    """Win deals whose stock is known; deals that are not won within the step limit are left out."""
    solver = load_solver(variant)
    games: list[Game] = []
    for done, deal in enumerate(deals):
        solution = solver.solve_deal(deal)
        if solution.status == "won" and len(solution.line) <= step_limit(variant):
            games.append(Game(deal, 0, True, np.array(solution.line, dtype=np.uint16)))
        line.count(done, len(deals), f"solving: {done} of {len(deals)} deals, {len(games)} won")
    line.close()
    return games


def record(variant: Variant, source: str, deals: range, line: ProgressLine) -> Recording:
    """Play the games of a source.

    Raises
    ------
    ValueError
        If the game has no such policy, or no game has a move.
    """
    players: dict[str, str | None] = {}
    games: list[Game] = []
    if source == "solver":
        players["solver"] = None
        games = solve(variant, list(deals), line)
    else:
        names = players_of(source, variant)
        policies = [load_policy(name, variant) for name in names]
        for player, policy in enumerate(policies):
            players[names[player]] = policy.fingerprint
            games += play(policy, player, variant, list(deals[player :: len(names)]), line)
    games = sorted(game for game in games if len(game.actions))
    if not games:
        raise ValueError(f"{source} has no game with a move on deals {deals.start} to {deals.stop - 1}")
    about = {**what(variant, source, deals), "solitaire_env": __version__, "players": players}
    return Recording(
        about,
        np.array([game.deal for game in games], dtype=np.int64),
        np.array([game.player for game in games], dtype=np.uint8),
        np.array([game.won for game in games], dtype=np.bool_),
        np.array([len(game.actions) for game in games], dtype=np.int64),
        np.concatenate([game.actions for game in games]),
    )


# --------------------------------------------------------------------------------- files of games


def what(variant: Variant, source: str, deals: range) -> dict[str, Any]:
    """What must be the same in a file of games as in the options."""
    return {
        "env": env_id(variant), "rules": game_rules(variant), "source": source, "first_deal": deals.start,
        "games": len(deals),
    }  # fmt: skip


def save(recording: Recording, path: Path) -> None:
    """Write a file of games."""
    arrays = {**recording._asdict(), "about": np.array(json.dumps(recording.about))}

    def write(part: Path) -> None:
        with part.open("wb") as file:
            np.savez_compressed(file, **arrays)

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, write)


def load(path: Path, expected: dict[str, Any]) -> Recording:
    """Read a file of games.

    Raises
    ------
    ValueError
        If it is not one, or has other games than expected.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in Recording._fields}
        arrays["about"] = json.loads(str(arrays["about"]))
        recording = Recording(**arrays)
        _, deals, players, won, lengths, actions = recording
        same_size = len(deals) == len(players) == len(won) == len(lengths)
        if not same_size or lengths.min() < 1 or lengths.sum() != len(actions):
            raise ValueError("its arrays do not fit together")
        if players.max() >= len(recording.about["players"]):
            raise ValueError("a game has no player")
        found = {name: recording.about[name] for name in expected}
    except Exception as error:
        raise ValueError(f"{path}: no file of recorded games ({one_line(error)})") from None
    for name, value in expected.items():
        if found[name] != value:
            raise ValueError(
                f"{path}: its {name} is {found[name]!r}, allowed: {value!r}, or another file with --file"
            )
    return recording


# -------------------------------------------------------------------------------------- converting


def chunks(lengths: Array) -> Iterator[slice]:
    """Slices of consecutive games with at most :data:`CHUNK_STEPS` steps, but at least one game."""
    first = total = 0
    for game, length in enumerate(lengths.tolist()):
        if total and total + length > CHUNK_STEPS:
            yield slice(first, game)
            first, total = game, 0
        total += length
    yield slice(first, len(lengths))


def replay(name: str, deals: Array, won: Array, lengths: Array, actions: Array) -> list[dict[str, Any]]:
    """Replay games in the vector environment: arguments of Minari's episode buffers.

    Raises
    ------
    ValueError
        If an action is illegal, or a game ends otherwise than recorded.
    """
    envs = gym.make_vec(name, num_envs=len(deals), on_invalid="raise", copy=False)
    seen, infos = envs.reset(options={"deal": deals.tolist()})
    # A game has a row for each step and one for its last observation.
    ends = np.cumsum(lengths + 1)
    firsts, total = ends - lengths - 1, int(ends[-1])
    observations = np.empty((total, *seen.shape[1:]), dtype=seen.dtype)
    kept = {key: np.empty((total, *v.shape[1:]), v.dtype) for key, v in infos.items() if key[0] != "_"}
    taken, rewards = np.zeros(total, dtype=np.int64), np.zeros(total)
    terminations, truncations = np.zeros(total, dtype=np.bool_), np.zeros(total, dtype=np.bool_)
    taken[np.delete(np.arange(total), ends - 1)] = actions
    for step in range(int(lengths.max()) + 1):
        rows = np.flatnonzero(lengths >= step)
        observations[firsts[rows] + step] = seen[rows]
        for key, values in kept.items():
            values[firsts[rows] + step] = infos[key][rows]
        rows = np.flatnonzero(lengths > step)
        at = firsts[rows] + step
        played = infos["action_mask"].argmax(1)  # games that are over play anything
        played[rows] = taken[at]
        seen, *results, infos = envs.step(played)
        for array, values in zip((rewards, terminations, truncations), results, strict=True):
            array[at] = values[rows]
    last = ends - 2
    over = terminations | truncations
    over[last] = False
    if over.any() or (kept["is_success"][ends - 1] != won).any():
        raise ValueError("a game ends otherwise than recorded, allowed: games of this version of the rules")
    # The runner ends the game of a deterministic policy that repeats a position.
    truncations[last] = ~terminations[last]
    return [
        {
            "options": {"deal": int(deal)},
            "observations": observations[first:end],
            "actions": taken[first : end - 1],
            "rewards": rewards[first : end - 1],
            "terminations": terminations[first : end - 1],
            "truncations": truncations[first : end - 1],
            "infos": {key: values[first:end] for key, values in kept.items()},
        }
        for deal, first, end in zip(deals.tolist(), firsts.tolist(), ends.tolist(), strict=True)
    ]


def metadata(variant: Variant, recording: Recording) -> dict[str, Any]:
    """Arguments of Minari's ``create_dataset_from_buffers`` that describe a dataset."""
    about, known, start = recording.about, references(variant), variant.home_at_deal
    players = "" if len(about["players"]) == 1 else f": {', '.join(about['players'])}"
    by = ", ".join(f"{name} ({print_})" if print_ else name for name, print_ in about["players"].items())
    # Scores are returns: the share of the cards that went home. Custom variants have none.
    scores: dict[str, float] = {
        name: (known[policy].cards_home - start) / (variant.cards - start)
        for name, policy in (("ref_min_score", "random"), ("ref_max_score", "best"))
        if policy in known
    }
    if "best" in known:
        scores["num_episodes_average_score"] = len(parse_deals(known["best"].deals))
    return {
        "env": about["env"],
        "eval_env": about["env"],
        "algorithm_name": about["source"] + players,
        "author": "solitaire-env authors",
        "description": (
            f"{len(recording.deals)} games of {variant.title} ({about['rules']}), "
            f"deals {recording.deals[0]} to {recording.deals[-1]}, {recording.won.sum()} won; "
            f"played by {by}. Made with solitaire-env {about['solitaire_env']}. "
            "infos['action_mask'] marks the legal actions."
        ),
        "requirements": [f"solitaire-env>={about['solitaire_env']}"],
        "data_format": "hdf5",
        **scores,
    }


def convert(variant: Variant, recording: Recording, dataset_id: str, line: ProgressLine) -> Any:
    """Make the Minari dataset of some games; return it."""
    import minari
    from minari.data_collector import EpisodeBuffer
    from minari.storage import get_dataset_path

    dataset, games, names = None, len(recording.deals), list(recording.about["players"])
    firsts = np.concatenate([[0], np.cumsum(recording.lengths)])
    try:
        for part in chunks(recording.lengths):
            line.count(part.start, games, f"converting: {part.start} of {games} games")
            episodes = [
                EpisodeBuffer(**episode)
                for episode in replay(
                    recording.about["env"], recording.deals[part], recording.won[part],
                    recording.lengths[part], recording.actions[firsts[part.start] : firsts[part.stop]],
                )
            ]  # fmt: skip
            if dataset is None:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", "`(code_permalink|author_email)` is set to None")
                    dataset = minari.create_dataset_from_buffers(
                        dataset_id, episodes, **metadata(variant, recording)
                    )
            else:
                dataset.update_dataset_from_buffer(episodes)
            dataset.storage.update_episode_metadata(
                [{"policy": names[player]} for player in recording.players[part].tolist()],
                range(part.start, part.stop),
            )
        assert dataset is not None
        dataset.storage.update_metadata({"policies": recording.about["players"]})
    except BaseException:
        shutil.rmtree(get_dataset_path(dataset_id), ignore_errors=True)
        raise
    line.close()
    return dataset


# ----------------------------------------------------------------------------------------- command


def check_dataset(dataset_id: str) -> None:
    """Raise an error if Minari is not installed or already has the dataset."""
    try:
        import h5py  # noqa: F401  # Minari imports it and pillow later
        import minari  # noqa: F401
        import PIL  # noqa: F401
        from minari.storage import get_dataset_path
    except ImportError as error:
        raise ImportError(NEEDS.format(error.name)) from None
    if get_dataset_path(dataset_id).exists():
        raise ValueError(
            f"{dataset_id} exists in {get_dataset_path()}, allowed: a new dataset; remove the old one with: "
            f"minari delete {dataset_id}"
        )


def run(a: Arguments) -> Any:
    """Make the dataset that the options describe; return it."""
    game, _, source = a.dataset.rpartition("/")
    if not game:
        raise ValueError(f"dataset is {a.dataset!r}, allowed: GAME/SOURCE, such as busy-aces/expert")
    import_module_of(game)
    variant = resolve_variant(game)
    check_choice("source", source, SOURCES)
    check_count("games", a.games, 1)
    check_count("first_deal", a.first_deal, 0, MAX_DEAL - a.games)
    dataset_id = f"solitaire/{variant.name}/{source}-v0"
    check_dataset(dataset_id)
    line = ProgressLine(a.quiet)
    deals = range(a.first_deal, a.first_deal + a.games)
    path = a.file or Path("runs", "datasets", f"{variant.name}-{source}-{deals.start}-{len(deals)}.npz")
    if path.exists():
        recording = load(path, what(variant, source, deals))
        print(f"the games are those of {path}")
    else:
        recording = record(variant, source, deals, line)
        save(recording, path)
        print(f"{len(recording.deals)} games, {recording.won.sum()} won: {path}")
    try:
        dataset = convert(variant, recording, dataset_id, line)
    except ValueError as error:
        raise ValueError(f"{path}: {one_line(error)}") from None
    size = dataset.storage.metadata["dataset_size"]
    print(f"{dataset_id}: {dataset.total_steps:,} steps, {size:,.0f} MB in {dataset.storage.data_path}")
    print(f"\nnext: minari.load_dataset({dataset_id!r})")
    return dataset


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    a = parse(Arguments, args, "python -m agents dataset")
    return run_command(lambda: run(a) is None)


if __name__ == "__main__":
    sys.exit(main())
