"""`replace`: find words in the texts of the book, and replace them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from fabula.app.replacing import Replacements, Search, check_skipped, found_places, replace_all, texts_of
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import LONG, LONGEST_NAME, verb


@verb("POST", "/replacements", "texts", command="text replace")
async def replace(
    project: Workspace,
    old: Annotated[str, Field(min_length=1, max_length=1_000, description="What to find.", examples=["Mara"])],
    new: Annotated[str, Field(max_length=LONG, description="What replaces it.", examples=["Nora"])],
    *,
    whole_word: Annotated[bool, Field(description="Find only whole words.")] = False,
    case: Annotated[bool, Field(description="Distinguish capitals.")] = False,
    within: Annotated[str, Field(max_length=LONGEST_NAME, description="Only this text; default: the story.")] = "",
    everywhere: Annotated[bool, Field(description="Also in the plan, characters, codex, style and notes.")] = False,
    skip: Annotated[
        Sequence[Annotated[int, Field(ge=1)]], Field(max_length=10_000, description="Numbers of places to leave.")
    ] = (),
    base: Annotated[
        str | None, Field(max_length=64, description="The `base` of the preview, so that the same places are meant.")
    ] = None,
    dry_run: Annotated[bool, Field(description="Only list the places.")] = False,
) -> Replacements:
    """Find words in all texts of the story and replace them; a single undo takes all of it back.

    Unless capitals are distinguished, the new words take the capitals of the old ones. No model is called.

    Raises:
        UsageError: there is nothing to find, a place to skip is not there, or the texts have changed since the preview.
        PlanError: a plan with the new words could not be used.
    """
    texts, search = texts_of(project, within, everywhere=everywhere), Search(old, new, whole_word, case)
    if dry_run:
        found = found_places(texts, project.titles(), search)
        check_skipped(skip, found)
        return found
    return await replace_all(project, texts, search, frozenset(skip), base)
