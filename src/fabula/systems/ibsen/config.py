"""IBSEN's settings: the values of the paper and its release, and what improved mode adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fabula.engine.methods import Presets
from fabula.models.base import Sampling

PLAN_TRIES: Final = 4  # until a plan has a line; the release plans once more, for a line fewer, and then crashes
LINE_TRIES: Final = 3  # ours: the release asks for a line in character without bound

RELEASED: Final[Mapping[str, Sampling]] = MappingProxyType(
    {
        "outline": Sampling(temperature=0.6, max_tokens=2000),
        "script": Sampling(temperature=0.6, max_tokens=1000),
        "instruct": Sampling(temperature=0.6, presence_penalty=0.6),
        "act": Sampling(temperature=0.6, frequency_penalty=0.6),
        "check_line": Sampling(temperature=0.6, frequency_penalty=0.6),
        "check_goal": Sampling(temperature=0.6),
        "sum_up": Sampling(temperature=0.0),
        "first_impressions": Sampling(temperature=0.0, max_tokens=2000),
        "impression": Sampling(temperature=0.0),
        "relation": Sampling(temperature=0.1),
        "monologue": Sampling(temperature=0.3),
        "step_in": Sampling(),
    }
)
"""How the release draws the reply to each prompt; 0 is what its library does where it says nothing."""


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper, and of its release where the paper gives none.

    Attributes:
        use_instruction: the director instructs the actor of a line.
        planned_lines: most lines of a plan.
        min_steps: the first step in which an objective is checked.
        max_steps: the step in which it counts as reached.
        self_check: actors check their own line.
        repeat_threshold: a line more similar to an earlier one is spoken again once; 0 never.
        window: turns in an actor's active window; older ones are summed up.
        window_keep: the last turns that are never summed up.
        per_actor_summaries: each actor sums up alone; if false, those who heard the same share a summary.
        memory_threshold: memories less similar to the query are not recalled.
        relevant: similarity from which a memory is shown as relevant, not as possibly irrelevant.
        saying_threshold: examples of an actor's speech less similar to the last turn are not shown.
        embedder: a folder with a sentence-embedding model, or the name of one on this machine (fabula[embeddings]), for
            comparing memories; empty compares words. Set suitable thresholds (for all-MiniLM-L6-v2:
            memory_threshold=0.1, relevant=0.2).
        players: names of those who may step in before every line, also of people who are not in the script.
    """

    use_instruction: bool = True
    planned_lines: int = 5
    min_steps: int = 5
    max_steps: int = 9
    self_check: bool = True
    repeat_threshold: float = 0.4
    window: int = 16
    window_keep: int = 8
    per_actor_summaries: bool = True
    memory_threshold: float = 0.3
    relevant: float = 0.4
    saying_threshold: float = 0.7
    embedder: str = ""
    players: str = ""


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds and an author may choose.

    Attributes:
        prose: the play is retold as prose; if false, the dialogue log is the story.
        words: replaces the brief's word range ("1300-1350", "~950"), for prose.
        goal_words: words that one objective yields; if more are wanted, objectives are split into stages.
        scenes: scenes to plan if the author gives neither script nor plan; 0 leaves it to the planner.
        characters: characters to plan in addition to those of the brief; 0 leaves it to the planner.
    """

    prose: bool = True
    words: str = ""
    goal_words: int = 300
    scenes: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """IBSEN's settings; `faithful` is the paper, and its release for what the paper leaves open.

    Attributes:
        paper: values of the paper and its release.
        ours: what improved mode adds; none in the preset faithful.
    """

    paper: Paper = Paper()
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Nothing that was heard is lost, no idle calls, and prose of the length asked."""
        paper = Paper(
            self_check=False,
            repeat_threshold=0.0,
            per_actor_summaries=False,
            memory_threshold=-1.0,
            relevant=0.15,
            saying_threshold=0.2,
        )
        return cls(paper, Ours())
