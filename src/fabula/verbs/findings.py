"""`findings`, `dismiss`, `count_again`: contradictions in the story, and which findings are dismissed."""

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
    """Return the contradictions that the last check found, matched against the current story.

    Each finding contains both sentences and, if it was dismissed, the reason.

    Raises:
        UsageError: the report or the dismissals cannot be read.
    """
    return project.last_check()


@verb("PUT", "/findings/{finding}/dismissal", "story")
async def dismiss(
    project: Workspace,
    finding: FindingName,
    reason: Annotated[
        str,
        Field(min_length=1, max_length=LONG, description="Why this is not an error.", examples=["He had two of them."]),
    ],
) -> ProjectFindings:
    """Dismiss a finding with a reason, so that it no longer counts.

    Raises:
        UsageError: the reason is missing, or the story was not checked.
        UnknownNameError: the finding does not exist.
    """
    with project.locked() as texts:
        found_in.dismiss_finding(texts.folder, finding, reason)
    return await findings(project)


@verb("DELETE", "/findings/{finding}/dismissal", "story")
async def count_again(project: Workspace, finding: FindingName) -> ProjectFindings:
    """Count a dismissed finding again.

    Raises:
        UnknownNameError: the finding is not dismissed.
    """
    with project.locked() as texts:
        found_in.count_again(texts.folder, finding)
    return await findings(project)
