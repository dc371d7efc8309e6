"""Evaluation of a policy: games on named deals, with rates and intervals."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solitaire_env.core.deals import Deal, check_deal
from solitaire_env.core.layout import Information, Observation
from solitaire_env.core.spec import GameSpec, Settings, check_limit
from solitaire_env.core.variant import Build, Moves, Spaces, Variant
from solitaire_env.evaluation.result_files import Game, ResultFile
from solitaire_env.evaluation.runner import NUM_ENVS, Finished, Runner
from solitaire_env.evaluation.statistics import Summary, summarize
from solitaire_env.loading import as_policy
from solitaire_env.notation import action_text
from solitaire_env.registration import env_id, resolve_variant, step_limit
from solitaire_env.transcripts import Transcript, check_policy_name, format_transcript
from solitaire_env.util.arguments import check_count, check_kind, has_items
from solitaire_env.util.files import write_text
from solitaire_env.util.messages import shown

Progress = Callable[[list[Game], int], None]
"""Called after each step with all games that have ended, and their total number."""
Play = Callable[[Runner, list[Deal]], Iterable[list[Finished]]]
"""Plays games of a runner from some deals; yields finished games."""


@dataclass
class Evaluation:
    """The games of one policy on one game of solitaire, in the order of the requested deals."""

    games: list[Game]
    transcripts: dict[Deal, str]
    """Of the games played in this call, if requested."""
    seconds: float
    """Total playing time."""
    answers: int
    """Number of actions that the policy chose."""
    answer_seconds: float
    """Processor time of the policy's choices."""
    information: Information
    """What the policy saw."""

    @property
    def summary(self) -> Summary:
        """Rates and intervals of the games."""
        return summarize(self.games)


def evaluate(
    policy: Any,
    env: str | Variant,
    deals: Sequence[Deal] = range(1000),
    *,
    name: str | None = None,
    build: Build | None = None,
    spaces: Spaces | None = None,
    moves: Moves | None = None,
    observation: Observation | None = None,
    information: Information | None = None,
    max_episode_steps: int | None = None,
    num_envs: int = NUM_ENVS,
    seed: int = 0,
    results: str | Path | None = None,
    transcripts: bool | str | Path = False,
    progress: Progress | None = None,
    play: Play = Runner.play,
) -> Evaluation:
    """Play named deals with a policy; an illegal action is an error.

    Parameters
    ----------
    policy
        A :class:`~solitaire_env.policies.Policy`, a name (``"shipped"``), a model folder, a model of
        Stable-Baselines3 or sb3-contrib, which may be recurrent, or a function ``f(observations, masks) ->
        actions``. An object with ``reset(rows)`` remembers games, see
        :class:`~solitaire_env.policies.FunctionPolicy`.
    env
        An id, a variant's name, or a variant.
    deals
        Deal numbers or names; the standard set is 0-999.
    name
        Name of the policy in the results; its own name by default.
    build, spaces, moves
        House rules of the game.
    observation, information
        What a function reads: ``"cards"`` (the default) or ``"features"``, ``"player"`` (the default),
        ``"memory"`` or ``"thoughtful"``. A policy declares it itself.
    max_episode_steps
        Step limit, in actions of the game; the registered one by default.
    num_envs
        Games in parallel; results do not depend on it. With a slow policy, fewer games end, and are written,
        sooner.
    seed
        Seed of a stochastic policy: another seed gives other games on the same deals.
    results
        A JSON-lines file for the games, written as they end; deals already in it are not played again.
        Several processes with the same policy may add games of different deals to the same file.
    transcripts
        Whether to keep the games as text, readable by :func:`solitaire_env.transcripts.parse_transcript`,
        with the thoughts of a policy that explains itself. Or a folder: each text is written there as its
        game ends, and deals in ``results`` without a text are played again.
    progress
        Called after each step.
    play
        Plays the games, for example on other machines. It is called with a runner, which defines the game and
        the policy, and with deals; it yields lists of finished games, each deal once, in any order.

    Raises
    ------
    ValueError
        If a deal is named twice, the name, a limit or a seed is not allowed, the policy declares another
        observation, or a results file holds rows of another policy, game or seed.
    IllegalActionError
        If the policy chooses an illegal action.
    """
    variant = resolve_variant(env, build=build, spaces=spaces, moves=moves)
    limit = check_limit("max_episode_steps", max_episode_steps) or step_limit(variant)
    spec = GameSpec(variant, Settings(max_episode_steps=limit))
    player = as_policy(policy, spec, observation=observation, information=information)
    name = check_policy_name(player.name if name is None else name)
    deals = _check_deals(variant, deals)
    seed = check_count("seed", seed)
    check_kind("results", results, (str, Path, type(None)), "a path or None")
    check_kind("transcripts", transcripts, (bool, str, Path), "True, False or a folder")
    runner = Runner(player, spec, num_envs=num_envs, seed=seed, record=bool(transcripts))
    about: dict[str, Any] = {
        "env": env_id(variant),
        "policy": name,
        "moves": player.moves or variant.moves,
        "rules": game_rules(variant, limit),
        "seed": seed if player.stochastic else None,
        "fingerprint": player.fingerprint,
    }
    writer = _Transcripts(runner, name, transcripts)
    file = ResultFile(None if results is None else Path(results), about)
    kept = [file.games[deal] for deal in deals if deal in file.games and writer.has(deal)]
    done = {game.deal for game in kept}
    start = time.perf_counter()
    for finished in play(runner, [deal for deal in deals if deal not in done]):
        games = [_game(about, end) for end in finished]
        for game, end in zip(games, finished, strict=True):
            writer.add(game, end)
        file.add(games)
        kept += games
        if progress is not None:
            progress(kept, len(deals))
    file.sort(deals)
    order = {deal: place for place, deal in enumerate(deals)}
    kept.sort(key=lambda game: order[game.deal])
    spent = time.perf_counter() - start
    information = runner.view.settings.information
    return Evaluation(kept, writer.texts, spent, runner.answers, runner.answer_seconds, information)


