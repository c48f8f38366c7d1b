"""`codex`, `set_entry`, `remove_entry`, `read_codex`: people, places, things and rules, and what is known of them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Annotated, Any, Final

from pydantic import Field

from fabula.app.asking import asking
from fabula.app.beginning import check
from fabula.app.codex import PERSONAS, READING, CodexView, SharedNameError, codex_of, text_in
from fabula.app.conversing import dry_run_names, read_names
from fabula.app.plan_cards import PLAN
from fabula.app.saving import save
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.characters import readable
from fabula.base.errors import FabulaError, UnknownNameError, UsageError
from fabula.craft.narratives import entries_read
from fabula.project.folder import STORY
from fabula.story import one_line
from fabula.story.codex import (
    FILE,
    KINDS,
    MAX_NAME,
    MAX_TEXT,
    Codex,
    CodexEntry,
    Kind,
    changed_codex,
    changed_left_out,
    codex_in,
    write_codex,
)
from fabula.verbs.base import ModelName, MostDollars, MostTokens, verb

EntryName = Annotated[str, Field(max_length=MAX_NAME, description="A name or alias.", examples=["Mara Quist"])]
_MOST: Final = 200
_NAMED: Final = 5  # texts that a sentence names
_OF_PEOPLE: Final = {PERSONAS, PLAN, "cards"}


@dataclass(frozen=True, slots=True)
class CodexChange:
    """What was changed in `plan/codex.yaml`.

    Attributes:
        name: the entry's name.
        changed: whether the file differs from before.
        removed: whether your entry was removed.
        left_out: whether the codex no longer shows the name.
        remarks: which names in `known_to` nobody has, and which texts the change makes stale, in sentences.
    """

    name: str
    file: str
    changed: bool
    removed: bool = False
    left_out: bool = False
    remarks: tuple[str, ...] = ()


@verb("GET", "/codex", "story", command="codex show")
async def codex(
    project: Workspace,
    at: Annotated[
        int | None, Field(ge=0, le=10**6, description="The number of the scene at whose end to look.")
    ] = None,
    of: Annotated[str, Field(max_length=MAX_NAME, description="Only what this character knows.")] = "",
    name: Annotated[str, Field(max_length=MAX_NAME, description="Only this entry, by name or alias.")] = "",
) -> CodexView:
    """Show everyone and everything with a name: where the story mentions them, and what is known by a scene.

    The codex joins your entries in `plan/codex.yaml` with personas, plan, cards, lorebooks, the world's facts and a
    model's reading (`read_codex`). No model is called.

    Raises:
        UnknownNameError: the entry or character does not exist.
        UsageError: the story has fewer scenes.
        PlanError: `plan/codex.yaml` has problems.
    """
    found = codex_of(project)
    last = max((*found.world.scenes, *(part.number for part in found.world.parts)), default=0)
    if at is not None and at > last:
        raise UsageError(f"There is no scene {at}: the story has {last} so far.")
    return found.view(at, of, name, quoted=bool(name))


@verb("PUT", "/codex/{name:path}", "story", command="codex set")
async def set_entry(
    project: Workspace,
    name: EntryName,
    *,
    new_name: Annotated[str, Field(max_length=MAX_NAME, description="Another name for it.")] = "",
    kind: Annotated[Kind | None, Field(description="What it is.")] = None,
    aliases: Annotated[
        list[str] | None, Field(max_length=_MOST, description="Another name, in each form of the story. Repeatable.")
    ] = None,
    description: Annotated[str | None, Field(max_length=MAX_TEXT, description="What everybody may know.")] = None,
    facts: Annotated[
        list[str] | None, Field(max_length=_MOST, description="A property: `eye colour: grey`. Repeatable.")
    ] = None,
    secret: Annotated[str | None, Field(max_length=MAX_TEXT, description="What not everybody knows.")] = None,
    known_to: Annotated[
        list[str] | None,
        Field(
            max_length=_MOST,
            description="Who knows the secret when the story begins; default: the person whom it is about. Repeatable.",
        ),
    ] = None,
    notes: Annotated[str | None, Field(max_length=MAX_TEXT, description="Your own notes; no model sees them.")] = None,
) -> CodexChange:
    """Add or change an entry of your codex; arguments that you leave out stay as they are.

    A proposed entry becomes yours, with its aliases and description. This is an edit, which
    `undo` can undo. No model is called.

    Raises:
        UsageError: the name is empty, has invisible characters, is another entry's, or an alias of several without a
            `kind`, which adds an entry of that name; or a fact has no colon.
        PlanError: `plan/codex.yaml` has problems.
    """
    name, new = one_line(name).strip(), one_line(new_name).strip()
    if not name:
        raise UsageError("The name is empty. Enter the name of the entry.")
    if (called := new or name) != readable(called):
        raise UsageError(f"The name {called!a} has control or invisible characters. Remove them.")
    text = text_in(project.texts(), FILE)
    stands = codex_in(project.folder)
    try:
        was = _own(project, stands, name)
        entry = was or _known(project, stands, name)
    except SharedNameError as error:
        if kind is None:
            raise UsageError(f"{error} To add an entry {name!r} of your own, give its kind (`--kind`).") from error
        was, entry = None, CodexEntry(name)
    given: dict[str, Any] = {"kind": kind, "aliases": aliases, "description": description, "secret": secret}
    given |= {"known_to": known_to, "notes": notes, "facts": facts if facts is None else [*map(_fact, facts)]}
    changes: dict[str, Any] = {
        field: tuple(of) if isinstance(of, list) else of for field, of in given.items() if of is not None
    }
    entry = replace(entry, **changes, name=new or entry.name)
    _check_names(project, stands, was, entry)
    text = changed_codex(text, was.name if was else entry.name, entry)
    if name in stands.left_out or entry.name in stands.left_out:
        text = changed_left_out(text, (one for one in stands.left_out if one not in (name, entry.name)))
    changed, stale = await _save(project, text)
    unknown = codex_of(project).unknown
    said = [unknown[name] for name in entry.known_to if name in unknown]
    return CodexChange(entry.name, FILE, changed, remarks=(*said, *stale))


@verb("DELETE", "/codex/{name:path}", "story", command="codex remove")
async def remove_entry(project: Workspace, name: EntryName) -> CodexChange:
    """Remove your entry; the codex no longer shows a name that only other sources give, such as a proposed one.

    This is an edit, which `undo` can undo. No model is called.

    Raises:
        UnknownNameError: there is no such entry.
        PlanError: `plan/codex.yaml` has problems.
    """
    text, stands = text_in(project.texts(), FILE), codex_in(project.folder)
    was = _own(project, stands, name)
    if was is not None:
        changed, said = await _save(project, changed_codex(text, was.name, None))
        return CodexChange(was.name, FILE, changed, removed=True, remarks=said)
    found = codex_of(project).find(name).name
    text = changed_left_out(text or write_codex(stands), (*stands.left_out, found))
    changed, said = await _save(project, text)
    return CodexChange(found, FILE, changed, left_out=True, remarks=said)


@verb("POST", "/codex/reading", "runs", command="codex read", long=True)
async def read_codex(
    project: Workspace,
    model: ModelName = "",
    *,
    budget_tokens: MostTokens = None,
    budget_usd: MostDollars = None,
) -> CodexView:
    """Have a model read the story and propose entries for the codex.

    `set_entry` accepts a proposed entry, and `remove_entry` refuses it. Each version of the story is
    read once, and finished calls are kept.

    Raises:
        FabulaError: any error.
    """
    at_work = await asking(project, model=model, caps=(budget_tokens, budget_usd))
    check(at_work.settings, project.environ)
    asked = (at_work.project, at_work.settings, at_work.options)
    await at_work.begin(lambda: dry_run_names(*asked, entries_read))
    await read_names(*asked, entries_read)
    at_work.bill.remember(at_work.settings)
    return codex_of(project).view()


def _fact(said: str) -> tuple[str, str]:
    slot, colon, value = one_line(said).partition(":")
    if not (colon and slot.strip() and value.strip()):
        raise UsageError(f"{said[:60]!r} is not a fact. Write a property and its value: `eye colour: grey`.")
    return slot.strip(), value.strip()


def _own(project: Workspace, stands: Codex, name: str) -> CodexEntry | None:
    """The author's entry with a name or alias, or the one of whom another source uses that name; `None` if none is."""
    try:
        return stands.find(one_line(name)) or stands.find(codex_of(project).find(name).name)
    except UnknownNameError:
        return None


