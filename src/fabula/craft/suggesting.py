"""One place of a text: a passage rewritten there, and suggestions for what could be there; ours.

Nothing here changes a text. The role that wrote the text makes the suggestions, each in a call of its own, so that they
arrive side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from fabula.craft.packing import first_of, last_of, nearest
from fabula.craft.prose import clean_reply, reply_fault
from fabula.craft.quoting import located
from fabula.craft.revising import TRIES
from fabula.engine.run import Run, in_voice, side_by_side
from fabula.story import count_words
from fabula.story.words import joined

if TYPE_CHECKING:
    from fabula.craft.length import WordRange


SuggestionKind = Literal["reword", "continue", "describe", "ideas"]
"""`reword`: other wordings of the selected passage. `continue`: what follows the cursor. `describe`: a description of
what is there. `ideas`: what could happen next, each in a sentence or two."""
Amount = Literal["sentence", "paragraph", "scene"]
"""How much to write after the cursor; `scene` is up to the end of the scene."""
MOST: Final = 8
_AROUND: Final = 0.15  # of the window, for what is on each side of the place
_SHORT_AROUND: Final = 500  # tokens of the same, for small models
_WORDS: Final = {"sentence": 20, "paragraph": 90, "scene": 500, "describe": 60}  # for estimates
_TRIED: Final = "usable"  # the place of the tries at a passage
_OPENING, _CLOSING, _QUOTES = "([-", ",.;:!?\u2026)]", "\"'\u201c\u201d\u2018\u2019\u201e\u201a\u00ab\u00bb"
WISHES: Final = {
    "shorter": "Say it in about half as many words, and lose nothing that matters.",
    "slower": "Take more time for it: what is seen, heard and done, one thing after the other.",
    "show": "Show it: let what people do and say carry what is now explained.",
    "voice": "Let it sound like the person whose part this is: their words, their rhythm, what they notice.",
    "less": "Say less: leave to the reader what can be understood without being said.",
}
"""Short notes, and the wishes that they stand for."""


def put(words: str, before: str, after: str, amount: Amount) -> str:
    """The words of a suggestion as they stand between two parts of a text: apart from them, as a paragraph or not."""
    first, _, last = joins(words, before, after, amount)
    return f"{first}{words}{last}"


def joins(words: str, before: str, after: str, amount: Amount) -> tuple[str, str, str]:
    """What separates the words of a suggestion from the text before, from more of the same, and from the text after."""
    first, last = _gap(before, words), _gap(words, after)
    if amount != "sentence":
        first = "\n\n" if before.strip() and not before.endswith("\n\n") else ""
        last = "\n\n" if after and not after[0].isspace() else ""
    return first, _gap(words, words), last


def _gap(text: str, more: str) -> str:
    """What separates two parts of a paragraph: nothing after a mark that opens, or before one that closes."""
    near, following = text[-1:].strip(), more[:1].strip()
    opens = near in _OPENING or (near in _QUOTES and not text[-2:-1].strip())
    closes = following in _CLOSING or (following in _QUOTES and not more[1:2].strip())
    if opens or closes:
        return ""
    return joined(text.rstrip(_QUOTES)[-1:] or near, more.lstrip(_QUOTES)[:1] or following)[1:-1]


class IdeasReply(BaseModel):
    """What could happen next in the story."""

    model_config = ConfigDict(extra="ignore")

    ideas: Annotated[
        list[Annotated[str, Field(min_length=20)]],
        Field(min_length=1, max_length=2 * MOST, description="What could happen next, each in one or two sentences."),
    ]


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a text of a story.

    Attributes:
        brief: what the author asked for.
        text: the text.
        span: the start and the end of the selection; equal if nothing is selected.
        around: the texts of the story before and after this one, the nearest first; as many as are needed are read.
    """

    brief: str
    text: str
    span: tuple[int, int]
    around: tuple[Iterable[str], Iterable[str]] = ((), ())

    @property
    def passage(self) -> str:
        """The selected words."""
        return self.text[slice(*self.span)]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is suggested: its kind, the author's note, how many, how much of it, and how many were made before.

    `words` take the place of `amount`.
    """

    kind: SuggestionKind = "reword"
    note: str = ""
    count: int = 3
    amount: Amount = "sentence"
    skip: int = 0
    words: WordRange | None = None


async def rewrite_passage(run: Run, role: str, cursor: Cursor, note: str) -> str:
    """The text with the selected passage rewritten; the rest is as it was. One call.

    Raises:
        ReplyError: no usable passage was given.
    """
    (start, end), fields = cursor.span, _fields(run, role, cursor) | {"note": note, "has": count_words(cursor.passage)}
    new = await _usable(run, role, "rewrite_passage", fields, fields["has"], "Other words for your wish may help.")
    return cursor.text[:start] + new + cursor.text[end:]


async def suggestions(run: Run, role: str, cursor: Cursor, wanted: Wanted) -> list[str]:
    """The suggestions of a role; one call each, or one for all ideas.

    Raises:
        ReplyError: the role gave no usable suggestion.
    """
    fields = _fields(run, role, cursor) | {"note": WISHES.get(wanted.note, wanted.note)}
    if wanted.kind == "ideas":
        own = in_voice(run).scope(wanted.skip + 1)
        return (await own.ask_for(IdeasReply, role, "suggest_ideas", **fields, count=wanted.count)).ideas[
            : wanted.count
        ]
    prompt = "rewrite_passage" if wanted.kind == "reword" else "suggest"
    fields |= (
        {"kind": wanted.kind, "amount": wanted.amount, "words": wanted.words}
        if prompt == "suggest"
        else {"has": count_words(cursor.passage)}
    )
    numbers = range(wanted.skip + 1, wanted.skip + wanted.count + 1)
    usual = _WORDS["describe" if wanted.kind == "describe" else wanted.amount] if prompt == "suggest" else fields["has"]
    usual = wanted.words.target if wanted.words else usual
    made = await side_by_side(_usable(run.scope(n), role, prompt, fields, usual) for n in numbers)
    return list(dict.fromkeys(made))


def _fields(run: Run, role: str, cursor: Cursor) -> dict[str, Any]:
    room, (start, end) = run.room(role).prompt_tokens(_SHORT_AROUND, _AROUND), cursor.span
    before, after = nearest(cursor.around[0], room)[::-1], nearest(cursor.around[1], room)
    return {
        "brief": cursor.brief,
        "before": last_of("\n\n".join((*before, cursor.text[:start])).strip(), room),
        "after": first_of("\n\n".join((cursor.text[end:], *after)).strip(), room),
        "passage": cursor.passage,
    }


async def _usable(run: Run, role: str, prompt: str, fields: dict[str, Any], usual: int, help_: str = "") -> str:
    """The text that a role gives for a place in a text."""
    fault, answer, run = "", "", in_voice(run).tries(_TRIED)
    for attempt in range(TRIES):
        place = run.again(attempt, fault)
        reply = await place.reply(role, prompt, expect=usual, **fields)
        answer = reply.text
        new = clean_reply(place, role, reply, labels=(), last=True)
        fault = reply_fault(place, new, prompt, {**fields, "passage": ""}, least=1)
        if not fault:
            return new
    problem = f"The role {role!r} gave no usable passage in {TRIES} tries. {fault} {help_}".strip()
    raise run.exhausted(_TRIED, problem, role, answer)


def passage_spans(text: str, words: str) -> Iterator[tuple[int, int]]:
    """Where a passage stands that is named by its first and last words ("The lamp ... went out.") or by all of it."""
    first, gap, last = (
        part.strip() for part in words.replace("[...]", "...").replace("\u2026", "...").partition("...")
    )
    for start, end in located(text, first):
        if not gap or not last:
            yield start, end if not gap else len(text)
            continue
        ends = [stop for begin, stop in located(text, last) if begin >= end]
        if ends:
            yield start, ends[0]
