"""Use a chat window as a model (`--model paste`): show the prompt for copying, and read a pasted or saved reply."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import shutil
import sys
import termios
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.base.characters import readable
from fabula.base.errors import FabulaError, PausedError, UsageError
from fabula.base.files import read_text, write_atomically
from fabula.cli.progress import counted
from fabula.cli.terminal import Terminal, has_input
from fabula.models.budget import estimate_tokens
from fabula.models.prompt_text import prompt_text
from fabula.story import count_words, one_line

if TYPE_CHECKING:
    from fabula.models.base import Request


LARGEST: Final = 2_000_000
_WIDTH: Final = 72
_FROM = " prompt: from here ".center(_WIDTH, "=")
_TO = " prompt: to here ".center(_WIDTH, "=")
_HELP: Final = """\
Paste the reply and press Enter. Or type it, and end with a full stop on a separate line. Other commands:
  /copy        copies the prompt to the clipboard, and each prompt after it
  /save FILE   saves the prompt to a file
  /file FILE   reads the reply from a file
  /edit        opens your editor for the reply
  /again       shows the prompt again
  /skip        postpones it until the other prompts have been answered
  /stop        ends here; the same command continues with this prompt"""
_SHORT_HELP: Final = "Paste the reply and press Enter; /help lists other commands."
_WORDS: Final = ("again", "skip", "stop")  # understood without a stroke, too
_WITH_FILE: Final = ("save", "file")
_COMMANDS: Final = frozenset({"copy", "edit", "help", *_WORDS, *_WITH_FILE})
_SHORT: Final = 3  # words below which a text may have been pasted by mistake
_ENDS: Final = 40  # letters shown of each end of a paste
_CLIPBOARDS: Final = (
    ("", ("pbcopy",)),
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("clip.exe",)),
    ("", ("termux-clipboard-set",)),
)
_PATIENCE: Final = 5.0  # seconds for a clipboard tool
_BRACKETED_ON, _BRACKETED_OFF = "\x1b[?2004h", "\x1b[?2004l"
_BEGIN, _END = "\x1b[200~", "\x1b[201~"
_KEY: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\[O]|$)")
_CHUNK: Final = 65_536


@dataclass
class Pasting:
    """A person at the terminal who carries prompts to a chat window, one at a time and in order."""

    terminal: Terminal
    _one: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)
    _copies: bool = field(default=False, init=False)
    _helped: bool = field(default=False, init=False)

    async def answer(self, request: Request) -> str:
        """Return the pasted reply to a prompt.

        Raises:
            PausedError: the person stops, or the input ends.
        """
        if (loop := asyncio.get_running_loop()) is not self._loop:  # a run that starts over has another one
            self._one, self._loop = asyncio.Lock(), loop
        prompt, put_off = readable(prompt_text(request)), False
        while True:
            async with self._one:
                with self.terminal.aside():
                    if put_off:
                        self.terminal.message("\nThis prompt was postponed:")
                    said = await self._asked(request, prompt)
            if said is not None:
                return said
            put_off = True
            await asyncio.sleep(0)

    async def _asked(self, request: Request, prompt: str) -> str | None:
        """A reply; `None` if the prompt is postponed."""
        await self._show(request, prompt)
        self.terminal.message(_SHORT_HELP if self._helped else _HELP)
        self._helped = True
        while True:
            said, ended, pasted = await self._said()
            command, _, rest = said.strip().partition(" ")
            name = command.removeprefix("/").lower()
            listed = any(said.strip().lower() == choice.lower() for choice in request.choices)
            if pasted or "\n" in said.strip() or listed or not _is_command(said.strip()):
                if (text := await self._taken(request, said)) is not None:
                    return text
                if ended:
                    raise _stopped(request, "the input has ended")
                continue
            if name == "stop":
                raise _stopped(request, "you stopped here")
            if name == "skip":
                return None
            if (text := await self._obey(name, rest.strip(), request, prompt)) is not None:
                return text

    async def _obey(self, name: str, file: str, request: Request, prompt: str) -> str | None:
        """Run a command. Returns the reply if the command gives one."""
        try:
            if name == "again":
                await self._show(request, prompt)
            elif name == "help":
                self.terminal.message(_HELP)
            elif name == "copy":
                self._copies = True
                await self._copy(prompt)
            elif name == "save":
                write_atomically(_at(file), f"{prompt}\n")
                self.terminal.message(f"The prompt is in {file}.")
            else:
                text = await self.terminal.edited("") if name == "edit" else read_text(_at(file), LARGEST)
                return await self._taken(request, text)
        except FabulaError as problem:
            self.terminal.message(str(problem))
        return None

    async def _show(self, request: Request, prompt: str) -> None:
        message, size = self.terminal.message, f"about {estimate_tokens(prompt):,} tokens"
        message(f"\nYour chat window plays the role {request.role} ({request.path}). Copy this prompt, {size}:")
        self.terminal.to_copy(f"{_FROM}\n{prompt}\n{_TO}")
        if self._copies:
            with suppress(UsageError):
                await self._copy(prompt)

    async def _copy(self, prompt: str) -> None:
        await copy(prompt, self.terminal.environ)
        self.terminal.message("The prompt is on the clipboard.")

    async def _taken(self, request: Request, said: str) -> str | None:
        """The pasted text as a reply; `None` if it is not one, or the person says so."""
        text = readable(said).replace("\r\n", "\n").strip()
        if not text:
            self.terminal.message("Nothing was pasted. Paste the reply from your chat window, or type /stop.")
            return None
        free = request.schema is None and not request.choices
        words = count_words(text)
        if free and words < _SHORT and self.terminal.interactive:
            asked = f"That is only {counted(words, 'word')}. Is it the whole reply? [y]es or [n]o: "
            if await self.terminal.choice(asked, "yn") == "n":
                return None
        self.terminal.message(f"Taken: {counted(words, 'word')}.")
        return text

    async def _said(self) -> tuple[str, bool, bool]:
        """The pasted or typed text, whether the input ended, and whether the text begins with a paste."""
        handle = _handle(self.terminal)
        if handle is None:
            return *await self._lines(), False
        typed = Typed()
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        with _each_key(handle):
            while not typed.done:
                await has_input(handle)
                data = os.read(handle, _CHUNK)
                sys.stderr.write(typed.feed(decode(data)) if data else typed.end())
                sys.stderr.flush()
        return typed.text, typed.ended, typed.pasted

    async def _lines(self) -> tuple[str, bool]:
        """The text from a pipe: lines up to a single full stop, or a line that is a command."""
        said: list[str] = []
        while (line := await self.terminal.line()) is not None:
            if line.strip() == ".":
                return "\n".join(said), False
            if not said and _is_command(line.strip()):
                return line.strip(), False
            said.append(line)
        return "\n".join(said), True


class Typed:
    """Terminal input, read key by key, in which pastes are marked.

    Three things end the text: Enter after a paste, a line with a single full stop, and a first line that is a command.
    A paste is never a command, because a chat window can reply with anything, even `/save FILE`.

    Attributes:
        done: whether the text is complete.
        ended: whether the end of the input completed it.
        pasted: whether the text begins with a paste.
    """

    def __init__(self) -> None:
        self.done = self.ended = self.pasted = False
        self._lines: list[str] = []
        self._line: list[str] = []
        self._held = ""
        self._pasting = self._fresh = False

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n".join([*self._lines, "".join(self._line)])

    def feed(self, piece: str) -> str:
        """Add input. Returns the characters to show."""
        held, at, shown = self._held + piece, 0, list[str]()
        while at < len(held) and not self.done:
            if self._pasting:
                end = held.find(_END, at)
                if end < 0:
                    break
                shown.append(self._paste(held[at:end]))
                self._pasting, at = False, end + len(_END)
            elif held.startswith(_BEGIN, at):
                self._pasting, at = True, at + len(_BEGIN)
            elif held[at] == "\x1b":
                key = _KEY.match(held, at)
                if key is None or _BEGIN.startswith(held[at:]):
                    break  # the rest of it is still to come
                at = key.end()
            else:
                shown.append(self._key(held[at]))
                at += 1
        self._held = held[at:]
        return "".join(shown)

    def end(self) -> str:
        """Handle the end of the input; an unfinished paste is part of the text."""
        if self._pasting:
            self._paste(self._held)
        self.done = self.ended = True
        return "\n"

    def _paste(self, text: str) -> str:
        self.pasted = self.pasted or not self.text.strip()
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        *whole, last = text.split("\n")
        for line in whole:
            self._lines.append("".join([*self._line, line]))
            self._line = []
        self._line.append(last)
        self._fresh = bool(text.strip())
        shown = one_line(readable(text))
        ends = shown if len(shown) <= 2 * _ENDS else f"{shown[:_ENDS].rstrip()} [...] {shown[-_ENDS:].lstrip()}"
        return f'[{counted(count_words(text), "word")}: "{ends}"]'

    def _key(self, key: str) -> str:
        if key in "\r\n":
            return self._enter()
        if key == "\x04":
            return self.end()
        if key in "\x7f\b":
            if self._line and len(self._line[-1]) == 1:
                self._line.pop()
                return "\b \b"
            return ""
        if not (key.isprintable() or key == "\t"):
            return ""
        self._line.append(key)
        self._fresh = False
        return key

    def _enter(self) -> str:
        line = "".join(self._line)
        if line.strip() == ".":
            self._line, self.done = [], True
        elif self._fresh or (not self._lines and _is_command(line.strip())):
            self.done = True
        else:
            self._lines.append(line)
            self._line = []
        return "\n"


def _is_command(line: str) -> bool:
    """Whether a line is one of the commands, with a file if it needs one."""
    name, _, rest = line.partition(" ")
    if name.lower() in _WORDS and not rest:
        return True
    known = name.startswith("/") and name[1:].lower() in _COMMANDS
    return known and bool(rest.strip()) == (name[1:].lower() in _WITH_FILE)


def _at(file: str) -> Path:
    return Path(file).expanduser()


def _stopped(request: Request, why: str) -> PausedError:
    return PausedError(
        f"The role {request.role!r} is waiting for the reply from your chat window, and {why}. All finished work is "
        "kept. To continue from here, run the same command again.",
        path=request.path,
    )


def _handle(terminal: Terminal) -> int | None:
    """The terminal's input, if it can be read key by key."""
    if not terminal.interactive:
        return None
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None


