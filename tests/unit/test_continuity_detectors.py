from __future__ import annotations

import pytest

from fabula.base.errors import UnknownNameError
from fabula.continuity import Candidate, NumberedScene, Windows, candidates, check, split
from fabula.continuity.book import Book
from fabula.continuity.numbers import quantities


def scenes(*texts: str) -> tuple[NumberedScene, ...]:
    return tuple(NumberedScene(n, f"Scene {n}", text, None) for n, text in enumerate(texts, 1))


def found(detector: str, *texts: str, tight: bool = False) -> list[tuple[str, str]]:
    return [one.values for one in candidates(scenes(*texts), detectors=[detector], tight=tight)]


FILLER = "".join(f"Rain{n} fell{n} upon street{n}. " for n in range(400))
LEVELS = (
    "The carved chest of old Benedikt stood in the attic under canvas. " + FILLER,
    "They went down to the cellar, where old Benedikt kept the carved chest under canvas.",
)
NAMED = "Then Okafor left. And Okafor came back. Soon Okafor slept. There was Okafor again. "


@pytest.mark.parametrize(
    ("detector", "texts", "values"),
    [
        ("name", (NAMED, "Later Okofor sang."), ("Okafor", "Okofor")),
        ("number", ("There were three keys in the box.", "She counted the five keys."), ("3", "5")),
        ("number", ("A play of two acts.", "That was the end of Act Three."), ("2", "3")),
        ("ordinal", ("It was her first voyage.", "It was her fourth voyage."), ("1", "4")),
        (
            "duration",
            ("The mill stood empty for ten years.", "The mill had been empty for thirty years."),
            ("10 years", "30 years"),
        ),
        (
            "money",
            ("The mill cost four hundred dollars.", "For the mill he paid nine hundred dollars."),
            ("400", "900"),
        ),
        ("date", ("The mill was built in 1840.", "It was in 1905 that they built the mill."), ("1840", "1905")),
        ("age", ("Anna was twelve years old.", "Then Anna laughed. Anna was nine years old."), ("12", "9")),
        ("colour", ("He opened the green door.", "The blue door stood ajar."), ("green", "blue")),
        ("colour", ("He found a brass key.", "He took the key. It was iron."), ("brass", "iron")),
        ("side", ("A scar ran down his left arm.", "The scar on his right arm itched."), ("left", "right")),
        ("title", ("They called for Major Holt.", "Sergeant Holt answered."), ("major", "sergeant")),
        ("role", ("The song was written by Ada Penn.", "It said: written by Tom Rusk."), ("penn", "rusk")),
        ("kin", ("I have no children.", "My daughter lives there."), ("none", "daughter")),
        (
            "object",
            ("Anna carried a suitcase. Anna sang.", "Anna dropped it. Then Anna took her backpack."),
            ("suitcase", "backpack"),
        ),
        ("state", ("The old radio was broken.", "They listened to the radio."), ("not working", "in use")),
        (
            "denial",
            ("Anna had never owned a piano.", "Anna sat down at the piano. The piano was old."),
            ("denied", "there"),
        ),
        ("cause", ("I broke the arm when I fell from the stairs.", "I hurt the arm in a crash."), ("fall", "crash")),
        ("place", (LEVELS[0], LEVELS[1]), ("up", "down")),
        (
            "place",
            ("Anna was born in Lund. And Anna slept.", "Then Anna said: Anna was born in Turku."),
            ("lund", "turku"),
        ),
        (
            "life",
            ("Then old Marek died. And Marek was buried. So Marek it was.", "At noon Marek walked in."),
            ("dead", "alive"),
        ),
    ],
)
def test_each_detector_finds_what_it_is_for(detector: str, texts: tuple[str, ...], values: tuple[str, str]) -> None:
    assert values in found(detector, *texts)


@pytest.mark.parametrize(
    ("detector", "texts"),
    [
        ("name", (NAMED, "The Okafors sang.")),
        ("name", (NAMED, "Okafor and Okofor sang.")),
        ("name", (NAMED, "An okofor is a bird. Okofor!")),
        ("colour", ("The green door.", "The green door again. The blue sky.")),
        ("colour", ("Anna's coat was green. Anna left.", "Ben's blue coat hung there. Ben left.")),
        ("side", ("He raised his left arm.", "He raised his left arm again.")),
        ("title", ("They called for Dr. Holt.", "Doctor Holt answered.")),
        ("number", ("There were three keys.", "She took two or three keys.")),
        ("life", ("Then old Marek died. So Marek it was.", "She remembered how Marek walked in.")),
        ("kin", ("I have no children.", "I have no children, he said again.")),
    ],
)
def test_what_is_no_contradiction_is_left_alone(detector: str, texts: tuple[str, ...]) -> None:
    assert found(detector, *texts) == []


