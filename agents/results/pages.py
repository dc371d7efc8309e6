"""Pages and tables written from the stored results (:mod:`agents.results.stored`). No game is played."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from agents.results import by_game, stored
from agents.results.benchmark import benchmark_data, known_winnable, splits_data
from agents.results.model_card import model_card
from agents.results.solver_results import SolverResult, solver_results, solver_table
from agents.results.stored import Entry, read_abouts, read_entries, read_leaderboard, weights_hash
from agents.results.submissions import Submission, read_submissions
from agents.results.tables import against, cost, home, range_text, share, table, won
from agents.results.winnability import counted, winnability_picture, winnability_table
from solitaire_env import VARIANTS, Variant, benchmark, env_id, splits
from solitaire_env.evaluation import Summary, summarize
from solitaire_env.family import TEST, TRAIN
from solitaire_env.loading import SEARCH
from solitaire_env.policies import shipped
from solitaire_env.registration import env_variant, step_limit

Solved = Mapping[int | str, SolverResult]
"""Solver results by deal."""
README: Path = stored.ROOT / "README.md"
SEARCH_PAGE: Path = stored.ROOT / "docs" / "explanation" / "search-and-solver.md"
PAPER: Path = SEARCH_PAGE.with_name("paper.md")
WINNABILITY_PAGE: Path = SEARCH_PAGE.with_name("winnability.md")
WINNABILITY_PICTURE: Path = stored.ROOT / "docs" / "images" / "winnability.svg"
MARK: Final = "<!-- {} -->\n"
"""Before and after a table."""


def whole_pages() -> dict[Path, str]:
    """The texts of ``leaderboard.md``, ``family.md`` and ``scoreboard.md`` in ``docs/reference``, by path.

    They are not stored: the docs' configuration writes them before it builds the docs.

    Raises
    ------
    ValueError
        If a stored result is impossible, or a submission is not valid.
    """
    reference = stored.ROOT / "docs" / "reference"
    return {
        reference / "leaderboard.md": leaderboard_page(),
        reference / "family.md": family_page(),
        reference / "scoreboard.md": scoreboard_page(),
    }


def stored_pages() -> dict[Path, str]:
    """The texts of the files in the repository that have tables of results, by path.

    These are the data of benchmark and splits, the README, three pages of ``docs/explanation`` with a
    picture, and the model cards.

    Raises
    ------
    ValueError
        If a stored result is impossible, or is of another network than the shipped one.
    """
    entries, winnable = read_leaderboard(), counted(solver_results())
    leaderboard, search = readme_table(entries), search_table(entries)
    unseen = by_game.means_table(by_game.stored_rows(), TEST)
    out = {
        benchmark.DATA: benchmark_data(entries),
        splits.DATA: splits_data(entries),
        README: with_tables(README, {"leaderboard": leaderboard}),
        PAPER: with_tables(PAPER, {"leaderboard": leaderboard, "family": unseen, "search": search}),
        SEARCH_PAGE: with_tables(SEARCH_PAGE, {"search": search, "solver": solver_table()}),
        WINNABILITY_PAGE: with_tables(WINNABILITY_PAGE, {"winnability": winnability_table(winnable)}),
        WINNABILITY_PICTURE: winnability_picture(winnable),
    }
    for game in shipped.shipped_games():
        folder = shipped.SHIPPED / game
        entry = entry_of(entries, game, "shipped")
        if entry is not None and entry.about.weights != weights_hash(folder):
            raise ValueError(
                f"leaderboard, {game}/shipped: played by another network than that in {folder}; "
                f"python -m agents leaderboard add leaderboard {game}/shipped --force plays it again"
            )
        out[folder / "README.md"] = model_card(folder, entry)
    return out


def with_tables(path: Path, tables: Mapping[str, str]) -> str:
    """A page with the tables between its marks replaced.

    Raises
    ------
    ValueError
        If it does not have two marks of each.
    """
    text = path.read_text(encoding="utf-8")
    for name, written in tables.items():
        mark = MARK.format(name)
        parts = text.split(mark)
        if len(parts) != 3:
            raise ValueError(f"{path}: has {len(parts) - 1} lines {mark.strip()!r}, allowed: 2")
        text = mark.join((parts[0], written + "\n", parts[2]))
    return text


def entry_of(entries: Mapping[str, Sequence[Entry]], game: str, policy: str) -> Entry | None:
    """The entry of a policy."""
    return next((entry for entry in entries.get(game, ()) if entry.name == policy), None)


# --------------------------------------------------------------------------------- leaderboard

LEADERBOARD: Final = """# Leaderboard

All figures come from the games stored in `results/`: deals {standard} of each game, the best policy first.
All policies play by the published rules. If a policy chooses among supermoves, each supermove is played as
single moves.

