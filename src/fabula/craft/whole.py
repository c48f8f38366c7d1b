"""A whole story in one reply: its writing task with the material that is given for it, and how it is asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.chapters import LONG
from fabula.craft.length import WordRange, asked_range
from fabula.craft.personas import given_personas, labelled
from fabula.craft.planning import given_plan
from fabula.craft.prose import Prose, write_prose
from fabula.craft.raters import mark_for
from fabula.story import Brief, Story
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story.plan import ScenePlan


_LABELS: Final = ("Creative Writing Task", "Story")
SCENES: Final = "Scenes"
"""The label of the scenes that the author has planned."""
_BEGINNING: Final = 60  # words
_USUAL: Final = 1207  # words where none are asked for: the mean of the end-to-end baseline in Agents' Room, Table 2


async def material(run: Run) -> list[tuple[str, str]]:
    """The author's personas and plan, as labelled texts: what all systems that are compared are given.

    So section 4.2 of MAGNET has it, whose baselines get the same personas, objective and length.
    """
    personas, plan = await given_personas(run), await given_plan(run)
    given = list(labelled(personas)) if personas else []
    if plan is None:
        return given
    parts = {
        "Central Conflict": plan.conflict,
        "Characters": "\n".join(f"- {character.introduction()}" for character in plan.characters),
        "Setting": plan.setting,
        "Person and Tense": plan.manner,
        "Form": plan.form,
        "Demands": "\n".join(f"- {demand}" for demand in plan.demands),
        SCENES: "\n".join(map(_plot_point, plan.scenes)),
    }
    return given + [(label, text) for label, text in parts.items() if text]


def _plot_point(scene: ScenePlan) -> str:
    where = "; ".join(filter(None, (scene.place, scene.when)))
    return f"- {scene.name}{f' ({where})' if where else ''}: {' '.join(event.text for event in scene.outline)}"


def task(brief: Brief, given: Sequence[tuple[str, str]]) -> Scratchpad:
    """The writing task with all that is given for it, as one text."""
    below = [f"[{label}] {text}" for label, text in given]
    return Scratchpad.of(replace(brief, text="\n\n".join([brief.text, *below])))


def words_in_one_reply(brief: Brief, words: str, called: str) -> WordRange | None:
    """The words wanted of a story that is one reply.

    Raises:
        UsageError: they are more than a reply can hold, or no range.
    """
    want = asked_range(brief, words)
    if want is not None and want.target > LONG:
        raise UsageError(
            f"{called} writes one reply of at most {LONG:,} words, but the story needs {want}. "
            "--system agents-room and --system end-to-end write longer stories, in chapters."
        )
    return want


def whole(
    role: str,
    prompt: str,
    s: Scratchpad,
    want: WordRange | None,
    limit: int | None = None,
    *,
    loose: bool = False,
    more: Mapping[str, object] = MappingProxyType({}),
) -> Callable[[Run], Awaitable[str]]:
    """What asks a role for a whole version of the story by a prompt, of the length wanted; `more` fills it.

    One that is revised later may be `loose`: a draft that is 10 % too long costs as much to shorten as to revise.
    """

    async def make(run: Run) -> str:
        prose = Prose(last=True, want=want, labels=_LABELS, usual=_USUAL, loose=loose)
        before = [entry.text for entry in s.entries]
        fields = {"scratchpad": s, "brief": s.entries[0].text, **more}
        return await write_prose(run, role, prompt, prose, limit, before=before, fields=fields)

    return make


def beginnings(texts: Sequence[str]) -> list[str]:
    """The first words of each text: what the writer of the next one is shown, so that it becomes unlike them."""
    return [" ".join(text.split()[:_BEGINNING]) for text in texts]


async def choose_one(run: Run, role: str, texts: Sequence[str], s: Scratchpad) -> str:
    """The text that a role chooses by the prompt `choose`, which shows all in a drawn order; one text needs no call.

    Raises:
        ReplyError: no reply named exactly one of them.
    """
    if len(texts) == 1:
        return texts[0]
    order = run.scope("choice").rng.sample(texts, len(texts))
    numbers = [str(n) for n in range(1, len(order) + 1)]
    chosen = await run.choose(numbers, role, "choose", scratchpad=s, texts=order, mark=mark_for(*order))
    return order[numbers.index(chosen)]


async def keep_story(brief: Brief, run: Run, text: str) -> Story:
    """The story that is a version written before: kept as the story's own text, so that it can be edited and pinned."""

    async def last(_: Run) -> str:
        return text

    return Story.of(brief).add("Story", await run.keep("story", last, folder="story"))
