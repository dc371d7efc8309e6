"""The benchmark: splits, references, winnable deals and scores."""

from dataclasses import replace

import pytest

from solitaire_env import benchmark, evaluate
from solitaire_env.benchmark import interquartile_mean, references, result, score, split_deals
from solitaire_env.core.deals import RESERVED_DEALS
from solitaire_env.evaluation import Game, summarize
from solitaire_env.family import TEST, TRAIN


@pytest.fixture(scope="module")
def games() -> list[Game]:
    return evaluate("greedy", "busy-aces", split_deals("llm-100", "busy-aces")).games


def test_no_deal_of_a_split_for_evaluation_is_drawn_in_training() -> None:
    for name, split in benchmark.SPLITS.items():
        assert (split.deals[0] >= RESERVED_DEALS) == name.startswith("train"), name
        assert split.deals[0] >= RESERVED_DEALS or split.deals[-1] < RESERVED_DEALS, name


def test_every_game_has_references_and_none_is_below_random() -> None:
    for game in (*TRAIN, *TEST):
        known = references(game)
        assert known["best"].cards_home > known["random"].cards_home > 0, game


@pytest.mark.parametrize("split", ["winnable", "train-winnable"])
def test_a_policy_wins_no_deal_beyond_those_known_to_be_winnable(split: str) -> None:
    deals = benchmark.SPLITS[split].deals
    for game in benchmark.games_of_split(split):
        known = {*split_deals(split, game)}
        assert known <= {*deals}
        won = {game.deal for game in evaluate("linear", game, deals[:200]).games if game.won}
        assert won <= known, game
        assert 0.5 < len(known) / len(deals) <= 1


def test_random_scores_0_and_the_score_says_what_was_played(games: list[Game]) -> None:
    random = evaluate("random", "busy-aces", split_deals("dev", "busy-aces")).games
    row = score(random, "dev")
    assert row.score == pytest.approx(0, abs=0.01)
    row = score(games, "llm-100")
    s = summarize(games)
    assert (row.wins, row.win_interval, row.cards_home) == (s.wins, s.win_interval, s.cards_home)
    written = result(row)
    assert (written["env"], written["split"], written["policy"]) == (
        "Solitaire/BusyAces-v0",
        "llm-100",
        "greedy",
    )
    assert {"benchmark", "solitaire_env", "commit", "seed", "fingerprint"} <= written.keys()


def test_the_thoughtful_track_has_a_higher_ceiling(games: list[Game]) -> None:
    player, thoughtful = score(games, "llm-100"), score(games, "llm-100", "thoughtful")
    assert player.score is not None and thoughtful.score is not None
    assert player.score > thoughtful.score


def test_wrong_games_are_refused(games: list[Game]) -> None:
    with pytest.raises(ValueError, match="no games"):
        score([], "dev")
    with pytest.raises(ValueError, match="not one of each of the 1000 of 'dev'"):
        score(games, "dev")
    with pytest.raises(ValueError, match="several policies"):
        score([*games[1:], replace(games[0], policy="other")], "llm-100")
    with pytest.raises(ValueError, match="rules are 'other'"):
        score([replace(game, rules="other") for game in games], "llm-100")
    with pytest.raises(ValueError, match="'train' has too many"):
        split_deals("train", "busy-aces")
    with pytest.raises(ValueError, match="'yukon' has no split 'winnable', allowed: bakers-game"):
        split_deals("winnable", "yukon")


def test_house_rules_have_no_score(games: list[Game]) -> None:
    assert score([replace(game, rules="other") for game in games]).score is None


def test_the_interquartile_mean_leaves_out_a_quarter_on_each_side() -> None:
    assert interquartile_mean([1000, 1, 2, 3, 4, 5, -1000, 3]) == 3
    assert interquartile_mean([7]) == 7
