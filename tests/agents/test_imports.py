"""No command imports large packages that it does not use: torch takes seconds to import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = (
    "torch", "stable_baselines3", "sb3_contrib", "tensorboard", "matplotlib", "pandas", "optuna", "wandb",
    "PIL", "pygame", "imageio",
)  # fmt: skip
PLAYED = ("--env", "busy-aces", "--deals", "0:1", "--quiet")
COMMANDS = {
    "solitaire_env": (
        ("--help",),
        ("play", "busy-aces", "--deal", "7", "--policy", "shipped"),
        ("watch", "eights-down", "--deal", "7", "--policy", "linear", "--transcript", "{folder}/game.txt"),
        ("replay", "{folder}/game.txt"),
        ("perft", "busy-aces", "--depth", "1"),
        ("solve", "eights-down", "--deal", "1"),
    ),
    "agents.evaluate": tuple(
        ("--policy", policy, *PLAYED, *options)
        for policy, *options in (
            ("random",),
            ("greedy",),
            ("linear",),
            ("shipped",),
            ("search", "--search.simulations", "2"),
        )
    ),
    "agents.solve": (
        ("eights-down", "--deals", "1", "--seconds", "0.1", "--quiet", "--out", "{folder}/eights.jsonl"),
        ("busy-aces", "--deals", "1", "--seconds", "0.1", "--quiet", "--out", "{folder}/busy.jsonl"),
    ),
    "agents": (
        ("--help",),
        ("dataset", "--help"),
        ("fit-linear", "--help"),
        ("imitate", "--help"),
        ("leaderboard", "check"),  # and the tables of the repository are up to date
        ("leaderboard", "add", "--help"),
        ("leaderboard", "replay", "--help"),
        ("plot", "--help"),
        ("ship", "--help"),
    ),
}
"""Command lines that use none of :data:`HEAVY`, in an order in which one may write what another reads."""

LISTS = """
import runpy, sys
for words in {lines!r}:
    sys.argv = [{module!r}, *words]
    status = 0
    try:
        runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code or 0
    print("\\nended", status, *(name for name in {heavy!r} if name in sys.modules), file=sys.stderr)
"""


def heavy_imports(module: str, *lines: tuple[str, ...]) -> list[list[str]]:
    """The packages of :data:`HEAVY` that are imported after each command line, none of which may fail.

    One process runs all, because Python takes longer to start than most of them.
    """
    script = LISTS.format(lines=lines, module=module, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        input="hint\nquit\n" * len(lines), capture_output=True, text=True, check=False,
    )  # fmt: skip
    ends = [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("ended ")]
    assert len(ends) == len(lines) and not any(int(status) for status, *_ in ends), done.stderr
    return [names for _, *names in ends]


@pytest.mark.parametrize("module", COMMANDS)
def test_commands_import_no_unused_packages(module: str, tmp_path: Path) -> None:
    lines = [tuple(word.format(folder=tmp_path) for word in words) for words in COMMANDS[module]]
    assert heavy_imports(module, *lines) == [[]] * len(lines)


def printed(script: str, **environment: str) -> str:
    """The stdout of a script in a new process."""
    environ = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    return subprocess.run(
        [sys.executable, "-c", script], env=environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def test_the_package_does_not_import_torch() -> None:
    script = (
        "import sys, solitaire_env\n"
        "for name in dir(solitaire_env):\n"
        "    if name != 'sb3': getattr(solitaire_env, name)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert printed(script) == "[]\n"


def test_adam_does_not_import_torchs_compiler() -> None:
    """Torch's own optimizers import it, which takes seconds."""
    script = (
        "import sys, torch; from agents.networks.adam import Adam\n"
        "weights = torch.nn.Parameter(torch.zeros(2)); adam = Adam([weights])\n"
        "weights.grad = torch.ones(2); adam.step(); print('torch._dynamo' in sys.modules)"
    )
    assert printed(script) == "False\n"


def test_waiting_threads_of_torch_soon_sleep() -> None:
    """The variable is set before torch reads it, unless the user has set it."""
    script = "import agents, os, sys\nassert 'torch' not in sys.modules\nprint(os.environ['GOMP_SPINCOUNT'])"
    assert printed(script) == "10000\n"
    assert printed(script, GOMP_SPINCOUNT="7") == "7\n"
