"""What the world makes of assertions: closings, moments, knowledge, conflicts, names, and the file it is kept in."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ProjectError, UnknownNameError, UsageError
from fabula.story.world import Closing, Entity, Fact, Moment, WorldState
from fabula.story.world.facts import from_json
from fabula.story.world.meaning import value_form
from fabula.story.world.state import NOW
from growth import LINEAR, growth

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world() -> Iterator[WorldState]:
    with WorldState() as state:
        yield state


def at(scene: int, slot: str, value: Any, **more: Any) -> Fact:  # noqa: ANN401 - any field of a fact
    return Fact("Mara", slot, value, Moment(scene), **more)


def held(world: WorldState, scene: int) -> list[tuple[str, object]]:
    return [(fact.slot, fact.value) for fact in world.snapshot(Moment.end(scene))]


def test_a_later_assertion_closes_an_earlier_one_and_both_are_kept(world: WorldState) -> None:
    red, blue = world.add([at(1, "coat", "red"), at(3, "coat", "blue", change="update")])
    assert red.closed == Closing(blue.id, Moment(3), "update")
    assert [held(world, scene) for scene in (0, 1, 2, 3)] == [
        [],
        [("coat", "red")],
        [("coat", "red")],
        [("coat", "blue")],
    ]


def test_one_told_in_between_has_its_place(world: WorldState) -> None:
    world.add([at(1, "coat", "red"), at(5, "coat", "blue")])
    (green,) = world.add([at(3, "coat", "green")])
    assert [held(world, scene)[0][1] for scene in (1, 3, 5)] == ["red", "green", "blue"]
    assert green.closed is not None
    assert green.closed.by == 2


def test_what_repeats_is_evidence_and_opens_nothing(world: WorldState) -> None:
    first, again = world.add([at(1, "age", 16), at(4, "age", " 16.0 ")])
    assert again.restates == first.id
    assert world.snapshot() == (first,)
    assert world.facts() == (first, again)


def test_a_slot_that_holds_many_grows_and_a_denial_takes_one_away(world: WorldState) -> None:
    world.hold_many("owns")
    world.add([at(1, "owns", "a lamp"), at(1, "owns", "a boat"), at(2, "owns", "A LAMP", polarity=False)])
    assert held(world, 1) == [("owns", "a lamp"), ("owns", "a boat")]
    assert [(f.value, f.polarity) for f in world.snapshot()] == [("a boat", True), ("A LAMP", False)]
    world.add([at(3, "owns", None, polarity=False)])
    assert [(f.value, f.polarity) for f in world.snapshot()] == [("A LAMP", False), (None, False)]


def test_a_slot_may_turn_out_to_hold_many(world: WorldState) -> None:
    world.add([at(1, "owns", "a lamp"), at(1, "owns", "a boat")])
    assert len(world.snapshot()) == 1
    world.hold_many("owns")
    assert len(world.snapshot()) == 2
    assert world.conflicts() == ()


def test_what_is_believed_or_planned_does_not_bind_the_world(world: WorldState) -> None:
    world.add([at(1, "alive", "yes"), at(2, "alive", "no", modality="believed", source="Tobias")])
    world.add([at(3, "alive", "yes", modality="believed", source="Tobias")])
    assert [(fact.modality, fact.value) for fact in world.snapshot()] == [("asserted", "yes"), ("believed", "yes")]
    assert world.conflicts() == ()


def test_a_difference_names_what_came_ended_and_changed(world: WorldState) -> None:
    world.add([at(1, "coat", "red"), at(1, "hat", "grey"), at(2, "coat", "blue"), at(2, "alive", "yes")])
    world.add([at(2, "hat", "grey", polarity=False), at(3, "coat", "red")])
    diff = world.diff(Moment.end(1), Moment.end(2))
    assert [fact.slot for fact in diff.opened] == ["alive", "hat"]
    assert [fact.slot for fact in diff.closed] == ["hat"]
    assert [(old.value, new.value) for old, new in diff.changed] == [("red", "blue")]
    assert not world.diff(Moment.end(1), Moment.end(3)).changed  # red again
    with pytest.raises(UsageError, match=r"Scene 1 is told before scene 3. Give the earlier one first"):
        world.diff(Moment.end(3), Moment.end(1))


def test_somebody_knows_what_they_witnessed_and_not_what_changed_behind_their_back(world: WorldState) -> None:
    world.add([at(1, "door", "locked", witnesses=("Mara", "Tobias")), at(3, "door", "open", witnesses=("Tobias",))])
    (mara,), (tobias,) = world.known_to("mara"), world.known_to("Tobias")
    assert (mara.fact.value, mara.outdated, mara.since) == ("locked", True, Moment(1))
    assert (tobias.fact.value, tobias.outdated) == ("open", False)
    assert not world.known_to("mara", Moment.end(2))[0].outdated
    world.learn(2, "Mara", Moment(5))
    (mara,) = world.known_to("Mara")
    assert (mara.fact.value, mara.outdated, mara.since) == ("open", False, Moment(5))


def test_who_learns_if_nothing_is_said_of_witnesses(world: WorldState) -> None:
    world.add([at(1, "rank", "captain"), at(1, "wish", "to leave", modality="planned", source="Mara")])
    world.add([at(1, "secret", "a twin", witnesses=())])
    assert [known.fact.slot for known in world.known_to("Tobias")] == ["rank"]
    assert [known.fact.slot for known in world.known_to("Mara")] == ["rank", "wish"]


def test_learning_before_it_is_told_is_refused(world: WorldState) -> None:
    world.add([at(3, "rank", "captain")])
    with pytest.raises(UsageError, match=r"Fact 1 is told in scene 3. Specify who learns it, and a later moment"):
        world.learn(1, "Tobias", Moment(2))


def test_a_conflict_names_the_first_assertion_and_where_it_is_told_again(world: WorldState) -> None:
    world.add([at(1, "eyes", "grey"), at(2, "eyes", "Grey"), at(4, "eyes", "brown"), at(5, "eyes", "brown")])
    (one,) = world.conflicts()
    assert (one.earlier.told.scene, one.also, one.later.told.scene) == (1, (Moment(2),), 4)
    assert world.conflicts(4) == (one,)
    assert world.conflicts(5) == ()  # it was raised when it was first said
    world.add([at(6, "eyes", "green")])
    assert [(c.earlier.value, c.later.value) for c in world.conflicts(6)] == [("grey", "green")]


def test_what_a_person_believes_is_one_by_whatever_name_the_person_is_called(world: WorldState) -> None:
    one, other = world.add(
        [
            at(1, "lamp", "lit", modality="reported", source="Mara"),
            at(2, "lamp", "dark", modality="reported", source="the keeper"),
        ]
    )
    assert (one.closed, world.snapshot()) == (None, (one, other)), "two people say two things"
    world.describe([Entity("Mara", aliases=("The Keeper",))])
    assert world.fact(one.id).closed == Closing(other.id, Moment(2), "unexplained")
    assert world.snapshot() == (world.fact(other.id),)
    world.add([at(3, "lamp", "broken", modality="believed", source="Mara")])
    assert len(world.snapshot()) == 2, "to say something is not to believe it"


def test_values_of_one_slot_take_no_longer_than_their_number() -> None:
    def of(count: int) -> WorldState:
        world = opened.enter_context(WorldState())
        world.add([at(n, "coat", f"colour {n}", story_from="1900") for n in range(count)])
        return world

    with ExitStack() as opened:
        found = of(1_000).conflicts()
        assert len(found) == 999
        assert {one.earlier.told.scene for one in found} == {0}
        assert growth(WorldState.conflicts, of, 2_000) < LINEAR, "each was held against each"


def test_a_conflict_with_what_was_laid_down_beforehand_is_told_apart(world: WorldState) -> None:
    world.add([at(0, "eyes", "grey", modality="author"), at(4, "eyes", "brown")])
    assert [one.canon for one in world.conflicts()] == [True]


@pytest.mark.parametrize(
    ("earlier", "later", "found"),
    [
        ({}, {}, True),
        ({}, {"change": "update"}, False),
        ({}, {"change": "explained"}, False),
        ({"durability": "permanent"}, {"change": "update"}, True),
        ({"durability": "permanent"}, {"change": "retcon"}, False),
        ({"story_from": "1900", "story_to": "1905"}, {"story_from": "1906"}, False),
        ({"story_from": "1900", "story_to": "1905"}, {"story_from": "1905-05"}, True),
        ({"story_from": "1900"}, {"story_from": "1910"}, True),
        ({"durability": "transient"}, {"durability": "transient"}, False),
        ({"durability": "transient", "story_from": "3"}, {"durability": "transient", "story_from": "3"}, True),
        ({"durability": "transient", "story_from": "3"}, {"durability": "transient", "story_from": "4"}, False),
        ({"polarity": False}, {}, False),
    ],
)
def test_what_counts_as_a_conflict(
    world: WorldState, earlier: dict[str, Any], later: dict[str, Any], *, found: bool
) -> None:
    world.add([at(1, "job", "keeper", **earlier), at(2, "job", "smith", **later)])
    assert bool(world.conflicts(2)) is found


def test_a_denial_conflicts_with_what_it_denies(world: WorldState) -> None:
    world.hold_many("child")
    world.add([at(1, "child", None, polarity=False), at(2, "child", "Ada"), at(3, "child", "Ada", polarity=False)])
    assert [(c.earlier.told.scene, c.later.told.scene) for c in world.conflicts()] == [(1, 2), (2, 3)]


def test_names_that_mean_one_share_their_facts(world: WorldState) -> None:
    world.describe([Entity("Mara", "character", ("Miss Lund",), 1)])
    world.add([at(1, "eyes", "grey"), Fact("the  Keeper", "eyes", "brown", Moment(3))])
    assert world.conflicts() == ()
    world.describe([Entity("Mara", "character", ("The Keeper",), 1)])
    assert len(world.conflicts()) == 1
    assert world.entities() == (Entity("Mara", "character", ("Miss Lund", "The Keeper"), 1),)
    assert world.entity("THE KEEPER").name == "Mara"
    with pytest.raises(UsageError, match="'Miss Lund' means 'Mara' already"):
        world.describe([Entity("Tobias", aliases=("Miss Lund",))])
    with pytest.raises(UsageError, match="is empty or another name of somebody"):
        world.describe([Entity("Miss Lund", aliases=("Mara",))])
    with pytest.raises(UnknownNameError, match="Did you mean 'Mara'"):
        world.entity("Marah")


def test_neighbours_are_linked_by_standing_facts(world: WorldState) -> None:
    world.add([at(1, "loves", "dearly", about=("Tobias",)), Fact("Tobias", "son of", "", Moment(1), about=("Jonas",))])
    world.add([Fact("Jonas", "knows", "", Moment(2), about=("Ada",)), Fact("Tobias", "son of", "Ida", Moment(5))])
    assert world.neighbours("mara") == {"Mara": 0, "Tobias": 1}
    assert world.neighbours("Mara", 2, Moment.end(4)) == {"Mara": 0, "Tobias": 1, "Jonas": 2}
    assert world.neighbours("Jonas", 9, Moment.end(4)) == {"Jonas": 0, "Tobias": 1, "Ada": 1, "Mara": 2}


def test_facts_of_a_file_are_replaced_by_its_new_ones(world: WorldState) -> None:
    assert world.replace_origin("canon.yaml", [at(0, "eyes", "grey"), at(0, "age", 16)]) == (2, 0, 0)
    assert world.replace_origin("canon.yaml", [at(0, "eyes", "green"), at(0, "age", 16)]) == (1, 1, 1)
    assert held(world, 0) == [("age", 16), ("eyes", "green")]
    assert [world.fact(number).withdrawn for number in (1, 2, 3)] == ["no longer in canon.yaml", "", ""]


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        (Fact("", "x"), "Fact 2 (, x): subject is empty. Name it."),
        (Fact("Mara", " "), "slot is empty. Name it."),
        (Fact("M" * 201, "x"), "subject is longer than 200 characters"),
        (at(-1, "x", 1), "scene is -1, offset 0. Give a scene from 0 to 1,000,000."),
        (at(1, "x", float("nan")), "value cannot stand. A value is nan. Use a text, a number"),
        (at(1, "x", {"a": 1}), "value cannot stand. A value is dict."),
        (at(1, "x", "y" * 10_001), "value cannot stand. A value has 10,001 characters"),
        (at(1, "x", 1, modality="said"), "modality is 'said'. Give one of: asserted, reported"),
        (at(1, "x", 1, story_from="May"), "from is 'May', which is not a story time"),
        (at(1, "x", 1, story_from="1921", story_to="1920"), "to is 1920, before 1921. Give the earlier one first."),
        (at(1, "x", 1, span=(5, 2)), "span is 5 to 2. Give two places"),
        (at(1, "x", 1, confidence=2.0), "confidence is 2.0. Give a number from 0 to 1."),
        (at(1, "x", 1, witnesses=("",)), "witnesses has an empty name"),
    ],
)
def test_a_fact_that_cannot_stand_is_named_and_nothing_is_recorded(world: WorldState, fact: Fact, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        world.add([at(1, "fine", 1), fact])
    assert said in str(caught.value)
    assert world.facts() == ()


def test_values_are_compared_by_what_they_mean() -> None:
    same: list[set[Any]] = [
        {3, "3", "3.00", "+3"},
        {True, "true", "TRUE "},
        {None, "null"},
        {-0.0, "-0", "0"},
        {"Café", "cafe\u0301"},
    ]
    for group in same:
        assert len({value_form(value) for value in group}) == 1
    assert len({value_form(value) for value in (1, True, "only", 1.5, (1,), ("1", "2"), ("1, 2",))}) == 7
    assert from_json([1, "a", None]) == (1, "a", None)


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "world.db"
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    before = file.read_bytes()
    with pytest.raises(ProjectError, match=r"is a database, but not a fabula world. Move it away"):
        WorldState(file).open()
    assert file.read_bytes() == before


def test_a_damaged_file_and_one_of_a_newer_fabula_are_told(tmp_path: Path) -> None:
    file = tmp_path / "world.db"
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(ProjectError, match="is damaged"):
        WorldState(file).open()
    file.unlink()
    with WorldState(file):
        pass
    for version, expected in ((99, r"A newer fabula wrote .* Upgrade fabula"), (1, r"An older fabula .* Move it away")):
        db = sqlite3.connect(file)
        db.execute(f"PRAGMA user_version = {version}")
        db.close()
        with pytest.raises(ProjectError, match=expected):
            WorldState(file).open()


def test_a_broken_value_in_the_file_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "world.db"
    with WorldState(file) as world:
        world.add([at(1, "x", 1)])
    db = sqlite3.connect(file)
    db.execute("UPDATE fact SET value = '{broken'")
    db.commit()
    db.close()
    with pytest.raises(ProjectError, match="is damaged"):
        WorldState(file).open()


def test_a_change_that_cannot_be_written_leaves_memory_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "world.db"
    with WorldState(file) as world:
        world.add([at(1, "coat", "red")])
        world._store.rows("PRAGMA busy_timeout = 0")
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ProjectError, match=r"cannot be used .* no other run is using it"):
            world.add([at(2, "coat", "blue")])
        with pytest.raises(ProjectError, match="cannot be used"):
            world.describe([Entity("Mara", aliases=("Miss Lund",))])
        other.execute("ROLLBACK")
        other.close()
        assert held(world, 9) == [("coat", "red")]
        world.add([at(2, "coat", "green")])
        assert held(world, 9) == [("coat", "green")]


def test_a_closed_world_says_so(world: WorldState) -> None:
    world.close()
    with pytest.raises(ProjectError, match="The world is closed"):
        world.add([at(1, "x", 1)])


_WRITER = """
import sys
from pathlib import Path
from fabula.story.world import Moment, WorldState
from fabula.story.world.flat import Write, commit
with WorldState(Path(sys.argv[1])) as world:
    for step in range(1, 10_000):
        commit(world, step, [Write("turn_now", step, "a"), Write(f"key_{step % 50}", step, "b")])
        print(step, flush=True)
