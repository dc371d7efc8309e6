"""The games that a server holds in memory, and its policies.

The contents of requests are checked here; :mod:`solitaire_env.play.server` receives them over HTTP.
"""

import re
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, Final, get_args

from solitaire_env.core.deals import Deal
from solitaire_env.core.layout import action_layout
from solitaire_env.core.position import Position
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation.runner import new_game_number
from solitaire_env.play.hints import Adviser
from solitaire_env.play.session import Session
from solitaire_env.play.web import board, places
from solitaire_env.play.web.jobs import Job, SolverJob, WinRateJob
from solitaire_env.policies import load_policy
from solitaire_env.policies.load import load_class
from solitaire_env.transcripts import Transcript, format_transcript
from solitaire_env.util.messages import one_line, shown
from solitaire_env.variants import Build, Moves, Spaces, Variant, get_variant, known_variants

MAX_SESSIONS: Final = 100
"""Maximum number of games; beyond it, the game that was idle longest is dropped."""
MAX_MOVES: Final = 7_000
"""Maximum number of moves in one game."""
MAX_KEPT: Final = 50_000
"""Maximum number of moves in all games together, about 200 MB; beyond it, games that were idle longest are
dropped."""
MAX_GAMES: Final = 1_000
"""Maximum number of games for a win rate."""
MAX_RATES: Final = 20
"""Maximum number of stored or waiting jobs; one job runs at a time."""

HINT: Final = "hint"
"""Name of the built-in hint, which is offered besides the policies."""

RULES: Final = {"build": get_args(Build), "spaces": get_args(Spaces), "moves": get_args(Moves)}
"""House rules and their values."""


