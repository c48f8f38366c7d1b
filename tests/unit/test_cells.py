from __future__ import annotations

import pytest

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.cells import cells
from fabula.craft.narratives import check_people


def numbered(first: int, last: int) -> str:
    return " ".join(f"On day {n} Mara lit the lamp." for n in range(first, last + 1))


def sizes(text: str, sentences: int = 10) -> list[int]:
    return [cell.count("lit the lamp") for cell in cells(text, sentences)]


def test_a_cell_has_about_ten_sentences() -> None:
    assert sizes(numbered(1, 30)) == [10, 10, 10]
    assert sizes(numbered(1, 12)) == [12]
    assert sizes(numbered(1, 21)) == [10, 11]


def test_a_cell_ends_with_the_paragraph_that_ends_nearest() -> None:
    assert sizes(f"{numbered(1, 8)}\n\n{numbered(9, 26)}") == [8, 10, 8]
    assert sizes(f"{numbered(1, 5)}\n\n{numbered(6, 12)}\n\n{numbered(13, 20)}") == [12, 8]
    assert sizes(f"{numbered(1, 3)}\n\n{numbered(4, 20)}") == [10, 10]


def test_cells_together_are_the_narrative() -> None:
    text = f"  \n{numbered(1, 8)}\n\n\n {numbered(9, 26)}\n"
    assert "".join(cells(text)) == text


@pytest.mark.parametrize(("open_", "close"), ['""', "\u201c\u201d", "\u00ab\u00bb"])
def test_a_quotation_is_never_split(open_: str, close: str) -> None:
    speech = f"{open_}{numbered(1, 15)}{close}"
    found = cells(f"Mara said: {speech} {numbered(16, 28)}")
    assert speech in found[0]
    assert len(found) == 2


def test_a_quotation_of_several_paragraphs_is_one() -> None:
    speech = f"\u201c{numbered(1, 9)}\n\n\u201c{numbered(10, 14)}\u201d"
    found = cells(f"{speech} {numbered(15, 40)}")
    assert found[0].startswith(speech)


def test_narratives_of_one_sentence_and_of_none() -> None:
    assert cells("Mara lit the lamp.") == ["Mara lit the lamp."]
    assert cells("no full stop") == ["no full stop"]
    assert cells("") == []
    assert cells(" \n\n ") == []


def test_a_cell_of_no_sentences_cannot_be() -> None:
    with pytest.raises(UsageError, match=r"cannot have 0 sentences\. Give 1 or more"):
        cells("Mara.", 0)


def test_who_talks_has_to_be_in_the_narrative() -> None:
    text = "One night Squidward sat with SpongeBob. Then Squidward left SpongeBob."
    check_people(["SpongeBob", "Squidward Tentacles"], text)
    check_people(["Tom", "Squidward"], text, ["Tom"])
    with pytest.raises(UnknownNameError, match=r"Unknown character 'Squidwart'\. Did you mean 'Squidward'\?"):
        check_people(["SpongeBob", "Squidwart"], text)
    with pytest.raises(UsageError, match="'Squidward' and 'squidward' are the same"):
        check_people(["squidward", "Squidward"], text)
