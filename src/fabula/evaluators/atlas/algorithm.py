"""ATLAS (MAGNET, section 3.5): scenes become graphs, each is compared with earlier ones, proposals are verified.

`atlas` is the paper's pipeline, `plain_judge` its baseline (section 3.6). The functions after them select what is kept
from replies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from fabula.continuity import scenes_of
from fabula.craft.raters import mark_for
from fabula.engine.methods import values_of
from fabula.engine.run import WorkBranch, branches, side_by_side
from fabula.evaluators.atlas.checking import StoryCheck
from fabula.evaluators.atlas.findings import AtlasFinding, Proposal, clause_of, distinct
from fabula.evaluators.atlas.fitting import batches_of, facts_for, whole_text
from fabula.evaluators.atlas.gold import read_gold
from fabula.evaluators.atlas.graph import (
    ENTITY_TYPES,
    EVENT,
    RELATIONS,
    Attribute,
    EntityTable,
    FactEdge,
    FactNode,
    SceneGraph,
    StoryGraph,
    allowed,
    normal,
)
from fabula.evaluators.atlas.replies import Attributes, Entities, Events, PlainJudgement, Proposals, Relations, Verdicts
from fabula.evaluators.atlas.reporting import StoryFindings, report_of
from fabula.evaluators.atlas.verdicts import confirmed
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from fabula.continuity import NumberedScene
    from fabula.engine.run import Run
    from fabula.evaluators.atlas.config import Config
    from fabula.evaluators.atlas.replies import AttributeReply, EntityReply, ProposalReply, RelationReply
    from fabula.measure.items import Item
    from fabula.measure.report import Report

    Method: TypeAlias = Callable[[StoryCheck], Coroutine[Any, Any, tuple[Sequence[AtlasFinding], dict[str, Any]]]]


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """The contradictions in each story, with both quotations. Fewer are better.

    Raises:
        UsageError: a setting or the file of known errors is wrong, or a story has no words.
        ModelError: a model did not answer.
        BudgetError: the cap is reached.
    """
    return await checked_by(atlas, items, run, config)


async def checked_by(method: Method, items: Sequence[Item], run: Run, config: Config) -> Report:
    """The findings of a method in each story, and those of the plain judge (section 3.6).

    Raises:
        UsageError: a setting or the file of known errors is wrong, or a story has no words.
        ModelError: a model did not answer.
        BudgetError: the cap is reached.
    """
    config.validate()
    gold = read_gold(config.paper.gold, {item.id: item.story.text for item in items})

    async def checked(item: Item) -> StoryFindings:
        check = StoryCheck(run.scope(item.id), item, scenes_of(item.story, config.scene_words), config)
        work: list[Coroutine[Any, Any, Any]] = [method(check)]
        if config.paper.baseline:
            work.append(plain_judge(check))
        (found, details), *judged = await side_by_side(work)
        return StoryFindings(check, tuple(found), judged[0] if judged else None, details, gold[item.id])

    return report_of(await side_by_side(map(checked, items)), config, values_of(config))


# section 3.5: ATLAS -------------------------------------------------------------------------------------------------


async def atlas(check: StoryCheck) -> tuple[Sequence[AtlasFinding], dict[str, Any]]:
    """The findings that the paper's pipeline confirms, each with its nodes, and the graph of the story.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    scenes = check.scenes

    async with branches() as begin:
        # Three passes and the attribute pass over each scene; entities that scenes share are given one id.
        table, graphs = EntityTable(), list[WorkBranch[SceneGraph]]()
        for scene in scenes:
            graphs.append(begin(_joined(begin(scene_graph(check, scene)), graphs[-1:], table)))

        # "Starting at the second scene, an LLM proposes hallucinations based on the inconsistencies between the current
        # scene's world state and text, and previous scenes' world states."
        proposed = [begin(propose(check, scene, graphs[n], graphs[:n])) for n, scene in enumerate(scenes) if n > 0]
    proposals = [proposal for of_scene in proposed for proposal in await of_scene]
    check.counts["proposals"] += len(proposals)

    # "These proposals are then verified, using the story text to check if there is sufficient evidence."
    verified = await side_by_side(
        verify(check, number, batch, text) for number, (batch, text) in enumerate(batches_of(check, proposals), 1)
    )
    graph = StoryGraph.of(table, [await one for one in graphs])
    found = distinct(one for of_batch in verified for one in of_batch)
    return [replace(one, nodes=graph.nodes_of(check.text, one)) for one in found], {"graph": graph.as_data()}


