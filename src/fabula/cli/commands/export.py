"""`fabula export`."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Annotated, Final

import typer

from fabula.base.errors import UsageError
from fabula.base.files import write_atomically
from fabula.cli import completing
from fabula.cli.opening import STDIN, project_of, terminal_of
from fabula.cli.options import ProjectOptions, Where, bundled
from fabula.cli.session import near
from fabula.cli.terminal import read_by_others
from fabula.cli.verbs import opened
from fabula.data.story_files import said_of_left_out
from fabula.story.export import find

_RECORD: Final = ".fabula/exported.json"
_MOST: Final = 200  # exported files that are remembered
_PACKED: Final = {".epub", ".docx", ".odt", ".rtf", ".fdx"}
"""Suffixes that tell other programs how to open a file. Plain text may have any name."""


@bundled
def export(
    common: ProjectOptions,
    where: Where = "",
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            autocompletion=completing.formats,
            metavar="md|epub|docx|odt|rtf|fountain|fdx|txt|json",
            help="Format; default: the suffix of -o, or md.",
        ),
    ] = "",
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write; - writes to stdout; default: a file in the project."
        ),
    ] = "",
) -> None:
    """Export the story as Markdown, EPUB, DOCX, ODT, RTF, Fountain, FDX, plain text or JSON."""
    terminal = terminal_of(common)
    project = opened(terminal, project_of(common, where))
    if out == STDIN and common.json:
        raise UsageError("--out - and --json both print to stdout. Use only one of them.")
    wanted = format_ or (Path(out).suffix if out not in {"", STDIN} else "") or "md"
    named, own = Path(out).suffix.lower(), find(wanted).suffix
    if named and named != own and {named, own} & _PACKED:
        raise UsageError(
            f"--format {wanted} does not match {out}. Choose a file name that ends in {own}, or leave out --format."
        )
    made = project.export(wanted)
    if made.behind:
        terminal.advise(
            f"Texts changed after story.md was written. To update it, run `fabula update {near(project.folder)}`."
        )
    if said := said_of_left_out(made.left_out):
        terminal.message(said)
    if out == STDIN:
        with read_by_others():
            sys.stdout.buffer.write(made.content)
            sys.stdout.flush()
        return
    file, size = Path(out) if out else project.folder / made.name, len(made.content)
    _check_free(file, project.folder)
    write_atomically(file, made.content)
    _remember(project.folder, file, made.content)
    terminal.say(f"{near(file)}: {made.words:,} words, {size:,} bytes")
    about = {"file": str(file), "format": made.format, "words": made.words, "bytes": size, "left_out": made.left_out}
    terminal.document(about)


def _check_free(file: Path, project: Path) -> None:
    """Refuse to overwrite a file that `fabula export` did not write, or that has changed since."""
    if file.is_file() and _exported(project).get(str(file.resolve())) != _digest(file):
        raise UsageError(
            f"{near(file)} exists, and it is not what `fabula export` wrote there last. Choose another name with "
            "--out, or move the file away."
        )


def _exported(project: Path) -> dict[str, str]:
    """The digests of the files that were exported, by their paths; empty if the record cannot be read."""
    with suppress(OSError, ValueError):
        found = json.loads((project / _RECORD).read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def _remember(project: Path, file: Path, content: bytes) -> None:
    """Record what was exported, so that the next export may replace it."""
    with suppress(OSError):  # the next export then asks for another name
        kept = [one for one in _exported(project).items() if Path(one[0]).exists()][-_MOST:]
        found = dict(kept) | {str(file.resolve()): sha256(content).hexdigest()}
        write_atomically(project / _RECORD, json.dumps(found, indent=1).encode())


def _digest(file: Path) -> str:
    """The SHA-256 digest of a file."""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()
