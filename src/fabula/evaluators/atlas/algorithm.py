"""ATLAS (MAGNET, section 3.5): scenes become graphs, each is compared with earlier ones, proposals are verified.

`atlas` is the paper's pipeline, `plain_judge` its baseline (section 3.6). The functions after them select what is kept
from replies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.continuity import scenes_of
from fabula.craft.packing import paragraphs, words
from fabula.craft.raters import mark_for
from fabula.engine.methods import values_of
from fabula.engine.run import WorkBranch, branches, side_by_side
from fabula.evaluators.atlas.checking import LARGEST_BATCH, StoryCheck
from fabula.evaluators.atlas.findings import AtlasFinding, Proposal, claim_key, clause_of, distinct
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
from fabula.evaluators.atlas.replies import (
    DECISIONS,
    ERROR,
    Attributes,
    Entities,
    Events,
    PlainJudgement,
    Proposals,
    Relations,
    Verdicts,
)
from fabula.evaluators.atlas.reporting import StoryFindings, report_of
from fabula.models.budget import estimate_tokens
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from fabula.continuity import NumberedScene, Passage
    from fabula.engine.run import Run
    from fabula.evaluators.atlas.config import Config
    from fabula.evaluators.atlas.quoting import StoryText
    from fabula.evaluators.atlas.replies import AttributeReply, EntityReply, ProposalReply, RelationReply, VerdictReply
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


# what a role is shown if its window cannot hold everything: the first facts, and the text for the verifier -----------


Facts = list[tuple[str, list[str]]]
_REST_TOKENS: Final = 3_000  # of instructions, proposals and schema beside the text
_SHORT: Final = 4  # letters of words that name nothing in particular


def facts_for(
    check: StoryCheck, scene: NumberedScene, own: SceneGraph, earlier: Sequence[SceneGraph]
) -> tuple[Facts, Facts]:
    """For the proposer, the facts of a scene and of earlier ones by entity, as far as they fit its window."""
    room = check.prompt_room("proposer", "propose")
    if room is not None:
        room = max(0, room - _REST_TOKENS - estimate_tokens(scene.text))
    facts, left = _by_entity(check, [own], scene, room)
    return facts, _by_entity(check, earlier, scene, left)[0]


def _by_entity(
    check: StoryCheck, graphs: Sequence[SceneGraph], scene: NumberedScene, room: int | None
) -> tuple[Facts, int | None]:
    """Facts by entity, each with its scene, and the tokens left of `room` if it is limited.

    Entities that the scene names come first. Facts that do not fit are left out and counted.
    """
    found: dict[str, list[str]] = {}
    for graph in graphs:
        for entity, fact in graph.facts():
            found.setdefault(entity, []).append(f"scene {graph.scene}: {fact}")
    there = words(scene.text)
    kept: Facts = []
    for entity, facts in sorted(found.items(), key=lambda group: not words(group[0]) & there):
        own = []
        for fact in facts:
            room = None if room is None else room - estimate_tokens(fact) - 2
            if room is None or room >= 0:
                own.append(fact)
            else:
                check.counts["facts_without_room"] += 1
        if own:
            kept.append((entity, own))
    return kept, None if room is None else max(0, room)


def batches_of(check: StoryCheck, proposals: Sequence[Proposal]) -> list[tuple[list[Proposal], str]]:
    """Batches of proposals, each verified in one call with the text that it needs: the whole story if it fits."""
    room = check.prompt_room("verifier", "verify")
    whole = whole_text(check.scenes)
    fits = room is None or estimate_tokens(whole) <= room - _REST_TOKENS
    batches: list[tuple[list[Proposal], str]] = []
    for one in sorted(proposals, key=lambda p: (p.x, p.y)):
        text = whole if fits else _between(check.scenes, one)
        if batches and len(batches[-1][0]) < LARGEST_BATCH and (fits or batches[-1][1] == text):
            batches[-1][0].append(one)
        else:
            batches.append(([one], text))
    return batches


def _between(scenes: Sequence[NumberedScene], one: Proposal) -> str:
    """Scenes X and Y, and the paragraphs between them that name the subject of the proposal."""
    own = f"{one.fact} {one.event}"
    names = {word for word in words(own) if word.capitalize() in own and len(word) > 1}
    about = names or {word for word in words(own) if len(word) > _SHORT}
    pieces = []
    for scene in scenes:
        if scene.number in (one.x, one.y):
            pieces.append(_headed(scene, scene.text))
        elif one.x < scene.number < one.y:
            text = "\n\n".join(part for part in paragraphs(scene.text) if about & words(part))
            pieces += [_headed(scene, text)] if text else []
    return "\n\n".join(pieces)


def whole_text(scenes: Sequence[NumberedScene]) -> str:
    """The scenes, each below its number and title."""
    return "\n\n".join(_headed(scene, scene.text) for scene in scenes)


def _headed(scene: NumberedScene, text: str) -> str:
    return f"[Scene {scene.number}{f': {scene.title}' if scene.title else ''}]\n{text}"


# the verdicts that count: their quotations must be in the story, so that none is made up -----------------------------


_FEWEST_WORDS: Final = 2  # of a quotation that is to prove something
UNGROUNDED: Final = "ungrounded"


@dataclass(frozen=True, slots=True)
class ProposalOutcome:
    """The outcome of a proposal: a finding, a rejection with its reason, or why there is no usable verdict."""

    found: AtlasFinding | None = None
    rejected: str = ""
    unscored: str = ""


def confirmed(check: StoryCheck, batch: Sequence[Proposal], reply: Verdicts | None, call: str) -> list[AtlasFinding]:
    """The findings in a batch, by the numbers (from 1) of its proposals in the prompt.

    If no reply could be read, the verdict on each proposal is missing. Of two verdicts on a proposal, the first counts.
    """
    by_number: dict[int, VerdictReply] = {}
    for verdict in reply.verdicts if reply else ():
        by_number.setdefault(verdict.number, verdict)
    found = []
    for number, proposal in enumerate(batch, 1):
        outcome = outcome_of(proposal, by_number.get(number), check.text)
        _record(check, proposal, outcome, by_number.get(number), call)
        if outcome.found is not None:
            found.append(outcome.found)
    if extra := len(set(by_number) - set(range(1, len(batch) + 1))):
        check.counts["verdicts_on_nothing"] += extra
    return found


def outcome_of(proposal: Proposal, verdict: VerdictReply | None, text: StoryText) -> ProposalOutcome:
    """The outcome of a verdict on a proposal; both quotations must be found, and no explanation may be."""
    if verdict is None or verdict.decision not in DECISIONS:
        did = "gave no verdict on it" if verdict is None else f"decided {verdict.decision[:40]!r}, which is no decision"
        return ProposalOutcome(unscored=f"The verifier {did}.")
    if verdict.decision != ERROR:
        return ProposalOutcome(rejected=verdict.decision)
    before = text.find(proposal.x, verdict.quote_x, nearly=True, least=_FEWEST_WORDS)
    after = text.find(proposal.y, verdict.quote_y, nearly=True, least=_FEWEST_WORDS)
    if before is None or after is None:
        scene = proposal.y if before else proposal.x
        return ProposalOutcome(rejected=UNGROUNDED, unscored=f"Its quotation is not in scene {scene}.")
    if (before.scene, before.focus) == (after.scene, after.focus):
        return ProposalOutcome(rejected=UNGROUNDED, unscored="Both quotations are the same words.")
    if _is_explained(proposal, verdict, text, (before, after)):
        return ProposalOutcome(rejected="explained")
    return ProposalOutcome(_found(proposal, verdict, before, after))


def _is_explained(proposal: Proposal, verdict: VerdictReply, text: StoryText, quoted: tuple[Passage, Passage]) -> bool:
    """Whether the explanation that a verdict quotes is in the story, and is not one of the two places."""
    if not verdict.explanation_quote:
        return False
    scenes = text.between(proposal.x, proposal.y)
    where = text.find_in(scenes, verdict.explanation_quote, nearly=True, least=_FEWEST_WORDS)
    return where is not None and all((where.scene, where.focus) != (part.scene, part.focus) for part in quoted)


def _found(proposal: Proposal, verdict: VerdictReply, before: Passage, after: Passage) -> AtlasFinding:
    fact, event = clause_of(verdict.fact), clause_of(verdict.event)
    if not (fact and event):
        fact, event = proposal.fact, proposal.event
    return AtlasFinding(
        proposal.x,
        proposal.y,
        fact,
        event,
        claim_key(before, after, verdict.attribute, fact, event),
        one_line(verdict.attribute),
        "",
        "proposer",
        before,
        after,
        one_line(verdict.reason),
    )


def _record(
    check: StoryCheck, proposal: Proposal, outcome: ProposalOutcome, verdict: VerdictReply | None, call: str
) -> None:
    """Keep a verdict among the ratings, and count its outcome."""
    answer: str | None = None
    if outcome.found is not None:
        answer = ERROR
        check.counts["confirmed"] += 1
    elif outcome.unscored:
        check.undecided += [] if outcome.rejected else [proposal]
        check.counts["ungrounded_verdicts" if outcome.rejected else "missing_verdicts"] += 1
    else:
        answer = "no error"
        check.counts["rejected"] += 1
        check.counts[f"rejected_{outcome.rejected}"] += 1
    check.rate(
        "verifier",
        proposal.key,
        call,
        answer=answer,
        unscored=outcome.unscored,
        shown=verdict.decision if verdict else "",
        reason=one_line(verdict.reason) if verdict else "",
    )