async def _joined(
    graph: WorkBranch[SceneGraph], before: Sequence[WorkBranch[SceneGraph]], table: EntityTable
) -> SceneGraph:
    """A scene's graph with ids of the whole story, assigned after those of the previous scene."""
    for earlier in before:
        await earlier
    return (await graph).joined(table)


async def scene_graph(check: StoryCheck, scene: NumberedScene) -> SceneGraph:
    """The graph of a scene, with its own ids.

    "Only nodes and edges recognized by the schema are retained." Here they must also quote evidence that is in the
    scene, and an entity must take part in an event. An attribute without a quotation keeps its node's evidence.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    at = check.run.scope("graph", scene.number)
    shown: dict[str, Any] = {"scene": scene, "mark": mark_for(scene.text)}
    edges: list[FactEdge] = []
    attributes: list[Attribute] = []

    # Pass 1: "scene-level event units, each as a node with a name, description, and textual evidence".
    events = await check.ask(at, Events, "grapher", "events", **shown)
    nodes = list(_event_nodes(check, scene.number, events)) if events else []

    # Pass 2: "entities in relation to the events they appear in".
    entities = await check.ask(at, Entities, "grapher", "entities", nodes=nodes, **shown)
    nodes += list(_entity_nodes(check, scene.number, entities.entities, len(nodes))) if entities else []

    if nodes:
        # Pass 3: "the relations connecting those events and entities".
        shown |= {"nodes": nodes, "kinds": _KINDS}
        relations = await check.ask(at, Relations, "grapher", "relations", **shown)
        edges = list(_edges(check, scene.number, relations.relations, nodes)) if relations else []

        # "For each node, the pipeline performs a separate attribute-extraction pass."
        each = await side_by_side(attributes_of(check, at, node, nodes) for node in nodes)
        attributes = [attribute for of_node in each for attribute in of_node]

    graph = SceneGraph(scene.number, tuple(nodes), tuple(dict.fromkeys(edges)), tuple(attributes))
    check.counts["sparse_scenes"] += graph.sparse
    return graph


async def propose(
    check: StoryCheck, scene: NumberedScene, graph: WorkBranch[SceneGraph], earlier: Sequence[WorkBranch[SceneGraph]]
) -> list[Proposal]:
    """Proposed contradictions of a scene with earlier ones, from its facts and text and the earlier facts.

    If these do not all fit the proposer's window, facts about entities that the scene names come first, and the facts
    left out are counted.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    facts, known = facts_for(check, scene, await graph, [await one for one in earlier])
    reply = await check.ask(
        check.run.scope("propose", scene.number),
        Proposals,
        "proposer",
        "propose",
        scene=scene,
        mark=mark_for(scene.text),
        facts=facts,
        known=known,
    )
    return list(valid_proposals(check, reply.findings, later=scene.number)) if reply else []


async def verify(check: StoryCheck, number: int, batch: Sequence[Proposal], text: str) -> list[AtlasFinding]:
    """The proposals of a batch that the verifier confirms with quotations from the story.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    at = check.run.scope("verify", number)
    reply = await check.ask(at, Verdicts, "verifier", "verify", proposals=batch, story=text, mark=mark_for(text))
    return confirmed(check, batch, reply, f"{at.at}/verify")


# section 3.6: the baseline ------------------------------------------------------------------------------------------


async def plain_judge(check: StoryCheck) -> tuple[Proposal, ...] | None:
    """The unverified list of one call that reads the whole story. Entries must name two scenes in their order.

    The result is `None` if no reply could be read.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    text = whole_text(check.scenes)
    reply = await check.ask(check.run, PlainJudgement, "judge", "judge", story=text, mark=mark_for(text))
    if reply is None:
        return None
    found = tuple(valid_proposals(check, reply.findings, counted="judge_"))
    check.rate("judge", "baseline", f"{check.run.at}/judge", answer=float(len(found)))
    return found


# the graph of a scene: what is kept of the replies ------------------------------------------------------------------


# For prompts: each relation, and what it goes from and to.
_KINDS: Final = [
    (name, " or ".join(sorted({a for a, _ in pairs})), " or ".join(sorted({b for _, b in pairs})))
    for name, pairs in RELATIONS.items()
]


