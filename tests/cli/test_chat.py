from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import script_of
from fabula.base.errors import OverloadedError
from witnesses import all_witness

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli, Ran

STORY = """\
# The Lamp

One night Mara kept the lamp. Then Tobias brought Mara a letter. Mara read it twice.
The lamp was to go dark, and Jonas wept.

On Saturday the wind turned. Tobias asked Mara for the light. Mara lit the lamp. The boat came home.
"""
REPLIES = {
    "labeller": '{"characters": [{"name": "Mara", "traits": ["stubborn"]}, {"name": "Tobias"}, {"name": "Jonas"}]}',
    "labeller:witnesses": all_witness("Mara", "Tobias", "Jonas"),
    "planner": "#1. Tobias brings Mara a letter\n- He has run.\n#2. Mara lights the lamp",
    "judge": "3",
    "npc": "[Mara: (counts the boats) Ten are home.]",
    "chat/tobias-mara/cell-1/turn/2/answer": "[Mara: (looks up) Eleven were out.]",
    "chat/tobias-mara/cell-1/turn/3/answer": "[Mara: (turns round) One is missing.]",
    "player": "[Tobias: (nods) I hear you, Mara.]",
    "summariser": "Tobias brought a letter.",
}
TURNS = [
    "Mara: (counts the boats) Ten are home.",
    "Mara: (looks up) Eleven were out.",
    "Mara: (turns round) One is missing.",
]
OPTIONS = ("--model", "scripted:chat.toml", "--set", "sentences=4", "--set", "candidates=1")


@pytest.fixture(autouse=True)
def ready(here: Path) -> None:
    (here / "lamp.md").write_text(STORY, encoding="utf-8")
    (here / "chat.toml").write_text(script_of(REPLIES), encoding="utf-8")


def talk(cli: Cli, *more: str, stdin: str = "") -> Ran:
    return cli("chat", "lamp.md", "--as", "Tobias", "--with", "Mara", *OPTIONS, *more, stdin=stdin)


def test_the_project_of_a_story_file_is_named_with_the_option_too(cli: Cli) -> None:
    assert talk(cli, "-C", "elsewhere", stdin="What now?\n").code == 0
    assert (cli.folder / "elsewhere" / "chat").is_dir()
    assert not (cli.folder / "lamp").exists()
    assert (
        "You specified two projects, --out there and -C elsewhere" in talk(cli, "-C", "elsewhere", "--out", "there").err
    )


def test_a_conversation_is_led_shown_and_kept(cli: Cli) -> None:
    ran = talk(cli, stdin="What now?\n/where\n/plan\n/quit\nNot heard.\n")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[:2] == TURNS[:2]
    assert lines[2] == "Cell 1 of 2, point 1 of 2: Tobias brings Mara a letter"
    assert lines[3:5] == ["Present: Tobias, Mara.", "2 turns; 0% of the story."]
    assert lines[5:] == ["> 1. Tobias brings Mara a letter", "     He has run.", "  2. Mara lights the lamp"]
    assert "Tobias talks with Mara; 2 cells. Conversation 'tobias-mara'." in ran.err
    assert "Present: Tobias, Mara." in ran.err
    assert "... the next part of the story is being prepared" in ran.err
    assert "To continue, run `fabula chat lamp --session tobias-mara`." in ran.err
    folder = cli.folder / "lamp"
    assert "**Tobias:** What now?" in (folder / "chat/tobias-mara.md").read_text()
    assert "stubborn" in (folder / "plan/cell-1-people.yaml").read_text()
    assert (folder / "plan/narrative.md").read_text().startswith("One night Mara")
    assert not [file.name for file in (folder / "plan").glob("*plan*")]


def test_it_goes_on_where_it_stood(cli: Cli) -> None:
    talk(cli, stdin="What now?\n")
    ran = cli("chat", "lamp", stdin="And then?\n")
    assert ran.code == 0, ran.err
    assert "Continuing after 2 turns:" in ran.err
    assert ran.out.splitlines() == [TURNS[0], "Tobias: What now?", TURNS[1], TURNS[2]]
    ran = talk(cli, "--json", stdin="")
    assert [turn["said"] for turn in ran.json["turns"]] == ["", "What now?", "And then?"]
    assert ran.json["bill"] == {}


def test_new_and_named_conversations(cli: Cli) -> None:
    talk(cli)
    assert talk(cli, "--new", "--json").json["name"] == "tobias-mara-2"
    assert talk(cli, "--session", "evening", "--json").json["name"] == "evening"
    again = cli("chat", "lamp", "--new", "--json").json
    assert (again["name"], again["player"], again["others"]) == ("tobias-mara-3", "Tobias", ["Mara"])
    assert cli("chat", "lamp", "--session", "evening", "--json").json["name"] == "evening"
    ran = talk(cli, "--session", "evening", "--new")
    assert (ran.code, "There is already a conversation named 'evening'." in ran.err) == (2, True)
    ran = cli("chat", "lamp", "--as", "Mara", "--with", "Tobias", "--session", "evening")
    assert ran.code == 2
    assert "Tobias talks with Mara." in ran.err


