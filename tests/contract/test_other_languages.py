"""Stories in other languages than English go through every improved system as they were written, and end whole."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final

import pytest

from capable import Capable, flat
from fabula.engine.journal import Journal
from fabula.story import Brief
from fabula.story.sentences import ends_whole
from harness import Case, cases, run_case
from tongues import BRIEFS, PARAGRAPHS, PEOPLE

if TYPE_CHECKING:
    from collections.abc import Callable

LANGUAGES: Final = {"zh": ("zh",), "de": ("de",), "others": tuple(sorted(BRIEFS.keys() - {"zh", "de"}))}


def usual() -> list[Case]:
    """The first improved case of each system that is told in free prose or typed replies, not in a form of its own."""
    found: dict[str, Case] = {}
    for case in cases():
        formed = case.config.get("script") or (case.system.name == "dramatron" and not case.plan)
        if case.preset == "improved" and not formed:
            found.setdefault(case.system.name, case)
    return list(found.values())


def kinds(languages: tuple[str, ...]) -> list[Callable[[int], str]]:
    """Paragraphs in these languages in turn."""
    texts = cycle([text for texts in zip(*(PARAGRAPHS[one] for one in languages), strict=True) for text in texts])
    return [partial(_numbered, text) for text in islice(texts, 3 * len(languages))]


def _numbered(text: str, n: int) -> str:
    return text.format(n=n + 10000)


@pytest.mark.parametrize("languages", LANGUAGES)
@pytest.mark.parametrize("case", usual(), ids=lambda case: case.system.name)
async def test_a_story_in_another_language_is_word_for_word_what_was_replied(case: Case, languages: str) -> None:
    tongues = LANGUAGES[languages]
    model = Capable(kinds(tongues))
    player, npc = PEOPLE[tongues[0]]
    talk = {"player": player, "npc": npc, "max_turns": 3} if case.system.name in {"snap", "vanilla"} else {}
    known = {"personas": f"personas: [{{name: {npc}}}, {{name: {player}}}]"} if case.system.name == "snap" else {}
    case = replace(case, brief=Brief(BRIEFS[tongues[0]]), config=talk, edits=known)
    with Journal() as journal:
        story = await run_case(case, model, journal)
        kept = "\n".join(journal.artefacts.newest(path) or "" for path in journal.artefacts.paths())
        assert not [(one.rule, one.text) for one in journal.calls.removals() if re.search(r"1\d{4}", one.text)]
    written = Counter(re.findall(r"1\d{4}", story.text))
    assert written, "the story holds what the model wrote"
    assert set(written.values()) == {1}
    assert ends_whole(story.text)
    prompts = "\n".join(message.content for request in model.asked for message in request.messages)
    shown = flat(f"{story.text}\n{kept}\n{prompts}")
    for reply in model.replies:
        pieces = [flat(piece) for piece in reply.split("\n\n") if re.search(r"1\d{4}", piece)]
        there = [piece.rstrip(".") in shown for piece in pieces]
        assert all(there) or not any(there), "a reply goes as a whole, never in part"
