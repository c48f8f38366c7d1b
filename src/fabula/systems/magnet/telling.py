"""From steps to a story: paragraphs in chapters, the length that is asked for, and an ending."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from fabula.base.errors import ReplyError
from fabula.craft.length import WordRange, parse_range, read_range
from fabula.craft.packing import paragraphs
from fabula.craft.prose import Prose, write_prose
from fabula.engine.dry_run import STALE
from fabula.engine.replies import clean_prose
from fabula.story import Story, count_words, plain
from fabula.story.world import Moment
from fabula.systems.magnet.checking import Memory
from fabula.systems.magnet.goals import due, follow
from fabula.systems.magnet.stepping import LABELS, choose, commit, propose

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.magnet.goals import Status
    from fabula.systems.magnet.stepping import Chosen, Play

WORDS_A_PAGE: Final = 400
_CLOSING: Final = 0.05  # share of the words that is left for the ending
_CLOSING_PARAGRAPHS: Final = 2  # and that many paragraphs at least
_LAST: Final = 1.6  # what is left, in paragraphs, from which on one paragraph ends the story
_LITTLE: Final = 40  # words that are too few for an ending, where the story is long enough without
_SLACK: Final = 0.3  # of a paragraph's words
_IDLE: Final = 5  # steps without a paragraph, after which the story cannot go on
_PARAGRAPH_TOKENS: Final = 600
_counted = lru_cache(maxsize=20_000)(count_words)  # the whole story is counted at every step


@dataclass
class Telling:
    """The story so far, and how much of it is left."""

    brief: Brief
    run: Run
    play: Play
    story: Story = field(init=False)
    closing: bool = False
    over: bool = False
    idle: int = 0
    chapters: int = 0
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        """Begin with no chapter."""
        self.story = Story.of(self.brief)
        self.want = self._range()

    def _range(self) -> WordRange:
        config = self.play.config
        if config.pages:
            return WordRange.about(config.pages * WORDS_A_PAGE)
        asked = parse_range(config.words) if config.words else read_range(self.brief.text)
        return asked or WordRange.about(config.usual_words)

    # length ---------------------------------------------------------------------------------------------------------

    @property
    def words(self) -> int:
        """Words told so far."""
        return sum(map(_counted, self.play.told))

    @property
    def left(self) -> int:
        """Words until the target."""
        return self.want.target - self.words

    @property
    def goes_on(self) -> bool:
        """Whether there is another step."""
        config, play = self.play.config, self.play
        if self.over or (config.max_steps and play.t >= config.max_steps):
            return False
        if not config.length_control:
            return self.left > 0
        return self.words < self.want.low or self.left > _LITTLE

    def _paragraph(self) -> tuple[WordRange | None, bool]:
        """The words of the next paragraph, and whether it ends the story."""
        config = self.play.config
        if not config.length_control:
            return None, False
        if self.left <= config.paragraph_words * _LAST or (config.max_steps and self.play.t >= config.max_steps):
            return self.want.of_sections([1.0], [self.words]), True
        words = config.paragraph_words
        slack = int(words * _SLACK)
        return WordRange(words - slack, words + slack, words, exact=False), False

    # chapters -------------------------------------------------------------------------------------------------------

    async def chapter(self) -> None:
        """Steps until a goal ends after a chapter's words; kept as one text, which a person can edit.

        Where the text is a person's, its steps are gone through all the same, since they change the world.
        """
        self.chapters += 1
        name = f"chapter-{self.chapters}"
        begin, done = len(self.play.told), False

        async def make(own: Run) -> str:
            nonlocal done
            done = True
            await self._steps(own, begin)
            return "\n\n".join(self.play.told[begin:])

        text = await self.run.keep(name, make, folder="story")
        if not done:
            await self._steps(self.run.within(name), begin)
        await self.play.records.keep(self.run, self.chapters, self.play.world)
        if plain(text.replace(STALE, "")):
            self.play.told[begin:] = paragraphs(text)
            self.story = self.story.add(f"Chapter {self.chapters}", text)

    async def _steps(self, run: Run, begin: int) -> None:
        config = self.play.config
        while self.goes_on:
            ended = await self._step(run, begin)
            written = sum(map(count_words, self.play.told[begin:]))
            if config.chapter_words and ended and written >= config.chapter_words:
                return

    async def _step(self, run: Run, begin: int) -> bool:
        """One step of Algorithm 1; whether a goal ended with it."""
        play, before = self.play, len(self.play.told)
        play.t += 1
        here = run.scope("step", play.t)
        want, last = self._paragraph()
        reached = False
        if proposals := await propose(play, here):
            chosen = await choose(play, proposals, here)
            await self._tell(here, chosen, want, last=last)
            at = Moment(self.chapters, max(len(play.told) - begin, 1))
            reached = commit(play, proposals, chosen, here, at)
        else:
            play.records.step(play.t, len(play.goals), (), (), None)
        play.records.steps[-1]["paragraphs"] = play.told[before:]
        self.idle = 0 if proposals else self.idle + 1
        if self.idle >= _IDLE:
            raise ReplyError(
                f"No character gave an action that can be read in {_IDLE} steps. Give the characters a stronger model "
                "(--model character=...), or run again with another --seed.",
                reply="",
            )
        self.over = last
        return not last and await self._goal(here, reached=reached)

    async def _tell(self, run: Run, chosen: Chosen, want: WordRange | None, *, last: bool) -> None:
        """Line 9: the step's paragraph joins the story."""
        text = chosen.paragraph
        if self.play.config.plain_paragraph:
            text = await self._prose(run, chosen, want, last=last, mend=())
            if self.play.config.check and (mend := self._objections(text)):
                run.note(f"Step {self.play.t} is told again: {' '.join(mend)}")
                self.play.records.counts["mended"] += 1
                again = await self._prose(run.scope("mend"), chosen, want, last=last, mend=mend)
                text = min(text, again, key=lambda one: len(self._objections(one)))
        self.play.told += paragraphs(text)

    def _objections(self, text: str) -> tuple[str, ...]:
        return self.memory.objections(self.play.told, text, self.play.company.names)

    async def _prose(
        self, run: Run, chosen: Chosen, want: WordRange | None, *, last: bool, mend: tuple[str, ...]
    ) -> str:
        play, config = self.play, self.play.config
        fields = {
            "brief": self.brief.text,
            "personas": play.company.personas,
            "chosen": chosen.proposals,
            "world": play.shown(),
            "story": play.recent(config.recent_narrator),
            "last": last,
            "mend": mend,
            **play.fields(),
        }
        previous = play.told[-1] if play.told else ""
        prose = Prose(last, want, (*LABELS, *play.company.names), config.paragraph_words, previous)
        return await write_prose(
            run, "narrator", "tell", prose, _PARAGRAPH_TOKENS, before=play.told[-3:], fields=fields
        )

    # goals ----------------------------------------------------------------------------------------------------------

    async def _goal(self, run: Run, *, reached: bool) -> bool:
        """Lines 19 to 30; near the end the last goal is one that closes the story."""
        play, config = self.play, self.play.config
        ending = max(self.want.target * _CLOSING, config.paragraph_words * _CLOSING_PARAGRAPHS)
        if config.length_control and not self.closing and self.left <= ending:
            self.closing = True
            long = self.want.target > 2 * ending
            if long:  # a short story ends with the goal it has
                await self._follow(run, "ending", reached=reached)
            return long
        status = None if self.closing else due(play.t, play.k, config, reached=reached)
        if status is None:
            play.k += 1
            return False
        await self._follow(run, status, reached=reached)
        return True

    async def _follow(self, run: Run, status: Status, *, reached: bool) -> None:
        told = await follow(self.play, run, status, reached=reached)
        self.play.records.steps[-1]["event"] = {"status": status, "goal": self.play.goal, "paragraph": told}
        if self.play.config.tidy:
            told = clean_prose(told, labels=(*LABELS, *self.play.company.names), last=False, echo=()).text
            if count_words(told) > self.play.config.paragraph_words:
                told = ""
        self.play.told += paragraphs(told)
