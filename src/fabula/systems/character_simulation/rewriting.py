"""The rewrite step (section 3.2.3): each scene told from its role-play, in the order of telling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.length import WordRange, parse_range, read_range
from fabula.craft.packing import around, first_of, last_of
from fabula.craft.prose import Prose, write_prose
from fabula.story import Story, slug
from fabula.systems.character_simulation.people import in_scene

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.plan import Plan, ScenePlan
    from fabula.systems.character_simulation.algorithm import Config
    from fabula.systems.character_simulation.scenes import Played

SCENE_WORDS: Final = 400  # for estimates
_LABELS: Final = (
    "Writing prompt",
    "Central conflict",
    "Setting",
    "Story so far",
    "How it was played",
    "Scene to write",
)
_TAKEN: Final = {"plan", "order"}  # names of other artefacts
_REPLY_SHARE: Final = 0.25  # of a model's context, for the reply
# Shares of a prompt; the rest is for characters, the scene itself and the instruction.
_BRIEF, _GIST, _SCENES, _STORY, _PLAYED = 0.10, 0.05, 0.15, 0.25, 0.25


@dataclass
class Rewriting:
    """The story so far; `add` writes the next scene."""

    brief: Brief
    plan: Plan
    run: Run
    config: Config
    story: Story = field(init=False)

    def __post_init__(self) -> None:
        """Begin with no scene; the plan's title stands for a missing one."""
        self.story = Story.of(self.brief)
        if self.plan.title and not self.story.title:
            self.story = Story(self.plan.title)

    async def add(self, scene: ScenePlan, played: Sequence[Played]) -> None:
        """Write `scene`, one call or more where length is controlled, and keep it as a part of the story."""
        last = scene is self.plan.scenes[-1]
        fields = self._inputs(scene, played) | {"last": last, "instruction_first": self.config.instruction_first}

        async def make(run: Run) -> str:
            return await self._written(scene, fields, run)

        label = f"Scene {scene.name}" if slug(scene.name) in _TAKEN else scene.name
        text = await self.run.keep(slug(label), make, folder="story")
        self.story = self.story.add(label, text)

    async def _written(self, scene: ScenePlan, fields: dict[str, Any], run: Run) -> str:
        config = self.config
        if not config.tidy:
            sampling = config.sampling()
            return await run.ask(
                "writer", "rewrite", sampling=sampling, expect=SCENE_WORDS, words=None, lead="", **fields
            )
        previous = self.story.scenes[-1].text if self.story.scenes else ""
        names = [character.name for character in self.plan.characters]
        labels = (*_LABELS, *(s.name for s in self.plan.scenes), *names)
        prose = Prose(bool(fields["last"]), self._budget(scene), labels, SCENE_WORDS, previous)
        before = [s.text for s in self.story.scenes[-3:]]
        return await write_prose(run, "writer", "rewrite", prose, self._reply_tokens(), before=before, fields=fields)

    def _budget(self, scene: ScenePlan) -> WordRange | None:
        """The words this scene should have: what is left of the brief's range, shared by importance."""
        if not self.config.length_control:
            return None
        whole = parse_range(self.config.words) if self.config.words else read_range(self.brief.text)
        if whole is None:
            return None
        at = self.plan.scenes.index(scene)
        weights = [s.importance for s in self.plan.scenes[at:]]
        return whole.of_sections(weights, [s.words for s in self.story.scenes])

    def _reply_tokens(self) -> int:
        context = self.run.window("writer")
        most = self.config.max_tokens
        return min(most, int(context * _REPLY_SHARE)) if context else most

    def _prompt_tokens(self) -> int | None:
        """How long a prompt may be: the setting, and what the writer's model can hold beside a reply."""
        if not self.config.prompt_tokens:
            return None
        context = self.run.window("writer")
        return (
            min(self.config.prompt_tokens, int(context * (1 - _REPLY_SHARE))) if context else self.config.prompt_tokens
        )

    def _inputs(self, scene: ScenePlan, played: Sequence[Played]) -> dict[str, Any]:
        """The ten inputs of appendix B.2, each within its share of the prompt."""
        plan, most = self.plan, self._prompt_tokens()
        shown = [(s.name + ": " + " ".join(event.text for event in s.outline), s.name) for s in plan.scenes]
        full, short = [told for told, _ in shown], [name for _, name in shown]
        story, told = self.story.text, _told(played)
        given: dict[str, Any] = {
            "people": in_scene(scene, plan.characters),
            "scene": scene,
        }
        if most is None:
            texts = {"brief": self.brief.text, "conflict": plan.conflict, "setting": plan.setting}
            return given | texts | {"scenes": tuple(full), "story": story, "played": told}
        return given | {
            "brief": first_of(self.brief.text, int(most * _BRIEF)),
            "conflict": first_of(plan.conflict, int(most * _GIST)),
            "setting": first_of(plan.setting, int(most * _GIST)),
            "scenes": around(full, short, plan.scenes.index(scene), int(most * _SCENES)),
            "story": last_of(story, int(most * _STORY)),
            "played": last_of(told, int(most * _PLAYED)),
        }


def _told(played: Sequence[Played]) -> str:
    """What was played of a scene, in story time; each earlier moment apart."""
    plays = ["\n\n".join(f"{turn.name}: {turn.text}" for turn in unit.turns) for unit in played if unit.turns]
    return "\n\n* * *\n\n".join(plays)
