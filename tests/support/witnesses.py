"""A reply to `witnesses.jinja`, for scripts that play the labeller."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fabula.models.base import Request

_NAMES = re.compile(r"witness what it tells: (.+?)\. A witness")
_NUMBERED = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)


def all_witness(*names: str) -> str:
    """A reply for scripts that do not look: each of many sentences, witnessed by all."""
    return json.dumps({"sentences": [{"sentence": number, "witnesses": names} for number in range(1, 41)]})


def marks_of(request: Request, there: Callable[[str], Iterable[str]] | None = None) -> str:
    """All sentences that a request asks about, witnessed by `there(sentence)`; by default by all whom it names."""
    text = request.messages[-1].content
    found = _NAMES.search(text)
    assert found, text
    names = found[1].split(", ")
    marks = [
        {"sentence": int(number), "witnesses": list(there(sentence) if there else names)}
        for number, sentence in _NUMBERED.findall(text)
    ]
    return json.dumps({"sentences": marks})
