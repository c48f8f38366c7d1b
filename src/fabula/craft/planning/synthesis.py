"""Plan synthesis as Character Simulation describes it (section 4.2.1 and appendix B.1.1), for its faithful preset.

Four calls, each with the writing prompt and the whole story: the characters; with them all scenes, divided, described
and looked over for missed content in one reply; conflict and setting with the prompts of Agents' Room (its appendix
B.2) and the scratchpad of its appendix C, which holds the task and the story. `plan_from_story` is ours: it reads a
story of any length in windows, and checks what it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from fabula.base.errors import UsageError
from fabula.craft.planning.replies import Extracted, ExtractedReply, PaperCastReply
from fabula.craft.planning.shared import ROLE, WHOLE, CastList, checked, free_name, typed
from fabula.engine.run import Run, side_by_side
from fabula.models.budget import estimate_tokens
from fabula.story import Brief, Story, count_words
from fabula.story.plan import Event, Plan, ScenePlan
from fabula.story.scratchpad import Scratchpad

_MOST: Final = 0.75  # of the planner's context that a story may fill; the rest is for the prompt and the reply


async def synthesised_plan(run: Run, story_text: str, brief: Brief | None = None) -> Plan:
    """The plan P_p behind a story: scenes in the order of telling, without times; 4 calls.

    Raises:
        UsageError: the story has no words, or does not fit into one prompt.
        ReplyError: a reply could not be read, or the plan cannot be written from.
    """
    manuscript = Story.parse(story_text)
    if not manuscript.words:
        raise UsageError("The story is empty. Give a text with a story in it.")
    story, window = manuscript.text, run.room(ROLE).window
    if window is not None and estimate_tokens(story) > _MOST * window:
        raise UsageError(
            f"The faithful preset reads a story in one prompt, as the paper does: this one has about "
            f"{estimate_tokens(story):,} tokens, and the planner's context holds {window:,}. Use --preset improved, "
            "which reads it in windows, or another model."
        )
    given: dict[str, Any] = {"brief": brief.text if brief else "", "story": story}
    run = run.tries(WHOLE)
    people = await typed(run, PaperCastReply, "extract_characters", **given)
    cast = CastList()
    cast.add(people.characters, small=run.room(ROLE).aids)
    reply = await typed(run, ExtractedReply, "extract_scenes", **given, characters=tuple(cast.characters))
    s = (Scratchpad.of(brief) if brief else Scratchpad()).add("User-Written Response", story, "task")
    conflict, setting = await side_by_side(
        run.ask(ROLE, name, scratchpad=s) for name in ("extract_conflict", "extract_setting")
    )
    for name, said in (("extract_conflict", conflict), ("extract_setting", setting)):
        if not count_words(said):
            raise run.exhausted(WHOLE, f"The role {ROLE!r} gave no words at {run.at}/{name}.", ROLE, said)
    scenes = _scenes(reply.scenes, cast)
    title = manuscript.title or (brief.title if brief else "")
    plan = Plan(scenes, tuple(cast.characters), conflict.strip(), setting.strip(), title, given["brief"])
    return checked(run, plan)


def _scenes(extracted: Sequence[Extracted], cast: CastList) -> tuple[ScenePlan, ...]:
    """The scenes of the plan; whoever the characters lack joins them, as the paper's prompt has it."""
    scenes: list[ScenePlan] = []
    for one in extracted:
        scene = ScenePlan(
            name=free_name(one.name or f"Scene {len(scenes) + 1}", [scene.name for scene in scenes]),
            outline=tuple(map(Event, one.outline)),
            element=one.element,
            place=one.place,
            importance=one.importance,
        )
        scenes.append(replace(scene, characters=cast.present(one.characters)))
    return tuple(scenes)