def _check_names(project: Workspace, stands: Codex, was: CodexEntry | None, entry: CodexEntry) -> None:
    """Refuse a name that another entry of the author has, or another person of the same plan, personas or cards."""
    joined = codex_of(project).joined.values()
    sources = next(({said.source for said in one.said} for one in joined if one.name == (was or entry).name), set())
    for name in entry.names:
        other = next((one for one in stands.entries if one is not was and Codex((one,)).find(name)), None) or next(
            (
                one
                for one in joined
                if name.casefold() == one.name.casefold() != (was or entry).name.casefold()
                and sources & _OF_PEOPLE & {said.source for said in one.said}
            ),
            None,
        )
        if other is not None:
            raise UsageError(
                f"{name!r} is a name of the entry {other.name!r}, and no two entries may share a name. "
                "Specify another name, or change that entry first."
            )


def _known(project: Workspace, stands: Codex, name: str) -> CodexEntry:
    """A new entry of that name, with what a model's reading proposes; what other sources say stays theirs."""
    try:
        one = codex_of(project).find(name)
    except UnknownNameError:
        return CodexEntry(name)
    read = next((found for found in one.said if found.source == READING), None)
    kind: Any = one.kind if one.kind in KINDS else "person"
    others = {key.casefold() for other in codex_of(project).joined.values() if other is not one for key in other.names}
    names = read.names[1:] if read else ()
    free = tuple(name for name in names if name.casefold() not in others and stands.find(name) is None)
    return CodexEntry(one.name, kind, free, read.whole if read else "")


