"""Plan synthesis as the paper has it (Character Simulation, section 4.2.1 and appendix B.1.1)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ReplyError, UsageError
from fabula.craft import PROMPTS
from fabula.craft.planning import synthesised_plan
from fabula.engine.context import RunContext
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.story.plan_check import check_plan

if TYPE_CHECKING:
    from fabula.models.base import Request
    from fabula.story.plan import Plan

STORY = "# The Lamp\n\nMara read the letter twice.\n\nYears before, a storm had come, and the fishermen pulled her out."
BRIEF = Brief("Write about a keeper and her lamp.")
MARA = {"name": "Mara", "gender": "female", "age": 70, "role": "protagonist", "setup": "Keeps the lamp.",
        "speech": "Few words.", "goal": "To keep it burning.", "group": False}  # fmt: skip
LETTER = {"name": "The letter", "outline": ["Mara reads the letter.", "She reads it again."], "element": "exposition",
          "place": "The lamp room, white and cold", "importance": 4,
          "characters": [{"name": "Mara", "goal": "to be alone"}]}  # fmt: skip
WRECK = {"name": "The wreck", "outline": ["The fishermen pull Mara out."], "element": "Rising_Action",
         "place": "The quay", "importance": 6,
         "characters": [{"name": "Mara", "goal": "to live"},
                        {"name": "The fishermen", "goal": "to save her"}]}  # fmt: skip
REPLIES: dict[str, Any] = {
    "extract_characters": {"characters": [MARA]},
    "extract_scenes": {"scenes": [LETTER, WRECK]},
    "extract_conflict": "Mara wants to keep the lamp.\n\nThe office wants it dark.",
    "extract_setting": "A cape.",
}


async def made(context: int | None = None, text: str = STORY, **changes: Any) -> tuple[Plan, list[Request]]:  # noqa: ANN401 - JSON data
    def answer(request: Request) -> str:
        said = (REPLIES | changes)[request.path.rpartition("/")[2]]
        return said if isinstance(said, str) else json.dumps(said)

    model = ScriptedModel(answer, capabilities=Capabilities(schema=True, context=context))
    with Journal() as journal:
        plan = await synthesised_plan(Run(RunContext(journal, SystemPrompts(PROMPTS), Cast.of(model))), text, BRIEF)
    return plan, model.asked


async def test_four_calls_read_the_whole_story_each() -> None:
    plan, asked = await made()
    assert [request.path for request in asked] == list(REPLIES)
    for request in asked:
        shown = "\n".join(message.content for message in request.messages)
        assert BRIEF.text in shown
        assert "Mara read the letter twice.\n\nYears before" in shown
    assert "- Mara (protagonist, female, 70) - Keeps the lamp." in asked[1].messages[-1].content
    assert not check_plan(plan)


async def test_conflict_and_setting_are_asked_for_by_the_template_of_agents_room() -> None:
    _, asked = await made()
    for request, what in zip(asked[2:], ("describe the central conflict", "describe the setting"), strict=True):
        (message,) = request.messages
        assert message.content.startswith(f"Given a Creative Writing Task and a User-Written Response, {what}")
        task = f"[Creative Writing Task] {BRIEF.text}\n\n[User-Written Response] Mara read the letter twice."
        assert task in message.content
        assert message.content.index("in more than five sentences") < message.content.index("[Creative")


async def test_the_plan_holds_what_was_extracted_and_no_times() -> None:
    plan, _ = await made()
    assert plan.names == ("The letter", "The wreck")
    assert [event.text for event in plan.scenes[0].outline] == LETTER["outline"]
    assert [scene.importance for scene in plan.scenes] == [4, 6], "the model's own, as in the paper"
    assert [scene.element for scene in plan.scenes] == ["exposition", "rising action"]
    assert plan.chronology() is None, "the order of time is the sorter's"
    assert plan.scenes[1].present == ("Mara", "The fishermen")
    assert plan.character("The fishermen").goal == "to save her", "somebody whom the characters lack is added"
    assert plan.conflict == REPLIES["extract_conflict"]
    assert (plan.title, plan.brief) == ("The Lamp", BRIEF.text)


async def test_the_prompt_for_scenes_carries_every_instruction_of_the_appendix() -> None:
    _, asked = await made()
    said = asked[1].messages[-1].content
    for instruction in (
        "cut the story, all of it, into its scenes", "a single place and a single time", "can stand by itself",
        "a step further", "exposition, rising action, climax, falling action and resolution", "cover it as a whole",
        "list of points", "hold everything", "described exactly and with its details", "from 1 (least) to 10 (most)",
        "how many words", "all the characters who are present", "goal that the character has in this scene",
        "add them to the scene", "look over your scenes", "add scenes for it",
    ):  # fmt: skip
        assert instruction in said, instruction
    assert asked[1].schema is not None
    fields = set(asked[1].schema["properties"]["scenes"]["items"]["properties"])
    assert fields == {"name", "outline", "element", "place", "importance", "characters"}


async def test_what_cannot_be_read_or_does_not_fit_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ReplyError, match="'planner' at extract_scenes could not be read"):
        await made(extract_scenes={"scenes": [LETTER | {"outline": []}]})
    with pytest.raises(UsageError, match=r"context holds 40\. Use --preset improved"):
        await made(context=40, text="word " * 60)
    with pytest.raises(UsageError, match="The story is empty"):
        await made(text="# The Lamp\n")
