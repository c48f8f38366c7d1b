"""Continuity without a model: scenes of a text, candidates for contradictions, and windows for whoever judges them.

    scenes = split(text).scenes
    for candidate in candidates(scenes):
        ...

A candidate is two passages that may not both be true. With `tight=True` only those come out that a strict rule holds
for: these can be shown without a model. See docs/design/0008-continuity.md.
"""

from fabula.continuity.candidates import Candidate, Passage, Window, Windows
from fabula.continuity.check import DETECTORS, Checked, candidates, check
from fabula.continuity.scenes import FORMS, Form, NumberedScene, Scenes, scenes_of, split

__all__ = [
    "DETECTORS",
    "FORMS",
    "Candidate",
    "Checked",
    "Form",
    "NumberedScene",
    "Passage",
    "Scenes",
    "Window",
    "Windows",
    "candidates",
    "check",
    "scenes_of",
    "split",
]
