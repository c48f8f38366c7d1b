from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.base.errors import ModelError, ReplyError, UsageError
from fabula.craft import PROMPTS
from fabula.craft.planning import plan_from_story
from fabula.craft.planning.from_story import importance, partition, read_story
from fabula.engine.context import RunContext
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.room import USUAL_WINDOW
from fabula.engine.run import Run
from fabula.models.base import Capabilities, Request
from fabula.models.budget import estimate_tokens
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief, Story
from fabula.story.plan_check import check_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.engine.context import Aids
    from fabula.story.plan import Plan

SHORT = (
    "# The Lamp\n\nMara read the letter twice.\n\nTobias asked about it.\n\nOn the third of May 1921 a storm came.\n\n"
    "She climbed the stairs and lit the lamp, and held the flame with both hands until the window broke.\n\n"
    "The boat came in."
)
BRIEF = Brief("Write about a keeper and her lamp.")
ASKED = Capabilities(schema=True, parallel=64)
DATA = Path(os.environ.get("FABULA_DATA") or Path(__file__).parents[3] / "shared" / "data")
GROUND_TRUTH = DATA / "magnet_stories.jsonl.gz"


def numbers(request: Request) -> list[int]:
    """The paragraphs that a prompt holds."""
    return [int(number) for number in re.findall(r"^\[(\d+)\]", request.messages[-1].content, re.MULTILINE)]


def reader(**changes: Any) -> Callable[[Request], str]:  # noqa: ANN401 - a text, JSON data, or a function of the request
    """A planner that finds a scene in every third paragraph of a window; `changes` replace some replies."""

    def answer(request: Request) -> str:
        prompt, shown = request.path.rpartition("/")[2], numbers(request)
        at = next(iter(shown), 0)
        there = [{"name": "Mara", "goal": "to keep the lamp"}]
        replies = {
            "read_cast": {"characters": [{"name": "Mara", "role": "keeper"}, {"name": f"Guest of {at}"}]},
            "read_scenes": {"scenes": [{"begins": n, "name": f"Part {n}"} for n in shown[::3]]},
            "read_outline": f"Mara does what paragraph {at} tells. It is {at} o'clock and she waits.",
            "read_scene": scene_of(f"Mara does what paragraph {at} tells.", f"It is {at} o'clock and she waits."),
            "read_details": {"characters": there, "place": "a cape", "importance": 6, "element": "climax"},
            "read_missed": {"missed": []},
            "read_whole": {
                "conflict": "Mara wants to keep her lamp, and the office wants it dark.",
                "setting": "A bare cape in the north, in the year 1921.",
                "person": "third person",
            },
            "read_conflict": "Mara wants to keep her lamp, and the office wants it dark.",
            "read_setting": "A bare cape in the north, in the year 1921.",
        } | changes
        said = replies[prompt.removesuffix("_small")]
        said = said(request) if callable(said) else said
        return said if isinstance(said, str) else json.dumps(said)

    return answer


def scene_of(*events: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON data
    """A scene as a capable reader finds it."""
    there = [{"name": "Mara", "goal": "to keep the lamp"}]
    told = [{"what": event, "missed_by": []} for event in events or ("Mara lights the lamp.",)]
    found = {"characters": there, "place": "a cape", "importance": 6, "element": "climax", "events": told}
    return found | changes


async def read(
    text: str,
    window: int | None = None,
    brief: Brief | None = BRIEF,
    aids: Aids = "off",
    **changes: Any,  # noqa: ANN401 - fields of the scripted replies
) -> tuple[Plan, ScriptedModel]:
    model = ScriptedModel(reader(**changes), capabilities=ASKED)
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(PROMPTS), Cast.of(model), aids=aids))
        return await plan_from_story(run, text, brief, window), model


def scenes_at(*begins: int) -> dict[str, Any]:
    return {"scenes": [{"begins": number, "name": f"Part {number}"} for number in begins]}


def story_of(paragraphs: int, words: int = 60) -> str:
    return "\n\n".join(
        f"P{n} " + " ".join(f"word{n}x{w}" for w in range(words)) + "." for n in range(1, paragraphs + 1)
    )


async def test_a_story_becomes_a_plan_that_can_be_written_from() -> None:
    plan, model = await read(SHORT, aids="on", read_scenes=scenes_at(1, 3))
    assert not check_plan(plan)
    assert plan.names == ("Part 1",)  # five short paragraphs hold at most one scene where a small model reads
    assert (plan.title, plan.brief) == ("The Lamp", BRIEF.text)
    assert plan.conflict.startswith("Mara wants to keep her lamp")
    assert [person.name for person in plan.characters] == ["Mara", "Guest of 1"]
    assert len(model.asked) == 2 + 2 + 1 + 2
    assert {request.role for request in model.asked} == {"planner"}


