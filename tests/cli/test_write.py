from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from commandline import BY_PARTS, script_of
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commandline import Cli

SCRIPT = ("--model", "scripted:script.toml", *BY_PARTS)


def test_a_brief_becomes_a_project_with_a_story(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT)
    assert ran.code == 0
    assert (cli.folder / "brief" / "story.md").read_text(encoding="utf-8").startswith("# The Lamp\n")
    assert "brief/story.md: 69 words" in ran.out
    assert "Next: edit brief/plan/characters.md, then `fabula update brief`." in ran.err
    assert ran.err.index("plan/conflict") < ran.err.index("story/resolution")


def test_the_bill_names_every_role_and_its_cost(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT)
    rows = {line.split()[0]: line.split() for line in ran.out.splitlines() if line.endswith("$0")}
    assert set(rows) == {
        "conflict", "character", "setting", "plot", "exposition", "rising_action", "climax", "falling_action",
        "resolution", "all",
    }  # fmt: skip
    assert rows["conflict"][3] == "16"


def test_json_is_one_document_and_progress_is_on_stderr(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--json")
    data = ran.json
    assert data["words"] == 69
    assert data["asked"] == 9
    assert data["replayed"] == 0
    assert data["bill"]["climax"] == {"prompt": data["bill"]["climax"]["prompt"], "cached": 0, "reply": 13,
                                      "reasoning": 0, "seconds": 0.0, "cost": 0.0, "estimated": 0}  # fmt: skip
    assert data["files"]["climax"] == "story/03-climax.md"
    assert "story/climax" in ran.err


def test_quiet_says_only_where_the_story_is(cli: Cli) -> None:
    ran = cli("write", "brief.md", *SCRIPT, "--quiet")
    assert ran.err == ""
    assert "story.md" in ran.out


def test_flags_of_a_new_project_are_stored(cli: Cli) -> None:
    (cli.folder / "mine").mkdir()
    cli(
        "write", "brief.md", *SCRIPT, "--seed", "7", "--preset", "improved", "--sampling", "temperature=0.7",
        "--sampling", "climax.top_k=3", "--sampling", "climax.stop=END", "--model", "climax=scripted:script.toml",
        "--set", "max-steps=99", "--words", "10-2000", "--prompts", "mine",
    )  # fmt: skip
    stored = tomllib.loads((cli.folder / "brief" / "fabula.toml").read_text(encoding="utf-8"))
    script = f"scripted:{cli.folder / 'script.toml'}"
    assert stored == {
        "system": "agents-room",
        "seed": 7,
        "preset": "improved",
        "model": script,
        "prompts": str(cli.folder / "mine"),
        "config": {"final_reading": False, "max_steps": 99, "words": "10-2000"},
        "sampling": {"temperature": 0.7},
        "roles": {"climax": {"model": script, "top_k": 3, "stop": ["END"]}},
    }


def test_the_same_brief_again_goes_on_with_the_project(cli: Cli, project: Path) -> None:
    ran = cli("write", "brief.md", "--out", "lamp")
    assert ran.code == 0
    assert "Replayed from the journal at no cost: 9 calls." in ran.out
    assert project.is_dir()


def test_another_brief_for_a_project_is_an_error_that_says_what_to_do(cli: Cli, project: Path) -> None:
    (cli.folder / "other.md").write_text("Another story.\n", encoding="utf-8")
    ran = cli("write", "other.md", "--out", "lamp")
    assert ran.code == 2
    assert ran.err == (
        "fabula: lamp is the project of another brief. Choose another folder with --out DIR. To change the brief of "
        "that project instead, edit lamp/brief.md and run `fabula update lamp`.\n"
    )


def test_flags_on_an_existing_project_leave_its_settings_file(cli: Cli, project: Path) -> None:
    before = (project / "fabula.toml").read_text(encoding="utf-8")
    ran = cli("write", "lamp", "--anew", "--seed", "9", "--sampling", "climax.temperature=1")
    assert ran.code == 0
    said = "Overriding fabula.toml: --seed 9 --sampling climax.temperature=1.0. --save stores them there."
    assert said in ran.err
    assert (project / "fabula.toml").read_text(encoding="utf-8") == before
    assert "setting" in ran.out  # asked again: another seed


def test_save_stores_flags(cli: Cli, project: Path) -> None:
    assert cli("write", "lamp", "--anew", "--seed", "9", "--save").code == 0
    stored = tomllib.loads((project / "fabula.toml").read_text(encoding="utf-8"))
    assert stored["seed"] == 9
    assert stored["config"] == {"final_reading": False}
    assert "other than in fabula.toml" not in cli("write", "lamp", "--seed", "9").err


def test_same_flags_as_stored_say_nothing(cli: Cli, project: Path) -> None:
    assert "other than in fabula.toml" not in cli("write", "lamp", *SCRIPT).err


def test_the_project_here_is_the_default(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    ran = cli("write")
    assert ran.code == 0
    assert ran.out.startswith("story.md: 69 words")
    assert "`fabula update .`" in ran.err


def test_a_budget_stops_cleanly_and_a_higher_one_goes_on(cli: Cli) -> None:
    faithful = ("--set", "max_tokens=40")
    ran = cli("write", "brief.md", *SCRIPT, *faithful, "--budget-tokens", "600")
    assert ran.code == 1
    assert "fabula: Stopped before the budget of 600 tokens is exceeded" in ran.err
    assert "So far: " in ran.err
    again = cli("write", "brief", "--json", "--budget-tokens", "100000")
    assert again.code == 0
    assert again.json["replayed"] >= 1
    assert again.json["asked"] + again.json["replayed"] == 9


def test_a_dollar_budget_needs_a_known_price(cli: Cli) -> None:
    (cli.folder / "fixed.py").write_text("def say(request):\n    return 'A storm is coming to the harbour.'\n")
    ran = cli("write", "brief.md", *SCRIPT, "--play", "plot=fixed.py:say", "--budget-usd", "1")
    assert ran.code in {0, 2}
    assert ran.code == 0 or "The price of" in ran.err


def test_a_program_plays_a_role(cli: Cli) -> None:
    (cli.folder / "fixed.py").write_text("def say(request):\n    return 'A storm is coming to the harbour.'\n")
    assert cli("write", "brief.md", *SCRIPT, "--play", "plot=fixed.py:say").code == 0
    assert (cli.folder / "brief/plan/plot.md").read_text() == "A storm is coming to the harbour.\n"


def test_frozen_asks_nobody(cli: Cli, project: Path, write_script: Callable[..., None]) -> None:
    assert cli("write", "lamp", "--frozen").code == 0
    write_script(setting="Somewhere else.")
    ran = cli("write", "lamp", "--frozen", "--json")
    assert ran.code == 1
    assert ran.json["error"]["kind"] == "JournalMissError"


def test_faithful_runs_the_paper(cli: Cli) -> None:
    ran = cli("write", "brief.md", "--model", "scripted:script.toml", "--preset", "faithful", "--json")
    assert ran.code == 0
    assert ran.json["asked"] == 9


def test_another_system(cli: Cli) -> None:
    (cli.folder / "one.toml").write_text('[replies]\nwriter = "She lit the lamp and the ships came home."\n')
    ran = cli("write", "brief.md", "--system", "end_to_end", "--model", "scripted:one.toml", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["words"] == 9
    stored = tomllib.loads((cli.folder / "brief" / "fabula.toml").read_text(encoding="utf-8"))
    assert stored["system"] == "end-to-end"


def test_new_makes_a_project(cli: Cli) -> None:
    ran = cli("new", "made", "--text", "A short story.", "--title", "Made", "--seed", "3")
    assert ran.code == 0
    assert (cli.folder / "made/brief.md").read_text() == "# Made\n\nA short story.\n"
    assert "seed = 3" in (cli.folder / "made/fabula.toml").read_text()
    assert "Next: run `fabula write made --dry-run` to see the calls and their cost, or" in ran.err


def test_new_takes_a_brief_from_a_file_or_stdin(cli: Cli) -> None:
    assert cli("new", "a", "--brief", "brief.md", "--json").json["title"] == "The Lamp"
    assert cli("new", "b", "--brief", "-", stdin="A story about bread.\n").code == 0
    assert (cli.folder / "b/brief.md").read_text() == "A story about bread.\n"


def test_new_asks_for_a_brief_at_a_terminal(cli: Cli) -> None:
    cli.at_terminal()
    ran = cli("new", "a", stdin="A story about bread.\nAnd salt.\n.\nnot this\n")
    assert "What should the story be about?" in ran.err
    assert (cli.folder / "a/brief.md").read_text() == "A story about bread.\nAnd salt.\n"


def test_estimate_of_a_brief_and_of_a_project(cli: Cli, project: Path) -> None:
    ran = cli("write", "--dry-run", "brief.md", *SCRIPT, "--json")
    assert len(ran.json["calls"]) == 9
    assert ran.json["cost"] == 0.0
    assert not (cli.folder / "brief").exists()
    assert cli("write", "--dry-run", "lamp", "--json").json["calls"] == []
    again = cli("write", "--dry-run", "lamp", "--seed", "5")
    assert "rising-action/section" in again.out
    assert "This is an estimate" in again.err


def test_an_unknown_price_is_told_as_unknown(cli: Cli) -> None:
    ran = cli("write", "--dry-run", "brief.md", "--model", "openai-chat:llama", "--base-url", "http://127.0.0.1:9/v1")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[-1].split()[-1] == "unknown"


def test_estimate_of_a_brief_asks_and_makes_nothing(cli: Cli) -> None:
    before = sorted(cli.folder.iterdir())
    cli("write", "--dry-run", "brief.md", *SCRIPT)
    assert sorted(cli.folder.iterdir()) == before


def test_help_for_small_models_is_visible_and_can_be_set(cli: Cli) -> None:
    assert "help for small models" not in cli("write", "brief.md", *SCRIPT, "--out", "a").err
    assert "scripted:" in (ran := cli("write", "brief.md", *SCRIPT, "--aids", "on", "--out", "b")).err
    assert ", with help for small models, in b: about 9 calls to make" in ran.err
    assert tomllib.loads((cli.folder / "b" / "fabula.toml").read_text(encoding="utf-8"))["aids"] == "on"
    assert cli("write", "brief.md", *SCRIPT, "--aids", "perhaps").code == 2


def test_a_model_that_is_too_weak_for_the_system_is_said_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    read = ScriptedModel.read

    def small(path: Path) -> ScriptedModel:
        model = read(path)
        model.identity = "embedded:smollm2@b179c9523d0e"
        return model

    monkeypatch.setattr(ScriptedModel, "read", small)
    assert "agents-room needs at least a medium model" in cli("write", "brief.md", *SCRIPT, "--dry-run").err
    said = cli("write", "brief.md", *SCRIPT, "--out", "a").err
    assert said.count("agents-room needs at least a medium model, and embedded:smollm2 is a small model.") == 1
    assert "one call got 6 of 6 pairs" in said
    assert "Systems for this model: `--system end-to-end`." in said
    assert "needs a medium model" not in cli("write", "a").err
    assert "wants a" not in cli("write", "brief.md", *SCRIPT, "--system", "end-to-end", "--out", "b").err


@pytest.mark.parametrize("preset", ["faithful", "improved"])
@pytest.mark.parametrize("said", ["2) paragraphem", "INT/EXT. On the last day - Scene 1"])
def test_a_story_that_is_none_ends_with_a_failure(cli: Cli, said: str, preset: str) -> None:
    (cli.folder / "none.toml").write_text(script_of({"writer": said}), encoding="utf-8")
    model = ("--system", "end-to-end", "--preset", preset, "--model", "scripted:none.toml")
    ran = cli("write", "brief.md", "--out", "none", *model, "--quiet")
    assert ran.code == 1
    assert "asks again" in ran.err or "seed" in ran.err
    assert "stronger model" in ran.err
