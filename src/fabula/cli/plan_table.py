"""What a dry run found, as tables and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabula.cli.bill import dollars
from fabula.cli.terminal import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.dry_run import DryRun
    from fabula.project.folder import Change


def calls_table(expected: DryRun) -> str:
    """A row for each call that would be asked, and the sum."""
    rows = [("call", "role", "by", "prompt", "reply", "cost")]
    rows += [(c.path, c.role, c.performer, f"{c.prompt:,}", f"{c.reply:,}", dollars(c.cost)) for c in expected.planned]
    prompt = sum(call.prompt for call in expected.planned)
    reply = sum(call.reply for call in expected.planned)
    rows.append(("all", "", "", f"{prompt:,}", f"{reply:,}", dollars(expected.cost)))
    return table(rows, right=(3, 4, 5))


def changes_list(changes: Sequence[Change]) -> str:
    """A line for each changed file."""
    return "\n".join(
        f"  {change.file}" + (f" ({change.path})" if change.file == "story.md" else "") for change in changes
    )


def planned(expected: DryRun, changes: Sequence[Change] = ()) -> dict[str, Any]:
    """The same as JSON data; token counts are estimates, an unknown cost is null."""
    return {
        "changed": [{"artefact": change.path, "file": change.file} for change in changes],
        "calls": [
            {"path": c.path, "role": c.role, "by": c.performer, "prompt": c.prompt, "reply": c.reply, "cost": c.cost}
            for c in expected.planned
        ],
        "tokens": expected.tokens,
        "cost": expected.cost,
        "replayed": expected.replayed,
    }
