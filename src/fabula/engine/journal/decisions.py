"""A person's decisions about texts: nothing is overwritten, and taking a decision back is a decision too.

To add a kind of decision, add its name to `DecisionKind`. Its effect on a text is in `fabula.engine.making`, and its
wording in `fabula.app.deciding`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.base.characters import readable
from fabula.engine.journal.store import digest_of, storing

if TYPE_CHECKING:
    from fabula.engine.journal.store import JournalStore

DecisionKind: TypeAlias = Literal[
    "edit", "unedit", "pin", "unpin", "retake", "revise", "rewrite", "fit", "continue", "approve", "undo", "pin-all",
    "fit-all", "import", "snapshot", "refuse",
]  # fmt: skip
_EDITS: Final = {"edit": "edited", "continue": "continued", "rewrite": "rewritten", "unedit": ""}
_PINS: Final = {"pin": "pinned", "unpin": ""}
_WITHOUT_TEXT: Final = ("approve", "pin-all", "fit-all", "import", "snapshot", "refuse")  # they change no text
_DECISIONS: Final = (
    "SELECT d.id, d.path, d.kind, t.body, d.at, d.target, d.version FROM {} d LEFT JOIN text t ON t.hash = d.text"
)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about an artefact.

    `target` is the last call that was recorded before a "fit", or the last run before a "fit-all". For a "continue" it
    is the approximate number of words that are wanted, and for an "undo" the decision that is taken back. `version` is
    the newest version of any artefact before the decision.
    """

    id: int
    path: str
    kind: DecisionKind
    text: str | None
    at: str
    target: int | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """The decisions of one command, oldest first, or those that it `found` in one file that the person had changed."""

    decisions: tuple[Decision, ...]
    found: int = 0


