"""The two steps of Character Simulation (section 3.2): role-play in story time, rewrite in the order of telling."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.craft.planning import PlanOptions, plan_for
from fabula.models.base import Sampling
from fabula.systems.character_simulation.agents import Troupe
from fabula.systems.character_simulation.ordering import story_order
from fabula.systems.character_simulation.rewriting import Rewriting
from fabula.systems.character_simulation.scenes import played_scenes

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief, Story


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's, `improved` names every difference.

    Attributes:
        max_turns: turns of one scene (section 3.2.2: 10).
        recent: turns a character is shown when it responds (appendix B.1.3: 10).
        temperature: of all replies (section 4.2.2); 0 leaves it to the model.
        frequency_penalty: of all replies (section 4.2.2); 0 leaves it to the model.
        max_tokens: bound of one reply; the paper names none.
        response_tokens: bound of a character's turn; 0 means `max_tokens`.
        memory_tokens: bound of a memory, and half of it of a physical state; 0 means `max_tokens`.
        prompt_tokens: bound of one prompt, about, however long the story is; 0 sets none, as in the paper.
        instruction_first: what is wanted stands before what is given (appendix B); else after it.
        numbered: events are named by number instead of being repeated word for word.
        plain_response: a turn is plain text; else it is JSON with one field, as in the paper.
        tell_uncovered: what the director found uncovered enters its next command's prompt.
        check_empty: the director is asked whether to end a scene that has not begun (Algorithm 1, line 3).
        min_turns: turns before the director is asked so for the first time.
        repeat_limit: so many commands given again end a scene; 0 only notes them.
        update_always: a character's memory and state are updated also where it has seen nothing new (line 11).
        carry_unseen: what a character witnessed after its last turn in a scene is taken in later; else it is lost.
        lenient_order: telling order stands in where no order of time could be read; else that is an error.
        tidy: chatter, echoes and loops are taken out of replies.
        length_control: the brief's word range is met, shared by the scenes' importance.
        words: a word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
        scenes: how many scenes to plan where the author gives no plan; 0 leaves it to the planner.
        characters: how many characters to plan then.
    """

    max_turns: int = 10
    recent: int = 10
    temperature: float = 0.9
    frequency_penalty: float = 0.2
    max_tokens: int = 4096
    response_tokens: int = 0
    memory_tokens: int = 0
    prompt_tokens: int = 0
    instruction_first: bool = True
    numbered: bool = False
    plain_response: bool = False
    tell_uncovered: bool = False
    check_empty: bool = True
    min_turns: int = 0
    repeat_limit: int = 0
    update_always: bool = True
    carry_unseen: bool = False
    lenient_order: bool = False
    tidy: bool = False
    length_control: bool = False
    words: str = ""
    scenes: int = 0
    characters: int = 4

    @classmethod
    def faithful(cls) -> Config:
        """The paper."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: bounded prompts that caches can reuse, tidy turns, no idle calls, nothing seen is lost, length kept."""
        return cls(
            temperature=0.0,
            frequency_penalty=0.0,
            response_tokens=160,
            memory_tokens=200,
            prompt_tokens=8000,
            instruction_first=False,
            numbered=True,
            plain_response=True,
            tell_uncovered=True,
            check_empty=False,
            min_turns=2,
            repeat_limit=2,
            update_always=False,
            carry_unseen=True,
            lenient_order=True,
            tidy=True,
            length_control=True,
        )

    def sampling(self, max_tokens: int = 0) -> Sampling:
        """How a reply is drawn that has at most `max_tokens` tokens (0: the bound of all replies)."""
        return Sampling(
            temperature=self.temperature or None,
            frequency_penalty=self.frequency_penalty or None,
            max_tokens=max_tokens or self.max_tokens,
        )


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Play every scene in story time (P_c), then write the scenes in the order of telling (P_p)."""
    plan = await plan_for(run, brief, PlanOptions(scenes=config.scenes, characters=config.characters))
    run.check_cast("character", [character.name for character in plan.characters])
    order = await story_order(plan, run, config)
    async with asyncio.TaskGroup() as group:
        played = played_scenes(plan, plan.units(order), Troupe.of(plan), run, config, group)
        rewriting = Rewriting(brief, plan, run, config)
        for scene in plan.scenes:
            await rewriting.add(scene, [await unit for unit in played[scene.name]])
    return rewriting.story
