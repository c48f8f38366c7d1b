"""Records a terminal session with the sample project as an animated picture: `make docs`.

Each command runs in its own terminal (a pseudo-terminal of 96 columns), and its output is drawn as it was written.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.style import Style

# What is typed, line by line.
SESSION: Final = (
    "fabula sample demo",
    "fabula show demo --timeline",
    "fabula world demo --who Ivan",
    "fabula check demo",
    "sed -i 's/from the kettle in his cab/in the lid of his flask/' demo/story/03-climax.md",
    "fabula update demo --dry-run",
)
COLUMNS, ROWS = 96, 25
_MOVES: Final = re.compile(r"(\n|\r|\x1b\[2K|\x1b\[\d*A)")
_HIDDEN: Final = re.compile(r"\x1b\[\?25[hl]")  # hides and shows the cursor
_SECONDS: Final = 5
_CELL, _LINE, _EDGE, _TOP = 8.0, 18, 16, 44
_COLOURS: Final = ("#8b93a3", "#ff8a80", "#8fd694", "#f2c46d", "#8cbcff", "#d9a5f0", "#7fd6d6", "#dfe3ea")
_STYLE: Final = (
    "text{font:13.2px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    "text{fill:#dfe3ea;white-space:pre}"
    ".b{font-weight:700}.d{fill:#a3abbb}.p{fill:#8fd694}.t{fill:#a3abbb;text-anchor:middle}"
    + "".join(f".c{n}{{fill:{colour}}}" for n, colour in enumerate(_COLOURS))
)


def recorded() -> str:
    """The session as a picture that shows one command after the other; where nothing may move, the first long one."""
    screens = _screens()
    lines = max(len(screen) for screen in screens)
    width, height = round(2 * _EDGE + COLUMNS * _CELL), _TOP + lines * _LINE + _EDGE
    whole = _SECONDS * len(screens)
    share = 100 / len(screens)
    style = (
        f".s{{visibility:hidden;animation:s {whole}s step-end infinite}}"
        f"@keyframes s{{0%{{visibility:visible}}{share:.3f}%{{visibility:hidden}}}}"
        + "".join(f".s{n}{{animation-delay:{n * _SECONDS}s}}" for n in range(len(screens)))
        + "@media(prefers-reduced-motion:reduce){.s{animation:none}.s1{visibility:visible}}"
    )
    about = "In a terminal: " + "; ".join(SESSION) + "."
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"',
        ' role="img">',
        f"<title>fabula at a terminal</title><desc>{escape(about)}</desc><style>{_STYLE}{style}</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="#1a1e26"/>',
        *(f'<circle cx="{22 + 18 * n}" cy="20" r="5.5" fill="#4a5262"/>' for n in range(3)),
        f'<text class="t" x="{width / 2:g}" y="25">fabula</text>',
    ]
    for number, screen in enumerate(screens):
        parts.append(f'<g class="s s{number}">')
        parts += [line for row, text in enumerate(screen) for line in _drawn(text, _TOP + row * _LINE + 13)]
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _screens() -> list[list[Text]]:
    """What stands on the screen after each command that prints: the commands since the last one, and the output."""
    screens, typed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for command in SESSION:
            typed.append(Text.assemble(("$ ", "green"), (command, "bold")))
            lines = [part for line in _settled(_printed(command, Path(folder))) for part in _wrapped(line)]
            if any(lines):
                screens.append([*typed, *_fitting(lines, ROWS - len(typed))])
                typed = []
    return screens


def _fitting(lines: Sequence[Text], most: int) -> list[Text]:
    return list(lines) if len(lines) <= most else [*lines[: most - 1], Text("...", "dim")]


def _settled(written: str) -> list[str]:
    """The lines that stand there in the end: a terminal goes back in lines and up, and clears what it shows again."""
    lines, row, anew = [""], 0, False
    for piece in _MOVES.split(written):
        if piece == "\n":
            row, anew = row + 1, False
            lines += [""] * (row + 1 - len(lines))
        elif piece == "\r":
            anew = True
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif piece.startswith("\x1b[") and piece.endswith("A"):
            row -= int(piece[2:-1] or 1)
        elif piece:
            lines[row], anew = (piece if anew else lines[row] + piece), False
    return "\n".join(line.rstrip() for line in lines).strip("\n").split("\n")


def _wrapped(line: str) -> list[Text]:
    text = Text.from_ansi(line)
    return list(text.divide(range(COLUMNS, len(text), COLUMNS)))


def _printed(command: str, folder: Path) -> str:
    """What a command writes to a terminal; it runs in a clean environment."""
    words = shlex.split(command)
    words = [sys.executable, "-m", *words] if words[0] == "fabula" else [shutil.which(words[0]) or words[0], *words[1:]]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    environ = kept | {"TERM": "xterm-256color", "HOME": str(folder), "LANG": "C.UTF-8"}
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environ) as running:  # noqa: S603 - the commands above
        os.close(theirs)
        written = b"".join(_pieces(ours))
    os.close(ours)
    if running.returncode:
        raise SystemExit(f"docs/record.py: {command} ended with {running.returncode}: {written.decode()}")
    return _HIDDEN.sub("", written.decode().replace("\r\n", "\n"))


def _pieces(end: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(end, 65536)
        except OSError:  # nobody writes any more
            return
        if not piece:
            return
        yield piece


def _drawn(text: Text, y: int) -> Iterator[str]:
    """One line as SVG: each run of one style at its column, as wide as its columns whatever the font."""
    column = 0
    console = Console(file=io.StringIO(), width=COLUMNS, color_system="truecolor")
    for run, style, _ in text.render(console):
        if run.strip():
            first = len(run) - len(run.lstrip())
            said = run.strip()
            x, wide = _EDGE + (column + first) * _CELL, len(said) * _CELL
            kind = _class(style)
            shown = f'<text{kind} x="{x:g}" y="{y}" textLength="{wide:g}">{escape(said, quote=False)}</text>'
            yield shown
        column += len(run)


def _class(style: Style | None) -> str:
    if style is None:
        return ""
    names = ["b"] if style.bold else []
    if style.dim:
        names.append("d")
    if style.color is not None and style.color.number is not None:
        names.append(f"c{style.color.number % 8}")
    return f' class="{" ".join(names)}"' if names else ""
