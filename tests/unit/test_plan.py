from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from decimal import Decimal

import pytest

from fabula.base.errors import UnknownNameError, UsageError
from fabula.story.plan import ARC, Character, Event, Plan, Presence, ScenePlan, story_time
from fabula.story.plan_check import check_plan


def scene(name: str, time: str = "", *after: str, events: tuple[str, ...] = ("x",)) -> ScenePlan:
    """A scene; an event "text@time" has its own time."""
    outline = tuple(Event(text, own) for text, _, own in (event.partition("@") for event in events))
    return ScenePlan(name, outline, time=time, after=after)


def plan(*scenes: ScenePlan) -> Plan:
    return Plan(scenes)


def played(one: Plan, *order: str) -> list[str]:
    """The units as text, such as "A1:x,y"."""
    return [f"{u.scene.name}{u.part}:{','.join(e.text for e in u.events)}" for u in one.units(order)]


def said(one: Plan) -> list[str]:
    return [str(problem) for problem in check_plan(one)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("3", ["3"]),
        ("-10", ["-10"]),
        ("\u221210", ["-10"]),
        ("+2.5", ["2.5"]),
        (" 1921 ", ["1921"]),
        ("1921-05", ["1921", "5"]),
        ("1921-05-03", ["1921", "5", "3"]),
        ("1921-05-03 14:30", ["1921", "5", "3", "14", "30"]),
        ("19:10", ["0", "19", "10"]),
        ("1921-05-03T14:30:09", ["1921", "5", "3", "14", "30", "9"]),
        ("-44-3-15", ["-44", "3", "15"]),
    ],
)
def test_a_story_time_has_parts(text: str, parts: list[str]) -> None:
    assert story_time(text) == tuple(map(Decimal, parts))


@pytest.mark.parametrize(
    "text",
    ["", " ", "noon", "24:30", "9:60", "1921-13", "1921-00", "1921-05-32", "1921-05-03 24:00", "1921-05-03 9:60",
     "1921-05 14:30", "3.", ".5", "1e3", "1_000", "\u0663", "nan", "inf", "9" * 21, "1921/05/03", "3 4", "--3"],
)  # fmt: skip
def test_what_is_no_story_time(text: str) -> None:
    assert story_time(text) is None


def test_story_times_compare_part_by_part() -> None:
    mixed = [
        "1921-05",
        "3",
        "1921-06",
        "-3",
        "1921",
        "2.5",
        "1921-05-03 14:30",
        "-20",
        "1921-05-03",
        "1921-05-03 09:05",
    ]
    in_order = [
        "-20",
        "-3",
        "2.5",
        "3",
        "1921",
        "1921-05",
        "1921-05-03",
        "1921-05-03 09:05",
        "1921-05-03 14:30",
        "1921-06",
    ]
    assert sorted(mixed, key=lambda time: story_time(time) or ()) == in_order
    assert story_time("3.0") == story_time("3")


def test_times_settle_the_order() -> None:
    assert plan(scene("A", "3"), scene("B", "1"), scene("C", "2")).chronology() == ("B", "C", "A")


def test_equal_times_keep_the_order_of_telling_unless_after_says_otherwise() -> None:
    assert plan(scene("A", "2"), scene("B", "1"), scene("C", "1")).chronology() == ("B", "C", "A")
    assert plan(scene("A", "1", "C"), scene("B", "1"), scene("C", "1")).chronology() == ("B", "C", "A")


def test_after_settles_the_order_by_chains() -> None:
    assert plan(scene("A", "", "B"), scene("B", "", "C"), scene("C")).chronology() == ("C", "B", "A")
    assert plan(scene("A", "9"), scene("B", "", "A"), scene("C", "2")).chronology() == ("C", "A", "B")


def test_an_order_that_is_only_partly_known_is_not_settled() -> None:
    assert plan(scene("A"), scene("B")).chronology() is None
    assert plan(scene("A", "1"), scene("B")).chronology() is None
    assert plan(scene("A", "", "C"), scene("B", "", "C"), scene("C")).chronology() is None
    assert plan(scene("A", "1"), scene("B", "", "A"), scene("C", "1")).chronology() is None  # B and C


def test_an_assumed_order_keeps_to_what_is_known() -> None:
    partly = Plan((scene("a"), scene("b", "7"), scene("c", "", "e"), scene("d", "3"), scene("e")))
    order = partly.assumed_chronology()
    assert order == ("a", "d", "b", "e", "c")
    assert partly.accepts(order) == ""
    assert Plan((scene("c"), scene("a"), scene("b"))).assumed_chronology() == ("c", "a", "b")
    assert Plan(()).assumed_chronology() == ()


