"""What slots and values mean: phrases that are one, and phrases that are two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.story.world import Fact, Moment, WorldState
from fabula.story.world.meaning import slot_form, value_form

if TYPE_CHECKING:
    from fabula.story.world.meaning import Value

ONE: list[list[Value]] = [
    ["grey", "Gray", "GREY", "the gray"],
    ["a grey overcoat", "the gray overcoat", "Gray Overcoat."],
    ["24", 24, "twenty-four", "Twenty four", "24.0"],
    ["a hundred and seven", "one hundred seven", "107", 107],
    ["three thousand four hundred", "3,400", "3400"],
    ["eighteen sixty-one", "1861", "one thousand eight hundred and sixty-one"],
    ["the twenty-second", "22nd", "the 22nd", "Twenty-Second"],
    ["the forty-first regiment", "41st regiment"],
    ["six feet", "6 ft", "two yards", "72 inches", "6 foot"],
    ["eight kilometres", "8 km", "8,000 metres", "8000m"],
    ["a fortnight", "two weeks", "14 days"],
    ["eighteen months", "1.5 years", "one year and six months"],
    ["nineteen years old", "19 years of age", "a nineteen-year-old", "aged 19"],
    ["eighty pounds", "80 pounds"],
    ["the neighbouring harbour", "neighboring harbor"],
    ["organised crime", "organized crime"],
    ["a jeweller", "jeweler"],
    [True, "yes", "Yes.", "true"],
    [None, "null"],
]
TWO: list[tuple[Value, Value]] = [
    ("grey", "green"), ("24", "42"), ("the third", "three"), ("twenty-two", "twenty"), ("left sleeve", "right sleeve"),
    ("1861", "1816"), ("six months", "six years"), ("5 miles", "5 km"), ("not lit", "lit"), ("-4", "4"), ("C++", "C"),
    ("plan A", "plan B"), ("4 pm", "4 am"), ("£80", "$80"), ("her father's watch", "her mother's watch"), ("", "x"),
    ("June", "July"), ("one", "once"), (1, True), (("a", "b"), "a, b"), ("10:30", "10.3"),
    ("the Anchor", "the Captain"),
]  # fmt: skip


@pytest.mark.parametrize("phrases", ONE, ids=lambda phrases: str(phrases[0]))
def test_phrases_that_mean_one_thing(phrases: list[Value]) -> None:
    assert len({value_form(phrase) for phrase in phrases}) == 1, [value_form(phrase) for phrase in phrases]


@pytest.mark.parametrize(("one", "other"), TWO)
def test_phrases_that_mean_two_things(one: Value, other: Value) -> None:
    assert value_form(one) != value_form(other)


@pytest.mark.parametrize(
    "slots",
    [
        ["Eye Colour", "eye color", "eyes", "eye_colour", "eyeColour", "colour of her eyes", "the color of the eyes"],
        ["Date of Birth", "birthday", "birth date", "date of his birth"],
        ["occupation", "job", "Profession", "is line of work"],
        ["favourite song", "Favorite Song", "her favourite song", "favorite_song"],
        ["captain of the ship", "ship captain", "Ship's captain"],
        ["second name", "2nd name"],
    ],
    ids=lambda slots: slots[0],
)
def test_slots_that_are_one_property(slots: list[str]) -> None:
    assert len({slot_form(slot, "grey") for slot in slots}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("father of", "father"), ("coat", "hat"), ("hair", "hair length"), ("owns", "owned by"), ("child", "children")],
)
def test_slots_that_are_two_properties(one: str, other: str) -> None:
    assert slot_form(one, "x") != slot_form(other, "x")


def test_the_slot_helps_to_read_its_value() -> None:
    assert slot_form("eyes", "tired") != slot_form("eye colour", "grey"), "eyes may be other than of a colour"
    assert slot_form("hair", "dark brown") == slot_form("hair colour", "x")
    assert value_form("her grey eyes", "eyes") == value_form("her gray", "eye colour")
    assert len({value_form(age, "age") for age in (61, "61", "sixty-one", "61 years old")}) == 1
    assert value_form("61") != value_form("61 years")


def test_facts_that_mean_the_same_do_not_conflict_and_others_do() -> None:
    with WorldState() as world:
        told: list[tuple[str, Value]] = [
            ("Eye Colour", "grey"), ("eyes", "Gray"), ("age", "thirty-one"), ("Age", 31), ("age", "31 years old"),
            ("height", "six feet"), ("Height", "72 inches"), ("eyes", "tired"),
        ]  # fmt: skip
        made = world.add([Fact("Ilse", slot, value, Moment(n)) for n, (slot, value) in enumerate(told)])
        assert world.conflicts() == ()
        assert [fact.restates for fact in made] == [None, 1, None, 3, 3, None, 6, None]
        world.add([Fact("Ilse", "colour of her eyes", "hazel", Moment(20)), Fact("Ilse", "AGE", "thirty", Moment(21))])
        assert [(one.earlier.value, one.later.value) for one in world.conflicts()] == [
            ("grey", "hazel"),
            ("thirty-one", "thirty"),
        ]


def test_slots_that_hold_many_are_known_in_every_spelling() -> None:
    with WorldState() as world:
        world.hold_many("favourite_song")
        world.add([Fact("Ilse", "Favorite Song", "one", Moment(1)), Fact("Ilse", "favourite song", "two", Moment(2))])
        assert world.conflicts() == ()


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_a_form_is_always_found_and_a_slots_form_is_its_own(text: str) -> None:
    assert isinstance(value_form(text), str)
    form = slot_form(text)
    assert slot_form(form) == form
    assert slot_form(form.upper()) == form or not form.isascii()


@pytest.mark.parametrize(
    "letters", ["a", "1", " ", "-", "1 ", "one ", "of ", "a quarter ", "1,", "1:", "'", "and ", "1 year "]
)
def test_hostile_values_take_no_longer_than_their_length(letters: str) -> None:
    for times in (100, 10_000 // len(letters)):
        value_form(letters * times)
        slot_form(letters * 20)
