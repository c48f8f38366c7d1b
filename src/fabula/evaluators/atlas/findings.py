"""Proposals and findings, and the root causes that findings share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from fabula.craft import matching
from fabula.craft.packing import overlap, words
from fabula.craft.quoting import normalised
from fabula.story import count_words, one_line

if TYPE_CHECKING:
    from fabula.continuity import Passage


CATEGORIES: Final[Mapping[str, str]] = {
    "name": "what somebody or something is called",
    "appearance": "looks, build, hair, eyes, clothes",
    "age": "how old somebody is, years of birth, generations",
    "date": "dates, weekdays, years",
    "duration": "how long something lasts, took, or lies back",
    "time of day": "hours, day and night, what can be done by then",
    "season": "months, seasons, and what grows, flies or is kept in them",
    "weather or light": "rain, snow, wind, sun, moon, darkness, what can be seen",
    "place of a person": "where somebody is, was, lives or comes from, and could have got to",
    "place of a thing": "where something is, was left, kept or hidden",
    "possession": "who owns, has, carries, wears, gave or lost something",
    "kinship": "family, marriage, love, who is whose",
    "role": "work, rank, title, office, part in what happens",
    "body": "injuries, illness, left and right, which hand",
    "life": "who is dead or alive",
    "knowledge": "somebody knows what they cannot know yet, or not what they have learnt",
    "rule": "a rule of the story's own world is broken",
    "world": "it cannot be so in the world as it is",
    "number": "counts, amounts, sums, prices, scores, measures",
    "ability": "what somebody can or cannot do, languages, habits, tastes",
    "order": "what came before what; something is told of before it can have happened, or happens twice",
    "attribution": "who said, did, made, wrote or saw something",
    "object": "which thing it is, its kind, colour, material or make",
    "state": "broken or whole, open or locked, lit or dark, full or empty, dry or wet",
    "cause": "why or how something happened",
    "existence": "that something is there, or happened at all",
    "other": "anything else that cannot both be true",
}
_ID_LETTERS, _CLAIM_LETTERS = 8, 4
_ALIKE, _ALIKE_ON_AVERAGE = 0.5, 0.7  # of the words of two claims about the same sentences, if they are one
STEM: Final = 6
"""Letters that two forms of a word share."""
LONG: Final = 3
"""Letters of small words."""
_SAME_ATTRIBUTE: Final = 0.5
_FEWEST_QUOTED: Final = 3
_FEWEST: Final = 3  # letters of a word that can be a name
_FRAME: Final = (" was established", " were established", " happens", " happen")


@dataclass(frozen=True, slots=True)
class Proposal(matching.ErrorFinding):
    """Two statements of two scenes that may not both be true (section 3.5); not judged yet."""

    @property
    def key(self) -> str:
        """Eight letters derived from scenes and clauses."""
        return key_of(str(self.x), str(self.y), self.fact, self.event)


@dataclass(frozen=True, slots=True)
class AtlasFinding(matching.ErrorFinding):
    """A contradiction or a suspicion, with both passages; `x` and `y` are equal inside a scene.

    Attributes:
        key: the key that a dismissal names: `claim_key` of the two sentences and the claim about them.
        attribute: what differs about the thing, or the verifier's decision on a suspicion that was not confirmed.
        category: one of `CATEGORIES`; empty in the paper's method, which has none.
        source: who named it: "proposer", "reader", "verifier"; "control" for a planted suspicion that is certainly not
            an error.
        before, after: the passages, with the quoted words as focus.
        reason: why it is a contradiction, in the verifier's words.
        root: number of the root cause, from 1.
        sure: how sure the verifier is: certain, likely or possible; `suspected` if no reliable model verified it; empty
            if unknown.
        places: the numbers of both paragraphs; 0 if unknown.
        also: numbers of other paragraphs that support one of the two.
        nodes: ids of the graph's nodes that it is based on, in the paper's method.
    """

    key: str
    attribute: str
    category: str
    source: str
    before: Passage
    after: Passage
    reason: str = ""
    root: int = 0
    sure: str = ""
    places: tuple[int, int] = (0, 0)
    also: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()

    @property
    def says(self) -> tuple[str, str]:
        """The statements of the earlier and the later place."""
        return self.fact, self.event

    @property
    def quotes(self) -> tuple[str, str]:
        """The quotations from both places, each on one line."""
        return one_line(self.before.words), one_line(self.after.words)

    @property
    def sentence(self) -> str:
        """The finding in the paper's form, without a full stop."""
        return str(matching.ErrorFinding(self.x, self.y, self.fact, self.event))

    def as_data(self, number: int) -> dict[str, Any]:
        """The finding for JSON; `number` counts from 1. The first two fields are the paper's format."""
        return {
            "id": number,
            "hallucination": self.sentence,
            "x": self.x,
            "y": self.y,
            "inside_scene": self.x == self.y,
            "fact": self.fact,
            "event": self.event,
            "attribute": self.attribute,
            "quote_x": _quoted(self.before),
            "quote_y": _quoted(self.after),
            "category": self.category,
            "root_cause_id": self.root,
            "key": self.key,
            "source": self.source,
            "sure": self.sure,
            "reason": self.reason,
            "paragraph_x": self.places[0],
            "paragraph_y": self.places[1],
            "also_in_paragraphs": list(self.also),
            "nodes": list(self.nodes),
            "passage_x": _placed(self.before),
            "passage_y": _placed(self.after),
        }


