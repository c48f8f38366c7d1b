"""Models on the servers that people have: found, listed, one story each, usage, and errors in words."""

from __future__ import annotations

import json
import socket
import tomllib
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fabula.models.prices import price_of
from fabula.models.providers import KINDS, OWN_KINDS
from fabula.project.casting import Environment, open_model
from fabula.project.folder import ProjectFolder
from fake_provider import Answer, no_such_model, overloaded, refused_key
from own_servers import OLLAMA, PAGES, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commandline import Cli
    from fake_provider import FakeProvider, Pages, Recorded, Script

STORY = "The lamp went out, and Mara climbed the stairs with the matches in her fist. Nobody had asked her to."
NAMES = {
    "ollama": "llama3.1:8b",
    "lmstudio": "qwen2.5-7b-instruct",
    "llamacpp": "gemma-3-4b-it",
    "vllm": "Qwen/Qwen3-8B",
}
HOSTED = {
    "openrouter": "meta-llama/llama-3.3-70b-instruct",
    "mistral": "mistral-large-latest",
    "deepseek": "deepseek-chat",
    "groq": "openai/gpt-oss-20b",
    "xai": "grok-4",
    "azure": "gpt-4o",
    "together": "openai/gpt-oss-20b",
    "huggingface": "meta-llama/Llama-3.3-70B-Instruct",
    "bedrock": "amazon.nova-lite-v1:0",
}
KEY = "sk-0123456789-never-shown"
WRITE = ("write", "brief.md", "--out", "lamp", "--system", "end-to-end", "--preset", "faithful")


