"""`findings`, `dismiss`, `count_again`: where the story contradicts itself, and what of it is none."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from fabula.app import findings as found_in
from fabula.app.findings import ProjectFindings  # noqa: TC001 - doors read it
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.verbs.base import LONG, verb

FindingName: TypeAlias = Annotated[
    str, Field(max_length=100, description="The finding, by its key.", examples=["dcf5212a-ae60"])
]


@verb("GET", "/findings", "story")
async def findings(project: Workspace) -> ProjectFindings:
    """Where the story contradicts itself, as the last check found, beside the story as it is now.

    Both sentences of each finding are named, and why it was dismissed, where it was.

    Raises:
        UsageError: the report or the list of dismissals cannot be read.
    """
    return project.last_check()


@verb("PUT", "/findings/{finding}/dismissal", "story")
async def dismiss(
    project: Workspace,
    finding: FindingName,
    reason: Annotated[
        str,
        Field(min_length=1, max_length=LONG, description="Why it is none.", examples=["He had two of them."]),
    ],
) -> ProjectFindings:
    """Say why a finding is none; it counts no more.

    Raises:
        UsageError: there is no reason, or the story was not checked.
        UnknownNameError: there is no such finding.
    """
    with project.locked() as texts:
        found_in.dismiss_finding(texts.folder, finding, reason)
    return await findings(project)


@verb("DELETE", "/findings/{finding}/dismissal", "story")
async def count_again(project: Workspace, finding: FindingName) -> ProjectFindings:
    """Count a finding again that was dismissed.

    Raises:
        UnknownNameError: it was not.
    """
    with project.locked() as texts:
        found_in.count_again(texts.folder, finding)
    return await findings(project)
