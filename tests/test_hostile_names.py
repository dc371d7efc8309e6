"""Names that come from data import no module: the promise of SECURITY.md, for all data that is read."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from agents import solve, train
from agents.commands import imitate, options, plot, ship, tune
from agents.config import TrainConfig, make_config
from agents.results.solver_results import read_solver_results
from agents.runs.config_files import load_config
from solitaire_env import benchmark, cli
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import evaluate, read_results
from solitaire_env.family import read_games
from solitaire_env.loading import as_policy, load_policy
from solitaire_env.notation import parse_position
from solitaire_env.play.answers import Answers, Refused
from solitaire_env.play.replay_page import replay_page
from solitaire_env.policies.model_files import CARD
from solitaire_env.registration import FAMILY_ID, env_variant, resolve_variant
from solitaire_env.sb3 import SolitaireVecEnv
from solitaire_env.text import SolitaireTool, TextGame
from solitaire_env.transcripts import format_transcript, parse_transcript
from solitaire_env.vector import SolitaireVectorEnv
from tests.conftest import Refuses
from tests.policies.model_folders import edit_card, spec_of, write_model
from tests.recorded import recorded_game

MODULE = """
from pathlib import Path

from solitaire_env import Variant, register_variant
from solitaire_env.policies import Policy

Path(__file__).with_suffix(".imported").touch()
register_variant(Variant("two-colors", "Two Colors", decks=2, tableau=(4,) * 8, build="alternate color"))


class Anything(Policy):
    pass
"""
GAME = "evil_games:Solitaire/TwoColors-v0"
HOSTILE = (GAME, "evil_games:klondike", "evil_games:Anything")
TINY = {"minutes": None, "total_steps": 1, "num_envs": 2, "n_steps": 2, "batch_size": 2, "width": 2}
KEYS = [field.name for field in fields(TrainConfig)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registered_games_removed: None) -> Iterator[Path]:
    """The current folder, with a module that notes when it is imported."""
    (tmp_path / "evil_games.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("evil_games", None)


def imported(folder: Path) -> bool:
    return (folder / "evil_games.imported").exists()


@pytest.fixture
def harmless(folder: Path) -> Iterator[Path]:
    """The folder, in a test that must not import the module."""
    yield folder
    assert not imported(folder), "the module was imported"


def refused(read: Callable[[], Any], of: type[Exception] | tuple[type[Exception], ...] = ValueError) -> None:
    with pytest.raises(of):
        read()


# ---------------------------------------------------------------------------------- configurations


def config_text(key: str, value: Any) -> str:
    """A configuration with one value; JSON is YAML."""
    if key == "env":
        return json.dumps({str(value): TINY})
    return json.dumps({FAMILY_ID if key == "games" else "busy-aces": TINY | {key: value}})


@pytest.mark.parametrize("key", KEYS)
def test_no_key_of_a_configuration_imports_a_module(
    key: str, harmless: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever command reads the file, or the run folder that contains it."""
    run = harmless / "run"
    run.mkdir()
    (run / "curve.csv").touch()
    paths = harmless / "mine.yaml", run / "config.yaml"
    texts = [*HOSTILE, f"klondike,{GAME}"]
    for value in [*texts, *([text] for text in texts)]:
        for path in paths:
            path.write_text(config_text(key, value))
        for command, args in (
            (train.main, ["mine.yaml"]),
            (train.main, ["--resume", "run"]),
            (tune.main, ["mine.yaml", "--study", "study.log"]),
            (imitate.main, ["mine.yaml", "games"]),
            (plot.main, ["run"]),
            (ship.main, ["run"]),
        ):
            assert command(args) == 2, (command, args, value)
            assert "error: " in capsys.readouterr().err
    if key in ("env", "games"):
        paths[0].write_text(config_text(key, GAME))
        refused(lambda: load_config(paths[0]))


