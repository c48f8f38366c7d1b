from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from fabula.base.errors import PlanError, UsageError
from fabula.story.plan import Character, Event, Plan, Presence, ScenePlan
from fabula.story.plan_file import parse_plan, read_plan, write_plan
from growth import LINEAR, growth
from tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = sorted((ROOT / "examples" / "plans").glob("*.yaml"))
WHOLE = """\
# A story's plan: scenes stand as they are told, their times say when they happen.
title: No
brief: |-
  Tell it.

  Slowly.
conflict: >-
  The lamp goes out, and nobody is sure whether the boats that are still at sea will come home without it, or ever.
characters:
  - name: Mara
    role: hero
    gender: woman
    age: 58
    setup: keeps the lamp
    speech: slow
    goal: rest

  - name: 'Null'
    group: yes

scenes:
  - name: The wreck
    element: climax
    place: a reef
    importance: 9
    time: 1921-05-03 14:30
    characters:
      Mara: to see
      'Null':
    outline:
      - 'She sees it: the wreck.'
      - event: She is six.
        time: 1869

  - name: The end
    element: rising action
    importance: 5
    after: The wreck
    characters:
      - Mara
    outline:
      - Day.
"""
PLAN = Plan(
    (
        ScenePlan(
            "The wreck",
            (Event("She sees it: the wreck."), Event("She is six.", "1869")),
            "climax",
            "a reef",
            9,
            (Presence("Mara", "to see"), Presence("Null")),
            "1921-05-03 14:30",
        ),
        ScenePlan("The end", (Event("Day."),), characters=(Presence("Mara"),), after=("The wreck",)),
    ),
    (
        Character("Mara", "hero", "woman", "58", "keeps the lamp", speech="slow", goal="rest"),
        Character("Null", group=True),
    ),
    "The lamp goes out, and nobody is sure whether the boats that are still at sea will come home without it, or ever.",
    "",
    "No",
    "Tell it.\n\nSlowly.",
)


NO_PRESENCE = (
    "A character's goal here must be a text, or have 'goal', 'age', 'then', 'secret', 'personality' and "
    "'speech'. If a text contains a colon, put it in quotes."
)
COLON = (
    "There is a colon where none is allowed. Quote the text, correct the indentation, or add the colon that is "
    "missing in the line above."
)
LONG_DATE = "The date has 201 characters, but the maximum is 200. Say in a few words when the scene happens."
NO_TEXT = "A text is expected here, not a list or a mapping. If the text contains a colon, put it in quotes."
NO_EVENT = (
    "An event must be a text, or have 'event', 'time', 'place', 'characters', 'there' and 'notices'. If a text "
    "contains a colon, put it in quotes."
)


def refusal(text: str) -> list[str]:
    with pytest.raises(PlanError) as caught:
        parse_plan(text, "p.yaml")
    assert str(caught.value) == "\n".join(caught.value.problems)
    return list(caught.value.problems)


def scene(lines: str) -> str:
    """A plan of one scene that continues with `lines`; these begin in line 5."""
    return "characters:\n  - name: Mara\nscenes:\n  - name: The wreck\n" + "".join(
        f"    {line}\n" for line in lines.splitlines()
    )


def test_every_field_is_read() -> None:
    assert parse_plan(WHOLE) == PLAN


def test_a_plan_is_read_also_where_yaml_has_no_fast_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert parse_plan(WHOLE) == PLAN
    assert refusal("a: b: c") == [f"p.yaml:1: plan: {COLON}"]


def test_a_plan_is_written_tidily() -> None:
    assert write_plan(PLAN).split() == WHOLE.split()  # lines of long texts may break elsewhere
    assert write_plan(PLAN).splitlines()[:6] == WHOLE.splitlines()[:6]
    assert "\n\n  - name: The end\n" in write_plan(PLAN)
    assert max(map(len, write_plan(PLAN).splitlines())) <= 110


def test_names_beyond_ascii_are_kept() -> None:
    written = write_plan(Plan((ScenePlan("Žižek \N{GRINNING FACE}", (Event("naïve"),)),)))
    assert "name: Žižek \N{GRINNING FACE}\n" in written
    assert "- naïve\n" in written


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_without_fault_and_settled(path: Path) -> None:
    plan = read_plan(path)
    order = plan.chronology()
    assert order is not None
    assert order != plan.names
    units = plan.units(order)
    assert any(unit.part == 2 for unit in units)
    assert sum(len(unit.events) for unit in units) == sum(len(scene.outline) for scene in plan.scenes)
    assert any(character.group for character in plan.characters)
    assert parse_plan(write_plan(plan)) == plan
    assert yaml.safe_load(write_plan(plan))["title"] == plan.title  # other programs can read it