def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.fixture(autouse=True)
def _nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of the person who runs the tests are not seen, and a busy machine has time."""
    monkeypatch.setattr("fabula.models.finding.PATIENCE", 30.0)
    for kind in OWN_KINDS:
        at(monkeypatch, kind, f"http://127.0.0.1:{closed_port()}/v1")


def at(monkeypatch: pytest.MonkeyPatch, kind: str, address: str) -> None:
    """From now on a server of that kind has its usual address there."""
    monkeypatch.setitem(KINDS, kind, replace(KINDS[kind], address=address))


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, FakeProvider]]:
    """One of each kind, at its usual address."""
    with ExitStack() as stack:
        found = {kind: stack.enter_context(serving(Answer(STORY), pages)) for kind, pages in PAGES.items()}
        for kind, server in found.items():
            at(monkeypatch, kind, server.openai_url)
        yield found


def alone(monkeypatch: pytest.MonkeyPatch, stack: ExitStack, kind: str, script: Script, pages: Pages) -> FakeProvider:
    server = stack.enter_context(serving(script, pages))
    at(monkeypatch, kind, server.openai_url)
    return server


def listed(cli: Cli) -> dict[str, dict[str, Any]]:
    return {server["kind"]: server for server in cli("models", "--json").json["servers"]}


# --- found and listed -----------------------------------------------------------------------------------------------


def test_what_answers_here_is_listed_with_what_the_servers_say(cli: Cli, servers: dict[str, FakeProvider]) -> None:
    found = listed(cli)
    models = {kind: [(m["name"], m["context"], m["thinks"]) for m in one["models"]] for kind, one in found.items()}
    assert models == {
        "ollama": [("llama3.1:8b", 4096, False), ("qwen3:14b", 16384, True)],
        "lmstudio": [("qwen2.5-7b-instruct", 8192, None)],
        "llamacpp": [("gemma-3-4b-it", 16384, None)],
        "vllm": [("Qwen/Qwen3-8B", 40960, None)],
    }
    gives = {kind: (one["usage"], one["schema"], one["logprobs"]) for kind, one in found.items()}
    assert gives == {kind: (True, True, None if kind == "lmstudio" else True) for kind in PAGES}
    assert found["ollama"]["version"] == "0.13.1"
    assert all(one["answers"] for one in found.values())
    assert all(server.requests for server in servers.values())
    said = cli("models").out
    assert "ollama:qwen3:14b" in said
    assert "Ollama 0.13.1 at http://127.0.0.1:" in said
    assert "nomic" not in said  # what makes no text is no model for a story


def test_a_server_at_the_place_of_another_says_what_it_is(
    cli: Cli, servers: dict[str, FakeProvider], monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, "vllm", servers["llamacpp"].openai_url)
    at(monkeypatch, "llamacpp", f"http://127.0.0.1:{closed_port()}/v1")
    said = cli("models").out
    assert f"llamacpp:gemma-3-4b-it --base-url {servers['llamacpp'].openai_url}" in said


@pytest.mark.parametrize("owner", [["a"], {"a": 1}, None, "llamacpp", "library", "vllm", "organization_owner"])
def test_names_that_are_none_are_passed_over(cli: Cli, monkeypatch: pytest.MonkeyPatch, owner: object) -> None:
    names = [["a"], {"b": 1}, 3, None, "", "red\x1b[31m", "right\u202eleft", "x" * 300]
    rows: list[dict[str, Any]] = [
        {"id": name, "owned_by": owner, "type": ["llm"], "meta": {}} for name in [*names, "tale-1"]
    ]
    listing: dict[str, Any] = {"data": rows, "models": [{"name": ["a"]}]}
    pages = dict.fromkeys(("/v1/models", "/api/v0/models", "/api/ps", "/props", "/version"), listing)
    with ExitStack() as stack:
        alone(monkeypatch, stack, "lmstudio", Answer(STORY), pages)
        servers = cli("models", "--json").json["servers"]
    found = [model["name"] for server in servers for model in server["models"]]
    assert found == ["tale-1"]


def test_a_name_is_shown_so_that_a_shell_takes_it_as_one_word(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"/v1/models": {"data": [{"id": "tale; touch ran"}, {"id": "$(touch ran)"}]}}
    with ExitStack() as stack:
        alone(monkeypatch, stack, "vllm", Answer(STORY), pages)
        said, many = cli("models").out, cli("write", "brief.md", "--out", "lamp", "--model", "vllm:").err
    for shown in (said, many):
        assert "'vllm:tale; touch ran'" in shown
        assert "'vllm:$(touch ran)'" in shown


def test_limits_follow_the_context_that_a_server_says(cli: Cli, servers: dict[str, FakeProvider]) -> None:
    for kind, context in {"ollama": 4096, "lmstudio": 8192, "llamacpp": 16384, "vllm": 40960}.items():
        name = f"{kind}:{NAMES[kind]}"
        assert cli("new", kind, "--brief", "brief.md", "--model", name).code == 0
        settings = ProjectFolder.open(cli.folder / kind).settings
        assert settings.models[name].context == context
        assert open_model(name, settings.models[name], Environment()).capabilities.context == context
        assert servers[kind].requests


def test_an_older_ollama_gives_no_log_probabilities(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        alone(monkeypatch, stack, "ollama", Answer(), {**OLLAMA, "/api/version": {"version": "0.9.6"}})
        assert listed(cli)["ollama"]["logprobs"] is False


def test_where_nothing_answers_the_list_and_the_doctor_say_so(cli: Cli) -> None:
    said = cli("models").out
    assert "No model server is running on this machine. Not answering: Ollama, LM Studio, llama.cpp, vLLM" in said
    told = {check["name"]: check for check in cli("doctor", "--json").json["checks"]}
    assert told["server ollama"]["state"] == "missing"
    assert told["server ollama"]["about"].startswith("nothing listens at http://127.0.0.1:")
    assert told["server ollama"]["about"].endswith("`ollama serve` starts Ollama")


@pytest.mark.parametrize(
    ("pages", "why"),
    [
        ({"/v1/models": refused_key()}, "requires a key: set OLLAMA_API_KEY"),
        ({"/v1/models": {"data": []}}, "serves no model; `ollama pull NAME` gets one"),
        ({"/v1/models": Answer(body=b"<html>")}, "is not a model server (it answers with 200)"),
        (
            {"/v1/models": Answer(status=503, error={"message": "Loading model"})},
            "is still loading a model or is overloaded",
        ),
        ({"/other": {}}, "is not a model server (it answers with 404)"),
        ({"/v1/models": {"data": [{"id": "a\x1b[2Jb"}, {"id": 7}, "x"]}}, "serves no model"),
        ({"/v1/models": Answer(status=302, body=b"", headers={"location": "http://192.0.2.1/v1/models"})}, "with 302"),
        ({"/v1/models": Answer(body=b"[" * 5_000_000)}, "is not a model server"),
    ],
)
def test_the_doctor_says_why_a_server_does_not_answer(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, pages: Pages, why: str
) -> None:
    with ExitStack() as stack:
        alone(monkeypatch, stack, "ollama", Answer(), pages)
        (about,) = [c["about"] for c in cli("doctor", "--json").json["checks"] if c["name"] == "server ollama"]
    assert why in about


def test_a_server_that_hangs_keeps_nobody_waiting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.models.finding.PATIENCE", 0.2)
    with ExitStack() as stack:
        alone(monkeypatch, stack, "vllm", Answer(hang="start"), {"/v1/models": Answer(hang="start")})
        assert "does not answer within 0.2 s" in listed(cli)["vllm"]["problem"]


@pytest.mark.parametrize("command", ["models", "doctor"])
def test_no_address_beyond_this_machine_is_asked_unasked(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    asked: list[str] = []

    def stream(_: object, __: str, url: str, **___: object) -> None:
        asked.append(url)
        raise OSError

    monkeypatch.setattr("httpx2.AsyncClient.stream", stream)
    monkeypatch.setenv("OLLAMA_HOST", "http://192.0.2.1:11434")
    at(monkeypatch, "vllm", "http://gpu.example:8000/v1")
    ran = cli(command, "--json")
    assert [url.rpartition(":")[0] for url in asked] == ["http://127.0.0.1"] * 2  # LM Studio and llama.cpp
    assert "192.0.2.1:11434/v1 is not on this machine, so it is asked only if you name it" in ran.out


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("0.0.0.0:11434", "http://127.0.0.1:11434/v1"),  # as servers are told to listen everywhere
        ("127.0.0.1:9999", "http://127.0.0.1:9999/v1"),
        ("http://gpu", "http://gpu:80/v1"),
        ("[::1]:1", "http://[::1]:1/v1"),
        ("http://[x", "http://127.0.0.1:1/v1"),
    ],
)
def test_ollamas_own_variable_moves_its_address(said: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fabula.models.providers import usual_address  # noqa: PLC0415 - beside what it is tested with

    at(monkeypatch, "ollama", "http://127.0.0.1:1/v1")
    assert usual_address("ollama", {"OLLAMA_HOST": said}) == address


def _able(request: Recorded) -> Answer:
    """A server that gives log-probabilities and keeps to a schema."""
    if "response_format" in request.body:
        return Answer('{"word": "Ready"}')
    return Answer("Ready", logprobs=[("Ready", -0.1)] if request.body.get("logprobs") else ())


@pytest.mark.parametrize(
    ("script", "able"),
    [
        (_able, {"usage": True, "logprobs": True, "schema": True, "context": 40960}),
        (Answer("Ready."), {"usage": True, "logprobs": False, "schema": False, "context": 40960}),
        (Answer("Ready.", usage=False), {"usage": False, "logprobs": False, "schema": False, "context": 40960}),
    ],
    ids=["all", "nothing", "not even counts"],
)
def test_what_a_server_can_do_is_found_out_when_it_is_checked(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, script: Script, able: dict[str, Any]
) -> None:
    with ExitStack() as stack:
        server = alone(monkeypatch, stack, "vllm", script, PAGES["vllm"])
        assert cli("models", "check", "vllm:Qwen/Qwen3-8B", "--json").json["able"] == able
        assert sum(request.dialect == "chat" for request in server.requests) == 3
        said = cli("models", "check", "vllm:Qwen/Qwen3-8B").out
    yes = "yes" if able["schema"] else "no"
    assert f"keeps to a JSON schema: {yes}, gives log-probabilities: {yes}." in said
    assert "Context: 40,960 tokens" in said


def test_openrouters_list_says_the_context(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    listed_there = {"data": [{"id": HOSTED["openrouter"], "context_length": 131072, "pricing": {"prompt": "0"}}]}
    with serving(_able, {"/v1/models": listed_there}) as server:
        ran = cli("models", "check", f"openrouter:{HOSTED['openrouter']}", "--base-url", server.openai_url)
    assert "Context: 131,072 tokens" in ran.out


def test_what_a_checked_model_thinks_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        alone(monkeypatch, stack, "ollama", Answer("<think>One word.</think>Ready.", reply_tokens=90), OLLAMA)
        said = cli("models", "check", "ollama:qwen3:14b").out
    assert "ollama:qwen3:14b answers: 'Ready.'" in said
    assert "It thinks before it answers, which used" in said


@pytest.mark.parametrize(
    ("text", "finish", "words"),
    [
        (
            "<think>\nMara, a lamp, and then",
            "length",
            "used up its reply on reasoning and gave no answer. Reduce its reasoning",
        ),
        ("<think>\nAll in my head.\n</think>\n\n", "stop", "gave only reasoning and no answer. Try another --seed"),
    ],
    ids=["cut off", "nothing after it"],
)
def test_a_reply_that_is_only_reasoning_is_no_story(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str, finish: str, words: str
) -> None:
    monkeypatch.setattr("fabula.models.limits.Limited.tries", 2)
    monkeypatch.setattr("fabula.models.limits.Limited.first_wait", 0.01)
    with ExitStack() as stack:
        server = alone(monkeypatch, stack, "ollama", Answer(text, finish, reply_tokens=90), OLLAMA)
        ran = cli("models", "check", "ollama:qwen3:14b")
        asked = [request.body["max_tokens"] for request in server.requests if request.dialect == "chat"]
    assert ran.code != 0
    assert words in ran.err
    assert "head" not in ran.out
    assert len(asked) == 2
    assert asked[1] > asked[0] + 10_000  # the second try has room for what it thinks


def test_what_a_model_thinks_is_never_in_the_story_and_is_billed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    name = "openrouter:qwen/qwen3-32b"
    with serving(Answer(f"<think>\nA lamp, stairs.\n</think>\n\n{STORY}", reply_tokens=800)) as server:
        ran = cli(*WRITE, "--model", name, "--base-url", server.openai_url, "--json")
    assert ran.code == 0, ran.err
    assert "stairs.\n</think>" not in (cli.folder / "lamp" / "story.md").read_text()
    assert STORY in (cli.folder / "lamp" / "story.md").read_text()
    assert 0 < ran.json["total"]["reasoning"] < ran.json["total"]["reply"] == 800
    price = price_of(name, {})
    assert price is not None
    assert ran.json["total"]["cost"] >= 800 * price.output / 1e6  # those that it thought are among them


# --- a story each ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", OWN_KINDS)
def test_a_story_from_each_server_of_ones_own(cli: Cli, servers: dict[str, FakeProvider], kind: str) -> None:
    ran = cli(*WRITE, "--model", f"{kind}:{NAMES[kind]}", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["paid"] == {f"{kind}:{NAMES[kind]}": ran.json["total"]}
    assert (ran.json["total"]["prompt"], ran.json["total"]["reply"], ran.json["total"]["cost"]) == (21, 9, 0.0)
    assert STORY in (cli.folder / "lamp" / "story.md").read_text()
    (asked,) = [request for request in servers[kind].requests if request.dialect == "chat"]
    assert asked.body["model"] == NAMES[kind]


@pytest.mark.parametrize("kind", HOSTED)
def test_a_story_from_each_provider_with_the_key_that_people_have(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv(KINDS[kind].keys[0], KEY)
    with serving(Answer(STORY)) as server:
        ran = cli(*WRITE, "--model", f"{kind}:{HOSTED[kind]}", "--base-url", server.base_url(kind), "--json")
    assert ran.code == 0, ran.err
    assert STORY in (cli.folder / "lamp" / "story.md").read_text()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in ran.out + ran.err
    assert (ran.json["total"]["cost"] or 0) >= 0


def test_azures_dated_interface_gets_its_version_and_its_own_header(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Answer(STORY)) as server:
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
        assert cli(*WRITE, "--model", "azure:my-gpt").code == 0
    (asked,) = server.requests
    assert asked.path == "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21"
    assert asked.headers["api-key"] == KEY


def test_azure_without_a_version_is_asked_at_its_newer_address(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Answer(STORY)) as server:
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url + "/")
        assert cli(*WRITE, "--model", "azure:my-gpt").code == 0
    assert server.requests[0].path == "/openai/v1/chat/completions"


def test_a_server_that_serves_one_model_need_not_be_told_which(cli: Cli, servers: dict[str, FakeProvider]) -> None:
    assert cli(*WRITE, "--model", "llamacpp:").code == 0
    assert 'model = "llamacpp:gemma-3-4b-it"' in (cli.folder / "lamp" / "fabula.toml").read_text()
    said = cli(*WRITE[:3], "other", *WRITE[4:], "--model", "ollama:")
    assert "Ollama 0.13.1 serves 2 models. Choose one: ollama:llama3.1:8b, ollama:qwen3:14b." in said.err
    assert not (cli.folder / "other").exists()
    assert servers["llamacpp"].requests


def test_a_story_written_by_its_address_is_not_asked_again_by_its_name(
    cli: Cli, servers: dict[str, FakeProvider]
) -> None:
    address = servers["vllm"].openai_url
    assert cli(*WRITE, "--model", "openai-chat:Qwen/Qwen3-8B", "--base-url", address).code == 0
    ran = cli("write", "lamp", "--model", "vllm:Qwen/Qwen3-8B", "--json")
    assert (ran.json["asked"], ran.json["replayed"]) == (0, 1)


def test_ollamas_names_without_a_tag_get_their_context(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ollama cuts a long prompt without a word, so limits have to follow its context under short names too."""
    pages = {**PAGES["ollama"], "/v1/models": {"data": [{"id": "mistral:latest", "owned_by": "library"}]}}
    with ExitStack() as stack:
        alone(monkeypatch, stack, "ollama", Answer(STORY), pages)
        assert cli(*WRITE, "--model", "ollama:mistral").code == 0
    settings = tomllib.loads((cli.folder / "lamp" / "fabula.toml").read_text(encoding="utf-8"))
    assert settings["models"]["ollama:mistral"]["context"] == 4096


