"""The story adaptation: Dramatron as the baseline of Character Simulation (its section 4.2 and appendix B.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fabula.craft.planning import PlanOptions, plan_for
from fabula.craft.prose import Prose, write_prose
from fabula.models.base import Sampling
from fabula.story import Story, one_line, slug
from fabula.systems.dramatron.keeping import Part, keep_side_by_side
from fabula.systems.dramatron.lengths import ranges_of
from fabula.systems.dramatron.planned import described, place_of, sentence

if TYPE_CHECKING:
    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.plan import Plan, ScenePlan
    from fabula.systems.dramatron.algorithm import Config

ROLES: Final = ("planner", "writer")
PAPER: Final = Sampling(temperature=0.9, frequency_penalty=0.2)  # section 4.2 of Character Simulation
USUAL_WORDS: Final = 400  # of a scene, for estimates
LABELS: Final = ("Scene Content Generation", "Place", "Characters", "Plot Element", "Summary", "Outline", "Story")


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call a scene, in the order of telling, zero-shot, from the plan; no call sees what another one wrote."""
    plan = await plan_for(run, brief, PlanOptions.of(config))
    wants = ranges_of(brief, config, [float(scene.importance) for scene in plan.scenes])
    writers = [_Writer(plan, brief, number, wants[number], config) for number in range(len(plan.scenes))]
    parts = [Part(_name(scene), w.make, w.more) for scene, w in zip(plan.scenes, writers, strict=True)]
    texts = await keep_side_by_side(run, parts, folder="story")
    story = Story(plan.title or brief.title)
    for scene, text in zip(plan.scenes, texts, strict=True):
        story = story.add(scene.name, text)
    return story


def _name(scene: ScenePlan) -> str:
    return slug(scene.name)


def summary_of(plan: Plan, brief: Brief, at: int, config: Config) -> str:
    """What a scene is told of the whole: the conflict, or the brief where there is none; and what came before it."""
    logline = one_line(plan.conflict or plan.brief or brief.text)
    before = plan.scenes[:at] if config.summary == "logline+all" else plan.scenes[max(at - 1, 0) : at]
    if config.summary == "logline" or not before:
        return logline
    told = " ".join(sentence(event.text) for scene in before for event in scene.outline)
    return f"{sentence(logline)} Before this scene: {told}"


class _Writer:
    """The writer of one scene; `at` counts from 0."""

    def __init__(self, plan: Plan, brief: Brief, at: int, want: WordRange | None, config: Config) -> None:
        scene = plan.scenes[at]
        self._config = config
        self._prose = Prose(at + 1 == len(plan.scenes), want, LABELS, want.target if want else USUAL_WORDS)
        place, description = place_of(scene.place)
        self._fields: dict[str, Any] = {
            "place": place,
            "description": description,
            "characters": _characters(plan, scene),
            "element": scene.element,
            "summary": summary_of(plan, brief, at, config),
            "outline": [event.text for event in scene.outline],
            "tidy": config.tidy,
            "last": self._prose.last,
        }

    @property
    def _sampling(self) -> Sampling:
        asked = Sampling(max_tokens=self._config.max_tokens)
        return asked.over(PAPER) if self._config.paper_sampling else asked

    async def make(self, run: Run) -> str:
        """The scene: the reply as it is, or tidied and of the length asked for."""
        if not self._config.tidy:
            return await run.ask(
                "writer", "scene", sampling=self._sampling, expect=USUAL_WORDS, words=None, lead="", **self._fields
            )
        return await write_prose(
            run, "writer", "scene", self._prose, self._config.max_tokens, before=[], fields=self._fields
        )

    async def more(self, run: Run, base: str) -> str:
        """What follows `base`, as it is."""
        fields = {**self._fields, "so_far": base, "words": USUAL_WORDS // 2, "lead": ""}
        return await run.ask("writer", "extend", sampling=self._sampling, expect=USUAL_WORDS // 2, **fields)


def _characters(plan: Plan, scene: ScenePlan) -> list[str]:
    """A line for each who is present; for each of the plan, where it does not say who is."""
    goals = {presence.name: presence.goal for presence in scene.characters}
    present = [c for c in plan.characters if c.name in goals] or list(plan.characters)
    return [described(character, goals.get(character.name, "")) for character in present]
