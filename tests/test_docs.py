"""The documentation: the index of games is up to date, examples print what they show, links work."""

import doctest
import os
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import get_args

import imageio_ffmpeg
import numpy as np
import pytest
import yaml
from PIL import Image

import solitaire_env
from docs import generate
from solitaire_env import __version__, cli
from solitaire_env.core.variant import Build, Moves, Spaces, Variant
from solitaire_env.env import SolitaireEnv
from solitaire_env.variants import VARIANTS

ROOT = generate.DOCS.parent
GAMES = generate.REFERENCE / "games.md"
PAPER = generate.DOCS / "explanation" / "paper.md"
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *generate.DOCS.rglob("*.md"))
    if not {"_build", "games"} & set(path.parts)
)
TUTORIALS = [name for name in PAGES if name == "README.md" or name.startswith("docs/tutorials/")]
WITH_EXAMPLES = [name for name in PAGES if ">>> " in (ROOT / name).read_text(encoding="utf-8")]
DOCTESTS = sorted(
    path.relative_to(ROOT).as_posix()
    for package in ("solitaire_env", "agents", "benchmarks", "native")
    for path in (ROOT / package).rglob("*.py")
    if re.search(r"^ *>>> ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
)


@pytest.fixture(scope="module")
def generated() -> dict[Path, str]:
    return generate.pages()


def test_the_index_of_the_games_is_up_to_date(generated: dict[Path, str]) -> None:
    assert GAMES.read_text(encoding="utf-8") == generated[GAMES], "run: python -m docs.generate"


def test_the_command_line_page_has_the_help_of_subcommands(generated: dict[Path, str]) -> None:
    page = generated[generate.REFERENCE / "command-line.md"]
    assert {"## agents", "### solitaire_env watch", "### agents train"} < set(page.splitlines())
    assert "usage: python -m agents.train" in page


def test_the_help_of_every_command_is_in_words(generated: dict[Path, str]) -> None:
    page = generated[generate.REFERENCE / "command-line.md"]
    raw = r"\{None\}|\{\{|\b(STR|INT|FLOAT|BOOL|NONETYPE)\b|\(default: (None|False|)\)|--(\S+\.)?no-|\[\[|``"
    assert not [line for line in page.splitlines() if re.search(raw, line) and "```" not in line]


def test_public_names_link_to_the_pages_of_their_modules(generated: dict[Path, str]) -> None:
    page = generated[generate.REFERENCE / "public-names.md"]
    for name in solitaire_env.__all__:
        [target] = re.findall(rf"\| (?:{{py:obj}})?`{name}(?: <(\S+)>)?` \|", page)
        module, _, own = target.rpartition(".")
        assert name == "VARIANTS" or getattr(import_module(module), own) is getattr(solitaire_env, name)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_the_page_of_a_game_says_what_its_observation_forgets(
    variant: Variant, generated: dict[Path, str]
) -> None:
    """A card that the position shows becomes one that it does not show, in random play that draws a lot."""
    page, env = generated[generate.REFERENCE / "games" / f"{variant.name}.md"], SolitaireEnv(variant)
    says_nothing = "has seen it](../information.md): nothing.\n" in page
    random, forgets = np.random.default_rng(0), False
    for deal in range(1 if says_nothing else 4):
        observation, _ = env.reset(options={"deal": deal})
        before = Counter(env.decode_observation(observation).unseen())
        for _ in range(40 if says_nothing else 150):
            legal = env.legal_actions()
            if forgets or not legal:
                break
            observation, *_ = env.step(legal[0] if random.random() < 0.5 else int(random.choice(legal)))
            unseen = Counter(env.decode_observation(observation).unseen())
            forgets, before = bool(unseen - before), unseen
    assert forgets != says_nothing


NOT_RUN = {
    r"^(make|pip install) ": "installs packages",
    r"^python -m solitaire_env serve": "runs until Ctrl-C",
    r"agents\.train ": "takes minutes: tests/agents/test_next_commands.py trains",
    r" runs/(busy-aces|tiny-klondike)-1\b": "needs such a training",
    r"agents\.evaluate .*--deals 0:1000$": "takes a minute",
    r"agents dataset ": "takes minutes, and needs Minari",
}
"""Commands of the README and the tutorials that no test runs as printed, and why."""


def write_files(text: str, folder: Path) -> None:
    """Write the files that a page shows, blocks of code with a caption."""
    for name, lines in re.findall(r"^```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)^```", text, re.M | re.S):
        (folder / name).write_text(lines)


def output(command: str, folder: Path, *modules: Path) -> str:
    """The stdout of a command line in a folder; modules of some folders can be imported."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    places = os.pathsep.join(map(str, (ROOT, *modules)))
    done = subprocess.run(
        command, shell=True, cwd=folder, env=os.environ | {"PATH": path, "PYTHONPATH": places},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout, f"{command}\n{done.stderr}"
    return done.stdout


def commands(text: str) -> list[str]:
    """The shell commands of a page, without comments: in blocks, and in the cells of tables."""
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)).replace("\\\n", " ")
    cells = [
        cell for line in text.splitlines() if line[:1] == "|" for cell in re.findall("`(python .+?)`", line)
    ]
    lines = [re.sub(r"\s+# .*", "", line) for line in blocks.splitlines()]
    return [line for line in lines if line] + cells


@pytest.mark.parametrize("name", TUTORIALS)
def test_shell_commands_of_tutorials_run_as_printed(name: str, tmp_path: Path) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    write_files(text, tmp_path)
    for command in commands(text):
        if not any(re.search(pattern, command) for pattern in NOT_RUN):
            output(command, tmp_path)


def test_commands_that_are_not_run_are_listed_once() -> None:
    printed = [line for name in TUTORIALS for line in commands((ROOT / name).read_text(encoding="utf-8"))]
    for pattern in NOT_RUN:
        assert any(re.search(pattern, command) for command in printed), pattern
    assert sum(not any(re.search(pattern, line) for pattern in NOT_RUN) for line in printed) > 15


@pytest.mark.parametrize("name", ["docs/tutorials/play-and-watch.md", "docs/how-to/pictures-and-videos.md"])
def test_watch_shows_the_move_of_the_page(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [sample] = re.findall(
        r"^```\n(shipped, move .*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.M | re.S
    )
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert cli.main(["watch", "busy-aces", "--policy", "shipped", "--deal", "29", "--fps", "1000"]) == 0
    frames = re.sub(r"\033\[\??\d*[A-Za-z]", "", capsys.readouterr().out).replace("\r", "")
    assert sample.strip() in frames


@pytest.mark.parametrize("rule", [Build, Spaces, Moves], ids=["build", "spaces", "moves"])
def test_the_page_of_environments_has_every_house_rule(rule: object) -> None:
    rows = (generate.REFERENCE / "environments.md").read_text(encoding="utf-8").splitlines()
    assert any(all(f'`"{word}"`' in row for word in get_args(rule)) for row in rows), get_args(rule)


@pytest.mark.usefixtures("registered_games_removed")
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_print_what_they_show(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    write_files(text, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_games", raising=False)
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize("path", DOCTESTS)
def test_docstrings_print_what_they_show(path: str) -> None:
    module = import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    report = doctest.testmod(module)
    assert report.attempted and not report.failed


@pytest.mark.slow
def test_the_recipes_write_a_video_and_a_gif(tmp_path: Path) -> None:
    text = (ROOT / "docs/how-to/pictures-and-videos.md").read_text(encoding="utf-8")
    for code in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        command = [sys.executable, "-c", code]
        subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
    with Image.open(tmp_path / "game.gif") as gif:
        assert gif.size == (480, 360) and 10 < gif.n_frames <= 101
    video = imageio_ffmpeg.read_frames(str(tmp_path / "videos" / "rl-video-episode-0.mp4"))
    about = next(video)
    assert about["size"] == (800, 600) and about["duration"] > 10
    video.close()


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_pages_and_headings(name: str, generated: dict[Path, str]) -> None:
    path = ROOT / name
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        file, _, heading = target.partition("#")
        page = (path.parent / file).resolve() if file else path
        if target.startswith("https://") or page.is_relative_to(generate.REFERENCE / "api"):
            continue
        assert page in generated or page.exists(), target
        if heading:
            text = generated[page] if page in generated else page.read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
            # As GitHub and MyST name them.
            assert heading in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}, target


def figures(text: str) -> set[str]:
    """The numbers of two digits or more, with units of speed and memory."""
    return set(re.findall(r"\d[\d.,]*\d(?: (?:M|k|KB)\b)?", text))


def test_every_figure_of_the_paper_is_on_a_page_that_it_names(generated: dict[Path, str]) -> None:
    text = PAPER.read_text(encoding="utf-8")
    named = {(PAPER.parent / name).resolve() for name in re.findall(r"\]\(([^)#:]+\.md)[#)]", text)}
    named |= {ROOT / name for name in re.findall(r"`([\w/]+\.md)`", text)}
    pages = [generated[page] if page in generated else page.read_text(encoding="utf-8") for page in named]
    assert len(named) > 10 and figures(text) <= figures("\n".join(pages))


def test_the_citation_names_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    [paper] = citation["references"]
    assert ROOT / paper["filename"] == PAPER
    assert PAPER.read_text(encoding="utf-8").startswith(f"# {paper['title']}\n")


def test_every_file_names_the_same_version() -> None:
    for file, line in (("pyproject.toml", r'^version = "(.+)"$'), ("CITATION.cff", r"^version: (.+)$")):
        found = re.findall(line, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert found == [__version__], file
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {__version__} (" in changelog


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short_on_its_page_and_has_a_run(path: Path) -> None:
    """``make test-examples`` runs it, or a test of language agents does."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 200
    runs = (ROOT / ".ci" / "examples").read_text(encoding="utf-8")
    tests = "".join(test.read_text(encoding="utf-8") for test in (ROOT / "tests/language").glob("test_*.py"))
    run = re.search(rf"^ *run \S+ {path.stem} ", runs, flags=re.MULTILINE)
    assert run or re.search(rf"(from |/ \"){path.stem}\b", tests)
    assert f"examples/{path.name}\n" in (ROOT / "docs/how-to/examples.md").read_text(encoding="utf-8")


WITH_CODE = ["README.md", "docs/how-to/evaluate.md", "docs/how-to/other-libraries.md"]


@pytest.mark.parametrize("page", WITH_CODE)
def test_every_python_block_runs(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trainings are shortened to one rollout, games to 300 steps."""
    monkeypatch.setattr("solitaire_env.evaluation.evaluator.step_limit", lambda _: 300)
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(re.sub(r"\blearn\([\d_]+\)", "learn(1)", block), page, "exec"), names)
    assert blocks and "cards home" in capsys.readouterr().out