def _quoted(part: Passage) -> str:
    """The quoted words, or the whole sentence if these are too few to mean anything."""
    return one_line(part.words if count_words(part.words) >= _FEWEST_QUOTED else part.quote)


def _placed(part: Passage) -> dict[str, Any]:
    """A passage for JSON, with its focus in characters of the text."""
    low, high = part.focus
    return {
        "scene": part.scene,
        "start": part.start,
        "text": part.quote,
        "focus": [low - part.start, high - part.start],
    }


def clause_of(text: str) -> str:
    """A clause for the paper's sentence, on one line and without the closing words that the sentence adds."""
    clause = one_line(text).strip(" .,;")
    end = next((end for end in _FRAME if clause.casefold().endswith(end)), "")
    return clause[: len(clause) - len(end)].strip(" .,;")


def key_of(*parts: str) -> str:
    """Eight letters derived from the parts, regardless of blanks, case and quotation marks."""
    return sha256("\0".join(normalised(part) for part in parts).encode("utf-8", "replace")).hexdigest()[:_ID_LETTERS]


def claim_key(before: Passage, after: Passage, *claim: str) -> str:
    """The key of a claim about two sentences: eight letters derived from the sentences, and four from the claim."""
    return f"{key_of(before.quote, after.quote)}-{key_of(*claim)[:_CLAIM_LETTERS]}"


def same_claim(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two claims about the same sentences mean the same; each has the statements of both places."""
    alike = [overlap(stems(a), stems(b)) for a, b in zip(one, other, strict=True)]
    return min(alike) >= _ALIKE and sum(alike) >= _ALIKE_ON_AVERAGE * len(alike)


def stems(text: str) -> set[str]:
    """The beginnings of the words of a text that are longer than most small words."""
    return {word[:STEM] for word in words(text) if len(word) > LONG or word.isdigit()}


def distinct(found: Iterable[AtlasFinding]) -> tuple[AtlasFinding, ...]:
    """Findings in the order of the story, with each pair of quotations once, numbered by root cause."""
    kept: list[AtlasFinding] = []
    for one in sorted(found, key=lambda one: (one.y, one.after.start, one.x, one.before.start)):
        if not any(same_focus(one.before, other.before) and same_focus(one.after, other.after) for other in kept):
            kept.append(one)
    return tuple(_rooted(keyed(kept)))


def same_focus(one: Passage, other: Passage) -> bool:
    """Whether the quotations of two passages are the same or overlap."""
    return one.scene == other.scene and one.focus[0] < other.focus[1] and other.focus[0] < one.focus[1]


def keyed(found: Sequence[AtlasFinding]) -> list[AtlasFinding]:
    """Findings with distinct keys, even if two make the same claim about the same two sentences."""
    seen: dict[str, int] = {}
    keyed = []
    for one in found:
        seen[one.key] = seen.get(one.key, 0) + 1
        keyed.append(one if seen[one.key] == 1 else replace(one, key=f"{one.key}-{seen[one.key]}"))
    return keyed


def _rooted(found: Sequence[AtlasFinding]) -> list[AtlasFinding]:
    """Findings numbered by root cause: one thing, and one of its attributes or one passage about it."""
    roots: list[int] = []
    for at, one in enumerate(found):
        joined = {roots[n] for n, other in enumerate(found[:at]) if _one_cause(one, other)}
        root = min(joined, default=max(roots, default=0) + 1)
        roots = [root if known in joined else known for known in roots]
        roots.append(root)
    numbers = {root: n for n, root in enumerate(dict.fromkeys(roots), 1)}
    return [replace(one, root=numbers[root]) for one, root in zip(found, roots, strict=True)]


def _one_cause(one: AtlasFinding, other: AtlasFinding) -> bool:
    if not _about(one) & _about(other):
        return False
    same_passage = (one.before.scene, one.before.start) == (other.before.scene, other.before.start)
    return same_passage or overlap(words(one.attribute), words(other.attribute)) >= _SAME_ATTRIBUTE


def _about(one: AtlasFinding) -> set[str]:
    """The words of what a finding is about."""
    return {word for word in words(f"{one.fact} {one.event}") if len(word) >= _FEWEST and word not in _EMPTY_WORDS}


_EMPTY_WORDS: Final = frozenset(
    {"the", "and", "being", "was", "has", "had", "his", "her", "their", "its", "that", "with", "from", "for", "who"}
)