async def test_who_is_not_there_for_an_event_does_not_witness_it() -> None:
    there = [{"name": "Mara"}, {"name": "Guest of 1", "age_then": "9", "then": "Not yet her guest."}]
    events = [{"what": "Mara reads.", "missed_by": []}, {"what": "She weeps.", "missed_by": ["guest of 1"]}]
    missed = {"missed": [{"paragraph": 1, "what": "A gull cries over the whole of the bay."}]}
    scene = scene_of(characters=there, events=events, date="a night in May 1921")
    plan, model = await read(SHORT, read_scenes=scenes_at(1), read_scene=scene, read_missed=missed)
    present = {event.text.split()[0]: event.present for event in plan.scenes[0].outline}
    assert present == {"Mara": (), "She": ("Mara",), "A": ()}
    assert plan.scenes[0].characters[1].then == "Not yet her guest."
    assert plan.scenes[0].date == "a night in May 1921"
    assert "1. Part 1\n\nScene 1, its paragraphs numbered" in shown_at(model, "read_scene")
    assert len(model.asked) == 3 + 1 + 1, "it took 3, 2 for each scene, and 2 for conflict and setting"


async def test_a_capable_reader_tells_how_the_story_is_told_and_in_which_order_it_happens() -> None:
    whole = {
        "conflict": "Mara against the office.",
        "setting": "A cape.",
        "demands": ["There is a lamp."],
        "person": "first person, told by Mara",
        "tense": "past tense",
        "form": "a diary",
        "payoffs": ["Scene 1 shows the letter; scene 3 burns it."],
        "order": [3, 1, 2],
    }
    sheet = {"name": "Mara", "role": "keeper", "secret": "She let it go out once.", "knows": "Tobias saw it."}
    text, cast = story_of(9), {"characters": [sheet]}
    plan, model = await read(text, read_scenes=scenes_at(1, 4, 7), read_whole=whole, read_cast=cast)
    assert [scene.time for scene in plan.scenes] == ["2", "3", "1"]
    assert plan.chronology() == ("Part 7", "Part 1", "Part 4")
    assert (plan.manner, plan.form) == ("first person, told by Mara; past tense", "a diary")
    assert (plan.demands, plan.payoffs) == (("There is a lamp.",), ("Scene 1 shows the letter; scene 3 burns it.",))
    assert (plan.characters[0].secret, plan.characters[0].knows) == ("She let it go out once.", "Tobias saw it.")
    assert "The story has 3 scenes, in the order in which they are told:\n1. Part 1\n" in shown_at(model, "read_whole")
    plan, _ = await read(text, read_scenes=scenes_at(1, 4, 7), read_whole=whole | {"order": [1, 1, 3]})
    assert not any(scene.time for scene in plan.scenes)
    dated = scene_of(time="1921")
    said = story_of(6).replace("P1 ", "P1 in 1921 ").replace("P4 ", "P4 in 1921 ")
    plan, _ = await read(said, read_scenes=scenes_at(1, 4), read_whole=whole | {"order": [2, 1]}, read_scene=dated)
    assert [scene.time for scene in plan.scenes] == ["1921", "1921"], "the text's own times stay where all have one"
    _, model = await read(story_of(3), read_scenes=scenes_at(1), brief=None)
    assert "The story has 1 scene, in" in shown_at(model, "read_whole")
    assert "demands: an empty list" in shown_at(model, "read_whole")


def shown_at(model: ScriptedModel, prompt: str) -> str:
    return next(request for request in model.asked if request.path.endswith(prompt)).messages[-1].content


async def test_scenes_part_the_story_whatever_the_reply_says() -> None:
    text = story_of(12)
    plan, model = await read(text, read_scenes=scenes_at(9, 4, 4, -3, 99))
    shown = [numbers(request) for request in model.asked if request.path.endswith("read_scene")]
    assert sorted(n for paragraphs in shown for n in paragraphs) == list(range(1, 13))
    assert sorted(paragraphs[0] for paragraphs in shown) == [1, 4, 9, 12]
    assert plan.names == ("Part -3", "Part 4", "Part 9", "Part 99")


async def test_a_long_story_is_read_in_windows_that_bound_every_prompt() -> None:
    plan, model = await read(story_of(60), 2000)
    for prompt in ("read_cast", "read_scenes", "read_missed"):
        asked = [numbers(request) for request in model.asked if request.path.endswith(prompt)]
        assert len(asked) > 3
        assert [n for paragraphs in asked for n in paragraphs] == list(range(1, 61))
    in_scenes = sorted(n for r in model.asked if r.path.endswith("read_scene") for n in numbers(r))
    assert in_scenes == list(range(1, 61))
    longest = max(estimate_tokens(message.content) for request in model.asked for message in request.messages)
    assert longest < 2 * 2000
    assert not check_plan(plan)


