"""Evaluation games played by the workers of a Ray cluster."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from agents.cluster import Cluster, for_workers
from agents.policies import make_policy
from solitaire_env.core.batch import Start
from solitaire_env.core.deals import Deal
from solitaire_env.core.spec import GameSpec
from solitaire_env.evaluation.runner import Finished, Runner

MIN_CHUNK: Final = 128
"""Minimum number of games of a chunk, if that many are left: they share the cost of a round of decisions."""
MAX_ROUNDS: Final = 8
"""Maximum number of games of a chunk, in multiples of the games that are played at a time: fewer chunks, so
fewer ends of chunks, where few games are played at a time."""


class PlayJob(NamedTuple):
    """The policy and the games of a job."""

    name: str
    """Name of the policy, as :func:`agents.policies.make_policy` takes it with ``game`` and ``options``."""
    game: GameSpec
    options: dict[str, Any]
    fingerprint: str
    """Fingerprint of the policy."""
    spec: GameSpec
    """The game, num_envs, seed and record of the :class:`Runner`."""
    num_envs: int
    seed: int
    record: bool


def play_on(
    cluster: Cluster, name: str, game: GameSpec, options: dict[str, Any]
) -> Callable[[Runner, Sequence[Deal]], Iterator[list[Finished]]]:
    """Let the workers of a cluster play the games of :func:`solitaire_env.evaluation.evaluate`.

    Each makes the policy from its name, so folders of models must be readable on all machines.
    """

    def play(runner: Runner, deals: Sequence[Deal]) -> Iterator[list[Finished]]:
        given = {**options, "prior": for_workers(options["prior"])}
        job = PlayJob(
            for_workers(name), game, given, runner.policy.fingerprint, runner.spec, runner.num_envs,
            runner.seed, runner.record,
        )  # fmt: skip
        for results in cluster.spread(
            prepare,
            job,
            deals,
            min_size=min(MIN_CHUNK, runner.num_envs),
            max_size=MAX_ROUNDS * runner.num_envs,
        ):
            yield [end for _, end in results]

    return play


def prepare(job: PlayJob) -> Callable[[list[Deal]], Iterator[list[tuple[int, Finished]]]]:
    """Make the policy in a worker; return the function that plays a chunk of deals.

    Raises
    ------
    ValueError
        If this machine has another policy of that name.
    """
    policy = make_policy(job.name, job.game, **job.options)
    if policy.fingerprint != job.fingerprint:
        raise ValueError(
            f"the policy {job.name!r} of a worker has the fingerprint {policy.fingerprint}, allowed: "
            f"{job.fingerprint}, that of the process that sent the work"
        )

    def play(deals: list[Deal]) -> Iterator[list[tuple[int, Finished]]]:
        runner = Runner(policy, job.spec, num_envs=job.num_envs, seed=job.seed, record=job.record)
        places: dict[Start, int] = {deal: place for place, deal in enumerate(deals)}
        for ended in runner.play(deals):
            yield [(places[end.start], end) for end in ended]

    return play