def test_the_examples_are_there() -> None:
    assert {path.stem: len(read_plan(path).scenes) for path in EXAMPLES} == {"lighthouse": 6, "twelve-scenes": 12}


def test_short_ways_of_writing_are_read() -> None:
    plan = parse_plan(
        scene("element: Rising-Action\ncharacters: Mara\noutline: It sinks.\nafter:\nplace: ~\ngoals"[:-6])
    )
    assert plan.scenes == (ScenePlan("The wreck", (Event("It sinks."),), characters=(Presence("Mara"),)),)
    assert parse_plan("\ufeffscenes: [{name: A, outline: [x], importance: '7'}]\r\n").scenes[0].importance == 7


def test_texts_are_tidied_and_names_composed() -> None:
    plan = parse_plan('title: " a\\tb "\nscenes:\n  - name: "Jose\\u0301  A"\n    outline: ["\\uFEFFx  \\r\\ny\\n"]\n')
    assert plan == Plan((ScenePlan("Jos\u00e9 A", (Event("x\ny"),)),), title="a b")


def test_all_problems_are_told_at_once_in_the_order_of_lines() -> None:
    text = """\
titel: x
setting: [a]
characters:
  - name: Mara
    group: maybe
  - Tobias
scenes:
  - name: A
    outlin: [b]
    importance: lots
    after: [B, C]
  - name: B
    element: climaks
    time: at dawn
    after: A
    characters: [Mara, Mira]
    outline:
      - Mara says: go
      - event: x
        time: never
      - &a foo
      - *a
  - name: A
    name: C
    outline: !!str x
  - {outline: {a: b}}
"""
    no_time = (
        "is not a story time. Write a number (3, -10, 2.5) or a date (1921-05-03, 1921-05-03 14:30), or leave it out."
    )
    assert refusal(text) == [
        "p.yaml:1: plan: There is no 'titel' here. Did you mean 'title'?",
        (
            "p.yaml:2: setting: A text is expected here, not a list or a mapping. If the text contains a colon, put "
            "it in quotes."
        ),
        "p.yaml:5: character 'Mara' > group: 'maybe' is neither yes nor no. Write yes or no.",
        "p.yaml:6: character 2: A character must have a name. Write '- name: ...'.",
        "p.yaml:9: scene 'A': There is no 'outlin' here. Did you mean 'outline'?",
        "p.yaml:10: scene 'A' > importance: 'lots' is not a whole number. Write a number from 1 (lowest) to 10.",
        "p.yaml:11: scene 'A' > after 2: 'C' is none of the plan's scenes. There are 'A', 'B'.",
        "p.yaml:13: scene 'B' > element: 'climaks' is not a part of the arc. Did you mean 'climax'?",
        f"p.yaml:14: scene 'B' > time: 'at dawn' {no_time}",
        (
            "p.yaml:15: scene 'B' > after 1: Story time forms a loop: 'A' before 'B' (after), "
            "'B' before 'A' (after). Remove one of these."
        ),
        "p.yaml:16: scene 'B' > characters 2: 'Mira' is none of the plan's characters. Did you mean 'Mara'?",
        (
            "p.yaml:18: scene 'B' > outline 1: An event must be a text, or have 'event', 'time', 'place', "
            "'characters', 'there' and 'notices'. If a text contains a colon, put it in quotes."
        ),
        f"p.yaml:20: scene 'B' > outline 2 > time: 'never' {no_time}",
        "p.yaml:21: plan: '&a' marks a place for reference. Remove the mark.",
        "p.yaml:22: plan: '*a' refers to another place. Write the text out here.",
        (
            "p.yaml:23: scene 'A' > name: It has the same name as scene 1: file names would be the same ('a'). "
            "Give one of them another name."
        ),
        "p.yaml:24: scene 'A' > name: 'name' appears twice here. Keep only one.",
        "p.yaml:25: plan: The tag 'tag:yaml.org,2002:str' names a type. Remove it, or put the text in quotes.",
        (
            "p.yaml:26: scene 4 > outline: A list is expected here. Begin every entry of 'outline' with '- ' on "
            "a separate line."
        ),
        "p.yaml:26: scene 4 > name: This scene has no name. Add one.",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ["p.yaml:1: scenes: The plan has no scenes. Write at least one scene with a name and an outline."]),
        ("title: x\nscenes:\n",
         ["p.yaml:2: scenes: The plan has no scenes. Write at least one scene with a name and an outline."]),
        ("scenes: none",
         ["p.yaml:1: scenes: A list is expected here. Begin every entry of 'scenes' with '- ' on a separate line."]),
        ("Once upon a time", [
            "p.yaml:1: plan: A plan must have keys with texts and lists, such as 'title: ...' and 'scenes:'."]),
        (scene("outline:"), [
            ("p.yaml:5: scene 'The wreck' > outline: It contains no events. Describe what happens, with one "
            "entry for each event.")]),
        (scene("place: x"), [
            ("p.yaml:4: scene 'The wreck' > outline: It contains no events. Describe what happens, with one "
            "entry for each event.")]),
        (scene("outline: [x]\ncharacters:\n  Mara: x\n  Mara: y"),
         ["p.yaml:8: scene 'The wreck' > characters > Mara: 'Mara' appears twice here. Keep only one."]),
        (scene("outline: [x]\ncharacters:\n  Mara: [x]"),
         [f"p.yaml:7: scene 'The wreck' > characters 1: {NO_PRESENCE}"]),
        (scene("outline: [x]\ncharacters:\n  Mara:\n    gaol: x"),
         [("p.yaml:7: scene 'The wreck' > characters 1: There is no 'gaol' here. Write one of these: "
           "goal, age, then, secret, personality, speech.")]),
        (scene(f"outline: [x]\ndate: {'x' * 201}"),
         [f"p.yaml:6: scene 'The wreck' > date: {LONG_DATE}"]),
        ("demands: ['', x]\n" + scene("outline: [x]"),
         ["p.yaml:1: demand 1: This entry is empty. Write a sentence, or remove it."]),
        (f"payoffs: [{'x, ' * 101}]\n" + scene("outline: [x]"),
         ["p.yaml:1: payoffs: The plan has 101 payoffs, but the maximum is 100. Leave some out."]),
        (scene("outline: [x]\nafter:\n  - ''"),
         ["p.yaml:7: scene 'The wreck' > after 1: This name is empty. Remove it."]),
        (scene("outline: [x]\nimportance: 7.5"),
         [("p.yaml:6: scene 'The wreck' > importance: '7.5' is not a whole number. Write a number from 1 "
         "(lowest) to 10.")]),
        (scene("outline:\n  - event: x\n    tme: 3"),
         ["p.yaml:7: scene 'The wreck' > outline 1: There is no 'tme' here. Did you mean 'time'?"]),
        (scene("outline:\n  - - x"),
         [f"p.yaml:6: scene 'The wreck' > outline 1: {NO_EVENT}"]),
        (scene("outline: x\n? [a]\n: b"),
         ["p.yaml:6: plan: There is a list or a mapping where a name is expected. Write a text instead."]),
        (scene("outline: &a x\n*a : b"),
         ["p.yaml:5: plan: '&a' marks a place for reference. Remove the mark.",
          "p.yaml:6: plan: '*a' refers to another place. Write the text out here."]),
        ('scenes: [{name: "a\\nb", outline: x}]',
         ["p.yaml:1: scene 'a b' > name: The name has line breaks. Write it on one line."]),
    ],
)  # fmt: skip
def test_a_problem_is_told_with_its_line(text: str, says: list[str]) -> None:
    assert refusal(text) == says


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("title: a: b", 1, COLON),
        ("title: x\nbrief: 'it's\nscenes:", 2,
         "This line does not match the lines above. Check its indentation and quotes."),
        ("title: x\nbrief: 'its\nscenes:", 2,
         "A quotation mark is opened here and never closed. Close it, or double it inside a text."),
        ("scenes:\n\t- a", 2, "This line begins with a tab. Indent it with spaces."),
        ("title: x\nscenes: [a, b\n", 2,
         "A bracket is opened here and not closed, or a comma is missing. Correct this, or quote the text."),
        ("title: x\nbrief\nscenes:", 2,
         "A key has no colon. Write 'key: text', or indent the text if it continues the line above."),
        ("title: @x", 1, "A text begins with a character that has a special meaning in YAML. Put the text in quotes."),
        ("title: !a!b x", 1, "A text begins with '!', which marks a type in YAML. Put the text in quotes."),
        ("title: *", 1, "A text begins with '&' or '*', which marks a reference in YAML. Put the text in quotes."),
        ('title: "\\q"', 1, "A backslash in double quotes has a special meaning. Double it, or use single quotes."),
        ("--- a\n--- b", 2, "A second document begins here ('---'). Keep only one document."),
        ("a\n\nb\x00", 3, "The character U+0000 is not allowed in a text file. Remove it, or use a text file."),
        ("a\ud800", 1, "The character U+D800 is not allowed in a text file. Remove it, or use a text file."),
        ("title: |x\n", 1,
         ("This is not valid YAML (did not find expected comment or line break). Check the indentation, colons and "
          "quotes.")),
    ],
)  # fmt: skip
def test_what_is_no_yaml_is_told_in_plain_words(text: str, line: int, says: str) -> None:
    assert refusal(text) == [f"p.yaml:{line}: plan: {says}"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 1_900_000, "p.yaml:1: plan: This is nested more than 20 levels deep. Use fewer levels."),
        ("{a: " * 400_000, "p.yaml:1: plan: This is nested more than 20 levels deep. Use fewer levels."),
        ("\n".join(" " * i + "a:" for i in range(1_000)),
         "p.yaml:21: plan: This is nested more than 20 levels deep. Use fewer levels."),
        ("a: &a [x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(20_000)),
         "p.yaml:1: plan: '&a' marks a place for reference. Remove the mark."),
        ("scenes: [" + "a," * 900_000 + "]",
         "p.yaml:1: plan: The file contains more than 200,000 values. Use a shorter file."),
        ("x" * 2_000_001, "The plan p.yaml is longer than 2,000,000 characters. Use a shorter plan."),
    ],
    ids=["lists", "mappings", "lines", "aliases", "values", "long"],
)  # fmt: skip
def test_hostile_text_is_refused(text: str, says: str) -> None:
    assert refusal(text)[0] == says


