"""Errors put into stories: edits checked by code, refused ones asked for again, screenplays as the paper has them."""

# ruff: noqa: RUF001 - stories with typographic quotation marks

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.injecting import METHOD, EditedStory
from fabula.app.injecting.config import Config, Ours
from fabula.app.injecting.editing import edit, views
from fabula.app.injecting.planted import CleanText, Decoy, Error, problems, words_between
from fabula.app.injecting.screenplays import in_one_call, names, one_by_one, wrong_with
from fabula.base.errors import ReplyError, UsageError
from fabula.craft.quoting import located
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.replies import ReplyProblem, read_files
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators.atlas.planted import planted_in
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from fabula.engine.run import Mode
    from fabula.models.base import Request
    from fabula.models.scripted import Script

STORY = (
    "Ada was left-handed. Her brother Tom was twelve.\n\n“It’s a green door,” said Tom. The bell rang.\n\n"
    "Ada wrote with her left hand. The bell rang.\n\nThe green door shut. Tom turned round and Ada laughed."
)
SOURCE = EditedStory("door", "The Door", "prose", STORY)
YES = '{"verdicts": []}'


def change(find: str, replace: str, contradicts: str, **more: str) -> dict[str, str]:
    told = {"fact": "Ada being left-handed", "event": "another hand", "explanation": "Two hands.", "needs": "lookup"}
    named = {"kind": "injury_or_handedness", "find": find, "replace": replace, "contradicts": contradicts}
    return named | told | more


HAND = change("wrote with her left hand", "wrote with her right hand", "Ada was left-handed.")
DOOR = change("The green door shut", "The red door shut", '"It\'s a green door," said Tom.', kind="object_property")
AGE = change("was twelve", "was forty", "Ada was left-handed.", kind="age")


def edits(*errors: dict[str, str], decoys: tuple[dict[str, str], ...] = ()) -> str:
    return json.dumps({"person": "third", "tense": "past", "errors": errors, "decoys": decoys})


def run_with(script: Script, mode: Mode = "live", window: int | None = None) -> tuple[Run, ScriptedModel]:
    model = ScriptedModel(script, capabilities=Capabilities(context=window, parallel=4))
    journal = Journal().__enter__()  # in memory; gone with the test
    return Run(RunContext(journal, SystemPrompts(METHOD.prompts), Cast.of(model), mode=mode)), model


def in_turn(**replies: list[str]) -> Script:
    """A script that gives each role its replies one after the other, wherever it is asked."""
    return lambda request: replies[request.role].pop(0) if len(replies[request.role]) > 1 else replies[request.role][0]


def prompt_of(model: ScriptedModel, at: int) -> str:
    return "\n".join(message.content for message in model.asked[at].messages)


async def test_edits_are_put_in_and_the_twin_differs_there_only() -> None:
    decoy = {"quote_a": "The bell rang.", "quote_b": "Tom turned round", "why_no_error": "Two things."}
    run, model = run_with({"editor": edits(HAND, DOOR, decoys=(decoy,)), "proofreader": YES})
    planted = (await edit(SOURCE, Ours(errors=2), run)).planted
    assert planted.text == STORY
    assert planted.broken == STORY.replace("her left hand", "her right hand").replace("The green", "The red")
    assert [one.id for one in planted.errors] == ["door-1", "door-2"]
    assert planted.errors[1].contradicts == "“It’s a green door,” said Tom."  # as the story has it
    assert [planted.broken[a:b] for a, b in planted.places] == ["wrote with her right hand", "The red door shut"]
    assert [one.quote_b for one in planted.decoys] == ["Tom turned round"]
    assert not problems(planted)
    assert (planted.person, planted.tense) == ("third", "past")
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (change("The bell rang", "It rang", "Ada was left-handed."), "stands 2 times"),
        (change("no such words", "x", "Ada was left-handed."), "stands 0 times"),
        (change("was twelve", "was forty", "no such words"), "`contradicts` does not stand"),
        (change("was twelve", "was twelve", "Ada was left-handed."), "changes nothing"),
        (change("was twelve", "was forty", "Tom was twelve."), "itself changed"),
        (HAND | {"kind": "colour"}, "the kind 'colour'"),
        (HAND | {"needs": "luck"}, "`needs` is 'luck'"),
        (HAND | {"explanation": " "}, "is empty"),
        (change("twelve.\n\n“It’s", "ten.\n\n“It’s", "Ada wrote with her left hand."), "inside one paragraph"),
        (change("left hand. The", "right hand. The", "Ada was left-handed."), "meets another edit"),
        (change("Ada was left-handed", "Ada was tall", "The green door shut."), "meets another edit, or a passage"),
    ],
)
async def test_what_is_wrong_with_an_edit_is_said_and_another_is_asked_for(wrong: dict[str, str], said: str) -> None:
    run, model = run_with(in_turn(editor=[edits(HAND, wrong), edits(DOOR)]))
    if wrong | {"kind": HAND["kind"]} == HAND or wrong["needs"] == "luck" or not wrong["explanation"].strip():
        run, model = run_with(in_turn(editor=[edits(wrong, AGE), edits(DOOR)]))
    made = await edit(SOURCE, Ours(errors=2, decoys=0, proofread=False), run)
    assert len(made.errors) == 2
    assert said in made.refused[0]
    assert said in prompt_of(model, 1)
    assert "Make 1 change of this kind" in prompt_of(model, 1)
    assert 'becomes "' in prompt_of(model, 1)


