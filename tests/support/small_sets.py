"""A folder of data sets as they are published, with two or three made-up texts each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def small_sets(data: Path) -> Path:
    """The folder `data`, with five sets in it."""
    lines = [{"example_id": n, "inputs": f"Write of {n}.", "targets": f"Story {n}."} for n in range(3)]
    dialogue = {"fname": "d", "dialogue": "#A#: Hi", "summary": "s"}
    files = {
        "tell-me-a-story/tell-me-a-story-test.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
        "wikiplots/titles": "Lamp\nClock\n",
        "wikiplots/plots": "It burns.\nIt dies.\n<EOS>\nIt ticks.\n<EOS>\n",
        "writing-prompts/test.wp_source": "[ WP ] A lamp .\n[ WP ] A lamp .\nA clock .\n",
        "writing-prompts/test.wp_target": "It burns .\nIt dies . <newline> So .\nIt ticks .\n",
        "dialogsum/dialogsum.dev.jsonl": json.dumps(dialogue) + "\n",
    }
    for name, text in files.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text, encoding="utf-8")
    return data
