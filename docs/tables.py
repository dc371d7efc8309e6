"""Markdown tables."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]], texts: int = 1) -> str:
    """A table; columns after the first ``texts`` are right-aligned, None becomes a dash."""
    rules = ["---" if column < texts else "---:" for column in range(len(head))]
    body = (["-" if entry is None else str(entry) for entry in row] for row in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rules, *body))
