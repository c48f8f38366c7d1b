"""A story cut where a reply says is the story: no letter is lost, whatever the reply; and what was meant is found."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from fabula.engine.replies import ReplyProblem, read_split
from fabula.systems.agents_room.back_translation import parts_of
from finished import SECTIONS, SPLIT, STORY

LABELS = ("Exposition", "Rising Action", "Climax", "Falling Action", "Resolution")
WORDS = [
    "lamp",
    "boat",
    "storm",
    "letter",
    "stairs",
    "bread",
    "reef",
    "glass",
    "wind",
    "rope",
    "harbour",
    "night",
    "door",
    "water",
    "light",
    "house",
    "stone",
]
HEADERS = ("[{}] {}", "[{}]: {}", "**[{}]** {}", "* [{}]\n{}", "## {}\n\n“{}”", "{}: {}", "3. **{}:** {}", "[{}] - {}")
SLIPS = (
    str,
    str.lower,
    str.upper,
    lambda text: text.replace(" ", "  "),
    lambda text: f'"{text.rstrip(".")}"',
    lambda text: text.replace("e", "i", 1) + " And then it went on.",
)


def sentence(rng: random.Random) -> str:
    said = " ".join(rng.choice(WORDS) for _ in range(rng.randint(7, 12))).capitalize() + "."
    return f"“{said}”" if rng.random() < 0.3 else said


@given(st.integers(0, 10_000), st.sampled_from(HEADERS), st.sampled_from(SLIPS))
def test_what_a_reply_means_is_found(seed: int, header: str, slip: object) -> None:
    rng = random.Random(seed)  # noqa: S311 - reproducible stories
    sentences = [sentence(rng) for _ in range(rng.randint(8, 40))]
    gaps = [rng.choice((" ", "\n\n", "\n")) for _ in sentences]
    story = "".join(f"{one}{gap}" for one, gap in zip(sentences, gaps, strict=True)).rstrip()
    chosen = [0, *sorted(rng.sample(range(1, len(sentences)), 4))]
    reply = "\n".join(header.format(label, slip(sentences[n])) for label, n in zip(LABELS, chosen, strict=True))  # type: ignore[operator] # each is a function of a text
    starts = [sum(len(one) + len(gap) for one, gap in zip(sentences[:n], gaps[:n], strict=True)) for n in chosen]
    assert list(read_split(reply, story, LABELS)) == starts


@given(
    st.text(max_size=2000) | st.lists(st.sampled_from([*(f"[{label}]" for label in LABELS), *STORY.split("\n"), SPLIT]))
)
def test_no_letter_is_lost_whatever_the_reply(reply: str | list[str]) -> None:
    try:
        starts = read_split(reply if isinstance(reply, str) else "\n".join(reply), STORY, LABELS)
    except ReplyProblem:
        return
    parts = parts_of(STORY, starts)
    assert "".join(parts) == STORY
    assert len(parts) == len(LABELS)
    assert all(parts)


def test_the_sections_are_those_of_the_reply() -> None:
    assert parts_of(STORY, read_split(SPLIT, STORY, LABELS)) == SECTIONS