async def _save(project: Workspace, text: str) -> tuple[bool, tuple[str, ...]]:
    """Save the codex as an edit; whether it changed, and which texts that makes stale, in a sentence."""
    before = text_in(project.texts(), FILE)
    base = None if (project.folder / FILE).is_file() else ""
    with project.changing() as texts:
        changed = (await save(texts, FILE, text, base, project.options)).changed
    return changed, await asyncio.to_thread(_made_stale, project, before) if changed else ()


def _made_stale(project: Workspace, before: str) -> tuple[str, ...]:
    """A sentence on the texts that are stale now and were not with the codex `before`; none where no model wrote."""
    with project.texts().journal as journal:
        if not len(journal.calls):
            return ()
    with suppress(FabulaError):  # `status` says why no run is possible
        known = set(project.names().values()) - {STORY}
        stale = [name for name in project.expected().stale if name in known]
        if stale:  # only then is the project walked a second time
            were = set(project.expected(pending={PurePath(FILE).stem: before}).stale)
            stale = [name for name in stale if name not in were]
        if stale:
            titles = [*map(project.titles(), stale[:_NAMED])]
            more = f" and {len(stale) - _NAMED:,} more" if len(stale) > _NAMED else ""
            number, them, name, one = ("1 text is", "it", stale[0], "it")
            if len(stale) > 1:
                number, them, name, one = f"{len(stale):,} texts are", "them", "NAME", "one"
            said = f"`fabula update` rewrites {them}; `fabula text pin {name}` keeps {one}."
            return (f"{number} stale by this: {', '.join(titles)}{more}. {said}",)
    return ()
