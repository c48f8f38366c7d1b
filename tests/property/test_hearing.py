"""What a player sees of a reply while it comes is the beginning of what the turn will be, whatever the reply is."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.craft.conversation.lines import Line
from fabula.craft.conversation.turns import Draw, Hearing
from fabula.engine.events import TextArrived
from fabula.engine.replies.dialogue import Said

NAMES = ("Tobias", "Mara", "Mara Quist")
TOLD = (
    Line("Mara", "", "Yes, I lit the lamp, and the boat came home."),
    Line("Mara", "looks up again", "Hm, is it late?"),
)
RULES = "Write one sentence. Nobody has come since the letter was read. You answer what belongs to the story."
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
LEADS = st.sampled_from(["", "[Mara: (", 'Mara: "'])
CUTS = st.lists(st.integers(1, 12), min_size=1, max_size=8)


def drawn(hearing: Hearing, text: str, cuts: list[int]) -> None:
    """A draw whose text comes in pieces of these sizes, over and over."""
    sizes = (cuts * (len(text) + 1))[: len(text)]
    for start, end in pairwise([0, *accumulate(sizes)]):
        if start < len(text):
            hearing.hear(TextArrived("turn", text[start:end]))


@settings(max_examples=600, deadline=None)
@given(st.lists(st.tuples(LEADS, TURNS), min_size=1, max_size=3), CUTS, st.integers(0, 2), st.booleans())
def test_pieces_are_the_beginning_of_the_turn_and_nothing_of_a_refused_draw(
    draws: list[tuple[str, str]],
    cuts: list[int],
    sentences: int,
    aids: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    shown: list[str] = []
    hearing = Hearing(shown.append)
    text = "(happens by the plan)"
    begun = Said()
    for first, reply in draws:
        lead = (f"[Mara: {begun.text}" if begun.message else f'[Mara: {begun.text} "') if begun.text else first
        lead = lead if aids else ""
        draw = Draw("Mara", NAMES, aids, lead, TOLD if aids else (), RULES if aids else "", sentences, begun)
        hearing.begin(draw, lead)
        drawn(hearing, reply, cuts)
        said = draw.read(lead + reply)
        short = draw.shortened(said)
        if said.ended or draw.usable(short):
            text = short.text
            break
        begun = draw.shortened(draw.kept(short))
        text = begun.text or text
        assert begun.text.startswith("".join(shown)), "what was shown stands in the next draw"
    assert text.startswith("".join(shown))
    hearing.end(text)
    assert "".join(shown) == text
