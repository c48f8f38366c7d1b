"""The words that are printed around a story, in its language: labels of chapters, a title page, a table of contents."""

# ruff: noqa: RUF001 - words of other languages

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Printed:
    """The words of one language; `{}` is a chapter's number, an author's name or a number of words.

    Attributes:
        contents: what stands above a table of contents.
        chapter: the label of a chapter without a title.
        by: the line with the author's name.
        about: the length of a manuscript, in words, or in characters where these are counted.
        end: the last line of a manuscript.
        untitled: what stands for a missing title.
        comma: what groups the digits of large numbers.
    """

    contents: str
    chapter: str = "{}"
    by: str = "{}"
    about: str = "≈ {}"
    end: str = "* * *"
    untitled: str = "* * *"
    comma: str = "\u00a0"


_PRINTED: Final = {
    "ar": Printed("المحتويات"),
    "cs": Printed("Obsah"),
    "da": Printed("Indhold"),
    "de": Printed("Inhalt", "Kapitel {}", "von {}", "etwa {} Wörter", "ENDE", "Ohne Titel", "."),
    "en": Printed("Contents", "Chapter {}", "by {}", "about {} words", "END", "Untitled", ","),
    "es": Printed("Índice", "Capítulo {}", "por {}", "unas {} palabras", "FIN", "Sin título", "."),
    "fi": Printed("Sisällys"),
    "fr": Printed("Table des matières", "Chapitre {}", "par {}", "environ {} mots", "FIN", "Sans titre"),
    "hi": Printed("विषय-सूची"),
    "it": Printed("Indice", "Capitolo {}", "di {}", "circa {} parole", "FINE", "Senza titolo", "."),
    "ja": Printed("目次", "第{}章", "{} 著", "約{}字", "終", "無題", ","),
    "ko": Printed("차례", "제{}장", "{} 지음", "약 {}단어", "끝", "무제", ","),
    "nl": Printed("Inhoud", "Hoofdstuk {}", "door {}", "ongeveer {} woorden", "EINDE", "Zonder titel", "."),
    "no": Printed("Innhold"),
    "pl": Printed("Spis treści", "Rozdział {}", "{}", "około {} słów", "KONIEC", "Bez tytułu"),
    "pt": Printed("Sumário", "Capítulo {}", "de {}", "cerca de {} palavras", "FIM", "Sem título", "."),
    "ru": Printed("Содержание", "Глава {}", "{}", "около {} слов", "КОНЕЦ", "Без названия"),
    "sv": Printed("Innehåll"),
    "th": Printed("สารบัญ"),
    "tr": Printed("İçindekiler"),
    "uk": Printed("Зміст"),
    "zh": Printed("目录", "第{}章", "{} 著", "约{}字", "完", "无题", ","),
    "zh-Hant": Printed("目錄", "第{}章", "{} 著", "約{}字", "完", "無題", ","),
}
_CHAPTER: Final = "kapitel|chapitre|cap[íi]tulo|capitolo|hoofdstuk|rozdział|глава"
_ORDINAL: Final = (
    "erstes|zweites|drittes|letztes|premier|deuxième|dernier|primer|segundo|tercer|último|primo|secondo|ultimo|"
    "primeiro|eerste|laatste|pierwszy|ostatni|первая|последняя"
)
_FOREIGN_CHAPTER: Final = re.compile(
    rf"(?:{_CHAPTER}) [^\W_][\w-]{{0,20}}(?:\s?[.:–—-][^.!?\n]{{0,80}})?|(?:{_ORDINAL}) (?:{_CHAPTER})|"
    r"第[\d０-９一二三四五六七八九十百〇零]{1,5}[章回节節話话](?:[\s:：][^。！？\n]{0,40})?|"
    r"제 ?\d{1,3} ?장(?:[\s:.][^.!?\n]{0,60})?",
    re.IGNORECASE,
)


def printed(language: str) -> Printed:
    """The words of a language, by its tag; signs and numbers alone for one that is not known."""
    base = language.partition("-")[0].lower()
    traditional = base == "zh" and bool(re.search(r"-(?:hant|tw|hk|mo)\b", language, re.IGNORECASE))
    return _PRINTED.get("zh-Hant" if traditional else base, Printed("* * *"))


def heads_foreign_chapter(line: str) -> bool:
    """Whether a line is the heading of a numbered chapter in another language than English, as models write it."""
    return _FOREIGN_CHAPTER.fullmatch(line.strip(" \t*_#")) is not None
