"""Looking at files again and again: no program says by itself what it does to them."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_LOG: Final = logging.getLogger("fabula.server")
AFTER_FAILURE: Final = 2.0  # seconds until it is tried again


async def again_and_again(look: Callable[[], Awaitable[float]]) -> None:
    """Look until cancelled; `look` gives the seconds until the next one.

    What fails, such as a folder that may not be read any more, is logged once and tried again: a server that has
    stopped looking would show for ever what was true then.
    """
    said = ""
    while True:
        try:
            pause = await look()
            said = ""
        except Exception as error:  # noqa: BLE001 - whatever it is, the next look may find it gone
            pause, words = AFTER_FAILURE, f"{type(error).__name__}: {error}"
            if words != said:
                _LOG.error("What happens in the projects could not be seen; it is tried again: %s", words)
            said = words
        await asyncio.sleep(pause)
