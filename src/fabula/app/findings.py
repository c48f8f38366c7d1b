"""The findings of a project's last check next to the current story: both sentences, and what can be done about them.

A person's decisions are written where the command line writes them: a dismissal in the same way as by `fabula check
--dismiss`, a corrected sentence as an edit of its text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from fabula.app.checking import (
    CODEX,
    OUT,
    Checked,
    dismiss,
    reading_report,
    reasons_in,
    stored_check,
    take_dismissal_back,
)
from fabula.app.facts_shown import Quoted, StoryPart, sentence_at, story_parts
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import is_plain
from fabula.base.html import Html, joined, paragraph, quotation
from fabula.continuity import scenes_of, split
from fabula.craft.quoting import places
from fabula.evaluators.atlas.page import all_findings, headline, place_of
from fabula.project.folder import STORY
from fabula.story import one_line, plain
from fabula.story.codex import FILE as CODEX_FILE
from fabula.story.codex import codex_in
from fabula.story.story import Scene, Story

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fabula.project.folder import ProjectFolder

Side = Literal["x", "y"]
SIDES: tuple[Side, ...] = ("x", "y")


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """One of the two places of a finding.

    Attributes:
        side: "x" for the earlier place, "y" for the later one.
        sentence: the sentence as it was when the story was checked.
        says: the sentence's statement, as a clause.
        where: its place at that time, in words: chapter, paragraph, line of the file.
        artefact: the text that contains it now, or `plan/codex.yaml`; empty if the sentence has changed since.
        now: the sentence in its current form.
        was_in: the part of the story that has the scene's number now; empty if there is none.
        quoted: the sentence's current place; `None` if the sentence has changed since.
    """

    side: Side
    scene: int
    paragraph: int
    sentence: str
    says: str
    where: str
    artefact: str
    now: str
    was_in: Annotated[str, Field(exclude=True)] = ""
    quoted: Annotated[Quoted | None, Field(exclude=True)] = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A contradiction that the last check found.

    Attributes:
        kind: what differs: "possession", "date" and the like.
        sure: how sure the verifier is; empty if it did not say.
        dismissed: a person's reason for dismissing the finding; empty if it is not dismissed.
        stale: whether one of the two sentences has changed since the check.
    """

    key: str
    head: str
    kind: str
    sure: str
    why: str
    dismissed: str
    stale: bool
    places: tuple[FindingPlace, FindingPlace]

    def touches(self, name: str) -> bool:
        """Whether one of its sentences is in a part of the story, or was there during the check."""
        return any((place.artefact if place.quoted else place.was_in) == name for place in self.places)

    def place(self, side: str) -> FindingPlace:
        """One of the finding's places.

        Raises:
            UsageError: `side` is neither "x" nor "y".
        """
        for place in self.places:
            if place.side == side:
                return place
        raise UsageError(f"A finding has two places, x and y, but {side[:20]!r} is neither. Use x or y.")


@dataclass(frozen=True)
class ProjectFindings:
    """What the last check of a project found.

    Attributes:
        checked: whether the project has been checked.
        notes: the check's own notes: what was not read, and which verdicts are unreliable.
        partial: whether the check was incomplete.
        undecided: suspected contradictions without a verdict.
    """

    checked: bool
    findings: tuple[Finding, ...] = ()
    undecided: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    partial: bool = False

    @property
    def left(self) -> tuple[Finding, ...]:
        """The findings that are neither dismissed nor settled."""
        return tuple(one for one in self.findings if not (one.dismissed or one.stale))

    @property
    def settled(self) -> tuple[Finding, ...]:
        """The findings that the story no longer contains, since one of the two sentences has changed."""
        return tuple(one for one in self.findings if one.stale and not one.dismissed)

    def _repr_html_(self) -> Html:
        shown = [
            part
            for one in self.left
            for part in (paragraph(f"{one.head}: {one.why}"), *(quotation(place.sentence) for place in one.places))
        ]
        dismissed = sum(bool(one.dismissed) for one in self.findings)
        settled = f", {len(self.settled)} settled" if self.settled else ""
        said = f"{len(self.findings)} found, {dismissed} dismissed{settled}."
        return joined(paragraph(said if self.checked else "Nothing has been checked yet.", faint=True), *shown)

    def of(self, name: str) -> ProjectFindings:
        """The findings with a place in a part of the story; for `story.md`, all findings."""
        if name == STORY:
            return self
        near = (tuple(one for one in of if one.touches(name)) for of in (self.findings, self.undecided))
        return replace(self, findings=next(near), undecided=next(near))

    def find(self, key: str) -> Finding:
        """The finding with that key.

        Raises:
            UnknownNameError: there is no finding with that key.
        """
        for one in self.findings:
            if one.key == key:
                return one
        raise UnknownNameError("finding", key, [one.key for one in self.findings])


def findings_of(project: ProjectFolder) -> ProjectFindings:
    """The findings of a project's last check, with each place located in the current story.

    Raises:
        UsageError: the report or the dismissals cannot be read.
    """
    folder = project.folder / OUT
    if not is_plain(folder / "atlas.json"):
        return ProjectFindings(checked=False)
    report, parts = stored_check(folder), story_parts(project)
    stories = report["details"]["stories"]
    ranges = _Now(parts, _ranges(parts), codex_in(project.folder).statements)
    with reading_report(folder):
        dismissed = reasons_in(folder, report)
        found = tuple(_finding(one, ranges, dismissed) for story in stories for one in all_findings(story))
        listed = (data for story in stories for data in story.get("undecided", ()) if "key" in data)
        undecided = tuple(one for one in (_finding(data, ranges, {}) for data in listed) if not one.stale)
        notes = tuple(str(note) for note in report.get("notes", ()))
        partial = any(story.get("partial") for story in stories)
    return ProjectFindings(checked=True, findings=found, notes=notes, partial=partial, undecided=undecided)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A scene numbered as in a check, and the position in its part where it begins."""

    part: StoryPart
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class _Now:
    """The current story, with its scenes numbered as in a check, and what the author's codex says."""

    parts: Sequence[StoryPart]
    ranges: Mapping[int, _Numbered]
    codex: str