- **won:** games won, with Wilson's 95 % interval; **cards home:** with a bootstrap interval.
- **of known winnable:** games won / standard deals that the
  [solver](../explanation/search-and-solver.md#the-solver) or a policy of this page has won.
- **won, {final_test}:** the final test, on deals that no choice was based on.
- **against the one above:** deals that only this policy won : deals that only the one above it won;
  McNemar's exact two-sided p. If neither won any: the p of Wilcoxon's signed-rank test on cards home.
- **ms a move:** processor time per chosen move, on one thread, {side} games in parallel.

{games}
## The policies

{policies}

[Ship a network](../how-to/evaluate.md#ship-a-network-add-to-the-leaderboard) says how to add yours.

## Ablations

Trainings that differ in one setting from the first of their table. `results/ablations.json` has their
configurations. [What was tried](../explanation/what-was-tried.md) has the conclusions.

{ablations}
"""


def leaderboard_page() -> str:
    """The leaderboard of every game, and the ablations."""
    entries, solved = read_leaderboard(), solver_results()
    games = [variant.name for variant in VARIANTS if variant.name in entries]
    made = {(e.name, e.about.made) for of_game in entries.values() for e in of_game}
    return LEADERBOARD.format(
        standard=range_text(stored.STANDARD),
        final_test=range_text(stored.FINAL_TEST),
        side=stored.TIMED_ENVS,
        games="\n".join(game_section(game, entries[game], solved.get(game, {})) for game in games),
        policies=table(["policy", "what it is"], [[f"`{p}`", m] for p, m in sorted(made)], 2),
        ablations="\n\n".join(
            f"### {name}\n\n{ablation_table(trained)}" for name, trained in read_entries("ablations").items()
        ),
    )


def game_section(game: str, entries: Sequence[Entry], solved: Solved) -> str:
    """The part of the leaderboard about a game: a table of what is reached, and one of how."""
    variant = env_variant(game)
    winnable = known_winnable(stored.STANDARD, entries, solved)
    of_winnable = [f"of {len(winnable)} known winnable"] if winnable else []
    reached = [
        [
            f"`{entry.name}`",
            won(entry.standard),
            *([f"{100 * entry.summary.wins / len(winnable):.1f} %"] if winnable else []),
            home(entry.summary),
            won(entry.of(stored.FINAL_TEST)),
        ]
        for entry in entries
    ]
    tests = ["-", *(against(worse.standard, better.standard) for better, worse in pairwise(entries))]
    how = [
        [
            f"`{entry.name}`",
            entry.games[0].moves,
            test,
            f"{entry.about.ms_per_move:.2g}",
            cost(entry.about.training),
        ]
        for entry, test in zip(entries, tests, strict=True)
    ]
    head = ["policy", "won", *of_winnable, "cards home", f"won, {range_text(stored.FINAL_TEST)}"]
    return (
        f"## {variant.title}\n\n`{env_id(variant)}`: built by {variant.build}; spaces: {variant.spaces}; "
        f"moves: {variant.moves}; at most {step_limit(variant)} steps.\n\n{table(head, reached)}\n\n"
        f"{table(['policy', 'moves', 'against the one above', 'ms a move', 'training'], how, texts=2)}\n"
    )


def ablation_table(trained: Sequence[Entry]) -> str:
    """The trainings of an ablation, compared with the first."""
    first = min(trained, key=lambda entry: int(entry.name))
    head = ["", "training", "deals", "won", "cards home", "wins only here : wins only baseline"]
    rows = [
        [
            entry.about.made,
            cost(entry.about.training),
            f"{len(entry.games)}",
            won(entry.games),
            home(summarize(entry.games)),
            "-" if entry is first else against(entry.games, first.games),
        ]
        for entry in sorted(trained, key=lambda entry: int(entry.name))
    ]
    return table(head, rows)


# ------------------------------------------------------------------------------- tables in pages


def readme_table(entries: Mapping[str, Sequence[Entry]]) -> str:
    """Games won and cards home by the project's policies."""
    names = ("random", "greedy", "greedy-supermoves", "linear", "shipped")
    head = ["", *(f"`{name}`" for name in names), f"`shipped`, {range_text(stored.FINAL_TEST)}"]
    rows = []
    for variant in VARIANTS:
        played = [entry_of(entries, variant.name, name) for name in names]
        if any(played):
            last = played[-1].of(stored.FINAL_TEST) if played[-1] else ()
            cells = [short(entry.summary if entry else summarize(())) for entry in played]
            rows.append([variant.title, *cells, short(summarize(last))])
    return table(head, rows)


def short(s: Summary) -> str:
    """Games won and cards home, without intervals; a dash without games."""
    return f"{100 * s.win_rate:.1f} %, {s.cards_home:.1f}" if s.games else "-"


def search_table(entries: Mapping[str, Sequence[Entry]]) -> str:
    """Search and the shipped networks on the same deals."""
    head = ["", "simulations", "deals", "won", "cards home", "`shipped`, the same deals"]
    head += ["only search : only `shipped`", "s a game"]
    rows = []
    searched = read_entries("search")
    for variant in VARIANTS:
        alone = entry_of(entries, variant.name, "shipped")
        by_deal = {game.deal: game for game in alone.games} if alone else {}
        for entry in sorted(searched.get(variant.name, ()), key=lambda e: e.about.seconds_per_game or 0):
            same = [by_deal[game.deal] for game in entry.games if game.deal in by_deal]
            rows.append(
                [
                    variant.title,
                    entry.name.replace("-", ", "),
                    f"{len(entry.games)}",
                    won(entry.games),
                    home(summarize(entry.games)),
                    f"{won(same)}, {home(summarize(same))}" if same else "-",
                    against(entry.games, same) if len(same) == len(entry.games) else "-",
                    f"{entry.about.seconds_per_game:.1f}",
                ]
            )
    return table(head, rows)


# -------------------------------------------------------------------------------------- family

FAMILY: Final = """# One network, many games

One network was trained on {games} games ({cost}). It reads the same features of each legal move in every
game, the rules of the game among them, and has the same weights for all: so it also plays games that it never
saw.
`greedy` and `random` need no training; `shipped` has its own network for some games. All play the same deals,
{deals} of each game. A one-card game is played by supermoves where it takes them.

- **won:** share of the deals, with Wilson's 95 % interval.
- **cards home:** share of all cards, the mean of the deals, with a bootstrap interval. In games that are
  hardly ever won this says more.

{parts}"""


def family_page() -> str:
    """How well one network plays every game."""
    rows = by_game.stored_rows()
    about = read_abouts("family").get(by_game.NETWORK)
    trained = about.games or () if about else TRAIN
    untrained = [variant.name for variant in VARIANTS if variant.name not in trained]
    deals = sorted({row.deals for of_policy in rows.values() for row in of_policy.values()})
    parts = []
    for title, games in (
        ("Games that the network never saw", untrained),
        ("Games that it was trained on", list(trained)),
    ):
        some = {name: of_policy for name, of_policy in rows.items() if of_policy.keys() & {*games}}
        of_games = by_game.games_table(some, games).replace(" % [", " %<br>[")  # narrow columns
        parts.append(f"## {title}\n\n{by_game.means_table(some, games)}\n\n{of_games}\n")
    return FAMILY.format(
        games=len(trained),
        cost=cost(about.training if about else None),
        deals=" and ".join(deals),
        parts="\n".join(parts),
    )


# ---------------------------------------------------------------------------------- scoreboard

SCOREBOARD: Final = """# Scoreboard

Results that others have sent, beside the references of the benchmark, by game. The figures are those of the
senders. [The protocol](protocol.md#submit-a-result) says what counts and how to send one. The project's own
policies, whose games are stored, are on the [leaderboard](leaderboard.md).

- **deals:** a [split](protocol.md#splits); the numbers of the deals of a reference.
- **won:** with Wilson's 95 % interval; **cards home:** the mean.
- **score:** 0 for `random`, 100 for the [best stored result](protocol.md#what-to-report) of the track.

{parts}
"""


def scoreboard_page() -> str:
    """The submissions, and the references of their games."""
    submissions = read_submissions()
    sent = {env_variant(row.env) for one in submissions for row in one.results}
    parts = [scoreboard_section(variant, submissions) for variant in VARIANTS if variant in sent]
    made = [[f"[{one.name}]({one.code})", one.made, one.budget] for one in submissions]
    policies = f"## The policies\n\n{table(['policy', 'what it is', 'budget'], made, 3)}"
    return SCOREBOARD.format(parts="\n\n".join([*parts, policies]) if made else "There is none yet.")


def scoreboard_section(variant: Variant, submissions: Sequence[Submission]) -> str:
    """The references of a game, then its submissions: by split, the most cards home first."""
    rows = []
    for role, known in benchmark.references(variant).items():
        search = known.policy.startswith(SEARCH)
        track: benchmark.Track = "thoughtful" if role == "thoughtful" else "search" if search else "player"
        games = len(splits.parse_deals(known.deals))
        result = round(known.win_rate * games), games, known.cards_home
        rows.append([f"`{known.policy}`", track, known.deals, *scored(variant, track, *result)])
    sent = [(row, one) for one in submissions for row in one.results if env_variant(row.env) == variant]
    for row, one in sorted(sent, key=lambda pair: (pair[0].split, -pair[0].cards_home)):
        result = row.wins, row.games, row.cards_home
        name = f"[{one.name}]({one.code})" + (f" ([games]({one.games}))" if one.games else "")
        rows.append([name, one.track, f"`{row.split}`", *scored(variant, one.track, *result)])
    head = ["policy", "track", "deals", "won", "cards home", "score"]
    return f"## {variant.title}\n\n{table(head, rows, 3)}"


def scored(variant: Variant, track: benchmark.Track, wins: int, games: int, cards_home: float) -> list[str]:
    """Games won, cards home and the score; a dash without references."""
    score = benchmark.score_of(cards_home, variant, track)
    return [share(wins, games), f"{cards_home:.1f}", "-" if score is None else f"{score:.1f}"]
