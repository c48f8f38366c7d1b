from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from commandline import BY_PARTS, script_of
from fabula.app.asking import file_of
from fabula.cli.terminal import Terminal
from fabula.engine.events import Kept
from fabula.project.folder import ProjectFolder

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

SCRIPT = ("--model", "scripted:script.toml", *BY_PARTS)


def test_a_person_plays_a_role(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--play", "plot=me", stdin="A storm.\nThen a calm.\n.\n")
    assert ran.code == 0
    assert "You play plot (plot/plot)." in ran.err
    assert "A girl lights a lighthouse" in ran.err  # the prompt
    assert (cli.folder / "brief/plan/plot.md").read_text() == "A storm.\nThen a calm.\n"
    assert cli("write", "brief", "--json").json["asked"] == 0


def test_a_person_is_told_how_many_words_are_asked_for_and_missing(cli: Cli) -> None:
    (cli.folder / "brief.md").write_text("Write about Mara, in 300 to 330 words.\n")
    more = "\n".join("Mara climbs the stairs once more and counts them." for _ in range(40))
    text = "Mara lights the lamp and waits for the boats."
    ran = cli(
        *("write", "brief.md", "--system", "end-to-end", "--model", "scripted:script.toml", "--play", "writer=me"),
        stdin=f"{text}\n.\n{more}\n.\n",
    )
    assert "300 to 330 words are requested." in ran.err
    assert "Your text has 9 words: 291 too few." in ran.err
    assert "About 306 words are requested." in ran.err, "what is still missing, where the text goes on"


def test_an_empty_answer_is_asked_again(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--play", "plot=me", stdin=".\n  \n.\nA storm.\n.\n")
    assert ran.code == 0
    assert ran.err.count("You wrote nothing.") == 2
    assert (cli.folder / "brief/plan/plot.md").read_text() == "A storm.\n"


def test_an_answer_may_end_with_the_input(cli: Cli) -> None:
    assert cli("write", "brief.md", *SCRIPT, "--play", "plot=me", stdin="A storm.").code == 0
    assert (cli.folder / "brief/plan/plot.md").read_text() == "A storm.\n"


def test_without_an_answer_the_run_waits(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--play", "plot=me", "--json")
    assert ran.code == 0
    assert ran.json["paused"]["artefact"] == "plot/plot"
    assert "The role 'plot' is waiting for your text, but the input has ended." in ran.err
    assert cli("write", "brief", "--json", stdin="A storm.\n.\n").json["replayed"] == 3


def test_an_answer_from_the_editor(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = cli.folder / "editor.sh"
    editor.write_text('#!/bin/sh\necho "and by hand." >> "$1"\n')
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    ran = cli("write", "brief.md", *SCRIPT, "--play", "plot=me", stdin="Begun here\n/edit\n")
    assert ran.code == 0, ran.err
    assert (cli.folder / "brief/plan/plot.md").read_text() == "Begun hereand by hand.\n"


def test_without_a_terminal_the_run_stops_at_the_first_text(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--approve", "plans")
    assert ran.code == 0
    assert ran.err.endswith(
        "fabula: brief/plan/conflict.md waits for your approval. Edit the file, or run `fabula text approve "
        "-C brief`. Then give the same command again.\n"
    )


def test_approved_texts_let_the_run_go_on(cli: Cli) -> None:
    command = ("write", "brief.md", *SCRIPT, "--approve", "plans", "--json")
    waits = []
    for _ in range(4):
        waits.append(cli(*command).json["paused"]["artefact"])
        assert cli("text", "approve", "-C", "brief").code == 0
    assert waits == ["conflict", "characters", "setting", "plot"]
    assert cli(*command).json["words"] == 69


def test_an_edited_file_counts_as_approved(cli: Cli) -> None:
    command = ("write", "brief.md", *SCRIPT, "--approve", "plans", "--json")
    cli(*command)
    (cli.folder / "brief/plan/conflict.md").write_text("My own conflict.\n")
    assert cli(*command).json["paused"]["artefact"] == "characters"


def test_approve_all_stops_at_scenes_too(cli: Cli, project: Path) -> None:
    cli("text", "approve", "-C", "lamp")
    cli("text", "retake", "climax", "-C", "lamp")
    (cli.folder / "script.toml").write_text(
        (cli.folder / "script.toml").read_text().replace("The storm broke the window.", "The storm broke the door.")
    )
    ran = cli("write", "lamp", "--approve", "all", "--json")
    assert ran.json["paused"]["artefact"] in {"conflict", "climax"}


def test_at_a_terminal_one_accepts_edits_retakes_and_stops(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = cli.folder / "editor.sh"
    editor.write_text('#!/bin/sh\necho "Mara, by hand." > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    cli.at_terminal()
    # conflict: a wrong key, another take, then accepted; characters: edited; setting: stop.
    ran = cli("write", "brief.md", *SCRIPT, "--approve", "plans", stdin="x\nr\na\ne\ns\n")
    assert ran.code == 0
    assert ran.err.count("[a]ccept, [e]dit, [t]ype another, [r]etake or [s]top?") == 5
    assert "brief/plan/setting.md waits for your approval." in ran.err
    assert (cli.folder / "brief/plan/characters.md").read_text() == "Mara, by hand.\n"
    kinds = [
        version["source"]
        for version in cli("show", "characters", "-C", "brief", "--json", "--versions").json["versions"]
    ]
    assert kinds == ["made", "edited"]
    data = cli("write", "brief", "--json").json
    assert data["words"] == 69
    assert data["project_bill"]["conflict"]["reply"] == 32  # asked twice, paid twice


def test_without_an_editor_another_text_is_typed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(cli.folder / "empty"))
    cli.at_terminal()
    said = "e\nt\n.\nt\nA storm.\nThen a calm.\n.\ns\n"  # nothing typed at first
    ran = cli("write", "brief.md", *SCRIPT, "--approve", "plans", stdin=said)
    assert ran.code == 0
    assert (
        "No editor was found. Set EDITOR, for example to nano, or provide the text without an editor. Or type it: t."
        in ran.err
    )
    assert (cli.folder / "brief/plan/conflict.md").read_text() == "A storm.\nThen a calm.\n"


@pytest.mark.parametrize(("named", "there", "taken"), [
    ({"VISUAL": "code -w", "EDITOR": "ed"}, ["nano"], "code -w"),
    ({"EDITOR": "ed"}, ["nano"], "ed"),
    ({}, ["vi", "nano"], "nano"),
    ({}, ["vi"], "vi"),
    ({}, [], ""),
])  # fmt: skip
def test_the_editor_is_the_one_that_is_set_or_there(
    tmp_path: Path, named: dict[str, str], there: list[str], taken: str
) -> None:
    for name in there:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert Terminal(environ={**named, "PATH": str(tmp_path)}).editor == taken


def test_the_budget_holds_over_retakes(cli: Cli) -> None:
    cli.at_terminal()
    small = ("--set", "max_tokens=40", "--budget-tokens", "700", "--approve", "plans")
    ran = cli("write", "brief.md", *SCRIPT, *small, stdin="r\n" * 20)
    assert ran.code == 1
    assert "Stopped before the budget of" in ran.err
    assert 1 < ran.err.count("[r]etake") < 10


# in a role-play -------------------------------------------------------------------------------------------------------

WRITE = ("write", "--plan", "plan.yaml", "--out", "lamp")
TURN = "Mara lights the stove with the letter."


def turns(folder: Path, scene: str) -> list[str]:
    """Who played what in a scene, as its file has it."""
    text = (folder / f"lamp/role-play/{scene}.md").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("**")]


def performers(cli: Cli, role: str) -> dict[str, str]:
    """Who answered the calls of a role, by path."""
    with ProjectFolder.open(cli.folder / "lamp").journal as journal:
        return {
            call.path: call.performer.partition("@")[0]
            for call in journal.calls.find(prompts=True)
            if call.role == role
        }


def test_a_person_plays_a_character(cli: Cli, playhouse: tuple[str, ...]) -> None:
    ran = cli(*WRITE, *playhouse, "--play", "Mara=me", stdin=f"Mara cries.\n.\n{TURN}\nShe waits.\n.\n")
    assert ran.code == 0, ran.err
    assert ran.err.count("You play Mara (") == 2
    assert "You play Mara (role-play/the-letter/turn/2/respond)." in ran.err
    assert "The director says to Mara: Read and be still." in ran.err
    assert "  /pass        lets the model take this turn\n" in ran.err
    assert turns(cli.folder, "the-wreck")[0] == "**Mara:** Mara cries."
    assert turns(cli.folder, "the-letter")[-1] == f"**Mara:** {TURN}"
    assert set(performers(cli, "Mara").values()) == {"person:me"}
    assert set(performers(cli, "Tobias").values()) == {"scripted"}


def test_without_an_editor_what_was_said_is_not_lost(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setenv("PATH", str(cli.folder / "empty"))
    ran = cli("write", "brief.md", *SCRIPT, "--play", "plot=me", stdin="A storm.\n/edit\nThen a calm.\n.\n")
    assert ran.code == 0, ran.err
    assert "No editor was found. Set EDITOR, for example to nano, or provide the text without an editor." in ran.err
    assert (cli.folder / "brief/plan/plot.md").read_text() == "A storm.\nThen a calm.\n"


def test_without_the_person_what_they_played_stays(cli: Cli, playhouse: tuple[str, ...]) -> None:
    cli(*WRITE, *playhouse, "--play", "Mara=me", stdin=f"Mara cries.\n.\n{TURN}\n.\n")
    settings = cli.folder / "lamp/fabula.toml"
    stored = settings.read_text(encoding="utf-8")
    settings.write_text(stored.replace('play = "me"', ""), encoding="utf-8")
    assert settings.read_text(encoding="utf-8") != stored
    ran = cli("write", "lamp", "--json")
    assert ran.json["asked"] == 0
    assert "You play" not in ran.err
    assert turns(cli.folder, "the-letter")[-1] == f"**Mara:** {TURN}"


def test_a_person_who_takes_over_is_asked_only_for_what_is_new(cli: Cli, playhouse: tuple[str, ...]) -> None:
    cli(*WRITE, *playhouse)
    ran = cli("write", "lamp", "--play", "Mara=me", "--json")
    assert ran.json["asked"] == 0
    cli("text", "retake", "role-play/the-letter", "-C", "lamp")
    ran = cli("write", "lamp", "--play", "Mara=me", stdin=f"{TURN}\n.\n")
    assert ran.code == 0, ran.err
    assert ran.err.count("You play Mara (") == 1
    assert turns(cli.folder, "the-wreck")[0].startswith("**Mara:** Mara counts.")
    assert turns(cli.folder, "the-letter")[-1] == f"**Mara:** {TURN}"


def test_a_person_who_stops_goes_on_from_there(cli: Cli, playhouse: tuple[str, ...]) -> None:
    ran = cli(*WRITE, *playhouse, "--play", "Mara=me", "--json", stdin="Mara cries.\n.\n")
    assert ran.json["paused"]["artefact"] == "role-play/the-letter/turn/2/respond"
    ran = cli("write", "lamp", stdin=f"{TURN}\n.\n")
    assert ran.code == 0, ran.err
    assert ran.err.count("You play Mara (") == 1
    assert turns(cli.folder, "the-wreck")[0] == "**Mara:** Mara cries."


def test_a_person_passes_one_turn(cli: Cli, playhouse: tuple[str, ...]) -> None:
    ran = cli(*WRITE, *playhouse, "--play", "Mara=me", stdin=f"I begin\n/pass\n{TURN}\n.\n")
    assert ran.code == 0, ran.err
    assert list(performers(cli, "Mara").values()) == ["scripted", "person:me"]
    assert turns(cli.folder, "the-wreck")[0].startswith("**Mara:** Mara counts.")
    assert turns(cli.folder, "the-letter")[-1] == f"**Mara:** {TURN}"


def test_a_person_hands_the_role_back(cli: Cli, playhouse: tuple[str, ...]) -> None:
    ran = cli(*WRITE, *playhouse, "--play", "Mara=me", stdin="/hand-back\n")
    assert ran.code == 0, ran.err
    assert ran.err.count("You play Mara (") == 1
    assert list(performers(cli, "Mara").values()) == ["scripted", "scripted"]


def test_a_character_who_is_not_in_the_plan_is_told_before_anything_is_made(
    cli: Cli, playhouse: tuple[str, ...]
) -> None:
    ran = cli(*WRITE, *playhouse, "--play", "Mora=me")
    assert (ran.code, ran.err) == (2, "fabula: Unknown character 'mora'. Did you mean 'mara'?\n")
    ran = cli(*WRITE, *playhouse, "--play", "old-tobias=me")
    assert "Unknown character 'old_tobias'. Did you mean 'tobias'?" in ran.err
    assert not (cli.folder / "lamp").exists()


def test_a_character_who_is_not_in_the_projects_plan_is_told(cli: Cli, playhouse: tuple[str, ...]) -> None:
    cli(*WRITE, *playhouse)
    ran = cli("write", "lamp", "--play", "Mora=me")
    assert ran.code == 2
    assert "Unknown character 'mora'. Did you mean 'mara'?" in ran.err


# Of the wreck, then of the letter: two turns each, asked again where an answer does not fit.
DIRECTED = """\
1; 9
1
Nobody
m
Cry for help.
1
The fishermen
/pass
2;1
tob
Bring it: now.
2
mara
Read, and be still.
"""


def test_a_person_directs_by_answering_questions(cli: Cli, playhouse: tuple[str, ...]) -> None:
    ran = cli(*WRITE, *playhouse, "--play", "director=me", stdin=DIRECTED)
    assert ran.code == 0, ran.err
    assert "You play director (role-play/the-letter/turn/1/decide)." in ran.err
    assert "who plays the next turn; empty if the scene ends (Mara | The fishermen | or nothing)" in ran.err
    assert "Enter one of: Mara, The fishermen, or nothing." in ran.err
    assert "Enter one of: 1." in ran.err
    assert "JSON" not in ran.err
    assert list(performers(cli, "director").values()) == ["person:me", "scripted", "person:me", "person:me"]
    scene = (cli.folder / "lamp/role-play/the-letter.md").read_text(encoding="utf-8")
    assert "> The director to Tobias: Bring it: now.\n" in scene
    assert "> The director to Mara: Read, and be still.\n" in scene


def test_a_director_judges_whether_a_scene_is_over(cli: Cli, playhouse: tuple[str, ...]) -> None:
    said = "1\nmara\nCry for help.\n" + "\n\n\n" + "/hand-back\n"
    ran = cli(*WRITE, *playhouse, "--play", "director=me", stdin=said)
    assert ran.code == 0, ran.err
    assert "that were not yet played; empty if all were, which ends the scene" in ran.err
    assert len(turns(cli.folder, "the-wreck")) == 1
    assert performers(cli, "director")["role-play/the-wreck/turn/2/decide"] == "person:me"
    assert len(turns(cli.folder, "the-letter")) == 2


PAPERS = {
    "sorter": '{"points": ["It begins."]}',
    "director:terminate": '{"reasons": "An event is left.", "covered": false}',
    "director:direct": '{"remaining": [], "next_speaker": "Mara", "next_command": "Go on."}',
    "memory": "I know what the sea takes.",
    "writer": "They had pulled her out of that water once, and nobody had asked whose child she was.",
}


def test_a_person_writes_a_text_where_a_typed_reply_is_one(cli: Cli, playhouse: tuple[str, ...]) -> None:
    (cli.folder / "play.toml").write_text(script_of(PAPERS), encoding="utf-8")
    play = ("--preset", "faithful", "--play", "Mara=me")
    ran = cli(*WRITE, *playhouse, *play, stdin="One line,\nanother line.\n.\n" * 4)
    assert ran.code == 0, ran.err
    assert turns(cli.folder, "the-wreck")[0] == "**Mara:** One line,"
    assert ran.err.count("/respond).") == 4


def test_at_a_terminal_lines_are_marked_and_prompts_fit_the_screen(
    cli: Cli, playhouse: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.at_terminal()
    monkeypatch.setenv("COLUMNS", "60")
    ran = cli(*WRITE, *playhouse, "--play", "Mara=me", stdin=f"Mara cries.\n.\n{TURN}\n.\n")
    assert ran.code == 0, ran.err
    assert ran.err.count("> > ") == 2
    prompt = ran.err.partition("You play Mara")[2].partition("Write your text")[0]
    assert max(len(line) for line in prompt.splitlines() if not line.startswith("---")) <= 60
    assert "- Keep to the character's memory" in prompt


@pytest.mark.parametrize("scene", ["climax", "anti-climax"])
def test_the_file_that_waits_for_approval_is_the_artefacts_own(tmp_path: Path, scene: str) -> None:
    folder = tmp_path / "story"
    folder.mkdir()
    for file in ("01-anti-climax.md", "02-climax.md"):
        (folder / file).write_text("Text.")
    assert file_of(tmp_path, Kept(scene, "story", "Text.", "made")).name.endswith(f"-{scene}.md")
    assert file_of(tmp_path, Kept("plan", "plan", "a: 1", "made", "yaml")) == tmp_path / "plan"