def _ranges(parts: Sequence[StoryPart]) -> dict[int, _Numbered]:
    """The scenes numbered as in a check: the story's parts or, in a story with one part, its scenes."""
    told = [part for part in parts if part.text.strip()]
    if len(told) != 1:
        return {number: _Numbered(part, 0, part.text) for number, part in enumerate(told, 1)}
    only = told[0]
    scenes = scenes_of(Story("", (Scene(only.label, only.text),))) if only.text.strip() else split("-")
    return {scene.number: _Numbered(only, scene.start or 0, scene.text) for scene in scenes.scenes}


def _finding(one: Mapping[str, Any], now: _Now, dismissed: Mapping[str, str]) -> Finding:
    places = _place(one, "x", now), _place(one, "y", now)
    told = dict.fromkeys(str(one[name]).replace("_", " ") for name in ("category", "attribute") if one[name])
    return Finding(
        str(one["key"]),
        one_line(headline(one)),
        ", ".join(told),
        str(one.get("sure") or ""),
        str(one["reason"]),
        dismissed.get(one["key"], ""),
        any(place.quoted is None and not place.artefact for place in places),
        places,
    )


def _place(one: Mapping[str, Any], side: Side, now: _Now) -> FindingPlace:
    passage, says = one[f"passage_{side}"], one["fact" if side == "x" else "event"]
    sentence, (low, high) = str(passage["text"]), passage["focus"]
    set_down = one.get(f"title_{side}") == CODEX
    focus, scene = (int(low), int(high)), int(passage["scene"])
    quoted = None if set_down else _quoted(sentence, scene, int(passage["start"]), focus, now)
    own = None if set_down else now.ranges.get(scene)
    is_there = set_down and bool(sentence.strip()) and sentence in now.codex
    return FindingPlace(
        side=side,
        scene=scene,
        paragraph=int(one.get(f"paragraph_{side}") or 0),
        sentence=sentence,
        says=str(says),
        where=place_of(one, side),
        artefact=quoted.part.name if quoted else CODEX_FILE if is_there else "",
        now=quoted.sentence if quoted else sentence if is_there else "",
        was_in=own.part.name if own else "",
        quoted=quoted,
    )


def _quoted(sentence: str, scene: int, start: int, focus: tuple[int, int], now: _Now) -> Quoted | None:
    """The current place of a sentence: nearest in its own part, or else in the only other part that contains it."""
    if not sentence.strip():
        return None
    own = now.ranges.get(scene)
    own_places = places(own.part.text, sentence) if own else []
    if own and own_places:
        at = min(own_places, key=lambda place: abs(place - own.start - start))
        return sentence_at(own.part, at + focus[0], at + max(focus[1], focus[0] + 1))
    found = [(part, at) for part in now.parts for at in places(part.text, sentence)]
    if len(found) != 1:
        return None
    part, at = found[0]
    return sentence_at(part, at + focus[0], at + max(focus[1], focus[0] + 1))


@dataclass(frozen=True, slots=True)
class Mended:
    """A part of the story with one rewritten sentence: the text to save, and the text that it replaces."""

    name: str
    old: str
    new: str


def mended(found: ProjectFindings, key: str, side: str, wording: str) -> Mended:
    """The text with one place of a finding, in which that sentence is rewritten.

    Raises:
        UnknownNameError: there is no such finding.
        UsageError: the sentence has changed since the check, or the new wording is empty or the same.
    """
    place = found.find(key).place(side)
    if place.artefact == CODEX_FILE:
        raise UsageError(
            f"This sentence is from your codex. Change its entry with `fabula codex set`, or {CODEX_FILE}."
        )
    if place.quoted is None:
        raise UsageError(
            "This sentence is no longer in the story, so there is nothing to correct here. Check the story "
            "again, or change the text on the Edit page."
        )
    wording = plain(wording).strip()
    if not wording:
        raise UsageError("The new wording is empty. Write the corrected sentence.")
    if wording == place.quoted.sentence.strip():
        raise UsageError("The new wording is the same as the old wording. Change it, or mark the finding as intended.")
    part = place.quoted.part
    if not part.name:
        raise UsageError("This story exists only in story.md. Change the sentence in that file.")
    return Mended(part.name, part.text, part.text[: place.quoted.start] + wording + part.text[place.quoted.end :])


def dismiss_finding(folder: Path, key: str, reason: str) -> None:
    """Write the reason for dismissing a finding, as `fabula check --dismiss` does; `folder` is the project's.

    Raises:
        UsageError: the reason is missing, or nothing has been checked yet.
        UnknownNameError: there is no such finding.
    """
    report = stored_check(folder / OUT)
    dismiss(folder / OUT, report, {key: reason})
    _write_page(folder, report)


def count_again(folder: Path, key: str) -> None:
    """Count a dismissed finding again; `folder` is the project's.

    Raises:
        UnknownNameError: the finding was not dismissed.
    """
    report = stored_check(folder / OUT)
    take_dismissal_back(folder / OUT, report, key)
    _write_page(folder, report)


def _write_page(folder: Path, report: Mapping[str, Any]) -> None:
    """Write the report's page again, including the dismissals."""
    Checked.in_(folder / OUT, report, ["fabula", "check", str(folder)])
