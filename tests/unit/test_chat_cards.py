"""Talking with a card's character: greetings, examples, lorebooks by their rules; what conversations share and keep."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.conversing import card_project, conversing, settings_for
from fabula.app.writing import Options
from fabula.base.errors import ProjectError, UsageError
from fabula.craft.conversation import Parties
from fabula.craft.conversation.cards import write_cards
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.story import Brief
from fabula.story.cards import Lorebook, parse_card, read_lorebook, scan
from fabula.systems import find
from serving import MODEL, here, project

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.models.base import Request

SYSTEM = {"role": "system", "content": "Write Mara's next reply."}
CARD: dict[str, Any] = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        "name": "Mara Quist",
        "nickname": "Mara",
        "description": "{{char}} keeps the lamp.",
        "scenario": "{{user}} comes up the stairs.",
        "first_mes": "*She turns.* You are wet, {{user}}.",
        "alternate_greetings": ["The lamp is out, {{user}}."],
        "mes_example": "<START>\n{{user}}: Hello.\n{{char}}: Hm.",
        "character_book": {
            "entries": [{"keys": ["bell"], "content": "{{user}}'s father rang it.", "enabled": True, "extensions": {}}],
            "extensions": {},
        },
    },
}
WORLD = {"entries": {"0": {"key": ["reef"], "content": "The reef is the Comb.", "order": 5, "position": 1}}}
REPLIES = """
import json
asked = []

def play(request):
    asked.append(request)
    if request.path.endswith("/witnesses"):
        return json.dumps({"sentences": []})
    if request.role == "labeller":
        return json.dumps({"characters": [{"name": "Tobias"}, {"name": "Mara"}]})
    if request.role == "planner":
        return "#1. Tobias brings a letter\\n#2. Mara reads it"
    if request.role == "summariser":
        return "A letter came."
    if request.role == "judge":
        return "4"
    return f"[{request.path and 'Mara'}: (nods) Yes, number {len(asked)}.]"