def test_one_scene_is_settled_and_a_circle_never() -> None:
    assert plan(scene("A")).chronology() == ("A",)
    assert plan(scene("A", "", "B"), scene("B", "", "A")).chronology() is None
    assert plan(scene("A", "1", "B"), scene("B", "2")).chronology() is None


THREE = plan(scene("A", "2"), scene("B", "1"), scene("C", "", "A"))


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ("BAC", ""),
        ("BAX", "The order names 'X', which the plan does not have; name only scenes of the plan."),
        ("BAAC", "The order names 'A' more than once; name every scene exactly once."),
        ("B", "The order leaves out 'A', 'C'; name every scene exactly once."),
        ("ABC", "'B' happens before 'A' (their times are 1 and 2), but the order has it after; move it before."),
        ("BCA", "'A' happens before 'C' (the plan says so), but the order has it after; move it before."),
    ],
)
def test_an_order_is_accepted_or_told_why_not(order: str, says: str) -> None:
    assert THREE.accepts(order) == says
    if says and set(order) == set("ABC"):
        with pytest.raises(UsageError) as caught:
            THREE.units(order)
        assert str(caught.value) == says


def test_scenes_of_equal_time_may_come_in_any_order() -> None:
    one = plan(scene("A", "1"), scene("B", "1.0"))
    assert one.accepts(["B", "A"]) == one.accepts(["A", "B"]) == ""


def test_a_scene_without_flashbacks_is_one_unit() -> None:
    assert played(plan(scene("A", events=("x", "y")), scene("B")), "B", "A") == ["B1:x", "A1:x,y"]


def test_events_of_one_time_are_one_unit_in_the_order_of_telling() -> None:
    one = plan(scene("A", "5", events=("x", "f@1", "y@5.0", "g@1.0", "z")))
    assert played(one, "A") == ["A1:f,g", "A2:x,y,z"]


def test_a_flashback_is_played_at_its_place_among_all_scenes() -> None:
    one = plan(scene("A", "1"), scene("B", "3"), scene("C", "5", events=("x", "f@2", "g@0", "h@9", "i@4")))
    assert played(one, "A", "B", "C") == ["C1:g", "A1:x", "C2:f", "B1:x", "C3:i", "C4:x", "C5:h"]


def test_equal_times_of_two_scenes_keep_the_order_of_telling() -> None:
    one = plan(scene("A", "9", events=("x", "f@3")), scene("B", "3"), scene("C", "9", events=("x", "g@3", "h@3")))
    assert played(one, "B", "A", "C") == ["A1:f", "B1:x", "C1:g,h", "A2:x", "C2:x"]


def test_without_scene_times_flashbacks_come_directly_before_their_scene() -> None:
    one = plan(scene("A"), scene("B", events=("x", "f@1921", "g@1910")))
    assert played(one, "A", "B") == ["A1:x", "B1:g", "B2:f", "B3:x"]


def test_flashbacks_of_scenes_without_times_agree_with_each_other() -> None:
    one = plan(scene("A", events=("x", "f@1921")), scene("B", events=("x", "g@1910")))
    assert played(one, "A", "B") == ["B1:g", "A1:f", "A2:x", "B2:x"]
    assert played(one, "B", "A") == ["B1:g", "B2:x", "A1:f", "A2:x"]


def test_a_look_ahead_of_a_scene_without_a_time_waits_for_the_scenes_before_it() -> None:
    one = plan(scene("A", events=("x", "f@7")), scene("B", "5"), scene("C"))
    assert played(one, "A", "B", "C") == ["A1:x", "B1:x", "A2:f", "C1:x"]


def test_a_scene_may_consist_of_flashbacks_only() -> None:
    one = plan(scene("A", "5", events=("f@1", "g@2")), scene("B", "2.5"))
    assert played(one, "B", "A") == ["A1:f", "A2:g", "B1:x"]


def test_an_event_time_that_cannot_be_read_counts_as_none() -> None:
    assert played(plan(scene("A", "5", events=("x", "y@noon"))), "A") == ["A1:x,y"]


def test_anachronies_count_crossing_pairs() -> None:
    one = plan(scene("A"), scene("B"), scene("C"))
    assert [one.anachronies(order) for order in ("ABC", "BAC", "CAB", "CBA")] == [0, 1, 2, 3]


def test_scenes_and_characters_are_found_by_name() -> None:
    one = Plan((scene("The Wreck"),), (Character("Mara"), Character("Tobias")))
    assert one.scene("The Wreck") is one.scene("the wreck!") is one.scenes[0]
    assert one.character("MARA") is one.characters[0]
    assert (one.names, Presence("Mara").goal) == (("The Wreck",), "")
    with pytest.raises(UnknownNameError, match=r"Unknown scene 'Storm'\. Known: The Wreck"):
        one.scene("Storm")
    with pytest.raises(UnknownNameError, match=r"Unknown character 'Storm'\. Known: Mara, Tobias"):
        one.character("Storm")


