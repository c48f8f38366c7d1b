"""Settings of linearity. The paper has people rate it from 1 to 5 and counts nothing, so all of them are ours."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings, the same in both presets.

    Attributes:
        within: the character's turns, from the answer to the digression, in which the dialogue must be back.
        judge: whether a judge is asked; if false, shared words decide, without a model.
        reach: sentences of the narrative, around where the dialogue was, with which a turn is compared.
        checks: digressions on which two trivial characters are judged too.
    """

    within: int = 3
    judge: bool = True
    reach: int = 30
    checks: int = 8
