"""Learning from playouts (``learner: playouts``): fit a network to playouts of its likely moves.

The return of a game says little about a single move: in Eighty Thieves, games that differ in one move differ
by about one card, and games with other stocks by fourteen. Here the network plays, and before each of its
moves the compiled linear policy plays out the likely ones, all on the same sampled stock orders. This
estimates the advantage of a move within half a card. The network learns to maximize the expected advantage of
its moves, with a KL penalty to the initial network: a move that is good for the linear policy need not be
good for the network.

It is a small step of policy iteration with rollouts (Lagoudakis and Parr, "Reinforcement Learning as
Classification", 2003). Only observations are read: the network plays better without search.
"""

from copy import deepcopy
from typing import Any, Final, NamedTuple

import numpy as np
import torch as th

from agents.config import TrainConfig
from agents.learners.base import Array, Learner, Rollout
from agents.learners.process_group import ProcessGroup
from agents.learners.training_env import TrainingEnv
from agents.networks.scores import Scores
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.autoplay import has_safe_moves
from solitaire_env.move_features.moves import make_move_scratch
from solitaire_env.policies.linear import weights_for
from solitaire_env.search.player import STALL_LIMIT
from solitaire_env.search.rollouts import play_to_end
from solitaire_env.search.stocks import draw_stocks, write_games

CANDIDATES: Final = 6
"""Maximum number of moves of a position that are played out, the likeliest."""
MIN_PROB: Final = 0.003
"""Moves with a lower probability are not played out."""
KL_COEF: Final = 0.001
"""Weight of the Kullback-Leibler divergence from the initial network: the reward that a nat of it costs."""
PLAYOUTS_PER_BATCH: Final = 4096
"""Number of playouts that are computed together; at least those of one move."""


