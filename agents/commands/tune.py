"""Search for hyperparameters of training:
``python -m agents tune configs/busy-aces.yaml --trials 20 --study busy-aces.db``.

An Optuna study in an SQLite file. Each trial trains a configuration with other values of the searched keys,
and its policy is scored on deals that are used for nothing else. The best configuration is written next to
the study.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import tyro
from rich.console import Console
from rich.table import Table

from agents.cluster import Cluster, connect
from agents.commands.options import RayAddress, parse_options
from agents.config import ConfigError, TrainConfig, make_config
from agents.learners.training import TrainingCallback, check_device, learn
from agents.reports import stored as results
from agents.reports.compare import play_policy
from agents.reports.plots import plot
from agents.runs.config_files import dump_config
from agents.runs.folders import new_run
from agents.runs.tracking import check_wandb, tracked
from solitaire_env.evaluation import Summary
from solitaire_env.evaluation.deals import parse_deals
from solitaire_env.util.files import locked, write_text
from solitaire_env.util.messages import one_line, shown
from solitaire_env.util.progress import ProgressLine

try:
    import optuna
    import sqlalchemy
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    needed = f"agents.commands.tune needs {error.name}: pip install -e '.[tune]'"
    if __name__ != "__main__":
        raise ImportError(needed) from None
    print(f"error: {needed}", file=sys.stderr)
    sys.exit(2)

RANGES: Final = {
    # About half a decade around 1e-3: Adam on small networks is seldom at its best outside.
    "learning_rate": (3e-4, 3e-3, "log"),
    # learning_rate_end / learning_rate, from decay to zero to constant.
    "final_rate": (0.0, 1.0, "linear"),
    # Games take 100 to 300 steps; 0.99, with a half-life of 70 steps, was tried and was worse.
    "gamma": (0.99, 1.0, "linear"),
    # From values trusted after ten steps to returns alone.
    "gae_lambda": (0.9, 1.0, "linear"),
    "clip_range": (0.05, 0.3, "linear"),
    # With more, the policy stays random: rewards of a whole game are at most 2.
    "ent_coef": (0.0, 0.01, "linear"),
    # From almost always the linear policy's moves to often other ones.
    "init_linear_temperature": (0.5, 4.0, "log"),
}
"""Numeric parameters: minimum, maximum, and scale."""

CHOICES: Final = {
    # Of the 32,768 steps between updates: from 128 minibatches to 8.
    "batch_size": (256, 512, 1024, 2048, 4096),
    # More passes learn more from a step, at proportional cost.
    "n_epochs": (1, 2, 3, 4, 6),
    # Shorter limits truncate games that could still be won, longer ones waste steps on games that cycle.
    "stall_limit": (20, 40, 60, 80),
    # Larger networks learn more from a step and play fewer steps a minute.
    "hidden": ("32 16", "64 32", "128 64", "64 64 32"),
}
"""Categorical parameters."""

PRUNE_AT: Final = (50, 75)
"""Percentages of the training after which a trial is pruned if it is worse than the median."""

RESERVED: Final = {
    "the comparison at the end": results.STANDARD,
    "the published results": results.HELD_OUT,
}
"""Deals of reports: choosing a configuration by them would bias the reports."""

FREE_KEYS: Final = ("device", "threads", "checkpoint_minutes", "eval_deals", "wandb")
"""Keys whose values may differ between the processes of a study."""

MAX_SHOWN: Final = 10
"""Number of best trials in the table."""


@dataclass
class Arguments:
    """Search for hyperparameters of training."""

    config: Annotated[TrainConfig, tyro.conf.arg(name="")]
    study: Path = tyro.MISSING
    """SQLite file of the study; an existing one is continued."""
    trials: int = 20
    """Total number of trials, including those of earlier calls and of other processes."""
    deals: str = "200000:200500"
    """Deals on which the policies are scored."""
    runs: Path = Path("runs/tune")
    """Folder in which the run folders of the trials are made."""
    ray: RayAddress = None
    """Run trials on a Ray cluster, as many at a time as it has workers: HOST:PORT, auto (the one that runs
    here), or local (a new one on this machine). Without ADDRESS: the one of RAY_ADDRESS or that runs here,
    else a new one. No trial is pruned then. Folders must be the same on all machines."""
    ray_cpus: int = 1
    """CPUs of each worker of the cluster."""
    trust_model: bool = False
    """Import the module of a custom network that the configuration file names, which can run any code."""
    quiet: bool = False
    """Hide the progress line."""


# -------------------------------------------------------------------------------- the search space


def own_values(config: TrainConfig) -> dict[str, Any]:
    """The searched parameters in a configuration, without those that it does not use."""
    values = {
        **asdict(config),
        "final_rate": config.learning_rate_end / config.learning_rate,
        "hidden": " ".join(map(str, config.hidden)) if "hidden" in config.network_sizes else None,
    }
    return {name: values[name] for name in (*RANGES, *CHOICES) if values[name] is not None}


def suggest(trial: optuna.Trial, config: TrainConfig) -> TrainConfig:
    """A trial's configuration. The search space is extended to the configuration's own values."""
    values: dict[str, Any] = {}
    for name, own in own_values(config).items():
        if name in RANGES:
            low, high, scale = RANGES[name]
            values[name] = trial.suggest_float(name, min(low, own), max(high, own), log=scale == "log")
        else:
            choices = CHOICES[name]
            values[name] = trial.suggest_categorical(name, choices if own in choices else (*choices, own))
    return configured(config, values)


def configured(config: TrainConfig, values: dict[str, Any]) -> TrainConfig:
    """A configuration with the values of a trial."""
    values = dict(values)
    rate_end = values["learning_rate"] * values.pop("final_rate")
    values["learning_rate_end"] = float(f"{rate_end:.6g}")
    if "hidden" in values:
        values["hidden"] = [int(size) for size in values["hidden"].split()]
    return make_config({**asdict(config), **values}, "trial")


# ------------------------------------------------------------------------------------------- trials


def run_trial(trial: optuna.Trial, a: Arguments, cluster: Cluster | None = None) -> float:
    """Train and score, here or on a cluster; the score is cards home / all + games won / all, 2 at most.

    The win rate alone is uninformative if few games are won, and cards home are if most are won.
    """
    config = suggest(trial, a.config)
    if cluster is not None:
        return _run_on(cluster, trial, a, config)
    run = new_run(a.runs, config)
    trial.set_user_attr("run", str(run))
    if not a.quiet:
        print(f"trial {trial.number}, {run}: {_drawn(trial)}", file=sys.stderr)
    due = list(PRUNE_AT)

    def on_update(training: TrainingCallback) -> None:
        if not due or 100 * training.progress.share < due[0] or training.rates is None:
            return
        step = due.pop(0)
        trial.report(training.rates.home / config.variant.cards + training.rates.won, step)
        if trial.should_prune():
            raise optuna.TrialPruned

    try:
        score = _train(config, run, a, on_update)
    except ConfigError:
        raise
    except ValueError:  # its weights are no longer finite, and its actions not in the action space
        raise optuna.TrialPruned from None
    return _store_score(trial, config, score)


def _train(
    config: TrainConfig, run: Path, a: Arguments, on_update: Callable[[TrainingCallback], None] | None = None
) -> Summary:
    """Train in a run folder; return the summary of its policy."""
    with locked(run, timeout_s=0), tracked(config, run, quiet=a.quiet):
        ended = learn(config, run, resume=False, quiet=a.quiet, on_update=on_update)
    plot([run], run, names=("curve",), quiet=a.quiet)
    if not ended:
        raise KeyboardInterrupt
    scored = replace(config, eval_deals=a.deals)
    return play_policy(str(run), scored, None, ProgressLine(a.quiet)).summary


def _store_score(trial: optuna.Trial, config: TrainConfig, score: Summary) -> float:
    """Store a trial's results; return its score."""
    trial.set_user_attr("win_rate", score.win_rate)
    trial.set_user_attr("cards_home", score.cards_home)
    return score.cards_home / config.variant.cards + score.win_rate