@contextmanager
def _each_key(handle: int) -> Iterator[None]:
    """While this context is open, the terminal delivers each key at once and marks pastes; then it is restored.

    In its default line mode, no line could have more than 4,095 bytes.
    """
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        sys.stderr.write(_BRACKETED_ON)
        sys.stderr.flush()
        yield
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
        sys.stderr.write(_BRACKETED_OFF)
        sys.stderr.flush()


async def copy(text: str, environ: Mapping[str, str]) -> None:
    """Copy a text to the clipboard with the first available tool.

    Raises:
        UsageError: no tool is available, or the tool failed.
    """
    tools = [tool for needs, tool in _CLIPBOARDS if (not needs or environ.get(needs)) and shutil.which(tool[0])]
    if not tools:
        raise UsageError(
            "No clipboard tool was found (pbcopy, wl-copy, xclip, xsel, clip.exe). Select the prompt, or type /save "
            "FILE."
        )
    quiet = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *tools[0], stdin=asyncio.subprocess.PIPE, stdout=quiet, stderr=quiet
        )
        try:
            await asyncio.wait_for(process.communicate(text.encode("utf-8", "replace")), _PATIENCE)
        except TimeoutError:
            process.kill()
            await process.wait()
    except OSError as error:
        raise UsageError(f"{tools[0][0]} could not be started ({error.strerror}). Type /save FILE instead.") from error
    if process.returncode:
        raise UsageError(f"{tools[0][0]} failed (exit code {process.returncode}). Type /save FILE instead.")
