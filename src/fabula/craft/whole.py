"""A whole story in one reply: its writing task with the material that is given for it, and how it is asked for."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.chapters import LONG
from fabula.craft.length import asked_range
from fabula.craft.personas import given_personas, labelled
from fabula.craft.planning import given_plan
from fabula.craft.prose import Prose, write_prose
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.plan import ScenePlan

_LABELS: Final = ("Creative Writing Task", "Story")
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
        "Scenes": "\n".join(map(_plot_point, plan.scenes)),
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
            f"{called} is one reply, of {LONG:,} words at most; {want} are asked for. --system agents-room "
            "writes longer stories, in chapters."
        )
    return want


def whole(
    role: str,
    prompt: str,
    s: Scratchpad,
    want: WordRange | None,
    limit: int | None = None,
    *,
    labels: Sequence[str] = _LABELS,
    usual: int = _USUAL,
    more: Mapping[str, object] = MappingProxyType({}),
) -> Callable[[Run], Awaitable[str]]:
    """What asks a role for a whole version of the story by a prompt, of the length wanted; `more` fills it."""

    async def make(run: Run) -> str:
        prose = Prose(last=True, want=want, labels=labels, usual=usual)
        before = [entry.text for entry in s.entries]
        fields = {"scratchpad": s, "brief": s.entries[0].text, **more}
        return await write_prose(run, role, prompt, prose, limit, before=before, fields=fields)

    return make