def _drawn(trial: optuna.Trial) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in trial.params.items())


def _run_on(cluster: Cluster, trial: optuna.Trial, a: Arguments, config: TrainConfig) -> float:
    """Train and score on a worker of a cluster."""
    if not a.quiet:
        print(f"trial {trial.number}: {_drawn(trial)}", file=sys.stderr)
    job = replace(a, runs=a.runs.absolute(), quiet=True)
    config = replace(config, threads=cluster.cpus)
    [[(_, (run, score))]] = cluster.spread(prepare_trial, job, [config], min_size=1, max_size=1)
    trial.set_user_attr("run", str(run))
    if score is None:
        raise optuna.TrialPruned
    return _store_score(trial, config, score)


def prepare_trial(
    a: Arguments,
) -> Callable[[list[TrainConfig]], Iterator[list[tuple[int, tuple[Path, Summary | None]]]]]:
    """Make the function that trains and scores in a worker; its summary is None if the training diverged."""

    def work(configs: list[TrainConfig]) -> Iterator[list[tuple[int, tuple[Path, Summary | None]]]]:
        for place, config in enumerate(configs):
            run = new_run(a.runs, config)
            try:
                yield [(place, (run, _train(config, run, a)))]
            except ConfigError:
                raise
            except ValueError:
                yield [(place, (run, None))]

    return work