def test_undo_retry_next_and_save(cli: Cli) -> None:
    said = "What now?\n/undo\n/retry\n/next\n/freedom loose\n/save talk.md\n/save talk.md\n/help\n/dance\n"
    ran = talk(cli, "--json", stdin=said)
    assert ran.code == 0, ran.err
    assert [turn["said"] for turn in ran.json["turns"]] == ["", ""]
    assert (ran.json["place"]["cell"], ran.json["place"]["step"]) == (1, 2)
    assert "Undone." in ran.err
    assert "Freedom is now loose." in ran.err
    assert "Saved as talk.md." in ran.err
    assert "talk.md exists. Give /save another name." in ran.err
    assert "/freedom LEVEL" in ran.err
    assert "Unknown command '/dance'." in ran.err
    begin = "# Tobias and Mara\n\n<!-- scene: cell-1 -->\n\n**Mara:** (counts"
    assert (cli.folder / "talk.md").read_text().startswith(begin)


def test_the_last_answer_can_be_edited(cli: Cli) -> None:
    ran = talk(cli, "--json", stdin="What now?\n/edit\n/edit (laughs) We wait.\n")
    assert ran.code == 0, ran.err
    assert "/edit takes the new answer" in ran.err
    assert [(turn["answer"], turn["edited"]) for turn in ran.json["turns"]][1:] == [("(laughs) We wait.", True)]


def test_the_story_is_told_to_its_end(cli: Cli) -> None:
    ran = talk(cli, stdin="/next\nHm.\nHm.\nHm.\nHm.\n.\n/next\nHm.\nHm.\nHm.\nHm.\nMore?\n")
    assert ran.code == 0, ran.err
    assert "-- Cell 1 of 2 ends. Say something, or /next. --" in ran.err
    assert "-- The story has ended." in ran.err
    assert "The story is over. Type /undo" in ran.err


def test_two_models_talk_by_themselves(cli: Cli) -> None:
    ran = talk(cli, "--auto")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[:3] == [TURNS[0], "Tobias: (nods) I hear you, Mara.", TURNS[1]]
    assert "100% of the story" in ran.err
    assert len(talk(cli, "--auto", "--turns", "2", "--new", "--json").json["turns"]) == 2


