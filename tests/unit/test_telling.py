from __future__ import annotations

from fabula.craft.prose import is_list, told_in_sentences, without_copies


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


LIST = """**Mara** (old lighthouse keeper)
- **Sitting at her desk**, Mara looks out at the stormy sea.
- She feels uneasy.

**Tobias**
- Tobias brings her bread, and asks about the storm.

The storm grows, and the lamp flickers over the sea."""


def test_a_list_is_known_and_its_sentences_can_stand_without_its_marks() -> None:
    assert is_list(LIST)
    told = told_in_sentences(LIST)
    assert told.startswith("Sitting at her desk, Mara looks out at the stormy sea.\nShe feels uneasy.")
    assert "Tobias brings her bread" in told
    assert not any(mark in told for mark in ("**", "- ", "keeper)"))
    assert not is_list("Mara wrote a list:\n\n- bread\n- oil\n\nThen she went up the stairs and counted them.")
    assert not is_list("")
    for letter in ("- a\n", " ", "*", "**a", "1"):
        is_list(letter * 50_000)
        told_in_sentences(letter * 50_000)
