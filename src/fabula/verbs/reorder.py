"""`reorder`: change the order in which the plan's scenes are told."""

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
            description="The names of the plan's scenes, each exactly once, in the new order of telling.",
            examples=[["The letter", "The ferry"]],
        ),
    ],
    base: Annotated[
        str, Field(max_length=64, description="The `base` that was returned with the plan.", examples=["9f2c41d07b"])
    ],
) -> Saved:
    """Change the order in which the plan's scenes are told.

    This is an edit of the plan's file, which `undo` can undo.

    Raises:
        UsageError: the names are not the names of the plan's scenes.
    """
    cards = plan_cards({PLAN: (await text(project, PLAN)).text}, ())
    places = {card.title: card.number for card in cards.cards}
    if sorted(scenes) != sorted(places):
        raise UsageError(
            "The list does not contain each scene of the plan exactly once. Read the plan again, and reorder "
            "its scenes."
        )
    with project.changing() as texts:
        return await save(texts, PLAN, cards.ordered([places[name] for name in scenes]), base, project.options)
