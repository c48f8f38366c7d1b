"""What is judged: the four dimensions of the papers, and the story as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from fabula.base.errors import UnknownNameError, UsageError

RUBRIC: Final = "pairwise-1"
OVERALL: Final = "overall"
# Agents' Room section 6.1 and appendix E, Character Simulation appendix B.5; our wording, each of their points kept.
CRITERIA: Final[Mapping[str, str]] = MappingProxyType(
    {
        "plot": (
            "A structure can be made out, for instance a beginning, a middle and an end that belong together. Events "
            "and turns carry the plot on. Nothing contradicts itself, in its logic or in its ideas. What surprises or "
            "disrupts is there on purpose: it serves the story, and does not jar, seem odd, or stand in a wrong place."
        ),
        "creativity": (
            "Characters, themes and images engage the reader. The ideas are neither generic nor bland. Worn-out "
            "characters and storylines, tropes that nobody intended, and stereotypes are avoided; where tropes and "
            "clichés are used, they have a purpose, such as comedy or a twist on what is familiar. There are original "
            "elements that the writing prompt did not mention."
        ),
        "development": (
            "Characters and settings are introduced, with relevant details about them, so that the reader understands "
            "their place in the story. Detail and complexity are as much as it takes to make the story feel real and "
            "believable."
        ),
        "language use": (
            "The language is varied and rich, in the build of its sentences, its wording and its vocabulary. "
            "Rhetorical, linguistic and literary devices, such as ambiguity or alliteration, create interesting "
            "effects. Bland and repeated phrases are avoided, unless they are meant to have a narrative, thematic or "
            "linguistic effect."
        ),
    }
)
QUESTIONS: Final = (*CRITERIA, OVERALL)


def questions_in(said: str) -> tuple[str, ...]:
    """The questions that a list with commas names, in the papers' order.

    Raises:
        UnknownNameError: one is not a known question.
        UsageError: the list is empty.
    """
    wanted = {" ".join(name.replace("_", " ").replace("-", " ").lower().split()) for name in said.split(",")} - {""}
    for name in sorted(wanted):
        if name not in QUESTIONS:
            raise UnknownNameError("question", name, QUESTIONS)
    if not wanted:
        raise UsageError(f"There are no questions. Give --set questions=NAMES with some of: {', '.join(QUESTIONS)}.")
    return tuple(name for name in QUESTIONS if name in wanted)


def label(question: str) -> str:
    """The name of a question in the prompt and in the judge's ending, as in "Language Use"."""
    return question.title()
