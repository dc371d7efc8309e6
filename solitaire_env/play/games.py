"""The games that a server holds in memory, its policies and its jobs; what a request may ask of them.

The arguments of the public methods are the contents of requests. A wrong one is a ValueError or a TypeError.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from threading import Lock
from typing import Any, Final, TypeVar

from solitaire_env.core.layout import action_layout
from solitaire_env.core.variant import HOUSE_RULES, Variant
from solitaire_env.loading import load_policy
from solitaire_env.play.hints import Advice, Adviser
from solitaire_env.play.jobs import Job, measure_win_rate, solve_deal
from solitaire_env.play.piles import board, places
from solitaire_env.play.session import Session, new_session
from solitaire_env.util.arguments import check_choice, check_count, check_kind
from solitaire_env.util.messages import one_line, shown
from solitaire_env.variants import get_variant, known_variants

Answer = TypeVar("Answer")

MAX_SESSIONS: Final = 50
"""Maximum number of games; beyond it, the game that was idle longest is dropped."""
MAX_MOVES: Final = 7_000
"""Maximum number of moves in one game."""
MAX_STORED_MOVES: Final = 100_000
"""Maximum number of moves in all games, half a kilobyte each; beyond it, games are dropped as above."""
MAX_REPLAYS: Final = 20
"""Maximum number of replays that wait or run; one runs at a time. It takes seconds for the most moves."""
MAX_GAMES: Final = 1_000
"""Maximum number of games for a win rate."""
MAX_JOBS: Final = 20
"""Maximum number of stored or waiting jobs; one job runs at a time."""

RANDOM_DEALS: Final = 999_999
"""The highest number of a random deal; the lowest is 1."""


def catalog(solver: bool) -> dict[str, Any]:
    """All games with their rules as plain data (JSON-able)."""
    games = [
        {
            "name": v.name,
            "title": v.title,
            "group": _group(v),
            **{rule: getattr(v, rule) for rule in HOUSE_RULES},
        }
        for v in known_variants()
    ]
    return {"games": games, "rules": HOUSE_RULES, "max_games": MAX_GAMES, "solver": solver}


def _group(variant: Variant) -> str:
    """The heading under which a list shows a game."""
    if variant.cells:
        return "With cells"
    if variant.moves == "any group":
        return "Any group moves"
    if not variant.stock:
        return "All cards on the table"
    decks = {1: "one deck", 2: "two decks"}.get(variant.decks, "more decks")
    return f"With a stock, {decks}"


def rules_text(variant: Variant) -> list[str]:
    """The rules of a game, a line each, without its name."""
    return [line for line in variant.describe().splitlines()[2:] if line]


class Refused(Exception):
    """A request that is refused for another reason than a wrong value."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        """The HTTP status."""


class GameStore:
    """All games, jobs and policies of a server.

    Raises
    ------
    ValueError
        If a policy plays no game.
    """

    def __init__(self, policies: Sequence[str]) -> None:
        self.policies = tuple(dict.fromkeys(policies if "greedy" in policies else ("greedy", *policies)))
        self.sessions: OrderedDict[str, Session] = OrderedDict()
        self.jobs: OrderedDict[str, Job] = OrderedDict()
        self.lock = Lock()
        self.worker = ThreadPoolExecutor(1, "jobs")
        self.replayer = ThreadPoolExecutor(1, "replays")
        self.replays = 0
        """Number of replays that wait or run."""
        self.adviser = lru_cache(maxsize=64)(self._adviser)
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

    def close(self) -> None:
        """Cancel all jobs and end the workers."""
        for job in self.jobs.values():
            job.cancel()
        for worker in (self.worker, self.replayer):
            worker.shutdown(cancel_futures=True)

    # ---------------------------------------------------------------------------------- games

    def catalog(self) -> dict[str, Any]:
        """All games with their rules, and what this server offers."""
        return catalog(solver=True)

    def new(
        self,
        game: str,
        deal: int | str = "random",
        moves_played: Sequence[str] = (),
        at: int | None = None,
        build: str | None = None,
        spaces: str | None = None,
        moves: str | None = None,
    ) -> dict[str, Any]:
        """Deal a game and play moves; with ``at``, undo those after that move."""
        rules: dict[str, Any] = {"build": build, "spaces": spaces, "moves": moves}
        variant = get_variant(check_kind("game", game, str)).with_rules(**rules)
        # Short enough to be read out.
        number = 1 + secrets.randbelow(RANDOM_DEALS) if deal == "random" else deal
        session = new_session(variant, number)
        if len(check_kind("moves_played", moves_played, (list, tuple), "a list of texts")) > MAX_MOVES:
            raise ValueError(f"moves_played has {len(moves_played)} moves, allowed: at most {MAX_MOVES}")
        for number, text in enumerate(moves_played, 1):
            try:
                session.play(session.env.parse_action(text))
            except (ValueError, TypeError) as error:
                raise ValueError(f"move {number} of the link, {shown(text)}: {one_line(error)}") from None
        session.go_to(len(moves_played) if at is None else check_count("at", at))
        with self.lock:
            self.sessions[session.id] = session
            self._drop_idle_games()
        return self.view(session)

    def _drop_idle_games(self) -> None:
        while len(self.sessions) > MAX_SESSIONS or (
            sum(session.moves_known for session in self.sessions.values()) > MAX_STORED_MOVES
        ):
            self.sessions.popitem(last=False)

    def session(self, number: str) -> Session:
        """A game by its id."""
        with self.lock:
            if number not in self.sessions:
                raise Refused(404, f"no game {shown(number)}: unknown, or idle for too long; deal a new game")
            self.sessions.move_to_end(number)
            return self.sessions[number]

    def view(self, session: Session) -> dict[str, Any]:
        """A game as the page draws it; it contains no hidden card."""
        env, variant, position = session.env, session.env.variant, session.position()
        layout = action_layout(variant)
        last, line, result = session.last, session.line, session.result
        return {
            "id": session.id,
            "game": variant.name,
            "title": variant.title,
            **{rule: getattr(variant, rule) for rule in HOUSE_RULES},
            "deal": str(session.deal),
            "cards": variant.cards,
            "piles": board(position),
            "state": "playing" if result == "truncated" else result,
            "moves_played": len(session.played),
            "moves_known": len(line),
            "line": [[played.text, played.words] for played in line],
            "last": None if last is None else {"action": last.text, "words": last.words},
            "helped": any(played.by for played in session.played),
            "finish": [env.action_text(action) for action in session.finish()],
            "legal": [
                {
                    "action": env.action_text(action),
                    "words": env.describe_action(action),
                    **places(position, env.moved_cards(action)),
                    # Whether the player chooses this number of cards from the end of the pile.
                    "exact": layout.decode(action).cards > 1,
                }
                for action in session.legal()
            ],
        }

    def rules(self, session: Session) -> dict[str, Any]:
        """The rules of the game, a line each."""
        return {"rules": rules_text(session.env.variant)}

    def move(self, session: Session, action: str) -> dict[str, Any]:
        """Play an action."""
        self._play(session, [session.env.parse_action(action)])
        return self.view(session)

    def _play(self, session: Session, actions: Sequence[int], by: str = "") -> None:
        if len(session.played) + len(actions) > MAX_MOVES:
            raise Refused(409, f"the game has {MAX_MOVES} moves, the maximum; undo or deal a new game")
        for number, action in enumerate(actions):
            session.play(action, decides=number == 0, by=by)
        with self.lock:
            self._drop_idle_games()

    def go_to(self, session: Session, move: int) -> dict[str, Any]:
        """Undo or redo moves until ``move`` moves are played."""
        session.go_to(check_count("move", move))
        return self.view(session)

    # --------------------------------------------------------------------------------- policies

    def list_policies(self, session: Session) -> dict[str, Any]:
        """The policies; one that does not play the game has an error."""
        listed: list[dict[str, Any]] = []
        for name in self.policies:
            error = self._reason(name, session.env.variant)
            title = name if error else self.adviser(name, session.env.variant).name
            listed.append({"id": name, "name": title, "error": error, "rates": not error})
        return {"policies": listed}

    def hint(self, session: Session, policy: str) -> dict[str, Any]:
        """The action that a policy suggests."""
        return self._as_data(session, policy, self._advise(session, policy, likeliest=True))

    def advance(self, session: Session, policy: str) -> dict[str, Any]:
        """Play the action that a policy chooses."""
        advice = self._advise(session, policy)
        answer = self._as_data(session, policy, advice)
        self._play(session, advice.actions, policy)
        return {**self.view(session), "advice": answer}

    def _advise(self, session: Session, policy: str, likeliest: bool = False) -> Advice:
        adviser = self._find(policy, session.env.variant)
        try:
            advice = adviser.advise(session, likeliest)
        except Exception as error:  # a custom policy may raise anything
            reason = f"policy {shown(policy)} failed: {type(error).__name__}, {one_line(error)}"
            raise Refused(500, reason) from error
        if advice is None:
            raise Refused(409, "no move is legal: the game is won or stuck")
        return advice

    def _find(self, name: str, variant: Variant) -> Adviser:
        check_choice("policy", name, self.policies)
        if error := self._reason(name, variant):
            raise Refused(409, f"policy {shown(name)} cannot play this game: {error}")
        return self.adviser(name, variant)

    def _as_data(self, session: Session, policy: str, advice: Advice) -> dict[str, Any]:
        """Advice as plain data, in the current position."""
        position = session.position()
        return {
            "policy": policy,
            "action": advice.text,
            "words": advice.words,
            **places(position, advice.move),
            "plays": [session.env.action_text(action) for action in advice.actions],
            "value": advice.thought and advice.thought.value,
            "actions": [
                {
                    "action": option.text,
                    "words": option.words,
                    "probability": option.probability,
                    **places(position, option.move),
                }
                for option in advice.options
            ],
        }

    # -------------------------------------------------------------------------- in the background

    def replay(self, work: Callable[[], Answer]) -> Future[Answer]:
        """Queue work that plays a whole game again, which takes long: others are answered meanwhile."""
        with self.lock:
            if self.replays >= MAX_REPLAYS:
                raise Refused(429, f"{MAX_REPLAYS} games are played again, the maximum; try again later")
            self.replays += 1
        future = self.replayer.submit(work)
        future.add_done_callback(self._end_replay)
        return future

    def _end_replay(self, _: Future[Any]) -> None:
        with self.lock:
            self.replays -= 1

    def rate(self, session: Session, policy: str, games: int = 100, origin: str = "deal") -> dict[str, Any]:
        """Start a job that plays the deal, or from the position, with a policy."""
        check_choice("origin", origin, ("deal", "position"))
        variant, games = session.env.variant, check_count("games", games, 1, MAX_GAMES)
        position = session.full_position()
        hidden = origin == "position" and position != position.hidden()
        if not (self._find(policy, variant).policy.stochastic or hidden):
            games = 1
        start = position if origin == "position" else session.start
        work = partial(measure_win_rate, name=policy, variant=variant, start=start, games=games)
        return self._begin(Job(f"policy {shown(policy)}", work))

    def solve(self, session: Session) -> dict[str, Any]:
        """Start a job that solves the deal."""
        assert session.deal is not None  # all games of a server start from deals
        return self._begin(
            Job("the solver", partial(solve_deal, variant=session.env.variant, deal=session.deal))
        )

    def _begin(self, job: Job) -> dict[str, Any]:
        """Store a job and queue it."""
        number = secrets.token_urlsafe(12)
        with self.lock:
            ended = [key for key, known in self.jobs.items() if known.state not in ("waiting", "playing")]
            for old in ended[: max(0, len(self.jobs) - MAX_JOBS + 1)]:
                del self.jobs[old]
            if len(self.jobs) >= MAX_JOBS:
                raise Refused(429, f"{MAX_JOBS} jobs are waiting, the maximum; try again later")
            self.jobs[number] = job
        self.worker.submit(job.run)
        return {"id": number, **job.report()}

    def job(self, number: str) -> Job:
        """A job by its id."""
        with self.lock:
            if number not in self.jobs:
                raise Refused(404, f"no job {shown(number)}: start it again")
            return self.jobs[number]