@pytest.mark.parametrize("games", [f"klondike,{GAME}", ["klondike", GAME], None])
def test_a_trusted_configuration_imports_the_modules_of_its_games(games: Any, folder: Path) -> None:
    path = folder / "mine.yaml"
    path.write_text(config_text("env", GAME) if games is None else config_text("games", games))
    config = load_config(path, trust=True)
    assert imported(folder) and config.variants[-1].name == "two-colors"
    assert options.trust_option(config) == " --trust-model"


@pytest.mark.parametrize("words", [["--env", GAME], ["--env", FAMILY_ID, f"--games=klondike,{GAME}"]])
def test_a_game_that_the_command_line_names_is_imported(words: list[str], folder: Path) -> None:
    (folder / "mine.yaml").write_text(json.dumps({"busy-aces": TINY}))
    config = options.parse_options(["mine.yaml", *words], train.Arguments, "train").config
    assert imported(folder) and config.variants[-1].name == "two-colors"


# ------------------------------------------------------------------------------------ function calls

TAKERS: dict[str, Callable[[str], Any]] = {
    "env_variant": env_variant,
    "resolve_variant": resolve_variant,
    "read_games": lambda name: read_games([name]),
    "SolitaireEnv": SolitaireEnv,
    "SolitaireVectorEnv": lambda name: SolitaireVectorEnv(name, 1),
    "SolitaireVecEnv": lambda name: SolitaireVecEnv(name, 1),
    "FamilyEnv": lambda name: SolitaireEnv(["klondike", name]),
    "FamilyVectorEnv": lambda name: SolitaireVectorEnv(["klondike", name], 1),
    "evaluate": lambda name: evaluate("random", name, [0], max_episode_steps=1),
    "load_policy": lambda name: load_policy("random", name),
    "as_policy": lambda name: as_policy("random", name),
    "references": benchmark.references,
    "TextGame": TextGame,
    "SolitaireTool.reset": lambda name: SolitaireTool().reset(name, 1),
    "make_config, env": lambda name: make_config({"env": name}, "test"),
    "make_config, games": lambda name: make_config({"env": FAMILY_ID, "games": f"yukon,{name}"}, "test"),
}


@pytest.mark.parametrize("function", TAKERS)
def test_functions_take_a_custom_variant_whose_module_is_imported(
    function: str, folder: Path, refuses: Refuses
) -> None:
    take = TAKERS[function]
    words = "module 'evil_games' is not imported", "run any code", "import it first", "--trust-model"
    for name in (GAME, "evil_games:klondike"):
        refuses(lambda name=name: take(name), repr(name), *words)
    assert not imported(folder)
    __import__("evil_games")
    for name in (GAME, "Solitaire/TwoColors-v0", "two-colors", "Two Colors"):
        take(name)


@pytest.mark.parametrize(
    ("main", "args"),
    [(cli.main, ["rules", GAME]), (cli.main, ["solve", GAME, "--seconds", "0.1", "--quiet"])],
    ids=["rules", "solve"],
)
def test_commands_import_the_module_of_a_typed_game(
    main: Callable[[list[str]], int], args: list[str], folder: Path
) -> None:
    assert main(args) == 0 and imported(folder)


# ---------------------------------------------------------------------------------------------- data


def test_no_reset_option_imports_a_module(harmless: Path) -> None:
    sb3 = SolitaireVecEnv("busy-aces", 1)

    def reset_sb3(options: dict[str, Any]) -> None:
        sb3.set_options(options)
        sb3.reset()

    for env in (
        SolitaireEnv(),
        SolitaireEnv(["klondike", "yukon"]),
        SolitaireVectorEnv(),
        SolitaireVectorEnv(["klondike", "yukon"], 1),
    ):
        for option in ("variant", "deal", "deals", "position", "state"):
            for name in HOSTILE:
                for value in (name, [name], {"name": name}):
                    given: dict[str, Any] = {option: value}
                    refused(lambda env=env, given=given: env.reset(options=given), (ValueError, TypeError))
                    if isinstance(env, SolitaireEnv):
                        refused(lambda given=given: reset_sb3(given), (ValueError, TypeError))


