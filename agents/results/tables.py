"""Tables of results."""

from collections.abc import Sequence

from agents.results.stored import Training
from solitaire_env.evaluation import Game, Summary, mcnemar, wilson_interval
from solitaire_env.util.messages import text_table


def summary_table(rows: Sequence[tuple[str, str, Summary]]) -> str:
    """Policies with their rates and 95 % intervals as text: name, action set and summary of each."""
    head = ("policy", "moves", "games", "win rate", "", "cards home", "", "steps", "truncated", "repeated")
    lines = [
        (
            name,
            moves,
            s.games,
            percent(s.win_rate),
            interval(s.win_interval, 100),
            f"{s.cards_home:.1f}",
            interval(s.cards_interval),
            f"{s.steps:.0f}",
            percent(s.truncated),
            percent(s.repeated),
        )
        for name, moves, s in rows
    ]
    return text_table(head, lines, texts=2)


def percent(part: float) -> str:
    """A share: ``33.0 %``."""
    return f"{100 * part:.1f} %"


def interval(limits: tuple[float, float], scale: float = 1) -> str:
    """An interval: ``[27.9, 38.5]``."""
    return f"[{scale * limits[0]:.1f}, {scale * limits[1]:.1f}]"


def table(head: list[str], rows: list[list[str]], texts: int = 1) -> str:
    """A Markdown table; columns after the first ``texts`` are right-aligned."""
    rules = ["---" if column < texts else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rules, *rows))


def range_text(part: range) -> str:
    """A set of deals in the format of tables."""
    return f"{part[0]}-{part[-1]}"


def share(wins: int, games: int) -> str:
    """A share of games, with Wilson's interval."""
    return f"{percent(wins / games)} {interval(wilson_interval(wins, games), 100)}"


def won(games: Sequence[Game]) -> str:
    """Games won, with Wilson's interval; a dash without games."""
    return share(sum(game.won for game in games), len(games)) if games else "-"


def home(s: Summary) -> str:
    """Cards home, with the bootstrap interval; a dash without games."""
    return f"{s.cards_home:.1f} {interval(s.cards_interval)}" if s.games else "-"


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
