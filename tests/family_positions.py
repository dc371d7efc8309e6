"""Positions of the whole family with the legal moves of PySolFC, in our texts.

Reads ``tests/oracles/family/positions.jsonl`` (its README describes the keys), and converts each position to
position text and each move to action text. PySolFC lists cells, spaces and foundations that are alike one by
one, and fills the one that its player chose; here the lowest empty one is used.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from solitaire_env.variants import VARIANTS, Variant

FILE = Path(__file__).parent / "oracles" / "family" / "positions.jsonl"
SUITS = "CDHS"
RED = "DH"
RANKS = "A23456789TJQK"

NO_VARIANT = "a game whose piles build up and down (Alaska), which no field of a variant says"
ACE_FROM_OTHER_SUIT = "an Ace came back from a foundation of another suit, so that its counts are no position"


@dataclass(frozen=True)
class FamilyPosition:
    """One position of PySolFC in our texts.

    label: PySolFC's game, deal and step, for messages.
    position: position text.
    legal: the legal actions, sorted.
    move: an action that was played, or None if our rules do not allow it; `without_move` is the reason then.
    after: the position text after `move`.
    """

    variant: Variant
    label: str
    position: str
    legal: tuple[str, ...]
    move: str | None
    after: str | None
    without_move: str


@cache
def family_positions() -> tuple[FamilyPosition, ...]:
    """All positions that our texts can express."""
    games = by_game_number()
    return tuple(read(games[line["id"]], line) for line in lines() if unused(line) is None)


@cache
def lines() -> tuple[dict[str, Any], ...]:
    """The lines of the file."""
    return tuple(map(json.loads, FILE.read_text(encoding="utf-8").splitlines()))


def unused(line: dict[str, Any]) -> str | None:
    """Why a line is not used; None if it is."""
    variant = by_game_number().get(line["id"])
    if variant is None:
        return NO_VARIANT
    began = Counter(
        suit
        for suit, cards in zip(line["foundation_suits"], line["foundations"], strict=True)
        if cards and cards[0][0] == "A"
    )
    places = [*line["cols"], line["stock"], line["waste"], line["cells"]]
    began += Counter(card[1] for place in places for card in place if card and card[0] == "A")
    from_ace = variant.base == "ace"
    return ACE_FROM_OTHER_SUIT if from_ace and set(began.values()) != {variant.decks} else None


@cache
def by_game_number() -> dict[int, Variant]:
    """The variants by PySolFC's number of the game, which is in their sources."""
    found: dict[int, Variant] = {}
    for variant in VARIANTS:
        [number] = re.findall(r"PySolFC [\d.]+, .* \(game (\d+)\)", "\n".join(variant.sources))
        found[int(number)] = variant
    return found


def read(variant: Variant, line: dict[str, Any]) -> FamilyPosition:
    """One line of the file."""
    moves = [*line["legal"], *compared_worries(variant, line)]
    played = line.get("after")
    move, after, reason = None, None, ""
    if played is None:
        reason = "nothing was played"
    elif played["move"] in line["worry"] and played["move"] not in moves:
        reason = "it takes a card from a foundation"
    else:
        assert played["move"] in moves, line
        move = action_text(variant, line, played["move"])
        after = position_text(variant, position_after(variant, line))
    return FamilyPosition(
        variant=variant,
        label=f"{line['game']}, deal {line['deal']}, step {line['step']}",
        position=position_text(variant, line),
        legal=tuple(sorted({action_text(variant, line, move) for move in moves})),
        move=move,
        after=after,
        without_move=reason,
    )


def compared_worries(variant: Variant, line: dict[str, Any]) -> Iterator[list[Any]]:
    """Moves from a foundation onto a card of the tableau, where the variant allows worrying back."""
    for move in line["worry"] if variant.worrying_back else ():
        _, _, target = move
        if target[0] == "t" and line["cols"][int(target[1:])]:
            yield move


