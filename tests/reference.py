"""The rules of the games once more: the slow twin of the engine.

Written from the published rules alone, in plain lists and strings, and sharing nothing with the package, so
that the two can be checked against each other. Meant to be read in ten minutes; speed is no aim. A card is
its text (``9S``), every place that holds cards is a list with the bottom card first and the playable card
last, and every move takes cards off the end of one list and puts them on the end of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

RANKS = "A23456789TJQK"
SUITS = "CDHS"
RED = "DH"
NO_CARD = "--"


def rank(card: str) -> int:
    """1 for an Ace .. 13 for a King."""
    return RANKS.index(card[0]) + 1


def suit(card: str) -> str:
    """One of ``CDHS``."""
    return card[1]


@dataclass(frozen=True)
class ReferenceRules:
    """What one game of the family is.

    decks: packs of cards, each with every suit from the Ace to the card of rank `ranks`.
    tableau: cards dealt to each tableau pile.
    cells, cells_filled: places for one card each, and how many of them get a card at the deal.
    build: "same suit", "alternate color" or "any suit": what goes down onto the next higher rank.
    spaces: what an empty tableau pile takes: "any" card, "kings" only (the highest rank in the pack), "none".
    moves: "one card"; "supermove", a run as long as single moves through empty cells and spaces could carry;
        "sequence", a run of any length.
    """

    decks: int
    tableau: tuple[int, ...]
    cells: int
    cells_filled: int
    build: str
    spaces: str
    moves: str
    ranks: int = 13

    @classmethod
    def of(cls, variant: object) -> ReferenceRules:
        """The rules that are written, under the same names, on another object."""
        return cls(**{field.name: getattr(variant, field.name) for field in fields(cls)})

    def pack(self) -> list[str]:
        """Every card of the game, in order."""
        return [r + s for s in SUITS for r in RANKS[: self.ranks] for _ in range(self.decks)]

    @property
    def stock_size(self) -> int:
        """Cards left over when the tableau and the cells have been dealt."""
        return self.decks * len(SUITS) * self.ranks - sum(self.tableau) - self.cells_filled

    @property
    def pile_room(self) -> int:
        """Cards that a tableau pile holds: as many as the largest was dealt, and a run down to the Ace.

        No game from a deal needs more; a position made by hand may hold a pile that is full.
        """
        return max(*self.tableau, 1) + self.ranks - 1

    def fits(self, card: str, onto: str) -> bool:
        """Whether a card may lie on another in the tableau. There is no wrap: nothing goes onto an Ace."""
        if rank(card) + 1 != rank(onto):
            return False
        if self.build == "same suit":
            return suit(card) == suit(onto)
        if self.build == "alternate color":
            return (suit(card) in RED) != (suit(onto) in RED)
        return True


GAMES = {
    "forty-thieves": ReferenceRules(2, (4,) * 10, 0, 0, "same suit", "any", "one card"),
    "eighty-thieves": ReferenceRules(4, (8,) * 10, 0, 0, "same suit", "any", "one card"),
    "eights-down": ReferenceRules(1, (6,) * 8, 8, 4, "same suit", "kings", "supermove"),
    "forty-bandits": ReferenceRules(2, (4,) * 10, 0, 0, "same suit", "any", "sequence"),
    "busy-aces": ReferenceRules(2, (1,) * 12, 0, 0, "same suit", "any", "one card"),
}


class Move(NamedTuple):
    """Take `number` cards off the end of `source` and put them, in the same order, on the end of `target`."""

    source: list[str]
    number: int
    target: list[str]


@dataclass
class ReferenceGame:
    """One position of one game.

    The bottom card comes first in every pile, and in the stock the next card to be drawn comes last.
    `foundations` maps a suit to its piles; `cells` holds lists of one card or none.
    """

    name: str
    rules: ReferenceRules
    stock: list[str]
    waste: list[str]
    foundations: dict[str, list[list[str]]]
    cells: list[list[str]]
    tableau: list[list[str]]

    @classmethod
    def deal_from(cls, cards: Sequence[str], rules: ReferenceRules, name: str) -> ReferenceGame:
        """Deal cards, named in the order in which they leave the stock.

        Row by row, one card to each pile in turn that is to get so many, then one to each cell that is to be
        filled. The rest is the stock.
        """
        coming = iter(cards)
        tableau: list[list[str]] = [[] for _ in rules.tableau]
        for row in range(max(rules.tableau)):
            for pile, size in zip(tableau, rules.tableau, strict=True):
                if row < size:
                    pile.append(next(coming))
        cells = [[next(coming)] if n < rules.cells_filled else [] for n in range(rules.cells)]
        foundations: dict[str, list[list[str]]] = {s: [[] for _ in range(rules.decks)] for s in SUITS}
        return cls(name, rules, list(coming)[::-1], [], foundations, cells, tableau)

    @classmethod
    def from_text(cls, text: str, rules: ReferenceRules) -> ReferenceGame:
        """Read a position text; stock and waste may be left out where they are empty."""
        split = [line.partition(":") for line in text.strip().split("\n")]
        lines = {label: words.split() for label, _, words in split}
        foundations: dict[str, list[list[str]]] = {}
        for word in lines["foundations"]:
            if word in SUITS:
                of_suit = word
                foundations[of_suit] = []
            else:
                foundations[of_suit].append([r + of_suit for r in RANKS[: int(word)]])
        return cls(
            name=" ".join(lines["variant"]),
            rules=rules,
            stock=lines.get("stock", []),
            waste=lines.get("waste", []),
            foundations=foundations,
            cells=[[] if word == NO_CARD else [word] for word in lines.get("cells", [])],
            tableau=[lines[f"t{n}"] for n, _ in enumerate(rules.tableau, 1)],
        )

    def text(self) -> str:
        """The position as text, foundations of a suit fullest first."""
        home = {s: sorted(map(len, self.foundations[s]), reverse=True) for s in SUITS}
        lines = [["variant:", self.name]]
        if self.rules.stock_size:
            lines += [["stock:", *self.stock], ["waste:", *self.waste]]
        lines += [["foundations:", *(str(word) for s in SUITS for word in (s, *home[s]))]]
        if self.cells:
            lines += [["cells:", *("".join(cell) or NO_CARD for cell in self.cells)]]
        lines += [[f"t{n}:", *pile] for n, pile in enumerate(self.tableau, 1)]
        return "\n".join(" ".join(line) for line in lines)

    def copy(self) -> ReferenceGame:
        """The same position, sharing no list with this one."""
        return ReferenceGame(
            self.name,
            self.rules,
            self.stock[:],
            self.waste[:],
            {s: [pile[:] for pile in piles] for s, piles in self.foundations.items()},
            [cell[:] for cell in self.cells],
            [pile[:] for pile in self.tableau],
        )

    def cards(self) -> list[str]:
        """Every card, wherever it lies."""
        home = [pile for piles in self.foundations.values() for pile in piles]
        places = [self.stock, self.waste, *home, *self.cells, *self.tableau]
        return [card for place in places for card in place]

    def cards_home(self) -> int:
        """Cards on the foundations."""
        return sum(len(pile) for piles in self.foundations.values() for pile in piles)

    def status(self) -> str:
        """Either "won", all cards home, or "stuck", nothing is legal, or "playing"."""
        if self.cards_home() == self.rules.decks * len(SUITS) * self.rules.ranks:
            return "won"
        return "playing" if self.moves() else "stuck"

    def legal_actions(self) -> list[str]:
        """Texts of the legal actions in the order of the action numbers; empty when the game is over."""
        return list(self.moves())

    def play(self, action: str) -> None:
        """Make a legal move; ValueError for any other text."""
        moves = self.moves()
        if action not in moves:
            legal = " ".join(moves) or "none"
            raise ValueError(f"{action!r} is not legal, allowed: {legal}, in\n{self.text()}")
        source, number, target = moves[action]
        target += source[-number:]
        del source[-number:]

    def moves(self) -> dict[str, Move]:
        """Every legal action by its text, in the order of the action numbers.

        Only a tableau pile gives more than its last card. No foundation gives (no worrying back), no cell
        gives to a cell, the stock gives to the waste alone, and nothing goes to the stock (one pass).
        """
        piles = {f"t{n}": pile for n, pile in enumerate(self.tableau, 1)}
        cells = {f"c{n}": cell for n, cell in enumerate(self.cells, 1)}
        places = {**piles, "w": self.waste, **cells}
        sources = {name: place for name, place in places.items() if place}
        runs = {name: self.run(source) if name in piles else 1 for name, source in sources.items()}
        # Cells are alike, and so are spaces: the lowest stands for all.
        empty_cell = next((cell for cell in self.cells if not cell), None)
        space = next((pile for pile in self.tableau if not pile), None)

        moves: dict[str, Move] = {}
        if self.stock:
            moves["draw"] = Move(self.stock, 1, self.waste)
        for name, source in sources.items():
            for foundation in self.foundations[suit(source[-1])]:
                if len(foundation) + 1 == rank(source[-1]):
                    moves[f"{name}>f"] = Move(source, 1, foundation)
        for name, source in sources.items():
            if empty_cell is not None and name not in cells:
                moves[f"{name}>c"] = Move(source, 1, empty_cell)
        for name, source in sources.items():
            longest = min(runs[name], self.capacity(into_space=False))
            for onto, target in piles.items():
                for count in range(1, longest + 1):
                    # Ranks fall by one along a run: one count at most fits, and never on the pile itself.
                    has_room = len(target) + count <= self.rules.pile_room
                    if target and self.rules.fits(source[-count], target[-1]) and has_room:
                        moves[f"{name}>{onto}"] = Move(source, count, target)
        if space is not None:
            for name, source in sources.items():
                for count in self.counts_into_space(source, runs[name]):
                    # A whole pile in another space is the same position under another name.
                    if name not in piles or count < len(source):
                        several = count > 1 and self.rules.spaces == "any"
                        moves[f"{name}x{count}>s" if several else f"{name}>s"] = Move(source, count, space)
        return moves

    def run(self, pile: list[str]) -> int:
        """How many cards at the end of a pile lie in sequence."""
        length = 1
        while length < len(pile) and self.rules.fits(pile[-length], pile[-length - 1]):
            length += 1
        return length

    def capacity(self, into_space: bool) -> int:
        """How many cards one move may carry.

        A supermove is a name for single moves: one card, and one more for each empty cell; each space that
        takes any card, and is not the target itself, doubles that.
        """
        if self.rules.moves == "one card":
            return 1
        if self.rules.moves == "sequence":
            return self.rules.ranks
        helping = self.tableau.count([]) - into_space if self.rules.spaces == "any" else 0
        return (self.cells.count([]) + 1) << helping

    def counts_into_space(self, source: list[str], run: int) -> Sequence[int]:
        """How many cards of a run may go to a space: any part of it, or the whole that a King leads."""
        longest = min(run, self.capacity(into_space=True))
        if self.rules.spaces == "any":
            return range(1, longest + 1)
        led_by_king = rank(source[-run]) == self.rules.ranks
        return [run] if self.rules.spaces == "kings" and led_by_king and run == longest else []
