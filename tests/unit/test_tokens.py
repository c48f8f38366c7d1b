"""Tokenisers, stems, n-grams, sentence openings and spoken parts of texts."""

# ruff: noqa: RUF001 - the texts hold typographic marks

from __future__ import annotations

import random
import sys
from typing import Any

import pytest

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.stems import stem
from fabula.craft.tokens import TOKENISERS, opening_word, tokeniser
from fabula.evaluators.surface.repetition import TokenHashes, repeated
from fabula.story.speech import speech, spoken
from fabula.story.words import ngrams

TEXT = "“Yes,” the café-owner's Dog said — twice!"
_ENDINGS = (
    "ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti "
    "iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion "
    "ou ism ate iti ous ive ize ed ing eed ied ies s ss sses y ll e"
)


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("whitespace", ["“Yes,”", "the", "café-owner's", "Dog", "said", "—", "twice!"]),
        ("words", ["“", "Yes", ",", "”", "the", "café-owner's", "Dog", "said", "—", "twice", "!"]),
        ("rouge", ["yes", "the", "caf", "owner", "s", "dog", "said", "twice"]),
        ("rouge-stems", ["yes", "the", "caf", "owner", "s", "dog", "said", "twice"]),
    ],
)
def test_each_tokeniser_parts_a_text_its_own_way(name: str, tokens: list[str]) -> None:
    assert tokeniser(name)(TEXT) == tokens
    assert tokeniser(name)(" \n") == []


def test_stems_leave_words_of_three_letters_alone() -> None:
    assert tokeniser("rouge-stems")("Eat lamps skies") == ["eat", "lamp", "sky"]


def test_an_unknown_tokeniser_is_named_with_the_nearest() -> None:
    assert set(TOKENISERS) == {"whitespace", "words", "rouge", "rouge-stems", "spacy"}
    with pytest.raises(UnknownNameError, match=r"Unknown tokeniser 'white-space'\. Did you mean 'whitespace'"):
        tokeniser("white-space")


def test_without_spacy_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.craft.tokens._spacy", tokens_module()._spacy.__wrapped__)
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(UsageError, match=r"'spacy' needs the package spacy.*pip install .*\[spacy\]'"):
        tokeniser("spacy")("a b")


def tokens_module() -> Any:  # noqa: ANN401 - a module has no better type
    return sys.modules["fabula.craft.tokens"]


def test_stems_are_those_of_nltk() -> None:
    porter = pytest.importorskip("nltk.stem.porter", reason="nltk comes with rouge-score, the oracle: extra `dev`.")
    theirs, rng, endings = porter.PorterStemmer(), random.Random(5), _ENDINGS.split()  # noqa: S311 - words, not secrets
    words = [
        "skies",
        "dying",
        "news",
        "flies",
        "died",
        "tried",
        "agreed",
        "feed",
        "hopping",
        "failing",
        "happy",
        "enjoy",
    ]
    words += [
        "".join(rng.choices("abcdeiostlyyz1", k=rng.randint(0, 6))) + "".join(rng.choices(endings, k=rng.randint(0, 2)))
        for _ in range(8000)
    ]
    assert {word: stem(word) for word in words} == {word: theirs.stem(word) for word in words}


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("The lamp.", "the"),
        ("“I’m here,” he said.", "i"),
        ("  — *It* was late", "it"),
        ("A-levels are hard.", "a-levels"),
        ("3 men came.", "3"),
        ("* * *", ""),
        ("", ""),
    ],
)
def test_the_opening_word_of_a_sentence(sentence: str, word: str) -> None:
    assert opening_word(sentence) == word


def test_ngrams_of_a_short_text_are_none() -> None:
    assert list(ngrams(["a", "b", "c"], 2)) == [("a", "b"), ("b", "c")]
    assert list(ngrams(["a", "b"], 3)) == []
    with pytest.raises(ValueError, match="at least one token, not 0"):
        ngrams(["a"], 0)
    with pytest.raises(ValueError, match="at least one token, not 0"):
        TokenHashes().ngrams([], 0)


def test_codes_are_equal_where_ngrams_are_in_every_process() -> None:
    codes = [TokenHashes().ngrams(text.split(), 3) for text in ("a b c a b c d", "c a b", "a")]
    assert [len(code) for code in codes] == [5, 1, 0]
    assert codes[0][0] == codes[0][3]
    assert codes[0][2] == codes[1][0] == 0xD441A07091A9C3D3
    assert len(set(codes[0].tolist())) == 4
    assert repeated(codes[0]) == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('"Hello," he said. "Go."', ["Hello,", "Go."]),
        ("“Hello,” he said, “go.”", ["Hello,", "go."]),
        ("‘Go,’ he said. ‘The boys’ hats aren’t here.’", ["Go,", "The boys’ hats aren’t here."]),
        ("'I don't,' he said, 'think so.'", ["I don't,", "think so."]),
        ("« Bonjour », dit-il. «Oui.»", [" Bonjour ", "Oui."]),
        ("„Hallo“, sagte er. »Ja«, sie.", ["Hallo", "Ja"]),
        ("”Hej”, sa han.", ["Hej"]),
        ("``Yes ,'' he said .", ["Yes ,"]),
        ('" Hi , " he said . " Bye . "', [" Hi , ", " Bye . "]),
        ("「行く」と言った。", ["行く"]),
        ("“He said ‘no’ to me,” she said.", ["He said ‘no’ to me,"]),
        ("'Tis late. He's wanderin' in the boys' room.", []),
        ('It was 5" long.', []),
        ("Nothing is said.", []),
        ("", []),
    ],
)
def test_speech_in_marks_of_many_styles(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in speech(text)] == parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("“Not closed, and on it goes.\n\n“More,” she said.", ["Not closed, and on it goes.", "More,"]),
        ('"Not closed, he said. "Bye." She left.', ["Not closed, he said. ", "Bye."]),
        ('She said, "Wait\n\nThe wind rose.', ["Wait"]),
        ("‘First part.\n\n‘Second,’ he said. ‘Third.’", ["First part.", "Second,", "Third."]),
        ('“Mixed marks," he said.', ["Mixed marks,"]),
    ],
)
def test_speech_that_is_not_closed_costs_at_most_a_paragraph(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in speech(text)] == parts
    assert spoken(text) == "\n".join(parts)