async def test_a_change_that_is_no_contradiction_is_taken_out() -> None:
    no = {"verdicts": [{"number": 1, "contradiction": False, "reason": "She may use both hands."}]}
    run, model = run_with(in_turn(editor=[edits(HAND, DOOR), edits(AGE)], proofreader=[json.dumps(no), YES]))
    made = await edit(SOURCE, Ours(errors=2, decoys=0), run)
    assert [one.replace for one in made.planted.errors] == ["The red door shut", "was forty"]
    assert "She may use both hands." in prompt_of(model, 2)
    assert not problems(made.planted)


async def test_replies_that_cannot_be_read_do_not_sink_it_and_nothing_at_all_is_said() -> None:
    run, _ = run_with({"editor": edits(HAND), "proofreader": "Hm."})
    made = await edit(SOURCE, Ours(errors=1, decoys=0), run)
    assert len(made.errors) == 1
    assert "not proofread" in made.refused[0]
    run, _ = run_with({"editor": "Hm.", "proofreader": YES})
    with pytest.raises(ReplyError, match="proposed no error that can be planted in door"):
        await edit(SOURCE, Ours(errors=1), run)


async def test_an_estimate_asks_nobody_and_counts_both_roles() -> None:
    run, model = run_with({}, mode="dry")
    await edit(SOURCE, Ours(errors=2), run)
    assert [call.role for call in run.context.dry_run.planned] == ["editor", "proofreader"]
    assert not model.asked


def long_story(paragraphs: int = 300) -> str:
    return "\n\n".join(f"Paragraph {n} says that the lamp {n} burned all night on the pier." for n in range(paragraphs))


async def test_a_long_story_is_shown_in_passages_that_lie_as_far_apart_as_is_wanted() -> None:
    source, ours = replace(SOURCE, text=long_story()), Ours(errors=7, decoys=2, distance=1500, window=300)
    run, model = run_with({"editor": edits(), "proofreader": YES}, window=100_000)
    shown = views(source, ours, run, 7)
    assert [view.errors for view in shown] == [3, 2, 2]
    assert sum(view.decoys for view in shown) == 2
    for view in shown:
        assert words_between(source.text, *view.spans) >= 1500
    with pytest.raises(ReplyError):
        await edit(source, ours, run)
    assert "Here are two passages of one story" in prompt_of(model, 0)
    assert "At least 1500 words have to lie between" in prompt_of(model, 0)
    with pytest.raises(UsageError, match="no two places in it"):
        views(source, Ours(distance=9000), run, 3)
    near = change("the lamp 3 burned", "the lamp 3 was out", "the lamp 4 burned all night")
    run, _ = run_with({"editor": edits(near), "proofreader": YES}, window=100_000)
    with pytest.raises(ReplyError, match="words lie between it and what it contradicts"):
        await edit(source, ours, run)


async def test_a_story_that_does_not_fit_is_shown_in_passages() -> None:
    run, _ = run_with({}, window=4000)
    assert len(views(replace(SOURCE, text=long_story()), Ours(errors=3), run, 3)[0].spans) == 2
    run, _ = run_with({}, window=100_000)
    assert len(views(replace(SOURCE, text=long_story()), Ours(errors=20), run, 20)) == 2
    assert len(views(replace(SOURCE, text=long_story()), Ours(errors=3), run, 3)[0].spans) == 1


def test_quotations_are_found_whatever_their_marks() -> None:
    assert located("“It’s — now”", '"It\'s - now"') == [(0, 12)]
    assert located("aaa", "") == []


def test_what_is_wrong_with_a_planted_story_is_said() -> None:
    error = Error("a", "hue", "x", "x", "zz", "", "lookup")
    twice = Error("b", "age", "is", "was", "x", "", "lookup")
    said = problems(CleanText("p", "", "prose", "", "", "", "x is y, is z", (error, twice), (Decoy("q", "x", ""),)))
    assert len(said) == 4
    assert not problems(CleanText("p", "", "prose", "", "", "", "x is y", (), ()))


def test_check_reads_a_planted_story_and_knows_every_place() -> None:
    errors = (
        Error("a", "age", "Tom was twelve", "Tom was ten", "Tom was twelve", "Tom was ten", "lookup"),
        Error("b", "hue", "a green door", "a red door", "green door shut", "", "lookup"),
    )
    planted = CleanText("p", "", "prose", "", "", "", STORY, errors, ())
    known = planted_in(planted.data(), planted.broken, "planted.json")
    assert {one.id: one.place for one in known.errors} == {
        one.id: place for one, place in zip(planted.errors, planted.places, strict=True)
    }
    assert not planted_in(planted.data(), planted.text, "planted.json").errors


