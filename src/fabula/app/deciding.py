"""Decisions about single texts: a new wording, pins, another draw, a wish, approvals; and taking back the last ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.app.titles import Titles
from fabula.app.writing import check_edit
from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.final_reading import EDITS, REFUSED, read_edits, read_refused, refuse, write_refused
from fabula.engine.events import RECORD, TABLE
from fabula.engine.making import DRAFTS, notes_of
from fabula.project.folder import REACHED, STORY
from fabula.project.telling import is_own
from fabula.story import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from fabula.app.writing import Options
    from fabula.craft.final_reading import Edit
    from fabula.engine.journal import Decision, Done, Journal
    from fabula.project.folder import Project

_EDITS: Final = f"{DRAFTS}/{EDITS}"
_REFUSED: Final = f"{DRAFTS}/{REFUSED}"
_KNOWN_REFUSED: Final = "What you refused of the final reading"
_OF_TEXTS: Final = frozenset({"edit", "rewrite", "unedit", "continue", "pin", "unpin"})
_SEVERAL: Final = {"pin-all": "pin --all", "fit-all": "update --revise"}
_PART_OF: Final = {"pin": "pin-all", "fit": "fit-all"}
_SHOWN: Final = 3
_NOUNS: Final = {"revise": "revision"}


def authored(journal: Journal) -> dict[str, str]:
    """The files of the artefacts that a person may want to read, by path; records of a run are none of them."""
    return {path: file for path, file in journal.artefacts.places().items() if not file.endswith(f".{RECORD}")}


def newest_of(journal: Journal, path: str) -> str:
    """The newest text of an artefact.

    Raises:
        UsageError: it has none.
    """
    text = journal.artefacts.newest(path)
    if text is None:
        raise UsageError(f"{path} has no text yet. Write it first.")
    return text


# a new text -----------------------------------------------------------------------------------------------------------


async def edit(project: Project, journal: Journal, path: str, text: str, options: Options) -> bool:
    """Give an artefact a new text; whether it was another one than before.

    Raises:
        UsageError: the text is empty or too long.
        PlanError: it has a form, and no story could be written from it.
    """
    wanted = plain(text)
    if wanted == plain(journal.artefacts.newest(path) or ""):
        return False
    await check_edit(project, journal, options, path, wanted)
    project.edit(journal, path, text)
    return True


def version_of(journal: Journal, path: str, number: int) -> str:
    """The text of an artefact's version.

    Raises:
        UnknownNameError: there is none of that number.
    """
    versions = journal.artefacts.versions(path)
    if not 1 <= number <= len(versions):
        raise UnknownNameError(f"version of {path}", str(number), [str(v.number) for v in versions])
    return versions[number - 1].text


def revert(project: Project, journal: Journal, path: str) -> None:
    """Give an artefact the text again that was written for the author.

    Raises:
        UsageError: it has it, or nothing was ever written for them.
    """
    override = journal.decisions.override(path)
    if override is None or override[1] not in ("edited", "rewritten"):
        raise UsageError(f"{path} has no edit to take back" + (f": it is {override[1]}." if override else "."))
    made = [version.text for version in journal.artefacts.versions(path) if version.made]
    if not made:
        raise UsageError(f"{path} was never written for you; its text is yours alone.")
    with journal.transaction():
        journal.decisions.add(path, "unedit")
        journal.artefacts.keep(path, made[-1], "made")
    project.write_newest(journal, [path])


# pins and approvals ---------------------------------------------------------------------------------------------------


def pin(project: Project, name: str) -> str:
    """Keep an artefact's text, whatever changes above it; its path."""
    with project.recorded() as journal:
        path = project.artefact(journal, name)
        journal.decisions.add(path, "pin", newest_of(journal, path))
    return path


def pin_all(project: Project) -> list[str]:
    """Pin what is not pinned. A project that lost its journal goes on from here."""
    with project.recorded(keeping=True) as journal:
        paths = [path for path in authored(journal) if path != STORY and source_of(journal, path) != "pinned"]
        if paths:
            with journal.transaction():
                journal.decisions.add("*", "pin-all", str(len(paths)))
                for path in paths:
                    journal.decisions.add(path, "pin", journal.artefacts.newest(path))
    return paths


def unpin(project: Project, name: str) -> str:
    """Let a pinned artefact change again; its path.

    Raises:
        UsageError: it is not pinned.
    """
    with project.recorded() as journal:
        path = project.artefact(journal, name)
        if source_of(journal, path) != "pinned":
            raise UsageError(f"{path} is not pinned. `fabula status` shows what is.")
        journal.decisions.add(path, "unpin")
    return path


def approve(project: Project, name: str = "") -> list[str]:
    """Approve an artefact, or all that wait; the paths of what was not approved before."""
    with project.recorded() as journal:
        asked = [project.artefact(journal, name)] if name else list(authored(journal))
        waiting = [path for path in asked if source_of(journal, path) in {"", "continued"}]
        approved = [path for path in waiting if not journal.decisions.approved(path, newest_of(journal, path))]
        with journal.transaction():
            for path in approved:
                journal.decisions.add(path, "approve", newest_of(journal, path))
    return approved


