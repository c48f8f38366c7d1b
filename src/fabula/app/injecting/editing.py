"""Errors that a model puts into a story, in the story's own words; code checks each edit.

1. The editor reads the whole story if it fits into the prompt, or else two distant passages.
2. It returns edits and decoys. Code checks each edit: the replaced words are in the text once, the contradicted
   passage stays unchanged, nothing overlaps, and the distance is kept.
3. A proofreader judges whether each edit really is a contradiction that the story does not explain.
4. Refused edits go back to the editor with the reason, until there are enough or the tries are used up.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, Field

from fabula.app.injecting.planted import KINDS, NEEDS, CleanText, Decoy, Error, overlaps, problems, words_between
from fabula.base.errors import RefusalError, ReplyError, UsageError
from fabula.craft.quoting import located
from fabula.craft.raters import mark_for
from fabula.engine.replies import short
from fabula.models.budget import estimate_tokens
from fabula.story import count_words, one_line
from fabula.story.sentences import paragraph_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.app.injecting.config import Ours
    from fabula.app.injecting.planted import Span
    from fabula.engine.run import Run

ROLE: Final = "editor"
PROOFREADER: Final = "proofreader"
_SHORT_PROMPT, _SHORT_REPLY = 2500, 1500  # tokens for a small editor
_WHOLE: Final = 0.5  # share of the window that a story read whole may have
_EACH: Final = 0.2  # share of the window for each of two passages
_PER_PAIR: Final = 3  # errors that two passages far apart have to offer
_NEAR_PARTS: Final = 3  # a story is shown in passages from so many times their length on
_MOST_REASONS, _QUOTED = 20, 80


class ErrorReply(BaseModel):
    """One error, as the editor gives it."""

    kind: str = Field(description="one of the kinds that are listed")
    find: Annotated[str, short(300)] = Field(description="words of the story that are replaced, copied exactly")
    replace: Annotated[str, short(300)] = Field(description="what stands there instead")
    contradicts: Annotated[str, short(300)] = Field(
        description="the passage that then cannot be true as well, copied exactly"
    )
    fact: Annotated[str, short(160)] = Field(description="what that passage establishes, as a clause")
    event: Annotated[str, short(160)] = Field(description="what the new words say, as a clause")
    explanation: Annotated[str, short(300)] = Field(description="why both cannot be true")
    needs: str = Field(description="lookup, inference or world_knowledge")


class DecoyReply(BaseModel):
    """One decoy, as the editor gives it."""

    quote_a: Annotated[str, short(300)]
    quote_b: Annotated[str, short(300)]
    why_no_error: Annotated[str, short(300)]


class Edits(BaseModel):
    """What the editor gives."""

    person: Annotated[str, short(20)] = Field(default="", description="first, second or third")
    tense: Annotated[str, short(20)] = Field(default="", description="past or present")
    genre: Annotated[str, short(40)] = ""
    errors: Annotated[list[ErrorReply], short(12)] = Field(default_factory=list)
    decoys: Annotated[list[DecoyReply], short(8)] = Field(default_factory=list)


class ChangeVerdict(BaseModel):
    """What the proofreader says of one change."""

    number: int = Field(description="of the change")
    reason: Annotated[str, short(300)]
    contradiction: bool = Field(description="true if both cannot be true and the story does not explain it")


class Proof(BaseModel):
    """What the proofreader says."""

    verdicts: Annotated[list[ChangeVerdict], short(12)] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EditedStory:
    """The story that is edited; with `later`, an error must be in a later scene than the one that it contradicts.

    `scenes` are the positions in the text at which scenes begin, in characters.
    """

    id: str
    title: str
    form: str
    text: str
    kinds: tuple[str, ...] = tuple(KINDS)
    scenes: tuple[int, ...] = ()
    later: bool = False

    def scene(self, at: int) -> int:
        """The number of the scene that contains a position in the text."""
        return sum(start <= at for start in self.scenes)


@dataclass(frozen=True, slots=True)
class EditorView:
    """What one editor sees (the whole text or two distant passages), and how many errors are wanted from it."""

    spans: tuple[Span, ...]
    errors: int
    decoys: int

    def holds(self, place: Span) -> bool:
        """Whether the editor sees a place."""
        return any(start <= place[0] and place[1] <= end for start, end in self.spans)


@dataclass(frozen=True, slots=True)
class LeftToEdit:
    """What is still wanted from a view, and why proposals were refused."""

    errors: int
    decoys: int
    refused: tuple[str, ...] = ()


@dataclass
class Edited:
    """A text under edit: the accepted edits, and the reasons why others were refused."""

    source: EditedStory
    ours: Ours
    errors: list[Error] = field(default_factory=list)
    decoys: list[Decoy] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    missing: int = 0
    style: dict[str, str] = field(default_factory=dict)
    _edited: list[Span] = field(default_factory=list)  # one for each error, as in `_kept`
    _kept: list[Span] = field(default_factory=list)
    _of_decoys: list[Span] = field(default_factory=list)

    @property
    def planted(self) -> CleanText:
        """The story with the accepted edits."""
        one, style = self.source, self.style
        return CleanText(
            id=one.id,
            title=one.title,
            form=one.form,
            person=style.get("person", ""),
            tense=style.get("tense", ""),
            genre=style.get("genre", ""),
            text=one.text,
            errors=tuple(replace(error, id=f"{one.id}-{n}") for n, error in enumerate(self.errors, 1)),
            decoys=tuple(self.decoys),
        )

    def take(self, reply: Edits, view: EditorView, errors: int, decoys: int) -> LeftToEdit:
        """Accept a number of valid edits of a reply; what is still wanted, and why the others were refused."""
        reasons: list[str] = []
        for name in ("person", "tense", "genre"):
            self.style[name] = self.style.get(name) or one_line(getattr(reply, name))
        for one in reply.errors:
            if errors and (why := self._add(one, view)):
                reasons.append(f"{one.kind}, {one.find[:_QUOTED]!r}: {why}")
            elif errors:
                errors -= 1
        for decoy in reply.decoys[:decoys]:
            if why := self._add_decoy(decoy):
                reasons.append(f"decoy, {decoy.quote_a[:_QUOTED]!r}: {why}")
            else:
                decoys -= 1
        self.refused += reasons
        return LeftToEdit(errors, decoys, tuple(reasons))

    def remove(self, errors: Sequence[Error], reasons: Sequence[str]) -> None:
        """Remove errors again, for these reasons."""
        for one in errors:
            at = self.errors.index(one)
            del self.errors[at], self._edited[at], self._kept[at]
        self.refused += reasons

    def _add(self, edit: ErrorReply, view: EditorView) -> str:
        """Accept one edit, or say why it is refused."""
        text = self.source.text
        place, against = located(text, edit.find), located(text, edit.contradicts)
        if why := _unreadable(edit, self.source.kinds, place, against):
            return why
        spot = place[0]
        clear = [one for one in against if not overlaps(one, [spot, *self._edited])]
        if why := self._misplaced(spot, clear, view):
            return why
        old, new = text[slice(*spot)], edit.replace.strip()
        if new == old:
            return "`replace` changes nothing."
        self._edited.append(spot)
        self._kept.append(clear[0])
        fact, event, why = (one_line(said).rstrip(".") for said in (edit.fact, edit.event, edit.explanation))
        self.errors.append(Error("", edit.kind, old, new, text[slice(*clear[0])], why, edit.needs, fact, event))
        return ""

    def _misplaced(self, spot: Span, against: Sequence[Span], view: EditorView) -> str:
        """What is wrong with the place of an edit, by itself or relative to the places that it contradicts."""
        source, least = self.source, self.ours.distance
        if not view.holds(spot) or "\n\n" in source.text[slice(*spot)]:
            return "`find` has to lie inside one paragraph of what you were shown."
        if overlaps(spot, [*self._edited, *self._kept, *self._of_decoys]):
            return "`find` meets another edit, or a passage that another edit contradicts."
        if not against:
            return "`contradicts` is itself changed by an edit."
        if (nearest := min(words_between(source.text, spot, one) for one in against)) < least:
            return f"only {nearest} words lie between it and what it contradicts; there have to be {least}."
        if source.later and all(source.scene(spot[0]) <= source.scene(one[0]) for one in against):
            return "it has to stand in a later scene than what it contradicts."
        return ""

    def _add_decoy(self, decoy: DecoyReply) -> str:
        text = self.source.text
        places = [located(text, quote) for quote in (decoy.quote_a, decoy.quote_b)]
        clear = [[one for one in found if not overlaps(one, self._edited)] for found in places]
        if not all(clear):
            return "both quotations have to stand in the story, where no edit changes it."
        if overlaps(clear[0][0], clear[1][:1]):
            return "its two quotations are one place."
        if not one_line(decoy.why_no_error):
            return "`why_no_error` is empty."
        self._of_decoys += [clear[0][0], clear[1][0]]
        quotes = [text[slice(*found[0])] for found in clear]
        self.decoys.append(Decoy(quotes[0], quotes[1], one_line(decoy.why_no_error)))
        return ""


async def edit(source: EditedStory, ours: Ours, run: Run, errors: int | None = None) -> Edited:
    """The story with errors that contradict it, and decoys.

    Raises:
        UsageError: no two places of the story are far enough apart.
        ReplyError: the editor gave nothing that can be used.
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    work = Edited(source, ours)
    for number, view in enumerate(views(source, ours, run, errors or ours.errors), 1):
        left = LeftToEdit(view.errors, view.decoys)
        for attempt in range(1, ours.tries + 1):
            reply = await _asked(run.scope(source.id, number, attempt), work, view, left)
            before = len(work.errors)
            left = run.context.unless_made_up(
                partial(work.take, reply, view, left.errors, left.decoys), LeftToEdit(0, 0)
            )
            left = await _proofread(run.scope(source.id, number, attempt), work, view, left, before)
            if not left.errors:  # decoys are not asked for again: a story may have no decoys
                break
        work.missing += left.errors
    run.context.unless_made_up(partial(_check, work), None)
    return work


