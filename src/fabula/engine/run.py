"""`Run`, a system's only interface to models and the project.

A run renders the prompt, finds the player of the role, checks the journal, observes the budget and the concurrency
limit, reads the reply, repairs it at most `repairs` times, records it, and informs the listeners. A run is an immutable
value, and `scope` returns a child run.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from fabula.base.errors import (
    BudgetError,
    JournalMissError,
    ModelError,
    NoRoomError,
    PluginError,
    RefusalError,
    ReplyError,
    UsageError,
)
from fabula.engine import beside, replies
from fabula.engine.context import Mode, RunContext
from fabula.engine.dry_run import PlannedCall, Sketch, sketch_of, usual
from fabula.engine.events import CallFinished, CallLost, CallStarted, Kept, Noted, Removed, Repaired, TextArrived
from fabula.engine.journal import MadeArtefact, call_key
from fabula.engine.lines import (
    WorkBranch,
    WorkLine,
    apart,
    branches,
    digest,
    frame_now,
    framed,
    has_read,
    line_of,
    lose,
    own_line,
    side_by_side,
)
from fabula.engine.making import DRAFTS, WISHES, Continuation, Revision, Revisions, announced_as, made, making_now
from fabula.engine.roles import Person, Program, drawn, is_person
from fabula.engine.room import DEFAULT_REPLY_TOKENS, Room
from fabula.models.base import Message, Reply, Request, Sampling, Usage
from fabula.models.budget import Tries, counted, estimate_tokens, prompt_tokens
from fabula.models.limits import PAYS, SENT, THOUGHT
from fabula.models.prices import FREE, cost, is_overridden, paid, price_of
from fabula.models.prompt_text import json_instruction
from fabula.models.providers import identity_by_address
from fabula.models.servers import STORY
from fabula.story import readable, without_marks
from fabula.story.language import counts_characters, name_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from fabula.engine.beside import W
    from fabula.engine.dry_run import Words
    from fabula.engine.replies.rules import RuleName
    from fabula.engine.roles import Assignment
    from fabula.models.base import Model, OnText, Price

__all__ = [
    "Make",
    "Mode",
    "More",
    "Run",
    "RunContext",
    "RunPlace",
    "WorkBranch",
    "apart",
    "branches",
    "continuation_of",
    "has_author_text",
    "in_voice",
    "may_stand_as_made",
    "record_length",
    "retaken",
    "side_by_side",
    "was_made",
]

T = TypeVar("T")
Make: TypeAlias = "Callable[[Run], Awaitable[str]]"
More: TypeAlias = "Callable[[Run, str], Awaitable[str]]"

REFUSAL_TRIES = 3
_LIKELIEST = 20  # tokens whose probabilities are asked for
_WORDS_PER_TOKEN = 0.75  # 1.30 tokens a word, as stories have, and some room
_LONG_REPLIES = 8192  # tokens that models of today write at least in one reply, where it is not known
_LONG_REPLY, _SHORT_REPLY, _CHARACTERS_A_TOKEN = 200_000, 20_000, 32  # no reply is meant to be longer than that
_CHARACTERS_OF_MANY = 8  # a token, on average over more than 25,000 of them
_BLANKS = re.compile(r"(?<!\s)\s{100,}+")
_CODEX, _SHORT_CODEX, _CODEX_SHARE = 1_000, 300, 0.05  # tokens: at most, for small models, of the window
_UNSET = Sampling()
_USUAL_TEMPERATURE, _WARMER, _WARMEST = 0.7, 0.15, 1.0
_ANSWER = (
    "Answer in {}, unless the task asks for another language. Words that these instructions prescribe, such as the "
    "keys of a form or the choices for an answer, stay as they are here."
)
_CHARACTERS = " Lengths are counted in characters, with punctuation: where a number of words is named, it is meant so."
_VOICE = (
    "This is how the author of the story writes. Keep to it in every sentence of the story that you write; where the "
    "task itself asks for something else, the task counts. Passages quoted here show how the author sounds: take "
    "nothing of what they tell, and none of their sentences.\n\n{}"
)
_REMARK = (
    "Your last answer could not be used. {} This time, give what is asked for above, and give it in your own words."
)


@dataclass(frozen=True, slots=True)
class RunPlace:
    """The place of a run, and the settings for calls made there.

    Attributes:
        path: the names that lead to this place.
        take: how many retakes of the text made here a person has requested.
        remark: what was wrong with earlier unusable replies here (`Run.again`).
        draw: the number of unusable replies.
        given_up: the number of earlier runs that ended because all tries here failed (`Run.tries`).
        without: what the story lacks without the calls made here, if they are optional (`Run.optional`).
        part: the share of the usual work that was done before these calls.
        in_voice: whether the calls made here write prose, so that their prompts hold the author's style sheet.
    """

    path: tuple[str, ...] = ()
    take: int = 0
    remark: str = ""
    draw: int = 0
    given_up: int = 0
    without: str = ""
    part: float = 1.0
    in_voice: bool = False


@dataclass(frozen=True)
class Run:
    """A place in a run, with the context shared by all places."""

    context: RunContext
    _place: RunPlace = RunPlace()

    def scope(self, *names: str | int) -> Run:
        """A child run, one or more levels down; for example, `run.scope("scene", 3)` is at `scene/3`."""
        return self._placed(path=(*self._place.path, *(str(name) for name in names)))

    def again(self, draw: int, fault: str) -> Run:
        """A run that asks again after an unusable reply, with another seed, a higher temperature, and a remark.

        The remark says what was wrong. A small model does not get the remark, because it would continue from it. `draw`
        counts from 0, and a run with `draw` 0 asks without changes.
        """
        again = self._placed(path=(*self._place.path, "again", str(draw)), remark=_REMARK.format(fault), draw=draw)
        return again if draw else self

    def optional(self, without: str, *, part: float = 1.0) -> Run:
        """A run for optional calls; `without` says what the story lacks without them ("it is not read again").

        Under a cap, such a call is made only if the remaining budget has room for it and for everything else that the
        run needs. Otherwise `NoRoomError` is raised; catch it to continue without the call. The omission is recorded
        and reported to the author.

        Args:
            without: what the story lacks without the calls, as the end of a sentence that begins "To keep within the
                budget,".
            part: for one of several turns, the share of the usual number of turns that came before it. If the remaining
                budget is less than the remaining turns usually need, their number is reduced in proportion.
        """
        return self._placed(without=without, part=part)

    def tries(self, name: str) -> Run:
        """A run for a limited number of tries at `name`; when they are used up, raise the error from `exhausted`.

        If the tries ended an earlier run, as the journal records, they are repeated with other seeds and a higher
        temperature. The same command therefore continues after a failure, and a replay follows the same path.
        """
        given_up = self.context.journal.calls.given_up(self._path(name))
        if not given_up:
            return self
        place = self._place
        fault = place.remark or _REMARK.format("It was not what is asked for.")
        return self._placed(given_up=place.given_up + given_up, draw=max(place.draw, given_up), remark=fault)

    def exhausted(self, name: str, problem: str, role: str, reply: str) -> ReplyError:
        """The error that ends the tries at `name`; its message consists of `problem` and advice on how to continue."""
        at = self._path(name)
        return ReplyError(
            f"{problem} The same command asks again from there. If that does not help, give the role {role!r} a "
            f"stronger model (--model {role}=...).",
            reply=reply,
            at=at,
        )

    @property
    def at(self) -> str:
        """The path as text."""
        return "/".join(self._place.path)

    @property
    def rng(self) -> random.Random:
        """A generator seeded by the run's seed and path, so that the same place always draws the same numbers."""
        return random.Random(self._number("rng"))  # noqa: S311 - reproducible draws are wanted, not secrets

    def room(self, role: str) -> Room:
        """The limits of a role's player: its context window, its reply length, and whether it is a small model."""
        return Room(self.context.cast.assignment(role), self.context.aids)

    def note(self, text: str, kind: Literal["remark", "notice", "shortfall"] = "remark") -> None:
        """Add a sentence to the run's record.

        Args:
            text: the sentence.
            kind: a "remark" is also sent to the listeners. A "shortfall" is a remark about something that the author
                asked for and will not get; the command shows it at the end and in the status. A "notice" describes the
                whole run and is added once, before any call; a dry run lists it among its notices.
        """
        context, frame = self.context, frame_now()
        if kind == "notice":
            if frame is not None and text not in frame.notices:
                frame.notices.append(text)
            if text in context.dry_run.notices:
                return
            context.dry_run.notices.append(text)
        elif kind == "shortfall":
            context.shortfalls.append(text)
            if frame is not None:
                frame.shortfalls.append(text)
        if kind != "notice":  # who started it has heard it from a dry run
            context.emit(Noted(self.at, text))

    def removed(self, rule: RuleName, text: str, left: str | None = None) -> None:
        """Record what a rule removed from a reply at this place; `fabula show --removed` lists it.

        The removed text is `text`, or, with `left`, each sentence of `text` that is missing from `left`.
        """
        for piece in [text] if left is None else replies.left_out(text, left):
            if not piece.strip():
                continue
            if self.context.mode == "live":
                self.context.journal.calls.remove(self.at, rule, piece)
            self.context.emit(Removed(self.at, rule, piece))

    # artefacts ------------------------------------------------------------------------------------------------------

    @overload
    async def keep(
        self,
        name: str,
        make: Make,
        *,
        folder: str,
        suffix: str = ...,
        more: More | None = ...,
        settled: bool = ...,
        reads: Sequence[str] | None = ...,
    ) -> str: ...

    @overload
    async def keep(
        self,
        name: str,
        make: Make,
        *,
        read: Callable[[str], T],
        folder: str,
        suffix: str = ...,
        more: More | None = ...,
        settled: bool = ...,
        reads: Sequence[str] | None = ...,
    ) -> T: ...

    @overload
    async def keep(
        self,
        name: str,
        make: Callable[[Run], Awaitable[W]],
        *,
        shape: type[W],
        folder: str,
        suffix: str = ...,
        again: Callable[[Run, W], Awaitable[W]] | None = ...,
        settled: bool = ...,
        reads: Sequence[str] | None = ...,
        together: bool = ...,
    ) -> W: ...

    async def keep(
        self,
        name: str,
        make: Callable[[Run], Awaitable[Any]],
        *,
        folder: str,
        suffix: str = "md",
        read: Callable[[str], Any] | None = None,
        shape: type[Any] | None = None,
        again: Callable[[Run, Any], Awaitable[Any]] | None = None,
        more: More | None = None,
        settled: bool = False,
        reads: Sequence[str] | None = None,
        together: bool = False,
    ) -> Any:
        """The text of the artefact `name`: the edited or pinned text if there is one, otherwise the result of `make`.

        `make` is not called if this line of work has read the same inputs as when the text was made. Each new text
        becomes a version in the journal and a file in the project's `folder`. The text costs as much as the calls in
        `make`.

        With `read`, the result is the value that `read` returns for the text. With `shape`, the result is a value with
        the text and with other fields that later work reads, such as a memory or a plan for the next part. The other
        fields from `make` are recorded with the text. If the text is an author's text or a revised one instead of the
        one that `make` has just returned, the value is the one that `make` once returned with that text. If there is no
        such value, it comes from `again`, or is the last one from `make`.

        Args:
            name: the name of the artefact, below this run's path.
            make: returns the text or the value, and gets its own run as an argument. It must have no side effects.
            folder: the project folder in which the text's file is written.
            suffix: the suffix of the file.
            read: parses the text. After a revision requested by the author, it also checks that the text can be parsed.
            shape: a dataclass or pydantic model with a field `text`. Its other fields have defaults, which are used for
                a text that existed before anything was made.
            again: returns the value for a text that `make` did not return; it gets a value with that text and the last
                fields.
            more: returns the continuation of a text, for an artefact that a person wants to continue.
            settled: whether the artefact needs no approval because it is made from approved texts.
            reads: the paths of the artefacts that `make` reads; `None` means every artefact that was read before.
            together: whether artefacts made at the same time contribute to this one, which is then never reused without
                them.

        Raises:
            PausedError: a person must approve the text first.
            PluginError: a field of `shape` needs a default.
            UsageError: a person wants to continue an artefact that has no `more`.
        """
        if shape is not None:
            return await self._keep_value(
                shape, name, make, folder, suffix, again, settled=settled, reads=reads, together=together
            )
        text, known = await self._artefact(name, make, folder, suffix, more, settled=settled, read=read, reads=reads)
        self._seen(name, text, known=known)
        return text if read is None else read(text)

    async def _keep_value(
        self,
        shape: type[W],
        name: str,
        make: Callable[[Run], Awaitable[W]],
        folder: str,
        suffix: str,
        again: Callable[[Run, W], Awaitable[W]] | None,
        *,
        settled: bool,
        reads: Sequence[str] | None,
        together: bool,
    ) -> W:
        made: list[W] = []

        async def text_of(run: Run) -> str:
            if together and (frame := frame_now()) is not None:
                frame.whole = False
            made[:] = [await make(run)]
            if context.mode == "live":  # before the text: who has that has this
                context.journal.artefacts.keep_beside(path, made[0].text, beside.written(made[0]))
            return made[0].text

        path, context = self._path(name), self.context
        text, known = await self._artefact(name, text_of, folder, suffix, None, settled=settled, reads=reads)
        as_made = may_stand_as_made(self, name)
        if made and made[0].text == text and as_made:
            value = made[0]
        else:
            found, is_own = context.journal.artefacts.beside(path, text) or (None, False)
            value = beside.read(shape, text, found)
            if again is not None and not (is_own and as_made):
                with own_line():
                    has_read(context, path, text, known=known)
                    worked_out = await again(retaken(self, name).scope(name), value)
                    known = line_of(context).known
                value = beside.read(shape, text, beside.written(worked_out))  # of this text, whatever it says
        self._seen(name, text, beside.written(value), known=known)
        return value

    def _placed(self, **place: Any) -> Run:  # noqa: ANN401 - fields of `RunPlace`
        return replace(self, _place=replace(self._place, **place))

    def _path(self, name: str) -> str:
        return "/".join((*self._place.path, name))

    def _reached(self, name: str) -> str:
        """The path of an artefact that is of use here; what it is made inside of is not all that comes of that."""
        if (frame := frame_now()) is not None:
            frame.whole = False
        self.context.dry_run.reached.add(self._path(name))
        return self._path(name)

    def _seen(self, name: str, text: str, *more: str, known: bool = True) -> str:
        """The text of an artefact, which this line of work has read now, with what was kept next to it."""
        context, path = self.context, self._path(name)
        context.versions[path] = digest(text, *more), known
        has_read(context, path, context.versions[path][0], known=known)
        return text

    async def _artefact(
        self,
        name: str,
        make: Make,
        folder: str,
        suffix: str,
        more: More | None,
        *,
        settled: bool = False,
        read: Callable[[str], Any] | None = None,
        reads: Sequence[str] | None = None,
    ) -> tuple[str, bool]:
        """An artefact's text, and whether a dry run knows that it will be this one."""
        context, own, path = self.context, retaken(self, name).scope(name), self._reached(name)
        final = "/".join((*self._place.path[:-1], name)) if self._place.path[-1:] == (DRAFTS,) else ""
        given, source = context.override(path) or ("", "made")
        text = given
        wanted, of_own = context.wanted(path, final)
        blank = Revision(path, read=read, folder=folder, suffix=suffix)
        with own_line(None if reads is None else self._line_of(reads)):
            if source == "continued":
                text, source = await _continued(own, text, more, folder), "made"
                text, source = await _noted(own, of_own, replace(blank, text=text), source)
            elif source == "made":
                text, source = await own._given_or_made(make, Revisions() if settled else wanted, blank, final)  # noqa: SLF001 - a run of this class
            else:
                text, source = await _noted(own, of_own, replace(blank, text=text), source)
            is_own = source != "made" and text == given  # nobody writes the author's own again
            known = is_own or line_of(context).known
        if context.mode == "dry":
            if not known:
                context.dry_run.stale.append(path)
            elif source == "made" and not _alike(text, context.newest(path), suffix):
                context.dry_run.differing.append(path)
            context.told[path] = folder, text
            return text, known
        text = await self._kept(Kept(path, folder, text, source, suffix, settled))
        context.told[path] = folder, text
        return text, True

    def _line_of(self, reads: Sequence[str]) -> WorkLine:
        """A line that has read these artefacts and nothing else."""
        context = self.context
        missing = [path for path in reads if path not in context.versions]
        if missing:
            raise PluginError(f"{self.at or 'The story'} reads {missing[0]!r}, which has not been kept before.")
        versions = [context.versions[path] for path in reads]
        state = digest(*(part for path, (of, _) in zip(reads, versions, strict=True) for part in (path, of)))
        return WorkLine(context, state, all(known for _, known in versions))

    async def _given_or_made(self, make: Make, wanted: Revisions, blank: Revision, final: str) -> tuple[str, str]:
        """The text that was made of what this line has read, if there is one, or what is made of it; and its source."""
        context, line, path = self.context, line_of(self.context), blank.path
        of = None
        if context.inputs is not None:
            decided = (context.decided(path), context.decided(final) if final else "")
            of = digest(context.inputs, line.state, *decided, str(self._place.take))
        before = context.journal.artefacts.made(path, of) if of is not None and line.known else None
        if before is None and of is not None and not line.known and not wanted.steps and context.as_before:
            before = context.journal.artefacts.made(path)
        if before is not None:
            self._taken(before, stale=not line.known)
            return before.text, before.source
        with framed() as frame:
            text, source = await _made(self, make, wanted, blank)
        if context.mode == "live" and of is not None and frame.whole:
            found = (tuple(frame.shortfalls), tuple(frame.notices), dict(frame.lengths))
            context.journal.artefacts.record_made(path, of, MadeArtefact(text, source, tuple(frame.calls), *found))
        return text, source

    def _taken(self, made: MadeArtefact, *, stale: bool) -> None:
        """Take over what was found when a text was made; where it must be made again, plan its calls at most."""
        context = self.context
        calls = context.journal.calls.payments(made.calls)
        if context.mode == "live":
            for call in calls:
                context.emit(CallFinished(call.path, call.role, call.performer, call.usage, replayed=True))
        elif stale:
            for call in calls:
                self._plan(call.path, call.role, replace(call.usage, cached=0))
        else:
            context.dry_run.replayed += len(calls)
        context.shortfalls += made.shortfalls
        context.lengths |= made.lengths
        for notice in made.notices:
            self.note(notice, "notice")

    async def given(self, name: str, *, folder: str, suffix: str = "md") -> str | None:
        """The author's own text of the artefact `name` (edited, pinned or supplied as a file), or `None`."""
        path = self._reached(name)
        override = self.context.override(path)
        if override is None or override[1] == "continued":
            has_read(self.context, path, "not given")
            return None
        own, (_, wanted) = retaken(self, name).scope(name), self.context.wanted(path)
        with own_line():
            revision = Revision(path, override[0], folder=folder, suffix=suffix)
            text, source = await _noted(own, wanted, revision, override[1])
            known = line_of(self.context).known
        if self.context.mode != "dry":
            text = await self._kept(Kept(path, folder, text, source, suffix))
        self.context.told[path] = folder, text
        return self._seen(name, text, known=known)

    async def _kept(self, kept: Kept) -> str:
        """Record, write and announce an artefact's text; what a person made of it where approval is wanted."""
        context, path, text = self.context, kept.path, kept.text
        if context.mode == "live":
            context.journal.artefacts.keep(path, text, kept.source)
        self._announce(kept)
        if kept.waits and context.approve and not context.journal.decisions.approved(path, text):
            approved = await context.approve(kept)
            if approved != text:
                context.journal.decisions.add(path, "edit", approved)
                context.journal.artefacts.keep(path, approved, "edited")
                self._announce(replace(kept, text=approved, source="edited"))
                return approved
            context.journal.decisions.add(path, "approve", text)
        return text

    def _announce(self, kept: Kept) -> None:
        if self.context.on_kept is not None:
            self.context.on_kept(kept)
        self.context.emit(kept)

    # asking ---------------------------------------------------------------------------------------------------------

    async def ask(
        self,
        role: str,
        prompt: str,
        /,
        *,
        sampling: Sampling | None = None,
        expect: int | str | None = None,
        **fields: object,
    ) -> str:
        """The text of a role's reply to a prompt, from one call, or from none if the reply is recorded.

        Args:
            role: the role that replies.
            prompt: the name of the prompt file.
            sampling: the system's sampling values; the cast's values for the role override them.
            expect: the usual number of words in the reply, or its form (`#1. {5}` means 5 words). This is used only for
                estimates, and only if neither the field `words` nor the prompt file specifies it
                (`SystemPrompts.usual`).
            **fields: the values of the prompt's fields.

        Raises:
            ModelError: the model did not answer.
            BudgetError: the call might exceed the cap.
        """
        return (await self.reply(role, prompt, sampling=sampling, expect=expect, **fields)).text

    async def reply(
        self,
        role: str,
        prompt: str,
        said: Sequence[Message] = (),
        /,
        *,
        sampling: Sampling | None = None,
        expect: int | str | None = None,
        **fields: object,
    ) -> Reply:
        """The reply whose text `ask` would return, with its usage and its finish reason.

        The messages in `said` are inserted between the prompt and its last message (its block `closing`).
        """
        request = self._request(role, prompt, sampling, fields, said=said, opening=True)
        last = request.messages[-1]
        opening = last.content if last.role == "assistant" else ""
        reply = await self._answer(request, self._sketch(prompt, fields, expect))
        # A model goes on from the opening; a person writes the whole text.
        return replace(reply, text=f"{opening}{reply.text}") if opening and not is_person(reply.model) else reply

    def render(self, prompt: str, /, **fields: object) -> str:
        """The text of a prompt without its opening, for finding echoes of the prompt in a reply; no model is called."""
        messages = self._messages(prompt, fields)
        return "\n\n".join(message.content for message in messages if message.role != "assistant")

    async def sample(
        self,
        n: int,
        role: str,
        prompt: str,
        /,
        *,
        sampling: Sampling | None = None,
        **fields: object,
    ) -> tuple[str, ...]:
        """`n` independent replies to the same prompt, from `n` parallel calls."""
        request = self._request(role, prompt, sampling, fields)
        like = _like(request)
        numbers = [self._ordinal(request, like) for _ in range(n)]
        sketch = self._sketch(prompt, fields, None)
        made = await side_by_side(self._answer(request, sketch, ordinal) for ordinal in numbers)
        return tuple(reply.text for reply in made)

    async def ask_for(
        self,
        shape: type[T],
        role: str,
        prompt: str,
        /,
        *,
        sampling: Sampling | None = None,
        **fields: object,
    ) -> T:
        """A reply of type `shape` (pydantic model, dataclass or any annotated type), repaired at most `repairs` times.

        This method uses the engine's JSON-schema mode if it has one, and otherwise asks for JSON in the prompt. For
        estimates, the prompt file describes the usual reply (`SystemPrompts.expected`).

        Raises:
            ReplyError: no reply could be read; the run can be resumed.
        """
        schema = replies.schema_of(shape, short=self.room(role).aids)
        run = self.tries(prompt)
        request = run._request(role, prompt, sampling, fields)  # noqa: SLF001 - a run as this one
        if self._assignment(role).performer.capabilities.schema:
            request = replace(request, schema=schema)
        else:
            asked = f"{request.messages[-1].content}\n\n{json_instruction(schema)}"
            request = replace(request, messages=(*request.messages[:-1], Message("user", asked)))
        known = self.context.prompts.expected(prompt, fields)
        return await run._read(  # noqa: SLF001 - a run as this one
            request,
            partial(replies.read_json, type_=shape),
            lambda words: json.dumps(usual(schema, request.path, known, words)),
        )

    async def choose(
        self, options: Sequence[str], role: str, prompt: str, /, *, sampling: Sampling | None = None, **fields: object
    ) -> str:
        """The element of `options` that the role chose; replies are repaired as in `ask_for`.

        Raises:
            ReplyError: none of the replies named exactly one option.
        """
        read = partial(replies.read_choice, options=options)
        run = self.tries(prompt)
        request = run._request(role, prompt, sampling, fields)  # noqa: SLF001 - a run as this one
        if self._assignment(role).performer.capabilities.choices:
            request = replace(request, choices=tuple(options))
        return await run._read(request, read, lambda _: options[0])  # noqa: SLF001 - a run as this one

    async def weigh(
        self, options: Sequence[str], role: str, prompt: str, /, *, sampling: Sampling | None = None, **fields: object
    ) -> Reply:
        """A reply whose `logprobs` contain the probabilities of its first token, if the engine provides them."""
        request = self._request(role, prompt, sampling, fields)
        able = self._assignment(role).performer.capabilities.choices
        request = replace(request, logprobs=_LIKELIEST, choices=tuple(options) if able else ())
        return await self._answer(request, Sketch(made=lambda _: options[0], weighed=True))

    async def _read(self, request: Request, read: Callable[[str], T], made: Callable[[Words], str]) -> T:
        """Ask, read, and send back what could not be read, at most `repairs` times."""
        planned = self.context.dry_run.planned
        for attempt in range(self.context.repairs + 1):
            before = len(planned)
            reply = await self._answer(request, Sketch(made=made))
            try:
                return read(reply.text)
            except replies.ReplyProblem as unreadable:
                reason = str(unreadable)
            if len(planned) > before:  # an old reply that stands in for one that will be asked for
                try:
                    return read(made(round))
                except replies.ReplyProblem as unreadable:  # what is made up does not fit what only the type knows
                    reason = str(unreadable)
                    break
            self.context.emit(Repaired(request.path, attempt + 1, reason))
            asked = (Message("assistant", reply.text), Message("user", replies.repair_instruction(reason)))
            request = replace(request, messages=(*request.messages, *asked))
        problem = (
            f"The reply of role {request.role!r} at {request.path} could not be read after {self.context.repairs} "
            f"repairs: {reason}"
        )
        raise self.exhausted(request.path.rpartition("/")[2], problem, request.role, reply.text)

    # one call -------------------------------------------------------------------------------------------------------

    def _plan(self, path: str, role: str, usage: Usage) -> None:
        """Plan a call in a dry run."""
        performer, planned = self._assignment(role).performer, self.context.dry_run.planned
        price = price_of(performer.name, self.context.prices)
        paid = None if price is None else cost(price, replace(usage, cached=0))
        planned.append(
            PlannedCall(
                announced_as(path), role, performer.identity, usage.prompt, usage.reply, paid, self.room(role).aids
            )
        )

    def _request(
        self,
        role: str,
        prompt: str,
        sampling: Sampling | None,
        fields: Mapping[str, Any],
        *,
        said: Sequence[Message] = (),
        opening: bool = False,
    ) -> Request:
        """The call as it goes out; a prompt's `opening` is for free text from models that can continue it."""
        part, room = self._assignment(role), self.room(role)
        aids, messages = room.aids, self._messages(prompt, fields, said, room)
        if messages[-1].role == "assistant" and not (opening and aids and part.begins_with_words):
            messages = messages[:-1]
        drawing = drawn(part.sampling, sampling or _UNSET, part.base)
        if (making := making_now()) is not None and making.wishes:
            messages = _with_remark(messages, "\n".join([WISHES, *(f"- {wish}" for wish in making.wishes)]))
        if self._place.draw:
            messages = messages if aids else _with_remark(messages, self._place.remark)
            usual = _USUAL_TEMPERATURE if drawing.temperature is None else drawing.temperature
            drawing = replace(drawing, temperature=max(usual, min(usual + _WARMER * self._place.draw, _WARMEST)))
        return Request(
            messages=messages,
            sampling=drawing,
            adapter=part.adapter,
            role=role,
            path="/".join((*self._place.path, prompt)),
            words=_asked_words(fields.get("words")),
            has=fields.get("has", 0),
            fields=fields,
        )

    def _messages(
        self, prompt: str, fields: Mapping[str, Any], said: Sequence[Message] = (), room: Room | None = None
    ) -> tuple[Message, ...]:
        """A prompt, which also says in what language to answer and how lengths are counted, if that is not English.

        The author's style sheet is in the prompts of calls that write prose, and so is what the codex has for them. It
        differs from scene to scene and so comes last, but not for a small model, which would continue it.
        """
        tag, lines = self.context.language, []
        if tag:
            lines.append(_ANSWER.format(name_of(tag)) + (_CHARACTERS if counts_characters(tag) else ""))
        if counts_characters(tag):
            fields = {
                name: replace(it, unit="characters") if hasattr(it, "unit") else it for name, it in fields.items()
            }
        if self._place.in_voice and self.context.voice:
            lines.append(_VOICE.format(self.context.voice))
        first, *rest = rendered = self.context.prompts.render(prompt, fields, said)
        known, aids = "", room is not None and room.aids
        if self._place.in_voice and (codex := self.context.codex) is not None:
            most = min(_CODEX, room.prompt_tokens(_SHORT_CODEX, _CODEX_SHARE)) if room else _CODEX
            known = codex(self.at, "\n\n".join(one.content for one in rendered), self.context.told, most)
        lines += [known] if known and aids else []
        messages = (replace(first, content="\n\n".join([first.content, *lines])), *rest)
        return _with_remark(messages, known) if known and not aids else messages

    def _sketch(self, prompt: str, fields: Mapping[str, Any], expect: int | str | None) -> Sketch:
        """What a free text probably looks like."""
        return sketch_of(self.context.prompts.usual(prompt), fields, expect)

    def _assignment(self, role: str) -> Assignment:
        return self.context.cast.assignment(role)

    def _number(self, *names: object) -> int:
        """A 31-bit number that is fixed by the run's seed, this path, the take, and `names`."""
        take = self._place.take + self._place.given_up
        seeded_by = "/".join(str(name) for name in (self.context.seed, self.at, take, *names))
        return int.from_bytes(sha256(seeded_by.encode()).digest()[:4]) >> 1

    def _ordinal(self, request: Request, like: str) -> int:
        """How many identical requests were made at this path before; counted before dispatch, so order is fixed."""
        counted = (request.path, like)
        self.context.ordinals[counted] += 1
        return self.context.ordinals[counted] - 1

    async def _answer(
        self,
        request: Request,
        sketch: Sketch,
        ordinal: int | None = None,
    ) -> Reply:
        """The recorded reply, or a new one that is recorded before it is used."""
        like = _like(request)
        ordinal = self._ordinal(request, like) if ordinal is None else ordinal
        drawing = request.sampling
        if drawing.seed is None:
            drawing = replace(drawing, seed=self._number(request.path, ordinal))
        request = replace(request, sampling=drawing, ordinal=ordinal)
        key = self._key(request, ordinal)
        if self._place.without:
            await self._see_room(request, key, sketch)
        has_read(self.context, key)
        if (frame := frame_now()) is not None:
            frame.calls.append(key)
        recorded, making = self.context.journal.calls.reply(key), making_now()
        reply = None
        if making is not None and making.wanted.fits and (recorded is None or not line_of(self.context).known):
            reply = making.stand_in(request, ordinal, self.context.journal)
            if making.fitting is not None:
                reply = reply or self._made_up(request, prompt_tokens(request), sketch)
        if reply is None:
            reply = await self._recorded_or_asked(request, key, recorded, ordinal, sketch)
        if making is not None and making.wanted.steps:
            making.heard.append((request, reply))
        return reply

    def _key(self, request: Request, ordinal: int) -> str:
        """The key of a call; where it was answered when the model was named by its address, the key from then."""
        identity, take = self._assignment(request.role).performer.identity, self._place.take + self._place.given_up
        key, journal = call_key(request, identity, ordinal, take), self.context.journal
        if (by_address := identity_by_address(identity)) and journal.calls.reply(key) is None:
            other = call_key(request, by_address, ordinal, take)
            return key if journal.calls.reply(other) is None else other
        return key

    async def _recorded_or_asked(
        self,
        request: Request,
        key: str,
        recorded: Reply | None,
        ordinal: int,
        sketch: Sketch,
    ) -> Reply:
        context, performer = self.context, self._assignment(request.role).performer
        if context.mode == "dry":
            return self._dry(request, recorded, ordinal, sketch)
        if recorded is not None:
            context.emit(CallFinished(request.path, request.role, recorded.model, recorded.usage, replayed=True))
            return replace(recorded, text=readable(recorded.text))
        if context.mode == "frozen":
            if not len(context.journal.calls):
                raise JournalMissError(
                    "Nothing has been recorded here yet, and --frozen only replays recorded replies. Run without "
                    "--frozen."
                )
            raise JournalMissError(
                f"The journal holds no reply for {request.path} (role {request.role!r}, {performer.identity}, ordinal "
                f"{ordinal}): prompt, model or sampling differ from the recorded run. Run without --frozen to ask."
            )
        if context.announced is not None:
            await context.announced.allow(announced_as(request.path), context.budget.spent_usd)
        expected, likely = self._expected(request, sketch)
        reply = await self._ask_model(request, key, likely)
        try:
            await context.journal.calls.recorded(key, request, ordinal, reply, expected=expected)
        except asyncio.CancelledError:  # a call beside it failed while the disk was waited for: this one is recorded
            context.emit(CallFinished(request.path, request.role, reply.model, reply.usage, replayed=False))
            raise
        context.lengths_given.add(performer.identity, request.path, expected, reply.usage)
        context.emit(CallFinished(request.path, request.role, reply.model, reply.usage, replayed=False))
        return reply

    def _expected(self, request: Request, sketch: Sketch) -> tuple[int, int]:
        """Tokens that a reply should have by what was asked, and by what this model gives of that."""
        most, performer = self._most_written(request, prompt_tokens(request)), self._assignment(request.role).performer
        expected = sketch.tokens(request.path, most)
        share = self.context.lengths_given.share(performer.identity, request.path)
        return expected, max(min(round(expected * (share or 1.0)), most), 1)

    async def _see_room(self, request: Request, key: str, sketch: Sketch) -> None:
        """Leave out a call that can be left out where the caps have no room for it beside what the rest needs.

        Raises:
            NoRoomError: it is left out, now or when this was recorded.
        """
        context, journal, model = self.context, self.context.journal, self._assignment(request.role).performer
        at = f"{request.path}#{key}"
        known, costs = journal.calls.reply(key) is not None, not isinstance(model, Person | Program)
        bare = context.dry_run.bare and self._place.part >= 1
        left_out = journal.calls.given_up(at) > 0 or (bare and not known)
        is_capped = context.mode == "live" and context.budget.capped and context.rehearse is not None
        if is_capped and costs and not (known or left_out):
            usage = Usage(prompt_tokens(request), 0, self._expected(request, sketch)[1])
            price = price_of(model.name, context.prices)
            usage = replace(usage, cost=None if price is None else cost(price, usage))
            left_out = not await context.rest.allows(context, usage, self._place.part)
            if left_out:
                journal.calls.give_up(at)
        if left_out:
            said = f"To keep within the budget, {self._place.without}."
            if said not in context.shortfalls:
                self.note(said, "shortfall")
            raise NoRoomError(said)

    async def _ask_model(self, request: Request, key: str, expected: int) -> Reply:
        """Ask whoever answers: a person where one stands in and does not hand back, else the model.

        A refusal is asked again with the next seed, and all tries are on the bill.
        """
        context, performer = self.context, self._assignment(request.role).performer
        listening: OnText | None = None
        if context.listeners:
            listening = lambda text: context.emit(TextArrived(request.path, readable(text)))  # noqa: E731 - a one-line adapter
        started = CallStarted(request.path, request.role, performer.identity, request.sampling.max_tokens)
        model = performer
        if isinstance(performer, Person):
            context.emit(started)
            said = await performer.says(request, listening)
            if said is not None:
                return self._bounded(replace(said, text=readable(said.text)), request)
            model = performer.model or performer
        priced = isinstance(model, Program) or price_of(model.name, context.prices) is not None
        for attempt in range(REFUSAL_TRIES):
            tried = request
            if attempt:
                seed = (request.sampling.seed or 0) + attempt
                tried = replace(request, sampling=replace(request.sampling, seed=seed))
            context.emit(replace(started, priced=priced))
            reply = await self._paid(model, tried, listening, key, expected)
            if reply.finish != "refusal" and not replies.is_refusal(reply.text):
                return self._bounded(replace(reply, text=readable(reply.text), model=model.identity), request)
            self._lose(key, request, model, reply.usage)
            self.note(f"{model.identity} declined at {request.path}; asked again with another seed.")
        raise RefusalError(
            f"{model.identity} declined {REFUSAL_TRIES} times to answer as {request.role!r} at {request.path}. "
            "Change the brief or give this role another model.",
            model=model.name,
        )

    async def _paid(self, model: Model, request: Request, listening: OnText | None, key: str, expected: int) -> Reply:
        """A model's reply within the budget, with what it took; a program costs nothing."""
        if isinstance(model, Program):
            return await model.ask(request, listening)
        context, budget = self.context, self.context.budget
        price = price_of(model.name, context.prices)
        tries = Tries(request, model, expected, budget, price, listening)

        async def begin() -> None:
            await tries.begin()
            if price != FREE:
                self._book(key, request, tries)

        def paid_in_vain(usage: Usage | None) -> None:
            if usage is not None:
                lost = replace(usage, cost=paid(usage, price, own=False))
                tries.settle(lost)
                self._lose(key, request, model, lost)
            elif price != FREE:
                context.journal.calls.settle(key, request, tries.model.identity)

        async def pay_and_begin_again(failure: ModelError) -> None:
            paid_in_vain(tries.lost(failure))
            tries.release()
            await begin()

        await begin()
        marks = PAYS.set(pay_and_begin_again), SENT.set(tries.sent), THOUGHT.set(tries.thought)
        story = STORY.set(context.journal)
        try:
            reply = await model.ask(request, tries.on_text)
        except (ModelError, BudgetError, asyncio.CancelledError) as error:
            paid_in_vain(tries.lost(error))
            raise
        finally:
            PAYS.reset(marks[0])
            SENT.reset(marks[1])
            THOUGHT.reset(marks[2])
            STORY.reset(story)
            tries.release()
        usage, claimed = counted(request, reply, model)
        usage = replace(usage, cost=paid(usage, price, own=not is_overridden(model.name, context.prices)))
        if claimed:
            self._distrust(model, usage, claimed, price)
        tries.settle(usage)
        return replace(reply, usage=usage)

    def _book(self, key: str, request: Request, tries: Tries) -> None:
        """Note in the journal what a try may take; what cannot be noted holds nothing of the budget."""
        usage = Usage(tries.prompt, 0, tries.reply, cost=None, estimated=tries.prompt + tries.reply)
        try:
            self.context.journal.calls.hold(key, request, tries.model.identity, usage)
        except BaseException:
            tries.release()  # others would wait for it for ever
            raise

    def _distrust(self, model: Model, usage: Usage, claimed: int, price: Price | None) -> None:
        """Say, once of a model, that its server counts far more than there was."""
        context = self.context
        if model.name in context.distrusted:
            return
        context.distrusted.add(model.name)
        said = (
            f"{model.name} claims {claimed:,} tokens for a call of about {usage.prompt + usage.reply:,}. That is "
            "impossible, so fabula books its own count. Check what the provider charges."
        )
        self.note(said)
        context.budget.claim(said, claimed, None if price is None else cost(price, Usage(reply=claimed)))

    def _lose(self, key: str, request: Request, model: Model, usage: Usage) -> None:
        """Record what was paid for a call that came to nothing."""
        self.context.journal.calls.settle(key, request, model.identity, usage)
        self.context.emit(CallLost(request.path, request.role, model.identity, usage))

    def _bounded(self, reply: Reply, request: Request) -> Reply:
        """A reply without marks of ours and endless blanks, and no longer than it can be meant to be.

        A person's is as long as they like. What is taken out is recorded.
        """
        text = without_marks(reply.text)
        if text != reply.text:
            kept = set(text.split("\n"))
            self.removed("markup", "\n".join(line for line in reply.text.split("\n") if line not in kept))
            reply = replace(reply, text=text)
        if is_person(reply.model):
            return reply
        text = _BLANKS.sub(lambda run: "\n\n" if "\n" in run[0] else " ", reply.text)
        tokens = request.sampling.max_tokens
        most = _LONG_REPLY
        if tokens is not None:  # a few odd tokens may be long ones, many are not
            most = max(_SHORT_REPLY, min(_CHARACTERS_A_TOKEN * tokens, _LONG_REPLY), _CHARACTERS_OF_MANY * tokens)
        if len(text) <= most:
            return replace(reply, text=text)
        self.removed("size", text[most:])
        return replace(reply, text=text[:most], finish="length")

    def _dry(
        self,
        request: Request,
        recorded: Reply | None,
        ordinal: int,
        sketch: Sketch,
    ) -> Reply:
        """Stand in for a call in a dry run: the recorded reply, or an old or made-up one that counts as asked."""
        context = self.context
        if context.dry_run.on_request is not None:
            context.dry_run.on_request(request)
        if recorded is not None and line_of(context).known:
            context.dry_run.replayed += 1
            return recorded
        lose(context)
        prompt = prompt_tokens(request)
        given_up = self._place.given_up  # what was given up is of no use
        last = None if given_up else context.journal.calls.last(request.path, ordinal)
        context.dry_run.guessed |= last is None and sketch.made is not None
        reply = last.reply if last else self._made_up(request, prompt, sketch)
        thought = context.lengths_given.reasoning(self._assignment(request.role).performer.identity)
        tokens = reply.usage.reply or estimate_tokens(reply.text) + thought
        usage = replace(reply.usage, prompt=prompt, cached=0, reply=tokens)
        self._plan(request.path, request.role, usage)
        return reply

    def _made_up(self, request: Request, prompt: int, sketch: Sketch) -> Reply:
        """What stands for a reply that was never asked: of its usual length, and cut where the model would be."""
        dry, performer = self.context.dry_run, self._assignment(request.role).performer.identity
        dry.made_up += 1
        most = int(self._most_written(request, prompt) * _WORDS_PER_TOKEN)
        share = dry.share(self.context.lengths_given.share(performer, request.path), request.path)
        return sketch.reply(request.path, share, most)

    def _most_written(self, request: Request, prompt: int) -> int:
        """Tokens that a reply may well have at most."""
        able = self._assignment(request.role).performer.capabilities
        limits = (
            request.sampling.max_tokens,
            able.reply or (DEFAULT_REPLY_TOKENS if able.small else _LONG_REPLIES),
            able.context and able.context - prompt,
        )
        return max(min(limit for limit in limits if limit), 1)


