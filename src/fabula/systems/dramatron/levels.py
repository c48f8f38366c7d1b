"""The levels above the dialogue: asked, read, kept in the formats that a person may edit, and read again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fabula.base.errors import ReplyError, UsageError
from fabula.craft.planning.naming import names_in
from fabula.models.base import Sampling
from fabula.story import one_line, slug
from fabula.systems.dramatron.examples import example_set, sketch
from fabula.systems.dramatron.generating import PAPER, Answer, Level, Rules, generate
from fabula.systems.dramatron.keeping import Part, keep_side_by_side
from fabula.systems.dramatron.parsing import PARSERS, alike, bounded
from fabula.systems.dramatron.records import (
    END,
    Script,
    beats_text,
    figures_text,
    split_stale,
    without_end,
)
from fabula.systems.dramatron.shapes import USUAL_SCENES, figures_shape, scenes_shape

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pydantic import BaseModel

    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.dramatron.algorithm import Config
    from fabula.systems.dramatron.parsing import Parsed
    from fabula.systems.dramatron.records import Beat, Figure

R = TypeVar("R")

__all__ = ["Script", "characters", "logline_of", "places", "rules_of", "scenes", "title"]


@dataclass(frozen=True)
class _Listing(Generic[R]):
    """A level that lists records.

    Attributes:
        what: it lists, for messages.
        form: how a record is written, for messages.
        read: records out of an answer; the flag tells that it was cut.
        write: records as text.
        key: what two records that are the same have alike.
        bound: a record of a bounded length.
        sketch: records that a dry run takes where nothing was ever asked.
        shape: of a typed reply with some records, where some stand already.
        fewest: records that there should be.
    """

    what: str
    form: str
    read: Callable[[str, bool], Parsed[R]]
    write: Callable[[Sequence[R]], str]
    key: Callable[[R], str]
    bound: Callable[[R], R]
    sketch: tuple[R, ...]
    shape: Callable[[int], type[BaseModel]]
    fewest: int = 1


def rules_of(config: Config) -> Rules:
    """How answers end and are sampled."""
    sampling = PAPER if config.paper_sampling else Sampling()
    return Rules(config.marks, config.cap_unit, config.trust_stop, sampling)


def logline_of(brief: Brief) -> str:
    """Level 0: the brief on one line; a full stop is put behind it only where it holds none anywhere."""
    logline = one_line(brief.text)
    return logline if "." in logline else f"{logline}."


async def title(run: Run, logline: str, config: Config) -> str:
    """Level 1, one call: from the logline. Nothing below depends on it."""
    level = Level("title", "title", "Title:", config.title_tokens, config.title_tokens)
    parser = PARSERS[config.parser]

    def read(answer: Answer) -> str:
        return one_line(parser.title(answer.text + END))

    text = await run.keep("title", _single(level, config, {"logline": logline}, read, "title"), folder="plan")
    return one_line(without_end(split_stale(text)[0]))


async def characters(run: Run, logline: str, config: Config) -> tuple[Figure, ...]:
    """Level 2, one call: from the logline, and not from the title."""
    parser = PARSERS[config.parser]
    name = next(iter(names_in(logline)), "") if config.cue else ""
    cue = f" {name} **Description:** {name} is" if name else ""
    level = Level(
        "characters", "characters", "**Character:**", config.level_tokens, config.max_paragraph, inside=True, cue=cue
    )
    listing = _Listing(
        "character",
        "**Character:** NAME **Description:** ONE SENTENCE",
        lambda answer, cut: parser.figures(answer, cut=cut),
        figures_text,
        lambda figure: figure.name.casefold(),
        lambda figure: replace(figure, description=bounded(figure.description, config.most_words)),
        sketch().figures,
        lambda known: figures_shape(1 if known else 2),
    )
    records, stale = await _listed(run, "characters", level, listing, {"logline": logline}, config)
    return tuple(replace(figure, description=figure.description + stale) for figure in records)


async def scenes(run: Run, logline: str, figures: Sequence[Figure], config: Config) -> tuple[Beat, ...]:
    """Level 3, one call: from the logline and what the characters are."""
    parser = PARSERS[config.parser]
    level = Level("scenes", "scenes", "Place:", config.level_tokens, config.max_paragraph, inside=True)
    listing = _Listing(
        "scene",
        "the three lines Place: WHERE, Plot element: PART OF THE ARC and Beat: WHAT HAPPENS",
        lambda answer, cut: parser.beats(answer, cut=cut),
        beats_text,
        lambda beat: alike(beat.text),
        lambda beat: replace(beat, text=bounded(beat.text, config.most_words)),
        sketch().beats,
        lambda known: scenes_shape(max(config.fewest_scenes - known, 1), USUAL_SCENES),
        config.fewest_scenes,
    )
    told = [figure.told(named=config.told_names) for figure in figures]
    fields = {"logline": logline, "characters": told}
    records, stale = await _listed(run, "scenes", level, listing, fields, config)
    if config.most_scenes and len(records) > config.most_scenes:
        run.note(f"The plot has {len(records)} scenes; the first {config.most_scenes} are written (most_scenes).")
        records = records[: config.most_scenes]
    return tuple(replace(beat, place=beat.place + stale, text=beat.text + stale) for beat in records)


async def places(run: Run, logline: str, beats: Sequence[Beat], config: Config) -> dict[str, str]:
    """Level 4, one call for each distinct place, side by side: from the logline and the place's name."""
    names = list(dict.fromkeys(beat.place for beat in beats))
    parts, taken = [], set[str]()
    for name in names:
        label = _free(f"place-{slug(name)}", taken)
        parts.append(Part(label, _placed(name, logline, config), _extended(name, logline, config)))
    texts = await keep_side_by_side(run, parts, folder="plan")
    return {name: without_end(text) for name, text in zip(names, texts, strict=True)}