async def _asked(at: Run, work: Edited, view: EditorView, left: LeftToEdit) -> Edits:
    """The editor's reply; empty if it cannot be read."""
    text = work.source.text
    try:
        return await at.ask_for(
            Edits,
            ROLE,
            "edit",
            parts=[_numbered(text, span) for span in view.spans],
            apart=words_between(text, view.spans[0], view.spans[-1]) if len(view.spans) > 1 else 0,
            mark=mark_for(text),
            kinds=[(name, KINDS[name]) for name in work.source.kinds],
            needs=list(NEEDS.items()),
            errors=left.errors,
            decoys=left.decoys,
            distance=work.ours.distance,
            later=work.source.later,
            taken=work.errors,
            refused=left.refused[:_MOST_REASONS],
        )
    except (RefusalError, ReplyError) as error:
        work.refused.append(str(error))
        return Edits(person="", tense="")


async def _proofread(at: Run, work: Edited, view: EditorView, left: LeftToEdit, before: int) -> LeftToEdit:
    """What is still wanted once changes without a contradiction are removed; all stay if the proofreader fails."""
    new = work.errors[before:]
    if not work.ours.proofread or not at.context.unless_made_up(lambda: bool(new), instead=True):
        return left
    text = work.source.text
    try:
        proof = await at.ask_for(
            Proof,
            PROOFREADER,
            "proofread",
            parts=[_numbered(text, span) for span in view.spans],
            mark=mark_for(text),
            errors=new,
        )
    except (RefusalError, ReplyError) as error:
        work.refused.append(f"not proofread: {error}")
        return left
    return at.context.unless_made_up(partial(_without_denied, work, new, proof, left), left)


