"""The terminal or pipe: what to print where, what to ask a person, and what never to show."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from fabula.base.characters import readable
from fabula.base.errors import FabulaError, UsageError
from fabula.base.files import read_text
from fabula.base.keys import keys_in, without_keys
from fabula.cli.stopping import unheard
from fabula.cli.typed import as_typed_here

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

_LARGEST_TEXT: Final = 2_000_000
_CHUNK: Final = 65_536
_EDITORS: Final = ("nano", "vi", "notepad")
_WIDEST: Final = 96
_NARROWEST: Final = 40  # columns of a screen for which tables are made to fit
_SHORTEST_COLUMN: Final = 12  # of words
_GAP: Final = 2
# Blanks at which a cell does not go on in the next line: between the two ends of an interval.
_UNBROKEN: Final = re.compile(r"(?<=\d) (?=to -?\d)|(?<=\d to) (?=-?\d)|(?<=\d,) (?=-?\d)")
# A line end within a sentence: after a long line, before a small letter.
_MIDDLE: Final = re.compile(r"(?<=[^\n]{90})([^\n])\n(?=[a-z])")
_LIST_MARK: Final = re.compile(r"\A\s*(?:(?:[-*]|\d+[.)])\s+)?")


class OutputClosedError(FabulaError):
    """Raised if the reader of the output has read enough, as `| head` does.

    The command ends without an error.
    """

    exit_code = 0


def safe(text: str) -> str:
    """Return `text` without anything that would control the terminal."""
    return readable(text).replace("\r\n", "\n")


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return rows in aligned columns, two spaces apart; `right` lists the columns to align right.

    On a screen, a table fits the width: cells wrap, and columns that do not fit follow in another table with the same
    first column. In a pipe, each row is one line.
    """
    if not rows:
        return ""
    rows = [[_UNBROKEN.sub("\xa0", cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    room = _room()
    if room:
        widths = _narrowed(rows, widths, right, room)
    return "\n\n".join(_aligned(rows, widths, right, part) for part in _parts(widths, room)).replace("\xa0", " ")


def _room() -> int:
    """The width that a table may have; 0 for any width, in a pipe."""
    if not _is_tty(sys.stdout):
        return 0
    return max(shutil.get_terminal_size((_WIDEST, 24)).columns, _NARROWEST)


def _narrowed(rows: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[int], room: int) -> list[int]:
    """Widths with which the table fits, if its words can be broken; the widest column shrinks first."""
    found = list(widths)
    least = [
        width
        if i in right
        else min(width, max(_SHORTEST_COLUMN, *(len(word) for row in rows for word in row[i].split(" "))))
        for i, width in enumerate(found)
    ]
    while sum(found) + _GAP * (len(found) - 1) > room:
        loose = [i for i in range(len(found)) if found[i] > least[i]]
        if not loose:
            break
        found[max(loose, key=lambda i: found[i])] -= 1
    return found


def _parts(widths: Sequence[int], room: int) -> list[list[int]]:
    """The columns in each part of a table, the first column in each."""
    parts = [[0]]
    for i in range(1, len(widths)):
        if room and len(parts[-1]) > 1 and sum(widths[n] + _GAP for n in parts[-1]) + widths[i] > room:
            parts.append([0])
        parts[-1].append(i)
    return parts


def _aligned(rows: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[int], part: Sequence[int]) -> str:
    lines = []
    for row in rows:
        cells = [
            textwrap.wrap(row[i], widths[i], break_on_hyphens=False) if len(row[i]) > widths[i] else [row[i]]
            for i in part
        ]
        for n in range(max(len(cell) for cell in cells)):
            shown = (cell[n] if n < len(cell) else "" for cell in cells)
            line = "  ".join(
                text.rjust(widths[i]) if i in right else text.ljust(widths[i])
                for i, text in zip(part, shown, strict=True)
            )
            lines.append(line.rstrip())
    return "\n".join(lines)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@dataclass
class Terminal:
    """The input and output of a command.

    Attributes:
        json: whether stdout contains only one JSON document.
        quiet: whether to omit progress and advice.
        environ: the environment variables.
        aside: a context that hides live progress while a person is being asked.
    """

    json: bool = False
    quiet: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    aside: Callable[[], AbstractContextManager[None]] = _nothing
    _ahead: bytes = b""
    _ended: bool = False

    @property
    def interactive(self) -> bool:
        """Return whether a person at the terminal can be asked."""
        return _is_tty(sys.stdin) and _is_tty(sys.stderr)

    @property
    def lively(self) -> bool:
        """Return whether live progress can be shown on the screen."""
        return _is_tty(sys.stderr) and self.environ.get("TERM", "") != "dumb"

    # speaking -------------------------------------------------------------------------------------------------------

    def shown(self, text: str) -> str:
        """Return `text` as it can be printed: without terminal control characters and keys from the environment."""
        return without_keys(safe(text), keys_in(self.environ))

    def say(self, text: str) -> None:
        """Print the command's result to stdout, unless stdout is for JSON."""
        if not self.json:
            _print(self.shown(text), sys.stdout)

    def piece(self, text: str) -> None:
        """Print part of a line as it arrives."""
        with read_by_others():
            sys.stdout.write(self.shown(text))
            sys.stdout.flush()

    def message(self, text: str) -> None:
        """Print a message to stderr; on a screen, wrap lines between words."""
        text = self.shown(as_typed_here(text))
        if _is_tty(sys.stderr):
            width = min(shutil.get_terminal_size().columns, _WIDEST)
            text = "\n".join(piece for line in text.split("\n") for piece in _broken(line, width))
        _print(text, sys.stderr)

    def to_copy(self, text: str) -> None:
        """Print a text to stderr with its lines unchanged, for a person to copy from the screen."""
        _print(self.shown(text), sys.stderr)

    def advise(self, text: str) -> None:
        """Print advice to stderr, except in quiet mode or if a program reads the output."""
        if not (self.quiet or self.json):
            self.message(text)

    def document(self, result: object) -> None:
        """Print the JSON document of a result if requested; escape terminal control characters."""
        if self.json:
            from fabula.verbs.base import as_data  # noqa: PLC0415 - slow, and `fabula --help` does not need it

            data = result if isinstance(result, dict) else as_data(result)
            text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
            if readable(text) != text:
                text = json.dumps(data, indent=2, default=str)
            _print(without_keys(text, keys_in(self.environ)), sys.stdout)

    def wrapped(self, text: str) -> str:
        """Return `text`, with lines wrapped to fit the screen if a person reads it there."""
        if not self.interactive:
            return text
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        whole = _MIDDLE.sub(r"\1 ", text)
        return "\n".join(piece for line in whole.splitlines() for piece in _broken(line, width))

    # listening ------------------------------------------------------------------------------------------------------

    async def line(self, prompt: str = "") -> str | None:
        """Return the next line without its line ending; `None` after the last line.

        Unlike `input`, this can be cancelled.
        """
        if prompt:
            sys.stderr.write(self.shown(prompt))
            sys.stderr.flush()
        try:
            handle = sys.stdin.fileno()
        except (AttributeError, OSError, ValueError):  # a stand-in without a file below it never waits
            said = sys.stdin.readline()
            return said.rstrip("\r\n") if said else None
        while b"\n" not in self._ahead and not self._ended:
            await has_input(handle)
            piece = os.read(handle, _CHUNK)
            self._ahead += piece
            self._ended = not piece
        head, end, self._ahead = self._ahead.partition(b"\n")
        return head.decode("utf-8", "replace").rstrip("\r") if head or end else None

    async def lines(self, words: Collection[str] = ()) -> tuple[str, bool]:
        """Return the lines before a single full stop, and whether the input ended; `/edit` opens an editor.

        A line that is one of `words` is returned immediately and alone.
        """
        said: list[str] = []
        while (line := await self.line("> " if self.interactive else "")) is not None:
            if line.strip() == ".":
                return "\n".join(said), False
            if line.strip() in words:
                return line.strip(), False
            if line.strip() != "/edit":
                said.append(line)
                continue
            try:
                return await self.edited("\n".join(said)), False
            except UsageError as problem:  # what was said so far is not lost
                self.message(str(problem))
        return "\n".join(said), True

    async def choice(self, prompt: str, options: str) -> str:
        """Ask for one letter from `options` and return it; return the last one if the input ends."""
        while (said := await self.line(prompt)) is not None:
            if said.strip()[:1].lower() in set(options):
                return said.strip()[0].lower()
        return options[-1]

    @property
    def editor(self) -> str:
        """Return the person's editor: `$VISUAL`, `$EDITOR`, or an installed one; empty if there is none."""
        named = self.environ.get("VISUAL") or self.environ.get("EDITOR")
        return named or next((name for name in _EDITORS if shutil.which(name, path=self.environ.get("PATH"))), "")

    async def edited(self, text: str) -> str:
        """Return `text` as the person leaves it in an editor.

        Raises:
            UsageError: there is no editor, or the editor failed.
        """
        import asyncio  # noqa: PLC0415 - 0.05 s that `fabula --help` does not need

        editor = self.editor
        if not editor:
            raise UsageError(
                "No editor was found. Set EDITOR, for example to nano, or provide the text without an editor."
            )
        with tempfile.TemporaryDirectory(prefix="fabula-") as folder:
            file = Path(folder) / "text.md"
            file.write_text(text, encoding="utf-8", errors="replace")
            try:
                with unheard():  # Ctrl-C is a key of the editor's
                    process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(file))
                    code = await process.wait()
            except FileNotFoundError as error:
                raise UsageError(
                    f"There is no program {editor!r}, which VISUAL or EDITOR names. The text is unchanged. Set another "
                    "editor, as in `export EDITOR=nano`, or provide the text without an editor."
                ) from error
            except (OSError, ValueError) as error:
                raise UsageError(
                    f"The editor {editor!r} could not be started ({error}). Set EDITOR to another editor."
                ) from error
            if code:
                raise UsageError(f"The editor {editor!r} exited with code {code}. The text is unchanged.")
            return read_text(file, _LARGEST_TEXT)


def _broken(line: str, width: int) -> list[str]:
    """`line` in pieces of at most `width`, if its words allow; later pieces are indented to the text of the first."""
    indent = " " * len(line) if (mark := _LIST_MARK.match(line)) is None else " " * mark.end()
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]


def _is_tty(stream: IO[str] | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _print(text: str, stream: IO[str]) -> None:
    if stream is sys.stdout:
        with read_by_others():
            stream.write(text + "\n")
            stream.flush()
        return
    try:
        stream.write(text + "\n")
        stream.flush()
    except BrokenPipeError:  # nobody reads how the work goes on; it goes on
        to_nobody(stream)


@contextmanager
def read_by_others() -> Iterator[None]:
    """Within this context, another program may read stdout and may end first.

    Raises:
        OutputClosedError: the other program has ended.
    """
    try:
        yield
    except BrokenPipeError:
        to_nobody(sys.stdout)
        raise OutputClosedError("The output was closed.") from None


def to_nobody(stream: IO[str]) -> None:
    """Discard everything written to a stream; otherwise Python would report an error again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show_cursor() -> None:
    """Show the cursor and reset colours after live progress was cut off."""
    if _is_tty(sys.stderr):
        sys.stderr.write("\r\x1b[0m\x1b[J\x1b[?25h")


async def has_input(handle: int) -> None:
    """Return when `handle` has input to read; a file on disk always does."""
    import asyncio  # noqa: PLC0415 - keeps `fabula --help` fast

    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def came() -> None:
        if not ready.done():
            ready.set_result(None)

    try:
        loop.add_reader(handle, came)
    except (PermissionError, ValueError, NotImplementedError):
        return
    try:
        await ready
    finally:
        with suppress(ValueError):
            loop.remove_reader(handle)
