"""How well a policy plays: win rates with intervals, on deals that are named.

A policy is anything that answers ``policy(observations, masks) -> actions`` with observations ``[n, size]``,
masks int8 ``[n, actions]`` and actions int ``[n]``. It may say more of itself by attributes:

``moves``
    ``"supermove"`` when it plays a one-card game with the shortcut actions; what it answers is expanded and
    played as single cards.
``observation``, ``information``
    What it wants to see; ``"cards"`` and ``"player"`` unless it says otherwise.
``memoryless``
    True when equal observations get equal answers. Such a policy that comes back to a position goes round for
    ever, and the game is counted as truncated at once.
``by_chance``
    True when it leaves something to chance: it is called with a third argument, ``chances`` float64 ``[n]``,
    a number in [0, 1) for each game (:func:`draw`). They hang on the deal and on how often the policy was
    asked in the game alone, so that a game is the same whatever is played beside it.
``remembers``
    True when it keeps something of a game from move to move: it is called with ``games=``, int64 ``[n]``, the
    number of each game, which no other game in this process has.
``explain(observations, masks) -> (probabilities, values)``
    What it thinks: float ``[n, actions]``, 0 where illegal, and float ``[n]``, the return that it expects
    from there; each None where it does not know.
"""

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from solitaire_env.core.batch import Batch, IllegalActionError
from solitaire_env.core.deals import Deal
from solitaire_env.core.layout import PLAYING, WON
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.notation import action_text, format_position
from solitaire_env.registration import env_id, env_variant, resolve_variant, step_limit
from solitaire_env.transcripts import Thought, Transcript, check_policy_name, format_transcript
from solitaire_env.util.files import write_text
from solitaire_env.util.messages import shown
from solitaire_env.variants import Variant

_NUMBERS: Final = count()
"""Of games, for policies that remember."""
TOP_ACTIONS: Final = 5
"""So many of a policy's likeliest actions are told."""


class Policy(Protocol):
    """Chooses an action in each of ``n`` games."""

    def __call__(
        self, observations: npt.NDArray[Any], masks: npt.NDArray[np.int8], /
    ) -> npt.NDArray[np.integer[Any]]:
        """Actions int ``[n]`` for observations ``[n, size]`` and masks int8 ``[n, actions]``."""


@dataclass(frozen=True)
class Game:
    """One game of an evaluation: a row of its results file."""

    env: str
    policy: str
    moves: str
    """The action set that the policy chose from."""
    rules: str
    """Building, spaces, moves and step limit of the game that was played."""
    deal: Deal
    won: bool
    cards_home: int
    steps: int
    """Actions of the published game."""
    truncated: bool
    repeated: int
    """Positions of the game, looked at before an action, that had stood before in it."""


@dataclass(frozen=True)
class Summary:
    """What the games of an evaluation come to. Intervals are of 95 %."""

    games: int
    wins: int
    win_rate: float
    win_interval: tuple[float, float]
    """Wilson's score interval."""
    cards_home: float
    cards_interval: tuple[float, float]
    """Bootstrap interval of the mean."""
    steps: float
    truncated: float
    """Share of games that ran into the step limit."""
    repeated: float
    """Share of games in which a position came back."""


@dataclass
class Evaluation:
    """The games of one policy on one game of solitaire, in the order of the deals that were asked for."""

    games: list[Game]
    transcripts: dict[Deal, str]
    """Of the games played in this call, when they were asked for."""
    seconds: float
    """Time that playing took."""
    answers: int
    """Actions that the policy was asked for."""
    answer_seconds: float
    """Processor time that the policy took for them."""

    @property
    def summary(self) -> Summary:
        """What the games come to."""
        return summarize(self.games)


# -------------------------------------------------------------------------------------- statistics


