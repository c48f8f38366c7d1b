"""Revision, not only another draw: a retake with a note, old texts revised to fit, one passage rewritten."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest

from commandline import REPLIES, script_of
from fabula.base.errors import OtherLengthError
from fabula.cli.stopping import stoppable
from fabula.engine.journal import CallFilter, Journal
from fabula.verbs.home import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from commandline import Cli

pytestmark = pytest.mark.usefixtures("same_model")

STORM = "The storm broke the window. Mara held the flame with both her hands."
DARKER = "The storm broke the window. Mara held the dying flame with both her bleeding hands."
DARKEST = "The storm broke the window. Nobody held the dying flame."
NOTE = "climax:revise_to_note"


def paths_of(cli: Cli, *arguments: str) -> list[str]:
    return [call["path"] for call in cli("update", "lamp", "--dry-run", "--json", *arguments).json["calls"]]


def climax(project: Path) -> str:
    return (project / "story/03-climax.md").read_text(encoding="utf-8").strip()


def prompt_at(project: Path, path: str) -> list[tuple[str, str]]:
    with Journal(project / ".fabula/journal.db") as journal:
        return list(journal.calls.find(CallFilter(under=path), prompts=True)[-1].messages)


# a retake with a note ------------------------------------------------------------------------------------------------


def test_a_retake_with_a_note_revises_the_old_text(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(**{NOTE: DARKER})
    ran = cli("text", "retake", "climax", "--note", "darker", "-C", "lamp")
    assert ran.out == "climax will be revised as you asked; its old text stays in `fabula show --versions climax`.\n"
    announced = paths_of(cli)
    assert announced[0] == "climax/note/1/revise_to_note"
    data = cli("update", "lamp", "--yes", "--json").json
    assert data["asked"] == len(announced) == 3  # and the two parts that follow on the new climax
    assert climax(project) == DARKER
    *asked, (_, wish) = prompt_at(project, "climax/note/1")
    assert asked[-1] == ("assistant", STORM)
    first = prompt_at(project, "climax/section")
    assert asked[:-1] == first  # the prompt that asked for the text stands before it
    assert "has read this text and wishes:\n\ndarker" in wish
    assert cli("update", "lamp", "--json").json["asked"] == 0


def test_notes_add_up_and_undo_takes_one_back(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(**{NOTE: DARKER})
    cli("text", "retake", "climax", "--note", "darker", "-C", "lamp")
    cli("update", "lamp", "--yes")
    write_script(**{NOTE: DARKEST})
    ran = cli("text", "retake", "climax", "--note", "and without Mara", "-C", "lamp")
    assert "earlier notes still apply: darker." in ran.out
    cli("update", "lamp", "--yes")
    assert climax(project) == DARKEST
    *asked, (_, wish) = prompt_at(project, "climax/note/2")
    assert asked[-1] == ("assistant", DARKER)
    assert "which your text meets already and has to go on meeting:\n\n- darker" in wish
    history = cli("show", "climax", "-C", "lamp", "--versions")
    assert "- darker\n- and without Mara" in history.out
    assert [v["source"] for v in cli("show", "climax", "-C", "lamp", "--json", "--versions").json["versions"]] == [
        "made",
        "revised",
        "revised",
    ]
    assert "2 notes: and without Mara" in cli("status", "lamp").out
    cli("undo", "lamp")
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 0
    assert climax(project) == DARKER
    cli("undo", "lamp")
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == 0
    assert climax(project) == STORM


def test_a_new_draw_has_the_note_beside_its_prompt(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(climax=DARKEST)
    cli("text", "retake", "climax", "--note", "darker", "--anew", "-C", "lamp")
    assert paths_of(cli)[0] == "climax/section"
    cli("update", "lamp", "--yes")
    assert climax(project) == DARKEST
    assert prompt_at(project, "climax/section")[-1][1].endswith(
        "The author of the story wishes this of the text that you are working on:\n- darker"
    )


def test_another_draw_keeps_the_notes(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(**{NOTE: DARKER, "climax": DARKEST})
    cli("text", "retake", "climax", "--note", "darker", "-C", "lamp")
    cli("update", "lamp", "--yes")
    cli("text", "retake", "climax", "-C", "lamp")
    cli("update", "lamp", "--yes")
    assert climax(project) == DARKEST
    assert prompt_at(project, "climax/section")[-1][1].endswith("\n- darker")


def test_a_changed_plan_is_followed_and_the_note_met_again(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    write_script(**{NOTE: DARKER})
    cli("text", "retake", "climax", "--note", "darker", "-C", "lamp")
    cli("update", "lamp", "--yes")
    cli("edit", "exposition", "--text", "It was noon when Mara came home.", "-C", "lamp")
    announced = paths_of(cli)
    assert {"climax/section", "climax/note/1/revise_to_note"} <= set(announced)
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == len(announced)
    assert climax(project) == DARKER


def test_the_authors_own_text_is_revised_as_well(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(**{NOTE: DARKER})
    cli("edit", "climax", "--text", "My own storm.", "-C", "lamp")
    cli("text", "retake", "climax", "--note", "darker", "-C", "lamp")
    announced = paths_of(cli)
    assert cli("update", "lamp", "--yes", "--json").json["asked"] == len(announced)
    assert climax(project) == DARKER
    asked = prompt_at(project, "climax/note/1")
    assert asked[-2] == ("assistant", "My own storm.")
    assert "A girl lights a lighthouse against her father's will." in asked[1][1]
    cli("undo", "lamp")
    cli("update", "lamp", "--yes")
    assert climax(project) == "My own storm."


def test_a_note_to_a_plan_changes_what_follows(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(**{"setting:revise_to_note": "A lighthouse in the south sea."})
    cli("text", "retake", "setting", "--note", "warmer", "-C", "lamp")
    assert paths_of(cli)[:2] == ["setting/note/1/revise_to_note", "plot/plot"]
    cli("update", "lamp", "--yes")
    assert (project / "plan/setting.md").read_text().strip() == "A lighthouse in the south sea."


@pytest.mark.parametrize(
    ("before", "arguments", "message"),
    [
        (("text", "pin", "climax"), ("climax", "--note", "darker"), "Run `fabula text unpin climax -C lamp` first."),
        ((), ("climax", "--note", "  "), "The note is empty."),
        ((), ("nothing", "--note", "darker"), "Unknown artefact 'nothing'."),
    ],
)
def test_a_note_that_cannot_be_followed_is_refused(
    cli: Cli, project: Path, before: tuple[str, ...], arguments: tuple[str, ...], message: str
) -> None:
    if before:
        cli(*before, "-C", "lamp")
    ran = cli("text", "retake", *arguments, "-C", "lamp")
    assert ran.code == 2
    assert message in ran.err


def test_a_useless_revision_is_an_error_that_can_be_taken_back(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    write_script(**{NOTE: "**"})
    cli("text", "retake", "climax", "--note", "darker", "-C", "lamp")
    ran = cli("update", "lamp", "--yes")
    assert ran.code == 1
    assert "The role 'climax' gave no usable revision of 'climax' in 3 tries." in ran.err
    cli("undo", "lamp")
    assert cli("update", "lamp", "--json").json["asked"] == 0


# old texts revised to fit ---------------------------------------------------------------------------------------------

OTHER = "Mara, ten, and her mother Ada, keeper of the lamp."
FITTED = "The storm broke the window. Little Mara held the flame with both her hands."


def fitting(**changes: str) -> dict[str, str]:
    roles = ("setting", "exposition", "rising_action", "climax", "falling_action", "resolution", "plot")
    return {f"{role}:revise_to_fit": "NO CHANGE" for role in roles} | changes


def test_update_revises_old_texts_to_fit(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(**fitting(**{"climax:revise_to_fit": FITTED}))
    stories = {file: file.read_text() for file in sorted((project / "story").iterdir())}
    cli("edit", "characters", "--text", OTHER, "-C", "lamp")
    announced = paths_of(cli, "--revise")
    assert len(announced) == len(paths_of(cli)) == 7
    ran = cli("update", "lamp", "--revise", "--yes", "--json")
    assert climax(project) == FITTED
    assert {file.name for file, text in stories.items() if file.read_text() != text} == {"03-climax.md"}
    # What is left as it is changes nothing below it, so that no more is asked than was announced.
    assert ran.json["asked"] <= len(announced)
    *asked, (_, wanted) = prompt_at(project, "setting")
    assert asked[-1][1].startswith("A lighthouse on a rock")
    assert "Then:\n[Character Descriptions] Mara, sixteen, stubborn." in wanted
    assert f"Now:\n[Character Descriptions] {OTHER}" in wanted
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert paths_of(cli, "--revise") == []


def test_a_later_change_makes_a_fitted_text_stale_again(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    write_script(**fitting(**{"climax:revise_to_fit": FITTED}))
    cli("edit", "characters", "--text", OTHER, "-C", "lamp")
    cli("update", "lamp", "--revise", "--yes")
    cli("edit", "characters", "--text", "Mara, ninety.", "-C", "lamp")
    assert "setting/setting" in paths_of(cli)  # written anew, unless that is said again
    write_script(**fitting(**{"climax:revise_to_fit": DARKER}))
    cli("update", "lamp", "--revise", "--yes")
    assert climax(project) == DARKER
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert cli("undo", "lamp").out.startswith("Undone: update --revise")
    assert "Undone: edit of Characters (" in cli("undo", "lamp").out
    assert cli("update", "lamp", "--json").json["asked"] == 0  # as it was fitted before
    assert climax(project) == FITTED


def test_undo_of_a_revision_writes_anew(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(**fitting(**{"climax:revise_to_fit": FITTED}))
    cli("edit", "characters", "--text", OTHER, "-C", "lamp")
    before = paths_of(cli)
    cli("update", "lamp", "--revise", "--yes")
    cli("undo", "lamp")
    assert paths_of(cli) == before
    cli("undo", "lamp")
    assert cli("update", "lamp", "--json").json["asked"] == 0
    assert climax(project) == STORM


def test_a_revision_that_was_stopped_goes_on_as_one(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    changed = fitting(**{"setting:revise_to_fit": "A lighthouse, in winter.", "climax:revise_to_fit": FITTED})
    cli("edit", "characters", "--text", OTHER, "-C", "lamp")
    write_script(**{**changed, "climax:revise_to_fit": None, "climax": None})
    stopped = cli("update", "lamp", "--revise", "--yes")
    assert stopped.code == 1
    write_script(**changed)
    assert cli("write", "lamp", "--quiet").code == 0
    assert climax(project) == FITTED
    with Journal(project / ".fabula/journal.db") as journal:
        assert (
            len(journal.calls.find(CallFilter(under="climax"), prompts=True)) == 2
        )  # as it was written, and as it was fitted


def test_one_text_is_revised_and_the_rest_written_anew(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    write_script(
        **fitting(**{"setting:revise_to_fit": "A lighthouse on a rock in the south sea, autumn, a hundred years ago."})
    )
    cli("edit", "characters", "--text", OTHER, "-C", "lamp")
    announced = paths_of(cli, "--revise", "--only", "setting")
    assert announced[0] == "setting/fit/revise_to_fit"
    assert announced[1:] == paths_of(cli)[1:]
    assert cli("update", "lamp", "--revise", "--only", "setting", "--yes", "--json").json["asked"] == len(announced)
    ran = cli("update", "lamp", "--revise", "--only", "characters")
    assert ran.code == 2
    assert "characters cannot be revised to fit: it is edited, so it stays as it is." in ran.err
    assert "--only requires --revise" in cli("update", "lamp", "--only", "setting").err


def test_a_terminal_offers_to_revise(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(**fitting(**{"climax:revise_to_fit": FITTED}))
    cli("edit", "characters", "--text", OTHER, "-C", "lamp")
    cli.at_terminal()
    ran = cli("update", "lamp", stdin="r\ny\n")
    assert "Continue? [y]es, [r]evise the old texts to fit instead, or [n]o: " in ran.err
    assert "revised if they do not fit: plot, setting, exposition," in ran.out
    assert climax(project) == FITTED


# one passage ----------------------------------------------------------------------------------------------------------

PASSAGE = "climax:rewrite_passage"


def test_a_passage_is_rewritten_and_the_rest_stays(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(**{PASSAGE: "Mara lost the flame."})
    ran = cli(
        "text", "rewrite", "climax", "--passage", "Mara held ... hands.", "--note", "she fails", "--yes", "-C", "lamp"
    )
    assert climax(project) == "The storm broke the window. Mara lost the flame."
    assert "Mara [-held-]{+lost+} the flame[- with both her hands-]." in ran.out
    assert [v["source"] for v in cli("show", "climax", "-C", "lamp", "--json", "--versions").json["versions"]][
        -1
    ] == "rewritten"
    (_, asked) = prompt_at(project, "climax/rewrite")[-1]
    assert f"{REPLIES['rising_action']}\n\nThe storm broke the window.\n\nWhat stands after" in asked
    assert "The author wishes this of it: she fails" in asked
    assert paths_of(cli) == ["falling-action/section", "resolution/section"]
    cli("undo", "lamp")
    assert climax(project) == STORM
    assert cli("update", "lamp", "--json").json["asked"] == 0


def test_a_passage_is_rewritten_by_the_model_of_the_last_run(
    cli: Cli, here: Path, project: Path, write_script: Callable[..., None]
) -> None:
    write_script(**{PASSAGE: "Mara dropped the flame."})
    (here / "other.toml").write_text(script_of({**REPLIES, PASSAGE: "Mara lost the flame."}), encoding="utf-8")
    assert cli("write", "lamp", "--anew", "--model", "scripted:other.toml", "--json").code == 0
    ran = cli("text", "rewrite", "climax", "--passage", "Mara held ... hands.", "--yes", "-C", "lamp")
    assert climax(project) == "The storm broke the window. Mara lost the flame."
    assert "other.toml rewrites the passage." in ran.err
    assert "other.toml" in ran.err


def test_a_passage_of_another_length_is_shown_before_it_is_taken(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    write_script(**{PASSAGE: "Mara lost the flame, and the dark came in. " * 10})
    words = "The passage had 8 words and now has 90, but needs about as many as before"
    arguments = ("text", "rewrite", "climax", "--passage", "Mara held ... hands.", "-C", "lamp")
    cli.at_terminal()
    ran = cli(*arguments, stdin="n\n")
    assert words in ran.out
    assert climax(project) == STORM
    lamp = Project.open(project)
    with pytest.raises(OtherLengthError) as refused:
        lamp.rewrite("climax", "29-68")
    assert f"{words} unless a note says otherwise. The new passage was not accepted. It is: Mara lost" in str(
        refused.value
    )
    assert climax(project) == STORM
    taken = lamp.rewrite("climax", "29-68", anew=True)
    assert (taken.changed, taken.passage.before, taken.passage.after) == (True, 8, 90)
    assert climax(project) != STORM
    with Journal(project / ".fabula/journal.db") as journal:
        asked = [call.path for call in journal.calls.find(prompts=True) if call.path.endswith("rewrite_passage")]
    assert len(asked) == 1, "what was not taken is not paid again"


def test_a_passage_of_about_the_same_length_is_taken_without_a_question(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    write_script(**{PASSAGE: "Mara lost the flame."})
    done = Project.open(project).rewrite("climax", "29-68")
    assert str(done.passage) == "The passage had 8 words and now has 4."
    assert climax(project) == "The storm broke the window. Mara lost the flame."


def test_a_rewritten_passage_is_asked_about_at_a_terminal(
    cli: Cli, project: Path, write_script: Callable[..., None]
) -> None:
    write_script(**{PASSAGE: "Mara lost the flame."})
    arguments = ("text", "rewrite", "climax", "--lines", "1", "-C", "lamp")
    assert "Run the command again with --yes." in cli(*arguments).err
    assert climax(project) == STORM
    cli.at_terminal()
    assert "story/03-climax.md is unchanged." in cli(*arguments, stdin="n\n").out
    assert "story/03-climax.md: 4 words" in cli(*arguments, stdin="a\ny\n").out
    assert climax(project) == "Mara lost the flame."


def test_a_passage_is_named_by_its_characters(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    write_script(**{PASSAGE: "Mara lost the flame."})
    cli("text", "rewrite", "climax", "--characters", "29-68", "--yes", "-C", "lamp")
    assert climax(project) == "The storm broke the window. Mara lost the flame."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("climax",), "the passage with --passage (its first and last words), --lines N-M or --characters N-M."),
        (("climax", "--passage", "the dog"), "'the dog' is not in lamp/story/03-climax.md."),
        (("climax", "--passage", "the"), "'the' matches 2 passages of lamp/story/03-climax.md."),
        (("climax", "--lines", "4-9"), "--lines 4-9 does not match any lines; the file has 1."),
        (("climax", "--lines", "x"), "--lines x does not match any lines"),
        (("climax", "--characters", "60-900"), "--characters 60-900 contains no words; the text has 68 characters."),
        (("climax", "--characters", "0-9"), "--characters 0-9 contains no words"),
    ],
)
def test_a_passage_that_is_none_is_refused(cli: Cli, project: Path, arguments: tuple[str, ...], message: str) -> None:
    ran = cli("text", "rewrite", *arguments, "-C", "lamp")
    assert ran.code == 2
    assert message in ran.err


def test_a_pinned_text_is_not_rewritten(cli: Cli, project: Path) -> None:
    cli("text", "pin", "climax", "-C", "lamp")
    assert "climax is pinned." in cli("text", "rewrite", "climax", "--lines", "1", "-C", "lamp").err


# what a capable model gave -------------------------------------------------------------------------------------------

TOLD = {
    "character": "Mara, sixteen, counts in fear. Jonas, her father, keeper of the lamp, lame since the wreck.",
    "exposition": "The lamp had been dark for a year. Mara counted the herring boats that had gone out. Eleven.",
    "rising_action": "Her father slept as he always slept now, his lame leg out straight, his face to the wall. She "
    "took the key between two fingers, so that it would not ring, the dog behind her.",
    "climax": "The wind blew out the first match and the second. Brack pressed himself against the broken glass, "
    "broad as a door, and in the stillness behind him the third match lived. She saw her father on the stair, looking "
    "not at her but at the lamp.",
    "falling_action": "One boat turned from the rock. Then another. She counted them aloud, because he had not told "
    "her to stop: nine, ten.",
    "resolution": "In the morning he carried the paraffin up himself, resting on every landing. He took the key down "
    "again, looked at it, and gave it back to her.",
}
WITHOUT_THE_DOG = (
    "The wind blew out the first match and the second. Brack had stayed at the last turn of the stair, flat on the "
    "iron, and would not come to her. She knelt in the splinters with her back to the hole in the glass and let it "
    "cut, and in the stillness in front of her the third match lived. She saw her father on the stair, looking not at "
    "her but at the lamp."
)
BLIND = {
    "rising_action": TOLD["rising_action"].replace("lame leg out straight, his face to the wall", "open eyes up"),
    "climax": WITHOUT_THE_DOG.replace("looking not at her but at the lamp", "his face turned to the heat of the lamp"),
    "resolution": TOLD["resolution"].replace("looked at it", "turned it over in his fingers"),
}


def test_what_a_capable_model_gave_is_kept_as_it_gave_it(cli: Cli) -> None:
    fits = {f"{role}:revise_to_fit": BLIND.get(role, "NO CHANGE") for role in REPLIES if ":" not in role}
    script = script_of({**REPLIES, **TOLD, **fits, "climax:revise_to_note": WITHOUT_THE_DOG})
    (cli.folder / "script.toml").write_text(script, encoding="utf-8")
    settings = ("--system", "agents-room", "--set", "final_reading=false")
    cli("write", "brief.md", "--out", "rock", "--model", "scripted:script.toml", *settings)
    cli("text", "retake", "climax", "--note", "darker, and without the dog", "-C", "rock")
    cli("update", "rock", "--yes")
    story = cli.folder / "rock/story"
    assert (story / "03-climax.md").read_text().strip() == WITHOUT_THE_DOG
    cli("edit", "characters", "--text", TOLD["character"].replace("lame", "blind"), "-C", "rock")
    assert cli("update", "rock", "--revise", "--yes", "--json").json["asked"] == 7
    assert [file.read_text().strip() for file in sorted(story.iterdir())] == [
        BLIND.get(role, TOLD[role])
        for role in ("exposition", "rising_action", "climax", "falling_action", "resolution")
    ]
    assert cli("update", "rock", "--json").json["asked"] == 0


def test_a_rewrite_that_is_stopped_names_the_command_that_goes_on(
    cli: Cli, project: Path, write_script: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_script(**{PASSAGE: "Mara dropped the flame."})
    said: list[str] = []

    def hears(work: Coroutine[Any, Any, Any], again: str) -> Coroutine[Any, Any, Any]:
        said.append(again)
        return stoppable(work, again)

    monkeypatch.setattr("fabula.cli.session.stoppable", hears)
    wish = ("--note", "it's over", "--yes")
    cli("text", "rewrite", "climax", "--passage", "Mara held ... hands.", *wish, "-C", "lamp")
    assert said == ["`fabula text rewrite lamp climax --characters 29-68 --note 'it'\"'\"'s over'`"]
    cli("undo", "lamp")
    again = shlex.split(said[0].strip("`"))[1:]
    assert cli(*again, "--yes", "--json").json["proposed"].endswith("Mara dropped the flame.")
