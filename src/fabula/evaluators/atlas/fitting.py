"""What a role is shown if its window cannot hold everything: the first facts, and the text for the verifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.craft.packing import paragraphs, words
from fabula.evaluators.atlas.checking import LARGEST_BATCH
from fabula.models.budget import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.continuity import NumberedScene
    from fabula.evaluators.atlas.checking import StoryCheck
    from fabula.evaluators.atlas.findings import Proposal
    from fabula.evaluators.atlas.graph import SceneGraph

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
