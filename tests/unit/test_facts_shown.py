from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from fabula.app.facts_shown import ProjectWorld, sentence_of, story_parts
from fabula.base.errors import UnknownNameError
from fabula.project.sample import copy_sample
from fabula.story.world import Entity, Fact, Moment, WorldState
from fabula.story.world.knowing import Knowing

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.project.folder import ProjectFolder


@pytest.fixture
def sample(tmp_path: Path) -> ProjectFolder:
    return copy_sample(tmp_path / "sample")


def test_the_world_of_the_sample_is_asked_by_scene_person_and_words(sample: ProjectFolder) -> None:
    world = ProjectWorld.of(sample)
    assert world.there
    assert world.titles[3] == "Climax"
    assert world.people[:2] == ("Wendy Clabburn", "Ivan Utting")
    assert len(world.facts(1)) < len(world.facts())
    assert {row.subject for row in world.facts(search="VEHICLE weight")} == {"vehicle 31"}
    known = world.facts(2, of="Mr Rix")
    assert known
    assert all(row.since is not None and row.since <= 2 for row in known)
    with pytest.raises(UnknownNameError, match="Ivan"):
        world.facts(of="Ivon")


def test_the_sentence_of_a_fact_is_found_in_its_scene_as_it_is_now(sample: ProjectFolder) -> None:
    parts, world = story_parts(sample), ProjectWorld.of(sample)
    assert [part.name for part in parts] == ["exposition", "rising-action", "climax", "falling-action", "resolution"]
    fact = next(fact for fact in world.state.facts() if fact.slot == "certificate")
    found = sentence_of(fact, parts)
    assert found is not None
    assert found.part.number == 1
    assert found.sentence.startswith("Since September 1979")
    pieces = found.pieces(1)
    assert pieces["focus"] == "under certificate number 217"
    assert pieces["cut_after"]
    assert "".join(found.pieces()[key] for key in ("before", "focus", "after")) == found.part.text
    assert sentence_of(Fact("Ivan", "hat", "red", Moment(1), quote="a red hat"), parts) is None
    assert sentence_of(Fact("Ivan", "hat", "red", Moment(9), quote="under certificate"), parts) is None


def test_a_project_without_facts_has_an_empty_world(sample: ProjectFolder) -> None:
    (sample.folder / ".fabula" / "world.db").unlink()
    world = ProjectWorld.of(sample)
    assert (world.there, world.facts(), world.people) == (False, (), ())


def test_who_knows_what_since_when_is_a_table_and_a_picture() -> None:
    with WorldState() as state:
        state.describe([Entity("Mara", "character", ("the keeper",)), Entity("Tobias", "character")])
        state.add(
            [
                Fact("lamp", "state", "lit <now>", Moment(1), witnesses=("the keeper",)),
                Fact("sea", "state", "rough", Moment(2)),
                Fact("lamp", "state", "lit <now>", Moment(3), witnesses=("Tobias",)),
            ]
        )
        state.learn(1, "Tobias", Moment(4))
        knowing = Knowing.of(state, ["Mara", "Tobias"])
        assert [(row.fact.subject, row.scenes) for row in knowing.rows] == [("lamp", (1, 4)), ("sea", (2, 2))]
        assert [row.fact.subject for row in knowing.told_apart().rows] == ["lamp"]
        svg = knowing._repr_svg_()
    root = ET.fromstring(svg)  # noqa: S314 - our own picture
    assert root.tag.endswith("svg")
    assert "style" not in svg
    assert "lit &lt;now&gt;" in svg


def test_of_very_many_facts_the_picture_draws_the_first_and_says_so() -> None:
    with WorldState() as state:
        state.add([Fact(f"thing {n}", "place", "here", Moment(1)) for n in range(300)])
        svg = Knowing.of(state, [f"person {n}" for n in range(50)]).svg()
    assert "not drawn: 100 more facts, 10 more characters" in svg
