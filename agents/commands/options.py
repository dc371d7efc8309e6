"""Parsing of the options of the commands in ``agents``."""

import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar

import tyro
from pydantic import ValidationError
from tyro.constructors import PrimitiveConstructorSpec

from agents.config import RESUMABLE, ConfigError, TrainConfig, explain
from agents.runs.config_files import import_games, load_config
from solitaire_env.util.command_line import parse
from solitaire_env.util.messages import shown

RayAddress = Annotated[
    str | None,
    PrimitiveConstructorSpec(
        nargs=(0, 1),
        metavar="[ADDRESS]",
        instance_from_str=lambda words: words[0] if words else "",
        is_instance=lambda value: value is None or isinstance(value, str),
        str_from_instance=lambda value: [value] if value else [],
    ),
]
"""Value of the option ``--ray [ADDRESS]``, as :func:`agents.cluster.connect` takes it."""


@dataclass
class ConfigArguments:
    """Options of a command that begins with a configuration file."""

    config: Annotated[TrainConfig, tyro.conf.arg(name="")]
    runs: Path = Path("runs")
    """Folder in which run folders are made."""
    trust_model: bool = False
    """Import the modules of the custom network and variants that the file names, which can run any code."""
    quiet: bool = False
    """Hide the progress line."""


Options = TypeVar("Options", bound=ConfigArguments)

EXAMPLE: Final = "configs/default.yaml"
"""A configuration file."""
ABOUT_CONFIG: Final = (
    "CONFIG is a YAML file with the environment, and the keys below that differ from their defaults, such as "
    f"{EXAMPLE}. Options replace its keys; None stands for null."
)
INTERRUPTED: Final = "Interrupted. Stored games are kept. Run the same command to resume."
"""Message at Ctrl-C of commands that store the result of each game."""


def next_commands(config: TrainConfig, run: Path, deals: str) -> list[str]:
    """The commands that evaluate and show the policy of a run."""
    game = config.env if ":" in config.env else config.variant.name
    rules = {"build": config.build, "spaces": config.spaces}
    words = "".join(f" --{rule} {shlex.quote(word)}" for rule, word in rules.items() if word is not None)
    words += " --trust-model" if ":" in config.network else ""
    folder = shlex.quote(str(run))
    return [
        f"python -m agents.evaluate --policy {folder} --env {game} --deals {deals}{words}",
        f"python -m solitaire_env watch {game} --policy {folder}{words}",
    ]


def trust_option(config: TrainConfig) -> str:
    """`` --trust-model`` if a command that reads this configuration from a file needs it."""
    return " --trust-model" if ":" in f"{config.network}{config.env}{config.games}" else ""


def value_of(args: list[str], option: str) -> str | None:
    """The value of ``--option VALUE`` or ``--option=VALUE``, before the full command line is parsed."""
    for place, arg in enumerate(args):
        name, joined, value = arg.partition("=")
        if name == option:
            return value if joined else next(iter(args[place + 1 :]), None)
    return None


def parse_options(args: list[str] | None, kind: type[Options], prog: str) -> Options:
    """Parse a command line that begins with a configuration file.

    Raises
    ------
    ConfigError
        If the file is missing, or it or an option is wrong.
    """
    config = TrainConfig()
    rest = list(sys.argv[1:] if args is None else args)
    folder, trust = value_of(rest, "--resume"), "--trust-model" in rest
    if folder is not None:
        config = load_config(Path(folder) / "config.yaml", trust=trust)
    elif rest and not rest[0].startswith("-"):
        config = load_config(Path(rest.pop(0)), trust=trust)
    elif not {"-h", "--help"} & {*rest}:
        raise ConfigError(f"CONFIG is missing, for example: {prog.replace('CONFIG', EXAMPLE)}")
    import_games(value_of(rest, "--env"), value_of(rest, "--games"))
    try:
        about = f"{kind.__doc__}\n\n{ABOUT_CONFIG}"
        options: Options = parse(kind, rest, prog, default=kind(config), description=about)
    except ValidationError as error:
        raise explain(error, "command line") from None
    check_trust(options, rest)
    if folder is not None:
        _check_resumed(config, options.config)
    return options


def _check_resumed(before: TrainConfig, config: TrainConfig) -> None:
    """Raise an error if the options change what a run is."""
    for name, value in asdict(config).items():
        if name not in RESUMABLE and value != getattr(before, name):
            raise ConfigError(
                f"command line: {name} is {shown(value)}, in the resumed run {shown(getattr(before, name))}; "
                f"only {', '.join(RESUMABLE)} can change; for other values start a new run with --init-from"
            )


def check_trust(options: ConfigArguments, args: list[str]) -> None:
    """Raise an error if a configuration file, not the command line, names a module to import."""
    network = options.config.network
    if ":" in network and value_of(args, "--network") is None and not options.trust_model:
        raise ConfigError(
            f"network is {shown(network)} in the configuration file: importing it can run any code; pass "
            "--trust-model if you trust the file"
        )
