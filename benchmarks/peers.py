"""Benchmarks of other libraries, each by the fastest way on a CPU in its documentation.

Each gets precomputed random actions, like ours. A library is imported only when it is needed.
"""

import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

import gymnasium as gym
import numpy as np

from benchmarks.episodes import single
from benchmarks.rounds import Contestant

PACKAGES: Final = ("envpool", "pgx", "jumanji", "open_spiel", "jax")

ENVPOOL: Final = ("EnvPool CartPole-v1, sync", "EnvPool CartPole-v1, async")
PGX: Final = "Pgx 2048"
JUMANJI: Final = "Jumanji Game2048-v1"
OPEN_SPIEL: Final = "OpenSpiel Klondike"
OPEN_SPIEL_NUMPY: Final = "OpenSpiel Klondike, make_observation"
GYMNASIUM: Final = "Gymnasium CartPole-v1, gym.make"


def all_vector(num_envs: int, threads: int, calls: int) -> list[Contestant]:
    """Every peer of the vector environment, with ``calls`` vector steps in a pass.

    JAX uses as many threads as there are cores; OpenSpiel uses one.
    """
    return [
        *(envpool(name, num_envs, threads, calls) for name in ENVPOOL),
        pgx_2048(num_envs, calls),
        jumanji_2048(num_envs, calls),
        open_spiel_klondike(OPEN_SPIEL),
        open_spiel_klondike(OPEN_SPIEL_NUMPY),
    ]


def versions() -> str:
    """The versions of the peers, in one line."""
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"--peers needs {name} ({error}); make bench-peers installs all") from None


def gymnasium_cartpole() -> Contestant:
    """Gymnasium's own CartPole through ``gym.make``."""
    return single(GYMNASIUM, gym.make("CartPole-v1"), peer=True)


def envpool(name: str, num_envs: int, threads: int, calls: int) -> Contestant:
    """EnvPool's CartPole: synchronously all together, asynchronously one half at a time."""
    library = _library("envpool")
    gym.logger.min_level = gym.logger.ERROR  # Gymnasium warns about the precision of EnvPool's bounds
    waiting = name == ENVPOOL[0]
    batch = num_envs if waiting else max(1, num_envs // 2)
    env = library.make_gymnasium(
        "CartPole-v1", num_envs=num_envs, batch_size=batch, num_threads=threads, seed=0
    )
    choices = np.random.default_rng(0).integers(2, size=(calls, batch))

    def in_step() -> float:
        env.reset()
        start = time.perf_counter()
        for actions in choices:
            env.step(actions)
        return time.perf_counter() - start

    def by_halves() -> float:
        start = time.perf_counter()
        for actions in choices:
            *_, info = env.recv()
            env.send(actions, info["env_id"])
        return time.perf_counter() - start

    if not waiting:
        env.async_reset()
    return Contestant(name, choices.size, in_step if waiting else by_halves, peer=True)


def pgx_2048(num_envs: int, calls: int) -> Contestant:
    """Pgx's 2048: ``vmap`` with its auto-reset, in one jitted ``scan``."""
    pgx, jax = _library("pgx"), _library("jax")
    env = pgx.make("2048")
    step_all = jax.vmap(import_module("pgx.experimental").auto_reset(env.step, env.init))

    def step(state: Any, key: Any, actions: Any) -> Any:
        return step_all(state, actions, jax.random.split(key, num_envs))

    start = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), num_envs))
    return _scanned(PGX, num_envs, calls, start, step, lambda state: state.legal_action_mask)


def jumanji_2048(num_envs: int, calls: int) -> Contestant:
    """Jumanji's 2048: its wrappers for ``vmap`` and auto-reset, in one jitted ``scan``."""
    jumanji, jax = _library("jumanji"), _library("jax")
    wrappers = import_module("jumanji.wrappers")
    env = wrappers.VmapWrapper(wrappers.AutoResetWrapper(jumanji.make("Game2048-v1")))

    def step(carry: Any, _: Any, actions: Any) -> Any:
        return env.step(carry[0], actions)

    start = jax.jit(env.reset)(jax.random.split(jax.random.key(0), num_envs))
    return _scanned(JUMANJI, num_envs, calls, start, step, lambda carry: carry[1].observation.action_mask)


def _scanned(
    name: str,
    num_envs: int,
    calls: int,
    start: Any,
    step: Callable[[Any, Any, Any], Any],
    mask: Callable[[Any], Any],
) -> Contestant:
    """``calls`` steps in one scan: a first scan chooses legal actions and is then replayed with its keys.

    ``step(carry, key, actions)`` steps all environments, ``mask(carry)`` is bool ``[num_envs, actions]``.
    """
    jax = _library("jax")

    def choose(carry: Any, keys: Any) -> Any:
        weights = jax.numpy.where(mask(carry), 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(keys[0], weights)
        return step(carry, keys[1], actions), actions

    def given(carry: Any, keys_and_actions: Any) -> Any:
        keys, actions = keys_and_actions
        return step(carry, keys[1], actions), None

    keys = jax.random.split(jax.random.key(1), (calls, 2))
    scan = jax.jit(jax.lax.scan, static_argnums=0)
    _, actions = scan(choose, start, keys)

    def play() -> float:
        begin = time.perf_counter()
        jax.block_until_ready(scan(given, start, (keys, actions)))
        return time.perf_counter() - begin

    return Contestant(name, calls * num_envs, play, peer=True)


def open_spiel_klondike(name: str, steps: int = 3000) -> Contestant:
    """OpenSpiel's Klondike, one game after another: action, chance, observation and mask of legal actions.

    The observation is ``observation_tensor()``, a list, or, for ``OPEN_SPIEL_NUMPY``, written into one array
    by an observer of ``make_observation``.
    """
    game = _library("pyspiel").load_game("solitaire")
    chance = np.random.default_rng(0)
    games: list[list[int]] = []
    played = 0
    while played < steps:
        state, moves = game.new_initial_state(), []
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, odds = zip(*state.chance_outcomes(), strict=True)
                moves.append(int(chance.choice(outcomes, p=odds)))
            else:
                moves.append(int(chance.choice(state.legal_actions())))
                played += 1
            state.apply_action(moves[-1])
        games.append(moves)
    observer = _library("open_spiel.python.observation").make_observation(game)

    def observe_list(state: Any) -> None:
        state.observation_tensor(0)

    def observe_array(state: Any) -> None:
        observer.set_from(state, 0)

    observe = observe_array if name == OPEN_SPIEL_NUMPY else observe_list

    def play() -> float:
        begin = time.perf_counter()
        for moves in games:
            state = game.new_initial_state()
            for move in moves:
                state.apply_action(move)
                if not state.is_chance_node():
                    observe(state)
                    state.legal_actions_mask(0)
        return time.perf_counter() - begin

    return Contestant(name, played, play, peer=True)
