"""Plans and a scripted company for benchmarks of Character Simulation; replies are as long as a good model's."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities
from fabula.story import Brief
from fabula.story.plan import ARC, Character, Event, Plan, Presence, ScenePlan
from fabula.story.plan_file import write_plan
from fabula.systems import find

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.engine.methods import Preset
    from fabula.models.base import Model, Request
    from fabula.story import Story

SCHEMA: Final = Capabilities(schema=True, parallel=64)
SYSTEM: Final = find("character-simulation")
_BRIEF: Final = Brief.parse("Write a story about a lamp that is to go dark, and about those who see it from the sea.")
_WORDS: Final = {"memory": 80, "state": 30, "respond": 60, "rewrite": 400, "command": 15, "event": 14}
VOCABULARY: Final = (
    "keeper boy boat storm letter lamp sister harbour stranger dog widow clerk ferry lantern gull reef stairs quay "
    "window orchard chapel market bridge cellar meadow tower road river waited turned listened laughed fell sang slept "
    "answered wept hurried burned drifted rose sank slowly twice alone below before after without under near until"
)


def prose(draw: random.Random, words: int) -> str:
    """About that many words in sentences of which no two are alike, so that nothing takes them for a loop."""
    known = VOCABULARY.split()
    lines = (" ".join(draw.choices(known, k=draw.randint(6, 14))) for _ in range(max(2, words // 10)))
    return " ".join(f"{line.capitalize()}." for line in lines)


def plan_of(scenes: int, people: int, draw: random.Random) -> Plan:
    """A plan of so many scenes, told in another order than they happen, each with two to four of the people.

    One scene in four has a flashback. Characters' sheets and outlines are as long as authors make them.
    """
    cast = tuple(
        Character(f"Person {n}", "companion", "female", "40", prose(draw, 30), prose(draw, 12), prose(draw, 12))
        for n in range(people)
    )
    times = draw.sample(range(1, scenes + 1), scenes)
    told = []
    for at in range(scenes):
        there = draw.sample(cast, draw.randint(2, min(4, people)))
        events = [Event(prose(draw, _WORDS["event"])) for _ in range(draw.randint(3, 6))]
        if at % 4 == 3:
            events.insert(1, Event(prose(draw, _WORDS["event"]), f"{times[at] - 1}.5"))
        told.append(
            ScenePlan(
                f"Scene {at}",
                tuple(events),
                ARC[at * len(ARC) // scenes],
                prose(draw, 20),
                characters=tuple(Presence(person.name, prose(draw, 10)) for person in there),
                time=str(times[at]),
            )
        )
    return Plan(tuple(told), cast, prose(draw, 60), prose(draw, 60), "The Lamp")


@dataclass
class Company:
    """Every role of the system: replies are fixed by the seed and the call's path.

    A scene goes on to its bound of turns, or, where `likely` is not 0, ends before each turn with that probability.
    """

    seed: int
    likely: float = 0.0

    def answer(self, request: Request) -> str:
        """What the role says."""
        draw = random.Random(f"{self.seed}/{request.path}")  # noqa: S311 - texts, not secrets
        prompt = request.path.rpartition("/")[2]
        if request.schema is None:
            return prose(draw, _WORDS[prompt])
        return json.dumps(self._form(prompt, request.schema["properties"], draw))

    def _form(self, prompt: str, wanted: dict[str, Any], draw: random.Random) -> dict[str, Any]:
        """A form as the request's schema has it: events are numbers there, or texts."""
        if prompt == "chronological_outline":
            points = wanted["points"]
            texts = [prose(draw, _WORDS["event"]) for _ in range(points["maxItems"])]
            if points["items"]["type"] == "string":
                return {"points": texts}
            return {"points": [{"event": number, "text": text} for number, text in enumerate(texts, 1)]}
        if prompt == "terminate":
            return {"reasons": prose(draw, _WORDS["event"]), "covered": draw.random() < self.likely}
        if prompt in {"direct", "decide"}:
            return self._direction(wanted, draw, may_end=prompt == "decide")
        return {"response": prose(draw, _WORDS["respond"])}

    def _direction(self, wanted: dict[str, Any], draw: random.Random, *, may_end: bool) -> dict[str, Any]:
        """Who plays next and what; where the scene may end with it, nothing with the probability `likely`."""
        field = wanted["next_speaker"]
        speakers = [name for name in field.get("enum", [field.get("const")]) if name]
        ended = may_end and not wanted["remaining"].get("minItems") and draw.random() < self.likely
        return {
            "remaining": [] if ended else [_chosen(wanted["remaining"]["items"], draw)],
            "next_speaker": draw.choice(speakers),
            "next_command": prose(draw, _WORDS["command"]),
        }


def _chosen(wanted: dict[str, Any], draw: random.Random) -> Any:  # noqa: ANN401 - JSON data
    """One of what a field may be; a text where it may be any."""
    if "const" in wanted:
        return wanted["const"]
    return draw.choice(wanted["enum"]) if "enum" in wanted else prose(draw, _WORDS["event"])


async def played(plan: Plan, model: Model, preset: Preset) -> Story:
    """The story of a plan, with `model` in every role; each scene's rewrite is one call."""
    config = SYSTEM.config(preset)
    with Journal() as journal:
        journal.decisions.add("plan", "edit", write_plan(plan))
        context = RunContext(journal, SystemPrompts(SYSTEM.prompt_folders(preset), common=PROMPTS), Cast.of(model))
        story: Story = await SYSTEM.write(_BRIEF, Run(context), config)
    return story


def stories(folder: Path) -> list[str]:
    """Long stories of the ground truth: natural text."""
    found: list[str] = []
    for name, key in (("constory_silver.jsonl.gz", "story"), ("magnet_stories.jsonl.gz", "text")):
        with gzip.open(folder / name, "rt", encoding="utf-8") as file:
            found += [json.loads(line)[key] for line in file]
    return found
