"""Revising a finished text: to an author's note, or to fit what has changed above it.

The role that wrote the text gives it in a new version. What it is shown is the prompt that asked for the text, the text
as its own reply, and what is wanted now; so it knows what it knew when it wrote. Where several calls made the text, or
that prompt is too long to stand next to it, the story's brief stands for it. A text that is too long for one reply is
revised in pieces. ours.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from typing import Any, Final

from fabula.base.errors import FabulaError
from fabula.craft.packing import first_of, in_pieces, last_of, paragraphs
from fabula.craft.prose import clean_reply, reply_fault
from fabula.engine.making import DRAFTS, Revision
from fabula.engine.replies import is_unchanged
from fabula.engine.room import USUAL_WINDOW
from fabula.engine.run import Run, in_voice
from fabula.models.base import Message, Reply
from fabula.models.budget import estimate_tokens
from fabula.story import count_words, plain

TRIES: Final = 3
_ROOM: Final = 0.85  # of the window, for prompt and reply; the rest is for what tokens are misjudged
_PIECE: Final = 0.25  # of the window, for a piece of a text that is too long for one reply
_CHANGES: Final = 0.2  # and for what has changed
_SHORT_PIECE, _SHORT_CHANGES = 900, 500  # tokens, for small models
_END: Final = 200  # tokens of the piece before, as its end
_TRIED: Final = "usable"  # the place of the tries of a revision
_LEAST: Final = 0.6  # of a text's words that are left where only what no longer fits is changed
_FENCE: Final = re.compile(r"\A```[^\n]*\n(.*?)\n?```\Z", re.DOTALL)
_NOT_WHOLE: Final = "It was not the whole text. Give all of it, also what stays as it is."


@dataclass(frozen=True, slots=True)
class PromptChange:
    """A place of a prompt as it was and as it is now; either may be empty."""

    before: str
    after: str


def reviser(brief: str) -> Callable[[Run, Revision], Awaitable[str]]:
    """What revises texts of a story that was asked for by `brief` (`RunContext.revise`)."""

    async def revise(run: Run, revision: Revision) -> str:
        return await revised(run, revision, brief)

    return revise


async def revised(run: Run, revision: Revision, brief: str) -> str:
    """The text of a revision in its new version; one call, more where it is too long for one reply.

    A text that is to fit what has changed may come back as it is, word for word, and does so where nothing usable is
    given in its stead; a note says that.

    Raises:
        ReplyError: what an author's note asked for was not given in a form that can be used.
    """
    reviser_ = _Reviser(run, revision, brief)
    pieces = reviser_.pieces()
    if len(pieces) == 1:
        return await reviser_.asked(run, revision.text, {})
    done: list[str] = []
    for number, piece in enumerate(pieces, 1):
        previous = last_of(done[-1], _END) if done else ""
        place = run.scope("piece", number)
        done.append(await reviser_.asked(place, piece, {"part": number, "of": len(pieces), "previous": previous}))
    return "\n\n".join(done)


@dataclass(frozen=True)
class _Reviser:
    run: Run
    revision: Revision
    brief: str

    def pieces(self) -> list[str]:
        """The text in pieces of which each fits into a prompt and its reply; what a program reads stays whole."""
        text, own = self.revision.text, self.revision
        if self._fits(2 * estimate_tokens(text) + estimate_tokens(self.brief)) or self._form != "prose":
            return [text]
        most = self.run.room(own.role).prompt_tokens(_SHORT_PIECE, _PIECE)
        return in_pieces(text, most)

    async def asked(self, run: Run, text: str, piece: dict[str, Any]) -> str:
        """A text, or one of its pieces, in its new version."""
        own, fault, answer, run = self.revision, "", "", run.tries(_TRIED)
        prompt, said, fields = self._prompt(text, piece)
        if own.folder == "story" and not fields["asked"]:  # what was asked then says how the author writes
            run = in_voice(run)
        for attempt in range(TRIES):
            place = run.again(attempt, fault)
            reply = await place.reply(own.role, prompt, said, **fields)
            answer = reply.text
            if not own.note and is_unchanged(answer):
                return text
            new = self._cleaned(place, reply, text)
            fault = self._fault(place, new, text, prompt, fields, piece=bool(piece))
            if not fault:
                return new
        if own.note:
            problem = (
                f"The role {own.role!r} gave no usable revision of {own.path!r} in {TRIES} tries. {fault} Other "
                "words for the note may help (`fabula undo` takes it back)."
            )
            raise run.exhausted(_TRIED, problem, own.role, answer)
        run.note(f"{own.path} stands as it was: no usable revision of it came in {TRIES} tries. {fault}")
        return text

    def _prompt(self, text: str, piece: dict[str, Any]) -> tuple[str, list[Message], dict[str, Any]]:
        """The prompt's name, what stands between its head and what is wanted now, and its fields."""
        own = self.revision
        fields: dict[str, Any] = {
            "part": 0,
            **piece,
            "earlier": own.earlier,
            "form": self._form,
            "has": count_words(text),
        }
        if own.note:
            fields |= {"note": own.note}
        else:
            fields |= {"changes": self._changes()}
        system = "\n\n".join(message.content for message in own.asked if message.role == "system")
        said = [message for message in own.asked if message.role != "system"]
        need = sum(estimate_tokens(message.content) for message in own.asked) + 2 * estimate_tokens(text)
        if said and not piece and self._fits(need + self.run.room(own.role).prompt_tokens(_SHORT_CHANGES, _CHANGES)):
            fields |= {"system": system, "asked": said[0].content}
        else:
            said = said[:1]
            what = f"the file {own.path}.{own.suffix}" if self._form == "file" else f"the text “{own.path}”"
            fields |= {"system": "", "asked": "", "brief": self.brief, "name": what}
        name = "revise_to_note" if own.note else "revise_to_fit"
        return name, [*said[1:], Message("assistant", text)], fields

    def _fits(self, tokens: int) -> bool:
        return tokens <= (self.run.room(self.revision.role).window or USUAL_WINDOW) * _ROOM

    @property
    def _form(self) -> str:
        """What the text is for its readers: a file, lines that a program reads, or prose."""
        if self.revision.suffix != "md":
            return "file"
        return "prose" if self.revision.read is None or self.revision.folder in ("story", DRAFTS) else "lines"

    def _changes(self) -> list[PromptChange]:
        """What has changed in the prompt, as far as there is room for it."""
        room = self.run.room(self.revision.role).prompt_tokens(_SHORT_CHANGES, _CHANGES)
        shown: list[PromptChange] = []
        for change in changes(self.revision.before, self.revision.after):
            need = estimate_tokens(change.before) + estimate_tokens(change.after)
            if need > room:
                shown.append(PromptChange(first_of(change.before, room // 2), first_of(change.after, room // 2)))
                break
            shown.append(change)
            room -= need
        return shown

    def _cleaned(self, run: Run, reply: Reply, old: str) -> str:
        """The text in a reply; the line that begins the old text is no title that stands before the new one."""
        text = plain(reply.text).strip()
        if self._form != "prose":
            fenced = _FENCE.fullmatch(text)
            return fenced[1].strip() if fenced else text
        first = old.lstrip().partition("\n")[0].rstrip()
        if text.startswith(first) and old.lstrip().startswith("#"):
            return f"{first}\n\n{text.removeprefix(first).strip()}"
        return clean_reply(run, self.revision.role, reply, labels=(), last=True)

    def _fault(self, run: Run, new: str, old: str, prompt: str, fields: dict[str, Any], *, piece: bool) -> str:
        """Why a reply is no new version of the text; empty if it is one."""
        read = None if piece else self.revision.read

        def objection(new: str) -> str:
            if not new:
                return "It held no text."
            if not self.revision.note and count_words(new) < _LEAST * count_words(old):
                return _NOT_WHOLE
            try:
                if read is not None:
                    read(new)
            except (FabulaError, ValueError) as problem:
                return str(problem)
            return ""

        if self._form != "prose":
            return run.context.unless_made_up(partial(objection, new), "")
        return reply_fault(run, new, prompt, fields, objection=objection)


def changes(before: Sequence[Message], after: Sequence[Message]) -> list[PromptChange]:
    """The paragraphs in which two versions of a prompt differ; none where one of the two is not known."""
    if not before or not after:
        return []
    old, new = ([part for one in messages for part in paragraphs(one.content)] for messages in (before, after))
    found: list[PromptChange] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and b - a == d - c:
            found += [PromptChange(then, now) for then, now in zip(old[a:b], new[c:d], strict=True)]
        elif kind != "equal":
            found.append(PromptChange("\n\n".join(old[a:b]), "\n\n".join(new[c:d])))
    return found
