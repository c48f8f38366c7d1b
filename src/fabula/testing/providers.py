"""What every model of a provider must keep to: rules, tried with a few short questions that are really asked."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from fabula.models.base import Message, Request, Sampling
from fabula.project.casting import Environment, open_model
from fabula.project.settings import ModelTable
from fabula.testing.rules import Rule, expect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fabula.models.base import Model

_QUESTION: Final = Request(
    (Message("system", "You answer in one sentence."), Message("user", "Say what a lighthouse is for.")),
    Sampling(max_tokens=60, seed=1),
    role="writer",
    path="story",
)


@asynccontextmanager
async def _opened(name: str) -> AsyncIterator[Model]:
    """The model, closed at the end."""
    model = open_model(name, ModelTable(tries=1), Environment(os.environ))
    try:
        yield model
    finally:
        await model.close()


async def says_who_it_is(name: str) -> None:
    """It has a name, an identity that is the same each time, and capabilities."""
    async with _opened(name) as first, _opened(name) as second:
        expect(first.name and first.identity, f"{name} has no `name` or no `identity`.")
        expect(first.identity == second.identity, f"{name} is {first.identity!r} once and {second.identity!r} then.")
        able = first.capabilities
        expect(getattr(able, "parallel", 0) > 0, f"{name} has no `Capabilities`, or takes no call.")


async def answers(name: str) -> None:
    """It answers with a text, whose tokens are no less than none."""
    async with _opened(name) as model:
        reply = await model.ask(_QUESTION)
    expect(str(reply.text or "").strip(), f"{name} answered with no text.")
    expect(reply.finish in {"stop", "length", "refusal"}, f"{name} ended with {reply.finish!r}, which is no `finish`.")
    expect(reply.usage.prompt >= 0 and reply.usage.reply >= 0, f"{name} counts fewer tokens than none.")


async def streams_its_text(name: str) -> None:
    """What it says piece by piece is what it has said."""
    heard: list[str] = []
    async with _opened(name) as model:
        reply = await model.ask(_QUESTION, heard.append)
    said = "".join(heard)
    expect(said == reply.text, f"{name} gave {said[:80]!r} piece by piece, and {reply.text[:80]!r} as its reply.")


async def answers_side_by_side(name: str) -> None:
    """Two questions at once are both answered."""
    async with _opened(name) as model, asyncio.TaskGroup() as group:
        both = [group.create_task(model.ask(_QUESTION)) for _ in range(2)]
    expect(all(one.result().text.strip() for one in both), f"{name} answered one of two questions with no text.")


async def closes_twice(name: str) -> None:
    """It may be closed twice."""
    async with _opened(name) as model:
        await model.close()


PROVIDER_RULES: Final = (
    Rule("says who it is", "`identity` is a part of what is recorded: let it change with the weights.", says_who_it_is),
    Rule("answers with a text", "Give a Reply; raise a ModelError where there is none.", answers),
    Rule("streams what it says", "Hand each piece to `on_text`, or the whole at the end.", streams_its_text),
    Rule("answers two questions at once", "Say `parallel=1` in its Capabilities if it cannot.", answers_side_by_side),
    Rule("may be closed twice", "Let `close` do nothing the second time.", closes_twice),
)