"""


def test_a_killed_writer_leaves_whole_steps(tmp_path: Path) -> None:
    file = tmp_path / "world.db"
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(file)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    seen = [int(writer.stdout.readline()) for _ in range(20)][-1]
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    with WorldState(file) as world:
        last = world.last_step
        assert last is not None
        assert last.no >= seen
        assert [fact.step for fact in world.facts()] == [no for no in range(1, last.no + 1) for _ in range(2)]


def test_scenes_are_kept_with_the_hash_of_their_text(world: WorldState) -> None:
    world.put_scene(1, "The  storm", "It breaks.")
    world.put_scene(1, "The storm", "It breaks again.")
    (scene,) = world.scenes()
    assert (scene.no, scene.title, scene.text) == (1, "The storm", "It breaks again.")
    world.add([at(7, "x", 1)])
    assert world.snapshot(NOW, subject="MARA") == world.snapshot()


def test_limits_and_words_of_names(world: WorldState, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"There is no fact 7; the last one is 0"):
        world.fact(7)
    with pytest.raises(UsageError, match="is empty or another name of somebody"):
        world.describe([Entity(" ")])
    with pytest.raises(UsageError, match="give two names of at most 200 characters"):
        world.describe([Entity("Mara", aliases=("",))])
    world.describe([Entity("Mara", aliases=("Mimi",))])
    monkeypatch.setattr("fabula.story.world.state.MAX_FACTS", 2)
    world.add([at(1, "a", 1), at(1, "b", (1, 2.5, None))])
    with pytest.raises(UsageError, match="A world holds at most 2 facts"):
        world.add([at(1, "c", 1)])
    with pytest.raises(UsageError, match="A list has 1,001 items"):
        from_json([1] * 1001)
    assert world.snapshot(subject="Mimi") == world.snapshot()


def test_knowing_of_a_fact_that_never_was_is_an_error(world: WorldState) -> None:
    with pytest.raises(UsageError, match="There is no fact 1"):
        world.learn(1, "Mara", Moment(1))


def test_a_denial_of_everything_leaves_denials_and_nothing_alone(world: WorldState) -> None:
    world.add([at(1, "job", None), at(2, "job", None, polarity=False), at(3, "job", "smith", polarity=False)])
    assert len(world.snapshot()) == 3
    world.add([at(4, "job", "smith")])
    assert [(fact.value, fact.polarity) for fact in world.snapshot()] == [("smith", True)]
