"""The listwise rubric against the paper: orders, sets, scores, the place's effect, agreement with people."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.base.errors import UsageError
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.evaluators.rubric.agreement import decided
from fabula.evaluators.rubric.algorithm import LABELS, orders_of
from fabula.evaluators.rubric.page import sections_of
from fabula.measure.items import Item
from fabula.measure.ratings import Rating
from fabula.measure.report import Report
from fabula.measure.report.page import page
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.stats.estimate import Estimate, Unscored
from fabula.story import Story

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.models.base import Request

RUBRIC = find("rubric")
FIELDS = {
    "story": ("logical_consistency", "thematic_coherence", "character_arc_completion"),
    "chapter": ("goal_conflict_outcome", "hook_and_close", "chapter_necessity"),
    "sentence": ("rhythm", "clarity", "syntax_variety"),
}
WORTH = {"magnet": 80, "single": 60, "ibsen": 30}


def item(system: str, prompt: str = "lamp", scenes: int = 1) -> Item:
    story = Story()
    for n in range(scenes):
        story = story.add(f"scene {n}", f"The {system} writes of lamp {n}.")
    return Item(f"{system}/{prompt}", story, system, prompt)


def items(prompts: Sequence[str] = ("lamp",), scenes: int = 1) -> list[Item]:
    return [item(system, prompt, scenes) for prompt in prompts for system in WORTH]


def fair(place: int, system: str) -> float:
    """Scores by system alone."""
    del place
    return WORTH[system]


def answering(score: Callable[[int, str], float]) -> Callable[[Request], str]:
    """A judge that finds out which system wrote which text and scores it."""

    def answer(request: Request) -> str:
        level = request.path.split("/")[1]
        shown = request.messages[-1].content
        found = {}
        for place, label in enumerate(LABELS):
            _, begins, rest = shown.partition(f"[Text {label}] ")
            if not begins:
                break
            text = rest.partition("[Text ")[0]
            system = next((name for name in WORTH if f"The {name} writes" in text), "magnet")
            value = score(place, system)
            names = (*FIELDS[level], "overall")
            found[label] = {"reason": f"{label} is {system}.", **dict.fromkeys(names, value)}
        return json.dumps(found)

    return answer


async def judged(
    stories: Sequence[Item],
    script: Any,  # noqa: ANN401 - as `ScriptedModel` takes it
    preset: Any = "improved",  # noqa: ANN401 - a preset
    capabilities: Capabilities | None = None,
    **config: Any,  # noqa: ANN401 - fields of Config
) -> tuple[Report, list[Request]]:
    model = ScriptedModel(script, capabilities=capabilities)
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(RUBRIC.prompt_folders(preset)), Cast.of(model)))
        settings = RUBRIC.config(preset, {**config})
        return await RUBRIC.evaluate(stories, run, settings), model.asked


def value(report: Report, of: str, what: str) -> float:
    scored = report.row(of, what).scored
    assert isinstance(scored, Estimate), scored
    return scored.value


# orders ---------------------------------------------------------------------------------------------------------------


def test_up_to_three_texts_are_shown_in_all_orders() -> None:
    assert [len(orders_of(count, 6, "1")) for count in (1, 2, 3, 4, 5, 7)] == [1, 2, 6, 4, 5, 6]
    assert set(orders_of(3, 6, "1")) == set(permutations(range(3)))


@given(st.integers(2, 6), st.integers(1, 23), st.text(max_size=3))
def test_seeded_orders_are_permutations_and_put_every_text_everywhere_equally_often(
    count: int, most: int, seed: str
) -> None:
    orders = orders_of(count, most, seed)
    assert orders == orders_of(count, most, seed)
    assert len(set(orders)) == len(orders) <= max(most, 1)
    assert all(sorted(order) == list(range(count)) for order in orders)
    if len(orders) >= count:
        places = Counter((place, text) for order in orders for place, text in enumerate(order))
        assert len(set(places.values())) == 1


async def test_calls_are_one_for_stories_and_five_for_the_other_levels_in_each_order() -> None:
    _, asked = await judged(items(scenes=6), answering(fair))
    assert Counter(request.path.split("/")[1] for request in asked) == {"story": 6, "chapter": 30, "sentence": 30}
    _, once = await judged(items(scenes=6), answering(fair), "faithful")
    assert len(once) == 11
    assert {request.sampling.temperature for request in once} == {0.1}
    texts = [request.messages[-1].content for request in once if "/chapter/" in request.path]
    for text in texts:  # the same scene of every story
        assert len({part.split(".")[0].split()[-1] for part in text.split("begins\n")[1:]}) == 1


async def test_stories_of_several_seeds_are_shown_seed_by_seed() -> None:
    seeds = [replace(item(system), id=f"{system}/{seed}") for system in WORTH for seed in range(6)]
    report, asked = await judged(seeds, answering(fair), "faithful", levels="story, chapter")
    assert Counter(request.path.split("/")[1] for request in asked) == {"story": 6, "chapter": 6}
    assert all("Here are 3 texts" in request.messages[-1].content for request in asked)
    scored = report.row("ibsen", "story/overall").scored
    assert isinstance(scored, Estimate)
    assert (scored.value, "over 6 stories" in scored.method) == (30, True)
    assert not [note for note in report.notes if "alone" in note]
    lacking, _ = await judged(seeds[:-1], answering(fair), "faithful", levels="story")  # a run failed
    assert not [note for note in lacking.notes if "alone" in note]
    lone, _ = await judged(seeds[:7], answering(fair), "faithful", levels="story")
    assert any(note.startswith("5 of 7 stories were scored alone") for note in lone.notes)


# scores ---------------------------------------------------------------------------------------------------------------


async def test_scores_are_those_of_the_text_whatever_its_label() -> None:
    report, _ = await judged(items(("lamp", "clock"), scenes=6), answering(fair))
    for system, worth in WORTH.items():
        for what in ("story/overall", "chapter/hook and close", "sentence/rhythm"):
            assert value(report, system, what) == worth
    scored = report.row("single", "story/overall").scored
    assert isinstance(scored, Estimate)
    assert (scored.n, scored.low, scored.high) == (2, None, None)
    assert "by 2 groups; no interval from 2 units" in scored.method
    for place in (1, 2, 3):
        assert value(report, f"place {place}", "effect/story") == 0
    assert value(report, "judge", "same best/sentence") == 1
    assert value(report, "first position", "best") == pytest.approx(1 / 3)
    assert not [note for note in report.notes if "moves its score" in note]


async def test_a_refused_call_has_no_scores_and_does_not_sink_the_others() -> None:
    fair_judge = answering(fair)
    declined = "I'm sorry, but I can't help with that."
    report, _ = await judged(items(), lambda asked: declined if "/story/" in asked.path else fair_judge(asked))
    lost = [rating for rating in report.ratings if rating.unscored]
    assert {rating.question for rating in lost} == {"story"}
    assert all("declined" in rating.unscored for rating in lost)
    assert any(rating.question == "chapter/overall" for rating in report.ratings)


async def test_a_liking_for_the_first_place_cancels_out_and_is_reported() -> None:
    def partial(place: int, system: str) -> float:
        return WORTH[system] + (12 if place == 0 else 0)

    report, _ = await judged(items(), answering(partial), levels="story")
    assert {system: value(report, system, "story/overall") for system in WORTH} == {
        "magnet": 84,
        "single": 64,
        "ibsen": 34,
    }
    assert value(report, "place 1", "effect/story") == pytest.approx(8)
    assert value(report, "place 3", "effect/story") == pytest.approx(-4)
    assert any("place 1, story, by 8 (n 1) points" in note for note in report.notes)
    once, _ = await judged(items(), answering(partial), "faithful", levels="story")
    assert isinstance(once.row("place 1", "effect/story").scored, Unscored)
    assert any("shown in one order" in note for note in once.notes)


async def test_a_judge_that_goes_by_the_place_never_has_the_same_best() -> None:
    report, _ = await judged(items(), answering(lambda place, _: 90 - place), levels="story")
    assert value(report, "judge", "same best/story") == 0
    assert value(report, "first position", "best") == 1
    assert len({value(report, system, "story/overall") for system in WORTH}) == 1


async def test_a_lost_reply_is_one_record_and_the_means_are_of_the_others() -> None:
    good = answering(fair)
    missing = json.dumps({"A": {"reason": "", **dict.fromkeys((*FIELDS["story"], "overall"), 50)}})

    def answer(request: Request) -> str:
        return missing if request.path.endswith("story/1/1-2-3/score") else good(request)

    report, _ = await judged(items(), answer, levels="story")
    (lost,) = [rating for rating in report.ratings if rating.unscored]
    assert (lost.items, lost.question, lost.answer) == (("magnet/lamp", "single/lamp", "ibsen/lamp"), "story", None)
    assert "B" in lost.unscored
    assert value(report, "magnet", "story/overall") == 80
    assert any(note.startswith("1 of 6 calls have no scores") for note in report.notes)


@pytest.mark.parametrize("wrong", [101, -1, "many", None])
async def test_a_score_out_of_range_is_sent_back(wrong: object) -> None:
    turns = iter([wrong, 70])

    def answer(request: Request) -> str:
        del request
        return json.dumps({"A": {"reason": "x", **dict.fromkeys((*FIELDS["story"], "overall"), next(turns))}})

    report, asked = await judged([item("single")], answer, levels="story")
    assert len(asked) == 2
    assert value(report, "single", "story/overall") == 70
    assert any("were scored alone" in note for note in report.notes)


async def test_texts_that_do_not_fit_together_are_not_shown() -> None:
    long = Story.parse("The magnet writes of a lamp that burns. " * 400)
    stories = [Item(system, long, system, "lamp") for system in WORTH]
    report, asked = await judged(stories, answering(fair), capabilities=Capabilities(context=8192))
    assert not [request for request in asked if "/story/" in request.path]
    scored = report.row("magnet", "story/overall").scored
    assert isinstance(scored, Unscored)
    assert "3 texts of the level story" in scored.reason
    assert "levels=chapter,sentence" in scored.reason


async def test_the_schema_asks_for_every_label_and_category_in_whole_numbers() -> None:
    model = Capabilities(schema=True)
    _, asked = await judged(items()[:2], answering(fair), "faithful", capabilities=model, levels="chapter")
    schema: Any = asked[0].schema
    assert schema["required"] == ["A", "B"]
    one = schema["properties"]["B"]
    assert set(one["required"]) == {"reason", *FIELDS["chapter"], "overall"}
    assert (one["properties"]["overall"]["type"], one["properties"]["overall"]["maximum"]) == ("integer", 100)


async def test_a_capable_judge_writes_as_much_as_it_has_to_say() -> None:
    for small, most in ((False, None), (True, 2048)):
        able = Capabilities(schema=True, small=small)
        _, asked = await judged(items()[:2], answering(fair), capabilities=able, levels="story")
        assert {request.sampling.max_tokens for request in asked} == {most}
        schema: Any = asked[0].schema
        assert schema["properties"]["A"]["properties"]["reason"].get("maxLength") == (240 if small else None)


async def test_too_many_stories_of_one_prompt_are_refused() -> None:
    stories = [Item(str(n), Story.parse("A lamp."), str(n), "lamp") for n in range(13)]
    with pytest.raises(UsageError, match=r"The prompt 'lamp' has stories by 13 systems, but a judge can see only 12"):
        await judged(stories, {})
    for wrong in ({"orders": 0}, {"temperature": -1.0}, {"passages": 0}):
        with pytest.raises(UsageError):
            await judged(items(), {}, **wrong)


async def test_the_page_shows_scores_and_reasons_escaped() -> None:
    def answer(request: Request) -> str:
        return answering(fair)(request).replace("A is", "<b>A</b> is")

    report, _ = await judged(items(), answer, levels="story")
    html = page("x", list(sections_of(report)))
    assert "&lt;b&gt;A&lt;/b&gt; is" in html
    assert "Overall score of 100: story" in html


# people ---------------------------------------------------------------------------------------------------------------


def choice(first: str, second: str, answer: str, question: str = "story/overall", rater: str = "Ines") -> Rating:
    return Rating(rater=rater, kind="person", items=(first, second), question=question, answer=answer)


async def test_choices_that_the_scores_share_are_counted_beside_those_of_length() -> None:
    stories = items()
    report, _ = await judged(stories, answering(fair), levels="story")
    words = {"magnet/lamp": 10, "single/lamp": 20, "ibsen/lamp": 30}
    people = [
        choice("magnet/lamp", "single/lamp", "magnet/lamp"),
        choice("ibsen/lamp", "single/lamp", "single/lamp"),
        choice("ibsen/lamp", "magnet/lamp", "ibsen/lamp"),
        choice("magnet/lamp", "ibsen/lamp", "same", "story/thematic coherence"),
        choice("magnet/lamp", "ibsen/lamp", "neither"),
        choice("magnet/lamp", "ibsen/lamp", "same", "plot"),
        Rating(rater="Ines", kind="person", items=("magnet/lamp",), question="story/overall", answer=3.0),
    ]
    rows, notes = decided(report, people, words)
    by_name = {(row.of, row.what): row for row in rows}
    scored = by_name["people", "prefer"].scored
    assert isinstance(scored, Estimate)
    assert (scored.value, scored.n) == (0.5, 3)
    length = by_name["length", "prefer"]
    assert length.baseline
    assert isinstance(length.scored, Estimate)
    assert length.scored.value == 0.25
    (note,) = notes
    assert note.startswith('Choices that do not count: 1 neither a story nor "same", 1 on stories or questions')
    split = [choice("magnet/lamp", "single/lamp", "single/lamp", rater=who) for who in ("Jon", "Eva")]
    more = {(row.of, row.what): row.scored for row in decided(report, [people[0], *split], words)[0]}
    majority = more["people", "prefer"]
    assert isinstance(majority, Estimate)
    assert (majority.value, majority.n) == (0, 1)
    assert decided(report, [], words) == ([], [])


def test_means_that_rounding_alone_sets_apart_are_the_same() -> None:
    scores = {"a": {"story/overall": 0.1 + 0.2}, "b": {"story/overall": 0.3}}
    rows, _ = decided(Report("rubric", details={"scores": scores}), [choice("a", "b", "same")], {})
    whole = next(row.scored for row in rows if row.what == "prefer" and row.of == "people")
    assert isinstance(whole, Estimate)
    assert whole.value == 1
