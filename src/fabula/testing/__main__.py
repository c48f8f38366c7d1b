"""`python -m fabula.testing NAME`: tries every rule, and says in words which are broken."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Final

from fabula.base.errors import FabulaError
from fabula.cli.terminal import Terminal
from fabula.testing.checking import check

_USAGE: Final = """\
Usage: python -m fabula.testing [--json] NAME...

Tries the rules that every system, evaluator and provider keeps to, on each NAME: ./my_paper (a folder), my-paper
(brought by an installed package, or fabula's own), or my-provider:MODEL, which is asked a few short questions.

The code of what is tried is run. Exit code: 0 where all rules hold, 1 where one is broken, 2 where there is nothing to
try.
"""
_HELP: Final = frozenset({"-h", "--help"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the rules on what is named, and give the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    names = [word for word in given if not word.startswith("-")]
    terminal = Terminal(json="--json" in given)
    if _HELP & set(given) or not names or set(given) - set(names) - {"--json"}:
        asked = bool(_HELP & set(given))
        (terminal.say if asked else terminal.message)(_USAGE.rstrip())
        return 0 if asked else 2
    try:
        tried = {name: asyncio.run(_tried(name, terminal)) for name in names}
    except FabulaError as error:
        terminal.message(f"fabula: {error}")
        terminal.document({"error": {"kind": type(error).__name__, "message": str(error), "exit_code": 2}})
        return 2
    except KeyboardInterrupt:
        terminal.message("Stopped.")
        return 130
    terminal.document({"tried": tried})
    return int(any(one["broken"] for outcomes in tried.values() for one in outcomes))


async def _tried(name: str, terminal: Terminal) -> list[dict[str, str]]:
    """What comes of every rule, said as it comes."""
    terminal.say(f"{name}:")
    found: list[dict[str, str]] = []
    async for outcome in check(name):
        known = {one["broken"] for one in found}
        found.append({"rule": outcome.rule, "broken": outcome.broken, "advice": outcome.advice})
        terminal.say(f"  {'BROKEN' if outcome.broken else 'holds '}  {outcome.rule}")
        if outcome.broken in known - {""}:
            terminal.say("          For the same reason.")
        elif outcome.broken:
            terminal.say(terminal.wrapped(f"          {outcome.broken}"))
            terminal.say(terminal.wrapped(f"          {outcome.advice}"))
    broken = sum(bool(one["broken"]) for one in found)
    terminal.say(
        f"{name}: {f'{broken} of {len(found)} rules are broken' if broken else f'all {len(found)} rules hold'}."
    )
    return found


if __name__ == "__main__":
    sys.exit(main())
