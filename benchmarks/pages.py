"""A book of 300 pages: the prompt for its next chapter at page 30 and at page 300, and what can be answered from it.

Books are made up: 24 people, 12 places, 20 things, and eight planted statements in each chapter, in prose that says
nothing else. The plan of the chapter at page 300 names people, a place and things. Ten questions a book ask what its
writer has to know: where a thing is that was moved before, where somebody is, who knows what, what was promised, what
a thread that is due asks. A question counts if the prompt states the answer beside its subject and states nothing
older of it later. Whoever gives an account or a record has read well: nothing planted is left out of it, as far as the
words that are asked for go. Tokens are fabula's estimate.
"""

from __future__ import annotations

import asyncio
import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks.estimates import Profile, Writer, prose
from benchmarks.table import Row, Table
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.budget import prompt_tokens
from fabula.story import Brief
from fabula.systems import find
from fabula.systems.agents_room.improved import DUTIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabula.models.base import Json, Request

TITLE: Final = "the prompt of a next chapter at page 30 and at page 300"
CHAPTERS: Final = 36
EARLY, LATE = 5, 36  # the chapters that begin at pages 30 and 300
_BRIEF: Final = "Write a novel of 90,000 words about a harbour town in the year of a flood."
_RATIO, _ANSWERED, _LARGEST, _PERCENT = 1.1, 90.0, 8000.0, 100.0
_ACCOUNT: Final = 150  # words of an account, as its prompt asks
_BESIDE: Final = 6  # statements of a chapter that nobody asks about

_NAMES: Final = """
Aldis Bero Cima Dorel Edda Faro Gesine Hamo Ilka Jorun Kester Lotte Marek Nesrin Odo Pelle Quirin Runa Sava Tilde Ulrik
Vesna Wanda Yorick
"""
_PLACES: Final = "tannery ropewalk chapel ferry-house quarry dairy customs-shed boatyard orchard mill school weir"
_THINGS: Final = """
brass key, sealed letter, ledger, pistol, ferry bell, silver cup, map, green coat, sextant, ring, lantern, flute,
oilskin, deed, compass, medal, doll, knife, chess set, photograph
"""
_LOOKS: Final = "red black cold bent broken narrow hollow painted rusted silent crooked wet"
_SPOTS: Final = """
step barrel beam chimney anchor hedge oven pump saddle gutter shelf ladder drum crate bench stove wheel trough cellar
statue bridge cart bucket kiln
"""
_SUMS: Final = "seven eleven nineteen thirty-one forty-two fifty-six sixty-three seventy-eight"
PEOPLE: Final = tuple(_NAMES.split())
PLACES: Final = tuple(_PLACES.split())
THINGS: Final = tuple(" ".join(_THINGS.split()).split(", "))


@dataclass(frozen=True, slots=True)
class Planted:
    """A statement of a chapter: whom it is about, what it says, and the words that answer a question about it.

    `kind` is "where" (a later one replaces it), "known", or "thread", which is due by the chapter `due`.
    """

    chapter: int
    kind: str
    about: tuple[str, ...]
    says: str
    answer: str
    due: int = 0
    asked: bool = False

    @property
    def slot(self) -> str:
        """What of its subject the statement is about."""
        return f"{self.kind}/{self.about[0]}"