"""


def opened_card(tmp_path: Path, **more: Any) -> ProjectFolder:  # noqa: ANN401 - settings of any kind
    card = parse_card(json.dumps(CARD).encode())
    return card_project(card, tmp_path / "mara", "Tobias", more, {"cape": json.dumps(WORLD).encode()})


def playing(made: ProjectFolder, tmp_path: Path) -> Any:  # noqa: ANN401 - a context manager
    """The project, open, with a program in every role."""
    file = tmp_path / "play.py"
    file.write_text(REPLIES)
    settings = settings_for(made.settings)
    roles = {role: {"play": f"{file}:play"} for role in find(settings.system).roles}
    return conversing(made, settings.with_({"roles": roles}), Options())


async def test_a_card_greets_without_a_call_and_its_lorebooks_reach_the_prompt(tmp_path: Path) -> None:
    async with playing(opened_card(tmp_path), tmp_path) as open_:
        conversation = await open_.conversation("evening")
        assert conversation.parties == Parties("Tobias", ("Mara Quist",))
        shown: list[str] = []
        turn = await conversation.begin(shown.append)
        assert turn.line.text == "".join(shown) == "*She turns.* You are wet, Tobias."
        assert not _asked(open_)
        turn = await conversation.greet(2)
        assert turn.line.text == "The lamp is out, Tobias."
        assert [one.number for one in conversation.turns] == [1]
        with pytest.raises(UsageError, match=r"There is no greeting 3: Mara Quist has 2, from 1 on"):
            await conversation.greet(3)
        await conversation.say("Is that the bell?")
        prompt = _prompt(open_)
        assert "Mara keeps the lamp." in prompt
        assert "in examples that are no part of this talk\nTobias: Hello.\nMara: Hm." in prompt
        assert "Tobias's father rang it." in prompt
        assert "the Comb" not in prompt
        await conversation.say("And the reef?")
        assert "The reef is the Comb." in _prompt(open_)
        with pytest.raises(UsageError, match="is past its greeting"):
            await conversation.greet(1)
    async with playing(opened_card(tmp_path), tmp_path) as open_:
        again = await open_.conversation("evening")
        assert again.turns == conversation.turns


async def test_the_codex_reaches_the_prompt_by_presence_and_knowledge(tmp_path: Path) -> None:
    made = opened_card(tmp_path)
    (made.folder / "plan/codex.yaml").write_text(
        "entries:\n"
        "- {name: Tobias, description: Tobias is wet., secret: He rang it himself., known_to: [Otto], notes: NOTES}\n"
        "- {name: The ledger, kind: thing, description: The ledger is blue.,\n"
        "   secret: It is forged., known_to: [Mara Quist]}\n"
        "- {name: Otto, description: Otto is dead.}\n",
        encoding="utf-8",
    )
    async with playing(made, tmp_path) as open_:
        conversation = await open_.conversation("evening")
        await conversation.begin()
        await conversation.say("Good evening.")
        prompt = _prompt(open_)
        assert "Tobias: Tobias is wet." in prompt, "he is there"
        assert not [
            text for text in ("The ledger is blue", "Otto is dead", "rang it himself", "NOTES") if text in prompt
        ]
        await conversation.say("Where is the ledger?")
        assert "The ledger: The ledger is blue. It is forged." in _prompt(open_), "it is named, and she knows"
        asked = "\n".join(message.content for request in _asked(open_) for message in request.messages)
        assert "rang it himself" not in asked
        assert "NOTES" not in asked


def _asked(open_: Any) -> list[Request]:  # noqa: ANN401 - an open project
    """What the programs that play the roles were asked, each role by itself."""
    found: list[Request] = []
    for role in open_.prepared.method.roles:
        performer = open_.context.cast.assignment(role).performer
        function = next(value for value in vars(performer).values() if callable(value))
        found += function.__globals__["asked"]
    return found


def _prompt(open_: Any) -> str:  # noqa: ANN401 - an open project
    """The prompt of the last turn."""
    return "\n".join(message.content for message in [r for r in _asked(open_) if r.role == "npc"][-1].messages)


async def test_a_card_is_talked_to_with_snap_too(tmp_path: Path) -> None:
    async with playing(opened_card(tmp_path, system="snap"), tmp_path) as open_:
        conversation = await open_.conversation("evening")
        await conversation.begin()
        await conversation.say("Is that the bell?")
        assert conversation.plan
        assert "Tobias's father rang it." in _prompt(open_)


@pytest.mark.parametrize("system", ["snap", "vanilla"])
async def test_a_card_is_talked_to_with_the_papers_prompts_too(system: str, tmp_path: Path) -> None:
    async with playing(opened_card(tmp_path, system=system, preset="faithful"), tmp_path) as open_:
        conversation = await open_.conversation("evening")
        await conversation.begin()
        await conversation.say("Is that the bell?")
        assert "Mara keeps the lamp." in _prompt(open_)
        assert "in examples that are no part of this talk" not in _prompt(open_)


async def test_a_damaged_card_in_a_project_is_named(tmp_path: Path) -> None:
    made = opened_card(tmp_path)
    (made.folder / "cards/other.json").write_text("{")
    with pytest.raises(ProjectError, match=r"other.json is not JSON"):
        async with playing(made, tmp_path):
            pass


def zipped(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("assets/face.png", b"x" * 1000)
        archive.writestr(name, data)
    return out.getvalue()


def test_a_charx_file_is_read_within_bounds() -> None:
    assert parse_card(zipped("card.json", json.dumps(CARD).encode())).name == "Mara Quist"
    with pytest.raises(UsageError, match=r"contains no card\.json"):
        parse_card(zipped("other.json", b"{}"))
    with pytest.raises(UsageError, match="is larger than 8,000,000 bytes"):
        parse_card(zipped("card.json", b" " * 100_000_000))
    whole = zipped("card.json", json.dumps(CARD).encode())
    with pytest.raises(UsageError, match="is damaged or compressed"):
        parse_card(whole[: len(whole) // 2])
    end = whole.rfind(b"PK\x05\x06")
    with pytest.raises(UsageError, match="lists too many files"):
        parse_card(whole[: end + 12] + b"\xff\xff\xff\x7f" + whole[end + 16 :])


# the rules of lorebooks ----------------------------------------------------------------------------------------------


def world(**entry: Any) -> Lorebook:  # noqa: ANN401 - fields of any kind
    return Lorebook.of({"entries": {"7": {"key": ["bell"], "content": "It rings.", **entry}}})


def shown(book: Lorebook, *messages: str, seed: str | None = None) -> bool:
    return bool(scan(book, messages, seed=seed).shown)


@pytest.mark.parametrize(
    ("entry", "said", "called"),
    [
        ({}, "The bell!", True),
        ({}, "Bells?", False),
        ({"matchWholeWords": False}, "Bells?", True),
        ({"caseSensitive": True, "key": ["Bell"]}, "the bell", False),
        ({"disable": True}, "bell", False),
        ({"constant": True}, "nothing", True),
        ({"keysecondary": ["reef"]}, "bell", False),
        ({"keysecondary": ["reef"], "selective": False}, "bell", True),
        ({"keysecondary": ["reef"], "selectiveLogic": 2}, "bell", True),
        ({"keysecondary": ["reef", "sea"], "selectiveLogic": 3}, "bell, reef", False),
        ({"keysecondary": ["reef", "sea"], "selectiveLogic": 3}, "bell, reef, sea", True),
        ({"key": ["/b(e|a)ll+/i"]}, "bell", False),  # a pattern is never run
        ({"key": ["/bell|gong/i"]}, "a gong", True),  # unless it lists words
        ({"delayUntilRecursion": True}, "bell", False),
        ({"delay": 2}, "bell", False),
    ],
)
def test_a_world_of_sillytavern_is_read_by_its_rules(entry: dict[str, Any], said: str, *, called: bool) -> None:
    assert shown(world(**entry), said) is called


def test_an_entry_stays_and_then_rests_and_chance_is_settled_by_the_seed() -> None:
    said = ["the bell", "one", "two", "bell", "bell", "bell"]
    short = {"scanDepth": 1}
    assert [shown(world(sticky=2, **short), *said[:n]) for n in range(1, 5)] == [True, True, True, True]
    rests = world(cooldown=3, **short)
    assert [shown(rests, *said[:n]) for n in (1, 4, 5)] == [True, False, True]
    half = world(probability=50, useProbability=True, constant=True)
    found = [shown(half, *["x"] * n, seed="s") for n in range(1, 101)]
    assert found == [shown(half, *["x"] * n, seed="s") for n in range(1, 101)]
    assert 30 < sum(found) < 70
    assert shown(half, "x"), "without a seed all are shown"
    assert not shown(world(probability=0, useProbability=True), "bell", seed="s")


def test_entries_call_each_other_unless_they_say_otherwise() -> None:
    def book(first: dict[str, Any], second: dict[str, Any]) -> int:
        one = {"key": ["bell"], "content": "It hangs on the reef.", **first}
        two = {"key": ["reef"], "content": "It is called the Comb.", **second}
        raw = {"recursive_scanning": True, "entries": {"0": one, "1": two}}
        return len(scan(Lorebook.of(raw), ["the bell"]).shown)

    assert book({}, {}) == 2
    assert book({"preventRecursion": True}, {}) == 1
    assert book({}, {"excludeRecursion": True}) == 1
    assert book({}, {"delayUntilRecursion": True}) == 2


def test_a_file_that_is_no_lorebook_is_named(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    refused = (
        ("[]", "it has no `entries`"),
        ("{", "Give a lorebook"),
        ('{"entries": 3}', "no `entries`"),
    )
    for text, said in refused:
        file.write_text(text)
        with pytest.raises(UsageError, match=said):
            read_lorebook(file)


# what conversations share and keep ------------------------------------------------------------------------------------

STORY = (
    "Mara kept the lamp. Tobias brought Mara a letter. Mara read it twice. The lamp was to go dark. "
    "The wind turned. Tobias asked Mara for light. Mara lit the lamp. The boat came home."
)


def story_project(tmp_path: Path) -> ProjectFolder:
    changes = {"system": "snap", "config": {"sentences": 4, "turns_per_step": 1, "candidates": 1}}
    return ProjectFolder.create(tmp_path / "story", Brief(STORY), changes)


def preparing(open_: Any) -> int:  # noqa: ANN401 - an open project
    """How many calls were no turns."""
    return sum(request.role != "npc" for request in _asked(open_))


async def test_a_second_conversation_has_its_first_words_after_one_call(tmp_path: Path) -> None:
    two = Parties("Tobias", ("Mara",))
    async with playing(story_project(tmp_path), tmp_path) as open_:
        conversations = [await open_.conversation(name, two) for name in ("a", "b", "c")]
        await asyncio.gather(*(conversation.begin() for conversation in conversations[:2]))
        made = preparing(open_)
        await conversations[2].begin()
        assert preparing(open_) == made
        assert sum("plan" in path for path in [r.path for r in _asked(open_)]) == 1
        assert conversations[0].plan == conversations[2].plan


async def test_nothing_is_asked_before_somebody_speaks(tmp_path: Path) -> None:
    async with playing(story_project(tmp_path), tmp_path) as open_:
        conversation = await open_.conversation("a", Parties("Tobias", ("Mara",)))
        assert not _asked(open_)
        await conversation.begin()
        while not conversation.state.waits:
            await conversation.say("Hm.")
        before = len(_asked(open_))
        await asyncio.sleep(0)
        assert len(_asked(open_)) == before
        assert (await conversation.say("And now?")).cell == 2


async def test_a_log_keeps_its_system(tmp_path: Path) -> None:
    made, two = story_project(tmp_path), Parties("Tobias", ("Mara",))
    async with playing(made, tmp_path) as open_:
        await (await open_.conversation("a", two)).begin()
    async with conversing(made, Settings(system="vanilla"), Options()) as open_:
        with pytest.raises(UsageError, match=r"started with the system 'snap' and continues with it: --system snap"):
            await open_.conversation("a", two)


# over HTTP ----------------------------------------------------------------------------------------------------------


async def test_a_greeting_that_a_client_brings_along_is_that_of_the_card(tmp_path: Path) -> None:
    card = parse_card(json.dumps({**CARD, "data": {**CARD["data"], "name": "Mara"}}).encode())
    write_cards(project(tmp_path).folder, [card], {})
    async with here(tmp_path) as server:
        begun = await server.client.post("/v1/chat/completions", json={"model": MODEL, "messages": [SYSTEM]})
        assert begun.json()["choices"][0]["message"]["content"] == "*She turns.* You are wet, Tobias."
        assert not server.engine.asked
        second = {"role": "assistant", "content": "The lamp is out, Tobias."}
        talk = [SYSTEM, second, {"role": "user", "content": "Was that the bell?"}]
        first = await server.client.post("/v1/chat/completions", json={"model": MODEL, "messages": talk})
        prompt = [message.content for message in server.engine.asked[-1].messages]
        assert "[Mara: The lamp is out, Tobias.]" in prompt
        assert "Tobias's father rang it." in prompt[-1]
        talk += [first.json()["choices"][0]["message"], {"role": "user", "content": "And now?"}]
        again = await server.client.post("/v1/chat/completions", json={"model": MODEL, "messages": talk})
        assert again.json()["fabula"]["session"] == first.json()["fabula"]["session"]
