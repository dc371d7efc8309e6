"""``python -m agents COMMAND``: the commands of this folder, each a module in :mod:`agents.commands`."""

import sys
from importlib import import_module
from typing import Final

from solitaire_env.util.command_line import run_command

COMMANDS: Final = {
    "dataset": ("agents.commands.dataset", "make a Minari dataset of recorded games"),
    "evaluate": ("agents.evaluate", "play numbered deals with a policy"),
    "fit-linear": ("agents.commands.fit_linear", "fit the weights of the linear policy"),
    "imitate": ("agents.commands.imitate", "train a policy from transcripts"),
    "leaderboard": ("agents.commands.leaderboard", "store results, replay them, write their tables"),
    "levels": ("agents.commands.levels", "decide which deals are easy, medium and hard"),
    "plot": ("agents.commands.plot", "plot learning curves"),
    "ship": ("agents.commands.ship", "make a run the shipped policy of its game"),
    "solve": ("agents.solve", "solve deals whose stock is known"),
    "train": ("agents.train", "train a policy"),
    "tune": ("agents.commands.tune", "search training settings with Optuna"),
}


def main(args: list[str] | None = None) -> int:
    """Run a command; its exit status."""
    return run_command(lambda: _run(list(sys.argv[1:] if args is None else args)))


def _run(args: list[str]) -> int:
    if args and args[0] in COMMANDS:
        return int(import_module(COMMANDS[args[0]][0]).main(args[1:]))
    usage = "\n".join(f"  {name:<16}{what}" for name, (_, what) in COMMANDS.items())
    usage = f"usage: python -m agents COMMAND [OPTIONS]\n\n{usage}\n\nEach takes --help."
    if args in (["--help"], ["-h"]):
        print(usage)
        return 0
    if args:
        print(f"error: unknown command {args[0][:40]!r}, allowed: {', '.join(COMMANDS)}", file=sys.stderr)
    print(usage, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
