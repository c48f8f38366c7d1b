"""Settings of linearity. The paper has people rate it from 1 to 5 and counts nothing, so all of them are ours."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings, the same in both presets.

    Attributes:
        within: turns of the characters in which the dialogue has to be back; the answer to the digression is the first.
        judge: a judge is asked of each turn; else it is counted by shared words alone, which asks nobody.
        reach: sentences of the narrative, around where the dialogue was, that a turn is held against.
        checks: digressions after which two trivial characters are judged too; 0 has none judged.
    """

    within: int = 3
    judge: bool = True
    reach: int = 30
    checks: int = 8
