"""`rewrite`: one passage of a text written anew."""

from __future__ import annotations

from textwrap import shorten
from typing import Annotated, Final

from pydantic import Field

from fabula.app.asking import asking
from fabula.app.beginning import check
from fabula.app.rewriting import Passage, Rewritten, characters_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.app.writing import dry_run_rewrite_in, rewrite_in
from fabula.base.errors import OtherLengthError
from fabula.story import plain
from fabula.verbs.base import LONG, ArtefactName, MostDollars, MostTokens, verb

_MOST_SHOWN: Final = 1_000  # characters of a new passage in an error


@verb("POST", "/rewrite", "runs", long=True)
async def rewrite(
    project: Workspace,
    artefact: ArtefactName,
    passage: Annotated[
        str,
        Field(
            pattern=r"^[1-9]\d{0,6}-[1-9]\d{0,6}$",
            description="Its first and last character in the text, from 1.",
            examples=["120-480"],
        ),
    ],
    note: Annotated[str, Field(max_length=LONG, description="What you wish of it.", examples=["Colder."])] = "",
    *,
    anew: Annotated[bool, Field(description="Take the new passage, however long it is.")] = False,
    propose: Annotated[bool, Field(description="Only give the new passage; the text stays as it is.")] = False,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> Rewritten:
    """Have one passage of a text written anew by who wrote it; the rest stays, byte for byte.

    Raises:
        OtherLengthError: the new one is much longer or shorter than the old one; `anew` takes it as it is.
        FabulaError: any of its kinds; a finished call is kept.
    """
    at_work = await asking(project, caps=(budget_tokens, budget_usd))
    settings, options, wish = at_work.settings, at_work.options, plain(note).strip()
    check(settings, project.environ)
    looking = at_work.only_foreseen
    found = Passage.of(at_work.project, artefact, lambda text, _: characters_of(text, passage), looking=looking)
    asked = (at_work.project, settings, options, found.path, found.span, wish)
    await at_work.begin(lambda: dry_run_rewrite_in(*asked))
    new = await rewrite_in(*asked)
    at_work.bill.remember(settings)
    lengths = found.lengths(new)
    if propose:
        return found.offered(new)
    if not (anew or lengths.alike):
        shown = shorten(found.in_(new), _MOST_SHOWN)
        raise OtherLengthError(f"{lengths} It was not taken. The new one: {shown}")
    return found.take(at_work.project, new)
