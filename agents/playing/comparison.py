"""Comparison of a trained policy with the policies that need no training, on the same deals."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from agents.config import TrainConfig
from agents.playing.games import play_games, play_policy
from agents.results.by_game import NETWORK, POLICIES, games_table, means_table
from agents.results.plots import read_curve
from agents.results.stored import deals_text
from agents.results.tables import summary_table
from agents.runs.config_files import load_config
from agents.runs.folders import BASELINES, history_of, policy_name
from solitaire_env import env_id
from solitaire_env.benchmark import result, score, split_of, track_of
from solitaire_env.evaluation import Evaluation, Game, Summary, mcnemar
from solitaire_env.policies.linear import has_weights
from solitaire_env.splits import STANDARD, parse_deals
from solitaire_env.util.files import write_json, write_text
from solitaire_env.util.progress import ProgressLine

FIRST: Final = 50
"""Number of deals whose time says how many deals are played if a configuration names none."""
TIME_SHARE: Final = 0.25
"""Share of the training's time in which the network may play them."""
FAMILY_DEALS: Final = "0:20"
"""Deals of each of many games if a configuration names none."""


def best_game(evaluation: Evaluation) -> Game:
    """The win in the fewest steps, or else the game with the most cards home."""
    return max(evaluation.games, key=lambda game: (game.won, -game.steps if game.won else game.cards_home))


def _sentence(own: str, trained: Summary, name: str, rival: Summary, p: float) -> str:
    """Which policy wins more, by how much, and the p-value."""
    points = 100 * (trained.win_rate - rival.win_rate)
    more = "more" if points >= 0 else "less"
    return (
        f"{own} wins {abs(points):.1f} points {more} than {name}: {100 * trained.win_rate:.1f} % of the "
        f"deals against {100 * rival.win_rate:.1f} % (McNemar p = {p:.2g})."
    )


def affordable_deals(seconds: float, run: Path) -> str:
    """The standard deals that fit in a share of the training's time, if the first few took ``seconds``."""
    curve = read_curve(run)
    budget = TIME_SHARE * 60 * curve[-1]["minutes"] if curve else 0.0
    count = FIRST * int(budget / max(seconds, 1e-9))
    return deals_text(STANDARD[: max(FIRST, count)])


def compare(config: TrainConfig, run: Path, *, quiet: bool) -> str:
    """Evaluate the run's policy and the baselines; write the games, the best one and the score; return the
    table.
    """
    line = ProgressLine(quiet)
    folder = run / "evaluation"
    folder.mkdir(exist_ok=True)
    spec, _ = config.played_game
    own = policy_name(run)
    rivals = [name for name in BASELINES if name != "linear" or has_weights(spec)]
    labels = [*rivals, own]
    for label in labels:  # after more training the policy differs from that of the last evaluation
        (folder / f"{label}.jsonl").unlink(missing_ok=True)

    def play(label: str, config: TrainConfig) -> Evaluation:
        """Games that are in the file of results are not played again."""
        name = str(run.absolute()) if label == own else label
        results = folder / f"{label}.jsonl"
        return play_policy(name, config, results, line, label=label, transcripts=label == own)

    note, transcripts = "", {}
    if config.eval_deals is None:
        first = play(own, replace(config, eval_deals=deals_text(STANDARD[:FIRST])))
        transcripts = first.transcripts
        config = replace(config, eval_deals=affordable_deals(first.seconds, run))
        if config.eval_deals != deals_text(STANDARD):
            note = (
                f"\n\nAfter a short training few deals are played, about as many as {own} plays in a quarter "
                f"of the training's time; --eval-deals {deals_text(STANDARD)} plays all."
            )
    evaluations = {label: play(label, config) for label in labels}
    trained = evaluations[own]
    transcripts |= trained.transcripts
    best = best_game(trained)
    seen = count_trained_on(config, run, str(config.eval_deals))
    scored = score(trained.games, split_of(trained.games), track_of(trained.information))
    write_json(run / "score.json", {**result(scored), "trained_on": seen})
    write_text(run / "best_game.txt", transcripts[best.deal])
    rival = max(rivals, key=lambda name: evaluations[name].summary.wins)
    only_trained, only_rival, p = mcnemar(trained.games, evaluations[rival].games)
    table = summary_table([(label, done.games[0].moves, done.summary) for label, done in evaluations.items()])
    write_text(run / "evaluation.txt", table + "\n")
    return (
        f"\n{env_id(config.variant)}, deals {config.eval_deals}, intervals of 95 %\n\n{table}\n\n"
        f"{_sentence(own, trained.summary, rival, evaluations[rival].summary, p)}\n"
        f"Deals that only {own} won: {only_trained}, only {rival}: {only_rival}.{note}{warning_of(seen)}"
    )


def count_trained_on(config: TrainConfig, run: Path, deals: str) -> int:
    """The number of deals that were chosen for the training of a run, or of one that it started from."""
    played = {*parse_deals(deals)}
    earlier = [record / "config.yaml" for record in history_of(run)]
    configs = [config, *(load_config(path) for path in earlier if path.is_file())]
    return len(played & {deal for one in configs for deal in one.chosen_deals.tolist()})


def warning_of(trained_on: int) -> str:
    """A warning, if evaluation deals were trained on, on lines of its own."""
    if not trained_on:
        return ""
    return (
        f"\n\nWarning: {trained_on} of these deals were trained on, so the results do not show how well the "
        "policy plays deals that it has not seen."
    )


def compare_family(config: TrainConfig, run: Path, *, quiet: bool) -> str:
    """Evaluate the network of a run and the baselines on the games of its training; return the table."""
    line = ProgressLine(quiet)
    games = [(spec.variant, moves) for spec, moves in config.played_games]
    deals = config.eval_deals or FAMILY_DEALS
    rows = {
        name: play_games(
            str(run.absolute()) if name == NETWORK else name, games, deals,
            run / "evaluation" / f"{name}.rows", line, name=name,
        )
        for name in POLICIES
    }  # fmt: skip
    names = [variant.name for variant, _ in games]
    tables = means_table(rows, names), games_table(rows, names)
    text = "\n\n".join((f"Deals {deals} of each game", *tables))
    write_text(run / "evaluation.txt", text + "\n")
    return text + warning_of(count_trained_on(config, run, deals))
