"""Answers of the server for what a browser lacks: policies of its user, the data of house rules.

A request names the game by ``game``, ``rules``, ``deal`` and ``moves``; nothing is lost if the server ends
between two of them. The arguments of the public methods are the contents of requests. A wrong one is a
ValueError or a TypeError.
"""

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import takewhile
from threading import Lock
from types import MappingProxyType
from typing import Any, Final

from solitaire_env.core.deals import Deal
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.core.variant import HOUSE_RULES, Variant
from solitaire_env.evaluation.runner import Runner
from solitaire_env.loading import load_policy
from solitaire_env.notation import action_text, parse_position
from solitaire_env.play.hints import Adviser, Option
from solitaire_env.play.page_data import MAX_GAMES, MAX_MOVES, game_data
from solitaire_env.play.piles import places
from solitaire_env.play.session import Session, new_session
from solitaire_env.registration import step_limit
from solitaire_env.util.arguments import check_choice, check_count, check_flag, check_kind
from solitaire_env.util.messages import one_line, shown
from solitaire_env.variants import get_variant, known_variants

GAMES_KEPT: Final = 8
"""Number of games whose moves need not be played again: those of the latest requests."""
MAX_WAITING: Final = 20
"""Maximum number of long requests that wait or run; one runs at a time."""
LONG: Final = ("play-out",)
"""The requests that may take seconds or more."""

Rules = Mapping[str, Any]
"""House rules by their names."""


