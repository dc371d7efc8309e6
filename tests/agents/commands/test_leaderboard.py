"""``agents leaderboard``: results are stored, replayed and written to pages."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.commands.leaderboard import main
from agents.playing import games as games_module
from agents.results import by_game, pages, stored
from agents.results.solver_results import solver_results
from agents.results.stored import About, Entry, read_entries, read_leaderboard, read_rows
from agents.results.tables import against, signed_rank
from solitaire_env.evaluation import evaluate, mcnemar
from solitaire_env.policies import shipped
from solitaire_env.variants import VARIANTS
from tests.conftest import Refuses
from tests.games import THE_FIVE

MINE = ("mine", "--policy", "tests.play.policies:First")
MADE = ("--made", "the first legal move")


@pytest.fixture(scope="module")
def entries() -> dict[str, list[Entry]]:
    """The leaderboard of the repository."""
    return read_leaderboard()


@pytest.fixture
def board(empty_stores: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty results, and a leaderboard of few deals; returns the folder of the results."""
    monkeypatch.setattr(stored, "STANDARD", range(12))
    monkeypatch.setattr(stored, "FINAL_TEST", range(100, 104))
    return stored.RESULTS


def add(name: str, *args: str, table: str = "leaderboard", game: str = "eights-down") -> int:
    deals = () if "--deals" in args else ("--deals", "0:12")
    return main(["add", table, f"{game}/{name}", *args, "--quiet", *deals])


# ------------------------------------------------------------------------- what is in the repository


def test_whole_pages_have_every_entry(entries: dict[str, list[Entry]]) -> None:
    leaderboard, games, _ = pages.whole_pages().values()
    assert set(entries) == {*THE_FIVE, "freecell", "klondike", "klondike-draw-3"}
    for game, of_game in entries.items():
        expected = {"random", "greedy", "linear", *(["shipped"] if game in shipped.shipped_games() else ())}
        assert expected <= {entry.name for entry in of_game}, game
        for entry in of_game:
            assert f"| {100 * entry.summary.win_rate:.1f} % [" in leaderboard
    assert all(f"### {name}\n" in leaderboard for name in read_entries("ablations"))
    assert "| Penguin |" in games


def test_the_hub_reads_the_results_in_model_cards(entries: dict[str, list[Entry]]) -> None:
    from huggingface_hub import ModelCard

    for game in shipped.shipped_games():
        data = ModelCard.load(shipped.SHIPPED / game / "README.md").data
        [entry] = [one for one in entries[game] if one.name == "shipped"]
        rates = [one.metric_value for one in data.eval_results if one.metric_type == "win_rate"]
        assert rates[0] == entry.summary.win_rate and len(rates) == 2
        assert (data.license, data.library_name) == ("mit", "solitaire-env")


def test_signed_rank_equals_the_exact_distribution(entries: dict[str, list[Entry]]) -> None:
    """Of eight differences with the same sign: 2 of the 2 ** 8 outcomes are as extreme."""
    games = entries["busy-aces"][0].standard[:8]
    other = [replace(game, cards_home=game.cards_home - k) for k, game in enumerate(games, 1)]
    assert signed_rank(games, other) == pytest.approx(2 / 2**8)


def test_replay_reproduces_stored_games(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "forty-bandits/random", "--quiet", "--deals", "990:1000", "--num-envs", "3"]) == 0
    assert "10 of 10 games equal the stored ones" in capsys.readouterr().out
    supermoves = ["busy-aces/greedy-supermoves", "--policy", "greedy"]
    assert main(["replay", *supermoves, "--deals", "5:9", "--quiet"]) == 0
    search = ["replay", "klondike-draw-3/4000", "--table", "search", "--deals", "0", "--quiet"]
    assert main(search) == 0


def test_policies_have_won_no_deal_that_is_proved_unwinnable(entries: dict[str, list[Entry]]) -> None:
    for game, solved in solver_results().items():
        assert len(solved) >= 100
        too_long = [row for row in solved.values() if row.status == "won" and not row.playable]
        assert not too_long or len(solved) < len(stored.STANDARD), (
            "lines that no player can play to their end"
        )
        impossible = {deal for deal, row in solved.items() if row.status == "unwinnable"}
        for entry in entries.get(game, ()):
            assert not {game.deal for game in entry.games if game.won} & impossible


# ----------------------------------------------------------------------------------------- add


