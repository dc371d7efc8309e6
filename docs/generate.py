"""Write the pages made from the variants, the commands and the stored results: ``python -m docs.generate``.

Sphinx runs it at each build. Only the index of the games is committed; git ignores the other pages.
"""

import contextlib
import inspect
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np
from PIL import Image, ImageColor

import solitaire_env
from agents.__main__ import COMMANDS
from agents.results.pages import whole_pages
from solitaire_env.benchmark import references
from solitaire_env.core.layout import action_layout, observation_layout
from solitaire_env.core.observations import observation_size
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import action_text, parse_position
from solitaire_env.policies.shipped import shipped_games
from solitaire_env.registration import STEPS_PER_CARD, env_id, step_limit
from solitaire_env.render.picture import TABLE, render_rgb
from solitaire_env.variants import VARIANTS, WORRIES, Variant, grouped

DOCS: Final = Path(__file__).parent
REFERENCE: Final = DOCS / "reference"
GAMES: Final = REFERENCE / "games"

GAMES_PAGE: Final = """\
<!-- Written by `python -m docs.generate` from the variants and the stored results. -->

# The games

{count} published games. `python -m solitaire_env rules NAME` prints the rules of one, their sources and the
differences from other programs. In {worries} of them PySolFC lets cards leave the foundations again; here
they stay. Apart from the listed differences, the legal moves are those of PySolFC in every position that
was compared: see [how the rules are tested](../explanation/correctness.md).

One-card games take `moves="supermove"`: the same game with
[more actions](positions-and-actions.md#supermoves). The step limit is {steps} steps a card.

The id is that of `gymnasium.make("solitaire_env:ID")`. The last column says how many of its deals the best
stored player wins that does not know the order of the stock; the page of a game names that player.

{tables}

```{{toctree}}
:glob:
:maxdepth: 1

games/*
```
"""

KINDS: Final = {
    "draw": "the next cards of the stock to the waste",
    "redeal": "the waste turned over to the stock",
    "home": "each source to a foundation",
    "cell": "each source but cells to a cell",
    "tableau": "each source to each tableau pile but itself",
    "space": "each source to a space",
    "worry": "from the foundations of each suit onto each tableau pile",
}
"""What the actions of each kind do."""

GAME_PAGE: Final = """\
# {title}

![Deal 0 of {title}]({name}.png)

<p><a href="../../play/index.html?game={name}">Play this game</a></p>

{rules}

```python
env = gym.make("solitaire_env:{id}")
```

{sizes}

## Results

{results}

## Actions

{actions}
{supermove}
## Observation

`observation="cards"`, int8, by the names of `env.unwrapped.observation_layout`:

{observation}

[Not in it, although the player has seen it](../information.md): {forgotten}.
"""
RESULTS: Final = {
    "random": "a random legal move",
    "greedy": "the best move in a fixed order",
    "best": "the best stored result",
    "thoughtful": "the solver, which knows the stock",
}
"""What the references of the benchmark are."""
PICTURE: Final = (1200, 900)
"""Width and height of a picture of a game in pixels, before the empty table around the cards is cut off."""
MARGIN: Final = 16
TABLE_COLOR: Final = ImageColor.getrgb(TABLE)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], texts: int) -> str:
    """A table in Markdown; columns after the first ``texts`` are right-aligned."""
    rules = ["---" if column < texts else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in (head, rules, *rows))


def games_page() -> str:
    """``reference/games.md``: the names, ids, sizes and best results of all games."""
    head = ["game", "name", "id", "decks", "tableau piles", "cells", "stock", "actions", "best result"]
    tables = (
        f"## {group}\n\n{table(head, map(_game_row, games), texts=3)}" for group, games in grouped().items()
    )
    return GAMES_PAGE.format(
        count=len(VARIANTS),
        worries=sum(WORRIES in variant.differs for variant in VARIANTS),
        steps=STEPS_PER_CARD,
        tables="\n\n".join(tables),
    )