def open_study(a: Arguments) -> optuna.Study:
    """Open or create the study in a file. Raises an error if it has other settings."""
    a.study.parent.mkdir(parents=True, exist_ok=True)
    url = sqlalchemy.URL.create("sqlite", database=str(a.study.absolute()))
    with warnings.catch_warnings():
        # The trial of a killed process seems to run: its heartbeat shows that it does not.
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        storage = optuna.storages.RDBStorage(
            url.render_as_string(), heartbeat_interval=10, grace_period=60,
            engine_kwargs={"connect_args": {"timeout": 60}},
        )  # fmt: skip
    study = optuna.create_study(
        storage=storage, study_name="tune", direction="maximize", load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(),
    )  # fmt: skip
    # Another process, or the next call, draws other parameters.
    study.sampler = optuna.samplers.TPESampler(seed=a.config.seed + len(study.trials))
    settings = {name: value for name, value in asdict(a.config).items() if name not in FREE_KEYS}
    settings["deals"] = a.deals
    if not study.user_attrs:
        study.set_user_attr("settings", settings)
    # Keys that are newer than the study have their defaults.
    before = {**asdict(TrainConfig()), **study.user_attrs["settings"]}
    for name, value in settings.items():
        if before[name] != value:
            raise ConfigError(
                f"{a.study}: {name} is {shown(before[name])} in its trials and {shown(value)} here, "
                "allowed: the same value, or another file"
            )
    return study


def search(study: optuna.Study, a: Arguments, cluster: Cluster | None = None) -> None:
    """Run the remaining trials, here or on a cluster."""
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            optuna.storages.fail_stale_trials(study)
        trials = study.get_trials(deepcopy=False)
        counted = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING)
        begun = sum(trial.state in counted for trial in trials)
        if begun >= a.trials:
            return
        if all(trial.state == TrialState.FAIL for trial in trials):
            study.enqueue_trial(own_values(a.config))  # the baseline of the others
        together = 1 if cluster is None else min(cluster.count_workers(), a.trials - begun)
        study.optimize(
            lambda trial: run_trial(trial, a, cluster), n_trials=1 if cluster is None else a.trials - begun,
            n_jobs=together, callbacks=[] if a.quiet else [_print_result],
        )  # fmt: skip


