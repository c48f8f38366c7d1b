"""`findings`, `dismiss`, `count_again`: where the story contradicts itself, and what of it is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeAlias

from pydantic import Field

from fabula.app import findings as found_in
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import LONG, verb

if TYPE_CHECKING:
    from fabula.app.findings import Finding, Place

FindingName: TypeAlias = Annotated[
    str, Field(max_length=100, description="The finding, by its key.", examples=["dcf5212a-ae60"])
]


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """One of the two places of a finding.

    Attributes:
        side: "x" for the earlier, "y" for the later one.
        sentence: as it stood when the story was checked.
        where: it stood then, in words: chapter, paragraph, line of the file.
        artefact: the text in which it stands now; empty where it was changed since.
        now: the sentence as it stands there.
    """

    side: Literal["x", "y"]
    scene: int
    paragraph: int
    sentence: str
    says: str
    where: str
    artefact: str
    now: str

    @classmethod
    def of(cls, one: Place) -> Self:
        """The same, for who is not in this process."""
        now = (one.now.part.name, one.now.sentence) if one.now else ("", "")
        return cls(one.side, one.scene, one.paragraph, one.sentence, one.says, one.where, *now)


@dataclass(frozen=True, slots=True)
class FindingView:
    """A contradiction; `dismissed` says why it is none, `stale` that a sentence of it was changed since."""

    key: str
    head: str
    kind: str
    sure: str
    why: str
    dismissed: str
    stale: bool
    places: list[FindingPlace]

    @classmethod
    def of(cls, one: Finding) -> Self:
        """The same, for who is not in this process."""
        places = [FindingPlace.of(place) for place in one.places]
        return cls(one.key, one.head, one.kind, one.sure, one.why, one.dismissed, one.stale, places)


@dataclass(frozen=True, slots=True)
class FindingList:
    """What the last check found, and what was `undecided`, without a verdict; `partial` where it was not complete."""

    checked: bool
    findings: list[FindingView]
    undecided: list[FindingView]
    notes: list[str]
    partial: bool


@verb("GET", "/findings", "story")
async def findings(project: Workspace) -> FindingList:
    """Where the story contradicts itself, as the last check found, beside the story as it is now.

    Both sentences of each finding are named, and why it was dismissed, where it was.

    Raises:
        UsageError: the report or the list of dismissals cannot be read.
    """
    found = project.last_check()
    shown, undecided = ([FindingView.of(one) for one in ones] for ones in (found.findings, found.undecided))
    return FindingList(found.checked, shown, undecided, list(found.notes), found.partial)


@verb("PUT", "/findings/{finding}/dismissal", "story")
async def dismiss(
    project: Workspace,
    finding: FindingName,
    reason: Annotated[
        str,
        Field(min_length=1, max_length=LONG, description="Why it is none.", examples=["He had two of them."]),
    ],
) -> FindingList:
    """Say why a finding is none; it counts no more.

    Raises:
        UsageError: there is no reason, or the story was not checked.
        UnknownNameError: there is no such finding.
    """
    with project.locked() as texts:
        found_in.dismiss_finding(texts.folder, finding, reason)
    return await findings(project)


@verb("DELETE", "/findings/{finding}/dismissal", "story")
async def count_again(project: Workspace, finding: FindingName) -> FindingList:
    """Count a finding again that was dismissed.

    Raises:
        UnknownNameError: it was not.
    """
    with project.locked() as texts:
        found_in.count_again(texts.folder, finding)
    return await findings(project)
