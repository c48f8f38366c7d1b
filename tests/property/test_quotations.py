"""Paragraphs are numbered without loss, and quotations are found where they stand, however models copy them."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.continuity import NumberedScene, split
from fabula.evaluators.atlas.quoting import StoryText

# ruff: noqa: RUF001 - typographic marks are what this is about

WORDS = st.sampled_from(
    """Mara's lamp burnt; the o'clock boat came in — twenty-two men, café, naïve, Ångström, “stop”, it’s 'so' grey/gray
    1,583 half-past p.m. (perhaps) Dr. Voss... and… then! why? _never_ *ever* 灯台 straße""".split()  # noqa: SIM905 - read as prose
)
SENTENCES = st.lists(WORDS, min_size=3, max_size=25).map(lambda words: " ".join(words) + ".")
PARAGRAPHS = st.lists(st.lists(SENTENCES, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=8)
SCREENPLAY = st.lists(
    st.tuples(
        st.sampled_from(["INT. LAMP ROOM - NIGHT", "EXT. QUAY - DAY"]), st.sampled_from(["MARA", "DR. VOSS"]), SENTENCES
    ),
    min_size=2,
    max_size=6,
)
LETTER = re.compile(r"[^\W_]")


def copied(text: str, draw: st.DataObject) -> str:
    """A text as a model may copy it: other quotation marks, dashes, ellipses, line ends, case of the first letter."""
    changes = (
        ("\u201c", '"'),
        ("\u201d", '"'),
        ("’", "'"),
        ("—", "--"),
        ("…", "..."),
        ("...", "…"),
        (" ", "\n"),
        ("  ", " "),
    )
    for old, new in draw.draw(st.lists(st.sampled_from(changes), max_size=4)):
        text = text.replace(old, new)
    return draw.draw(st.sampled_from([text, text.upper(), f'"{text}"', f" {text} ", text.rstrip(".")]))


@given(st.lists(PARAGRAPHS, min_size=1, max_size=3))
def test_every_letter_stands_in_one_paragraph_and_numbers_follow_the_text(scenes: list[list[str]]) -> None:
    numbered = [NumberedScene(n, f"Title {n}", "\n\n".join(parts)) for n, parts in enumerate(scenes, 1)]
    text = StoryText(numbered)
    assert [one.number for one in text.paragraphs] == list(range(1, len(text.paragraphs) + 1))
    for scene in numbered:
        own = [one for one in text.paragraphs if one.scene == scene.number and not one.heading]
        assert all(scene.text[one.start : one.end] == one.text for one in own)
        assert "".join(LETTER.findall("".join(one.text for one in own))) == "".join(LETTER.findall(scene.text))
        assert all(a.end <= b.start for a, b in pairwise(own))


@given(st.integers(1, 4000), st.sampled_from([" ", "\n"]))
@settings(max_examples=20)
def test_a_paragraph_without_end_is_numbered_in_parts(count: int, between: str) -> None:
    scene = NumberedScene(1, "", between.join(f"word{n}" for n in range(count)))
    parts = StoryText([scene]).paragraphs
    assert max(len(one.text.split()) for one in parts) <= 450
    assert sum(len(one.text.split()) for one in parts) == count


@given(PARAGRAPHS, st.data())
def test_a_quotation_is_found_in_its_paragraph_however_it_is_copied(parts: list[str], draw: st.DataObject) -> None:
    text = StoryText([NumberedScene(1, "", "\n\n".join(parts))])
    paragraph = draw.draw(st.sampled_from(text.paragraphs))
    pieces = paragraph.text.split()
    low = draw.draw(st.integers(0, len(pieces) - 1))
    quote = " ".join(pieces[low : low + draw.draw(st.integers(1, 12))])
    if not LETTER.search(quote):
        return
    found = text.find_near(paragraph.number, copied(quote, draw))
    assert found is not None
    assert text.paragraph_of(found) == paragraph.number  # the number decides between repeats
    assert "".join(LETTER.findall(found.words.casefold())) == "".join(LETTER.findall(quote.casefold()))


@given(PARAGRAPHS, st.data())
def test_words_left_out_or_changed_do_not_lose_a_quotation(parts: list[str], draw: st.DataObject) -> None:
    text = StoryText(
        [NumberedScene(1, "", "\n\n".join([*parts, "The keeper of the light counted eleven boats in the bay."]))]
    )
    last = text.paragraphs[-1].number
    for quote in (
        "The keeper ... eleven boats",
        "the keeper of the light has counted eleven boats in the bay",
        "counted […] bay",
    ):
        found = text.find_near(
            draw.draw(st.sampled_from([last, last - 1, last + 5, 0])) if "…" not in quote else last, quote
        )
        assert quote.startswith("the keeper of") or found is not None
    assert text.find_near(last, "the keeper of the light has counted eleven boats in the bay") is not None
    assert text.find_near(last, "a dozen swans slept on the roof of the church") is None


@given(SCREENPLAY)
def test_a_screenplay_keeps_its_headings_and_its_speakers_with_their_lines(scenes: list[tuple[str, str, str]]) -> None:
    whole = "\n\n".join(f"{heading}\n\n{name}\n{speech}" for heading, name, speech in scenes)
    text = StoryText(split(whole).scenes)
    shown = [one.shown for one in text.paragraphs]
    assert len(shown) == 2 * len(scenes)
    for n, (heading, name, _) in enumerate(scenes):
        assert shown[2 * n] == f"[{2 * n + 1}] {heading}"
        assert shown[2 * n + 1].startswith(f"[{2 * n + 2}] {name}\n")


@given(PARAGRAPHS)
def test_headings_can_be_quoted_too(parts: list[str]) -> None:
    whole = "# Thursday, the third of May\n\n" + "\n\n".join(parts) + "\n\n# Friday\n\n" + "\n\n".join(parts)
    text = StoryText(split(whole).scenes)
    found = text.find_near(1, "the third of May")
    assert found is not None
    assert (found.words, text.paragraph_of(found)) == ("the third of May", 1)
