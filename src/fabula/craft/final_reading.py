"""The final reading: the whole story is read once after writing, and small edits are made; ours.

Parts that are written one after the other are never seen together by who writes them: a blanket is lost on a Tuesday
and found on a Wednesday, a refrain fails once, a girl is called by a name that stands in the plan alone. So an editor
reads the whole against brief, plan and itself. It does not write anything anew: it gives edits, each of which the
author can refuse (`fabula text edits`).

A part that must be revised is made with `Run.draft`, so that who writes the next part sees it as it was written;
`final_reading` makes of the drafts the texts that stand in the story. Kept are

- `drafts/edits`, the edits, with why: the file `drafts/edits.yaml`, which an author may change;
- `drafts/refused`, the author's own list of edits that are not made: `drafts/refused.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fabula.base import yamltext
from fabula.base.errors import NoRoomError, ReplyError, UnknownNameError
from fabula.base.yamltext import Items, MappingPairs, ScalarText
from fabula.craft.packing import grouped, paragraphs
from fabula.craft.quoting import located
from fabula.craft.raters import mark_for
from fabula.craft.settings import unsupported_by
from fabula.engine.making import DRAFTS
from fabula.engine.run import Run, in_voice, side_by_side
from fabula.models.budget import estimate_tokens
from fabula.story import count_words
from fabula.story.sheets import read_as, read_sheet

if TYPE_CHECKING:
    from fabula.craft.drafts import Draft
    from fabula.craft.length import WordRange


EDITS, REFUSED = "edits", "refused"
_SHARE: Final = 0.5  # of the window, for the story; the rest is for brief, plan and reply
_SHORT: Final = 6_000  # tokens of the story in one prompt, for a small model that is made to read
_MOST_WORDS: Final = 80  # that an edit may add, or take out; more is no small edit
_ID: Final = 6
_CLOSING: Final = ("", *" \n.,;:!?)\u2019\u201d\u2026")


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of some words in one part.

    Attributes:
        part: the name of the part.
        old: words that stand in it.
        new: what stands there instead; may be empty.
        why: what was wrong.
        id: six letters that name it; they follow from its part and both texts.
    """

    part: str
    old: str
    new: str
    why: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        said = f"{self.part}\0{self.old}\0{self.new}".encode("utf-8", "replace")
        object.__setattr__(self, "id", sha256(said).hexdigest()[:_ID])


@dataclass(frozen=True, slots=True)
class RefusedEdit:
    """An edit that was not made, and why."""

    edit: Edit
    why: str


class EditReply(BaseModel):
    """One change."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True, defer_build=True)
    paragraph: int
    old: Annotated[str, Field(min_length=1)]
    new: str = ""
    why: str = ""


class EditsReply(BaseModel):
    """All changes; none where nothing must be mended."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    edits: list[EditReply]


async def final_reading(
    run: Run, role: str, drafts: Sequence[Draft], *, brief: str, plan: str = "", want: WordRange | None = None
) -> list[str]:
    """The parts' texts as they stand in the story, in order: the drafts with the edits that the author does not refuse.

    One call; more where the story does not fit into the model's window. Each part is kept under its name in `story/`.
    Where the reply cannot be read, or a cap has no room for it, the drafts stand as they are, and that is said. A role
    that gets the help for small models is not asked: it would find nothing, and break what it touched.

    Args:
        run: the place where the drafts were made.
        role: who reads.
        drafts: the parts, in the order of telling, as `Run.draft` gave them.
        brief: what the story was to be.
        plan: what was planned for it, as text; may be empty.
        want: how many words the story should have.

    Raises:
        PlanError: the author's `drafts/edits.yaml` or `drafts/refused.yaml` has problems; all are named.
        ModelError: the model did not answer.
    """
    place = run.scope(DRAFTS)

    async def make(own: Run) -> str:
        # nothing could come of it
        if unsupported_by(own, "final_reading", role) or all(draft.given == draft.shown for draft in drafts):
            return write_edits([])
        return write_edits(await _read(own, role, drafts, brief, plan, want))

    edits = await place.keep(
        EDITS, make, folder=DRAFTS, suffix="yaml", read=lambda text: read_edits(text, f"{DRAFTS}/{EDITS}.yaml")
    )
    refused = await place.keep(
        REFUSED, _made(write_refused(())), folder=DRAFTS, suffix="yaml", settled=True, read=read_refused
    )
    for unknown in unknown_refusals(edits, refused):
        run.note(
            f"{DRAFTS}/{REFUSED}.yaml names {unknown}, which is not an edit in {DRAFTS}/{EDITS}.yaml; it refuses "
            f"nothing."
        )
    final, left = revised(drafts, [edit for edit in edits if edit.id not in refused])
    for one in left:
        run.note(f"The edit {one.edit.id} of {one.edit.part} is not made: {one.why}")
    return [
        await run.keep(draft.name, _made(text), folder="story", settled=True)
        for draft, text in zip(drafts, final, strict=True)
    ]


