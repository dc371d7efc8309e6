"""Hand-made positions, and the actions that the rules allow in them.

A position names only the piles that matter; :func:`fill` puts the rest of the pack where it disturbs
nothing. The expected actions were worked out from the rules by hand, never by a program. They stand in the
order of the action numbers; ``t4..t6>s`` is short for ``t4>s t5>s t6>s``, ``t4..>s`` goes on to the last
pile, and ``t1x2..4>s`` is short for ``t1x2>s t1x3>s t1x4>s``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from tests.reference import GAMES, NO_CARD, RANKS, SUITS, ReferenceRules, rank, suit

ANY_CARDS = "..."
UNRELATED = "**"


def fill(partial: str, rules: ReferenceRules) -> str:
    """Complete a position in which only what matters is written, so that every card of the game is there.

    The lines are those of a position text, in any order, separated by ``|`` or line ends. A line ``t3:`` is
    a space, and ``t3..t5:`` or ``t3..:`` (to the last pile) are several piles alike. Cells, stock and waste
    that are not written are empty. Foundations that are not written are empty; ``all`` stands for complete
    ones in as many places as there are left, so that ``S all 5`` is ``S 13 5`` with two decks.

    - A tableau pile that is not written holds any number of cards and, on top, one that is unrelated.
    - ``**`` in a cell or a tableau pile is one card that is unrelated.
    - ``...`` first in a tableau pile, in the stock or in the waste is any number of cards beneath the others.

    A card is unrelated when it may not go home, fits no card that is written or unrelated, and takes none. It
    is of the highest rank that can be had, but no King where only Kings fill spaces. No pile ends in a run
    longer than what is written.

    Raises ValueError for a card that the pack does not have, and where the rest finds no such places.
    """
    lines = _lines(partial, rules)
    home = _foundations(lines.pop("foundations", []), rules)
    tableau = {f"t{n}": lines.pop(f"t{n}", [ANY_CARDS, UNRELATED]) for n, _ in enumerate(rules.tableau, 1)}
    cells = lines.pop("cells", [NO_CARD] * rules.cells)
    stock, waste = lines.pop("stock", []), lines.pop("waste", [])
    variant = lines.pop("variant", ["none"])
    if lines:
        raise ValueError(f"no such lines in a position: {', '.join(lines)} in {partial}")

    written = [card for pile in (*tableau.values(), cells, stock, waste) for card in pile if card[0] in RANKS]
    left = Counter(rules.pack())
    left.subtract(written)
    left.subtract(card for card in sorted(set(left)) for top in home[suit(card)] if rank(card) <= top)
    if too_many := [card for card, number in left.items() if number < 0]:
        raise ValueError(f"more of {' '.join(too_many)} than the pack has in {partial}")
    rest = sorted(left.elements(), key=lambda card: (-rank(card), SUITS.index(suit(card))))

    def unrelated(card: str) -> str:
        if card != UNRELATED:
            return card
        for card in rest:
            goes_home = rank(card) - 1 in home[suit(card)]
            fills_space = rules.spaces == "kings" and rank(card) == rules.ranks
            fits = any(rules.fits(card, other) or rules.fits(other, card) for other in written)
            if not (goes_home or fills_space or fits):
                rest.remove(card)
                written.append(card)
                return card
        raise ValueError(f"no unrelated card is left for {partial}")

    tableau = {name: [unrelated(card) for card in pile] for name, pile in tableau.items()}
    cells = [unrelated(card) for card in cells]

    # Nothing builds on an Ace: a pile holds at most the cards dealt and a run down from the last of them.
    most = {name: size + rules.ranks - 1 for name, size in zip(tableau, rules.tableau, strict=True)}
    most |= {"stock": rules.stock_size - len(waste), "waste": rules.stock_size - len(stock)}
    places = {**tableau, "stock": stock, "waste": waste}
    beneath: dict[str, list[str]] = {name: [] for name, pile in places.items() if ANY_CARDS in pile}
    while rest:
        with_room = [name for name in beneath if len(places[name]) - 1 + len(beneath[name]) < most[name]]
        if not with_room:
            raise ValueError(f"no place is left for {' '.join(rest)} in {partial}")
        for name in with_room[: len(rest)]:
            beneath[name].append(rest.pop(0))
    for name, buried in beneath.items():
        shown = places[name][1:]
        if name in tableau and buried and shown and rules.fits(shown[0], buried[-1]):
            buried.reverse()
            if rules.fits(shown[0], buried[-1]):
                raise ValueError(f"nothing is left that does not lengthen the run of {name} in {partial}")
        places[name] = buried + shown

    words = [f"variant: {' '.join(variant)}"]
    if rules.stock_size:
        words += [f"stock: {' '.join(places.pop('stock'))}", f"waste: {' '.join(places.pop('waste'))}"]
    words += ["foundations: " + " ".join(f"{s} {' '.join(map(str, home[s]))}" for s in SUITS)]
    if cells:
        words += [f"cells: {' '.join(cells)}"]
    words += [f"{name}: {' '.join(places[name])}" for name in tableau]
    return "\n".join(line.rstrip() for line in words)


def _lines(partial: str, rules: ReferenceRules) -> dict[str, list[str]]:
    """The words of each line by its label, ranges of piles written out."""
    lines: dict[str, list[str]] = {}
    for line in re.split(r"[|\n]", partial):
        label, _, text = line.partition(":")
        first, dots, last = label.strip().partition("..")
        if dots:
            end = int(last[1:]) if last else len(rules.tableau)
            lines |= {f"t{n}": text.split() for n in range(int(first[1:]), end + 1)}
        elif first:
            lines[first] = text.split()
    return lines


def _foundations(words: list[str], rules: ReferenceRules) -> dict[str, list[int]]:
    """Cards on each foundation of each suit, as many foundations as there are decks."""
    tops: dict[str, list[str]] = {s: [] for s in SUITS}
    for word in words:
        if word in SUITS:
            of_suit = tops[word]
        else:
            of_suit.append(word)
    home = {}
    for s, written in tops.items():
        full = [rules.ranks] * (rules.decks - len(written) + 1) if "all" in written else []
        others = [int(word) for word in written if word != "all"]
        home[s] = full + others + [0] * (rules.decks - len(full) - len(others))
    return home


def expand(actions: str, rules: ReferenceRules) -> list[str]:
    """The action texts of a list, ranges written out."""
    texts = []
    for text in actions.split():
        if match := re.fullmatch(r"([tc])(\d+)\.\.(?:\1(\d+))?>(.+)", text):
            kind, first, last, target = match.groups()
            end = int(last or len(rules.tableau))
            texts += [f"{kind}{n}>{target}" for n in range(int(first), end + 1)]
        elif match := re.fullmatch(r"(t\d+)x(\d+)\.\.(\d+)>s", text):
            source, fewest, most = match.groups()
            texts += [f"{source}x{n}>s" for n in range(int(fewest), int(most) + 1)]
        else:
            texts.append(text)
    return texts


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What a position is to look like.

    legal: every legal action, in order; has, lacks: some that are legal, some that are not.
    shows: lines of the position text, as far as they are of interest (``waste: ... 3C`` ends in ``3C``).
    status: "playing", "stuck" or "won"; not written, it follows from `legal`: "stuck" if that is empty.
    """

    legal: str | None = None
    has: str = ""
    lacks: str = ""
    shows: str = ""
    status: str = ""

    def complaints(self, legal: list[str], status: str, text: str, rules: ReferenceRules) -> list[str]:
        """What is wrong about a position of which the legal actions, the status and the text are given."""
        found = []
        if self.legal is not None and legal != expand(self.legal, rules):
            found.append(f"legal actions expected: {' '.join(expand(self.legal, rules)) or 'none'}")
        if not set(legal) >= set(expand(self.has, rules)):
            found.append(f"legal actions expected among others: {self.has}")
        if set(legal) & set(expand(self.lacks, rules)):
            found.append(f"not legal actions: {self.lacks}")
        if found:
            found.append(f"legal actions got: {' '.join(legal) or 'none'}")
        follows = status if self.legal is None else "playing" if self.legal else "stuck"
        if status != (expected := self.status or follows):
            found.append(f"status expected: {expected}, got: {status}")
        for line in filter(None, (line.strip() for line in self.shows.split("|"))):
            pattern = ".*".join(map(re.escape, line.split(ANY_CARDS)))
            if not any(re.fullmatch(pattern, shown) for shown in text.split("\n")):
                found.append(f"no such line in the position: {line}")
        return found


