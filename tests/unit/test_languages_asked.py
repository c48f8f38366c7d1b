"""What models are asked where a brief or a story is not in English, and how what they write is put together."""

# ruff: noqa: RUF001 - letters of other scripts are what is tested

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.app.writing import Options, PreparedMethod, Supplied
from fabula.craft.length import WordRange, revise_to_length
from fabula.engine.journal import Journal
from fabula.engine.roles import Assignment, Cast, Program
from fabula.models.base import Capabilities
from fabula.project.settings import Settings
from fabula.story import Brief, count_words
from fabula.story.language import has_capitals

if TYPE_CHECKING:
    from fabula.models.base import Request

BRIEFS = {
    "German": "Schreibe eine Geschichte über Mara, die einen Leuchtturm hütet, und den Jungen, der nicht schläft.",
    "French": "Écris une histoire sur Mara, qui garde un phare et ne dort pas, et sur le garçon dans la tour.",
    "Spanish": "Escribe un cuento sobre Mara, que cuida un faro y no duerme, y el niño que vive en la torre con ella.",
    "Italian": "Scrivi un racconto su Mara, che custodisce il faro e non dorme, con il ragazzo della torre.",
    "Portuguese": "Escreve um conto sobre a Mara, que cuida de um farol e não dorme, e o menino que vive com ela.",
    "Dutch": "Schrijf een verhaal over Mara, die op de vuurtoren past, en het jongetje dat niet slaapt van de wind.",
    "Polish": "Napisz opowiadanie o Marze, która nie śpi i pilnuje latarni, i o chłopcu, który jest z nią na wieży.",
    "Russian": "Напиши рассказ о Маре, смотрительнице маяка, и о мальчике, который не спит.",
    "Chinese": "写一篇一千字的小说，讲守灯塔的老妇人和不睡觉的男孩。",
    "Chinese, in traditional characters": "寫一篇一千字的小說，講守燈塔的老婦人和不睡覺的男孩，他們還沒見過海。",
    "Japanese": "灯台を守るマラと眠らない少年について、千字の短編を書いてください。",
    "Korean": "등대를 지키는 마라와 잠들지 않는 소년에 대한 이야기를 써 주세요.",
}
_SYSTEMS = ("end-to-end", "chosen-draft", "agents-room", "ibsen", "dramatron", "magnet", "character-simulation")


async def asked(text: str, system: str, preset: str = "improved", **config: object) -> list[str]:
    """All that a dry run of a system asks for a brief, each request as one text."""
    settings = Settings.of({"system": system, "preset": preset, "config": config}, "a test")
    prepared = PreparedMethod(settings, Options())
    found: list[Request] = []
    nobody = Program("nobody", lambda _: "", capabilities=Capabilities(schema=True, logprobs=True))
    cast = Cast(Assignment(nobody), known=prepared.method.roles)
    with Journal() as journal:
        async with prepared.opened(journal, dry=True, supplied=Supplied(cast)) as context:
            context.dry_run.on_request = found.append
            await prepared.write(Brief(text), context)
    return ["\n\n".join(message.content for message in one.messages) for one in found]


@pytest.mark.parametrize("language", BRIEFS)
async def test_every_request_of_a_story_names_its_language_once(language: str) -> None:
    for request in await asked(BRIEFS[language], "agents-room"):
        assert request.count(f"Answer in {language}, unless the task asks for another language.") == 1


@pytest.mark.parametrize("system", _SYSTEMS)
async def test_every_system_says_in_which_language_to_answer(system: str) -> None:
    for request in await asked(BRIEFS["German"], system, words="500"):
        assert request.count("Answer in German") == 1
        assert "characters" not in request.partition("Answer in German")[2].partition("\n")[0]


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_an_english_brief_and_the_prompts_of_a_paper_say_nothing_of_it(preset: str) -> None:
    text = "Write a story about Mara, who keeps a lighthouse, and the boy who does not sleep."
    texts = [text, *([BRIEFS["German"]] if preset == "faithful" else [])]
    for one in texts:
        assert not any("Answer in" in request for request in await asked(one, "agents-room", preset))


async def test_a_chinese_length_is_asked_in_characters() -> None:
    request = (await asked(BRIEFS["Chinese"], "end-to-end"))[0]
    assert "about 1000 characters, between 900 and 1100" in request
    assert "about 1000 words" not in request
    assert "Lengths are counted in characters, with punctuation" in request


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("“你回来了。”她说。", 10),
        ("她说——没有人。", 8),
        ("風が来た。「うん。」", 10),
        ("風が来た、と彼は言った……", 13),
        ("Er kam – “so” – heim.", 4),
        ("그는 “응.” 하고 웃었다.", 4),
    ],
)
def test_characters_are_counted_with_their_marks_and_words_without(text: str, length: int) -> None:
    assert count_words(text) == length


@pytest.mark.parametrize(
    ("text", "more", "whole"),
    [
        (
            "Er ging.\n\nSie blieb.",
            "Am nächsten Morgen kam er.",
            "Er ging.\n\nSie blieb.\n\nAm nächsten Morgen kam er.",
        ),
        ("他走了。\n\n她留下。", "第二天早上，他来了。", "他走了。\n\n她留下。\n\n第二天早上，他来了。"),
        ("She left. He", "stayed.\n\nA year went by.", "She left. He stayed.\n\nA year went by."),
        ("She left.", "He stayed.\n\nA year went by.", "She left.\n\nHe stayed.\n\nA year went by."),
        ("她走了。", "“等等。”他说。", "她走了。\n\n“等等。”他说。"),
        ("She left.", "He stayed.", "She left. He stayed."),
    ],
)
async def test_a_continuation_begins_a_paragraph_unless_a_sentence_is_open(text: str, more: str, whole: str) -> None:
    async def write(words: int) -> str:
        return text if words else ""

    async def extend(so_far: str, words: int, attempt: int) -> str:
        return more if so_far and words and attempt else ""

    async def shorten(so_far: str, attempt: int) -> str:
        raise AssertionError(so_far, attempt)

    words = count_words(whole)
    found = await revise_to_length(write, extend, shorten, WordRange.between(words, words + 9))
    assert found.text == whole


@pytest.mark.parametrize(
    ("text", "capitals"),
    [
        ("Mara ging.", True),
        ("Мара ушла.", True),
        ("她走了。", False),
        ("マラは行った。", False),
        ("마라는 갔다.", False),
        ("", True),
    ],
)
def test_it_is_known_which_scripts_have_capitals(text: str, *, capitals: bool) -> None:
    assert has_capitals(text) is capitals