def _made(text: str) -> Any:  # noqa: ANN401 - what `Run.keep` takes
    async def make(_: Run) -> str:
        return text

    return make


async def _read(
    run: Run, role: str, drafts: Sequence[Draft], brief: str, plan: str, want: WordRange | None
) -> list[Edit]:
    """The edits of one reading; of one for each stretch of the story where it does not fit into a prompt."""
    shown = _numbered(drafts)
    room = run.room(role).prompt_tokens(_SHORT, _SHARE)
    stretches = grouped(shown, room, lambda paragraph: sum(map(estimate_tokens, paragraph.lines)))
    own = ", ".join(f"part {number}" for number, draft in enumerate(drafts, 1) if draft.given == draft.shown)
    has = sum(count_words(draft.shown) for draft in drafts)
    mark = mark_for(brief, plan, *(paragraph.text for paragraph in shown))
    replies = await side_by_side(
        _asked(
            run.scope("part", number) if len(stretches) > 1 else run,
            role,
            lines=[line for paragraph in stretch for line in paragraph.lines],
            brief=brief,
            plan=plan,
            mark=mark,
            own=own,
            several=len(drafts) > 1,
            has=has,
            words=want,
            part=number,
            of=len(stretches),
        )
        for number, stretch in enumerate(stretches, 1)
    )
    # What is made up for an estimate stands nowhere, and of a long story there would be thousands to look for.
    return run.context.unless_made_up(lambda: [edit for reply in replies for edit in _edits_of(reply, shown)], [])


async def _asked(run: Run, role: str, **fields: Any) -> list[EditReply]:  # noqa: ANN401 - fields of a prompt
    run = in_voice(run).optional("the whole was not read again at the end")
    try:
        return (await run.ask_for(EditsReply, role, "final_reading", **fields)).edits
    except NoRoomError:
        return []
    except ReplyError as error:
        run.note(f"The whole was not revised because the reply of {role!r} could not be read: {error}", "shortfall")
        return []


# what is shown --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """A paragraph as it is shown: its number in the story, its part, and the line that stands above it, if any."""

    number: int
    part: str
    text: str
    heading: str = ""

    @property
    def lines(self) -> list[str]:
        shown = f"[{self.number}] {self.text}" if count_words(self.text) else self.text  # a break is no paragraph
        return [*([self.heading] if self.heading else []), shown]


def _numbered(drafts: Sequence[Draft]) -> list[_Paragraph]:
    found: list[_Paragraph] = []
    number = 0
    for place, draft in enumerate(drafts, 1):
        heading = f"# Part {place}" if len(drafts) > 1 else ""
        for text in paragraphs(draft.shown):
            found.append(_Paragraph(number + 1, draft.name, text, heading))
            number += count_words(text) > 0
            heading = ""
    return found


# edits ----------------------------------------------------------------------------------------------------------------


def _edits_of(replies: Iterable[EditReply], shown: Sequence[_Paragraph]) -> Iterator[Edit]:
    """The edits with the names of their parts; of words that stand more than once, more are taken until they are clear.

    A number that no paragraph has, or whose paragraph does not have the words, counts for nothing where one other
    paragraph has them.
    """
    for reply in replies:
        at = [one for one in shown if one.number == reply.paragraph and located(one.text, reply.old)]
        at = at or [one for one in shown if located(one.text, reply.old)]
        if len(at) != 1:
            part = next((one.part for one in shown if one.number == reply.paragraph), shown[0].part if shown else "")
            yield Edit(part, reply.old, reply.new, reply.why)
            continue
        whole = "\n\n".join(one.text for one in shown if one.part == at[0].part)
        start, end = located(at[0].text, reply.old)[0]
        exact = at[0].text[start:end]
        if len(located(whole, exact)) == 1:
            yield Edit(at[0].part, exact, reply.new, reply.why)
        else:  # the whole paragraph says which of them is meant
            new = at[0].text[:start] + reply.new + at[0].text[end:]
            yield Edit(at[0].part, at[0].text, new, reply.why)


def revised(drafts: Sequence[Draft], edits: Sequence[Edit]) -> tuple[list[str], list[RefusedEdit]]:
    """The drafts' texts with all edits that can be made, and those that cannot.

    Not made is what changes the author's own text, words that are not there or stand more than once, what overlaps an
    edit before it, and what adds or takes out more than 80 words.
    """
    left: list[RefusedEdit] = []
    known = {draft.name for draft in drafts}
    left += [RefusedEdit(edit, f"there is no part {edit.part!r}.") for edit in edits if edit.part not in known]
    texts = []
    for draft in drafts:
        own = [edit for edit in edits if edit.part == draft.name]
        if draft.given is not None:
            left += [RefusedEdit(edit, "the text is the author's own.") for edit in own]
            texts.append(draft.given)
            continue
        text, not_made = _with(draft.text, own)
        texts.append(text)
        left += not_made
    return texts, left


