"""Plays numbered deals with a named policy: of one game, or of many games."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agents.cluster import Cluster
from agents.config import TrainConfig
from agents.playing.on_cluster import play_on
from agents.policies import make_policy
from agents.results.by_game import Row, RowsByGame, read_file
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.variant import Moves, Variant
from solitaire_env.evaluation import Evaluation, Game, evaluate
from solitaire_env.evaluation.runner import NUM_ENVS, Runner
from solitaire_env.search.budget import Budget
from solitaire_env.splits import STANDARD, parse_deals
from solitaire_env.util.files import json_lines, write_text
from solitaire_env.util.progress import ProgressLine, bar
from solitaire_env.variants import known_variants


def play_policy(
    name: str, config: TrainConfig, results: Path | None, line: ProgressLine, *, label: str | None = None,
    transcripts: bool | Path = False, trust_model: bool = False, num_envs: int = NUM_ENVS,
    prior: str = "shipped", budget: Budget | None = None, cluster: Cluster | None = None,
) -> Evaluation:  # fmt: skip
    """Evaluate a named policy on a configuration's game and deals, by default the standard ones. ``label`` is
    its name in the results, ``prior`` and ``budget`` are for ``search``, ``cluster``, if given, plays the
    games.
    """
    spec, moves = config.played_game
    options: dict[str, Any] = {"moves": moves, "trust_model": trust_model, "prior": prior, "budget": budget}
    policy = make_policy(name, spec, **options)
    label = label or (Path(name).name if Path(name).exists() else name)

    def progress(games: list[Game], total: int) -> None:
        done = len(games)
        line.count(
            done,
            total,
            lambda: (
                f"playing {label} {bar(done / max(total, 1))} {done} of {total} deals, "
                f"{sum(game.won for game in games)} won"
            ),
        )

    done = evaluate(
        policy,
        spec.variant,
        STANDARD if config.eval_deals is None else parse_deals(config.eval_deals),
        name=label,
        results=results,
        transcripts=transcripts,
        progress=progress,
        num_envs=num_envs,
        play=Runner.play if cluster is None else play_on(cluster, name, spec, options),
    )
    line.close()
    return done


def play_games(
    policy: str, games: Sequence[tuple[Variant, Moves | None]], deals: str, path: Path, line: ProgressLine, *,
    name: str,
) -> RowsByGame:  # fmt: skip
    """Play deals of each game with a policy, and write a row for each to a file as JSON lines.

    Games that the same policy has played on these deals are skipped.

    Parameters
    ----------
    games
        The games, and the action set of a policy that leaves it open.
    name
        Name of the policy in the rows.
    """
    order = [variant.name for variant in known_variants()]
    rows = read_file(path)
    for place, (variant, moves) in enumerate(games):
        player = make_policy(policy, GameSpec(variant), moves=moves)
        before = rows.get(variant.name)
        if before is not None and (before.deals, before.fingerprint) == (deals, player.fingerprint):
            continue
        line.count(place, len(games), f"{name} {bar(place / len(games))} {variant.title}")
        done = evaluate(player, variant, parse_deals(deals)).summary
        low, high = done.cards_interval
        rows[variant.name] = Row(
            game=variant.name,
            policy=name,
            moves=player.moves or variant.moves,
            fingerprint=player.fingerprint,
            deals=deals,
            played=done.games,
            won=done.wins,
            cards_home=round(done.cards_home / variant.cards, 4),
            cards_interval=(round(low / variant.cards, 4), round(high / variant.cards, 4)),
            truncated=round(done.truncated, 4),
        )
        kept = sorted(rows.values(), key=lambda row: order.index(row.game))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json_lines(map(asdict, kept)))
    line.close()
    return rows
