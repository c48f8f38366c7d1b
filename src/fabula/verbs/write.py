"""`write` and `update`: the story of a project, written, gone on with, or written again where edits want that."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - doors read it
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from fabula.app.asking import Approve, asking
from fabula.app.beginning import check
from fabula.app.learned import with_learned
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.app.writing import WrittenStory, chosen_to_fit, dry_run_in, old_texts, refuse_anew, write_in
from fabula.base.errors import UsageError
from fabula.craft.length import parse_range
from fabula.verbs.base import LONGEST_NAME, ModelName, MostDollars, MostTokens, verb

if TYPE_CHECKING:
    from fabula.app.asking import Asking
    from fabula.engine.dry_run import DryRun
    from fabula.project.folder import FileChange

Words = Annotated[str, Field(max_length=50, description="Length of the story, such as 3000-4000.")]
System = Annotated[str, Field(max_length=200, description="The writing system, by its name.")]
_Approve = Annotated[Approve, Field(description="Wait for approval of the plan, or of every text.")]
_Anew = Annotated[bool, Field(description="Write again what stands, where other settings than before want that.")]
_ANEW: Final = (
    "`anew` does it, and the old texts stay in the history; `retake` has a single text written again; leave the model "
    "out where the project's own is to go on."
)


@verb("POST", "/write", "runs", long=True)
async def write(
    project: Workspace,
    model: ModelName = "",
    words: Words = "",
    system: System = "",
    *,
    approve: _Approve = "",
    anew: _Anew = False,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> WrittenStory:
    """Write the story, or go on where it stopped; edits of files are taken over first.

    What is finished is kept, and not asked again; it can be stopped at any time.

    Raises:
        WrittenBeforeError: for the sake of other settings it would write again what stands.
        FabulaError: any of its kinds; the same again goes on from there.
    """
    if words:
        parse_range(words)
    caps = (budget_tokens, budget_usd)
    at_work = await asking(project, model=model, words=words, system=system, approve=approve, caps=caps)
    settings, _ = with_learned(at_work.settings, project.environ, begun=at_work.begun)
    check(settings, project.environ)
    at_work = replace(at_work, settings=settings)
    await _begin(at_work)
    if not anew:
        await refuse_anew(at_work.project, settings, at_work.options, _ANEW)
    return await _written(at_work)


@verb("POST", "/update", "runs", long=True)
async def update(
    project: Workspace,
    model: ModelName = "",
    *,
    approve: _Approve = "",
    revise: Annotated[bool, Field(description="Revise old texts to fit, instead of writing them anew.")] = False,
    only: Annotated[
        Sequence[Annotated[str, Field(max_length=LONGEST_NAME)]],
        Field(max_length=1000, description="With `revise`: these artefacts alone."),
    ] = (),
    anew: _Anew = False,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> WrittenStory:
    """Take your edits over, and write again what hangs on them; `estimate` says first what that is.

    Other settings count as an edit of yours, and need no `anew`, but where a client has its own model play.

    Raises:
        UsageError: a text cannot be revised to fit.
        FabulaError: any of its kinds; the same again goes on from there.
    """
    if only and not revise:
        raise UsageError("`only` goes with `revise`: it names the texts that are revised to fit.")
    at_work = await asking(project, model=model, approve=approve, caps=(budget_tokens, budget_usd))
    check(at_work.settings, project.environ)
    if revise:
        dry, changes = await dry_run_in(at_work.project, at_work.settings, at_work.options)
        fit = chosen_to_fit(at_work.project, old_texts(at_work.project, dry, changes), only)
        at_work = replace(at_work, options=replace(at_work.options, fit=fit))
    await _begin(at_work)
    if not (anew or project.at_home):
        await refuse_anew(at_work.project, at_work.settings, at_work.options, _ANEW)
    return await _written(at_work)


async def _begin(at_work: Asking) -> None:
    changes: list[FileChange] = []

    async def look() -> DryRun:
        dry, changes[:] = await dry_run_in(at_work.project, at_work.settings, at_work.options)
        return dry

    await at_work.begin(look, changes)


async def _written(at_work: Asking) -> WrittenStory:
    project, settings = at_work.project, at_work.settings
    story = (await write_in(project, settings, at_work.options)).story
    at_work.bill.remember(settings)
    return WrittenStory.in_(project, settings, story, at_work.bill)
