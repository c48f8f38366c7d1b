"""The paper's way (section 3.5): graphs of all scenes, each held against those before it, verified against the text."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from fabula.continuity.book import Book
from fabula.continuity.entities import Cast
from fabula.craft.packing import paragraphs, words
from fabula.craft.raters import mark_for
from fabula.evaluators.atlas.entities import Table
from fabula.evaluators.atlas.findings import CATEGORIES, Proposal, merged
from fabula.evaluators.atlas.graph import Grapher, graphs_of
from fabula.evaluators.atlas.shapes import Proposals, Verdicts
from fabula.evaluators.atlas.verifying import VERIFIER, closed, sound_clause
from fabula.models.budget import estimate_tokens
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.continuity import NumberedScene
    from fabula.evaluators.atlas.algorithm import Config
    from fabula.evaluators.atlas.desk import Desk
    from fabula.evaluators.atlas.findings import Found
    from fabula.evaluators.atlas.graph import SceneGraph
    from fabula.evaluators.atlas.grounding import Ground
    from fabula.evaluators.atlas.shapes import ProposalSaid

PROPOSER: Final = "proposer"
KNOWN_TOKENS: Final = 12_000  # of previous world states in a prompt; above that, those that the scene names
WHOLE_TOKENS: Final = 30_000  # of text that is verified against; above that, what lies between and names the entity
_SHORT: Final = 4  # letters of words that name nothing in particular
_PER_1000_WORDS: Final = 3.2  # proposals (127 for 40,000 words), for estimates
_REST: Final = 3_000  # tokens of instructions, proposals and schema beside the text


async def contradictions(
    scenes: Sequence[NumberedScene], desk: Desk, ground: Ground, config: Config
) -> tuple[list[Found], dict[str, Any]]:
    """What the paper's pipeline confirms, and the entities and facts it went by.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    table = Table()
    graphs = await graphs_of(Grapher(desk, ground, config.attr_mode), scenes, table)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_proposed(scene, graphs[: n + 1], desk)) for n, scene in enumerate(scenes) if n]
    names = frozenset(word for row in table.rows for word in words(row.name))
    told = [one for task in tasks for one in task.result()]
    desk.counts["proposals"] += len(told)
    kept, repeated = merged(told, names)
    desk.counts["merged_proposals"] += repeated
    if not kept and desk.run.context.dry_run.planned:  # a dry run, in which nobody proposes
        kept = _expected(scenes)
    found = await _verified(kept, scenes, desk, ground, config.batch)
    entities = [
        {"id": row.id, "type": row.type, "name": row.name, "aliases": sorted(row.aliases), "scene": row.scene}
        for row in table.rows
    ]
    return found, {"entities": entities, "facts": sum(len(list(graph.facts())) for graph in graphs)}


def _expected(scenes: Sequence[NumberedScene]) -> list[Proposal]:
    """As many proposals as the paper had in a story of 100 pages, in proportion, for an estimate of the cost."""
    words_ = sum(count_words(scene.text) for scene in scenes)
    first, last = scenes[0].number, scenes[-1].number
    return [Proposal(first, last, f"fact {n}", f"event {n}") for n in range(round(_PER_1000_WORDS * words_ / 1000))]


async def _proposed(scene: NumberedScene, graphs: Sequence[SceneGraph], desk: Desk) -> list[Proposal]:
    """What a scene is thought to contradict, from the facts of those before it."""
    said = await desk.ask(
        desk.run.scope("propose", scene.number), Proposals, PROPOSER, "propose", scene=scene,
        mark=mark_for(scene.text), facts=_grouped([graphs[-1]], scene, KNOWN_TOKENS, lasting=False),
        known=_grouped(graphs[:-1], scene, KNOWN_TOKENS, lasting=True), categories=list(CATEGORIES.items()),
    )  # fmt: skip
    numbers = {graph.scene for graph in graphs}
    return list(sound(said.findings, numbers, desk, later=scene.number)) if said else []


