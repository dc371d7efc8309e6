"""Rollout learning (``learner: playouts``): fit a network to rollouts of its likely moves.

The return of a game says little about a single move: in Eighty Thieves, games that differ in one move differ
by about one card, and games with other stocks by fourteen. Here the network plays, and before each of its
moves the compiled linear policy plays out the likely ones, all on the same sampled stock orders. This
estimates the advantage of a move within half a card. The network learns to maximize the expected advantage of
its moves, with a KL penalty to the initial network: a move that is good for the linear policy need not be
good for the network.

It is a small step of policy iteration with rollouts (Lagoudakis and Parr, "Reinforcement Learning as
Classification", 2003). Only observations are read: the network plays better without search.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th

from agents.config import TrainConfig
from agents.learners.base import TeamLearner
from agents.learners.parallel import make_minibatches, set_gradients
from agents.learners.team import Team
from agents.learners.training_env import TrainingEnv
from agents.networks.scores import Scores
from agents.search.player import PATIENCE
from agents.search.rollouts import play_to_end
from agents.search.stocks import draw_stocks, write_games
from solitaire_env.core.batch import Batch
from solitaire_env.core.spec import GameSpec
from solitaire_env.move_features.autoplay import has_safe_moves
from solitaire_env.move_features.moves import make_move_scratch
from solitaire_env.policies.linear import weights_for

Array = npt.NDArray[Any]

CANDIDATES: Final = 6
"""Maximum number of moves of a position that are played out, the likeliest."""
BATCH: Final = 1024
"""Number of decisions in an update."""
ROLLOUTS_PER_BATCH: Final = 4096
"""Number of rollouts that are played together; at least those of one move."""


class RolloutEvaluator:
    """Estimates the values of moves: the mean of rollouts by the linear policy.

    Parameters
    ----------
    spec
        The game, with the reward of the rollouts.
    num_playouts
        Rollouts of each move.
    """

    def __init__(self, spec: GameSpec, num_playouts: int) -> None:
        variant = spec.variant
        self.num_playouts = num_playouts
        self.together = max(1, ROLLOUTS_PER_BATCH // num_playouts)
        self.batch = Batch(spec, self.together * num_playouts)
        self.weights = weights_for(variant.name, stock=variant.stock > 0)
        self.autoplay = has_safe_moves(variant)
        self.scratch = make_move_scratch(self.batch.rules)
        draws = variant.stock * max(1, variant.passes)
        self.line = np.zeros(PATIENCE * (self.batch.rules.cards + draws + 1), dtype=np.int64)

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
            rules, state, self.batch.events, np.flatnonzero(state.status[:m] == 0), self.weights, PATIENCE,
            self.autoplay, self.line, self.scratch,
        )  # fmt: skip
        card, win = self.batch.pay
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


class RolloutLearner(TeamLearner):
    """See the module.

    Parameters
    ----------
    num_playouts
        Rollouts of each likely move.
    min_prob
        Moves with a lower probability are not played out.
    kl_coef
        Weight of the Kullback-Leibler divergence from the initial network, in units of the reward a nat.
    """

    def __init__(
        self, env: TrainingEnv, *, n_steps: int, batch_size: int, n_epochs: int, num_playouts: int,
        min_prob: float, kl_coef: float, max_grad_norm: float, **shared: Any,
    ) -> None:  # fmt: skip
        self.n_steps, self.batch_size, self.n_epochs = n_steps, batch_size, n_epochs
        self.min_prob, self.kl_coef = min_prob, kl_coef
        self.max_grad_norm = max_grad_norm
        self.evaluator = RolloutEvaluator(
            env.game.with_settings(stall_limit=None, max_episode_steps=None), num_playouts
        )
        super().__init__(env, **shared)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.set_reference()

    def set_reference(self) -> None:
        """Make the current network the reference of the KL penalty."""
        self.reference = deepcopy(self.policy.network).requires_grad_(False)
        self.policy.start = self.reference  # for checkpoints, which name it "start"

    def play(self, callback: Any) -> Decisions | None:
        """Play ``n_steps`` of all games; None when the callback ends the training."""
        self.policy.set_training_mode(False)
        self.begin_rollout(callback)
        parts: list[Decisions] = []
        for _ in range(self.n_steps):
            rows = self.cache.add(self.seen, self.env.action_masks())
            with th.inference_mode():
                seen = self.policy.network.score_cached(self.cache, rows)  # type: ignore[arg-type]
                logs = seen.logs()
                actions, _ = self.policy.choose(seen, logs, deterministic=False)
                parts.append(self.decide(rows, seen, logs))
            if self.step(actions.cpu().numpy(), callback) is None:
                return None
        self.end_rollout(callback)
        return Decisions(*map(np.concatenate, zip(*parts, strict=True)))

    def decide(self, cached_rows: Array, seen: Scores, logs: th.Tensor) -> Decisions:
        """The current positions with more than one likely move, and the advantages of these moves."""
        games, actions = seen.games.cpu().numpy(), seen.actions.cpu().numpy()
        shares = logs.exp().cpu().numpy().astype(np.float64)
        order = np.lexsort((-shares, games))
        games, actions, shares = games[order], actions[order], shares[order]
        place = np.arange(len(games)) - np.searchsorted(games, games)  # the likeliest move of a game is 0
        likely = (place < CANDIDATES) & (shares >= self.min_prob)
        rows = np.flatnonzero(np.bincount(games[likely], minlength=len(cached_rows)) > 1)
        likely &= np.isin(games, rows)
        games, actions, shares = np.searchsorted(rows, games[likely]), actions[likely], shares[likely]

        values = self.evaluator(self.seen[rows], games, actions, self.random)
        sums = np.bincount(games, shares * values, len(rows)) / np.bincount(games, shares, len(rows))
        gains = np.zeros((len(rows), int(self.action_space.n)), dtype=np.float32)  # type: ignore[attr-defined]
        gains[games, actions] = values - sums[games]
        before = np.zeros_like(gains)
        if len(rows):
            start = self.reference.score_cached(self.cache, cached_rows[rows])  # type: ignore[arg-type]
            before[start.games.cpu().numpy(), start.actions.cpu().numpy()] = start.logs().cpu().numpy()
        return Decisions(cached_rows[rows], gains, before)

    def train(self, decisions: Decisions) -> None:
        """Learn from decisions. Logged values are computed before the update."""
        self._update_learning_rate(self.policy.optimizer)
        n = len(decisions.rows)
        with th.inference_mode():
            parts = [
                self._expect(decisions, part)
                for part in np.split(np.arange(n), range(BATCH, n, BATCH))
                if len(part)
            ]
        gain, divergence = (float(np.sum([t[k].item() for t in parts])) / max(n, 1) for k in (0, 1))
        start = float((np.exp(decisions.before) * decisions.gains).sum()) / max(n, 1)
        self.logger.record("train/gain", gain - start)
        self.logger.record("train/divergence", divergence)
        parameters = list(self.policy.network.parameters())

        def loss_of(part: Array, size: float) -> tuple[th.Tensor, th.Tensor]:
            gain, divergence = self._expect(decisions, part)
            # In nats: against a reward of one card the smallest step of Adam would be large.
            loss = (divergence - gain / self.kl_coef) / size
            return loss, loss[None]

        for _ in range(self.n_epochs):
            minibatches, size = make_minibatches(self.team, n, self.batch_size, self.random)
            if size:
                for part in minibatches:
                    set_gradients(
                        self.team, parameters, partial(loss_of, size=size), part, self.max_grad_norm
                    )
                    self.policy.optimizer.step()

    def _expect(self, decisions: Decisions, part: Array) -> tuple[th.Tensor, th.Tensor]:
        """Sums over some decisions: expected advantage, and KL divergence from the initial network."""
        seen = self.policy.network.score_cached(self.cache, decisions.rows[part])  # type: ignore[arg-type]
        logs = seen.logs()
        shares = logs.exp()
        places = part[seen.games.cpu().numpy()], seen.actions.cpu().numpy()
        gains, before = (
            th.as_tensor(numbers[places], device=self.device)
            for numbers in (decisions.gains, decisions.before)
        )
        return (shares * gains).sum(), (shares * (logs - before)).sum()


def make_rollout_learner(
    config: TrainConfig, env: TrainingEnv, rate: Callable[[float], float], policy: dict[str, Any], team: Team
) -> RolloutLearner:
    """The learner of a configuration; ``policy`` holds the arguments of :class:`NetworkPolicy`."""
    keys = ("n_steps", "batch_size", "n_epochs", "num_playouts", "kl_coef", "max_grad_norm", "seed", "device")
    return RolloutLearner(
        env, learning_rate=rate, policy_kwargs=policy, team=team, min_prob=config.min_prob,
        **{key: getattr(config, key) for key in keys},
    )  # fmt: skip
