"""Who can be talked with: by plan, cards, world or a model's reading, in any language; never by a word's spelling."""

# ruff: noqa: RUF001, ISC004 - stories in other scripts

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from fabula.app.conversations import parties_for
from fabula.app.conversing import dry_run_beginning, dry_run_names, read_names
from fabula.app.people import people_in, reading_in
from fabula.app.world import WORLD_FILE
from fabula.app.writing import Options
from fabula.base.errors import UsageError
from fabula.craft.conversation import Parties
from fabula.craft.conversation.cards import write_persona
from fabula.craft.narratives import people_read
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.story.cards import CharacterCard
from fabula.story.personas import Persona, Personas, write_personas
from fabula.story.world import Fact, Moment, WorldState

if TYPE_CHECKING:
    from pathlib import Path

# Each: where its people are known from, the story, who is in it, and what a model that reads it badly adds.
STORIES: dict[str, tuple[str, str, list[str], list[str]]] = {
    "german weir": (
        "reading",
        "Am Wehr stand Grete Olbers und drehte den Schlüssel. Die Klappe des Hauses blieb zu. Seit Jahren kam Knut "
        "nicht mehr ans Wehr. Der Schlüssel brach, und Grete rief nach Knut. Das Haus, das Wehr und die Klappe lagen "
        "im Nebel, als Knut endlich kam.",
        ["Grete Olbers", "Knut"],
        ["Herr Niemand", "Grete"],
    ),
    "german bakery": (
        "plan",
        "In der Backstube zählte Ilse die Brote. Der Ofen war kalt, und der Lehrling Veit schlief. Am Montag brachte "
        "die Müllerin das Mehl. Ilse weckte Veit, und Veit fluchte auf den Ofen und auf das Mehl.",
        ["Ilse", "Veit"],
        [],
    ),
    "english contractions": (
        "reading",
        "She'd never liked the Harbour Office. I'd told Winnie so. \"She'd go,\" I said, and Winnie said They'd laugh. "
        "The Harbour Office shut in March. Winnie met Otis on Monday, and Otis had the Ledger. She'd seen the Ledger.",
        ["Winnie", "Otis"],
        ["Beatrice", "Captain Moll"],
    ),
    "english lower case": (
        "cards",
        "the boy they called pike had the rope. nobody saw him go. at dawn the keeper found the rope, and asked pike, "
        "and pike told the keeper that The Bell had rung. The Bell had not rung. The Bell was gone.",
        ["pike", "the keeper"],
        [],
    ),
    "chinese ferry": (
        "reading",
        "渡口的雾很大。林秀把船推下水，老魏站在岸上不说话。林秀问老魏为什么不走。老魏说，桥明天就通了。林秀笑了。",
        ["林秀", "老魏"],
        ["王大明"],
    ),
    "chinese clock": (
        "plan",
        "钟表铺里只有一盏灯。苏眉在修一只旧钟，阿衡把门关上。阿衡说外面下雪了。苏眉没有抬头。",
        ["苏眉", "阿衡"],
        [],
    ),
    "russian orchard": (
        "reading",
        "В саду Пелагея собирала яблоки. Старый Ермил чинил забор и молчал. Волга шумела внизу, и Москва была далеко. "
        "Пелагея спросила Ермила, кто срубил яблоню. Ермил ответил, что Волга всё слышит.",
        ["Пелагея", "Ермил"],
        ["Анна Каренина"],
    ),
    "russian station": (
        "world",
        "На станции Лужки ждали двое. Тихон держал чемодан, а Варя читала письмо. Поезд из Пскова опаздывал. Варя "
        "отдала письмо Тихону. Лужки засыпал снег.",
        ["Тихон", "Варя"],
        [],
    ),
}


def reader(names: list[str]) -> ScriptedModel:
    return ScriptedModel(lambda _: json.dumps({"people": names}), name="reader")


