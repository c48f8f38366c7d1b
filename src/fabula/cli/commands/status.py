"""`fabula status`."""
from __future__ import annotations
from fabula.cli.options import Common, Where, bundled, Choices

@bundled
def status(common: Common, choices: Choices, where: Where = "") -> None:
    """Show where a project stands: texts, changes, what is spent, what comes next."""
    print(common, choices, where)
