"""`write` and `update`: write or continue the story of a project, or rewrite the texts that edits make stale."""

from __future__ import annotations

from collections.abc import Sequence
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
_Approve = Annotated[Approve, Field(description="Wait for your approval of the plan or of every text.")]
_Anew = Annotated[bool, Field(description="Rewrite existing texts if changed settings require it.")]
_ANEW: Final = (
    "`anew` rewrites them and keeps the old texts in the history; `retake` rewrites a single text; leave the "
    "model out to continue with the project's model."
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
    """Write the story, or continue where it stopped, after applying edits of files.

    Finished calls are kept and never repeated. You can stop it at any time.

    Raises:
        WrittenBeforeError: changed settings would cause existing texts to be rewritten. FabulaError: any error; the
            same verb continues from there.
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
    revise: Annotated[bool, Field(description="Revise old texts instead of rewriting them.")] = False,
    only: Annotated[
        Sequence[Annotated[str, Field(max_length=LONGEST_NAME)]],
        Field(max_length=1000, description="With `revise`: only these artefacts."),
    ] = (),
    anew: _Anew = False,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> WrittenStory:
    """Apply your edits, and rewrite the texts that depend on them; use `estimate` to see these texts first.

    Changed settings count as your edit and do not require `anew`, unless a client provides its own model.

    Raises:
        UsageError: a text cannot be revised to fit.
        FabulaError: any error; the same verb continues from there.
    """
    if only and not revise:
        raise UsageError("`only` requires `revise`: it lists the texts to revise.")
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