def test_a_plan_is_a_brief_where_it_has_none() -> None:
    one = Plan(
        (scene("A"),),
        (
            Character("Mara", "hero", "woman", "58", "She keeps\nthe lamp", speech="Slow.", goal="rest"),
            Character("They", group=True),
        ),
        "The lamp goes out.",
        "A cape.",
        "The Lamp",
    )
    assert one.as_brief() == (
        'Write a story called "The Lamp".\n\n'
        "It is about this: The lamp goes out.\n\n"
        "It is set here: A cape.\n\n"
        "Its characters are:\n"
        "- Mara (hero, woman, 58) - She keeps the lamp. Way of speaking: Slow. Wants: rest.\n"
        "- They (a group)"
    )
    assert replace(one, brief="Mine.").as_brief() == "Mine."
    assert plan(scene("A")).as_brief() == "Write a story."


GOOD = ScenePlan("A", (Event("x"),), characters=(Presence("Mara"),))
NO_TIME = "is not a story time. Write a number (3, -10, 2.5) or a date (1921-05-03, 1921-05-03 14:30), or leave it out."
CAST = (Character("Mara"), Character("Tobias"))


def test_a_good_plan_has_no_problems() -> None:
    assert check_plan(Plan((GOOD,), CAST)) == ()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": ""}, "scene 1 > name: This scene has no name. Add one."),
        ({"name": "a\nb"}, "scene 'a b' > name: The name has line breaks. Write it on one line."),
        ({"name": "a  b "},
         "scene 'a b' > name: The name contains unnecessary spaces. Remove them."),
        ({"name": "a --> b"},
         "scene 'a --> b' > name: The name contains '-->', which marks scenes in manuscripts. Remove it."),
        ({"name": "a\x07"}, "scene 'a\\x07' > name: The name contains a control character. Remove it."),
        ({"name": "n" * 201},
         f"scene '{'n' * 59}\u2026' > name: The name has 201 characters, but the maximum is 200. Use a shorter name."),
        ({"outline": ()}, ("scene 'A' > outline: It contains no events. Describe what happens, with one entry "
        "for each event.")),
        ({"outline": (Event("x"), Event(" "))},
         "scene 'A' > outline 2: This event is empty. Describe what happens, or remove the event."),
        ({"outline": (Event("x", "noon"),)},
         f"scene 'A' > outline 1 > time: 'noon' {NO_TIME}"),
        ({"time": "1921-14"},
         f"scene 'A' > time: '1921-14' {NO_TIME}"),
        ({"element": "Climaks"}, "scene 'A' > element: 'Climaks' is not a part of the arc. Did you mean 'climax'?"),
        ({"element": "?"},
         f"scene 'A' > element: '?' is not a part of the arc. There are {', '.join(map(repr, ARC))}."),
        ({"importance": 0},
         "scene 'A' > importance: 0 is not between 1 and 10. Write a number from 1 (lowest) to 10."),
        ({"importance": 11},
         "scene 'A' > importance: 11 is not between 1 and 10. Write a number from 1 (lowest) to 10."),
        ({"characters": (Presence("Mira"),)},
         "scene 'A' > characters 1: 'Mira' is none of the plan's characters. Did you mean 'Mara'?"),
        ({"characters": (Presence("Mara"), Presence("Mara"))},
         "scene 'A' > characters 2: 'Mara' appears twice. Remove one."),
        ({"after": ("B",)}, "scene 'A' > after 1: 'B' is none of the plan's scenes. There are 'A'."),
        ({"after": ("a",)}, "scene 'A' > after 1: 'a' is none of the plan's scenes. Did you mean 'A'?"),
        ({"after": ("A",)}, "scene 'A' > after 1: The scene cannot happen after itself. Remove the name."),
    ],
)  # fmt: skip
def test_a_problem_of_a_scene_is_told(change: dict[str, object], says: str) -> None:
    changes: dict[str, str] = {**change}  # type: ignore[dict-item]  # fields of several types
    assert said(Plan((replace(GOOD, **changes),), CAST)) == [says]  # type: ignore[arg-type]  # fields of several types


