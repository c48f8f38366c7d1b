"""Cards that are imported into a project, their pictures, and who the player is."""

from __future__ import annotations

import base64
import json
import struct
from typing import TYPE_CHECKING
from unittest import mock

import pytest

import fabula
from fabula.base.errors import UsageError
from fabula.craft.conversation.cards import picture_in, pictures_in
from fabula.story.cards import parse_card, picture_alone
from fabula.story.cards.png import Chunk, chunks, packed, plain_picture
from serving import Engine, project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CARD = {"spec": "chara_card_v2", "data": {"name": "Sigrid", "description": "A pilot.", "first_mes": "Who calls?"}}


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    with mock.patch("fabula.project.casting.open_model", return_value=made):
        yield made


@pytest.fixture
def lamp(tmp_path: Path, engine: Engine) -> fabula.Project:
    del engine
    return fabula.Project.open(project(tmp_path).folder)


def png_card() -> bytes:
    return parse_card(json.dumps(CARD).encode()).as_png()


def test_a_card_in_a_picture_can_be_talked_to(lamp: fabula.Project, engine: Engine) -> None:
    made = lamp.import_card(base64.b64encode(png_card()).decode(), "sigrid.png")
    assert (made.name, made.greetings, made.picture) == ("Sigrid", 1, True)
    assert "Sigrid" in lamp.conversations().characters
    shown = picture_in(lamp.folder, "sigrid")
    assert [chunk.kind for chunk in chunks(shown, "it")[0]] == [b"IHDR", b"IDAT", b"IEND"]
    assert b"Who calls" not in shown
    lamp.converse(["Sigrid"], "Tobias")
    assert lamp.chat(move="begin", conversation="tobias-sigrid").turn.answer == "Who calls?"
    assert not [request for request in engine.asked if request.role == "npc"]


def test_a_card_in_place_of_another_keeps_the_older_one(lamp: fabula.Project) -> None:
    lamp.import_card(json.dumps(CARD))
    lamp.import_card(json.dumps({"name": "Sigrid", "description": "A diver."}))
    cards = lamp.folder / "cards"
    assert "A diver." in (cards / "sigrid.json").read_text(encoding="utf-8")
    assert "A pilot." in (cards / "sigrid.json.old").read_text(encoding="utf-8")


