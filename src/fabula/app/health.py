"""What `fabula doctor` finds on a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: "good", "missing" (some things will not work) or "bad" (it must be corrected)."""

    name: str
    state: Literal["good", "missing", "bad"]
    about: str


@dataclass(frozen=True, slots=True)
class Health:
    """The state of this machine."""

    version: str
    healthy: bool
    checks: list[Check]
    keys: dict[str, bool]
