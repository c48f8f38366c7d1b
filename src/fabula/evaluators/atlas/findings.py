"""What is proposed, what is found, and which findings have one root cause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from fabula.craft import matching
from fabula.craft.packing import overlap, words
from fabula.craft.quoting import normalised
from fabula.story import count_words, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabula.continuity import Candidate, Passage

CATEGORIES: Final[Mapping[str, str]] = {
    "appearance": "colour, material, side of the body, looks",
    "number": "count, age, date, duration, sum of money",
    "name": "what somebody or something is called",
    "role": "title, job, part in what happens",
    "kinship": "family, marriage, children",
    "life": "who is alive or dead",
    "state": "broken or working, locked or open, hurt or well",
    "object": "which thing it is",
    "place": "where something is or was, or is hidden",
    "cause": "why or how something happened",
    "existence": "that something is there, or happened at all",
    "knowledge": "somebody denies or lacks what they know, or knows what they cannot",
    "other": "anything else that cannot both be true",
}
_OF_DETECTOR: Final = {
    "name": "name", "number": "number", "ordinal": "number", "duration": "number", "money": "number",
    "date": "number", "age": "number", "colour": "appearance", "side": "appearance", "title": "role", "role": "role",
    "kin": "kinship", "object": "object", "state": "state", "denial": "existence", "cause": "cause", "place": "place",
    "life": "life",
}  # fmt: skip
_ID_LETTERS: Final = 8
# Share of common words from which on two proposals are one; the second holds where they share a name.
_SAME, _SAME_NAMED = 0.5, 0.3
_SAME_ATTRIBUTE: Final = 0.5
_FEWEST_QUOTED: Final = 3
_FEWEST: Final = 3  # letters of a word that can be a name
_CLAUSE_WORDS: Final = 15  # at most: the paper's findings are short clauses, and a longer one says several things
_FRAME_WORDS: Final = frozenset({"happens", "established"})  # of the sentence around the clauses


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two statements that may not both be true; not judged yet.

    Attributes:
        x, y: numbers of the scenes.
        fact, event: what the earlier and the later one say, as clauses.
        subject: what they are about, where known.
        category: one of `CATEGORIES`.
        source: who proposed it: "rule NAME", "facts" (two values of one slot), "model".
        score: 0 to 1; orders proposals.
        before, after: the passages, where known.
        cues: words near the later one that may explain a change.
    """

    x: int
    y: int
    fact: str
    event: str
    subject: str = ""
    category: str = "other"
    source: str = "model"
    score: float = 0.0
    before: Passage | None = None
    after: Passage | None = None
    cues: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Eight letters fixed by the sentences in question, or by the clauses where these are not known."""
        if self.before is not None and self.after is not None:
            return key_of(self.before.quote, self.after.quote)
        return key_of(str(self.x), str(self.y), self.fact, self.event)

    @classmethod
    def of(cls, one: Candidate) -> Proposal:
        """A detector's candidate as a proposal."""
        fact, event = one.fact, one.event
        if one.detector == "name":
            fact, event = (f"the name being {value}" for value in one.values)
        return cls(
            one.before.scene, one.after.scene, fact, event, one.subject, _OF_DETECTOR[one.detector],
            f"rule {one.detector}", one.score, one.before, one.after, one.cues,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A contradiction, with both passages.

    Attributes:
        key: the same in every run that finds these two sentences at odds; what a dismissal names.
        x, y: numbers of the scenes; equal for one inside a scene.
        fact, event: the clauses of the paper's sentence.
        attribute: what of the subject differs.
        before, after: the passages; their focus is what was quoted.
        reason: why it is one, in the verifier's words.
        also: other scenes that state the fact.
        root: number of the root cause, from 1 on.
    """

    key: str
    x: int
    y: int
    fact: str
    event: str
    subject: str
    attribute: str
    category: str
    source: str
    before: Passage
    after: Passage
    reason: str = ""
    also: tuple[int, ...] = ()
    root: int = 0

    @property
    def sentence(self) -> str:
        """The finding in the paper's form, without a full stop."""
        return str(matching.Finding(self.x, self.y, self.fact, self.event))

    def as_data(self, number: int) -> dict[str, Any]:
        """The finding for JSON; `number` counts from 1. The first two fields alone are the paper's format."""
        return {
            "id": number,
            "hallucination": self.sentence,
            "x": self.x,
            "y": self.y,
            "fact": self.fact,
            "event": self.event,
            "attribute": self.attribute,
            "quote_x": _quoted(self.before),
            "quote_y": _quoted(self.after),
            "category": self.category,
            "root_cause_id": self.root,
            "key": self.key,
            "subject": self.subject,
            "source": self.source,
            "reason": self.reason,
            "also_established_in": list(self.also),
            "passage_x": _placed(self.before),
            "passage_y": _placed(self.after),
        }


def _quoted(part: Passage) -> str:
    """The words that were quoted; the whole sentence, where these are too few to say anything."""
    return one_line(part.words if count_words(part.words) >= _FEWEST_QUOTED else part.quote)


def _placed(part: Passage) -> dict[str, Any]:
    """A passage for JSON; the focus in characters of its text."""
    low, high = part.focus
    return {
        "scene": part.scene,
        "start": part.start,
        "text": part.quote,
        "focus": [low - part.start, high - part.start],
    }


def valid_clause(text: str) -> str:
    """A clause for the paper's sentence on one line; empty where it is too long or brings words of the frame along."""
    clause = one_line(text).strip(" .,;")
    own = clause.casefold().split()
    return "" if not own or len(own) > _CLAUSE_WORDS or _FRAME_WORDS & set(own) else clause


def key_of(*parts: str) -> str:
    """Eight letters fixed by the parts, whatever their blanks, case and quotation marks."""
    return sha256("\0".join(normalised(part) for part in parts).encode("utf-8", "replace")).hexdigest()[:_ID_LETTERS]


def merged(proposals: Iterable[Proposal], names: frozenset[str]) -> tuple[list[Proposal], int]:
    """Proposals without those that repeat an earlier one of the same two scenes, and how many did.

    The paper verifies all of them. Here each goes to the verifier once, since a second verdict costs as much again.

    Args:
        proposals: better ones first.
        names: words of the story that are names, without case.
    """
    kept: dict[tuple[int, int], list[tuple[set[str], Proposal]]] = {}
    repeated = 0
    for one in proposals:
        own = words(f"{one.fact} {one.event}")
        there = kept.setdefault((one.x, one.y), [])
        if any(_alike(own, other, names) for other, _ in there):
            repeated += 1
        else:
            there.append((own, one))
    return [one for there in kept.values() for _, one in there], repeated


def _alike(one: set[str], other: set[str], names: frozenset[str]) -> bool:
    alike = overlap(one, other)
    return alike >= _SAME or (alike >= _SAME_NAMED and bool(one & other & names))


def distinct(found: Iterable[Found]) -> tuple[Found, ...]:
    """Findings in the order of the story: each two sentences once, with the number of its root cause.

    Where several scenes state one fact, the earliest is X and the others are `also`.
    """
    ordered = sorted(found, key=lambda one: (one.y, one.after.start, one.x, one.before.start))
    kept: list[Found] = []
    for one in ordered:
        at = next((n for n, other in enumerate(kept) if _restates(one, other)), None)
        if at is None:
            kept.append(one)
        elif one.x != kept[at].x and one.x not in kept[at].also:
            kept[at] = replace(kept[at], also=tuple(sorted({*kept[at].also, one.x})))
    return tuple(_rooted(_keyed(kept)))


def _restates(one: Found, other: Found) -> bool:
    """Whether a finding says of the same later words what an earlier one says."""
    if (one.y, one.after.start) != (other.y, other.after.start):
        return False
    if one.before == other.before and one.after == other.after:
        return True
    same_words = one.after.focus[0] < other.after.focus[1] and other.after.focus[0] < one.after.focus[1]
    return same_words and (one.x == other.x or one.x < one.y) and _one_cause(one, other)


def _keyed(found: Sequence[Found]) -> list[Found]:
    """Findings whose keys differ, also where two lie in the same two sentences."""
    seen: dict[str, int] = {}
    keyed = []
    for one in found:
        seen[one.key] = seen.get(one.key, 0) + 1
        keyed.append(one if seen[one.key] == 1 else replace(one, key=f"{one.key}-{seen[one.key]}"))
    return keyed


def _rooted(found: Sequence[Found]) -> list[Found]:
    """Findings numbered by what they go back to: one thing, and one attribute of it or one passage about it."""
    roots: list[int] = []
    for at, one in enumerate(found):
        joined = {roots[n] for n, other in enumerate(found[:at]) if _one_cause(one, other)}
        root = min(joined, default=max(roots, default=0) + 1)
        roots = [root if known in joined else known for known in roots]
        roots.append(root)
    numbers = {root: n for n, root in enumerate(dict.fromkeys(roots), 1)}
    return [replace(one, root=numbers[root]) for one, root in zip(found, roots, strict=True)]


def _one_cause(one: Found, other: Found) -> bool:
    if not _about(one) & _about(other):
        return False
    same_passage = (one.before.scene, one.before.start) == (other.before.scene, other.before.start)
    return same_passage or overlap(words(one.attribute), words(other.attribute)) >= _SAME_ATTRIBUTE


def _about(one: Found) -> set[str]:
    """The words of what a finding is about; of its clauses, where that is not known."""
    about = one.subject or f"{one.fact} {one.event}"
    return {word for word in words(about) if len(word) >= _FEWEST and word not in _EMPTY_WORDS}


_EMPTY_WORDS: Final = frozenset(
    {"the", "and", "being", "was", "has", "had", "his", "her", "their", "its", "that", "with", "from", "for", "who"}
)