def _check_deals(variant: Variant, deals: Sequence[Deal]) -> list[Deal]:
    if not has_items(deals):
        raise TypeError(f"deals are {shown(deals)}, allowed: a list of deal numbers or names")
    deals = [check_deal(variant, deal) for deal in deals]
    twice = [deal for deal, count in Counter(deals).items() if count > 1]
    if twice:
        raise ValueError(f"deals name {shown(twice[0])} more than once, allowed: each deal once")
    return deals


def _game(about: dict[str, Any], end: Finished) -> Game:
    return Game(
        **about,
        deal=end.start,  # type: ignore[arg-type]  # games of an evaluation start from deals
        won=end.won,
        cards_home=end.cards_home,
        steps=end.steps,
        truncated=end.truncated,
        repeated=end.repeated,
    )


class _Transcripts:
    """Stores games as text: none, in memory, or in a folder."""

    def __init__(self, runner: Runner, policy: str, target: bool | str | Path) -> None:
        self.enabled = bool(target)
        self.folder = None if isinstance(target, bool) else Path(target)
        self.information = runner.view.settings.information
        self.variant = runner.spec.variant
        self.policy = policy
        self.texts: dict[Deal, str] = {}
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def has(self, deal: Deal) -> bool:
        """Whether the transcript of a deal's game exists, or is not needed."""
        return self.folder is None or (self.folder / _file_name(deal)).is_file()

    def add(self, game: Game, end: Finished) -> None:
        """Store a game."""
        if not self.enabled:
            return
        thoughts = tuple(move.thought for move in end.moves)
        transcript = Transcript(
            variant=self.variant,
            policy=self.policy,
            deal=game.deal,
            result="won" if end.won else "truncated" if end.truncated else "stuck",
            cards_home=end.cards_home,
            steps=end.steps,
            start=end.position,
            actions=tuple(action_text(self.variant, move.action) for move in end.moves),
            thoughts=thoughts if any(thoughts) else (),
            information=self.information,
        )
        self.texts[game.deal] = text = format_transcript(transcript)
        if self.folder is not None:
            write_text(self.folder / _file_name(game.deal), text)


def _file_name(deal: Deal) -> str:
    return f"{str(deal).replace(':', '-')}.txt"


def game_rules(variant: Variant, max_episode_steps: int | None = None) -> str:
    """Building, spaces, moves and step limit of a game, in the format of result rows."""
    limit = max_episode_steps or step_limit(variant)
    return f"{variant.build}, {variant.spaces}, {variant.moves}, {limit} steps"
