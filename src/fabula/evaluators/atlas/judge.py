"""The plain judge: one call that reads the whole story and lists contradictions (the paper's baseline)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.craft.raters import mark_for
from fabula.evaluators.atlas.paper import shown_scenes, sound
from fabula.evaluators.atlas.shapes import Judged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.continuity import NumberedScene
    from fabula.evaluators.atlas.desk import Desk
    from fabula.evaluators.atlas.findings import Proposal

JUDGE: Final = "judge"


async def judged(scenes: Sequence[NumberedScene], desk: Desk) -> tuple[Proposal, ...] | None:
    """What the judge lists, not verified, as long as it names two scenes in their order; `None` without a reply.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    text = shown_scenes(scenes)
    said = await desk.ask(desk.run, Judged, JUDGE, "judge", story=text, mark=mark_for(text))
    if said is None:
        return None
    before = desk.counts.copy()
    found = tuple(sound(said.findings, {scene.number for scene in scenes}, desk))
    dropped = desk.counts - before
    for name in dropped:  # what the judge got wrong is told apart from what the method did
        desk.counts[f"judge_{name}"] += dropped[name]
        desk.counts[name] = before[name]
    desk.rate(JUDGE, "baseline", f"{desk.run.at}/judge", answer=float(len(found)))
    return found
