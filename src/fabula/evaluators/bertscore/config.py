"""Settings of BERTScore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings.

    `faithful` is the usual code: stories are cut at the model's limit.

    Attributes:
        model: a name of the package transformers, or a folder with a model.
        layer: of the model; 0 takes the one that BERTScore's authors recommend, else the last.
        mode: whole stories in windows, or cut at the model's limit.
        overlap: tokens that two neighbouring windows share.
        fetch: whether a missing model may be fetched from its public home.
        embedder: "transformers", "letters" (a stand-in without a model), or FILE.py:FUNCTION, which gets `model` and
            returns an object with name, limit, tokens(text) and embed(tokens).
    """

    model: str = "roberta-large"
    layer: int = 0
    mode: Literal["windowed", "truncated"] = "truncated"
    overlap: int = 64
    fetch: bool = False
    embedder: str = "transformers"

    @classmethod
    def improved(cls) -> Config:
        """Ours: whole stories."""
        return cls(mode="windowed")
