"""Measures of stories in other languages than English: by their own words, marks and dashes, or a reason for none."""

# ruff: noqa: RUF001 - marks and letters of other scripts are what is tested

from __future__ import annotations

import pytest

from fabula.craft.tokens import tokeniser
from fabula.evaluators.rouge.algorithm import evaluate as rouge
from fabula.evaluators.rouge.config import Config as RougeConfig
from fabula.evaluators.surface.algorithm import counted, dialogue
from fabula.evaluators.surface.config import Config
from fabula.measure.items import Item
from fabula.stats.estimate import Estimate, Unscored
from fabula.story import Story
from fabula.story.speech import spoken

SPOKEN = [
    ("„Komm!“, sagt sie. Er kommt.", ["Komm!"]),
    ("»Komm!«, sagt sie. Er kommt.", ["Komm!"]),
    ("« Viens ! » dit-elle. Il vient.", ["Viens !"]),
    ("— Viens, dit-elle.\n\n— Non.\n\nIl pleut.", ["Viens,", "Non."]),
    ("—¿Vienes? —preguntó ella—. Es tarde.\n\n—No sé —dijo él.\n\nSe fue.", ["¿Vienes?", "Es tarde.", "No sé"]),
    ("– Vieni – disse lei.\n\n– No.\n\n«Sì», disse. Uscì.", ["Vieni", "No.", "Sì"]),
    ("— Vens? — perguntou ela. — É tarde.\n\n— Não sei.\n\nFoi-se.", ["Vens?", "É tarde.", "Não sei."]),
    ("‘Kom,’ zei ze. Hij kwam.", ["Kom,"]),
    ("– Chodź – powiedział Jan. – Pada.\n\n– Nie – odparła.\n\nWyszli.", ["Chodź", "Pada.", "Nie"]),
    ("— Куда? — спросил он. — Домой?\n\n— Москва — далеко, — сказала она.", ["Куда?", "Домой?", "Москва — далеко,"]),
    ("“你回来了。”她说。“坐。”", ["你回来了。", "坐。"]),
    ("「行こう。」とマラは言った。", ["行こう。"]),
    ("“가자.” 그가 말했다.", ["가자."]),
    ("– Tak – rzekła – idę.\n\n- Idziesz? - spytał.", ["Tak", "idę.", "Idziesz?"]),
    ("– Lista:\n\n- jajka\n- mleko", []),
    ("›Komm‹, sagte er. ›Jetzt.‹", ["Komm", "Jetzt."]),
    ("« Il a crié “au feu” », dit-elle.", ["Il a crié “au feu”"]),
    ("「彼女は『はい』と言う」と父。", ["彼女は『はい』と言う"]),
    ("‘Zij zei “nooit”,’ fluisterde hij.", ["Zij zei “nooit”,"]),
    ("The boat — an old one — sank.\n\n— Lost at sea, 1921", []),
    ("La “Pinta” salió. Él gritó «Fuego» y huyó.", ["Fuego"]),
    ("那艘“远星号”靠岸了。他喊“救命”然后跑了。", ["救命"]),
    ("彼は『こころ』を読み、『はい』と言った。", ["はい"]),
]


@pytest.mark.parametrize(("text", "parts"), SPOKEN)
def test_speech_is_found_by_the_marks_and_dashes_of_its_language(text: str, parts: list[str]) -> None:
    assert [part.strip() for part in spoken(text).split("\n") if part.strip()] == parts


def test_a_chinese_story_is_measured_by_its_characters_and_has_no_number_for_english_words() -> None:
    text = "风从海上来，没有人说话。\n\n“你回来了。”她说。"
    items, config = [Item("lamp", Story.parse(text))], Config.improved()
    found = {what: scored[0] for what, scored in counted(items, config).items()}
    values = {what: one.value for what, one in found.items() if isinstance(one, Estimate)}
    assert (values["words"], values["sentences"]) == (22, 2)
    assert (values["sentence length"], values["unique words"]) == (11, 100 * 18 / 22)
    reason = "these words are known in English alone, and the story is in Chinese"
    assert found["article starts"] == found["pronoun starts"] == Unscored(reason)
    share = dialogue(items, config)[0]
    assert isinstance(share, Estimate)
    assert share.value == pytest.approx(100 * 5 / 22)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("她说hello，走了。", ["她", "说", "hello", "，", "走", "了", "。"]),
        ("マラは行く。", ["マ", "ラ", "は", "行", "く", "。"]),
        ("Er geht – nach “Haus”.", ["Er", "geht", "–", "nach", "“Haus”."]),
    ],
)
def test_tokens_of_chinese_and_japanese_are_characters(text: str, tokens: list[str]) -> None:
    assert tokeniser("whitespace")(text) == tokens


async def test_rouge_gives_no_number_for_a_text_without_latin_letters() -> None:
    item = Item("lamp", Story.parse("她走了。"), reference=Story.parse("她留下了。"))
    report = await rouge([item], None, RougeConfig())  # type: ignore[arg-type] # it asks nobody
    assert all(isinstance(row.scored, Unscored) for row in report.rows if row.of == "lamp")
    assert "ROUGE counts words of Latin letters, and there are none" in " ".join(report.notes)