def _game_row(v: Variant) -> list[object]:
    best = references(v).get("best")
    sizes = [v.decks, v.piles, v.cells, v.stock, action_layout(v).size]
    won = "-" if best is None else f"{100 * best.win_rate:.1f} %"
    return [v.title, f"`{v.name}`", f"`{env_id(v)}`", *sizes, won]


def game_page(variant: Variant) -> str:
    """A page of one game: its board, its rules, its sizes, its results, its actions and its observation."""
    title, _, *rules = variant.describe().splitlines()
    supermove = (
        action_layout(variant.with_rules(moves="supermove")).size
        if variant.moves == "one card" and variant.takes_supermoves
        else None
    )
    return GAME_PAGE.format(
        title=title,
        id=env_id(variant),
        rules="\n".join(map(_rule, filter(None, rules))),
        name=variant.name,
        sizes=table(["actions", "observation", "step limit"], [_sizes(variant)], texts=0),
        results=_results(variant),
        actions=table(["kind", "moves", "first", "last"], _action_rows(variant), texts=4),
        supermove=f'\nWith `moves="supermove"` there are {supermove}.\n' if supermove else "",
        observation=table(["slice", "first", "last", "entries"], _observation_rows(variant), texts=1),
        forgotten=" and ".join(forgotten(variant)) or "nothing",
    )


def forgotten(variant: Variant) -> list[str]:
    """What a player has seen and the position does not show any more, so that it must be remembered."""
    found = []
    if variant.passes != 1:
        found.append('the order of the stock after a redeal, which `information="memory"` shows')
    if variant.foundation_build == "alternate color":
        found.append("the suits on the foundations")
    return found


def game_picture(variant: Variant) -> bytes:
    """The board of deal 0, a PNG file."""
    env = SolitaireEnv(variant)
    env.reset(options={"deal": 0})
    picture = render_rgb(parse_position(env.position(hidden=True)), PICTURE)
    drawn = (picture != TABLE_COLOR).any(-1)
    (top, *_, bottom), (left, *_, right) = np.flatnonzero(drawn.any(1)), np.flatnonzero(drawn.any(0))
    cut = picture[max(0, top - MARGIN) : bottom + MARGIN, max(0, left - MARGIN) : right + MARGIN]
    file = io.BytesIO()
    Image.fromarray(cut).save(file, "png", optimize=True)
    return file.getvalue()


def _sizes(variant: Variant) -> list[str]:
    return [
        f"`Discrete({action_layout(variant).size})`",
        f"`Box({observation_size(variant, 'cards')},)` int8",
        f"{step_limit(variant)}",
    ]


def _results(variant: Variant) -> str:
    """The references of the benchmark as a table, and where to find more."""
    rows = [
        [
            what if role in ("random", "greedy") else f"{what}: `{known.policy}`",
            known.deals,
            f"{100 * known.win_rate:.1f} %",
            f"{known.cards_home:.1f} of {variant.cards}",
        ]
        for role, what in RESULTS.items()
        if (known := references(variant).get(role))
    ]
    written = table(["policy", "deals", "won", "cards home"], rows, texts=2)
    more = "[The protocol](../protocol.md) says what these figures mean."
    if variant.name in shipped_games():
        more += (
            f' `load_policy("shipped", "{variant.name}")` is a trained network; the'
            f" [leaderboard](../leaderboard.md#{variant.name}) has its intervals."
        )
    return f"{written}\n\n{more}"


def _rule(line: str) -> str:
    word, colon, rest = line.partition(": ")
    return f"- **{word}:** {rest}" if colon else f"- {line}"


def _action_rows(variant: Variant) -> Iterator[list[object]]:
    for kind, numbers in action_layout(variant).offsets.items():
        ends = (f"{number} `{action_text(variant, number)}`" for number in (numbers.start, numbers.stop - 1))
        yield [kind, KINDS[kind], *ends]