def test_several_addresses_on_the_command_line_are_one_model(cli: Cli, servers: dict[str, FakeProvider]) -> None:
    one, other = servers["vllm"].openai_url, "http://127.0.0.1:9/v1"
    assert cli(*WRITE, "--model", "vllm:", "--base-url", f"{one}, {other}").code == 0
    settings = tomllib.loads((cli.folder / "lamp" / "fabula.toml").read_text(encoding="utf-8"))
    assert settings["models"]["vllm:Qwen/Qwen3-8B"]["base_url"] == [one, other]
    refused = cli(*WRITE[:3], "other", *WRITE[4:], "--model", "vllm:Qwen/Qwen3-8B", "--base-url", f"{one},")
    assert "one of the addresses is empty" in refused.err
    checked = cli("models", "check", "vllm:Qwen/Qwen3-8B", "--base-url", f"{one},{other}")
    assert "tests one server. Specify a single address." in checked.err


def test_an_address_without_its_version_is_completed(cli: Cli, servers: dict[str, FakeProvider]) -> None:
    address = servers["ollama"].url
    assert cli(*WRITE, "--model", "ollama:llama3.1:8b", "--base-url", address).code == 0
    assert servers["ollama"].requests[-1].path == "/v1/chat/completions"


def test_tokens_that_a_server_does_not_count_are_counted_and_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        alone(monkeypatch, stack, "llamacpp", Answer(STORY, usage=False), PAGES["llamacpp"])
        ran = cli(*WRITE, "--model", "llamacpp:gemma-3-4b-it")
    assert "tokens estimated, because it does not report them" in ran.out