async def test_the_longest_prompt_does_not_grow_with_the_story() -> None:
    sizes = {}
    for paragraphs in (40, 160):
        _, model = await read(story_of(paragraphs), 2000, read_cast={"characters": [{"name": "Mara"}]})
        sizes[paragraphs] = [sum(estimate_tokens(m.content) for m in r.messages) for r in model.asked]
    assert max(sizes[160]) < 1.2 * max(sizes[40])
    assert sum(sizes[160]) < 5 * sum(sizes[40])


async def test_later_windows_are_told_the_cast_and_the_scenes_so_far() -> None:
    _, model = await read(story_of(60), 2000)
    second = next(request for request in model.asked if request.path == "window/2/read_scenes")
    shown = second.messages[-1].content
    assert "- Mara: keeper" in shown
    assert "- Part 1\n" in shown
    assert "If the first paragraphs continue the scene found last" in shown


async def test_a_scene_goes_on_over_the_border_of_a_window() -> None:
    def only_first(request: Request) -> dict[str, Any]:
        shown = numbers(request)
        return scenes_at(1 if shown[0] == 1 else shown[-1])

    plan, model = await read(story_of(40), 2000, read_scenes=lambda r: json.dumps(only_first(r)))
    outlines = [request for request in model.asked if request.path.endswith("read_scene")]
    assert any(
        "/piece/2/" in request.path and "What came before in it" in request.messages[-1].content for request in outlines
    )
    assert len(plan.scenes) < len(outlines)


@pytest.mark.parametrize(("aids", "added"), [("on", 3), ("off", 9)])
async def test_what_the_check_finds_missing_is_added_in_its_place(aids: Aids, added: int) -> None:
    def missing(request: Request) -> str:
        last = numbers(request)[-1]
        found = [{"paragraph": last, "what": f"Detail d{n}a e{n}b f{n}c is told."} for n in range(9)]
        return json.dumps({"missed": [{"paragraph": 1, "what": "Mara does what paragraph 1 tells."}, *found]})

    plan, _ = await read(story_of(9), aids=aids, read_scenes=scenes_at(1, 5), read_missed=missing)
    first, second = ([event.text for event in scene.outline] for scene in plan.scenes)
    assert len(first) == 2  # the outline has it already
    assert len(second) == 2 + added
    assert second[-1].startswith("Detail")


async def test_somebody_found_in_a_scene_joins_the_cast_with_a_goal() -> None:
    hale = {"name": "Inspector Hale", "role": "official", "setup": "He closes lamps.", "goal": "to end the lamp"}
    scene = scene_of(newcomers=[hale], element="Rising_Action")
    plan, _ = await read(SHORT, read_scene=scene)
    assert plan.scenes[0].present == ("Mara", "Inspector Hale")
    assert plan.character("Inspector Hale").role == "official"
    assert plan.character("Inspector Hale").setup == "He closes lamps."
    assert plan.scenes[0].element == "rising action"


@pytest.mark.parametrize(
    ("said", "kept"), [("1921-05-03", "1921-05-03"), ("1850-01-01", ""), ("in May", ""), ("", ""), ("1921", "1921")]
)
async def test_a_story_time_is_kept_only_where_the_text_has_it(said: str, kept: str) -> None:
    plan, _ = await read(SHORT, read_scene=scene_of(time=said))
    assert plan.scenes[0].time == kept


async def test_scenes_that_a_manuscript_marks_are_kept() -> None:
    marked = Story("Two", ()).add("The letter", story_of(4)).add("The storm", story_of(3)).manuscript()
    plan, model = await read(marked)
    assert plan.names == ("The letter", "The storm")
    assert not [request for request in model.asked if request.path.endswith("read_scenes")]


async def test_conflict_and_setting_of_a_long_story_are_read_off_its_outline() -> None:
    _, model = await read(story_of(60), 2000)
    shown = shown_at(model, "read_whole")
    assert "Outline of the story:" in shown
    assert "word1x1" not in shown


