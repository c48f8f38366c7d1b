"""Models that only the program around fabula can reach: a chat window (`paste`), or a client's own model (`client`).

The program that starts a command sets in `ANSWERS` who answers for them. This is not an argument, because every command
may name such a model but few commands handle it. If no one is set, a call fails with a message that says what to do.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from fabula.base.errors import ModelUnavailableError
from fabula.models.base import Capabilities, OnText, Reply, Request, Usage
from fabula.models.budget import estimate_tokens, prompt_tokens

PASTE, CLIENT = "paste", "client"
_PARALLEL: Final = {PASTE: 64, CLIENT: 4}  # prompts that may wait; a chat window shows them one at a time
_NOBODY: Final = {
    PASTE: (
        "You cannot paste a reply here because there is no terminal. To write the prompts to files instead, use "
        "`--model files:DIR`."
    ),
    CLIENT: (
        "No client with a model is connected. `client` works only with `fabula mcp` and a client that offers "
        "sampling. Specify another model (`fabula models` lists the models)."
    ),
}
ANSWERS: ContextVar[Mapping[str, Callable[[Request], Awaitable[str | Reply]]]] = ContextVar(
    "fabula_answers", default=MappingProxyType({})
)
"""For each of these models, the function that answers."""


@dataclass(frozen=True)
class OutsideModel:
    """A chat window or a client's model; its tokens are estimated, and it takes no sampling values.

    Attributes:
        name: `paste` or `client`.
        clock: a function that gives seconds.
        context: the tokens of prompt and reply together, if the author gives them.
    """

    name: str
    clock: Callable[[], float] = time.monotonic
    context: int | None = None

    @property
    def identity(self) -> str:
        """The name, because it is not known here which model it is."""
        return self.name

    @property
    def capabilities(self) -> Capabilities:
        """No capabilities beyond text, because the prompt contains the form of the reply."""
        return Capabilities(
            schema=True, choices=True, sampling=frozenset(), context=self.context, parallel=_PARALLEL[self.name]
        )

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The model's reply, from the function in `ANSWERS`.

        Raises:
            ModelUnavailableError: there is no such function.
        """
        answer = ANSWERS.get().get(self.name)
        if answer is None:
            raise ModelUnavailableError(_NOBODY[self.name], model=self.name)
        began, said = self.clock(), await answer(request)
        given = said if isinstance(said, Reply) else Reply(said)
        if on_text is not None:
            on_text(given.text)
        prompt, reply = prompt_tokens(request), estimate_tokens(given.text)
        cost = 0.0 if self.name == PASTE else None
        usage = Usage(prompt, 0, reply, self.clock() - began, cost=cost, estimated=prompt + reply)
        return replace(given, usage=usage, model=self.name, dropped=tuple(request.sampling.set_values()))

    async def close(self) -> None:
        """Do nothing, because nothing is open."""
