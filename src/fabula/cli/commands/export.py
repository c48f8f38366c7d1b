"""`fabula export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fabula.base.errors import UsageError
from fabula.base.files import write_atomically
from fabula.cli import completing
from fabula.cli.opening import STDIN, project_of, terminal_of
from fabula.cli.options import ProjectOptions, Where, bundled
from fabula.cli.session import near
from fabula.cli.terminal import read_by_others
from fabula.cli.verbs import opened


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
            metavar="md|epub|docx|fountain|txt|json",
            help="Format; default: from the name of -o, else md.",
        ),
    ] = "",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="- writes to stdout; default: in the project.")
    ] = "",
) -> None:
    """Make a Markdown, EPUB, DOCX, Fountain, text or JSON file of the story."""
    terminal = terminal_of(common)
    project = opened(terminal, project_of(common, where))
    if out == STDIN and common.json:
        raise UsageError("--out - and --json both print on stdout. Give one of them.")
    wanted = format_ or (Path(out).suffix if out not in {"", STDIN} else "") or "md"
    made = project.export(wanted)
    if made.behind:
        terminal.advise(f"Some texts changed since story.md was written: `fabula update {near(project.folder)}` first?")
    if out == STDIN:
        with read_by_others():
            sys.stdout.buffer.write(made.content)
            sys.stdout.flush()
        return
    file, size = Path(out) if out else project.folder / made.name, len(made.content)
    write_atomically(file, made.content)
    terminal.say(f"{near(file)}: {made.words:,} words, {size:,} bytes")
    about = {"file": str(file), "format": made.format, "words": made.words, "bytes": size}
    terminal.document(about)
