"""The reader: what is one error, what is read again, what planted suspicions tell, what a report says is missing."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import UsageError
from fabula.continuity import NumberedScene, split
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.evaluators.atlas.checking import StoryCheck
from fabula.evaluators.atlas.improved import Ledger, ReadingWindow, parts_of
from fabula.evaluators.atlas.page import as_markdown, as_page, shown_value
from fabula.evaluators.atlas.planted import Quoting, broken, planted_in, score
from fabula.evaluators.atlas.quoting import StoryText
from fabula.evaluators.atlas.replies import NoteReply
from fabula.evaluators.atlas.reporting import spans_of
from fabula.measure.items import Item
from fabula.models.base import Capabilities, Reply
from fabula.models.scripted import ScriptedModel
from fabula.story import Scene, Story
from growth import LINEAR, growth

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabula.measure.report import Report
    from fabula.models.base import OnText, Request

ATLAS = find("atlas")
LAMP = (
    "Mara's eyes were grey. She kept the lamp, and she was forty.\n\n"
    "Tobias came over the hill in the rain with a basket of bread. A gull walked along the wall and thought.\n\n"
    "The bay lay flat under a low sky. Somewhere behind the chapel a saw went back and forth.\n\n"
    "He had never learnt to swim, and he said so to everybody.\n\n"
    "Her brown eyes followed him down to the boat."
)
GREY = {"paragraph_x": 1, "quote_x": "Mara's eyes were grey", "says_x": "Mara's eyes are grey"}
BROWN = {"paragraph_y": 5, "quote_y": "Her brown eyes", "says_y": "Mara's eyes are brown", "why": "Eyes keep a colour."}
EYES: dict[str, Any] = GREY | BROWN | {"category": "appearance", "sure": "certain"}


def check_by(
    answer: Callable[[Request], str],
    text: str = LAMP,
    *,
    context: int | None = None,
    small: bool = False,
    **values: object,
) -> tuple[Report, list[Request]]:
    """The report of a check whose roles a function plays, and all that was asked."""
    model = ScriptedModel(answer, capabilities=Capabilities(schema=True, context=context, small=small))

    async def one() -> Report:
        with Journal() as journal:
            run = Run(RunContext(journal, SystemPrompts(ATLAS.prompt_folders("improved")), Cast.of(model)))
            report: Report = await ATLAS.evaluate(
                (Item("lamp", Story("", (Scene("story", text),))),), run, ATLAS.config("improved", values)
            )
            return report

    return asyncio.run(one()), list(model.asked)


def playing(*findings: dict[str, Any], decision: str = "error", controls: str = "both_true", **said: object) -> Any:  # noqa: ANN401 - a script
    """Roles that name these findings, decide so on them and so on planted ones, and say this besides."""

    def answer(request: Request) -> str:
        if request.role == "reader":
            return json.dumps({"findings": findings})
        asked = re.findall(r"^(\d+)\. .*\n(Paragraph.*)", request.messages[-1].content, re.MULTILINE)
        decisions = [
            {
                "number": int(n),
                "reason": "So.",
                "decision": controls if re.search("harbour bell|tide mill", place) else decision,
            }
            for n, place in asked
        ]
        return json.dumps({"decisions": decisions} | said)

    return answer


def story_of(report: Report) -> dict[str, Any]:
    (story,) = report.details["stories"]
    return dict(story)


def all_of(report: Report) -> list[dict[str, Any]]:
    return list(story_of(report)["findings"])


# reading and places -------------------------------------------------------------------------------------------------


def test_a_heading_that_a_manuscript_has_itself_is_shown_once() -> None:
    told = (
        ("Chapter one", "## Chapter One\n\nIt rained."),
        ("Chapter 2 the storm", "Chapter 2: The Storm\n\nIt blew."),
        ("The end", "The end came."),
        ("Dawn", "Dawnlight."),
        ("Noon", "It was noon."),
    )
    text = StoryText([NumberedScene(n, title, text) for n, (title, text) in enumerate(told, 1)])
    assert [one.shown for one in text.paragraphs] == [
        "[1] ## Chapter One",
        "[2] It rained.",
        "[3] Chapter 2: The Storm",
        "[4] It blew.",
        "[5] The end came.",
        "[6] Dawnlight.",
        "[7] # Noon",
        "[8] It was noon.",
    ]


def test_an_error_inside_a_scene_counts_and_the_wrong_words_may_come_first() -> None:
    turned = {
        "paragraph_x": 5, "quote_x": "Her brown eyes", "says_x": "brown",
        "paragraph_y": 1, "quote_y": "Mara's eyes were grey", "says_y": "grey", "why": "Two colours.",
    }  # fmt: skip
    report, asked = check_by(playing(turned))
    (one,) = all_of(report)
    assert (one["paragraph_x"], one["paragraph_y"], one["x"], one["y"]) == (1, 5, 1, 1)
    assert (one["fact"], one["event"]) == ("grey", "brown")
    assert len(asked) == 2


def test_long_clauses_and_every_word_are_kept() -> None:
    long_ = "Mara, who had established the light with her own hands in what happens to be " + "a very long year " * 20
    report, _ = check_by(playing(EYES | {"says_x": long_}))
    assert all_of(report)[0]["fact"] == long_.strip()


def test_a_quotation_that_is_nowhere_gives_way_to_the_sentence_of_its_paragraph_that_is_likest() -> None:
    report, _ = check_by(playing(EYES | {"quote_y": "brown were the eyes that followed Tobias"}))
    assert all_of(report)[0]["quote_y"] == "Her brown eyes followed him down to the boat."
    assert story_of(report)["counts"]["quotations_not_word_for_word"] == 1


def test_the_whole_is_read_in_one_call_where_it_fits_and_in_windows_where_it_does_not() -> None:
    text = "\n\n".join(f"In year {n} Mara lit the lamp and counted the boats that came in." for n in range(700))
    assert [request.path for request in check_by(playing(), text, context=64_000)[1]] == ["lamp/read"]
    small = [request.path for request in check_by(playing(), text, context=16_000)[1]]
    assert small[0] == "lamp/part/1/read"
    assert len(small) > 1
    forced = [request.path for request in check_by(playing(), text, context=64_000, reading="windows")[1]]
    assert forced[0] == "lamp/part/1/read"


def test_parts_hold_every_paragraph_and_begin_with_the_end_of_the_one_before() -> None:
    scenes = [
        NumberedScene(n, f"Part {n}", "\n\n".join(f"Line {n}.{m} of the log." * 9 for m in range(40))) for n in (1, 2)
    ]
    paragraphs = StoryText(scenes).paragraphs
    parts = parts_of(paragraphs, 800)
    new = [one.number for part in parts for one in part.paragraphs if one.number >= part.first]
    assert new == [one.number for one in paragraphs]
    assert all(part.paragraphs[0].number < part.first for part in parts[1:])


def test_a_part_that_nobody_can_read_is_halved_and_what_is_left_out_is_named() -> None:
    text = "\n\n".join(f"In year {n} Mara lit the lamp and counted the boats that came in." for n in range(1, 701))

    def answer(request: Request) -> str:
        if any("In year 333 " in message.content for message in request.messages):
            return "I would rather not."
        return json.dumps({"findings": [], "notes": []})

    report, _ = check_by(answer, text, context=24_000)
    story = story_of(report)
    unread = story["by"]["unread"]
    assert 333 in unread
    assert len(unread) < 250
    assert story["partial"]
    assert any(f"Paragraphs {unread[0]} to {unread[-1]} were not read" in note for note in report.notes)
    assert story["scored"]


@pytest.mark.parametrize("halves", [True, False])
async def test_a_reply_that_was_cut_is_asked_for_in_halves_or_named(halves: bool) -> None:  # noqa: FBT001 - a case
    class Cut(ScriptedModel):
        async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
            reply = await super().ask(request, on_text)
            cut = request.role == "reader" and (request.path == "lamp/read" or not halves)
            return Reply(reply.text[:-2], finish="length", model=reply.model) if cut else reply

    model = Cut(playing(EYES), capabilities=Capabilities(schema=True))
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(ATLAS.prompt_folders("improved")), Cast.of(model)))
        item = Item("lamp", Story("", (Scene("story", LAMP),)))
        report = await ATLAS.evaluate((item,), run, ATLAS.config("improved"))
    assert len(all_of(report)) == 1  # found three times, and one error
    assert story_of(report)["partial"] is not halves
    assert any("Cut off at the model's limit: " in note for note in report.notes) is not halves


SWIMS: dict[str, Any] = {
    "paragraph_x": 4, "quote_x": "never learnt to swim", "says_x": "Tobias cannot swim",
    "paragraph_y": 5, "quote_y": "followed him down", "says_y": "Tobias swims", "why": "No.", "category": "ability",
}  # fmt: skip


@pytest.mark.parametrize("finish", ["length", "stop"])
async def test_of_a_reading_that_is_broken_off_the_complete_entries_are_kept_and_the_rest_is_asked_for(
    finish: Any,  # noqa: ANN401 - a literal
) -> None:
    class Broken(ScriptedModel):
        async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
            reply = await super().ask(request, on_text)
            if request.path == "lamp/read":
                return Reply(reply.text[: reply.text.index("followed him")], finish=finish, model=reply.model)
            if request.path == "lamp/verify/1/decide":
                return Reply(reply.text[: reply.text.index('"number": 2')], finish=finish, model=reply.model)
            return reply

    model = Broken(playing(EYES, SWIMS), capabilities=Capabilities(schema=True))
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(ATLAS.prompt_folders("improved")), Cast.of(model)))
        item = Item("lamp", Story("", (Scene("story", LAMP),)))
        report = await ATLAS.evaluate((item,), run, ATLAS.config("improved"))
    paths = ["lamp/read", "lamp/more-1/read", "lamp/verify/1/decide", "lamp/verify/1/more-1/decide"]
    assert [request.path for request in model.asked] == paths
    rest = model.asked[1].messages[-1].content
    assert '"Mara\'s eyes were grey", and paragraph 5' in rest
    assert 'followed him down", and' not in rest
    assert sorted(one["category"] for one in all_of(report)) == ["ability", "appearance"]
    assert not story_of(report)["partial"]


async def test_a_refusal_does_not_sink_the_check() -> None:
    class Refusing(ScriptedModel):
        async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
            if request.role == "verifier":
                return Reply("I cannot help with that.", finish="refusal", model=self.identity)
            return await super().ask(request, on_text)

    model = Refusing(playing(EYES), capabilities=Capabilities(schema=True))
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(ATLAS.prompt_folders("improved")), Cast.of(model)))
        item = Item("lamp", Story("", (Scene("story", LAMP),)))
        report = await ATLAS.evaluate((item,), run, ATLAS.config("improved"))
    story = report.details["stories"][0]
    assert story["partial"]
    assert story["counts"]["missing_verdicts"] == 1
    assert any("1 suspicion got no verdict" in note for note in report.notes)


# one error is one finding -------------------------------------------------------------------------------------------


def test_one_error_named_twice_is_one_finding() -> None:
    elsewhere = EYES | {"paragraph_x": 1, "quote_x": "eyes were grey", "says_x": "her eyes are grey"}
    other = EYES | {"quote_y": "followed him down to the boat", "says_y": "Mara's eyes are brown"}
    report, _ = check_by(playing(EYES, elsewhere, other))
    assert len(all_of(report)) == 1
    assert story_of(report)["counts"]["repeated_suspicions"] == 2


def test_a_third_place_of_one_error_is_kept_with_it() -> None:
    third = {"paragraph_y": 7, "quote_y": "brown eyes again", "says_y": "Mara's eyes are brown"}
    fourth = EYES | {"paragraph_x": 6, "quote_x": "grey eyes", "says_x": "her eyes are grey"}
    text = LAMP + "\n\nHer grey eyes closed.\n\nShe looked up, with brown eyes again."
    report, _ = check_by(playing(EYES, EYES | third, others=[fourth]), text)
    (one,) = all_of(report)
    assert (one["paragraph_x"], one["paragraph_y"], one["also_in_paragraphs"]) == (1, 5, [6, 7])


def test_a_quotation_that_reaches_into_the_next_paragraph_is_not_the_place_there() -> None:
    text = (
        "Mara's eyes were grey.\n\nIt was May, and her scarf was red.\n\nHer eyes were brown, and her scarf was blue."
    )
    y = {"paragraph_y": 3, "quote_y": "Her eyes were brown, and her scarf was blue", "why": "Two colours."}
    eyes = {"paragraph_x": 1, "quote_x": "eyes were grey. It was May, and her scarf was red", "says_x": "eyes, grey"}
    scarf = {"paragraph_x": 2, "quote_x": "her scarf was red", "says_x": "Mara's scarf is red"}
    found = eyes | y | {"says_y": "eyes, brown"}, scarf | y | {"says_y": "Mara's scarf is blue"}
    assert len(all_of(check_by(playing(*found), text)[0])) == 2


def test_two_errors_between_the_same_paragraphs_are_two_findings() -> None:
    age = EYES | {
        "quote_x": "she was forty",
        "says_x": "Mara is forty",
        "quote_y": "down to the boat",
        "says_y": "she is a child",
    }
    report, _ = check_by(playing(EYES, age))
    assert len(all_of(report)) == 2
    assert len({one["key"] for one in all_of(report)}) == 2


def test_what_the_verifier_names_besides_is_found_and_marked() -> None:
    swim = {
        "paragraph_x": 4, "quote_x": "never learnt to swim", "says_x": "he cannot swim",
        "paragraph_y": 5, "quote_y": "followed him down", "says_y": "he swims", "why": "No.", "category": "ability",
    }  # fmt: skip
    report, _ = check_by(playing(EYES, others=[swim, EYES]))
    assert sorted(one["source"] for one in all_of(report)) == ["reader", "verifier"]


# verdicts -----------------------------------------------------------------------------------------------------------


def test_what_is_not_confirmed_is_kept_with_the_verifiers_reason() -> None:
    report, _ = check_by(playing(EYES, decision="explained"))
    (one,) = story_of(report)["rejected"]
    assert not all_of(report)
    assert (one["attribute"], one["reason"]) == ("explained", "So.")
    assert story_of(report)["counts"]["rejected_explained"] == 1


def test_a_verifier_that_says_yes_to_everything_is_recognised() -> None:
    honest, _ = check_by(playing(EYES))
    assert not story_of(honest)["verifier_is_worthless"]
    report, asked = check_by(playing(EYES, controls="error"), LAMP + BELLS)
    assert story_of(report)["counts"]["controls_called_errors"] == 2
    assert story_of(report)["verifier_is_worthless"]
    assert any("Its verdicts are unreliable" in note for note in report.notes)
    assert len(all_of(report)) == 1  # planted suspicions are never findings
    assert "Treat its findings as suspicions" in as_page(report.as_data(), {}, ["fabula", "check", "s.md"])
    shown = asked[1].messages[-1].content
    assert not re.findall(r"control|planted", shown.partition(" ends\n")[2])


def test_what_the_check_itself_calls_worthless_is_not_called_certain() -> None:
    honest, _ = check_by(playing(EYES))
    assert [one["sure"] for one in all_of(honest)] == ["likely"]
    for report in (check_by(playing(EYES, controls="error"), LAMP + BELLS)[0], check_by(playing(EYES), small=True)[0]):
        assert [one["sure"] for one in all_of(report)] == ["suspected"]
        for shown in (as_page(report.as_data(), {}, ()), as_markdown(story_of(report), {})):
            assert "Appearance, suspected." in shown
            assert "likely" not in shown


def test_a_suspicion_without_a_verdict_stands_on_the_page() -> None:
    report, _ = check_by(lambda request: json.dumps({"findings": [EYES]}) if request.role == "reader" else "Hm.")
    (one,) = story_of(report)["undecided"]
    assert (one["quote_x"], one["sure"], one["reason"]) == ("Mara's eyes were grey", "suspected", "Eyes keep a colour.")
    page = as_page(report.as_data(), {}, ["fabula", "check", "s.md"])
    assert "Without a verdict" in page
    assert "<mark>Mara&#x27;s eyes were grey</mark>" in page
    assert "Without a verdict: Mara's eyes are grey" in as_markdown(story_of(report), {})


BELLS = (
    "\n\nThe harbour bell hung in the old tower.\n\nEvery morning the harbour bell called the boats in."
    "\n\nThe tide mill stood beside the chapel.\n\nA boy swept the floor of the tide mill."
)


def test_planted_suspicions_agree_on_one_thing_and_are_worded_as_others_are() -> None:
    _, asked = check_by(playing(EYES), LAMP + BELLS)
    shown = asked[1].messages[-1].content.partition(" ends\n")[2].partition("Any of them may be right")[0]
    whys = re.findall(r"^\d+\. (.*)\nParagraph (\d+), \"(.*)\": .*\nParagraph (\d+), \"(.*)\":", shown, re.MULTILINE)
    planted = [(why, x, y) for why, _, x, _, y in whys if why != EYES["why"]]
    assert len(planted) == 2
    for why, x, y in planted:
        (thing,) = [one for one in ("harbour bell", "tide mill") if one in x]
        assert thing in y
        assert why.count(thing) == 2
        assert "agree" not in why
    assert planted[0][0].split()[:2] != planted[1][0].split()[:2]


def test_without_sentences_that_agree_nothing_is_planted() -> None:
    report, _ = check_by(playing(EYES))
    assert "controls" not in story_of(report)["counts"]
    assert not any(row.what == "planted suspicions called errors" for row in report.rows)


@pytest.mark.parametrize(("suspicions", "calls"), [(0, 0), (12, 1), (14, 1), (16, 1), (18, 2)])
def test_two_suspicions_more_are_no_second_reading_of_the_whole(suspicions: int, calls: int) -> None:
    text = "\n\n".join(f"Lamp {n} is red and has {n} wicks. Lamp {n} is blue." for n in range(1, 19))
    found = [
        {"paragraph_x": n, "quote_x": f"Lamp {n} is red", "paragraph_y": n, "quote_y": f"Lamp {n} is blue", "why": "?"}
        for n in range(1, suspicions + 1)
    ]
    report, asked = check_by(playing(*found), text)
    assert len(all_of(report)) == suspicions
    sizes = [len(re.findall(r"^\d+\. ", one.messages[-1].content, re.MULTILINE)) for one in asked[1:]]
    assert len(sizes) == calls
    assert max(sizes, default=0) - min(sizes, default=0) <= 1


def test_a_small_reader_is_said_to_be_too_small() -> None:
    for small in (True, False):
        report, _ = check_by(playing(EYES), small=small)
        assert any("the reader is a small model" in note for note in report.notes) is small


def test_the_verifier_sees_in_a_long_story_what_is_around_both_places_and_speaks_of_the_same() -> None:
    def filler(low: int, high: int) -> str:
        return "\n\n".join(f"In year {n} the tide took {n} boats, and the wind turned." * 3 for n in range(low, high))

    text = "\n\n".join(
        [
            "Corvin wore a green scarf.",
            filler(1, 400),
            "Corvin gave his scarf to the ragman.",
            filler(400, 800),
            "Corvin tied his scarf.",
        ]
    )
    scarf = {
        "paragraph_x": 1, "quote_x": "Corvin wore a green scarf", "says_x": "Corvin has a green scarf",
        "paragraph_y": 802, "quote_y": "Corvin tied his scarf", "says_y": "Corvin has his scarf", "why": "It is gone.",
    }  # fmt: skip
    _, asked = check_by(playing(scarf), text, context=24_000, reading="windows")
    shown = next(request.messages[-1].content for request in asked if request.role == "verifier")
    assert "[401] Corvin gave his scarf" in shown
    assert "[...]" in shown
    assert "In year 200 " not in shown


def test_suspicions_without_a_place_in_the_story_are_told() -> None:
    nowhere = EYES | {
        "paragraph_x": 900,
        "quote_x": "zz",
        "says_x": "",
        "paragraph_y": 901,
        "quote_y": "yy",
        "says_y": "",
    }
    report, _ = check_by(playing(nowhere))
    assert not all_of(report)
    assert any("left out: 1 suspicion without two places in this story" in note for note in report.notes)


def test_one_reason_for_many_calls_is_said_once() -> None:
    report, _ = check_by(lambda _: "I cannot.")
    (said,) = [note for note in report.notes if "what was wrong" in note]
    assert said.count("could not be read after") == 1
    assert "times)" in said


# reports ------------------------------------------------------------------------------------------------------------


def test_a_dismissed_finding_is_counted_apart() -> None:
    report, _ = check_by(playing(EYES))
    row = next(row for row in report.as_data()["rows"] if row["what"] == "findings")
    assert shown_value(row, {}) == "1"
    assert shown_value(row, {"lamp": 1}) == "1 found, 1 dismissed"
    others = [row for row in report.as_data()["rows"] if row["what"].startswith(("of these", "findings per"))]
    assert len(others) == 2
    assert all(shown_value(row, {"lamp": 1}).endswith(", dismissed ones counted") for row in others)
    key = all_of(report)[0]["key"]
    page = as_page(report.as_data(), {key: "a trick of the light"}, ["fabula", "check", "s.md"])
    assert "1 found, 1 dismissed" in page
    assert "Dismissed: a trick of the light" in as_markdown(story_of(report), {key: "a trick of the light"})


def test_a_report_as_markdown_quotes_both_places_and_leaves_no_markup_alive() -> None:
    text = LAMP.replace("brown", "<b>*brown*</b>")
    report, _ = check_by(playing(EYES | {"quote_y": "Her <b>*brown*</b> eyes followed him"}), text)
    told = as_markdown(story_of(report), {})
    assert "Paragraph 1 (scene 1, line 1):" in told
    assert "Paragraph 5 (scene 1, line 9):" in told
    assert r"> Her \<b\>\*brown\*\</b\> eyes followed him" in told
    assert "<b>" not in told
    assert "Appearance, likely." in told.replace("certain", "likely")


def test_a_story_in_another_language_is_named() -> None:
    german = "Der Leuchtturm stand auf dem Felsen, und niemand wusste, wer das Licht jede Nacht entzündete. " * 6
    report, _ = check_by(playing(), german)
    assert any("does not look like English" in note for note in report.notes)
    report, _ = check_by(playing(), LAMP)
    assert not any("does not look like English" in note for note in report.notes)


@pytest.mark.parametrize(
    ("numbers", "told"), [([1], "1"), ([3, 1, 2], "1 to 3"), ([1, 2, 4, 9, 10], "1 to 2, 4, 9 to 10")]
)
def test_numbers_are_told_as_spans(numbers: list[int], told: str) -> None:
    assert spans_of(numbers) == told


# planted errors -----------------------------------------------------------------------------------------------------

STORY: dict[str, Any] = {
    "id": "lamp",
    "text": LAMP.replace("brown", "grey"),
    "errors": [
        {"id": "lamp-1", "kind": "appearance", "needs": "lookup", "find": "Her grey eyes", "replace": "Her brown eyes"}
    ],
    "decoys": [{"quote_a": "she was forty", "quote_b": "never learnt to swim", "why_no_error": "Many have not."}],
}


def test_planted_errors_are_known_in_the_broken_text_alone() -> None:
    assert broken(STORY) == LAMP
    assert [one.place for one in planted_in(STORY, LAMP, "x").errors] == [
        (LAMP.index("Her brown"), LAMP.index(" followed"))
    ]
    assert not planted_in(STORY, STORY["text"], "x").errors
    assert planted_in(STORY, STORY["text"], "x").decoys


def test_a_check_is_scored_against_planted_errors_and_decoys(tmp_path: Path) -> None:
    file = tmp_path / "lamp.json"
    file.write_text(json.dumps(STORY), encoding="utf-8")
    decoy = {
        "paragraph_x": 1,
        "quote_x": "she was forty",
        "paragraph_y": 4,
        "quote_y": "never learnt to swim",
        "why": "Odd.",
    }
    report, _ = check_by(playing(EYES, decoy), gold=str(file))
    rows = {row.what: row.scored.as_data() for row in report.rows}
    assert (rows["recall"]["value"], rows["precision"]["value"]) == (1.0, 0.5)
    assert rows["recall, needs lookup"]["low"] > 0
    assert rows["decoys called errors"]["value"] == 1.0
    assert rows["other findings per 10,000 words"]["value"] > 0
    planted = story_of(report)["scoring"]["planted"]
    assert planted["errors"][0]["kind_agrees"]
    assert (planted["suspicions"], planted["suspicions_that_are_errors"]) == (2, 1)


def test_a_second_finding_of_a_planted_error_is_no_false_one() -> None:
    at = LAMP.index("Her brown")
    twice = [Quoting(key, "appearance", ((0, 5), (at, at + 9)), ((0, 22), (at, at + 40))) for key in ("a", "b")]
    scored = score(twice, planted_in(STORY, LAMP, "x"))
    assert (len(scored.found), scored.false) == (1, ())


# size ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["a", "A ", "é", "。", "7", '"', "[", "\n", " ", "-", "…", "\u0301", "\u200b", "漢"])
def test_hostile_texts_are_read_in_linear_time(sign: str) -> None:
    text = StoryText([NumberedScene(1, "", f"Mara came. {sign * (100_000 // len(sign))} She left.")])
    assert text.paragraphs
    text.find_near(1, sign * 300 + " nowhere")
    assert text.find_near(1, "Mara came") is not None


def test_quotations_are_found_in_linear_time() -> None:
    year = "In year {0} Mara met {0} boats at the quay and said it was raining."

    def of(years: int) -> StoryText:
        return StoryText([NumberedScene(1, "", "\n\n".join(year.format(n) for n in range(years)))])

    def looked_for(text: StoryText) -> None:
        for n in range(10, 100, 10):
            assert text.find_near(n, "the paper lantern went out over some distant hills") is None
            found = text.find_near(n, "it was raining.")
            assert found is not None
            assert text.paragraph_of(found) == n

    assert growth(looked_for, of, 2_000) < LINEAR


# notes and gold of several stories ----------------------------------------------------------------------------------


def test_notes_without_room_are_left_out_by_rank_and_counted() -> None:
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(ATLAS.prompt_folders("improved")), Cast.of(ScriptedModel({}))))
        check = StoryCheck(run, Item("lamp", Story()), split(LAMP), ATLAS.config("improved"))
        ledger = Ledger(check, parts=2, room=22)
        first, second = (ReadingWindow(n, (one,), one.number) for n, one in enumerate(check.text.paragraphs[3:5], 1))
        told = [
            (4, "the tower", "it has nine steps", "number"),
            (4, "Tobias", "he cannot swim", "ability"),
            (4, "Mara", "her eyes are grey", "appearance"),
            (4, "the light", "it is never put out", "rule"),
            (4, "", "it rained", "weather or light"),
            (9, "Mara", "she is of no paragraph here", "age"),
        ]
        ledger.add(first, [NoteReply(paragraph=n, about=a, fact=f, category=c) for n, a, f, c in told])
        assert check.counts["dropped_notes"] == 1
        lines, left_out = ledger.shown(second)
        assert "[4] the light: it is never put out" in lines
        assert left_out == check.counts["notes_left_out"] == 5 - len(lines) > 0
        assert "[4] the tower: it has nine steps" not in lines
        ledger.room = 1000
        assert len(ledger.shown(second)[0]) == 5


def test_the_verifier_gets_lasting_notes_on_what_it_does_not_see() -> None:
    def answer(request: Request) -> str:
        if request.role == "verifier":
            return json.dumps({"decisions": []})
        shown = request.messages[-1].content
        notes = [
            {
                "paragraph": 30,
                "about": "Corvin",
                "fact": "he was born in 1899",
                "category": "age",
                "by": "Corvin, who jokes",
            }
        ]
        last = re.findall(r"^\[(\d+)\]", shown, re.MULTILINE)[-1]
        found = {"paragraph_x": 700, "quote_x": "In year 699", "paragraph_y": int(last), "quote_y": "Corvin was ninety"}
        return json.dumps({"findings": [found | {"why": "Ages."}] if "ninety" in shown else [], "notes": notes})

    filler = "\n\n".join(f"In year {n} the tide took {n} boats, and the wind turned." * 3 for n in range(1, 900))
    _, asked = check_by(answer, f"Corvin came.\n\n{filler}\n\nCorvin was ninety.", context=24_000, reading="windows")
    (shown,) = [request.messages[-1].content for request in asked if request.role == "verifier"]
    assert "[30] Corvin: he was born in 1899 (Corvin, who jokes)" in shown


def several(tmp_path: Path, gold: object, *ids: str) -> Report:
    file = tmp_path / "gold.json"
    file.write_text(json.dumps(gold), encoding="utf-8")
    model = ScriptedModel(playing(EYES), capabilities=Capabilities(schema=True))

    async def one() -> Report:
        with Journal() as journal:
            run = Run(RunContext(journal, SystemPrompts(ATLAS.prompt_folders("improved")), Cast.of(model)))
            items = tuple(Item(name, Story("", (Scene("story", LAMP),))) for name in ids)
            report: Report = await ATLAS.evaluate(items, run, ATLAS.config("improved", {"gold": str(file)}))
            return report

    return asyncio.run(one())


def test_planted_errors_of_several_stories_are_scored_by_their_ids(tmp_path: Path) -> None:
    report = several(tmp_path, [STORY, STORY | {"id": "other", "decoys": []}], "lamp", "other")
    assert report.row("all", "recall").scored.as_data()["n"] == 2
    assert report.row("other", "decoys called errors").scored.as_data()["unscored"] == "there are no decoys"
    with pytest.raises(UsageError, match="has no story 'third'; it has lamp, other"):
        several(tmp_path, [STORY, STORY | {"id": "other"}], "lamp", "third")


@pytest.mark.parametrize(
    "edit",
    [{"find": "nowhere"}, {"find": "Mara"}, {"replace": 7}, {"find": None}],
    ids=["not there", "twice", "no text", "missing"],
)
def test_planted_errors_that_are_none_are_named(edit: dict[str, Any], tmp_path: Path) -> None:
    text = STORY["text"].replace("Tobias", "Mara")
    error = STORY["errors"][0] | edit
    with pytest.raises(UsageError, match="not a story with planted errors"):
        several(tmp_path, STORY | {"text": text, "errors": [error]}, "lamp")


def test_words_that_were_taken_out_are_known_by_what_stands_around() -> None:
    gone = {"id": "g", "kind": "event_order", "needs": "inference", "find": " and she was forty", "replace": ""}
    data = {"id": "lamp", "text": LAMP, "errors": [gone], "decoys": []}
    (error,) = planted_in(data, broken(data), "x").errors
    assert broken(data)[slice(*error.place)].count("kept the lamp") == 1
    assert not planted_in(data, LAMP, "x").errors
