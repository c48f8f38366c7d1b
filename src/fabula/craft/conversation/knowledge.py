"""Who of those that talk knows what of a segment: its sentences with their witnesses, by a model or by who is named."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from fabula.base import yamltext
from fabula.base.errors import PlanError, ReplyError
from fabula.base.yamltext import Items, MappingPairs, ScalarText
from fabula.engine.run import may_stand_as_made, side_by_side
from fabula.story import slug
from fabula.story.people import among, present_in
from fabula.story.sentences import paragraph_spans, spans

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from fabula.base.yamltext import Node
    from fabula.engine.run import Run

_AT_ONCE: Final = 40  # sentences of one call
_BEFORE: Final = 4  # sentences that are shown before them, to say who "she" is
_PRONOUN: Final = re.compile(r"\b(?:he|she|they|him|her|them)\b", re.IGNORECASE)
_HEAD: Final = """\
# Who of the characters witnesses each sentence: does it, sees or hears it. Nobody else is told of it.
"""


@dataclass(frozen=True, slots=True)
class SegmentSentence:
    """A sentence of a segment, with the blank space behind it.

    Attributes:
        text: its own.
        witnesses: names of those who witness it.
    """

    text: str
    witnesses: tuple[str, ...]


@dataclass
class Marks:
    """The marks of each cell, read once for all who ask, also side by side."""

    _found: dict[int, tuple[SegmentSentence, ...]] = field(default_factory=dict)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of(
        self, number: int, make: Callable[[], Awaitable[tuple[SegmentSentence, ...]]]
    ) -> tuple[SegmentSentence, ...]:
        """Those of a cell; `make` is called the first time."""
        async with self._one:
            if number not in self._found:
                self._found[number] = await make()
        return self._found[number]


def pieces_of(segment: str) -> list[str]:
    """The sentences of a segment, each with the blank space behind it; together they are the segment."""
    starts = [start for start, _ in spans(segment)][1:]
    return [segment[a:b] for a, b in zip([0, *starts], [*starts, len(segment)], strict=True)]


def known_to(told: Iterable[SegmentSentence], readers: Iterable[str]) -> str:
    """What all of `readers` witnessed of a segment."""
    wanted = set(readers)
    return "".join(one.text for one in told if wanted <= set(one.witnesses)).strip()


def by_name(segment: str, names: Sequence[str]) -> tuple[SegmentSentence, ...]:
    """The sentences of a segment, witnessed by those of `names` whom each names.

    One that names nobody has the witnesses of the sentence before it; at the beginning of a paragraph, of all whom the
    paragraph names, or of all whom the segment names. Where "she", "him" and the like stand in a sentence, the
    witnesses of the one before it in the paragraph count too.
    """
    begins = {start for start, _ in paragraph_spans(segment)}
    ends = sorted((*begins, len(segment)))
    found: list[SegmentSentence] = []
    place = 0
    for piece in pieces_of(segment):
        own = present_in(names, piece)
        goes_on = bool(found) and place not in begins
        if goes_on and (not own or _PRONOUN.search(piece)):
            own = tuple(name for name in names if name in (*own, *found[-1].witnesses))
        elif not own:
            end = next((end for end in ends if end > place), len(segment))
            own = present_in(names, segment[place:end]) or present_in(names, segment) or tuple(names)
        found.append(SegmentSentence(piece, own))
        place += len(piece)
    return tuple(found)


async def marked(run: Run, segment: str, names: Sequence[str], role: str, prompt: str) -> tuple[SegmentSentence, ...]:
    """The sentences of a segment with their witnesses among `names`, as a model reads them; kept as `witnesses`.

    With aids for small models, and where a reply cannot be read, they are marked by who is named (`by_name`). A
    sentence that a reply leaves out, or that an edited file does not hold, is asked about once more.

    Raises:
        PlanError: the author's own marks cannot be read.
    """
    named = by_name(segment, names)

    async def asked(own: Run, found: Sequence[SegmentSentence | None]) -> tuple[SegmentSentence | None, ...]:
        return await _read_by_model(own, named, found, names, role, prompt)

    async def make(own: Run) -> str:
        found: Sequence[SegmentSentence | None] = named
        if not own.room(role).aids:
            found = await asked(own, [None] * len(named))
            # In an estimate the reply is made up, and leaves out what a model would not.
            complete: Sequence[SegmentSentence | None] = _filled(found, named)
            found = await asked(own.scope("again"), own.context.unless_made_up(lambda: found, complete))
        return write_marks(_filled(found, named))

    def read(text: str) -> tuple[SegmentSentence | None, ...]:
        return read_marks(text, named, names, f"plan/{slug(run.scope('witnesses').at)}.yaml")

    kept = await run.keep("witnesses", make, folder="plan", suffix="yaml", read=read)
    if not may_stand_as_made(run, "witnesses"):  # nobody knows which sentences a revised file will lack
        kept = (None,) * len(named)
    if not run.room(role).aids:
        kept = await asked(run.scope("witnesses", "edited"), kept)
    return _filled(kept, named)


def _filled(found: Iterable[SegmentSentence | None], named: Iterable[SegmentSentence]) -> tuple[SegmentSentence, ...]:
    return tuple(one or other for one, other in zip(found, named, strict=True))


async def _read_by_model(
    run: Run,
    named: Sequence[SegmentSentence],
    known: Sequence[SegmentSentence | None],
    names: Sequence[str],
    role: str,
    prompt: str,
) -> tuple[SegmentSentence | None, ...]:
    """`known`, with what is missing there as a model reads it; `None` for a sentence that its reply leaves out."""

    async def some(begin: int) -> tuple[SegmentSentence | None, ...]:
        here, settled = named[begin : begin + _AT_ONCE], known[begin : begin + _AT_ONCE]
        if None not in settled:
            return tuple(settled)
        try:
            reply = await run.scope(begin + 1).ask_for(
                _marks(),
                role,
                prompt,
                names=list(names),
                before=[one.text.strip() for one in named[max(begin - _BEFORE, 0) : begin]],
                sentences=[" ".join(one.text.split()) for one in here],
            )
        except ReplyError as error:
            run.note(f"Who witnesses what could not be read at {run.at}; who is named stands in. {error}")
            return _filled(settled, here)
        # A made-up reply would have nobody know anything, and then nothing be planned.
        marks: list[Any] = run.context.unless_made_up(lambda: list(reply.sentences), [])
        found = {mark.sentence: mark.witnesses for mark in marks}
        return tuple(
            was or (SegmentSentence(one.text, _people(found[n], names)) if n in found else None)
            for n, (was, one) in enumerate(zip(settled, here, strict=True), 1)
        )

    parts = await side_by_side(some(begin) for begin in range(0, len(named), _AT_ONCE))
    return tuple(one for part in parts for one in part)


def _people(said: Iterable[str], names: Sequence[str]) -> tuple[str, ...]:
    """Those of `names` who are said, in their order."""
    found = {among(one, names) for one in said}
    return tuple(name for name in names if name in found)


@cache
def _marks() -> Any:  # noqa: ANN401 - a type made at run time
    from pydantic import BaseModel, Field  # noqa: PLC0415 - keeps `fabula --help` fast

    class Mark(BaseModel):
        sentence: Annotated[int, Field(description="The number of the sentence.")]
        witnesses: Annotated[list[str], Field(description="The names of its witnesses; none where nobody is one.")]

    class Marks(BaseModel):
        sentences: list[Mark]

    return Marks


# the file -------------------------------------------------------------------------------------------------------------


def write_marks(told: Iterable[SegmentSentence]) -> str:
    """Sentences with their witnesses as a YAML list that a person edits."""
    lines = []
    for one in told:
        names = ", ".join(json.dumps(name, ensure_ascii=False) for name in one.witnesses)
        lines.append(
            f"- sentence: {json.dumps(' '.join(one.text.split()), ensure_ascii=False)}\n  witnesses: [{names}]\n"
        )
    return _HEAD + "".join(lines)


def read_marks(
    text: str, named: Sequence[SegmentSentence], names: Sequence[str], where: str
) -> tuple[SegmentSentence | None, ...]:
    """The sentences of `named` with the witnesses that a file gives them; `None` for one that it does not hold.

    Raises:
        PlanError: the text is no such list; says where.
    """
    try:
        node, refused = yamltext.read(text)
    except yamltext.YamlError as error:
        raise PlanError((f"{where}:{error.line}: {error}",)) from error
    if refused:
        raise PlanError((f"{where}:{refused[0][0]}: {refused[0][1]}",))
    marks: dict[str, list[tuple[str, ...]]] = {}
    for sentence, witnesses in _entries(node, where):
        marks.setdefault(" ".join(sentence.split()), []).append(_people(witnesses, names))
    found: list[SegmentSentence | None] = []
    for one in named:
        left = marks.get(" ".join(one.text.split()), [])
        found.append(SegmentSentence(one.text, left.pop(0)) if left else None)
    return tuple(found)


def _entries(node: Node | None, where: str) -> Iterator[tuple[str, list[str]]]:
    if not isinstance(node, Items):
        raise PlanError((f"{where}: this is not a list. Give entries with a `sentence` and its `witnesses`.",))
    for item in node.items:
        fields = {key.value: value for key, value in item.pairs} if isinstance(item, MappingPairs) else {}
        sentence, witnesses = fields.get("sentence"), fields.get("witnesses")
        if not isinstance(sentence, ScalarText) or not isinstance(witnesses, Items):
            raise PlanError(
                (f"{where}:{item.line}: an entry needs a `sentence` and a list `witnesses`, such as [Mara].",)
            )
        yield sentence.value, [name.value for name in witnesses.items if isinstance(name, ScalarText)]
