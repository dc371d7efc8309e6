"""Write the generated pages: ``python -m docs.generate``.

They are read from the variants (``reference/games.md``, ``reference/games/``), from the examples
(``how-to/examples.md``, ``how-to/examples/``) and from the source code (:mod:`docs.sources`). They are
committed; a test compares them with what this would write.
"""

import ast
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from docs.sources import api_pages, configuration_page, map_page
from docs.tables import table
from solitaire_env.cli import SIZES, game_sizes
from solitaire_env.core.layout import action_layout, observation_layout
from solitaire_env.env import SolitaireEnv
from solitaire_env.notation import action_text, parse_position
from solitaire_env.registration import STEPS_PER_CARD, env_id
from solitaire_env.render.ansi import render_ansi
from solitaire_env.variants import VARIANTS, WORRIES, Variant

DOCS: Final = Path(__file__).parent
EXAMPLES: Final = sorted((DOCS.parent / "examples").glob("*.py"))
NOTE: Final = "<!-- Written by `python -m docs.generate`: change that, or the variants. -->\n"

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

GAMES_PAGE: Final = """
# The games

{count} published games. Each has a page with its rules, their sources and the differences in other programs.
In {worries} of them PySolFC lets cards leave the foundations again; here they stay. Apart from the
differences on the pages, the legal moves are those of PySolFC in every position that was compared: see
[how the rules are tested](../explanation/correctness.md).

{tables}

Pile capacity is the most cards that a tableau pile can ever hold. Observation sizes are those of
`information="player"`. One-card games take `moves="supermove"`: the same game with
[more actions](positions-and-actions.md#supermoves). The step limit is {steps} steps a card.

`python -m solitaire_env list --json` prints the table as JSON.

```{{toctree}}
:maxdepth: 1

{pages}
```
"""

GROUPS: Final[dict[str, Callable[[Variant], bool]]] = {
    "Games with shipped policies": lambda variant: variant in VARIANTS[:5],
    "Other games with a stock": lambda variant: variant.stock > 0,
    "Other games without a stock": lambda variant: True,
}
"""The tables of the page, and their games; a game is in the first table that takes it."""

GAME_PAGE: Final = """
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


EXAMPLES_NOTE: Final = "<!-- Written by `python -m docs.generate`: change the example. -->\n"

EXAMPLES_PAGE: Final = """
# Examples

One file for each library, in `examples/` of the repository. Each trains for a minute or two on one core with
illegal actions masked, plays deals that no training deals, and prints the win rate with its 95 % interval.

```{{toctree}}
:maxdepth: 1

{pages}
```
"""

EXAMPLE_PAGE: Final = """
# {title}

{text}

```{{literalinclude}} ../../../examples/{name}
:language: python
:lines: {first}-
:caption: examples/{name}
```
"""


def games_page() -> str:
    """``reference/games.md``: the sizes of all games."""
    left = list(VARIANTS)
    tables = []
    for title, takes in GROUPS.items():
        games = [game_sizes(variant) for variant in left if takes(variant)]
        left = [variant for variant in left if not takes(variant)]
        rows = ([f"[{game['title']}](games/{game['name']}.md)", *map(game.get, SIZES)] for game in games)
        tables.append(f"## {title}\n\n{table(['', *SIZES.values()], rows)}")
    return NOTE + GAMES_PAGE.format(
        count=len(VARIANTS),
        worries=sum(WORRIES in variant.differs for variant in VARIANTS),
        tables="\n\n".join(tables),
        steps=STEPS_PER_CARD,
        pages="\n".join(f"games/{variant.name}" for variant in VARIANTS),
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
    return NOTE + GAME_PAGE.format(
        title=title,
        id=env_id(variant),
        rules="\n".join(map(_rule, filter(None, rules))),
        name=variant.name,
        board=render_ansi(parse_position(env.position(hidden=True))),
        actions=table(["kind", "moves", "first", "last"], _action_rows(variant), texts=4),
        supermove=f'\nWith `moves="supermove"` there are {supermove}.\n' if supermove else "",
        observation=table(["slice", "first", "last", "entries"], _observation_rows(variant)),
    )


def _rule(line: str) -> str:
    word, colon, rest = line.partition(": ")
    return f"- **{word}:** {rest}" if colon else f"- {line}"


def _action_rows(variant: Variant) -> Iterable[list[object]]:
    for kind, numbers in action_layout(variant).offsets.items():
        ends = (f"{number} `{action_text(variant, number)}`" for number in (numbers.start, numbers.stop - 1))
        yield [kind, KINDS[kind], *ends]


def _observation_rows(variant: Variant) -> Iterable[list[object]]:
    layout = observation_layout(variant)
    last = layout[f"t{variant.piles}"]
    capacity = last.stop - last.start
    yield [f"`t1` .. `t{variant.piles}`", 0, last.stop - 1, f"{variant.piles} x {capacity}"]
    for name, part in layout.items():
        if part.start >= last.stop:
            yield [f"`{name}`", part.start, part.stop - 1, part.stop - part.start]


def examples_page() -> str:
    """``how-to/examples.md``: the list of the examples."""
    return EXAMPLES_NOTE + EXAMPLES_PAGE.format(pages="\n".join(f"examples/{path.stem}" for path in EXAMPLES))


def example_page(path: Path) -> str:
    """A page of one example: its docstring, then its code."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    title, _, text = (ast.get_docstring(module) or "").replace("``", "`").partition("\n")
    return EXAMPLES_NOTE + EXAMPLE_PAGE.format(
        title=title.rstrip("."),
        text=text.strip(),
        name=path.name,
        first=module.body[1].lineno,
    )


def pages() -> dict[Path, str]:
    """The text of every generated page, by its file."""
    reference, how_to = DOCS / "reference", DOCS / "how-to"
    out = {reference / "games.md": games_page()}
    out |= {reference / "games" / f"{variant.name}.md": game_page(variant) for variant in VARIANTS}
    out[reference / "configuration.md"] = configuration_page()
    out |= api_pages()
    out[how_to / "examples.md"] = examples_page()
    out |= {how_to / "examples" / f"{path.stem}.md": example_page(path) for path in EXAMPLES}
    out[DOCS / "explanation" / "where-is-what.md"] = map_page()
    return out


def main() -> None:
    """Write the pages."""
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