class Refused(Exception):
    """A request that is refused for another reason than a wrong value."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        """The HTTP status."""


class Cancelled(Exception):
    """Nobody waits for the answer."""


class Answers:
    """Answers requests. Threads may share it.

    Parameters
    ----------
    policies
        Names of policies, as for :func:`solitaire_env.loading.load_policy`.

    Raises
    ------
    ValueError
        If a policy plays no game.
    """

    def __init__(self, policies: Sequence[str]) -> None:
        self.policies = tuple(dict.fromkeys(policies))
        self.adviser = lru_cache(maxsize=64)(self._adviser)
        self.player = lru_cache(maxsize=8)(load_policy)
        """Policies for long work, which runs one at a time."""
        self.waiting = 0
        """Number of long requests that wait or run."""
        self._sessions: OrderedDict[tuple[Variant, str], Session] = OrderedDict()
        self._lock, self._worker = Lock(), Lock()
        self.requests: dict[str, Callable[..., dict[str, Any]]] = {
            "game": self.game,
            "policies": self.list_policies,
            "hint": self.hint,
            "play-out": self.play_out,
        }
        for name in self.policies:
            reasons = (self._reason(name, variant) for variant in known_variants())
            first = next(reasons)
            if first and all(reasons):
                raise ValueError(f"policy {shown(name)} plays no game: {first}")

    def _adviser(self, name: str, variant: Variant) -> Adviser:
        return Adviser(load_policy(name, variant), variant)

    def _reason(self, name: str, variant: Variant) -> str:
        """Why a policy does not play a game; empty if it does."""
        try:
            self.adviser(name, variant)
        except (ValueError, ImportError) as error:
            return one_line(error)
        return ""

    def offers(self) -> dict[str, Any]:
        """What the page may ask for."""
        return {"policies": self.policies}

    def answer(self, what: str, body: dict[str, Any], wanted: Callable[[], bool]) -> dict[str, Any]:
        """Answer a request; ``wanted``: whether somebody still waits for it.

        Raises
        ------
        Refused
            If there is no such request, or its policy fails.
        Cancelled
            If nobody waits.
        """
        if what not in self.requests:
            raise Refused(404, f"unknown request {shown(what)}, allowed: {', '.join(self.requests)}")
        function = self.requests[what]
        if what not in LONG:
            inspect.signature(function).bind(**body)  # a TypeError names the values that it does not have
            return function(**body)
        inspect.signature(function).bind(wanted, **body)
        with self._turn(wanted):
            return function(wanted, **body)

    @contextmanager
    def _turn(self, wanted: Callable[[], bool]) -> Iterator[None]:
        """Wait until no other long work runs."""
        with self._lock:
            if self.waiting >= MAX_WAITING:
                raise Refused(429, f"{MAX_WAITING} requests are waiting, the maximum; try again later")
            self.waiting += 1
        try:
            while not self._worker.acquire(timeout=0.25):
                _check_wanted(wanted)
            try:
                yield
            finally:
                self._worker.release()
        finally:
            with self._lock:
                self.waiting -= 1

    # ---------------------------------------------------------------------------------- games

    def game(self, game: str, rules: Rules = MappingProxyType({})) -> dict[str, Any]:
        """The data of a game with house rules."""
        return game_data(_variant(game, rules))

    @contextmanager
    def _session(self, variant: Variant, deal: Deal, moves: Sequence[str]) -> Iterator[Session]:
        """The game after some moves. Of a game of an earlier request only the other moves are played."""
        if len(check_kind("moves", moves, (list, tuple), "a list of texts")) > MAX_MOVES:
            raise ValueError(f"moves has {len(moves)} moves, allowed: at most {MAX_MOVES}")
        key = variant, str(deal)
        with self._lock:
            known = self._sessions.pop(key, None)
        session = known or new_session(variant, deal)
        try:
            line = [played.text for played in session.played]
            same = takewhile(lambda pair: pair[0] == pair[1], zip(line, moves, strict=False))
            shared = sum(1 for _ in same)
            if shared != len(session.played):
                session.go_to(shared)
            for number, text in enumerate(moves[len(session.played) :], len(session.played) + 1):
                try:
                    session.play(session.env.parse_action(text))
                except (ValueError, TypeError) as error:
                    raise ValueError(f"move {number}, {shown(text)}: {one_line(error)}") from None
            yield session
        finally:
            with self._lock:
                self._sessions[key] = session
                while len(self._sessions) > GAMES_KEPT:
                    self._sessions.popitem(last=False)

    # --------------------------------------------------------------------------------- policies

    def list_policies(self, game: str, rules: Rules = MappingProxyType({})) -> dict[str, Any]:
        """The policies; one that does not play the game has an error."""
        variant = _variant(game, rules)
        listed: list[dict[str, Any]] = []
        for name in self.policies:
            if error := self._reason(name, variant):
                listed.append({"id": name, "name": name, "error": error})
            else:
                policy = self.adviser(name, variant).policy
                varies = policy.stochastic or policy.stateful  # its move when a position comes back
                listed.append({"id": name, "name": policy.name, "error": "", "varies": varies})
        return {"policies": listed}

    def _find(self, name: str, variant: Variant) -> Adviser:
        check_choice("policy", name, self.policies)
        if error := self._reason(name, variant):
            raise Refused(409, f"policy {shown(name)} cannot play this game: {error}")
        return self.adviser(name, variant)

    def hint(
        self, game: str, deal: Deal, policy: str, rules: Rules = MappingProxyType({}),
        moves: Sequence[str] = (), decisions: int = 0, likeliest: bool = True,
    ) -> dict[str, Any]:  # fmt: skip
        """The action that a policy chooses after ``decisions`` decisions, or the likeliest one."""
        check_flag("likeliest", likeliest)
        check_count("decisions", decisions)
        variant = _variant(game, rules)
        adviser = self._find(policy, variant)
        with self._session(variant, deal, moves) as session:
            position = session.position()

            def option_data(option: Option) -> dict[str, Any]:
                place = places(position, option.move)
                return {"action": option.text, "probability": option.probability, **place}

            try:
                advice = adviser.advise(session, likeliest, decisions)
            except Exception as error:  # a custom policy may raise anything
                raise _failed(f"policy {shown(policy)}", error) from error
            if advice is None:
                raise Refused(409, "no move is legal: the game is won or stuck")
            return {
                "policy": policy,
                "action": advice.text,
                **places(position, advice.move),
                "plays": [session.env.action_text(action) for action in advice.actions],
                "value": advice.thought and advice.thought.value,
                "actions": list(map(option_data, advice.options)),
            }

    # ---------------------------------------------------------------------------------- long work

    def play_out(
        self, wanted: Callable[[], bool], game: str, deal: Deal, policy: str,
        rules: Rules = MappingProxyType({}), moves: Sequence[str] = (), seed: int = 0, origin: str = "deal",
    ) -> dict[str, Any]:  # fmt: skip
        """Play the deal, or from the position with its hidden cards dealt again, with a policy."""
        check_choice("origin", origin, ("deal", "position"))
        check_count("seed", seed, 0, MAX_GAMES)
        variant = _variant(game, rules)
        stochastic = self._find(policy, variant).policy.stochastic
        with self._session(variant, deal, moves) as session:
            start, hidden = session.start, False
            if origin == "position":
                start = parse_position(session.env.resample(seed).position(), variant)
                hidden = start != start.hidden()
        try:
            spec = GameSpec(variant, Settings(max_episode_steps=step_limit(variant)))
            runner = Runner(self.player(policy, variant), spec, num_envs=1, seed=seed, record=True)
            for ended in runner.play([start]):
                _check_wanted(wanted)
                for done in ended:
                    line = [action_text(variant, move.action) for move in done.moves]
                    found = {"won": done.won, "home": done.cards_home, "steps": done.steps}
        except Cancelled:
            raise
        except Exception as error:  # a custom policy may raise anything
            raise _failed(f"policy {shown(policy)}", error) from error
        return {**found, "only": not (stochastic or hidden), **({"line": line} if origin == "deal" else {})}


def _variant(game: str, rules: Rules) -> Variant:
    for rule in check_kind("rules", rules, Mapping, "an object"):
        check_choice("rule", rule, tuple(HOUSE_RULES))
    return get_variant(check_kind("game", game, str)).with_rules(**rules)


def _check_wanted(wanted: Callable[[], bool]) -> None:
    if not wanted():
        raise Cancelled


def _failed(what: str, error: Exception) -> Refused:
    return Refused(500, f"{what} failed: {type(error).__name__}, {one_line(error)}")
