"""Real replies of the embedded model (SmolLM2-135M), with the properties their cleaned texts must have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabula.engine.replies import clean_prose
from fabula.engine.replies.loops import loop_start, read_sentences
from fabula.story import count_words
from fabula.story.sentences import ends_whole

FOLDER = Path(__file__).parent / "replies"
LABELS = (
    *("Creative Writing Task", "Central Conflict", "Character Descriptions", "Setting", "Key Plot Points"),
    *("Exposition", "Rising Action", "Climax", "Falling Action", "Resolution", "Story", "Content Plan"),
)


def expected(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return data


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_a_real_reply_is_cleaned_as_a_reader_would(name: str) -> None:
    found = expected(name)
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    cleaned = clean_prose(
        text,
        labels=LABELS,
        last=found["last"],
        echo=[found["brief"]],
        finish=found["finish"],
        kind=found["kind"],
        aids=True,
    )
    words = cleaned.text.split()
    assert " ".join(words[:6]) == found["begins"]
    assert " ".join(words[-6:]) == found["ends"]
    assert count_words(cleaned.text) == found["words"]
    assert list(dict.fromkeys(dropped.kind for dropped in cleaned.dropped)) == found["dropped"]
    assert loop_start(cleaned.text, read_sentences(cleaned.text)) is None
    assert not words or found["kind"] == "notes" or ends_whole(cleaned.text)
    assert not any(line.strip(" []#*:") in LABELS for line in cleaned.text.splitlines())
    assert "<<" not in cleaned.text


def test_there_are_replies_of_every_kind() -> None:
    data = [expected(path.stem) for path in FOLDER.glob("*.json")]
    assert len(data) >= 20
    assert {kind for one in data for kind in one["dropped"]} >= {"loop", "label", "chatter", "fragment"}
    assert {one["finish"] for one in data} == {"stop", "length"}
