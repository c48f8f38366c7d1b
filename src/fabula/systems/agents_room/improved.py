"""Ours: the room as we would use it. The length asked is the length got, in chapters where the story is long.

It is Algorithm 1 with the paper's agents and orchestrators, and prompts of our own (`prompts/improved`). Each part has
its share of the words; what stands around a reply goes; the finalizer reads the whole once at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ReplyError, UsageError
from fabula.craft.chapters import Book, ChapterPart, chapters_wanted, outline
from fabula.craft.drafts import Draft, keep_draft
from fabula.craft.final_reading import final_reading
from fabula.craft.length import WordRange, asked_range
from fabula.craft.planning import given_plan
from fabula.craft.prose import Prose, write_notes, write_prose
from fabula.craft.settings import unsupported_by
from fabula.story import Brief, Story, count_words
from fabula.story.scratchpad import Scratchpad
from fabula.systems.agents_room.algorithm import (
    FINALIZER,
    PLANNING,
    WRITING,
    Agent,
    agents_of,
    ends_the_story,
    orchestrator_of,
)
from fabula.systems.agents_room.config import Config, Ours
from fabula.systems.agents_room.given import with_given_notes

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story.plan import Plan


DUTIES: Final = {
    "Exposition": "draws the reader into the story: somebody wants something, and something is wrong",
    "Rising Action": "makes it harder: what is wanted comes nearer or slips away, and the reader begins to care",
    "Climax": "is the turn to which everything so far has led",
    "Falling Action": "shows what the turn has changed",
    "Resolution": "answers what the beginning has asked",
}
LABELS: Final = ("Creative Writing Task", "Content Plan", *(a.label for a in (*PLANNING, *WRITING, FINALIZER)))
"""What a model may put above its text, having seen it in the scratchpad."""
SHORT_NOTE: Final = 160  # tokens of a small model's note
_LEAST_PLANNED, _MOST_PLANNED = 500, 4500  # words of stories in proportion to which notes are long
_LONGER: Final = {"character": 1.5, "plot": 2.5}  # times as long as other notes
_FEWEST: Final = 3  # parts of the arc that an author's scenes must name, so that they are the room's parts


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The story of a writing task, in parts or in chapters; each agent's text is an artefact.

    Raises:
        UnknownNameError: the variant, the orchestrator, or the agent that an orchestrator names is unknown.
        ReplyError: an agent gives nothing of use.
        UsageError: the setting `shares` or `words` cannot be read.
    """
    plan = await given_plan(run)
    room = RoomContext(brief, config, _with_scenes(agents_of(config.paper.variant), plan))
    o = orchestrator_of(config.paper.orchestrator, run)
    s, y = await with_given_notes(plan, Scratchpad.of(brief), run), Story.of(brief)
    drafts, book, calls = list[Draft](), None, Counter[Agent]()
    for _ in range(config.paper.max_steps):
        a = await o(s, room.agents)
        if a is None:
            break
        calls[a] += 1
        name, label = a.named(calls[a])
        if a.kind == "planning":
            s = s.add(a.label, await run.keep(name, room.note(a, s), folder=a.folder), a.kind)
        elif book := book or await room.chapters(s, run):
            s = s.add(a.label, await book.write(run, a.role, a.label if a in WRITING else None), a.kind)
        else:
            drafts.append(await room.drafted(run, name, room.part(a, s)))
            s, y = s.add(a.label, drafts[-1].text, a.kind), y.add(label, drafts[-1].text)
    if book is not None:
        return await book.finished(run, FINALIZER.role, y)
    return y.with_texts(await room.read(run, s, drafts)) if drafts and room.is_read(run) else y


def _with_scenes(agents: tuple[Agent, ...], plan: Plan | None) -> tuple[Agent, ...]:
    """The agents without the writers of parts for which an author's plan has no scene."""
    told = {scene.element.title() for scene in plan.scenes} if plan else set[str]()
    return tuple(a for a in agents if len(told) < _FEWEST or a not in WRITING or a.label in told)