class Refused(Exception):
    """A refused request."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        """The HTTP status."""
        self.reason = reason


@dataclass
class Table:
    """A game on the server."""

    session: Session
    start: str
    """Position text of the start, including the stock."""
    deal: Deal
    lock: Lock = field(default_factory=Lock)


class Sessions:
    """All games, jobs and policies of a server."""

    def __init__(self, policies: Sequence[str], solver: str | None = None) -> None:
        self.policies = tuple(dict.fromkeys(policies))
        self.solver = solver
        if solver is not None:
            load_class(solver)
        self.tables: OrderedDict[str, Table] = OrderedDict()
        self.jobs: OrderedDict[str, Job] = OrderedDict()
        self.lock = Lock()
        self.worker = ThreadPoolExecutor(1, "win-rates")
        self.adviser = lru_cache(maxsize=64)(self._adviser)
        for name in self.policies:
            self._check(name)

    def _adviser(self, name: str, variant: Variant) -> tuple[Adviser | None, str, Lock]:
        """A policy for a game, or the reason why it does not play it; and the lock for calling it."""
        try:
            return Adviser(load_policy(name, variant), variant), "", Lock()
        except (ValueError, ImportError) as error:
            return None, one_line(error), Lock()

    def _check(self, name: str) -> None:
        """Raise an error for a policy that plays no game."""
        reason = ""
        for variant in known_variants():
            _, error, _ = self.adviser(name, variant)
            if not error:
                return
            reason = reason or error
        raise ValueError(f"policy {shown(name)} plays no game: {reason}")

    # ---------------------------------------------------------------------------------- games

    def new(self, body: dict[str, Any]) -> dict[str, Any]:
        """Deal a game and play the moves of the request; with ``at``, undo those after that move."""
        check_keys(body, ("game", "deal", "moves_played", "at", *RULES))
        rules: dict[str, Any] = {rule: _text(body, rule) for rule in RULES if rule in body}
        variant = get_variant(_text(body, "game")).with_rules(**rules)
        env = SolitaireEnv(variant, on_invalid="raise")
        env.reset(options=_parse_deal(body.get("deal", "random")))
        table = Table(Session(env), env.position(), env.get_state()["deal"])
        _play_line(table, body)
        number = secrets.token_urlsafe(12)
        with self.lock:
            self.tables[number] = table
            self._forget_idle(number)
        return self.view(number, table)

    def _forget_idle(self, staying: str) -> None:
        def size(table: Table) -> int:
            return len(table.session.played) + len(table.session.undone)

        kept = sum(map(size, self.tables.values()))
        while len(self.tables) > MAX_SESSIONS or (kept > MAX_KEPT and len(self.tables) > 1):
            oldest = next(number for number in self.tables if number != staying)
            kept -= size(self.tables.pop(oldest))

    def table(self, number: str) -> Table:
        """A game by its id."""
        with self.lock:
            if number not in self.tables:
                raise Refused(404, f"no game {shown(number)}: unknown, or idle for too long; deal a new game")
            self.tables.move_to_end(number)
            self._forget_idle(number)
            return self.tables[number]

    def view(self, number: str, table: Table) -> dict[str, Any]:
        """The complete view of a game, for the page."""
        session = table.session
        variant = session.env.variant
        position = session.position()
        layout = action_layout(variant)
        legal = []
        for action in session.legal():
            move = session.env.move(action)
            legal.append(
                {
                    "action": session.env.action_text(action),
                    "words": session.env.describe_action(action),
                    **places(position, move),
                    # Whether the player chooses this number of cards from the end of the pile.
                    "exact": layout.decode(action).cards > 1,
                }
            )
        last, line = session.last, session.line
        return {
            "id": number,
            "game": variant.name,
            "title": variant.title,
            **{rule: getattr(variant, rule) for rule in RULES},
            "deal": str(table.deal),
            "cards": variant.cards,
            "piles": board(position),
            "state": "won" if session.won else "playing" if legal else "stuck",
            "moves_played": len(session.played),
            "moves_known": len(line),
            "line": [[played.text, played.words] for played in line],
            "last": None if last is None else {"action": last.text, "words": last.words},
            "legal": legal,
            "moves_home": [session.env.action_text(action) for action in session.moves_home()],
        }

    def policies_for(self, number: str, table: Table) -> dict[str, Any]:
        """The policies for a game, and the built-in hint."""
        policies: list[dict[str, Any]] = [{"id": HINT, "name": "hint", "error": "", "rates": False}]
        for name in self.policies:
            adviser, error, _ = self.adviser(name, table.session.env.variant)
            policies.append(
                {
                    "id": name,
                    "name": name if adviser is None else adviser.name,
                    "error": error,
                    "rates": adviser is not None,
                }
            )
        return {"policies": policies}

    # ---------------------------------------------------------------------------------- moves

    def move(self, number: str, table: Table, body: dict[str, Any]) -> dict[str, Any]:
        """Play an action."""
        check_keys(body, ("action",))
        self._play(table, [table.session.env.parse_action(_text(body, "action"))])
        return self.view(number, table)

    def _play(self, table: Table, actions: Sequence[int], by: str = "") -> None:
        if len(table.session.played) + len(actions) > MAX_MOVES:
            raise Refused(409, f"the game has {MAX_MOVES} moves, the maximum; undo or deal a new game")
        for number, action in enumerate(actions):
            table.session.play(action, decides=number == 0, by=by)

    def undo(self, number: str, table: Table, body: dict[str, Any]) -> dict[str, Any]:
        """Take the last move back."""
        check_keys(body, ())
        if not table.session.played:
            raise Refused(409, "there is no move to take back")
        table.session.undo()
        return self.view(number, table)

    def redo(self, number: str, table: Table, body: dict[str, Any]) -> dict[str, Any]:
        """Redo a move."""
        check_keys(body, ())
        if not table.session.undone:
            raise Refused(409, "there is no move to redo")
        table.session.go_to(len(table.session.played) + 1)
        return self.view(number, table)

    def go_to(self, number: str, table: Table, body: dict[str, Any]) -> dict[str, Any]:
        """Undo or redo moves until ``move`` moves are played."""
        check_keys(body, ("move",))
        table.session.go_to(_number(body, "move"))
        return self.view(number, table)

    def restart(self, number: str, table: Table, body: dict[str, Any]) -> dict[str, Any]:
        """Take all moves back; they can be redone. A stateful policy forgets the game."""
        check_keys(body, ())
        table.session.go_to(0)
        table.session.number = new_game_number()
        return self.view(number, table)

    # --------------------------------------------------------------------------------- policies

    def hint(self, number: str, table: Table, body: dict[str, Any]) -> dict[str, Any]:
        """The action that a policy suggests."""
        check_keys(body, ("policy",))
        return self._advise(table, _text(body, "policy"), likeliest=True)[0]

    def advance(self, number: str, table: Table, body: dict[str, Any]) -> dict[str, Any]:
        """Play the action that a policy chooses."""
        check_keys(body, ("policy",))
        name = _text(body, "policy")
        advice, actions = self._advise(table, name)
        self._play(table, actions, name)
        return {**self.view(number, table), "advice": advice}

    def _advise(
        self, table: Table, name: str, likeliest: bool = False
    ) -> tuple[dict[str, Any], tuple[int, ...]]:
        session = table.session
        if name == HINT:
            action = session.hint()
            if action is None:
                raise Refused(409, "no move is legal: the game is won or stuck")
            text = session.env.action_text(action)
            return {
                "policy": name,
                "action": text,
                "words": session.env.describe_action(action),
                **places(session.position(), session.env.move(action)),
                "plays": [text],
                "value": None,
                "actions": [],
            }, (action,)
        adviser, lock = self._ask(name, session.env.variant)
        try:
            with lock:
                advice = adviser.advise(session, likeliest)
        except Exception as error:  # a custom policy may raise anything
            raise _policy_failed(name, error) from error
        if advice is None:
            raise Refused(409, "no move is legal: the game is won or stuck")
        thought, position = advice.thought, session.position()
        return {
            "policy": name,
            "action": advice.text,
            "words": advice.words,
            **places(position, advice.move),
            "plays": [session.env.action_text(action) for action in advice.actions],
            "value": thought and thought.value,
            "actions": [
                {
                    "action": option.text,
                    "words": option.words,
                    "probability": option.probability,
                    **places(position, option.move),
                }
                for option in advice.options
            ],
        }, advice.actions

    def _ask(self, name: str, variant: Variant) -> tuple[Adviser, Lock]:
        if name not in self.policies:
            names = ", ".join(map(repr, (HINT, *self.policies)))
            raise Refused(400, f"unknown policy {shown(name)}, allowed: {names}")
        adviser, error, lock = self.adviser(name, variant)
        if adviser is None:
            raise Refused(409, f"policy {shown(name)} cannot play this game: {error}")
        return adviser, lock

    # -------------------------------------------------------------------------- in the background

    def rate(self, number: str, table: Table, body: dict[str, Any]) -> dict[str, Any]:
        """Start a job that plays the deal, or from the position, with a policy."""
        check_keys(body, ("policy", "games", "from"))
        name, games, origin = _text(body, "policy"), body.get("games", 100), body.get("from", "deal")
        if type(games) is not int or not 1 <= games <= MAX_GAMES:
            raise Refused(400, f"games is {shown(games)}, allowed: a whole number from 1 to {MAX_GAMES}")
        if origin not in ("deal", "position"):
            raise Refused(400, f"from is {shown(origin)}, allowed: 'deal' or 'position'")
        session = table.session
        if name == HINT:
            raise Refused(400, f"policy is {HINT!r}, allowed for win rates: a policy named by --policy")
        adviser, _ = self._ask(name, session.env.variant)
        start = session.full_position() if origin == "position" else table.deal
        hidden = isinstance(start, Position) and start != start.hidden()
        games = games if adviser.policy.stochastic or hidden else 1
        return self._begin(WinRateJob(variant=session.env.variant, name=name, start=start, games=games))

    def solve(self, number: str, table: Table, body: dict[str, Any]) -> dict[str, Any]:
        """Start a job that solves the deal."""
        check_keys(body, ())
        if self.solver is None:
            raise Refused(409, "the server has no solver: start it with --solver")
        return self._begin(SolverJob(variant=table.session.env.variant, solver=self.solver, deal=table.deal))

    def _begin(self, job: Job) -> dict[str, Any]:
        """Store a job and queue it."""
        number = secrets.token_urlsafe(12)
        with self.lock:
            ended = [key for key, known in self.jobs.items() if known.state not in ("waiting", "playing")]
            for old in ended[: max(0, len(self.jobs) - MAX_RATES + 1)]:
                del self.jobs[old]
            if len(self.jobs) >= MAX_RATES:
                raise Refused(429, f"{MAX_RATES} jobs are waiting, the maximum; try again later")
            self.jobs[number] = job
        self.worker.submit(job.run)
        return {"rate": number, **job.report()}

    def job(self, number: str) -> Job:
        """A job by its id."""
        with self.lock:
            if number not in self.jobs:
                raise Refused(404, f"no job {shown(number)}: start it again")
            return self.jobs[number]

    def transcript(self, table: Table) -> tuple[str, str]:
        """The file name and the text of the game's transcript."""
        session = table.session
        variant = session.env.variant
        helpers = list(dict.fromkeys(played.by for played in session.played if played.by))
        name = re.sub(r"[^\w.-]+", "-", f"{variant.name}-{table.deal}.txt", flags=re.ASCII)
        return name, format_transcript(
            Transcript(
                variant=variant,
                policy=" with ".join(["human", *([", ".join(helpers)] if helpers else [])]),
                deal=table.deal,
                result=session.result,
                cards_home=session.cards_home,
                steps=len(session.played),
                start=table.start,
                actions=tuple(played.text for played in session.played),
            )
        )

    def close(self) -> None:
        """Cancel all jobs and end the worker."""
        for job in self.jobs.values():
            job.cancel.set()
        self.worker.shutdown(cancel_futures=True)


