"""The state of a project: its texts with their states and lengths, and what differs from what the author asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.craft import SO_FAR
from fabula.craft.length import WordRange, asked_range, parse_range
from fabula.craft.numbers import LARGEST
from fabula.engine.events import RECORD
from fabula.engine.making import DRAFTS, notes_among
from fabula.engine.methods import values_of
from fabula.engine.run import continuation_of
from fabula.models.known import STRENGTHS, strength_of
from fabula.project.folder import NOTES
from fabula.project.telling import runs_of_chats
from fabula.story import count_words
from fabula.systems import system_of, systems

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fabula.engine.dry_run import DryRun
    from fabula.engine.journal import Decision, Journal
    from fabula.models.known import Strength
    from fabula.project.folder import FileChange
    from fabula.project.settings import Settings
    from fabula.story import Brief
    from fabula.systems import System

TOO_SHORT, TOO_LONG = "too short", "too long"
UNUSED = "not used any more"
COMES_BACK = "an earlier text comes back"
CHANGED = "edited, not applied yet"
WAITS = "waits for your approval"


@dataclass(frozen=True, slots=True)
class TextStatus:
    """An artefact in its current state: its words, the requested range of words, if any, and its states."""

    path: str
    file: str
    words: int
    asked: tuple[int, int] | None
    versions: int
    states: tuple[str, ...]


def texts(journal: Journal, changes: Collection[FileChange] = (), coming: DryRun | None = None) -> list[TextStatus]:
    """The artefacts that a person may want to read, in the order of files, and what a `coming` run does to them."""
    lengths, waits = lengths_asked(journal), waiting(journal)
    decided: dict[str, list[Decision]] = {}
    for (
        one
    ) in journal.decisions.find():  # all at once: to ask for those about each text goes over all of them each time
        decided.setdefault(one.path, []).append(one)
    overrides, newest = journal.decisions.overrides(), journal.artefacts.newest_versions()
    changed, ahead = {change.path for change in changes}, _Ahead.of(journal, coming)
    found = []
    for path, file in journal.artefacts.places().items():
        if file.endswith(f".{RECORD}"):
            continue
        version = newest.get(path)
        text, number = (version.text, version.number) if version is not None else ("", 0)
        states = _decided(decided[path], overrides.get(path), text) if path in decided else []
        if states[:1] == ["edited"] and version is not None and version.source == "imported":
            states[0] = "imported"
        states += _coming(journal, path, file, ahead, decided.get(path, ()))
        if path in changed:
            states = [CHANGED]
        elif path == waits and not {"edited", "imported", "pinned", "approved"} & set(states):
            states.append(WAITS)
        asked = lengths.get(path) if file.startswith("story/") else None
        words = count_words(text)
        if not {"edited", "imported", "pinned", CHANGED} & set(states):
            states += _length_missed(words, asked)
        found.append(TextStatus(path, file, words, asked, number, tuple(states)))
    return found


def _length_missed(words: int, asked: tuple[int, int] | None) -> list[str]:
    """Whether a text is shorter or longer than the requested range."""
    if asked is None or WordRange(*asked, asked[0], exact=True).accepts(words):
        return []
    return [TOO_SHORT if words < asked[0] else TOO_LONG]


def _decided(decisions: Sequence[Decision], override: tuple[str, str] | None, newest: str) -> list[str]:
    """The decisions about an artefact that still apply."""
    found = []
    if override is not None:
        text, source = override
        found.append("to be continued" if source == "continued" and text == newest else source)
    elif any(one.kind == "approve" and one.text == newest for one in decisions):
        found.append("approved")
    if notes := notes_among(decisions, decisions[0].path, override):
        found.append(f"{len(notes)} {'note' if len(notes) == 1 else 'notes'}: {notes[-1]}")
    return found


@dataclass(frozen=True, slots=True)
class _Ahead:
    """What a coming run does to texts: which it rewrites, brings back or reaches, and which belong to conversations."""

    stale: frozenset[str]
    restored: frozenset[str]
    reached: Collection[str]
    guessed: bool
    chats: frozenset[int]

    @classmethod
    def of(cls, journal: Journal, coming: DryRun | None) -> _Ahead | None:
        """The state, from the results of a dry run."""
        if coming is None:
            return None
        restored = frozenset(coming.restored)
        return cls(frozenset(coming.stale), restored, coming.reached, coming.guessed, runs_of_chats(journal))


def _coming(journal: Journal, path: str, file: str, coming: _Ahead | None, decisions: Sequence[Decision]) -> list[str]:
    """Whether a coming run rewrites an artefact or no longer uses it."""
    if coming is None:
        return []
    if path in coming.stale:
        newest = journal.artefacts.versions(path)[-1:]
        retaken = any(one.kind == "retake" and one.version >= version.id for version in newest for one in decisions)
        return ["retaken, not written yet" if retaken else "stale"]
    if path in coming.restored:
        return [COMES_BACK]
    if path not in coming.reached and not coming.guessed:
        versions = journal.artefacts.versions(path)
        if not any(version.run in coming.chats for version in versions):
            made = any(version.made for version in versions)
            own = not made and file.startswith(("story/", f"{NOTES}/"))
            return ["your own" if own else UNUSED]
    return []


def lengths_asked(journal: Journal) -> dict[str, tuple[int, int]]:
    """The length last requested for each part, by path; for a part written in several pieces, their sum.

    For a continuation, which was requested alone, the words before it are added; none if it was undone.
    """
    found: dict[str, tuple[int, int]] = {}
    artefacts = set(journal.artefacts.paths())
    begun = {
        (one.path, continuation_of(one.text)): count_words(one.text)
        for one in journal.decisions.find()
        if one.kind == "continue" and one.text
    }
    for run in journal.runs():
        sums: dict[str, tuple[int, int]] = {}
        for at, (low, high) in run["settings"].get("lengths", {}).items():
            path, more, follows = at.removeprefix(f"{DRAFTS}/").partition("/more/")
            there = begun.get((path, follows.partition("/")[0]))
            if more and there is None:
                continue
            while path and path not in artefacts:
                path = path.rpartition("/")[0]
            before = sums.get(path, (there or 0, there or 0))
            sums[path] = (before[0] + low, before[1] + high)
        found |= sums
    return found


def waiting(journal: Journal) -> str:
    """The place at which the last run waits for a person; empty if it does not wait, or a person has decided."""
    runs = journal.runs()
    path = str(runs[-1]["settings"].get("waits", "")) if runs else ""
    text = journal.artefacts.newest(path)
    decided = text is not None and (
        journal.decisions.override(path) is not None or journal.decisions.approved(path, text)
    )
    return "" if decided else path


def _overdue(journal: Journal) -> list[str]:
    """What a book has left open longer than it was to be, in a sentence; nothing if it keeps no notes."""
    files = {path: file for path, file in journal.artefacts.places().items() if file.startswith(f"{SO_FAR}/")}
    if not files:
        return []
    from fabula.craft.so_far import read_so_far  # noqa: PLC0415 - few stories are so long

    states = ((read_so_far(journal.artefacts.newest(path) or ""), file) for path, file in files.items())
    state, file = max(states, key=lambda one: one[0].chapter)
    late = state.overdue(state.chapter + 1)
    if not late:
        return []
    return [f"Threads that are overdue after chapter {state.chapter}: {len(late)}, first “{late[0].line}”. See {file}."]


def words_asked(brief: Brief, settings: Settings) -> WordRange | None:
    """The requested length of the whole story in words, from its settings or its brief."""
    return asked_range(brief, _words_set(settings))


def check_words(settings: Settings) -> None:
    """Check the settings of the system, including the length.

    Raises:
        FabulaError: a setting is unknown or not valid.
    """
    if words := _words_set(settings):
        parse_range(words)


def _words_set(settings: Settings) -> str:
    config = system_of(settings).config(settings.preset, settings.config)
    named = values_of(config)
    return str(named.get("words") or "")


def not_obeyed(expected: DryRun, brief: Brief, settings: Settings) -> list[str]:
    """What the author asks for but a run that begins now would not do, in sentences."""
    found = list(expected.shortfalls)
    from fabula.craft import wording  # noqa: PLC0415 - 0.02 s, which is no matter before a story

    said = "" if _words_set(settings) else wording.lengths_asked(brief.text).impossible
    if said:
        found.append(f"The brief's {said!r} is not a possible length, so it is ignored: use 1 to {LARGEST:,} words.")
    return found


def too_weak(expected: DryRun, settings: Settings) -> list[str]:
    """A sentence if a run that begins now uses a model known to be weaker than its system needs; otherwise nothing.

    The sentence gives the reason and names alternatives for such a model. Once a project has begun, nothing is
    returned, because its author has already read it.
    """
    system, names = system_of(settings), {call.performer.partition("@")[0] for call in expected.planned}
    known = {name: strength for name in names if (strength := strength_of(name.partition(":")[2])) is not None}
    weaker = [name for name, strength in known.items() if _rank(strength) < _rank(system.strength)]
    if expected.replayed or not weaker:
        return []
    name = min(weaker, key=lambda one: (_rank(known[one]), one))
    able = [f"`--system {other.name}`" for other in systems().values() if _writes_with(other, known[name])]
    wanted = f"{system.name} needs at least a {system.strength} model, and {name} is a {known[name]} model."
    return [f"{wanted} {system.worth} Systems for this model: {', '.join(able)}."]


def _rank(strength: Strength) -> int:
    return STRENGTHS.index(strength)


def _writes_with(system: System, strength: Strength) -> bool:
    """Whether a system writes stories and is worth using with models of a given strength."""
    return not system.paper.get("chat") and _rank(system.strength) <= _rank(strength)


def shortfalls(
    journal: Journal, brief: Brief, settings: Settings, words: int, rows: Sequence[TextStatus] | None = None
) -> list[str]:
    """What the author asked for and did not get, in sentences: for a story of `words` words, and for its parts.

    `rows` are its `texts`, if they are known.
    """
    runs, asked = journal.runs(), words_asked(brief, settings)
    found = list(runs[-1]["settings"].get("shortfalls", [])) if runs else []
    if words and asked is not None and not asked.accepts(words):
        found.append(f"The story has {words:,} words; {asked.low:,} to {asked.high:,} were requested.")
    found += _overdue(journal)
    rows = texts(journal) if rows is None else rows
    if missed := sum(bool({TOO_SHORT, TOO_LONG} & set(text.states)) for text in rows):
        found.append(f"Parts shorter or longer than requested: {missed}. `fabula status` marks these parts.")
    return found