def _print_result(_: optuna.Study, trial: FrozenTrial) -> None:
    if trial.value is not None and trial.state == TrialState.COMPLETE:
        won, home = trial.user_attrs["win_rate"], trial.user_attrs["cards_home"]
        how = f"score {trial.value:.3f}, won {100 * won:.1f} %, cards home {home:.1f}"
    else:
        how = f"pruned at {trial.last_step} % of its training" if trial.last_step else "diverged"
    print(f"trial {trial.number}: {how}", file=sys.stderr)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# ------------------------------------------------------------------------------------------ results


def best_trials(study: optuna.Study) -> list[FrozenTrial]:
    """The trials that were scored, best first."""
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return sorted(trials, key=lambda trial: -(trial.value or 0.0))


def table_of(trials: list[FrozenTrial]) -> Table:
    """The table of the best trials and their parameters."""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    names = list(trials[0].params)
    for head in ("trial", "score", "games won", "cards home", *names):
        table.add_column(head.replace("_", " "), justify="right")
    for trial in trials[:MAX_SHOWN]:
        values = (trial.params.get(name, "-") for name in names)
        table.add_row(
            str(trial.number),
            f"{trial.value:.3f}",
            f"{100 * trial.user_attrs['win_rate']:.1f} %",
            f"{trial.user_attrs['cards_home']:.1f}",
            *map(_short, values),
        )
    return table


def show(study: optuna.Study, a: Arguments) -> None:
    """Print the best trials, and write the best configuration."""
    trials = best_trials(study)
    states = [trial.state for trial in study.get_trials(deepcopy=False)]
    counts = ", ".join(
        f"{states.count(state)} {word}"
        for state, word in (
            (TrialState.COMPLETE, "scored"),
            (TrialState.PRUNED, "pruned"),
            (TrialState.FAIL, "interrupted or failed"),
            (TrialState.RUNNING, "running in other processes"),
        )
        if state in states
    )
    print(f"{a.study}: {counts or 'no trials'}")
    if not trials:
        return
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table_of(trials))
    best = a.study.with_name(f"{a.study.stem}-best.yaml")
    head = f"# Trial {trials[0].number} of {a.study.name}: score {trials[0].value:.3f} on deals {a.deals}.\n"
    write_text(best, head + dump_config(configured(a.config, trials[0].params)))
    print(f"\nbest configuration  {best}")
    print(f"next: python -m agents.train {best}")


# ------------------------------------------------------------------------------------------ command


def check(a: Arguments) -> None:
    """Check the options, before any file is written."""
    a.config.variant  # noqa: B018 - refuses many games
    if a.trials < 1:
        raise ValueError(f"trials is {a.trials}, allowed: at least 1")
    deals = parse_deals(a.deals)
    for purpose, reserved in RESERVED.items():
        if taken := sum(deal in reserved for deal in deals):
            raise ValueError(
                f"deals is {shown(a.deals)}: {taken} of them are reserved for {purpose} "
                f"({reserved.start}-{reserved.stop - 1}), allowed: other deals, such as 200000:200500"
            )
    check_device(a.config.device)
    check_wandb(a.config)


def main(args: list[str] | None = None) -> int:
    """Run the command; its exit status."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    a: Arguments | None = None
    study: optuna.Study | None = None
    try:
        a = parse_options(sys.argv[1:] if args is None else args, Arguments, "python -m agents tune CONFIG")
        check(a)
        study = open_study(a)
        with connect(a.ray, a.ray_cpus, quiet=a.quiet) as cluster:
            search(study, a, cluster)
        show(study, a)
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.OptunaError) as error:
        reason = one_line(str(error).partition("\n")[0])
        print(f"error: {a.study if a else ''}: not a usable study ({reason})", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted. Run the same command to resume.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