def test_passages_are_verbatim_and_focus_lies_in_them() -> None:
    found = scenes("He opened the green door.\n\nNobody spoke.", "“Look,” she said. The blue door stood ajar.")
    for one in candidates(found):
        for part in (one.before, one.after):
            text = found[part.scene - 1].text
            assert text[part.start : part.end] == part.quote
            assert part.start <= part.focus[0] < part.focus[1] <= part.end
            assert part.words in part.quote
    assert (one.before.scene, one.after.scene, one.before.words) == (1, 2, "green door")


def test_both_passages_may_lie_in_one_scene() -> None:
    (one,) = candidates(scenes("He opened the green door. Later the blue door stood ajar."), detectors=["colour"])
    assert one.inside
    assert one.before.start < one.after.start


def test_a_second_thing_and_a_new_coat_of_paint_are_not_tight() -> None:
    assert found("colour", "He opened the green door.", "The blue door stood ajar.", tight=True) == [("green", "blue")]
    assert found("colour", "He opened the green door.", "There was a blue door too.", tight=True) == []
    painted = ("He opened the green door.", "They had painted it. The blue door stood ajar.")
    assert found("colour", *painted, tight=True) == []
    assert found("colour", *painted) == [("green", "blue")]


def test_cues_are_told() -> None:
    (one,) = candidates(
        scenes("He opened the green door.", "They had painted it. The blue door stood ajar."), detectors=["colour"]
    )
    assert "change: painted" in one.cues


def test_a_screenplay_gives_speeches_to_their_speakers() -> None:
    script = "INT. HALL - DAY\n\nMARA\nI have no children.\n\nTOM (O.S.)\nA bell.\n\nMARA\n\nNot a bell.\n\nTOM: A dog."
    lines = Book.of(split(script).scenes).lines
    assert [(line.speaker, line.text) for line in lines] == [
        ("mara", "I have no children."),
        ("tom", "A bell."),
        ("mara", "Not a bell."),
        ("tom", "A dog."),
    ]


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("forty-two lamps", 42, "cardinal"),
        ("one hundred and forty minutes", 140, "cardinal"),
        ("fifty thousand dollars", 50_000, "cardinal"),
        ("a dozen eggs", 12, "cardinal"),
        ("half a dozen eggs", 6, "cardinal"),
        ("12,500 men", 12_500, "cardinal"),
        ("the twenty-third", None, "ordinal"),
        ("the 21st day", 21, "ordinal"),
        ("in 1887", 1887, "year"),
        ("at 8:15", 8.25, "time"),
        ("the forty-year-old man", 40, "cardinal"),
    ],
)
def test_numbers_are_read(text: str, value: float | None, kind: str) -> None:
    read = [(q.value, q.kind) for q in quantities(Book.of(scenes(text)).lines[0])]
    assert read == ([] if value is None else [(value, kind)])


def test_the_list_is_cut_fairly_and_says_so() -> None:
    text = " ".join(f"The {c} door. The {c} hat. The {c} cup." for c in ("red", "blue", "green", "black", "white"))
    whole = check(scenes(text, text.replace("The", "Her")), most=500)
    short = check(scenes(text, text.replace("The", "Her")), most=4)
    assert len(short.candidates) == 4
    assert short.cut == len(whole.candidates) - 4 > 0
    assert short.raised == whole.raised


def test_an_unknown_detector_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'colour'"):
        candidates(scenes("A bell."), detectors=["color"])


def test_the_same_story_gives_the_same_list() -> None:
    found = scenes(
        NAMED + "He opened the green door. Three keys lay there.", "Later Okofor took the five keys. The blue door."
    )
    assert candidates(found) == candidates(found)


def test_a_window_holds_both_passages_and_the_change_between() -> None:
    found = scenes(
        "It rained. He opened the green door. Nobody spoke.",
        "A dog barked. They had repainted the door. A cat slept. One sang. They ate. So it went. Day by day. "
        "It was cold. The blue door stood ajar. Then it closed.",
    )
    one = next(c for c in candidates(found, detectors=["colour"]))
    window = Windows(found).around(one, reach=1)
    assert window.before.quote == "It rained. He opened the green door. Nobody spoke."
    assert window.after.quote == "It was cold. The blue door stood ajar. Then it closed."
    assert [part.quote for part in window.between] == ["They had repainted the door."]
    assert window.words == sum(len(p.quote.split()) for p in (window.before, window.after, *window.between))


def test_clauses_are_told_in_the_papers_manner() -> None:
    one: Candidate = candidates(scenes("He opened the green door.", "The blue door stood ajar."), detectors=["colour"])[
        0
    ]
    assert (one.fact, one.event) == ("door being green", "door being blue")