def in_voice(run: Run) -> Run:
    """A run for calls that write prose; their prompts hold the author's style sheet if there is one."""
    return run._placed(in_voice=True)  # noqa: SLF001 - what a system may touch is few names


def retaken(run: Run, name: str) -> Run:
    """The run with the retakes of the artefact `name` that a person has requested, so that new replies are drawn."""
    return run._placed(take=run._place.take + run.context.takes(run._path(name)))  # noqa: SLF001 - a run of this module


def may_stand_as_made(run: Run, name: str) -> bool:
    """Whether an artefact may keep its generated text; `False` in an estimate if the author wants a revision."""
    path, draft = run.scope(name).at, run.scope(DRAFTS, name).at
    revised = bool(run.context.wanted(path)[0].steps or run.context.wanted(draft, path)[0].steps)
    return run.context.unless_made_up(lambda: True, instead=not revised)


def has_author_text(run: Run, name: str) -> bool:
    """Whether the author has supplied the artefact `name` (if only for continuation), so that it is not generated."""
    path = run.scope(name).at
    found = run.context.override(path) is not None
    has_read(run.context, path, f"stands {found}")
    return found


def was_made(run: Run, name: str, text: str) -> bool:
    """Whether `text` was generated for the artefact `name`, even if the author has pinned it since."""
    path = run.scope(name).at
    found = any(version.made and version.text == text for version in run.context.journal.artefacts.versions(path))
    has_read(run.context, path, f"was made {found}")
    return found


