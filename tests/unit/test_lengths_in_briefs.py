"""How long a story is to be, in the words of people who write in several languages, and what is no length."""

# ruff: noqa: RUF001 - signs and letters as people type them

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from fabula.base.errors import UsageError
from fabula.craft import numbers
from fabula.craft.length import asked_length, read_range
from fabula.story import Brief
from growth import LINEAR, growth

WHOLE = [
    # In twelve languages
    ("Eine Erzählung. Sie soll 800 Wörter lang sein.", 720, 880),
    ("Une histoire. Elle fera 800 mots.", 720, 880),
    ("Она должна быть 500 слов.", 450, 550),
    ("between a thousand and twelve hundred words", 1000, 1200),
    ("da 1.000 a 1.200 parole", 1000, 1200),
    ("Maximal drei Seiten! Ein Hund läuft weg.", 900, 1200),
    ("편지 다섯 통, 각 200단어", 900, 1100),
    ("Límite: 800 palabras", 600, 800),
    ("mindestens zweieinhalbtausend Wörter", 2500, 3125),
    ("bis zu 900 Wörter", 675, 900),
    ("nicht über 700 Wörter", 525, 700),
    ("Ein Krimi, maximal 1.200 Wörter", 900, 1200),
    ("Ein Dutzend Seiten über einen Hund", 4320, 5280),
    ("ab 500 Wörtern", 500, 625),
    ("zwischen 600 und 800 Wörtern", 600, 800),
    ("vier Kapitel mit je 700 Wörtern", 2520, 3080),
    ("Umfang ca. 3 Seiten", 1080, 1320),
    ("un millier de mots", 900, 1100),
    ("deux mille cinq cents mots", 2250, 2750),
    ("une quinzaine de pages", 5400, 6600),
    ("sans dépasser 700 mots", 525, 700),
    ("de 800 à 900 mots", 800, 900),
    ("trois chapitres de 800 mots chacun", 2160, 2640),
    ("Un conte de trois pages avec un loup", 1080, 1320),
    ("dos mil quinientas palabras", 2250, 2750),
    ("una docena de páginas sobre el mar", 4320, 5280),
    ("no más de 900 palabras", 675, 900),
    ("entre 900 y 1.000 palabras", 900, 1000),
    ("tres capítulos de 700 palabras cada uno", 1890, 2310),
    ("un millar de palabras", 900, 1100),
    ("un migliaio di parole", 900, 1100),
    ("una decina di pagine su un cane", 3600, 4400),
    ("tra 500 e 700 parole", 500, 700),
    ("dalle 300 alle 400 parole", 300, 400),
    ("al massimo 900 parole", 675, 900),
    ("non meno di 900 parole", 900, 1125),
    ("quattro capitoli da 700 parole", 2520, 3080),
    ("uma dúzia de páginas sobre o mar", 4320, 5280),
    ("não mais de 700 palavras", 525, 700),
    ("dois mil e quinhentas palavras", 2250, 2750),
    ("quatro capítulos de 700 palavras cada", 2520, 3080),
    ("cerca de três páginas", 1080, 1320),
    ("anderhalfduizend woorden", 1350, 1650),
    ("hooguit 700 woorden", 525, 700),
    ("minimaal 900 woorden", 900, 1125),
    ("een tiental pagina's over de zee", 3600, 4400),
    ("vier hoofdstukken van elk 700 woorden", 2520, 3080),
    ("500 à 600 woorden", 500, 600),
    ("dwa i pół tysiąca słów", 2250, 2750),
    ("do 700 słów", 525, 700),
    ("najwyżej 700 słów", 525, 700),
    ("przynajmniej 900 słów", 900, 1125),
    ("trzy strony o psie", 1080, 1320),
    ("cztery rozdziały po 700 słów", 2520, 3080),
    ("od 300 do 400 słów", 300, 400),
    ("две с половиной тысячи слов", 2250, 2750),
    ("до 700 слов", 525, 700),
    ("от 900 слов", 900, 1125),
    ("три страницы про собаку", 1080, 1320),
    ("четыре главы по 700 слов", 2520, 3080),
    ("слов на 700", 630, 770),
    ("两千五百字左右", 2250, 2750),
    ("不少于900字", 900, 1125),
    ("700字以内", 525, 700),
    ("四章，每章七百字", 2520, 3080),
    ("三页的故事", 1080, 1320),
    ("五六百字", 500, 600),
    ("2万5千字", 22500, 27500),
    ("二千五百字前後", 2250, 2750),
    ("700字以下", 525, 700),
    ("四章、各章七百字", 2520, 3080),
    ("原稿用紙5枚くらい", 1800, 2200),
    ("500字以上700字以内", 500, 700),
    ("최대 700단어", 525, 700),
    ("적어도 900단어", 900, 1125),
    ("네 장, 각 장 700단어", 2520, 3080),
    ("A4 두 장 분량", 720, 880),
    ("500단어에서 700단어", 500, 700),
    ("2천 자", 450, 550),
    ("two and a half thousand words", 2250, 2750),
    ("no more than 700 words", 525, 700),
    ("at least 900 words", 900, 1125),
    ("four chapters of 700 words each", 2520, 3080),
    ("a two-page fable", 720, 880),
    # English
    ("Give me a ghost story, 1,200 words or so, set in Leeds.", 1080, 1320),
    ("I'd like something of roughly 3,500 words.", 3150, 3850),
    ("A 5k-word mystery in a bakery", 4500, 5500),
    ("5k words, please. A heist.", 4500, 5500),
    ("The piece ought to come in under 750 words.", 563, 750),
    ("No fewer than 4,000 words about two brothers and a well.", 4000, 5000),
    ("Somewhere between 600 and 800 words.", 600, 800),
    ("Two to three thousand words about a swimmer.", 2000, 3000),
    ("Aim for 900 - 1,100 words", 900, 1100),
    ("From 1,500 to 2,000 words. A river floods.", 1500, 2000),
    ("Seventeen hundred words, first person.", 1530, 1870),
    ("A hundred and fifty thousand words: a family saga.", 135000, 165000),
    ("Stay within the 500-word limit. A man sells his boat.", 375, 500),
    ("Maximum 2,500 words.", 1875, 2500),
    ("max. 400 words", 300, 400),
    ("It needs to be exactly one thousand words.", 1000, 1000),
    ("Write a letter of 500 words from a soldier to his sister.", 450, 550),
    ("Write me a 300-word poem about salt.", 270, 330),
    ("Write about 900 words of plain realism: a baker and his nephew.", 810, 990),
    ("Please write 1,200 words of gentle satire.", 1080, 1320),
    ("A 20-page thriller about a ferry.", 7200, 8800),
    ("A thriller. 20 pages.", 7200, 8800),
    ("It should run to about ten pages.", 3600, 4400),
    ("10 000 words about an island", 9000, 11000),
    ("300 words at most; a fox speaks", 225, 300),
    ("300 words or fewer", 225, 300),
    ("Length: 2k", 1800, 2200),
    # parts
    ("A novel: 10 chapters of 2,000 words each.", 18000, 22000),
    ("Ten chapters, each about 2,000 words long. Anna leaves.", 18000, 22000),
    ("ten 2,000-word chapters", 18000, 22000),
    ("10 300-word scenes about a shop", 2700, 3300),
    ("Divide it into six chapters of 1,500 to 2,000 words.", 9000, 12000),
    ("2,000 words per chapter, 10 chapters", 18000, 22000),
    ("10 x 2,000 words", 18000, 22000),
    ("10 chapters x 2,000 words", 18000, 22000),
    ("Each of the 12 chapters should have at least 1,000 words.", 12000, 15000),
    ("A 20,000-word novella in ten chapters", 18000, 22000),
    ("20,000 words in chapters of 2,000 words", 18000, 22000),
    ("Five letters, 400 words each, 2,000 in all", 1800, 2200),
    ("Ten chapters of 2,000 words each. The third chapter may have 2,500 words.", 18000, 22000),
    # pages and rough numbers of several languages
    ("Eine Erzählung von 10 Normseiten.", 2250, 2750),
    ("Erzählung, 3-4 Normseiten", 750, 1000),
    ("Eine Geschichte, rund 5 Seiten lang.", 1800, 2200),
    ("Une nouvelle d'environ 5 pages.", 1800, 2200),
    ("Un récit de 2 feuillets.", 450, 550),
    ("Cuento de unas 5 páginas.", 1800, 2200),
    ("Racconto di 3 cartelle.", 675, 825),
    ("Un racconto di circa 5 pagine.", 1800, 2200),
    ("Um conto de cerca de 5 páginas.", 1800, 2200),
    ("Een verhaal van ongeveer 5 pagina's.", 1800, 2200),
    ("Opowiadanie na około 5 stron.", 1800, 2200),
    ("Opowiadanie, ok. 1500 słów.", 1350, 1650),
    ("Napisz dwa tysiące słów o morzu.", 1800, 2200),
    ("Рассказ примерно на 5 страниц.", 1800, 2200),
    ("写一篇一千来字的小说。", 900, 1100),
    ("写一篇两三千字的短篇小说。", 2000, 3000),
    ("三四百字的故事", 300, 400),
    ("一万两三千字", 12000, 13000),
    ("几百字的小故事", 300, 500),
    ("一九八四年，五百字", 450, 550),
    ("他有两三个朋友，一千字", 900, 1100),
    ("二三百字の話", 200, 300),
    ("原稿用紙10枚の小説。", 3600, 4400),
    ("원고지 20매 분량의 소설", 900, 1100),
    # German
    ("Eine Geschichte von etwa 800 Wörtern über einen Müller.", 720, 880),
    ("etwa 800 Wörter", 720, 880),
    ("Schreibe mindestens 1.200 Wörter über das Meer.", 1200, 1500),
    ("Höchstens 500 Wörter.", 375, 500),
    ("zweitausend Wörter, Ich-Form", 1800, 2200),
    ("Zwischen 1.000 und 1.500 Wörtern", 1000, 1500),
    ("1.000 bis 1.500 Wörter", 1000, 1500),
    ("Eine 1500-Wörter-Erzählung", 1350, 1650),
    ("10 Kapitel zu je 2.000 Wörtern", 18000, 22000),
    ("Zehn Kapitel mit jeweils 2000 Wörtern", 18000, 22000),
    ("2000 Wörter pro Kapitel, 10 Kapitel", 18000, 22000),
    ("Eine Novelle, 20 Seiten lang", 7200, 8800),
    ("12.000 Zeichen", 1800, 2200),
    # French
    ("Une nouvelle de 3000 mots sur un phare.", 2700, 3300),
    ("Environ 2 500 mots", 2250, 2750),
    ("deux mille mots, au présent", 1800, 2200),
    ("Entre 800 et 1 000 mots", 800, 1000),
    ("au moins 600 mots", 600, 750),
    ("moins de 400 mots", 300, 400),
    ("10 chapitres de 2000 mots chacun", 18000, 22000),
    ("cinq lettres de 300 mots", 1350, 1650),
    # Spanish, Portuguese, Italian, Dutch
    ("Un cuento de 2 000 palabras", 1800, 2200),
    ("unas 1.500 palabras sobre un pozo", 1350, 1650),
    ("dos mil quinientas palabras", 2250, 2750),
    ("entre 500 y 700 palabras", 500, 700),
    ("no más de 900 palabras", 675, 900),
    ("10 capítulos de 2.000 palabras cada uno", 18000, 22000),
    ("cerca de 1500 palavras", 1350, 1650),
    ("un racconto di duemila parole", 1800, 2200),
    ("ongeveer 1200 woorden", 1080, 1320),
    # Russian
    ("не более 500 слов", 375, 500),
    ("Рассказ на две тысячи слов", 1800, 2200),
    ("от 800 до 1000 слов", 800, 1000),
    ("не менее 3000 слов", 3000, 3750),
    ("10 глав по 2000 слов", 18000, 22000),
    ("2 тыс. слов", 1800, 2200),
    # Chinese, Japanese, Korean
    ("写一篇三千字的故事", 2700, 3300),
    ("字数:2000字左右", 1800, 2200),
    ("不少于1.5万字的小说", 15000, 18750),
    ("八百字以内", 600, 800),
    ("2000到2500字", 2000, 2500),
    ("10章、各2000字", 18000, 22000),
    ("共十章，每章两千字", 18000, 22000),
    ("約3000文字の短編", 2700, 3300),
    ("2000字以上で書いてください。", 2000, 2500),
    ("약 2,000단어의 이야기", 1800, 2200),
    ("8000자 분량의 단편", 1800, 2200),
    # Arabic, Hindi, Turkish
    ("قصة من ٢٠٠٠ كلمة عن صياد", 1800, 2200),
    ("लगभग दो हज़ार शब्दों की कहानी", 1800, 2200),
    ("yaklaşık 1500 kelime", 1350, 1650),
]