def test_no_argument_of_a_tool_imports_a_module(harmless: Path) -> None:
    """A language model writes them."""
    for name in HOSTILE:
        for argument in ("game", "deal"):
            refused(lambda row={argument: name}: SolitaireTool().reset(**row))
        tool = SolitaireTool()
        tool.reset(row=name)
        assert tool.move(name).startswith("There is no move in the answer")
        refused(lambda name=name: benchmark.split_deals("winnable", name))


def test_no_line_of_a_text_imports_a_module(harmless: Path) -> None:
    """Of transcripts, the pages made from them, and positions."""
    game = recorded_game("eights-down")
    for text in (format_transcript(game), game.start):
        lines = text.splitlines()
        for number, line in enumerate(lines):
            for new in (*HOSTILE, *(f"{line.partition(': ')[0]}: {name}" for name in HOSTILE)):
                changed = "\n".join([*lines[:number], new, *lines[number + 1 :]]) + "\n"
                with contextlib.suppress(ValueError):
                    parse_position(changed)
                with contextlib.suppress(ValueError):
                    replay_page(parse_transcript(changed))


def hostile_copies(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key in record:
        for name in HOSTILE:
            yield record | {key: name}
            yield record | {key: [name]}


def test_no_state_imports_a_module(harmless: Path) -> None:
    for env in (SolitaireEnv(), SolitaireEnv(["klondike", "yukon"])):
        env.reset(seed=0)
        for state in hostile_copies(env.get_state()):
            refused(lambda env=env, state=state: env.set_state(state), (ValueError, TypeError))


def test_no_field_of_a_result_imports_a_module(harmless: Path) -> None:
    """Of games, which a later evaluation reads too, and of solver results."""
    path = harmless / "games.jsonl"

    def play() -> Any:
        return evaluate("random", "busy-aces", [0], max_episode_steps=1, results=path)

    play()
    for row in hostile_copies(json.loads(path.read_text())):
        path.write_text(json.dumps(row) + "\n")
        with contextlib.suppress(ValueError):
            benchmark.score(read_results(path))
        with contextlib.suppress(ValueError):
            play()


def test_no_field_of_a_solver_result_imports_a_module(harmless: Path) -> None:
    path = harmless / "solved.jsonl"
    arguments = ["eights-down", "--deals", "132", "--seconds", "5", "--quiet", "--out", str(path)]
    assert solve.main(arguments) == 0
    for row in hostile_copies(json.loads(path.read_text())):
        path.write_text(json.dumps(row) + "\n")
        assert solve.main(arguments) == 2
        with contextlib.suppress(ValueError):
            assert [found.playable for found in read_solver_results(path)]


def test_no_key_of_a_model_card_imports_a_module(harmless: Path) -> None:
    folder = write_model(harmless / "model", spec_of("busy-aces", "supermove"))
    card = json.loads((folder / CARD).read_text())
    for changed in (*hostile_copies(card), *({"layout": it} for it in hostile_copies(card["layout"]))):
        edit_card(folder, **card | changed)
        with contextlib.suppress(ValueError):
            load_policy(folder, "busy-aces")


def test_no_value_of_a_request_imports_a_module(harmless: Path) -> None:
    answers = Answers(["greedy"])
    body = {"game": "busy-aces", "deal": 7, "policy": "greedy"}
    for what, function in answers.requests.items():
        keys = {*signature(function).parameters} - {"wanted"}
        own = {key: value for key, value in body.items() if key in keys}
        for name in HOSTILE:
            for key in (*keys, "more"):
                for value in (name, [name], {"build": name}):
                    with pytest.raises((ValueError, TypeError, Refused)):
                        answers.answer(what, {**own, key: value}, lambda: True)