def _with(text: str, edits: Sequence[Edit]) -> tuple[str, list[RefusedEdit]]:
    """A text with its edits, and those that could not be made."""
    left: list[RefusedEdit] = []
    taken: list[tuple[int, int, str]] = []
    for edit in edits:
        places = located(text, edit.old)
        if why := _hindered(edit, places, taken):
            left.append(RefusedEdit(edit, why))
        else:
            taken.append((*places[0], edit.new.strip()))
    for start, end, new in sorted(taken, reverse=True):
        text = _put(text, start, end, new)
    return text, left


def _hindered(edit: Edit, places: Sequence[tuple[int, int]], taken: Sequence[tuple[int, int, str]]) -> str:
    if not places:
        return "its words are not there."
    if len(places) > 1:
        return f"its words occur there {len(places)} times."
    if any(start < places[0][1] and places[0][0] < end for start, end, _ in taken):
        return "another edit changes the same words."
    if abs(count_words(edit.new) - count_words(edit.old)) > _MOST_WORDS:
        return f"it adds or removes more than {_MOST_WORDS} words."
    return ""


def _put(text: str, start: int, end: int, new: str) -> str:
    """`text` with `new` from `start` to `end`; where nothing stands there any more, a blank or line end goes too."""
    before, after = text[:start], text[end:]
    if not new:
        if not before.strip() or before.endswith("\n"):
            after = after.lstrip("\n" if after.startswith("\n") else " ")
        elif before.endswith(" ") and after[:1] in _CLOSING:
            before = before.rstrip(" ")
        if not after.strip():
            before = before.rstrip()
    return before + new + after


# files ----------------------------------------------------------------------------------------------------------------

_HEAD: Final = (
    "# What was changed when the whole story was read. `fabula text edits` lists it, and `fabula text "
    "edits --refuse ID` takes\n"
    "# one back. You may also change or take out entries here.\n"
)
_REFUSED_HEAD: Final = "# The edits of edits.yaml that are not to be made, by their ids.\n"


_ENTRY: Any = read_as(Edit, str, old=Annotated[str, Field(min_length=1)], new=(str, ""))


class _Edits(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)
    edits: Annotated[tuple[_ENTRY, ...], BeforeValidator(lambda value: value or [])] = ()


class _Refused(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)
    refused: Annotated[list[str], BeforeValidator(lambda value: value or [])] = []


def write_edits(edits: Sequence[Edit]) -> str:
    """Edits as YAML that `read_edits` reads back."""
    entries = tuple(
        MappingPairs(
            tuple((ScalarText(key), ScalarText(value)) for key, value in _fields(edit) if value or key == "new")
        )
        for edit in edits
    )
    body = yamltext.write(MappingPairs(((ScalarText("edits"), Items(entries)),))) if entries else "edits: []\n"
    return _HEAD + body


def _fields(edit: Edit) -> Iterator[tuple[str, str]]:
    yield from (("id", edit.id), ("part", edit.part), ("old", edit.old), ("new", edit.new), ("why", edit.why))


def read_edits(text: str, where: str = f"{DRAFTS}/{EDITS}.yaml") -> tuple[Edit, ...]:
    """The edits in a YAML text.

    Raises:
        PlanError: something is wrong in it; names all problems.
    """
    return read_sheet(text, where, "the edits", _Edits.model_validate, lambda _: [], _keys).edits


def read_refused(text: str, where: str = f"{DRAFTS}/{REFUSED}.yaml") -> frozenset[str]:
    """The ids of edits in a YAML text that lists what the author refuses; nothing for an empty text.

    Raises:
        PlanError: something is wrong in it; names all problems.
    """
    if not text.strip():
        return frozenset()
    return frozenset(read_sheet(text, where, "what is refused", _Refused.model_validate, lambda _: [], _keys).refused)


def write_refused(ids: Iterable[str]) -> str:
    """A list of refused edits as YAML that `read_refused` reads back."""
    entries = tuple(ScalarText(one) for one in sorted(ids))
    return _REFUSED_HEAD + (
        yamltext.write(MappingPairs(((ScalarText("refused"), Items(entries)),))) if entries else "refused: []\n"
    )


def _keys(place: tuple[str | int, ...]) -> tuple[str, ...]:
    if not place:
        return ("edits", "refused")
    return tuple(one.name for one in fields(Edit)) if place[0] == EDITS else ()


def unknown_refusals(edits: Sequence[Edit], refused: Iterable[str]) -> list[str]:
    """The refused ids that no edit has: mistyped, or of edits that were asked for again since."""
    return sorted(set(refused) - {edit.id for edit in edits})


def refuse(edits: Sequence[Edit], refused: Iterable[str], ids: Iterable[str], *, back: bool = False) -> frozenset[str]:
    """The ids that are refused after `ids` are refused too, or, with `back`, no longer.

    Raises:
        UnknownNameError: there is no such edit.
    """
    known = {edit.id for edit in edits} | set(refused)
    for one in ids:
        if one not in known:
            raise UnknownNameError("edit", one, known)
    return frozenset(refused) - set(ids) if back else frozenset(refused) | set(ids)
