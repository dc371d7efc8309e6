"""The rules of the games, written a second time: the reference implementation.

It was written from the published rules alone, with plain lists and strings, and shares nothing with the
package, so that the two can be compared. It can be read in ten minutes; speed does not matter.

A card is its text (``9S``, or ``(9S)`` if it is face down), every place for cards is a list with the bottom
card first and the playable card last, and every move takes cards off the end of one list and puts them on the
end of another.
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


def is_face_down(card: str) -> bool:
    """Whether a card is face down."""
    return card.startswith("(")


def builds(card: str, onto: str, how: str) -> bool:
    """Whether a building rule allows the suits of a card and of the one below it."""
    same_suit = suit(card) == suit(onto)
    same_color = (suit(card) in RED) == (suit(onto) in RED)
    return {
        "same suit": same_suit,
        "alternate color": not same_color,
        "any suit": True,
        "other suit": not same_suit,
        "same color": same_color,
    }[how]


@dataclass(frozen=True)
class ReferenceRules:
    """The rules of one game.

    decks: packs of cards, each with every suit from the Ace to the card of rank `ranks`.
    tableau: cards dealt to each tableau pile.
    cells, cells_filled: places for one card each, and how many of them get a card at the deal.
    build: "same suit", "alternate color", "any suit", "other suit" or "same color": the cards that go onto
        the next higher rank.
    spaces: the cards that an empty tableau pile takes: "any" card, "kings" only (the highest rank in the
        pack), "none", or "base - 1", only the rank below the base.
    moves: "one card"; "supermove", a run as long as single moves through empty cells and spaces could carry;
        "sequence", a run of any length; "any group", a face-up card with all cards on it.
    sequence: the building rule of a run: "as build", or one of the words of `build`.
    face_down: cards dealt face down: a number at the bottom of all piles, one number for each pile, or rows
        as in "rows 2, 4, 6". The last card of a pile is face up.
    draw: cards turned from the stock to the waste at a time.
    passes: times through the stock, 0 for no limit.
    aces_home: the Aces (or the cards of another base) start on the foundations.
    fill: "waste", a pile that a move empties gets the last card of the waste; or "none".
    foundation_build: "same suit" or "alternate color".
    base: the rank on which foundations begin: "ace", a number, or "dealt", the rank of the first card dealt.
        With another base than the Ace, the Ace follows the King.
    worrying_back: a card may go from its foundation back onto another card.
    """

    decks: int
    tableau: tuple[int, ...]
    cells: int
    cells_filled: int
    build: str
    spaces: str
    moves: str
    ranks: int = 13
    sequence: str = "as build"
    face_down: int | str | tuple[int, ...] = 0
    draw: int = 1
    passes: int = 1
    aces_home: bool = False
    fill: str = "none"
    foundation_build: str = "same suit"
    base: int | str = "ace"
    worrying_back: bool = False

    @classmethod
    def of(cls, variant: object) -> ReferenceRules:
        """The rules from the fields of the same names of another object."""
        return cls(**{field.name: getattr(variant, field.name) for field in fields(cls)})

    def pack(self) -> list[str]:
        """Every card of the game, in order."""
        return [r + s for s in SUITS for r in RANKS[: self.ranks] for _ in range(self.decks)]

    @property
    def stock_size(self) -> int:
        """Number of cards left after the tableau, the cells and the foundations are dealt."""
        foundations = self.decks * len(SUITS)
        home = foundations if self.aces_home else foundations - 1 if self.base == "dealt" else 0
        return foundations * self.ranks - home - sum(self.tableau) - self.cells_filled

    @property
    def wraps(self) -> bool:
        """Whether ranks wrap: with another base than the Ace a King goes onto an Ace."""
        return self.base != "ace"

    @property
    def pile_room(self) -> int:
        """Cards that a tableau pile holds: as many as the largest was dealt, and the longest run on the last.

        No game from a deal needs more; a position made by hand may hold a pile that is full.
        """
        every_card = self.decks * len(SUITS) * self.ranks
        longest = self.ranks
        if self.wraps:
            longest = self.decks * self.ranks if self.build == "same suit" else every_card
        if self.moves == "any group":
            longest = every_card
        return min(max(*self.tableau, 1) + longest - 1, every_card)

    def dealt_face_down(self, pile: int, place: int) -> bool:
        """Whether the deal puts the card at that place of a pile, 0 at the bottom, face down."""
        if place == self.tableau[pile] - 1:
            return False
        if isinstance(self.face_down, str):
            return str(place + 1) in self.face_down.removeprefix("rows ").split(", ")
        return place < (self.face_down if isinstance(self.face_down, int) else self.face_down[pile])

    def fits(self, card: str, onto: str) -> bool:
        """Whether a card may lie on another in the tableau. Without a wrap nothing goes onto an Ace."""
        return self.is_next_lower(card, onto) and builds(card, onto, self.build)

    def in_sequence(self, card: str, below: str) -> bool:
        """Whether two neighbors in a pile move together."""
        how = self.build if self.sequence == "as build" else self.sequence
        return self.is_next_lower(card, below) and builds(card, below, how)

    def is_next_lower(self, card: str, onto: str) -> bool:
        """Whether two cards lie face up and the first is one rank below the second."""
        if is_face_down(card) or is_face_down(onto):
            return False
        king_onto_ace = self.wraps and rank(onto) == 1 and rank(card) == self.ranks
        return rank(card) + 1 == rank(onto) or king_onto_ace


GAMES = {
    "forty-thieves": ReferenceRules(2, (4,) * 10, 0, 0, "same suit", "any", "one card"),
    "eighty-thieves": ReferenceRules(4, (8,) * 10, 0, 0, "same suit", "any", "one card"),
    "eights-down": ReferenceRules(1, (6,) * 8, 8, 4, "same suit", "kings", "supermove"),
    "forty-bandits": ReferenceRules(2, (4,) * 10, 0, 0, "same suit", "any", "sequence"),
    "busy-aces": ReferenceRules(2, (1,) * 12, 0, 0, "same suit", "any", "one card"),
}


class Move(NamedTuple):
    """Take `number` cards off the end of `source` and put them, in the same order, on the end of `target`.

    one_by_one: they go one after the other, so that their order is turned round.
    """

    source: list[str]
    number: int
    target: list[str]
    one_by_one: bool = False


@dataclass
class ReferenceGame:
    """One position of one game.

    The bottom card comes first in every pile, and in the stock the next card to be drawn comes last.
    `foundations` maps a suit to the piles that begin with it. `cells` contains lists of one card or none.
    `redeals` is the number of redeals left, None for no limit; `base` is the rank of the first card of the
    foundations.
    """

    name: str
    rules: ReferenceRules
    stock: list[str]
    waste: list[str]
    foundations: dict[str, list[list[str]]]
    cells: list[list[str]]
    tableau: list[list[str]]
    redeals: int | None = 0
    base: int = 1

    @classmethod
    def deal_from(cls, cards: Sequence[str], rules: ReferenceRules, name: str) -> ReferenceGame:
        """Deal cards, named in the order in which they leave the stock.

        First the cards that start on the foundations are taken out. Then the cards are dealt row by row, one
        to each pile that is not complete, then one to each cell that is filled. The rest is the stock.
        """
        base = {"ace": 1, "dealt": rank(cards[0])}.get(str(rules.base)) or int(rules.base)
        foundations: dict[str, list[list[str]]] = {s: [[] for _ in range(rules.decks)] for s in SUITS}
        rest = []
        for number, card in enumerate(cards):
            starts_home = rules.aces_home or (rules.base == "dealt" and number > 0)
            if rank(card) == base and starts_home:
                next(pile for pile in foundations[suit(card)] if not pile).append(card)
            else:
                rest.append(card)
        coming = iter(rest)
        tableau: list[list[str]] = [[] for _ in rules.tableau]
        for row in range(max(rules.tableau)):
            for number, size in enumerate(rules.tableau):
                if row < size:
                    card = next(coming)
                    tableau[number].append(f"({card})" if rules.dealt_face_down(number, row) else card)
        cells = [[next(coming)] if n < rules.cells_filled else [] for n in range(rules.cells)]
        redeals = rules.passes - 1 if rules.passes else None
        return cls(name, rules, list(coming)[::-1], [], foundations, cells, tableau, redeals, base)

    @classmethod
    def from_text(cls, text: str, rules: ReferenceRules) -> ReferenceGame:
        """Read a position text; stock and waste may be left out if they are empty."""
        split = [line.partition(":") for line in text.strip().split("\n")]
        lines = {label: words.split() for label, _, words in split}
        base = (
            int(lines["base"][0]) if rules.base == "dealt" else 1 if rules.base == "ace" else int(rules.base)
        )
        [left] = lines.get("redeals", ["0"])
        game = cls(
            name=" ".join(lines["variant"]),
            rules=rules,
            stock=lines.get("stock", []),
            waste=lines.get("waste", []),
            foundations={},
            cells=[[] if word == NO_CARD else [word] for word in lines.get("cells", [])],
            tableau=[lines[f"t{n}"] for n, _ in enumerate(rules.tableau, 1)],
            redeals=None if left == "-" else int(left),
            base=base,
        )
        for word in lines["foundations"]:
            if word in SUITS:
                of_suit = word
                game.foundations[of_suit] = []
            else:
                game.foundations[of_suit].append(game.foundation(of_suit, int(word)))
        return game

    def text(self) -> str:
        """The position as text, foundations of a suit fullest first."""
        home = {s: sorted(map(len, self.foundations[s]), reverse=True) for s in SUITS}
        lines = [["variant:", self.name]]
        if self.rules.stock_size:
            lines += [["stock:", *self.stock], ["waste:", *self.waste]]
        if self.rules.passes != 1:
            lines += [["redeals:", "-" if self.redeals is None else str(self.redeals)]]
        lines += [["foundations:", *(str(word) for s in SUITS for word in (s, *home[s]))]]
        if self.rules.base == "dealt":
            lines += [["base:", str(self.base)]]
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
            self.redeals,
            self.base,
        )

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
        self.make(action, moves[action])

    def make(self, action: str, move: Move) -> None:
        """Make one of the moves that :meth:`moves` gives."""
        source, number, target, one_by_one = move
        taken = source[-number:]
        del source[-number:]
        target += taken[::-1] if one_by_one else taken
        if action == "redeal" and self.redeals is not None:
            self.redeals -= 1
        if action not in ("draw", "redeal"):
            self.after_move_from(source)

    def after_move_from(self, source: list[str]) -> None:
        """The automatic effects: a card is turned up, or an emptied pile is filled from the waste."""
        if not any(source is pile for pile in self.tableau):
            return
        if source:
            source[-1] = source[-1].strip("()")
        elif self.rules.fill == "waste":
            if not self.waste:
                self.waste += self.drawn()
                del self.stock[len(self.stock) - len(self.waste) :]
            if self.waste:
                source.append(self.waste.pop())

    def drawn(self) -> list[str]:
        """The cards that one draw turns up, the last of them on top: fewer if the stock runs out."""
        return self.stock[-self.rules.draw :][::-1]

    def foundation_rank(self, count: int) -> int:
        """The rank of the card that a foundation with this number of cards takes next."""
        return (self.base - 1 + count) % self.rules.ranks + 1

    def foundation(self, of_suit: str, count: int) -> list[str]:
        """A foundation that began with a suit and has this number of cards.

        In alternating colors it may have any suit of the other color, and the text does not show which: the
        suits C and D alternate, or H and S.
        """
        other = dict(zip(SUITS, "DCSH", strict=True))[of_suit]
        alternates = self.rules.foundation_build == "alternate color"
        suits = [other if alternates and n % 2 else of_suit for n in range(count)]
        return [RANKS[self.foundation_rank(n) - 1] + s for n, s in enumerate(suits)]

    def home(self, card: str) -> list[str] | None:
        """The foundation that a card goes to: the first that takes it, fullest first in each suit."""
        for of_suit in SUITS:
            for foundation in sorted(self.foundations[of_suit], key=len, reverse=True):
                count = len(foundation)
                if count == self.rules.ranks or self.foundation_rank(count) != rank(card):
                    continue
                if self.rules.foundation_build == "same suit" or not count:
                    right_suit = suit(card) == of_suit
                else:
                    changes_color = count % 2 == 1
                    right_suit = ((suit(card) in RED) != (of_suit in RED)) == changes_color
                if right_suit:
                    return foundation
        return None

    def moves(self) -> dict[str, Move]:
        """Every legal action by its text, in the order of the action numbers.

        Only a tableau pile gives more than its last card. No cell gives to a cell, the stock gives to the
        waste alone, the waste goes back to an empty stock while a redeal is left, and a foundation gives only
        where cards may worry back, onto another card.
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
            moves["draw"] = Move(self.stock, len(self.drawn()), self.waste, one_by_one=True)
        if not self.stock and self.waste and self.redeals != 0:
            moves["redeal"] = Move(self.waste, len(self.waste), self.stock, one_by_one=True)
        for name, source in sources.items():
            if (foundation := self.home(source[-1])) is not None:
                moves[f"{name}>f"] = Move(source, 1, foundation)
        for name, source in sources.items():
            if empty_cell is not None and name not in cells:
                moves[f"{name}>c"] = Move(source, 1, empty_cell)
        any_group = self.rules.moves == "any group"
        for name, source in sources.items():
            longest = min(runs[name], self.capacity(into_space=False))
            for onto, target in piles.items():
                for count in range(1, longest + 1):
                    # Ranks fall by one along a run, so that one count at most fits; in a group several may.
                    if target is not source and self.takes(target, source[-count:]):
                        several = count > 1 and any_group
                        moves[f"{name}x{count}>{onto}" if several else f"{name}>{onto}"] = Move(
                            source, count, target
                        )
        if space is not None:
            for name, source in sources.items():
                for count in self.counts_into_space(source, runs[name]):
                    # A whole pile in another space is the same position under another name.
                    if name not in piles or count < len(source):
                        several = count > 1 and (any_group or self.rules.spaces == "any")
                        moves[f"{name}x{count}>s" if several else f"{name}>s"] = Move(source, count, space)
        if self.rules.worrying_back:
            for of_suit in SUITS:
                for onto, target in piles.items():
                    for foundation in self.foundations[of_suit]:
                        if self.takes(target, foundation[-1:]):
                            moves[f"f{of_suit}>{onto}"] = Move(foundation, 1, target)
        return moves

    def takes(self, pile: list[str], cards: list[str]) -> bool:
        """Whether cards, the lowest of them first, may go onto a pile that is not empty."""
        has_room = len(pile) + len(cards) <= self.rules.pile_room
        return bool(pile and cards) and has_room and self.rules.fits(cards[0], pile[-1])

    def run(self, pile: list[str]) -> int:
        """Number of cards at the end of a pile that move together: a run, or all face-up cards."""
        length = 1
        while length < len(pile):
            card, below = pile[-length], pile[-length - 1]
            if self.rules.moves == "any group":
                together = not is_face_down(below)
            else:
                together = self.rules.in_sequence(card, below)
            if not together:
                break
            length += 1
        return length

    def capacity(self, into_space: bool) -> int:
        """How many cards one move may carry.

        A supermove is a name for single moves: one card, and one more for each empty cell; each space that
        takes any card, and is not the target itself, doubles that.
        """
        if self.rules.moves == "one card":
            return 1
        if self.rules.moves in ("sequence", "any group"):
            return self.rules.decks * len(SUITS) * self.rules.ranks
        helping = self.tableau.count([]) - into_space if self.rules.spaces == "any" else 0
        return (self.cells.count([]) + 1) << helping

    def counts_into_space(self, source: list[str], run: int) -> Sequence[int]:
        """The numbers of cards that may go to a space: any, or the one whose deepest card the space takes."""
        longest = min(run, self.capacity(into_space=True))
        if self.rules.spaces == "any":
            return range(1, longest + 1)
        # The rank before the base: the King before the Ace.
        below_base = (self.base - 2) % self.rules.ranks + 1
        first = {"kings": self.rules.ranks, "base - 1": below_base}.get(self.rules.spaces)
        return [count for count in range(1, longest + 1) if rank(source[-count]) == first]