@pytest.mark.parametrize(("brief", "low", "high"), WHOLE)
def test_a_brief_says_how_long_the_story_is_in_many_words(brief: str, low: int, high: int) -> None:
    wanted = read_range(brief)
    assert wanted is not None
    assert (wanted.low, wanted.high) == (low, high)


@pytest.mark.parametrize(
    "brief",
    [
        "Elle récita 40 mots.",
        "子供は五十字しか書けない。",
        "Ребёнок знает всего 50 слов.",
        "Sie kannte 300 Wörter Latein.",
        "Il bambino conosce solo 50 parole.",
        "Sie lernte 50 Wörter Dänisch.",
        "Er hinterließ ihr einen Zettel mit 40 Wörtern.",
        "Il apprit 40 mots de breton.",
        "Ella aprendió 40 palabras de quechua.",
        "Lui conosce 40 parole di sardo.",
        "Ele aprendeu 40 palavras de tupi.",
        "Zij leerde 40 woorden Turks.",
        "Nauczyła się 40 słów po czesku.",
        "Она знает 40 слов по-чешски.",
        "他会写四十个字。",
        "彼女は四十字だけ覚えた。",
        "그녀는 단어 40개를 배웠다.",
        "She learned 40 words of Welsh.",
        "A portrait of a man of few words.",
        "In the 3,000 words that she had left, she told him everything.",
        "He types 60 words a minute and is never thanked.",
        "A parrot that knows 300 words gives evidence in court.",
        "She has 500 words of Latin and no friends.",
        "They asked her to write 500 words of the confession again.",
        "On the table lies a note with 40 words on it.",
        "He inherits a dictionary with 20,000 words and one lie.",
        "The essay of 600 words that he failed comes back to haunt him.",
        "She sends a 100-word telegram to the wrong man.",
        "Her last 30 words are a recipe.",
        "The Inuit have 50 words for snow, says the guide.",
        "They find 30 pages of a burnt diary.",
        "He tears 12 pages from the ledger and runs.",
        "A cast of 30 characters in one house.",
        "She reads ten chapters of the Bible every night.",
        "In 1990, 300 people left the valley.",
        "A picture is worth a thousand pounds; the thief has other words.",
        "Er kennt 500 Wörter Latein.",
        "In den 3.000 Wörtern, die sie noch hatte, sagte sie alles.",
        "Les 300 mots qu'il connaît ne suffisent pas.",
        "Conoce 300 palabras y las vende.",
        "Он знает 500 слов по-латыни.",
        "他十分孤独，万一下雨，就不出门。",
        "一个人在山上住了三十年。",
        "彼は三人の弟と住んでいる。",
        "Three scenes later the curtain falls on his marriage.",
    ],
)
def test_words_that_stand_in_the_story_are_not_its_length(brief: str) -> None:
    assert read_range(brief) is None