# what the final reading changed ---------------------------------------------------------------------------------------


def final_edits(journal: Journal) -> tuple[list[Edit], frozenset[str]]:
    """What the final reading of the story changed, and the ids of the edits that the author refuses.

    Raises:
        UsageError: there was none.
    """
    text = journal.artefacts.newest(_EDITS)
    if text is None:
        raise UsageError(
            "There is no final reading in this project. `fabula write --set final_reading=true` ends with one, where "
            "the system has it."
        )
    return list(read_edits(text)), read_refused(journal.artefacts.newest(_REFUSED) or "")


def refuse_edits(project: Project, journal: Journal, refused: Sequence[str], accepted: Sequence[str]) -> frozenset[str]:
    """Refuse edits of the final reading, and make others after all; the ids of all that are refused then.

    Raises:
        UnknownNameError: there is no such edit.
    """
    found, before = final_edits(journal)
    wanted = refuse(found, refuse(found, before, refused), accepted, back=True)
    if wanted != before:
        project.edit(journal, _REFUSED, write_refused(wanted))
    return wanted


# another draw, a wish -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Retake:
    """A text that will be written again.

    Attributes:
        path: of the artefact.
        revised: its old text is revised as the author wishes, instead of being written from nothing.
        before: what the author wished of it earlier, which still holds.
    """

    path: str
    revised: bool
    before: tuple[str, ...]


def retake(project: Project, name: str, note: str | None = None, *, anew: bool = False) -> Retake:
    """Have an artefact written anew, with another draw; or revised, as a note wishes (from nothing with `anew`).

    Raises:
        UsageError: the note is empty, the text is pinned, or nobody writes it.
        UnknownNameError: there is no such artefact.
    """
    wish = plain(note or "").strip()
    if note is not None and not wish:
        raise UsageError("The note is empty. Say what you wish of the text, or leave --note out for another draw.")
    with project.recorded() as journal:
        path = project.artefact(journal, name)
        check_unpinned(journal, path)
        _check_written_by_a_role(journal, path, wish)
        revise = bool(wish) and not anew
        with journal.transaction():
            if not revise and journal.decisions.override(path) is not None:
                journal.decisions.add(path, "unedit")
            journal.decisions.add(path, "revise" if revise else "retake", wish or None)
        notes = notes_of(journal, path)
    return Retake(path, revise, tuple(notes[:-1] if wish else notes))


def continue_text(
    project: Project, name: str, words: int | None, system: str, calls: Callable[[], int]
) -> tuple[str, int]:
    """Have more written after an artefact's text, or after the story's end where none is named.

    Args:
        project: the project.
        name: of the artefact; empty for the part that ends the story.
        words: about how many more; `None` for a third of the part.
        system: that writes the story.
        calls: gives how many calls the next run makes.

    Returns:
        Its path, and how many calls the next run makes.

    Raises:
        UsageError: it is pinned, waits to be continued already, or the system cannot continue it.
    """
    with project.recorded() as journal:
        path = project.artefact(journal, name) if name else _last_part(journal)
        check_unpinned(journal, path)
        text = newest_of(journal, path)
        if journal.decisions.override(path) == (text, "continued"):
            raise UsageError(
                f"{path} waits to be continued already. `fabula update` does it, `fabula undo` forgets it."
            )
        journal.decisions.add(path, "continue", text, words)
    try:
        return path, calls()
    except UsageError as error:
        with project.recorded() as journal:
            journal.decisions.add(path, "undo", target=journal.decisions.find()[-1].id)
        raise UsageError(
            f"{path} is no part of the story, and {system} cannot continue it. Write on in its file, or say `fabula "
            f"text retake {path}`."
        ) from error


def _last_part(journal: Journal) -> str:
    """The part that ends the story; a text of the author's own is not asked for."""
    parts = {file: path for path, file in journal.artefacts.places().items() if file.startswith("story/")}
    reached = _reached(journal)
    written = [file for file, path in parts.items() if reached is None or path in reached]
    if not written:
        raise UsageError("There is no story yet that could go on. Write it first.")
    return parts[max(written)]


def check_unpinned(journal: Journal, path: str) -> None:
    """Check that somebody else than the author may write an artefact.

    Raises:
        UsageError: it is pinned, or a text of the author's own.
    """
    if source_of(journal, path) == "pinned":
        raise UsageError(f"{path} is pinned. Say `fabula text unpin {path}` first.")
    reached = _reached(journal)
    if reached is not None and path not in reached and is_own(journal, path, journal.artefacts.places()[path]):
        raise UsageError(f"{path} is a text of your own, which nobody else writes. Change its file, or delete it.")


def _reached(journal: Journal) -> Collection[str] | None:
    """The artefacts that the last run made use of that came to its end; `None` where none did."""
    found: Collection[str] | None = (journal.last_settings(REACHED) or {}).get(REACHED)
    return found


