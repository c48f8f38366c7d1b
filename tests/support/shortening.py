"""A scripted model that can shorten: what it answers to the shared prompt `shorten`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabula.craft.length import trim

if TYPE_CHECKING:
    from fabula.models.base import Request


def shortened(request: Request) -> str:
    """The text of a `shorten` prompt without as many whole sentences as it takes."""
    text, _, asked = request.messages[-1].content.rpartition("\n\nThe text above has ")
    text = text.rpartition("You have written this text:\n\n")[2]
    found = re.search(r"between (\d+) and (\d+)", asked) or re.search(r"(?:at most|exactly) ((\d+))", asked)
    assert found, asked
    return trim(text, int(found[2]), low=int(found[1]), keep_end=True)
