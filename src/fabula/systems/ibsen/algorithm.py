"""IBSEN's settings; the play is performed act by act, and then told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.craft.memory import Recall
from fabula.models.base import Sampling
from fabula.systems.ibsen.interviewing import asked_for
from fabula.systems.ibsen.performing import perform
from fabula.systems.ibsen.telling import told

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief, Story


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's, or the release's where the paper gives none; `improved` names the rest.

    Attributes:
        use_instruction: the director instructs the actor of a line (the paper; the release drops what it said).
        planned_lines: lines of one plan at most.
        plan_tries: a plan without a line is made so often before it counts as failed.
        lenient_plan: where planning fails, who was silent longest speaks to the objective; else that ends the run.
        all_relations: the director knows everybody's view of the others; else the first actor's alone (the release).
        full_sheets: the director is shown descriptions and background (the release passes them empty).
        min_steps: an objective is checked from this step on.
        max_steps: and counts as reached in this one.
        self_check: actors look at their own line.
        repeat_threshold: a line more like an earlier one than this is spoken again once; 0 never.
        part_tries: a line that speaks as a model, or is empty, is asked again so often.
        window: turns in mind; with more, the older ones are summed up.
        window_keep: turns that are never summed up.
        keep_old_summaries: summaries are added up; else each takes the place of the one before it (the release).
        per_actor_summaries: everybody sums up for themselves; else who heard the same shares one summary.
        monologues: memories are put into the first person.
        relation_updates: a new memory changes the relation to whom it names.
        impressions: after a summary, actors renew what they think of whom it names.
        initial_impressions: before the play, every actor says what it thinks of all others.
        memory_threshold: memories less like the query than this do not come to mind.
        relevant: from this likeness on a memory is shown as relevant, below it as possibly irrelevant.
        saying_threshold: examples of how an actor speaks that are less like the last turn than this are not shown.
        released_sampling: temperatures and penalties as released; else they are left to the model.
        turn_tokens: bound of one line.
        shown_tokens: bound of one turn in a prompt; 0 sets none.
        tidy: chatter, echoes and loops are taken out of what models say.
        scene_goals: where the script is made from a plan, an objective is a whole scene; else one event.
        expand_goals: objectives are parted into stages until there are enough of them for the words wanted.
        goal_words: words that one objective gives.
        prose: the play is told as prose (ours); else the dialogue log is the story.
        words: a word range that stands for the brief's ("1300-1350", "~950"); for prose.
        players: who may step in before every line, by name; others than those in the script may be named too.
        interview: questions after the play, "NAME: question", parted by `|`; they change nothing.
        scenes: how many scenes to plan where the author gives neither script nor plan; 0 leaves it to the planner.
        characters: how many characters to plan then.
    """

    use_instruction: bool = True
    planned_lines: int = 5
    plan_tries: int = 4
    lenient_plan: bool = False
    all_relations: bool = False
    full_sheets: bool = False
    min_steps: int = 5
    max_steps: int = 9
    self_check: bool = True
    repeat_threshold: float = 0.4
    part_tries: int = 2
    window: int = 16
    window_keep: int = 8
    keep_old_summaries: bool = False
    per_actor_summaries: bool = True
    monologues: bool = True
    relation_updates: bool = True
    impressions: bool = True
    initial_impressions: bool = True
    memory_threshold: float = 0.3
    relevant: float = 0.4
    saying_threshold: float = 0.7
    released_sampling: bool = True
    turn_tokens: int = 400
    shown_tokens: int = 0
    tidy: bool = False
    scene_goals: bool = False
    expand_goals: bool = False
    goal_words: int = 300
    prose: bool = False
    words: str = ""
    players: str = ""
    interview: str = ""
    scenes: int = 0
    characters: int = 4

    @classmethod
    def faithful(cls) -> Config:
        """The paper, and the release for what the paper leaves open."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: nothing that was heard is lost, no idle calls, tidy lines, bounded prompts, and prose of a length."""
        return cls(
            lenient_plan=True,
            all_relations=True,
            full_sheets=True,
            self_check=False,
            repeat_threshold=0.6,
            keep_old_summaries=True,
            per_actor_summaries=False,
            monologues=False,
            relation_updates=False,
            initial_impressions=False,
            memory_threshold=0.05,
            relevant=0.15,
            saying_threshold=0.2,
            released_sampling=False,
            turn_tokens=100,
            shown_tokens=300,
            tidy=True,
            scene_goals=True,
            expand_goals=True,
            prose=True,
        )

    @property
    def recall(self) -> Recall:
        """How memories come to mind."""
        return Recall(threshold=self.memory_threshold)

    def drawn(self, temperature: float, tokens: int, *, presence: float = 0.0, frequency: float = 0.0) -> Sampling:
        """How a reply is drawn: with the release's values, or with the model's own."""
        if not self.released_sampling:
            return Sampling(max_tokens=tokens)
        return Sampling(
            temperature=temperature,
            max_tokens=tokens,
            presence_penalty=presence or None,
            frequency_penalty=frequency or None,
        )


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Perform the script, act by act; the story is what was said, or prose made of it."""
    performance = await perform(brief, run, config)
    await asked_for(performance, run, config)
    return await told(brief, performance, run, config)
