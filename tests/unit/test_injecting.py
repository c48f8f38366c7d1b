"""Screenplays with errors as MAGNET has them: one call, the paper's files, and what code can check of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.injecting.config import Config
from fabula.app.injecting.screenplays import METHOD, in_one_call, names, wrong_with
from fabula.base.errors import ReplyError, UsageError
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.replies import ReplyProblem, read_files
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from fabula.models.scripted import Script


def run_with(script: Script) -> tuple[Run, ScriptedModel]:
    model = ScriptedModel(script)
    journal = Journal().__enter__()  # in memory; gone with the test
    return Run(RunContext(journal, SystemPrompts(METHOD.prompts), Cast.of(model))), model


def block(name: str, data: object) -> str:
    return f"{name}\n```json\n{json.dumps(data)}\n```\n\n"


def script(scenes: int) -> list[dict[str, Any]]:
    return [
        {"_id": n, "title": f"{n + 1}, INT. A - DAY.", "subtitle": "", "content": "It rains."} for n in range(scenes)
    ]


def sentence(number: int, x: int, y: int) -> dict[str, Any]:
    return {
        "id": number,
        "hallucination": f"In scene {x}, rain was established, yet in scene {y}, a dry street happens",
    }


async def test_the_papers_six_files_are_read_from_one_reply_and_looked_at() -> None:
    ids = names(3)
    reply = "".join(
        block(f"English/{name}/script.json", script(5))
        + block(f"English/{name}/annotations.json", [sentence(1, 1, 2), sentence(2, 3, 3)])
        for name in ids
    )
    run, model = run_with({"writer": reply})
    found = await in_one_call(run, Config.faithful())
    assert [one.id for one in found] == ids
    assert all(len(one.script) == 5 for one in found)
    assert any("X must be before Y" in said for said in found[0].wrong)
    assert any("2 annotations, not 15 to 30" in said for said in found[0].wrong)
    assert any("screenplay pages, not 20" in said for said in found[0].wrong)
    assert len(model.asked) == 1
    asked = "\n".join(message.content for message in model.asked[0].messages)
    for wanted in (
        *ids, "5 to 10 scenes", "20 to 30 pages", "15 to 30 temporal hallucinations", "Scene 1 holds no", "secrets",
        '"In scene X, [FACT] was established, yet in scene Y, [EVENT] happens"', "6 JSON code blocks", '"_id"',
        '"subtitle"',
        "explain the hallucination away", 'such as "1, INT. LOCATION - DAY."', "escaped as \\n", "begins at 1",
    ):  # fmt: skip
        assert wanted in asked, wanted


def test_what_a_script_has_too_much_of_is_said_too() -> None:
    long = [row | {"content": "It rains. " * 600} for row in script(5)]
    assert any("screenplay pages, not 20 to 30" in said for said in wrong_with(long, [], Config.faithful()))
    tenth = [*script(5)]
    tenth[0] |= {"title": "10, INT. A - DAY."}
    assert "The title of scene 1 does not begin with its number." in wrong_with(tenth, [], Config.faithful())


async def test_one_story_less_is_kept_and_none_is_said() -> None:
    run, _ = run_with({"writer": block("English/synthetic_hallucination_002/script.json", script(5))})
    first, second, _ = await in_one_call(run, Config.faithful())
    assert [one.id for one in (first, second)] == names(2)
    assert first.wrong == ("The reply contains no readable script.json for this screenplay.",)
    assert len(second.script) == 5
    assert "It has 0 annotations, not 15 to 30." in second.wrong
    run, _ = run_with({"writer": "I cannot do this."})
    with pytest.raises(ReplyError, match="could not be read"):
        await in_one_call(run, Config.faithful())


def test_files_in_a_reply_are_read_by_label_or_in_order() -> None:
    assert read_files("a.json\n```json\n[1]\n```\nb.json\n```\n[2]\n", ("a.json", "b.json")) == {
        "a.json": [1],
        "b.json": [2],
    }
    assert read_files("```\n[1]\n```\n```\n[2]\n```", ("a", "b")) == {"a": [1], "b": [2]}
    assert read_files("a\n```\nnone\n```\nb\n```\n[2]\n```", ("a", "b")) == {"b": [2]}
    with pytest.raises(ReplyProblem, match="no code block"):
        read_files("```\n[1]\n```", ("a", "b"))


@pytest.mark.parametrize("wrong", [{"stories": 0}, {"most_pages": -1}, {"least_scenes": 12}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        METHOD.config("improved", wrong).validate()