def _place_level(config: Config) -> Level:
    return Level("places", "place", "Description:", config.place_tokens, config.max_paragraph)


def _placed(name: str, logline: str, config: Config) -> Callable[[Run], Awaitable[str]]:
    parser = PARSERS[config.parser]

    def read(answer: Answer) -> str:
        return one_line(parser.place(answer.text, cut=answer.cut))

    return _single(_place_level(config), config, {"logline": logline, "place": name}, read, f"description of {name!r}")


def _extended(name: str, logline: str, config: Config) -> Callable[[Run, str], Awaitable[str]]:
    """More of a place; ours, the release has no such operation for places."""

    async def more(run: Run, base: str) -> str:
        fields = {"logline": logline, "place": name, "examples": example_set(config.examples)}
        answer = await generate(run, _place_level(config), rules_of(config), fields, without_end(base))
        return one_line(PARSERS[config.parser].place(answer.text, cut=answer.cut))

    return more


def _free(label: str, taken: set[str]) -> str:
    """`label`, numbered where another one has it already; `taken` gets it."""
    free, number = label, 1
    while free in taken:
        number += 1
        free = f"{label}-{number}"
    taken.add(free)
    return free


def _single(
    level: Level, config: Config, fields: Mapping[str, Any], read: Callable[[Answer], str], what: str
) -> Callable[[Run], Awaitable[str]]:
    """The making of a level with one text; asked again, a bounded number of times, until there is some."""

    async def make(run: Run) -> str:
        for attempt in range(config.tries):
            where = run.scope("again", attempt) if attempt else run
            given = {**fields, "examples": example_set(config.examples)}
            answer = await generate(where, level, rules_of(config), given)
            if text := read(answer):
                return text
        raise _nothing(level, config, what, answer)

    return make


async def _listed(
    run: Run, name: str, level: Level, listing: _Listing[R], fields: Mapping[str, Any], config: Config
) -> tuple[tuple[R, ...], str]:
    """The records of a level that lists, and the mark of a dry run on them.

    Raises:
        ReplyError: no answer had a record.
        UsageError: the author's file has none.
    """
    maker = _Maker(level, listing, {**fields, "examples": example_set(config.examples)}, config)
    text, stale = split_stale(await run.keep(name, maker.make, folder="plan", more=maker.more))
    parsed = listing.read(f"{without_end(text)}\n{END}", False)  # noqa: FBT003 - a callable has no names
    for rejected in parsed.rejected:
        run.note(f"A {listing.what} of plan/{name}.md was left out, since {rejected.reason}: {rejected.text}")
    if not parsed.records:
        raise UsageError(
            f"plan/{name}.md holds no {listing.what} that can be read. Write {listing.form}, or take the edit "
            "back with `fabula undo`."
        )
    return parsed.records, stale


