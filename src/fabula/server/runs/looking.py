"""Looks at files repeatedly, since no program announces its changes to them."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_LOG: Final = logging.getLogger("fabula.server")
AFTER_FAILURE: Final = 2.0  # seconds until the next attempt


async def again_and_again(look: Callable[[], Awaitable[float]]) -> None:
    """Look until cancelled; `look` gives the seconds until the next look.

    A failure, such as a folder that can no longer be read, is logged once, and the look is repeated: a server that
    stopped looking would show an outdated state forever.
    """
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
