"""Models that only the program around fabula can reach: a chat window (`paste`), a client's own (`client`).

Who starts a command says in `ANSWERS` who answers for them. It is no argument, since every command may name such a
model and few know of it; where nobody is named, asking says what to do instead.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fabula.base.errors import ModelUnavailableError
from fabula.models.base import Capabilities, Reply, Request, Usage
from fabula.models.budget import estimate_tokens, prompt_tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from fabula.models.base import OnText

PASTE, CLIENT = "paste", "client"
_PARALLEL: Final = {PASTE: 64, CLIENT: 4}  # prompts that may wait; a chat window shows them one at a time
_NOBODY: Final = {
    PASTE: "There is no terminal here at which a reply could be pasted. Leave the prompts as files instead: "
    "`--model files:DIR`.",
    CLIENT: "No client is connected whose model could answer: `client` is for `fabula mcp`, used by a client that "
    "offers sampling. Name another model (`fabula models` lists them).",
}
ANSWERS: ContextVar[Mapping[str, Callable[[Request], Awaitable[str | Reply]]]] = ContextVar(
    "fabula_answers", default=MappingProxyType({})
)
"""Who answers for each of these models."""


@dataclass(frozen=True)
class OutsideModel:
    """A chat window or a client's model; its tokens are estimated, and it takes no sampling values.

    Attributes:
        name: `paste` or `client`.
        clock: gives seconds.
        context: tokens of prompt and reply together, where the author says so.
    """

    name: str
    clock: Callable[[], float] = time.monotonic
    context: int | None = None

    @property
    def identity(self) -> str:
        """The name: nobody can say here which model it is."""
        return self.name

    @property
    def capabilities(self) -> Capabilities:
        """The form that is wanted stands in the prompt."""
        return Capabilities(
            schema=True, choices=True, sampling=frozenset(), context=self.context, parallel=_PARALLEL[self.name]
        )

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """What whoever reaches the model says that it answered.

        Raises:
            ModelUnavailableError: nobody reaches it.
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
        """Nothing is held."""
