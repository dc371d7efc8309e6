"""Search for hyperparameters of training with Optuna:
``python -m agents tune configs/busy-aces.yaml --trials 20 --study busy-aces.log``.

Each trial trains a configuration with other values of the searched keys, and its policy is scored on deals
that are used for nothing else. Several processes with the same command share a study. The best configuration
is written next to the study.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import tyro

from agents.commands.options import ConfigArguments, parse_options, trust_option
from agents.config import ConfigError, TrainConfig
from agents.learners.training import TrainingCallback, check_device, learn
from agents.playing.games import play_policy
from agents.results.stored import FINAL_TEST, STANDARD
from agents.runs.config_files import dump_config
from agents.runs.folders import new_run
from solitaire_env.splits import parse_deals
from solitaire_env.util.arguments import check_count
from solitaire_env.util.command_line import run_command
from solitaire_env.util.files import locked, write_text
from solitaire_env.util.messages import shown
from solitaire_env.util.progress import ProgressLine

RANGES: Final = {
    "learning_rate": (3e-4, 3e-3, True),
    "learning_rate_end": (0.0, 1e-3, False),
    "gamma": (0.99, 1.0, False),
    "gae_lambda": (0.9, 1.0, False),
    "clip_range": (0.05, 0.3, False),
    "ent_coef": (0.0, 0.01, False),
    "init_linear_temperature": (0.5, 4.0, True),
}
"""Numeric parameters: minimum, maximum, and whether the scale is logarithmic."""
CHOICES: Final = {
    "batch_size": (256, 512, 1024, 2048, 4096),
    "n_epochs": (1, 2, 3, 4, 6),
    "stall_limit": (20, 40, 60, 80),
}
"""Categorical parameters."""
PRUNE_AT: Final = (50, 75)
"""Percentages of the training after which a trial is pruned if it is worse than the median."""


@dataclass
class Arguments(ConfigArguments):
    """Search for hyperparameters of training."""

    study: Path = tyro.MISSING
    """File of the study; an existing one is continued."""
    trials: int = 20
    """Total number of trials, including those of earlier calls and of other processes."""
    score_deals: str = "200000:200500"
    """Deals on which the policies are scored."""
    runs: Path = Path("runs/tune")
    """Folder in which the run folders of the trials are made."""


def own_values(config: TrainConfig) -> dict[str, Any]:
    """The searched parameters in a configuration, without those that are null."""
    values = asdict(config)
    return {name: values[name] for name in (*RANGES, *CHOICES) if values[name] is not None}


def suggest(trial: Any, config: TrainConfig) -> TrainConfig:
    """A trial's configuration. The search space is extended to the configuration's own values."""
    values: dict[str, Any] = {}
    for name, own in own_values(config).items():
        if name in RANGES:
            low, high, log = RANGES[name]
            values[name] = trial.suggest_float(name, min(low, own), max(high, own), log=log)
        else:
            values[name] = trial.suggest_categorical(name, tuple(dict.fromkeys((*CHOICES[name], own))))
    return replace(config, **values)


def run_trial(trial: Any, a: Arguments) -> float:
    """Train and score; the score is cards home / all + games won / all, 2 at most.

    The win rate alone is uninformative if few games are won, and cards home are if most are won.
    """
    import optuna

    config = suggest(trial, a.config)
    run = new_run(a.runs, config)
    trial.set_user_attr("run", str(run))
    due = list(PRUNE_AT)

    def on_update(training: TrainingCallback) -> None:
        if due and 100 * training.progress.share >= due[0] and training.rates is not None:
            trial.report(training.rates.home / config.variant.cards + training.rates.won, due.pop(0))
            if trial.should_prune():
                raise optuna.TrialPruned

    try:
        with locked(run, timeout_s=0):
            if not learn(config, run, resume=False, quiet=a.quiet, on_update=on_update):
                raise KeyboardInterrupt
    except ConfigError:
        raise
    except ValueError:  # its weights are no longer finite, and its actions not in the action space
        raise optuna.TrialPruned from None
    score = play_policy(
        str(run), replace(config, eval_deals=a.score_deals), None, ProgressLine(a.quiet)
    ).summary
    return score.cards_home / config.variant.cards + score.win_rate


def run(a: Arguments) -> int:
    """Run the missing trials and write the best configuration; the exit status."""
    a.config.variant  # noqa: B018 - refuses many games
    check_count("trials", a.trials, 1)
    if taken := [deal for deal in parse_deals(a.score_deals) if deal in STANDARD or deal in FINAL_TEST]:
        raise ValueError(
            f"score_deals is {shown(a.score_deals)}: {len(taken)} of them are reserved for reports, allowed: "
            "others, such as 200000:200500"
        )
    check_device(a.config.device)
    try:
        import optuna
        from optuna.storages.journal import JournalFileBackend
    except ImportError as error:
        raise ImportError(f"agents tune needs {error.name}: pip install -e '.[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING if a.quiet else optuna.logging.INFO)
    a.study.parent.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        storage=optuna.storages.JournalStorage(JournalFileBackend(str(a.study))),
        study_name=a.config.name, direction="maximize", load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(),
    )  # fmt: skip
    # Another process, or the next call, draws other parameters.
    study.sampler = optuna.samplers.TPESampler(seed=a.config.seed + len(study.trials))
    if not study.trials:
        study.enqueue_trial(own_values(a.config))  # the baseline of the others
    ended = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    if len(study.get_trials(states=ended)) < a.trials:
        limit = optuna.study.MaxTrialsCallback(a.trials, states=ended)
        study.optimize(lambda trial: run_trial(trial, a), callbacks=[limit])
    if not study.get_trials(states=ended[:1]):
        raise ValueError(f"{a.study}: no trial was scored, all were pruned")
    best = study.best_trial
    path = a.study.with_name(f"{a.study.stem}-best.yaml")
    head = f"# Trial {best.number} of {a.study.name}: score {best.value:.3f} on deals {a.score_deals}.\n"
    write_text(path, head + dump_config(replace(a.config, **best.params)))
    print(f"{head}best configuration  {path}\nnext: python -m agents.train {path}{trust_option(a.config)}")
    return 0


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    return run_command(
        lambda: run(parse_options(args, Arguments, "python -m agents tune CONFIG")),
        "Interrupted. Run the same command to resume.",
    )