def position_text(variant: Variant, line: dict[str, Any]) -> str:
    """The position text of a line."""
    lines = [f"variant: {variant.name}"]
    if variant.stock:
        lines += [" ".join(["stock:", *line["stock"]]), " ".join(["waste:", *line["waste"]])]
    if variant.passes != 1:
        left = line["redeals_left"]
        lines.append(f"redeals: {'-' if left < 0 else left}")
    counts: dict[str, list[int]] = {suit: [] for suit in SUITS}
    for suit, cards in zip(line["foundation_suits"], line["foundations"], strict=True):
        counts[suit].append(len(cards))
    words = [str(word) for suit in SUITS for word in (suit, *sorted(counts[suit], reverse=True))]
    lines.append(" ".join(["foundations:", *words]))
    if variant.base == "dealt":
        [base] = {cards[0][0] for cards in line["foundations"] if cards}
        lines.append(f"base: {RANKS.index(base) + 1}")
    if variant.cells:
        lines.append(" ".join(["cells:", *(card or "--" for card in line["cells"])]))
    for number, (cards, down) in enumerate(zip(line["cols"], line["down"], strict=True), 1):
        shown = [f"({card})" if place in down else card for place, card in enumerate(cards)]
        lines.append(" ".join([f"t{number}:", *shown]))
    return "\n".join(lines)


def action_text(variant: Variant, line: dict[str, Any], move: list[Any]) -> str:
    """The action text of one of PySolFC's moves."""
    if move[0] in ("deal", "redeal"):
        return "draw" if move[0] == "deal" else "redeal"
    source, count, target = move
    from_foundation = source[0] == "f"
    start = f"f{line['foundation_suits'][int(source[1:])]}" if from_foundation else place_name(source)
    end = place_name(target)
    chosen = variant.moves == "any group"
    if target[0] == "t" and not line["cols"][int(target[1:])]:
        end, chosen = "s", variant.counts_differ
    elif target[0] in "fr":
        end = "f" if target[0] == "f" else "c"
    return f"{start}x{count}>{end}" if chosen and count > 1 else f"{start}>{end}"


def place_name(place: str) -> str:
    """Our name of a pile, a cell or the waste."""
    kind, number = place[0], place[1:]
    return "w" if kind == "w" else f"{'c' if kind == 'r' else kind}{int(number) + 1}"


def position_after(variant: Variant, line: dict[str, Any]) -> dict[str, Any]:
    """The line after the move that was played, with the lowest empty cell or space as its target."""
    after: dict[str, Any] = json.loads(json.dumps(line))
    for place, now in line["after"]["changed"].items():
        kind, number = place[0], int(place[1:]) if place[1:].isdigit() else None
        if place == "redeals_left":
            after[place] = now
        elif kind == "t":
            after["cols"][number], after["down"][number] = now["cards"], now["down"]
        else:
            name = {"r": "cells", "f": "foundations", "s": "stock", "w": "waste"}[kind]
            if number is None:
                after[name] = now
            else:
                after[name][number] = now
    move = line["after"]["move"]
    if len(move) == 3:
        use_alike(variant, line, after, move[2])
    return after


def use_alike(variant: Variant, line: dict[str, Any], after: dict[str, Any], target: str) -> None:
    """Put what a cell, space or foundation received into the one that our rules name."""
    kind, number = target[0], int(target[1:])
    if kind == "f" and variant.foundation_build == "alternate color":
        suits, count = line["foundation_suits"], len(line["foundations"][number])
        alike = [
            place
            for place, cards in enumerate(line["foundations"])
            if len(cards) == count and (suits[place] in RED) == (suits[number] in RED)
        ]
        first = min(alike, key=lambda place: SUITS.index(suits[place])) if count else number
        swap(after["foundations"], number, first)
    elif kind == "r":
        swap(after["cells"], number, line["cells"].index(None))
    elif kind == "t" and not line["cols"][number]:
        for name in ("cols", "down"):
            swap(after[name], number, line["cols"].index([]))


def swap(places: list[Any], first: int, second: int) -> None:
    """Exchange the contents of two places."""
    places[first], places[second] = places[second], places[first]
