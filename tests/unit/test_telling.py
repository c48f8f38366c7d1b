from __future__ import annotations

from fabula.craft.telling import untold, without_copies

EVENTS = ["Tobias brings a loaf of bread.", "Mara lights the old lamp.", "The boat comes home at dawn."]


def test_an_event_is_told_where_half_of_its_words_stand() -> None:
    text = "Tobias knocked. He had bread under his coat. In the tower the old lamp was lit by Mara."
    assert untold(EVENTS, text) == [EVENTS[2]]
    assert untold([], text) == []


def test_sentences_copied_from_an_earlier_text_are_taken_out() -> None:
    earlier = "The wind came up from the sea and shook the door of the tower. Mara counted."
    text = "Tobias ran. At night the wind came up from the sea and shook the door. He held on.\n\nThe lamp went out."
    assert without_copies(text, [earlier]) == "Tobias ran. He held on.\n\nThe lamp went out."


def test_sentences_that_begin_alike_stand_once() -> None:
    text = "Mara looks up at the sky, and waits. Tobias runs. Mara looks up at the sky, with tears."
    assert without_copies(text, []) == "Mara looks up at the sky, and waits. Tobias runs."


def test_a_sentence_stands_once_and_short_ones_may_come_again() -> None:
    line = "She turned the brass wheel until her hands were sore and bleeding."
    assert without_copies(f"{line} No. {line} No.", []) == f"{line} No. No."
    assert without_copies("", ["Mara counted."]) == ""
