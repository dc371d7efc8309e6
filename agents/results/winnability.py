"""How many deals of each game can be won, from the stored solver results: a picture and a table."""

from collections.abc import Mapping
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from agents.results import stored
from agents.results.solver_results import SolverResult
from agents.results.tables import interval, percent, share, table
from solitaire_env import VARIANTS
from solitaire_env.evaluation import wilson_interval

PUBLISHED: Final = {
    "klondike": 90.48,
    "klondike-draw-3": 81.95,
    "freecell": 99.999,
    "eights-down": 99.88,
    "bakers-game": 75.05,
    "seahaven-towers": 89.33,
    "forecell": 85.62,
}
"""Shares of deals that can be won, in percent: Blake and Gent, JAIR 85, 2026."""
COLORS: Final = {"won": "#009E73", "open": "#D8D8D8", "proven lost": "#D55E00"}
"""Of the parts of a bar, from the left."""
LEFT, WIDTH, ROW, BAR, TOP, RIGHT = 190, 520, 22, 14, 34, 70
"""Sizes of the picture in pixels: the names, the bars, a row, a bar, the legend, the numbers of deals."""


class Counts(NamedTuple):
    """The results of a game."""

    name: str
    title: str
    won: int
    lost: int
    """Proven: no line of play wins."""
    deals: int
    seconds: float
    """The most that a deal took."""

    @property
    def can_be_won(self) -> tuple[float, float]:
        """An interval of 95 % for the share of all deals that can be won, wherever the open ones belong."""
        return wilson_interval(self.won, self.deals)[0], 1 - wilson_interval(self.lost, self.deals)[0]


def counted(results: Mapping[str, Mapping[int | str, SolverResult]]) -> list[Counts]:
    """The games that the solver has played, by deals of the standard set; the most winnable first."""
    found = []
    for variant in VARIANTS:
        rows = [row for deal, row in results.get(variant.name, {}).items() if deal in stored.STANDARD]
        if rows:
            status = [row.status for row in rows]
            found.append(
                Counts(
                    variant.name, variant.title, status.count("won"), status.count("unwinnable"), len(rows),
                    max(row.seconds for row in rows),
                )
            )  # fmt: skip
    return sorted(found, key=lambda one: (-one.won / one.deals, one.lost / one.deals, one.title))


def winnability_table(games: list[Counts]) -> str:
    """A row for each game."""
    head = ["game", "deals", "won", "proven lost", "open", "can be won, of all deals", "published", "s"]
    rows = [
        [
            one.title,
            f"{one.deals}",
            share(one.won, one.deals),
            percent(one.lost / one.deals),
            percent((one.deals - one.won - one.lost) / one.deals),
            interval(one.can_be_won, 100),
            f"{PUBLISHED[one.name]} %" if one.name in PUBLISHED else "-",
            f"{one.seconds:.1f}",
        ]
        for one in games
    ]
    return table(head, rows)


def winnability_picture(games: list[Counts]) -> str:
    """A bar for each game, as SVG: won, open and proven lost; a line is the interval of what can be won, a
    point the published share.
    """
    height = TOP + ROW * len(games) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for place, (word, color) in enumerate(COLORS.items()):
        x = LEFT + 110 * place
        parts.append(f'<rect x="{x}" y="8" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text x="{x + 17}" y="18">{word}</text>')
    parts.append(f'<circle cx="{LEFT + 336}" cy="14" r="3.5"/><text x="{LEFT + 346}" y="18">published</text>')
    parts.append(f'<text x="{LEFT + WIDTH + 8}" y="18">deals</text>')
    for place, one in enumerate(games):
        parts += _bar(one, TOP + ROW * place)
    for tick in range(0, 101, 20):
        at = LEFT + WIDTH * tick / 100
        parts.append(f'<text x="{at:g}" y="{height - 8}" text-anchor="middle">{tick} %</text>')
    return "\n".join([*parts, "</svg>", ""])


def _bar(one: Counts, y: int) -> list[str]:
    """The row of a game whose upper edge is at y."""
    middle, x = y + BAR / 2, float(LEFT)
    parts = [f'<text x="{LEFT - 8}" y="{middle + 4:g}" text-anchor="end">{escape(one.title)}</text>']
    numbers = (one.won, one.deals - one.won - one.lost, one.lost)
    for number, color in zip(numbers, COLORS.values(), strict=True):
        width = WIDTH * number / one.deals
        if number:
            parts.append(f'<rect x="{x:g}" y="{y}" width="{width:g}" height="{BAR}" fill="{color}"/>')
        x += width
    low, high = (LEFT + WIDTH * limit for limit in one.can_be_won)
    parts.append(f'<path d="M{low:.1f} {middle:g}H{high:.1f}" stroke="black"/>')
    if one.name in PUBLISHED:
        published = LEFT + WIDTH * PUBLISHED[one.name] / 100
        parts.append(f'<circle cx="{published:.1f}" cy="{middle:g}" r="3.5"/>')
    parts.append(f'<text x="{LEFT + WIDTH + 8}" y="{middle + 4:g}">{one.deals:,}</text>')
    return parts