@dataclass(frozen=True, kw_only=True)
class Then(Expectation):
    """Some actions, and what is to follow from them."""

    play: str


@dataclass(frozen=True)
class Case(Expectation):
    """A position and what is to be expected of it, the same in each of some games."""

    id: str
    games: str
    position: str
    options: dict[str, str] = field(default_factory=dict, kw_only=True)
    then: tuple[Then, ...] = field(default=(), kw_only=True)

    def rules(self, game: str) -> ReferenceRules:
        """The rules of one of the games with the options of the case."""
        return replace(GAMES[game], **self.options)  # type: ignore[arg-type]


THIEVES = "forty-thieves eighty-thieves busy-aces"
BANDITS = "forty-bandits"
STOCK = f"{THIEVES} {BANDITS}"
EIGHTS = "eights-down"

SHORTCUT = {"moves": "supermove"}
ANY_SPACES = {"spaces": "any"}
ALTERNATE = {"build": "alternate color"}


def run(first: str, length: int) -> str:
    """Cards in suit, each one lower than the one before."""
    top = RANKS.index(first[0])
    return " ".join(RANKS[n] + first[1] for n in range(top, top - length, -1))


def cells(empty: int) -> str:
    """A line of eight cells, so many of them empty, the others unrelated."""
    return " ".join(["cells:"] + [UNRELATED] * (8 - empty) + [NO_CARD] * empty)


def spaces(number: int) -> str:
    """Lines that make spaces of so many piles from t3 on."""
    return f"t3..t{2 + number}:" if number else ""


BUILDING = [
    Case(
        "two targets that are not alike in what lies beneath are two actions",
        STOCK,
        "t1: KH 8S | t2: KD 8S | t3: QH 7S | waste: ... KC",
        legal="t3>t1 t3>t2",
        then=(Then(play="t3>t2", shows="t1: KH 8S | t2: KD 8S 7S | t3: QH", legal="t2>t1"),),
    ),
    Case(
        "two sources of alike cards are two actions",
        STOCK,
        "t1: KH 7S | t2: KD 8S | t3: QH 7S | waste: ... KC",
        legal="t1>t2 t3>t2",
    ),
    Case(
        "four alike targets",
        "eighty-thieves",
        "t1: KH 8S | t2: KD 8S | t3: QH 8S | t4: QD 8S | t5: 7S | waste: ... KC",
        legal="t5>t1 t5>t2 t5>t3 t5>t4",
    ),
    Case(
        "not in colour, not in the other colour",
        STOCK,
        "t1: KH 8C | t2: KD 8H | t3: QH 8D | t4: QD 7S | waste: ... KC",
        legal="",
    ),
    Case(
        "down by one, not by two, not up",
        STOCK,
        "t1: KH 8S | t2: KD 6S | t3: QH 5S | waste: ... KC",
        legal="t3>t2",
    ),
    Case(
        "nor an equal card",
        STOCK,
        "t1: KH 8S | t2: KD 8S | waste: ... KC",
        legal="",
    ),
    Case(
        "no wrap: nothing builds on an Ace, a King goes nowhere",
        STOCK,
        "t1: 5H AS | t2: 4H KS | t3: 6H 2S | waste: ... KC",
        legal="t1>f t1>t3",
        then=(
            Then(play="t1>f", shows="t1: 5H | foundations: ... S 1 0...", legal="t3>f"),
            Then(play="t3>f", shows="t3: 6H | foundations: ... S 2 0...", legal="t1>t3"),
        ),
    ),
    Case(
        "the Ace on its Two may still go home",
        STOCK,
        "t1: 5H AS | t2: 4H KS | t3: 6H 2S | waste: ... KC",
        has="t1>t3",
        then=(Then(play="t1>t3", shows="t3: 6H 2S AS", has="t3>f"),),
    ),
    Case(
        "only the last card of a pile is playable",
        STOCK,
        "t1: 7S AH KH | t2: KD 8S 5H | t3: QH 9S | waste: ... KC",
        legal="",
    ),
    Case(
        "the last card of one pile goes onto another, which leaves a space",
        STOCK,
        "t1: 7S | t2: KD 8S | waste: ... KC",
        legal="t1>t2",
        then=(Then(play="t1>t2", shows="t1: | t2: KD 8S 7S", has="t2>s t3..>s w>s", lacks="t2>t1"),),
    ),
    Case(
        "a move that can be taken back is legal for ever",
        STOCK,
        "t1: KH 8S 7S | t2: KD 8S | waste: ... KC",
        legal="t1>t2",
        then=(
            Then(play="t1>t2", shows="t1: KH 8S | t2: KD 8S 7S", legal="t2>t1"),
            Then(play="t2>t1", shows="t1: KH 8S 7S | t2: KD 8S", legal="t1>t2"),
            Then(play="t1>t2 t2>t1 t1>t2 t2>t1", shows="t1: KH 8S 7S | t2: KD 8S", legal="t1>t2"),
        ),
    ),
    Case(
        "an empty pile and an empty waste give nothing, to the Ace of Clubs neither",
        STOCK,
        "t1: 5H AC | t2: | stock: ... 2D | waste:",
        legal="draw t1>f t1>s t3..>s",
    ),
    Case(
        "a run does not move where one card does",
        THIEVES,
        "t1: 4H 9S 8S 7S | t2: KD TS | waste: ... KC",
        legal="",
    ),
    Case(
        "of a run the last card moves",
        THIEVES,
        "t1: 4H 9S 8S 7S | t2: KD 8S | t3: KH TS | waste: ... KC",
        legal="t1>t2",
    ),
]

