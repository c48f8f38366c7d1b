"""Word ranges in briefs and flags, sentences, trimming, and writing to a length."""

# ruff: noqa: RUF001 - typographic quotation marks are what is tested

from __future__ import annotations

from itertools import pairwise

import pytest

from fabula.base.errors import UsageError
from fabula.craft.length import (
    WordRange,
    asked_range,
    parse_range,
    read_range,
    revise_to_length,
    trim,
    write_to_length,
)
from fabula.story import Brief, count_words
from fabula.story.sentences import ends_whole, paragraphs, sentences, spans


@pytest.mark.parametrize(
    ("brief", "low", "high"),
    [
        ("The story should be between 1,300 and 1,350 words and should be funny.", 1300, 1350),
        ("Keep it to 1,300-1,350 words.", 1300, 1350),
        ("It runs 1200 to 1300 words.", 1200, 1300),
        ("800–1,000 words long", 800, 1000),
        ("between five hundred and six hundred words", 500, 600),
        ("1.5k-2k words", 1500, 2000),
        ("1-2k words", 1000, 2000),
        ("a 1300 to 1350-word story", 1300, 1350),
        ("The story should be about 950 words and be a science fiction story.", 855, 1045),
        ("around 950 words", 855, 1045),
        ("approximately 950 words", 855, 1045),
        ("roughly 950 words", 855, 1045),
        ("950 words.", 855, 1045),
        ("a 500-word story", 450, 550),
        ("2k words", 1800, 2200),
        ("two thousand words", 1800, 2200),
        ("twenty-five hundred words", 2250, 2750),
        ("a thousand words", 900, 1100),
        ("Length: 1200 words", 1080, 1320),
        ("Word count: 500-600.", 500, 600),
        ("with a word count of about 1500.", 1350, 1650),
        ("at least 2,000 words", 2000, 2500),
        ("500 words minimum", 500, 625),
        ("at most 500 words", 375, 500),
        ("no more than 500 words", 375, 500),
        ("under 500 words", 375, 500),
        ("up to 500 words", 375, 500),
        ("must not exceed 500 words", 375, 500),
        ("in 300 words or less", 225, 300),
        ("at least 500 words and at most 700 words", 500, 700),
        ("exactly 1000 words", 1000, 1000),
        ("The story should be 3 pages long.", 1080, 1320),
        ("a three-page story", 1080, 1320),
        ("Two men find 3 pages of a diary after 1,000 years. The story is 800 words.", 720, 880),
        ("between 500 and 700 words, with a letter of 100 words in it", 500, 700),
    ],
)
def test_a_brief_says_how_long_the_story_is(brief: str, low: int, high: int) -> None:
    wanted = read_range(brief)
    assert wanted is not None
    assert (wanted.low, wanted.high) == (low, high)
    assert low <= wanted.target <= high


@pytest.mark.parametrize(
    "brief",
    [
        "A story set 1,000 years ago about 12 knights.",
        "He finds 3 pages of a diary.",
        "In a couple of words, he refuses; she answers in three words.",
        "A story about a lighthouse.",
        "Covid-19, 40 days at sea, chapter 3.",
    ],
)
def test_numbers_of_other_things_are_no_length(brief: str) -> None:
    assert read_range(brief) is None


@pytest.mark.parametrize(
    ("flag", "low", "high"),
    [
        ("1300-1350", 1300, 1350),
        ("1,300–1,350", 1300, 1350),
        ("~950", 855, 1045),
        ("950", 855, 1045),
        (" 950 words", 855, 1045),
        ("<=500", 375, 500),
        (">=2000", 2000, 2500),
        ("2k", 1800, 2200),
    ],
)
def test_a_flag_says_it_too(flag: str, low: int, high: int) -> None:
    wanted = parse_range(flag)
    assert (wanted.low, wanted.high) == (low, high)