async def test_a_killed_reading_goes_on_without_repeating_a_call(tmp_path: Path) -> None:
    text, window = story_of(12), 500
    whole, model = await read(text, window)
    for kill_at in range(0, len(model.asked), 4):
        asked: list[str] = []

        def dies(request: Request, limit: int = kill_at, asked: list[str] = asked) -> str:
            if len(asked) == limit:
                raise ModelError("killed here")
            asked.append(request.path)
            return reader()(request)

        with Journal(tmp_path / f"{kill_at}.db") as journal:
            dying, rest = ScriptedModel(dies, capabilities=ASKED), ScriptedModel(reader(), capabilities=ASKED)
            with pytest.raises(ModelError, match="killed here"):
                await plan_from_story(
                    Run(RunContext(journal, SystemPrompts(PROMPTS), Cast.of(dying))), text, BRIEF, window
                )
            run = Run(RunContext(journal, SystemPrompts(PROMPTS), Cast.of(rest)))
            assert await plan_from_story(run, text, BRIEF, window) == whole
            assert len(asked) + len(rest.asked) == len(model.asked)


async def test_a_reply_that_cannot_be_read_is_an_error_that_says_where() -> None:
    with pytest.raises(ReplyError, match="at window/1/read_cast could not be read after 2 repairs"):
        await read(SHORT, read_cast="There is nobody.")


@pytest.mark.parametrize("text", ["", "\n\n", "# Only a title\n", "***"])
async def test_a_story_without_words_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="The story is empty"):
        await read(text)


async def test_windows_too_small_to_read_in_are_refused() -> None:
    with pytest.raises(UsageError, match="in windows of 10 tokens"):
        await read(SHORT, 10)


@pytest.mark.parametrize(
    ("context", "aids", "windows"), [(None, "off", 1), (8192, "off", 2), (100_000, "off", 1), (100_000, "on", 2)]
)
async def test_windows_fit_the_planners_context(context: int | None, aids: Aids, windows: int) -> None:
    model = ScriptedModel(reader(), capabilities=Capabilities(schema=True, context=context))
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(PROMPTS), Cast.of(model), aids=aids))
        await plan_from_story(run, story_of(30))
    assert sum("/read_cast" in request.path for request in model.asked) == windows


@pytest.mark.parametrize(
    ("judged", "share", "scenes", "expected"),
    [(10, 0.5, 2, 8), (1, 0.5, 2, 3), (5, 1.0, 1, 5), (10, 0.9, 9, 10), (1, 0.0, 9, 1)],
)
def test_importance_weighs_the_judgement_and_the_share_of_words(
    judged: int, share: float, scenes: int, expected: int
) -> None:
    assert importance(judged, share, scenes) == expected


@settings(deadline=None)  # the first example loads the sentence splitter
@given(st.lists(st.text(alphabet="ab .\n!", min_size=0, max_size=400), max_size=8), st.integers(200, 900))
def test_no_word_is_lost_or_doubled_in_paragraphs_and_windows(parts: list[str], tokens: int) -> None:
    story = Story("", ()).add("one", "\n\n".join(parts))
    text, marks = read_story(story, tokens)
    assert " ".join(text.paragraphs).split() == story.text.split()
    assert not marks
    windows = text.windows(tokens)
    assert tuple(p for window in windows for p in window.paragraphs) == text.paragraphs
    assert [window.first for window in windows[1:]] == [window.last + 1 for window in windows[:-1]]


def test_a_paragraph_longer_than_a_window_is_cut_at_sentences() -> None:
    sentence = "The lamp was lit and the wind went round the tower until the morning came. "
    text, _ = read_story(Story("", ()).add("one", sentence * 100 + "word " * 3000), 400)
    assert all(estimate_tokens(paragraph) <= 110 for paragraph in text.paragraphs)
    assert text.paragraphs[0].endswith("came.")


@settings(deadline=None)  # the first example loads the sentence splitter
@given(st.lists(st.tuples(st.integers(-5, 40), st.text(max_size=3)), max_size=9))
def test_any_borders_are_mended_into_a_partition(borders: list[tuple[int, str]]) -> None:
    text, _ = read_story(Story("", ()).add("one", story_of(20, 2)), 6000)
    begins = [at for at, _ in partition(borders, text)]
    assert begins[0] == 1
    assert begins == sorted(set(begins))
    assert begins[-1] <= 20


@pytest.mark.skipif(not GROUND_TRUTH.exists(), reason="the real stories are not here: they stay outside the project")
@pytest.mark.parametrize(("aids", "most"), [("off", USUAL_WINDOW), ("on", 9000)])
async def test_real_stories_are_read_whole(aids: Aids, most: int) -> None:
    lines = gzip.decompress(GROUND_TRUTH.read_bytes()).decode().splitlines()
    for story in [json.loads(line)["text"] for line in lines]:
        plan, model = await read(story, aids=aids)
        assert not check_plan(plan)
        asked = [numbers(request) for request in model.asked if "/read_cast" in request.path]
        paragraphs = [n for window in asked for n in window]
        assert paragraphs == list(range(1, len(paragraphs) + 1))
        assert max(sum(estimate_tokens(m.content) for m in r.messages) for r in model.asked) < most