def a_project(folder: Path, source: str, text: str, people: list[str]) -> ProjectFolder:
    """A project whose story is `text`, and whose people stand where `source` says."""
    project = ProjectFolder.create(folder, Brief(text), {"system": "vanilla", "model": "scripted:none"})
    if source == "plan":
        project.write_given("plan/personas.yaml", write_personas(Personas("", tuple(map(Persona, people)))))
    elif source == "cards":
        (project.folder / "cards").mkdir()
        for number, name in enumerate(people):
            data = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": name, "description": "-"}}
            (project.folder / "cards" / f"{number}.json").write_bytes(CharacterCard(data).as_json())
    elif source == "world":
        (project.folder / ".fabula").mkdir(exist_ok=True)
        with WorldState(project.folder / WORLD_FILE) as world:
            world.add([Fact("Лужки", "weather", "snow", told=Moment(1), witnesses=tuple(people))])
    return project


def options(model: ScriptedModel) -> Options:
    return Options(environ={}, models={"scripted:none": model})


@pytest.mark.parametrize("name", STORIES)
def test_who_is_offered_is_in_the_story_whatever_its_language(tmp_path: Path, name: str) -> None:
    source, text, people, made_up = STORIES[name]
    project = a_project(tmp_path / "it", source, text, people)
    if source == "reading":
        assert people_in(project) == ([], []), "nobody is guessed"
        asyncio.run(read_names(project, project.settings, options(reader([*people, *made_up])), people_read))
    known, others = people_in(project)
    assert sorted([*known, *others]) == sorted(people), "all of them, and nobody else: precision 1"


def test_a_reading_is_asked_once_for_a_version_of_the_story_and_its_price_is_known_before(tmp_path: Path) -> None:
    _, text, people, _ = STORIES["russian orchard"]
    project, model = a_project(tmp_path / "it", "reading", text, people), reader(people)
    expected = asyncio.run(dry_run_names(project, project.settings, options(model), people_read))
    assert (len(expected.planned), model.asked) == (1, [])
    assert expected.tokens > 0
    assert reading_in(project) is None, "an estimate records nothing"
    for _ in range(2):
        assert asyncio.run(read_names(project, project.settings, options(model), people_read)) == tuple(people)
    assert len(model.asked) == 1
    assert asyncio.run(dry_run_names(project, project.settings, options(model), people_read)).planned == []
    project.write_given("plan/narrative.md", f"{text} Ермил ушёл.")
    assert reading_in(project) is None, "it is another version"
    assert len(asyncio.run(dry_run_names(project, project.settings, options(model), people_read)).planned) == 1


def test_where_nobody_is_known_nobody_is_asked_and_nobody_is_cast(tmp_path: Path) -> None:
    _, text, people, _ = STORIES["german weir"]
    project, model = a_project(tmp_path / "it", "reading", text, people), reader([])
    assert parties_for(project, ["Grete Olbers"], "") == Parties("Visitor", ("Grete Olbers",)), "nobody is the weir"
    assert parties_for(project, ["Knut"], "Grete") == Parties("Grete", ("Knut",)), "a name that is typed is enough"
    with pytest.raises(UsageError, match=r"Unknown character 'Greta'\. Did you mean 'Grete'\?"):
        parties_for(project, ["Greta"], "")
    assert model.asked == []
    assert asyncio.run(read_names(project, project.settings, options(model), people_read)) == ()
    assert people_in(project) == ([], []), "a reading that found nobody names nobody"


def test_nobody_plays_a_card_by_default(tmp_path: Path) -> None:
    _, text, people, _ = STORIES["german weir"]
    project = a_project(tmp_path / "it", "reading", text, people)
    for name in ("Sigrid", "Nora"):
        write_persona(project.folder, name, "A pilot.")
        file = next((project.folder / "cards").glob(f"*{name.lower()}*"))
        file.rename(file.with_name(f"{name.lower()}.json"))
    assert parties_for(project, ["Sigrid"], "", dry=True) == Parties("Visitor", ("Sigrid",))
    assert parties_for(project, ["Sigrid"], "Nora", dry=True) == Parties("Nora", ("Sigrid",))


def test_the_price_of_the_first_turn_is_known_before_anybody_is_asked(tmp_path: Path) -> None:
    _, text, people, _ = STORIES["english contractions"]
    project, model = a_project(tmp_path / "it", "plan", text, people), reader([])
    parties = parties_for(project, ["Otis"], "Visitor", dry=True)
    assert parties is not None
    expected = asyncio.run(dry_run_beginning(project, project.settings, options(model), parties))
    assert [call.role for call in expected.planned][-1] == "npc"
    assert model.asked == []
    assert not (project.folder / "cards").exists(), "nothing is written for a price"
