"""What a player sees of a reply while it comes is the beginning of what the turn will be, whatever the reply is."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.craft.conversation.turns import Hearing, in_part
from fabula.engine.events import TextArrived
from fabula.engine.replies.dialogue import read_said

NAMES = ("Tobias", "Mara", "Mara Quist")
WORDS = (
    "Yes, I lit the lamp", ", and the boat came home", "Hm.", "Tobias", "Mara", "a", "he said ", "She said ",
    "and so the lamp burned on through the night ", "nobody has come since the letter was read ", "the prompt ",
    "As an AI ", "Nobody has come since ", "You answer what belongs to the story. ", "Write one ", "sentence.",
    "(looks up again) ", "I am sorry, but I cannot assist with that ", "... ", "Mr. ", "p.m. ",
)  # fmt: skip
MARKS = (
    "[Mara: ", "Mara: ", "[Tobias: ", "\nTobias: ", "\n[Mara: (", "[", "]", ".]", "(", ")", "(looks up) ", "*nods* ",
    "(Mara) ", '"', "\u201c", "\u201d", '," ', "EOD", "\nEOD", "[EOD]", " EOD ", "<think>", "</think>", "\n", " ",
    ". ", "! ", "? ", ":", "#1. ", "**",
)  # fmt: skip
PIECES = st.sampled_from(WORDS + MARKS)
TURNS = st.tuples(st.sampled_from(["[Mara: ", "Mara: ", "", "(", "[Mara: ("]), st.lists(PIECES, max_size=25)).map(
    lambda parts: parts[0] + "".join(parts[1])
)
CUTS = st.lists(st.integers(1, 12), min_size=1, max_size=8)


def drawn(hearing: Hearing, text: str, cuts: list[int]) -> None:
    """A draw whose text comes in pieces of these sizes, over and over."""
    sizes = (cuts * (len(text) + 1))[: len(text)]
    for start, end in pairwise([0, *accumulate(sizes)]):
        if start < len(text):
            hearing.hear(TextArrived("turn", text[start:end]))


@settings(max_examples=600, deadline=None)
@given(st.lists(TURNS, min_size=1, max_size=3), CUTS, st.booleans())
def test_pieces_are_the_beginning_of_the_turn_and_nothing_of_a_refused_draw(
    draws: list[str],
    cuts: list[int],
    silent: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    shown: list[str] = []
    hearing = Hearing(shown.append)
    text = "(happens by the plan)"
    for reply in draws:
        hearing.begin("Mara", NAMES, silent=silent)
        drawn(hearing, reply, cuts)
        said = read_said(reply, "Mara", NAMES)
        turn = said if said.ended else in_part(said)
        if said.ended or turn.text:
            text = turn.text
            break
        assert not shown, "of a draw of which nothing stands nothing was shown"
    assert text.startswith("".join(shown))
    assert not (silent and shown)
    hearing.end(text)
    assert "".join(shown) == text
