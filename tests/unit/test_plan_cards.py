from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.app.plan_cards import PlanCards, PlanPart, plan_cards
from fabula.base.errors import UsageError
from fabula.story.plan_file import parse_plan, unchecked_plan, write_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAN = """\
# My plan.
title: The Last Lamp
characters:
- name: Mara
- name: Tobias
scenes:
# the beginning
- name: The letter
  place: the lamp room
  time: 2
  characters: [Mara]
  outline:
    - Mara opens the letter.   # slowly
    - event: She remembers.
      time: 1
- name: The wreck
  time: 1
  outline: A ship founders.

- name: The night
  after: The wreck
  outline: [They wait.]
conflict: Somebody lit it.
"""
CHAPTERS = "# One\n\n## 1. Lamps (about 900 words)\nMara lights them.\n\n## 2. Storm (about 900 words)\nIt comes.\n"
LISTED = (
    "Place: The hall\nPlot element: Setup\nBeat: They meet.\n\nPlace: The pier\nPlot element: Climax\nBeat: They part."
)


def of_plan(text: str = PLAN, parts: tuple[PlanPart, ...] = ()) -> PlanCards:
    return plan_cards({"plan": text}, parts)


def titles(text: str) -> list[str]:
    return [scene.name for scene in unchecked_plan(text).scenes]


def test_a_plan_of_scenes_gives_a_card_each_with_what_is_written_of_it() -> None:
    found = of_plan(parts=(PlanPart("the-wreck", 320, ("stale",)),))
    assert (found.form, found.name, found.movable) == ("scenes", "plan", True)
    assert [card.title for card in found.cards] == ["The letter", "The wreck", "The night"]
    letter, wreck, night = found.cards
    assert (letter.outline, letter.scene.present, letter.scene.place, letter.scene.time) == (
        ("Mara opens the letter.", "She remembers."), ("Mara",), "the lamp room", "2")  # fmt: skip
    assert (wreck.part.words, wreck.name, wreck.part.state) == (320, "the-wreck", ("stale",))
    assert night.scene.after == ("The wreck",)


def test_moving_a_card_keeps_comments_and_the_other_scenes_as_they_are_written() -> None:
    text = of_plan().moved(1, 3)
    assert titles(text) == ["The wreck", "The night", "The letter"]
    assert text.startswith("# My plan.\ntitle: The Last Lamp\n")
    assert "# the beginning\n- name: The letter" in text
    assert "# slowly" in text
    assert text.rstrip().endswith("conflict: Somebody lit it.")


def test_an_order_has_to_name_every_card_once() -> None:
    assert titles(of_plan().ordered([3, 1, 2])) == ["The night", "The letter", "The wreck"]
    for wrong in ([1, 2], [1, 1, 2], [1, 2, 4], []):
        with pytest.raises(UsageError, match="must include every card once"):
            of_plan().ordered(wrong)


def test_what_is_removed_is_no_longer_named_as_earlier() -> None:
    plan = unchecked_plan(of_plan().removed(2))
    assert [scene.after for scene in plan.scenes] == [(), ()]
    with pytest.raises(UsageError, match="only card"):
        plan_cards({"plan": write_plan(plan.__class__(plan.scenes[:1]))}, ()).removed(1)
    with pytest.raises(UsageError, match="no card 9"):
        of_plan().removed(9)


def test_a_card_is_added_behind_another_with_its_part_of_the_arc() -> None:
    text = of_plan().added(1, "The  pier", "Tobias rows out.\nHe does not come back.")
    assert titles(text) == ["The letter", "The pier", "The wreck", "The night"]
    plan = parse_plan(text)
    assert [event.text for event in plan.scenes[1].outline] == ["Tobias rows out.", "He does not come back."]
    assert plan.scenes[1].element == plan.scenes[0].element
    assert "# slowly" in text
    with pytest.raises(UsageError, match="has no title"):
        of_plan().added(0, " ")
    with pytest.raises(UsageError, match="with a similar title"):
        of_plan().added(0, "the wreck")


def test_a_changed_card_keeps_what_its_form_does_not_show() -> None:
    fields = {
        "title": "The letters", "place": "the stair", "people": "Mara, Tobias", "importance": "7", "time": "3",
        "element": "climax", "outline": "Mara opens them.\nShe remembers.", "date": "in autumn",
    }  # fmt: skip
    text = of_plan().changed(1, fields)
    scene = parse_plan(text).scenes[0]
    assert (scene.name, scene.place, scene.present, scene.importance) == (
        "The letters",
        "the stair",
        ("Mara", "Tobias"),
        7,
    )
    assert (scene.time, scene.element, scene.date) == ("3", "climax", "in autumn")
    assert [(event.text, event.time) for event in scene.outline] == [("Mara opens them.", ""), ("She remembers.", "1")]
    assert "\n- name: The letters\n" in text  # indented as the others are
    assert of_plan().changed(3, {"title": "The wreck's night"}).count("# slowly") == 1


