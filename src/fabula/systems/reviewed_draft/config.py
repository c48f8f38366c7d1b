"""Settings of the reviewed draft."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of a reviewed draft; there is no paper, so both presets are the same.

    Attributes:
        words: a word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
        revisions: how often the whole is revised after it was written anew; one call each.
        final_reading: the writer reads the whole once at the end, against the brief and itself, and gives small edits,
            each of which can be refused (`fabula text edits`); one call more.
    """

    words: str = ""
    revisions: int = 2
    final_reading: bool = True
