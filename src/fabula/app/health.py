"""What `fabula doctor` finds on a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: "good", "missing" (some things will not work) or "bad" (it must be corrected)."""

    name: str
    state: Literal["good", "missing", "bad"]
    about: str


@dataclass(frozen=True, slots=True)
class Health:
    """What this machine has."""

    version: str
    healthy: bool
    checks: list[Check]
    keys: dict[str, bool]
