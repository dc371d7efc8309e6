"""Benchmarks of our own environments."""

import time
from typing import Any

import gymnasium as gym
import numpy as np

from benchmarks.episodes import single
from benchmarks.rounds import Contestant
from benchmarks.speed import Recording
from solitaire_env.core import set_num_threads
from solitaire_env.registration import env_id, env_variant, step_limit
from solitaire_env.vector import SolitaireVectorEnv


def make_env(game: str, num_envs: int, **settings: Any) -> SolitaireVectorEnv:
    """The vector environment of a game, with its registered step limit."""
    variant = env_variant(game)
    return SolitaireVectorEnv(variant, num_envs, max_episode_steps=step_limit(variant), **settings)


def vector(name: str, game: str, num_envs: int, threads: int, calls: int, **settings: Any) -> Contestant:
    """The vector environment's ``step``, with recorded random legal actions.

    ``calls`` is the number of vector steps in a pass; ``settings`` are arguments of the environment.
    """
    recording = Recording(make_env(game, num_envs, **settings), calls)

    def replay() -> float:
        set_num_threads(threads)
        return recording.replay()

    return Contestant(name, recording.steps, replay)


def gym_make(name: str, game: str) -> Contestant:
    """The single environment's ``step``, through ``gym.make``."""
    return single(name, gym.make(env_id(env_variant(game))))


def copy_rows(name: str, game: str, num_envs: int, threads: int, calls: int) -> Contestant:
    """``copy_rows`` from one half of the games to the other, in random order; each copied row is a step."""
    env = make_env(game, num_envs, copy=False)
    env.reset(seed=0)
    order = np.random.default_rng(0).permutation(num_envs)
    half = num_envs // 2
    sources, targets = order[:half], order[half : 2 * half]

    def copy() -> float:
        set_num_threads(threads)
        start = time.perf_counter()
        for _ in range(calls):
            env.copy_rows(sources, targets)
        return time.perf_counter() - start

    return Contestant(name, calls * half, copy)


def resample(name: str, game: str, num_envs: int, calls: int) -> Contestant:
    """``resample`` of all games, on one thread; each game is a step."""
    env = make_env(game, num_envs, copy=False)
    env.reset(seed=0)
    rows = np.arange(num_envs)

    def deal_again() -> float:
        start = time.perf_counter()
        for call in range(calls):
            env.resample(rows, call)
        return time.perf_counter() - start

    return Contestant(name, calls * num_envs, deal_again)


def bytes_per_env(game: str, num_envs: int) -> float:
    """Bytes per game of all arrays of the vector environment: state, observation, mask and the rest.

    Gymnasium's batched spaces are not counted.
    """
    env = make_env(game, num_envs, copy=False)
    env.reset(seed=0)
    buffers: dict[int, int] = {}
    held: list[Any] = [*vars(env).values(), *vars(env.batch).values()]
    while held:
        value = held.pop()
        if isinstance(value, (list, tuple)):
            held.extend(value)
        elif isinstance(value, np.ndarray):
            while isinstance(value.base, np.ndarray):  # a view shares the memory of its base
                value = value.base
            buffers[id(value)] = value.nbytes
    return sum(buffers.values()) / num_envs
