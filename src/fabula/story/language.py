"""The language of a text, determined from its script and its most common words."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final
from unicodedata import name

from fabula.base.remembering import remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAMPLE: Final = 20_000  # characters
_SCRIPTS: Final = {
    "ja": "\u3041-\u30ff",
    "zh": "\u3400-\u9fff",
    "ko": "\uac00-\ud7a3",
    "ru": "\u0400-\u04ff",
    "ar": "\u0600-\u06ff",
    "he": "\u05d0-\u05ea",
    "hi": "\u0900-\u097f",
    "bn": "\u0980-\u09ff",
    "ta": "\u0b80-\u0bff",
    "th": "\u0e01-\u0e4e",
    "el": "\u0370-\u03ff",
    "ka": "\u10a0-\u10ff",
    "hy": "\u0531-\u0587",
}
_LETTERS: Final = {tag: re.compile(f"[{letters}]") for tag, letters in _SCRIPTS.items()}
_OTHER: Final = re.compile(f"[{''.join(_SCRIPTS.values())}]")
_LATIN: Final = re.compile(r"[A-Za-zÀ-ɏ]")
_LATIN_WORDS: Final = re.compile(r"[A-Za-zÀ-ɏ]+")
_OWN: Final = {
    "uk": re.compile("[іїєґ]"),
    "fa": re.compile("[پچژگی]"),
}  # letters that the script's other language lacks
_COMMON: Final = {
    "en": "the and of to was he she it that his her with had not you for but is they at a on in story",
    "de": "der die das und ist nicht ein eine er sie es ich zu mit auf den dem war sich wie "
    "von einen einem einer des im aber als über geschichte erzählung schreibe wörter kapitel",
    "fr": "le la les et des est une il elle que dans pas je ne se du qui sur au avec "
    "un d l qu sa son ses ce histoire récit nouvelle mots écris chapitres environ",
    "es": "el la los las y que en un una no se su por con es lo del más pero como "
    "del al sobre historia cuento relato palabras escribe capítulos unas",
    "it": "il che di la un una non è si per con del della le gli ma come era sono lo "
    "da al dei delle e l racconto storia parole scrivi capitoli circa sul",
    "pt": "o que de a não um uma os as do da em se para com ela ele mais mas era "
    "na no ao e sobre história conto palavras escreve escreva capítulos cerca",
    "nl": "de het een en van ik niet dat zij hij is op te met was aan haar zijn voor er "
    "die om maar bij over verhaal woorden schrijf hoofdstukken ongeveer",
    "sv": "och att det som en han hon inte på är jag till med den för ett var hade om så",
    "da": "og det at en han hun ikke på er jeg til med den der et var havde af sig så",
    "no": "og det at en han hun ikke på er jeg til med den som et var hadde av seg så",
    "fi": "ja on ei hän se oli että en mutta kun niin mitä joka minä kuin vain sen nyt hänen ole",
    "pl": "i w nie się na że z do to jest jak o ale za co był go już jej po "
    "dla który która opowiadanie słów napisz rozdziałów około stron",
    "cs": "a se v na je že to s z do o jsem ale jak byl by si tak ve který",
    "tr": "bir ve bu da de için ne ama o çok gibi daha var ben mi kadar sonra değil diye her",
    "hu": "a az és hogy nem egy is volt de meg csak ez már mint ha el azt most még vagy",
    "ro": "și de în a la nu o pe că cu un din se mai care este ce dar era îi",
    "id": "yang dan di itu dengan tidak dari ini untuk dia ke pada aku akan ada sudah karena seperti saya kami",
    "vi": "và của là có không một người cho được trong những đã với này tôi khi anh cô ấy như",
}
_ENGLISH: Final = frozenset(f"{_COMMON['en']} i do go so me men am as no be".split())  # no sign of another language
_WORDS: Final = {
    tag: frozenset(words.split()) - (_ENGLISH if tag != "en" else frozenset()) for tag, words in _COMMON.items()
}
COMMON_WORDS: Final = _ENGLISH.union(*_WORDS.values())
"""The most common words of all languages that are known by their words."""
_ALPHABETS: Final = {  # letters beyond the basic Latin ones: the exemplar characters of CLDR
    "de": "äöüß",
    "fr": "àâæçéèêëîïôœùûüÿ",
    "es": "áéíñóúü",
    "it": "àèéìîòóù",
    "pt": "áàâãçéêíòóôõú",
    "nl": "áäèéëíïóöúü",
    "sv": "åäöéà",
    "da": "æøåé",
    "no": "æøåéàò",
    "fi": "åäö",
    "pl": "ąćęłńóśźż",
    "cs": "áčďéěíňóřšťúůýž",
    "tr": "çğıöşü",
    "hu": "áéíóöőúüű",
    "ro": "ăâîșțşţ",
    "vi": "àảãáạăằẳẵắặâầẩẫấậđèẻẽéẹêềểễếệìỉĩíịòỏõóọôồổỗốộơờởỡớợùủũúụưừửữứựỳỷỹýỵ",
}
_OWN_LETTERS: Final = {tag: frozenset(letters) for tag, letters in _ALPHABETS.items()}
_NAMES: Final = {
    "ar": "Arabic",
    "bn": "Bengali",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ka": "Georgian",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "ta": "Tamil",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
    "zh-Hant": "Chinese, in traditional characters",
}
_WORD: Final = re.compile(r"[^\W\d_]+")
_NAMED: Final = re.compile(  # "a story in German about"; not "a story of soldiers in German uniform"
    rf"\b(?:story|tale|novel|novella|text|fable|mystery|words|write|prose) in ({'|'.join(_NAMES.values())})"
    r"(?= (?:about|of|with|for|set|on|by|from|where|and|who)\b|[.,;:!?)\n]|\Z)"
)
_VOCABULARIES: Final = {
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
}
_COMPOUND, _FIRST_PART, _LAST_PART = 8, 3, 5  # letters of an unknown word of two, and of its first and its last part
_SHORT: Final = 12  # words of a brief whose few common words several languages may have
_LEAD: Final = 0.25  # of a language before the next one, in words that it alone has
_FEWEST: Final = 2  # common words, and one more where there are English ones; with fewer a text says nothing
_KANA: Final = 0.05  # of Japanese letters at least
_NOT_LATIN: Final = re.compile(r"[^\W\d_A-Za-zÀ-ɏ\u1e00-\u1eff]+")
_LATIN_SCRIPT: Final = "LATIN"
_EAST_ASIAN: Final = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH", "FULLWIDTH", "BOPOMOFO", "IDEOGRAPHIC"))
_SYMBOLS: Final = frozenset(  # with these begin the names of letters that belong to no script
    ("MICRO", "OHM", "KELVIN", "ANGSTROM", "MODIFIER", "SUPERSCRIPT", "SUBSCRIPT", "MATHEMATICAL", "SCRIPT", "DOUBLE")
)
_DENSE: Final = 3  # letters of an alphabet that say as much as one of these scripts
_PHRASE: Final = 4  # Latin words in a row that are no name and no loanword
_KNOWN: Final = 8_192  # letters whose script is remembered: more than a book in any script has


_BEYOND_ASCII: Final = frozenset[str]().union(*_OWN_LETTERS.values())


def language_of(text: str, otherwise: str = "en") -> str:
    """The language tag of most of `text`, such as "de"; `otherwise` if the language cannot be determined."""
    sample = text[:_SAMPLE]
    if _OTHER.search(sample) and (tag := _by_script(sample)):
        return tag
    found = _WORD.findall(sample)
    words = Counter(map(str.casefold, found))
    known = {tag: sum(words[word] for word in common & words.keys()) for tag, common in _WORDS.items()}
    foreign = [{*word} & _BEYOND_ASCII for word in found if not word.isascii() and word.islower()]
    for tag, letters in _OWN_LETTERS.items():
        known[tag] += sum(word <= letters for word in foreign if word)
    best = max(known, key=lambda one: known[one])
    return best if known[best] >= _FEWEST + bool(known["en"]) else otherwise


def language_of_brief(text: str) -> str:
    """The language tag of a brief: of the language that it names, or else of its words; "en" if neither is known.

    A short brief has few common words. The vocabularies of the sentence splitter's models decide then.
    """
    if named := _NAMED.search(text):
        return next(tag for tag, name in _NAMES.items() if name == named[1])
    tag = language_of(text, "")
    words = frozenset(map(str.casefold, _WORD.findall(text[:_SAMPLE])))
    if any(len(word) > _FEWEST for word in words & _WORDS["en"]) or (
        tag and (tag not in _VOCABULARIES or len(words) > _SHORT)
    ):
        return tag or "en"
    from punkt import load_model  # noqa: PLC0415 - reads the vocabularies

    # A name in the middle says nothing of the language, unless it is one that gives all nouns capitals.
    names = {word.casefold() for word in _WORD.findall(text[:_SAMPLE])[1:] if not word.islower()}
    known = {one: float(one != "en" and len(words & _WORDS[one])) for one in _VOCABULARIES}
    for word in words:
        having = [one for one, name in _VOCABULARIES.items() if word in load_model(name).ortho_context]
        if not having and len(word) > _COMPOUND:  # "Liefdesverhaal"
            ends = {word[at:] for at in range(_FIRST_PART, len(word) - _LAST_PART)}
            having = [one for one in ("de", "nl") if ends & load_model(_VOCABULARIES[one]).ortho_context.keys()]
        for one in {"de"}.intersection(having) if word in names else having:
            known[one] += 1 / len(having)
    *_, second, best = sorted(known, key=lambda one: known[one])
    return best if known[best] >= max(1, known[second] + _LEAD) else tag or "en"


def name_of(tag: str) -> str:
    """The English name of the language of a tag, such as "German" for "de" or "de-AT"; the tag if it is not known."""
    return _NAMES.get(tag) or _NAMES.get(tag.partition("-")[0], tag)


def counts_characters(tag: str) -> bool:
    """Whether the lengths of texts in this language are counted in characters: Chinese and Japanese."""
    return tag.partition("-")[0] in {"ja", "zh"}


def has_capitals(text: str) -> bool:
    """Whether most letters of a text are in a script that has capitals."""
    letters = list(filter(str.isalpha, text[:_SAMPLE]))
    return 2 * sum(letter.lower() != letter.upper() for letter in letters) >= len(letters)


def _by_script(sample: str) -> str:
    """The tag of the language of the script that most of a text is in; empty for a Latin one."""
    counts = {tag: len(letters.findall(sample)) for tag, letters in _LETTERS.items()}
    if counts["ja"] > _KANA * (counts["zh"] + counts["ja"]):
        counts["ja"] += counts["zh"]
    tag, most = max(counts.items(), key=lambda item: item[1])
    # Words of these scripts have fewer letters than Latin ones, and Latin names stand among them.
    if most and most > len(_LATIN.findall(sample)) // 4:
        return _variant(tag, sample)
    return ""


def _variant(tag: str, sample: str) -> str:
    if tag == "ru" and len(_OWN["uk"].findall(sample)) > len(sample) // 100:
        return "uk"
    if tag == "zh" and sum(map(_traditional, sample)) > 0:
        return "zh-Hant"
    if tag == "ar" and len(_OWN["fa"].findall(sample)) > len(sample) // 50:
        return "fa"
    return tag


@remembered(_KNOWN, 1)
def _traditional(letter: str) -> int:
    """1 for a character of the traditional script alone, -1 for one of the simplified: each has its own old code."""
    in_taiwan, on_the_mainland = (letter.encode(code, "ignore") != b"" for code in ("big5", "gb2312"))
    return in_taiwan - on_the_mainland


def script_of(text: str) -> str:
    """The Unicode name of the script of most of a text: "LATIN", "CYRILLIC", "CJK"; empty if it has no letters."""
    counts = Counter({_LATIN_SCRIPT: len(_LATIN.findall(text))})
    for match in _NOT_LATIN.finditer(text):
        script = _script(match[0][0])
        counts[script] += len(match[0]) * (_DENSE if script in {"CJK", "HANGUL"} else 1)
    counts.pop("", None)
    script, most = counts.most_common(1)[0]
    return script if most else ""


def in_other_scripts(text: str, sentences: Sequence[tuple[int, int]], known: Sequence[str]) -> list[tuple[int, int]]:
    """The sentences of a text that contain words in a script used neither in most of the text nor in a `known` text.

    A single Greek letter counts as a symbol; Latin names and loanwords are allowed in texts of any script.
    """
    main = script_of(text)
    own = {main, "", *(("CJK",) if main == "HANGUL" else ())}
    found = []
    for start, end in sentences:
        words = _NOT_LATIN.findall(text, start, end)
        other = [word for word in words if _script(word[0]) not in own and not (len(word) == 1 and _is_greek(word))]
        latin = _LATIN_WORDS.findall(text, start, end) if main != _LATIN_SCRIPT and not words else []
        if len(latin) >= _PHRASE:
            other.append(text[start:end])
        if any(not any(word in one for one in known) for word in other):
            found.append((start, end))
    return found


def _is_greek(letter: str) -> bool:
    return _script(letter) == "GREEK"


@remembered(_KNOWN, 1)
def _script(letter: str) -> str:
    first = re.split("[ -]", name(letter, ""), maxsplit=1)[0]
    return "CJK" if first in _EAST_ASIAN else "" if first in _SYMBOLS else first
