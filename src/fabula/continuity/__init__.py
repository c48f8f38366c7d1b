"""Shared code of everything that looks for contradictions: the scenes of a text in any form, and their passages.

    for scene in split(text).scenes:
        ...

Rules that looked for contradictions without a model stood here too, until they were measured on stories that nobody had
tuned them to: docs/design/0008-continuity.md says what came of it.
"""

from fabula.continuity.scenes import FORMS, Form, NumberedScene, Passage, Scenes, scenes_of, split

__all__ = ["FORMS", "Form", "NumberedScene", "Passage", "Scenes", "scenes_of", "split"]
