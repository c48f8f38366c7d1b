"""W as MAGNET commits it (section 4 of the specification), its graph, and what is drawn of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import UsageError
from fabula.story.world import Entity, Fact, Moment, WorldState
from fabula.story.world.flat import Write, commit, conflicts_of, flat, near, updates_of, variables
from fabula.story.world.graph import graph_of, graphml, mermaid

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def world() -> Iterator[WorldState]:
    with WorldState() as state:
        yield state


def test_writes_come_in_order_new_keys_are_inserted_and_old_ones_overwritten(world: WorldState) -> None:
    commit(world, 0, [Write("lamp_lit", value=False, actor="author"), Write("boats_out", 3, "author")])
    commit(world, 1, [Write("boats_out", 2, "Mara"), Write("door_open", value=True, actor="Tobias")])
    assert list(flat(world).items()) == [("lamp_lit", False), ("boats_out", 2), ("door_open", True)]
    assert list(flat(world, step=0).items()) == [("lamp_lit", False), ("boats_out", 3)]
    assert [(v.step, v.actor) for v in variables(world)] == [(0, "author"), (1, "Mara"), (1, "Tobias")]


def test_of_two_values_of_one_step_the_last_wins_and_the_conflict_is_told(world: WorldState) -> None:
    writes = [Write("door_open", value=True, actor="a"), Write("door_open", value=False, actor="b")]
    commit(world, 1, writes)
    assert conflicts_of(writes) == ("door_open",)
    assert flat(world) == {"door_open": False}


def test_reserved_and_impossible_keys_are_left_out(world: WorldState) -> None:
    writes = [Write("current_goal", "mine", "critic"), Write("No Key", 1, "critic"), Write("lamp", 1, "critic")]
    commit(world, 1, writes, system={"current_goal": "find the boat"})
    assert flat(world) == {"lamp": 1, "current_goal": "find the boat"}


def test_a_critics_updates_are_laid_flat_and_cleaned() -> None:
    taken, refused = updates_of(
        {"Lucia's alibi": "gone", "door": {"front": {"open": True}, "back": [1, "x"]}, "turn": 9, "12": 1, "k" * 65: 1,
         "deep": [[1]], "nan": float("nan"), "Café": None}
    )  # fmt: skip
    assert taken == {"lucias_alibi": "gone", "door_front_open": True, "door_back": (1, "x"), "cafe": None}
    assert [one.key[:8] for one in refused] == ["turn", "12", "kkkkkkkk", "deep", "nan"]
    taken, refused = updates_of({f"key {n}": n for n in range(5000)})
    assert (len(taken), [one.why for one in refused][:1]) == (200, ["a step writes at most 200 keys"])


def test_nearly_the_same_key_is_told(world: WorldState) -> None:
    commit(world, 1, [Write("lucia_has_letter", value=True, actor="a", about=("Lucia",))])
    writes = [Write("lucia_has_the_letter", value=True, actor="a", about=("lucia",))]
    assert list(near(world, writes)) == [("lucia_has_the_letter", "lucia_has_letter")]
    commit(world, 2, writes)
    assert list(near(world, writes)) == [], "it is there now"
    assert list(near(world, [Write("marco_has_letter", value=True, actor="a", about=("Marco",))])) == []
    commit(world, 4, [Write("holding_evidence", value=True, actor="a")])
    commit(world, 5, [Write("back_evidence", value=True, actor="a"), Write("evidence", value=True, actor="a")])
    writes = [Write("holding_back_evidence", value=True, actor="a")]
    assert [key for _, key in near(world, writes)] == ["holding_evidence", "back_evidence"]
    commit(world, 6, writes)
    writes = [Write("holding_evidence", value=None, actor="a"), Write("holding_of_evidence", 1, "a")]
    assert [key for _, key in near(world, writes)] == ["holding_evidence"]
    commit(world, 7, writes)
    found = [key for _, key in near(world, [Write("evidence_holding", 1, "a")])]
    assert found == ["holding_back_evidence", "holding_of_evidence"]  # the other has ended


def test_steps_follow_each_other_and_none_is_written_twice(world: WorldState) -> None:
    commit(world, 1, [Write("lamp", 1, "a")])
    commit(world, 2, [Write("lamp", 2, "a")])
    for number in (0, 2):
        with pytest.raises(UsageError, match=f"Step {number} cannot follow step 2, which is recorded"):
            commit(world, number, [Write("lamp", 7, "a")], at=Moment(9))
    with pytest.raises(UsageError, match="Step 3 is told in scene 1, before step 2"):
        commit(world, 3, [Write("lamp", 7, "a")], at=Moment(1))
    assert (flat(world), len(world.facts())) == ({"lamp": 2}, 2)


def test_the_graph_has_the_papers_nodes_and_edges(world: WorldState) -> None:
    world.describe([Entity("Lucia", "character"), Entity("Marco", "character")])
    world.add([Fact("Lucia", "rel", "distrusts him", modality="author", about=("Marco",))])
    commit(world, 1, [Write("letter_read", value=True, actor="Lucia", about=("Lucia",))])
    graph = graph_of(world, world.snapshot())
    assert [(node.id, node.kind) for node in graph.nodes] == [
        ("world", "world"),
        ("character:lucia", "character"),
        ("character:marco", "character"),
        ("state:letter_read", "state"),
    ]
    assert {(edge.source, edge.relation, edge.target) for edge in graph.edges} == {
        ("world", "contains", "character:lucia"),
        ("world", "contains", "character:marco"),
        ("world", "has_state", "state:letter_read"),
        ("state:letter_read", "about", "character:lucia"),
        ("character:lucia", "rel", "character:marco"),
    }
    assert graph.nodes[3].attributes == {"value": True, "scene": 1, "modality": "asserted", "source": "Lucia"}


def test_what_is_drawn(world: WorldState) -> None:
    world.add([Fact("Mara", "loves", "dearly", about=("Tobias",)), Fact('Ma"ra', "eyes", "<b>")])
    graph = graph_of(world, world.snapshot())
    assert mermaid(graph) == (
        'flowchart LR\n  n0("Mara")\n  n1("Tobias")\n  n2("Ma#34;ra")\n  n3["eyes#58; #60;b#62;"]\n'
        '  n0 -->|"loves#58; dearly"| n1\n  n2 -->|"has_state"| n3\n'
    )
    assert mermaid(graph, most=1).endswith('|"loves#58; dearly"| n1\n  %% 1 more edges are left out\n')
    assert mermaid(graph_of(world, [])) == 'flowchart LR\n  n0("world")\n'
    text = graphml(graph)
    assert '<node id="entity:ma-ra"><data key="kind">entity</data><data key="label">Ma&quot;ra</data></node>' in text
    assert 'target="entity:tobias"><data key="relation">loves</data><data key="value">&quot;dearly&quot;</data>' in text


def test_names_of_one_slug_are_two_nodes(world: WorldState) -> None:
    world.add([Fact("Ma ra", "x", 1), Fact("Ma-ra", "x", 1), Fact("World", "two words", 1)])
    ids = [node.id for node in graph_of(world, world.snapshot()).nodes]
    assert len(set(ids)) == len(ids)
    assert {"entity:ma-ra", "entity:ma-ra-2", "state:two-words"} <= set(ids)
