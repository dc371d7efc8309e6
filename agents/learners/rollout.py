"""Learn which of a network's likely moves is best by what playouts come to.

A return says little of a single move: in Eighty Thieves games that differ in one move differ by a card or so,
and games on other stocks by fourteen. Here the network plays, and before each of its moves those that it
finds likely are each played out by the linear policy, compiled, on the same stocks that might be. How much
better than the others a move is, is known so within half a card. The network learns to expect as much as it
can of its moves, and is held to what it was at the start: what is good when the linear policy goes on need
not be when the network does.

It is policy iteration with rollouts (Lagoudakis and Parr, "Reinforcement Learning as Classification", 2003),
a small step of it. Nothing but observations is read: the network comes to play better without looking ahead.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.type_aliases import MaybeCallback

from agents.networks.moves import MovesNetwork
from agents.networks.sb3_policy import NetworkPolicy
from agents.networks.scores import Scores
from agents.search.player import PATIENCE
from agents.search.rollouts import finish
from agents.search.stocks import draw_stocks
from solitaire_env import Variant
from solitaire_env.core.batch import Batch
from solitaire_env.core.rewards import RewardName
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.move_features.linear_scores import make_room
from solitaire_env.policies.linear import weights_for
from solitaire_env.sb3 import SolitaireVecEnv

Array = npt.NDArray[Any]

CANDIDATES: Final = 6
"""So many moves are played out at most, the likeliest."""
SIDE_BY_SIDE: Final = 4096
"""So many playouts at a time, or those of one move."""


class Judge:
    """Says what moves are worth: the mean of playouts by the linear policy.

    Parameters
    ----------
    variant
        The game.
    reward
        Name of the scheme in which playouts are paid.
    num_playouts
        Playouts of each move.
    """

    def __init__(self, variant: Variant, reward: RewardName, num_playouts: int) -> None:
        self.num_playouts = num_playouts
        self.together = max(1, SIDE_BY_SIDE // num_playouts)
        self.batch = Batch(GameSpec(variant, Settings(reward=reward)), self.together * num_playouts)
        self.weights = weights_for(variant.name, stock=variant.stock > 0)
        self.forced = variant.build == "same suit"
        self.room = make_room(self.batch.rules)
        self.line = np.zeros(PATIENCE * (self.batch.rules.cards + variant.stock + 1), dtype=np.int64)

    def __call__(
        self, observations: Array, games: Array, actions: Array, random: np.random.Generator
    ) -> Array:
        """What the actions, int64 ``[k]``, are worth in the positions ``observations[games]``, int8
        ``[n, size]``: float64 ``[k]``. Those of a position are played out on the same stocks.
        """
        rules = self.batch.rules
        stocks = np.zeros((len(observations), self.num_playouts, rules.stock_capacity), dtype=np.int8)
        for n, observation in enumerate(observations):
            drawn = draw_stocks(rules, observation, self.num_playouts, random)
            stocks[n, :, : drawn.shape[1]] = drawn
        worth = np.empty(len(games))
        for first in range(0, len(games), self.together):
            part = slice(first, first + self.together)
            worth[part] = self._play_out(observations[games[part]], stocks[games[part]], actions[part])
        return worth

    def _play_out(self, observations: Array, stocks: Array, actions: Array) -> Array:
        rules, state = self.batch.rules, self.batch.state
        m = len(actions) * self.num_playouts
        state.rows[:m] = 0
        state.rows[:m, : rules.row_stock] = observations.repeat(self.num_playouts, 0)
        state.rows[:m, rules.row_stock : rules.row_stock + rules.stock_capacity] = stocks.reshape(m, -1)
        self.batch.derive(np.arange(m))
        taken, todo = np.zeros(self.batch.size, dtype=np.int64), np.zeros(self.batch.size, dtype=np.int8)
        taken[:m], todo[:m] = actions.repeat(self.num_playouts), 1
        self.batch.step(taken, todo)
        finish(
            rules, state, self.batch.events, np.flatnonzero(state.status[:m] == 0), self.weights, PATIENCE,
            self.forced, self.line, self.room,
        )  # fmt: skip
        card, win = self.batch.pay
        paid = card * state.home[:m] + win * (state.status[:m] == 1)
        means: Array = paid.reshape(-1, self.num_playouts).mean(1)
        return means


class Decisions(NamedTuple):
    """Positions in which more than one move was likely; arrays ``[n]`` first."""

    observations: Array
    masks: Array
    gains: Array
    """float32 ``[n, actions]``: what a move is worth, less what the likely ones are on average, by their
    probabilities; 0 for those that were not played out."""
    before: Array
    """float32 ``[n, actions]``: logarithms of the probabilities by the network of the start; 0 where an
    action is not legal."""


class Playouts(BaseAlgorithm):
    """See the module.

    Parameters
    ----------
    num_playouts
        Playouts of each likely move.
    least
        Moves less likely than this are not played out.
    kl_coef
        What a nat of the Kullback-Leibler divergence from the network of the start must bring, in the reward.
    """

    policy: NetworkPolicy
    env: SolitaireVecEnv

    def __init__(
        self, env: SolitaireVecEnv, *, learning_rate: Callable[[float], float], n_steps: int, batch_size: int,
        n_epochs: int, num_playouts: int, least: float, kl_coef: float, max_grad_norm: float, seed: int,
        device: str, policy_kwargs: dict[str, Any],
    ) -> None:  # fmt: skip
        super().__init__(
            NetworkPolicy, env, learning_rate, policy_kwargs=policy_kwargs, device=device, seed=seed,
            support_multi_env=True,
        )  # fmt: skip
        self.n_steps, self.batch_size, self.n_epochs = n_steps, batch_size, n_epochs
        self.least, self.kl_coef = least, kl_coef
        self.max_grad_norm = max_grad_norm
        self.judge = Judge(env.variant, env.settings.reward, num_playouts)
        self._setup_model()

    def _setup_model(self) -> None:
        self._setup_lr_schedule()
        self.set_random_seed(self.seed)
        self.random = np.random.default_rng(self.seed)
        self.policy = NetworkPolicy(
            self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs
        ).to(self.device)
        self.hold()

    def hold(self) -> None:
        """From now on the network is held to what it is."""
        self.start = deepcopy(self.policy.network).requires_grad_(False)
        self.policy.start = self.start  # so that checkpoints keep it

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", "policy.optimizer"], []

    def learn(
        self, total_timesteps: int, callback: MaybeCallback = None, log_interval: int = 1,
        tb_log_name: str = "playouts", reset_num_timesteps: bool = True, progress_bar: bool = False,
    ) -> "Playouts":  # fmt: skip
        """Play and learn until the callback ends it, or after so many steps of all games."""
        total, callback = self._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar
        )
        self.seen = np.asarray(self._last_obs)
        network, start = self.policy.network, self.start
        if isinstance(network, MovesNetwork) and isinstance(start, MovesNetwork):
            start.memory = network.memory  # both see the same
        callback.on_training_start(locals(), globals())
        while self.num_timesteps < total:
            decisions = self.play(callback)
            if decisions is None:
                break
            self.train(decisions)
            self.logger.dump(self.num_timesteps)
        callback.on_training_end()
        return self

    def play(self, callback: Any) -> Decisions | None:
        """Some steps of all games; None when the callback ends the training."""
        self.policy.set_training_mode(False)
        callback.on_rollout_start()
        parts: list[Decisions] = []
        for _ in range(self.n_steps):
            masks = np.asarray(self.env.env_method("action_masks")).view(np.int8)
            with th.inference_mode():
                seen, logs = self.policy.log_probabilities(th.as_tensor(self.seen, device=self.device), masks)
                actions, _ = self.policy.choose(seen, logs, deterministic=False)
                parts.append(self.decide(masks, seen, logs))
            observations, _, dones, infos = self.env.step(actions.cpu().numpy())
            self.seen = np.asarray(observations)
            self.num_timesteps += len(dones)
            callback.update_locals(locals())
            if not callback.on_step():
                return None
        callback.on_rollout_end()
        return Decisions(*map(np.concatenate, zip(*parts, strict=True)))

    def decide(self, masks: Array, seen: Scores, logs: th.Tensor) -> Decisions:
        """Of the positions in hand those in which there is something to decide, and what moves are worth."""
        games, actions = seen.games.cpu().numpy(), seen.actions.cpu().numpy()
        shares = logs.exp().cpu().numpy().astype(np.float64)
        order = np.lexsort((-shares, games))
        games, actions, shares = games[order], actions[order], shares[order]
        place = np.arange(len(games)) - np.searchsorted(games, games)  # the likeliest move of a game is 0
        likely = (place < CANDIDATES) & (shares >= self.least)
        rows = np.flatnonzero(np.bincount(games[likely], minlength=len(masks)) > 1)
        likely &= np.isin(games, rows)
        games, actions, shares = np.searchsorted(rows, games[likely]), actions[likely], shares[likely]

        worth = self.judge(self.seen[rows], games, actions, self.random)
        sums = np.bincount(games, shares * worth, len(rows)) / np.bincount(games, shares, len(rows))
        gains = np.zeros((len(rows), masks.shape[1]), dtype=np.float32)
        gains[games, actions] = worth - sums[games]
        observations = self.seen[rows]
        start = self.start.score(th.as_tensor(observations, device=self.device), masks[rows])
        before = np.zeros_like(gains)
        before[start.games.cpu().numpy(), start.actions.cpu().numpy()] = start.logs().cpu().numpy()
        return Decisions(observations, masks[rows], gains, before)

    def train(self, decisions: Decisions) -> None:
        """Learn from decisions; what is told of them is told before they are learned."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        n = len(decisions.masks)
        told = [
            self._expect(decisions, part, grad=False) for part in np.split(np.arange(n), range(1024, n, 1024))
        ]
        gain, divergence = (float(np.sum([t[k].item() for t in told])) / max(n, 1) for k in (0, 1))
        start = float((np.exp(decisions.before) * decisions.gains).sum()) / max(n, 1)
        self.logger.record("train/gain", gain - start)
        self.logger.record("train/divergence", divergence)
        for _ in range(self.n_epochs):
            order = self.random.permutation(n)
            for part in np.split(order, range(self.batch_size, n, self.batch_size)):
                gain_of, divergence_of = self._expect(decisions, part)
                # In nats: Adam's least step would be large against a reward of a card.
                loss = (divergence_of - gain_of / self.kl_coef) / max(len(part), 1)
                self.policy.optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                th.nn.utils.clip_grad_norm_(self.policy.network.parameters(), self.max_grad_norm)
                self.policy.optimizer.step()

    def _expect(self, decisions: Decisions, part: Array, *, grad: bool = True) -> tuple[th.Tensor, th.Tensor]:
        """Sums over some decisions: what the network gains by its moves, and how far it is from the start."""
        with th.set_grad_enabled(grad):
            seen, logs = self.policy.log_probabilities(
                th.as_tensor(decisions.observations[part], device=self.device), decisions.masks[part]
            )
            shares = logs.exp()
            places = part[seen.games.cpu().numpy()], seen.actions.cpu().numpy()
            gains, before = (
                th.as_tensor(numbers[places], device=self.device)
                for numbers in (decisions.gains, decisions.before)
            )
            return (shares * gains).sum(), (shares * (logs - before)).sum()
