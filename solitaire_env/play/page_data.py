"""What the page knows of the games and of the compiled code, so that JavaScript restates nothing.

The page plays by the kernels as WebAssembly. Their names and arguments, the arrays that they take, constants
and the texts of actions are data: :func:`games_data` for all games, :func:`game_data` for one, which may have
house rules.
"""

import base64
import gzip
import json
from typing import Any, Final

import numpy as np

from solitaire_env.core import layout, make_events, make_state
from solitaire_env.core.cards import DOWN, EMPTY, FACE_DOWN, HIDDEN_NAME, RANK_NAMES, SUIT_NAMES, card_name
from solitaire_env.core.deals import MAX_DEAL, MAX_MS_DEAL, PYSOL_AS_MS, pysol_places
from solitaire_env.core.layout import action_layout, make_rules
from solitaire_env.core.native import ArrayType, Kernel, TupleType, symbol_of
from solitaire_env.core.observations import INFORMATION, write_card_observations
from solitaire_env.core.position_sums import make_sum_weights
from solitaire_env.core.rules.deal import deal_rows
from solitaire_env.core.rules.derive import derive_rows
from solitaire_env.core.rules.foundations import read_foundations
from solitaire_env.core.rules.moves import decode_action, worried_card
from solitaire_env.core.rules.state import CODES
from solitaire_env.core.rules.step import step_rows
from solitaire_env.core.shuffle import base_card_first, make_deals, microsoft_order, pick_rows, shuffle_rows
from solitaire_env.core.spec import GameSpec
from solitaire_env.core.supermoves import MOST_SINGLES, make_scratch, write_singles
from solitaire_env.core.variant import HOUSE_RULES, Variant
from solitaire_env.core.worlds import resample_rows
from solitaire_env.evaluation.runner import TOP_ACTIONS
from solitaire_env.move_features.autoplay import find_safe_moves, has_safe_moves
from solitaire_env.move_features.columns import NUM_MOVE
from solitaire_env.move_features.finishing import MOST_MET, find_finishing_moves
from solitaire_env.move_features.moves import make_move_scratch
from solitaire_env.move_features.reader import make_scratch as make_reader_scratch
from solitaire_env.move_features.reader import write_features, write_move_features
from solitaire_env.notation import NO_LIMIT
from solitaire_env.policies.drawing import NEARLY_ONE
from solitaire_env.policies.greedy import choose
from solitaire_env.policies.linear import choose_best, load_linear
from solitaire_env.policies.network import ROWS as SCORED_TOGETHER
from solitaire_env.policies.network import (
    CompiledNetwork,
    add_product,
    load_network,
    normalize,
    softmax,
    weigh,
)
from solitaire_env.policies.played_moves import PLAYED, SMALLEST
from solitaire_env.policies.shipped import FAMILY, network_folder
from solitaire_env.registration import env_id, step_limit
from solitaire_env.search.collapsed import (
    begin_states,
    collapses,
    explore_states,
    make_puzzle,
    search_lengths,
    spell_win,
)
from solitaire_env.search.exhaustive import EXHAUSTED, FOUND, MORE, begin, explore, store_lengths, trace
from solitaire_env.search.positions import add_safe_moves, expand_line, trail_lengths
from solitaire_env.search.rollouts import NOISE, nested_rollouts
from solitaire_env.search.shorten import SLICE as SHORTENED
from solitaire_env.search.shorten import shorten_some
from solitaire_env.search.solver import (
    GRACE,
    PART,
    PERTURBED,
    SLICE,
    STALL_LIMIT,
    TRIES_BEFORE_EXHAUSTIVE,
    searched_variant,
)
from solitaire_env.splits import LEVELS, packed_splits
from solitaire_env.variants import POPULAR, TINY_KLONDIKE, VARIANTS, get_variant, known_variants

MAX_GAMES: Final = 1_000
"""Maximum number of games for a win rate."""
MAX_MOVES: Final = 7_000
"""Maximum number of moves in one game."""
MAX_TRIED: Final = 5_000
"""Maximum number of moves that the page tries in order to find out that no move changes anything."""
RANDOM_DEALS: Final = 999_999
"""The highest number of a random deal, short enough to be read out; the lowest is 1."""

SEARCH_MEGABYTES: Final = 256
"""Memory of a search in the page, in megabytes."""
PAGE: Final = 65_536
"""Bytes of a page of memory in WebAssembly."""
LONGEST_LINE: Final = 2**17
"""Maximum number of actions of a line that a search finds."""

