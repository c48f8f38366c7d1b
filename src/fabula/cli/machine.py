"""What this machine has: keys (whether set, never what), engine, weights, disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fabula.models.providers import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: "good", "missing" (some things will not work) or "bad" (it must be put right)."""

    name: str
    state: Literal["good", "missing", "bad"]
    about: str


def key_names(kind: str) -> tuple[str, ...]:
    """The variables that may hold the key of a kind of model."""
    return KINDS[kind].keys


def keys_set(environ: Mapping[str, str]) -> dict[str, bool]:
    """For each variable that may hold a key, whether it holds one."""
    names = dict.fromkeys(name for kind in KINDS for name in key_names(kind))
    return {name: bool(environ.get(name, "").strip()) for name in names}
