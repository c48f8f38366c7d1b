"""What is read: the dialogue log as it is, or prose made of it, which is ours and not the paper's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.packing import last_of
from fabula.craft.prose import Prose, write_prose
from fabula.story import Story, slug
from fabula.systems.ibsen.staging import wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.ibsen.algorithm import Config
    from fabula.systems.ibsen.directing import Scene
    from fabula.systems.ibsen.log import Turn
    from fabula.systems.ibsen.performing import Performance

_TAKEN: Final = frozenset(("plan", "stage"))  # names of other artefacts
_LABELS: Final = ("Writing task", "Story so far", "What was played", "Characters", "Place", "Narration", "Scene")
_STORY_TOKENS: Final = 700
_PLAYED_TOKENS: Final = 2000
_MAX_TOKENS: Final = 2048
_BEFORE: Final = 3  # parts that a small model may echo


async def told(brief: Brief, performance: Performance, run: Run, config: Config) -> Story:
    """The story of a performance, one scene for each sub-act; prose costs 1 call or more for each objective."""
    title = performance.play.script.title
    story = Story.of(brief) if brief.title or not title else Story(title)
    if config.prose:
        telling = _Telling(brief, performance, run, config, story)
        for scene in performance.scenes:
            await telling.add(scene)
        return telling.story
    for scene in performance.scenes:

        async def make(own: Run, turns: Sequence[Turn] = tuple(scene.turns)) -> str:
            del own
            return "\n\n".join(map(str, turns))

        text = await run.keep(slug(_label(scene)), make, folder="story")
        story = story.add(_label(scene), text)
    return story


def _label(scene: Scene) -> str:
    title = scene.act.title.replace("-->", "")
    return f"Scene {title}" if slug(title) in _TAKEN else title


def _stretches(scene: Scene) -> list[tuple[Turn, ...]]:
    """The turns of each objective."""
    goals = dict.fromkeys(turn.goal for turn in scene.turns)
    return [tuple(turn for turn in scene.turns if turn.goal == goal) for goal in goals]


@dataclass
class _Telling:
    """The prose so far; parts are the stretches of single objectives."""

    brief: Brief
    performance: Performance
    run: Run
    config: Config
    story: Story
    left: int = field(init=False)
    parts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = sum(len(_stretches(scene)) for scene in self.performance.scenes)
        self.want = wanted(self.brief, self.config)

    async def add(self, scene: Scene) -> None:
        """Tell one sub-act and keep it as a part of the story."""
        stretches = _stretches(scene)
        if not stretches:
            return

        async def make(own: Run) -> str:
            told: list[str] = []
            for number, turns in enumerate(stretches, 1):
                told.append(await self._assignment(own.scope("part", number), scene, turns, told, self.left - number))
            return "\n\n".join(told)

        text = await self.run.keep(slug(_label(scene)), make, folder="story")
        self.left -= len(stretches)
        self.story = self.story.add(_label(scene), text)

    async def _assignment(self, run: Run, scene: Scene, turns: Sequence[Turn], here: Sequence[str], after: int) -> str:
        """One stretch as prose; `here` are the parts of this sub-act so far, `after` how many parts follow."""
        told = [*(s.text for s in self.story.scenes), *here]
        want = None
        if self.want is not None:
            written = [Story().add("", text).words for text in told]
            want = self.want.of_sections([1.0] * (after + 1), written)
        names = self.performance.play.script.names
        prose = Prose(after == 0, want, (*_LABELS, *names), self.config.goal_words, told[-1] if told else "")
        return await write_prose(
            run,
            "writer",
            "retell",
            prose,
            _MAX_TOKENS,
            before=told[-_BEFORE:],
            fields=self._fields(scene, turns, told, after),
        )

    def _fields(self, scene: Scene, turns: Sequence[Turn], told: Sequence[str], after: int) -> dict[str, Any]:
        script = self.performance.play.script
        speaking = {turn.role for turn in turns}
        people = [actor.sheet for actor in self.performance.actors.values() if actor.name in speaking]
        return {
            "brief": self.brief.text,
            "background": script.background,
            "act": scene.act,
            "people": people,
            "played": last_of("\n\n".join(map(str, turns)), _PLAYED_TOKENS),
            "story": last_of("\n\n".join(told), _STORY_TOKENS),
            "last": after == 0,
        }