KERNELS: Final[tuple[Kernel, ...]] = (
    add_product, add_safe_moves, base_card_first, begin, begin_states, choose, choose_best, deal_rows,
    decode_action, derive_rows, expand_line, explore, explore_states, find_finishing_moves, find_safe_moves,
    microsoft_order, nested_rollouts, normalize, pick_rows, read_foundations, resample_rows, shorten_some,
    shuffle_rows, softmax, spell_win, step_rows, trace, weigh, worried_card, write_card_observations,
    write_features, write_move_features, write_singles,
)  # fmt: skip
"""The compiled functions that the page calls."""


def games_data(server: dict[str, Any] | None = None) -> dict[str, Any]:
    """All games as plain data (JSON-able), popular ones first; ``server``: what a server offers besides."""
    variants = known_variants()
    listed = dict.fromkeys((*map(get_variant, POPULAR), *variants))
    widest = max(variants, key=lambda v: make_rules(v).row_stock)
    return {
        "games": [_entry(variant) for variant in listed],
        "server": server,
        "house_rules": HOUSE_RULES,
        "max_games": MAX_GAMES,
        "kernels": {kernel.function.__name__: _kernel(kernel) for kernel in KERNELS},
        "constants": _constants(),
        "sums": described(make_sum_weights(make_rules(widest))),
        "details": {variant.name: game_data(variant) for variant in variants},
    }


def _entry(variant: Variant) -> dict[str, Any]:
    """A game in the list of games."""
    rules = {rule: getattr(variant, rule) for rule in HOUSE_RULES}
    more: dict[str, Any] = {"custom": True} if _is_custom(variant) else {}
    if variant.aliases:
        more["aliases"] = variant.aliases
    return {"name": variant.name, "title": variant.title, "group": _group(variant), **rules, **more}


def _is_custom(variant: Variant) -> bool:
    """Whether a game is not one of the package."""
    return variant not in (*VARIANTS, TINY_KLONDIKE)


def _group(variant: Variant) -> str:
    """The heading under which a list shows a game."""
    if _is_custom(variant):
        return "Custom games"
    if variant.name in POPULAR:
        return "Popular"
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


def _constants() -> dict[str, Any]:
    return {
        "ranks": RANK_NAMES,
        "suits": SUIT_NAMES,
        "hidden": HIDDEN_NAME,
        "face_down": FACE_DOWN,
        "down": DOWN,
        "no_card": [EMPTY, card_name(EMPTY)],
        "no_limit": NO_LIMIT,
        "codes": CODES,
        "status": {layout.PLAYING: "playing", layout.WON: "won", layout.STUCK: "stuck"},
        "play": layout.PLAY,
        "max_moves": MAX_MOVES,
        "max_tried": MAX_TRIED,
        "max_deal": str(MAX_DEAL),  # too large for JSON's numbers
        "max_ms_deal": str(MAX_MS_DEAL),
        "pysol_as_ms": PYSOL_AS_MS,
        "random_deals": RANDOM_DEALS,
        "most_singles": MOST_SINGLES,
        "own_features": NUM_MOVE,
        "scored_together": SCORED_TOGETHER,
        "nearly_one": NEARLY_ONE,
        "most_met": MOST_MET,
        "played_moves": {"played": PLAYED, "smallest": SMALLEST},
        "top_actions": TOP_ACTIONS,
        "search": {
            "pages": SEARCH_MEGABYTES * 10**6 // PAGE,
            "longest": LONGEST_LINE,
            "part": PART,
            "slice": SLICE,
            "shortened": SHORTENED,
            "tries": TRIES_BEFORE_EXHAUSTIVE,
            "stall_limit": STALL_LIMIT,
            "noise": NOISE,
            "perturbed": PERTURBED,
            "grace": GRACE,
            "more": MORE,
            "found": FOUND,
            "exhausted": EXHAUSTED,
        },
    }


def _kernel(kernel: Kernel) -> dict[str, Any]:
    """How a kernel is called, see :mod:`solitaire_env.core.native`."""
    declared = kernel.signature
    return {
        "symbol": symbol_of(kernel.function),
        "arguments": [[name, _kind(of)] for name, of in declared.arguments],
        "results": 0 if kernel.part else len(declared.results),
        "part": kernel.part,
    }


def _kind(declared: Any) -> Any:
    """The type of an argument: of a number its name, of an array its type and axes, of a tuple its fields."""
    if isinstance(declared, ArrayType):
        return {"type": declared.dtype.name, "axes": declared.axes}
    if isinstance(declared, TupleType):
        return [[name, _kind(of)] for name, of in declared.fields]
    return declared.__name__


def described(value: Any) -> Any:
    """An array as the page makes it: its type and shape, and its contents in base64 if they are not zeros; of
    a named tuple all fields by name.
    """
    if isinstance(value, tuple):
        return {name: described(part) for name, part in value._asdict().items()}  # type: ignore[attr-defined]
    content = [base64.b64encode(value.tobytes()).decode()] if value.any() else []
    return [value.dtype.name, list(value.shape), *content]