def record_length(run: Run, low: int, high: int) -> None:
    """Record how many words the text written here should have, even if this is a repeated request."""
    place = run.at.partition("/again/")[0]
    run.context.lengths[place] = (low, high)
    if (frame := frame_now()) is not None:
        frame.lengths[place] = (low, high)


def _like(request: Request) -> str:
    """What identical requests at one path have in common, without the seed that sets them apart."""
    same = sha256(repr((request.sampling, request.choices, request.adapter, request.logprobs)).encode())
    same.update(json.dumps([request.schema, [(m.role, len(m.content)) for m in request.messages]]).encode())
    for message in request.messages:  # as they are: long prompts as JSON would take a tenth of a replayed call
        same.update(message.content.encode("utf-8", "surrogatepass"))
    return same.hexdigest()


def _asked_words(words: object) -> tuple[int, int]:
    """The least and the most words that a prompt asks for; zeros where it asks for no number."""
    if isinstance(words, int):
        return words, words
    low, high = getattr(words, "low", 0), getattr(words, "high", 0)
    return (low, high) if isinstance(low, int) and isinstance(high, int) else (0, 0)


def _with_remark(messages: Sequence[Message], remark: str) -> tuple[Message, ...]:
    """Messages with a sentence behind what the user says last."""
    last = max(n for n, message in enumerate(messages) if message.role == "user")
    said = replace(messages[last], content=f"{messages[last].content}\n\n{remark}")
    return (*messages[:last], said, *messages[last + 1 :])


