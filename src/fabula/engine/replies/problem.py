"""The error for a reply that cannot be read, and the request to correct the reply."""

from __future__ import annotations


class ReplyProblem(ValueError):  # noqa: N818 - a problem to be repaired; only unrepaired it becomes a `ReplyError`
    """Why a reply cannot be read: one sentence that the model can act on."""


def repair_instruction(reason: str) -> str:
    """The instruction to a role whose reply could not be read; `reason` is the text of a `ReplyProblem`."""
    return f"Your reply could not be read. {reason} Give the whole reply again, corrected, and nothing else."