def _observation_rows(variant: Variant) -> Iterator[list[object]]:
    layout = observation_layout(variant)
    last = layout[f"t{variant.piles}"]
    capacity = last.stop - last.start
    yield [f"`t1` .. `t{variant.piles}`", 0, last.stop - 1, f"{variant.piles} x {capacity}"]
    for name, part in layout.items():
        if part.start >= last.stop:
            yield [f"`{name}`", part.start, part.stop - 1, part.stop - part.start]


PUBLIC_PAGE: Final = """\
# Public names

`import solitaire_env` registers the games for `gymnasium.make`. These names are in the package itself:

{package}

The modules that programs use besides:

{modules}
"""
MODULES: Final = (
    "env", "vector", "wrappers", "sb3", "loading", "policies", "evaluation", "solving", "benchmark", "splits",
    "text", "notation", "transcripts", "testing", "render", "core",
)  # fmt: skip
"""The modules with public functions, the most used first."""


def public_names_page() -> str:
    """``reference/public-names.md``: what a program imports, and what it is."""
    names = (
        [_link(name, getattr(solitaire_env, name)), _first_sentence(getattr(solitaire_env, name))]
        for name in solitaire_env.__all__
        if name != "VARIANTS"
    )
    modules = (
        [
            f"{{py:mod}}`solitaire_env.{name}`",
            _first_sentence(import_module(f"solitaire_env.{name}")),
        ]
        for name in MODULES
    )
    return PUBLIC_PAGE.format(
        package=table(["name", "what it is"], [["`VARIANTS`", "All published games."], *names], texts=2),
        modules=table(["module", "what it is for"], modules, texts=2),
    )


def _link(name: str, of: Any) -> str:
    """The name of a class or function, with a link to its page."""
    return f"{{py:obj}}`{name} <{of.__module__}.{name}>`" if callable(of) else f"`{name}`"


def _first_sentence(of: Any) -> str:
    """The first sentence of a docstring, in Markdown."""
    text = " ".join((inspect.getdoc(of) or "").removeprefix("## Description\n").split())
    text = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", text).replace("``", "`")
    return f"{text.partition('. ')[0].rstrip('.:')}."


def command_line_page() -> str:
    """``reference/command-line.md``: the help of every command and subcommand."""
    parts = ["# Command line\n\nThis page is what each command prints with `--help`.\n"]
    for package in ("solitaire_env", "agents"):
        for words, text in _helps(package):
            parts.append(f"{'#' * (len(words) + 1)} {' '.join(words)}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def _helps(*words: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The help of a command, then those of its subcommands, which its usage lists in braces."""
    text = help_text(*words)
    yield words, text
    listed = re.match(r"usage: .* \[-h\] \{([a-z,-]+)\}\n", text)
    for name in COMMANDS if words == ("agents",) else listed[1].split(",") if listed else ():
        yield from _helps(*words, name)


def help_text(package: str, *arguments: str) -> str:
    """What ``python -m package arguments --help`` prints."""
    module: Any = import_module("solitaire_env.cli" if package == "solitaire_env" else f"{package}.__main__")
    printed = io.StringIO()
    with (
        patch.dict(os.environ, COLUMNS="88"),
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
    ):
        module.main([*arguments, "--help"])
    return printed.getvalue().strip("\n")


def pages() -> dict[Path, str]:
    """The text of every written page, by its file. Sphinx itself writes those of the API."""
    out = {
        REFERENCE / "games.md": games_page(),
        REFERENCE / "public-names.md": public_names_page(),
        REFERENCE / "command-line.md": command_line_page(),
    }
    out |= {GAMES / f"{variant.name}.md": game_page(variant) for variant in VARIANTS}
    return out | whole_pages()


def main() -> None:
    """Write the pages. Unchanged ones are not touched, so that Sphinx does not read them again."""
    written = {path: text.encode() for path, text in pages().items()}
    written |= {GAMES / f"{variant.name}.png": game_picture(variant) for variant in VARIANTS}
    for path in {*GAMES.glob("*")} - {*written}:
        path.unlink()
    for path, content in written.items():
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)


if __name__ == "__main__":
    main()
