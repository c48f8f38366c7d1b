"""The terminal, or the pipe: what is printed where, what is asked of a person, and what must never be shown."""

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
    """Whoever reads what the command prints has read enough, as `| head` does: it ends, and that is no failure."""

    exit_code = 0


def safe(text: str) -> str:
    """`text` without anything that a terminal would obey."""
    return readable(text).replace("\r\n", "\n")


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows in aligned columns two blanks apart; `right` numbers the columns that hold figures.

    On a screen it is no wider than that: words go on below each other, and columns that have no room follow in a table
    of their own, below the same first column. In a pipe each row is one line.
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
    """How wide a table may be; 0 for any width, in a pipe."""
    if not _is_tty(sys.stdout):
        return 0
    return max(shutil.get_terminal_size((_WIDEST, 24)).columns, _NARROWEST)


def _narrowed(rows: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[int], room: int) -> list[int]:
    """Widths with which the table has room, as far as its words can be broken: the widest gives way first."""
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
    """Which columns stand beside each other; the first in each part."""
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
    """Where a command speaks and listens.

    Attributes:
        json: stdout holds one JSON document and nothing else.
        quiet: no progress and no advice.
        environ: the variables of the environment.
        aside: entered while a person is asked, so that live progress makes room.
    """

    json: bool = False
    quiet: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    aside: Callable[[], AbstractContextManager[None]] = _nothing
    _ahead: bytes = b""
    _ended: bool = False

    @property
    def interactive(self) -> bool:
        """Whether a person sits at the terminal and can be asked."""
        return _is_tty(sys.stdin) and _is_tty(sys.stderr)

    @property
    def lively(self) -> bool:
        """Whether progress may move on the screen."""
        return _is_tty(sys.stderr) and self.environ.get("TERM", "") != "dumb"

    # speaking -------------------------------------------------------------------------------------------------------

    def shown(self, text: str) -> str:
        """`text` as it may be printed: nothing a terminal obeys, and no key that the environment holds."""
        return without_keys(safe(text), keys_in(self.environ))

    def say(self, text: str) -> None:
        """What the command was asked for: to stdout, unless that holds JSON."""
        if not self.json:
            _print(self.shown(text), sys.stdout)

    def piece(self, text: str) -> None:
        """A piece of a line, as it comes."""
        with read_by_others():
            sys.stdout.write(self.shown(text))
            sys.stdout.flush()

    def message(self, text: str) -> None:
        """What goes along with it: to stderr; on a screen with lines broken between words."""
        text = self.shown(text)
        if _is_tty(sys.stderr):
            width = min(shutil.get_terminal_size().columns, _WIDEST)
            text = "\n".join(piece for line in text.split("\n") for piece in _broken(line, width))
        _print(text, sys.stderr)

    def to_copy(self, text: str) -> None:
        """A text that a person copies from the screen: to stderr, with its lines as they are."""
        _print(self.shown(text), sys.stderr)

    def advise(self, text: str) -> None:
        """What to try next: to stderr, unless quiet or read by a program."""
        if not (self.quiet or self.json):
            self.message(text)

    def document(self, result: object) -> None:
        """The JSON document of a result, where it was asked for; what a terminal would obey stands in it escaped."""
        if self.json:
            from fabula.verbs.base import as_data  # noqa: PLC0415 - slow, and `fabula --help` does not need it

            data = result if isinstance(result, dict) else as_data(result)
            text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
            if readable(text) != text:
                text = json.dumps(data, indent=2, default=str)
            _print(without_keys(text, keys_in(self.environ)), sys.stdout)

    def wrapped(self, text: str) -> str:
        """`text` with its lines broken between words to fit the screen, where a person reads it on one."""
        if not self.interactive:
            return text
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        whole = _MIDDLE.sub(r"\1 ", text)
        return "\n".join(piece for line in whole.splitlines() for piece in _broken(line, width))

    # listening ------------------------------------------------------------------------------------------------------

    async def line(self, prompt: str = "") -> str | None:
        """The next line without its end; `None` after the last. Can be cancelled, unlike `input`."""
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
        """Lines up to one that is a single full stop, and whether the input ended; `/edit` opens the editor on them.

        A line that is one of `words` is given at once, alone.
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
        """One letter of `options`; the last one where the input ended."""
        while (said := await self.line(prompt)) is not None:
            if said.strip()[:1].lower() in set(options):
                return said.strip()[0].lower()
        return options[-1]

    @property
    def editor(self) -> str:
        """The command of the person's editor: `$VISUAL`, `$EDITOR`, else one that is there; empty where none is."""
        named = self.environ.get("VISUAL") or self.environ.get("EDITOR")
        return named or next((name for name in _EDITORS if shutil.which(name, path=self.environ.get("PATH"))), "")

    async def edited(self, text: str) -> str:
        """`text` as the person leaves it in an editor.

        Raises:
            UsageError: there is no editor, or it failed.
        """
        import asyncio  # noqa: PLC0415 - 0.05 s that `fabula --help` does not need

        editor = self.editor
        if not editor:
            raise UsageError("There is no editor here. Set EDITOR to one, or give the text without it.")
        with tempfile.TemporaryDirectory(prefix="fabula-") as folder:
            file = Path(folder) / "text.md"
            file.write_text(text, encoding="utf-8", errors="replace")
            try:
                with unheard():  # Ctrl-C is a key of the editor's
                    process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(file))
                    code = await process.wait()
            except (OSError, ValueError) as error:
                raise UsageError(f"The editor {editor!r} cannot be started ({error}). Set EDITOR anew.") from error
            if code:
                raise UsageError(f"The editor {editor!r} ended with code {code}; the text is as it was.")
            return read_text(file, _LARGEST_TEXT)


def _broken(line: str, width: int) -> list[str]:
    """`line` in pieces of at most `width`, as far as its words allow; those after the first stand under its text."""
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
    """What is written to stdout inside may be read by another program, which may end first.

    Raises:
        OutputClosedError: it did.
    """
    try:
        yield
    except BrokenPipeError:
        to_nobody(sys.stdout)
        raise OutputClosedError("Nobody reads the output any more.") from None


def to_nobody(stream: IO[str]) -> None:
    """Have all that is written to a stream go nowhere; Python would complain once more at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show_cursor() -> None:
    """Show the cursor, and take the colours off, where live progress was ended in the middle."""
    if _is_tty(sys.stderr):
        sys.stderr.write("\r\x1b[0m\x1b[J\x1b[?25h")


async def has_input(handle: int) -> None:
    """Return when `handle` has something to read; a file on disk always has."""
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
