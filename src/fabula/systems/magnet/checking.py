"""Improved mode: a paragraph is looked at by the detectors of continuity errors before it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def objections(told: Sequence[str], text: str, names: Sequence[str]) -> tuple[str, ...]:
    """What a narrator should mend in `text`, one sentence each; nothing where it agrees with what was `told`."""
    del told, text, names
    return ()
