"""Which model performs where nobody names one, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from commandline import PLAN
from fabula.models.finding import ServedModel, Server
from fabula.models.known import KNOWN
from fabula.models.providers import KINDS
from fabula.project.default_model import DefaultModel, default_model, remember_model
from fabula.project.settings import Settings
from fake_provider import Answer
from own_servers import PAGES, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commandline import Cli
    from fake_provider import FakeProvider, Recorded

WRITE = ("write", "brief.md", "--system", "end-to-end", "--preset", "faithful")
OLLAMA = "ollama:llama3.1:8b"


def calls(server: FakeProvider) -> list[Recorded]:
    """What the server was asked to write."""
    return [request for request in server.requests if request.dialect == "chat"]


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    with serving(Answer("The lamp went out, and Mara climbed the stairs."), PAGES["ollama"]) as server:
        monkeypatch.setitem(KINDS, "ollama", replace(KINDS["ollama"], address=server.openai_url))
        yield server


def test_the_model_used_last_writes_the_next_story(cli: Cli, ollama: FakeProvider) -> None:
    assert cli(*WRITE, "--out", "one", "--model", OLLAMA).code == 0
    ran = cli(*WRITE, "--out", "two")
    assert ran.code == 0
    assert f"Using the model {OLLAMA}, which you used last. To choose another, use --model." in ran.err
    assert f'model = "{OLLAMA}"' in (cli.folder / "two" / "fabula.toml").read_text()
    assert len(calls(ollama)) == 2


def test_a_model_that_failed_was_not_used(cli: Cli) -> None:
    assert cli(*WRITE, "--out", "one", "--model", "openrouter:x/y").code != 0
    assert default_model({}) is None


def test_the_environment_goes_before_what_was_used_last(
    cli: Cli, ollama: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli(*WRITE, "--out", "one", "--model", "ollama:qwen3:14b").code == 0
    monkeypatch.setenv("FABULA_MODEL", OLLAMA)
    assert f"Using the model {OLLAMA}, set by FABULA_MODEL" in cli("new", "two", "--brief", "brief.md").err
    ran = cli("write", "one", "--json")
    assert ran.json["asked"] == 0  # what a project names goes before the environment
    monkeypatch.setenv("FABULA_MODEL", "olama:x")
    assert "Unknown model 'olama:x'. Did you mean 'ollama:x'" in cli("new", "three", "--brief", "brief.md").err
    assert calls(ollama)


def test_a_project_that_names_no_model_and_was_never_written_gets_the_default(
    cli: Cli, ollama: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("new", "one", "--brief", "brief.md", "--system", "end-to-end", "--preset", "faithful").code == 0
    assert "model" not in (cli.folder / "one" / "fabula.toml").read_text()
    monkeypatch.setenv("FABULA_MODEL", OLLAMA)
    ran = cli("write", "one")
    assert (ran.code, len(calls(ollama))) == (0, 1)
    assert f"Using the model {OLLAMA}, set by FABULA_MODEL" in ran.err
    monkeypatch.setenv("FABULA_MODEL", "ollama:qwen3:14b")
    assert cli("write", "one", "--json").json["asked"] == 0  # what was begun goes on with its model


def test_the_best_embedded_model_that_is_here_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.project.default_model.installed", lambda name, _: name in KNOWN)
    assert default_model({}) == DefaultModel(
        "embedded:qwen2.5-coder-1.5b", "the largest on this machine that fits into memory"
    )


def test_an_embedded_model_that_is_gone_is_not_taken() -> None:
    remember_model(Settings(model="embedded:smollm2"))
    assert default_model({"FABULA_MODELS": "/nowhere"}) is None


def test_an_address_that_was_typed_is_remembered_and_one_of_a_file_is_not() -> None:
    typed = Settings().with_({"model": "vllm:x", "models": {"vllm:x": {"base_url": "http://gpu:8000/v1"}}})
    remember_model(typed)
    assert default_model({}) == DefaultModel("vllm:x", "which you used last", "http://gpu:8000/v1")
    told = Settings.of({"model": "vllm:y", "models": {"vllm:y": {"base_url": "http://evil.example/v1"}}}, "a file")
    remember_model(told)
    remember_model(Settings(model="scripted:x.toml"))
    chosen = default_model({})
    assert chosen is not None
    assert chosen.changes == {"model": "vllm:x", "models": {"vllm:x": {"base_url": "http://gpu:8000/v1"}}}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"model": "no-such:x"}', json.dumps({"model": "vllm:x", "base_url": "http://u@h"})]
)
def test_a_note_that_says_nothing_of_use_is_passed_over(text: str) -> None:
    remember_model(Settings(model=OLLAMA))
    from fabula.project.trust import state_home  # noqa: PLC0415 - only here

    (state_home() / "model.json").write_text(text)
    assert default_model({"FABULA_MODELS": "/nowhere"}) is None


def test_without_any_model_two_commands_are_named(cli: Cli) -> None:
    ran = cli(*WRITE, "--out", "one")
    assert ran.code != 0
    assert "`fabula models pull smollm2` downloads it, and `fabula models` lists the other models" in ran.err


@pytest.mark.parametrize(
    "command",
    [
        ("new", "made", "--brief", "brief.md"),
        ("plan", "--from-brief", "brief.md", "--out", "made"),
        ("write", "brief.md", "--out", "made", "--dry-run"),
        ("lab", "inject", "--out", "made"),
        ("data", "backtranslate", "story.txt", "--system", "agents-room", "--out", "made"),
        ("evaluate", "pairwise", "story.txt", "story2.txt", "--out", "made"),
        ("chat", "story.txt", "--as", "Mara", "--with", "Tobias"),
    ],
    ids=lambda command: command[0],
)
def test_each_command_that_asks_a_model_says_in_one_line_which_was_chosen(
    cli: Cli, ollama: FakeProvider, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("FABULA_MODEL", OLLAMA)
    (cli.folder / "story.txt").write_text("Mara climbed the stairs. Tobias held the lamp, and Mara said nothing.")
    (cli.folder / "story2.txt").write_text("Tobias climbed the stairs. Mara held the lamp, and he said nothing at all.")
    ran = cli(*command, stdin="Hello.\n")
    assert ran.err.count(f"Using the model {OLLAMA}, set by FABULA_MODEL. To choose another, use --model.") == 1, (
        ran.err
    )
    assert ollama.requests


@pytest.mark.parametrize("kind", ["small", "large"])
def test_what_a_server_here_serves_is_offered_before_what_is_embedded(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    async def one_server(_environ: object) -> list[Server]:
        names = {"small": "llama3.2:1b", "large": "llama3.1:8b"}
        return [Server("ollama", "http://127.0.0.1:11434/v1", (ServedModel(names[kind]),), "0.13")]

    monkeypatch.setattr("fabula.project.default_model.look", one_server)
    monkeypatch.setattr("fabula.project.default_model.installed", lambda name, _: name == "smollm2")
    said = cli("new", "one", "--brief", "brief.md").err
    if kind == "large":
        assert (
            f"Using the model {OLLAMA}, which Ollama 0.13 on this machine serves. To choose another, use --model."
        ) in said
        assert f'model = "{OLLAMA}"' in (cli.folder / "one" / "fabula.toml").read_text()
    else:
        assert "Using the model embedded:smollm2, the largest on this machine" in said
    remember_model(Settings(model="ollama:qwen3:14b"))
    assert "Using the model ollama:qwen3:14b, which you used last" in cli("new", "two", "--brief", "brief.md").err


SMALL, LARGE = "embedded:smollm2", "openai-chat:llama3.1:8b"
SERVED = ("--model", LARGE, "--base-url", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("given", "system"),
    [
        (("--model", SMALL), "end-to-end"),
        (("--model", "openrouter:meta/llama-3.2-1b-instruct"), "end-to-end"),
        (("--model", LARGE, "--base-url", "http://127.0.0.1:9/v1", "--aids", "on"), "end-to-end"),
        (("--model", SMALL, "--words", "300"), "end-to-end"),
        (("--model", SMALL, "--system", "agents-room"), "agents-room"),
        (("--model", SMALL, "--aids", "off"), "chosen-draft"),
        (("--model", SMALL, "--preset", "faithful"), "agents-room"),
        (("--model", SMALL, "--model", f"climax={LARGE}", "--base-url", "http://127.0.0.1:9/v1"), "agents-room"),
        (("--model", SMALL, "--set", "variant=write"), "agents-room"),
        ((*SERVED,), "chosen-draft"),
        ((*SERVED, "--words", "5000"), "chosen-draft"),
        ((*SERVED, "--words", "5100"), "agents-room"),
        ((*SERVED, "--preset", "faithful"), "agents-room"),
        ((*SERVED, "--set", "revisions=4"), "chosen-draft"),
        ((*SERVED, "--set", "final_reading=false"), "agents-room"),
        ((*SERVED, "--set", "orchestrator=llm"), "agents-room"),
        ((*SERVED, "--model", f"climax={LARGE}"), "agents-room"),
        ((*SERVED, "--model", f"plot={LARGE}"), "agents-room"),
        ((*SERVED, "--model", f"reader={LARGE}"), "chosen-draft"),
        ((*SERVED, "--model", f"writer={LARGE}"), "chosen-draft"),
    ],
)
def test_a_new_project_has_the_system_that_reads_best_for_its_model_and_its_length(
    cli: Cli, given: tuple[str, ...], system: str
) -> None:
    ran = cli("new", "one", "--brief", "brief.md", *given)
    assert ran.code == 0, ran.err
    assert Settings.read(cli.folder / "one" / "fabula.toml").system == system
    advice = "Using the system end-to-end, which is the best for small models. To choose another, use --system."
    said = advice in ran.err
    assert said == (system == "end-to-end")


@pytest.mark.parametrize(
    ("brief", "system"),
    [
        ("Write a story of 4,000 words about a ferry.", "chosen-draft"),
        ("Write a story of 6,000 words about a ferry.", "agents-room"),
        ("Write 10 chapters of 2,000 words each about a ferry.", "agents-room"),
        ("Write a story in six chapters about a ferry.", "agents-room"),
        ("Write a story of 2,000 words in six chapters about a ferry.", "chosen-draft"),
        ("Write a story about a ferry.", "chosen-draft"),
    ],
)
def test_the_brief_says_how_long_a_story_is_and_so_who_writes_it(cli: Cli, brief: str, system: str) -> None:
    assert cli("new", "one", "--text", brief, *SERVED).code == 0
    assert Settings.read(cli.folder / "one" / "fabula.toml").system == system


def test_a_plan_of_the_author_and_a_project_that_is_there_keep_their_system(cli: Cli) -> None:
    (cli.folder / "plan.yaml").write_text(PLAN)
    ran = cli("write", "brief.md", "--plan", "plan.yaml", "--model", SMALL, "--dry-run", "--out", "one")
    assert "end-to-end, which" not in ran.err
    assert cli("new", "two", "--brief", "brief.md", "--model", LARGE, "--base-url", "http://127.0.0.1:9/v1").code == 0
    assert "end-to-end, which" not in cli("write", "two", "--model", SMALL, "--dry-run").err


def test_nothing_is_announced_before_a_model_is_found_missing(cli: Cli) -> None:
    ran = cli("write", "brief.md", "--model", "smollm2", "--system", "agents-room", "--out", "x")
    assert ran.code == 1
    assert ran.err.startswith("fabula: There is no model file at ")
    assert ran.err.count("\n") == 1