@pytest.mark.parametrize(
    ("brief", "count", "kind", "each"),
    [
        ("A novel: 10 chapters of 2,000 words each.", 10, "chapter", 2000),
        ("A novel in twelve chapters.", 12, "chapter", None),
        ("A 20,000-word novella in ten chapters", 10, "chapter", None),
        ("20,000 words in chapters of 2,000 words", 10, "chapter", 2000),
        ("chapters of about 2,000 words", 0, "chapter", 2000),
        ("ten 2,000-word chapters", 10, "chapter", 2000),
        ("10 300-word scenes", 10, "part", 300),
        ("A play in three acts, 4,000 words", 3, "act", None),
        ("Five letters, 400 words each", 5, "letter", 400),
        ("10 Kapitel zu je 2.000 Wörtern", 10, "chapter", 2000),
        ("Ein Roman in zwölf Kapiteln", 12, "chapter", None),
        ("10 chapitres de 2000 mots chacun", 10, "chapter", 2000),
        ("una novela en diez capítulos", 10, "chapter", None),
        ("10 глав по 2000 слов", 10, "chapter", 2000),
        ("共十章，每章两千字", 10, "chapter", 2000),
        ("10章、各2000字", 10, "chapter", 2000),
        ("2,000 words each, ten chapters", 10, "chapter", 2000),
    ],
)
def test_parts_and_the_words_of_each_are_read_with_it(brief: str, count: int, kind: str, each: int | None) -> None:
    parts = asked_length(Brief(brief)).parts
    assert parts is not None
    assert (parts.count, parts.kind) == (count, kind)
    assert (parts.each and parts.each.target) == each