def sound(said: Iterable[ProposalSaid], numbers: set[int], desk: Desk, later: int | None = None) -> Iterable[Proposal]:
    """The proposals that can be findings: two scenes of the story, the earlier first, and short clauses.

    With `later` the second scene is that one. What is none is dropped and counted.
    """
    for one in said:
        fact, event = sound_clause(one.fact), sound_clause(one.event)
        if one.x not in numbers or one.y not in numbers or (later is not None and one.y != later):
            desk.counts["dropped_unknown_scene"] += 1
        elif one.x >= one.y:
            desk.counts["dropped_not_before"] += 1
        elif not (fact and event):
            desk.counts["dropped_clause"] += 1
        else:
            category = one.category if one.category in CATEGORIES else "other"
            yield Proposal(one.x, one.y, fact, event, category=category)


def _grouped(
    graphs: Sequence[SceneGraph], scene: NumberedScene, most: int, *, lasting: bool
) -> list[tuple[str, list[str]]]:
    """Facts by entity, each with its scene; where they are too many, those that the scene names go first."""
    found: dict[str, list[str]] = {}
    for graph in graphs:
        for entity, fact in graph.facts(lasting=lasting):
            found.setdefault(entity, []).append(f"scene {graph.scene}: {fact}")
    there = words(scene.text)
    ordered = sorted(found.items(), key=lambda group: not words(group[0]) & there)
    kept: list[tuple[str, list[str]]] = []
    for entity, facts in ordered:
        own = []
        for fact in facts:
            most -= estimate_tokens(fact) + 2
            if most >= 0:
                own.append(fact)
        if own:
            kept.append((entity, own))
    return kept


async def _verified(
    proposals: Sequence[Proposal], scenes: Sequence[NumberedScene], desk: Desk, ground: Ground, size: int
) -> list[Found]:
    """The proposals that a verifier confirms, asked in batches beside the text that they need."""
    room = desk.room(VERIFIER, "verify")
    most = min(WHOLE_TOKENS, room - _REST) if room is not None else WHOLE_TOKENS
    whole = shown_scenes(scenes)
    fits = estimate_tokens(whole) <= most
    names = set() if fits else set(Cast.of_book(Book.of(scenes)).tokens)
    batches: list[tuple[list[Proposal], str]] = []
    for one in sorted(proposals, key=lambda p: (p.x, p.y)):
        text = whole if fits else _between(scenes, one, names)
        if batches and len(batches[-1][0]) < size and (fits or batches[-1][1] == text):
            batches[-1][0].append(one)
        else:
            batches.append(([one], text))

    async def closing(number: int, batch: list[Proposal], text: str) -> list[Found]:
        at = desk.run.scope("verify", number)
        told = await desk.ask(at, Verdicts, VERIFIER, "verify", proposals=batch, story=text, mark=mark_for(text))
        return closed(desk, batch, told, ground, f"{at.at}/verify")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(closing(n, *batch)) for n, batch in enumerate(batches, 1)]
    return [one for task in tasks for one in task.result()]


def shown_scenes(scenes: Sequence[NumberedScene]) -> str:
    """Scenes below their numbers and titles."""
    return "\n\n".join(
        f"[Scene {scene.number}{f': {scene.title}' if scene.title else ''}]\n{scene.text}" for scene in scenes
    )


def _between(scenes: Sequence[NumberedScene], one: Proposal, names: set[str]) -> str:
    """Scenes X and Y, and from those between the paragraphs that name what the proposal is about."""
    inner = [scene for scene in scenes if one.x <= scene.number <= one.y]
    said = words(f"{one.fact} {one.event}")
    about = said & names or {word for word in said if len(word) > _SHORT}
    pieces = []
    for scene in inner:
        told = scene.text
        if scene.number not in (one.x, one.y):
            told = "\n\n".join(part for part in paragraphs(scene.text) if about & words(part))
        if told:
            pieces.append(f"[Scene {scene.number}{f': {scene.title}' if scene.title else ''}]\n{told}")
    return "\n\n".join(pieces)