@dataclass
class PlantedBook:
    """The chapters' plans, and what each of them states."""

    seed: int
    plans: list[str] = field(default_factory=list)
    planted: list[Planted] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Plan the book, and plant the statements that are asked about and those that are not."""
        self._draw = random.Random(f"book/{self.seed}")  # noqa: S311 - texts, not secrets
        self._spots = [f"{a} {b}" for a in _LOOKS.split() for b in _SPOTS.split()]
        self._draw.shuffle(self._spots)
        casts = [self._draw.sample(PEOPLE, 4) for _ in range(CHAPTERS)]
        for people in casts:
            place, things = self._draw.choice(PLACES), self._draw.sample(THINGS, 2)
            a, b, c, d = people
            self.plans.append(
                f"{a} and {b} come to the {place} to settle what is between them. {c} is there, and the {things[0]} "
                f"comes up. {d} asks about the {things[1]}, and the talk turns. In the end {a} has to act. "
                + prose(self._draw, 40).replace("Mara", a).replace("Tobias", b)
            )
        last = casts[LATE - 1]
        things = [one for one in THINGS if re.search(rf"the {one}[ ,]", self.plans[LATE - 1])]
        self.planted += self._asked(last, things)
        for chapter, people in enumerate(casts, 1):
            self.planted += [self._beside(chapter, people) for _ in range(_BESIDE)]
        self._draw.shuffle(self.planted)

    def of(self, chapter: int) -> list[Planted]:
        """What a chapter states."""
        return [one for one in self.planted if one.chapter == chapter]

    def _spot(self) -> str:
        return self._spots.pop()

    def _asked(self, people: list[str], things: list[str]) -> Iterator[Planted]:
        """Ten statements that the writer of the chapter at page 300 needs; of two things an older place, too."""
        a, b, c, d = people
        for thing in things:
            early, late = sorted(self._draw.sample(range(1, LATE - 1), 2))
            yield self._thing(early, thing, asked=False)
            yield self._thing(late, thing, asked=True)
        for who in (c, d):
            yield self._person(self._early(), who, asked=True)
        yield self._knows(self._early(), a, b, asked=True)
        yield self._knows(self._early(), d, c, asked=True)
        yield self._owes(self._early(), b, c, asked=True)
        yield self._looks(self._early(), a, asked=True)
        yield self._promise(self._early(), a, d, due=LATE, asked=True)
        other = self._draw.choice([one for one in PEOPLE if one not in people])
        yield self._question(self._early(), other, due=LATE, asked=True)

    def _early(self) -> int:
        return self._draw.randrange(1, LATE - 1)

    def _beside(self, chapter: int, people: list[str]) -> Planted:
        a, b = self._draw.sample(people, 2)
        due = self._draw.randrange(chapter + 1, CHAPTERS + 12)
        free = [one for one in THINGS if not any(one in p.about for p in self.planted if p.asked)]
        wants = {one.about[0] for one in self.planted if one.asked and one.kind == "where"}
        kinds = [
            lambda: self._thing(chapter, self._draw.choice(free)),
            lambda: self._knows(chapter, a, b) if a in wants else self._person(chapter, a),
            lambda: self._knows(chapter, a, b),
            lambda: self._looks(chapter, a),
            lambda: self._promise(chapter, a, b, due),
            lambda: self._question(chapter, a, due),
        ]
        return self._draw.choice(kinds)()

    def _thing(self, chapter: int, thing: str, *, asked: bool = False) -> Planted:
        spot = self._spot()
        return Planted(chapter, "where", (thing,), f"the {thing} now lies behind the {spot}", spot, asked=asked)

    def _person(self, chapter: int, who: str, *, asked: bool = False) -> Planted:
        spot = self._spot()
        return Planted(chapter, "where", (who,), f"{who} now sleeps in the room above the {spot}", spot, asked=asked)

    def _knows(self, chapter: int, who: str, other: str, *, asked: bool = False) -> Planted:
        spot = self._spot()
        says = f"{who} knows, and tells nobody, that {other} was seen at night by the {spot}"
        return Planted(chapter, "known", (who, other), says, spot, asked=asked)

    def _owes(self, chapter: int, who: str, other: str, *, asked: bool = False) -> Planted:
        sum_ = f"{self._draw.choice(_SUMS.split())} crowns for the {self._spot()}"
        return Planted(chapter, "known", (who, other), f"{who} owes {other} {sum_}", sum_, asked=asked)

    def _looks(self, chapter: int, who: str, *, asked: bool = False) -> Planted:
        spot = self._spot()
        return Planted(chapter, "known", (who,), f"{who} limps since the fall from the {spot}", spot, asked=asked)

    def _promise(self, chapter: int, who: str, other: str, due: int, *, asked: bool = False) -> Planted:
        spot = self._spot()
        says = f"{who} has promised {other} to mend the {spot} before the year is out"
        return Planted(chapter, "thread", (who, other), says, spot, due, asked)

    def _question(self, chapter: int, who: str, due: int, *, asked: bool = False) -> Planted:
        spot = self._spot()
        return Planted(chapter, "thread", (who,), f"nobody can say why {who} burned the {spot}", spot, due, asked)


class PlantedWriter(Writer):
    """A writer whose chapters tell what is planned and planted, and who gives a full account of what it has read."""

    def __init__(self, book: PlantedBook, profile: Profile) -> None:
        super().__init__(1.0, profile, words=90_000, seed=book.seed)
        self.book = book

    def _said(self, name: str, request: Request, said: str, draw: random.Random) -> str:
        number = re.search(r"chapter-(\d+)", request.path)
        here = self.book.of(int(number[1])) if number else []
        if name == "account":
            told = " ".join(f"{one.says[0].upper()}{one.says[1:]}." for one in here)
            return " ".join(f"{told} {prose(draw, 40)}".split()[:_ACCOUNT])
        text = super()._said(name, request, said, draw)
        if name == "chapter" and request.schema is None:
            parts = text.split("\n\n")
            for one in here:
                at = draw.randrange(1, len(parts))
                parts[at] += f" {one.says[0].upper()}{one.says[1:]}."
            return "\n\n".join(parts)
        return text

    def _form(self, name: str, schema: Json, draw: random.Random) -> Any:  # noqa: ANN401 - JSON data
        made = super()._form(name, schema, draw)
        if name in {"outline", "replan"}:
            for nth, one in enumerate(made["chapters"], self._first):
                one |= {"title": f"Part {nth}", "words": 2_500, "happens": self.book.plans[nth - 1], "ends_with": ""}
                if "part" in one:
                    one["part"] = [*DUTIES][(nth - 1) * len(DUTIES) // CHAPTERS]
        if name == "so_far":
            made = self._record(draw)
        return made

    def _record(self, draw: random.Random) -> dict[str, Any]:
        """What the book has after a chapter, as its schema wants it."""
        by = {
            kind: [one for one in self.book.of(self._number) if one.kind == kind]
            for kind in ("where", "known", "thread")
        }
        return {
            "happens": prose(draw, 40).replace("\n\n", " "),
            "places": [{"name": one.about[0], "where": one.says} for one in by["where"]],
            "known": [{"about": [*one.about], "holds": one.says} for one in by["known"]],
            "opened": [{"about": [*one.about], "thread": one.says, "due": one.due} for one in by["thread"]],
            "settled": self._settled,
            "differs": [],
        }

    def _reply(self, request: Request) -> Any:  # noqa: ANN401 - as its base
        said = request.messages[-1].content
        found = re.search(r"Plan chapters? (\d+)", said)
        self._first = int(found[1]) if found else 1
        number = re.search(r"chapter-(\d+)", request.path)
        self._number = int(number[1]) if number else 0
        over = {
            one.says for one in self.book.planted if one.kind == "thread" and one.due <= self._number and not one.asked
        }
        listed = re.findall(r"^(\d+)\. (?:[^:]*: )?(.*?) \(chapter", said, re.MULTILINE)
        self._settled = [int(number) for number, says in listed if says in over]
        return super()._reply(request)


@dataclass(frozen=True, slots=True)
class Pages:
    """What a book's chapters were shown: tokens by chapter, the prompt at page 300, and all tokens used."""

    tokens: dict[int, int]
    late: str
    used: int
    calls: int
    words: int


