"""Whether two names are one person's, which of a cast is meant by a name, and who is named in a text."""

from __future__ import annotations

import pytest

from fabula.story.people import among, mentioned, present_in, same_person


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mara", "MARA"),
        ("Squidward", "Squidward Tentacles"),
        ("the keeper", "Keeper"),
        ("Mr. Krabs", "Krabs"),
        ("Mr. Krabs", "Eugene Krabs"),
        ("Mrs. Pond", "Miss Pond"),
        ("Dr. Voss", "Mr. Voss"),
        ("Captain", "Captain Voss"),
        ("Dr.", "the dr."),
        ("Anne of Cleves", "Anne"),
        ("Jean-Luc Picard", "Jean Luc"),
        ("O'Brien", "Miles O\u2019Brien"),
        ("Mara's", "Mara"),
        ("Mara's mother", "the mother"),
        ("Zoë Łęcka", "łęcka"),
        ("A", "A"),
    ],
)
def test_names_that_may_be_one_persons(one: str, other: str) -> None:
    assert same_person(one, other)
    assert same_person(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mara Quist", "Jonas Quist"),
        ("Mr. Pond", "Mrs. Pond"),
        ("Mr. Pond", "Ms Pond"),
        ("old Marta", "young Marta"),
        ("Guard 1", "Guard 2"),
        ("Mara's mother", "Mara"),
        ("the mother of Mara", "Mara"),
        ("Mara\u2019s mother", "Mara Quist"),
        ("Mara and Tobias", "Mara"),
        ("Al", "Alma"),
        ("", "Mara"),
        ("...", "..."),
    ],
)
def test_names_of_two_people(one: str, other: str) -> None:
    assert not same_person(one, other)
    assert not same_person(other, one)


@pytest.mark.parametrize(
    ("name", "names", "found"),
    [
        ("mara", ["Mara Quist", "Mara"], "Mara"),
        ("Mara", ["Jonas", "Mara Quist"], "Mara Quist"),
        ("Quist", ["Jonas Quist", "Mara Quist"], None),
        ("Tom", ["Jonas"], None),
        ("Tom", [], None),
    ],
)
def test_the_one_of_a_cast_that_is_meant(name: str, names: list[str], found: str | None) -> None:
    assert among(name, names) == found


def test_names_and_aliases_are_found_as_whole_words() -> None:
    aliases = {"Mara Quill": ("Mara Quill", "Mara", "the keeper"), "Tobias": ("Tobias",), "Al": ("Al",)}
    assert mentioned("THE KEEPER alone saw Tobias' boat.", aliases) == ("Mara Quill", "Tobias")
    assert mentioned("", aliases) == ()


def test_who_is_named_in_a_text_is_present() -> None:
    assert present_in(["Mr. Krabs", "Tom", "SpongeBob"], "Krabs took the order of SpongeBob's friend.") == (
        "Mr. Krabs",
        "SpongeBob",
    )


def test_of_a_family_the_one_with_the_same_words_is_meant() -> None:
    family = ["Elizabeth Bennet", "Mr. Bennet", "Mrs. Bennet", "Mr. Darcy"]
    assert among("Mr Bennet", family) == "Mr. Bennet"
    assert among("Miss Elizabeth Bennet", family) == "Elizabeth Bennet"
    assert among("Bennet", family) is None


def test_a_name_that_two_share_names_neither() -> None:
    family = ("Elizabeth Bennet", "Mr. Bennet", "Mr. Darcy")
    assert present_in(family, "Elizabeth Bennet hides it from Darcy.") == ("Elizabeth Bennet", "Mr. Darcy")
    assert present_in(family, "Mr. Bennet and Elizabeth talk.") == ("Elizabeth Bennet", "Mr. Bennet")
    assert present_in(family, "The Bennet house is old.") == ()


def test_a_name_in_a_script_without_capitals_is_known_by_a_part_of_it() -> None:
    whole, first = "\u05de\u05e8\u05d9\u05dd \u05d0\u05dc\u05d5\u05df", "\u05de\u05e8\u05d9\u05dd"
    assert present_in([whole], f"{first} \u05d9\u05e6\u05d0\u05d4.") == (whole,)
    assert present_in(["Anna from the mill"], "It came from far away.") == ()
