"""Tables of results."""

from collections.abc import Sequence

from solitaire_env.evaluation import Summary


def summary_table(rows: Sequence[tuple[str, str, Summary]]) -> str:
    """Policies with their rates and 95 % intervals as text: name, action set and summary of each."""
    head = ("policy", "moves", "games", "win rate", "", "cards home", "", "steps", "truncated", "repeated")
    lines = [head]
    for name, moves, s in rows:
        lines.append(
            (
                name,
                moves,
                str(s.games),
                f"{100 * s.win_rate:.1f} %",
                f"[{100 * s.win_interval[0]:.1f}, {100 * s.win_interval[1]:.1f}]",
                f"{s.cards_home:.1f}",
                f"[{s.cards_interval[0]:.1f}, {s.cards_interval[1]:.1f}]",
                f"{s.steps:.0f}",
                f"{100 * s.truncated:.1f} %",
                f"{100 * s.repeated:.1f} %",
            )
        )
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        "  ".join(
            f"{cell:<{w}}" if k < 2 else f"{cell:>{w}}"
            for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