class PlayoutEvaluator:
    """Estimates the values of moves: the mean of playouts by the linear policy.

    Parameters
    ----------
    spec
        The game, with the reward of the playouts.
    num_playouts
        Playouts of each move.
    """

    def __init__(self, spec: GameSpec, num_playouts: int) -> None:
        variant = spec.variant
        self.num_playouts = num_playouts
        self.together = max(1, PLAYOUTS_PER_BATCH // num_playouts)
        self.batch = Batch(spec, self.together * num_playouts)
        self.weights = weights_for(variant.name, stock=variant.stock > 0)
        self.autoplay = has_safe_moves(variant)
        self.scratch = make_move_scratch(self.batch.rules)
        draws = variant.stock * max(1, variant.passes)
        self.line = np.zeros(STALL_LIMIT * (self.batch.rules.cards + draws + 1), dtype=np.int64)

    def __call__(
        self, observations: Array, games: Array, actions: Array, random: np.random.Generator
    ) -> Array:
        """The values of actions, int64 ``[k]``, in the positions ``observations[games]``, int8 ``[n, size]``:
        float64 ``[k]``. All actions of a position use the same stock orders.
        """
        rules = self.batch.rules
        stocks = np.zeros((len(observations), self.num_playouts, rules.cards), dtype=np.int8)
        for n, observation in enumerate(observations):
            drawn = draw_stocks(rules, observation, self.num_playouts, random)
            stocks[n, :, : drawn.shape[1]] = drawn
        values = np.empty(len(games))
        for first in range(0, len(games), self.together):
            part = slice(first, first + self.together)
            values[part] = self._play_out(observations[games[part]], stocks[games[part]], actions[part])
        return values

    def _play_out(self, observations: Array, stocks: Array, actions: Array) -> Array:
        rules, state = self.batch.rules, self.batch.state
        m = len(actions) * self.num_playouts
        write_games(rules, state.rows[:m], observations.repeat(self.num_playouts, 0), stocks.reshape(m, -1))
        self.batch.derive(np.arange(m))
        taken, todo = np.zeros(self.batch.size, dtype=np.int64), np.zeros(self.batch.size, dtype=np.int8)
        taken[:m], todo[:m] = actions.repeat(self.num_playouts), 1
        self.batch.step(taken, todo)
        play_to_end(
            rules, state, self.batch.events, np.flatnonzero(state.status[:m] == 0), self.weights, STALL_LIMIT,
            self.autoplay, self.line, self.scratch,
        )  # fmt: skip
        card, win, *_ = self.batch.groups[0].limits
        paid = card * state.home[:m] + win * (state.status[:m] == 1)
        means: Array = paid.reshape(-1, self.num_playouts).mean(1)
        return means


class Decisions(NamedTuple):
    """Positions with more than one likely move; the first axis of each array is ``[n]``."""

    rows: Array
    """int64 ``[n]``: their numbers among the cached positions."""
    gains: Array
    """float32 ``[n, actions]``: advantages, the value of a move minus the mean of the likely moves, weighted
    by their probabilities; 0 for moves that were not played out."""
    before: Array
    """float32 ``[n, actions]``: log probabilities of the initial network; 0 for illegal actions."""


class PlayoutLearner(Learner):
    """See the module."""

    def __init__(self, config: TrainConfig, env: TrainingEnv, group: ProcessGroup) -> None:
        spec = env.game.with_settings(stall_limit=None, max_episode_steps=None)
        self.evaluator = PlayoutEvaluator(spec, config.num_playouts)
        super().__init__(config, env, group)

    def set_reference(self) -> None:
        """Make the current network the reference of the KL penalty."""
        self.reference: Any = deepcopy(self.policy.network).requires_grad_(False)
        self.policy.start = self.reference  # for checkpoints, which name it "start"

    def act(self) -> tuple[Array, Decisions]:
        """Choose a move in each position, ``[games]``. Kept are the decisions."""
        rows, seen = self.see()
        with th.inference_mode():
            logs = seen.logs()
            actions = seen.actions[seen.draw(logs)].cpu().numpy()
            return actions, self.decide(rows, seen, logs)

    def decide(self, cached_rows: Array, seen: Scores, logs: th.Tensor) -> Decisions:
        """The current positions with more than one likely move, and the advantages of these moves."""
        games, actions = seen.games.cpu().numpy(), seen.actions.cpu().numpy()
        shares = logs.exp().cpu().numpy().astype(np.float64)
        order = np.lexsort((-shares, games))
        games, actions, shares = games[order], actions[order], shares[order]
        place = np.arange(len(games)) - np.searchsorted(games, games)  # the likeliest move of a game is 0
        likely = (place < CANDIDATES) & (shares >= MIN_PROB)
        rows = np.flatnonzero(np.bincount(games[likely], minlength=len(cached_rows)) > 1)
        likely &= np.isin(games, rows)
        games, actions, shares = np.searchsorted(rows, games[likely]), actions[likely], shares[likely]

        values = self.evaluator(self.seen[rows], games, actions, self.random)
        sums = np.bincount(games, shares * values, len(rows)) / np.bincount(games, shares, len(rows))
        gains = np.zeros((len(rows), self.env.game.num_actions), dtype=np.float32)
        gains[games, actions] = values - sums[games]
        before = np.zeros_like(gains)
        if len(rows):
            start = self.reference.score_cached(self.cache, cached_rows[rows])
            before[start.games.cpu().numpy(), start.actions.cpu().numpy()] = start.logs().cpu().numpy()
        return Decisions(cached_rows[rows], gains, before)

    def train(self, rollout: Rollout) -> None:
        """Learn from the decisions of a rollout."""
        self.learn_decisions(Decisions(*map(np.concatenate, zip(*rollout.kept, strict=True))))

    def learn_decisions(self, decisions: Decisions) -> None:
        """Learn from decisions."""
        start = float((np.exp(decisions.before) * decisions.gains).sum()) / max(len(decisions.rows), 1)

        def loss_of(part: Array, n: float) -> tuple[th.Tensor, th.Tensor]:
            gain, divergence = self._expect(decisions, part)
            # In nats: against a reward of one card the smallest step of Adam would be large.
            return (divergence - gain / KL_COEF) / n, th.stack((gain, divergence)).detach() / n

        logged = self.pass_over(len(decisions.rows), list(self.policy.network.parameters()), loss_of)
        if len(logged):
            gain, divergence = logged.mean(0)
            self.logger.record("train/gain", float(gain) - start)
            self.logger.record("train/divergence", float(divergence))

    def _expect(self, decisions: Decisions, part: Array) -> tuple[th.Tensor, th.Tensor]:
        """Sums over some decisions: expected advantage, and KL divergence from the initial network."""
        seen = self.policy.network.score_cached(self.cache, decisions.rows[part])
        logs = seen.logs()
        shares = logs.exp()
        places = part[seen.games.cpu().numpy()], seen.actions.cpu().numpy()
        gains, before = (
            th.as_tensor(numbers[places], device=self.device)
            for numbers in (decisions.gains, decisions.before)
        )
        return (shares * gains).sum(), (shares * (logs - before)).sum()