def test_a_world_of_sillytavern_is_a_lorebook(lamp: fabula.Project) -> None:
    entries = {"0": {"uid": 0, "key": ["reef"], "content": "The reef has a bell.", "order": 1}}
    made = lamp.import_card(json.dumps({"entries": entries}), "Cape.json")
    assert (made.name, made.entries, made.greetings) == ("Cape", 1, 0)
    assert (lamp.folder / "cards" / "world-cape.json").is_file()


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("x.json", b"GIF89a", "The card in x.json is not UTF-8|is not JSON"),
        ("x.png", b"GIF89a", "x.png is not a PNG file, although its name ends like one's"),
        ("x.png", b"\xff\xd8\xff\xe0", "is not a PNG, JSON or .charx file"),
        ("x.png", plain_picture(), "is a picture without a character card"),
        ("x.png", png_card()[:-30], "is truncated or damaged|ends within the picture"),
        ("x.json", b'{"a": 1}', "contains JSON but no character card"),
        ("x.json", b"[" * 100_000, "nested deeper than 64 levels"),
        ("x.json", b"", "is not JSON"),
    ],
)
def test_what_is_no_card_is_refused_and_leaves_nothing(lamp: fabula.Project, name: str, file: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        lamp.import_card(base64.b64encode(file).decode(), name)
    assert not (lamp.folder / "cards").exists()


def test_text_that_is_neither_is_said(lamp: fabula.Project) -> None:
    with pytest.raises(UsageError, match="The card is neither JSON nor Base64"):
        lamp.import_card("mara.png")


def test_a_picture_that_would_fill_a_browser_is_refused(lamp: fabula.Project) -> None:
    found, _ = chunks(png_card(), "it")
    header = struct.pack(">II", 60_000, 60_000) + found[0].data[8:]
    bomb = packed([Chunk(b"IHDR", header), *found[1:]])
    with pytest.raises(UsageError, match="Sigrid contains no picture of at most 10,000 by 10,000 pixels"):
        lamp.import_card(base64.b64encode(bomb).decode())
    assert not (lamp.folder / "cards").exists()


def test_what_lies_in_the_folder_of_cards_is_shown_only_if_it_is_a_picture(lamp: fabula.Project) -> None:
    cards = lamp.folder / "cards"
    cards.mkdir()
    (cards / "a.png").write_text("<svg onload='alert(1)'/>", encoding="utf-8")
    (cards / "b.png").write_bytes(plain_picture() + b"<script>")
    (cards / "c.png").symlink_to("/etc/hostname")
    assert set(pictures_in(lamp.folder)) == {"a", "b"}
    assert picture_in(lamp.folder, "b") == plain_picture() == picture_alone(plain_picture(), "it")
    for name in ("a", "c", "../../x", "none"):
        with pytest.raises(UsageError):
            picture_in(lamp.folder, name)


def test_a_persona_is_who_the_others_meet(lamp: fabula.Project, engine: Engine) -> None:
    lamp.converse(["Mara"], "Kai", persona="A surveyor, soaked to the skin.", name="rain")
    assert lamp.conversations().personas == ["Kai"]
    assert "Kai" not in lamp.conversations().characters
    lamp.chat("Good evening.", conversation="rain")
    prompt = "\n".join(message.content for message in engine.asked[-1].messages)
    assert "# Kai, with whom Mara talks\nName: Kai\nDescription: A surveyor, soaked to the skin." in prompt
    lamp.set_scene("rain", persona="A pilot.")
    lamp.chat("Any light?", conversation="rain")
    prompt = "\n".join(message.content for message in engine.asked[-1].messages)
    assert "A pilot." in prompt
    assert "surveyor" not in prompt
    with pytest.raises(UsageError, match="are the same"):
        lamp.converse(["Mara"], "mara", persona="Herself.")
    assert not (lamp.folder / "cards" / "persona-mara.json").exists()


def chat_file(*messages: dict[str, object]) -> str:
    head = {"user_name": "Kai", "character_name": "Mara", "chat_metadata": {}}
    return "".join(f"{json.dumps(one)}\n" for one in (head, *messages))


CHAT = chat_file(
    {
        "name": "Mara",
        "is_user": False,
        "mes": "Good evening, {{user}}.",
        "swipes": ["Who calls?", "Good evening, {{user}}."],
    },
    {"name": "Kai", "is_user": True, "mes": "Is there light?"},
    {"name": "System", "is_system": True, "mes": "hidden"},
    {
        "name": "Mara",
        "is_user": False,
        "mes": "*laughs* None.",
        "swipes": ["*laughs* None.", "Some.", 7],
        "swipe_id": 0,
    },
    {"name": "Kai", "is_user": True, "mes": "And the boat?"},
)


def test_a_chat_of_sillytavern_goes_on_with_all_its_answers(lamp: fabula.Project, engine: Engine) -> None:
    view = lamp.import_chat(CHAT)
    assert (view.player, view.others, view.place.turns) == ("Kai", ["Mara"], 3)
    assert [(turn.said, turn.answer) for turn in view.turns] == [
        ("", "Good evening, Kai."),
        ("Is there light?", "*laughs* None."),
        ("And the boat?", ""),
    ]
    assert lamp.conversations().personas == ["Kai"]
    assert engine.asked == []
    lamp.take_back(view.name)
    assert [one.answer for one in lamp.conversation(view.name).alternatives] == ["*laughs* None.", "Some."]
    assert lamp.choose_answer(view.name, 2).turns[-1].answer == "Some."
    lamp.chat("And the boat?", conversation=view.name)
    asked = "\n".join(message.content for message in engine.asked[-1].messages)
    assert "Good evening, Kai." in asked
    assert "Some." in asked
    assert "hidden" not in asked


@pytest.mark.parametrize(
    ("chat", "said"),
    [
        ("{}\n[1", "This is not a SillyTavern chat"),
        ("{}\n" + "[" * 100_000, "This is not a SillyTavern chat"),
        ("", "no message from a character"),
        (
            chat_file({"name": "Seraphina", "mes": "Hm."}),
            "The chat is with Seraphina, .* Add the card of Seraphina first",
        ),
    ],
)
def test_what_is_no_chat_of_this_project_is_said(lamp: fabula.Project, chat: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        lamp.import_chat(chat)
    assert not (lamp.folder / "chat").exists()


def test_anybody_can_have_a_picture(lamp: fabula.Project) -> None:
    made = lamp.import_card(base64.b64encode(plain_picture()).decode(), picture_of="Mara")
    assert (made.name, made.picture) == ("Mara", True)
    assert picture_in(lamp.folder, "mara") == plain_picture()
    with pytest.raises(UsageError, match="The picture of Mara is not a PNG file"):
        lamp.import_card(base64.b64encode(b"<svg/>").decode(), picture_of="Mara")
    assert picture_in(lamp.folder, "mara") == plain_picture()
