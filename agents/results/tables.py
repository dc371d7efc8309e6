"""Tables of results."""

from collections.abc import Sequence

from agents.results.stored import Training
from solitaire_env.evaluation import Game, Summary, mcnemar, wilson_interval


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


def table(head: list[str], rows: list[list[str]], texts: int = 1) -> str:
    """A Markdown table; columns after the first ``texts`` are right-aligned."""
    rules = ["---" if column < texts else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rules, *rows))


def range_text(part: range) -> str:
    """A set of deals in the format of tables."""
    return f"{part[0]}-{part[-1]}"


def share(wins: int, games: int) -> str:
    """A share of games, with Wilson's interval."""
    low, high = wilson_interval(wins, games)
    return f"{100 * wins / games:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def won(games: Sequence[Game]) -> str:
    """Games won, with Wilson's interval; a dash without games."""
    return share(sum(game.won for game in games), len(games)) if games else "-"


def home(s: Summary) -> str:
    """Cards home, with the bootstrap interval; a dash without games."""
    return f"{s.cards_home:.1f} [{s.cards_interval[0]:.1f}, {s.cards_interval[1]:.1f}]" if s.games else "-"


def cost(training: Training | None) -> str:
    """Cost of training, in words; a dash without training."""
    if training is None:
        return "-"
    parts = []
    if training.steps is not None:
        parts.append(f"{training.steps / 1e6:.1f} M steps")
    if training.minutes is not None:
        parts.append(f"{training.minutes:.{0 if training.minutes >= 10 else 1}f} min")
    return ", ".join(parts) or "unknown"


def against(games: Sequence[Game], others: Sequence[Game]) -> str:
    """The paired test of a policy's games against another's on the same deals."""
    if not any(game.won for game in (*games, *others)):
        return f"cards home, {_p(signed_rank(games, others))}"
    only, only_others, p = mcnemar(games, others)
    return f"{only} : {only_others}, {_p(p)}"


def signed_rank(first: Sequence[Game], second: Sequence[Game]) -> float:
    """Two-sided p of Wilcoxon's signed-rank test on cards home of the same deals."""
    from scipy.stats import wilcoxon

    differences = [a.cards_home - b.cards_home for a, b in zip(first, second, strict=True)]
    return float(wilcoxon(differences).pvalue) if any(differences) else 1.0


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