def wilson_interval(wins: int, games: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a win rate (Wilson, JASA 22, 1927)."""
    if games == 0:
        return (0.0, 1.0)
    z2 = 1.959963984540054**2
    center = (wins + z2 / 2) / (games + z2)
    half = math.sqrt(z2 * (wins * (games - wins) / games + z2 / 4)) / (games + z2)
    return (max(0.0, center - half), min(1.0, center + half))


def bootstrap_interval(values: Sequence[float], resamples: int = 2000) -> tuple[float, float]:
    """95 % percentile bootstrap interval of a mean, from a fixed seed."""
    data = np.asarray(values, dtype=np.float64)
    if len(data) == 0:
        return (math.nan, math.nan)
    random = np.random.Generator(np.random.PCG64(0))
    means = data[random.integers(len(data), size=(resamples, len(data)))].mean(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return (float(low), float(high))


def mcnemar(first: Iterable[Game], second: Iterable[Game]) -> tuple[int, int, float]:
    """Two policies on the same deals: deals that only the first won, only the second won, and the exact
    two-sided p.

    Raises
    ------
    ValueError
        If the deals are not the same.
    """
    a = {game.deal: game.won for game in first}
    b = {game.deal: game.won for game in second}
    if a.keys() != b.keys():
        raise ValueError(
            f"different deals were played: {len(a)} and {len(b)}, {len(a.keys() & b.keys())} in common"
        )
    only_a = sum(a[deal] and not b[deal] for deal in a)
    only_b = sum(b[deal] and not a[deal] for deal in a)
    n = only_a + only_b
    tail = sum(math.comb(n, k) for k in range(min(only_a, only_b) + 1))
    return only_a, only_b, min(1.0, 2 * tail / 2**n)


def summarize(games: Sequence[Game]) -> Summary:
    """Rates and intervals of some games."""
    wins = sum(game.won for game in games)

    def mean(values: Iterable[float]) -> float:
        return sum(values) / max(len(games), 1)

    return Summary(
        games=len(games),
        wins=wins,
        win_rate=wins / max(len(games), 1),
        win_interval=wilson_interval(wins, len(games)),
        cards_home=mean(game.cards_home for game in games),
        cards_interval=bootstrap_interval([game.cards_home for game in games]),
        steps=mean(game.steps for game in games),
        truncated=mean(game.truncated for game in games),
        repeated=mean(game.repeated > 0 for game in games),
    )


# ------------------------------------------------------------------------------------- results file


_GAME_TYPES = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(Game).items()}
_TYPE_NAMES = {str: "text", bool: "true or false", int: "a whole number from 0 to 2**63 - 1"}


def read_games(path: Path) -> list[Game]:
    """The games of a results file (JSON lines). A last line that was cut off is left out.

    Raises
    ------
    ValueError
        Naming the line and what is wrong with it.
    """
    games = []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is not text") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            games.append(_read_game(line))
        except ValueError as error:
            if number == len(lines):
                break
            raise ValueError(f"{path}, line {number}: not a game of an evaluation ({error})") from None
    return games


def _read_game(line: str) -> Game:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON, {error}") from None
    if not isinstance(data, dict) or data.keys() != _GAME_TYPES.keys():
        has = shown(list(data)) if isinstance(data, dict) else f"a {type(data).__name__}"
        raise ValueError(f"it has {has}, allowed: an object with {', '.join(_GAME_TYPES)}")
    for key, value in data.items():
        allowed = _GAME_TYPES[key]
        if type(value) not in allowed or (type(value) is int and not 0 <= value < 2**63):
            names = " or ".join(_TYPE_NAMES[kind] for kind in allowed)
            raise ValueError(f"its {key} is {shown(value)}, allowed: {names}")
    return Game(**data)


def _as_line(game: Game) -> str:
    return json.dumps(asdict(game)) + "\n"


# ------------------------------------------------------------------------------------------- play


def evaluate(
    policy: Policy | Callable[..., Any],
    env: str | Variant,
    deals: Sequence[Deal] = range(1000),
    *,
    name: str | None = None,
    build: str | None = None,
    spaces: str | None = None,
    moves: str | None = None,
    max_episode_steps: int | None = None,
    num_envs: int = 256,
    seed: int = 0,
    results: str | Path | None = None,
    transcripts: bool | str | Path = False,
    progress: Callable[[list[Game], int], None] | None = None,
) -> Evaluation:
    """Play named deals with a policy; an illegal action is an error.

    Parameters
    ----------
    policy
        See the module.
    env
        An id, a variant's name, or a variant.
    deals
        Deal numbers or names; the standard set is 0-999.
    name
        What the results call the policy; its class's name by default.
    build, spaces, moves
        House rules of the game that is played.
    max_episode_steps
        Step limit, of actions of the game that is played; the registered one by default.
    num_envs
        So many games are played side by side.
    seed
        Of what a policy ``by_chance`` leaves to chance: with another it plays the same deals anew.
    results
        A JSON-lines file to which every game is written as it ends; deals that stand there already are not
        played again.
    transcripts
        Whether to keep the games as text, which :func:`solitaire_env.transcripts.parse_transcript` reads,
        with the thoughts of a policy that explains itself; a folder: each is written there as it ends, and
        deals that stand in ``results`` are played again if theirs is missing.
    progress
        Called after each step, with all games that ended so far and how many there will be.
    """
    variant = env_variant(env) if isinstance(env, str) else env
    variant = resolve_variant(variant, build=build, spaces=spaces, moves=moves)
    name = name or getattr(policy, "name", None) or type(policy).__name__
    folder = None if isinstance(transcripts, bool) else Path(transcripts)
    if transcripts:
        check_policy_name(name)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    action_set = getattr(policy, "moves", None) or variant.moves
    deals = list(deals)
    if len(set(deals)) != len(deals):
        raise ValueError("a deal stands twice among the deals to evaluate")
    if seed < 0:
        raise ValueError(f"seed is {seed}, allowed: at least 0")
    limit = max_episode_steps or step_limit(variant)
    about: dict[str, Any] = {
        "env": env_id(variant),
        "policy": name,
        "moves": action_set,
        "rules": game_rules(variant, limit),
    }
    done: dict[Deal, Game] = {}
    path = Path(results) if results is not None else None
    if path is not None and path.exists():
        for game in read_games(path):
            for key, value in about.items():
                if getattr(game, key) != value:
                    raise ValueError(
                        f"{path} holds games with {key} {shown(getattr(game, key))}, not {value!r}; "
                        "choose another file"
                    )
            done[game.deal] = game
        # A line cut off by a crash goes; what is whole stays.
        _rewrite(path, done.values())
    table = _Table(policy, variant, num_envs, limit, bool(transcripts), seed)

    def stands(deal: Deal) -> bool:
        return deal in done and (folder is None or (folder / transcript_name(deal)).is_file())

    kept = [done[deal] for deal in deals if stands(deal)]
    todo = [deal for deal in deals if not stands(deal)]
    texts: dict[Deal, str] = {}
    start = time.perf_counter()
    file = path.open("a", encoding="utf-8") if path is not None else None
    try:
        for ended in table.play(todo):
            for deal, outcome, played in ended:
                game = Game(**about, deal=deal, **outcome)
                kept.append(game)
                if played is not None:
                    texts[deal] = _transcript(variant, game, table.seen_settings.information, *played)
                    if folder is not None:
                        write_text(folder / transcript_name(deal), texts[deal])
                if file is not None:
                    file.write(_as_line(game))
                    file.flush()
            if progress is not None:
                progress(kept, len(deals))
    finally:
        if file is not None:
            file.close()
    order = {deal: k for k, deal in enumerate(deals)}
    kept.sort(key=lambda game: order[game.deal])
    if path is not None:
        # In the order of the deals, so that the file of an evaluation is the same whenever it is made.
        everyone = {**done, **{game.deal: game for game in kept}}
        _rewrite(
            path,
            sorted(everyone.values(), key=lambda game: (order.get(game.deal, len(order)), str(game.deal))),
        )
    return Evaluation(kept, texts, time.perf_counter() - start, table.answers, table.answer_seconds)


def game_rules(variant: Variant, max_episode_steps: int | None = None) -> str:
    """Building, spaces, moves and step limit of a game, as the rows of its results tell them."""
    limit = max_episode_steps or step_limit(variant)
    return f"{variant.build}, {variant.spaces}, {variant.moves}, {limit} steps"


def transcript_name(deal: Deal) -> str:
    """The name of the file that holds the game of a deal."""
    return f"{str(deal).replace(':', '-')}.txt"


_Move = tuple[int, Thought | None]
"""A single action that was played, and what the policy thought before it."""


def _transcript(variant: Variant, game: Game, information: str, start: str, moves: list[_Move]) -> str:
    thoughts = tuple(thought for _, thought in moves)
    return format_transcript(
        Transcript(
            variant=variant,
            policy=game.policy,
            deal=game.deal,
            result="won" if game.won else "truncated" if game.truncated else "stuck",
            cards_home=game.cards_home,
            steps=game.steps,
            start=start,
            actions=tuple(action_text(variant, action) for action, _ in moves),
            thoughts=thoughts if any(thoughts) else (),
            information=information,
        )
    )


def _rewrite(path: Path, games: Iterable[Game]) -> None:
    """Replace a results file in one move, whole or not at all."""
    write_text(path, "".join(map(_as_line, games)))


class _Table:
    """Games side by side. The policy looks at ``seen``; what it answers is played in ``played``.

    They are the same batch unless the policy plays a one-card game with the shortcut actions: then ``played``
    moves single cards, and ``seen`` follows it.
    """

    def __init__(
        self, policy: Any, variant: Variant, num_envs: int, limit: int, transcripts: bool, seed: int
    ) -> None:
        self.policy = policy
        self.seed = seed
        self.variant = variant
        self.limit = limit
        self.num_envs = num_envs
        self.transcripts = transcripts
        self.seen_variant, self.seen_settings = seen_by(policy, variant)
        self.memoryless = bool(getattr(policy, "memoryless", False))
        self.by_chance = bool(getattr(policy, "by_chance", False))
        self.remembers = bool(getattr(policy, "remembers", False))
        self.answers = 0
        self.answer_seconds = 0.0

    def play(self, todo: list[Deal]) -> Iterable[list[tuple[Deal, dict[str, Any], Any]]]:
        """Play the deals; after each step the games that ended in it: deal, outcome, transcript's parts."""
        if not todo:
            return
        size = min(self.num_envs, len(todo))
        played = Batch(GameSpec(self.variant, Settings(on_invalid="raise")), size)
        seen = played
        settings = self.seen_settings
        if self.seen_variant != self.variant or settings != Settings():
            seen = Batch(GameSpec(self.seen_variant, settings), size)
        rows = np.arange(size, dtype=np.int64)
        self.row_deals: list[Deal] = todo[:size]
        waiting = todo[size:][::-1]
        played.deal(rows, self.row_deals)
        self._follow(seen, played, rows)
        # Positions that have stood in each row's game, as 64-bit sums of what is seen with random weights.
        weights = np.random.Generator(np.random.PCG64(0)).integers(
            2**63, size=played.rules.row_stock, dtype=np.int64
        )
        stood: list[set[int]] = [set() for _ in range(size)]
        repeated = [0] * size
        moves_of: list[list[_Move]] = [[] for _ in range(size)]
        chance_of = [self._chance(deal) for deal in self.row_deals]
        numbers = np.array([next(_NUMBERS) for _ in range(size)], dtype=np.int64)
        starts = [format_position(played.position(row)) for row in rows.tolist()] if self.transcripts else []
        actions = np.zeros(size, dtype=np.int64)
        active = np.ones(size, dtype=np.int8)
        while len(rows):
            sums = played.state.rows[rows, : played.rules.row_stock].astype(np.int64) @ weights
            circling = np.zeros(size, dtype=np.bool_)
            for row, position in zip(rows.tolist(), sums.tolist(), strict=True):
                if position in stood[row]:
                    repeated[row] += 1
                    circling[row] = self.memoryless
                stood[row].add(position)
            # A game that the deal has decided is over without an action.
            decided = played.state.status[rows] != PLAYING
            over_at_once, rows = rows[decided], rows[~decided]
            if len(rows):
                observations, masks = seen.observations()[rows], seen.state.mask[rows]
                thought_of: dict[int, Thought | None] = {}
                if self.transcripts:
                    # Copies: what a policy does to its arguments is its own affair.
                    thoughts = think(self.policy, self.seen_variant, observations.copy(), masks.copy())
                    thought_of = dict(zip(rows.tolist(), thoughts, strict=True))
                chances: npt.NDArray[np.float64] | None = None
                if self.by_chance:
                    # 53 bits, as many as a float holds.
                    bits = [chance_of[row].random_raw() >> 11 for row in rows.tolist()]
                    chances = np.array(bits, dtype=np.float64) * 2.0**-53
                begin = time.process_time()
                numbered = numbers[rows] if self.remembers else None
                chosen = ask(self.policy, observations, masks, chances, numbered)
                self.answer_seconds += time.process_time() - begin
                self.answers += len(rows)
                active[over_at_once] = 0
                self._step(seen, played, rows, chosen, actions, active, moves_of, thought_of)
                active[over_at_once] = 1
            played.terminated[over_at_once] = True
            over = played.terminated | (played.steps >= self.limit) | circling
            over[active == 0] = False
            ended = []
            for row in np.flatnonzero(over).tolist():
                ended.append(
                    self._outcome(played, row, repeated[row], starts, moves_of[row], bool(circling[row]))
                )
                if waiting:
                    deal = waiting.pop()
                    self.row_deals[row] = deal
                    played.deal(np.array([row], dtype=np.int64), [deal])
                    numbers[row] = next(_NUMBERS)
                    stood[row], repeated[row], moves_of[row] = set(), 0, []
                    chance_of[row] = self._chance(deal)
                    if self.transcripts:
                        starts[row] = format_position(played.position(row))
                else:
                    active[row] = 0
            rows = np.flatnonzero(active)
            self._follow(seen, played, rows)
            yield ended

    def _chance(self, deal: Deal) -> np.random.PCG64:
        """Random bits of a game, which are its own."""
        return np.random.PCG64([self.seed, *str(deal).encode()])

    def _outcome(
        self, played: Batch, row: int, repeated: int, starts: list[str], moves: list[_Move], circling: bool
    ) -> tuple[Deal, dict[str, Any], Any]:
        terminated = bool(played.terminated[row])
        outcome = {
            "won": int(played.state.status[row]) == WON,
            "cards_home": int(played.state.home[row]),
            "steps": self.limit if circling and not terminated else int(played.steps[row]),
            "truncated": not terminated,
            "repeated": repeated,
        }
        return self.row_deals[row], outcome, (starts[row], moves) if self.transcripts else None

    @staticmethod
    def _follow(seen: Batch, played: Batch, rows: npt.NDArray[np.int64]) -> None:
        if seen is not played and len(rows):
            seen.state.rows[rows] = played.state.rows[rows]
            seen.derive(rows)

    def _step(
        self,
        seen: Batch,
        played: Batch,
        rows: npt.NDArray[np.int64],
        chosen: npt.NDArray[np.int64],
        actions: npt.NDArray[np.int64],
        active: npt.NDArray[np.int8],
        moves_of: list[list[_Move]],
        thought_of: dict[int, Thought | None],
    ) -> None:
        """Play the chosen actions, each expanded where that is needed; a thought goes with its first move."""
        if self.seen_variant == self.variant:
            queues = None
            actions[rows] = chosen
            if self.transcripts:
                for row, action in zip(rows.tolist(), chosen.tolist(), strict=True):
                    moves_of[row].append((action, thought_of[row]))
            played.step(actions, active)
            return
        queues = {}
        for row, action in zip(rows.tolist(), chosen.tolist(), strict=True):
            if not 0 <= action < seen.rules.actions or not seen.state.mask[row, action]:
                raise IllegalActionError(seen.explain_illegal(row, action))
            queues[row] = seen.expand(row, action)[::-1]
        ended = np.zeros(played.size, dtype=np.bool_)
        while queues:
            now = np.zeros(played.size, dtype=np.int8)
            for row, queue in list(queues.items()):
                actions[row] = queue.pop()
                if self.transcripts:
                    moves_of[row].append((int(actions[row]), thought_of.pop(row, None)))
                now[row] = 1
                if not queue:
                    del queues[row]
            played.step(actions, now)
            ended |= played.terminated
            for row in [row for row in queues if played.steps[row] >= self.limit]:
                del queues[row]
        played.terminated[:] = ended


def ask(
    policy: Any,
    observations: npt.NDArray[Any],
    masks: npt.NDArray[np.int8],
    chances: npt.NDArray[np.float64] | None = None,
    games: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """What a policy answers, int64 ``[n]``; ``chances`` are for one that says it is ``by_chance``, ``games``
    for one that ``remembers``.

    Raises
    ------
    ValueError
        If it is not a whole number for each game.
    """
    n = len(masks)
    chance = () if chances is None else (chances,)
    numbered = {} if games is None else {"games": games}
    chosen = np.asarray(policy(observations, masks, *chance, **numbered))
    if chosen.shape != (n,) or not np.issubdtype(chosen.dtype, np.integer):
        raise ValueError(
            f"the policy answered shape {chosen.shape} of {chosen.dtype}, allowed: ({n},) whole numbers"
        )
    return chosen.astype(np.int64)


def draw(weights: npt.NDArray[Any], chances: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Actions int64 ``[n]`` drawn by their weights.

    Parameters
    ----------
    weights
        ``[n, actions]``, at least one of each game above 0; where it is 0, the action is never drawn.
    chances
        Float64 ``[n]`` in [0, 1): which action it is.
    """
    sums = np.cumsum(weights, axis=1, dtype=np.float64)
    # Not so near to 1 that rounding would lead beyond the last.
    chances = np.minimum(chances, 1 - 2.0**-32)
    actions: npt.NDArray[np.int64] = (sums > chances[:, None] * sums[:, -1:]).argmax(1)
    return actions


def think(
    policy: Any, variant: Variant, observations: npt.NDArray[Any], masks: npt.NDArray[np.int8]
) -> list[Thought | None]:
    """What a policy thinks of ``n`` positions of the game that it sees; None where it does not say."""
    explain = getattr(policy, "explain", None)
    if explain is None:
        return [None] * len(masks)
    probabilities, values = explain(observations, masks)
    thoughts: list[Thought | None] = []
    for row in range(len(masks)):
        top: tuple[tuple[str, float], ...] = ()
        if probabilities is not None:
            of_row = np.asarray(probabilities[row], dtype=np.float64)
            likeliest = np.argsort(-of_row, kind="stable")[:TOP_ACTIONS]
            # 32-bit probabilities may come to a little more than 1.
            top = tuple(
                (action_text(variant, int(a)), min(1.0, float(of_row[a]))) for a in likeliest if of_row[a] > 0
            )
        value = None if values is None else float(values[row])
        thoughts.append(None if value is None and not top else Thought(value, top))
    return thoughts


def policy_layout(env: str | Variant, policy: Any = None, *, moves: str | None = None) -> dict[str, Any]:
    """``describe_layout`` of a game as a policy wants to see it, or with the action set ``moves``.

    Raises
    ------
    ValueError
        If the game has other moves than the policy, and those of the policy cannot be played as its moves.
    """
    variant = env_variant(env) if isinstance(env, str) else env
    if moves:
        return GameSpec(variant.with_rules(moves=moves), _wanted(policy)).layout
    return GameSpec(*seen_by(policy, variant)).layout


@dataclass(frozen=True)
class LayoutOf:
    """Gives the layout of a game for a policy, or a class of policies, that says by its attributes what it
    wants to see.
    """

    variant: Variant
    moves: str | None = None
    """Action set of a policy that leaves it open."""

    def __call__(self, policy: Any) -> dict[str, Any]:
        """See :func:`policy_layout`."""
        return policy_layout(
            self.variant, policy, moves=None if getattr(policy, "moves", None) else self.moves
        )


def seen_by(policy: Any, variant: Variant) -> tuple[Variant, Settings]:
    """A game as its policy sees it: with the policy's action set, and what it wants to be shown.

    Raises
    ------
    ValueError
        If the game has other moves, and those of the policy cannot be played as its moves.
    """
    seen = variant.with_rules(moves=getattr(policy, "moves", None) or None)
    if seen != variant and (variant.moves != "one card" or seen.moves != "supermove"):
        raise ValueError(
            f"the policy plays moves={seen.moves!r}, {variant.name} has {variant.moves!r}; "
            "only 'supermove' on a 'one card' game can be expanded"
        )
    return seen, _wanted(policy)


def _wanted(policy: Any) -> Settings:
    return Settings(
        observation=getattr(policy, "observation", None) or "cards",
        information=getattr(policy, "information", None) or "player",
    )
