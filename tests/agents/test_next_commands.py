"""Custom variants in every command that takes a game, and the commands that others print after "next:"."""

import re
from pathlib import Path

import pytest

from tests.test_docs import output, write_files

ROOT = Path(__file__).parents[2]
GAME = "my_games:Solitaire/TwoColors-v0"
TINY = """{minutes: null, total_steps: 512, width: 8, num_envs: 8, n_steps: 32, batch_size: 64, threads: 1,
  stall_limit: 10, selection_deals: null, eval_deals: '660'}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the module of the tutorial, and small configurations."""
    write_files((ROOT / "docs/tutorials/your-own-variant.md").read_text(encoding="utf-8"), tmp_path)
    for name, env in (("tiny", "busy-aces"), ("custom", GAME)):
        (tmp_path / f"{name}.yaml").write_text(f"{env}: {TINY}")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        f"solitaire_env rules {GAME}",
        f"solitaire_env show {GAME} --deal 7",
        f"solitaire_env play {GAME} --deal 7",
        f"solitaire_env watch {GAME} --deal 7 --transcript game.txt && "
        f"python -m solitaire_env replay game.txt --env {GAME}",
        f"solitaire_env perft {GAME} --depth 2",
        f"agents.evaluate --policy greedy --env {GAME} --deals 0:2",
        f"agents.train tiny.yaml --env {GAME}",
        "agents.train custom.yaml --trust-model --threads 2 --num-envs 128",
        pytest.param(
            f"agents.train tiny.yaml --env Solitaire/Family-v0 --games yukon,{GAME} --threads 2",
            marks=pytest.mark.slow,
        ),
        f"agents.solve {GAME} --deals 7 --seconds 0.1 --out solved.jsonl",
    ],
)
def test_commands_take_a_custom_variant_by_its_module(command: str, folder: Path) -> None:
    printed = output(f"python -m {command}", folder, folder)
    assert re.search(r"two-colors|Two ?Colors|^depth", printed), printed


COMMANDS = {
    "train": ["python -m agents.train tiny.yaml"],
    "house rules": ["python -m agents.train tiny.yaml --build 'any suit' --spaces kings --eval-deals 0:100"],
    "network": ["python -m agents.train tiny.yaml --network own_network:MoveSet"],
    "variant": ["python -m agents.train custom.yaml --trust-model"],
    "imitate": [
        f"python -m agents.evaluate --policy greedy --env {GAME} --deals 20000:20020 --transcripts games",
        "python -m agents imitate custom.yaml games --network own_network:MoveSet --all-games --epochs 1 "
        "--trust-model",
    ],
    "tune": ["python -m agents tune tiny.yaml --study study.log --trials 1 --deals 200000:200002"],
    "tune a variant": [
        "python -m agents tune custom.yaml --study study.log --trials 1 --deals 200000:200002 --trust-model"
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_printed_commands_run_as_printed(name: str, folder: Path) -> None:
    *before, command = COMMANDS[name]
    modules = (folder, ROOT / "examples")
    for line in before:
        output(line, folder, *modules)
    printed = output(f"{command} --quiet", folder, *modules).partition("next: ")[2]
    commands = [line.strip() for line in printed.splitlines()]
    assert commands and all(line.startswith("python -m ") for line in commands)
    for line in commands:
        output(line, folder, *modules)
