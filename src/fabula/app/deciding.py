"""What decisions about single texts have in common: new and older versions, reasons for a text, decisions in words.

The verbs themselves are in `fabula.verbs`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from fabula.app.titles import Titles
from fabula.app.writing import Options, check_edit
from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.final_reading import EDITS, REFUSED
from fabula.engine.events import RECORD
from fabula.engine.making import DRAFTS
from fabula.project.folder import BESIDE, REACHED, ProjectFolder
from fabula.project.telling import is_own
from fabula.story import plain

if TYPE_CHECKING:
    from fabula.engine.journal import Decision, Done, Journal


FINAL_EDITS: Final = f"{DRAFTS}/{EDITS}"
"""The changes that the final reading made to the story."""
REFUSED_EDITS: Final = f"{DRAFTS}/{REFUSED}"
"""The edits among them that the author refuses."""
_KNOWN_REFUSED: Final = "What you refused of the final reading"
OF_TEXTS: Final = frozenset({"edit", "rewrite", "unedit", "continue", "pin", "unpin"})
"""Decisions that replace or protect a text."""
_SEVERAL: Final = {"pin-all": "pin --all", "fit-all": "update --revise"}
_PART_OF: Final = {"pin": "pin-all", "fit": "fit-all"}
_SHOWN: Final = 3
_NOUNS: Final = {"revise": "revision", "refuse": "refused card"}


def authored(journal: Journal) -> dict[str, str]:
    """The files of the artefacts that a person may want to read, by path, without the records of a run."""
    return {path: file for path, file in journal.artefacts.places().items() if not file.endswith(f".{RECORD}")}


def newest_of(journal: Journal, path: str) -> str:
    """The newest text of an artefact.

    Raises:
        UsageError: the artefact has no text.
    """
    text = journal.artefacts.newest(path)
    if text is None:
        raise UsageError(f"{path} does not have a text yet. Write it first.")
    return text


# a new text -----------------------------------------------------------------------------------------------------------


async def edit(project: ProjectFolder, journal: Journal, path: str, text: str, options: Options) -> bool:
    """Give an artefact a new text, and return whether it differs from the previous one.

    Raises:
        UsageError: the text is empty or too long.
        PlanError: the text must have a certain form, and no story could be written from it.
    """
    return bool(await edit_all(project, journal, {path: text}, options))


async def edit_all(project: ProjectFolder, journal: Journal, texts: Mapping[str, str], options: Options) -> list[str]:
    """Give artefacts new texts, all or none, and return those whose text differs from the previous one.

    Raises:
        UsageError: a text is empty or too long.
        PlanError: a text must have a certain form, and no story could be written from it.
    """
    new = {path: text for path, text in texts.items() if plain(text) != plain(journal.artefacts.newest(path) or "")}
    for path, text in new.items():
        await check_edit(project, journal, options, path, plain(text))
    project.edit_all(journal, new)
    return [*new]


def version_of(journal: Journal, path: str, number: int) -> str:
    """The text of an artefact's version.

    Raises:
        UnknownNameError: there is no version with that number.
    """
    versions = journal.artefacts.versions(path)
    if not 1 <= number <= len(versions):
        raise UnknownNameError(f"version of {path}", str(number), [str(v.number) for v in versions])
    return versions[number - 1].text


def revert(project: ProjectFolder, journal: Journal, path: str) -> None:
    """Give an artefact back the text that was written for the author.

    Raises:
        UsageError: the artefact already has that text, or no text was ever written for the author.
    """
    override = journal.decisions.override(path)
    if override is None or override[1] not in ("edited", "rewritten"):
        raise UsageError(f"{path} has no edit to undo" + (f": it is {override[1]}." if override else "."))
    made = [version.text for version in journal.artefacts.versions(path) if version.made]
    if not made:
        raise UsageError(f"{path} was never written for you: it is your own text.")
    with journal.transaction():
        journal.decisions.add(path, "unedit")
        journal.artefacts.keep(path, made[-1], "made")
    project.write_newest(journal, [path])


def check_unpinned(journal: Journal, path: str) -> None:
    """Check that an artefact may be written by anyone other than the author.

    Raises:
        UsageError: the artefact is pinned, or is the author's own text.
    """
    if source_of(journal, path) == "pinned":
        raise UsageError(f"{path} is pinned. Run `fabula text unpin {path}` first.")
    there = reached(journal)
    if there is not None and path not in there and is_own(journal, path, journal.artefacts.places()[path]):
        raise UsageError(f"{path} is your own text, and only you can change it. Edit its file, or delete it.")


def reached(journal: Journal) -> Collection[str] | None:
    """The artefacts that the last completed run used; `None` if no run was completed."""
    found: Collection[str] | None = (journal.last_settings(REACHED) or {}).get(REACHED)
    return found


def wording_of(done: Done, titles: Mapping[str, str]) -> str:
    """A command's decisions in words; texts are named by their titles, a change of the whole story by its parts."""
    titles = {name: Titles({})(name) for name in BESIDE} | dict(titles)
    if done.found:
        named = [titles.get(one.path, f"the story ({one.path})") for one in done.decisions if one.kind != "pin"]
        return f"your changes to {_some(named)}" if len(named) > 1 else f"your change to {named[0]}"
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
    """The names in words; if there are many, the first few and the number of the others."""
    if len(names) <= _SHOWN + 1:
        return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"


def restore(journal: Journal, undone: Decision) -> None:
    """Give the artefact the text that it has without the decision."""
    if undone.kind != "continue":
        hold(journal, undone.path)
    elif undone.text:  # it was recorded with the text that it was to go on from
        source = source_of(journal, undone.path)
        journal.artefacts.keep(undone.path, undone.text, source if source in ("edited", "rewritten") else "made")


def hold(journal: Journal, path: str) -> None:
    """Give the artefact the text that the current decisions about it require."""
    text, source = journal.decisions.override(path) or ("", "made")
    made = [version.text for version in journal.artefacts.versions(path) if version.made]
    if source == "continued":
        text, source = next((more for more in reversed(made) if more.startswith(text)), text), "made"
    elif source == "made":
        text = made[-1] if made else ""
    if text:
        journal.artefacts.keep(path, text, source)


def source_of(journal: Journal, path: str) -> str:
    """The reason why a text replaces the artefact's own; empty if none does."""
    override = journal.decisions.override(path)
    return "" if override is None else override[1]