@pytest.mark.parametrize(
    "brief",
    [
        "A lighthouse, 900 words.",
        "She reads ten chapters of the Bible.",
        "He lived there for ten days.",
        "Two scenes later she left.",
    ],
)
def test_a_brief_without_parts_asks_for_none(brief: str) -> None:
    assert asked_length(Brief(brief)).parts is None


def test_words_in_the_settings_go_before_those_of_the_brief_and_the_chapters_stay() -> None:
    asked = asked_length(Brief("10 chapters of 2,000 words each"), "5000")
    assert asked.words is not None
    assert asked.words.target == 5000
    assert asked.parts is not None
    assert (asked.parts.count, asked.parts.each) == (10, None)


def test_more_words_than_a_story_can_have_are_refused_in_any_language() -> None:
    for brief in (
        "ten million words",
        "zehn Millionen Wörter",
        "两千万字",
        "500 chapters of 20,000 words each, 10,000,000 words",
    ):
        with pytest.raises(UsageError, match="a story has 1,000,000 at most"):
            asked_length(Brief(brief))


@pytest.mark.parametrize(
    "run",
    [
        "1",
        "1 ",
        "one ",
        "10 chapters of ",
        "2,000 words each ",
        "字",
        "三千字",
        "100.000.",
        " ",
        "10 chapters of 2,000 words each. ",
        "mehr als ",
        "he ",
    ],
)
def test_a_brief_is_read_in_linear_time(run: str) -> None:
    assert growth(read_range, lambda n: (run * n)[:n], 40_000) < LINEAR


def test_the_table_of_numbers_is_read_when_a_number_is_first_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = Path.read_text

    def noted(self: Path, encoding: str) -> str:
        read.append(self.name)
        return real(self, encoding)

    monkeypatch.setattr(Path, "read_text", noted)
    fresh = runpy.run_path(str(numbers.__file__))
    assert read == []
    assert fresh["numbers_in"]("zwölf hundred")[0].value == 12 * 100
    assert read == ["numbers.txt"]
