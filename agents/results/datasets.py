"""Files of recorded games, and the Minari datasets that are made of them.

A file has deals and actions. The games are replayed in the vector environment, which gives Minari the rest:
observations, rewards, ends, infos with the masks. The file is NumPy's ``.npz`` with the arrays of
:class:`Recording`; ``about`` is a JSON text, and ``actions`` has the actions of all games in a row.
"""

import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from solitaire_env import Variant, env_id
from solitaire_env.benchmark import references
from solitaire_env.evaluation import game_rules
from solitaire_env.splits import parse_deals
from solitaire_env.util.files import write_whole
from solitaire_env.util.messages import one_line
from solitaire_env.util.progress import ProgressLine

Array = npt.NDArray[Any]

CHUNK_STEPS: Final = 200_000
"""Games are converted in chunks of at most this many steps, which limits the memory."""
NEEDS: Final = (
    "agents dataset needs {}, which is not installed: pip install -e '.[train,data]' in Python 3.11 or newer"
)


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
