"""Level 5: the dialogues, one call a scene, side by side; none sees another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ReplyError
from fabula.craft.length import trim
from fabula.engine.dry_run import STALE
from fabula.engine.replies.scripts import joined, tidy_script
from fabula.story import count_words
from fabula.systems.dramatron.examples import example_set
from fabula.systems.dramatron.generating import Level, generate
from fabula.systems.dramatron.keeping import Part, keep_side_by_side
from fabula.systems.dramatron.lengths import ranges_of
from fabula.systems.dramatron.levels import rules_of
from fabula.systems.dramatron.matching import matched, named
from fabula.systems.dramatron.records import Block, without_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.dramatron.algorithm import Config
    from fabula.systems.dramatron.generating import Answer
    from fabula.systems.dramatron.records import Beat, Figure, Script

_LENGTHEN_TRIES: Final = 6
_TOKENS_PER_WORD: Final = 1.6  # prose has about 1.3; names in capitals take more
_SPARE_TOKENS: Final = 48
_MOST_BEATS: Final = 12  # earlier beats that a prompt holds, so that prompts stay bounded in long plays


async def dialogues(run: Run, script: Script, brief: Brief, config: Config) -> list[tuple[str, str]]:
    """Label and text of every scene, in the order of telling; each is the artefact `scene-N`.

    A scene's prompt holds the logline, its place, its characters, its beat and what happened before, and no dialogue.
    """
    wants = ranges_of(brief, config, [beat.weight for beat in script.beats])
    writers = [_Writer(script, number, wants[number], config) for number in range(len(script.beats))]
    parts = [Part(f"scene-{number}", w.make, w.more) for number, w in enumerate(writers, 1)]
    texts = await keep_side_by_side(run, parts, folder="story")
    return [(f"Scene {number}", text) for number, text in enumerate(texts, 1)]


class _Writer:
    """The writer of one scene; `at` counts from 0."""

    def __init__(self, script: Script, at: int, want: WordRange | None, config: Config) -> None:
        self._beat, self._config = script.beats[at], config
        self._last = at + 1 == len(script.beats)
        self._figures = _told(script, self._beat, config)
        self._head = _head(script, at, config)
        self._want = _without(want, count_words(self._head))
        self._all = script.figures
        names = [f.name for f in named(self._figures, self._beat.text, config.match)] or [f.name for f in self._figures]
        cue = f"\n{names[0].upper()}:" if config.cue and names else ""
        tokens = min(config.level_tokens, _tokens(self._want.high)) if self._want else config.level_tokens
        self._level = Level("dialogue", "dialogue", "**Dialog:**", tokens, config.max_paragraph, loops=True, cue=cue)
        self._fields: dict[str, Any] = {
            "block": _block(script, at, self._figures, config),
            "examples": example_set(config.examples),
            "colons": config.tidy,
        }

    async def make(self, run: Run) -> str:
        """The scene as a script: its heading, what is seen first, and the dialogue."""
        for attempt in range(self._config.tries):
            where = run.scope("again", attempt) if attempt else run
            text = self._tidied(await generate(where, self._level, rules_of(self._config), self._fields))
            if text:
                fitted = await self._fitted(run, text) if self._want else text
                return f"{self._head}\n\n{fitted}"
        raise ReplyError(
            f"The role 'dialogue' gave no script that can be read at {run.at} in {self._config.tries} tries. Give this "
            "role a stronger model, or run again with another --seed.",
            reply=text,
        )

    async def more(self, run: Run, base: str) -> str:
        """What follows `base`; END, which the release leaves in the middle, is taken out of it."""
        so_far = without_end(base).removeprefix(self._head).strip("\n")
        answer = await generate(run, self._level, rules_of(self._config), self._fields, f"{so_far}\n\n")
        return self._tidied(answer, so_far)

    def _tidied(self, answer: Answer, before: str = "") -> str:
        if not self._config.tidy:
            return without_end(answer.text).strip()
        return tidy_script(answer.text, [figure.name for figure in self._all], before=before, cut=answer.cut)

    async def _fitted(self, run: Run, text: str) -> str:
        """`text` with the words wanted: gone on with while it is too short, cut where it is too long."""
        want = self._want
        assert want is not None  # noqa: S101 - the caller has looked
        for attempt in range(_LENGTHEN_TRIES):
            if count_words(text) >= want.low:
                break
            missing = min(self._level.tokens, _tokens(want.high - count_words(text)))
            level = replace(self._level, tokens=missing, cap=missing)
            where = run.scope("extend", attempt + 1)
            answer = await generate(where, level, rules_of(self._config), self._fields, f"{text}\n\n")
            text = joined(text, self._tidied(answer, text))
        else:
            run.note(f"The scene has {count_words(text)} words where {want.low} to {want.high} were wanted.")
        return trim(text, want.high, low=want.low, keep_end=self._last)


def _tokens(words: int) -> int:
    """Tokens of a sample that is to have about `words` words, and room for its last sentence."""
    return int(words * _TOKENS_PER_WORD) + _SPARE_TOKENS


def _without(want: WordRange | None, words: int) -> WordRange | None:
    """The range less `words` that stand there anyway."""
    if want is None:
        return None
    low, high = max(want.low - words, 1), max(want.high - words, 1)
    return replace(want, low=low, high=high, target=(low + high) // 2)


def _told(script: Script, beat: Beat, config: Config) -> tuple[Figure, ...]:
    """Who is told: those whom the plan puts into the scene, else those whom the beat names."""
    if beat.present:
        return tuple(figure for figure in script.figures if figure.name in beat.present)
    return matched(script.figures, beat.text, config.match)


def _block(script: Script, at: int, figures: Sequence[Figure], config: Config) -> Block:
    beat = script.beats[at]
    before = [b.text for b in script.beats[:at]][-(1 if config.previous == "beat" else _MOST_BEATS) :]
    return Block(
        place=beat.place,
        description=script.places.get(beat.place, ""),
        characters=tuple(figure.told(named=config.told_names) for figure in figures),
        element=beat.element,
        summary=script.logline,
        previous=tuple(before),
        beat=beat.text,
    )


def _head(script: Script, at: int, config: Config) -> str:
    """What a script shows before anybody speaks: the heading, the place and the people when they come first."""
    beat, before = script.beats[at], script.beats[:at]
    place = beat.place.replace(STALE, "").rstrip(". ")
    parts = [f"INT/EXT. {place} - Scene {at + 1}"]
    if beat.place not in {b.place for b in before} and script.places.get(beat.place):
        parts.append(script.places[beat.place])
    seen = {figure.name for b in before for figure in _in(script, b, config)}
    new = [figure for figure in _in(script, beat, config) if figure.name not in seen]
    return "\n\n".join([*parts, *(figure.told(named=True) for figure in new)])


def _in(script: Script, beat: Beat, config: Config) -> tuple[Figure, ...]:
    """Who is in a scene for certain."""
    return _told(script, beat, config) if beat.present else named(script.figures, beat.text, config.match)