def _policy_failed(name: str, error: Exception) -> Refused:
    return Refused(500, f"policy {shown(name)} failed: {type(error).__name__}, {one_line(error)}")


# ------------------------------------------------------------------------------------- requests


def check_keys(body: dict[str, Any], allowed: Sequence[str]) -> None:
    """Refuse a request with unknown keys."""
    unknown = [key for key in body if key not in allowed]
    if unknown:
        names = ", ".join(map(repr, allowed)) or "none"
        raise Refused(400, f"unknown keys {shown(unknown)}, allowed: {names}")


def _text(body: dict[str, Any], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str):
        raise Refused(400, f"{key} is {shown(value)}, allowed: text")
    return value


def _number(body: dict[str, Any], key: str) -> int:
    value = body.get(key)
    if type(value) is not int:
        raise Refused(400, f"{key} is {shown(value)}, allowed: a whole number")
    return value


def _play_line(table: Table, body: dict[str, Any]) -> None:
    """Play the moves of a request, and undo those after move ``at``."""
    texts = body.get("moves_played", [])
    if not isinstance(texts, list) or len(texts) > MAX_MOVES or not all(isinstance(t, str) for t in texts):
        allowed = f"a list of at most {MAX_MOVES} action texts"
        raise Refused(400, f"moves_played is {shown(texts)}, allowed: {allowed}")
    session = table.session
    for move, text in enumerate(texts, 1):
        try:
            session.play(session.env.parse_action(text))
        except ValueError as error:
            raise Refused(400, f"move {move} of the link, {shown(text)}: {one_line(error)}") from None
    session.go_to(_number(body, "at") if "at" in body else len(texts))


def _parse_deal(deal: object) -> dict[str, Any] | None:
    """The reset options for a deal; None for a random one."""
    if deal == "random":
        return None
    if isinstance(deal, str) and re.fullmatch("[0-9]{1,19}", deal):
        deal = int(deal)
    if isinstance(deal, str) and not re.fullmatch("(ms|pysol):[0-9]{1,20}", deal):
        raise Refused(
            400, f"unknown deal {shown(deal)}, allowed: a whole number, 'ms:N', 'pysol:N' or 'random'"
        )
    return {"deal": deal}