def _without_denied(work: Edited, new: Sequence[Error], proof: Proof, left: LeftToEdit) -> LeftToEdit:
    denied = {v.number: one_line(v.reason) for v in proof.verdicts if not v.contradiction and 1 <= v.number <= len(new)}
    reasons = tuple(
        f"{new[n - 1].kind}, {new[n - 1].find[:_QUOTED]!r}: the proofreader sees no contradiction. {why}"
        for n, why in denied.items()
    )
    work.remove([new[n - 1] for n in denied], reasons)
    return LeftToEdit(left.errors + len(denied), left.decoys, (*left.refused, *reasons))


def views(source: EditedStory, ours: Ours, run: Run, errors: int) -> list[EditorView]:
    """What the editor sees in each call: the whole story if it fits, or else pairs of distant passages.

    Raises:
        UsageError: no two places of the story are far enough apart.
    """
    text = source.text
    total = count_words(text)
    if ours.distance >= total:
        raise UsageError(
            f"The story has {total:,} words, so no two places in it are {ours.distance:,} words apart. Use a "
            "smaller --distance or a longer story."
        )
    room = run.room(ROLE).prompt_tokens(short=_SHORT_PROMPT, share=_WHOLE)
    near = not ours.distance or total < max(_NEAR_PARTS * ours.window, 2 * ours.distance + ours.window)
    if near and estimate_tokens(text) <= room:
        return _whole(len(text), errors, ours)
    return _pairs(source, ours, run, errors)


