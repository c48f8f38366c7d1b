"""`read_cards`: the cards of the plan, read from the texts of a book that was written without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from pydantic import Field

from fabula.app.asking import asking
from fabula.app.beginning import check
from fabula.app.outlining import CardFound, accept, cards_in, dry_run_cards_in
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.verbs.base import LONGEST_NAME, ModelName, MostDollars, MostTokens, verb

Names: TypeAlias = Sequence[Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]]


@dataclass(frozen=True, slots=True)
class CardsFound:
    """The cards that were read from texts."""

    cards: list[CardFound]


@verb("POST", "/cards/read", "runs", command="text outline", long=True)
async def read_cards(
    project: Workspace,
    only: Annotated[
        Names, Field(max_length=2_000, description="Only these texts; default: all whose card is empty.")
    ] = (),
    accepted: Annotated[
        Names, Field(max_length=2_000, description="Put the cards of these texts into the plan.", examples=[["climax"]])
    ] = (),
    *,
    accept_all: Annotated[
        bool, Field(description="Put all cards that were read into the plan, except refused ones.")
    ] = False,
    model: ModelName = "",
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> CardsFound:
    """Read texts and propose their cards: synopsis, who is there, when and where, what is planted and what is due.

    Nothing is saved unless you accept it. Repeat the verb to accept cards that you have read: calls are not made twice.

    Raises:
        UsageError: a card to accept was not read.
        FabulaError: of any kind; finished calls are kept.
    """
    at_work = await asking(project, model=model, caps=(budget_tokens, budget_usd))
    check(at_work.settings, project.environ)
    asked = (at_work.project, at_work.settings, at_work.options, only)
    await at_work.begin(lambda: dry_run_cards_in(*asked))
    found = {one.name: one for one in await cards_in(*asked)}
    at_work.bill.remember(at_work.settings)
    wanted = [name for name, one in found.items() if not one.refused] if accept_all else [*accepted]
    if unknown := next((name for name in wanted if name not in found), ""):
        raise UsageError(f"The card of {unknown!r} was not read now. Repeat this with `--only {unknown}`.")
    if wanted:
        await accept(at_work.project, {name: found[name].text for name in wanted}, at_work.options)
    return CardsFound([replace(one, accepted=name in wanted) for name, one in found.items()])
