"""What is printed around a story in its language: labels of chapters, contents, title pages; and headings of models."""

# ruff: noqa: RUF001 - letters of other scripts are what is tested

from __future__ import annotations

import io
import re
import zipfile
from datetime import UTC, datetime

import pytest

from fabula.engine.replies import clean_prose
from fabula.story import Story
from fabula.story.export.docx import render as docx
from fabula.story.export.epub import render as epub
from fabula.story.export.meta import Meta
from fabula.story.export.plain import render_text
from fabula.story.language import language_of, name_of

# language, text, the label of chapter 2, the contents, the line of the author, the length, the end, an East Asian font
BOOKS = [
    ("de", "Der Wind kam.", "Kapitel 2", "Inhalt", "von Ida Lund", "etwa 1.200 Wörter", "ENDE", "Times New Roman"),
    (
        "fr",
        "Le vent vint.",
        "Chapitre 2",
        "Table des matières",
        "par Ida Lund",
        "environ 1\u00a0200 mots",
        "FIN",
        "Times",
    ),
    ("es", "Vino el viento.", "Capítulo 2", "Índice", "por Ida Lund", "unas 1.200 palabras", "FIN", "Times New Roman"),
    ("it", "Venne il vento.", "Capitolo 2", "Indice", "di Ida Lund", "circa 1.200 parole", "FINE", "Times New Roman"),
    ("pt-BR", "Veio o vento.", "Capítulo 2", "Sumário", "de Ida Lund", "cerca de 1.200 palavras", "FIM", "Times"),
    ("nl", "De wind kwam.", "Hoofdstuk 2", "Inhoud", "door Ida Lund", "ongeveer 1.200 woorden", "EINDE", "Times"),
    ("pl", "Przyszedł wiatr.", "Rozdział 2", "Spis treści", "Ida Lund", "około 1\u00a0200 słów", "KONIEC", "Times"),
    ("ru", "Пришёл ветер.", "Глава 2", "Содержание", "Ida Lund", "около 1\u00a0200 слов", "КОНЕЦ", "Times New Roman"),
    ("zh", "风来了。", "第2章", "目录", "Ida Lund 著", "约1,200字", "完", "SimSun"),
    ("zh-Hant", "風來了。", "第2章", "目錄", "Ida Lund 著", "約1,200字", "完", "PMingLiU"),
    ("ja", "風が来た。", "第2章", "目次", "Ida Lund 著", "約1,200字", "終", "MS Mincho"),
    ("ko", "바람이 왔다.", "제2장", "차례", "Ida Lund 지음", "약 1,200단어", "끝", "Batang"),
    ("en", "The wind came.", "Chapter 2", "Contents", "by Ida Lund", "about 1,200 words", "END", "Times New Roman"),
]
_ENGLISH = re.compile(r"\b(?:Chapter|Contents|by|about|words|END|Untitled)\b")


def parts(book: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        return {name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist()}


@pytest.mark.parametrize(("tag", "text", "chapter", "contents", "by", "about", "end", "font"), BOOKS)
def test_a_book_has_no_english_word_around_a_story_in_another_language(
    tag: str, text: str, chapter: str, contents: str, by: str, about: str, end: str, font: str
) -> None:
    story = Story("").add("Chapter 1", text).add("Chapter 2", text)
    meta = Meta(title="", author="Ida Lund", created=datetime(2026, 5, 1, tzinfo=UTC), words=1234, language=tag)
    nav = parts(epub(story, meta))["EPUB/nav.xhtml"]
    assert f">{chapter}<" in nav
    assert f"<h1>{contents}</h1>" in nav
    word = parts(docx(story, meta))
    printed = [re.sub("<[^>]+>", "", one) for one in word["word/document.xml"].split("</w:p>")]
    assert printed[0].endswith(about)
    assert by in printed
    assert end in printed
    assert f'w:eastAsia="{font}' in word["word/styles.xml"]
    assert "en-US" not in word["word/styles.xml"].replace('w:bidi="en-US"', "") or tag == "en"
    assert render_text(story, meta).decode().startswith(by)
    if tag != "en":
        for shown in (re.sub("<[^>]+>", " ", nav), *printed):
            assert not _ENGLISH.search(shown)


@pytest.mark.parametrize(
    "heading",
    [
        *(
            "Kapitel 1",
            "KAPITEL EINS",
            "**Kapitel 3: Der Turm**",
            "Erstes Kapitel",
            "Chapitre II",
            "Chapitre 4 – La mer",
        ),
        *("Premier chapitre", "Capítulo 1", "Capítulo primero", "Capitolo 2. Il mare", "Hoofdstuk twee", "Rozdział 5"),
        *("Глава 1", "Глава первая", "第一章", "第1章 灯塔", "第十二回", "第三章　海", "제1장", "제 2 장. 바다"),
    ],
)
@pytest.mark.parametrize("aids", [True, False])
def test_a_chapters_heading_that_a_model_writes_is_not_doubled(heading: str, *, aids: bool) -> None:
    text = "Der Wind kam vom Meer her. Niemand sprach davon."
    found = clean_prose(f"{heading}\n\n{text}", labels=("Chapter 1",), last=True, aids=aids)
    assert found.text == text
    assert [piece.kind for piece in found.dropped] == ["label"]


@pytest.mark.parametrize(
    "line",
    [
        "Kapitel um Kapitel las sie vor, bis das Licht ausging.",
        "Le chapitre 3 manquait.",
        "第一章她已经读过了，可是还想再读。",
        "제1장을 읽고 나서 그는 잠들었다.",
        "Глава семьи молчал.",
    ],
)
def test_a_sentence_about_a_chapter_stays(line: str) -> None:
    for aids in (True, False):
        assert clean_prose(f"{line}\n\n{line[:-1]}!", labels=(), last=True, aids=aids).text.startswith(line)


def test_traditional_chinese_has_its_own_tag_and_every_language_a_name() -> None:
    assert language_of("風從海上來，她說：「你們回來了。」") == "zh-Hant"
    assert language_of("风从海上来，她说：“你们回来了。”") == "zh"
    assert [name_of(tag) for tag in ("de", "de-AT", "zh-Hant", "zh-CN", "tlh")] == [
        *("German", "German", "Chinese, in traditional characters", "Chinese", "tlh"),
    ]


@pytest.mark.parametrize(
    ("brief", "tag"),
    [
        *(("Eine Geschichte von 10 Normseiten.", "de"), ("Racconto di 3 cartelle.", "it")),
        *(("Cuento de unas 5 páginas.", "es"), ("Une nouvelle d'environ 5 pages.", "fr")),
        *(("Um conto de cerca de 5 páginas.", "pt"), ("Een verhaal van ongeveer 5 pagina's.", "nl")),
        *(
            ("Opowiadanie na około 5 stron.", "pl"),
            ("Рассказ.", "ru"),
            ("一千字的小说。", "zh"),
            ("千字の短編。", "ja"),
        ),
        *(
            ("등대 이야기.", "ko"),
            ("Ghost story, 500 words.", "en"),
            ("A con man in a den.", "en"),
            ("On a hill", "en"),
        ),
        *(("Die Hard on a van.", "en"), ("The sea, the sea.", "en"), ("Mara is a nurse. No one knows.", "en")),
    ],
)
def test_the_language_of_a_short_brief_is_known(brief: str, tag: str) -> None:
    assert language_of(brief) == tag
