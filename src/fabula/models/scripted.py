"""A model that answers from a script, for tests and demonstrations. An unscripted prompt is an error.

A script is TOML: under `[replies]`, each role has a text or a list of texts, given in turn::

    [replies]
    conflict = "Mara wants the lamp lit."
    exposition = ["The lamp was dark.", "A second asking gets this."]
    "exposition:extend" = "The prompt `extend` of this role gets this."
    "climax/extend/2/extend" = "This very path gets this."
"""

from __future__ import annotations

import asyncio
import inspect
import tomllib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from fabula.base.errors import ConfigError, ModelError, UsageError
from fabula.base.files import read_bytes
from fabula.base.tomltext import parse
from fabula.models.base import SAMPLING_FIELDS, Capabilities, OnText, Reply, Request, Usage

Script: TypeAlias = Mapping[str, str | Sequence[str]] | Callable[[Request], str | Reply | Awaitable[str | Reply]]

_LARGEST: Final = 20_000_000  # bytes of a script


class ScriptedModel:
    """Answers by role from a mapping, or by calling a function of the request.

    The texts of a list are given in turn for each path, so that a resumed run gets the same replies as an uninterrupted
    one; the last text repeats. `asked` holds the calls made. Usage is counted in words; the cost is 0.
    """

    def __init__(
        self, script: Script, *, name: str = "scripted", capabilities: Capabilities | None = None, identity: str = ""
    ) -> None:
        self.name = name
        self.identity = identity or name
        self.capabilities = capabilities or Capabilities(sampling=SAMPLING_FIELDS, parallel=64)
        self.asked: list[Request] = []
        self._script = script
        self._turns: Counter[str] = Counter()

    @classmethod
    def read(cls, path: Path) -> ScriptedModel:
        """The model of a script file.

        Raises:
            ConfigError: the file is missing, is not TOML, or has no table `[replies]` of texts.
        """
        try:
            data = read_bytes(path, _LARGEST, kind="a script (a TOML file)")
            replies = parse(data.decode("utf-8")).get("replies")
        except UsageError as error:
            raise ConfigError(str(error)) from error
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"Cannot read the script {path}: {error}. Use a TOML file.") from error
        if not isinstance(replies, dict) or not replies:
            raise ConfigError(f"The script {path} has no table [replies] with a text for each role.")
        for name, texts in replies.items():
            listed = isinstance(texts, list) and bool(texts) and all(isinstance(text, str) for text in texts)
            if not isinstance(texts, str) and not listed:
                raise ConfigError(f"The script {path}: the reply {name!r} is neither a text nor a list of texts.")
        return cls(replies, name=f"scripted:{path}", identity=f"scripted@{sha256(data).hexdigest()[:12]}")

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The scripted reply.

        Raises:
            ModelError: the script has no reply for this role.
        """
        self.asked.append(request)
        answer = await self._answer(request)
        if on_text is not None:
            on_text(answer.text)
        return answer

    async def _answer(self, request: Request) -> Reply:
        if callable(self._script):
            said = self._script(request)
            said = await said if inspect.isawaitable(said) else said
            await asyncio.sleep(0)  # a call is a point where other tasks may run, as with any real model
            return said if isinstance(said, Reply) else self._counted(request, said)
        names = (request.path, f"{request.role}:{request.path.rpartition('/')[2]}", request.role)
        key = next((name for name in names if name in self._script), None)
        if key is None:
            raise ModelError(
                f"The script has no reply for the role {request.role!r} (at {request.path}). Add it under [replies].",
                model=self.name,
            )
        texts = self._script[key]
        if not isinstance(texts, str):
            turn = self._turns[request.path]
            self._turns[request.path] += 1
            texts = texts[min(turn, len(texts) - 1)]
        await asyncio.sleep(0)
        return self._counted(request, texts)

    def _counted(self, request: Request, text: str) -> Reply:
        prompt = sum(len(m.content.split()) for m in request.messages)
        usage = Usage(prompt=prompt, reply=len(text.split()), cost=0.0)
        return Reply(text, usage, model=self.identity, sent=request.sampling.set_values())

    async def close(self) -> None:
        """Do nothing, because nothing is open."""
