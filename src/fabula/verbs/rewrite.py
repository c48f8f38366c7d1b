"""`rewrite`: rewrite one passage of a text."""

from __future__ import annotations

from textwrap import shorten
from typing import Annotated, Final

from pydantic import Field

from fabula.app.asking import asking
from fabula.app.beginning import check
from fabula.app.rewriting import Passage, Rewritten, characters_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.app.writing import at_cursor_in, dry_run_at_cursor_in, rewritten
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
            description="The first and last character of the passage, counted from 1.",
            examples=["120-480"],
        ),
    ],
    note: Annotated[str, Field(max_length=LONG, description="What you want changed.", examples=["Colder."])] = "",
    *,
    anew: Annotated[bool, Field(description="Accept the new passage regardless of its length.")] = False,
    propose: Annotated[bool, Field(description="Return the new passage without changing the text.")] = False,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> Rewritten:
    """Have the role that wrote a text rewrite one passage; every other byte stays unchanged.

    Raises:
        OtherLengthError: the new passage is much longer or shorter than the old one; `anew` accepts it anyway.
        FabulaError: any error; a finished call is kept.
    """
    at_work = await asking(project, caps=(budget_tokens, budget_usd))
    settings, options, wish = at_work.settings, at_work.options, plain(note).strip()
    check(settings, project.environ)
    looking = at_work.only_foreseen
    found = Passage.of(at_work.project, artefact, lambda text, _: characters_of(text, passage), looking=looking)
    asked = (at_work.project, settings, options, found.path, found.span, rewritten(wish))
    await at_work.begin(lambda: dry_run_at_cursor_in(*asked))
    new = await at_cursor_in(*asked)
    at_work.bill.remember(settings)
    lengths = found.lengths(new)
    if propose:
        return found.offered(new)
    if not (anew or lengths.alike):
        shown = shorten(found.in_(new), _MOST_SHOWN)
        raise OtherLengthError(f"{lengths} The new passage was not accepted. It is: {shown}")
    return found.take(at_work.project, new)
