"""World files that people write, and what is told where they are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import UsageError
from fabula.story.world import Entity, Fact, Moment, WorldState
from fabula.story.world.file import parse_world, read_world, write_world

if TYPE_CHECKING:
    from pathlib import Path

YAML = """\
many: [owns]
entities:
  - name: Mara
    kind: character
    aliases: [the keeper]
scenes:
  - no: 2
    title: The storm
facts:
  - subject: Mara
    slot: eye colour
    value: grey
    durability: permanent
  - subject: Mara
    slot: owns
    value: the lamp
    denied: yes
    modality: reported
    source: Tobias
    scene: 2
    offset: 4
    from: 1921-10-30
    witnesses: []
    about: Jonas
    quote: it was never hers
    span: [120, 137]
    confidence: 0.8
    learned:
      - who: Ada
        scene: 5
"""


def test_a_file_is_read_field_by_field() -> None:
    found = parse_world(YAML)
    assert found.many == ("owns",)
    assert found.entities == (Entity("Mara", "character", ("the keeper",)),)
    assert found.scenes == ((2, "The storm"),)
    assert found.learned == ((1, "Ada", Moment(5)),)
    assert found.facts == (
        Fact("Mara", "eye colour", "grey", modality="author", durability="permanent"),
        Fact("Mara", "owns", "the lamp", Moment(2, 4), polarity=False, modality="reported", source="Tobias",
             witnesses=(), about=("Jonas",), story_from="1921-10-30", quote="it was never hers", span=(120, 137),
             confidence=0.8),
    )  # fmt: skip


def test_an_exported_file_reads_back_with_who_learned_later(tmp_path: Path) -> None:
    file = tmp_path / "world.json"
    with WorldState() as world, WorldState() as other:
        parse_world(YAML).add_to(world)
        world.add([Fact("Mara", "eye colour", "green", Moment(3)), Fact("Mara", "letters", (1, None, "x"), Moment(3))])
        file.write_text(write_world(world), encoding="utf-8")
        read_world(file).add_to(other)
        assert other.facts() == world.facts()
        assert other.learned(2) == (("Ada", Moment(5)),)
        assert other.scenes()[0].title == "The storm"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "subject: Mara\n    slot: owns",
            "subjekt: Mara\n    slot: owns",
            "fact 2: There is no 'subjekt' here. Did you mean",
        ),
        ("scene: 2\n    off", "scene: two\n    off", "w.yaml:20: fact 2 > scene: is 'two'. Give a whole number from 0"),
        ("denied: yes", "denied: maybe", "w.yaml:17: fact 2 > denied: is 'maybe'. Write yes or no, in JSON"),
        ("modality: reported", "modality: said", "w.yaml:18: fact 2 > modality: is 'said'. Give one of: asserted"),
        ("confidence: 0.8", "confidence: high", "fact 2 > confidence: is 'high'. Give a number, such as 0.8."),
        ("confidence: 0.8", "confidence: nan", "fact 2 > confidence: is nan. Give a number from 0 to 1."),
        ("from: 1921-10-30", "from: long ago", "w.yaml:22: fact 2 > from: is 'long ago', which is not a story time."),
        ("value: grey", "value: {a: b}", "w.yaml:12: fact 1 > value: cannot stand. A value is dict. Use a text,"),
        (
            "about: Jonas",
            "about: [[a]]",
            "fact 2 > about: is a list or a mapping. Write names as",
        ),
        (
            "span: [120, 137]",
            "span: here",
            "w.yaml:26: fact 2 > span: is 'here'. Write a pair of numbers, as [120, 145].",
        ),
        (
            "value: grey",
            "value: grey\n    value: blue",
            "w.yaml:13: fact 1 > value: 'value' appears twice here. Keep only one.",
        ),
        ("  - name: Mara", "  - nane: Mara", "w.yaml:3: entity 1: There is no 'nane' here. Did you mean 'name'?"),
        (
            "      - who: Ada\n        scene: 5",
            "      - ada",
            "w.yaml:29: fact 2 > learned 1: is not a mapping.",
        ),
        ("facts:\n", "facts: none\nfact:\n", "w.yaml:9: facts: is not a list. Begin every entry with '- '."),
        ("many: [owns]", f"many: [owns, {'o' * 300}]", f"many: is '{'o' * 40}', of 300 characters. Give at most 200."),
        ("kind: character", "kind: [a]", "'Mara' > kind: is a list or a mapping. Write a text of at most 200 char"),
        ("many: [owns]", "many: *x", "w.yaml:1: the world: '*x' refers to another place."),
        ("many: [owns]", "many: [owns", "w.yaml:1: the world: A bracket is opened here and not closed"),
        ("many: [owns]", "format: fabula-world-9", "format: is 'fabula-world-9'; this fabula reads fabula-world-1."),
    ],
)
def test_what_is_wrong_is_told_with_file_line_entry_and_field(old: str, new: str, said: str) -> None:
    assert old in YAML
    with pytest.raises(UsageError) as caught:
        parse_world(YAML.replace(old, new, 1), "w.yaml")
    assert said in str(caught.value)


def test_all_problems_are_told_at_once_but_not_a_thousand() -> None:
    lines = "".join(f"  - subject: Mara\n    slot: s{n}\n    scene: x{n}\n" for n in range(1000))
    with pytest.raises(UsageError) as caught:
        parse_world("facts:\n" + lines, "w.yaml")
    text = str(caught.value).splitlines()
    assert len(text) == 101
    assert text[1].startswith("w.yaml:7: fact 2 > scene: is 'x1'.")
    assert text[-1] == "w.yaml: These are only the first problems. There may be more."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "w: the world: is not a mapping. Write its fields, such as 'facts:'."),
        ("{", "This is not valid JSON"),
        ("[" * 100_000, "This is nested too deeply. Use"),
        ('{"facts": [{"subject": "a", "slot": "b", "value": NaN}]}', "This is not valid JSON (NaN is not JSON)"),
        ('{"facts": [{"subject": "a", "slot": "b", "value": ' + "9" * 5000 + "}]}", "This is not valid JSON"),
        (
            '{"facts": [{"subject": "a", "slot": "b", "value": 99999999999999999999}]}',
            "w: fact 1 > value: cannot stand",
        ),
        ('{"facts": [{"subject": true, "slot": "b"}]}', "w: fact 1 > subject: is True. Write a text."),
        (
            '{"facts": [{"subject": "a", "slot": "b", "scene": true}]}',
            "w: fact 1 > scene: is True. Give a whole number",
        ),
        ('{"facts": [{"subject": "a", "slot": "b", "offset": 2.0}]}', "w: fact 1 > offset: is 2.0. Give a whole"),
        ('{"facts": [{"subject": "a", "slot": "b", "denied": 1}]}', "w: fact 1 > denied: is 1. Write yes or no, in"),
        ('{"facts": [{"subject": "a", "slot": "b", "span": [true, 2]}]}', "w: fact 1 > span: is a list or a mapping."),
        ('{"facts": [{"subject": "a", "slot": "b", "confidence": true}]}', "w: fact 1 > confidence: is True. Give a"),
        ('{"entities": [{"name": "a", "aliases": "' + "b" * 9999 + '"}]}', "w: entity 'a' > aliases: is 'bbb"),
        (
            '{"facts": [{' + ", ".join(f'"a{n}": 1' for n in range(9999)) + "}]}",
            "w: fact 1: has 9,999 fields. Known: sub",
        ),
        ('{"facts": [3]}', "w: fact 1: is not a mapping. Write its fields, such as 'subject:'."),
        ('{"facts": [{"subject": "a", "slot": "b", "step": -1}]}', "w: fact 1 > step: is -1."),
    ],
)
def test_hostile_json_is_told(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_world(text, "w", is_json=True)
    assert said in str(caught.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("just words", encoding="utf-8")
    with pytest.raises(UsageError, match=r"such as 'facts:'\."):
        read_world(tmp_path / "empty.yaml")
    (tmp_path / "large.yaml").write_text("#" * 4_000_001, encoding="utf-8")
    with pytest.raises(UsageError, match="is larger than 4,000,000 bytes"):
        read_world(tmp_path / "large.yaml")
    with pytest.raises(
        UsageError, match=r"There is no file .*none\.json\. Correct the name, or give a world \(a YAML or JSON file\)\."
    ):
        read_world(tmp_path / "none.json")


def test_json_keeps_types_and_yaml_keeps_text() -> None:
    (fact,) = parse_world('{"facts": [{"subject": "a", "slot": "b", "value": [1, true, null]}]}', is_json=True).facts
    assert fact.value == (1, True, None)
    (fact,) = parse_world("facts:\n  - subject: a\n    slot: b\n    value: No\n").facts
    assert fact.value == "No"
