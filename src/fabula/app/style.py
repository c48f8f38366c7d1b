"""The author's style sheet: proposed from samples of the author's own prose, and accepted into `style.md`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from fabula.app.writing import Options, PreparedMethod
from fabula.base.errors import UsageError
from fabula.craft.packing import first_of
from fabula.craft.voice import Samples, measured_lines
from fabula.engine.run import Run
from fabula.project.folder import VOICE, ProjectFolder
from fabula.story import one_line

if TYPE_CHECKING:
    from fabula.engine.dry_run import DryRun
    from fabula.project.settings import Settings


ROLE: Final = "reader"
_SHARE: Final = 0.4  # of the window
_SHORT: Final = 1_500  # tokens, for small models
_MOST: Final = 12


class VoiceReply(BaseModel):
    """How an author writes."""

    model_config = ConfigDict(extra="ignore")

    person: Annotated[str, Field(description="The person of the narration, in a few words.")]
    tense: Annotated[str, Field(description="The tense of the narration, in a few words.")]
    does: Annotated[
        list[str],
        Field(min_length=1, max_length=_MOST, description="What this author does, a sentence for each habit."),
    ]
    avoids: Annotated[
        list[str], Field(max_length=2 * _MOST, description="Words, phrases and turns that this author never uses.")
    ] = []


def samples_of(project: ProjectFolder) -> Samples:
    """The samples of the author's own prose in a project.

    Raises:
        UsageError: there are none, or too few words.
    """
    texts = project.samples
    if not texts:
        raise UsageError(
            f"{project.folder / VOICE} has no samples of your prose. Put Markdown or text files there, or import a "
            "manuscript with `fabula import MANUSCRIPT --own`."
        )
    return Samples(texts.values())


def sheet(samples: Samples, read: VoiceReply | None = None) -> str:
    """A style sheet: what was counted in the samples, what a model read in them, and passages of the author's own."""
    known = [line for line in measured_lines(samples) if read is None or not line.startswith("Person:")]
    if read is not None:
        known.insert(0, f"Person and tense: {one_line(read.person)}, {one_line(read.tense)}".rstrip(".") + ".")
    parts = ["# Style", "\n".join(f"- {line}" for line in known)]
    if read is not None:
        parts += ["## What this author does", "\n".join(f"- {one_line(habit)}" for habit in read.does)]
        if avoided := _never_used(read.avoids, samples):
            parts += ["## Words to avoid", ", ".join(avoided)]
    quoted = ["\n".join(f"> {line}".rstrip() for line in text.splitlines()) for text in samples.own_passages()]
    return "\n\n".join([*parts, "## How it sounds", *_between(quoted, "…")])


def _between(texts: Iterable[str], mark: str) -> list[str]:
    return [piece for text in texts for piece in (mark, text)][1:]


def _never_used(words: Iterable[str], samples: Samples) -> list[str]:
    """The words that do not occur in the samples."""
    text = samples.text.casefold()
    plain = dict.fromkeys(filter(None, (one_line(word).strip(" .,;\"'“”") for word in words)))
    return [word for word in plain if not re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", text)]


async def read_voice_in(project: ProjectFolder, settings: Settings, options: Options, samples: Samples) -> VoiceReply:
    """What a model reads in samples; one call, or none if it was made before.

    Raises:
        FabulaError: an error of any kind; a finished call is kept.
    """
    with project.recorded() as journal:
        async with PreparedMethod(settings, options).opened(journal) as context:
            with context.recording_failures():
                return await _read(Run(context), samples)


async def dry_run_voice_in(
    project: ProjectFolder, settings: Settings, options: Options, samples: Samples, *, counted: bool = False
) -> DryRun:
    """The call of `read_voice_in` and its cost; none if samples are only counted. Calls no model and writes nothing."""
    with project.journal as journal:
        async with PreparedMethod(settings, options).opened(journal, dry=True) as context:
            if not counted:
                await _read(Run(context), samples)
        return context.dry_run


async def _read(run: Run, samples: Samples) -> VoiceReply:
    """Samples from the whole of the author's prose, as many as there is room for."""
    left, of = run.room(ROLE).prompt_tokens(_SHORT, _SHARE), samples.passages
    step = max(1, round(sum(len(one.text) for one in of) / 4 / left))
    shown = [samples.text] if step == 1 else [one.text for one in of[::step]]
    return await run.scope("style").ask_for(
        VoiceReply,
        ROLE,
        "read_voice",
        samples=[first_of(text, left // len(shown)) for text in shown],
        known=measured_lines(samples),
    )