FOUNDATIONS = [
    Case(
        "a King goes home once for each Queen there",
        "forty-thieves forty-bandits busy-aces",
        "foundations: S 12 5 | t1: 4H KS | t2: 5H KS | waste: ... KC",
        legal="t1>f t2>f",
        then=(Then(play="t1>f", shows="foundations: ... S 13 5", legal=""),),
    ),
    Case(
        "a card goes home on the next lower of its suit alone",
        "forty-thieves forty-bandits busy-aces",
        "foundations: S 5 3 | t1: KH 4S | t2: KD 6S | t3: JH 5S | waste: ... KC",
        legal="t1>f t2>f t1>t3 t3>t2",
        then=(
            Then(play="t1>f", shows="foundations: ... S 5 4", legal="t2>f t3>f t3>t2"),
            Then(play="t3>f", shows="foundations: ... S 5 5", legal="t2>f"),
            Then(play="t2>f", shows="foundations: ... S 6 5", legal=""),
        ),
    ),
    Case(
        "four foundations of a suit",
        "eighty-thieves",
        "foundations: S 5 3 3 0 | t1: KH 4S | t2: KD 6S | t3: QH 5S | t4: QD 4S | t5: JD AS | waste: ... KC",
        legal="t1>f t2>f t4>f t5>f t1>t3 t3>t2 t4>t3",
        then=(
            Then(play="t4>f t5>f", shows="foundations: ... S 5 4 3 1", has="t1>f t3>f"),
            Then(play="t2>f t1>f t3>f", shows="foundations: ... S 6 5 4 1", lacks="t3>f"),
        ),
    ),
    Case(
        "the fourth copy of a card goes home",
        "eighty-thieves",
        "foundations: S 13 13 12 4 | t1: KH 5S | t2: KD KS | t3: QH 6S | waste: ... KC",
        legal="t1>f t2>f t1>t3",
        then=(
            Then(play="t1>f", shows="foundations: ... S 13 13 12 5", has="t3>f"),
            Then(play="t3>f t2>f", shows="foundations: ... S 13 13 13 6"),
        ),
    ),
    Case(
        "an Ace opens the second foundation when the first is complete",
        "forty-thieves forty-bandits busy-aces",
        "foundations: S 13 0 | t1: KH AS | waste: ... KC",
        legal="t1>f",
        then=(Then(play="t1>f", shows="foundations: ... S 13 1", legal=""),),
    ),
    Case(
        "both Aces open foundations, and those are listed fullest first",
        "forty-thieves forty-bandits busy-aces",
        "t1: 5H AS | t2: 5D AS | t3: 7H 2S | t4: 7D 2S | t5: 9H 3S | waste: ... KC",
        legal="t1>f t2>f t1>t3 t1>t4 t2>t3 t2>t4 t3>t5 t4>t5",
        then=(
            Then(play="t2>f t4>f", shows="foundations: ... S 2 0", has="t1>f t5>f", lacks="t3>f"),
            Then(play="t1>f", shows="foundations: ... S 2 1", has="t3>f t5>f"),
            Then(play="t3>f", shows="foundations: ... S 2 2", has="t5>f"),
            Then(play="t5>f", shows="foundations: ... S 3 2"),
        ),
    ),
    Case(
        "foundations with equal tops are alike: one action",
        STOCK,
        "foundations: S 2 2 | t1: KH 3S | t2: KD 3S | waste: ... KC",
        legal="t1>f t2>f",
        then=(
            Then(play="t2>f", shows="foundations: ... S 3 2...", legal="t1>f"),
            Then(play="t1>f", shows="foundations: ... S 3 3...", legal=""),
        ),
    ),
    Case(
        "a foundation takes its own suit only",
        STOCK,
        "foundations: S 5 | t1: KH 6C | t2: KD 6H | t3: QH 6D | waste: ... KC",
        legal="",
    ),
    Case(
        "no worrying back",
        STOCK,
        "foundations: S 5 | t1: KH 6S | waste: ... KC",
        legal="t1>f",
    ),
    Case(
        "no worrying back, not to a space either",
        STOCK,
        "foundations: S all 1 | t1: KH 2S | t2: | waste: ... KC",
        legal="t1>f t1>s t3..>s w>s",
    ),
    Case(
        "a card of the waste goes home, and the next is playable",
        STOCK,
        "foundations: S 5 | waste: ... 7S 6S",
        legal="w>f",
        then=(
            Then(play="w>f", shows="waste: ... 7S", legal="w>f"),
            Then(play="w>f", shows="foundations: ... S 7..."),
        ),
    ),
    Case(
        "home is never automatic",
        STOCK,
        "foundations: S 5 | t1: KH 6S | t2: KD 8S | t3: QH 7S | waste: ... KC",
        legal="t1>f t1>t3 t3>t2",
        then=(
            Then(play="t3>t2", shows="t1: KH 6S | foundations: ... S 5...", legal="t1>f t1>t2"),
            Then(play="t1>t2", shows="t2: KD 8S 7S 6S", has="t2>f"),
        ),
    ),
    Case(
        "won with the last card of a pile, which may not change its place",
        STOCK,
        "foundations: C all D all H all S all 12 | t1: KS | t2..:",
        legal="t1>f",
        then=(Then(play="t1>f", shows="stock: | waste: | t1:", status="won", legal=""),),
    ),
    Case(
        "won with the last card of the waste",
        STOCK,
        "foundations: C all D all H all S all 12 | t1..: | waste: KS",
        legal="w>f w>s",
        then=(Then(play="w>f", status="won", legal=""),),
    ),
    Case(
        "all cards home is won, though nothing is legal",
        STOCK,
        "foundations: C all D all H all S all | t1..:",
        status="won",
        legal="",
    ),
    Case(
        "not won with a card left in the stock",
        STOCK,
        "foundations: C all D all H all S all 12 | t1..: | stock: KS",
        legal="draw",
        then=(Then(play="draw", legal="w>f w>s"), Then(play="w>s", legal="t1>f")),
    ),
    Case(
        "won by way of the last draw",
        STOCK,
        "foundations: C all D all H all S all 11 | t1..: | waste: KS | stock: QS",
        legal="draw w>s",
        then=(Then(play="draw", legal="w>f w>s"), Then(play="w>f w>f", status="won")),
    ),
]