# screenplays ----------------------------------------------------------------------------------------------------------


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


SMALL = Config().paper.__class__(
    stories=1, least_scenes=2, most_scenes=2, least_pages=1, most_pages=1, least_errors=1, most_errors=2
)


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
    asked = prompt_of(model, 0)
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


async def test_improved_screenplays_are_written_clean_and_have_a_twin() -> None:
    outline = {
        "title": "Rain", "cast": ["Ada, left-handed"],
        "scenes": [
            {"heading": "INT. HALL - DAY", "events": "Ada waits.", "establishes": ["Ada is left-handed"], "uses": []},
            {"heading": "EXT. PIER - NIGHT", "events": "Ada writes.", "establishes": [], "uses": ["her left hand"]},
        ],
    }  # fmt: skip
    early = change("Ada waits with", "Nobody waits with", "ADA\nWith my left hand, as ever.")
    late = change("my left hand, as ever", "my right hand, as ever", "ADA waits with a pen in her left hand.")
    late |= {"fact": "Ada being left-handed", "event": "Ada writing with her right hand"}
    scenes = ["INT. HALL - DAY\n\nADA waits with a pen in her left hand.", "ADA\nWith my left hand, as ever."]
    changes = edits(early | {"find": "waits with a pen"}, late)
    run, model = run_with(in_turn(writer=[json.dumps(outline), *scenes], editor=[changes], proofreader=[YES]))
    (made,) = await one_by_one(run, replace(Config.improved(), paper=SMALL))
    assert [row["title"] for row in made.script] == ["1, INT. HALL - DAY.", "2, EXT. PIER - NIGHT."]
    assert made.script[1]["content"] == "ADA\nWith my right hand, as ever."
    assert made.script[0]["content"] == "ADA waits with a pen in her left hand."
    assert [row["hallucination"] for row in made.annotations] == [
        "In scene 1, Ada being left-handed was established, yet in scene 2, Ada writing with her right hand happens"
    ]
    assert made.edited is not None
    assert "in a later scene" in made.edited.refused[0]
    assert "EXT. PIER - NIGHT" in prompt_of(model, 2)
    assert "never in scene 1" in prompt_of(model, 3)
    dry, _ = run_with({}, mode="dry")
    await one_by_one(dry, replace(Config.improved(), paper=SMALL))
    assert {call.role for call in dry.context.dry_run.planned} == {"writer", "editor", "proofreader"}


async def test_one_screenplay_that_fails_does_not_sink_the_others() -> None:
    scene = {"heading": "INT. HALL - DAY", "events": "Ada waits.", "establishes": [], "uses": []}
    outline = json.dumps({"title": "Rain", "cast": [], "scenes": [scene, scene | {"heading": "EXT. PIER - DAY"}]})
    late = change("at the pier", "at the mill", "ADA waits for the pier.")

    def script(request: Request) -> str:
        if request.role != "writer":
            return edits(late) if request.role == "editor" else YES
        if request.path.endswith("outline"):
            return outline if request.path.startswith("synthetic_hallucination_002") else "Hm."
        return "ADA waits for the pier." if "/scene/1/" in request.path else "She is at the pier now."

    run, _ = run_with(script)
    two = replace(Config.improved(), paper=replace(SMALL, stories=2))
    first, second = await one_by_one(run, two)
    assert not first.script
    assert "could not be read" in first.wrong[0]
    assert len(second.annotations) == 1
    run, _ = run_with(lambda _: "Hm.")
    with pytest.raises(ReplyError):
        await one_by_one(run, two)


async def test_a_refused_screenplay_or_passage_does_not_sink_the_others() -> None:
    scene = {"heading": "INT. HALL - DAY", "events": "Ada waits.", "establishes": [], "uses": []}
    outline = json.dumps({"title": "Rain", "cast": [], "scenes": [scene, scene | {"heading": "EXT. PIER - DAY"}]})
    late = change("at the pier", "at the mill", "ADA waits for the pier.")

    def script(request: Request) -> str:
        if request.role == "proofreader" or request.path.startswith("synthetic_hallucination_001"):
            return "I'm sorry, but I can't help with that."
        if request.role == "editor":
            return edits(late)
        if request.path.endswith("outline"):
            return outline
        return "ADA waits for the pier." if "/scene/1/" in request.path else "She is at the pier now."

    run, _ = run_with(script)
    first, second = await one_by_one(run, replace(Config.improved(), paper=replace(SMALL, stories=2)))
    assert "declined" in first.wrong[0]
    assert len(second.annotations) == 1
    assert second.edited is not None
    assert any(said.startswith("not proofread") for said in second.edited.refused)


@pytest.mark.parametrize("wrong", [{"errors": 0}, {"distance": -1}, {"least_scenes": 12}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        METHOD.config("improved", wrong).validate()