def continuation_of(base: str) -> str:
    """The name of what follows a text, which stands below `more` at the place of its artefact."""
    return sha256(base.encode("utf-8", "replace")).hexdigest()[:8]


async def _continued(run: Run, base: str, more: More | None, folder: str) -> str:
    """`base` and what follows it; `base` names the scope, so that a text continued twice is drawn twice.

    A part of the story that its system cannot continue goes on by `RunContext.go_on`.
    """
    context, path = run.context, run.at
    if path in context.continued:  # a part may be looked at before it is kept
        text, known = context.continued[path]
        if not known:
            lose(context)
        return text
    place = run.scope("more", continuation_of(base))
    if more is not None:
        follows = await more(place, base)
    elif folder == "story" and context.go_on is not None:
        told = {one: text for one, (of, text) in context.told.items() if of == "story" and one != path}
        plan = {one: text for one, (of, text) in context.told.items() if of == "plan"}
        places = context.journal.artefacts.places()
        last = all(places.get(path, "") >= file for file in places.values() if file.startswith("story/"))
        follows = await context.go_on(place, Continuation(path, base, context.writer_of(path), told, plan, last))
    else:
        raise UsageError(
            f"This system cannot continue {path!r}. Take the request back with `fabula undo`, and edit the text by "
            "hand."
        )
    text = f"{base}\n\n{follows}" if follows else base
    context.continued[path] = text, line_of(context).known
    return text


