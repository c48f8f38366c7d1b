"""Whom a note names that its story does not know: phrasings written before the rule, and notes that models wrote."""

from __future__ import annotations

import pytest

from fabula.engine.replies.strangers import strangers, unknown_capitals

STORY = (
    "Mara had kept the lamp for eleven years. Her father Jonas sat by the stove. “Electric,” he said. On Saturday the "
    "wind turned. Mr. Pond wrote from the mainland. She asked him and he said no, and she was not there when it began "
    "to rain on the roof of the house."
)


@pytest.mark.parametrize(
    ("note", "names"),
    [
        ("The conflict is between Mara and her brother Derek, who wants the lamp dark.", ["Derek"]),
        ("* **Elena**: a young woman who loves Mara.\n* **Jonas**: her father.", ["Elena"]),
        ("Mara's husband, Captain Holt, is lost at sea.", ["Captain Holt"]),
        ("In the end, Tobias tells Mara the truth.", ["Tobias"]),
        ("Derek wants to leave the island. He is tired.", ["Derek"]),
        ("Mara must choose between her father and Thomas.", ["Thomas"]),
        ("The protagonist, Sarah, wants to keep the lamp lit.", ["Sarah"]),
        ("Name: Lily\nAge: 16", ["Lily"]),
        ("Sarah's father does not want her to go. Sarah goes.", ["Sarah"]),
        ("When the boat sinks, Mara blames Peter.", ["Peter"]),
        ("She is joined by Old Tom and Marcus, the fishermen.", ["Old Tom", "Marcus"]),
        ("1. Mara lights the lamp.\n2. Mr. Henderson arrives with the letter.", ["Mr. Henderson"]),
    ],
)
def test_people_whom_the_story_does_not_know_are_found(note: str, names: list[str]) -> None:
    assert list(strangers(note, STORY)) == names


@pytest.mark.parametrize(
    "note",
    [
        "Mara wants the lamp lit. Her father, Jonas, has promised that it stays dark. Nobody helps.",
        "**Appearance:** Mara is tall. **Humor:** dry. Sarcasm is her shield.",
        "A lighthouse in the North Atlantic, in the Victorian era, during a cold October night, near Maine.",
        "* Exposition: The lamp is to go dark.\n* Rising Action: Storm.\n* Climax: Mara climbs.",
        "Determination drives Mara. Fear holds Jonas back. Love wins, and Hope remains.",
        "The story takes place in a small American town on the coast of New England in the 1950s.",
        "Mara's Main Goal: Keep the light. Her Internal Conflict: duty against love. What Stops Her: Jonas.",
        "Mara, the Lighthouse Keeper, speaks in short sentences; Pond writes. Jona's knees are bad.",
        "The Industrial Revolution has come to Scotland; Electricity replaces oil.",
        "Physically, Mara is slim. Internally, she struggles. Ultimately, Jonas gives in.",
        "It could be set in Cornwall or Brittany. The Great Depression is near. World War II is over.",
        "The Storm: a force of nature that tests Mara. The Sea is a character of its own.",
        "He speaks little. They do not. She is afraid of water.",
        "",
        "\x1b[31m" + "A" * 5000,
    ],
)
def test_nobody_is_found_where_nobody_was_invented(note: str) -> None:
    assert strangers(note, STORY) == ()


def test_other_languages_are_not_read() -> None:
    story = "Mara hatte die Lampe elf Jahre lang gehalten, und der Vater war nicht dagegen, und sie ist mit ihm dort."
    assert strangers("Der Konflikt ist zwischen Mara und ihrem Bruder Dirk.", story) == ()


@pytest.mark.parametrize(
    ("note", "names"),
    [
        ("## Bartholomew Finch\nA gruff man of sixty who speaks in short sentences.", ["Bartholomew Finch"]),
        ("**Bartholomew**\n* Speech: clipped.\n* Looks: tall.", ["Bartholomew"]),
        ("1. Bartholomew - tall, and slow to speak.", ["Bartholomew"]),
        ("* **Elowen Thorne (Mara's rival)**: dry and quick.", ["Elowen Thorne"]),
        ("**Aleida Voss**, 47, public weigher\n\n* Drives: to finish paying.", ["Aleida Voss"]),
        ("### Mara\n**Core Beliefs:** duty.\n**Wardrobe:** oilskins.\n### Jonas\n**Wardrobe:** a coat.", []),
        ("## Character Descriptions\n**Mara**: says little.\n**Jonas**: her father.", []),
    ],
)
def test_the_headings_of_a_note_on_people_are_their_names(note: str, names: list[str]) -> None:
    assert list(strangers(note, STORY, of_people=True)) == names


def test_capitals_that_are_not_known_are_found_whatever_they_name() -> None:
    note = "Mara lives near Tintagel with Jonas. Storms are frequent.\n**Bartholomew**\nThe lamp is an Argand lamp."
    assert unknown_capitals(note, STORY) == ("Tintagel", "Bartholomew", "Argand")
    assert unknown_capitals("Mara und Bartholomew.", "Mara hatte die Lampe, und der Vater war nicht dagegen.") == ()
