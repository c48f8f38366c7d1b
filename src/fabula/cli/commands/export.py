"""`fabula export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fabula.app.exporting import exported
from fabula.base.errors import UsageError
from fabula.base.files import write_atomically
from fabula.cli import completing
from fabula.cli.opening import STDIN, project_of, terminal_of
from fabula.cli.options import Common, Where, bundled
from fabula.cli.session import near
from fabula.cli.terminal import read_by_others


@bundled
def export(
    common: Common,
    where: Where = "",
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            autocompletion=completing.formats,
            metavar="md|epub|docx|fountain|txt|json",
            help="Default: of -o, else md.",
        ),
    ] = "",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="- writes to stdout; default: in the project.")
    ] = "",
) -> None:
    """Make a Markdown, EPUB, DOCX, Fountain, text or JSON file of the story."""
    terminal, project = terminal_of(common), project_of(common, where)
    if out == STDIN and common.json:
        raise UsageError("--out - and --json both print on stdout. Give one of them.")
    wanted = format_ or (Path(out).suffix if out not in {"", STDIN} else "") or "md"
    made = exported(project, wanted, f"`fabula write {near(project.folder)}`")
    content = made.content
    if made.behind:
        terminal.advise(f"Some texts changed since story.md was written: `fabula update {near(project.folder)}` first?")
    if out == STDIN:
        with read_by_others():
            sys.stdout.buffer.write(content)
            sys.stdout.flush()
        return
    file = Path(out) if out else project.folder / made.file
    write_atomically(file, content)
    terminal.say(f"{near(file)}: {made.words:,} words, {len(content):,} bytes")
    terminal.document({"file": str(file), "format": made.format, "words": made.words, "bytes": len(content)})