def _whole(length: int, errors: int, ours: Ours) -> list[EditorView]:
    """The whole story, in as many calls as the errors require."""
    calls = -(-errors // ours.at_once)
    return [
        EditorView(((0, length),), n, d)
        for n, d in zip(_shares(errors, calls), _shares(ours.decoys, calls), strict=True)
    ]


def _pairs(source: EditedStory, ours: Ours, run: Run, errors: int) -> list[EditorView]:
    """Pairs of an early and a late passage, spread over the story, with the wanted distance between them."""
    text = source.text
    paragraphs = paragraph_spans(text)
    counts = [count_words(text[a:b]) for a, b in paragraphs]
    total = sum(counts)
    tokens = run.room(ROLE).prompt_tokens(short=_SHORT_PROMPT // 3, share=_EACH)
    per_word = max(1.0, estimate_tokens(text) / max(1, total))
    size = max(1, min(ours.window, int(tokens / per_word), (total - ours.distance) // 2))
    calls = -(-errors // _PER_PAIR)
    free = max(0, total - ours.distance - 2 * size)
    found = []
    for n, (some, decoys) in enumerate(zip(_shares(errors, calls), _shares(ours.decoys, calls), strict=True)):
        first, end = _passage(counts, free * n // max(1, calls - 1) if calls > 1 else free // 2, size)
        after = sum(counts[:end]) + ours.distance
        begin, last = _passage(counts, after, size, late=True)
        spans = (paragraphs[first][0], paragraphs[end - 1][1]), (paragraphs[begin][0], paragraphs[last - 1][1])
        found.append(EditorView(spans, some, decoys))
    return found


def _passage(counts: Sequence[int], first: int, size: int, *, late: bool = False) -> tuple[int, int]:
    """Paragraphs of about `size` words, from the one with word `first` or, if `late`, from the one after it."""
    begins = [0, *accumulate(counts)][:-1]
    found = bisect_left(begins, first) if late else bisect_right(begins, first) - 1
    begin = min(found, len(counts) - 1)
    end = begin + 1
    while end < len(counts) and begins[end] + counts[end] - begins[begin] <= size:
        end += 1
    return begin, end


def _shares(total: int, parts: int) -> list[int]:
    """`total` divided into `parts` that differ by at most one."""
    return [total // parts + (n < total % parts) for n in range(parts)]


def _numbered(text: str, span: Span) -> str:
    """The paragraphs of a span, each preceded by its number in the story."""
    spans = [(n, a, b) for n, (a, b) in enumerate(paragraph_spans(text), 1) if span[0] <= a and b <= span[1]]
    return "\n\n".join(f"[{n}] {text[a:b]}" for n, a, b in spans)


def _unreadable(edit: ErrorReply, kinds: Sequence[str], place: Sequence[Span], against: Sequence[Span]) -> str:
    """What is missing in an edit, regardless of its place."""
    if edit.kind not in kinds:
        return f"the kind {edit.kind[:40]!r} is none of those listed."
    if edit.needs not in NEEDS:
        return f"`needs` is {edit.needs[:40]!r}, none of {', '.join(NEEDS)}."
    if len(place) != 1:
        return f"`find` stands {len(place)} times in the story; it has to stand there exactly once, letter by letter."
    if not against:
        return "`contradicts` does not stand in the story; copy it letter by letter."
    if not all(map(one_line, (edit.fact, edit.event, edit.explanation))):
        return "`fact`, `event` or `explanation` is empty."
    return ""


def _check(work: Edited) -> None:
    """Check that there is an error, and that the result is valid.

    Raises:
        ReplyError: there is no error that can be used.
    """
    if not work.errors:
        said = f" The first reason: {work.refused[0]}" if work.refused else ""
        raise ReplyError(
            f"The editor proposed no error that can be planted in {work.source.id}.{said} Run again "
            "with another --seed, or use a stronger model for this role.",
            reply="",
        )
    if wrong := problems(work.planted):
        raise AssertionError(f"{work.source.id} was edited wrongly: {wrong[0]}")