@pytest.mark.parametrize("flag", ["", "x", "0", "500-300", "~1-2", "ten", "1300-1350-1400", "-5", "9" * 30, "1,2"])
def test_a_wrong_flag_is_told_with_what_to_write(flag: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_range(flag)
    assert repr(flag) in str(caught.value)


def test_sections_that_are_cut_share_what_is_left_and_the_last_gets_exactly_the_rest() -> None:
    whole = WordRange.between(1300, 1350)
    first = whole.of_sections([1, 2, 2, 1, 1], [], cut=True)
    assert first.target == round(1325 / 7)
    assert first.low < first.target < first.high
    assert not first.exact
    assert whole.of_sections([2, 2, 1, 1], [289], cut=True).target == round((1325 - 289) / 3)
    assert whole.of_sections([1], [300, 300, 300, 200], cut=True) == WordRange(200, 250, 225, exact=True)
    spent = whole.of_sections([1], [2000], cut=True)
    assert (spent.low, spent.high) == (1, 1)
    assert whole.of_sections([0, 0], [], cut=True).target == round(1325 / 2)


WEIGHTS = [0.2, 0.25, 0.2, 0.175, 0.175]
WHOLES = [WordRange.about(900), WordRange.between(850, 950), WordRange.between(1300, 1350), WordRange.about(4000)]


@pytest.mark.parametrize("whole", WHOLES, ids=str)
@pytest.mark.parametrize("over", [0.85, 0.95, 1, 1.1, 1.2])
@pytest.mark.parametrize("known", [True, False])
def test_what_is_over_is_shared_by_all_sections_to_come_and_the_whole_stays_in_its_range(
    whole: WordRange,
    over: float,
    known: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    written: list[int] = []
    for at, weight in enumerate(WEIGHTS):
        band = whole.of_sections(WEIGHTS[at:], written, before=WEIGHTS[:at] if known else ())
        last = at + 1 == len(WEIGHTS)
        assert band.high - band.target == band.target - band.low
        assert last or (band.target % 5 == 0 and band.low % 5 == 0)
        assert band.high - band.target >= 0.12 * band.target or (
            last and band.high - band.low <= whole.high - whole.low
        )
        assert not known or band.target > 0.5 * weight * whole.target
        written.append(max(min(round(band.target * over), int(band.high * 1.05)), band.low))  # 5 % pass in silence
    assert whole.accepts(sum(written))
    assert not whole.exact or whole.holds(sum(written))


def test_sections_keep_their_planned_words_while_the_whole_stays_well_inside_its_range() -> None:
    whole = WordRange.about(900)
    assert str(whole.of_sections([175, 160], [190, 200, 200], before=[180, 200, 185])) == (
        "about 175 words, between 150 and 200"
    )
    assert whole.of_sections([160, 160, 160], [300, 300], before=[200, 200]).target == 130


def test_an_ending_does_not_pay_for_the_beginning() -> None:
    assert WordRange.about(900).of_sections([180], [1000], before=[720]) == WordRange.band(90)  # nothing is left
    whole, planned, asked = WordRange.about(5000), [1050, 1000, 950, 1050, 1200], list[int]()
    for at in range(len(planned)):
        done = [round(1.08 * words) for words in asked]
        asked.append(whole.of_sections(planned[at:], done, before=planned[:at]).target)
    shares = [one / words for one, words in zip(asked, planned, strict=True)]
    assert shares[:2] == [1.0, 1.0], "nothing is squeezed while the whole stays within a tenth"
    assert min(shares) > 0.85
    assert shares[4] > shares[3] - 0.05, "and then evenly, not the ending alone"


def test_a_band_is_round_and_never_narrow() -> None:
    said = {words: str(WordRange.band(words)) for words in (60, 174, 263, 1012)}
    assert said == {
        60: "about 60 words, between 50 and 70",
        174: "about 175 words, between 150 and 200",
        263: "about 260 words, between 220 and 300",
        1012: "about 1010 words, between 860 and 1160",
    }


DIALOGUE = (
    '"Where are you going?" she said. "Home... or somewhere." Mr. Tor laughed, e.g. at 5 p.m. every day.\n\n'
    '“Stop!” Maren cried. “I won’t... not today.” He went. "No!" the old man said. The U.S. Navy knew.\n'
    "It was late.\nAnd then\nit rained."
)


def test_sentences_keep_speech_and_its_tag_together() -> None:
    assert sentences(DIALOGUE) == [
        '"Where are you going?" she said.',
        '"Home... or somewhere."',
        "Mr. Tor laughed, e.g. at 5 p.m. every day.",
        "“Stop!” Maren cried.",
        "“I won’t... not today.”",
        "He went.",
        '"No!" the old man said.',
        "The U.S. Navy knew.",
        "It was late.",
        "And then\nit rained.",
    ]
    assert len(paragraphs(DIALOGUE)) == 2


def test_between_two_spans_stands_white_space_only() -> None:
    found = spans(DIALOGUE)
    gaps = [DIALOGUE[a[1] : b[0]] for a, b in pairwise(found)]
    assert not "".join(gaps).strip()
    assert spans("") == spans(" \n\n ") == []


@pytest.mark.parametrize("text", ["He left.", 'He left."', "Left?!”", "“But I—”", "so…", "It is over.)"])
def test_whole_ends(text: str) -> None:
    assert ends_whole(text)


@pytest.mark.parametrize("text", ["He left", "He left,", "He said:", "He saw Mr.", "", "and —"])
def test_ends_that_are_not_whole(text: str) -> None:
    assert not ends_whole(text)


TEXT = "\n\n".join(
    " ".join(f"Sentence {p}{s} has {'just ' * s}six words." for s in range(3)) for p in ("a", "b", "c", "d")
)


def test_trimming_takes_whole_sentences_from_the_end() -> None:
    short = trim(TEXT, 25, low=20, keep_end=False)
    assert short.startswith("Sentence a0 has")
    assert TEXT.startswith(short)
    assert 20 <= count_words(short) <= 25
    assert ends_whole(short)


def test_trimming_keeps_the_end_and_opens_the_middle() -> None:
    short = trim(TEXT, 45, low=38, keep_end=True)
    assert short.startswith("Sentence a0 has")
    assert short.endswith("Sentence d2 has just just six words.")
    assert 38 <= count_words(short) <= 45
    assert "\n\n" in short


def test_one_gap_opens_where_only_one_fits() -> None:
    text = "One two three four five. One two three. One two three four five six seven. One two three four."
    assert trim(text, 9, low=9, keep_end=True) == "One two three four five. One two three four."
    assert trim(text, 12, low=12, keep_end=False) == "One two three four five. One two three. One two three four."


def test_trimming_leaves_short_texts_and_never_cuts_a_sentence() -> None:
    assert trim(TEXT, 1000, low=1, keep_end=False) == TEXT
    assert trim("One two three four. Five six.", 2, low=1, keep_end=False) == "One two three four."


def test_trimming_does_not_tear_a_speech_where_it_can_help_it() -> None:
    text = 'He came in at last. "Sit down. You are late. We all ate." She had nothing more to say to him now.'
    short = trim(text, 14, low=10, keep_end=False)
    assert short.count('"') in {0, 2}


async def run(
    first: str, more: list[str], want: WordRange, *, keep_end: bool = False, tries: int = 3
) -> tuple[str, int, bool]:
    asked: list[int] = []

    async def write(words: int) -> str:
        assert words == max(want.high, 15)  # fewer are not asked for
        return first

    async def extend(text: str, words: int, attempt: int) -> str:
        assert ends_whole(text) or not text
        assert words >= 15
        asked.append(attempt)
        return more[attempt - 1] if attempt <= len(more) else ""

    fitted = await write_to_length(write, extend, want, tries=tries, keep_end=keep_end)
    assert asked == list(range(1, len(asked) + 1))
    assert fitted.tries == 1 + len(asked)
    assert fitted.words == count_words(fitted.text)
    return fitted.text, fitted.tries, fitted.inside


async def test_a_text_inside_is_asked_for_once() -> None:
    assert await run("One two three.", [], WordRange.between(2, 4)) == ("One two three.", 1, True)


async def test_a_short_text_is_continued_with_new_sentences_only() -> None:
    text, tries, inside = await run(
        "The lamp went out.", ["The lamp went out. It came back at dawn. And th"], WordRange.between(8, 10)
    )
    assert text == "The lamp went out. It came back at dawn."
    assert (tries, inside) == (2, True)


async def test_continuations_without_anything_new_are_failed_tries() -> None:
    text, tries, inside = await run("The lamp went out.", ["The lamp went out."] * 9, WordRange.between(8, 10))
    assert (text, tries, inside) == ("The lamp went out.", 4, False)


async def test_helpful_continuations_may_be_many_but_are_bounded() -> None:
    more = [f"The keeper climbed step number {n}." for n in range(40)]
    _, tries, inside = await run("The lamp went out.", more, WordRange.between(55, 60))
    assert inside
    assert tries == 10
    _, tries, inside = await run("The lamp went out.", more, WordRange.between(550, 600))
    assert not inside
    assert tries == 1 + 3 * 6


async def test_an_empty_first_version_can_be_made_up_for() -> None:
    text, _, inside = await run("no end", ["It began at last."], WordRange.between(3, 5))
    assert (text, inside) == ("It began at last.", True)


async def test_an_ending_stays_when_too_much_was_written() -> None:
    first = TEXT + "\n\nAnd so it ended well."
    text, tries, inside = await run(first, [], WordRange.between(40, 44), keep_end=True)
    assert (tries, inside) == (1, True)
    assert text.endswith("And so it ended well.")


# what a prompt says, and texts that their own model shortens ----------------------------------------------------------


@pytest.mark.parametrize(
    ("want", "said"),
    [
        (WordRange(160, 190, 175, exact=False), "about 175 words, between 160 and 190"),
        (WordRange.between(900, 900), "exactly 900 words"),
        (WordRange(1, 40, 20, exact=False), "at most 40 words"),
        (WordRange(1, 1, 1, exact=True), "at most 15 words"),
    ],
)
def test_a_prompt_is_given_the_target_with_its_band(want: WordRange, said: str) -> None:
    assert str(want) == said


def test_a_text_may_go_5_percent_beyond_its_range_and_not_stay_below_it() -> None:
    want = WordRange.between(160, 200)
    assert [want.accepts(words) for words in (159, 160, 200, 210, 211)] == [False, True, True, True, False]


def test_the_words_of_the_setting_stand_for_those_of_the_brief() -> None:
    brief = Brief("A story of about 100 words.")
    assert asked_range(brief) == WordRange.about(100)
    assert asked_range(brief, "300-400") == WordRange.between(300, 400)
    assert asked_range(Brief("A story.")) is None


async def revised(first: str, more: list[str], shorter: list[str], want: WordRange) -> tuple[str, list[str], bool]:
    calls: list[str] = []

    async def write(words: int) -> str:
        assert words == max(want.target, 15)
        return first

    async def extend(text: str, words: int, attempt: int) -> str:
        assert attempt == len(calls) + 1
        assert words >= 15
        calls.append("extend")
        return more.pop(0) if more else ""

    async def shorten(text: str, attempt: int) -> str:
        assert attempt == len(calls) + 1
        calls.append("shorten")
        return shorter.pop(0) if shorter else text

    fitted = await revise_to_length(write, extend, shorten, want)
    assert (fitted.tries, fitted.words, fitted.removed) == (1 + len(calls), count_words(fitted.text), ())
    return fitted.text, calls, fitted.inside


async def test_nothing_of_a_text_is_cut_or_taken_out_by_rule() -> None:
    refrain = "The sea does not answer. The sea does not answer. You climb and do not"
    text, calls, inside = await revised(refrain, ["The sea does not answer."], [], WordRange.between(17, 22))
    assert (text, calls, inside) == (f"{refrain} The sea does not answer.", ["extend"], True)


async def test_a_text_that_is_too_long_is_shortened_from_its_nearest_version() -> None:
    first, second, third = ("word " * n for n in (60, 5, 21))
    text, calls, inside = await revised(first, [], [second, third], WordRange.between(18, 22))
    assert (count_words(text), inside) == (21, True)
    assert calls == ["shorten", "shorten"]  # one of 5 words has lost too much


async def test_a_model_that_does_not_shorten_is_asked_three_times_at_most() -> None:
    text, calls, inside = await revised("word " * 60, [], [], WordRange.between(18, 22))
    assert (count_words(text), calls, inside) == (60, ["shorten"] * 3, False)


async def test_a_model_that_does_not_go_on_is_asked_four_times() -> None:
    _, calls, inside = await revised("One two.", [], [], WordRange.between(18, 22))
    assert (calls, inside) == (["extend"] * 4, False)


async def test_a_continuation_that_begins_with_the_whole_text_brings_only_what_follows() -> None:
    text, _, _ = await revised("One two three.", ["One two three. Four five."], [], WordRange.between(5, 6))
    assert text == "One two three. Four five."


@pytest.mark.parametrize(
    ("brief", "low", "high"),
    [
        ("Tell it backwards, in four scenes of about 225 words each (900 in all).", 810, 990),
        ("Five letters of 200 words each.", 900, 1100),
        ("Three chapters, each about 300 words long.", 810, 990),
        ("Four scenes, 225 words per scene.", 810, 990),
        ("Each of the four scenes has 200 words.", 720, 880),
        ("Between 800 and 900 words, in four scenes of 200 words each.", 800, 900),
        ("Told on each of three mornings, in about 900 words.", 810, 990),
        ("A 500-word story in which each day is worse.", 450, 550),
    ],
)
def test_the_words_of_each_part_are_not_the_storys(brief: str, low: int, high: int) -> None:
    wanted = read_range(brief)
    assert wanted is not None
    assert (wanted.low, wanted.high) == (low, high)


def test_the_words_of_each_of_unknown_many_parts_say_nothing_of_the_whole() -> None:
    assert read_range("Scenes of about 200 words each.") is None