STOCK_AND_WASTE = [
    Case(
        "draw is legal whatever else is",
        STOCK,
        "stock: 2D | waste: ... 3C | t1: KH 8S | t2: KD 7S | t3: QH 4C",
        legal="draw t2>t1 w>t3",
        then=(
            Then(play="draw", shows="stock: | waste: ... 3C 2D", legal="t2>t1"),
            Then(play="t2>t1", shows="t1: KH 8S 7S | t2: KD"),
        ),
    ),
    Case(
        "draw though a card could go home or to a space",
        STOCK,
        "foundations: S 5 | stock: 2D | waste: ... 6S | t1: | t2: KH 9S",
        legal="draw w>f t2..>s w>s",
    ),
    Case(
        "nothing fits and no space: while the stock has a card the game is not stuck",
        STOCK,
        "stock: 2D | waste: ... KC",
        legal="draw",
        then=(Then(play="draw", legal=""),),
    ),
    Case(
        "one card at a time, the last of the text first",
        STOCK,
        "stock: ... 3C 2D | waste:",
        legal="draw",
        then=(
            Then(play="draw", shows="stock: ... 3C | waste: 2D", legal="draw"),
            Then(play="draw", shows="waste: 2D 3C", legal="draw"),
        ),
    ),
    Case(
        "the last card of the stock, and no redeal",
        STOCK,
        "stock: 2D | waste: ... KC",
        legal="draw",
        then=(Then(play="draw", shows="stock: | waste: ... KC 2D", legal=""),),
    ),
    Case(
        "stuck: stock empty, nothing fits, no space",
        STOCK,
        "waste: ... 2D 3C",
        legal="",
    ),
    Case(
        "the same with a space, where every pile is one card",
        STOCK,
        "foundations: C all 0 D all 0 H all 0 S all 0 | waste: ... 2D 3C | t1: | t2..: **",
        legal="w>s",
        then=(Then(play="w>s", shows="t1: 3C | waste: ... 2D", legal=""),),
    ),
    Case(
        "stuck: stock and waste empty, nothing fits, no space",
        STOCK,
        "foundations: S all 0",
        legal="",
    ),
    Case(
        "of the waste only the last card is playable",
        STOCK,
        "stock: 2D | waste: ... AS 4S",
        legal="draw",
    ),
    Case(
        "the waste is remembered: what lies beneath is playable next",
        STOCK,
        "waste: ... 7S 9H | t1: KH TH | t2: KD 8S",
        legal="w>t1",
        then=(
            Then(play="w>t1", shows="waste: ... 7S | t1: KH TH 9H", legal="w>t2"),
            Then(play="w>t2", shows="t2: KD 8S 7S", lacks="w>t2"),
        ),
    ),
    Case(
        "a card of the waste with two targets",
        STOCK,
        "waste: ... 7S | t1: KH 8S | t2: QH 8S | t3: QD 7H",
        legal="w>t1 w>t2",
    ),
    Case(
        "nothing goes onto the waste",
        STOCK,
        "waste: ... 8S | t1: KH 7S",
        legal="",
    ),
    Case(
        "a run in the waste is no sequence: its last card alone",
        STOCK,
        "waste: ... 9S 8S | t1: KH TS",
        legal="",
    ),
    Case(
        "nor to a space",
        STOCK,
        "foundations: C all 0 D all 0 H all 0 S all 0 | waste: ... 9S 8S | t1: | t2..: **",
        legal="w>s",
    ),
    Case(
        "the last card of the waste goes, and the waste is empty",
        STOCK,
        "foundations: S all 0 | waste: 7S | t1: KH 8S",
        legal="w>t1",
        then=(Then(play="w>t1", shows="waste:", legal=""),),
    ),
]

SPACES = [
    Case(
        "any card to a space, and back onto its run, for ever",
        STOCK,
        "t1: 8S 7S | t2: | waste: ... KC",
        legal="t1>s t3..>s w>s",
        then=(
            Then(play="t1>s", shows="t1: 8S | t2: 7S", legal="t2>t1"),
            Then(play="t2>t1", shows="t1: 8S 7S | t2:", legal="t1>s t3..>s w>s"),
            Then(play="t1>s t2>t1 t1>s t2>t1", shows="t1: 8S 7S | t2:", legal="t1>s t3..>s w>s"),
        ),
    ),
    Case(
        "the lowest space takes the card",
        STOCK,
        "foundations: H all 0 | t1: KH 9S | t2: | t4: | waste: ... KC",
        legal="t1>s t3>s t5..>s w>s",
        then=(
            Then(play="w>s", shows="t2: KC | t4:", has="t1>s w>s", lacks="t2>s"),
            Then(play="t1>s", shows="t1: KH | t2: KC | t4: 9S", lacks="w>s t2>s"),
        ),
    ),
    Case(
        "a whole pile to a space changes nothing: not legal",
        STOCK,
        "foundations: C all D all H all 12 S all 5 | t1: 6S | t2: 7S | t3: 8S | t4: 9S | t5: TS | t6: JS"
        " | t7: QS | t8: KS | t9: KH | t10..:",
        legal="t1>f t9>f t1>t2 t2>t3 t3>t4 t4>t5 t5>t6 t6>t7 t7>t8",
    ),
    Case(
        "a King goes to a space like any card",
        STOCK,
        "foundations: H all 0 | t1: 9H KS | t2: | waste: ... KC",
        legal="t1>s t3..>s w>s",
    ),
    Case(
        "of a run the last card goes to a space",
        THIEVES,
        "t1: 4H 9S 8S 7S | t2: TS | t3: | waste: ... KC",
        legal="t1>s t4..>s w>s",
        then=(Then(play="t1>s", shows="t1: 4H 9S 8S | t3: 7S"),),
    ),
    Case(
        "one card at a time, though the spaces would let single moves carry the run",
        THIEVES,
        "t1: 4H 9S 8S | t2: TS | t3: | t4: | waste: ... KC",
        legal="t1>s t5..>s w>s",
        then=(
            Then(play="t1>s", shows="t1: 4H 9S | t3: 8S", legal="t1>t2 t3>t1 t1>s t5..>s w>s"),
            Then(
                play="t1>t2 t3>t2", shows="t1: 4H | t2: TS 9S 8S | t3: | t4:", has="t2>s", lacks="t1>s t2x2>s"
            ),
        ),
    ),
]

