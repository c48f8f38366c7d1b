"""`style`: the author's style sheet, proposed from samples of the author's own prose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from fabula.app.asking import asking
from fabula.app.beginning import check
from fabula.app.saving import save
from fabula.app.style import dry_run_voice_in, read_voice_in, samples_of, sheet
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.project.folder import STYLE
from fabula.verbs.base import ModelName, MostDollars, MostTokens, verb


@dataclass(frozen=True, slots=True)
class StyleSheet:
    """A proposed style sheet.

    Attributes:
        text: the proposal.
        samples: the files of the samples.
        file: the file of the style sheet.
        accepted: whether the proposal is now in that file.
    """

    text: str
    samples: list[str]
    file: str
    accepted: bool


@verb("POST", "/style", "texts", command="text style", long=True)
async def style(
    project: Workspace,
    *,
    counted: Annotated[
        bool, Field(description="Only count, without a model: sentences, dialogue, punctuation, typical passages.")
    ] = False,
    accept: Annotated[bool, Field(description="Save the proposal as style.md, which must not exist yet.")] = False,
    model: ModelName = "",
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> StyleSheet:
    """Propose a style sheet from samples of the author's own prose.

    The samples are the files in `voice/`. A model reads them once; a proposal that was made before costs nothing.
    Every role that writes prose gets `style.md`, so texts that were written before become stale.

    Raises:
        UsageError: there are too few samples, or `style.md` exists and differs.
        FabulaError: of any kind; a finished call is kept.
    """
    folder = project.project()
    samples, before = samples_of(folder), folder.style
    at_work = await asking(project, model=model, caps=(budget_tokens, budget_usd))
    asked = (at_work.project, at_work.settings, at_work.options, samples)
    if not counted:
        check(at_work.settings, project.environ)
    await at_work.begin(lambda: dry_run_voice_in(*asked, counted=counted))
    text = sheet(samples, None if counted else await read_voice_in(*asked))
    at_work.bill.remember(at_work.settings)
    if accept and before not in ("", text):
        raise UsageError(f"{STYLE} already exists and differs from the proposal. Edit it, or rename it and try again.")
    if accept:
        await save(folder, STYLE, text, None, project.options)
    return StyleSheet(text, list(folder.samples), STYLE, accept)
