"""Words, sentences, quotations and cleaning in other languages than English."""

# ruff: noqa: RUF001 - typographic marks and letters of other scripts are what is tested

from __future__ import annotations

import pytest

from fabula.craft.length import WordRange, revise_to_length, trim
from fabula.engine.replies import clean_prose, fault_of
from fabula.engine.replies.chatter import clearly_closes, clearly_opens
from fabula.engine.replies.turns import read_turn
from fabula.story import count_words
from fabula.story.people import present_in
from fabula.story.sentences import as_sentence, ends_whole, sentences, spans, whole_sentences
from fabula.story.speech import spoken, unclosed
from fabula.story.words import joined
from tongues import PARAGRAPHS

TEXTS = {
    tongue: "\n\n".join(one.format(n=7 + 11 * at) for at, one in enumerate(texts))
    for tongue, texts in PARAGRAPHS.items()
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("她数着浪，一句话也不说……", 13),
        ("老妇人说hello，3次。", 9),
        ("マラは真鍮に手を置き、波を数える。", 17),
        ("라면을 먹고 갈래?", 3),
        ("वह लहरें गिनती है।", 4),
        ("مَن ملأ الساعة؟", 3),
        ("บันไดขั้นที่เย็นเฉียบ", 5),
        ("L'heure n'est plus — dit-elle.", 4),
        ("— Куда? — спросил он.", 3),
    ],
)
def test_words_are_counted_as_their_languages_count_them(text: str, words: int) -> None:
    assert count_words(text) == words


@pytest.mark.parametrize("tongue", TEXTS)
def test_a_small_models_clean_reply_keeps_every_sign_in_any_language(tongue: str) -> None:
    for aids in (True, False):
        for last in (True, False):
            found = clean_prose(TEXTS[tongue], labels=("Exposition",), last=last, aids=aids)
            assert (found.text, found.dropped) == (TEXTS[tongue], ())


@pytest.mark.parametrize("tongue", TEXTS)
def test_a_reply_in_any_language_is_a_reply_and_no_chatter(tongue: str) -> None:
    assert not fault_of(TEXTS[tongue], "Write the story.", ["Write the story."], least=10)
    for sentence in sentences(TEXTS[tongue]):
        assert not clearly_opens(sentence, tongue)
        assert not clearly_closes(sentence, tongue)
    assert ends_whole(TEXTS[tongue])


@pytest.mark.parametrize("tongue", sorted(TEXTS.keys() - {"th"}))  # Thai sentences end without a sign
def test_a_reply_that_was_cut_off_is_cut_back_to_its_last_whole_sentence(tongue: str) -> None:
    whole = TEXTS[tongue]
    start, end = spans(whole)[-1]
    cut = whole[: (start + end) // 2]
    found = clean_prose(cut, labels=(), last=True, aids=False, finish="length").text
    assert found == whole_sentences(cut)
    assert ends_whole(found)
    assert whole.startswith(found.rstrip("“»”"))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("她走了。海很黑！谁来了？没有人。", ["她走了。", "海很黑！", "谁来了？", "没有人。"]),
        ("“你回来了。”她说。门开了。", ["“你回来了。”她说。", "门开了。"]),
        ("「行こう。」とマラは言った。波が来る。", ["「行こう。」とマラは言った。", "波が来る。"]),
        ("वह गया। कोई नहीं आया।", ["वह गया।", "कोई नहीं आया।"]),
        ("هل عدت؟ لا أحد.", ["هل عدت؟", "لا أحد."]),
        ("„Komm!“ sagt sie. Er kommt.", ["„Komm!“ sagt sie.", "Er kommt."]),
        ("« Viens ! » dit-elle. Il vient.", ["« Viens ! » dit-elle.", "Il vient."]),
        ("— Куда? — спросил он. Ветер стих.", ["— Куда? — спросил он.", "Ветер стих."]),
        ("¿Vienes? —preguntó ella. No vino.", ["¿Vienes? —preguntó ella.", "No vino."]),
    ],
)
def test_sentences_end_where_their_languages_end_them(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@pytest.mark.parametrize(
    "end",
    [
        "他走了。”",
        "«Он ушёл!»",
        "« Il part. »",
        "»Er geht.«",
        "„Er geht.“",
        "「行く」",
        "वह गया।",
        "هل عدت؟",
        "走了……",
        "กลับบ้าน",
    ],
)
def test_a_text_that_ends_so_is_whole(end: str) -> None:
    assert ends_whole(end)


@pytest.mark.parametrize("cut", ["他走", "Он ушёл и", "Er geht und", "वह", "هل عدت", "– sagte er", "走了，"])
def test_a_text_that_ends_so_is_not(cut: str) -> None:
    assert not ends_whole(cut)


@pytest.mark.parametrize("mark", ["」", "』"])
def test_a_closing_corner_mark_alone_opens_no_speech(mark: str) -> None:
    assert spoken(f"彼は{mark}黙った。") == ""
    assert spoken(f"{mark}「行く。」と言った。") == "行く。"
    assert unclosed(f"彼は{mark}黙った。") == ""


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("„Komm her“, sagt sie.", ""),
        ("„Komm her, sagt sie.", "“"),
        ("»Komm her«, sagt sie.", ""),
        ("»Komm her, sagt sie.", "«"),
        ("« Viens », dit-elle.", ""),
        ("«\u202fViens, dit-elle.", "\u202f»"),
        ("«Иди!» — сказал он.", ""),
        ("«Иди! — сказал он.", "»"),
        ("”Kom”, sa hon.", ""),
        ("“Come,” she said.", ""),
        ("“Come, she said.", "”"),
        ('"Come," she said. "Now', '"'),
        ("“你来", "”"),
        ("「行こう", "」"),
        ("— Viens, dit-elle.", ""),
    ],
)
def test_only_speech_that_is_open_is_closed_and_with_its_own_mark(text: str, mark: str) -> None:
    assert unclosed(text) == mark


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("她走了", "她走了。"),
        ("वह गया", "वह गया।"),
        ("Она ушла", "Она ушла."),
        ("她走了！", "她走了！"),
        ("กลับบ้าน", "กลับบ้าน"),
        ("»Komm!«", "»Komm!«"),
    ],
)
def test_a_full_stop_is_that_of_the_language(text: str, full: str) -> None:
    assert as_sentence(text) == full


def test_chinese_sentences_are_joined_and_trimmed_without_blanks() -> None:
    assert joined("她走了。", "海很黑。") == "她走了。海很黑。"
    assert joined("She left.", "It was dark.") == "She left. It was dark."
    text = "".join(f"第{n}级台阶很冷，风从海上来，没有人说话。" for n in range(12))
    short = trim(text, 120, low=90, keep_end=True)
    assert 90 <= count_words(short) <= 120
    assert " " not in short


async def test_a_chinese_text_of_the_words_asked_is_left_as_it_is() -> None:
    text = "第一级台阶很冷，风从海上来，没有人说话。" * 15

    async def write(words: int) -> str:
        return text

    async def never(*_: object) -> str:
        raise AssertionError

    fitted = await revise_to_length(write, never, never, WordRange.about(300))
    assert (fitted.text, fitted.inside, fitted.tries) == (text, True, 1)


def test_a_chinese_character_is_found_in_a_text_without_blanks() -> None:
    assert present_in(["小宝", "玛拉"], "守灯塔的老妇人和男孩小宝在等。") == ("小宝",)


def test_a_name_before_a_chinese_turn_is_no_part_of_it() -> None:
    assert read_turn("小宝：你回来了。", "小宝", ["玛拉"]) == "你回来了。"
