"""The language of short briefs, which have few common words."""

# ruff: noqa: RUF001 - marks of other scripts are what is tested

from __future__ import annotations

import pytest

from fabula.story.language import language_of_brief
from fabula.story.sentences import sentences


@pytest.mark.parametrize(
    ("brief", "tag"),
    [
        ("Ein Uhrmacher verliert sein Gedächtnis.", "de"),
        ("Un horloger perd la mémoire.", "fr"),
        ("Un relojero pierde la memoria.", "es"),
        ("Un orologiaio perde la memoria.", "it"),
        ("Um relojoeiro perde a memória.", "pt"),
        ("Een klokkenmaker verliest zijn geheugen.", "nl"),
        ("Zegarmistrz traci pamięć.", "pl"),
        ("一个修表匠失去了记忆。", "zh"),
        ("A clockmaker loses his memory.", "en"),
        ("Love story in Leeds", "en"),
        ("Liefdesverhaal in Gent", "nl"),
        ("Familiegeschiedenis in Brugge", "nl"),
        ("Gespenstergeschichte in Wien", "de"),
        ("Write a story in German about a clockmaker.", "de"),
        ("A story of a soldier in German uniform.", "en"),
        ("Misdaadverhaal in Marseille met inspecteur Dubois", "nl"),
        ("Novela negra en Chicago con el detective O'Hara", "es"),
        ("Kawiarnia była pusta.", "pl"),
        ("雨夜，一封沒有署名的信", "zh-Hant"),
        ("兩姊妹爭一份遺產", "zh-Hant"),
        ("", "en"),
    ],
)
def test_a_short_brief_has_the_language_of_its_words_or_the_one_it_names(brief: str, tag: str) -> None:
    assert language_of_brief(brief) == tag


@pytest.mark.parametrize(
    "text", ["Er aß Äpfel usw. und ging.", "Comprò vino, ecc. e tornò.", "Kupił chleb itd. i wrócił."]
)
def test_no_sentence_begins_with_a_small_letter_behind_an_abbreviation(text: str) -> None:
    assert sentences(text) == [text]
