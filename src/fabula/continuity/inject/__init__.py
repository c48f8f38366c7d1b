"""Test stories with known errors: typed changes of any text, with matched changes that are no errors.

made = inject(text, ["name", "colour"], n=3, distance=2000, seed=7)
made.text, made.labels
"""

from fabula.continuity.inject.anchors import ERROR_KINDS, REASONS, Kind
from fabula.continuity.inject.apply import Injected, Label, Span, inject

__all__ = ["ERROR_KINDS", "REASONS", "Injected", "Kind", "Label", "Span", "inject"]
