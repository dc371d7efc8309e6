"""The table of results and bars."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from benchmarks.rounds import Speed


class Row(NamedTuple):
    """A row of the table, as text."""

    what: str
    measured: str
    ratio: str = "-"
    bar: str = "-"
    met: str = "-"


HEAD: Final = Row("what", "measured", "ratio", "bar", "met")


def ratio_row(what: str, ours: Speed, theirs: Speed, at_least: float | None) -> Row:
    """Ratio of our steps per second to theirs."""
    ratio = ours.median / theirs.median
    measured = f"{short(ours.median)} / {short(theirs.median)} steps/s"
    if at_least is None:
        return Row(what, measured, f"{ratio:.2f}")
    return Row(what, measured, f"{ratio:.2f}", f">= {at_least:g}", _met(ratio >= at_least))


def slowdown_row(what: str, longest: float, shortest: float, at_most: float) -> Row:
    """Ratio of the time of a step, in nanoseconds, to the shortest."""
    ratio = longest / shortest
    measured = f"{longest:.0f} / {shortest:.0f} ns a step"
    return Row(what, measured, f"{ratio:.2f}", f"<= {at_most:g}", _met(ratio <= at_most))


def rate_row(what: str, speed: Speed, unit: str, at_least: float | None = None) -> Row:
    """A rate and its minimum."""
    measured = f"{short(speed.median)} {unit}"
    if at_least is None:
        return Row(what, measured)
    return Row(what, measured, bar=f">= {short(at_least)} {unit}", met=_met(speed.median >= at_least))


def limit_row(what: str, value: float, unit: str, at_most: float, note: str = "", also: bool = True) -> Row:
    """A number and its maximum; ``also`` is a further condition, ``note`` explains it."""
    measured = f"{value:.3g} {unit}{note}"
    return Row(what, measured, bar=f"<= {at_most:g} {unit}", met=_met(also and value <= at_most))


def short(rate: float) -> str:
    """Three digits and M or k: ``7.41 M``."""
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if rate >= size:
            return f"{rate / size:.0f}{letter}" if rate >= 100 * size else f"{rate / size:.3g}{letter}"
    return f"{rate:.3g}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, aligned as text; the first column is left-aligned, the others right."""
    body = [tuple(row) for row in rows]
    widths = [max(len(row[column]) for row in (head, *body)) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
        return f"| {' | '.join(cells)} |"

    rule = [f":{'-' * (widths[0] - 1)}", *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    return "\n".join([line(head), f"| {' | '.join(rule)} |", *map(line, body)])


def _met(met: bool) -> str:
    return "yes" if met else "no"