@pytest.mark.parametrize("piece", ["[", "{a: ", "a: &a [x, x]\n", "- a\n", "a,", "x"])
def test_hostile_text_is_refused_in_linear_time(piece: str) -> None:
    assert growth(refusal, lambda n: "scenes: [" + piece * (n // len(piece)), 80_000) < LINEAR


def test_twenty_levels_are_no_syntax_error() -> None:
    assert "A text is expected here," in refusal("title: " + "[" * 19 + "]" * 19)[0]


def test_only_the_first_problems_are_listed() -> None:
    problems = refusal("scenes:\n" + "  - a\n" * 300)
    assert len(problems) == 101
    assert problems[-1] == "p.yaml: These are only the first problems. There may be more."


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "There is no file {}. Correct the name, or give a plan (a YAML file)."),
        (b"x" * 3_000_000, "{} is larger than 2,000,000 bytes. Use a smaller file."),
        (b"title: x\n\xff\xfe", "{}:2: plan: This is not UTF-8 text. Use a YAML file in UTF-8."),
        (b"\x89PNG\r\n\x1a\n\x00", "{}:1: plan: This is not UTF-8 text. Use a YAML file in UTF-8."),
        (
            b"PK\x03\x04",
            "{}:1: plan: The character U+0003 is not allowed in a text file. Remove it, or use a text file.",
        ),
    ],
    ids=["none", "large", "latin", "picture", "archive"],
)
def test_a_file_that_is_no_plan_is_refused(data: bytes | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_plan(path)
    assert str(caught.value) == says.format(path)


def test_a_file_of_an_old_editor_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(b"\xef\xbb\xbfscenes:\r\n  - name: A\r\n    outline:\r\n      - x\r\n")
    assert read_plan(path) == Plan((ScenePlan("A", (Event("x"),)),))


@pytest.mark.parametrize("kind", ["demands", "payoffs"])
def test_an_empty_entry_after_others_is_named(kind: str) -> None:
    with pytest.raises(PlanError, match=rf"{kind.removesuffix('s')} 3: This entry is empty"):
        parse_plan(f"{kind}: [a, b, '']\nscenes:\n  - {{name: A, outline: [It happens.]}}\n", "plan.yaml")