def test_several_characters_come_and_go(cli: Cli) -> None:
    ran = cli(
        "chat", "lamp.md", "--as", "Tobias", "--with", "Mara", "--with", "Jonas", *OPTIONS, "--json",
        stdin="/leave mara\nHm?\n/join Mara\nMara?\n/leave Tom\n/leave Jonas\n/leave Mara\n",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert [turn["who"] for turn in ran.json["turns"]] == ["Mara", "Jonas", "Mara"]
    assert "Present: Tobias, Jonas. Absent: Mara.\n" in ran.err
    assert "Present: Tobias, Mara, Jonas.\n" in ran.err
    assert "Unknown character who is there 'Tom'" in ran.err
    assert "A conversation needs" in ran.err


def test_too_long_a_message_is_refused_and_the_conversation_goes_on(cli: Cli) -> None:
    ran = talk(cli, "--json", stdin="x" * 100_000 + "\n\nHm.\n")
    assert ran.code == 0
    assert "Your message has 100,000 characters; the limit is 4,000" in ran.err
    assert [turn["said"] for turn in ran.json["turns"]] == ["", "Hm."]


def test_the_vanilla_baseline_can_be_talked_to(cli: Cli) -> None:
    ran = cli(
        "chat", "lamp.md", "--system", "vanilla", "--as", "Tobias", "--with", "Mara", "--model", "scripted:chat.toml",
        stdin="/plan\n/where\n",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "There is no plan:" in ran.out
    assert "Cell 1 of 1\nPresent: Tobias, Mara.\n1 turn;" in ran.out


def test_a_written_story_of_any_system_can_be_talked_to(cli: Cli, project: Path) -> None:
    before = (project / "fabula.toml").read_text()
    (cli.folder / "chat.toml").write_text(script_of(REPLIES | {"npc": "[Jonas: (waits) Hm, so be it.]"}))
    ran = cli("chat", "lamp", "--as", "Mara", "--with", "Jonas", *OPTIONS, stdin="")
    assert (ran.code, ran.out) == (0, "Jonas: (waits) Hm, so be it.\n"), ran.err
    assert (project / "fabula.toml").read_text() == before


def test_to_name_who_answers_is_enough(cli: Cli) -> None:
    ran = cli("chat", "lamp.md", "--with", "Tobias", *OPTIONS, stdin="")
    assert ran.code == 0, ran.err
    assert "Visitor talks with Tobias; 2 cells. Conversation 'visitor-tobias'." in ran.err
    (cli.folder / "alone.md").write_text(
        "One night the lamp went out, and Mara lit it. Then Mara slept. It was Mara's.\n"
    )
    ran = cli("chat", "alone.md", "--system", "vanilla", "--with", "Mara", "--model", "scripted:chat.toml", stdin="")
    assert ran.code == 0, ran.err
    assert "Visitor talks with Mara;" in ran.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("chat", "nowhere.md"), "There is no file or folder nowhere.md."),
        (
            ("chat", "lamp.md", "--as", "Tobias", "--with", "Marla"),
            "Unknown character 'Marla'. Did you mean 'Mara'?",
        ),
        (("chat", "lamp.md", "--as", "Tobias"), "You play Tobias. Specify who answers with `--with NAME`."),
        (
            ("chat", "lamp.md", "--system", "agents-room"),
            "The system `agents-room` does not support conversations. These systems do",
        ),
        (("chat", "lamp.md", "--words", "100"), "--words applies only to writing:"),
        (("chat", "lamp.md", "--freedom", "wild"), "There is no freedom 'wild'."),
        (("chat", "lamp.md", "--session", "A b"), "cannot name a conversation"),
        (("chat", "empty", "--out", "x"), "--out requires a story file. A"),
        (("chat", "blank.md"), "The story in blank.md is empty."),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_made(cli: Cli, arguments: tuple[str, ...], expected: str) -> None:
    (cli.folder / "blank.md").write_text("# Nothing\n\n...\n")
    ran = cli(*arguments)
    assert ran.code == 2
    assert expected in ran.err
    if "session" not in expected:
        assert not (cli.folder / "lamp").exists()


def test_an_engine_that_fails_ends_a_piped_conversation_and_not_a_persons(cli: Cli) -> None:
    talk(cli)
    (cli.folder / "chat.toml").write_text(script_of({"planner": "x"}))
    assert talk(cli, stdin="Hm.\n").code == 1
    cli.at_terminal()
    ran = talk(cli, stdin="Hm.\n/quit\n")
    assert ran.code == 0
    assert "The conversation is unchanged. Say that again, or say something else." in ran.err


def test_a_summary_model_that_is_not_there_is_told_before_anybody_talks(cli: Cli) -> None:
    ran = talk(cli, "--model", "summariser=seq2seq:models/bart", stdin="Hello.\n")
    assert ran.code == 1
    assert "models/bart/config.json cannot be read (No such file or directory). Specify the folder in which" in ran.err
    assert ran.out == ""
    assert not (cli.folder / "lamp").exists()


def test_errors_side_by_side_end_no_conversation(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_: object) -> None:
        raise ExceptionGroup("side by side", [OverloadedError("The engine is busy."), OverloadedError("So is this.")])

    talk(cli)
    monkeypatch.setattr("fabula.craft.conversation.kept.Conversation.say", failing)
    cli.at_terminal()
    ran = talk(cli, stdin="Hm.\n/quit\n")
    assert ran.code == 0
    assert "The engine is busy.\nThe conversation is unchanged. Say that again, or say something else." in ran.err


CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Mara",
        "description": "{{char}} keeps the lamp.",
        "first_mes": "You are wet, {{user}}.",
        "alternate_greetings": ["The lamp is out."],
    },
}


def test_a_card_is_talked_to_and_its_greetings_are_chosen(cli: Cli) -> None:
    (cli.folder / "mara.json").write_text(json.dumps(CARD))
    (cli.folder / "cape.json").write_text(json.dumps({"entries": {"0": {"key": ["bell"], "content": "It rings."}}}))
    options = ("--as", "Tobias", "--model", "scripted:chat.toml")
    ran = cli("chat", "mara.json", *options, "--world", "cape.json", stdin="/greeting\n/greeting 2\nHm.\n/greeting x\n")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == [
        "Mara: You are wet, Tobias.",
        "1. You are wet, Tobias.",
        "2. The lamp is out.",
        "Mara: The lamp is out.",
        TURNS[1],
    ]
    assert "/greeting takes a number, not 'x'" in ran.err
    assert (cli.folder / "mara/cards/world-cape.json").exists()
    assert cli("chat", "mara", stdin="").out.startswith("Mara: The lamp is out.")
    ran = cli("chat", "mara.json", *options, "--new", "--greeting", "2", stdin="")
    assert ran.out.strip() == "Mara: The lamp is out."
    ran = cli("chat", "mara.json", *options, "--new", "--greeting", "3", stdin="")
    assert "There is no greeting 3: Mara has 2, from 1 on." in ran.err
    ran = cli("chat", "mara.json", *options, "--world", "chat.toml")
    assert ran.code != 0
    assert "Give a lorebook." in ran.err


def test_a_conversation_goes_on_with_its_system(cli: Cli) -> None:
    talk(cli, "--system", "snap", stdin="What now?\n")
    ran = cli("chat", "lamp", "--system", "vanilla", "--model", "scripted:chat.toml", stdin="")
    assert ran.code != 0
    assert "was started with the system 'snap' and continues with it: --system snap." in ran.err


def test_a_model_too_small_for_plans_is_told_of(cli: Cli) -> None:
    ran = talk(cli, "--aids", "on", stdin="/quit\n")
    assert "too small for snap" in ran.err
    assert "`--system vanilla` needs no plan" in ran.err
    assert "too small for" not in talk(cli, "--new", "--aids", "off", stdin="/quit\n").err
