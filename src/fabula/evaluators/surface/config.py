"""Settings of the surface measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; the paper names neither its tokeniser nor its formulas, so these are the usual ones, each by name.

    Attributes:
        tokens: tokeniser of words, unique words and sentence lengths: whitespace, words, rouge, rouge-stems, spacy.
        trigram_tokens: tokeniser of the repetition within and between stories.
        overlap_tokens: tokeniser of the overlap with the prompt.
        fold_case: whether "The" and "the" are one word.
        overlap: share of all trigrams of the story that are in the prompt, or of its distinct ones.
        pronouns: which pronouns open a sentence: personal ones (I, you, he ...) or any (also my, this, nobody ...).
        more: adds sentences, dialogue share and sentence lengths, which the paper does not have.
        hanna: adds the length, Repetition-n and Novelty-n of HANNA (Chhun et al., COLING 2022), n = 1, 2, 3.
        hanna_tokens: their tokeniser; their paper's is spacy, an extra.
    """

    tokens: str = "whitespace"
    trigram_tokens: str = "whitespace"
    overlap_tokens: str = "words"
    fold_case: bool = False
    overlap: Literal["occurrences", "distinct"] = "occurrences"
    pronouns: Literal["personal", "any"] = "personal"
    more: bool = False
    hanna: bool = False
    hanna_tokens: str = "spacy"

    @classmethod
    def improved(cls) -> Config:
        """Ours: dialogue and sentence lengths too."""
        return cls(more=True)
