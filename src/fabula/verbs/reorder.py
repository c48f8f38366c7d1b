"""`reorder`: the plan's scenes in another order of telling."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - doors read it
from typing import Annotated

from pydantic import Field

from fabula.app.plan_cards import plan_cards
from fabula.app.planning import PLAN
from fabula.app.saving import Saved, save
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.verbs.base import LONGEST_NAME, verb
from fabula.verbs.text import text


@verb("PUT", "/plan/order", "story")
async def reorder(
    project: Workspace,
    scenes: Annotated[
        Sequence[Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]],
        Field(
            max_length=1000,
            description="The plan's scenes by name, each once, in the order in which they are to be told.",
            examples=[["The letter", "The ferry"]],
        ),
    ],
    base: Annotated[str, Field(max_length=64, description="As it was read with the plan.", examples=["9f2c41d07b"])],
) -> Saved:
    """Tell the plan's scenes in another order.

    An edit of the plan's file, which undo takes back.

    Raises:
        UsageError: these are not the plan's scenes.
    """
    cards = plan_cards({PLAN: (await text(project, PLAN)).text}, ())
    places = {card.title: card.number for card in cards.cards}
    if sorted(scenes) != sorted(places):
        raise UsageError("These are not the scenes of the plan, each once. Read the plan again, and move them there.")
    with project.changing() as texts:
        return await save(texts, PLAN, cards.ordered([places[name] for name in scenes]), base, project.options)