@dataclass(frozen=True)
class _Maker(Generic[R]):
    """Makes and continues the artefact of a level that lists."""

    level: Level
    listing: _Listing[R]
    fields: Mapping[str, Any]
    config: Config

    async def make(self, run: Run) -> str:
        """Records as text; asked again while none can be read, and continued while there are too few."""
        records = await self._first(run)
        for attempt in range(self.config.tries if len(records) < self.listing.fewest else 0):
            more = await self._after(run.scope("more", attempt + 1), self.level, records)
            records = (*records, *more)
            if len(records) >= self.listing.fewest:
                break
        return self.listing.write(records)

    async def more(self, run: Run, base: str) -> str:
        """The records that follow `base`, as text."""
        known = self.listing.read(f"{without_end(base)}\n{END}", False).records  # noqa: FBT003 - a callable has no names
        new = await self._after(run, replace(self.level, tokens=self.config.more_tokens), known)
        if not new:
            run.note(f"The continuation brought no further {self.listing.what}.")
        return self.listing.write(new)

    async def _first(self, run: Run) -> tuple[R, ...]:
        if self.config.form == "schema":
            return await self._typed(run, ())
        for attempt in range(self.config.tries):
            where = run.scope("again", attempt) if attempt else run
            answer = await generate(where, self.level, rules_of(self.config), {**self.fields, "form": "text"})
            if records := self._read(where, answer):
                return records
            if run.context.mode == "dry":
                return self.listing.sketch
        raise _nothing(self.level, self.config, self.listing.what, answer)

    async def _after(self, run: Run, level: Level, known: Sequence[R]) -> tuple[R, ...]:
        """Further records: those that the release's Continue gives, without those that stand there."""
        if self.config.form == "schema":
            return await self._typed(run, known)
        so_far = f"{self.listing.write(known)}\n"
        answer = await generate(run, level, rules_of(self.config), {**self.fields, "form": "text"}, so_far)
        return self._new(self._read(run, answer), known)

    async def _typed(self, run: Run, known: Sequence[R]) -> tuple[R, ...]:
        """Records that are new, from a typed reply; asked again where they hold no text.

        Raises:
            ReplyError: no reply could be read, or none held text.
        """
        for attempt in range(self.config.tries):
            records = await self._filled(run.scope("again", attempt) if attempt else run, known)
            if records or run.context.mode == "dry":
                return self._new(records or self.listing.sketch, known)
        raise _nothing(self.level, self.config, self.listing.what, Answer(self.listing.write(records), "stop"))

    async def _filled(self, run: Run, known: Sequence[R]) -> tuple[R, ...]:
        """Records of a typed reply that hold text."""
        reply: Any = await run.ask_for(
            self.listing.shape(len(known)),
            self.level.role,
            self.level.prompt,
            sampling=Sampling(max_tokens=self.config.max_paragraph).over(rules_of(self.config).sampling),
            **self.fields,
            form="schema",
            so_far=self.listing.write(known),
            lead="",
        )
        records = [self.listing.bound(entry.record()) for entry in reply.records if entry.sound()]
        if len(records) < len(reply.records):
            run.note(f"Some {self.listing.what}s were left out, since they hold no text: {reply!r}")
        return tuple(records)

    def _new(self, records: Sequence[R], known: Sequence[R]) -> tuple[R, ...]:
        """Those of `records` that do not stand in `known`, each once."""
        old = {self.listing.key(record) for record in known}
        found = {key: record for record in reversed(records) if (key := self.listing.key(record)) not in old}
        return tuple(reversed(found.values()))

    def _read(self, run: Run, answer: Answer) -> tuple[R, ...]:
        """The records of an answer; what was rejected is told."""
        closing = f"\n{END}" if answer.text.endswith("\n") else END
        parsed = self.listing.read(f"{answer.text.rstrip()}{closing}", answer.cut)
        for rejected in parsed.rejected:
            run.note(f"A {self.listing.what} was left out, since {rejected.reason}: {rejected.text}")
        return tuple(self.listing.bound(record) for record in parsed.records)


def _nothing(level: Level, config: Config, what: str, answer: Answer) -> ReplyError:
    return ReplyError(
        f"The role {level.role!r} gave no {what} that can be read in {config.tries} tries. Give this role a stronger "
        "model, or run again with another --seed.",
        reply=answer.text,
    )
