"""Write the pages made from the variants, the commands and the stored results: ``python -m docs.generate``.

Sphinx runs it at each build. Only the index of the games is committed; git ignores the other pages.
"""

import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from agents.__main__ import COMMANDS
from agents.reports.pages import whole_pages
from solitaire_env.core.layout import action_layout, observation_layout
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import action_text, parse_position
from solitaire_env.registration import STEPS_PER_CARD, env_id
from solitaire_env.render.ansi import render_ansi
from solitaire_env.variants import VARIANTS, WORRIES, Variant

DOCS: Final = Path(__file__).parent
REFERENCE: Final = DOCS / "reference"

GAMES_PAGE: Final = """\
<!-- Written by `python -m docs.generate` from the variants. -->

# The games

{count} published games. `python -m solitaire_env rules NAME` prints the rules of one, their sources and the
differences from other programs. In {worries} of them PySolFC lets cards leave the foundations again; here
they stay. Apart from the listed differences, the legal moves are those of PySolFC in every position that
was compared: see [how the rules are tested](../explanation/correctness.md).

One-card games take `moves="supermove"`: the same game with
[more actions](positions-and-actions.md#supermoves). The step limit is {steps} steps a card.

{table}

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

`{id}`

{rules}

Deal 0, which `python -m solitaire_env show {name}` prints too:

```text
{board}
```

## Actions

{actions}
{supermove}
## Observation

`observation="cards"`, int8, by the names of `env.unwrapped.observation_layout`:

{observation}
"""


def table(head: Sequence[str], rows: Iterable[Sequence[object]], texts: int) -> str:
    """A table in Markdown; columns after the first ``texts`` are right-aligned."""
    rules = ["---" if column < texts else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in (head, rules, *rows))


def games_page() -> str:
    """``reference/games.md``: the names and sizes of all games."""
    rows = (
        [v.title, f"`{v.name}`", v.decks, v.piles, v.cells, v.stock, action_layout(v).size] for v in VARIANTS
    )
    return GAMES_PAGE.format(
        count=len(VARIANTS),
        worries=sum(WORRIES in variant.differs for variant in VARIANTS),
        steps=STEPS_PER_CARD,
        table=table(["game", "name", "decks", "tableau piles", "cells", "stock", "actions"], rows, texts=2),
    )


def game_page(variant: Variant) -> str:
    """A page of one game: its rules, its board, its actions and its observation."""
    title, _, *rules = variant.describe().splitlines()
    env = SolitaireEnv(variant)
    env.reset(options={"deal": 0})
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
        board=render_ansi(parse_position(env.position(hidden=True))),
        actions=table(["kind", "moves", "first", "last"], _action_rows(variant), texts=4),
        supermove=f'\nWith `moves="supermove"` there are {supermove}.\n' if supermove else "",
        observation=table(["slice", "first", "last", "entries"], _observation_rows(variant), texts=1),
    )


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
    listed = re.match(r"usage: .*? \{([a-z,-]+)\}(?: |\n)", text)
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
    out = {REFERENCE / "games.md": games_page(), REFERENCE / "command-line.md": command_line_page()}
    out |= {REFERENCE / "games" / f"{variant.name}.md": game_page(variant) for variant in VARIANTS}
    return out | whole_pages()


def main() -> None:
    """Write the pages. Unchanged ones are not touched, so that Sphinx does not read them again."""
    written = pages()
    for path in {*(REFERENCE / "games").glob("*.md")} - {*written}:
        path.unlink()
    for path, text in written.items():
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