@dataclass(frozen=True)
class RoomContext:
    """What all agents of a story have in common: the task, its length, and who takes part."""

    brief: Brief
    config: Config
    agents: tuple[Agent, ...]

    @cached_property
    def ours(self) -> Ours:
        """Our settings."""
        return self.config.ours or Ours()

    @cached_property
    def want(self) -> WordRange | None:
        """The words that the whole story should have, if a length is requested."""
        return asked_range(self.brief, self.ours.words)

    @cached_property
    def writers(self) -> tuple[Agent, ...]:
        """The agents who write parts of the story; nobody where the finalizer writes it whole."""
        return tuple(a for a in self.agents if a in WRITING)

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of the story's words that each part gets, by label.

        Raises:
            UsageError: the setting is not one number above 0 for each part.
        """
        given = self.ours.shares
        if len(given) != len(WRITING) or min(given) <= 0:
            raise UsageError(
                f"shares is one number above 0 for each of the {len(WRITING)} parts. Write 10,30,30,20,10."
            )
        return {a.label: share for a, share in zip(WRITING, given, strict=True)}

    @cached_property
    def parts(self) -> tuple[ChapterPart, ...]:
        """The parts of the story, with about how many words each of them has, or 0."""
        weights = [self.shares[a.label] for a in self.writers]
        words = [share.target for share in self.want.shares(weights)] if self.want else [0] * len(weights)
        return tuple(ChapterPart(a.label, n, DUTIES[a.label]) for a, n in zip(self.writers, words, strict=True))

    def note(self, a: Agent, s: Scratchpad) -> Callable[[Run], Awaitable[str]]:
        """What makes a planning agent's note, as long as the story needs, without chatter around it."""
        low = self._least_of_note(a)
        fields: dict[str, Any] = {
            "scratchpad": s,
            "whole": self.want,
            "note": f"{round(low, -1):.0f} to {round(2 * low, -1):.0f} words" if low else "",
            **({"parts": self.parts} if a.prompt == "plot" else {}),
        }

        async def make(run: Run) -> str:
            limit = self.config.paper.max_tokens or run.room(a.role).reply_tokens(SHORT_NOTE)
            before, usual = [entry.text for entry in s.entries], round(1.65 * low) or a.words
            try:
                return await write_notes(
                    run, a.role, a.prompt, labels=LABELS, usual=usual, max_tokens=limit, before=before, fields=fields
                )
            except ReplyError as error:
                if not count_words(error.reply):
                    raise
                run.note(f"{error} The last reply is used.")
                return error.reply

        return make

    def _least_of_note(self, a: Agent) -> float:
        """The least words of a note, in proportion to the story's; 0 where its length is left to the agent."""
        if self.want is None:
            return 0.0
        return _LONGER.get(a.prompt, 1.0) * min(max(self.want.target, _LEAST_PLANNED), _MOST_PLANNED) / 9

    def part(self, a: Agent, s: Scratchpad) -> Callable[[Run], Awaitable[str]]:
        """What makes a part of the story, or all of it, of the length that it should have."""
        told = s.of_kind("writing")
        names = [entry.label for entry in told]
        place = {"duty": DUTIES[a.label], "number": len(told) + 1, "told": names} if a in WRITING else {}
        last, previous = ends_the_story(a, self.agents), told[-1].text if told else ""
        fields = {"scratchpad": s, "brief": self.brief.titled, "section": a.label, "last": last, **place}

        async def make(run: Run) -> str:
            want = self._words(a, s, cut=run.room(a.role).aids)
            prose = Prose(last, want, LABELS, a.words, previous, earlier=[entry.text for entry in told])
            before = [entry.text for entry in s.entries]
            limit = self.config.paper.max_tokens or None
            return await write_prose(run, a.role, a.prompt, prose, limit, before=before, fields=fields)

        return make

    def _words(self, a: Agent, s: Scratchpad, *, cut: bool) -> WordRange | None:
        """The words that a part should have: its share, and what the parts before have left of theirs."""
        if self.want is None or a not in WRITING:
            return self.want
        told = s.of_kind("writing")
        left = [one for one in self.writers if one != a and not s.has(one.label)]
        before, after = ([self.shares[one.label] for one in some] for some in (told, (a, *left)))
        return self.want.of_sections(after, [count_words(one.text) for one in told], before=before, cut=cut)

    async def chapters(self, s: Scratchpad, run: Run) -> Book | None:
        """The chapters of a long story, each in one of its parts; `None` for a story that has none."""
        writer = next(a for a in self.agents if a.kind == "writing")
        wanted = chapters_wanted(run, writer.role, self.brief, self.want, self.ours.words, self.parts)
        if wanted is None:
            return None
        plan = [(entry.label, entry.text) for entry in s.entries[1:]]
        found = await outline(run, "plot", self.brief.titled, wanted, self.want, plan=plan, parts=self.parts)
        limit, at_end = self.config.paper.max_tokens or None, self.is_read(run)
        title = self.brief.titled
        return Book(title, found, self.want, plan, DUTIES, read_at_end=at_end, wanted=wanted, limit=limit)

    def is_read(self, run: Run) -> bool:
        """Whether the finalizer reads the whole at the end."""
        return self.ours.final_reading and not unsupported_by(run, "final_reading", FINALIZER.role)

    async def drafted(self, run: Run, name: str, make: Callable[[Run], Awaitable[str]]) -> Draft:
        """A part as it was written, which may change when the whole is read."""
        if self.is_read(run):
            return await keep_draft(run, name, make)
        return Draft(name, await run.keep(name, make, folder="story"))

    async def read(self, run: Run, s: Scratchpad, drafts: list[Draft]) -> list[str]:
        """The parts with the small edits of the finalizer, who reads the whole against brief, plan and itself."""
        plan = Scratchpad(s.of_kind("planning")).render()
        return await final_reading(run, FINALIZER.role, drafts, brief=self.brief.titled, plan=plan, want=self.want)