def game_data(variant: Variant) -> dict[str, Any]:
    """A game: all that the page needs to play it."""
    rules = make_rules(variant)
    policies, views = _policies(variant)
    return {
        "env": env_id(variant),
        "passes": variant.passes,
        "pysol_places": pysol_places(variant) if variant.pysol_order else [],
        "limit": step_limit(variant),
        "describe": rules_text(variant),
        "safe": has_safe_moves(variant),
        "search": _search(variant),
        "deals": described(make_deals(rules, variant.tableau, 1, variant.face_down_rows or ())),
        "views": views,
        "policies": policies,
        "best": policies[-1]["id"],
    }


def _search(variant: Variant) -> dict[str, Any]:
    """The lengths of the arrays of a search, and the numbers of a puzzle."""
    rules = make_rules(searched_variant(variant))
    lengths = {
        "trail": trail_lengths(rules),
        "store": store_lengths(rules, 0.5 * SEARCH_MEGABYTES),
        "short": store_lengths(rules, 0.08 * SEARCH_MEGABYTES, SLICE + 1),
    }
    if not collapses(variant):
        return lengths
    puzzle = make_puzzle(rules)
    numbers = {name: value for name, value in puzzle._asdict().items() if isinstance(value, int)}
    axes = dict(zip(("piles", "deepest"), puzzle.piles.shape, strict=True))
    return {
        **lengths,
        "puzzle": {**numbers, **axes, "stock": len(puzzle.stock)},
        "states": search_lengths(0.3 * SEARCH_MEGABYTES),
    }


def _view(variant: Variant) -> dict[str, Any]:
    """A game with one of its sets of actions."""
    rules, actions = make_rules(variant), action_layout(variant)
    return {
        "rules": rules._asdict(),
        "actions": " ".join(actions.text(action) for action in range(actions.size)),
        "kinds": {kind: part.start for kind, part in actions.offsets.items() if part.stop > part.start},
        "state": described(make_state(rules, 1)),
        "events": described(make_events(1)),
        "scratch": described(make_move_scratch(rules)),
    }


def _policies(variant: Variant) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The policies of a game, the best one last, and its sets of actions: its own, then those of policies."""
    spec = GameSpec(variant)
    own = [variant]

    def view_of(moves: Any) -> dict[str, Any]:
        seen = variant.with_rules(moves=moves)
        if seen == variant:
            return {"view": 0}
        if seen not in own:
            own.append(seen)
        return {"view": own.index(seen), "singles": described(make_scratch(make_rules(seen)))}

    linear = load_linear(spec)
    weighted = {"id": "linear", "name": "weighted rules", "weights": described(linear.weights)}
    listed: list[dict[str, Any]] = [
        weighted | view_of(linear.moves),
        {"id": "greedy", "name": "simple rules", "view": 0},
    ]
    folder = network_folder("shipped", spec)
    network = load_network(folder, spec)
    listed.append(
        {
            "id": "shipped",
            "name": "neural network" + " for all games" * (folder.name == FAMILY),
            "file": f"weights/{folder.name}.safetensors",
            **_network(network),
            **view_of(network.moves),
        }
    )
    return listed, [_view(seen) for seen in own]


def _network(played: CompiledNetwork) -> dict[str, Any]:
    """What a shipped network reads, and how it chooses."""
    reader = played.reader
    scratch = described(make_reader_scratch(reader.rules))
    scratch["passed"]["weights"] = [*scratch["passed"]["weights"][:2], {"first_of": "sums"}]
    groups = {
        name: described(part) if hasattr(part, "dtype") else part
        for name, part in reader.groups._asdict().items()
    }
    return {
        "temperature": played.temperature,
        "safe_autoplay": played.safe_autoplay,
        "finish_games": played.finish_games,
        "avoid_repeats": played.avoid_repeats,
        "information": INFORMATION.index(played.information),
        "observation": described(np.zeros((1, played.spec.observation_size), dtype=np.int8)),
        "plans": reader.plans._asdict(),
        "groups": groups,
        "scratch": scratch,
        "sizes": reader.sizes,
    }


def levels_data() -> dict[str, dict[str, str]]:
    """The deals of 0-999 that can be won, and those of each level: for each game a text of
    :func:`~solitaire_env.splits.pack_deals`.
    """
    splits = {"winnable": "winnable", **{level: f"dev-{level}" for level in LEVELS}}
    return {name: packed_splits()[split] for name, split in splits.items()}


def packed(data: Any) -> bytes:
    """Data as compressed JSON, always the same bytes."""
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0)