def test_a_new_name_is_taken_over_where_others_say_that_it_is_earlier() -> None:
    plan = unchecked_plan(of_plan().changed(2, {"title": "The loss"}))
    assert plan.scenes[2].after == ("The loss",)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"title": " "}, "title is empty"),
        ({"outline": "\n"}, "outline is empty"),
        ({"importance": "eleven"}, "between 1 and 10"),
        ({"importance": "0"}, "between 1 and 10"),
    ],
)
def test_what_a_field_cannot_hold_is_refused(fields: Mapping[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        of_plan().changed(1, fields)


def test_problems_stand_at_their_cards_and_a_plan_with_them_can_be_mended() -> None:
    found = of_plan(PLAN.replace("[Mara]", "[Mora]").replace("title: The", "demands: ['']\ntitle: The"))
    assert "'Mora' is none of the plan's characters" in found.cards[0].problems[0]
    assert not found.cards[1].problems
    assert "entry is empty" in found.problems[0]
    assert unchecked_plan(found.changed(1, {"people": "Mara"})).scenes[0].present == ("Mara",)


def test_a_plan_that_cannot_be_read_says_where_and_shows_no_cards() -> None:
    found = of_plan("scenes:\n  - name: 'open\n")
    assert (found.cards, found.movable) == ((), False)
    assert "A quotation mark is opened here" in found.problems[0]
    with pytest.raises(UsageError, match="Edit page"):
        found.added(0, "One")


def test_plans_in_other_styles_are_written_anew_where_they_cannot_be_kept() -> None:
    flow = "{title: T, scenes: [{name: A, outline: [a]}, {name: B, outline: [b]}]}"
    assert titles(of_plan(flow).moved(2, 1)) == ["B", "A"]
    last = "title: T\nscenes:\n  - name: A\n    outline: [a]\n  - name: B\n    outline: [b]"  # no line end
    assert of_plan(last).moved(1, 2) == (
        "title: T\nscenes:\n  - name: B\n    outline: [b]\n\n  - name: A\n    outline: [a]"
    )


def test_chapters_are_moved_with_their_text_and_numbered_anew() -> None:
    found = plan_cards({"chapters": CHAPTERS, "conflict": "..."}, (PlanPart("chapter-2", 900),))
    assert (found.form, [card.title for card in found.cards]) == ("chapters", ["Lamps", "Storm"])
    assert [card.part.words for card in found.cards] == [0, 900]
    assert found.moved(2, 1) == (
        "# One\n\n## 1. Storm (about 900 words)\nIt comes.\n\n## 2. Lamps (about 900 words)\nMara lights them."
    )
    assert "## 2. The pier\nThey walk." in found.added(1, "The pier", "They walk.")
    assert "Mara lights" not in found.removed(1)
    assert "## 1. Lamps\nOut." in found.changed(1, {"text": "## 1. Lamps\nOut."})


def test_the_name_of_a_chapters_text_moves_with_it_and_is_not_shown() -> None:
    text = "## 1. One (about 9 words) {#the-letter}\n\n## 2. Two {#two}\n\n## New\nThey row."
    found = plan_cards({"chapters": text}, (PlanPart("chapter-1", 7), PlanPart("the-letter", 9), PlanPart("two", 8)))
    assert [(card.title, card.part.words) for card in found.cards] == [("One", 9), ("Two", 8), ("New", 0)]
    assert found.moved(2, 1).startswith("## 1. Two {#two}\n\n## 2. One (about 9 words) {#the-letter}")


def test_a_list_of_scenes_is_moved_by_its_blocks() -> None:
    found = plan_cards({"scenes": LISTED, "characters": "..."}, ())
    assert [(card.title, " ".join(card.outline), card.scene.element) for card in found.cards] == [
        ("The hall", "They meet.", "Setup"), ("The pier", "They part.", "Climax")]  # fmt: skip
    assert found.moved(1, 2).split("\n\n") == LISTED.split("\n\n")[::-1]
    assert "Place: The sea\nPlot element: \nBeat: They row." in found.added(2, "The sea", "They row.")


def test_where_nothing_can_be_moved_the_cards_are_the_storys_parts_and_it_says_why() -> None:
    plot = "Told: I\n\n## Rising Action (about 180 words)\n- They meet.\n"
    parts = (PlanPart("exposition", 100), PlanPart("rising-action", 200))
    room = plan_cards({"plot": plot, "conflict": "A lamp."}, parts)
    assert (room.form, room.movable) == ("parts", False)
    assert [(card.title, " ".join(card.outline)) for card in room.cards] == [
        ("Exposition", ""),
        ("Rising action", "- They meet."),
    ]
    assert "plans in its own texts" in room.note
    assert "writes without a plan" in plan_cards({}, parts).note
    assert "neither a plan nor a story" in plan_cards({}, ()).note
    with pytest.raises(UsageError, match="Edit page"):
        room.moved(1, 2)