def _check_written_by_a_role(journal: Journal, path: str, note: str) -> None:
    """Raise a `UsageError` if nobody is asked for the artefact, or nobody who could follow a note."""
    file = journal.artefacts.places()[path]
    if path == _REFUSED:
        raise UsageError(
            f"{file} is your own list of edits that are not made, so nobody writes it anew. "
            "`fabula text edits --accept ID` takes an edit off it."
        )
    if note and file.endswith((f".{RECORD}", f".{TABLE}")):
        raise UsageError(f"{file} is no text that a role could revise, so a note says nothing to it. Leave --note out.")


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What the last command decided, taken back.

    Attributes:
        done: its decisions.
        before: what the command before it decided, if anything.
        titles: of artefacts, by path.
    """

    done: Done
    before: Done | None
    titles: Mapping[str, str]


def take_back(project: Project) -> TakenBack:
    """Take back what the last command decided.

    Raises:
        UsageError: nothing was decided.
    """
    with project.recorded() as journal:
        done = journal.decisions.last_done()
        if done is None:
            raise UsageError("There is no decision to take back. `fabula text history ARTEFACT` lists earlier texts.")
        with journal.transaction():
            for decision in reversed(done.decisions):
                journal.decisions.add(decision.path, "undo", target=decision.id)
            for decision in reversed(done.decisions):
                if decision.kind in _OF_TEXTS:
                    _restore(journal, decision)
        project.write_newest(journal, [decision.path for decision in done.decisions])
        return TakenBack(done, journal.decisions.last_done(), Titles.in_(journal).every)


def take_again(project: Project) -> tuple[Done, Mapping[str, str]]:
    """Decide again what was taken back last; it, and the files of artefacts.

    Raises:
        UsageError: nothing was, or something else was decided since.
    """
    with project.recorded() as journal:
        undone = journal.decisions.last_undone()
        if undone is None:
            raise UsageError(
                "There is nothing to decide again: `fabula redo` comes after `fabula undo`, before any other decision."
            )
        with journal.transaction():
            for one in undone.decisions:
                journal.decisions.add(one.path, one.kind, one.text, one.target, found=undone.found, again=one.id)
            for decision in undone.decisions:
                if decision.kind in _OF_TEXTS:
                    _hold(journal, decision.path)
        project.write_newest(journal, [decision.path for decision in undone.decisions])
        return undone, Titles.in_(journal).every


def wording_of(done: Done, titles: Mapping[str, str]) -> str:
    """What a command decided, in words; texts by their titles, a change of the whole story by what was changed."""
    if done.found:
        named = [titles.get(one.path, f"the story ({one.path})") for one in done.decisions if one.kind != "pin"]
        return f"your changes in {_some(named)}" if len(named) > 1 else f"your change of {named[0]}"
    kinds: dict[str, list[str]] = {}
    for one in done.decisions:
        kinds.setdefault(one.kind, []).append(titles.get(one.path, one.path))
    if {"retake", "revise"} & set(kinds):
        kinds.pop("unedit", None)  # it makes room for the other text
    whole = [_SEVERAL[kind] for kind in kinds if kind in _SEVERAL]
    told = {kind: paths for kind, paths in kinds.items() if kind not in _SEVERAL and _PART_OF.get(kind) not in kinds}
    return " and ".join([*whole, *(_decided(kind, paths) for kind, paths in told.items())])


def _decided(kind: str, paths: list[str]) -> str:
    """One kind of decision about texts, in words."""
    if kind == "edit" and paths == [_KNOWN_REFUSED]:
        return "what you refused of the final reading"
    return f"{_NOUNS.get(kind, kind)} of {_some(paths)}"


def _some(names: list[str]) -> str:
    """Names in words; of many the first ones and their number."""
    if len(names) <= _SHOWN + 1:
        return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"


def done_data(done: Done) -> dict[str, object]:
    """What a command decided, as JSON data."""
    last = done.decisions[-1]
    artefacts = [one.path for one in done.decisions if one.kind not in _SEVERAL]
    return {"artefact": last.path, "kind": last.kind, "at": last.at, "artefacts": artefacts, "in_files": done.found}


def _restore(journal: Journal, undone: Decision) -> None:
    """Give the artefact the text that holds without the decision."""
    if undone.kind != "continue":
        _hold(journal, undone.path)
    elif undone.text:  # it was recorded with the text that it was to go on from
        source = source_of(journal, undone.path)
        journal.artefacts.keep(undone.path, undone.text, source if source in ("edited", "rewritten") else "made")


def _hold(journal: Journal, path: str) -> None:
    """Give the artefact the text that the decisions which stand about it want."""
    text, source = journal.decisions.override(path) or ("", "made")
    made = [version.text for version in journal.artefacts.versions(path) if version.made]
    if source == "continued":
        text, source = next((more for more in reversed(made) if more.startswith(text)), text), "made"
    elif source == "made":
        text = made[-1] if made else ""
    if text:
        journal.artefacts.keep(path, text, source)


def source_of(journal: Journal, path: str) -> str:
    """Why a text stands in for the artefact's own; empty if none does."""
    override = journal.decisions.override(path)
    return "" if override is None else override[1]