SEQUENCES = [
    Case(
        "onto the next higher card all that leads there, to a space any part",
        BANDITS,
        "t1: 4H 9S 8S 7S | t2: TS | t3: | waste: ... KC",
        legal="t1>t2 t1>s t1x2..3>s t4..>s w>s",
        then=(
            Then(
                play="t1>t2",
                shows="t1: 4H | t2: TS 9S 8S 7S | t3:",
                has="t2>s t2x2..3>s",
                lacks="t1>s t2x4>s",
            ),
        ),
    ),
    Case(
        "two cards of it to a space",
        BANDITS,
        "t1: 4H 9S 8S 7S | t2: TS | t3: | waste: ... KC",
        has="t1x2>s",
        then=(
            Then(play="t1x2>s", shows="t1: 4H 9S | t3: 8S 7S", legal="t1>t2 t3>t1"),
            Then(play="t1>t2", shows="t1: 4H | t2: TS 9S", legal="t3>t2"),
        ),
    ),
    Case(
        "not the whole pile to a space",
        BANDITS,
        "t1: 9S 8S 7S | t2: | waste: ... KC",
        legal="t1>s t1x2>s t3..>s w>s",
    ),
    Case(
        "the whole pile onto a card",
        BANDITS,
        "t1: 9S 8S | t2: KD TS | waste: ... KC",
        legal="t1>t2",
        then=(Then(play="t1>t2", shows="t1: | t2: KD TS 9S 8S", has="t2x3>s", lacks="t2x4>s"),),
    ),
    Case(
        "not stuck while a sequence fits",
        BANDITS,
        "t1: 4H 9S 8S | t2: TS | waste: ... KC",
        legal="t1>t2",
        then=(Then(play="t1>t2", shows="t1: 4H | t2: TS 9S 8S", legal=""),),
    ),
    Case(
        "the target says how many",
        BANDITS,
        "t1: 4H 9S 8S 7S | t2: KD TS | t3: QH 9S | waste: ... KC",
        legal="t1>t2 t1>t3 t3>t2",
        then=(Then(play="t1>t3", shows="t1: 4H 9S | t3: QH 9S 8S 7S", legal="t1>t2 t3>t1 t3>t2"),),
    ),
    Case(
        "a gap in rank or suit ends a run",
        BANDITS,
        "t1: 4H 9S 8H 7S | t2: KD TS | t3: QH 9C 8C 6C | t4: QD TC | waste: ... KC",
        legal="",
    ),
    Case(
        "no limit to a sequence without a space",
        BANDITS,
        f"t1: 4H {run('QS', 11)} | t2: 2H KS | waste: ... KC",
        legal="t1>t2",
    ),
    Case(
        "up to thirteen cards to a space",
        BANDITS,
        f"t1: 4H {run('KS', 13)} | t2: | waste: ... KC",
        legal="t1>f t1>s t1x2..13>s t3..>s w>s",
        then=(Then(play="t1x13>s", shows=f"t1: 4H | t2: {run('KS', 13)}"),),
    ),
    Case(
        "but not thirteen that are the pile",
        BANDITS,
        f"t1: {run('KS', 13)} | t2: | waste: ... KC",
        legal="t1>f t1>s t1x2..12>s t3..>s w>s",
    ),
    Case(
        "a sequence goes to the lowest space",
        BANDITS,
        "t1: 4H 9S 8S | t2: | t4: | waste: ... KC",
        has="t1>s t1x2>s",
        then=(Then(play="t1x2>s", shows="t1: 4H | t2: 9S 8S | t4:"),),
    ),
]