# --- errors in words ------------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_says_how_it_is_started(cli: Cli) -> None:
    ran = cli(*WRITE, "--model", "ollama:llama3.1:8b")
    assert ran.code != 0
    assert "`ollama serve` starts it, and `fabula models` lists the models on this machine." in ran.err


@pytest.mark.parametrize(
    ("kind", "script", "words"),
    [
        (
            "ollama",
            no_such_model('model "llama3.1:8b" not found'),
            "Run `ollama pull llama3.1:8b`. `fabula models` lists",
        ),
        ("vllm", no_such_model(), "Run `vllm serve Qwen/Qwen3-8B`"),
        ("lmstudio", Answer(status=400, error={"message": "No models loaded"}), "It said: No models loaded"),
        ("llamacpp", refused_key(), "refused the key at http://127.0.0.1:"),
    ],
)
def test_what_a_server_refuses_is_said_with_what_helps(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, kind: str, script: Answer, words: str
) -> None:
    with ExitStack() as stack:
        alone(monkeypatch, stack, kind, script, PAGES[kind])
        ran = cli(*WRITE, "--model", f"{kind}:{NAMES[kind]}")
    assert ran.code != 0
    assert words in ran.err


@pytest.mark.parametrize("kind", [kind for kind in HOSTED if not KINDS[kind].signed])
def test_a_missing_key_is_one_sentence(cli: Cli, kind: str) -> None:
    ran = cli("models", "check", f"{kind}:{HOSTED[kind]}", "--base-url", "http://127.0.0.1:9/v1")
    assert (
        f"There is no key for {kind}:{HOSTED[kind]}. Set {KINDS[kind].keys[0]} in the environment, as in `export"
        in ran.err
    )