def test_problems_of_the_whole_plan_are_told() -> None:
    assert said(Plan(())) == ["scenes: The plan has no scenes. Write at least one scene with a name and an outline."]
    assert said(Plan((scene("x"),) * 2_001)) == [
        "scenes: The plan has 2,001 scenes, but the maximum is 2,000. Leave some out."
    ]
    assert said(
        Plan((scene("The Wreck"), scene("the wreck?")), (Character("Ma ra"), Character(""), Character("ma-ra")))
    ) == [
        "character 2 > name: This character has no name. Add one.",
        (
            "character 'ma-ra' > name: It has the same name as character 1: file names would be the same ('ma-ra'). "
            "Give one of them another name."
        ),
        (
            "scene 'the wreck?' > name: It has the same name as scene 1: file names would be the same ('the-wreck'). "
            "Give one of them another name."
        ),
    ]
    assert said(Plan((GOOD,))) == [
        (
            "scene 'A' > characters 1: 'Mara' is none of the plan's characters. There are none yet. Correct the name, "
            "or add Mara under `characters`."
        )
    ]


def test_a_time_that_contradicts_an_after_is_told_once() -> None:
    assert said(plan(scene("A", "1", "B"), scene("B", "2"))) == [
        (
            "scene 'A' > after 1: The scene cannot happen after 'B': its time is 1, that of the other 2. Change "
            "a time, or remove the name."
        )
    ]
    assert said(plan(scene("A", "2", "B"), scene("B", "2"))) == []


def test_a_circle_is_told_with_its_scenes() -> None:
    assert said(plan(scene("A", "", "C"), scene("B", "", "A"), scene("C", "", "B"), scene("D", "", "C"))) == [
        (
            "scene 'B' > after 1: Story time forms a loop: 'A' before 'B' (after), 'B' before 'C' (after), "
            "'C' before 'A' (after). Remove one of these."
        )
    ]


def test_a_circle_through_times_leaves_out_the_scenes_between() -> None:
    between = [scene(f"T{i}", str(i)) for i in range(2, 9)]
    one = plan(scene("A", "1", "X"), *between, scene("B", "9"), scene("X", "", "B"))
    assert said(one) == [
        (
            "scene 'X' > after 1: Story time forms a loop: 'A' before 'B' (time), 'B' before 'X' (after), "
            "'X' before 'A' (after). Remove one of these."
        )
    ]


def test_every_circle_is_told_and_long_ones_are_shortened() -> None:
    ring = [scene(f"S{i}", "", f"S{(i - 1) % 40}") for i in range(40)]
    one = said(plan(*ring, scene("A", "", "B"), scene("B", "", "A")))
    assert len(one) == 2
    assert one[0].endswith("'S9' before 'S10' (after), and 30 more steps. Remove one of these.")
    assert "'A' before 'B'" in one[1]


def test_problems_are_bounded() -> None:
    assert len(check_plan(Plan(tuple(ScenePlan(f"s{i}", ()) for i in range(500))))) == 100


def test_two_thousand_scenes_are_sorted_without_ado() -> None:
    one = plan(*(scene(str(i), "", *([str(i + 1)] if i < 1_999 else [])) for i in range(2_000)))
    assert check_plan(one) == ()
    assert one.chronology() == tuple(reversed(one.names))
    assert one.anachronies(one.names[::-1]) == 2_000 * 1_999 // 2


def test_plans_come_without_the_library_that_their_files_need() -> None:
    loaded = "import fabula.story.plan_file, sys; print({'yaml', 'fabula.story.plan_sheet'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_where_people_come_and_go_each_stretch_before_the_same_people_is_played_by_itself() -> None:
    both = (Presence("Ann", "to leave"), Presence("Bob"))
    events = (
        Event("a"), Event("b", present=("Ann",)), Event("c", present=("Ann", "Bob")), Event("d", present=("Bob",)),
        Event("a", "1", ("Ann",)),
    )  # fmt: skip
    one = Plan((ScenePlan("A", events, characters=both, time="5"),), (Character("Ann"), Character("Bob")))
    assert played(one, "A") == ["A1:a", "A2:a", "A3:b", "A4:c", "A5:d"]
    units = one.units(["A"])
    assert [unit.present for unit in units] == [("Ann",), ("Ann", "Bob"), ("Ann",), ("Ann", "Bob"), ("Bob",)]
    assert [unit.first for unit in units] == [4, 0, 1, 2, 3]
    assert units[2].characters == (Presence("Ann", "to leave"),)


def test_somebody_at_an_event_must_be_in_its_scene() -> None:
    alone = ScenePlan("A", (Event("a", present=("Ann", "Cyd")),), characters=(Presence("Ann"),))
    problems = check_plan(Plan((alone,), (Character("Ann"), Character("Cyd"))))
    assert [str(one) for one in problems] == [
        "scene 'A' > outline 1 > characters 2: 'Cyd' is not in this scene. There are 'Ann'."
    ]
