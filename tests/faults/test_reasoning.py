"""Models that think: reasoning kept apart, counted and priced, never in a text; room left for it; effort said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ModelError, OverloadedError
from fabula.engine.journal import Journal
from fabula.models.base import Message, Request, Sampling, Usage
from fabula.models.budget import longest_reply
from fabula.models.limits import Limited
from fabula.models.llamacpp import ReplyReader
from fabula.models.providers import KINDS, ProviderModel, provider_model
from fabula.models.reasoning import ROOM, Apart, apart
from fake_provider import Answer, FakeProvider

if TYPE_CHECKING:
    from fabula.models.base import Effort, Reply
    from fake_provider import Script

KEYS = {name: "sk-0123456789" for kind in KINDS.values() for name in kind.keys}
STORY = "The lamp went out, and nobody spoke."
THOUGHT = "The user wants a story about a lamp. I should begin with the dark."
ASKED = Request((Message("user", "Begin."),), Sampling(max_tokens=100))
NAMES = dict.fromkeys(KINDS, "tale-1") | {
    "openai": "o3",
    "azure": "o3",
    "anthropic": "claude-haiku-4-5",
    "google": "gemini-2.5-flash",
    "groq": "openai/gpt-oss-20b",
}
streaming = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def connect(server: FakeProvider, kind: str = "vllm") -> ProviderModel:
    return provider_model(kind, NAMES[kind], base_url=server.base_url(kind), environ=KEYS)


async def ask(
    script: Script, kind: str = "vllm", request: Request = ASKED, *, stream: bool = False
) -> tuple[Reply, str, dict[str, Any]]:
    """The reply, what a listener heard, and the body that the server got."""
    heard: list[str] = []
    async with FakeProvider(script) as server:
        model = connect(server, kind)
        try:
            reply = await model.ask(request, heard.append if stream else None)
        finally:
            await model.close()
        return reply, "".join(heard), server.requests[-1].body


# --- kept apart -----------------------------------------------------------------------------------------------------

IN_THE_TEXT = [
    f"<think>\n{THOUGHT}\n</think>\n\n{STORY}",
    f"<think>{THOUGHT}</think>{STORY}",
    f"\n <THINKING>{THOUGHT}</THINKING>\n{STORY}",
    f"[THINK]{THOUGHT}[/THINK]{STORY}",
]


@streaming
@pytest.mark.parametrize("text", IN_THE_TEXT)
async def test_reasoning_in_the_text_is_taken_out_and_kept(text: str, stream: bool) -> None:  # noqa: FBT001 -- parametrised
    reply, heard, _ = await ask(Answer(text), stream=stream)
    assert (reply.text, reply.reasoning) == (STORY, THOUGHT)
    assert 0 < reply.usage.reasoning <= reply.usage.reply
    assert heard == (STORY if stream else "")


@streaming
async def test_a_closing_mark_alone_ends_reasoning(stream: bool) -> None:  # noqa: FBT001 -- parametrised
    reply, _, _ = await ask(Answer(f"{THOUGHT}\n</think>\n\n{STORY}"), stream=stream)
    assert (reply.text, reply.reasoning) == (STORY, THOUGHT)


@streaming
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_in_a_field_of_its_own_is_kept(field: str, stream: bool) -> None:  # noqa: FBT001 -- parametrised
    script = Answer(STORY, reasoning=THOUGHT, reasoning_field=field, reply_tokens=40, reasoning_tokens=30)
    reply, heard, _ = await ask(script, stream=stream)
    assert (reply.text, reply.reasoning) == (STORY, THOUGHT)
    assert (reply.usage.reply, reply.usage.reasoning) == (40, 30)
    assert heard == (STORY if stream else "")


@pytest.mark.parametrize("kind", ["openai", "azure", "google", "vllm"])
async def test_reasoning_is_counted_among_what_was_written(kind: str) -> None:
    reply, _, _ = await ask(Answer(STORY, reply_tokens=40, reasoning_tokens=30), kind)
    assert (reply.usage.reply, reply.usage.reasoning) == (40, 30)


async def test_reasoning_that_a_server_counts_beside_the_reply_is_added_to_it() -> None:
    script = Answer(STORY, reply_tokens=10, reasoning_tokens=30, reasoning_beside=True)
    reply, _, _ = await ask(script, "xai")
    assert (reply.usage.reply, reply.usage.reasoning, reply.usage.cost) == (40, 30, None)


@pytest.mark.parametrize(
    "text",
    [
        STORY,
        "",
        "<thin ice>, she said.",
        "I think <b>so</b>.",
        "She wrote <think> on the wall.",
        "<",
        "Then:\n[T] is a tee.",
    ],
)
def test_what_is_no_reasoning_stays(text: str) -> None:
    assert apart(text) == (text, "")
    pieces = Apart()
    assert "".join(map(pieces.take, text)) + pieces.rest() == text


def test_a_block_that_is_not_closed_goes_to_the_end() -> None:
    assert apart(f"{STORY}\n<think>{THOUGHT}") == (f"{STORY}\n", THOUGHT)
    assert apart(f"<think>{THOUGHT}") == ("", THOUGHT)
    pieces = Apart()
    assert "".join(map(pieces.take, f"<think>{THOUGHT}")) + pieces.rest() == ""


@pytest.mark.parametrize("sign", ["<think>", "</think>", "\n<think>", "[THINK]", "\n", " ", "\n\t", "<", "\x1b", "é"])
def test_reading_takes_linear_time(sign: str) -> None:
    text = sign * (100_000 // len(sign))
    apart(text)
    pieces = Apart()
    pieces.take(text)


def test_the_journal_keeps_reasoning_beside_the_text() -> None:
    with Journal(None) as journal:
        reply = _reply(STORY, THOUGHT)
        journal.calls.record("key", ASKED, 0, reply)
        kept = journal.calls.reply("key")
    assert kept is not None
    assert (kept.text, kept.reasoning, kept.usage.reasoning) == (STORY, THOUGHT, 30)


def _reply(text: str, thought: str) -> Reply:
    from fabula.models.base import Reply  # noqa: PLC0415 - the name is a type elsewhere

    return Reply(text, Usage(10, 0, 40, reasoning=30), reasoning=thought)


# --- room and effort ------------------------------------------------------------------------------------------------


async def test_a_reply_of_reasoning_alone_is_asked_again_with_room() -> None:
    script = [
        Answer(f"<think>{THOUGHT}", finish="length", reply_tokens=100),
        Answer(f"<think>{THOUGHT}</think>{STORY}"),
    ]
    async with FakeProvider(script) as server:
        model = connect(server)
        reply = await Limited(model, sleep=_at_once).ask(ASKED)
        await model.close()
    assert reply.text == STORY
    assert [request.body["max_tokens"] for request in server.requests] == [100, 100 + ROOM["medium"]]
    assert longest_reply(ASKED, model) == 100 + ROOM["medium"]


async def _at_once(_: float) -> None:
    """No wait between tries."""


@streaming
async def test_reasoning_that_leaves_no_room_says_what_helps(stream: bool) -> None:  # noqa: FBT001 -- parametrised
    low = replace(ASKED, sampling=Sampling(max_tokens=100, reasoning="low"))
    with pytest.raises(
        ModelError, match=r"used up its reply on reasoning and gave no answer. Reduce its reasoning"
    ) as caught:
        await ask(Answer("", reasoning=THOUGHT, finish="length", reply_tokens=99), request=low, stream=stream)
    assert not caught.value.retryable
    assert caught.value.tokens == (21, 99)


async def test_reasoning_without_an_answer_is_worth_another_try() -> None:
    with pytest.raises(OverloadedError, match="gave only reasoning and no answer"):
        await ask(Answer("", reasoning=THOUGHT))


@pytest.mark.parametrize(
    ("kind", "effort", "field", "value"),
    [
        ("openai", "low", "reasoning", {"effort": "low"}),
        ("azure", "low", "reasoning_effort", "low"),
        ("ollama", "none", "reasoning_effort", "none"),
        ("vllm", "high", "reasoning_effort", "high"),
        ("vllm", "none", "chat_template_kwargs", {"enable_thinking": False}),
        ("llamacpp", "none", "chat_template_kwargs", {"enable_thinking": False}),
        ("openrouter", "low", "reasoning", {"effort": "low"}),
        ("deepseek", "none", "thinking", {"type": "disabled"}),
        ("groq", "low", "reasoning_effort", "low"),
        ("anthropic", "low", "thinking", {"type": "enabled", "budget_tokens": 2048}),
    ],
)
async def test_how_much_to_think_is_said_as_each_provider_wants_it(
    kind: str,
    effort: Effort,
    field: str,
    value: object,
) -> None:
    request = replace(ASKED, sampling=Sampling(max_tokens=100, reasoning=effort))
    reply, _, body = await ask(Answer(STORY), kind, request)
    said = body[field]
    assert (said if not isinstance(value, dict) or not isinstance(said, dict) else {k: said[k] for k in value}) == value
    assert "reasoning" not in reply.dropped
    wide = body.get("max_tokens") or body.get("max_completion_tokens") or body["max_output_tokens"]
    assert wide == 100 + ROOM[effort]


async def test_google_is_told_a_budget_of_thoughts() -> None:
    request = replace(ASKED, sampling=Sampling(max_tokens=100, reasoning="low"))
    reply, _, body = await ask(Answer(STORY), "google", request)
    assert body["generationConfig"]["thinkingConfig"]
    assert "reasoning" not in reply.dropped


async def test_a_model_that_cannot_think_says_that_it_was_not_told_to() -> None:
    request = replace(ASKED, sampling=Sampling(reasoning="low"))
    async with FakeProvider(Answer(STORY)) as server:
        model = provider_model("azure", "gpt-4o", base_url=server.openai_url, environ=KEYS)
        reply = await model.ask(request)
        await model.close()
    assert reply.dropped == ("reasoning",)


async def test_a_model_that_is_known_to_think_has_room_at_once() -> None:
    _, _, body = await ask(Answer(STORY), "azure")
    assert body["max_completion_tokens"] == 100 + ROOM["medium"]


# --- the embedded engine --------------------------------------------------------------------------------------------


def chunk(finish: str | None = None, **delta: str) -> dict[str, Any]:
    return {
        "choices": [{"delta": delta, "finish_reason": finish}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 30},
    }


def test_the_engine_keeps_reasoning_apart_too() -> None:
    heard: list[str] = []
    reader = ReplyReader(lambda: 0.0, heard.append)
    for piece in (chunk(reasoning_content=THOUGHT), chunk(content="<think>again</thi"), chunk(content=f"nk>{STORY}")):
        reader.take(piece)
    reader.take(chunk("stop"))
    reply = reader.reply(ASKED, {}, "embedded:x")
    assert (reply.text, reply.reasoning) == (STORY, f"{THOUGHT}\n\nagain")
    assert "".join(heard) == STORY
    assert 0 < reply.usage.reasoning <= 30


def test_the_engine_says_what_helps_where_it_only_thought() -> None:
    reader = ReplyReader(lambda: 0.0, lambda _: None)
    reader.take(chunk("length", reasoning_content=THOUGHT))
    with pytest.raises(ModelError, match="used up its reply on reasoning and gave no answer"):
        reader.reply(ASKED, {}, "embedded:x")