def written(system: str, window: int, book: PlantedBook) -> Pages:
    """The book in the improved preset, as far as its last chapter."""
    model, method = PlantedWriter(book, Profile("", window, 8_192)), find(system)
    config = method.config("improved", {"final_reading": False} if system == "agents-room" else {})
    brief = Brief.parse(f"{_BRIEF} It has {CHAPTERS} chapters.")
    with Journal() as journal:
        prompts = SystemPrompts(method.prompt_folders("improved"), common=PROMPTS)
        run = Run(RunContext(journal, prompts, Cast.of(model)))
        story = asyncio.run(method.write(brief, run, config))
    asked = {int(re.findall(r"\d+", one.path)[0]): one for one in model.asked if one.path.endswith("/chapter")}
    late = "\n\n".join(message.content for message in asked[LATE].messages)
    tokens = {number: prompt_tokens(one) for number, one in asked.items()}
    return Pages(tokens, late, model.tokens, len(model.asked), story.words)


def answered(book: PlantedBook, prompt: str) -> list[tuple[Planted, bool]]:
    """The questions of a book, and whether a prompt answers each: its subject and answer in one line, the newest."""
    lines = prompt.splitlines()
    found = []
    for one in (planted for planted in book.planted if planted.asked):
        at = [n for n, line in enumerate(lines) if one.answer in line and all(who in line for who in one.about)]
        older = [p for p in book.planted if p.kind == "where" == one.kind and p.slot == one.slot and p is not one]
        stale = [n for n, line in enumerate(lines) if any(p.answer in line for p in older)]
        found.append((one, bool(at) and (not stale or max(stale) < max(at))))
    return found


@dataclass(frozen=True, slots=True)
class Sizes:
    """Books, and the windows of their writers."""

    books: int = 10
    windows: tuple[int, ...] = (8_192, 65_536, 200_000)
    systems: tuple[str, ...] = ("end-to-end", "agents-room")


def bench(sizes: Sizes | None = None) -> Table:
    """Each system with each window: ratio, size, questions answered, and what the book takes."""
    sizes, rows = sizes or Sizes(), list[Row]()
    for system in sizes.systems:
        for window in sizes.windows:
            rows += _rows(system, window, sizes.books)
    return Table("pages", TITLE, tuple(rows), (" ".join((__doc__ or "").partition("\n\n")[2].split()),))


def _rows(system: str, window: int, books: int) -> list[Row]:
    all_books = [PlantedBook(seed) for seed in range(books)]
    pages = [written(system, window, book) for book in all_books]
    right = [fine for book, one in zip(all_books, pages, strict=True) for _, fine in answered(book, one.late)]
    share, what = _PERCENT * sum(right) / len(right), f"{system}, {window:,}"

    def row(name: str, values: Iterable[float], **target: float) -> Row:
        return Row(f"{what}: {name}", tuple(map(float, values)), "", "book", **target)

    return [
        row("page 300 / page 30", (one.tokens[LATE] / one.tokens[EARLY] for one in pages), most=_RATIO),
        row("prompt tokens at page 30", (one.tokens[EARLY] for one in pages)),
        row("prompt tokens at page 300", (one.tokens[LATE] for one in pages)),
        row("largest prompt, tokens", (max(one.tokens.values()) for one in pages), most=_LARGEST),
        Row(f"{what}: questions answered", (share,), "%", f"{len(right)} questions", least=_ANSWERED),
        row("tokens of the book", (one.used for one in pages)),
        row("calls", (one.calls for one in pages)),
    ]