class Decisions:
    """The decisions of a journal; those under one `command` are taken back together, those without it one by one."""

    def __init__(self, store: JournalStore, command: str) -> None:
        self._store, self._command = store, command

    def add(
        self,
        path: str,
        kind: DecisionKind,
        text: str | None = None,
        target: int | None = None,
        *,
        found: int = 0,
        lasting: bool = False,
        again: int | None = None,
    ) -> None:
        """Record a person's decision about an artefact.

        Args:
            path: the path of the artefact; `*` for all artefacts.
            kind: what was decided.
            text: the text that the decision is about.
            target: the number that the decision is about.
            found: the number of the file, among those that the person changed, in which it was found, so that it is
                taken back separately; 0 if the command itself decided it.
            lasting: whether it belongs to the beginning of the project, like its brief: no command takes it back.
            again: the number of the decision that is made again.
        """
        row = (path, kind, None if text is None else digest_of(text), target, self._store.now())
        of = None if lasting else self._command or None
        insert = (
            "INSERT INTO decision (path, kind, text, target, at, version, command, found, again) "
            "SELECT ?, ?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM version), ?, ?, ?"
        )
        alone = "UPDATE decision SET command = id WHERE id = (SELECT max(id) FROM decision)"
        self._store.write(
            *([] if text is None else [storing(text)]),
            (insert, (*row, of, found, again)),
            *([] if of or lasting else [(alone, ())]),
        )

    def next_found(self) -> int:
        """The number of the next file in which decisions of this command are found."""
        sql = "SELECT coalesce(max(found), 0) + 1 FROM decision WHERE command = ?"
        return int(self._store.all(sql, self._command)[0][0])

    def find(self, path: str = "", *, undone: bool = False) -> list[Decision]:
        """The decisions in force, for all artefacts or for one, oldest first; `undone` includes those taken back."""
        where = "WHERE d.path = ? ORDER BY d.id" if path else "ORDER BY d.id"
        sql = f"{_DECISIONS.format('decision' if undone else 'active_decision')} {where}"
        return [Decision(*row) for row in self._store.all(sql, *([path] if path else []))]

    def override(self, path: str) -> tuple[str, str] | None:
        """The text that replaces an artefact and the reason, or `None`.

        "pinned" wins over "edited" and "rewritten"; "continued" means that a person wants more text after it.
        """
        return self.overrides(path).get(path)

    def overrides(self, path: str = "") -> dict[str, tuple[str, str]]:
        """The results of `override` that are not `None`, for all artefacts or for one, by path."""
        found: dict[str, tuple[str, str]] = {}
        if not self._store.all("SELECT 1 FROM decision LIMIT 1"):  # as in most runs of an experiment
            return found
        for sources in (_EDITS, _PINS):
            rows = self._store.all(
                "SELECT d.path, d.kind, t.body FROM active_decision d "  # noqa: S608 - our own words
                "LEFT JOIN text t ON t.hash = d.text WHERE d.id "
                "IN (SELECT max(id) FROM active_decision WHERE kind IN (SELECT value FROM json_each(?)) "
                f"{'AND path = ?' if path else ''} GROUP BY path)",
                json.dumps([*sources]),
                *([path] if path else []),
            )
            found |= {of: (readable(str(text)), sources[kind]) for of, kind, text in rows if sources[kind]}
        return found

    def approved(self, path: str, text: str) -> bool:
        """Whether a person approved exactly this text of an artefact."""
        return self._said("approve", path, text)

    def refused(self, path: str, text: str) -> bool:
        """Whether a person refused exactly this text that was proposed for an artefact."""
        return self._said("refuse", path, text)

    def _said(self, kind: DecisionKind, path: str, text: str) -> bool:
        sql = "SELECT 1 FROM active_decision WHERE kind = ? AND path = ? AND text = ?"
        return bool(self._store.all(sql, kind, path, digest_of(text)))

    def digests(self, path: str = "") -> dict[str, str]:
        """Digests of the decisions in force about all artefacts or one, without approvals, which change no text."""
        rows = self._store.all(
            "SELECT path, kind, text, target FROM active_decision WHERE ? IN ('', path) ORDER BY path, id", path
        )
        found: dict[str, list[object]] = {}
        for of, kind, text, words in rows:
            if kind not in _WITHOUT_TEXT:
                found.setdefault(of, []).append([kind, text, *([words] if kind == "continue" and words else [])])
        return {of: digest_of(json.dumps(decisions)) for of, decisions in found.items()}

    # taken back, and decided again ----------------------------------------------------------------------------------

    def last_done(self) -> Done | None:
        """What one `undo` takes back: all decisions in force of the last command that decided anything."""
        standing = {decision.id: decision for decision in self.find()}
        rows = self._store.all("SELECT id, command, found FROM decision WHERE command IS NOT NULL ORDER BY id")
        last = next(((command, found) for number, command, found in reversed(rows) if number in standing), None)
        if last is None:
            return None
        return Done(tuple(standing[n] for n, *of in rows if tuple(of) == last and n in standing), last[1])

    def last_undone(self) -> Done | None:
        """What one `redo` decides again: the last command that was taken back, if nothing has been decided since."""
        rows = self._store.all(
            "SELECT id, kind, target, command, found, again FROM decision WHERE command IS NOT NULL ORDER BY id"
        )
        command_of = {number: (command, found) for number, _, _, command, found, _ in rows}
        undone: list[list[int]] = []
        for (command, found), group in groupby(rows, key=lambda row: (row[3], row[4])):
            steps = list(group)
            targets = [target for _, kind, target, *_ in steps if kind == "undo"]
            if targets and all(command_of.get(target) != (command, found) for target in targets):
                undone.append(targets)
            elif any(again is not None for *_, again in steps):
                del undone[-1:]
            elif not targets:
                undone.clear()
        if not undone:
            return None
        taken = (one for one in self.find(undone=True) if one.id in undone[-1])
        return Done(tuple(taken), command_of[undone[-1][0]][1])
