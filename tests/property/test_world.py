"""The world does not depend on when facts are recorded, survives its file, and W is a dictionary with a memory."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.dom.minidom import parseString

from hypothesis import given, settings
from hypothesis import strategies as st

from collisions import collides, contradicts
from fabula.story import one_line, readable
from fabula.story.world import NOW, Entity, Fact, Moment, WorldState
from fabula.story.world.facts import CHANGES, DURABILITIES, before, problems_of
from fabula.story.world.file import parse_world, write_world
from fabula.story.world.flat import Write, commit, flat, updates_of
from fabula.story.world.graph import graph_of, graphml, mermaid

if TYPE_CHECKING:
    from fabula.story.world.meaning import Value

KEEPER = Entity("Mara", "character", ("The keeper",))
people = st.sampled_from(["Mara", "mara", "The keeper"])  # few, so that facts meet
slots = st.sampled_from(["eyes", "owns"])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["grey", "Grey", "3", "blue", "true"])
)
values = st.one_of(scalars, st.lists(scalars, max_size=2).map(tuple))
moments = st.builds(Moment, st.integers(0, 4), st.integers(0, 2))
some = st.one_of(st.none(), st.lists(people, max_size=2).map(tuple))
modalities = st.sampled_from(["asserted", "asserted", "author", "believed"])
facts = st.builds(
    Fact, people, slots, values, moments, st.booleans(), modalities,
    st.sampled_from(["", "Jonas"]),
    st.sampled_from(DURABILITIES), some, st.lists(people, max_size=1).map(tuple), change=st.sampled_from(CHANGES),
)  # fmt: skip
HOSTILE = st.sampled_from(
    ['"', "]]>", "<script>", "&amp;", "\n", "\r", "\x00", "\x1b[2J", "\ud800", "`", "%%{init: {}}%%", "end", "#", ";",
     "|", "[", "]", "(", ")", "--", "\u202e", "\ufffe", "\u2028", "click n0", "'", "\\"]
)  # fmt: skip
years = st.sampled_from(["", "1900", "1905", "1905-03", "1905-03-02", "1910", "-3"])
timed = st.builds(
    lambda fact, one, other: replace(fact, story_from=one, story_to="" if before(other, one) else other),
    st.builds(
        Fact, st.just("Mara"), st.just("eyes"), scalars, moments, st.booleans(),
        durability=st.sampled_from(DURABILITIES), change=st.sampled_from(CHANGES),
    ),
    years, years,
)  # fmt: skip
hostile = st.one_of(st.text(max_size=20), st.lists(HOSTILE, max_size=6).map("".join))
hostile_names = hostile.filter(lambda text: one_line(readable(text)))
keys = st.sampled_from(["door_open", "lamp", "lamp_lit", "where_is_mara"])
steps = st.lists(
    st.lists(st.builds(Write, keys, values, people, some.map(lambda names: names or ())), max_size=4), max_size=6
)


def asserted(world: WorldState) -> list[Fact]:
    """All assertions with what became of them; ids, which say when they were recorded, are replaced by places."""
    found = world.facts()
    places = {fact.id: place for place, fact in enumerate(found)}
    return [
        replace(
            fact,
            id=0,
            restates=None if fact.restates is None else places[fact.restates],
            closed=fact.closed and replace(fact.closed, by=places[fact.closed.by]),
        )
        for fact in found
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(facts, max_size=12), st.data())
def test_it_does_not_matter_when_a_fact_is_recorded(made: list[Fact], data: st.DataObject) -> None:
    spread = [replace(fact, told=Moment(fact.told.scene, place)) for place, fact in enumerate(made)]  # no ties
    with WorldState() as one, WorldState() as other:
        for world in (one, other):
            world.hold_many("owns")
        one.add(sorted(spread, key=lambda fact: fact.told))
        for fact in data.draw(st.permutations(spread)):
            other.add([fact])
        assert asserted(one) == asserted(other)


@settings(max_examples=40, deadline=None)
@given(st.lists(facts, max_size=12))
def test_every_assertion_is_kept_and_nothing_stands_beside_what_contradicts_it(made: list[Fact]) -> None:
    with WorldState() as world:
        world.hold_many("owns")
        world.add(made)
        assert len(world.facts()) == len(made)
        for scene in range(5):
            held = world.snapshot(Moment.end(scene))
            for a in held:
                for b in held:
                    same = a is not b and world.index.key(a) == world.index.key(b)
                    assert not (same and contradicts(a, b, many=a.slot == "owns"))


@settings(max_examples=300, deadline=None)
@given(st.lists(timed, max_size=14), st.booleans())
def test_conflicts_are_what_holding_each_fact_against_each_earlier_one_finds(made: list[Fact], many: bool) -> None:  # noqa: FBT001 - drawn
    with WorldState() as world:
        world.hold_many(*["eyes"] * many)
        world.add(made)
        naive = []
        for later in world.facts():
            if not later.real or later.restates is not None:
                continue
            before = [
                f for f in world.facts() if f.order < later.order and world.index.key(f) == world.index.key(later)
            ]
            for fact in before:
                if fact.restates is None and collides(fact, later, many=many):
                    same = (fact.polarity, fact.norm)
                    also = tuple(f.told for f in before if f.order > fact.order and (f.polarity, f.norm) == same)
                    naive.append((fact, later, also))
                    break
        assert [(one.earlier, one.later, tuple(one.also)) for one in world.conflicts()] == naive


@settings(max_examples=40, deadline=None)
@given(st.lists(facts, max_size=12), moments, moments)
def test_a_snapshot_and_a_difference_make_the_later_snapshot(made: list[Fact], one: Moment, other: Moment) -> None:
    first, second = sorted((one, other))
    with WorldState() as world:
        world.hold_many("owns")
        world.add(made)

        def held(snapshot: tuple[Fact, ...]) -> set[tuple[object, ...]]:
            return {(*world.index.key(fact), fact.polarity, fact.norm) for fact in snapshot}

        diff = world.diff(first, second)
        gone = held((*diff.closed, *(old for old, _ in diff.changed)))
        came = held((*diff.opened, *(new for _, new in diff.changed)))
        before = held(world.snapshot(first))
        assert gone <= before
        assert (before - gone) | came == held(world.snapshot(second))


@settings(max_examples=10, deadline=None)  # each opens three files
@given(st.lists(facts, max_size=10), st.lists(facts, max_size=3))
def test_a_world_is_what_it_was_when_it_is_opened_again(made: list[Fact], more: list[Fact]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "world.db"
        with WorldState(file) as world:
            world.hold_many("owns")
            world.add(made)
            world.describe([KEEPER])
            if made:
                world.learn(1, "Tobias", Moment(9))
            before = asserted(world), world.conflicts(), world.known_to("Tobias"), world.entities()
        with WorldState(file) as world:
            assert (asserted(world), world.conflicts(), world.known_to("Tobias"), world.entities()) == before
            world.add(more)
            after = world.snapshot()
        with WorldState(file) as world:
            assert world.snapshot() == after


@settings(max_examples=40, deadline=None)
@given(st.lists(facts, max_size=10))
def test_it_does_not_matter_when_two_names_turn_out_to_be_one(made: list[Fact]) -> None:
    with WorldState() as world, WorldState() as other:
        world.add(made)
        world.describe([KEEPER])
        other.describe([KEEPER])
        other.add(made)
        assert asserted(world) == asserted(other)
        assert world.conflicts() == other.conflicts()


@settings(max_examples=40, deadline=None)
@given(st.lists(facts, max_size=10), st.sets(st.integers(1, 10)))
def test_what_is_withdrawn_might_never_have_been_there(made: list[Fact], gone: set[int]) -> None:
    gone = {number for number in gone if number <= len(made)}
    with WorldState() as world, WorldState() as other:
        world.add([replace(fact, origin="plan") if number in gone else fact for number, fact in enumerate(made, 1)])
        world.replace_origin("plan", [])
        other.add([fact for number, fact in enumerate(made, 1) if number not in gone])
        assert asserted(world) == asserted(other)


@settings(max_examples=40, deadline=None)
@given(st.lists(facts, max_size=10))
def test_an_exported_world_reads_back(made: list[Fact]) -> None:
    with WorldState() as world, WorldState() as other:
        world.hold_many("owns")
        world.describe([Entity("Mara", "character", ("The keeper",))])
        world.add(made)
        parse_world(write_world(world), is_json=True).add_to(other)
        assert asserted(other) == asserted(world)
        assert other.entities() == world.entities()


@settings(max_examples=40, deadline=None)
@given(steps)
def test_w_is_a_dictionary_that_remembers(made: list[list[Write]]) -> None:
    view: dict[str, Value] = {}
    past: list[str] = []
    with WorldState() as world:
        for number, writes in enumerate(made, 1):
            commit(world, number, writes)
            for write in writes:
                if write.value is None:
                    view.pop(write.key, None)
                else:
                    view[write.key] = write.value
            past.append(json.dumps(list(view.items())))
            assert json.dumps(list(flat(world).items())) == past[-1]
        for number, own in enumerate(past, 1):
            assert json.dumps(list(flat(world, step=number).items())) == own


@settings(max_examples=40, deadline=None)
@given(hostile_names, hostile_names, hostile)
def test_whatever_is_in_a_name_the_exports_are_sound(subject: str, slot: str, value: str) -> None:
    with WorldState() as world:
        world.add([Fact(subject, slot, value), Fact(subject, slot + "2", value, about=(slot, "Mara"))])
        graph = graph_of(world, world.snapshot())
        root = parseString(graphml(graph))  # noqa: S318 - our own output is parsed
        assert len(root.getElementsByTagName("node")) == len(graph.nodes)
        drawn = mermaid(graph).splitlines()
        assert drawn[0] == "flowchart LR"
        for line in drawn[1:]:
            assert line.count('"') == 2
            assert not set(line.split('"')[1]) & set("<>`[]{}()|%\\&'\x1b\u202e")
        assert parse_world(write_world(world), is_json=True).facts


@settings(max_examples=40, deadline=None)
@given(st.recursive(st.one_of(scalars, st.floats()), lambda inner: st.dictionaries(hostile, inner, max_size=4)))
def test_a_critics_updates_never_break_the_keys(updates: object) -> None:
    taken, refused = updates_of(updates if isinstance(updates, dict) else {"x": updates})
    with WorldState() as world:
        commit(world, 1, [Write(key, value, "critic") for key, value in taken.items()])
        assert flat(world) == {key: value for key, value in taken.items() if value is not None}, (
            "no value retires a key"
        )
    assert all(one.why for one in refused)


@settings(max_examples=40, deadline=None)
@given(st.builds(Fact, hostile, hostile, hostile, moments, quote=hostile, witnesses=some))
def test_a_fact_is_recorded_or_told_what_is_wrong_with_it(fact: Fact) -> None:
    with WorldState() as world:
        if not list(problems_of(fact)) and one_line(readable(fact.subject)) and one_line(readable(fact.slot)):
            (kept,) = world.add([fact])
            assert world.snapshot(NOW) == (kept,)