def shortcut(spaces_: int, length: int) -> Case:
    """A run in a one-card game with the shortcut: each space doubles what moves, but for the target."""
    onto_pile = 2**spaces_
    into_space = min(length, onto_pile // 2)
    legal = "t1>t2 " if length <= onto_pile else ""
    if spaces_:
        legal += f"t1>s {f't1x2..{into_space}>s' if into_space > 1 else ''} t2>s t{3 + spaces_}..>s w>s"
    return Case(
        f"shortcut: a run of {length} with {spaces_} spaces",
        THIEVES,
        f"t1: 4H {run('QS', length)} | t2: 2H KS | {spaces(spaces_)} | waste: ... KC",
        options=SHORTCUT,
        legal=legal,
    )


SHORTCUTS = [
    *(shortcut(number, length) for number in range(4) for length in (2**number, 2**number + 1)),
    shortcut(4, 11),
    Case(
        "shortcut: not a whole pile to a space",
        THIEVES,
        "t1: 9S 8S | t2: | t3: | waste: ... KC",
        options=SHORTCUT,
        legal="t1>s t4..>s w>s",
    ),
    Case(
        "shortcut: the lowest space takes the run",
        THIEVES,
        "t1: 4H 9S 8S | t2: | t4: | waste: ... KC",
        options=SHORTCUT,
        legal="t1>s t1x2>s t3>s t5..>s w>s",
        then=(Then(play="t1x2>s", shows="t1: 4H | t2: 9S 8S | t4:"),),
    ),
    Case(
        "shortcut: a part of a run goes where it fits",
        THIEVES,
        "t1: 4H 9S 8S 7S | t2: KD 8S | t3: QH 9S | t4: QD TS | t5: | waste: ... KC",
        options=SHORTCUT,
        # 9S 8S 7S are three, one space helps with two.
        legal="t1>t2 t1>t3 t2>t3 t3>t4 t1>s t2>s t3>s t4>s t6..>s w>s",
        then=(Then(play="t1>t3", shows="t1: 4H 9S | t3: QH 9S 8S 7S"),),
    ),
    Case(
        "shortcut: the waste still gives one card",
        THIEVES,
        "t1: KH TS | t2: | t3: | waste: ... 9S 8S",
        options=SHORTCUT,
        legal="t1>s t4..>s w>s",
    ),
    Case(
        "shortcut: the space that a whole pile leaves does not help to move it",
        THIEVES,
        "t1: 9S 8S | t2: KD TS | waste: ... KC",
        options=SHORTCUT,
        legal="",
    ),
]


def supermove(empty: int, length: int) -> Case:
    """A run onto a pile where only Kings fill spaces: one card more than empty cells."""
    legal = ("t1..>c " if empty else "") + ("t1>t2" if length <= empty + 1 else "")
    return Case(
        f"supermove: a run of {length} with {empty} empty cells",
        EIGHTS,
        f"{cells(empty)} | t1: 4H {run('QS', length)} | t2: 2H KS",
        legal=legal,
    )


def supermove_to_space(empty: int, length: int) -> Case:
    """A King's run to a space: whole, and one card more than empty cells."""
    legal = ("t1>c t3..>c " if empty else "") + ("t1>s" if length <= empty + 1 else "")
    return Case(
        f"supermove: a King's run of {length} to a space with {empty} empty cells",
        EIGHTS,
        f"{cells(empty)} | t1: 4H {run('KS', length)} | t2:",
        legal=legal,
        then=(Then(play="t1>s", shows=f"t1: 4H | t2: {run('KS', length)}"),) if length <= empty + 1 else (),
    )


def supermove_any(empty: int, spaces_: int, length: int) -> Case:
    """A run onto a pile or to a space where any card fills spaces: each space doubles, but for the target."""
    onto_pile = (empty + 1) * 2**spaces_
    into_space = min(length, onto_pile // 2)
    legal = f"t1>c t2>c t{3 + spaces_}..>c " if empty else ""
    legal += "t1>t2 " if length <= onto_pile else ""
    if spaces_:
        legal += f"t1>s {f't1x2..{into_space}>s' if into_space > 1 else ''} t2>s t{3 + spaces_}..>s "
        legal += f"c1..c{8 - empty}>s"
    return Case(
        f"any card fills a space: a run of {length} with {empty} empty cells and {spaces_} spaces",
        EIGHTS,
        f"{cells(empty)} | t1: 4H {run('QS', length)} | t2: 2H KS | {spaces(spaces_)}",
        options=ANY_SPACES,
        legal=legal.strip(),
    )


EIGHTS_DOWN = [
    *(supermove(empty, length) for empty in range(9) for length in (empty + 1, empty + 2)),
    *(supermove_to_space(empty, length) for empty in range(9) for length in (empty + 1, empty + 2)),
    Case(
        "supermove: four cards with three empty cells",
        EIGHTS,
        f"t1: 4H 9S 8S 7S 6S | t2: KD TS | {cells(3)}",
        legal="t1..>c t1>t2",
        then=(Then(play="t1>t2", shows="t1: 4H | t2: KD TS 9S 8S 7S 6S"),),
    ),
    Case(
        "supermove: a space does not help where only Kings fill it",
        EIGHTS,
        f"t1: 4H 9S 8S 7S 6S | t2: KD TS | t3: | {cells(2)}",
        legal="t1>c t2>c t4..>c",
    ),
    Case(
        "supermove: nor do several",
        EIGHTS,
        f"t1: 4H QS JS TS | t2: 2H KS | t3..t5: | {cells(1)}",
        legal="t1>c t2>c t6..>c t2>s",
    ),
    Case(
        "supermove: a whole pile onto a card",
        EIGHTS,
        f"t1: 9S 8S | t2: KD TS | {cells(1)}",
        legal="t1..>c t1>t2",
        then=(Then(play="t1>t2", shows="t1: | t2: KD TS 9S 8S", lacks="t1>t2 t2>s"),),
    ),
    Case(
        "a King's run of three to a space with two empty cells",
        EIGHTS,
        f"t1: 4H KS QS JS | t2: | {cells(2)}",
        legal="t1>c t3..>c t1>s",
        then=(Then(play="t1>s", shows="t1: 4H | t2: KS QS JS", lacks="t1>s t2>s"),),
    ),
    Case(
        "not with no empty cell",
        EIGHTS,
        f"t1: 4H KS QS JS | t2: | {cells(0)}",
        legal="",
    ),
    Case(
        "a King under a card that is not in its run does not count",
        EIGHTS,
        f"t1: 4H KS JS TS | t2: | {cells(8 - 2)}",
        legal="t1>c t3..>c",
    ),
    Case(
        "a run that no King leads does not fill a space",
        EIGHTS,
        f"t1: 4H QS JS | t2: | {cells(6)}",
        legal="t1>c t3..>c",
    ),
    Case(
        "one King from a pile to a space",
        EIGHTS,
        f"t1: 4H KS | t2: | {cells(0)}",
        legal="t1>s",
        then=(Then(play="t1>s", shows="t1: 4H | t2: KS", legal=""),),
    ),
    Case(
        "a King alone in its pile does not change its place",
        EIGHTS,
        f"t1: KS | t2: | {cells(0)}",
        legal="",
    ),
    Case(
        "nor does his run when it is the pile",
        EIGHTS,
        f"t1: KS QS JS | t2: | {cells(5)}",
        legal="t1>c t3..>c",
    ),
    Case(
        "from the cells a King fills a space, and no other card",
        EIGHTS,
        "cells: 7H KD ** ** ** ** ** ** | t1:",
        legal="c2>s",
        then=(Then(play="c2>s", shows="t1: KD | cells: 7H -- ...", legal="t1..>c"),),
    ),
    Case(
        "the lowest space takes the King",
        EIGHTS,
        "cells: 7H KD ** ** ** ** ** KC | t2: | t4:",
        legal="c2>s c8>s",
        then=(
            Then(play="c8>s", shows="t2: KC | t4:", has="c2>s"),
            Then(play="c2>s", shows="t2: KC | t4: KD", lacks="t2>s t4>s"),
        ),
    ),
    Case(
        "stuck: cells full, nothing fits, no space",
        EIGHTS,
        cells(0),
        legal="",
    ),
    Case(
        "stuck: cells full, nothing fits, spaces and no King to fill them",
        EIGHTS,
        f"{cells(0)} | t1: | t2:",
        legal="",
    ),
    Case(
        "not stuck while the first pile gives a card home",
        EIGHTS,
        f"foundations: S 5 | {cells(0)} | t1: KH 6S",
        legal="t1>f",
        then=(Then(play="t1>f", shows="t1: KH | foundations: ... S 6", legal=""),),
    ),
    Case(
        "nor while the last cell gives a King to a space",
        EIGHTS,
        "cells: ** ** ** ** ** ** ** KD | t1:",
        legal="c8>s",
        then=(Then(play="c8>s", shows="t1: KD | cells: ... --", legal="t1..>c"),),
    ),
    Case(
        "an empty pile and an empty cell give nothing, to the Ace of Clubs neither",
        EIGHTS,
        f"t1: 5H AC | t2: | {cells(1)}",
        legal="t1>f t1>c t3..>c",
    ),
    Case(
        "never stuck with an empty cell",
        EIGHTS,
        cells(1),
        legal="t1..>c",
    ),
    Case(
        "nor with one pile left",
        EIGHTS,
        "foundations: C all D all H all | cells: 3S 4S 5S 7S 9S JS QS -- | t1: KS AS TS 8S 6S 2S | t2..:",
        legal="t1>c",
        then=(Then(play="t1>c", shows="cells: 3S 4S 5S 7S 9S JS QS 2S | t1: KS AS TS 8S 6S", legal="c3>t1"),),
    ),
    Case(
        "the lowest empty cell takes the card",
        EIGHTS,
        "cells: 3C -- 5D -- ** ** ** ** | t1: 4H 9S | t2: 6H TC",
        has="t1..>c",
        then=(
            Then(play="t1>c", shows="t1: 4H | cells: 3C 9S 5D -- ..."),
            Then(play="t2>c", shows="t2: 6H | cells: 3C 9S 5D TC ...", lacks="t1..>c"),
        ),
    ),
    Case(
        "a card goes to a cell and back to its pile, for ever; never from cell to cell",
        EIGHTS,
        "cells: 3C 5C 7C 9C JC 3D 5D -- | t1: 4H 9S 8S | t2: KH 2C",
        has="t1>c",
        then=(
            Then(play="t1>c", shows="t1: 4H 9S | cells: 3C 5C 7C 9C JC 3D 5D 8S", legal="c8>t1"),
            Then(play="c8>t1", shows="t1: 4H 9S 8S | cells: 3C 5C 7C 9C JC 3D 5D --", legal="t1..>c"),
        ),
    ),
    Case(
        "home from a pile and from a cell, in suit",
        EIGHTS,
        "foundations: S 5 | cells: 6C 6S ** ** ** ** ** ** | t1: KH 8S | t2: QH 7S",
        legal="c2>f t2>t1 c2>t2",
        then=(
            Then(play="c2>f", shows="foundations: ... S 6", has="t2>f"),
            Then(play="t2>f", shows="foundations: ... S 7", has="t1>f", lacks="t2>f"),
        ),
    ),
    Case(
        "no worrying back, onto a card or to a cell",
        EIGHTS,
        f"foundations: S 5 | {cells(1)} | t1: KH 6S",
        legal="t1>f t1..>c",
    ),
    Case(
        "from a cell onto the next higher card of the suit",
        EIGHTS,
        "cells: 7S 7H 7D ** ** ** ** ** | t1: KH 8S | t2: KC 8C",
        legal="c1>t1",
        then=(Then(play="c1>t1", shows="t1: KH 8S 7S | cells: -- 7H 7D ...", legal="t1..>c"),),
    ),
    Case(
        "a run in the cells is no sequence",
        EIGHTS,
        "cells: 9S 8S ** ** ** ** ** -- | t1: KH TS",
        legal="t1..>c c1>t1",
        then=(Then(play="c1>t1", shows="t1: KH TS 9S", has="c2>t1"),),
    ),
    Case(
        "down in suit only",
        EIGHTS,
        f"t1: KH 8C | t2: KD 8H | t3: QH 8D | t4: QD 7S | {cells(0)}",
        legal="",
    ),
    Case(
        "no wrap: nothing builds on an Ace, a King goes nowhere",
        EIGHTS,
        f"t1: 5H AS | t2: 4H KS | t3: 6D 2S | {cells(0)}",
        legal="t1>f t1>t3",
        then=(Then(play="t1>f", shows="t1: 5H | foundations: ... S 1", legal="t3>f"),),
    ),
    Case(
        "won with the last card of a pile",
        EIGHTS,
        "foundations: C all D all H all S all 12 | t1: KS | t2..:",
        legal="t1>f t1>c",
        then=(Then(play="t1>f", status="won", legal=""),),
    ),
    Case(
        "won with the last card of a cell",
        EIGHTS,
        "foundations: C all D all H all S all 12 | cells: -- -- KS -- -- -- -- -- | t1..:",
        legal="c3>f c3>s",
        then=(Then(play="c3>f", shows="cells: -- -- -- -- -- -- -- --", status="won", legal=""),),
    ),
    Case(
        "all cards home is won, though nothing is legal",
        EIGHTS,
        "foundations: C all D all H all S all | t1..:",
        status="won",
        legal="",
    ),
]

HOUSE_RULES = [
    *(
        supermove_any(empty, number, length)
        for empty, number in (
            (0, 0),
            (0, 1),
            (0, 2),
            (0, 3),
            (1, 0),
            (1, 1),
            (1, 2),
            (2, 1),
            (3, 0),
            (3, 1),
            (4, 1),
        )
        for length in ((empty + 1) * 2**number, (empty + 1) * 2**number + 1)
    ),
    Case(
        "any card fills a space: from a cell too",
        EIGHTS,
        "cells: 7H KD ** ** ** ** ** ** | t1:",
        options=ANY_SPACES,
        legal="t2..>s c1..c8>s",
        then=(Then(play="c1>s", shows="t1: 7H | cells: -- KD ...", legal="t1..>c"),),
    ),
    Case(
        "any card fills a space: not a whole pile",
        EIGHTS,
        f"t1: 9S 8S 7S | t2: | t3: KS | {cells(2)}",
        options=ANY_SPACES,
        legal="t1>c t3..>c t1>s t1x2>s t4..>s c1..c6>s",
    ),
    Case(
        "any card fills a space: a King's run need not go whole",
        EIGHTS,
        f"t1: 4H KS QS JS | t2: | {cells(2)}",
        options=ANY_SPACES,
        legal="t1>c t3..>c t1>s t1x2..3>s t3..>s c1..c6>s",
        then=(Then(play="t1x2>s", shows="t1: 4H KS | t2: QS JS"),),
    ),
    Case(
        "any card fills a space: stuck without one",
        EIGHTS,
        cells(0),
        options=ANY_SPACES,
        legal="",
    ),
    Case(
        "alternate colour: a black card goes onto two red ones",
        EIGHTS,
        f"t1: 2C 8H | t2: 2S 8D | t3: 2H 7S | {cells(0)}",
        options=ALTERNATE,
        legal="t3>t1 t3>t2",
        then=(Then(play="t3>t2", shows="t1: 2C 8H | t2: 2S 8D 7S | t3: 2H", legal="t2>t1"),),
    ),
    Case(
        "alternate colour: a red card goes onto two black ones, from a cell too",
        EIGHTS,
        "t1: 2C 8S | t2: 2D 8C | t3: 2H 7H | cells: 7D ** ** ** ** ** ** **",
        options=ALTERNATE,
        legal="t3>t1 t3>t2 c1>t1 c1>t2",
    ),
    Case(
        "alternate colour: neither the suit nor the other suit of the colour",
        EIGHTS,
        f"t1: 2C 8H | t2: 2S 8D | t3: 2H 7H | {cells(0)}",
        options=ALTERNATE,
        legal="",
    ),
    Case(
        "alternate colour: in the published game none of that",
        EIGHTS,
        f"t1: 2C 8S | t2: 2D 8C | t3: 2H 7H | {cells(0)}",
        legal="",
    ),
    Case(
        "alternate colour: the target says how many of the run",
        EIGHTS,
        f"t1: 2C 9S 8H 7S | t2: 2D 9C | t3: 2H TD | {cells(2)}",
        options=ALTERNATE,
        legal="t1..>c t1>t2 t1>t3 t2>t3",
        then=(Then(play="t1>t2", shows="t1: 2C 9S | t2: 2D 9C 8H 7S", legal="t1..>c t1>t3 t2>t1 t2>t3"),),
    ),
    Case(
        "alternate colour: three cards are too many with one empty cell",
        EIGHTS,
        f"t1: 2C 9S 8H 7S | t2: 2D 9C | t3: 2H TD | {cells(1)}",
        options=ALTERNATE,
        legal="t1..>c t1>t2 t2>t3",
    ),
    Case(
        "alternate colour: two are too many with none",
        EIGHTS,
        f"t1: 2C 9S 8H 7S | t2: 2D 9C | t3: 2H TD | {cells(0)}",
        options=ALTERNATE,
        legal="t2>t3",
    ),
    Case(
        "alternate colour: a run in suit is no sequence",
        EIGHTS,
        f"t1: 2C 9S 8S 7S | t2: 2D TH | {cells(3)}",
        options=ALTERNATE,
        legal="t1..>c",
    ),
    Case(
        "alternate colour: a King's run of three to a space",
        EIGHTS,
        f"t1: 4H KS QH JC | t2: | {cells(2)}",
        options=ALTERNATE,
        legal="t1>c t3..>c t1>s",
        then=(Then(play="t1>s", shows="t1: 4H | t2: KS QH JC"),),
    ),
    Case(
        "alternate colour: a Queen of the King's suit is not in his run",
        EIGHTS,
        f"t1: 4H KS QS | t2: | {cells(2)}",
        options=ALTERNATE,
        legal="t1>c t3..>c",
    ),
    Case(
        "alternate colour: home in suit all the same",
        EIGHTS,
        f"foundations: S 5 | t1: 3D 6S | t2: 4D 6C | t3: 3H 7H | {cells(0)}",
        options=ALTERNATE,
        legal="t1>f t1>t3 t2>t3",
    ),
    Case(
        "both house rules: nine cards, eight of them onto a pile, four to a space",
        EIGHTS,
        f"t1: 2C QS JH TS 9H 8S 7H 6S 5H | t2: 2D KH | t3: | t4: | {cells(1)}",
        options=ANY_SPACES | ALTERNATE,
        legal="t1>c t2>c t5..>c t1>t2 t1>s t1x2..4>s t2>s t5..>s c1..c7>s",
    ),
    Case(
        "both house rules: nine are too many",
        EIGHTS,
        f"t1: 2C QS JH TS 9H 8S 7H 6S 5H 4S | t2: 2D KH | t3: | t4: | {cells(1)}",
        options=ANY_SPACES | ALTERNATE,
        legal="t1>c t2>c t5..>c t1>s t1x2..4>s t2>s t5..>s c1..c7>s",
    ),
]

LOW = "2C 2C 2D 2D 2H 2H 2S 2S 3C 3C 3D 3D 3H 3H"
"""Fourteen cards that are no run."""
HIGH = "6C 7C 8C 9C TC JC QC KC 7D 8D 9D TD JD QD 7H 8H 9H"
"""Nor are these seventeen."""

FULL_PILES = [
    Case(
        "the last place of a pile is filled, and then it is full",
        "forty-thieves forty-bandits",
        f"t1: {LOW} KS | t2: 4H JS QS | waste: ... KC",
        legal="t2>t1",
        then=(Then(play="t2>t1", shows=f"t1: {LOW} KS QS | t2: 4H JS", legal=""),),
    ),
    *(
        Case(
            f"nothing goes from {source} onto a full pile {target}",
            "forty-thieves forty-bandits",
            f"{target}: {LOW} 3S KS | {source_line} | stock: {stock}",
            legal="draw",
            then=(Then(play="draw", legal=""),),
        )
        for source, target, source_line, stock in (
            ("the second pile", "t1", "t2: 4H QS | waste: ... KC", "KH"),
            ("the first pile", "t10", "t1: 4H QS | waste: ... KC", "KH"),
            ("the waste", "t1", "waste: ... KC", "QS"),
            ("the waste", "t10", "waste: ... KC", "QS"),
        )
    ),
    Case(
        "nor a card that is laid open, until a card has left it",
        "forty-thieves",
        f"t1: {LOW} KS 8H | t2: 4H QS 7S | t3: 4D 8S | t4: 5H 9H | waste: ... KC",
        legal="t1>t4 t2>t3",
        then=(
            Then(play="t2>t3", shows="t2: 4H QS | t3: 4D 8S 7S", legal="t1>t4"),
            Then(play="t1>t4", shows=f"t1: {LOW} KS | t4: 5H 9H 8H", legal="t2>t1"),
        ),
    ),
    Case(
        "a card more than was dealt, and a run from a King to a Two upon it: full",
        "forty-thieves forty-bandits",
        f"t1: 5H 5D 4H 4D {run('KS', 12)} | t2: 6H AS | waste: ... KC",
        legal="t2>f",
    ),
    Case(
        "as many cards as were dealt: room for the Ace",
        "forty-thieves forty-bandits",
        f"t1: 5H 5D 4H {run('KS', 12)} | t2: 6H AS | waste: ... KC",
        legal="t2>f t2>t1",
    ),
    *(
        Case(
            f"room for {room} of three",
            BANDITS,
            f"t1: {' '.join(LOW.split()[room + 1 :])} 3S KS QS | t2: 4H JS TS 9S | waste: ... KC",
            legal="t2>t1" if room > 2 else "",
        )
        for room in (1, 2, 3)
    ),
    *(
        Case(
            f"the King lies on {below} cards: {'no ' * (below > 16)}room for a Queen from a cell",
            EIGHTS,
            "foundations: C 5 D 5 H 5 | cells: QS -- -- -- -- -- -- -- | t3: KD QH | t4: KH | t5..:"
            f"|t1: {' '.join(HIGH.split()[:below])} KS"
            f"|t2: {' '.join(HIGH.split()[below:])} 6D 6H TH {run('JS', 11)} JH",
            legal=f"t1..t4>c t2>t3 t3>t4 {'c1>t1 ' * (below <= 16)}t1>s",
        )
        for below in (16, 17)
    ),
]

CASES = [
    *BUILDING,
    *FOUNDATIONS,
    *STOCK_AND_WASTE,
    *SPACES,
    *SEQUENCES,
    *SHORTCUTS,
    *EIGHTS_DOWN,
    *HOUSE_RULES,
    *FULL_PILES,
]
