"""Test stories with known errors: `fabula lab inject`.

editing      a model changes a few words of a story so that they contradict it; code checks each change
screenplays  MAGNET, appendix A.3.3: a model writes screenplays with errors and their annotations
planted      the file with a clean text and its errors
running      runs all of this in a folder that keeps the calls
"""

from __future__ import annotations

from fabula.app.injecting.editing import EditedStory
from fabula.app.injecting.planted import KINDS, CleanText
from fabula.app.injecting.running import METHOD, Injection, InjectionTask, dry_run_injection, inject_in

__all__ = [
    "KINDS",
    "METHOD",
    "CleanText",
    "EditedStory",
    "Injection",
    "InjectionTask",
    "dry_run_injection",
    "inject_in",
]
