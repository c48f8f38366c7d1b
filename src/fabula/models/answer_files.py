"""A model whose answers are files that somebody puts next to the prompts: `files:DIR`.

Each prompt becomes two files in the folder: `NAME.prompt.md`, for reading or pasting into a chat window, and
`NAME.prompt.json`, with messages, schema and sampling for a program. The answer is `NAME.answer.md`. The name gives
role, place and number, and depends only on the request, so that a run that was killed finds its prompts and answers
again. `index.md` and `index.json` list the prompts without an answer.

An answer counts once its file has some text and has not changed for a second. If you need longer to write it, write it
under another name and then rename it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from fabula.base.characters import readable
from fabula.base.errors import FabulaError, ModelError, UsageError
from fabula.base.files import PRIVATE, make_folder, read_text, write_atomically
from fabula.models.base import Capabilities, Json, OnText, Reply, Request, Usage
from fabula.models.budget import estimate_tokens, prompt_tokens
from fabula.models.prompt_text import prompt_text

KIND: Final = "files"
PROMPT, REQUEST, ANSWER = ".prompt.md", ".prompt.json", ".answer.md"
LARGEST: Final = 2_000_000  # bytes of an answer
MOST_AT_ONCE: Final = 32  # prompts that wait in a folder, if nobody says otherwise
_MOST_LISTED: Final = 10_000  # files of a folder that are looked at for the index
_LONGEST_PART: Final = 60  # letters of role and place in a name
_DIGITS: Final = 10
_OTHER: Final = re.compile(r"[^\w.]+", re.ASCII)
_PART: Final = re.compile(r"[\w.-]+", re.ASCII)
_NUMBER: Final = re.compile(rf"(\d{{1,9}})-[0-9a-f]{{{_DIGITS}}}", re.ASCII)
OnWait: TypeAlias = "Callable[[str, tuple[str, ...]], None]"


@dataclass(eq=False)
class AnswerFiles:
    """A model answered by files in a folder. Several prompts may wait at once, and may be answered in any order.

    Attributes:
        folder: the folder of prompts and answers, created with the first prompt.
        parallel: the number of prompts that may wait at once.
        on_wait: called with the folder and the files that this model waits for, whenever they change.
        settled: the seconds for which an answer must stay unchanged.
        every: the seconds between two checks of the folder.
        clock: a function that gives seconds.
        context: the tokens of prompt and answer together, if the author gives them.
    """

    folder: Path
    parallel: int = MOST_AT_ONCE
    on_wait: OnWait | None = None
    settled: float = 1.0
    every: float = 0.25
    clock: Callable[[], float] = time.monotonic
    context: int | None = None
    _waiting: list[str] = field(default_factory=list, init=False, repr=False)
    _gate: asyncio.Semaphore | None = field(default=None, init=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """`files:DIR`."""
        return f"{KIND}:{self.folder}"

    @property
    def identity(self) -> str:
        """The folder's own name, which says who answers; the folder may be moved."""
        return f"{KIND}:{self.folder.resolve().name}"

    @property
    def capabilities(self) -> Capabilities:
        """Support for schemas, because readers can follow the requested form, but not for sampling values."""
        return Capabilities(
            schema=True, choices=True, sampling=frozenset(), context=self.context, parallel=self.parallel
        )

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The text of the answer's file, as soon as it is there.

        Raises:
            ModelError: the answer is not readable text; the message says why.
            ProjectError: the prompt cannot be written.
        """
        async with self._turn():
            began = self.clock()
            text = await self._answered(request)
        if on_text is not None:
            on_text(text)
        prompt, reply = prompt_tokens(request), estimate_tokens(text)
        usage = Usage(prompt, 0, reply, self.clock() - began, cost=0.0, estimated=prompt + reply)
        return Reply(text, usage, model=self.identity, dropped=tuple(request.sampling.set_values()))

    async def close(self) -> None:
        """Do nothing: prompts without an answer stay and wait for the next run."""

    def _turn(self) -> asyncio.Semaphore:
        """The gate; a new one for each event loop, because a notebook may start several in turn."""
        loop = asyncio.get_running_loop()
        if self._gate is None or self._loop is not loop:
            self._gate, self._loop = asyncio.Semaphore(self.parallel), loop
        return self._gate

    async def _answered(self, request: Request) -> str:
        """The answer to a prompt that is left in the folder."""
        name = file_name(request)
        self._leave(request, name)
        self._waiting.append(name)
        self._tell()
        try:
            text = await self._answer(self.folder / f"{name}{ANSWER}")
        finally:
            self._waiting.remove(name)
            self._tell()
        self._write_index()
        return text

    def _leave(self, request: Request, name: str) -> None:
        """Put the two files of a prompt into the folder, each at once or not at all."""
        make_folder(self.folder, mode=0o700)
        _write(self.folder / f"{name}{PROMPT}", f"{prompt_text(request)}\n")
        _write(self.folder / f"{name}{REQUEST}", _shown(_data(request, name)))
        self._write_index()

    async def _answer(self, file: Path) -> str:
        """The text of an answer that is there and stays as it is."""
        seen, since = _state(file), self.clock()
        while True:
            if seen is not None and self.clock() - since >= self.settled and (text := _text(file)).strip():
                return text
            await asyncio.sleep(self.every)
            if (now := _state(file)) != seen:
                seen, since = now, self.clock()

    def _tell(self) -> None:
        if self.on_wait is not None:
            self.on_wait(str(self.folder), tuple(f"{name}{ANSWER}" for name in self._waiting))

    def _write_index(self) -> None:
        waiting = unanswered(self.folder)
        rows = "".join(f"| {one['role']} | {one['path']} | {one['prompt']} | {one['answer']} |\n" for one in waiting)
        page = (
            f"# {len(waiting)} without an answer\n\nAnswer a prompt by putting a file next to it, under the name in "
            f"the "
            f"last column. It counts once it has been there unchanged for {self.settled:g} s; if you take longer to "
            "write it, write it under another name and rename it.\n\n"
            f"| role | where | prompt | answer |\n|---|---|---|---|\n{rows}"
        )
        _write(self.folder / "index.md", page)
        _write(self.folder / "index.json", _shown({"waiting": waiting}))


def file_name(request: Request) -> str:
    """The beginning of the names of a request's files: role, place, number, and a digest of the request."""
    body = json.dumps([request.path, request.ordinal, request.body()], ensure_ascii=False, sort_keys=True)
    digest = sha256(body.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{_plain(request.role)}--{_plain(request.path)}--{request.ordinal + 1}-{digest}"


def _plain(text: str) -> str:
    return _OTHER.sub("-", text.replace("/", "."))[:_LONGEST_PART].strip(".-") or "prompt"


def unanswered(folder: Path) -> list[Json]:
    """The prompts in a folder that have no answer yet, by name; other files are ignored."""
    names: set[str] = set()
    with os.scandir(folder) as entries:
        for entry, _ in zip(entries, range(_MOST_LISTED), strict=False):
            names.add(entry.name)
    found = []
    for file in sorted(names):
        stem = file.removesuffix(REQUEST)
        if stem != file and f"{stem}{ANSWER}" not in names and (named := _named(stem)) is not None:
            found.append(named | _files(stem))
    return found


def _named(stem: str) -> Json | None:
    """What the name of a prompt's files says; `None` where it is no such name."""
    role, _, rest = stem.partition("--")
    path, _, last = rest.partition("--")
    number = _NUMBER.fullmatch(last)
    if number is None or not (_PART.fullmatch(role) and _PART.fullmatch(path)):
        return None
    return {"role": role, "path": path, "number": int(number[1])}


def _files(name: str) -> dict[str, str]:
    return {"prompt": f"{name}{PROMPT}", "request": f"{name}{REQUEST}", "answer": f"{name}{ANSWER}"}


def _data(request: Request, name: str) -> Json:
    return {
        "role": request.role,
        "path": request.path,
        "number": request.ordinal + 1,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "schema": request.schema,
        "choices": list(request.choices),
        "sampling": request.sampling.set_values(),
        **_files(name),
    }


def _shown(data: Json) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _write(file: Path, text: str) -> None:
    """Put a text that is not there yet into a file; one that is there keeps its time."""
    try:
        if stat.S_ISREG(file.lstat().st_mode) and read_text(file, LARGEST) == text:
            return
    except (OSError, UsageError):
        pass
    write_atomically(file, readable(text), mode=PRIVATE)


def _state(file: Path) -> tuple[int, int, int] | None:
    """What changes when a file is rewritten; `None` where there is none, or an empty one.

    Raises:
        ModelError: something else than a file has its name.
    """
    try:
        status = file.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(
            f"{file} is not a regular file, so fabula does not read it. Replace it with a file that "
            "contains the answer.",
            model=KIND,
        )
    return (status.st_ino, status.st_size, status.st_mtime_ns) if status.st_size else None


def _text(file: Path) -> str:
    try:
        return read_text(file, LARGEST, links=False)
    except FabulaError as error:
        raise ModelError(f"This answer cannot be used. {error}", model=KIND) from error
