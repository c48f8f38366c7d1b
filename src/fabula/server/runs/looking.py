"""Looks at files repeatedly, since no program announces its changes to them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

_LOG: Final = logging.getLogger("fabula.server")
AFTER_FAILURE: Final = 2.0  # seconds until the next attempt


@asynccontextmanager
async def looking(look: Callable[[], Awaitable[float]]) -> AsyncIterator[None]:
    """Look repeatedly while this context is open; `look` gives the seconds until the next look.

    A failure, such as a folder that can no longer be read, is logged once, and the look is repeated: a server that
    stopped looking would show an outdated state forever.
    """
    watching = asyncio.create_task(_again_and_again(look))
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def _again_and_again(look: Callable[[], Awaitable[float]]) -> None:
    said = ""
    while True:
        try:
            pause = await look()
            said = ""
        except Exception as error:  # noqa: BLE001 - whatever it is, the next look may find it gone
            pause, words = AFTER_FAILURE, f"{type(error).__name__}: {error}"
            if words != said:
                _LOG.error("The projects could not be watched. The server tries again: %s", words)
            said = words
        await asyncio.sleep(pause)
