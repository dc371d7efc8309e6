"""Options, paths and files that the commands refuse: each in one error line, before anything is written."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents import evaluate, solve, train
from agents.commands import dataset, fit_linear, imitate, leaderboard, plot, tune
from agents.playing.recording import SOURCES
from agents.runs.folders import CURVE_COLUMNS
from tests.agents.test_train import VALUES, assert_refused, command

FILES = {
    "tiny.yaml": json.dumps({"busy-aces": VALUES}),
    "family.yaml": "Solitaire/Family-v0: {}",
    "damaged.txt": "a game\n",
    "no-games/config.yaml": "busy-aces: {}",
    "no-games/curve.csv": ",".join(CURVE_COLUMNS) + "\n",
    "damaged-curve/config.yaml": "busy-aces: {}",
    "damaged-curve/curve.csv": "steps\nx\n",
}
EVALUATE = "--policy greedy --env busy-aces --deals 0:2"
GREEDY = "eights-down/greedy"
LINEAR = "eights-down --generations 2"
MINE = "--policy tests.play.policies:First"
TUNE = "tiny.yaml --study study.log"

Main = Callable[[list[str]], int]
REFUSED: list[tuple[Main, str, list[str]]] = [
    (evaluate.main, f"{EVALUATE} --policy greedi", ["'greedi'", "random, greedy"]),
    (evaluate.main, f"{EVALUATE} --env Solitaire/BusyAce-v0", ["'Solitaire/BusyAce-v0'", "/BusyAces-v0"]),
    (evaluate.main, f"{EVALUATE} --deals all", ["'all'", "FIRST:END"]),
    (evaluate.main, f"{EVALUATE} --num-envs 0", ["num_envs is 0"]),
    (evaluate.main, f"{EVALUATE} --games no/such/folder/games.jsonl", ["no/such/folder/games.jsonl"]),
    (evaluate.main, f"{EVALUATE} --transcripts damaged.txt", ["damaged.txt"]),
    (evaluate.main, f"{EVALUATE} --games damaged.txt", ["damaged.txt, line 1", "not a game"]),
    (fit_linear.main, f"{LINEAR} --out linear.json --generations 0", ["generations is 0"]),
    (fit_linear.main, f"{LINEAR} --out /no/such/folder/linear.json", ["/no/such/folder"]),
    (imitate.main, "tiny.yaml empty", ["empty: has no transcripts", "folders with *.txt"]),
    (imitate.main, "tiny.yaml damaged.txt", ["damaged.txt: transcript has 1 parts"]),
    (imitate.main, "tiny.yaml binary.txt", ["binary.txt: ", "can't decode"]),
    (imitate.main, "tiny.yaml damaged.txt --epochs 0", ["epochs is 0"]),
    (leaderboard.main, "add leaderboard eights-down/greedi", ["greedi", "--made"]),
    (
        leaderboard.main,
        "add leaderboard eights-down/../x --policy greedy",
        ["'eights-down/../x'", "small let"],
    ),
    (leaderboard.main, f"add leaderboard {GREEDY} --deals 0:11", ["'0:11'", "0:1000, or 0:1000,"]),
    (leaderboard.main, f"add leaderboard eights-down/mine {MINE} --made a|b", ["made", "without | < >"]),
    (leaderboard.main, "add leaderboard eights-down/shipped", ["policies/family"]),
    (plot.main, "nowhere -o out.png", ["nowhere: has no runs", "a folder that agents.train made"]),
    (plot.main, "no-games -o out.png", ["no-games: nothing to draw: no game has ended yet"]),
    (plot.main, "damaged-curve -o out.png", ["not a learning curve"]),
    (train.main, "tiny.yaml --env=busy-ace", ["'busy-ace'", "busy-aces"]),
    (train.main, "tiny.yaml --gamma 3", ["command line: gamma is 3.0", "less than or equal to 1"]),
    (train.main, "tiny.yaml --device cuda:99", ["'cuda:99'", "this machine does not have"]),
    (tune.main, "family.yaml --study study.log", ["is many games"]),
    (tune.main, f"{TUNE} --trials 0", ["trials is 0", "from 1"]),
    (tune.main, f"{TUNE} --score-deals 0:5", ["'0:5'", "5 of them", "200000:200500"]),
    (tune.main, f"{TUNE} --score-deals 99999:100001", ["'99999:100001'", "1 of them"]),
]
if sys.version_info >= (3, 11):  # as Minari needs
    REFUSED += [
        (dataset.main, "greedy", ["dataset is 'greedy'", "GAME/SOURCE"]),
        (dataset.main, "eight-down/greedy", ["'eight-down'", "eights-down"]),
        (dataset.main, "eights-down/oracle", ["source", "'oracle'", *SOURCES]),
        (dataset.main, f"{GREEDY} --games 0", ["games is 0"]),
        (dataset.main, f"{GREEDY} --first-deal -1", ["first_deal is -1"]),
        (dataset.main, "waterloo/expert", ["policies/family"]),
        (dataset.main, f"{GREEDY} --file damaged.txt", ["damaged.txt: no file of recorded games"]),
    ]


@pytest.fixture
def folder(empty_stores: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, in a test that must not write to it."""
    monkeypatch.chdir(empty_stores)
    (empty_stores / "empty").mkdir()
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(empty_stores / "empty"))
    for name, text in FILES.items():
        (empty_stores / name).parent.mkdir(exist_ok=True)
        (empty_stores / name).write_text(text)
    (empty_stores / "binary.txt").write_bytes(b"\xff\xff")
    before = {*empty_stores.rglob("*")}
    yield empty_stores
    assert {*empty_stores.rglob("*")} == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("main", "args", "words"), REFUSED)
def test_wrong_options_and_files_are_refused(main: Main, args: str, words: list[str]) -> None:
    quiet = [] if main is plot.main else ["--quiet"]
    assert_refused(command(*args.split(), *quiet, of=main), *words)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("main", "args", "library", "words"),
    [
        *((dataset.main, GREEDY, name, f"agents dataset needs {name}") for name in ("minari", "h5py", "PIL")),
        (evaluate.main, f"{EVALUATE} --ray", "ray", "--ray needs Ray, which is not installed: pip install"),
        (solve.main, "busy-aces --deals 0:2 --out solved.jsonl --ray", "ray", "--ray needs Ray"),
        (train.main, "tiny.yaml --ray", "ray", "--ray needs Ray"),
        (train.main, "tiny.yaml --wandb solitaire", "wandb", "needs wandb: pip install -e '.[wandb]'"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    main: Main, args: str, library: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert_refused(command(*args.split(), "--quiet", of=main), words, "pip install")