def _has_evidence(check: StoryCheck, scene: int, evidence: str, what: str) -> bool:
    """Whether the evidence is in the scene. An item without evidence is dropped and counted."""
    stands = check.text.find(scene, evidence, nearly=True) is not None
    check.counts[f"dropped_{what}_without_evidence"] += not stands
    return stands


def _event_nodes(check: StoryCheck, scene: int, reply: Events) -> Iterator[FactNode]:
    number = 0
    for event in reply.events:
        if _has_evidence(check, scene, event.evidence, "event") and one_line(event.name):
            number += 1
            name, description = one_line(event.name), one_line(event.description)
            yield FactNode(f"{scene}:e{number}", EVENT, name, (), description, scene, event.evidence, f"e{number}")


def _entity_nodes(check: StoryCheck, scene: int, replies: Sequence[EntityReply], events: int) -> Iterator[FactNode]:
    number = 0
    for one in replies:
        linked = tuple(sorted({n for n in one.events if 1 <= n <= events}))
        if one.type not in ENTITY_TYPES or not one_line(one.name):
            check.counts["dropped_unknown_type"] += 1
        elif not linked:
            check.counts["dropped_without_event"] += 1
        elif _has_evidence(check, scene, one.evidence, "entity"):
            number += 1
            yield FactNode(
                f"{scene}:n{number}",
                one.type,
                one_line(one.name),
                tuple(name for alias in one.aliases if (name := one_line(alias))),
                one_line(one.description),
                scene,
                one.evidence,
                f"n{number}",
                linked,
            )


def _edges(
    check: StoryCheck, scene: int, replies: Sequence[RelationReply], nodes: Sequence[FactNode]
) -> Iterator[FactEdge]:
    known = {node.short: node for node in nodes}
    for one in replies:
        source, target = known.get(one.source.strip().casefold()), known.get(one.target.strip().casefold())
        if source is None or target is None or source is target:
            check.counts["dropped_edge_without_node"] += 1
        elif not allowed(one.relation, source.type, target.type):
            check.counts["dropped_outside_schema"] += 1
        elif _has_evidence(check, scene, one.evidence, "edge"):
            yield normal(FactEdge(source.id, one.relation, target.id, scene, one.evidence))


async def attributes_of(check: StoryCheck, at: Run, node: FactNode, nodes: Sequence[FactNode]) -> list[Attribute]:
    """A node's attributes, from its own evidence and that of the events in which it takes part.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    events = [one.evidence for one in nodes if one.type == EVENT]
    spans = list(dict.fromkeys([node.evidence, *(events[number - 1] for number in node.events)]))
    own = at.scope("node", node.short)
    shown = {"node": node, "spans": spans, "mark": mark_for(*spans)}
    reply = await check.ask(own, Attributes, "grapher", "node", **shown)
    return list(_attributes(check, reply.attributes, node)) if reply else []


def _attributes(check: StoryCheck, replies: Sequence[AttributeReply], node: FactNode) -> Iterator[Attribute]:
    for one in replies:
        predicate, value = one_line(one.predicate), one_line(one.value)
        if not predicate or not value:
            check.counts["dropped_empty_attribute"] += 1
        elif not one.evidence or _has_evidence(check, node.scene, one.evidence, "attribute"):
            yield Attribute(node.id, predicate, value, node.scene, one.evidence or node.evidence)


# proposals ----------------------------------------------------------------------------------------------------------


def valid_proposals(
    check: StoryCheck, replies: Iterable[ProposalReply], *, later: int | None = None, counted: str = ""
) -> Iterator[Proposal]:
    """The proposals that can be findings: two scenes of the story, the earlier first, and a clause for each.

    With `later`, the second scene must be that one. Other proposals are dropped and counted under names that begin with
    `counted`.
    """
    numbers = {scene.number for scene in check.scenes}
    for one in replies:
        fact, event = clause_of(one.fact), clause_of(one.event)
        if one.x not in numbers or one.y not in numbers or (later is not None and one.y != later):
            check.counts[f"{counted}dropped_unknown_scene"] += 1
        elif one.x >= one.y:
            check.counts[f"{counted}dropped_not_before"] += 1
        elif not (fact and event):
            check.counts[f"{counted}dropped_clause"] += 1
        else:
            yield Proposal(one.x, one.y, fact, event)
