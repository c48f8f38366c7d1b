"""The surface measures of Agents' Room (section 5, Table 2), and a few more that need no model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from fabula.craft.measuring import checked, mean_rows, story_rows, unscored_note
from fabula.craft.tokens import tokeniser
from fabula.evaluators.surface.counting import counted, dialogue
from fabula.evaluators.surface.hanna import hanna
from fabula.evaluators.surface.repetition import inter_rows, intra, overlap
from fabula.measure.report import Report
from fabula.stats.bootstrap import Resampling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.stats.estimate import Scored


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the paper names neither its tokeniser nor its formulas, so these are the usual ones, each by name.

    Attributes:
        tokens: tokeniser of words, unique words and sentence lengths: whitespace, words, rouge, rouge-stems, spacy.
        trigram_tokens: tokeniser of the repetition within and between stories.
        overlap_tokens: tokeniser of the overlap with the prompt.
        fold_case: "The" and "the" are one word.
        repetition: of trigrams (those that stood before, of all), or of sentences (those that hold such a trigram).
        overlap: share of all trigrams of the story that are in the prompt, or of its distinct ones.
        pronouns: a sentence starts with a personal pronoun (I, you, he ...), or with any (also my, this, nobody ...).
        more: also sentences, dialogue share and sentence lengths, which the paper has not.
        hanna: also HANNA's length, Repetition-n and Novelty-n, n = 1, 2, 3.
        hanna_tokens: their tokeniser; its paper's is spacy, which is an extra.
        resamples: bootstrap draws behind an interval.
        seed: of the draws.
    """

    tokens: str = "whitespace"
    trigram_tokens: str = "whitespace"
    overlap_tokens: str = "words"
    fold_case: bool = False
    repetition: Literal["trigrams", "sentence-share"] = "trigrams"
    overlap: Literal["occurrences", "distinct"] = "occurrences"
    pronouns: Literal["personal", "any"] = "personal"
    more: bool = False
    hanna: bool = False
    hanna_tokens: str = "spacy"
    resamples: int = 1000
    seed: int = 1

    @classmethod
    def faithful(cls) -> Config:
        """The paper's measures."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: dialogue and sentence lengths too."""
        return cls(more=True)


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Numbers for every story, and means of every system with intervals by prompt. Asks nobody.

    Raises:
        UsageError: there is no story, two have one id, or spaCy is wanted and not installed.
        UnknownNameError: there is no such tokeniser.
    """
    del run
    checked(items)
    for name in (config.tokens, config.trigram_tokens, config.overlap_tokens, *([config.hanna_tokens] * config.hanna)):
        tokeniser(name)
    resampling = Resampling(config.resamples, config.seed)
    measured: dict[str, Sequence[Scored]] = counted(items, config)
    trigrams = intra(items, config)
    measured |= trigrams.measured
    measured["prompt overlap"] = overlap(items, config)
    if config.more:
        measured["dialogue"] = dialogue(items, config)
    if config.hanna:
        measured |= hanna(items, config.hanna_tokens)
    between, notes = inter_rows(items, trigrams, config)
    rows = [*story_rows(items, measured), *mean_rows(items, measured, resampling), *between]
    return Report("surface", asdict(config), tuple(rows), notes=(*unscored_note(measured), *notes))
