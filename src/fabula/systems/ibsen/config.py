"""IBSEN's settings: the values of the paper and its release, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fabula.engine.methods import Presets
from fabula.models.base import Sampling

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAN_TRIES: Final = 4  # the release plans anew so often where a plan has no line
LINE_TRIES: Final = 3  # ours: the release asks for a line in character without bound

RELEASED: Final[Mapping[str, Sampling]] = MappingProxyType(
    {
        "outline": Sampling(temperature=0.6, max_tokens=2000),
        "script": Sampling(temperature=0.6, max_tokens=1000),
        "instruct": Sampling(temperature=0.6, presence_penalty=0.6),
        "act": Sampling(temperature=0.6, frequency_penalty=0.6),
        "check_line": Sampling(temperature=0.6),
        "check_goal": Sampling(temperature=0.6),
        "sum_up": Sampling(temperature=0.6),
        "first_impressions": Sampling(temperature=0.6, max_tokens=2000),
        "impression": Sampling(temperature=0.6),
        "relation": Sampling(temperature=0.1),
        "monologue": Sampling(temperature=0.3),
        "answer": Sampling(temperature=0.6),
    }
)
"""How the release draws the reply to each prompt."""

SHORT: Final[Mapping[str, int]] = MappingProxyType(
    {
        "outline": 400,
        "script": 540,
        "split_goal": 420,
        "instruct": 150,
        "act": 100,
        "step_in": 200,
        "check_line": 150,
        "check_goal": 150,
        "sum_up": 540,
        "first_impressions": 600,
        "impression": 150,
        "relation": 250,
        "monologue": 100,
        "answer": 100,
    }
)
"""Tokens of a reply from a role that gets the aids for small models."""


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper, and of its release where the paper gives none.

    Attributes:
        use_instruction: the director instructs the actor of a line (the paper; the release discards the instruction).
        planned_lines: a plan has this many lines at most.
        min_steps: an objective is checked from this step on.
        max_steps: and counts as reached in this one.
        chat_history: an actor's history comes as turns of a chat, the own lines as the model's; else in one message.
        self_check: actors check their own line.
        repeat_threshold: a line that is more similar to an earlier one than this is spoken again once; 0 never.
        window: turns in an actor's active window; with more, the older ones are summed up.
        window_keep: the last turns, which are never summed up.
        per_actor_summaries: everybody sums up for themselves; else those who heard the same share one summary.
        monologues: memories are put into the first person.
        relation_updates: a new memory changes the relation to those whom it names.
        impressions: after a summary, actors renew their impression of those whom it names.
        initial_impressions: before the play, every actor says what they think of all others.
        memory_threshold: memories less similar to the query than this are not recalled.
        relevant: from this similarity on a memory is shown as relevant, below it as possibly irrelevant.
        interview_relevant: the same in an interview.
        saying_threshold: examples of an actor's speech that are less similar to the last turn than this are not shown.
        released_sampling: temperatures, penalties and limits as released; else they are left to the model.
        players: who may step in before every line, by name; others than those in the script may be named too.
        interview: questions after the play, "NAME: question", separated by `|`; they change nothing.
    """

    use_instruction: bool = True
    planned_lines: int = 5
    min_steps: int = 5
    max_steps: int = 9
    chat_history: bool = True
    self_check: bool = True
    repeat_threshold: float = 0.4
    window: int = 16
    window_keep: int = 8
    per_actor_summaries: bool = True
    monologues: bool = True
    relation_updates: bool = True
    impressions: bool = True
    initial_impressions: bool = True
    memory_threshold: float = 0.3
    relevant: float = 0.4
    interview_relevant: float = 0.3
    saying_threshold: float = 0.7
    released_sampling: bool = True
    players: str = ""
    interview: str = ""


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds.

    Attributes:
        lenient_plan: where planning fails, the actor who was silent longest speaks to the objective; else that ends
            the run.
        all_relations: the director knows everybody's view of the others; else the first actor's alone (the release).
        full_sheets: prompts show what the release leaves out of them: the director sees descriptions, background and
            place, and the objective also where lines are planned; actors see their relations and the scene they are in.
        keep_old_summaries: summaries add up; else each takes the place of the one before it (the release).
        clean_replies: remarks around what models say ("Here is the line:") are removed.
        long_turns: a turn may have several lines and paragraphs; else it ends with its first line (what the release
            means to do). Roles with aids for small models always have the first line alone.
        scene_goals: where the script is made from a plan, an objective is a whole scene, or as many events of it as
            the words wanted allow; else one event.
        expand_goals: objectives are split into stages until there are enough of them for the words wanted.
        own_views: everybody knows what they can know: the conflict is for director and writer, a secret for its owner
            too; who does not hear a line does not remember it, and an actor with an instruction does not see the
            outline. Else an actor sees the conflict and the outline, and hears all that is said in its sub-act.
        late_checks: an objective is checked from `min_steps` on whenever the planned lines have been played; else
            after every line.
        spare_notes: no summary is asked for that three lines or fewer follow, and no impression of somebody whom the
            actor does not meet again.
        goal_words: words that one objective yields.
        prose: the play is retold as prose; else the dialogue log is the story.
        final_reading: the prose is read once at its end against brief, script and itself, and small edits come of it,
            each of which can be refused; one more call.
        words: a word range that overrides the brief's ("1300-1350", "~950"); for prose.
        scenes: how many scenes to plan where the author gives neither script nor plan; 0 leaves it to the planner.
        characters: how many characters to plan then beside those whom the brief names; 0 leaves it to the planner.
        check_plan: the planner reads a plan made from the brief once against it, and corrects what differs; a small
            model is never asked.
        embedder: who finds the memories that belong to what is said: a folder with a sentence-embedding model, or the
            name of one on this machine (fabula[embeddings]); empty compares words. Where it is set, give the
            thresholds that suit it (for all-MiniLM-L6-v2: memory_threshold=0.1, relevant=0.2).
    """

    lenient_plan: bool = False
    all_relations: bool = False
    full_sheets: bool = False
    keep_old_summaries: bool = False
    clean_replies: bool = False
    long_turns: bool = False
    scene_goals: bool = False
    expand_goals: bool = False
    own_views: bool = False
    late_checks: bool = False
    spare_notes: bool = False
    goal_words: int = 300
    prose: bool = False
    final_reading: bool = False
    words: str = ""
    scenes: int = 0
    characters: int = 0
    check_plan: bool = False
    embedder: str = ""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """IBSEN's settings.

    `faithful` is the paper, and its release for what the paper leaves open.
    """

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Nothing that was heard is lost, no idle calls, and prose of the length asked."""
        return cls(
            Paper(
                chat_history=False,
                self_check=False,
                repeat_threshold=0.6,
                per_actor_summaries=False,
                monologues=False,
                relation_updates=False,
                initial_impressions=False,
                memory_threshold=-1.0,  # none: the best ones come to mind, however unlike
                relevant=0.15,
                interview_relevant=0.15,
                saying_threshold=0.2,
                released_sampling=False,
            ),
            Ours(
                lenient_plan=True,
                all_relations=True,
                full_sheets=True,
                keep_old_summaries=True,
                clean_replies=True,
                long_turns=True,
                scene_goals=True,
                expand_goals=True,
                own_views=True,
                late_checks=True,
                spare_notes=True,
                prose=True,
                final_reading=True,
                check_plan=True,
            ),
        )