def test_azure_without_an_address_says_which_variable_holds_it(cli: Cli) -> None:
    ran = cli("models", "check", "azure:my-gpt")
    assert "There is no address for azure:my-gpt. Set AZURE_OPENAI_ENDPOINT in the environment, or specify" in ran.err


def test_too_many_calls_are_told_in_the_words_of_the_provider(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    script = [overloaded(429, "0", "Rate limit exceeded: free-models-per-day"), Answer("Ready.")]
    with serving(script) as server:
        ran = cli("models", "check", f"openrouter:{HOSTED['openrouter']}", "--base-url", server.openai_url)
    assert "openrouter:meta-llama/llama-3.3-70b-instruct failed (" in ran.err
    assert "Rate limit exceeded" in ran.err
    assert ran.code == 0


def test_what_a_strangers_file_says_of_these_servers_needs_trust_only_beyond_this_machine(
    cli: Cli, servers: dict[str, FakeProvider], here: Path
) -> None:
    assert cli(*WRITE, "--model", "ollama:llama3.1:8b").code == 0
    file = here / "lamp" / "fabula.toml"
    plain = file.read_text()
    assert "context = 4096" in plain
    file.write_text(plain.replace("context = 4096", f"base_url = {json.dumps(servers['ollama'].openai_url)}"))
    assert cli("write", "lamp").code == 0
    file.write_text(plain.replace("context = 4096", 'base_url = "http://gpu.example:11434/v1"'))
    assert "and you have not allowed this." in cli("write", "lamp").err
