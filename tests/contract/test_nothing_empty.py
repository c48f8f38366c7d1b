"""No prompt of any system shows an empty place: a label without a text, a value that is none, a mark for nothing."""

from __future__ import annotations

import re
from typing import Final

import pytest

from fabula.engine.journal import Journal
from harness import Case, cases, run_case

EMPTY: Final = re.compile(
    r"\(empty\)|\bUndefined\b|^[-*] [^:\n]{1,80}:[ \t]*$(?!\n[ \t]*\S)|^[-*] \d+\. [^:\n]{1,80}:[ \t]*$", re.MULTILINE
)
"""What a prompt shows where a field is empty; an item of a list may end in a colon where something stands below it."""


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
async def test_no_prompt_shows_an_empty_place(case: Case) -> None:
    model = case.model()
    with Journal() as journal:
        await run_case(case, model, journal)
    shown = [(one.path, message.content) for one in model.asked for message in one.messages]
    assert shown
    found = {(path, hit[0]) for path, text in shown for hit in EMPTY.finditer(text)}
    assert not found


@pytest.mark.parametrize("shown", ["- 6. Iosif: (empty)", "- 6. Iosif: ", "- The Mill:\n\nWrite the next chapter."])
def test_an_empty_place_is_known(shown: str) -> None:
    assert EMPTY.search(shown)