async def _made(own: Run, make: Make, wanted: Revisions, blank: Revision) -> tuple[str, str]:
    """The text that is made, or an old one fitted to what has changed, with the author's notes; and its source."""
    with made(own.at, wanted, own.context.open_fits() if wanted.fits else frozenset()) as making:
        text = await make(own)
    if not wanted.steps:
        return text, "made"
    role = making.role or own.context.writer_of(own.at)
    asked = making.main.messages if making.main else ()
    ready, fit = replace(blank, text=text, role=role, asked=asked, earlier=wanted.wishes), making.fitting
    if fit is None or making.missed is None:
        return await _noted(own, wanted, ready, "made")
    place = own._placed(path=tuple(making.place(fit, making.missed).split("/")))  # noqa: SLF001 - a run of this module
    step = wanted.steps.index(fit)
    ready, later = replace(ready, earlier=Revisions(wanted.wishes, wanted.steps[:step]).notes), wanted.steps[step + 1 :]
    text = await _revised(
        place, replace(ready, text=fit.text or "", before=making.before, after=making.missed.messages)
    )
    return (await _noted(own, Revisions((), later), replace(ready, text=text), "made"))[0], "revised"


async def _noted(own: Run, wanted: Revisions, revision: Revision, source: str) -> tuple[str, str]:
    """A text with the author's notes, one after the other, and its source."""
    context, notes = own.context, [step.text or "" for step in wanted.steps if step.kind == "revise"]
    if source == "pinned" or not notes:
        return revision.text, source
    if source == "made":
        return await _with_notes(own, notes, revision), "revised"
    if own.at not in context.noted:  # a text of the author's may be looked at before it is kept
        with own_line():
            context.noted[own.at] = await _with_notes(own, notes, revision), line_of(context).known
    text, known = context.noted[own.at]
    if not known:
        lose(context)
    return text, f"{source}, revised"


async def _with_notes(own: Run, notes: Sequence[str], revision: Revision) -> str:
    revision, text = replace(revision, role=revision.role or own.context.writer_of(own.at)), revision.text
    for n, note in enumerate(notes, 1):
        earlier = (*revision.earlier, *notes[: n - 1])
        text = await _revised(own.scope("note", n), replace(revision, note=note, earlier=earlier, text=text))
    return text


async def _revised(place: Run, revision: Revision) -> str:
    """The revised text of a revision; one call, more where it is long or its reply is none."""
    if place.context.revise is None:
        raise UsageError(f"This run cannot revise texts. Take the note on {place.at!r} back with `fabula undo`.")
    with made(place.at, Revisions()):
        return await place.context.revise(place, revision)


def _alike(text: str, before: str | None, suffix: str) -> bool:
    """Whether a text that was there before says the same; the comments that fabula puts into YAML say nothing."""
    if before is None or text == before:
        return True
    lines = ([line for line in one.splitlines() if not line.startswith("#")] for one in (text, before))
    return suffix == "yaml" and next(lines) == next(lines)