def test_add_stores_games_and_write_updates_the_tables(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add("greedy") == 0
    assert add("random", "--deals", "0:12,100:104") == 0
    assert add(*MINE, *MADE) == 0
    rows, about = read_rows("leaderboard"), stored.read_abouts("leaderboard")["eights-down/mine"]
    assert [row["deal"] for row in rows["eights-down/random"]] == [*range(12), *range(100, 104)]
    assert about.ms_per_move is not None and about.ms_per_move > 0
    assert about.training is None and about.weights is None
    assert not list((board / "unfinished").rglob("*.jsonl"))

    assert main(["check"]) == 1 and "leaderboard write" in capsys.readouterr().err
    assert main(["write"]) == 0 and main(["check"]) == 0
    for page in (pages.README, pages.PAPER):
        text = page.read_text()
        assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
        assert "| Eights Down |" in text
    assert "| `mine` | the first legal move |" in pages.leaderboard_page()
    # All deals are stored already: nothing is played, and the time stays.
    before = {path: path.read_bytes() for path in board.glob("*.*")}
    assert add("greedy") == 0
    assert before == {path: path.read_bytes() for path in board.glob("*.*")}


def test_moves_sets_the_action_set_of_an_open_policy(board: Path) -> None:
    assert add("super", "--policy", "greedy", "--moves", "supermove", game="busy-aces") == 0
    [entry] = read_leaderboard()["busy-aces"]
    assert {(game.moves, game.rules) for game in entry.games} == {
        ("supermove", "same suit, any, one card, 3328 steps")
    }
    assert main(["replay", "busy-aces/super", "--policy", "greedy", "--deals", "0:12", "--quiet"]) == 0


def test_replay_finds_different_games(capsys: pytest.CaptureFixture[str]) -> None:
    replay = ["replay", "eights-down/greedy", "--policy", "random", "--quiet", "--deals"]
    assert main([*replay, "0:12"]) == 1
    out, err = capsys.readouterr()
    assert "of 12 games equal the stored ones" in out and err.startswith("different: deals [")
    assert main([*replay, "50000"]) == 2
    assert "deal 50000" in capsys.readouterr().err


def test_ablations_are_compared_with_the_first(board: Path) -> None:
    run = str(Path(shipped.__file__).parent / "weights" / "eights-down")
    for entry, made in (("rewards/1", "as shipped"), ("rewards/2", "again")):
        command = ["add", "ablations", entry, "--policy", run, "--made", made, "--deals", "0:4", "--quiet"]
        assert main(command) == 0
    one, two = read_entries("ablations")["rewards"]
    assert two.about.config is not None and two.about.training is not None and len(two.games) == 4
    assert pages.ablation_table([two, one]).endswith("| 0 : 0, p = 1 |")


def test_search_is_stored_with_its_budget(board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    budget = ("--policy", "search", "--deals", "0:3", "--search.nodes", "0", "--search.simulations", "4")
    weights = Path(shipped.__file__).parent / "weights" / "eights-down"
    shipped.SHIPPED.mkdir()
    (shipped.SHIPPED / "eights-down").symlink_to(weights)
    assert add("4", *budget, table="search") == 0
    [entry] = read_entries("search")["eights-down"]
    assert entry.about.budget is not None and entry.about.budget["simulations"] == 4
    assert entry.about.seconds_per_game is not None
    assert "| 4 | 3 |" in pages.search_table({})
    assert add("4", *budget, "--search.milliseconds", "5", table="search") == 2
    assert "--search.milliseconds" in capsys.readouterr().err


def test_a_family_row_is_stored_for_every_game(board: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command resumes after Ctrl-C, and other deals replace the rows."""
    calls: list[str] = []

    def interrupted(policy: Any, variant: Any, deals: Any) -> Any:
        calls.append(variant.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return evaluate(policy, variant, deals)

    monkeypatch.setattr(games_module, "evaluate", interrupted)
    monkeypatch.setattr("agents.commands.leaderboard.VARIANTS", VARIANTS[:3])
    command = ["add", "family", "greedy", "--quiet", "--deals"]
    assert main([*command, "0:2"]) == 130 and main([*command, "0:2"]) == 0
    names = [variant.name for variant in VARIANTS[:3]]
    assert calls == [*names[:2], *names[1:]]
    assert list(by_game.stored_rows()["greedy"]) == names
    assert main([*command, "0:3"]) == 0
    assert {row.deals for row in by_game.stored_rows()["greedy"].values()} == {"0:3"}


# --------------------------------------------------------------------------------- what is refused


def test_invalid_results_are_refused(board: Path, refuses: Refuses) -> None:
    assert add("greedy") == 0
    rows, about = read_rows("leaderboard")["eights-down/greedy"], About(made="x")
    stored.store("leaderboard", "eights-down/greedy", [rows[0] | {"rules": "any suit"}, *rows[1:]], about)
    refuses(read_leaderboard, "'any suit'", "same suit, kings")
    (board / "leaderboard.json").write_text(json.dumps({"eights-down/greedy": {"made": "<b>"}}))
    refuses(read_leaderboard, "leaderboard.json", "made", "without | < >")
    (board / "leaderboard.json").write_text("{}")
    refuses(read_leaderboard, "no entry 'eights-down/greedy'")


def test_a_page_without_marks_is_refused(board: Path, refuses: Refuses) -> None:
    pages.README.write_text("before\n<!-- leaderboard -->\nafter\n")
    refuses(pages.stored_pages, "README.md", "has 1 lines", "allowed: 2")


# ---------------------------------------------------------------------------------------- tests


def test_the_paired_test_depends_on_wins(entries: dict[str, list[Entry]]) -> None:
    games = {entry.name: entry.standard for entry in entries["eights-down"]}
    greedy, random = games["greedy"], games["random"]
    only_random, only_greedy, _ = mcnemar(random, greedy)
    assert against(random, greedy) == f"{only_random} : {only_greedy}, p < 0.001"
    # No policy won a game: the test compares cards home.
    lost = [replace(game, won=False) for game in greedy]
    assert against(lost, lost[::-1]).startswith("cards home, p = ")
    assert signed_rank(lost, lost) == 1.0
